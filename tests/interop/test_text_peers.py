# SPDX-License-Identifier: Apache-2.0
"""CSV and JSON lines of pyarrow, DuckDB and Polars read value for value, and what Grebe writes read by them."""
import datetime
import decimal
import random
import struct

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pytest

import grebe

TEXTS = ["", "plain", "a,b", 'say "hi"', "two\nlines", "cr\r\nlf", "naïve €", "😀", "tab\there", "'single'", "007", "true", " blank ", "null", "\\", "#x"]


def doubles(rng, n):
    """Any bits that are a finite number, and numbers as people have them."""
    out = []
    while len(out) < n:
        v = struct.unpack("<d", struct.pack("<Q", rng.getrandbits(64)))[0] if rng.random() < 0.7 else round(rng.uniform(-1e6, 1e6), rng.randrange(8))
        if v == v and abs(v) != float("inf"):
            out.append(v)
    return out


def table(seed, n=500):
    rng = random.Random(seed)
    day = datetime.date(1970, 1, 1)
    maybe = lambda make: [None if rng.random() < 0.1 else make() for _ in range(n)]  # noqa: E731
    return pa.table({
        "i": pa.array([rng.randrange(-2**63, 2**63) for _ in range(n)], pa.int64()),
        "small": pa.array(maybe(lambda: rng.randrange(-100, 100)), pa.int64()),
        "x": pa.array(doubles(rng, n), pa.float64()),
        "b": pa.array(maybe(lambda: rng.random() < 0.5), pa.bool_()),
        "d": pa.array(maybe(lambda: day + datetime.timedelta(days=rng.randrange(-100000, 100000))), pa.date32()),
        "t": pa.array(maybe(lambda: datetime.datetime(2000, 1, 1) + datetime.timedelta(microseconds=rng.randrange(-10**15, 10**15))), pa.timestamp("us")),
        "s": pa.array([rng.choice(TEXTS) for _ in range(n)], pa.string()),
    })


def nested(seed, n=300):
    rng = random.Random(seed)
    return pa.table({
        "id": pa.array(range(n), pa.int64()),
        "u": pa.array([rng.randrange(2**63, 2**64) for _ in range(n)], pa.uint64()),
        "x": pa.array(doubles(rng, n), pa.float64()),
        "s": pa.array([rng.choice(TEXTS) for _ in range(n)], pa.string()),
        "o": pa.array([{"k": rng.choice(TEXTS), "v": rng.choice([None, 1.5])} for _ in range(n)], pa.struct([("k", pa.string()), ("v", pa.float64())])),
        "l": pa.array([[rng.randrange(10) for _ in range(rng.randrange(4))] for _ in range(n)], pa.list_(pa.int64())),
        "ls": pa.array([[{"q": rng.random() < 0.5}] * rng.randrange(3) for _ in range(n)], pa.list_(pa.struct([("q", pa.bool_())]))),
    })


def same(got, expected):
    got, expected = pa.table(got), expected.cast(expected.schema)
    assert got.column_names == expected.column_names
    for name in expected.column_names:
        a, b = got[name].combine_chunks().to_pylist(), expected[name].combine_chunks().to_pylist()
        bad = [(i, x, y) for i, (x, y) in enumerate(zip(a, b)) if x != y]
        assert len(a) == len(b) and not bad, (name, bad[:3])


def write_pyarrow(t, path):
    pyarrow.csv.write_csv(t, path)


def write_duckdb(t, path):
    con = pytest.importorskip("duckdb").connect()
    con.register("t", t)
    kind = "csv, header" if str(path).endswith("csv") else "json"
    con.execute(f"copy (select * from t) to '{path}' (format {kind})")


def write_polars(t, path):
    frame = pytest.importorskip("polars").from_arrow(t)
    frame.write_csv(path, quote_style="non_numeric") if str(path).endswith("csv") else frame.write_ndjson(path)


@pytest.mark.parametrize("write", [write_pyarrow, write_duckdb, write_polars])
def test_their_csv_reads_value_for_value(write, tmp_path):
    t, path = table(1), tmp_path / "x.csv"
    write(t, path)
    got = pa.table(grebe.read(path, schema=pa.schema([t.schema.field("s")])))
    assert got["x"].type == pa.float64() and got["i"].type == pa.int64()
    assert {n: got.schema.field(n).type for n in ("b", "d", "small")} == {"b": pa.bool_(), "d": pa.date32(), "small": pa.int64()}
    if write is not write_pyarrow:  # which quotes no empty string, and so cannot tell it from null
        same(got, t)
    else:
        same(got.drop_columns("s"), t.drop_columns("s"))


@pytest.mark.parametrize("write", [write_duckdb, write_polars])
def test_their_json_reads_value_for_value(write, tmp_path):
    t, path = nested(2), tmp_path / "x.jsonl"
    write(t, path)
    same(grebe.read(path), t)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "tsv"])
def test_our_csv_reads_value_for_value(ending, tmp_path):
    t, path = table(3), tmp_path / f"x.{ending}"
    grebe.write(path, t)
    same(grebe.read(path), t)
    if ending == "csv.zst" or ending == "tsv":
        return
    theirs = pyarrow.csv.read_csv(path, convert_options=pyarrow.csv.ConvertOptions(
        column_types={**{f.name: f.type for f in t.schema}, "t": pa.timestamp("us")}, strings_can_be_null=False),
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True))
    same(theirs, t)


def test_our_csv_reads_in_duckdb_and_polars(tmp_path):
    duckdb, pl = pytest.importorskip("duckdb"), pytest.importorskip("polars")
    t, path = table(4), tmp_path / "x.csv"
    grebe.write(path, t)
    types = {"i": "bigint", "small": "bigint", "x": "double", "b": "boolean", "d": "date", "t": "timestamp", "s": "varchar"}
    got = duckdb.connect().execute(f"select * from read_csv('{path}', header=true, quote='\"', escape='\"', delim=',', columns={types}, allow_quoted_nulls=false)").to_arrow_table()
    same(got, t)
    frame = pl.read_csv(path, schema_overrides={"s": pl.String, "b": pl.Boolean})
    same(frame.select("i", "x", "b", "small").to_arrow(), t.select(["i", "x", "b", "small"]))


def test_our_json_reads_in_all_of_them(tmp_path):
    t, path = nested(5), tmp_path / "x.jsonl"
    grebe.write(path, t)
    same(grebe.read(path), t)
    same(pyarrow.json.read_json(path, parse_options=pyarrow.json.ParseOptions(explicit_schema=t.schema)), t)
    duckdb = pytest.importorskip("duckdb")
    same(duckdb.connect().execute(f"select * from read_json('{path}', columns={{id: 'bigint', u: 'ubigint', x: 'double', s: 'varchar', o: 'struct(k varchar, v double)', l: 'bigint[]', ls: 'struct(q boolean)[]'}})").to_arrow_table(), t)
    pl = pytest.importorskip("polars")
    same(pl.read_ndjson(path, schema_overrides={"u": pl.UInt64}).to_arrow(), t)


def test_vectors_and_decimals_come_back_with_a_schema(tmp_path):
    t = pa.table({"v": pa.array([[0.1, -2.5], None, [3e38, 1e-45]], pa.list_(pa.float32(), 2)),
                  "m": pa.array([decimal.Decimal("1.50"), decimal.Decimal("-99999999999999999999.01"), None], pa.decimal128(30, 2)),
                  "n": pa.array([1, None, -128], pa.int8()), "f": pa.array([0.1, 1e-45, 3.4e38], pa.float32()),
                  "ns": pa.array([1, -1, None], pa.timestamp("ns", "UTC"))})
    for name in ("x.csv", "x.jsonl"):
        path = tmp_path / name
        grebe.write(path, t)
        got = pa.table(grebe.read(path, schema=t.schema))
        assert got.schema.types == t.schema.types and got.equals(t.cast(got.schema)), name


def test_layouts_go_both_ways(tmp_path):
    t, path = table(6), tmp_path / "x.csv"
    grebe.write(path, t, delimiter=";", quote="'", null_value="NA")
    same(grebe.read(path, delimiter=";", quote="'", null_values="NA"), t)
    grebe.write(path, t, header=False)
    same(grebe.read(path, header=False, schema=t.schema), t)


@pytest.mark.parametrize("options", [{"delimiter": ";;"}, {"ragged": "maybe"}, {"encoding": "ebcdic"}, {"sample_rows": -1}, {"quote": ",", "delimiter": ","}])
def test_wrong_options_are_refused(options, tmp_path):
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(ValueError):
        grebe.read(tmp_path / "x.csv", **options)
