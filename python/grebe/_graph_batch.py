# SPDX-License-Identifier: Apache-2.0
"""What is sampled of a graph: batches, and the samplers and loaders that make them."""

import collections.abc
import operator

from . import _core
from ._graph_tensors import whole_numbers

SETS = ("train", "validation", "test")
_METHODS = ("neighbors", "labor")


class Layer:
    """Edges of one hop: by type, (indptr, indices, edges), each column a node that the hop leads to; counts: (rows, columns) by node type.

    indices are rows of the batch (of its nodes of the source type); edges are rows of the edge file where these are kept, else positions."""

    __slots__ = ("relations", "counts")

    def __init__(self, relations, counts):
        self.relations, self.counts = relations, counts

    def __repr__(self):
        return f"<graph Layer of {sum(len(r[1]) for r in _relations(self))} edges>"


def _relations(layer):
    return layer.relations.values() if isinstance(layer.relations, dict) else (layer.relations,)


class Batch:
    """What sample_neighbors() gives: nodes by type (ids, seeds first; one array in a graph without types), layers, the outermost first."""

    def __init__(self, nodes, layers, node_types, edge_types):
        import numpy as np
        ids = [np.frombuffer(n, np.int64) for n in nodes]
        self.nodes = dict(zip(node_types, ids)) if node_types else ids[0]
        self.layers = []
        self.num_edges = 0
        for counts, relations in layers:
            arrays = [tuple(np.frombuffer(a, np.int64) for a in r) for r in relations]
            self.num_edges += sum(len(r[1]) for r in arrays)
            self.layers.append(Layer(dict(zip(edge_types, arrays)), dict(zip(node_types, counts))) if node_types
                               else Layer(arrays[0], counts[0]))

    @property
    def input_nodes(self):
        """All nodes of the batch, whose features it needs."""
        return self.nodes

    def __repr__(self):
        nodes = self.nodes if isinstance(self.nodes, dict) else {None: () if self.nodes is None else self.nodes}
        return f"<graph {type(self).__name__}: {sum(map(len, nodes.values()))} nodes, {self.num_edges} edges in {len(self.layers)} layers>"

    def to_pyg(self, x=None, y=None):
        """As Data (of typed graphs HeteroData) of torch_geometric, or a look-alike: edge_index, n_id, e_id, batch_size, num_sampled_nodes,
        num_sampled_edges. x: rows for nodes, y: labels of the seeds, {type: …} in typed graphs."""
        from ._graph_pyg import to_pyg
        return to_pyg(self, x, y)


def sampling_of(fanouts, replace, method, probs, layer_dependency, batch_dependency, node_times=None, edge_times=None, window=None, deduplicate=True):
    import numpy as np
    if method not in _METHODS:
        raise ValueError(f"method: expected one of {', '.join(_METHODS)}, found {method!r}")
    def is_list(f):
        return getattr(f, "ndim", 1) > 0 and hasattr(f, "__len__")
    if not is_list(fanouts):
        raise ValueError(f"fanouts: expected a list with a number for each layer, found {fanouts!r}")
    widths = {len(f) for f in fanouts if is_list(f)}
    if len(widths) > 1:
        raise ValueError(f"fanouts: expected as many numbers for each layer, found {sorted(widths)}")
    width = widths.pop() if widths else 1
    fanouts = np.asarray([f if is_list(f) else [f] * width for f in fanouts] if width > 1 else fanouts)
    if fanouts.ndim not in (1, 2) or not fanouts.size or fanouts.dtype.kind not in "iu":
        raise ValueError(f"fanouts: expected a number or a list of numbers for each layer, found {fanouts!r}")
    if int(fanouts.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"fanouts: expected numbers below 2**63, found {fanouts.max()}")
    batch_dependency = operator.index(batch_dependency)
    if batch_dependency < 1:
        raise ValueError(f"batch_dependency: expected a number from 1, found {batch_dependency}")
    return (np.ascontiguousarray(fanouts, np.int64), len(fanouts), _METHODS.index(method), replace, probs, layer_dependency, batch_dependency,
            node_times, edge_times, window is not None, 0 if window is None else operator.index(window), not deduplicate)


def _type_names(dataset):
    return [kind for kind, _ in dataset._handle.node_types()], dataset._handle.edge_types()


class Sampler:
    """Made by Dataset.sampler()."""

    def __init__(self, dataset, how, threads):
        self._made = dataset, how, threads
        self._types = _type_names(dataset)
        self._sampler = _core.graph_sampler(dataset._handle, how, threads)

    def __reduce__(self):
        return Sampler, self._made

    def run(self, seeds, layer_seed=0, times=None):
        """As Dataset.sample_neighbors(). times: of the seeds, in the same form, where the sampler goes by times."""
        if isinstance(seeds, collections.abc.Mapping):
            parts = [(kind, whole_numbers(ids, "seeds"), None if times is None else whole_numbers(times[kind], "times")) for kind, ids in seeds.items()]
        else:
            parts = [(None, whole_numbers(seeds, "seeds"), None if times is None else whole_numbers(times, "times"))]
        return Batch(*self._sampler.run(parts, layer_seed), *self._types)


class MiniBatch(Batch):
    """A batch of a Loader: nodes and layers as Batch has them (None and [] when nothing is sampled), items, and rows of features.

    items: {type: {name: array}}, type None where the set has none: "seeds" (shape [n], or [n, 2] for pairs, negatives behind the
    positives), what else the set has ("labels", …), of the positives alone, and when sampled "rows", those of the seeds in the batch.
    features: {what was asked for: array}, one row for each node of the batch; of edges a list of arrays, one for each of layers."""

    def __init__(self, parts, sampled, rows, features, kinds, columns, types):
        from numpy import frombuffer, int64
        if sampled is None:
            self.nodes, self.layers, self.num_edges = None, [], 0
        else:
            super().__init__(*sampled, *types)
        self.items = {}
        for kind, n, seeds, at, arity, values in parts:
            found = self.items[kind] = {}
            for (name, dtype, shape), v in zip(columns[kind], values):
                a = frombuffer(v, dtype)
                found[name] = a.reshape((n,) + shape) if shape else a
            seeds = found["seeds"] = frombuffer(seeds, int64)
            if at is not None:
                at = found["rows"] = frombuffer(at, int64)
            if arity != 1:
                found["seeds"] = seeds.reshape(-1, arity)
                if at is not None:
                    found["rows"] = at.reshape(-1, arity)
        def array(buffer, dtype, shape):
            return frombuffer(buffer, dtype).reshape((-1,) + shape)
        self.features = {key: [array(x, dtype, shape) for x in r] if isinstance(r, list) else array(r, dtype, shape)
                         for (key, dtype, shape), r in zip(features, rows)}
        self._kinds = {key: kind for key, kind in kinds.items() if key in self.features}

    def to_pyg(self, x=None, y=None):
        """As Batch.to_pyg(). x, y not given: the one feature of nodes that came along (of each type), and "labels"."""
        def only(found):
            return found[0] if len(found) == 1 else None
        if not isinstance(self.nodes, dict):
            x = only([self.features[key] for key in self._kinds]) if x is None else x
            y = self.items.get(None, {}).get("labels") if y is None else y
            return super().to_pyg(x, y)
        if x is None:
            x = {kind: only([self.features[key] for key, k in self._kinds.items() if k == kind]) for kind in self.nodes}
        if y is None:
            y = {kind: part.get("labels") for kind, part in self.items.items()}
        return super().to_pyg(x, y)


class Loader:
    """Made by Dataset.loader(). len() is the number of batches of an epoch; epoch is that of the next iteration and may be set.

    A pickle of it holds the path of the data set, the options and epoch: another process goes on with the next epoch."""

    def __init__(self, dataset, where, fanouts, features, cache_bytes, items, how, threads):
        task, which, arrays = where
        if isinstance(features, str):
            raise TypeError(f"features: expected a list of names, found {features!r}")
        features = list(features)
        self._made = (dataset, task, SETS[which], fanouts, features, cache_bytes, items, how, threads)
        cache_bytes = operator.index(cache_bytes)
        if cache_bytes < 0:
            raise ValueError(f"cache_bytes: expected a number from 0, found {cache_bytes}")
        if fanouts is None and features:
            raise ValueError("features: expected fanouts with them, for rows are those of sampled nodes")
        found = [(key, dataset.features[key]) for key in features]
        self._types = _type_names(dataset)
        fetches = [(f.domain, f.type, f.name, cache_bytes) for _, f in found]
        self._features = [(key, f.values.dtype, f.shape[1:]) for key, f in found]
        self._kinds = {key: f.type for key, f in found if f.domain == "node"}
        self._columns = {kind: [(name, a.dtype, a.shape[1:]) for name, a in part.items() if name != "seeds"] for kind, part in arrays.items()}
        sampling = None if fanouts is None else sampling_of(fanouts, *how)
        self._loader = _core.graph_loader(dataset._handle, task, which, sampling, *items, fetches, threads)
        self.epoch = 0
        self._iteration, self._shares = None, {}

    def __reduce__(self):
        return loader_of, (*self._made, self.epoch)

    def share(self, worker, num_workers):
        """The same loader for one of several workers, with its part of what this one has of each epoch; in place of worker and num_workers
        of loader(), where they are known only in the worker, as those of torch.utils.data.DataLoader are.

        It is made once: asked for again it goes on with its next epoch, or with that of this loader where epoch was set meanwhile."""
        key = operator.index(worker), operator.index(num_workers)
        if key not in self._shares:
            dataset, task, which, fanouts, features, cache_bytes, items, how, threads = self._made
            items = (*items[:6], key[1], key[0], *items[8:])
            self._shares[key] = loader_of(dataset, task, which, fanouts, features, cache_bytes, items, how, threads, self.epoch), self.epoch
        found, epoch = self._shares[key]
        if epoch != self.epoch:
            found.epoch = self.epoch
            self._shares[key] = found, self.epoch
        return found

    def as_torch(self):
        """A torch.utils.data.IterableDataset of the batches, for DataLoader(…, batch_size=None, num_workers=n): each worker has its share.

        Each epoch has another order with num_workers=0 and with persistent_workers=True. Workers that are started anew for each epoch begin
        with that of this loader: set its epoch before, as one calls set_epoch() of samplers of torch."""
        from ._graph_torch import IterableLoader
        return IterableLoader(self)

    def __len__(self):
        return self._loader.n_batches()

    def __repr__(self):
        task, which = self._made[1:3]
        return f"<graph Loader of task {task!r}, {which}: {len(self)} batches, epoch {self.epoch}>"

    def __iter__(self):
        self._loader.begin(self.epoch)
        self.epoch += 1
        mine = self._iteration = object()
        while True:
            if self._iteration is not mine:
                raise RuntimeError("another iteration of this loader has begun")
            found = self._loader.next()
            if found is None:
                return
            yield MiniBatch(*found, self._features, self._kinds, self._columns, self._types)


def loader_of(dataset, task, which, fanouts, features, cache_bytes, items, how, threads, epoch):
    made = Loader(dataset, dataset._set(task, which), fanouts, features, cache_bytes, items, how, threads)
    made.epoch = epoch
    return made
