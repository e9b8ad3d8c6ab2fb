# SPDX-License-Identifier: Apache-2.0
"""Rows as Python objects: conversions import their host only when they are called."""

import re

from . import _core

_NUMPY_OF = {"int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "uint8": "u1", "uint16": "u2", "uint32": "u4",
             "uint64": "u8", "halffloat": "f2", "float": "f4", "double": "f8"}


class Schema(_core.Schema):
    """Columns and their types. Speaks ``__arrow_c_schema__``."""

    __slots__ = ()

    def to_pyarrow(self):
        import pyarrow
        return pyarrow.schema(self)

    def __len__(self):
        return len(self.names)

    def __repr__(self):
        return "\n".join(f"{n}: {t}" for n, t in zip(self.names, self.types))

    def __reduce__(self):
        raise TypeError("a Schema does not pickle: use to_json()")


def _table(rows):
    import pyarrow
    return pyarrow.table(rows)


def _no_values(schema):
    """What to_numpy gives when there are no rows: arrays of the same type and shape, of length 0."""
    import numpy
    out = {}
    for name, type_name in zip(schema.names, schema.types):
        vector = re.fullmatch(r"fixed_size_list<(\w+)>\[(\d+)\]", type_name)
        item = _NUMPY_OF.get(vector[1] if vector else type_name)
        if item is not None:
            out[name] = numpy.empty((0, int(vector[2])) if vector else 0, item)
        else:
            out[name] = schema.to_pyarrow().empty_table()[name].to_numpy(zero_copy_only=False)
    return out


def _join(parts):
    """One array of many; vectors of which some are null, and others not, become an array of vectors."""
    import numpy
    if len({part.ndim for part in parts}) > 1:
        rows = [row for part in parts for row in part]
        out = numpy.empty(len(rows), object)
        for i, row in enumerate(rows): # one by one: numpy would take equal lengths for a second dimension
            out[i] = row
        return out
    return numpy.concatenate(parts)


class _Convert:
    __slots__ = ()

    def to_pyarrow(self):
        """A pyarrow.Table, without a copy."""
        return _table(self)

    def to_pandas(self):
        """A pandas.DataFrame (by way of pyarrow)."""
        return self.to_pyarrow().to_pandas()

    def to_polars(self):
        """A polars.DataFrame."""
        import polars
        return polars.DataFrame(self)


class Batch(_Convert, _core.Batch):
    """Rows of one piece. Speaks ``__arrow_c_array__`` and ``__arrow_c_stream__``; ``batch[name]`` is a
    column that numpy and DLPack consumers read without a copy."""

    __slots__ = ()

    def to_numpy(self):
        """``{name: array}``: numbers and vectors of numbers without nulls as views, others as copies."""
        import numpy
        out = {}
        table = None
        for name in self.schema.names:
            try:
                out[name] = numpy.asarray(memoryview(self[name]))
            except BufferError:
                if table is None:
                    table = _table(self)
                out[name] = table[name].to_numpy(zero_copy_only=False)
        return out

    def __repr__(self):
        return f"<grebe.Batch {self.num_rows} rows: {', '.join(self.schema.names)}>"


class Stream(_Convert, _core.Stream):
    """Batches in order, once. Iterates, and speaks ``__arrow_c_stream__``."""

    __slots__ = ()

    def _rest(self):
        """All batches that remain; the stream is closed then, so that asking again is an error, not an empty answer."""
        batches = list(self)
        self.close()
        return batches

    # These iterate here rather than hand the stream over: what goes wrong is a grebe.Error then, not the host's.

    def to_pyarrow(self):
        """A pyarrow.Table, without a copy."""
        import pyarrow
        schema = self.schema.to_pyarrow()
        return pyarrow.Table.from_batches([pyarrow.record_batch(batch) for batch in self._rest()], schema)

    def to_polars(self):
        """A polars.DataFrame."""
        import polars
        schema = self.schema
        frames = [polars.DataFrame(batch) for batch in self._rest()]
        return polars.concat(frames, rechunk=False) if frames else polars.DataFrame(schema.to_pyarrow().empty_table())

    def to_numpy(self):
        """``{name: array}`` of all rows that remain."""
        schema = self.schema
        parts = [batch.to_numpy() for batch in self._rest()]
        if not parts:
            return _no_values(schema)
        return {name: _join([p[name] for p in parts]) for name in parts[0]}

    def cast(self, types):
        """These rows with other types, ``{"column": "type"}``: ``{"id": "int32", "price": "decimal128(12, 2)"}``. A value that
        does not fit is a SchemaMismatch that names column, row and value."""
        return _core.cast(self, list(types.items()))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


class Chunks(_core.Chunks):
    """The pieces that a column group is read in. ``chunks[i]`` is one as a Batch; a Chunks iterates over all."""

    __slots__ = ()

    def info(self, i):
        """What is known of chunk i before it is read: row_begin, num_rows, memory_bytes (an estimate), file."""
        row_begin, n_rows, memory_bytes, file = self._info(i)
        return {"row_begin": row_begin, "num_rows": n_rows, "memory_bytes": memory_bytes, "file": file}

    def of_rows(self, rows):
        """Numbers of the chunks that hold the rows, each once, in the order in which rows come to them."""
        return self._of_rows(rows)

    def read(self, numbers, threads=None):
        """Chunks as Batches, one for each number in the order asked, duplicates too; several are read at a time."""
        return self._read(numbers, threads or 0)

    def __getitem__(self, i):
        return self._read([i if i >= 0 else i + len(self)], 0)[0]

    def __iter__(self):
        for i in range(len(self)):
            yield self[i]

    def __repr__(self):
        return f"<grebe.Chunks {len(self)}: {', '.join(self.schema.names)}>"
