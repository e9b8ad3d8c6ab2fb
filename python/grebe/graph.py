# SPDX-License-Identifier: Apache-2.0
"""Graphs for training, in the layout of DGL GraphBolt's OnDiskDataset (docs/format/graph.md).

    for problem in grebe.graph.check("citations"):
        print(problem)
    grebe.graph.preprocess("citations")
    g = grebe.graph.open("citations")
    g.features["feat"].read([3, 1, 3])                        # rows by id, a new array
    batch = g.sample_neighbors([0, 5, 9], [10, 5])            # nodes and edges around three seeds
    for batch in g.loader("paper", "train", [10, 5], batch_size=1024, shuffle=True, features=["feat"]):
        batch.items, batch.nodes, batch.layers, batch.features

Arrays are numpy's; those of a graph are read-only views of mapped files, which live as long as a view does. numpy is
needed for everything but check() and preprocess()."""

import collections.abc
import json
import math
import operator
import os

from . import _core

_GRAPHBOLT = ("OnDiskDataset", "OnDiskTask", "TorchBasedFeature", "TorchBasedFeatureStore", "ItemSet", "HeteroItemSet", "ItemSetDict",
              "CSCFormatBase", "SampledSubgraph", "FusedCSCSamplingGraph", "add_reverse_edges", "exclude_seed_edges", "ItemSampler",
              "DistributedItemSampler", "NeighborSampler", "LayerNeighborSampler",
              "TemporalNeighborSampler", "TemporalLayerNeighborSampler", "UniformNegativeSampler", "SeedEdgesExcluder",
              "FeatureFetcher", "MiniBatchTransformer", "CopyTo", "DataLoader")
_SETS = ("train", "validation", "test")
_METHODS = ("neighbors", "labor")


class Problem:
    """What is wrong with a data set, or looks so (is_error False): file, line and column (from 1; 0: of no place), field, message."""

    __slots__ = ("is_error", "file", "line", "column", "field", "message")

    def __init__(self, is_error, file, line, column, field, message):
        self.is_error, self.file, self.line, self.column = bool(is_error), file, line, column
        self.field, self.message = field, message

    def __str__(self):
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else f"{self.file}: "
        return f"{place}{'error' if self.is_error else 'warning'}: {self.field + ': ' if self.field else ''}{self.message}"

    def __repr__(self):
        return f"<Problem {self}>"


def _call(threads, progress):
    return {"threads": threads, "progress": progress}


def check(path, *, deep=False, strict=False, threads=None, progress=None):
    """All problems of metadata.yaml and of the headers of what it names, in one run; deep reads the edges, and the ids in sets, too.

    strict: warnings are errors. Returns a list of Problem; raises NotFound where there is no metadata.yaml."""
    return [Problem(*p) for p in _core.graph_check(os.fspath(path), deep, strict, _call(threads, progress))]


def preprocess(path, *, include_original_edge_id=False, out=None, cast=True, force=False, durable=False, threads=None, progress=None):
    """Make what training reads, in the folder `preprocessed` of path (or of out); nothing is done where that is up to date.

    include_original_edge_id: keep which row of its file an edge was; kept all the same where an edge has features, whose rows are found by
    it. cast: integers take the smallest type that holds them.
    durable: the result is on the disk before it appears: without, a loss of power soon after may leave a torn one (a killed process never does).
    The result is the same for any number of threads, appears whole or not at all, and the sources are only read.
    Returns the path of that folder; raises SchemaMismatch (metadata, shapes), Corrupt (edges, ids in sets, with file and line or row)."""
    _core.graph_preprocess(os.fspath(path), None if out is None else os.fspath(out), include_original_edge_id, cast, force, durable,
                           _call(threads, progress))
    return os.path.join(os.fspath(path if out is None else out), "preprocessed")


def _split_type(key, n):
    """"TYPE:NAME" with types of n parts as (type, name); type None where there is none."""
    kind, _, name = key.rpartition(":")
    if kind and kind.count(":") != n - 1:
        raise ValueError(f"expected NAME or TYPE:NAME with a type of {n} part{'s' * (n > 1)}, found {key!r}")
    return kind or None, name


def init(path, edges, *, nodes=None, node_features=None, edge_features=None, edge_attributes=None, src=None, dst=None,
         train=None, validation=None, test=None, task=None, name=None, force=False, threads=None, progress=None):
    """Write the metadata.yaml of files: what is wrong with them is found at once, for all edges are read.

    edges: a file (csv of two numbers, npy of shape (2, n), torch, Parquet of two columns), or {"source:relation:destination": file}; with src
    and dst names of two columns of any source. nodes: how many, or {type: how many} (default: as edges and features tell). node_features:
    {"name" or "type:name": file}; edge_features, edge_attributes (weights, times): {"name" or "source:relation:destination:name": file}.
    train, validation, test: sets of the task, {"name" or "type:name": file} with names like seeds and labels; the type is of nodes, or of edges
    for seeds that are pairs. A file is npy or torch; (file, column) or (file, [column, column]) takes columns of any source. task: what else
    is said of it, {"name": …, "num_classes": …}.
    force: replace files that are there (metadata.yaml, copies of columns). Returns the path of metadata.yaml; raises Exists, Corrupt (edges, with file and line or row), SchemaMismatch."""
    def files(found, n):
        return [(*_split_type(key, n), os.fspath(file)) for key, file in (found or {}).items()]
    def set_file(kind, key, file):
        file, columns = file if isinstance(file, tuple) else (file, [])
        part, _, item = key.rpartition(":")
        return (kind, part or None, item, os.fspath(file), [columns] if isinstance(columns, str) else list(columns))
    sets = [set_file(i, *item) for i, found in enumerate((train, validation, test)) for item in (found or {}).items()]
    pairs = edges.items() if isinstance(edges, collections.abc.Mapping) else [(None, edges)]
    counts = [] if nodes is None else nodes.items() if isinstance(nodes, collections.abc.Mapping) else [(None, nodes)]
    features = [("node", *f, False) for f in files(node_features, 1)] + [("edge", *f, False) for f in files(edge_features, 3)]
    features += [("edge", *f, True) for f in files(edge_attributes, 3)]
    _core.graph_init(os.fspath(path), name, [(kind, os.fspath(file), src, dst) for kind, file in pairs],
                     [(kind, operator.index(n)) for kind, n in counts], features, sets,
                     [(key, str(value)) for key, value in (task or {}).items()], force, _call(threads, progress))
    return os.path.join(os.fspath(path), "metadata.yaml")


def export(path, dest, *, file_format=None, threads=None, progress=None):
    """Write a preprocessed data set as plain files into the new folder dest: npy files and a metadata.yaml that can be preprocessed again,
    or tables (file_format "parquet", "csv", "jsonl", "arrow"). Edges are in the order of their files, where that was kept. Returns dest."""
    _core.graph_export(os.fspath(path), os.fspath(dest), file_format, _call(threads, progress))
    return os.fspath(dest)


def open(path, *, threads=None):
    """Open a preprocessed data set, Grebe's or DGL's: headers are read, values when they are looked at. threads: of later calls."""
    return _open(os.path.abspath(os.fspath(path)) if os.fspath(path) else "", 0 if threads is None else operator.index(threads))


def _open(path, threads):
    """What a pickle of a data set, or of a part of one, calls in the process that reads it."""
    return Dataset(_core.graph_open(path), path, threads)


def _part(path, threads, what, i):
    return getattr(_open(path, threads), what)[i]


def _view(array):
    import numpy as np
    return None if array is None else np.asarray(array)


def _ids(values, what="ids"):
    import numpy as np
    a = np.asarray(values)
    if a.size and (a.ndim != 1 or a.dtype.kind not in "iu"):
        raise TypeError(f"{what}: expected a list of whole numbers, found {a.dtype} of shape {a.shape}")
    return np.ascontiguousarray(a.reshape(-1), np.int64)


def _room(handle, size):
    """size bytes of memory; where it is much, that of rows read before that nobody holds any more, whose pages cost no fault."""
    import numpy as np
    if size < 1 << 20:
        return np.empty(size, np.uint8)
    memory = handle.spare(size)
    return np.frombuffer(handle.room(np.empty(size, np.uint8) if memory is None else memory), np.uint8, size)


class Feature:
    """One feature: rows by id of a node, an edge, or of the whole graph. bfloat16 comes as uint16, the bits that it is."""

    def __init__(self, handle, i, path, threads):
        self._handle, self._i, self._path, self._threads = handle, i, path, threads
        self._row = None  # shape and type of a row, once the file is open
        self.domain, self.type, self.name, self.is_in_memory, metadata = handle.feature(i)
        self.metadata = json.loads(metadata) if metadata else {}

    @property
    def dtype(self):
        """The name of the type in the file: "float32", "bfloat16", …"""
        return self._handle.feature_values(self._i).type()

    @property
    def values(self):
        """All rows, a read-only view of the file."""
        return _view(self._handle.feature_values(self._i))

    @property
    def shape(self):
        return self.values.shape

    def __len__(self):
        return len(self.values)

    def read(self, ids=None):
        """Rows by id, which may repeat, in that order, as a new array; None: all of them. Raises InvalidArgument for an id that is none.

        Memory of at most 256 MB of rows that nobody holds any more is kept for the next call."""
        if ids is None:
            return self.values.copy()
        if self._row is None:
            self._row = self.shape[1:], self.values.dtype
        shape, dtype = self._row
        ids = _ids(ids)
        out = _room(self._handle, len(ids) * math.prod(shape) * dtype.itemsize)
        self._handle.feature_read(self._i, ids, self._threads, out)
        return out.view(dtype).reshape((len(ids),) + shape)

    def __reduce__(self):
        return _part, (self._path, self._threads, "features", (self.domain, self.type, self.name))

    def __repr__(self):
        return f"<Feature {(self.domain, self.type, self.name)} {self.dtype} {self.shape}>"


class Features(collections.abc.Mapping):
    """Features by (domain, type, name) in the order of the metadata, type None where there is none; or by a name that only one has."""

    def __init__(self, handle, n, path, threads):
        self._all = {}
        for i in range(n):
            f = Feature(handle, i, path, threads)
            self._all[f.domain, f.type, f.name] = f

    def __getitem__(self, key):
        if isinstance(key, str):
            found = [f for (_, _, name), f in self._all.items() if name == key]
            if len(found) > 1:
                raise KeyError(f"{key!r} is the name of {len(found)} features: ask for (domain, type, name)")
            if found:
                return found[0]
        return self._all[key]

    def __iter__(self):
        return iter(self._all)

    def __len__(self):
        return len(self._all)


class Task:
    """A task: what the metadata says of it (metadata) and its sets, each {type: {name: array}}, or {} where there is none."""

    def __init__(self, handle, i, path, metadata):
        self._handle, self._i, self._path, self.metadata = handle, i, path, json.loads(metadata)

    def __reduce__(self):
        return _part, (self._path, 0, "tasks", self._i)

    def _set(self, which):
        return {kind: {field: _view(a) for field, a in arrays} for kind, arrays in self._handle.set(self._i, _SETS.index(which))}

    @property
    def train_set(self):
        return self._set("train")

    @property
    def validation_set(self):
        return self._set("validation")

    @property
    def test_set(self):
        return self._set("test")

    def __repr__(self):
        return f"<Task {self.metadata}>"


class Layer:
    """Edges of one hop: by type, (indptr, indices, edges), each column a node that the hop leads to; counts: (rows, columns) by node type.

    indices are rows of the batch (of its nodes of the source type); edges are rows of the edge file where these are kept, else positions."""

    __slots__ = ("relations", "counts")

    def __init__(self, relations, counts):
        self.relations, self.counts = relations, counts


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

    def to_pyg(self, x=None, y=None):
        """As Data (of typed graphs HeteroData) of torch_geometric, or a look-alike: edge_index, n_id, e_id, batch_size, num_sampled_nodes,
        num_sampled_edges. x: rows for nodes, y: labels of the seeds, {type: …} in typed graphs."""
        from ._graph_pyg import to_pyg
        return to_pyg(self, x, y)


class Dataset:
    """A preprocessed data set: graph arrays, features, tasks, sampling. Immutable; may be used from many threads. A pickle of it, of one of
    its features or tasks, holds the path: another process opens the same folder."""

    def __init__(self, handle, path, threads):
        self._handle, self._path, self._threads = handle, path, threads
        info = handle.info()
        self.name, self.num_nodes, self.num_edges = info["name"], info["num_nodes"], info["num_edges"]
        self._arrays = {k: info[k] for k in ("indptr", "indices", "node_type_offset", "type_per_edge")}
        self._spare = {}  # the last sampler of sample_neighbors(), by its options
        self.features = Features(handle, info["num_features"], path, threads)
        self.tasks = [Task(handle, i, path, handle.task(i)) for i in range(info["num_tasks"])]

    def __reduce__(self):
        return _open, (self._path, self._threads)

    @property
    def indptr(self):
        """Where the edges that lead to each node begin: [num_nodes + 1]; None: there is no graph."""
        return _view(self._arrays["indptr"])

    @property
    def indices(self):
        """The node that each edge comes from: [num_edges]."""
        return _view(self._arrays["indices"])

    @property
    def node_type_offset(self):
        """Where the nodes of each type begin; None in a graph without types."""
        return _view(self._arrays["node_type_offset"])

    @property
    def type_per_edge(self):
        """The type of each edge; None in a graph without types."""
        return _view(self._arrays["type_per_edge"])

    @property
    def node_types(self):
        """{type: nodes}, empty in a graph without types."""
        return dict(self._handle.node_types())

    @property
    def edge_types(self):
        """{"source:relation:destination": edges}. Counts them: reads the types of all edges."""
        import numpy as np
        return dict(zip(self._handle.edge_types(), np.frombuffer(self._handle.edge_counts(), np.int64).tolist()))

    def _core_attributes(self, is_edge):
        i = 0
        while (found := self._handle.attribute(is_edge, i)) is not None:
            yield found
            i += 1

    def _attributes(self, is_edge):
        return {name: _view(a) for name, a in self._core_attributes(is_edge)}

    @property
    def node_attributes(self):
        return self._attributes(False)

    @property
    def edge_attributes(self):
        """{name: array}: "_ORIGINAL_EDGE_ID", weights, times, …, in the order of the edges here."""
        return self._attributes(True)

    def sampler(self, fanouts, *, replace=False, method="neighbors", probs=None, threads=None, layer_dependency=False, batch_dependency=1,
                deduplicate=True, node_times=None, edge_times=None, window=None):
        """What sample_neighbors() does, prepared: options are checked once. Not for several threads at a time.

        deduplicate False: a node that is reached again gets another row. node_times, edge_times: names of attributes; only what is older than
        the time of the seed (run(times=)) is sampled, and with a window what is younger than that less the window; a node that is reached
        again gets another row, with the time of its seed.

        Of method "labor": layer_dependency gives all layers the same random numbers; batch_dependency n lets n runs whose layer_seed are
        numbers in succession go over from one seed to the next, so that each picks nearly what the one before has picked."""
        how = _sampling(fanouts, replace, method, probs, layer_dependency, batch_dependency, node_times, edge_times, window, deduplicate)
        return Sampler(self, how, self._threads if threads is None else threads)

    def sample_neighbors(self, seeds, fanouts, *, replace=False, method="neighbors", probs=None, layer_seed=0):
        """Sample neighbours of seeds hop by hop.

        seeds: ids, or {type: ids}. fanouts: of each layer, the outermost first: a number (-1: all), or one for each type of edges. method:
        "neighbors", or "labor" for fewer nodes. probs: the name of an edge attribute (weights, or a mask). The same layer_seed gives the
        same batch on any number of threads. Returns a Batch; raises InvalidArgument for a seed that is no node, NotFound for an attribute."""
        import numpy as np
        numbers = np.asarray(fanouts)
        key = (numbers.shape, numbers.dtype, numbers.tobytes(), replace, method, probs)
        sampler = self._spare.pop(key, None) or self.sampler(fanouts, replace=replace, method=method, probs=probs)
        batch = sampler.run(seeds, layer_seed)
        self._spare = {key: sampler}
        return batch

    def sample_negatives(self, pairs, ratio, *, num_targets=None, seed=0):
        """Pairs [n, 2] and behind them ratio for each, with its source and a destination drawn from num_targets (default: all nodes)."""
        import numpy as np
        pairs = np.asarray(pairs)
        if pairs.size and pairs.dtype.kind not in "iu":
            raise TypeError(f"pairs: expected whole numbers, found {pairs.dtype}")
        pairs = np.ascontiguousarray(pairs, np.int64)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"pairs: expected shape (n, 2), found {pairs.shape}")
        ratio = operator.index(ratio)
        if ratio < 0:
            raise ValueError(f"ratio: expected a number from 0, found {ratio}")
        out = np.empty((len(pairs) * (1 + ratio), 2), np.int64)
        _core.graph_negatives(pairs, ratio, self.num_nodes if num_targets is None else num_targets, seed, out)
        return out

    def _set(self, task, which):
        found = [i for i, t in enumerate(self.tasks) if i == task or t.metadata.get("name") == task]
        if not found:
            raise KeyError(f"there is no task {task!r}")
        if which not in _SETS:
            raise ValueError(f"set: expected one of {', '.join(_SETS)}, found {which!r}")
        return found[0], _SETS.index(which), self.tasks[found[0]]._set(which)

    def batches(self, task, set="train", *, batch_size, **options):
        """As loader() without sampling: each batch is a dict of arrays, {"seeds": …, "labels": …}, or {type: such a dict}."""
        return (b.items if None not in b.items else b.items[None] for b in self.loader(task, set, None, batch_size=batch_size, **options))

    def loader(self, task, set="train", fanouts=None, *, batch_size, shuffle=False, drop_last=False, seed=0, features=(), replace=False,
               method="neighbors", probs=None, negative_ratio=0, exclude_seeds=False, rank=0, num_replicas=0, worker=0, num_workers=0,
               cache_bytes=0, threads=None, layer_dependency=False, batch_dependency=1, node_times=None, edge_times=None, window=None):
        """Batches of a set of a task (its name or number): "train", "validation" or "test". Each iteration is an epoch, in another order.

        fanouts: what sample_neighbors() takes; None: nothing is sampled. features: of nodes, by name or (domain, type, name), whose rows
        come with each batch; cache_bytes: rows of each that were read stay in so much memory. negative_ratio: negatives of each pair of nodes.
        rank, num_replicas, worker, num_workers: several processes share an epoch. layer_dependency, batch_dependency: as of sampler().
        node_times, edge_times: names of attributes; only what is older than the "timestamp" of the seed is sampled, and with a window what is
        younger than that less the window. The same seed gives the same batches on any number of
        threads. Batches are made ahead by threads. Not for several threads at a time."""
        return Loader(self, self._set(task, set), fanouts, features, cache_bytes,
                      (operator.index(batch_size), shuffle, drop_last, seed, num_replicas, rank, num_workers, worker, negative_ratio,
                       exclude_seeds),
                      (replace, method, probs, layer_dependency, batch_dependency, node_times, edge_times, window),
                      self._threads if threads is None else threads)

    def __repr__(self):
        return f"<graph Dataset {self.name!r}: {self.num_nodes} nodes, {self.num_edges} edges, {len(self.features)} features>"


def _sampling(fanouts, replace, method, probs, layer_dependency, batch_dependency, node_times=None, edge_times=None, window=None, deduplicate=True):
    import numpy as np
    if method not in _METHODS:
        raise ValueError(f"method: expected one of {', '.join(_METHODS)}, found {method!r}")
    fanouts = np.asarray(fanouts)
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
            parts = [(kind, _ids(ids, "seeds"), None if times is None else _ids(times[kind], "times")) for kind, ids in seeds.items()]
        else:
            parts = [(None, _ids(seeds, "seeds"), None if times is None else _ids(times, "times"))]
        return Batch(*self._sampler.run(parts, layer_seed), *self._types)


class MiniBatch(Batch):
    """A batch of a Loader: nodes and layers as Batch has them (None and [] when nothing is sampled), items, and rows of features.

    items: {type: {name: array}}, type None where the set has none: "seeds" (shape [n], or [n, 2] for pairs, negatives behind the
    positives), what else the set has ("labels", …), of the positives alone, and when sampled "rows", those of the seeds in the batch.
    features: {what was asked for: array}, one row for each node of the batch."""

    def __init__(self, parts, sampled, rows, features, columns, types):
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
        self.features = {key: frombuffer(r, dtype).reshape((-1,) + shape) for (key, dtype, shape), r in zip(features, rows)}


class Loader:
    """Made by Dataset.loader(). len() is the number of batches of an epoch; epoch is that of the next iteration and may be set.

    A pickle of it holds the path of the data set, the options and epoch: another process goes on with the next epoch."""

    def __init__(self, dataset, where, fanouts, features, cache_bytes, items, how, threads):
        task, which, arrays = where
        if isinstance(features, str):
            raise TypeError(f"features: expected a list of names, found {features!r}")
        features = list(features)
        self._made = (dataset, task, _SETS[which], fanouts, features, cache_bytes, items, how, threads)
        cache_bytes = operator.index(cache_bytes)
        if cache_bytes < 0:
            raise ValueError(f"cache_bytes: expected a number from 0, found {cache_bytes}")
        if fanouts is None and features:
            raise ValueError("features: expected fanouts with them, for rows are those of sampled nodes")
        found = [(key, dataset.features[key]) for key in features]
        for key, f in found:
            if f.domain != "node":
                raise ValueError(f"features: expected features of nodes, found {key!r} of domain {f.domain!r}")
        self._types = _type_names(dataset)
        fetches = [(f.domain, f.type, f.name, cache_bytes) for _, f in found]
        self._features = [(key, f.values.dtype, f.shape[1:]) for key, f in found]
        self._columns = {kind: [(name, a.dtype, a.shape[1:]) for name, a in part.items() if name != "seeds"] for kind, part in arrays.items()}
        sampling = None if fanouts is None else _sampling(fanouts, *how)
        self._loader = _core.graph_loader(dataset._handle, task, which, sampling, *items, fetches, threads)
        self.epoch = 0
        self._iteration = None

    def __reduce__(self):
        return _loader, (*self._made, self.epoch)

    def share(self, worker, num_workers):
        """The same loader for one of several workers, with its part of what this one has of each epoch; in place of worker and num_workers
        of loader(), where they are known only in the worker, as those of torch.utils.data.DataLoader are."""
        dataset, task, which, fanouts, features, cache_bytes, items, how, threads = self._made
        items = (*items[:6], operator.index(num_workers), operator.index(worker), *items[8:])
        return _loader(dataset, task, which, fanouts, features, cache_bytes, items, how, threads, self.epoch)

    def __len__(self):
        return self._loader.n_batches()

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
            yield MiniBatch(*found, self._features, self._columns, self._types)


def _loader(dataset, task, which, fanouts, features, cache_bytes, items, how, threads, epoch):
    made = Loader(dataset, dataset._set(task, which), fanouts, features, cache_bytes, items, how, threads)
    made.epoch = epoch
    return made


def __getattr__(name):
    """The names of DGL GraphBolt, read when one of them is asked for."""
    if name not in _GRAPHBOLT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _graphbolt, _graphbolt_graph, _graphbolt_pipe
    return next(getattr(m, name) for m in (_graphbolt, _graphbolt_graph, _graphbolt_pipe) if hasattr(m, name))


def __dir__():
    return [*globals(), *_GRAPHBOLT]
