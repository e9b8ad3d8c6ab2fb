# SPDX-License-Identifier: Apache-2.0
"""Data sets by row number: rows in mapped Arrow files, transforms that give new data sets, a cache that is found again."""

import array
import collections.abc
import json
import os
import secrets

from . import _core
from ._arguments import at_least_one, check_rows
from ._build import build
from ._export import Writing
from ._features import Features, features_json, json_paths
from ._formats import LazyColumns, format_name, formatter
from ._function_id import Unknown, function_id
from ._generated import generated_batches
from ._kinds import enter
from ._load import load, load_from_disk
from ._search_index import Searchable
from ._transforms import Transforms


class Column(collections.abc.Sequence):
    """One column of a data set, read when asked: an element, a slice, all by iterating. ``ds["a"]["b"]`` goes into a struct."""

    __slots__ = ("_ds", "_name", "_path")

    def __init__(self, ds, name, path=()):
        self._ds, self._name, self._path = ds, name, path

    def _inside(self, value):
        for part in self._path:
            value = value[part] if value is not None else None
        return value

    def _values(self, batch):
        values = self._ds._formatter().column(batch, self._name)
        return [self._inside(v) for v in values] if self._path else values

    def __getitem__(self, key):
        if isinstance(key, str):
            return Column(self._ds, self._name, self._path + (key,))
        if isinstance(key, bool):
            raise TypeError("expected an integer, a slice or a list of integers, found bool")
        if hasattr(key, "__index__") and not hasattr(key, "__len__"):
            return self._inside(self._ds._row(key.__index__(), [self._name])[self._name])
        return self._values(self._ds._batch(key, [self._name]))

    def __len__(self):
        return len(self._ds)

    def __iter__(self):
        for begin in range(0, len(self), 1000):
            yield from self._values(self._ds._core.read(begin, min(begin + 1000, len(self)), [self._name]))

    def __eq__(self, other):
        return list(self) == list(other)

    __hash__ = None

    def __repr__(self):
        return f"Column({list(self[:5])}{' …' if len(self) > 5 else ''})"


class Info(dict):
    """What dataset_info.json tells, as a dict; its members are attributes too, None where it does not tell them."""

    def __getattr__(self, name):
        if name not in _TOLD:
            raise AttributeError(f"no {name!r} in the information of a data set: there are {', '.join(_TOLD)}")
        value = self.get(name)
        return Features.from_dict(value) if name == "features" and value is not None else value


_TOLD = ("description", "citation", "homepage", "license", "features", "supervised_keys", "builder_name", "dataset_name", "config_name",
         "version", "splits", "download_checksums", "download_size", "dataset_size", "size_in_bytes")


@enter
class Dataset(Transforms, Writing, Searchable):
    """Rows by number, columns by name. Immutable but for set_format, set_transform and attached indexes; transforms give new ones.

    ``ds[i]`` a row (dict), ``ds[a:b]``, ``ds[[3, 1]]`` a batch (dict of columns), ``ds["text"]`` a column. Iterating gives rows.
    Speaks ``__arrow_c_stream__``: ``pyarrow.table(ds)``, ``polars.DataFrame(ds)``."""

    def __init__(self, core, format_kwargs=None, transform=None):
        self._core = core
        self._info_dict = core.info()
        self._n = self._info_dict["num_rows"]
        self._names = self._info_dict["columns"]
        self._kwargs = dict(format_kwargs or {})
        self._function = transform
        self._made = None
        self._features = None
        # rows as they lie, without a format, a choice of columns or anything to decode: most reading is that
        kind, columns, _, output_all = self._info_dict["format"]
        self._is_plain = kind is None and (columns is None or output_all) and '"Json"' not in self._info_dict["features"]
        Searchable.__init__(self)

    # ---- where they come from

    @classmethod
    def from_dict(cls, mapping, features=None, info=None, split=None):
        """From a dict of columns."""
        columns = dict(mapping)
        lengths = {name: len(v) for name, v in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"from_dict: expected columns of equal length, found {lengths}")
        names = list(columns)
        batch = build({n: columns[n] for n in names})
        out = cls(_core.dataset_of_rows(batch, _given_features(features, names)))
        return out if split is None else cls(out._core.with_labels({"split": str(split)}))

    @classmethod
    def from_list(cls, mapping, features=None, info=None, split=None):
        """From a list of dicts: columns are the keys of the first (those of features when given), missing values None."""
        rows = list(mapping)
        check_rows("from_list", rows)
        names = list(features) if features is not None else list(rows[0]) if rows else []
        return cls.from_dict({n: [r.get(n) for r in rows] for n in names}, features, info, split)

    @classmethod
    def from_arrow(cls, data, features=None, split=None):
        """From any Arrow producer: a pyarrow.Table, a polars.DataFrame, a grebe.Stream or Table scan …"""
        out = cls(_core.dataset_of_rows(_core.stream_from(data), features_json(features)))
        return out if split is None else cls(out._core.with_labels({"split": str(split)}))

    @classmethod
    def from_polars(cls, df, features=None, info=None, split=None):
        """From a polars.DataFrame."""
        return cls.from_arrow(df, features, split)

    @classmethod
    def from_pandas(cls, df, features=None, info=None, split=None, preserve_index=None):
        """From a pandas.DataFrame (by way of pyarrow)."""
        import pyarrow
        return cls.from_arrow(pyarrow.Table.from_pandas(df, preserve_index=preserve_index), features, split)

    @classmethod
    def from_file(cls, filename, info=None, split=None, in_memory=False):
        """An Arrow file (stream or file format), mapped."""
        out = cls(_core.dataset_of_files([os.fspath(filename)], in_memory))
        return out if split is None else cls(out._core.with_labels({"split": str(split)}))

    @classmethod
    def from_buffer(cls, buffer, info=None, split=None):
        """The bytes of an Arrow stream."""
        import pyarrow
        return cls.from_arrow(pyarrow.ipc.open_stream(buffer).read_all(), split=split)

    @classmethod
    def from_generator(cls, generator, features=None, cache_dir=None, keep_in_memory=False, gen_kwargs=None, num_proc=None,
                       split="train", **kwargs):
        """From a function that yields dicts."""
        batches = generated_batches(generator(**(gen_kwargs or {})), features, 1000)
        return cls.from_arrow(_core.stream_of_batches(batches, build({})), features, split)

    @classmethod
    def from_table(cls, table, version=None, columns=None):
        """Rows of a Grebe table (a grebe.Table or the path of one), read into memory."""
        import grebe
        opened = grebe.open(table, version) if isinstance(table, (str, os.PathLike)) else table
        return cls.from_arrow(opened.scan(columns=columns))

    @classmethod
    def from_datasets(cls, other):
        """From a ``datasets.Dataset``: its Arrow memory and its mapping are taken without a copy."""
        out = cls(_core.dataset_of_rows(_core.stream_from(other.data.table), json.dumps(other.features.to_dict())))
        if other._indices is not None:
            out = out.select(other._indices.column(0).to_numpy())
        return cls(out._core.with_labels({"fingerprint": other._fingerprint, "split": str(other.split) if other.split else ""}))

    def to_datasets(self):
        """As a ``datasets.Dataset``, without a copy of the rows."""
        import datasets
        import pyarrow
        info = datasets.DatasetInfo(features=datasets.Features.from_dict(self.features.to_dict()))
        table = pyarrow.table(self).cast(info.features.arrow_schema)
        return datasets.Dataset(datasets.table.InMemoryTable(table), info=info, split=self.split, fingerprint=self._fingerprint)

    for _name in ("csv", "json", "parquet", "text"):
        def _of_files(cls, path_or_paths, split=None, features=None, cache_dir=None, keep_in_memory=False, *, _kind=_name, **options):
            name = str(split) if split is not None else "train"
            return load(_kind, data_files={name: path_or_paths}, split=name, features=features, cache_dir=cache_dir,
                        keep_in_memory=keep_in_memory, **options)
        _of_files.__doc__ = f"From {_name} files, through the cache."
        locals()["from_" + _name] = classmethod(_of_files)
    del _name, _of_files

    @staticmethod
    def load_from_disk(dataset_path, keep_in_memory=None):
        """A folder that save_to_disk of a Dataset wrote."""
        out = load_from_disk(dataset_path, keep_in_memory)
        if not isinstance(out, Dataset):
            raise FileNotFoundError(f"{dataset_path}: a dictionary of splits: use DatasetDict.load_from_disk, or the folder of one of "
                                    f"{list(out)}")
        return out

    # ---- what they are

    num_rows = property(lambda self: self._n, doc="Number of rows.")
    num_columns = property(lambda self: len(self._names), doc="Number of columns.")
    column_names = property(lambda self: list(self._names), doc="Names of the columns.")
    shape = property(lambda self: (self._n, len(self._names)), doc="(rows, columns)")
    split = property(lambda self: self._info_dict["split"], doc="Name of the split, or None.")
    cache_files = property(lambda self: [{"filename": f} for f in self._info_dict["files"]], doc="Data files, then indices files.")
    _fingerprint = property(lambda self: self._info_dict["fingerprint"])
    fingerprint = property(lambda self: self._info_dict["fingerprint"], doc="16 hexadecimal digits: what was loaded, and what was done.")
    info = property(lambda self: Info(json.loads(self._info_dict["info"])), doc="What dataset_info.json tells, as a dict.")
    description = property(lambda self: self.info.description, doc="What the info tells of the data, in words.")
    config_name = property(lambda self: self.info.config_name, doc="Name of the configuration that was loaded, or None.")
    builder_name = property(lambda self: self.info.builder_name, doc="What read the files: csv, json, …, or None.")
    dataset_size = property(lambda self: self.info.dataset_size, doc="Bytes of all splits as they were prepared, or None.")
    data = property(lambda self: self, doc="Itself, for code that asks for the table.")

    @property
    def features(self):
        """What the columns mean."""
        if self._features is None:
            self._features = Features.from_json(self._info_dict["features"])
        return self._features

    @property
    def nbytes(self):
        """Bytes of Arrow buffers that the rows refer to."""
        return self._core.num_bytes()

    def __len__(self):
        return self._n

    def __repr__(self):
        return f"Dataset({{\n    features: {self._names},\n    num_rows: {self._n}\n}})"

    def __arrow_c_stream__(self, requested_schema=None):
        return self._core.scan(self._shown(), 0).__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self):
        return self._core.schema().__arrow_c_schema__()

    def __reduce__(self):
        return _unpack, (self._core.pack(), self._kwargs, self._function)

    # ---- formats

    @property
    def format(self):
        """How rows are given out: type, columns, output_all_columns, format_kwargs."""
        kind, columns, kwargs, output_all = self._info_dict["format"]
        return {"type": kind, "format_kwargs": self._format_kwargs(), "columns": columns if columns is not None else list(self._names),
                "output_all_columns": output_all}

    def _format_kwargs(self):
        stored = self._info_dict["format"][2]
        return {**(json.loads(stored) if stored else {}), **self._kwargs}

    def _formatter(self):
        if self._made is None:
            paths = json_paths(self.features)
            self._made = formatter(self._info_dict["format"][0], paths, **self._format_kwargs(), transform=self._function) \
                if self._function is not None else formatter(self._info_dict["format"][0], paths, **self._format_kwargs())
        return self._made

    def _shown(self):
        """Names of the columns that rows have, None for all."""
        _, columns, _, output_all = self._info_dict["format"]
        if columns is None or output_all:
            return None
        return columns

    def with_format(self, type=None, columns=None, output_all_columns=False, **kwargs):
        """The same rows given out in another form: "numpy", "torch", "arrow", "pandas", "polars", None (Python)."""
        kind = format_name(type)
        formatter(kind, (), **kwargs)
        if columns is not None:
            columns = [columns] if isinstance(columns, str) else list(columns)
            self._known(columns)
        plain = {k: v for k, v in kwargs.items() if v is None or isinstance(v, (str, int, float, bool))}
        rest = {k: v for k, v in kwargs.items() if k not in plain}
        labels = {"format": (kind, columns, json.dumps(plain) if plain else None, output_all_columns)}
        if rest:
            labels["fingerprint"] = self._named(kind, columns, output_all_columns, rest, **plain)
        return Dataset(self._core.with_labels(labels), rest)

    def with_transform(self, transform, columns=None, output_all_columns=False):
        """Rows as a function makes them of a batch (a dict of columns)."""
        if columns is not None:
            columns = [columns] if isinstance(columns, str) else list(columns)
            self._known(columns)
        labels = {"format": ("custom", columns, None, output_all_columns),
                  "fingerprint": self._named("custom", columns, output_all_columns, transform)}
        return Dataset(self._core.with_labels(labels), {}, transform)

    def _named(self, kind, columns, output_all_columns, values, **plain):
        """The fingerprint of a format with values that only Python knows."""
        try:
            told = function_id(values)
        except Unknown:
            told = secrets.token_hex(8)
        arguments = {**plain, "type": kind, "columns": columns, "output_all_columns": output_all_columns, "values": told}
        return _core.fingerprint(self._fingerprint, "datasets.arrow_dataset.Dataset.set_format", json.dumps(arguments))

    def _become(self, other):
        indexes = self._indexes
        self.__dict__.update(other.__dict__)
        self._indexes = indexes

    def set_format(self, type=None, columns=None, output_all_columns=False, **kwargs):
        """As with_format, of this object."""
        self._become(self.with_format(type, columns, output_all_columns, **kwargs))

    def set_transform(self, transform, columns=None, output_all_columns=False):
        """As with_transform, of this object."""
        self._become(self.with_transform(transform, columns, output_all_columns))

    def reset_format(self):
        """Plain Python again, of this object."""
        self.set_format()

    def formatted_as(self, type=None, columns=None, output_all_columns=False, **kwargs):
        """A context in which this object has another format."""
        return _Formatted(self, type, columns, output_all_columns, kwargs)

    def _like(self, core):
        """A data set that a transform made, with what only Python knows of the format."""
        kept = core.info()["format"][0] == self._info_dict["format"][0]
        return Dataset(core, self._kwargs if kept else None, self._function if kept else None)

    def _known(self, columns):
        for name in columns:
            if name not in self._names:
                raise ValueError(f"no column {name!r}: there are {self._names}")

    # ---- reading

    def _batch(self, key, columns=None):
        if isinstance(key, slice):
            begin, end, step = key.indices(self._n)
            key = range(begin, end, step)
        if isinstance(key, range):
            if key.step == 1 and 0 <= key.start <= key.stop <= self._n:
                return self._core.read(key.start, key.stop, columns)
            if len(key) == 0:
                return self._core.read(0, 0, columns)
            return self._core.take(array.array("q", key), columns)
        if isinstance(key, (list, tuple)) and any(isinstance(i, bool) for i in key[:1]):
            raise TypeError("expected row numbers, found a mask of truth values: filter takes such")
        try:
            return self._core.take(key if hasattr(key, "__len__") else list(key), columns)
        except TypeError:
            raise TypeError(f"expected an integer, a slice, a range, a column's name or integers, found {type(key).__name__}") from None

    def _row(self, i, columns=None):
        n = self._n
        at = i + n if i < 0 else i
        if not 0 <= at < n:
            raise IndexError(f"row {i} of {n} rows")
        batch = self._core.read(at, at + 1, self._shown() if columns is None else columns)
        return self._with_rest(self._formatter().row(batch), lambda names: self._core.read(at, at + 1, names), True)

    def _with_rest(self, value, read, is_row):
        """With output_all_columns: columns that are not formatted, as Python values."""
        _, formatted, _, output_all = self._info_dict["format"]
        if not output_all or formatted is None or not isinstance(value, dict):
            return value
        rest = [n for n in self._names if n not in formatted]
        if rest:
            plain = formatter(None, json_paths(self.features))
            batch = read(rest)
            others = plain.row(batch) if is_row else plain.batch(batch, rest)
            value = {n: others[n] if n in others else value[n] for n in self._names if n in value or n in others}
        return value

    def __getitem__(self, key):
        if type(key) is int and self._is_plain:
            return self._core.row(key)
        if isinstance(key, str):
            if key not in self._names:
                raise KeyError(f"no column {key!r}: there are {self._names}")
            return Column(self, key) if self._info_dict["format"][0] not in ("arrow", "pandas", "polars") \
                else self._formatter().column(self._core.read(0, self._n, [key]), key)
        if hasattr(key, "__index__") and not hasattr(key, "__len__"):  # arrays have both
            if isinstance(key, bool):
                raise TypeError("expected an integer, a slice, a range, a column's name or integers, found bool")
            return self._row(key.__index__())
        batch = self._batch(key, self._info_dict["format"][1])
        return self._with_rest(self._formatter().whole(batch), lambda names: self._batch(key, names), False)

    __getitems__ = lambda self, keys: self._formatter().rows(self._batch(list(keys), self._shown()))  # noqa: E731

    def __iter__(self):
        core, n = self._core, self._n
        if self._is_plain:
            for begin in range(0, n, 1000):
                yield from core.rows(begin, min(begin + 1000, n))
            return
        made, columns = self._formatter(), self._info_dict["format"][1]
        for begin in range(0, n, 1000):
            end = min(begin + 1000, n)
            if self._info_dict["format"][3]:
                for i in range(begin, end):
                    yield self._row(i)
            else:
                yield from made.rows(core.read(begin, end, columns))

    def iter(self, batch_size, drop_last_batch=False):
        """Batches of so many rows. With numpy and torch a column is converted when it is asked for."""
        core, n, made = self._core, self._n, self._formatter()
        kind, columns, _, output_all = self._info_dict["format"]
        names = dict.fromkeys(self._names if columns is None else columns)
        numbers = core.numbers

        def read(name, begin, end):
            """A column for numpy or torch: numbers by the shortest way."""
            block = numbers(begin, end, name)
            return made.of_numbers(block) if block is not None else made.column(core.read(begin, end, [name]), name)

        batch_size = at_least_one("batch_size", batch_size)
        for begin in range(0, n - n % batch_size if drop_last_batch else n, batch_size):
            end = min(begin + batch_size, n)
            if kind in ("numpy", "torch") and not output_all:
                yield LazyColumns(names, read, begin, end)
            else:
                batch = core.read(begin, end, columns)
                yield self._with_rest(made.whole(batch), lambda rest, b=begin, e=end: core.read(b, e, rest), False)

    def scan(self, columns=None, batch_rows=0):
        """Rows in order as a grebe.Stream of Batches."""
        return self._core.scan(columns, batch_rows)

    def take_rows(self, rows, columns=None):
        """Rows by number, in the order asked, as a grebe.Batch."""
        return self._core.take(rows, columns)

    def unique(self, column):
        """Distinct values in the order of their first appearance."""
        self._known([column])
        return self._core.unique(column)

    def to_dict(self, batch_size=None, batched=False):
        """{name: list} of all rows; batched: an iterator of those of batch_size rows."""
        plain = self.with_format(None, self._info_dict["format"][1])
        return plain.iter(batch_size or 1000) if batched else plain[:]

    def to_list(self):
        """Rows as a list of dicts."""
        return list(self.with_format(None, self._info_dict["format"][1]))

    def to_pandas(self, batch_size=None, batched=False):
        """A pandas.DataFrame, or an iterator of those of batch_size rows."""
        plain = self.with_format("pandas", self._info_dict["format"][1])
        return plain.iter(batch_size or 1000) if batched else plain[:]

    def to_polars(self, batch_size=None, batched=False):
        """A polars.DataFrame, or an iterator of those of batch_size rows."""
        plain = self.with_format("polars", self._info_dict["format"][1])
        return plain.iter(batch_size or 1000) if batched else plain[:]


class _Formatted:
    def __init__(self, ds, *args):
        self._ds, self._args = ds, args

    def __enter__(self):
        self._before = dict(self._ds.__dict__)
        kind, columns, output_all, kwargs = self._args
        self._ds.set_format(kind, columns, output_all, **kwargs)
        return self._ds

    def __exit__(self, *exc):
        indexes = self._ds._indexes
        self._ds.__dict__.update(self._before)
        self._ds._indexes = indexes


def _unpack(packed, kwargs, function):
    return Dataset(_core.dataset_unpack(packed), kwargs, function)


def _given_features(features, names):
    text = features_json(features)
    if text is not None and list(json.loads(text)) != names and set(json.loads(text)) - set(names):
        missing = [n for n in json.loads(text) if n not in names]
        raise ValueError(f"features: no values for the columns {missing}")
    return text
