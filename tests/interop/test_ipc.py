# SPDX-License-Identifier: Apache-2.0
"""Arrow IPC files and streams: pyarrow's and Polars' read by us, ours by them, every type and compression."""
import datetime
import decimal
import pathlib
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
from harness import run  # noqa: E402

import grebe  # noqa: E402

CODECS = [None, "lz4", "zstd"]


def every_type(n):
    def some(f):
        return [None if i % 5 == 3 else f(i) for i in range(n)]
    ints = {str(t): pa.array(some(lambda i: i % 120), t) for t in (
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float32(),
        pa.float64(), pa.duration("ns"))}
    texts = {str(t): pa.array(some(lambda i: "x" * (i % 30) + f"ż{i}"), t) for t in (pa.string(), pa.large_string(), pa.string_view())}
    day = datetime.datetime(2026, 1, 1)
    return pa.table({
        **ints, **texts, "half": pa.array(np.arange(n).astype(np.float16)), "bool": pa.array(some(lambda i: i % 3 == 0)),
        "binary_view": pa.array(some(lambda i: bytes([i % 256]) * (i % 20)), pa.binary_view()),
        "fixed": pa.array(some(lambda i: bytes([i % 256]) * 3), pa.binary(3)),
        "date": pa.array(some(lambda i: day.date() + datetime.timedelta(i))),
        "ts": pa.array(some(lambda i: day + datetime.timedelta(seconds=i)), pa.timestamp("us", "UTC")),
        "time": pa.array(some(lambda i: datetime.time(i % 24)), pa.time64("ns")),
        "d128": pa.array(some(lambda i: decimal.Decimal(i) / 100), pa.decimal128(12, 2)),
        "d256": pa.array(some(lambda i: decimal.Decimal(i) / 100), pa.decimal256(50, 2)),
        "mdn": pa.array(some(lambda i: pa.MonthDayNano([i, 2, 3])), pa.month_day_nano_interval()),
        "dict": pa.array(some(lambda i: f"d{i % 9}")).dictionary_encode(),
        "list": pa.array(some(lambda i: list(range(i % 4)) + [None])), "large": pa.array(some(lambda i: ["a"] * (i % 3)), pa.large_list(pa.string())),
        "vector": pa.array(some(lambda i: [i, 1.5]), pa.list_(pa.float32(), 2)),
        "view": pa.array(some(lambda i: [i, i]), pa.list_view(pa.int64())),
        "struct": pa.array(some(lambda i: {"a": i, "b": None if i % 2 else "y"})),
        "map": pa.array(some(lambda i: [("k", i)]), pa.map_(pa.string(), pa.int32())),
        "null": pa.nulls(n),
        "ree": pa.RunEndEncodedArray.from_arrays(pa.array([n // 2, n], pa.int32()), pa.array(["p", None])),
        "dense": pa.UnionArray.from_dense(pa.array([i % 2 for i in range(n)], pa.int8()), pa.array([i // 2 for i in range(n)], pa.int32()),
                                          [pa.array(range(n)), pa.array([str(i) for i in range(n)])]),
        "sparse": pa.UnionArray.from_sparse(pa.array([i % 2 for i in range(n)], pa.int8()),
                                            [pa.array(range(n)), pa.array([str(i) for i in range(n)])]),
    })


@pytest.fixture(scope="module")
def table():
    return every_type(1000)


def pyarrow_writes(table, path, codec, rows):
    options = pa.ipc.IpcWriteOptions(compression=codec)
    opened = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
    with opened(path, table.schema, options=options) as w:
        w.write_table(table, max_chunksize=rows)


def pyarrow_reads(path):
    opened = pa.ipc.open_file if path.suffix == ".arrow" else pa.ipc.open_stream
    with opened(path) as r:
        return r.read_all()


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("ending", [".arrow", ".arrows"])
def test_every_type_both_ways(tmp_path, table, ending, codec):
    theirs, ours = tmp_path / f"theirs{ending}", tmp_path / f"ours{ending}"
    pyarrow_writes(table, theirs, codec, 300)
    got = grebe.read(theirs).to_pyarrow()
    assert got.equals(table)
    assert grebe.write(ours, got, compression=codec) == 1000
    assert pyarrow_reads(ours).equals(table)
    assert grebe.read(ours).to_pyarrow().equals(table)


def test_rows_by_position_are_those_of_a_scan(tmp_path, table):
    path = tmp_path / "t.arrow"
    pyarrow_writes(table, path, "zstd", 170)
    rng = np.random.default_rng(3)
    for rows in ([], [0], [999, 0, 999, 500, 169, 170, 171], rng.integers(0, 1000, 300).tolist()):
        text = ",".join(map(str, rows))
        ran = run("take", path, "--rows", text, "--format", "arrow")
        assert ran.code == 0, ran
        got = ran.rows()
        # pyarrow cannot take from unions and list views: compared as Python objects
        for name in table.column_names:
            column = table[name].to_pylist()
            assert got[name].to_pylist() == [column[r] for r in rows], name


def test_dictionaries_of_batches_that_differ_grow_in_files(tmp_path):
    # Polars 2 reads no deltas; it refuses the file by name.
    batches = [pa.record_batch({"d": pa.array(v, pa.string()).dictionary_encode(), "n": pa.array(range(len(v)))})
               for v in (["a", "b", None], ["c", "b", "c", "a"], ["z"], [None])]
    table = pa.Table.from_batches(batches)
    path = tmp_path / "d.arrow"
    grebe.write(path, table)
    want = ["a", "b", None, "c", "b", "c", "a", "z", None]
    assert pyarrow_reads(path)["d"].to_pylist() == want
    assert grebe.read(path).to_pyarrow()["d"].to_pylist() == want
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as w:
        w.write_batch(pa.record_batch({"d": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), ["a", "b"]), "n": pa.array([0, 1])}))
        w.write_batch(pa.record_batch({"d": pa.DictionaryArray.from_arrays(pa.array([2, 0], pa.int32()), ["a", "b", "c"]), "n": pa.array([0, 1])}))
    assert grebe.read(path).to_pyarrow()["d"].to_pylist() == ["a", "b", "c", "a"]


@pytest.mark.parametrize("codec", ["uncompressed", "lz4", "zstd"])
def test_polars_and_feather_files(tmp_path, codec):
    import polars as pl
    df = pl.DataFrame({"a": range(5000), "s": [f"text {i}" for i in range(5000)], "l": [[i] * (i % 3) for i in range(5000)]})
    df.write_ipc(tmp_path / "p.arrow", compression=codec)
    assert pl.from_arrow(grebe.read(tmp_path / "p.arrow").to_pyarrow()).equals(df)
    grebe.write(tmp_path / "g.arrow", df, compression=None if codec == "uncompressed" else codec)
    assert pl.read_ipc(tmp_path / "g.arrow").equals(df)
    pa.feather.write_feather(df.to_arrow(), tmp_path / "f.feather", compression=codec)
    assert pl.from_arrow(grebe.read(tmp_path / "f.feather", columns=["s"], where="a >= 4990").to_pyarrow())["s"].to_list() == [
        f"text {i}" for i in range(4990, 5000)]


def test_the_first_feather_is_refused_by_name(tmp_path):
    (tmp_path / "old.feather").write_bytes(b"FEA1" + bytes(60) + b"FEA1")
    with pytest.raises(grebe.Unsupported, match="Feather V1"):
        grebe.read(tmp_path / "old.feather")


def test_unknown_codec_and_tables_are_refused(tmp_path, table):
    with pytest.raises(grebe.InvalidArgument, match="none, lz4 and zstd"):
        grebe.write(tmp_path / "x.arrow", table.select(["int8"]), compression="snappy")
    assert not (tmp_path / "x.arrow").exists()
    with pytest.raises(grebe.Unsupported, match='not written in "arrow"'):
        grebe.create(tmp_path / "t", table.select(["int8"]), file_format="arrow")


def test_file_of_no_rows_and_of_no_columns(tmp_path):
    for t in (pa.table({"a": pa.array([], pa.int64())}), pa.table({}), pa.table({"d": pa.array([], pa.string()).dictionary_encode()})):
        grebe.write(tmp_path / "e.arrow", t)
        assert pyarrow_reads(tmp_path / "e.arrow").equals(t)
        assert grebe.read(tmp_path / "e.arrow").to_pyarrow().equals(t)
