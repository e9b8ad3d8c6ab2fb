# SPDX-License-Identifier: Apache-2.0
"""The names of DGL GraphBolt over grebe.graph: code that was written for `dgl.graphbolt as gb` runs with `grebe.graph as gb`. Here data sets,
features and sets of items; graphs and what is sampled of them in _graphbolt_graph, pipelines of batches in _graphbolt_pipe.

Tensors are torch's where torch is installed, else numpy's arrays. Those of graphs and sets share the memory of the mapped files: they are
read, not written to. DGL itself is not needed, and what is sampled does not depend on threads."""

import os
import warnings

from . import _core, _graph_data, _graph_files
from ._errors import Error, InvalidArgument, Unsupported
from ._graph_tensors import array, is_mapping, tensor, torch, whole_numbers
from ._graphbolt_graph import FusedCSCSamplingGraph


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
    """A feature: rows by id, of a tensor of at least two dimensions or of a data set.

    One of a data set is a mapped file, which is read only; update() then works on a copy in memory, and is refused where the metadata says
    `in_memory: false`, for that is said of what memory does not hold."""

    def __init__(self, torch_feature, metadata=None):
        is_of_file = isinstance(torch_feature, _graph_data.Feature)
        self._feature = torch_feature if is_of_file else None
        self._values = None if is_of_file else tensor(torch_feature)
        self._metadata = dict(torch_feature.metadata if is_of_file else metadata or {})
        self._is_own = False  # whether a tensor of ours has what the file has not
        if self._values is not None and len(self._values.shape) < 2:
            raise ValueError(f"a feature: expected two dimensions or more, found shape {tuple(self._values.shape)}")

    def __getstate__(self):
        """Of a feature of a file the pickle has the path, not the rows."""
        return self.__dict__ if self._is_own or self._feature is None else dict(self.__dict__, _values=None)

    def _all(self):
        if self._values is None:
            f = self._feature
            self._values = tensor(f._handle.feature_values(f._i))
        return self._values

    def read(self, ids=None):
        """Rows by id as a new tensor; None: all of them, the file itself."""
        if ids is None:
            return self._all()
        ids = whole_numbers(array(ids))
        if self._feature is None or self._is_own:
            return self._all()[self._places(ids)]
        out, room = _empty((len(ids),) + tuple(self._all().shape[1:]), self._all())
        self._feature._handle.feature_read(self._feature._i, ids, self._feature._threads, room)
        return out

    def _places(self, ids):
        """ids as an index: none is counted from the end."""
        wrong = (ids < 0) | (ids >= self.count())
        if wrong.any():
            raise InvalidArgument(f"id {int(ids[wrong][0])} is no row: there are {self.count()}")
        return tensor(ids)

    def update(self, value, ids=None):
        """Other values in memory: of the rows ids, or, None, all of them, of whatever shape. The file stays as it is."""
        if self._feature is not None and not self._feature.is_in_memory:
            raise Unsupported(f"feature {self._feature.name!r} is in_memory: false: its file is read only")
        value = tensor(value)
        if len(value.shape) < 2:
            raise ValueError(f"update: expected two dimensions or more, found shape {tuple(value.shape)}")
        if ids is None:
            self._values, self._is_own = value, True
            return
        at = self._places(whole_numbers(array(ids)))
        if tuple(value.shape) != (len(at),) + tuple(self.size()):
            raise ValueError(f"update: expected shape {(len(at),) + tuple(self.size())}, found {tuple(value.shape)}")
        if not self._is_own:
            own = self._all()
            self._values, self._is_own = (own.clone() if hasattr(own, "clone") else own.copy()), True
        self._values[at] = value

    def size(self):
        """The shape of a row."""
        return self._all().shape[1:]

    def count(self):
        return len(self._all())

    def metadata(self):
        return dict(self._metadata)

    def __repr__(self):
        f = self._feature
        name = "" if f is None else f"{f.domain}:{f.type}:{f.name}, "
        return f"TorchBasedFeature({name}shape={tuple(self._all().shape)})"


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

    def update(self, domain, type_name, feature_name, value, ids=None):
        self[domain, type_name, feature_name].update(value, ids)

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
        # numpy takes a tensor of one number for that number, not for a list of it
        found = tuple(a[array(index)] if isinstance(a, np.ndarray) and hasattr(index, "detach") else a[index] for a in self._items)
        return found if len(found) > 1 else found[0]

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __repr__(self):
        return f"ItemSet({len(self)} items, names={self.names})"


class HeteroItemSet:
    """Item sets by type, one after another; all with the same names."""

    def __init__(self, itemsets):
        self._sets = dict(itemsets)
        if not self._sets:
            raise ValueError("a set by type: expected one type or more, found none")
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
            _graph_files.preprocess(path, include_original_edge_id=include_original_edge_id, cast=auto_cast_to_optimal_dtype,
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
        self._dataset = _graph_data.open(self._path, threads=self._threads)
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
        return (self._dataset or _graph_data.open(self._path)).name

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
