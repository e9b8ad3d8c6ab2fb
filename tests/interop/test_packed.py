# SPDX-License-Identifier: Apache-2.0
"""Packed files: rows of Milvus's second storage format, one Parquet file a column group, known by field numbers."""
import pathlib
import shutil
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "tools"))
from harness import TESTS, assert_same, one_line_error, run  # noqa: E402

import grebe  # noqa: E402

SAMPLES = [TESTS / "golden" / "parquet" / "milvus" / f"column_group_{i}.parquet" for i in range(3)]
KEYS = [b"group_field_id_list", b"row_group_metadata", b"storage_version"]


def sample():
    """The rows of the three files, as pyarrow reads them."""
    parts = [pq.read_table(p) for p in SAMPLES]
    return pa.table({n: t[n] for t in parts for n in t.column_names}, schema=pa.schema([f for t in parts for f in t.schema]))


def field(name, number, type_):
    return pa.field(name, type_, metadata={"PARQUET:field_id": str(number)})


def rows(n=500, seed=2):
    rng = np.random.default_rng(seed)
    schema = pa.schema([field("pk", 0, pa.int64()), field("ts", 1, pa.int64()), field("text", 100, pa.string()),
                        field("v", 101, pa.binary(64)), field("score", 102, pa.float32())])
    return pa.table([pa.array(range(n)), pa.array(rng.integers(0, 1 << 50, n)), pa.array([None if i % 4 == 1 else f"t{i}" for i in range(n)]),
                     pa.array([rng.bytes(64) for _ in range(n)], pa.binary(64)), pa.array(rng.random(n, "f4"))], schema=schema)


def test_samples_of_the_reference():
    for path, number_of in zip(SAMPLES, ({"id": 100, "value": 102}, {"name": 101}, {"vector": 103})):
        assert pq.read_metadata(path).num_rows == 100
        assert {f.name: int(f.metadata[b"PARQUET:field_id"]) for f in pq.read_schema(path)} == number_of
    table = grebe.open_packed(SAMPLES)
    assert (table.num_rows, table.schema.names) == (100, ["id", "value", "name", "vector"])
    assert_same(table.scan(), sample().replace_schema_metadata(None))
    assert_same(table.take([99, 0, 5, 5]), sample().take([99, 0, 5, 5]))
    assert table.check(deep=True) == []
    for by in ([103, 100], [101], [102, 103, 101, 100]):
        names = {100: "id", 101: "name", 102: "value", 103: "vector"}
        assert_same(grebe.read_packed(SAMPLES, fields=by), sample().select([names[i] for i in by]))
    assert grebe.open_packed(SAMPLES[::-1]).schema.names == ["vector", "name", "id", "value"]
    assert_same(grebe.read_packed(SAMPLES, where="id >= 90 and name like '%9'", columns=["value"]),
                sample().select(["value"]).take([i for i in range(90, 100) if sample()["name"][i].as_py().endswith("9")]))


def test_missing_fields_are_null():
    """Numbers that no file has, and groups whose file is not given."""
    got = grebe.read_packed(SAMPLES[:1], fields=[999, 100, 101]).to_pyarrow()
    assert got.column_names == ["999", "id", "101"] and got["999"].null_count == got["101"].null_count == 100
    assert got["id"].to_pylist() == sample()["id"].to_pylist()
    schema = pa.schema([field("n", 101, pa.string()), field("new", 500, pa.list_(pa.float32(), 3)), field("pk", 100, pa.int64())])
    got = grebe.read_packed(SAMPLES[:1], fields=schema).to_pyarrow()
    assert got.schema.names == ["n", "new", "pk"] and [f.type for f in got.schema] == [f.type for f in schema]
    assert got["n"].null_count == got["new"].null_count == 100 and got["pk"].to_pylist() == sample()["id"].to_pylist()
    only = grebe.open_packed(SAMPLES[1], fields=[7, 8])   # no field at all: the first group tells how many rows
    assert only.num_rows == 100 and only.scan().to_pyarrow()["7"].null_count == 100
    none = grebe.open_packed(SAMPLES, fields=[])
    assert none.num_rows == 100 and none.schema.names == [] and none.scan().to_pyarrow().num_rows == 100
    assert none.scan(with_row_id=True).to_pyarrow()["_rowid"].to_pylist() == list(range(100))


def test_names_that_are_none(tmp_path):
    """A delete log has columns without names: they are shown by their numbers."""
    schema = pa.schema([pa.field("", pa.int64(), metadata={"PARQUET:field_id": "0"}), pa.field("", pa.int64(), metadata={"PARQUET:field_id": "1"})])
    pq.write_table(pa.table([[1, 2], [30, 40]], schema=schema).replace_schema_metadata(
        {"group_field_id_list": "0,1", "row_group_metadata": "32|2|0", "storage_version": "1.0.0"}), tmp_path / "d.parquet")
    table = grebe.open_packed(tmp_path / "d.parquet")
    assert table.schema.names == ["0", "1"]
    assert table.scan().to_pyarrow().to_pydict() == {"0": [1, 2], "1": [30, 40]}
    assert table.take([1]).to_pyarrow().to_pydict() == {"0": [2], "1": [40]}


@pytest.mark.parametrize("key", KEYS)
def test_every_key_is_needed(tmp_path, key):
    metadata = {k: v for k, v in pq.read_metadata(SAMPLES[0]).metadata.items() if k != key}
    pq.write_table(pq.read_table(SAMPLES[0]).replace_schema_metadata(metadata), tmp_path / "x.parquet")
    with pytest.raises(grebe.Corrupt, match=key.decode()):
        grebe.open_packed(tmp_path / "x.parquet")
    ran = run("head", f"packed:{tmp_path}/x.parquet")
    assert one_line_error(ran, {5}) is None and key.decode() in ran.message
    assert run("head", tmp_path / "x.parquet").code == 0   # as a Parquet file it is whole


@pytest.mark.parametrize("change, words", [
    ({"group_field_id_list": "100;101;102;103"}, "expected a group with the fields"), ({"group_field_id_list": ""}, "group"),
    ({"group_field_id_list": "100,102,;101"}, "group"), ({"group_field_id_list": "100,x;101"}, "group"),
    ({"row_group_metadata": "1600|100|0;1|2|3"}, "row_group_metadata"), ({"row_group_metadata": ""}, "row_group_metadata"),
    ({"row_group_metadata": "1600|100"}, "row_group_metadata"),
    ({"group_field_id_list": "102,102;101;103"}, "group with the fields"), ({"group_field_id_list": "100,102,100"}, "group with the fields"),
])
def test_keys_that_contradict(tmp_path, change, words):
    metadata = {k.decode(): v for k, v in pq.read_metadata(SAMPLES[0]).metadata.items()}
    pq.write_table(pq.read_table(SAMPLES[0]).replace_schema_metadata(dict(metadata, **change)), tmp_path / "x.parquet")
    with pytest.raises(grebe.Corrupt, match=words):
        grebe.open_packed(tmp_path / "x.parquet")


def processor_seconds(call):
    begin = time.process_time()
    call()
    return time.process_time() - begin


def many_row_groups(path, n):
    schema = pa.schema([field("a", 100, pa.int64())])
    keys = {"group_field_id_list": "100", "row_group_metadata": ";".join(f"{8 + i % 5}|1|{i}" for i in range(n)), "storage_version": "1"}
    pq.write_table(pa.table([pa.array(range(n))], schema=schema.with_metadata(keys)), path, row_group_size=1,
                   write_statistics=False, compression=None, use_dictionary=False)
    return grebe.open_packed(path)


def test_time_follows_the_row_groups(tmp_path):
    """The sizes that a footer tells are read once, not for each row group again."""
    few, many = (many_row_groups(tmp_path / f"{n}.parquet", n) for n in (2000, 16000))
    seconds = processor_seconds(lambda: few.chunks(0))
    assert processor_seconds(lambda: many.chunks(0)) < 24 * seconds + 0.1   # eight times the row groups; squared it is 64
    chunks = few.chunks(0)
    assert [chunks.info(i)["memory_bytes"] for i in range(len(chunks))] == [8 + i % 5 for i in range(2000)]


def test_time_follows_the_numbers_listed(tmp_path):
    n = 2000
    schema = pa.schema([field(f"c{i}", i, pa.int64()) for i in range(n)])
    keys = {"group_field_id_list": ",".join([str(n - 1)] * 200000), "row_group_metadata": "8|1|0", "storage_version": "1"}
    pq.write_table(pa.table([[1]] * n, schema=schema.with_metadata(keys)), tmp_path / "x.parquet")

    def refused():
        with pytest.raises(grebe.Corrupt, match="group_field_id_list"):
            grebe.open_packed(tmp_path / "x.parquet")
    assert processor_seconds(refused) < 2   # each number held against each field takes 6


def test_files_that_do_not_belong_together(tmp_path):
    table = rows(10)
    grebe.write_packed([tmp_path / "a", tmp_path / "b"], table, groups=[["pk", "ts"], ["text", "v", "score"]])
    grebe.write_packed([tmp_path / "c", tmp_path / "d"], table.slice(0, 4), groups=[["pk", "ts"], ["text", "v", "score"]])
    with pytest.raises(grebe.Corrupt, match="expected 10 rows.*found 4"):
        grebe.open_packed([tmp_path / "a", tmp_path / "d"])
    both = grebe.open_packed([tmp_path / "a", tmp_path / "b", tmp_path / "c", tmp_path / "d"])   # groups of two files each
    assert_same(both.scan(), pa.concat_tables([table, table.slice(0, 4)]))
    grebe.write_packed([tmp_path / "e", tmp_path / "f"], table, groups=[["pk"], ["ts", "text", "v", "score"]])
    with pytest.raises(grebe.Corrupt, match="two groups|fields of another file"):
        grebe.open_packed([tmp_path / "a", tmp_path / "f"])
    for bad in ([100, 100], [100, -1]):
        with pytest.raises((grebe.InvalidArgument, grebe.Corrupt)):
            grebe.read_packed(SAMPLES, fields=bad).to_pyarrow() if bad[1] == 100 else grebe.open_packed(SAMPLES, fields=pa.schema([pa.field("x", pa.int8())]))
    with pytest.raises(grebe.NotFound):
        grebe.open_packed(tmp_path / "nothing")


@pytest.mark.parametrize("groups", [None, [["pk", "ts"], ["text"], ["v", "score"]], [["score"], ["v"], ["text"], ["ts"], ["pk"]]])
def test_written_as_the_reference_writes(tmp_path, groups):
    table = rows(3000)
    paths = [tmp_path / f"{i}.parquet" for i in range(len(groups or [1]))]
    assert grebe.write_packed(paths, table, groups=groups) == 3000
    number = {f.name: f.metadata[b"PARQUET:field_id"].decode() for f in table.schema}
    listed = [[c for c in table.column_names if c in g] for g in groups] if groups else [table.column_names]
    want = ";".join(",".join(number[c] for c in g) for g in listed)
    for path, columns in zip(paths, listed, strict=True):
        file = pq.ParquetFile(path)
        assert file.metadata.metadata[b"group_field_id_list"].decode() == want and file.metadata.metadata[b"storage_version"] == b"1.0.0"
        assert file.schema_arrow.names == columns and b"ARROW:schema" not in file.metadata.metadata
        assert [f.metadata[b"PARQUET:field_id"].decode() for f in file.schema_arrow] == [number[c] for c in columns]
        entries = [list(map(int, e.split("|"))) for e in file.metadata.metadata[b"row_group_metadata"].decode().split(";")]
        assert [e[1] for e in entries] == [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        raw = path.read_bytes()
        at = [raw.rindex(k) for k in KEYS]
        assert at == sorted(at)
        assert_same(pa.table({c: file.read()[c] for c in columns}), table, columns)
    order = [c for g in listed for c in g]
    assert_same(grebe.read_packed(paths), table, order)
    assert_same(grebe.read_packed(paths[::-1], fields=table.schema), table)
    assert run("check", "packed:" + ",".join(map(str, paths)), "--deep").code == 0


def test_what_cannot_be_written(tmp_path):
    table = rows(5)
    plain = pa.table({"a": [1]})
    with pytest.raises(grebe.SchemaMismatch, match='"a".*PARQUET:field_id'):
        grebe.write_packed(tmp_path / "x", plain)
    twice = pa.table([[1], [2]], schema=pa.schema([field("a", 1, pa.int64()), field("b", 1, pa.int64())]))
    with pytest.raises(grebe.SchemaMismatch, match="number 1"):
        grebe.write_packed(tmp_path / "x", twice)
    for groups in ([["pk"], ["ts"]], [["pk", "ts"], ["ts", "text", "v", "score"]]):
        with pytest.raises(grebe.InvalidArgument):
            grebe.write_packed([tmp_path / "x", tmp_path / "y"], table, groups=groups)
    with pytest.raises(ValueError, match="2 paths"):
        grebe.write_packed([tmp_path / "x", tmp_path / "y"], table, groups=[table.column_names])
    assert not list(tmp_path.iterdir())


def test_as_a_source_of_the_command(tmp_path):
    folder = tmp_path / "segment"
    folder.mkdir()
    for path in SAMPLES:
        shutil.copy(path, folder)
    for source in (f"packed:{folder}", f"packed:{folder}/", "packed:" + ",".join(map(str, SAMPLES))):
        ran = run("scan", source, "--format", "arrow")
        assert ran.code == 0, ran
        assert_same(ran.rows(), sample())
    ran = run("head", f"packed:{folder}", "--limit", "2", "--columns", "name,id", "--format", "jsonl")
    assert ran.out.decode().count("\n") == 2
    assert run("count", f"packed:{folder}", "--where", "id < 10").out.strip() == b"10"
    assert run("take", f"packed:{folder}", "--rows", "5,1", "--columns", "id", "--format", "csv").code == 0
    assert run("create", tmp_path / "t", "--from", f"packed:{folder}").code == 0
    assert_same(grebe.open(tmp_path / "t").scan(), sample(), grebe.open(tmp_path / "t").schema.names)
    (tmp_path / "none").mkdir()
    assert run("head", f"packed:{tmp_path}/none").code == 3 and run("head", "packed:/no/such").code == 3
