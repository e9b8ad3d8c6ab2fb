# SPDX-License-Identifier: Apache-2.0
"""Data sets by row number: rows in mapped Arrow files, transforms that give new data sets, a cache that is found again."""

import collections.abc
import json
import operator
import os
import secrets
import warnings

from . import _core, _progress
from ._features import ClassLabel, Features, features_json, json_paths
from ._formats import LazyColumns, format_name, formatter
from ._function_id import Unknown, function_id
from ._map_call import BatchCall, FilterCall, RowCall, build
from ._search_index import Searchable

_state = {"caching": True, "warned": False}


def enable_caching():
    """Results of transforms are looked for in the cache (the default)."""
    _state["caching"] = True


def disable_caching():
    """Results of transforms are computed anew each time, and their files are named at random."""
    _state["caching"] = False


def is_caching_enabled():
    """Whether results of transforms are looked for in the cache."""
    return _state["caching"]


def seed_words(seed, generator=None):
    """A seed as the bytes of 32-bit words, lowest first; a sequence of seeds as theirs one after the other. None: None."""
    if generator is not None:
        if seed is not None:
            raise ValueError("give seed or generator, not both")
        return generator
    if seed is None:
        return None
    words = b""
    is_one = hasattr(seed, "__index__") and not getattr(seed, "shape", ())
    parts = [seed] if is_one else list(seed) if hasattr(seed, "__len__") and not isinstance(seed, (str, bytes, dict, set)) else [None]
    for part in parts:
        if not hasattr(part, "__index__"):
            raise TypeError(f"seed: expected an integer or a sequence of integers, found {seed!r}")
        number = part.__index__()
        if number < 0:
            raise ValueError(f"seed: expected a number not below 0, found {number}")
        words += number.to_bytes(max(4, (number.bit_length() + 31) // 32 * 4), "little")
    return words


def _path(path):
    return None if path is None else os.fspath(path)


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


class Dataset(Searchable):
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
    def from_list(cls, rows, features=None, info=None, split=None):
        """From a list of dicts: columns are the keys of the first (those of features when given), missing values None."""
        rows = list(rows)
        check_rows("from_list", rows)
        names = list(features) if features is not None else list(rows[0]) if rows else []
        return cls.from_dict({n: [r.get(n) for r in rows] for n in names}, features, info, split)

    @classmethod
    def from_arrow(cls, data, features=None, split=None):
        """From any Arrow producer: a pyarrow.Table, a polars.DataFrame, a grebe.Stream or Table scan …"""
        out = cls(_core.dataset_of_rows(_core.stream_from(data), features_json(features)))
        return out if split is None else cls(out._core.with_labels({"split": str(split)}))

    from_polars = from_arrow

    @classmethod
    def from_pandas(cls, frame, features=None, info=None, split=None, preserve_index=None):
        """From a pandas.DataFrame (by way of pyarrow)."""
        import pyarrow
        return cls.from_arrow(pyarrow.Table.from_pandas(frame, preserve_index=preserve_index), features, split)

    @classmethod
    def from_file(cls, filename, info=None, split=None, in_memory=False):
        """An Arrow file (stream or file format), mapped."""
        out = cls(_core.dataset_of_files([_path(filename)], in_memory))
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
        from ._iterable import generated_batches
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
            from ._load import load
            name = str(split) if split is not None else "train"
            return load(_kind, data_files={name: path_or_paths}, split=name, features=features, cache_dir=cache_dir,
                        keep_in_memory=keep_in_memory, **options)
        _of_files.__doc__ = f"From {_name} files, through the cache."
        locals()["from_" + _name] = classmethod(_of_files)
    del _name, _of_files

    # ---- what they are

    num_rows = property(lambda self: self._n, doc="Number of rows.")
    num_columns = property(lambda self: len(self._names), doc="Number of columns.")
    column_names = property(lambda self: list(self._names), doc="Names of the columns.")
    shape = property(lambda self: (self._n, len(self._names)), doc="(rows, columns)")
    split = property(lambda self: self._info_dict["split"], doc="Name of the split, or None.")
    cache_files = property(lambda self: [{"filename": f} for f in self._info_dict["files"]], doc="Data files, then indices files.")
    _fingerprint = property(lambda self: self._info_dict["fingerprint"])
    fingerprint = property(lambda self: self._info_dict["fingerprint"], doc="16 hexadecimal digits: what was loaded, and what was done.")
    info = property(lambda self: json.loads(self._info_dict["info"]), doc="What dataset_info.json tells, as a dict.")
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
        plain = {k: v for k, v in kwargs.items() if isinstance(v, (str, int, float, bool, type_none))}
        core = self._core.with_labels({"format": (kind, columns, json.dumps(plain) if plain else None, output_all_columns)})
        return Dataset(core, {k: v for k, v in kwargs.items() if k not in plain})

    def with_transform(self, transform, columns=None, output_all_columns=False):
        """Rows as a function makes them of a batch (a dict of columns)."""
        if columns is not None:
            columns = [columns] if isinstance(columns, str) else list(columns)
            self._known(columns)
        return Dataset(self._core.with_labels({"format": ("custom", columns, None, output_all_columns)}), {}, transform)

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
            import array
            return self._core.take(array.array("q", key), columns)
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
        names = self._names if columns is None else columns
        batch_size = at_least_one("batch_size", batch_size)
        for begin in range(0, n - n % batch_size if drop_last_batch else n, batch_size):
            end = min(begin + batch_size, n)
            if kind in ("numpy", "torch") and not output_all:
                yield LazyColumns(names, lambda name, b=begin, e=end: made.column(core.read(b, e, [name]), name))
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

    # ---- transforms

    def _options(self, text=None, load_from_cache_file=None, keep_in_memory=False, cache_file_name=None, new_fingerprint=None,
                 writer_batch_size=None):
        if keep_in_memory and cache_file_name is not None:
            raise ValueError("give keep_in_memory or a cache file, not both")
        caching = _state["caching"] if load_from_cache_file is None else load_from_cache_file
        options = {"ignore_cache": not caching, "keep_in_memory": keep_in_memory, "cache_file": _path(cache_file_name),
                   "new_fingerprint": new_fingerprint, "writer_batch_rows": writer_batch_size or 0}
        if not _state["caching"] and new_fingerprint is None:
            options["new_fingerprint"] = secrets.token_hex(8)
        options["progress"] = _progress.bar(text) if text else None
        return options

    def _run(self, options, call):
        try:
            return call(options)
        finally:
            if options.get("progress") is not None:
                options["progress"].close()

    def _may_change(self, what):
        if self._indexes:
            raise DatasetTransformationNotAllowedError(
                f"{what}: not with attached search indexes {list(self._indexes)}; drop_index() first")

    def select(self, indices, keep_in_memory=False, indices_cache_file_name=None, writer_batch_size=1000, new_fingerprint=None):
        """Rows by number; consecutive ones become a slice."""
        self._may_change("select")
        options = self._options(None, None, keep_in_memory, indices_cache_file_name, new_fingerprint, writer_batch_size)
        if isinstance(indices, range) and indices.step == 1 and 0 <= indices.start <= indices.stop <= self._n:
            return self._like(self._core.slice(indices.start, indices.stop, options))
        import array
        rows = array.array("q", indices) if isinstance(indices, range) else indices if hasattr(indices, "__len__") else list(indices)
        if any(isinstance(i, bool) for i in rows[:1]):
            raise TypeError("select: expected row numbers, found bool")
        return self._like(self._core.select(rows, options))

    def take(self, n):
        """The first n rows, or all there are."""
        return self._like(self._core.slice(0, max(0, operator.index(n)), self._options()))

    def skip(self, n):
        """All rows but the first n."""
        return self._like(self._core.slice(max(0, operator.index(n)), self._n, self._options()))

    def shard(self, num_shards, index, contiguous=True, keep_in_memory=False, indices_cache_file_name=None, writer_batch_size=1000):
        """Part `index` of num_shards: consecutive rows, or each num_shards-th."""
        self._may_change("shard")
        options = self._options(None, None, keep_in_memory, indices_cache_file_name, None, writer_batch_size)
        return self._like(self._core.shard(num_shards, index, contiguous, options))

    def repeat(self, num_times):
        """The rows so many times."""
        if num_times is None:
            raise ValueError("repeat: a map-style data set cannot be repeated without end")
        return self._like(self._core.repeat(num_times, self._options()))

    def shuffle(self, seed=None, generator=None, keep_in_memory=False, load_from_cache_file=None, indices_cache_file_name=None,
                writer_batch_size=1000, new_fingerprint=None):
        """Rows in the order of numpy's default_rng(seed).permutation."""
        self._may_change("shuffle")
        options = self._options(None, load_from_cache_file, keep_in_memory, indices_cache_file_name, new_fingerprint, writer_batch_size)
        if generator is not None:
            if seed is not None:
                raise ValueError("shuffle: give seed or generator, not both")
            return self._like(self._core.select(generator.permutation(self._n), options))
        return self._like(self._core.shuffle(seed_words(seed), options))

    def sort(self, column_names, reverse=False, null_placement="at_end", keep_in_memory=False, load_from_cache_file=None,
             indices_cache_file_name=None, writer_batch_size=1000, new_fingerprint=None):
        """Stable, by columns, each ascending or (reverse) descending."""
        self._may_change("sort")
        names = [column_names] if isinstance(column_names, str) else list(column_names)
        down = [reverse] * len(names) if isinstance(reverse, bool) else list(reverse)
        if len(down) != len(names):
            raise ValueError(f"sort: reverse: expected {len(names)} truth values, one for each column, found {len(down)}")
        self._known(names)
        places = {"at_end": False, "last": False, "at_start": True, "first": True}
        if null_placement not in places:
            raise ValueError(f"null_placement: expected at_end or at_start, found {null_placement!r}")
        options = self._options("Sorting", load_from_cache_file, keep_in_memory, indices_cache_file_name, new_fingerprint,
                                writer_batch_size)
        return self._run(options, lambda o: self._like(self._core.sort(names, bytes(map(int, down)), places[null_placement], o)))

    def train_test_split(self, test_size=None, train_size=None, shuffle=True, stratify_by_column=None, seed=None, generator=None,
                         keep_in_memory=False, load_from_cache_file=None, train_indices_cache_file_name=None,
                         test_indices_cache_file_name=None, writer_batch_size=1000, train_new_fingerprint=None,
                         test_new_fingerprint=None):
        """A DatasetDict of train and test, as `datasets` splits."""
        from ._dataset_dict import DatasetDict
        self._may_change("train_test_split")
        if generator is not None:
            if seed is not None:
                raise ValueError("train_test_split: give seed or generator, not both")
            seed = int(generator.integers(0, 2**63 - 1))
        options = self._options(None, load_from_cache_file, keep_in_memory, None, None, writer_batch_size)
        train, test = self._core.split(_size(test_size), _size(train_size), shuffle, stratify_by_column, seed_words(seed),
                                       train_new_fingerprint, test_new_fingerprint, _path(train_indices_cache_file_name),
                                       _path(test_indices_cache_file_name), options)
        return DatasetDict({"train": self._like(train), "test": self._like(test)})

    def filter(self, function=None, with_indices=False, with_rank=False, input_columns=None, batched=False, batch_size=1000,
               keep_in_memory=False, load_from_cache_file=None, cache_file_name=None, writer_batch_size=1000, fn_kwargs=None,
               num_proc=None, suffix_template=None, new_fingerprint=None, desc=None):
        """Rows for which the function is true, or for which a predicate in the where language is (``"label = 3"``), which needs no
        function and runs at the speed of memory."""
        self._may_change("filter")
        if isinstance(function, str):
            options = self._options(desc or "Filter", load_from_cache_file, keep_in_memory, cache_file_name, new_fingerprint,
                                    writer_batch_size)
            return self._run(options, lambda o: self._like(self._core.filter(function, o)))
        if function is None:
            function = _keep_all if not batched else _keep_all_batched
        call = FilterCall(function, batched, self._formatter(), _names(input_columns), with_indices, with_rank, fn_kwargs or {})
        return self._apply(call, True, dict(
            batch_rows=_batch_rows(batched, batch_size), load_from_cache_file=load_from_cache_file, keep_in_memory=keep_in_memory,
            cache_file_name=cache_file_name, writer_batch_size=writer_batch_size, num_proc=num_proc, suffix_template=suffix_template,
            new_fingerprint=new_fingerprint, desc=desc or "Filter", batched=batched, input_columns=_names(input_columns)))

    def map(self, function=None, with_indices=False, with_rank=False, input_columns=None, batched=False, batch_size=1000,
            drop_last_batch=False, remove_columns=None, keep_in_memory=False, load_from_cache_file=None, cache_file_name=None,
            writer_batch_size=1000, features=None, disable_nullable=False, fn_kwargs=None, num_proc=None, suffix_template=None,
            new_fingerprint=None, desc=None, try_original_type=True, on_mixed_types="use_json"):
        """Rows, or batches, as a function makes them. Or columns by expressions: ``map({"n": "length(text)"})``.

        The function gets a row (dict) or, batched, a batch (a mapping of columns, converted when they are asked for), then the row
        number or numbers (with_indices) and the worker's number (with_rank); it gives a dict of columns that are added or replaced,
        a table that takes the place of the batch, or None everywhere. num_proc workers are processes."""
        if isinstance(function, dict):
            options = self._options(desc or "Map", load_from_cache_file, keep_in_memory, cache_file_name, new_fingerprint,
                                    writer_batch_size)
            return self._run(options, lambda o: self._like(self._core.map_expr(list(function.items()), o)))
        if self._indexes and batched and remove_columns:
            self._may_change("map with removed columns")
        make = BatchCall if batched else RowCall
        call = make(function if function is not None else _identity, self._formatter(), _names(input_columns), with_indices, with_rank,
                    fn_kwargs or {}, on_mixed_types == "use_json")
        removed = _names(remove_columns)
        for name in (removed or []) + (_names(input_columns) or []):
            if name not in self._names:
                raise ValueError(f"map: no column {name!r}: there are {self._names}")
        return self._apply(call, False, dict(
            batch_rows=_batch_rows(batched, batch_size), drop_last_batch=drop_last_batch and batched, remove_columns=removed,
            load_from_cache_file=load_from_cache_file, keep_in_memory=keep_in_memory, cache_file_name=cache_file_name,
            writer_batch_size=writer_batch_size, features=features_json(features), num_proc=num_proc, suffix_template=suffix_template,
            new_fingerprint=new_fingerprint, desc=desc or "Map", batched=batched, is_type_kept=try_original_type,
            is_rows_fixed=bool(self._indexes) and batched, input_columns=_names(input_columns), extra=[on_mixed_types]))

    def _function_id(self, call, a):
        try:
            return function_id(call.function, call.kwargs, a["batched"], call.with_indices, call.with_rank, call.input_columns,
                               self._info_dict["format"][0], repr(self._info_dict["format"][1]), repr(self._format_kwargs()),
                               a.get("extra"))
        except Unknown as e:
            if not _state["warned"]:
                _state["warned"] = True
                warnings.warn(f"the function cannot be told by its content ({e}): its result will not be found in the cache again; "
                              "new_fingerprint names it", stacklevel=4)
            return None

    def _apply(self, call, is_filter, a):
        if a["num_proc"] is not None and a["num_proc"] < 0:
            raise ValueError(f"num_proc: expected at least 1, found {a['num_proc']}")
        n_parts = min(a["num_proc"] or 0, max(self._n, 1))
        if n_parts < (a["num_proc"] or 0):
            warnings.warn(f"num_proc {a['num_proc']} is more than there are rows: {n_parts}", stacklevel=3)
        desc = a["desc"] + (f" (num_proc={n_parts})" if n_parts > 1 else "")
        options = self._options(desc, a["load_from_cache_file"], a["keep_in_memory"], a["cache_file_name"], a["new_fingerprint"],
                                a["writer_batch_size"])
        for name in ("batch_rows", "drop_last_batch", "remove_columns", "features", "suffix_template", "is_type_kept",
                     "is_rows_fixed"):
            if a.get(name) is not None:
                options[name] = a[name]
        if options["new_fingerprint"] is None:
            options["function_id"] = self._function_id(call, a)
        _, shown, _, output_all = self._info_dict["format"]
        if shown is not None and not output_all:
            options["input_columns"] = shown
        elif a.get("input_columns") is not None:
            options["input_columns"] = a["input_columns"]
        if n_parts > 1 and self._n > 0:
            from ._workers import run_parts
            return self._run(options, lambda o: self._like(run_parts(self._core, call, is_filter, o, n_parts)))
        return self._run(options, lambda o: self._like(self._core.map(call, is_filter, o)))

    def flatten_indices(self, keep_in_memory=False, cache_file_name=None, writer_batch_size=1000, features=None,
                        disable_nullable=False, num_proc=None, new_fingerprint=None):
        """The visible rows written out, without a mapping."""
        options = self._options("Flattening the indices", None, keep_in_memory, cache_file_name, new_fingerprint, writer_batch_size)
        return self._run(options, lambda o: self._like(self._core.apply("flatten_indices", None, 0, False, o)))

    def rename_column(self, original_column_name, new_column_name, new_fingerprint=None):
        """A column under another name."""
        return self._like(self._core.rename([(original_column_name, new_column_name)], self._options(new_fingerprint=new_fingerprint)))

    def rename_columns(self, column_mapping, new_fingerprint=None):
        """Columns under other names, {old: new}."""
        return self._like(self._core.rename(pairs_of(column_mapping), self._options(new_fingerprint=new_fingerprint)))

    def remove_columns(self, column_names, new_fingerprint=None):
        """All columns but these."""
        names = _names(column_names)
        self._known(names)
        return self._like(self._core.columns(names, True, self._options(new_fingerprint=new_fingerprint)))

    def select_columns(self, column_names, new_fingerprint=None):
        """These columns, in this order."""
        names = _names(column_names)
        self._known(names)
        return self._like(self._core.columns(names, False, self._options(new_fingerprint=new_fingerprint)))

    def add_column(self, name, column, new_fingerprint=None, feature=None):
        """One column more: any sequence or array of as many values as there are rows."""
        batch = build({name: column})
        text = None if feature is None else json.dumps(json.loads(features_json({name: feature}))[name])
        return self._like(self._core.add_column(name, batch, text, self._options(new_fingerprint=new_fingerprint)))

    def add_item(self, item, new_fingerprint=None):
        """One row more, a dict; missing values are None."""
        check_rows("add_item", [item])
        row = Dataset.from_list([{n: item.get(n) for n in self._names}], features=self.features)
        return concatenate_datasets([self, row])

    def flatten(self, new_fingerprint=None, max_depth=16):
        """Struct columns as columns "parent.child"."""
        return self._like(self._core.apply("flatten", None, max_depth, False, self._options(new_fingerprint=new_fingerprint)))

    def cast(self, features, batch_size=1000, keep_in_memory=False, load_from_cache_file=None, cache_file_name=None,
             writer_batch_size=1000, num_proc=None):
        """All columns as other features, in their order."""
        options = self._options("Casting the dataset", load_from_cache_file, keep_in_memory, cache_file_name, None, writer_batch_size)
        return self._run(options, lambda o: self._like(self._core.apply("cast", features_json(features), 0, False, o)))

    def cast_column(self, column, feature, new_fingerprint=None):
        """One column as another feature."""
        self._known([column])
        features = Features(self.features)
        features[column] = feature
        options = self._options(new_fingerprint=new_fingerprint)
        return self._like(self._core.apply("cast", features_json(features), 0, False, options))

    def class_encode_column(self, column, include_nulls=False):
        """A column's values as class labels."""
        return self._like(self._core.apply("class_encode", column, 0, include_nulls, self._options()))

    def align_labels_with_mapping(self, label2id, label_column):
        """Class labels numbered as in a dict."""
        return self._like(self._core.align_labels(label_column, json.dumps(label2id), self._options()))

    def batch(self, batch_size=None, drop_last_batch=False, num_proc=None, new_fingerprint=None, by_column=None):
        """Rows as lists: of batch_size rows, or of consecutive rows equal in a column."""
        if by_column is None or batch_size is not None:
            batch_size = at_least_one("batch_size", batch_size)
        options = self._options(new_fingerprint=new_fingerprint)
        return self._like(self._core.batch(batch_size or 0, by_column, drop_last_batch, options))

    def to_iterable_dataset(self, num_shards=1):
        """The rows as a stream of so many shards."""
        from ._iterable import IterableDataset
        kind, columns, _, _ = self._info_dict["format"]
        if num_shards > max(self._n, 1):
            raise ValueError(f"num_shards: expected at most {self._n}, the rows there are, found {num_shards}")
        core = self._core if columns is None else self._core.columns(columns, False, self._options())
        out = IterableDataset(_core.iterable_of_dataset(core, num_shards), split=self.split)
        return out.with_format(kind, **self._format_kwargs()) if kind in ("numpy", "torch", "arrow", "pandas", "polars") else out

    # ---- writing

    def save_to_disk(self, dataset_path, max_shard_size=None, num_shards=None, num_proc=None, durable=False, **kwargs):
        """A folder that load_from_disk, and `datasets`, read."""
        if self._indexes:
            raise ValueError("save_to_disk: not with attached search indexes; drop_index() first")
        if max_shard_size is not None and num_shards is not None:
            raise ValueError("save_to_disk: give max_shard_size or num_shards, not both")
        shards = num_shards or max(num_proc or 0, 0)
        options = {"max_shard_bytes": size_of(max_shard_size), "n_shards": shards or None, "durable": durable,
                   "progress": _progress.bar("Saving the dataset")}
        self._run(options, lambda o: self._core.save(_path(dataset_path), o))

    def to_csv(self, path_or_buf, batch_size=None, num_proc=None, **options):
        """One CSV file; gives the bytes written."""
        from ._export import to_csv
        return to_csv(self, path_or_buf, batch_size, **options)

    def to_json(self, path_or_buf, batch_size=None, num_proc=None, **options):
        """JSON lines (lines=False: one array); gives the bytes written."""
        from ._export import to_json
        return to_json(self, path_or_buf, batch_size, **options)

    def to_parquet(self, path_or_buf, batch_size=None, **options):
        """One Parquet file; gives the bytes written."""
        from ._export import to_parquet
        return to_parquet(self, path_or_buf, batch_size, **options)

    def to_table(self, uri, **options):
        """A new Grebe table of the rows; gives it."""
        import grebe
        return grebe.create(uri, self, **options)

    def append_to(self, table, **options):
        """The rows behind those of a Grebe table (a grebe.Table or its path); gives the new version."""
        import grebe
        opened = grebe.open(table) if isinstance(table, (str, os.PathLike)) else table
        return opened.append(self, **options)

    def cleanup_cache_files(self):
        """Remove the cache files beside this data set's own that it does not use; gives their number."""
        files = {os.path.realpath(f) for f in self._info_dict["files"]}
        removed = 0
        for folder in {os.path.dirname(f) for f in files}:
            for name in sorted(os.listdir(folder)):
                path = os.path.join(folder, name)
                if name.startswith("cache-") and name.endswith(".arrow") and os.path.realpath(path) not in files:
                    os.remove(path)
                    removed += 1
        return removed


type_none = type(None)


class DatasetTransformationNotAllowedError(Exception):
    """A transform of a data set that has search indexes attached."""


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


def _identity(x, *args):
    return x


def _keep_all(*args, **kwargs):
    return True


def _keep_all_batched(batch, *args, **kwargs):
    return [True] * len(next(iter(batch.values())))


def _names(names):
    return None if names is None else [names] if isinstance(names, str) else list(names)


def _batch_rows(batched, batch_size):
    if not batched:
        return 1000
    return -1 if batch_size is None or batch_size <= 0 else batch_size


def at_least_one(name, n):
    """n as an int from 1."""
    if not hasattr(n, "__index__") or getattr(n, "shape", ()):
        raise TypeError(f"{name}: expected an integer, found {n!r}")
    if n < 1:
        raise ValueError(f"{name}: expected at least 1, found {n}")
    return n.__index__()


def check_rows(what, rows, first=0):
    """TypeError where a row is no dict: a value without keys would be a row without values."""
    for i, row in enumerate(rows, first):
        if not isinstance(row, collections.abc.Mapping):
            raise TypeError(f"{what}: row {i}: expected a dict, found {type(row).__name__}")


def pairs_of(mapping):
    """[(old, new)] of {old: new}."""
    if not hasattr(mapping, "items"):
        raise TypeError(f"expected a dict {{old name: new name}}, found {type(mapping).__name__}")
    return list(mapping.items())


def _size(size):
    if size is None:
        return size
    if isinstance(size, bool) or not (isinstance(size, float) or hasattr(size, "__index__")):
        raise ValueError(f"expected a number of rows or a fraction, found {size!r}")
    if size < 0:
        raise ValueError(f"expected a number of rows or a fraction in (0, 1), found {size!r}")
    return size if isinstance(size, float) else size.__index__()


_SIZES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def size_of(size):
    """Bytes of "500MB", "1GiB", a number; a small final b means bits. None stays."""
    if size is None or hasattr(size, "__index__"):
        return size
    if not isinstance(size, str):
        raise TypeError(f"size: expected a number of bytes such as 500MB or 1GiB, found {size!r}")
    text = size.strip()
    for end in sorted(_SIZES, key=len, reverse=True):
        if text.upper().endswith(end):
            try:
                number = float(text[:-len(end)]) * _SIZES[end]
            except ValueError:
                break
            return int(number // 8 if text.endswith("b") else number)
    raise ValueError(f"size: expected a number of bytes such as 500MB or 1GiB, found {size!r}")


def _given_features(features, names):
    text = features_json(features)
    if text is not None and list(json.loads(text)) != names and set(json.loads(text)) - set(names):
        missing = [n for n in json.loads(text) if n not in names]
        raise ValueError(f"features: no values for the columns {missing}")
    return text


def _checked(datasets, what):
    from ._iterable import IterableDataset
    datasets = list(datasets) if not isinstance(datasets, dict) else [datasets]
    if not datasets:
        raise ValueError(f"{what}: expected at least one data set")
    kinds = [Dataset if isinstance(d, Dataset) else IterableDataset if isinstance(d, IterableDataset) else None for d in datasets]
    for i, kind in enumerate(kinds):
        if kind is None:
            hint = f"; it has the splits {list(datasets[i])}" if isinstance(datasets[i], dict) else ""
            raise ValueError(f"{what}: number {i}: expected a Dataset or an IterableDataset, found "
                             f"{type(datasets[i]).__name__}{hint}")
        if kind is not kinds[0]:
            raise ValueError(f"{what}: number {i} is of another kind than the first: all map-style, or all iterable")
    return datasets, kinds[0] is Dataset


def concatenate_datasets(dsets, info=None, split=None, axis=0):
    """One behind the other (axis 0, columns by name), or side by side (axis 1)."""
    dsets, is_map = _checked(dsets, "concatenate_datasets")
    if axis not in (0, 1):
        raise ValueError(f"concatenate_datasets: axis: expected 0 or 1, found {axis!r}")
    if not is_map:
        from ._iterable import concatenate_iterables
        return concatenate_iterables(dsets, axis)
    out = _core.dataset_concatenate([d._core for d in dsets], axis)
    return dsets[0]._like(out if split is None else out.with_labels({"split": str(split)}))


STOPS = {"first_exhausted": 0, "all_exhausted": 1, "all_exhausted_without_replacement": 2}


def interleave_datasets(datasets, probabilities=None, seed=None, info=None, split=None, stopping_strategy="first_exhausted"):
    """Rows of several in turn, or as drawn with probabilities."""
    import array
    datasets, is_map = _checked(datasets, "interleave_datasets")
    if stopping_strategy not in STOPS:
        raise ValueError(f"stopping_strategy: expected one of {', '.join(STOPS)}, found {stopping_strategy!r}")
    if probabilities is not None and len(probabilities) != len(datasets):
        raise ValueError(f"probabilities: expected {len(datasets)}, one for each data set, found {len(probabilities)}")
    weights = None if probabilities is None else array.array("d", probabilities)
    if not is_map:
        from ._iterable import interleave_iterables
        return interleave_iterables(datasets, weights, seed_words(seed), STOPS[stopping_strategy])
    out = _core.dataset_interleave([d._core for d in datasets], weights, seed_words(seed), STOPS[stopping_strategy])
    return datasets[0]._like(out if split is None else out.with_labels({"split": str(split)}))


def class_label(names):
    """ClassLabel(names=names)."""
    return ClassLabel(names=names)
