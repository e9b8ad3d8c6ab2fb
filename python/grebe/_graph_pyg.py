# SPDX-License-Identifier: Apache-2.0
"""Batches as PyTorch Geometric has them: one list of edges over all hops, nodes by row, the seeds first."""

from ._graph_tensors import is_mapping, tensor


class Store(dict):
    """What Data and HeteroData have, where torch_geometric is not installed: fields as attributes and as keys, of a typed
    graph by type."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value


class HeteroStore(Store):
    """A Store for each type: of nodes by name, of edges by (source, relation, destination)."""

    def __missing__(self, key):
        found = self[key] = Store()
        return found

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return dict.__getitem__(self, name) if name in self else _raise(name)


def _raise(name):
    raise AttributeError(name)


def _edges(relations):
    """(edge_index, e_id, edges of each hop) of the relations of one type, that of the seeds first."""
    import numpy as np
    sources = [r[1] for r in relations]
    targets = [np.repeat(np.arange(max(len(r[0]) - 1, 0), dtype=np.int64), np.diff(r[0])) for r in relations]
    index = np.stack([np.concatenate(sources), np.concatenate(targets)]) if relations else np.empty((2, 0), np.int64)
    ids = np.concatenate([r[2] for r in relations]) if relations else np.empty(0, np.int64)
    return tensor(index), tensor(ids), [len(s) for s in sources]


def _nodes(counts, n):
    """Nodes that each hop adds, the seeds first, of (rows, columns) from the seeds on."""
    before = counts[0][1] if counts else n
    out = [before]
    for rows, _ in counts:
        out.append(rows - before)
        before = rows
    return out


def _host(is_typed):
    try:
        from torch_geometric.data import Data, HeteroData
    except ImportError:
        return HeteroStore() if is_typed else Store()
    return HeteroData() if is_typed else Data()


def to_pyg(batch, x=None, y=None):
    """A batch of grebe.graph (Batch, MiniBatch) as Data, of a typed graph as HeteroData; without torch_geometric as a Store.

    x: rows for batch.nodes (of typed graphs {type: rows}); y: labels of the seeds ({type: labels}). edge_index has rows of n_id, whose
    first batch_size are the seeds; num_sampled_nodes and num_sampled_edges are by hop; e_id are rows of the edge files where these are
    kept, else positions in the graph. Every type of nodes is there, those that no edge leads from too."""
    hops = batch.layers[::-1]
    is_typed = is_mapping(batch.nodes)
    out = _host(is_typed)
    if not is_typed:
        n_id = batch.nodes
        counts = _nodes([layer.counts for layer in hops], len(n_id))
        out.edge_index, out.e_id, out.num_sampled_edges = _edges([layer.relations for layer in hops])
        _fill(out, n_id, counts, x, y)
        return out
    for kind, n_id in batch.nodes.items():
        counts = _nodes([layer.counts[kind] for layer in hops], len(n_id))
        _fill(out[kind], n_id, counts, None if x is None else x.get(kind), None if y is None else y.get(kind))
    for kind in hops[0].relations if hops else ():
        store = out[tuple(kind.split(":"))]
        store.edge_index, store.e_id, store.num_sampled_edges = _edges([layer.relations[kind] for layer in hops])
    return out


def _fill(store, n_id, counts, x, y):
    store.n_id, store.num_sampled_nodes, store.batch_size = tensor(n_id), counts, counts[0]
    store.num_nodes = len(n_id)
    if x is not None:
        store.x = tensor(x)
    if y is not None:
        store.y = tensor(y)
