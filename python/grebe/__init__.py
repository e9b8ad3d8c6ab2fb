# SPDX-License-Identifier: Apache-2.0
"""Grebe: versioned tables for data sets with vectors.

Everything that holds rows speaks the Arrow PyCapsule interface in and out, and so works with pyarrow, polars,
duckdb, pandas and nanoarrow without being built for any of them.

    table = grebe.create("words", pyarrow_table)
    table.take([9, 0, 9], columns=["word"]).to_pyarrow()
    table = table.add_columns({"norm": numpy_array})
"""

import io
import json
import os

from . import _core, _errors, _values
from ._errors import (Auth, Cancelled, Conflict, Corrupt, Error, Exists, InvalidArgument, IOFailure, Limit, Network,
                      NoMemory, NotFound, SchemaMismatch, UnknownOutcome, Unsupported)
from ._rows import Batch, Chunks, Schema, Stream
from ._table import Table, Transaction, _files, _uri, _uris, open_table

_core.register(_errors.BY_STATUS, Table, Stream, Batch, Schema, Chunks, _values.value_out, _values.values_in)

__version__ = _core.version
Column = _core.Column


def create(uri, data, *, groups=None, file_format="parquet", durable=True, message=None, **options):
    """Make a table from any Arrow producer, a dict of arrays (numpy, lists), or a source as read() takes it ("a.parquet").

    groups: lists of column names that share files; columns that none names are grouped by default (all scalars
    together, each vector on its own). options: those of write(), file_bytes, profile ("open" or "milvus"), policy ("single", "schema_based" with policy_patterns and
    policy_formats, "size_based" with max_column_bytes and max_columns_in_group), properties (a dict of options by their
    names in Milvus's library, such as {"writer.policy": "single"})."""
    options.update(groups=groups, file_format=file_format, durable=durable, message=message)
    return _core.create(_uri(uri), _rows_of(data), options)


def _rows_of(data):
    return read(data) if isinstance(data, (str, os.PathLike)) else data


def open(uri, version=None, *, compat=None, storage_options=None):
    """Open a version of a table: the latest, a number, a tag, or a time."""
    return open_table(uri, version, compat, storage_options)


def import_files(uri, paths, *, columns=None, check=False, format=None, profile=None, on_conflict="rebase", message=None,
                 durable=True):
    """Take existing files in place, without a copy: a new table where there is none, else rows or columns of the one
    in the folder. check: decode every value first."""
    return _core.import_files(_uri(uri), _files(paths), columns, check, format, on_conflict, message, durable, profile)


def read(source, columns=None, where=None, *, rows=None, limit=None, batch_rows=None, with_row_id=False, format=None,
         verify=True, int96="ns", **text):
    """Rows of any source of the command (table, file, pattern), or of several of them one after the other, as a
    Stream. Columns of several sources are matched by name; what a source lacks is null.

    verify=False: checksums of pages are not compared. int96="us": the 96-bit times of old Parquet files in microseconds.

    text, of CSV, TSV and JSON (docs/format/text.md): delimiter, quote ("" for none), escape, comment; header (True, False or "auto");
    null_values (a list of texts); decimal_comma, trim; skip_rows; ragged ("error", "fill" or "drop"); encoding
    ("utf-8" or "latin1"); schema (a pyarrow.Schema or the like, a dict of types by name such as {"id": "int32"}, or the path of
    a schema file);
    sample_rows (a number of lines, or "all")."""
    sources = [_uri(s) for s in source] if isinstance(source, (list, tuple)) else [_uri(source)]
    if int96 not in ("ns", "us"):
        raise InvalidArgument(f'int96: expected "ns" or "us", found {int96!r}')
    return _core.read(sources, format, verify, int96 == "us", _text_options(text), columns=columns, where=where, rows=rows, limit=limit,
                      batch_rows=batch_rows, with_row_id=with_row_id)


def _text_options(text):
    schema = text.get("schema")
    if isinstance(schema, dict):
        fields = [{"name": name, "type": type} for name, type in schema.items()]
        return dict(text, schema=json.dumps({"fields": fields}))
    if isinstance(schema, (str, os.PathLike)):
        with io.open(schema, encoding="utf-8") as f:
            return dict(text, schema=f.read())
    return text


def write(path, data, *, compression=None, durable=False, **options):
    """Write rows (as create() takes them) to one file, in the format that its name ends in. Gives the number of rows.

    options, of Parquet files: compression_level, row_group_bytes, row_group_rows; encodings (a name, or a dict by
    column: "plain", "dictionary", "rle", "delta_binary_packed", "delta_length_byte_array", "delta_byte_array",
    "byte_stream_split"); bloom (columns that get a bloom filter), bloom_rate; page_bytes, page_rows,
    data_page_version (1 or 2); statistics, page_index, checksums (False leaves them out). Of CSV and TSV (.gz and .zst
    behind the name compress): delimiter, quote ("" for none), header (False leaves the names out), null_value."""
    options.update(compression=compression, durable=durable)
    return _core.write(_uri(path), _rows_of(data), options)


def open_packed(paths, fields=None):
    """Packed files (Milvus's second storage format) as a Table without versions. fields: numbers, or an Arrow schema
    whose fields have them (metadata "PARQUET:field_id"); one that no file has is null."""
    is_schema = hasattr(fields, "__arrow_c_schema__")
    return _core.open_packed(_uris(paths), None if is_schema else fields, fields if is_schema else None)


def read_packed(paths, fields=None, columns=None, where=None, *, rows=None, limit=None, batch_rows=None):
    """Rows of packed files, as a Stream: open_packed(paths, fields).scan(…)."""
    return open_packed(paths, fields).scan(columns, where, rows, limit, batch_rows)


def write_packed(paths, data, *, groups=None, durable=False, **options):
    """Write rows as packed files: one path for each group of column names, every field with a number (metadata
    "PARQUET:field_id"). Gives the number of rows."""
    options.update(groups=groups, durable=durable)
    return _core.write_packed(_uris(paths), data, options)


def set_threads(n):
    """Threads that one call may use at most; None or 0: one per core."""
    _core.set_threads(n or 0)


__all__ = ["Auth", "Batch", "Cancelled", "Chunks", "Column", "Conflict", "Corrupt", "Error", "Exists", "IOFailure",
           "InvalidArgument", "Limit", "Network", "NoMemory", "NotFound", "Schema", "SchemaMismatch", "Stream", "Table",
           "Transaction", "UnknownOutcome", "Unsupported", "create", "import_files", "open",
           "open_packed", "read_packed", "write_packed", "read", "set_threads", "write"]
