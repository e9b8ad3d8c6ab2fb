# SPDX-License-Identifier: Apache-2.0
"""GraphBolt's names: the graph, and what is sampled of it."""

from ._graph_tensors import array, integers, is_mapping, tensor


class CSCFormatBase:
    """Edges by column."""

    __slots__ = ("indptr", "indices")

    def __init__(self, indptr, indices):
        assert int(indptr[-1]) == len(indices), "indptr[-1] should be the number of indices"
        self.indptr, self.indices = indptr, indices

    def __repr__(self):
        return f"CSCFormatBase(indptr={self.indptr}, indices={self.indices})"


class SampledSubgraph:
    """Edges of one hop; ids of rows and columns, None where `indices` are ids themselves. By type in a graph with types."""

    _has_edge_ids = True  # whether original_edge_ids are rows of the edge file, by which features of edges are found

    def __init__(self, sampled_csc, original_column_node_ids, original_row_node_ids, original_edge_ids):
        self.sampled_csc, self.original_edge_ids = sampled_csc, original_edge_ids
        self.original_column_node_ids, self.original_row_node_ids = original_column_node_ids, original_row_node_ids

    def to_pyg(self, x):
        """((x, x of the columns), edge_index, (rows, columns)), as layers of PyG take them; by type of edges where there are types."""
        import numpy as np
        if not is_mapping(self.sampled_csc):
            n = len(self.original_column_node_ids)
            csc = self.sampled_csc
            targets = np.repeat(np.arange(n), np.diff(array(csc.indptr)))
            index = np.stack([array(csc.indices), targets])
            return (x, x[:n]), tensor(index), (len(x), n)
        rows = {kind: (v, v[:len(self.original_column_node_ids[kind])]) for kind, v in x.items()}
        index, sizes = {}, {}
        for kind, csc in self.sampled_csc.items():
            source, _, target = kind.split(":")
            n = len(self.original_column_node_ids[target])
            targets = np.repeat(np.arange(max(len(csc.indptr) - 1, 0)), np.diff(array(csc.indptr)))
            index[kind] = tensor(np.stack([array(csc.indices), targets]))
            sizes[kind] = (len(self.original_row_node_ids[source]), n)
        return rows, index, sizes

    def exclude_edges(self, edges, assume_num_node_within_int32=True):
        """Without the edges of these pairs of ids [n, 2] (by type in a graph with types), each as often as it was sampled; nodes stay."""
        if not is_mapping(self.sampled_csc):
            csc, ids = _without(self.sampled_csc, self.original_row_node_ids, self.original_column_node_ids, self.original_edge_ids, edges)
            return SampledSubgraph(csc, self.original_column_node_ids, self.original_row_node_ids, ids)._with(self._has_edge_ids)
        found, ids = dict(self.sampled_csc), dict(self.original_edge_ids or {})
        for kind, pairs in edges.items():
            if kind in found:
                source, _, target = kind.split(":")
                found[kind], ids[kind] = _without(found[kind], _of(self.original_row_node_ids, source), _of(self.original_column_node_ids, target),
                                                  ids.get(kind), pairs)
        left = SampledSubgraph(found, self.original_column_node_ids, self.original_row_node_ids, ids if self.original_edge_ids else None)
        return left._with(self._has_edge_ids)

    def _with(self, has_edge_ids):
        self._has_edge_ids = has_edge_ids
        return self

    def __repr__(self):
        return f"SampledSubgraph({self.sampled_csc})"


def _of(ids, kind):
    return None if ids is None else ids[kind]


def _without(csc, rows, columns, edge_ids, pairs):
    """(CSCFormatBase, edge ids) of the edges that are none of the pairs."""
    import numpy as np
    indptr, indices = array(csc.indptr), array(csc.indices)
    targets = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    sources = indices if rows is None else array(rows)[indices]
    ends = targets if columns is None else array(columns)[targets]
    pairs = integers(pairs, "edges").reshape(-1, 2)
    kept = ~(np.isin(sources, pairs[:, 0]) & np.isin(ends, pairs[:, 1]))
    likely = np.flatnonzero(~kept)  # few: both ends occur in pairs, though perhaps not in the same one
    kept[likely] = ~np.isin(_joined(sources[likely], ends[likely]), _joined(pairs[:, 0], pairs[:, 1]))
    counts = np.bincount(targets[kept], minlength=len(indptr) - 1)
    left = CSCFormatBase(tensor(np.concatenate([[0], np.cumsum(counts)]).astype(indptr.dtype)), tensor(indices[kept]))
    return left, None if edge_ids is None else tensor(array(edge_ids)[kept])


def _joined(sources, targets):
    """Pairs as values that compare: whole ids, not packed into fewer bits."""
    import numpy as np
    out = np.empty(len(sources), [("source", "i8"), ("target", "i8")])
    out["source"], out["target"] = sources, targets
    return out


def add_reverse_edges(edges, reverse_etypes_mapping=None):
    """Pairs [n, 2] and behind them those of the other direction; by type in a graph with types, by the type of the reverse edges."""
    import numpy as np
    if not is_mapping(edges):
        pairs = array(edges)
        return tensor(np.concatenate([pairs, pairs[:, ::-1]]))
    if reverse_etypes_mapping is None:
        raise ValueError("reverse_etypes_mapping: expected the type of the other direction of each type of edges, found None")
    found = {kind: array(pairs) for kind, pairs in edges.items()}
    out = dict(found)
    for kind, reverse in reverse_etypes_mapping.items():
        if kind in found:
            swapped = found[kind][:, ::-1]
            out[reverse] = np.concatenate([out[reverse], swapped]) if reverse in out else swapped
    return {kind: tensor(np.ascontiguousarray(pairs)) for kind, pairs in out.items()}


def exclude_seed_edges(minibatch, include_reverse_edges=False, reverse_etypes_mapping=None):
    """A batch whose seeds are edges, without them in what was sampled: a model would see in its input what it has to tell."""
    edges = minibatch.seeds
    if include_reverse_edges:
        edges = add_reverse_edges(edges, reverse_etypes_mapping)
    minibatch.sampled_subgraphs = [s.exclude_edges(edges) for s in minibatch.sampled_subgraphs]
    return minibatch


def fanout_rows(fanouts):
    return [integers(f, "fanouts").reshape(-1).tolist() for f in fanouts]


def layers_of(batch, has_edge_ids):
    """Subgraphs of a batch, the outermost first, with rows as places."""
    import numpy as np
    out = []
    for layer in batch.layers:
        if not is_mapping(batch.nodes):
            indptr, indices, edges = layer.relations
            rows, columns = layer.counts
            out.append(SampledSubgraph(CSCFormatBase(tensor(indptr), tensor(indices)), tensor(batch.nodes[:columns]), tensor(batch.nodes[:rows]),
                                       tensor(edges)))
            continue
        zero = np.zeros(1, np.int64)
        csc = {kind: CSCFormatBase(tensor(r[0] if len(r[0]) else zero), tensor(r[1])) for kind, r in layer.relations.items()}
        out.append(SampledSubgraph(csc, {kind: tensor(ids[:layer.counts[kind][1]]) for kind, ids in batch.nodes.items()},
                                   {kind: tensor(ids[:layer.counts[kind][0]]) for kind, ids in batch.nodes.items()},
                                   {kind: tensor(r[2]) for kind, r in layer.relations.items()}))
    return [s._with(has_edge_ids) for s in out]


class FusedCSCSamplingGraph:
    """The graph: for each node the edges that lead to it."""

    def __init__(self, dataset):
        self._dataset = dataset
        self._kinds = list(dataset.node_types)
        self._has_edge_ids = any(name == "_ORIGINAL_EDGE_ID" for name, _ in dataset._core_attributes(True))

    def _array(self, name):
        a = self._dataset._arrays[name]
        return None if a is None else tensor(a)

    @property
    def csc_indptr(self):
        return self._array("indptr")

    @property
    def indices(self):
        return self._array("indices")

    @property
    def node_type_offset(self):
        return self._array("node_type_offset")

    @property
    def type_per_edge(self):
        return self._array("type_per_edge")

    @property
    def node_type_to_id(self):
        return {kind: i for i, kind in enumerate(self._kinds)} or None

    @property
    def edge_type_to_id(self):
        return {kind: i for i, kind in enumerate(self._dataset._handle.edge_types())} or None

    @property
    def total_num_nodes(self):
        return self._dataset.num_nodes

    @property
    def total_num_edges(self):
        return self._dataset.num_edges

    @property
    def num_nodes(self):
        """Nodes; by type in a graph with types."""
        return self._dataset.node_types or self._dataset.num_nodes

    @property
    def num_edges(self):
        return self._dataset.edge_types or self._dataset.num_edges

    @property
    def node_attributes(self):
        return {name: tensor(a) for name, a in self._dataset._core_attributes(False)} or None

    @property
    def edge_attributes(self):
        return {name: tensor(a) for name, a in self._dataset._core_attributes(True)} or None

    def node_attribute(self, name):
        return (self.node_attributes or {})[name]

    def edge_attribute(self, name):
        return (self.edge_attributes or {})[name]

    def _sample(self, seeds, fanouts, **how):
        """One hop, with ids where the batch has rows."""
        return self._ids_of(seeds, self._dataset.sample_neighbors(_seed_ids(seeds), fanout_rows([fanouts]), **how))

    def _sample_by_time(self, seeds, times, fanouts, layer_seed, **how):
        sampler = self._dataset.sampler(fanout_rows([fanouts]), **how)
        return self._ids_of(seeds, sampler.run(_seed_ids(seeds), layer_seed, _seed_ids(times)))

    def _ids_of(self, seeds, batch):
        import numpy as np
        layer = batch.layers[0]
        if not is_mapping(batch.nodes):
            indptr, indices, edges = layer.relations
            return SampledSubgraph(CSCFormatBase(tensor(indptr), tensor(batch.nodes[indices])), seeds, None, tensor(edges))._with(self._has_edge_ids)
        zero, csc, ids = np.zeros(1, np.int64), {}, {}
        for kind, (indptr, indices, edges) in layer.relations.items():
            csc[kind] = CSCFormatBase(tensor(indptr if len(indptr) else zero), tensor(batch.nodes[kind.split(":")[0]][indices]))
            ids[kind] = tensor(edges)
        return SampledSubgraph(csc, seeds, None, ids)._with(self._has_edge_ids)

    def sample_neighbors(self, nodes, fanouts, replace=False, probs_name=None, layer_seed=0):
        """Neighbours of nodes (ids, or {type: ids}), one hop; `indices` of the result are ids."""
        return self._sample(nodes, fanouts, replace=replace, probs=probs_name, layer_seed=layer_seed)

    def sample_layer_neighbors(self, nodes, fanouts, replace=False, probs_name=None, random_seed=0):
        """The same, with the random numbers shared by the nodes (LABOR)."""
        return self._sample(nodes, fanouts, replace=replace, probs=probs_name, method="labor", layer_seed=_number(random_seed))

    def temporal_sample_neighbors(self, nodes, input_nodes_timestamp, fanouts, replace=False, probs_name=None, node_timestamp_attr_name=None,
                                  edge_timestamp_attr_name=None, window=None, layer_seed=0):
        """Neighbours that are older than the time of the node that they are sampled for, and with a window younger than that less the window."""
        return self._sample_by_time(nodes, input_nodes_timestamp, fanouts, layer_seed, replace=replace, probs=probs_name,
                                    node_times=node_timestamp_attr_name, edge_times=edge_timestamp_attr_name, window=window)

    def temporal_sample_layer_neighbors(self, nodes, input_nodes_timestamp, fanouts, replace=False, probs_name=None,
                                        node_timestamp_attr_name=None, edge_timestamp_attr_name=None, window=None, random_seed=0):
        """The same, with the random numbers shared by the nodes (LABOR)."""
        return self._sample_by_time(nodes, input_nodes_timestamp, fanouts, _number(random_seed), method="labor",
                                    replace=replace, probs=probs_name, node_times=node_timestamp_attr_name,
                                    edge_times=edge_timestamp_attr_name, window=window)

    def in_subgraph(self, nodes):
        """All edges that lead to the nodes."""
        return self._sample(nodes, [-1])

    def __repr__(self):
        return f"FusedCSCSamplingGraph({self.total_num_nodes} nodes, {self.total_num_edges} edges)"


def _number(random_seed):
    """The first of a tensor of random seeds, or the one that it is."""
    return int(integers(random_seed, "random_seed").reshape(-1)[0])


def _seed_ids(seeds):
    return {kind: array(ids) for kind, ids in seeds.items()} if is_mapping(seeds) else array(seeds)
