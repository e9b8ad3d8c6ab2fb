# SPDX-License-Identifier: Apache-2.0
"""The names of DGL GraphBolt over grebe.graph: code that was written for `dgl.graphbolt as gb` runs with `grebe.graph as gb`.

Tensors are torch's where torch is installed, else numpy's arrays. Those of graphs and sets share the memory of the mapped files: they are
read, not written to. DGL itself is not needed, and what is sampled does not depend on threads."""

import os
import warnings

from . import _core
from . import graph as _graph
from ._errors import Error
from ._graph_tensors import array, is_mapping, tensor, torch


def _empty(shape, like):
    """Room for rows of the type of `like`, and its bytes."""
    import numpy as np
    module = torch()
    if module is None:
        out = np.empty(shape, like.dtype)
        return out, out.reshape(-1).view(np.uint8)
    out = module.empty(shape, dtype=like.dtype)
    return out, out.reshape(-1).view(module.uint8).numpy()


# ---- features ----

class TorchBasedFeature:
    """A feature: rows by id."""

    def __init__(self, feature):
        self._feature = feature
        self._values = None

    def _all(self):
        if self._values is None:
            f = self._feature
            self._values = tensor(f._handle.feature_values(f._i))
        return self._values

    def read(self, ids=None):
        """Rows by id as a new tensor; None: all of them, the file itself."""
        if ids is None:
            return self._all()
        f, ids = self._feature, _graph._ids(array(ids))
        out, room = _empty((len(ids),) + tuple(self._all().shape[1:]), self._all())
        f._handle.feature_read(f._i, ids, f._threads, room)
        return out

    def size(self):
        """The shape of a row."""
        return self._all().shape[1:]

    def count(self):
        return len(self._all())

    def metadata(self):
        return dict(self._feature.metadata)

    def __repr__(self):
        return f"TorchBasedFeature({self._feature.domain}:{self._feature.type}:{self._feature.name}, shape={tuple(self._all().shape)})"


class TorchBasedFeatureStore:
    """Features by domain, type (None in a graph without types) and name."""

    def __init__(self, features):
        self._features = {key: TorchBasedFeature(f) for key, f in features.items()}

    def __getitem__(self, key):
        return self._features[key]

    def __contains__(self, key):
        return key in self._features

    def __len__(self):
        return len(self._features)

    def keys(self):
        return list(self._features)

    def read(self, domain, type_name, feature_name, ids=None):
        return self[domain, type_name, feature_name].read(ids)

    def size(self, domain, type_name, feature_name):
        return self[domain, type_name, feature_name].size()

    def count(self, domain, type_name, feature_name):
        return self[domain, type_name, feature_name].count()

    def metadata(self, domain, type_name, feature_name):
        return self[domain, type_name, feature_name].metadata()

    def __repr__(self):
        return f"TorchBasedFeatureStore({self.keys()})"


# ---- sets ----

class ItemSet:
    """Items: a number n (0 to n - 1), a tensor, or tensors of equal length; names: what a batch calls them."""

    def __init__(self, items, names=None):
        self._items = items if isinstance(items, (tuple, int)) else (items,)
        n = 1 if isinstance(items, int) else len(self._items)
        self.names = (names,) if isinstance(names, str) else None if names is None else tuple(names)
        if self.names is not None and len(self.names) != n:
            raise ValueError(f"Number of items ({n}) and names ({len(self.names)}) don't match.")
        if not isinstance(items, int) and len({len(a) for a in self._items}) > 1:
            raise ValueError("Size mismatch between items.")

    def __len__(self):
        return self._items if isinstance(self._items, int) else len(self._items[0])

    def __getitem__(self, index):
        import numpy as np
        if isinstance(self._items, int):
            if isinstance(index, slice):
                return tensor(np.arange(*index.indices(len(self))))
            if isinstance(index, int):
                return range(len(self))[index]
            return tensor(index)
        if isinstance(index, int):
            index = range(len(self))[index]
        found = tuple(a[index] for a in self._items)
        return found if len(found) > 1 else found[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        return f"ItemSet({len(self)} items, names={self.names})"


class HeteroItemSet:
    """Item sets by type, one after another; all with the same names."""

    def __init__(self, itemsets):
        self._sets = dict(itemsets)
        self.names = next(iter(self._sets.values())).names
        if any(s.names != self.names for s in self._sets.values()):
            raise ValueError("All itemsets must have the same names.")
        self._ends, n = [], 0
        for s in self._sets.values():
            n += len(s)
            self._ends.append(n)

    def __len__(self):
        return self._ends[-1]

    def __getitem__(self, index):
        import numpy as np
        n = len(self)
        if isinstance(index, int):
            index = range(n)[index]
            begin = 0
            for (kind, s), end in zip(self._sets.items(), self._ends):
                if index < end:
                    return {kind: s[index - begin]}
                begin = end
        at = np.arange(*index.indices(n)) if isinstance(index, slice) else array(index)
        out, begin = {}, 0
        for (kind, s), end in zip(self._sets.items(), self._ends):
            mine = at[(at >= begin) & (at < end)] - begin
            if len(mine):
                out[kind] = s[tensor(mine)]
            begin = end
        return out

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        return f"HeteroItemSet({self._sets})"


ItemSetDict = HeteroItemSet


def _item_set(parts):
    """A set of a task as the core has it; None where there is none."""
    sets = {kind: ItemSet(tuple(tensor(a) for _, a in arrays), tuple(name for name, _ in arrays)) for kind, arrays in parts}
    return None if not sets else sets[None] if None in sets else HeteroItemSet(sets)


class OnDiskTask:
    """A task: its metadata and its sets, which are opened when they are asked for."""

    def __init__(self, task):
        self._task = task
        self.metadata = task.metadata

    def _set(self, which):
        return _item_set(self._task._handle.set(self._task._i, which))

    @property
    def train_set(self):
        return self._set(0)

    @property
    def validation_set(self):
        return self._set(1)

    @property
    def test_set(self):
        return self._set(2)

    def __repr__(self):
        return f"OnDiskTask({self.metadata})"


# ---- the data set ----

class OnDiskDataset:
    """A data set on disk. One that is not preprocessed is, when this is made; load() opens it.

    force_preprocess: True: again in any case; False: what is there is used; None: if something has changed."""

    def __init__(self, path, include_original_edge_id=False, force_preprocess=None, auto_cast_to_optimal_dtype=True, threads=None):
        path = os.fspath(path)
        if not os.path.exists(path):
            raise RuntimeError(f"Invalid dataset path: {path}")
        if not os.path.isdir(path):
            raise RuntimeError(f"The dataset must be a directory. But got {path}")
        made = os.path.exists(os.path.join(path, "preprocessed", "metadata.yaml"))
        is_raw = os.path.exists(os.path.join(path, "metadata.yaml"))
        if not made and not is_raw:
            raise RuntimeError(f"metadata.yaml does not exist: {path}")
        if is_raw and not (made and force_preprocess is False) and not self._opens_as_it_is(path, made):
            _graph.preprocess(path, include_original_edge_id=include_original_edge_id, cast=auto_cast_to_optimal_dtype,
                              force=bool(force_preprocess), threads=threads)
        self._path, self._threads, self._dataset = path, threads, None

    @staticmethod
    def _opens_as_it_is(path, made):
        """A folder `preprocessed` itself: there is nothing to preprocess."""
        try:
            return not made and bool(_core.graph_open(path))
        except Error:
            return False

    def load(self, tasks=None):
        """Open it; tasks: the names of those that are wanted (default: all). Returns self."""
        if tasks is not None and not isinstance(tasks, (str, list, tuple)):
            raise TypeError(f"tasks: expected a name or a list of names, found {type(tasks).__name__}")
        self._dataset = _graph.open(self._path, threads=self._threads)
        found = [OnDiskTask(t) for t in self._dataset.tasks]
        if tasks is not None:
            wanted = [tasks] if isinstance(tasks, str) else list(tasks)
            names = [t.metadata.get("name") for t in found]
            for name in wanted:
                if name not in names:
                    warnings.warn(f"there is no task {name!r}: it is passed over", stacklevel=2)
            found = [t for t, name in zip(found, names) if name in wanted]
        self._tasks = found
        self._feature = TorchBasedFeatureStore(self._dataset.features)
        self._graph = None if self._dataset.indptr is None else FusedCSCSamplingGraph(self._dataset)
        return self

    def _loaded(self):
        assert self._dataset is not None, "Please ensure that you have called `OnDiskDataset.load()`"
        return self._dataset

    @property
    def dataset_name(self):
        return (self._dataset or _graph.open(self._path)).name

    @property
    def graph(self):
        self._loaded()
        return self._graph

    @property
    def feature(self):
        self._loaded()
        return self._feature

    @property
    def tasks(self):
        self._loaded()
        return self._tasks

    @property
    def all_nodes_set(self):
        """All nodes, by type where there are types."""
        import numpy as np
        d = self._loaded()
        if d.indptr is None:
            warnings.warn("there is no graph, so there are no nodes", stacklevel=2)
            return None
        sets = {kind: ItemSet(tensor(np.arange(n, dtype=d.indices.dtype)), "seeds") for kind, n in (d.node_types or {None: d.num_nodes}).items()}
        return sets[None] if None in sets else HeteroItemSet(sets)

    def __repr__(self):
        return f"OnDiskDataset({self._path!r})"


# ---- the graph ----

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

    def __repr__(self):
        return f"SampledSubgraph({self.sampled_csc})"


def _fanouts(fanouts):
    return [[int(v) for v in array(f).reshape(-1)] for f in fanouts]


def _layers(batch):
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
    return out


class FusedCSCSamplingGraph:
    """The graph: for each node the edges that lead to it."""

    def __init__(self, dataset):
        self._dataset = dataset
        self._kinds = list(dataset.node_types)

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
        batch = self._dataset.sample_neighbors(_seed_ids(seeds), _fanouts([fanouts]), **how)
        import numpy as np
        layer = batch.layers[0]
        if not is_mapping(batch.nodes):
            indptr, indices, edges = layer.relations
            return SampledSubgraph(CSCFormatBase(tensor(indptr), tensor(batch.nodes[indices])), seeds, None, tensor(edges))
        zero, csc, ids = np.zeros(1, np.int64), {}, {}
        for kind, (indptr, indices, edges) in layer.relations.items():
            csc[kind] = CSCFormatBase(tensor(indptr if len(indptr) else zero), tensor(batch.nodes[kind.split(":")[0]][indices]))
            ids[kind] = tensor(edges)
        return SampledSubgraph(csc, seeds, None, ids)

    def sample_neighbors(self, nodes, fanouts, replace=False, probs_name=None, layer_seed=0):
        """Neighbours of nodes (ids, or {type: ids}), one hop; `indices` of the result are ids."""
        return self._sample(nodes, fanouts, replace=replace, probs=probs_name, layer_seed=layer_seed)

    def sample_layer_neighbors(self, nodes, fanouts, replace=False, probs_name=None, random_seed=0):
        """The same, with the random numbers shared by the nodes (LABOR)."""
        return self._sample(nodes, fanouts, replace=replace, probs=probs_name, method="labor", layer_seed=int(array(random_seed).reshape(-1)[0]))

    def in_subgraph(self, nodes):
        """All edges that lead to the nodes."""
        return self._sample(nodes, [-1])

    def __repr__(self):
        return f"FusedCSCSamplingGraph({self.total_num_nodes} nodes, {self.total_num_edges} edges)"


def _seed_ids(seeds):
    return {kind: array(ids) for kind, ids in seeds.items()} if is_mapping(seeds) else array(seeds)


# ---- batches ----

class MiniBatch:
    """What a pipeline hands on: seeds, labels, indexes, sampled_subgraphs (the outermost first), input_nodes, node_features,
    edge_features, compacted_seeds; other names of a set as they are."""

    def __init__(self, **fields):
        self.seeds = self.labels = self.indexes = self.sampled_subgraphs = self.input_nodes = None
        self.node_features = self.edge_features = self.compacted_seeds = self._batch = None
        self.__dict__.update(fields)

    def node_ids(self):
        return self.input_nodes

    def num_layers(self):
        return len(self.sampled_subgraphs or ())

    def edge_ids(self, layer_id):
        return self.sampled_subgraphs[layer_id].original_edge_ids

    def to_pyg_data(self):
        """Data or HeteroData of torch_geometric (a look-alike where that is not installed), with n_id, e_id and counts by hop."""
        from ._graph_pyg import to_pyg
        return to_pyg(self._batch, self._one_feature(), self.labels)

    def _one_feature(self):
        found = self.node_features or {}
        if not is_mapping(self.input_nodes):
            return next(iter(found.values())) if len(found) == 1 else None
        by_type = {}
        for (kind, _), rows in found.items():
            by_type.setdefault(kind, []).append(rows)
        return {kind: rows[0] for kind, rows in by_type.items() if len(rows) == 1}

    def to(self, device):
        """Tensors on a device."""
        def move(v):
            if is_mapping(v):
                return {k: move(x) for k, x in v.items()}
            return v.to(device) if hasattr(v, "to") else v
        for name, value in list(self.__dict__.items()):
            if not name.startswith("_") and name != "sampled_subgraphs":
                setattr(self, name, move(value))
        for s in self.sampled_subgraphs or ():
            csc = s.sampled_csc
            for c in csc.values() if is_mapping(csc) else (csc,):
                c.indptr, c.indices = move(c.indptr), move(c.indices)
            s.original_column_node_ids, s.original_row_node_ids = move(s.original_column_node_ids), move(s.original_row_node_ids)
            s.original_edge_ids = move(s.original_edge_ids)
        return self

    def __repr__(self):
        return f"MiniBatch({', '.join(k for k, v in self.__dict__.items() if v is not None and not k.startswith('_'))})"


class _Pipe:
    """One step after another; each has the methods of all steps."""

    def __init__(self, source):
        self._source = source

    def __iter__(self):
        return (self._step(b) for b in self._source)

    def __len__(self):
        return len(self._source)

    def sample_neighbor(self, graph, fanouts, replace=False, prob_name=None, deduplicate=True):
        return NeighborSampler(self, graph, fanouts, replace, prob_name, deduplicate)

    def sample_layer_neighbor(self, graph, fanouts, replace=False, prob_name=None, deduplicate=True, layer_dependency=False, batch_dependency=1):
        return LayerNeighborSampler(self, graph, fanouts, replace, prob_name, deduplicate, layer_dependency, batch_dependency)

    def sample_uniform_negative(self, graph, negative_ratio):
        return UniformNegativeSampler(self, graph, negative_ratio)

    def fetch_feature(self, feature_store, node_feature_keys=None, edge_feature_keys=None):
        return FeatureFetcher(self, feature_store, node_feature_keys, edge_feature_keys)

    def transform(self, transformer):
        return MiniBatchTransformer(self, transformer)

    def copy_to(self, device, extra_attrs=None):
        return CopyTo(self, device)


class ItemSampler(_Pipe):
    """Batches of a set. Each iteration that comes to its end is an epoch; the next one has another order when shuffled."""

    def __init__(self, item_set, batch_size, minibatcher=None, drop_last=False, shuffle=False, seed=None):
        import numpy as np
        self._items, self._batch_size, self._minibatcher = item_set, int(batch_size), minibatcher
        self._drop_last, self._shuffle, self._epoch = drop_last, shuffle, 0
        self._seed = int(np.random.randint(0, 2 ** 31 - 1)) if seed is None else int(seed)
        if self._batch_size < 1:
            raise ValueError(f"batch_size: expected a number from 1, found {batch_size}")

    def __len__(self):
        n = len(self._items)
        return n // self._batch_size if self._drop_last else -(-n // self._batch_size)

    def set_epoch(self, epoch):
        self._epoch = int(epoch)

    @property
    def epoch(self):
        return self._epoch

    def _order(self):
        import numpy as np
        n, module = len(self._items), torch()
        if not self._shuffle:
            return np.arange(n)
        if module is not None:
            return module.randperm(n, generator=module.Generator().manual_seed(self._seed + self._epoch)).numpy()
        return np.random.default_rng(self._seed + self._epoch).permutation(n)

    def __iter__(self):
        order = self._order()
        for i in range(len(self)):
            at = order[i * self._batch_size:(i + 1) * self._batch_size]
            found = self._items[tensor(at)]
            batch = self._minibatcher(found, self._items.names) if self._minibatcher else self._fill(found)
            batch._seed_of_batch = (self._seed + self._epoch) * 1000003 + i
            yield batch
        self._epoch += 1

    def _fill(self, found):
        names, fields = self._items.names or ("seeds",), {}
        for kind, values in found.items() if is_mapping(found) else ((None, found),):
            for name, v in zip(names, values if isinstance(values, tuple) else (values,)):
                name = "seeds" if name in ("seed_nodes", "node_pairs", None) else name
                if kind is None:
                    fields[name] = v
                else:
                    fields.setdefault(name, {})[kind] = v
        return MiniBatch(**fields)


def _link_types(kind, arity):
    """Types of the nodes of a seed of that type."""
    parts = kind.split(":")
    return parts if len(parts) == arity else parts[::2]


def _unique(ids):
    """(ids in the order of their first appearance, the place of each)."""
    import numpy as np
    found, first, place = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return found[order], rank[place.reshape(-1)]


def _compact(seeds):
    """(nodes to begin at, seeds as places in them): of nodes as they are, of pairs and more each once."""
    import numpy as np
    if not is_mapping(seeds):
        ids = array(seeds, np.int64)
        if ids.ndim == 1:
            return ids, None
        nodes, place = _unique(ids.reshape(-1))
        return nodes, place.reshape(ids.shape)
    ids = {kind: array(v, np.int64) for kind, v in seeds.items()}
    if any(v.ndim == 1 for v in ids.values()):
        return ids, None
    lists, spans = {}, {}
    for kind, v in ids.items():
        for c, node in enumerate(_link_types(kind, v.shape[1])):
            begin = sum(len(x) for x in lists.setdefault(node, []))
            lists[node].append(v[:, c])
            spans[kind, c] = (node, begin, begin + len(v))
    found = {node: _unique(np.concatenate(parts)) for node, parts in lists.items()}
    compacted = {kind: np.stack([found[spans[kind, c][0]][1][spans[kind, c][1]:spans[kind, c][2]] for c in range(v.shape[1])], 1)
                 for kind, v in ids.items()}
    return {node: nodes for node, (nodes, _) in found.items()}, compacted


class NeighborSampler(_Pipe):
    """Neighbours hop by hop; fanouts: the outermost hop first."""

    _method = "neighbors"

    def __init__(self, source, graph, fanouts, replace=False, prob_name=None, deduplicate=True, **how):
        super().__init__(source)
        if not deduplicate:
            raise NotImplementedError("deduplicate=False: nodes that are reached twice have one row here")
        rows = _fanouts(fanouts)
        width = max(len(r) for r in rows)
        self._sampler = graph._dataset.sampler([r * width if len(r) == 1 and width > 1 else r for r in rows] if width > 1 else [r[0] for r in rows],
                                               replace=replace, method=self._method, probs=prob_name, **how)

    def _step(self, batch):
        nodes, compacted = _compact(batch.seeds)
        sampled = self._sampler.run(nodes, getattr(batch, "_seed_of_batch", 0) % 2 ** 63)
        batch._batch, batch.sampled_subgraphs = sampled, _layers(sampled)
        batch.input_nodes = {k: tensor(v) for k, v in sampled.nodes.items()} if is_mapping(sampled.nodes) else tensor(sampled.nodes)
        if compacted is not None:
            batch.compacted_seeds = {k: tensor(v) for k, v in compacted.items()} if is_mapping(compacted) else tensor(compacted)
        return batch


class LayerNeighborSampler(NeighborSampler):
    """Neighbours whose random numbers the seeds share: fewer nodes (LABOR).

    layer_dependency: all hops have the same numbers; batch_dependency: so many batches in succession pick much the same nodes."""

    _method = "labor"

    def __init__(self, source, graph, fanouts, replace=False, prob_name=None, deduplicate=True, layer_dependency=False, batch_dependency=1):
        super().__init__(source, graph, fanouts, replace, prob_name, deduplicate, layer_dependency=layer_dependency,
                         batch_dependency=batch_dependency)


class UniformNegativeSampler(_Pipe):
    """Negatives of pairs: each source again, with destinations drawn from all nodes of their type."""

    def __init__(self, source, graph, negative_ratio):
        super().__init__(source)
        self._graph, self._ratio = graph, int(negative_ratio)

    def _pairs(self, pairs, n_targets, seed):
        import numpy as np
        ids = array(pairs)
        if ids.ndim != 2 or ids.shape[1] != 2:
            raise ValueError(f"Only tensor with shape N*2 is supported for negative sampling, but got {tuple(ids.shape)}.")
        n = len(ids)
        out = self._graph._dataset.sample_negatives(ids, self._ratio, num_targets=n_targets, seed=seed).astype(ids.dtype)
        labels = np.concatenate([np.ones(n, np.float32), np.zeros(n * self._ratio, np.float32)])
        indexes = np.concatenate([np.arange(n), np.repeat(np.arange(n), self._ratio)])
        return tensor(out), tensor(labels), tensor(indexes)

    def _step(self, batch):
        seed = getattr(batch, "_seed_of_batch", 0) % 2 ** 63
        if not is_mapping(batch.seeds):
            batch.seeds, batch.labels, batch.indexes = self._pairs(batch.seeds, self._graph.total_num_nodes, seed)
            return batch
        found = {kind: self._pairs(v, self._graph.num_nodes[_link_types(kind, 2)[1]], seed) for kind, v in batch.seeds.items()}
        batch.seeds, batch.labels, batch.indexes = ({kind: f[i] for kind, f in found.items()} for i in range(3))
        return batch


class FeatureFetcher(_Pipe):
    """Rows of features: node_feature_keys and edge_feature_keys are names, or {type: names} in a graph with types."""

    def __init__(self, source, feature_store, node_feature_keys=None, edge_feature_keys=None):
        super().__init__(source)
        self._store, self._nodes, self._edges = feature_store, node_feature_keys or (), edge_feature_keys or ()

    def _rows(self, domain, keys, ids):
        if not is_mapping(keys):
            return {name: self._store.read(domain, None, name, ids) for name in keys}
        return {(kind, name): self._store.read(domain, kind, name, ids[kind]) for kind, names in keys.items() if kind in ids for name in names}

    def _step(self, batch):
        ids = batch.input_nodes if batch.input_nodes is not None else batch.seeds
        batch.node_features = self._rows("node", self._nodes, ids)
        batch.edge_features = [self._rows("edge", self._edges, s.original_edge_ids) for s in batch.sampled_subgraphs or ()] if self._edges else None
        return batch


class MiniBatchTransformer(_Pipe):
    """A function of batches, which returns what is handed on."""

    def __init__(self, source, transformer=None):
        super().__init__(source)
        self._step = transformer or (lambda batch: batch)


class CopyTo(_Pipe):
    """Tensors on a device."""

    def __init__(self, source, device):
        super().__init__(source)
        self._step = lambda batch: batch.to(device)


class DataLoader(_Pipe):
    """The end of a pipeline. Sampling and reading use threads of their own, so num_workers and the like mean nothing here."""

    def __init__(self, datapipe, num_workers=0, persistent_workers=True, **options):
        super().__init__(datapipe)

    def __iter__(self):
        return iter(self._source)
