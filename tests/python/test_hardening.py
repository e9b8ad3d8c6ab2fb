# SPDX-License-Identifier: Apache-2.0
"""What odd use of the package must not break."""

import threading

import numpy as np
import pyarrow as pa
import pytest

import grebe


def test_stream_to_numpy__vectors_with_nulls_in_one_batch(tmp_path):
    vectors = pa.array([[1, 2], [3, 4], [5, None], [7, 8]], pa.list_(pa.float32(), 2))
    table = grebe.create(tmp_path / "t", pa.table({"v": vectors}))
    got = table.scan(batch_rows=2).to_numpy()["v"]
    assert got.shape == (4,) and [len(row) for row in got] == [2, 2, 2, 2]
    assert got[0].tolist() == [1, 2] and np.isnan(got[2][1])


def test_stream_to_numpy__no_rows__keeps_columns_types_and_shapes(tmp_path):
    table = grebe.create(tmp_path / "t", pa.table({
        "k": [1], "v": pa.array([[1, 2]], pa.list_(pa.float32(), 2)), "s": ["a"],
        "t": pa.array([1], pa.timestamp("us"))}))
    got = table.scan(where="k < 0").to_numpy()
    assert {name: (a.shape, str(a.dtype)) for name, a in got.items()} == {
        "k": ((0,), "int64"), "v": ((0, 2), "float32"), "s": ((0,), "object"), "t": ((0,), "datetime64[us]")}


def test_create__numpy_slices_and_transposed__keep_type_and_shape(tmp_path):
    matrix = np.arange(12, dtype="f4").reshape(3, 4)
    cube = np.arange(24, dtype="i2").reshape(2, 3, 4)
    table = grebe.create(tmp_path / "t", {
        "slice": np.arange(10, dtype="i4")[::-3], "flag": np.array([True, False] * 4)[::2],
        "vector": np.asfortranarray(np.arange(8, dtype="f4").reshape(4, 2)), "turned": matrix.T[:, :2]})
    assert table.schema.types == ["int32", "bool", "fixed_size_list<float>[2]", "fixed_size_list<float>[2]"]
    got = table.scan().to_numpy()
    assert got["slice"].tolist() == [9, 6, 3, 0] and got["flag"].tolist() == [True] * 4
    assert (got["vector"] == np.arange(8).reshape(4, 2)).all() and (got["turned"] == matrix.T[:, :2]).all()
    table = grebe.create(tmp_path / "c", {"cube": cube})
    assert table.scan().to_pyarrow()["cube"].to_pylist() == cube.tolist()
    assert table.schema.types == ["fixed_size_list<fixed_size_list<int16>[4]>[3]"]


def test_options__unknown_or_out_of_range__refused(tmp_path):
    for options, error in [({"compresion": "none"}, TypeError), ({"row_group_rows": 0}, ValueError),
                           ({"row_group_bytes": -1}, ValueError), ({"compression_level": 2**32 + 3}, ValueError)]:
        with pytest.raises(error, match=next(iter(options))):
            grebe.create(tmp_path / "t", {"a": [1]}, **options)
        with pytest.raises(error, match=next(iter(options))):
            grebe.write(tmp_path / "f.parquet", {"a": [1]}, **options)
    table = grebe.create(tmp_path / "t", {"a": [1]})
    with pytest.raises(TypeError, match="compresion"):
        table.append({"a": [1]}, compresion="none")
    for n in (-1, 257, 2**32 + 1):
        with pytest.raises((ValueError, OverflowError)):
            grebe.set_threads(n)


def test_table__closed__says_so(tmp_path):
    table = grebe.create(tmp_path / "t", {"a": [1]})
    table.close()
    assert table.closed and repr(table) == "<grebe.Table closed>"
    with pytest.raises(ValueError, match="closed"):
        table.take([0])


def test_table_close__while_arguments_are_read__call_ends_well(tmp_path):
    table = grebe.create(tmp_path / "t", {"a": [1, 2, 3]})

    def ids():
        yield 2
        table.close()
        yield 0

    assert table.take(ids()).to_numpy()["a"].tolist() == [3, 1]
    with pytest.raises(ValueError, match="closed"):
        table.take([0])


def test_table_close__while_threads_read__nothing_breaks(tmp_path):
    grebe.create(tmp_path / "t", {"a": np.arange(200_000), "s": [f"s{i}" for i in range(200_000)]}, durable=False)
    for _ in range(20):
        table = grebe.open(tmp_path / "t")
        wrong = []

        def read():
            while True:
                try:
                    if table.count("a < 1000") != 1000 or table.take([7, 3]).to_numpy()["a"].tolist() != [7, 3]:
                        wrong.append("rows")
                except ValueError as error:
                    if "closed" not in str(error):
                        wrong.append(error)
                    return

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        table.close()
        for thread in threads:
            thread.join()
        assert not wrong


def test_stream__shared_by_threads__each_batch_once_or_an_error(tmp_path):
    table = grebe.create(tmp_path / "t", {"a": np.arange(300_000)}, durable=False, row_group_rows=5000)
    stream = table.scan(batch_rows=1000)
    rows, wrong = [], []

    def read():
        while True:
            try:
                rows.append(next(stream).num_rows)
            except StopIteration:
                return
            except ValueError as error:
                if "in use" not in str(error):
                    wrong.append(error)
                    return

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and sum(rows) == 300_000


def test_transaction__used_while_rows_are_written__refused(tmp_path):
    table = grebe.create(tmp_path / "t", pa.table({"a": [1]}))
    txn = table.transaction()
    seen = []

    def batches():
        for use in (txn.commit, txn.abort, lambda: txn.drop_columns("a"), lambda: txn.append({"a": [3]})):
            with pytest.raises(ValueError, match="in use"):
                use()
            seen.append(use)
        yield pa.record_batch({"a": pa.array([2])})

    txn.append(pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches()))
    assert len(seen) == 4
    assert txn.commit().scan().to_numpy()["a"].tolist() == [1, 2]
    txn.abort()
    with pytest.raises(ValueError, match="committed or given up"):
        txn.commit()


def test_where__tens_of_thousands_of_conditions__right_and_not_slow(tmp_path):
    n = 3000
    table = grebe.create(tmp_path / "t", {"id": np.arange(n), "s": [f"s{i}" for i in range(n)]}, durable=False)
    every_third = [i for i in range(n) if i % 3 == 0]
    assert table.count(" or ".join(f"id = {i}" for i in every_third)) == len(every_third)
    assert table.count(" and ".join(f"s <> 's{i}'" for i in every_third * 20)) == n - len(every_third)
    assert table.count(f"id not in ({', '.join(map(str, every_third * 20))})") == n - len(every_third)
    for deep in ("(" * 100_000, "not " * 100_000, "abs(" * 100_000, "- " * 100_000):
        with pytest.raises(grebe.Limit, match="nested deeper"):
            table.count(deep)
    with pytest.raises(grebe.Limit, match="at most"):
        table.count(" and ".join(["id >= 0"] * 200_000))


def rewritten(folder, change):
    """The first manifest of a table, changed as a record."""
    fastavro = pytest.importorskip("fastavro")
    path = folder / "_metadata" / "manifest-1.avro"
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        records = list(reader)
        schema, metadata = reader.writer_schema, {k: v for k, v in reader.metadata.items() if k.startswith("grebe.")}
    change(records[0])
    with path.open("wb") as file:
        fastavro.writer(file, schema, records, metadata=metadata)


@pytest.mark.parametrize("path", [".", "..", "/", "/dev/zero", "x" * 5000, "nothing.parquet"])
def test_manifest__names_no_file__table_is_corrupt(tmp_path, path):
    grebe.create(tmp_path / "t", {"a": [1]})

    def change(manifest):
        manifest["column_groups"][0]["files"][0]["path"] = path

    rewritten(tmp_path / "t", change)
    with pytest.raises(grebe.Corrupt, match="data file"):
        grebe.open(tmp_path / "t").scan().to_pyarrow()


@pytest.mark.parametrize("schema", ["{}", "[", '{"fields":[{"name":"a","type":"int99"}]}'])
def test_manifest__schema_entry_is_damaged__open_refuses_and_check_finds_it(tmp_path, schema):
    grebe.create(tmp_path / "t", {"a": [1]})

    def change(manifest):
        manifest["stats"]["grebe.schema"]["metadata"]["schema"] = schema

    rewritten(tmp_path / "t", change)
    with pytest.raises(grebe.Corrupt, match="grebe.schema"):
        grebe.open(tmp_path / "t")


def from_buffers(kind, n, *buffers, children=None):
    return pa.Array.from_buffers(kind, n, [None, *map(pa.py_buffer, buffers)], children=children)


def numbers(code, *values):
    return np.array(values, code).tobytes()


def view(length, number, offset):
    return numbers("<i4", length, 0, number, offset)


LYING_ARRAYS = {  # pyarrow makes these without looking at what lies between the first offset and the last
    "strings fall": lambda: from_buffers(pa.string(), 3, numbers("i4", 0, 5, 3, 8), b"abcdefgh"),
    "bytes beyond": lambda: from_buffers(pa.binary(), 3, numbers("i4", 0, 2_000_000_000, 3, 8), b"abcdefgh"),
    "large bytes": lambda: from_buffers(pa.large_binary(), 3, numbers("i8", 0, -2**40, 2**60, 8), b"abcdefgh"),
    "view number": lambda: from_buffers(pa.string_view(), 1, view(100, 7, 0), b"abcd"),
    "view length": lambda: from_buffers(pa.binary_view(), 1, view(-1, 0, 0), b"abcd"),
    "view offset": lambda: from_buffers(pa.binary_view(), 1, view(50, 0, 2**31 - 1), b"abcd" * 30),
    "list beyond": lambda: from_buffers(pa.list_(pa.int64()), 3, numbers("i4", 0, 1_000_000, 1, 3),
                                        children=[pa.array([1, 2, 3])]),
    "list in list": lambda: from_buffers(pa.list_(pa.list_(pa.int8())), 3, numbers("i4", 0, 1_000_000, -500, 2),
                                         children=[pa.array([[1], [2, 3]], pa.list_(pa.int8()))]),
    "list view": lambda: from_buffers(pa.list_view(pa.int64()), 1, numbers("i4", 2), numbers("i4", 1000),
                                      children=[pa.array([1, 2, 3])]),
    "dictionary": lambda: pa.DictionaryArray.from_arrays(pa.array([0, 99]), pa.array(["a"]), safe=False),
}


@pytest.mark.parametrize("name", LYING_ARRAYS)
@pytest.mark.parametrize("rows_a_group", [1, 1000])
def test_arrow_in__offsets_and_indices_outside__refused(tmp_path, name, rows_a_group):
    column = LYING_ARRAYS[name]()
    rows = pa.table({"c": column})
    with pytest.raises(grebe.Corrupt):
        grebe.create(tmp_path / "t", rows, row_group_rows=rows_a_group)
    table = grebe.create(tmp_path / "t", pa.table({"c": pa.nulls(0, column.type)}))
    with pytest.raises(grebe.Corrupt):
        table.append(rows, row_group_rows=rows_a_group)
    table = grebe.create(tmp_path / "u", {"k": np.arange(len(column))})
    with pytest.raises(grebe.Corrupt):
        table.add_columns(rows, row_group_rows=rows_a_group)
    assert grebe.open(tmp_path / "t").num_rows == 0 and grebe.open(tmp_path / "u").version == 1


@pytest.mark.parametrize("fields", [[], ["a"], ["a", "b", "c"]])
def test_arrow_in__array_and_schema_do_not_fit__refused(tmp_path, fields):
    class Rows:
        def __arrow_c_array__(self, requested_schema=None):
            schema = pa.schema([(name, pa.string()) for name in fields])
            return schema.__arrow_c_schema__(), pa.record_batch({"a": ["x"], "b": ["y"]}).__arrow_c_array__()[1]

    with pytest.raises(grebe.Corrupt):
        grebe.create(tmp_path / "t", Rows())
