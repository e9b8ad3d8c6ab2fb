# SPDX-License-Identifier: Apache-2.0
"""Casts between all scalar types, beside pyarrow's safe casts: the same values, or an error that names the row."""
import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

import grebe

D = decimal.Decimal
NUMBERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(),
           pa.float32(), pa.float64(), pa.bool_(), pa.decimal128(9, 2), pa.decimal128(38, 0), pa.decimal256(60, 10)]
NAMES = {pa.float16(): "halffloat", pa.float32(): "float", pa.float64(): "double"}


def name_of(t):
    if pa.types.is_decimal(t):
        return f"decimal{t.bit_width}({t.precision}, {t.scale})"
    return NAMES.get(t, str(t))


def rows_of(table):
    return grebe._core.stream_from(table)


def cast(array, to):
    return rows_of(pa.table({"x": array})).cast({"x": to}).to_pyarrow()["x"].combine_chunks()


def small_values(t):
    """Values that every number type holds, and a null."""
    if pa.types.is_boolean(t):
        return pa.array([True, False, None])
    if pa.types.is_decimal(t):
        return pa.array([D(0), D(1), D(100), None], t)
    return pa.array([0, 1, 100, None]).cast(t)


@pytest.mark.parametrize("to", NUMBERS, ids=name_of)
@pytest.mark.parametrize("source", NUMBERS, ids=name_of)
def test_numbers_that_fit(source, to):
    values = small_values(source)
    got = cast(values, name_of(to))
    want = [None if v is None else (bool(v) if pa.types.is_boolean(to) else float(v)) for v in values.to_pylist()]
    assert got.type == to
    assert [None if v is None else (v if pa.types.is_boolean(to) else float(v)) for v in got.to_pylist()] == want


@pytest.mark.parametrize("values, to, row, text", [
    ([1, 2, 128], "int8", 2, "128 does not fit int8"),
    ([0, -1], "uint64", 1, "-1 does not fit uint64"),
    ([2**53, 2**53 + 1], "double", 1, "9007199254740993 does not fit double"),
    ([1.0, 1.5], "int32", 1, "1.5 has a part that is lost in int32"),
    ([1.0, float("nan")], "int64", 1, "nan is no value of int64"),
    ([float("inf")], "decimal128(9, 2)", 0, "inf is no value of"),
    ([1e300], "float", 0, "1e300 does not fit float"),
    ([70000.0], "halffloat", 0, "70000.0 does not fit halffloat"),
    ([9999999], "decimal128(8, 2)", 0, "9999999 does not fit decimal128(8, 2)"),
    ([D("1.23")], "decimal128(9, 1)", 0, "1.23 has a part that is lost"),
    ([D("1.50")], "int64", 0, "1.5 has a part that is lost in int64"),
    (["12", None, "x"], "int32", 2, '"x" is no int32'),
    (["1e400x"], "double", 0, '"1e400x" is no double'),
    (["2026-02-30"], "date32[day]", 0, '"2026-02-30" is no date32'),
    ([b"\xff"], "string", 0, "1 bytes that are no UTF-8"),
])
def test_a_value_that_does_not_fit_names_its_row(values, to, row, text):
    to = {"date32[day]": "date32"}.get(to, to)
    with pytest.raises(grebe.SchemaMismatch) as e:
        cast(pa.array(values), to)
    assert f'column "x": row {row}: {text}' in str(e.value)


def test_rows_are_counted_over_batches():
    table = pa.table({"x": pa.chunked_array([[1] * 1000, [2] * 1000 + [300]])})
    with pytest.raises(grebe.SchemaMismatch, match="row 2000: 300 does not fit int8"):
        list(rows_of(table).cast({"x": "int8"}))


@pytest.mark.parametrize("seed", range(3))
def test_random_numbers_are_pyarrows(seed):
    rng = np.random.default_rng(seed)
    ints = pa.array(rng.integers(-2**62, 2**62, 5000) >> rng.integers(0, 62, 5000))
    reals = pa.array(rng.standard_normal(5000) * 10.0 ** rng.integers(-5, 6, 5000))
    assert cast(ints, "decimal128(25, 3)").equals(ints.cast(pa.decimal128(25, 3)))
    assert cast(reals, "float").equals(reals.cast(pa.float32()))
    back = cast(ints.cast(pa.decimal128(25, 3)), "int64")
    assert back.equals(ints)
    scaled = cast(reals, "decimal128(30, 6)")
    for got, v in zip(scaled.to_pylist(), reals.to_pylist()):
        assert got == D(repr(v)).quantize(D("1e-6"), rounding=decimal.ROUND_HALF_UP)
    texts = cast(reals, "string")
    assert cast(texts, "double").equals(reals)
    assert [int(t) for t in cast(ints, "large_string").to_pylist()] == ints.to_pylist()


def test_times():
    day = datetime.date(2026, 11, 30)
    days = pa.array([day, None, datetime.date(1960, 2, 29)])
    moments = pa.array([datetime.datetime(2026, 11, 30, 23, 59, 59, 123456), None, datetime.datetime(1960, 2, 29, 0, 0, 0, 1)], pa.timestamp("us"))
    assert cast(moments, "date32").to_pylist() == [day, None, datetime.date(1960, 2, 29)]
    assert cast(moments, "time64[us]").to_pylist() == [datetime.time(23, 59, 59, 123456), None, datetime.time(0, 0, 0, 1)]
    assert cast(moments, "timestamp[ns, tz=UTC]").equals(moments.cast(pa.timestamp("ns", "UTC")))
    assert cast(days, "timestamp[ms]").equals(days.cast(pa.timestamp("ms")))
    assert cast(days, "date64").equals(days.cast(pa.date64()))
    assert cast(moments, "int64").equals(moments.cast(pa.int64()))
    assert cast(cast(moments, "int64"), "timestamp[us]").equals(moments)
    assert cast(cast(moments, "string"), "timestamp[us]").equals(moments)
    assert cast(pa.array([1500], pa.duration("ms")), "duration[us]").to_pylist() == [datetime.timedelta(seconds=1.5)]
    with pytest.raises(grebe.SchemaMismatch, match="row 0: .* has a part that is lost in timestamp"):
        cast(moments, "timestamp[s]")
    with pytest.raises(grebe.SchemaMismatch, match="row 1: 1000000000000 does not fit the finer unit of time"):
        cast(pa.array([0, 10**12], pa.timestamp("s")), "timestamp[ns]")


def test_dictionaries_views_and_binary():
    words = pa.array(["1", "2", None, "1"])
    for source in (words.dictionary_encode(), words.cast(pa.string_view()), words.cast(pa.large_string()), words.cast(pa.binary()).cast(pa.string())):
        assert cast(source, "int16").to_pylist() == [1, 2, None, 1]
    assert cast(words, "binary").to_pylist() == [b"1", b"2", None, b"1"]
    assert cast(words.cast(pa.binary()), "string_view").to_pylist() == words.to_pylist()
    assert cast(pa.array([True, None, False]), "string").to_pylist() == ["true", None, "false"]
    assert cast(pa.array(["true", None, "false"]), "bool").to_pylist() == [True, None, False]


def test_pairs_without_a_cast_are_refused_before_reading():
    for values, to in ((pa.array([[1]]), "int8"), (pa.array([1]), "list<item: int64>"), (pa.array([True]), "date32")):
        with pytest.raises(grebe.SchemaMismatch, match="no cast from"):
            rows_of(pa.table({"x": values})).cast({"x": to})
    with pytest.raises(grebe.NotFound):
        rows_of(pa.table({"x": [1]})).cast({"y": "int8"})
    with pytest.raises(grebe.InvalidArgument):
        rows_of(pa.table({"x": [1]})).cast({"x": "int9"})
