# SPDX-License-Identifier: Apache-2.0
"""Rows into files that others read: CSV, JSON, Parquet; each gives the bytes written."""

import bz2
import gzip
import io
import json
import lzma
import os
import tempfile

from . import _progress
from ._arguments import at_least_one
from ._features import Json, json_paths
from ._formats import formatter

_OPENERS = {"gzip": gzip.open, "bz2": bz2.open, "xz": lzma.open}
_ENDINGS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz"}


class _Counted(io.RawIOBase):
    """Counts what goes through to a file object."""

    def __init__(self, to):
        self.to, self.n = to, 0

    def writable(self):
        return True

    def write(self, data):
        self.n += len(data)
        self.to.write(bytes(data))
        return len(data)


def _write(path_or_buf, compression, produce):
    """produce(write) gives the bytes to a file object of the caller, or to a file that gets its name when it is whole."""
    if hasattr(path_or_buf, "write"):
        counted = _Counted(path_or_buf)
        produce(counted.write)
        return counted.n
    path = os.fspath(path_or_buf)
    if compression == "infer":
        compression = _ENDINGS.get(os.path.splitext(path)[1])
    if compression is not None and compression not in _OPENERS:
        raise ValueError(f"compression: expected infer, gzip, bz2 or xz, found {compression!r}")
    folder = os.path.dirname(os.path.abspath(path))
    handle, temporary = tempfile.mkstemp(prefix=".grebe-", dir=folder)
    try:
        with os.fdopen(handle, "wb") as raw:
            counted = _Counted(raw)
            if compression is None:
                produce(counted.write)
            else:
                with _OPENERS[compression](raw, "wb") as packed:
                    counted = _Counted(packed)
                    produce(counted.write)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return counted.n


def _batches(ds, batch_size):
    """Batches of the visible columns."""
    batch_size = None if batch_size is None else at_least_one("batch_size", batch_size)
    if hasattr(ds, "batches"):
        return ds.batches(batch_size or 1000)
    return iter(ds.scan(ds._shown(), batch_size or 1000))


def _decoded(ds):
    features = ds.features or {}
    return {name for name, f in features.items() if isinstance(f, Json)}


def to_json(ds, path_or_buf, batch_size=None, lines=True, orient="records", compression="infer", force_ascii=False, **options):
    """JSON lines, or with lines=False one array of all rows. Json columns are written as what they hold; force_ascii: other
    characters as \\u escapes."""
    if orient != "records":
        raise ValueError(f"orient: expected records, found {orient!r}")
    if options:
        raise TypeError(f"to_json: no option {next(iter(options))!r}")
    plain = formatter(None, _paths(ds))

    def produce(write):
        first = True
        if not lines:
            write(b"[")
        for batch in _batches(ds, batch_size):
            parts = [json.dumps(_jsonable(row), ensure_ascii=force_ascii, separators=(",", ":")) for row in plain.rows(batch)]
            if lines:
                write("".join(p + "\n" for p in parts).encode())
            elif parts:
                write((("" if first else ",") + ",".join(parts)).encode())
                first = False
        if not lines:
            write(b"]")
    return _write(path_or_buf, compression, produce)


def _paths(ds):
    return json_paths(ds.features) if ds.features else ()


def _jsonable(v):
    """What JSON has no word for, as text: times in ISO form, decimals as their digits, bytes as base64."""
    if isinstance(v, dict):
        return {k: _jsonable(x) for k, x in v.items()}
    if isinstance(v, list):
        return [_jsonable(x) for x in v]
    if v is None or isinstance(v, (bool, int, str)):
        return v
    if isinstance(v, float):
        return v if v == v and v not in (float("inf"), float("-inf")) else None
    if isinstance(v, bytes):
        import base64
        return base64.b64encode(v).decode()
    return v.isoformat() if hasattr(v, "isoformat") else str(v)


def to_csv(ds, path_or_buf, batch_size=None, sep=",", header=True, index=False, na_rep="", compression="infer", **options):
    """CSV: nested values as JSON, null as na_rep."""
    import csv
    if index:
        raise ValueError("to_csv: index: a data set has none")
    if options:
        raise TypeError(f"to_csv: no option {next(iter(options))!r}")
    plain = formatter(None, _paths(ds))

    def cell(v):
        if v is None:
            return na_rep
        if isinstance(v, (dict, list)):
            return json.dumps(_jsonable(v), ensure_ascii=False)
        return v if isinstance(v, (int, float, str)) else _jsonable(v)

    def produce(write):
        is_begun = False
        for batch in _batches(ds, batch_size):
            text = io.StringIO()
            out = csv.writer(text, delimiter=sep, lineterminator="\n")
            names = batch.schema.names
            if not is_begun and header:
                out.writerow(names)
            is_begun = True
            columns = [plain.column(batch, n) for n in names]
            out.writerows([cell(v) for v in row] for row in zip(*columns))
            write(text.getvalue().encode())
        if not is_begun and header:
            text = io.StringIO()
            csv.writer(text, delimiter=sep, lineterminator="\n").writerow(ds.column_names or [])
            write(text.getvalue().encode())
    return _write(path_or_buf, compression, produce)


def to_parquet(ds, path_or_buf, batch_size=None, compression="snappy", **options):
    """Parquet, with the features in its metadata; row groups of batch_size rows, or of about 100 MB."""
    import grebe
    rows = None if batch_size is None else at_least_one("batch_size", batch_size)
    if rows is None and hasattr(ds, "nbytes"):
        rows = max(1, len(ds) * 100_000_000 // max(1, ds.nbytes))
    if rows is not None:
        options["row_group_rows"] = rows
    if not hasattr(path_or_buf, "write"):
        grebe.write(path_or_buf, ds, compression=compression, **options)
        return os.path.getsize(path_or_buf)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.parquet")
        grebe.write(path, ds, compression=compression, **options)
        with open(path, "rb") as f:
            return path_or_buf.write(f.read())


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


class Writing:
    """The part of a data set that writes files and tables."""

    def save_to_disk(self, dataset_path, max_shard_size=None, num_shards=None, num_proc=None, durable=False, **kwargs):
        """A folder that load_from_disk, and `datasets`, read."""
        if self._indexes:
            raise ValueError("save_to_disk: not with attached search indexes; drop_index() first")
        if max_shard_size is not None and num_shards is not None:
            raise ValueError("save_to_disk: give max_shard_size or num_shards, not both")
        shards = num_shards or max(num_proc or 0, 0)
        options = {"max_shard_bytes": size_of(max_shard_size), "n_shards": shards or None, "durable": durable,
                   "progress": _progress.bar("Saving the dataset")}
        self._run(options, lambda o: self._core.save(os.fspath(dataset_path), o))

    def to_csv(self, path_or_buf, batch_size=None, num_proc=None, **options):
        """One CSV file; gives the bytes written."""
        return to_csv(self, path_or_buf, batch_size, **options)

    def to_json(self, path_or_buf, batch_size=None, num_proc=None, **options):
        """JSON lines (lines=False: one array); gives the bytes written."""
        return to_json(self, path_or_buf, batch_size, **options)

    def to_parquet(self, path_or_buf, batch_size=None, **options):
        """One Parquet file; gives the bytes written."""
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
