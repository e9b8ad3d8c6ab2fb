# SPDX-License-Identifier: Apache-2.0
"""Predicates on files with statistics, page indexes and bloom filters of several writers: the rows that pyarrow's compute finds."""
import pathlib
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
from harness import assert_same  # noqa: E402

import grebe  # noqa: E402

ROWS = 20_000
f = pc.field


def table():
    rng = np.random.default_rng(5)
    n = ROWS
    nulls = lambda share: rng.random(n) < share  # noqa: E731
    return pa.table({
        "sorted": np.arange(n, dtype=np.int64) * 3,
        "small": pa.array(rng.integers(-100, 100, n).astype(np.int8), mask=nulls(0.1)),
        "unsigned": pa.array(rng.integers(0, 2**32, n, dtype=np.uint32)),
        "real": pa.array(np.where(nulls(0.05), np.nan, rng.choice([0.0, -0.0, 1.5, -2.25, 1e9], n)), mask=nulls(0.05)),
        "single": pa.array(rng.standard_normal(n).astype(np.float32)),
        "key": pa.array([f"key-{i:05d}" for i in rng.permutation(n)], mask=nulls(0.02)),
        "blocks": pa.array([None if i // 2000 % 2 else i // 1000 for i in range(n)], pa.int32()),
        "day": pa.array(np.arange(n, dtype="i4") // 50, pa.date32()),
        "at": pa.array(np.arange(n, dtype=np.int64) * 1_000_003, pa.timestamp("us", tz="UTC")),
        "raw": pa.array([bytes([i % 251, i % 7]) for i in range(n)], pa.binary()),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(n * 8, dtype=np.float32)), 8)})


def all_of_them(rng):
    """Predicates of the language with what they mean."""
    a = int(rng.integers(0, 3 * ROWS))
    b = a + int(rng.integers(1, 3000))
    key = f"key-{int(rng.integers(0, 2 * ROWS)):05d}"
    u = int(rng.integers(0, 2**32))
    day = np.datetime64("1970-01-01") + int(rng.integers(0, 500))
    yield f"sorted >= {a} and sorted < {b}", (f("sorted") >= a) & (f("sorted") < b)
    yield f"sorted = {a}", f("sorted") == a
    yield f"sorted in ({a}, {b}, {a // 3 * 3})", f("sorted").isin([a, b, a // 3 * 3])
    yield f"sorted < {b} and small > 90", (f("sorted") < b) & (f("small") > 90)
    yield f"sorted between {a} and {b} or key = '{key}'", ((f("sorted") >= a) & (f("sorted") <= b)) | (f("key") == key)
    yield f"key = '{key}'", f("key") == key
    yield f"key in ('{key}', 'nothing')", f("key").isin([key, "nothing"])
    yield f"key > '{key}' and key < '{key}9'", (f("key") > key) & (f("key") < key + "9")
    yield "real = 0.0", f("real") == 0.0
    yield "real = -0.0 and small < 0", (f("real") == 0.0) & (f("small") < 0)
    yield "real > 1.5", f("real") > 1.5
    yield "small is null", f("small").is_null()
    yield "small = -128 or small = 99", (f("small") == -128) | (f("small") == 99)
    yield f"unsigned = {u}", f("unsigned") == pa.scalar(u, pa.uint32())
    yield f"unsigned >= {u}", f("unsigned") >= pa.scalar(u, pa.uint32())
    yield "blocks is null", f("blocks").is_null()
    yield "blocks is not null and blocks > 15", f("blocks") > 15
    yield "blocks = 4", f("blocks") == 4
    yield f"day = date '{day}'", f("day") == pa.scalar(day.astype("i4"), pa.int32()).cast(pa.date32())
    yield "single > 3", f("single") > 3
    yield "sorted % 1000 = 0", None
    yield "not (sorted >= 300)", f("sorted") < 300


PA = {"write_page_index": True, "max_rows_per_page": 700, "row_group_size": 7000}
HEADERS = {"max_rows_per_page": 700, "row_group_size": 7000}  # no index: statistics of pages are in their headers
WRITERS = {
    "pyarrow_index": lambda t, p: pq.write_table(t, p, **PA),
    "pyarrow_index_v2": lambda t, p: pq.write_table(t, p, data_page_version="2.0", compression="zstd", **PA),
    "pyarrow_bloom": lambda t, p: pq.write_table(
        t, p, bloom_filter_options={c: {"ndv": 7000, "fpp": 0.01} for c in ("sorted", "small", "unsigned", "real", "single", "key", "day", "raw")}, **PA),
    "pyarrow_plain": lambda t, p: pq.write_table(t, p, use_dictionary=False, compression="none", **PA),
    "pyarrow_headers": lambda t, p: pq.write_table(t, p, **HEADERS),
    "pyarrow_headers_v2": lambda t, p: pq.write_table(t, p, data_page_version="2.0", compression="zstd", **HEADERS),
    "pyarrow_headers_plain": lambda t, p: pq.write_table(t, p, use_dictionary=False, compression="none", **HEADERS),
    "grebe": lambda t, p: grebe.write(p, t, durable=False),
    "grebe_small": lambda t, p: grebe.write(p, t, durable=False, row_group_rows=1500),
}


@pytest.fixture(scope="module")
def rows():
    return table()


@pytest.mark.parametrize("writer", sorted(WRITERS))
def test_rows_are_those_of_pyarrow(writer, rows, tmp_path):
    path = tmp_path / "f.parquet"
    WRITERS[writer](rows, path)
    rng = np.random.default_rng(len(writer))
    columns = ["vector", "key", "sorted", "real"]
    for _ in range(4):
        for where, meaning in all_of_them(rng):
            if meaning is None:
                meaning = pc.equal(pc.subtract(rows["sorted"], pc.multiply(pc.divide(rows["sorted"], 1000), 1000)), 0)
            want = rows.filter(meaning)
            assert_same(pa.table(grebe.read(path, where=where, columns=columns)), want.select(columns))
            few = grebe.read(path, where=where, columns=["key"], limit=3, batch_rows=2, with_row_id=True)
            few = pa.table(few)
            assert few["key"].to_pylist() == want["key"].to_pylist()[:3], where


@pytest.mark.parametrize("writer", ["pyarrow_index", "pyarrow_index_v2", "pyarrow_bloom", "pyarrow_headers", "pyarrow_headers_v2",
                                    "pyarrow_headers_plain"])
def test_pages_are_left_out(writer, rows, tmp_path):
    """The plan of a narrow range has a page or two, not a row group."""
    from harness import run
    path = tmp_path / "f.parquet"
    WRITERS[writer](rows, path)
    ran = run("explain", str(path), "--where", "sorted between 30000 and 30100")
    assert ran.code == 0
    n = [int(line.split()[1].replace(",", "")) for line in ran.out.decode().splitlines() if line.startswith("rows ")]
    assert 0 < n[0] <= 1400, ran.out


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_large_row_group_is_cut_among_threads(threads, tmp_path):
    """Few rows of many pages, and most of them, whatever number of threads decodes them."""
    n = 120_000
    rng = np.random.default_rng(9)
    rows = pa.table({"k": np.arange(n), "text": pa.array([None if i % 97 == 0 else f"{i:060d} {i * 7919 % 104729}" for i in range(n)]),
                     "tag": pa.array(rng.integers(0, 9, n)).cast(pa.string()), "x": rng.random(n)})
    path = tmp_path / "f.parquet"
    pq.write_table(rows, path, row_group_size=n, data_page_size=20_000, dictionary_pagesize_limit=100_000)
    grebe.set_threads(threads)
    try:
        for where, meaning in (("k % 50 = 3", pc.equal(pc.subtract(rows["k"], pc.multiply(pc.divide(rows["k"], 50), 50)), 3)),
                               ("x < 0.001", f("x") < 0.001), ("x < 0.7", f("x") < 0.7), ("k >= 119990 or k < 5", (f("k") >= 119990) | (f("k") < 5))):
            want = rows.filter(meaning)
            assert_same(pa.table(grebe.read(path, where=where)), want)
            assert_same(pa.table(grebe.read(path, where=where, columns=["tag", "text"])), want.select(["tag", "text"]))
    finally:
        grebe.set_threads(None)
