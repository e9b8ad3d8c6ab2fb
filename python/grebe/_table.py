# SPDX-License-Identifier: Apache-2.0
"""Tables and transactions: thin classes over the C handles."""

import datetime
import glob
import os

from . import _core, _index


def _uri(uri):
    return os.fspath(uri) if not isinstance(uri, str) else uri


def _uris(paths):
    return [_uri(p) for p in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]


def _files(paths):
    """As _uris, with patterns such as "part-*.parquet" where no file is called so: the names in order."""
    out = []
    for path in _uris(paths):
        found = sorted(glob.glob(path)) if glob.has_magic(path) and not os.path.exists(path) else []
        out += found or [path]
    return out


def _at(version):
    """What the C library takes for a version: a number, a tag or a time, as text."""
    if version is None:
        return None
    if isinstance(version, datetime.datetime):
        if version.tzinfo is None:
            version = version.astimezone()
        return version.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return str(version)


class Table(_core.Table):
    """One version of a table. Immutable: writing methods give a new Table at the version that they made.

    Reading methods may be called from several threads. A Table pickles as its address, version and
    options."""

    __slots__ = ("_compat",)

    def versions(self):
        """Numbers of all versions, ascending."""
        return self._versions()

    def at(self, version):
        """Another version: a number, a tag, or a time."""
        return self._at(_at(version))

    def log(self, limit=None):
        """What is known of each version, newest first: a list of dicts."""
        return self._log(limit or 0)

    def scan(self, columns=None, where=None, rows=None, limit=None, batch_rows=None, with_row_id=False):
        """Rows in order, as a Stream."""
        return self._scan(columns, where, rows, limit, batch_rows, with_row_id)

    def take(self, rows, columns=None, missing="error", with_row_id=False):
        """Rows by id, in the order asked, duplicates kept, as a Batch."""
        return self._take(rows, columns, missing, with_row_id)

    def count(self, where=None):
        """Number of rows, of those for which `where` is true."""
        return self._count(where)

    def chunks(self, group=0, columns=None):
        """The pieces that a column group is read in, for who schedules reading on their own: a Chunks."""
        return self._chunks(group, columns)

    def check(self, deep=False):
        """Findings of a verification: a list of (severity, place, message); empty when all is well."""
        return self._check(deep)

    def tag(self, name, version=None, message=None):
        """Name a version (default: this one)."""
        self._tag(name, version, message)

    def delete_tag(self, name):
        """Remove a name."""
        self._tag(name, delete=True)

    def transaction(self, on_conflict="rebase", message=None, durable=True, profile=None):
        """A context manager with the writing methods: all or nothing, one new version."""
        return Transaction(self, on_conflict, message, durable, profile)

    def _one(self, on_conflict, message, durable, change):
        txn = Transaction(self, on_conflict, message, durable)
        with txn:
            change(txn)
        return txn.table

    def append(self, data, *, on_conflict="rebase", message=None, durable=True, **options):
        """Add rows at the end. Gives the new version."""
        return self._one(on_conflict, message, durable, lambda t: t.append(data, **options))

    def add_columns(self, data, rows=None, *, on_conflict="rebase", message=None, durable=True, **options):
        """Add columns for the rows that are there. Gives the new version."""
        return self._one(on_conflict, message, durable, lambda t: t.add_columns(data, rows, **options))

    def import_files(self, paths, *, columns=None, check=False, format=None, on_conflict="rebase", message=None,
                     durable=True):
        """Take existing files in place, without a copy: as rows when the table has their columns, as new columns when
        it has none of them. Gives the new version."""
        return self._one(on_conflict, message, durable,
                         lambda t: t.import_files(paths, columns=columns, check=check, format=format))

    def drop_columns(self, names, *, on_conflict="rebase", message=None, durable=True):
        """Take columns out of the next version. Gives the new version."""
        return self._one(on_conflict, message, durable, lambda t: t.drop_columns(names))

    def rename_column(self, old, new, *, on_conflict="rebase", message=None, durable=True):
        """Give a column another name. Gives the new version."""
        return self._one(on_conflict, message, durable, lambda t: t.rename_column(old, new))

    def search(self, column, queries, k=10, *, where=None, columns=None, exact=False, metric=None, threads=None, **params):
        """The rows with the nearest vectors, as a Stream: "_query" (with several queries), "_rowid", "_distance", then the
        columns (default: all but the vectors). Through the index of the column where the version has one (params
        such as ef=64 are its), else by comparing every row. metric: the index's, else "euclidean"; with another one than the
        index's every row is compared."""
        rows, _ = _index.dense(queries)
        return _core.search_table(self, column, rows, k, columns, where, _index.words(params), exact, metric, _index.lanes(threads))

    def build_index(self, column, kind="graph", metric="euclidean", *, name=None, on_conflict="rebase", message=None, durable=True,
                    threads=None, **params):
        """Build an index over a column of vectors (docs/guide/search.md). Gives the new version."""
        return _core.build_index(self, column, kind, metric, name, _index.words(params), on_conflict, message, durable, _index.lanes(threads))

    def drop_index(self, column, *, on_conflict="rebase", message=None, durable=True):
        """Take the index of a column out of the next version. Gives the new version."""
        return _core.drop_index(self, column, on_conflict, message, durable)

    def __arrow_c_schema__(self):
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema=None):
        return self.scan().__arrow_c_stream__(requested_schema)

    def __len__(self):
        return self.num_rows

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def __reduce__(self):
        return open_table, (self.uri, self.version, getattr(self, "_compat", None))

    def __repr__(self):
        if self.closed:
            return "<grebe.Table closed>"
        return f"<grebe.Table {self.uri!r} version {self.version}: {self.num_rows} rows, {len(self.schema)} columns>"


class Transaction:
    """Several changes as one new version. Leaving the block commits; an exception gives all up.

    After the block `table` is the new version."""

    def __init__(self, table, on_conflict="rebase", message=None, durable=True, profile=None):
        self._txn = _core.Txn(table, on_conflict, message, durable, profile)
        self.table = None

    def append(self, data, **options):
        self._txn._append(data, options)

    def add_columns(self, data, rows=None, **options):
        self._txn._add_columns(data, rows, options)

    def import_files(self, paths, *, columns=None, check=False, format=None):
        self._txn._import(_files(paths), columns, check, format)

    def drop_columns(self, names):
        for name in [names] if isinstance(names, str) else names:
            self._txn._drop_column(name)

    def rename_column(self, old, new):
        self._txn._rename_column(old, new)

    # What lies in files already, as the manifest has it (docs/format/table.md): nothing is opened or looked at.

    def append_files(self, groups):
        """Append files, one group after another: [{"columns": […], "format": "parquet", "files": [{"path", "row_begin",
        "row_end", "properties"}]}]."""
        self._txn._append_files(groups)

    def add_group(self, group):
        """A group of new columns, as in append_files."""
        self._txn._add_group(group)

    def add_delta_log(self, path, num_entries, type=0):
        """type: 0 primary key, 1 positional, 2 equality."""
        self._txn._add_delta_log(_uri(path), type, num_entries)

    def set_stat(self, key, paths=(), metadata=None):
        """Set the statistics entry `key`, replacing what is there."""
        self._txn._set_stat(key, _uris(paths), metadata)

    def add_index(self, column_name, index_type, path, **fields):
        """An index entry; one of the same index_id (0: of the same column and type) is replaced. fields: index_name,
        field_id, index_id, build_id, index_version, num_rows, serialized_size, mem_size, current_index_version,
        current_scalar_index_version, index_store_path_version, index_file_keys, properties."""
        self._txn._add_index(dict(fields, column_name=column_name, index_type=index_type, path=_uri(path)))

    def drop_index(self, index_id):
        self._txn._drop_index(index_id)

    def add_lob_file(self, path, field_id, total_rows, valid_rows, file_size_bytes):
        self._txn._add_lob_file(_uri(path), field_id, total_rows, valid_rows, file_size_bytes)

    def commit(self):
        """Publish now. Gives the new version."""
        self.table = self._txn._commit()
        return self.table

    def abort(self):
        """Give everything up."""
        self._txn._abort()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self.abort()
        elif self.table is None:
            self.commit()
        return False


def open_table(uri, version=None, compat=None, storage_options=None):
    table = _core.open(_uri(uri), _at(version), compat, storage_options)
    if compat is not None:
        table._compat = compat
    return table
