# SPDX-License-Identifier: Apache-2.0
"""Python values into Arrow and back: what data sets are made of and give."""
import datetime
import decimal

import numpy as np
import pyarrow as pa
import pytest

import grebe.dataset as gd
from grebe import _core

UTC = datetime.timezone.utc
CASES = [
    ([1, 2, None], pa.int64()),
    ([1.5, None, 2], pa.float64()),
    ([True, None, False], pa.bool_()),
    (["a", None, "ß"], pa.string()),
    ([b"x\0", None], pa.binary()),
    ([2**63, 1], pa.uint64()),
    ([[1, 2], None, []], pa.list_(pa.int64())),
    ([[[1], [2, 3]], [None]], pa.list_(pa.list_(pa.int64()))),
    ([[]], pa.list_(pa.null())),
    ([{"a": 1}, {"b": "x"}, None, {}], pa.struct([("a", pa.int64()), ("b", pa.string())])),
    ([[{"x": [1.0]}, {"x": None}]], pa.list_(pa.struct([("x", pa.list_(pa.float64()))]))),
    ([datetime.datetime(2020, 1, 2, 3, 4, 5, 6), None, datetime.datetime(1900, 1, 1)], pa.timestamp("us")),
    ([datetime.datetime(2020, 1, 2, tzinfo=UTC)], pa.timestamp("us", "UTC")),
    ([datetime.date(1969, 12, 31), None], pa.date32()),
    ([datetime.time(1, 2, 3, 4)], pa.time64("us")),
    ([datetime.timedelta(days=-1, microseconds=5)], pa.duration("us")),
    ([decimal.Decimal("1.25"), None, decimal.Decimal("-100")], pa.decimal128(5, 2)),
    ([decimal.Decimal(10)**50], pa.decimal256(51, 0)),
    ([None, None], pa.null()),
    ([], pa.null()),
]


@pytest.mark.parametrize("values,kind", CASES, ids=[str(k) for _, k in CASES])
def test_round_trip(values, kind):
    batch = _core.batch_from_columns(["a"], [values], True)
    column = pa.table(batch)["a"]
    assert column.type == kind
    column.validate(full=True)
    assert batch["a"].to_list() == column.to_pylist()
    assert batch.to_dicts() == [{"a": v} for v in column.to_pylist()]
    if kind.id != pa.struct([]).id:
        assert batch["a"].to_list() == values


def test_arrays_in_lists_keep_their_type():
    rows = [np.arange(3, dtype=np.float32), None, np.arange(2, dtype=np.float32)]
    column = pa.table(_core.batch_from_columns(["a"], [rows], True))["a"]
    assert column.type == pa.list_(pa.float32()) and column.to_pylist() == [[0, 1, 2], None, [0, 1]]
    nested = pa.table(_core.batch_from_columns(["a"], [[np.zeros((2, 2), np.int8), np.ones((1, 3), np.int8)]], True))["a"]
    assert nested.type == pa.list_(pa.list_(pa.int8())) and nested.to_pylist() == [[[0, 0], [0, 0]], [[1, 1, 1]]]
    matrix = pa.table(_core.batch_from_columns(["a"], [np.arange(6, dtype=np.float32).reshape(3, 2)], True))["a"]
    assert matrix.type == pa.list_(pa.float32()) and matrix.to_pylist() == [[0, 1], [2, 3], [4, 5]]


def test_scalars_of_numpy():
    column = pa.table(_core.batch_from_columns(["a"], [[np.int64(1), np.float64(2.5), None]], True))["a"]
    assert column.to_pylist() == [1, 2.5, None]
    assert pa.table(_core.batch_from_columns(["a"], [[np.array(True), None]], True))["a"].to_pylist() == [True, None]


@pytest.mark.parametrize("values", [[1, "a"], [{"a": 1}, 3], [{1: 2}], [object()], [decimal.Decimal("NaN")], [2**64], [-1, 2**63],
                                    [[1], "a"]], ids=repr)
def test_values_of_no_type_are_refused(values):
    with pytest.raises((TypeError, OverflowError)):
        _core.batch_from_columns(["a"], [values], True)


def test_every_arrow_type_comes_out():
    table = pa.table({
        "i8": pa.array([1, None, -3], pa.int8()), "u16": pa.array([1, None, 65535], pa.uint16()),
        "f16": pa.array(np.array([1.5, -2, 65504], np.float16)), "large": pa.array(["a", None, "ß"], pa.large_string()),
        "view": pa.array(["a", None, "longer than twelve bytes"], pa.string_view()), "fixed": pa.array([b"ab", None, b"cd"], pa.binary(2)),
        "vector": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.float32(), 2)), "ms": pa.array([1, None, 2], pa.timestamp("ms", "+02:00")),
        "date64": pa.array([86_400_000, None, 0], pa.date64()), "time32": pa.array([1, None, 2], pa.time32("s")),
        "dictionary": pa.array(["x", None, "x"]).dictionary_encode(), "struct": pa.array([{"a": 1}, None, {"a": None}])})
    batch = next(iter(_core.stream_from(table)))
    assert batch.to_dicts() == table.to_pylist()
    part = _core.batch_slice(batch, 1, 3)
    assert part.to_dicts() == table.slice(1).to_pylist() and pa.table(part).to_pylist() == table.slice(1).to_pylist()
    with pytest.raises(IndexError):
        _core.batch_slice(batch, 2, 4)


def test_nanoseconds_are_not_lost():
    batch = next(iter(_core.stream_from(pa.table({"t": pa.array([1], pa.time64("ns"))}))))
    with pytest.raises(ValueError, match="finer than a microsecond"):
        batch["t"].to_list()


def test_a_column_goes_to_arrow_without_a_copy():
    table = pa.table({"a": pa.array([1, 2, 3]), "b": pa.array([[1], [], [2, 3]])})
    batch = next(iter(_core.stream_from(table)))
    assert pa.array(batch["b"]).to_pylist() == [[1], [], [2, 3]]
    assert pa.array(batch["a"]).buffers()[1].address == table["a"].chunk(0).buffers()[1].address


def test_lists_of_numbers_as_blocks():
    batch = next(iter(_core.stream_from(pa.table({"a": pa.array([[9], [1, 2], [], [3]], pa.list_(pa.int32()))}).slice(1))))
    code, values, offsets = batch["a"].lists()
    assert code == "i" and np.frombuffer(values, code).tolist() == [1, 2, 3] and np.frombuffer(offsets, "q").tolist() == [0, 2, 2, 3]
    assert next(iter(_core.stream_from(pa.table({"a": [[1], None]}))))["a"].lists() is None


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float32", "float16", "uint64"])
def test_numpy_scalars_keep_their_width(dtype):
    number = getattr(np, dtype)
    rows = gd.Dataset.from_dict({"a": [number(1), None, number(3)]})
    assert rows.features["a"].dtype == dtype and rows["a"][:] == [1, None, 3]
    mapped = gd.Dataset.from_dict({"x": list(range(1500))}).map(lambda r: {"y": number(r["x"] % 7) if r["x"] % 2 else None})
    assert mapped.features["y"].dtype == dtype and mapped["y"][:4] == [None, 1, None, 3]
