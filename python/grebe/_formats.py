# SPDX-License-Identifier: Apache-2.0
"""How rows are given out: plain Python, numpy, torch, arrow, pandas, polars, or by a function of the user's.

A formatter turns a Batch into a row, a column or a batch. Of numbers and vectors without nulls numpy and torch see the memory that
lies in the mapped file; what is widened (int32 to int64, float64 to float32, as `datasets` does) is copied."""

import collections.abc
import json

_ALIASES = {None: None, "python": None, "none": None, "np": "numpy", "pd": "pandas", "pl": "polars", "pa": "arrow",
            "pyarrow": "arrow", "pt": "torch", "pytorch": "torch"}
_KNOWN = (None, "numpy", "torch", "arrow", "pandas", "polars", "custom")


def format_name(name):
    """The name by which a format is known; ValueError for others."""
    name = _ALIASES.get(name, name)
    if name not in _KNOWN:
        raise ValueError(f"unknown format {name!r}: expected one of python, numpy, torch, arrow, pandas, polars")
    return name


def decode_json(value, path):
    """Values of Json features, by the path to them, from their texts."""
    if value is None:
        return None
    if not path:
        return json.loads(value)
    if path[0] == "*":
        return [decode_json(v, path[1:]) for v in value]
    return dict(value, **{path[0]: decode_json(value[path[0]], path[1:])})


class PythonFormatter:
    """int, float, str, bytes, datetime, list, dict, None."""

    def __init__(self, json_paths=(), **kwargs):
        self._paths = {}
        for path in json_paths:
            self._paths.setdefault(path[0], []).append(path[1:])

    def column(self, batch, name):
        values = batch[name].to_list()
        for path in self._paths.get(name, ()):
            values = [decode_json(v, path) for v in values]
        return values

    def rows(self, batch):
        rows = batch.to_dicts()
        for name, paths in self._paths.items():
            for row in rows:
                for path in paths if name in row else ():
                    row[name] = decode_json(row[name], path)
        return rows

    def row(self, batch):
        return self.rows(batch)[0]

    def batch(self, batch, names):
        return {name: self.column(batch, name) for name in names}

    def whole(self, batch):
        """A batch as a user of ds[a:b] gets it."""
        return self.batch(batch, batch.schema.names)


class NumpyFormatter(PythonFormatter):
    """numpy arrays: integers of any width as int64 and floats as float32 where they are arrays, unless dtype says otherwise;
    dtype="native" keeps widths."""

    def __init__(self, json_paths=(), dtype=None, **kwargs):
        super().__init__(json_paths)
        import numpy
        self._np = numpy
        self._native = dtype == "native"
        self._dtype = None if dtype is None or self._native else numpy.dtype(dtype)
        self._as_is = numpy.dtype(numpy.int64) if self._dtype is None else self._dtype

    def _widen(self, array):
        np = self._np
        if self._native or array.dtype.kind not in "iuf":
            return array
        wanted = self._dtype or (np.float32 if array.dtype.kind == "f" else np.int64)
        return array.astype(wanted, copy=False)

    def column(self, batch, name):
        np = self._np
        column = batch[name]
        if name in self._paths:
            return self.values(super().column(batch, name))
        try:
            return self._widen(np.asarray(memoryview(column)))
        except BufferError:
            pass
        lists = column.lists()
        if lists is not None:
            return self._stack(lists)
        return self.values(column.to_list(), column.format)

    def of_numbers(self, numbers):
        """As column, of what Dataset.numbers gave."""
        array = self._np.asarray(numbers)
        return array if array.dtype is self._as_is else self._widen(array)

    def _stack(self, lists):
        np = self._np
        code, values, offsets = lists
        values, offsets = self._widen(np.frombuffer(values, code)), np.frombuffer(offsets, np.int64)
        n = len(offsets) - 1
        lengths = np.diff(offsets)
        if n > 0 and (lengths == lengths[0]).all():
            return values.reshape(n, int(lengths[0]))
        out = np.empty(n, object)
        for i in range(n):
            out[i] = values[offsets[i]:offsets[i + 1]]
        return out

    def values(self, values, format=""):
        """A list of Python values as one array."""
        np = self._np
        some = [v for v in values if v is not None]
        if some and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in some) and \
                (len(some) == len(values) or not any(isinstance(v, bool) for v in some)):
            if len(some) < len(values):
                return self._widen(np.array([np.nan if v is None else v for v in values], np.float64))
            return self._widen(np.array(values))
        if some and len(some) == len(values):
            if all(isinstance(v, (bool, str)) for v in some) and len({type(v) for v in some}) == 1:
                return np.array(values)
            if format[:2] in ("ts", "tD", "td"):
                return np.array(values)
            if all(isinstance(v, list) for v in some):
                parts = [self.values(v) if v else np.empty(0, np.int64) for v in values]
                if len({p.shape for p in parts}) == 1 and len({p.dtype for p in parts}) == 1 and parts[0].dtype != object:
                    return np.stack(parts)
                values = parts
        out = np.empty(len(values), object)
        for i, v in enumerate(values):
            out[i] = self.value(v)
        return out

    def value(self, v):
        """One value inside of others."""
        if isinstance(v, list):
            return self.values(v)
        if isinstance(v, dict):
            return {name: self.value(x) for name, x in v.items()}
        return v

    def _scalar(self, v, format):
        np = self._np
        kinds = {"c": np.int8, "C": np.uint8, "s": np.int16, "S": np.uint16, "i": np.int32, "I": np.uint32, "l": np.int64,
                 "L": np.uint64, "e": np.float16, "f": np.float32, "g": np.float64, "u": np.str_, "U": np.str_, "b": np.bool_}
        if v is not None and format in kinds:
            return (self._dtype.type if self._dtype is not None and format not in "uUb" else kinds[format])(v)
        return v

    def row(self, batch):
        out = {}
        for name, v in super().row(batch).items():
            format = batch[name].format
            if format[0] == "+":
                v = self.column(batch, name)[0] if isinstance(v, list) else self.value(v)
            out[name] = self._scalar(v, format)
        return out

    def rows(self, batch):
        """Row by row, as row() gives each, columns converted once."""
        columns = {}
        for name in batch.schema.names:
            format = batch[name].format
            if format[0] in "+t" or name in self._paths:
                columns[name] = self.column(batch, name)
            else:
                columns[name] = [self._scalar(v, format) for v in batch[name].to_list()]
        return [dict(zip(columns, values)) for values in zip(*columns.values())] if columns else []


class TorchFormatter(NumpyFormatter):
    """torch tensors; texts stay str, null is None, lists of different lengths become lists of tensors."""

    def __init__(self, json_paths=(), dtype=None, **kwargs):
        super().__init__(json_paths)
        import torch
        self._torch = torch
        self._kwargs = dict(kwargs, **({"dtype": dtype} if dtype is not None else {}))

    def _tensor(self, v):
        np, torch = self._np, self._torch
        if isinstance(v, np.ndarray) and v.dtype.kind in "iufb":
            if v.dtype == np.uint16 or v.dtype == np.uint32:
                v = v.astype(np.int64)
            if not v.flags.writeable:
                v = v.copy()  # a mapped file is not to be written to
            tensor = torch.from_numpy(np.ascontiguousarray(v)) if v.ndim else torch.tensor(v.item())
            return tensor.to(**self._kwargs) if self._kwargs else tensor
        if isinstance(v, np.ndarray):
            return [self._tensor(x) for x in v.tolist()] if v.dtype == object else v.tolist()
        if isinstance(v, (np.integer, int)) and not isinstance(v, bool):
            return torch.tensor(int(v), **{"dtype": torch.int64, **self._kwargs})
        if isinstance(v, (np.floating, float)):
            return torch.tensor(float(v), **{"dtype": torch.float32, **self._kwargs})
        if isinstance(v, (np.bool_, bool)):
            return torch.tensor(bool(v))
        if isinstance(v, np.str_):
            return str(v)
        if isinstance(v, dict):
            return {name: self._tensor(x) for name, x in v.items()}
        return v

    def column(self, batch, name):
        return self._tensor(super().column(batch, name))

    def of_numbers(self, numbers):
        return self._tensor(super().of_numbers(numbers))

    def row(self, batch):
        return {name: self._tensor(v) for name, v in NumpyFormatter.row(self, batch).items()}

    def rows(self, batch):
        names = batch.schema.names
        columns = [super(TorchFormatter, self).column(batch, name) if batch[name].format[0] in "+t" or name in self._paths
                   else batch[name].to_list() for name in names]
        return [{name: self._tensor(v) for name, v in zip(names, values)} for values in zip(*columns)]


class ArrowFormatter(PythonFormatter):
    """grebe.Batch, which pyarrow, polars, duckdb and others take without a copy; with_format("arrow") gives them as they are."""

    def column(self, batch, name):
        return batch.to_pyarrow()[name]

    def row(self, batch):
        return batch

    def rows(self, batch):
        from . import _core
        return [_core.batch_slice(batch, i, i + 1) for i in range(batch.num_rows)]

    def batch(self, batch, names):
        return batch

    def whole(self, batch):
        return batch


class PandasFormatter(ArrowFormatter):
    """pandas.DataFrame and Series."""

    def column(self, batch, name):
        return batch.to_pyarrow()[name].to_pandas()

    def row(self, batch):
        return batch.to_pandas()

    def rows(self, batch):
        frame = batch.to_pandas()
        return [frame.iloc[i:i + 1].reset_index(drop=True) for i in range(len(frame))]

    def batch(self, batch, names):
        return batch.to_pandas()

    whole = row


class PolarsFormatter(ArrowFormatter):
    """polars.DataFrame and Series."""

    def column(self, batch, name):
        return batch.to_polars()[name]

    def row(self, batch):
        return batch.to_polars()

    def rows(self, batch):
        frame = batch.to_polars()
        return [frame.slice(i, 1) for i in range(frame.height)]

    def batch(self, batch, names):
        return batch.to_polars()

    whole = row


class CustomFormatter(PythonFormatter):
    """What a function makes of a batch of Python values (set_transform): a dict of columns."""

    def __init__(self, json_paths=(), transform=None, **kwargs):
        super().__init__(json_paths)
        self._transform = transform

    def whole(self, batch):
        plain = super().column
        columns = self._transform({name: plain(batch, name) for name in batch.schema.names})
        if not hasattr(columns, "keys"):
            raise TypeError(f"the transform: expected a dict of columns, found {type(columns).__name__}")
        return columns

    def batch(self, batch, names):
        return self.whole(batch)

    def column(self, batch, name):
        return self.whole(batch)[name]

    def rows(self, batch):
        columns, n = self.whole(batch), batch.num_rows
        if not columns or any(not hasattr(v, "__len__") or len(v) != n for v in columns.values()):
            # a function for one row: each is given to it alone, none is lost
            from . import _core
            return [self.row(_core.batch_slice(batch, i, i + 1)) for i in range(n)]
        return [dict(zip(columns, values)) for values in zip(*columns.values())]

    def row(self, batch):
        columns = self.whole(batch)
        for name, values in columns.items():
            if hasattr(values, "__len__") and len(values) == 0:
                raise ValueError(f"the transform gave no value for the row in column {name!r}")
        return {name: values[0] for name, values in columns.items()}


_CLASSES = {None: PythonFormatter, "numpy": NumpyFormatter, "torch": TorchFormatter, "arrow": ArrowFormatter,
            "pandas": PandasFormatter, "polars": PolarsFormatter, "custom": CustomFormatter}


def formatter(name, json_paths=(), **kwargs):
    """The formatter of that name."""
    try:
        return _CLASSES[format_name(name)](json_paths, **kwargs)
    except ImportError as e:
        raise ValueError(f"format {name!r} needs the package {e.name}") from e


class LazyColumns(collections.abc.MutableMapping):
    """A batch, or a row, of which a column is converted when it is asked for. What is set or deleted stays in it alone."""

    __slots__ = ("_names", "_read", "_place", "_done", "_set")

    def __init__(self, names, read, *place):
        """read(name, *place) gives a column."""
        self._names = names if type(names) is dict else dict.fromkeys(names)  # never changed in place: batches share it
        self._read = read
        self._place = place
        self._done = {}
        self._set = ()

    def __getitem__(self, name):
        done = self._done
        if name in done:
            return done[name]
        if name not in self._names:
            raise KeyError(f"{name!r}: there are the columns {list(self)}")
        value = done[name] = self._read(name, *self._place)
        return value

    def __setitem__(self, name, value):
        if name not in self._names:
            self._names = {**self._names, name: None}
        self._done[name] = value
        self._set += (name,)

    def __delitem__(self, name):
        if name not in self._names:
            raise KeyError(name)
        self._names = {n: None for n in self._names if n != name}
        self._done.pop(name, None)

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)

    def __contains__(self, name):
        return name in self._names

    def __or__(self, other):
        return {**self, **other}

    def __ror__(self, other):
        return {**other, **self}

    def copy(self):
        """A plain dict, all columns converted."""
        return dict(self.items())

    def converted(self):
        """{name: value} of what was looked at: its values may have been changed in place."""
        return {name: v for name, v in self._done.items() if name not in self._set} if self._set else self._done

    def changed(self):
        """{name: value} of what was set."""
        return {name: v for name, v in self._done.items() if name in self._set} if self._set else {}

    def __repr__(self):
        return repr(dict(self.items()))
