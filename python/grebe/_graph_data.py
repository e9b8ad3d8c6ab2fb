# SPDX-License-Identifier: Apache-2.0
"""A preprocessed graph: its arrays, features and tasks."""

import collections.abc
import json
import math
import operator
import os

from . import _core
from ._graph_batch import SETS, Loader, Sampler, sampling_of
from ._graph_tensors import integers, is_mapping, whole_numbers


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
        ids = whole_numbers(ids)
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
        if key not in self._all:
            raise KeyError(f"there is no feature {key!r}: there are {list(self._all)}")
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
        return {kind: {field: _view(a) for field, a in arrays} for kind, arrays in self._handle.set(self._i, SETS.index(which))}

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
        how = sampling_of(fanouts, replace, method, probs, layer_dependency, batch_dependency, node_times, edge_times, window, deduplicate)
        return Sampler(self, how, self._threads if threads is None else threads)

    def sample_neighbors(self, seeds, fanouts, *, replace=False, method="neighbors", probs=None, layer_seed=0):
        """Sample neighbours of seeds hop by hop.

        seeds: ids, or {type: ids}; one that is given twice has two rows. fanouts: of each layer, the outermost first: a number (-1: all), or one for each type of edges. method:
        "neighbors", or "labor" for fewer nodes. probs: the name of an edge attribute (weights, or a mask). The same layer_seed gives the
        same batch on any number of threads. Returns a Batch; raises InvalidArgument for a seed that is no node, NotFound for an attribute."""
        how = sampling_of(fanouts, replace, method, probs, False, 1)
        key = (how[0].shape, how[0].tobytes(), *how[1:])
        sampler = self._spare.pop(key, None) or Sampler(self, how, self._threads)
        batch = sampler.run(seeds, layer_seed)
        self._spare = {key: sampler}
        return batch

    def sample_negatives(self, pairs, ratio, *, num_targets=None, seed=0):
        """Pairs [n, 2] and behind them ratio for each, with its source and a destination drawn from num_targets (default: all nodes)."""
        import numpy as np
        pairs = np.ascontiguousarray(integers(pairs, "pairs"))
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
            names = [t.metadata.get("name", i) for i, t in enumerate(self.tasks)]
            raise KeyError(f"there is no task {task!r}: there are {names}")
        if which not in SETS:
            raise ValueError(f"set: expected one of {', '.join(SETS)}, found {which!r}")
        return found[0], SETS.index(which), self.tasks[found[0]]._set(which)

    def batches(self, task, set="train", *, batch_size, **options):
        """As loader() without sampling: each batch is a dict of arrays, {"seeds": …, "labels": …}, or {type: such a dict}."""
        return (b.items if None not in b.items else b.items[None] for b in self.loader(task, set, None, batch_size=batch_size, **options))

    def loader(self, task, set="train", fanouts=None, *, batch_size, shuffle=False, drop_last=False, seed=0, features=(), replace=False,
               method="neighbors", probs=None, negative_ratio=0, exclude_seeds=False, exclude_reverse=None, rank=0, num_replicas=0, worker=0, num_workers=0,
               cache_bytes=0, threads=None, layer_dependency=False, batch_dependency=1, node_times=None, edge_times=None, window=None):
        """Batches of a set of a task (its name or number): "train", "validation" or "test". Each iteration is an epoch, in another order.

        fanouts: what sample_neighbors() takes; None: nothing is sampled. features: by name or (domain, type, name), whose rows come with each
        batch, those of edges for each layer; cache_bytes: rows of each that were read stay in so much memory. negative_ratio: negatives of
        each pair of nodes. exclude_seeds: seed edges are left out of what is sampled; exclude_reverse: those of the other direction too, True,
        or in a graph with types {type: type of the other direction}.
        rank, num_replicas, worker, num_workers: several processes share an epoch. layer_dependency, batch_dependency: as of sampler().
        node_times, edge_times: names of attributes; only what is older than the "timestamp" of the seed is sampled, and with a window what is
        younger than that less the window. The same seed gives the same batches on any number of
        threads. Batches are made ahead by threads. Not for several threads at a time."""
        return Loader(self, self._set(task, set), fanouts, features, cache_bytes,
                      (operator.index(batch_size), shuffle, drop_last, seed, num_replicas, rank, num_workers, worker, negative_ratio,
                       exclude_seeds, bool(exclude_reverse), list(exclude_reverse.items()) if is_mapping(exclude_reverse) else []),
                      (replace, method, probs, layer_dependency, batch_dependency, node_times, edge_times, window),
                      self._threads if threads is None else threads)

    def __repr__(self):
        return f"<graph Dataset {self.name!r}: {self.num_nodes} nodes, {self.num_edges} edges, {len(self.features)} features>"
