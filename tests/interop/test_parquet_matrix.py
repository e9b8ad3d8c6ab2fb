#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every encoding, codec, page version and nesting that the writer can be asked for, as pyarrow, DuckDB and
Polars read it and as tools/parquet_check.py finds it (values, statistics, page headers, indexes, bloom filters).

Files are written through the Python package: its options are under test too."""
import argparse, datetime, decimal, os, random, subprocess, sys, time, uuid
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "tools"))
import parquet_check
from parquet_tables import lists, nested, scalars, table_of

import grebe

ROWS = 250
CONVERTED = ("UTF8 MAP MAP_KEY_VALUE LIST ENUM DECIMAL DATE TIME_MILLIS TIME_MICROS TIMESTAMP_MILLIS TIMESTAMP_MICROS UINT_8 UINT_16 "
             "UINT_32 UINT_64 INT_8 INT_16 INT_32 INT_64 JSON BSON INTERVAL").split()
CODECS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
INTS = ("plain", "dictionary", "delta_binary_packed", "byte_stream_split")
FLOATS = ("plain", "dictionary", "byte_stream_split", "plain")
BYTES = ("plain", "dictionary", "delta_length_byte_array", "delta_byte_array")
FIXED = ("plain", "dictionary", "plain", "dictionary")
BOOLS = ("plain", "rle", "plain", "rle")
IN_FILE = {"plain": "PLAIN", "dictionary": "RLE_DICTIONARY", "delta_binary_packed": "DELTA_BINARY_PACKED",
           "byte_stream_split": "BYTE_STREAM_SPLIT", "delta_length_byte_array": "DELTA_LENGTH_BYTE_ARRAY",
           "delta_byte_array": "DELTA_BYTE_ARRAY", "rle": "RLE"}
BY_PHYSICAL = {"INT32": INTS, "INT64": INTS, "FLOAT": FLOATS, "DOUBLE": FLOATS, "BYTE_ARRAY": BYTES,
               "FIXED_LEN_BYTE_ARRAY": FIXED, "BOOLEAN": BOOLS}


def check(path, table, peers=("pyarrow", "duckdb", "polars"), refuse=()):
    twin = path[:-8] + ".arrow"
    with pa.OSFile(twin, "wb") as f, pa.ipc.new_file(f, table.schema) as w:
        w.write_table(table)
    parquet_check.check(path, argparse.Namespace(twin=twin, no_twin=False, peers=list(peers), may_refuse=list(refuse)), [])
    os.remove(twin)


def more_scalars(n, share, seed):
    rng = np.random.default_rng(seed)
    null = lambda v: None if rng.random() < share else v
    money = [decimal.Decimal(int(x)).scaleb(-2) for x in rng.integers(-10**6, 10**6, n)]
    return {
        "dec32": pa.array([null(x) for x in money], pa.decimal32(9, 2)),
        "dec64": pa.array([null(x) for x in money], pa.decimal64(18, 2)),
        "dec18": pa.array([null(x) for x in money], pa.decimal128(18, 2)),
        "dec19": pa.array([null(x) for x in money], pa.decimal128(19, 2)),
        "dec256": pa.array([null(x) for x in money], pa.decimal256(30, 2)),
        "view": pa.array([null("word %d" % (x % 40)) for x in range(n)], pa.string_view()),
        "json": pa.array([null('{"a": %d}' % (x % 9)) for x in range(n)], pa.json_()),
        "same": pa.array([null("the same") for _ in range(n)]),
    }


@pytest.fixture(scope="module")
def tables():
    flat = {**scalars(ROWS, 0.2, 1), **more_scalars(ROWS, 0.2, 2)}
    required = {**scalars(ROWS, 0, 3), **more_scalars(ROWS, 0, 4)}
    for name in ("none", "dictnull"):
        del required[name]
    deep = {**lists(ROWS, 0.2, 5), **nested(ROWS, 0.2, 6)}
    return {"nullable": table_of(flat), "required": table_of(required, required=set(required)), "nested": table_of(deep)}


def leaves(path):
    """Parquet path (as the writer's options name it) and physical type of every leaf."""
    s = pq.ParquetFile(path).schema
    return [(s.column(i).path, s.column(i).physical_type) for i in range(len(s))]


@pytest.mark.parametrize("version", (1, 2))
@pytest.mark.parametrize("codec", CODECS)
def test_written__every_encoding__peers_and_we_read_the_same(tables, tmp_path, codec, version):
    for shape, table in tables.items():
        path = str(tmp_path / f"{shape}.parquet")
        grebe.write(path, table)
        columns = leaves(path)
        for k in range(4):
            encodings = {name: BY_PHYSICAL[physical][k] for name, physical in columns}
            grebe.write(path, table, compression=codec, data_page_version=version, encodings=encodings, row_group_rows=128,
                        page_rows=50)
            check(path, table)
            file = pq.ParquetFile(path)
            for g in range(file.metadata.num_row_groups):
                for i in range(file.metadata.num_columns):
                    c = file.metadata.row_group(g).column(i)
                    want = IN_FILE[encodings[c.path_in_schema]]
                    n_null = c.statistics.null_count if c.statistics else 0
                    assert want in c.encodings or n_null == c.num_values, (c.path_in_schema, c.encodings, want)
            ours = grebe.read(path).to_pyarrow()
            for name in table.column_names:
                want = table.schema.field(name).type
                want = want.value_type if pa.types.is_dictionary(want) else want
                assert ours.schema.field(name).type.equals(want), (name, ours.schema.field(name).type, want)
                assert str(ours.column(name).to_pylist()) == str(table.column(name).to_pylist()), name


def test_written__type_in_file__what_duckdb_and_pyarrow_see(tmp_path):
    import duckdb
    path = str(tmp_path / "types.parquet")
    one = lambda t, v=1: pa.array([v, None], t)
    day = datetime.date(2026, 11, 30)
    cases = {  # name: (array, DuckDB's type, physical, converted type or None)
        "u8": (one(pa.uint8()), "UTINYINT", "INT32", "UINT_8"), "u16": (one(pa.uint16()), "USMALLINT", "INT32", "UINT_16"),
        "u32": (one(pa.uint32()), "UINTEGER", "INT32", "UINT_32"), "u64": (one(pa.uint64()), "UBIGINT", "INT64", "UINT_64"),
        "i8": (one(pa.int8()), "TINYINT", "INT32", "INT_8"), "i16": (one(pa.int16()), "SMALLINT", "INT32", "INT_16"),
        "i32": (one(pa.int32()), "INTEGER", "INT32", "NONE"), "i64": (one(pa.int64()), "BIGINT", "INT64", "NONE"),
        "d9": (one(pa.decimal128(9, 2), decimal.Decimal("1.5")), "DECIMAL(9,2)", "INT32", "DECIMAL"),
        "d18": (one(pa.decimal128(18, 2), decimal.Decimal("1.5")), "DECIMAL(18,2)", "INT64", "DECIMAL"),
        "d38": (one(pa.decimal128(38, 2), decimal.Decimal("1.5")), "DECIMAL(38,2)", "FIXED_LEN_BYTE_ARRAY", "DECIMAL"),
        "date": (one(pa.date32(), day), "DATE", "INT32", "DATE"), "date64": (one(pa.date64(), day), "DATE", "INT32", "DATE"),
        "tms": (one(pa.time32("ms")), "TIME", "INT32", "NONE"), "tus": (one(pa.time64("us")), "TIME", "INT64", "NONE"),
        "tns": (one(pa.time64("ns")), "TIME_NS", "INT64", "NONE"),
        "ts": (one(pa.timestamp("us")), "TIMESTAMP", "INT64", "TIMESTAMP_MICROS"),
        "tsz": (one(pa.timestamp("us", "UTC")), "TIMESTAMP WITH TIME ZONE", "INT64", "TIMESTAMP_MICROS"),
        "tsn": (one(pa.timestamp("ns")), "TIMESTAMP_NS", "INT64", "NONE"),
        "uuid": (pa.array([uuid.UUID(int=7).bytes, None], pa.uuid()), "UUID", "FIXED_LEN_BYTE_ARRAY", "NONE"),
        "f16": (one(pa.float16(), 1.5), "FLOAT", "FIXED_LEN_BYTE_ARRAY", "NONE"), "text": (one(pa.string(), "x"), "VARCHAR", "BYTE_ARRAY", "UTF8"),
        "blob": (one(pa.binary(), b"x"), "BLOB", "BYTE_ARRAY", "NONE"), "json": (pa.array(["1", None], pa.json_()), "JSON", "BYTE_ARRAY", "JSON"),
        "bool": (one(pa.bool_(), True), "BOOLEAN", "BOOLEAN", "NONE"), "dur": (one(pa.duration("us")), "BIGINT", "INT64", "NONE"),
    }
    table = pa.table({k: v[0] for k, v in cases.items()})
    grebe.write(path, table)
    seen = {r[0]: r[1] for r in duckdb.sql(f"describe select * from '{path}'").fetchall()}
    schema = pq.ParquetFile(path).schema
    raw = [CONVERTED[e[6]] if 6 in e else "NONE" for e in footer_of(path)[2][1:]]      # pyarrow shows its own opinion
    for i, (name, (array, duck, physical, converted)) in enumerate(cases.items()):
        c = schema.column(i)
        assert (seen[name], c.physical_type, raw[i]) == (duck, physical, converted), name
    same = [n for n in table.column_names if n != "date64"]       # pyarrow reads it as date32
    back = pq.read_table(path, columns=same)
    assert back.equals(table.select(same)) and back.schema.equals(table.select(same).schema)


def test_written__types_that_files_do_not_keep__values(tmp_path):
    """Runs become values and list views lists; Polars reads both, which it cannot with their Arrow schema."""
    import polars
    path = str(tmp_path / "t.parquet")
    ends = pa.array([2, 5, 6], pa.int32())
    runs = pa.RunEndEncodedArray.from_arrays(ends, pa.array(["a", None, "b"]))
    table = pa.table({"r": runs, "v": pa.array([[1, 2], None, [], [3], [4], [5]], pa.list_view(pa.int16())),
                      "lv": pa.array([[1], [2], None, [], [4], [5]], pa.large_list_view(pa.int8())),
                      "st": pa.StructArray.from_arrays([runs, pa.array(range(6))], ["r", "i"])})
    for batch in (None, 1, 4):
        grebe.write(path, pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=batch)))
        want = {"r": ["a", "a", None, None, None, "b"], "v": table["v"].to_pylist(), "lv": table["lv"].to_pylist(),
                "st": [{"r": r, "i": i} for i, r in enumerate(["a", "a", None, None, None, "b"])]}
        for read in (pq.read_table, lambda p: polars.read_parquet(p).to_arrow(), lambda p: grebe.read(p).to_pyarrow()):
            assert read(path).to_pydict() == want
    assert pq.read_schema(path).field("v").type == pa.list_(pa.int16())
    for array in (pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]), pa.array([None], pa.month_day_nano_interval())):
        with pytest.raises(grebe.Unsupported, match='column "u"'):
            grebe.write(path, pa.table({"u": array}))


def test_written__edges__peers_and_we_read_the_same(tmp_path):
    path = str(tmp_path / "edge.parquet")
    row = {**scalars(1, 0, 1), **more_scalars(1, 0, 1)}
    full = {**scalars(70, 0.3, 2), **lists(70, 0.3, 2), **nested(70, 0.3, 2)}
    cases = [table_of({k: v.slice(0, 0) for k, v in full.items()}), table_of(row), table_of(full).slice(0, 1),
             table_of({k: pa.nulls(70, v.type) for k, v in full.items()}),
             pa.table({"e": ["", "", None, ""], "l": pa.array([[], [], None, []], pa.list_(pa.string())), "b": [b"", None, b"", b""]})]
    for table in cases:
        for options in ({}, {"data_page_version": 2}, {"compression": "zstd"}, {"compression": "snappy", "data_page_version": 2},
                        {"page_rows": 1}):
            grebe.write(path, table, **options)
            check(path, table)
            assert grebe.read(path).to_pyarrow().num_rows == table.num_rows
    grebe.write(path, pa.table({"a": [1]}).select([]))
    assert pq.read_table(path).num_columns == 0


@pytest.mark.skipif(not os.environ.get("GREBE_TEST_NIGHTLY"), reason="2 GiB of text, minutes: GREBE_TEST_NIGHTLY=1")
@pytest.mark.parametrize("writer", ("ours", "pyarrow"))
def test_written__strings_beyond_2_gib__read_in_parts(tmp_path, writer):
    path, n = str(tmp_path / "large.parquet"), 2100
    text = np.random.default_rng(5).integers(97, 123, 1 << 20, dtype="u1").tobytes().decode()
    value = lambda i: f"{i:08d}" + text
    table = pa.table({"s": pa.chunked_array([pa.array([value(i) for i in range(b, b + 50)], pa.large_string()) for b in range(0, n, 50)])})
    if writer == "ours":
        grebe.write(path, table, row_group_bytes=8 << 30, compression="none")
    else:   # one chunk, which 32-bit offsets cannot address
        pq.write_table(table, path, row_group_size=n, compression="none", use_dictionary=False, write_statistics=False)
    assert sum(pq.ParquetFile(path).metadata.row_group(g).num_rows for g in range(pq.ParquetFile(path).num_row_groups)) == n
    at = 0
    for batch in pa.RecordBatchReader.from_stream(grebe.read(path)):
        for k in {0, 1, len(batch) // 2, len(batch) - 1} & set(range(len(batch))):
            assert batch.column(0)[k].as_py() == value(at + k)
        at += len(batch)
    assert at == n
    assert pa.table(grebe.read(path, rows=(2040, 2060)))["s"].to_pylist() == [value(i) for i in range(2040, 2060)]


@pytest.mark.skipif(not os.environ.get("GREBE_TEST_NIGHTLY"), reason="2.6 GiB in memory: GREBE_TEST_NIGHTLY=1")
def test_written__dictionary_that_stands_for_more_than_2_gib__cut(tmp_path):
    """One chunk whose few stored bytes stand for more than 32-bit offsets address; no schema says large_string."""
    path, n = str(tmp_path / "dictionary.parquet"), 3000
    words = ["%07d" % i * (1 << 17) for i in range(7)]
    column = pa.DictionaryArray.from_arrays(pa.array([i % 7 for i in range(n)], pa.int32()), words)
    pq.write_table(pa.table({"id": range(n), "s": column}), path, row_group_size=n, store_schema=False)
    for where, expected in ((None, range(n)), ("id >= 5", range(5, n))):
        got = []
        for batch in pa.RecordBatchReader.from_stream(grebe.read(path, where=where)):
            got += batch["id"].to_pylist()
            assert batch["s"][0].as_py() == words[batch["id"][0].as_py() % 7]
        assert got == list(expected)


@pytest.mark.parametrize("seed", range(24))
def test_statistics__random_values__true_by_brute_force(tmp_path, seed):
    """parquet_check decodes every value: no bound of a chunk or page excludes one, null and NaN counts are exact,
    exact flags are honest, legacy fields only where the order is signed."""
    rng, r = np.random.default_rng(seed), random.Random(seed)
    n = r.choice((1, 60, 400))
    pieces = ["", "a", "\x00", "\x7f", "é", "\u07ff", "\uffff", "\U0010ffff", "x" * 63, "ÿ" * 40, "\U0010ffff" * 20, "ab" * 50]
    text = ["".join(r.choice(pieces) for _ in range(r.randrange(4))) for _ in range(n)]
    raw = [bytes(r.choice((0, 1, 127, 128, 255)) for _ in range(r.choice((0, 1, 3, 64, 65, 90)))) for _ in range(n)]
    special = [0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1e-300, -5.5]
    floats = r.sample(special, r.randrange(1, 5))
    null = lambda v: None if r.random() < r.choice((0, 0.1)) else v
    f = lambda: [null(r.choice(floats)) for _ in range(n)]
    ends = lambda t: [null(r.choice((np.iinfo(t).min, np.iinfo(t).max, 0, 1))) for _ in range(n)]
    money = [null(decimal.Decimal(r.randrange(-10**17, 10**17)).scaleb(-2)) for _ in range(n)]
    table = pa.table({
        "text": [null(x) for x in text], "raw": pa.array([null(x) for x in raw], pa.binary()),
        "f64": pa.array(f(), pa.float64()), "f32": pa.array([x if x is None or abs(x) > 1e-30 or x == 0 else 0.5 for x in f()], pa.float32()),
        "f16": pa.array([None if x is None else np.float16(x) for x in f()], pa.float16()),
        "i8": pa.array(ends("int8"), pa.int8()), "u8": pa.array(ends("uint8"), pa.uint8()), "i64": pa.array(ends("int64"), pa.int64()),
        "u32": pa.array(ends("uint32"), pa.uint32()), "u64": pa.array(ends("uint64"), pa.uint64()),
        "d18": pa.array(money, pa.decimal128(18, 2)), "d30": pa.array(money, pa.decimal128(30, 2)),
        "up": pa.array(np.sort(rng.integers(-99, 99, n))), "down": pa.array(np.sort(rng.integers(-99, 99, n))[::-1].copy()),
        "b": pa.array([null(r.random() < r.choice((0, 0.5))) for _ in range(n)]),
        "fsb": pa.array([null(bytes([r.randrange(256)] * 3)) for _ in range(n)], pa.binary(3)),
        "l": pa.array([[null(x)] * r.randrange(3) for x in text], pa.list_(pa.string()))})
    path = str(tmp_path / "s.parquet")
    for options in ({}, {"encodings": "plain"}, {"encodings": "dictionary", "data_page_version": 2}):
        grebe.write(path, table, row_group_rows=r.choice((64, 128, 1000)), page_rows=r.choice((7, 50, 1000)), **options)
        check(path, table, peers=("pyarrow",))
        m = pq.read_metadata(path)
        for g in range(m.num_row_groups):
            zero = m.row_group(g).column(table.column_names.index("f64")).statistics
            if zero.has_min_max and zero.min == 0:
                assert np.signbit(zero.min)
            if zero.has_min_max and zero.max == 0:
                assert not np.signbit(zero.max)
    footer = footer_of(path)
    for c in footer[4][0][1]:
        name, stats = c[3][3][0].decode(), c[3][12]
        assert (2 in stats) <= (name in ("f64", "f32", "i8", "i64", "d18", "up", "down", "b")), name


def footer_of(path):
    data = open(path, "rb").read()
    n = int.from_bytes(data[-8:-4], "little")
    return parquet_check.Thrift(data, len(data) - 8 - n).struct()


def test_metadata__sizes__the_bytes_that_are_there(tables, tmp_path):
    path = str(tmp_path / "sizes.parquet")
    for shape, table in tables.items():
        for options in ({}, {"data_page_version": 2, "compression": "zstd"}, {"bloom": [c for c in table.column_names[3:9]]}):
            grebe.write(path, table, row_group_rows=100, page_rows=30, **options)
            data = memoryview(open(path, "rb").read())
            at, footer = 4, footer_of(path)
            for g in footer[4]:
                total = packed = 0
                first = None
                for c in g[1]:
                    m = c[3]
                    start = m.get(11) or m[9]
                    first = start if first is None else first
                    assert 0 <= start - at < 64 and not any(data[at:start]), "only alignment between chunks"
                    pages = parquet_check.pages(data, start, start + m[7], m[3])
                    assert sum(p["size"] for p in pages) == m[7]
                    head = [p["size"] - p["h"][3] for p in pages]
                    assert sum(p["h"][2] + h for p, h in zip(pages, head)) == m[6], m[3]
                    total, packed, at = total + m[6], packed + m[7], start + m[7]
                assert (g[2], g[6], g[5]) == (total, packed, first)
            blooms = [c[3][14] for g in footer[4] for c in g[1] if 14 in c[3]]
            assert all(b >= at for b in blooms) and bool(blooms) == ("bloom" in options)
            assert min([c[4] for g in footer[4] for c in g[1]]) > max(blooms, default=0)


def test_row_groups__whole_files_and_tables__near_their_target(tmp_path):
    n = 40000
    table = pa.table({"id": np.arange(n), "v": pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(n * 128, "f4")), 128)})
    path = str(tmp_path / "g.parquet")
    grebe.write(path, table)
    whole = [pq.read_metadata(path).row_group(i).num_rows for i in range(pq.read_metadata(path).num_row_groups)]
    grebe.create(str(tmp_path / "t"), table)
    files = [os.path.join(d, f) for d, _, fs in os.walk(tmp_path / "t") for f in fs if f.endswith(".parquet")]
    groups = [[pq.read_metadata(f).row_group(i).num_rows for i in range(pq.read_metadata(f).num_row_groups)] for f in files]
    for sizes, width, target in [(whole, 520, 8 << 20)] + [(g, 512, 1 << 20) for g in groups if len(g) > 1]:
        assert len(sizes) > 1 and len(set(sizes[:-1])) == 1 and sizes[0] % 64 == 0
        assert target - 64 * width < sizes[0] * width <= target
    assert pq.read_metadata(path).row_group(0).column(1).total_compressed_size > 8 << 20 - 1


def test_bytes__threads_and_batches__always_the_same(tables, tmp_path):
    wide = table_of({**scalars(3000, 0.1, 11), **lists(3000, 0.1, 11), **nested(3000, 0.1, 11)})
    long = pa.table({"t": ["x" * (i % 97 * (1 + i // 500)) for i in range(4000)], "i": range(4000)})
    path = str(tmp_path / "d.parquet")
    for table, options in ((wide, {}), (wide, {"row_group_rows": 256, "page_rows": 99}), (long, {"row_group_bytes": 16384}),
                           (wide, {"bloom": ["id", "word"], "data_page_version": 2, "compression": "zstd"})):
        want = None
        for threads in (1, 2, 8):
            grebe.set_threads(threads)
            for cut in (None, 1, 63, 64, 65, 1000, 7):
                if cut == 1 and table is wide and threads > 1:
                    continue
                batches = table.to_batches(max_chunksize=cut)
                grebe.write(path, pa.RecordBatchReader.from_batches(table.schema, batches), **options)
                got = open(path, "rb").read()
                want = want or got
                assert got == want, (threads, cut, options)
    grebe.set_threads(None)


def test_bloom__false_positives__near_what_was_asked(tmp_path):
    pytest.importorskip("xxhash")
    n = 100000
    rng = np.random.default_rng(3)
    values = rng.permutation(4 * n)[:2 * n]
    inside, outside = values[:n].astype("int64"), values[n:].astype("int64")
    words = [f"key {i}" for i in inside]
    path = str(tmp_path / "b.parquet")
    few = pa.array(inside % 100)
    table = pa.table({"i": inside, "w": words, "few": few, "plain": inside})
    for rate in (0.01, 0.1):
        grebe.write(path, table, bloom=["i", "w", "few"], bloom_rate=rate)
        data = memoryview(open(path, "rb").read())
        footer = footer_of(path)
        misses = {"i": [], "w": []}
        for g in footer[4]:
            for c in g[1]:
                name = c[3][3][0].decode()
                assert (14 in c[3]) == (name != "plain")
                if 14 not in c[3]:
                    continue
                t = parquet_check.Thrift(data, c[3][14])
                size = t.struct()[1]
                bits = data[t.p:t.p + size]
                assert c[3][15] == t.p + size - c[3][14] and 32 <= size <= 1 << 20 and size & (size - 1) == 0
                if name == "few":
                    assert size <= 256, "sized by 100 distinct values"
                    continue
                raw = [int(x).to_bytes(8, "little") if name == "i" else f"key {x}".encode() for x in outside[:4000]]
                hits = [parquet_check.in_bloom(bits, parquet_check.xxh64(x)) for x in raw]
                misses[name].append(sum(hits) / len(hits))
        for name, shares in misses.items():
            assert max(shares) <= 1.5 * rate, (name, shares)
    grebe.write(path, table)
    assert all(14 not in c[3] for g in footer_of(path)[4] for c in g[1])


def test_bloom__every_type__the_checker_finds_each_value(tables, tmp_path):
    path = str(tmp_path / "b.parquet")
    for shape in ("nullable", "required"):
        table = tables[shape]
        names = [n for n in table.column_names if table.schema.field(n).type != pa.bool_()]
        for options in ({}, {"encodings": "plain"}):
            grebe.write(path, table, bloom=names, row_group_rows=128, **options)
            check(path, table)


def test_options__parts_left_out__are_not_there(tables, tmp_path):
    path = str(tmp_path / "o.parquet")
    table = tables["nullable"]
    grebe.write(path, table, statistics=False, page_index=False, checksums=False, data_page_version=2)
    check(path, table)
    footer = footer_of(path)
    for c in footer[4][0][1]:
        assert 12 not in c[3] and 4 not in c and 6 not in c
    data = memoryview(open(path, "rb").read())
    m = footer[4][0][1][0][3]
    page = parquet_check.pages(data, m.get(11) or m[9], (m.get(11) or m[9]) + m[7], "")[0]
    assert 4 not in page["h"]
    grebe.write(path, table, page_rows=10)
    assert len(footer_of(path)[4][0][1]) == len(table.column_names)
    m = footer_of(path)[4][0][1][table.column_names.index("id")]
    assert len(parquet_check.Thrift(open(path, "rb").read(), m[4]).struct()[1]) == ROWS // 10


def test_options__wrong_pairings__name_column_type_and_encoding(tables, tmp_path):
    path = str(tmp_path / "w.parquet")
    table = pa.table({"s": ["a"], "i": [1], "f": [1.5], "b": [True], "x": pa.array([b"abc"], pa.binary(3)),
                      "d": pa.array([decimal.Decimal(1)], pa.decimal128(30, 0)), "st": [{"n": 1, "t": "x"}]})
    for column, encoding, physical in (("s", "delta_binary_packed", "BYTE_ARRAY"), ("s", "byte_stream_split", "BYTE_ARRAY"),
                                       ("i", "delta_byte_array", "INT64"), ("f", "delta_binary_packed", "DOUBLE"), ("f", "rle", "DOUBLE"),
                                       ("b", "dictionary", "BOOLEAN"), ("x", "byte_stream_split", "FIXED_LEN_BYTE_ARRAY"),
                                       ("x", "delta_byte_array", "FIXED_LEN_BYTE_ARRAY"), ("d", "byte_stream_split", "FIXED_LEN_BYTE_ARRAY"),
                                       ("st", "delta_binary_packed", "BYTE_ARRAY"), ("st.t", "delta_binary_packed", "BYTE_ARRAY")):
        with pytest.raises(grebe.InvalidArgument) as e:
            grebe.write(path, table, encodings={column: encoding})
        assert all(x in str(e.value) for x in (column.split(".")[0], encoding.upper(), physical)), e.value
        assert not os.path.exists(path)
    grebe.write(path, table, encodings={"st.n": "delta_binary_packed", "i": "byte_stream_split"})
    assert pq.read_table(path).to_pylist() == table.to_pylist()
    for options, error in (({"encodings": {"no": "plain"}}, grebe.InvalidArgument), ({"encodings": {"i": "fast"}}, grebe.InvalidArgument),
                           ({"bloom": ["no"]}, grebe.InvalidArgument), ({"bloom": ["b"]}, grebe.InvalidArgument),
                           ({"bloom_rate": 1.0}, ValueError), ({"data_page_version": 3}, ValueError), ({"page_rows": 0}, ValueError),
                           ({"page_bytes": 2 << 30}, grebe.InvalidArgument), ({"compression": "snappy", "compression_level": 1}, grebe.InvalidArgument),
                           ({"compression": "lz4", "compression_level": 13}, grebe.InvalidArgument), ({"encodings": 5}, (TypeError, AttributeError)),
                           ({"profile": "milvus", "bloom": ["i"]}, grebe.InvalidArgument), ({"profile": "milvus", "data_page_version": 2}, grebe.InvalidArgument),
                           ({"compression": "zstd", "compression_level": 99}, grebe.InvalidArgument), ({"compression": "none", "compression_level": 3}, None), ({"bloom": "i"}, TypeError)):
        text = pa.table({**{n: table[n] for n in table.column_names}, "text": ["words and words " * 99]})
        if error is None:
            grebe.write(path, text, **options)
            continue
        with pytest.raises(error):
            grebe.write(str(tmp_path / "w2.parquet"), text, **options)
        assert not os.path.exists(tmp_path / "w2.parquet")


def test_options__tables__each_file_takes_its_columns(tmp_path):
    n = 3000
    data = pa.table({"id": np.arange(n), "w": [f"w{i}" for i in range(n)],
                     "v": pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(n * 4, "f4")), 4)})
    grebe.create(str(tmp_path / "t"), data, groups=[["id"], ["w"], ["v"]], bloom=["w"], encodings={"id": "plain"}, data_page_version=2)
    seen = {}
    for d, _, files in os.walk(tmp_path / "t"):
        for f in files:
            if f.endswith(".parquet"):
                for c in footer_of(os.path.join(d, f))[4][0][1]:
                    seen[c[3][3][0].decode()] = (14 in c[3], [s[:3] if isinstance(s, list) else (s[1], s[2]) for s in c[3][13]])
    assert seen["w"][0] and not seen["id"][0] and seen["id"][1] == [(3, 0)], seen
    assert grebe.open(str(tmp_path / "t")).scan().to_pyarrow().equals(data)
    with pytest.raises(grebe.InvalidArgument, match='no column "nope"'):
        grebe.create(str(tmp_path / "u"), data, bloom=["nope"])


@pytest.mark.parametrize("dim", (2, 16, 50, 768))
def test_vectors__every_page__values_on_a_multiple_of_64(tmp_path, dim):
    n = 6000 if dim < 200 else 1500
    rng = np.random.default_rng(dim)
    flat = rng.random(n * dim).astype("f4")
    v = pa.FixedSizeListArray.from_arrays(pa.array(flat), dim)
    blob = pa.array([flat[i * dim:(i + 1) * dim].tobytes() for i in range(n)], pa.binary(4 * dim))
    table = pa.table({"id": np.arange(n), "v": v, "blob": blob})
    path = str(tmp_path / "v.parquet")
    for options in ({}, {"data_page_version": 2}, {"row_group_rows": 700}, {"row_group_rows": 700, "data_page_version": 2, "checksums": False},
                    {"row_group_bytes": 100 << 20}):
        grebe.write(path, table, **options)
        data, seen = memoryview(open(path, "rb").read()), 0
        for g in footer_of(path)[4]:
            for c in g[1][1:]:
                m = c[3]
                assert m[4] == 0 and 11 not in m and m[12].get(3) == 0 and 5 not in m[12] and [s[2] for s in m[13]] == [0]
                for p in parquet_check.pages(data, m[9], m[9] + m[7], "v"):
                    values = (p["h"].get(5) or p["h"].get(8))[1] * (4 if len(m[3]) > 1 else 4 * dim)
                    end = p["at"] + p["size"]
                    assert (end - values) % 64 == 0
                    seen += values
        assert seen == 2 * n * dim * 4
        check(path, table)
    # in a table's files: pages of 1 MiB, several in a group that is larger
    grebe.create(str(tmp_path / "t"), table, groups=[["id"], ["v"], ["blob"]], row_group_bytes=32 << 20)
    for d, _, files in os.walk(tmp_path / "t"):
        for f in files:
            if f.endswith(".parquet"):
                data = memoryview(open(os.path.join(d, f), "rb").read())
                m = footer_of(os.path.join(d, f))[4][0][1][0][3]
                pages = parquet_check.pages(data, m[9], m[9] + m[7], "v")
                if m[3] != [b"id"]:
                    w = 4 if len(m[3]) > 1 else 4 * dim
                    assert len(pages) == -(-n // ((1 << 20) // (4 * dim))), m[3]
                    assert all((p["at"] + p["size"] - p["h"][5][1] * w) % 64 == 0 for p in pages)


def test_take__every_layout__rows_by_number(tmp_path):
    """Rows are found in files of either page version, with and without page index, nulls, several pages and groups."""
    n, rng = 5000, np.random.default_rng(4)
    v = pa.FixedSizeListArray.from_arrays(pa.array(rng.random(n * 24).astype("f4")), 24)
    some = pa.array([None if x % 9 == 0 else row for x, row in enumerate(v.to_pylist())], v.type)
    data = pa.table({"id": np.arange(n), "v": v, "some": some, "w": [None if i % 5 == 0 else f"w{i % 300}" for i in range(n)],
                     "money": pa.array([decimal.Decimal(i * i).scaleb(-2) for i in range(n)], pa.decimal128(18, 2)),
                     "b": pa.array([bytes([i % 256]) * 7 for i in range(n)], pa.binary(7)), "l": [[i] * (i % 4) for i in range(n)]})
    rows = rng.integers(0, n, 400)
    want = data.take(pa.array(rows))
    for k, options in enumerate(({}, {"data_page_version": 2}, {"data_page_version": 2, "page_rows": 64, "compression": "zstd"},
                                 {"page_index": False, "statistics": False, "checksums": False}, {"encodings": "dictionary", "data_page_version": 2},
                                 {"encodings": "byte_stream_split", "row_group_rows": 640}, {"row_group_bytes": 64 << 10, "page_bytes": 4096})):
        table = grebe.create(str(tmp_path / f"t{k}"), data, **options)
        got = table.take(rows).to_pyarrow()
        assert pa.table(got).to_pydict() == want.to_pydict(), options
        assert pa.table(table.take([4999, 0, 0], columns=["v", "money"]).to_pyarrow()).to_pydict() == \
            data.select(["v", "money"]).take(pa.array([4999, 0, 0])).to_pydict()


KILLED = """
import sys, numpy as np, pyarrow as pa, grebe
k = int(sys.argv[2])
t = pa.table({"i": np.arange(200000) * k, "s": [f"{k} {i}" for i in range(200000)]})
print("ready", flush=True)
while True:
    grebe.write(sys.argv[1], t)
    print("done", flush=True)
"""


def test_killed_while_writing__final_name__old_file_or_new(tmp_path):
    path = tmp_path / "k.parquet"
    rng = random.Random(8)
    for k in range(1, 8):
        before = pq.read_table(path) if path.exists() else None
        p = subprocess.Popen([sys.executable, "-c", KILLED, str(path), str(k)], stdout=subprocess.PIPE)
        assert p.stdout.readline() == b"ready\n"
        time.sleep(rng.random() * 0.12)
        p.kill()
        p.wait()
        p.stdout.close()
        if path.exists():
            now = pq.read_table(path)
            assert now.num_rows == 200000 and now["s"][1].as_py().split()[0] in (str(k), before and before["s"][1].as_py().split()[0])
        else:
            assert before is None
