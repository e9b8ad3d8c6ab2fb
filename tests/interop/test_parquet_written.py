#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of the Parquet writer as pyarrow, DuckDB and Polars read them.

Each case is a table of many types written by the library and checked by tools/parquet_check.py (values
against the table it was made from, statistics, page headers, checksums, page index) plus what the file
layout promises: alignment of vectors, row groups, bytes that do not depend on the number of threads. Files are written through
tests/tools/parquet_driver.c."""
import argparse, ctypes, decimal, os, sys
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "tools"))
import parquet_check
from parquet_tables import lists, nested, scalars, table_of, vectors


class Options(ctypes.Structure):
    _fields_ = [("compression", ctypes.c_char_p), ("row_group_bytes", ctypes.c_int64),
                ("row_group_rows", ctypes.c_int64), ("expected_rows", ctypes.c_int64),
                ("is_milvus", ctypes.c_int32), ("threads", ctypes.c_int32)]


class Result(ctypes.Structure):
    _fields_ = [("n_rows", ctypes.c_int64), ("file_size", ctypes.c_uint64),
                ("footer_size", ctypes.c_uint64), ("message", ctypes.c_char * 600)]


class Stream(ctypes.Structure):
    _fields_ = [("f", ctypes.c_void_p * 5)]


def write(driver, path, table, batch_rows=None, compression=None, milvus=False, threads=1, rows=0, nbytes=0,
          expected=-1):
    stream, result = Stream(), Result()
    batches = table.to_batches(max_chunksize=batch_rows)
    reader = pa.RecordBatchReader.from_batches(table.schema, batches)
    reader._export_to_c(ctypes.addressof(stream))
    o = Options(compression.encode() if compression else None, nbytes, rows, expected, milvus, threads)
    status = driver.parquet_driver_write(path.encode(), ctypes.byref(stream), ctypes.byref(o), ctypes.byref(result))
    if status:
        raise RuntimeError(f"write: {status} {result.message.decode()}")
    size = os.path.getsize(path)
    assert result.file_size == size and result.n_rows == table.num_rows
    with open(path, "rb") as f:
        f.seek(-8, 2)
        assert result.footer_size == int.from_bytes(f.read(4), "little") + 8
    return result


def footer_of(path):
    with open(path, "rb") as f:
        data = f.read()
    n = int.from_bytes(data[-8:-4], "little")
    return parquet_check.Thrift(data, len(data) - 8 - n).struct()


def pages(path):
    """(column path, body offset, body size, values) of every data page."""
    with open(path, "rb") as f:
        data = f.read()
    for group in footer_of(path)[4]:
        for chunk in group[1]:
            meta = chunk[3]
            at, seen = meta.get(11) or meta[9], 0
            end = at + meta[7]
            while at < end:
                t = parquet_check.Thrift(data, at)
                h = t.struct()
                if h[1] == 0:
                    yield b".".join(meta[3]).decode(), t.p, h[3], h[5][1], meta
                    seen += h[5][1]
                at = t.p + h[3]
            assert seen == meta[5], (meta[3], seen)


def check_alignment(path, dims):
    n = 0
    for name, at, size, values, meta in pages(path):
        top = name.split(".")[0]
        if top in dims:
            width = dims[top]
            null_count = meta[12].get(3)
            assert meta[4] == 0 and 11 not in meta and 5 not in meta[12] and 6 not in meta[12], name
            assert [s[2] for s in meta[13]] == [0], "only PLAIN"
            if null_count == 0:
                n_values = values * width
                assert (at + size - n_values) % 64 == 0, (name, at, size)
                n += 1
    return n


def check(path, twin, peers="pyarrow,duckdb,polars", may_refuse=""):
    parquet_check.check(path, argparse.Namespace(twin=twin, no_twin=False, peers=peers.split(","),
                                                 may_refuse=[x for x in may_refuse.split(",") if x]), [])


def save_twin(table, path):
    with pa.OSFile(path, "wb") as f, pa.ipc.new_file(f, table.schema) as w:
        w.write_table(table)


CASES = {}


def case(f):
    CASES[f.__name__] = f
    return f


def run(driver, folder, name, table, **options):
    path, twin = os.path.join(folder, name + ".parquet"), os.path.join(folder, name + ".arrow")
    peers = options.pop("peers", "pyarrow,duckdb,polars")
    may_refuse = options.pop("may_refuse", "")
    write(driver, path, table, **options)
    save_twin(table, twin)
    check(path, twin, peers, may_refuse)
    return path


@case
def scalar_types(d, folder):
    for n, share in ((0, 0), (1, 0), (1, 1.1), (1000, 0), (1000, 0.3), (1000, 1.1), (9000, 0.05)):
        t = table_of(scalars(n, share, n))
        for batch in ({1, 7, None} if n == 1 else {None, 333}):
            run(d, folder, f"scalars_{n}_{share}_{batch}", t, batch_rows=batch)


@case
def scalar_required(d, folder):
    c = scalars(5000, 0, 3)
    del c["none"], c["dictnull"]
    run(d, folder, "required", table_of(c, required=set(c)))


@case
def groups_and_codecs(d, folder):
    t = table_of(scalars(3000, 0.1, 5))
    for codec in ("none", "snappy", "gzip", "lz4", "zstd", "brotli"):
        path = run(d, folder, "codec_" + codec, t, compression=codec, rows=640)
        assert pq.read_metadata(path).num_row_groups == 5


@case
def list_types(d, folder):
    for n, share in ((0, 0), (1, 0), (1, 1.1), (700, 0), (700, 0.2), (700, 1.1), (6000, 0.02)):
        for batch in (None, 101):
            run(d, folder, f"lists_{n}_{share}_{batch}", table_of(lists(n, share, n + 1)), batch_rows=batch)
    run(d, folder, "lists_zstd", table_of(lists(3000, 0.1, 2)), compression="zstd")


@case
def nested_types(d, folder):
    for n, share in ((0, 0), (1, 0), (700, 0), (700, 0.2), (700, 1.1), (5000, 0.05)):
        run(d, folder, f"nested_{n}_{share}", table_of(nested(n, share, n + 1)), batch_rows=123)


@case
def vector_alignment(d, folder):
    for dim in (2, 15, 16, 50, 71, 72, 128, 768, 1536):
        for share, nullable in ((0, True), (0, False), (0.1, True)):
            n = 700 if dim < 100 else 300
            t = vectors(n, dim, share, nullable)
            for rows in (0, 192):
                path = run(d, folder, f"vec_{dim}_{share}_{nullable}_{rows}", t, rows=rows)
                check_alignment(path, {"v": 4, "blob": 4 * dim})
                back = pq.read_table(path)
                assert back.schema.field("v").type == t.schema.field("v").type, back.schema


@case
def vector_pages(d, folder):
    """Several pages a chunk: the padding in the page header keeps every page aligned."""
    t = vectors(5000, 128)
    path = run(d, folder, "vec_pages", t, nbytes=16 << 20)
    assert check_alignment(path, {"v": 4, "blob": 512}) == 6
    path = run(d, folder, "vec_pages_50", vectors(30000, 50).drop_columns(["blob"]), nbytes=16 << 20)
    assert check_alignment(path, {"v": 4}) == 6


def storage_of(path, column):
    """Codecs, encodings of data pages (from the pages themselves) and stored bytes of a column's chunks."""
    codecs, encodings, size = set(), set(), 0
    with open(path, "rb") as f:
        data = f.read()
    for group in footer_of(path)[4]:
        for chunk in group[1]:
            meta = chunk[3]
            if meta[3][0].decode() != column:
                continue
            codecs.add(meta[4])
            size += meta[7]
            at = meta.get(11) or meta[9]
            end = at + meta[7]
            while at < end:
                t = parquet_check.Thrift(data, at)
                h = t.struct()
                if h[1] == 0:
                    encodings.add(h[5][2])
                at = t.p + h[3]
    return codecs, encodings, size


PLAIN, SPLIT = {0}, {9}


@case
def vectors_with_a_codec(d, folder):
    """Floats become byte streams where a codec that was asked for gains by it; who asks for none keeps them in place."""
    numbers = {"none": 0, "snappy": 1, "gzip": 2, "brotli": 4, "zstd": 6, "lz4": 7}
    for n, dim, share, nullable in ((3000, 96, 0, True), (3000, 96, 0.1, True), (500, 1024, 0, False), (3, 16, 0, True)):
        t = vectors(n, dim, share, nullable).drop_columns(["blob"])
        wide = pa.FixedSizeListArray.from_arrays(pa.array(np.random.default_rng(3).random(4 * n)), 4)
        t = t.append_column("wide", wide)
        for codec, expected in (("zstd", SPLIT), ("gzip", SPLIT), ("brotli", SPLIT), ("none", PLAIN), (None, PLAIN)):
            path = run(d, folder, f"codec_{n}_{share}_{codec}", t, compression=codec)
            if n < 10:
                continue  # nothing to gain
            codecs, encodings, size = storage_of(path, "v")
            assert encodings == expected, (codec, encodings)
            assert codecs == ({numbers[codec]} if codec and expected == SPLIT else {0}), (codec, codecs)
            raw = 4 * dim * t.column("v").drop_null().length()
            assert size < raw * 0.95 if expected == SPLIT else size >= raw, (codec, size, raw)
            assert storage_of(path, "wide")[1] == expected


@case
def vectors_that_do_not_shrink(d, folder):
    """Bits of noise stay where they can be addressed, also when the sample promised more than the chunk keeps."""
    rng = np.random.default_rng(8)
    n, dim = 4096, 64
    noise = rng.integers(0, 2**32, n * dim, dtype=np.uint32)
    noise[(noise >> 23 & 255) == 255] = 1  # neither NaN nor infinity: peers compare by value
    promising = noise.copy()
    promising[n * dim // 2 - 3000:n * dim // 2 + 3000] = 0x3f800000
    for name, bits in (("noise", noise), ("promising", promising)):
        v = pa.FixedSizeListArray.from_arrays(pa.array(bits.view(np.float32)), dim)
        for codec in ("zstd", "snappy", "lz4"):
            path = run(d, folder, f"{name}_{codec}", pa.table({"v": v}), compression=codec, rows=n)
            assert check_alignment(path, {"v": 4}) >= 1


@case
def other_vectors_with_a_codec(d, folder):
    """Only floats are split: DuckDB and Polars refuse byte streams of integers, halves and fixed-size binary."""
    rng = np.random.default_rng(9)
    n, dim = 2000, 32
    few = rng.integers(0, 9, n * dim)
    lists_of = lambda v: pa.FixedSizeListArray.from_arrays(pa.array(v), dim)
    t = pa.table({"i": lists_of(few.astype(np.int32)), "l": lists_of(few), "h": lists_of(few.astype(np.float16)),
                  "b": pa.array([bytes(few[i * dim:i * dim + dim].astype(np.uint8)) for i in range(n)], pa.binary(dim)),
                  "f": lists_of(few.astype(np.float32))})
    path = run(d, folder, "others", t, compression="zstd", may_refuse="h")
    for c in "ilhb":
        assert storage_of(path, c)[:2] == ({6}, PLAIN), c
    assert storage_of(path, "f")[0] == {6}


@case
def floats_with_a_codec(d, folder):
    """Columns and uneven lists of floats, too."""
    rng = np.random.default_rng(10)
    n = 30000
    ends = np.concatenate([[0], np.cumsum(rng.integers(0, 5, n))]).astype(np.int32)
    t = pa.table({"random": rng.random(n), "walk": rng.standard_normal(n).cumsum().astype(np.float32),
                  "nullable": pa.array(rng.random(n), mask=rng.random(n) < 0.2),
                  "lists": pa.ListArray.from_arrays(pa.array(ends), pa.array(rng.standard_normal(int(ends[-1])).astype(np.float32)))})
    path = run(d, folder, "floats", t, compression="zstd", rows=n)
    for c in t.column_names:
        assert storage_of(path, c)[:2] == ({6}, SPLIT), (c, storage_of(path, c))
    path = run(d, folder, "floats_default", t.select(["random", "nullable"]))
    assert storage_of(path, "random")[1] == PLAIN


@case
def row_groups(d, folder):
    t = vectors(40960, 128).select(["id", "v"])
    path = os.path.join(folder, "groups.parquet")
    for threads in (1, 2, 4):
        write(d, path, t, threads=threads)
        sizes = [pq.read_metadata(path).row_group(i).num_rows for i in range(pq.read_metadata(path).num_row_groups)]
        assert len(set(sizes[:-1])) == 1 and sizes[0] % 64 == 0 and sizes[0] * 520 <= 1 << 20, sizes
    small = pa.table({"x": pa.array(np.arange(5000), pa.int64())})
    write(d, path, small, nbytes=1024)      # 128 rows a group
    assert pq.read_metadata(path).row_group(0).num_rows == 128
    big = pa.table({"x": pa.array(np.arange(300 * 131072 // 8), pa.int64())})
    write(d, path, big, rows=8192)
    assert pq.read_table(path).equals(big)


@case
def large_rows(d, folder):
    """Rows far larger than the first ones end the group early."""
    t = pa.table({"s": pa.array(["a"] * 2000 + ["b" * 20000] * 2000)})
    path = run(d, folder, "large_rows", t)
    m = pq.read_metadata(path)
    assert max(m.row_group(i).total_byte_size for i in range(m.num_row_groups)) < 6 << 20


@case
def thread_independence(d, folder):
    t = table_of({**scalars(4000, 0.1, 9), **lists(4000, 0.1, 9), **nested(4000, 0.1, 9)})
    for table, compression in ((t, None), (vectors(4000, 64), "zstd")):
        names = []
        for threads in (1, 2, 4, 7):
            names.append(os.path.join(folder, f"threads_{threads}_{compression}.parquet"))
            write(d, names[-1], table, threads=threads, rows=256, compression=compression)
        first = open(names[0], "rb").read()
        assert all(open(n, "rb").read() == first for n in names)


@case
def many_columns(d, folder):
    t = pa.table({f"c{i}": pa.array(range(i, i + 50), pa.int32()) for i in range(1000)})
    run(d, folder, "many_columns", t, threads=2)
    run(d, folder, "no_columns", pa.table({}).select([]), peers="pyarrow")


@case
def milvus_profile(d, folder):
    ids = lambda f, i: f.with_metadata({"PARQUET:field_id": str(i)})
    rng = np.random.default_rng(1)
    n = 30000
    schema = pa.schema([ids(pa.field("id", pa.int64(), False), 100), ids(pa.field("name", pa.string()), 101),
                        ids(pa.field("value", pa.float64()), 102), ids(pa.field("v", pa.binary(64), False), 103),
                        ids(pa.field("few", pa.int32()), 104), ids(pa.field("raw", pa.binary()), 105),
                        ids(pa.field("flag", pa.bool_()), 106),
                        ids(pa.field("list", pa.list_(pa.float32(), 4), False), 107)])
    t = pa.table([pa.array(np.arange(n)), pa.array([f"name_{i}" for i in range(n)]), pa.array(rng.standard_normal(n)),
                  pa.array([rng.bytes(64) for _ in range(n)], pa.binary(64)), pa.array(rng.integers(0, 9, n), pa.int32()),
                  pa.array([rng.bytes(9) for _ in range(n)]), pa.array(rng.integers(0, 2, n) > 0),
                  pa.FixedSizeListArray.from_arrays(pa.array(rng.standard_normal(n * 4).astype("f4")), 4)], schema=schema)
    path = os.path.join(folder, "milvus.parquet")
    write(d, path, t, milvus=True, batch_rows=7000)
    m = pq.read_metadata(path)
    kv = m.metadata
    assert m.format_version == "2.6" and m.created_by.startswith("grebe version "), (m.format_version, m.created_by)
    assert [x[1] for x in footer_of(path)[5]] == [b"row_group_metadata", b"storage_version"]
    assert kv[b"storage_version"] == b"1.0.0"
    groups = [tuple(map(int, g.split(b"|"))) for g in kv[b"row_group_metadata"].split(b";")]
    assert len(groups) == m.num_row_groups
    assert [g[1] for g in groups] == [m.row_group(i).num_rows for i in range(m.num_row_groups)]
    assert all(g[0] >= 1 << 20 for g in groups[:-1]) and all(g[0] < (1 << 20) + 300 for g in groups)
    assert [g[2] for g in groups] == list(np.cumsum([0] + [g[1] for g in groups])[:-1])
    c = {m.schema.column(i).path: m.row_group(0).column(i) for i in range(m.num_columns)}
    assert c["v"].compression == "UNCOMPRESSED" and not c["v"].is_stats_set and not c["raw"].is_stats_set
    assert c["id"].compression == "ZSTD" and c["id"].is_stats_set and c["name"].statistics.min == "name_0"
    assert all(not x.has_offset_index and not x.has_column_index for x in c.values())
    assert set(c["few"].encodings) == {"PLAIN", "RLE", "RLE_DICTIONARY"} and c["v"].has_dictionary_page
    assert pq.ParquetFile(path).schema_arrow.field("list").metadata[b"PARQUET:field_id"] == b"107"
    twin = os.path.join(folder, "milvus.arrow")
    plain = schema.set(7, pa.field("list", pa.list_(pa.float32()), False))
    save_twin(t.cast(plain), twin)
    check(path, twin)
    write(d, path, pa.table({"i": pa.array(np.arange(100000)), "f": pa.array(rng.standard_normal(100000))}), milvus=True)
    assert pq.read_metadata(path).metadata[b"row_group_metadata"] == b"1048576|65536|0;551424|34464|65536"
    for n in (0, 1, 5000):
        tt = table_of({**scalars(n, 0.2, 4), **nested(n, 0.2, 4)})
        write(d, path, tt, milvus=True)
        assert pq.read_table(path).num_rows == n


@case
def refusals(d, folder):
    path = os.path.join(folder, "refused.parquet")
    for t, text in ((pa.table({"m": pa.array([], pa.month_day_nano_interval())}), 'column "m"'),
                    (pa.table([pa.array([1, None])], schema=pa.schema([pa.field("r", pa.int64(), False)])), "no nulls"),
                    (pa.table({"d": pa.array([decimal.Decimal(500)], pa.decimal128(5, -2))}), "no such type"),
                    (pa.table({"t": pa.array([2**62], pa.timestamp("s"))}), "does not fit")):
        try:
            write(d, path, t)
        except RuntimeError as e:
            assert text in str(e), e
        else:
            raise AssertionError("was written: " + text)
        assert not os.path.exists(path)
    for codec in ("lzo", "zip"):
        try:
            write(d, path, pa.table({"a": [1]}), compression=codec)
        except RuntimeError as e:
            assert codec in str(e), e
        else:
            raise AssertionError(codec)


@pytest.fixture(scope="module")
def driver():
    return ctypes.CDLL(os.path.join(os.environ["GREBE_BUILD"], "tests", "libparquet_driver.so"))


@pytest.mark.parametrize("name", list(CASES))
def test_written_file(driver, name, tmp_path):
    CASES[name](driver, str(tmp_path))
