# SPDX-License-Identifier: Apache-2.0
"""Data sets by split: what one does, done to each."""

import json
import os

from . import _core, _progress
from ._dataset import Dataset
from ._export import size_of
from ._iterable import IterableDataset
from ._kinds import enter
from ._load import load, load_from_disk


class _Splits(dict):
    _kind = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        for name, ds in self.items():
            if not isinstance(ds, self._kind):
                raise TypeError(f"split {name!r}: expected {self._kind.__name__}, found {type(ds).__name__}")

    def _each(self, method, *args, **kwargs):
        return type(self)({name: getattr(ds, method)(*args, **kwargs) for name, ds in self.items()})

    def __getitem__(self, key):
        if key not in self:
            hint = f"; rows are those of a split: data[{next(iter(self))!r}][…]" if self and not isinstance(key, str) else ""
            raise KeyError(f"no split {key!r}: there are {list(self)}{hint}")
        return super().__getitem__(key)

    column_names = property(lambda self: {name: ds.column_names for name, ds in self.items()})
    num_columns = property(lambda self: {name: ds.num_columns for name, ds in self.items()})

    def __repr__(self):
        inner = "\n".join(f"{name}: {ds!r}" for name, ds in self.items()).replace("\n", "\n    ")
        return f"{type(self).__name__}({{\n    {inner}\n}})"


def _forward(cls, names):
    """Methods that do to each split what the method of that name does."""
    for name in names:
        def method(self, *args, _name=name, **kwargs):
            return self._each(_name, *args, **kwargs)
        method.__name__, method.__doc__ = name, f"{name} of each split."
        setattr(cls, name, method)


def _with_split(method):
    """map and filter: with_split gives the function the split's name as a last argument."""
    def of(self, function=None, *args, with_split=False, fn_kwargs=None, cache_file_names=None, **kwargs):
        out = {}
        for name, ds in self.items():
            more = dict(kwargs, fn_kwargs={**(fn_kwargs or {}), "split": name} if with_split else fn_kwargs)
            if cache_file_names is not None:
                more["cache_file_name"] = cache_file_names[name]
            out[name] = getattr(ds, method)(function, *args, **more)
        return type(self)(out)
    of.__name__, of.__doc__ = method, f"{method} of each split."
    return of


def _from_files(name):
    def of(path_or_paths, features=None, cache_dir=None, keep_in_memory=False, **options):
        return load(name, data_files=path_or_paths, features=features, cache_dir=cache_dir, keep_in_memory=keep_in_memory, **options)
    of.__name__, of.__doc__ = "from_" + name, f"From {name} files, {{split: path}}, through the cache."
    return staticmethod(of)


@enter
class DatasetDict(_Splits):
    """Splits of a data set by name: ``dict["train"]``. Transforms are those of Dataset, done to each split."""

    _kind = Dataset
    map, filter = _with_split("map"), _with_split("filter")
    from_csv, from_json, from_parquet, from_text = (_from_files(name) for name in ("csv", "json", "parquet", "text"))
    num_rows = property(lambda self: {name: ds.num_rows for name, ds in self.items()})
    shape = property(lambda self: {name: ds.shape for name, ds in self.items()})
    cache_files = property(lambda self: {name: ds.cache_files for name, ds in self.items()})
    data = property(lambda self: {name: ds.data for name, ds in self.items()})

    def unique(self, column):
        """Distinct values of a column in each split."""
        return {name: ds.unique(column) for name, ds in self.items()}

    def cleanup_cache_files(self):
        """As that of Dataset; numbers by split."""
        return {name: ds.cleanup_cache_files() for name, ds in self.items()}

    def shuffle(self, seeds=None, seed=None, **kwargs):
        """Each split shuffled, with one seed or one for each (a dict)."""
        if seed is not None and seeds is not None:
            raise ValueError("shuffle: give seed or seeds, not both")
        seeds = seed if seeds is None else seeds
        by_name = seeds if isinstance(seeds, dict) else dict.fromkeys(self, seeds)
        return DatasetDict({name: ds.shuffle(seed=by_name[name], **kwargs) for name, ds in self.items()})

    def set_format(self, *args, **kwargs):
        """set_format of each split."""
        for ds in self.values():
            ds.set_format(*args, **kwargs)

    def set_transform(self, *args, **kwargs):
        """set_transform of each split."""
        for ds in self.values():
            ds.set_transform(*args, **kwargs)

    def reset_format(self):
        """reset_format of each split."""
        self.set_format()

    def save_to_disk(self, dataset_dict_path, max_shard_size=None, num_shards=None, num_proc=None, durable=False, **kwargs):
        """A folder with one for each split."""
        if isinstance(num_shards, dict):
            if set(num_shards) != set(self):
                raise ValueError(f"num_shards: expected the splits {list(self)}, found {list(num_shards)}")
            return self._save_each(os.fspath(dataset_dict_path), num_shards, durable)
        if max_shard_size is not None and num_shards is not None:
            raise ValueError("save_to_disk: give max_shard_size or num_shards, not both")
        options = {"max_shard_bytes": size_of(max_shard_size), "n_shards": num_shards or num_proc, "durable": durable,
                   "progress": _progress.bar("Saving the dataset")}
        _core.dataset_save_dict([(name, ds._core) for name, ds in self.items()], os.fspath(dataset_dict_path), options)

    def _save_each(self, path, num_shards, durable):
        os.makedirs(path, exist_ok=True)
        for name, ds in self.items():
            ds.save_to_disk(os.path.join(path, name), num_shards=num_shards[name], durable=durable)
        temporary = os.path.join(path, f".dataset_dict.json.{os.getpid()}")
        with open(temporary, "w", encoding="utf-8") as f:
            json.dump({"splits": list(self)}, f)
        os.replace(temporary, os.path.join(path, "dataset_dict.json"))

    def push_to_table(self, uri, **options):
        """Each split as a Grebe table in a folder of its name."""
        return {name: ds.to_table(os.path.join(os.fspath(uri), name), **options) for name, ds in self.items()}

    @staticmethod
    def load_from_disk(dataset_dict_path, keep_in_memory=None):
        """A folder that save_to_disk of a DatasetDict wrote."""
        out = load_from_disk(dataset_dict_path, keep_in_memory)
        if not isinstance(out, DatasetDict):
            raise FileNotFoundError(f"{dataset_dict_path}: a single data set, no dictionary of splits: use load_from_disk")
        return out


_forward(DatasetDict, ["with_format", "with_transform", "cast", "cast_column", "remove_columns", "rename_column", "rename_columns",
                       "select_columns", "class_encode_column", "flatten", "sort", "flatten_indices", "align_labels_with_mapping",
                       "batch", "add_column", "repeat", "take", "skip", "select"])


@enter
class IterableDatasetDict(_Splits):
    """Streams by name of split."""

    _kind = IterableDataset
    map, filter = _with_split("map"), _with_split("filter")


_forward(IterableDatasetDict, ["with_format", "cast", "cast_column", "remove_columns", "rename_column", "rename_columns",
                               "select_columns", "shuffle", "batch", "take", "skip", "repeat"])
