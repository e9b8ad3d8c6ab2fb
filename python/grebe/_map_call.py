# SPDX-License-Identifier: Apache-2.0
"""Functions of map and filter as the library calls them: a Batch in, the changed columns out.

A column that a function only looks at goes on as it lies in the file. One that it sets, deletes or changes in place, and what it
returns, is built anew."""

from . import _core
from ._build import build
from ._formats import LazyColumns

MERGE, REPLACE = 0, 1


def _is_table(result):
    return hasattr(result, "__arrow_c_stream__") or hasattr(result, "__arrow_c_array__") or \
        type(result).__module__.split(".")[0] in ("pandas", "polars")


def _table_batch(result):
    """One Batch of a table of another library."""
    if type(result).__module__.split(".")[0] == "pandas" and not hasattr(result, "__arrow_c_stream__"):
        import pyarrow
        result = pyarrow.Table.from_pandas(result, preserve_index=False)
    if isinstance(result, _core.Batch):
        return result
    if hasattr(result, "combine_chunks") and hasattr(result, "to_batches"):
        batches = result.combine_chunks().to_batches()
        if len(batches) == 1:
            return next(iter(_core.stream_from(batches[0])))
    ds = _core.dataset_of_rows(_core.stream_from(result), None)
    return ds.read(0, ds.num_rows, None)


def _check_column(name, values):
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__len__"):
        raise TypeError(f'map: column "{name}" of a batch: expected a list or an array, found {type(values).__name__}')


class BatchCall:
    """A function of batches."""

    def __init__(self, function, formatter, input_columns, with_indices, with_rank, kwargs, use_json=True, removed=None,
                 on_none="error"):
        self.function, self.formatter, self.input_columns = function, formatter, input_columns
        self.with_indices, self.with_rank, self.kwargs, self.use_json = with_indices, with_rank, kwargs, use_json
        self.removed, self.on_none = removed or (), on_none
        self.keys = None  # names that results have, once one was seen
        self.is_custom = type(formatter).__name__ == "CustomFormatter"
        self.is_table = type(formatter).__name__ in ("ArrowFormatter", "PandasFormatter", "PolarsFormatter")
        self.is_plain = type(formatter).__name__ == "PythonFormatter"
        self.names = None  # of the columns of all batches, as an ordered set; and those whose values cannot change inside
        self.flat = ()
        self.before = {}

    def _extra(self, first_row, n, part):
        extra = [list(range(first_row, first_row + n))] if self.with_indices else []
        return extra + [part] if self.with_rank else extra

    def _see(self, batch):
        """What is the same for all batches."""
        names = batch.schema.names
        if self.is_plain:
            self.flat = {name for name in names if batch[name].format[0] != "+" and name not in self.formatter._paths}
        self.names = dict.fromkeys(names)

    def _read(self, name, batch):
        """A column of a LazyColumns, and its values as they were."""
        values = self.formatter.column(batch, name)
        if name in self.flat:
            self.before[name] = values[:]
        return values

    def call(self, batch, first_row, part):
        """(what the function returned, the lazy columns that it was given or None)."""
        if self.names is None:
            self._see(batch)
        extra = self._extra(first_row, batch.num_rows, part) if self.with_indices or self.with_rank else ()
        if self.input_columns is not None and not self.is_table:
            return self.function(*[self.formatter.column(batch, c) for c in self.input_columns], *extra, **self.kwargs), None
        if self.is_table or self.is_custom:
            return self.function(self.formatter.whole(batch), *extra, **self.kwargs), None
        self.before.clear()
        lazy = LazyColumns(self.names, self._read, batch)
        return self.function(lazy, *extra, **self.kwargs), lazy

    def _changed(self, lazy):
        """Columns that the function set, or changed in place: what it looked at and left as it was is not among them."""
        out = lazy.changed()
        for name, values in lazy.converted().items() if self.is_plain else ():
            # lists and dicts may have been changed inside; of other values it is enough that they are the same
            if self.before.get(name) != values:
                out[name] = values
        return out

    def _nothing(self, batch):
        """What becomes of rows for which the function gave nothing, none of them a value."""
        if self.on_none == "error":
            return None
        if self.on_none == "drop":
            return REPLACE, _core.batch_slice(batch, 0, 0)
        return MERGE, build(dict.fromkeys(self.keys or (), [None] * batch.num_rows), self.use_json)

    def learn(self, core):
        """For on_none="keep": calls the function from the first row on until it gives a value, whose names are those of the new
        columns."""
        for begin in range(0, core.num_rows, 1000):
            if self.keys is not None:
                return
            self(core.read(begin, min(begin + 1000, core.num_rows)), begin, 0)

    def _replace(self, batch, dropped, columns):
        """The whole batch: columns that stay as they lie, those that are new or changed behind or in their places."""
        kept = [name for name in batch.schema.names if name not in dropped and (name not in self.removed or name in columns)]
        whole = {name: columns.pop(name, None) for name in kept}
        whole = {name: batch[name] if values is None else values for name, values in whole.items()}
        return REPLACE, build({**whole, **columns}, self.use_json)

    def __call__(self, batch, first_row, part):
        result, lazy = self.call(batch, first_row, part)
        if result is None:
            return self._nothing(batch)
        is_dict = type(result) is dict
        if not is_dict and _is_table(result):
            return REPLACE, _table_batch(result)
        if not is_dict and not hasattr(result, "keys"):
            raise TypeError(f"map: expected a dict, a table or None, found {type(result).__name__}")
        columns = self._changed(lazy) if lazy is not None else {}
        if result is not lazy:
            columns.update(result)
        for name, values in columns.items():
            _check_column(name, values)
        self.keys = self.keys or list(columns)
        dropped = [name for name in self.names if name not in lazy and name not in columns] if lazy is not None else ()
        return self._replace(batch, dropped, columns) if dropped else (MERGE, build(columns, self.use_json))


_MISSING = object()


class RowCall(BatchCall):
    """A function of rows."""

    def _results(self, batch, first_row, part):
        n, function, kwargs = batch.num_rows, self.function, self.kwargs
        rank = [part] if self.with_rank else []
        if self.input_columns is not None:
            if self.is_table:
                columns = [self.formatter.column(batch, c) for c in self.input_columns]
            else:
                rows = self.formatter.rows(batch)
                columns = [[r[c] for r in rows] for c in self.input_columns]
            rows, inputs = None, list(zip(*columns)) if columns else [()] * n
        else:
            rows = self.formatter.rows(batch)
            inputs = [(r,) for r in rows]
        results = []
        for i, values in enumerate(inputs):
            try:
                if self.with_indices:
                    results.append(function(*values, first_row + i, *rank, **kwargs))
                else:
                    results.append(function(*values, *rank, **kwargs))
            except Exception as e:
                if hasattr(e, "add_note"):
                    e.add_note(f"row {first_row + i}")
                raise
        return rows, results

    def __call__(self, batch, first_row, part):
        is_plain = self.is_plain and self.input_columns is None
        rows, results = self._results(batch, first_row, part)
        nothing = [r is None for r in results]
        if all(nothing):
            return self._nothing(batch)
        if any(nothing) and self.on_none == "drop":
            kept = [i for i, r in enumerate(results) if r is not None]
            batch = _core.dataset_of_rows(batch, None).take(kept)
            results = [results[i] for i in kept]
            rows = [rows[i] for i in kept] if rows is not None else None
        elif any(nothing) and self.on_none == "keep":
            results = [{} if r is None else r for r in results]
        elif any(nothing):
            first, other = nothing.index(True), nothing.index(False)
            raise ValueError(f"map: row {first_row + max(first, other)} returned {'nothing' if first > other else 'a value'} after row "
                             f"{first_row + min(first, other)} returned {'a value' if first > other else 'nothing'}: return a dict for "
                             'every row, or for none; on_none="drop" or "keep" say what else is meant')
        if _is_table(results[0]):
            import pyarrow
            return REPLACE, _table_batch(pyarrow.concat_tables([_table_batch(r).to_pyarrow() for r in results]))
        names = batch.schema.names
        columns = {}
        for i, r in enumerate(results):
            if not hasattr(r, "keys"):
                raise TypeError(f"map: row {first_row + i}: expected a dict or None, found {type(r).__name__}")
        keys = dict.fromkeys(k for r in results for k in r)
        if rows is not None and is_plain:
            keys = dict.fromkeys([k for r in rows for k in r if k not in names] + list(keys))
        for name in keys:
            columns[name] = [r.get(name, rows[i].get(name) if is_plain else None) for i, r in enumerate(results)]
        dropped = []
        if is_plain:
            before = {name: batch[name].to_list() for name in names if any(r.get(name, _MISSING) is _MISSING for r in rows)}
            dropped = [name for name in before if name not in columns]
            self._changed_rows(batch, rows, names, columns)
        self.keys = self.keys or list(keys)
        is_cut = len(nothing) != len(results)
        return self._replace(batch, dropped, columns) if dropped or is_cut else (MERGE, build(columns, self.use_json))

    def _changed_rows(self, batch, rows, names, columns):
        """Columns of the rows that were changed in place come into columns; those that came back as they were leave it."""
        fresh = self.formatter.rows(batch)
        for name in names:
            values = [r.get(name, _MISSING) for r in rows]
            is_same = all(x is y or (type(x) is type(y) and x == y) for x, y in zip(values, (r[name] for r in fresh)))
            if name in columns:
                if is_same and columns[name] == values:
                    del columns[name]
            elif not is_same and not any(v is _MISSING for v in values):
                columns[name] = values


class FilterCall(BatchCall):
    """A function that says which rows stay."""

    def __init__(self, function, batched, *args):
        super().__init__(function, *args)
        self.batched = batched
        self.asked = {}  # names of columns, as an ordered set

    def __call__(self, batch, first_row, part):
        n = batch.num_rows
        if self.batched:
            mask, _ = self.call(batch, first_row, part)
            if hasattr(mask, "to_numpy") and not hasattr(mask, "dtype"):
                mask = mask.to_numpy(zero_copy_only=False)
            return bytes(bytearray(1 if v else 0 for v in (mask.tolist() if hasattr(mask, "tolist") else mask)))
        rank = [part] if self.with_rank else []
        if self.input_columns is not None:
            columns = [self.formatter.column(batch, c) for c in self.input_columns]
            inputs = zip(*columns) if columns else [()] * n
        elif self.is_plain:
            inputs = self._lazy_rows(batch, n)
        else:
            inputs = ((r,) for r in self.formatter.rows(batch))
        out = bytearray(n)
        function, kwargs, with_indices = self.function, self.kwargs, self.with_indices
        i = 0
        try:
            for i, values in enumerate(inputs):
                result = function(*values, first_row + i, *rank, **kwargs) if with_indices else function(*values, *rank, **kwargs)
                out[i] = 1 if result else 0
        except Exception as e:
            if hasattr(e, "add_note"):
                e.add_note(f"row {first_row + i}")
            raise
        return bytes(out)

    def _lazy_rows(self, batch, n):
        """Rows that have the columns which functions asked for so far; another one comes when it is asked for."""
        columns = _Columns(self.formatter, batch, n)
        for name in self.asked:
            columns[name]
        if len(self.asked) == 1:
            (name, values), = columns.items()
            rows = ({name: v} for v in values)
        else:
            rows = (dict(zip(columns, values)) for values in zip(*columns.values())) if columns else ({} for _ in range(n))
        for i, values in enumerate(rows):
            row = _Row(values)
            row._columns, row._i, row._asked = columns, i, self.asked
            yield (row,)


class _Columns(dict):
    """Columns of a batch as lists, made when they are asked for."""

    def __init__(self, formatter, batch, n):
        super().__init__()
        self.formatter, self.batch, self.names, self.n = formatter, batch, batch.schema.names, n

    def __missing__(self, name):
        if name not in self.names:
            raise KeyError(f"{name!r}: there are the columns {self.names}")
        values = self[name] = self.formatter.column(self.batch, name)
        return values


class _Row(dict):
    """A row to look at: a dict that is completed as far as it is looked at."""

    __slots__ = ("_columns", "_i", "_asked")

    def __missing__(self, name):
        value = self[name] = self._columns[name][self._i]
        self._asked[name] = None
        return value

    def _whole(self):
        for name in self._columns.names:
            if not dict.__contains__(self, name):
                self[name] = self._columns[name][self._i]
            self._asked[name] = None
        return {name: dict.__getitem__(self, name) for name in self._columns.names}

    def get(self, name, default=None):
        return self[name] if name in self else default

    def keys(self):
        return self._whole().keys()

    def values(self):
        return self._whole().values()

    def items(self):
        return self._whole().items()

    def copy(self):
        return self._whole()

    def __iter__(self):
        return iter(self._columns.names)

    def __len__(self):
        return len(self._columns.names)

    def __contains__(self, name):
        return name in self._columns.names

    def __eq__(self, other):
        return self._whole() == other

    __hash__ = None

    def __repr__(self):
        return repr(self._whole())
