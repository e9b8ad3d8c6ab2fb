# SPDX-License-Identifier: Apache-2.0
"""Rows as Python objects: conversions import their host only when they are called."""

from . import _core


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


class _Convert:
    __slots__ = ()

    def to_pyarrow(self):
        """A pyarrow.Table, without a copy."""
        return _table(self)

    def to_pandas(self):
        """A pandas.DataFrame (by way of pyarrow)."""
        return _table(self).to_pandas()

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

    def to_numpy(self):
        """``{name: array}`` of all rows that remain."""
        import numpy
        parts = [batch.to_numpy() for batch in self]
        if not parts:
            return {}
        return {name: numpy.concatenate([p[name] for p in parts]) for name in parts[0]}

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()
