# SPDX-License-Identifier: Apache-2.0
"""Promises of the specification that no other file holds to account, and the reference beside us where it is installed."""
import io
import json
import pathlib
import random
import sys

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "tools"))
from harness import LOON, assert_same, info, one_line_error, run  # noqa: E402

import grebe  # noqa: E402


def schema_text():
    with open(LOON / "manifests" / "ocf_empty.avro", "rb") as f:
        return json.loads(fastavro.reader(f).metadata["avro.schema"])


def put_manifest(table, groups, version=1):
    """A version as another program would commit it: groups are (columns, [(path, begin, end)]) or dicts."""
    record = {"column_groups": [g if isinstance(g, dict) else
                                {"columns": g[0], "format": "parquet",
                                 "files": [{"path": p, "start_index": a, "end_index": b, "properties": {}} for p, a, b in g[1]]} for g in groups],
              "delta_logs": [], "stats": {}, "indexes": [], "lob_files": []}
    (table / "_metadata").mkdir(parents=True, exist_ok=True)
    with open(table / "_metadata" / f"manifest-{version}.avro", "xb") as f:
        fastavro.writer(f, fastavro.parse_schema(schema_text()), [record])


def record_of(table, version):
    with open(pathlib.Path(table) / "_metadata" / f"manifest-{version}.avro", "rb") as f:
        (record,) = fastavro.reader(io.BytesIO(f.read()))
    return record


def sequential(n, dim):
    """The generator of the reference's tests (loon.md 7.1)."""
    i = np.arange(n)
    vector = (i[:, None].astype("f4") * np.float32(0.1) + np.arange(dim, dtype="f4")[None, :]).astype("f4")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("name", pa.string(), nullable=False),
                        pa.field("value", pa.float64(), nullable=False), pa.field("vector", pa.list_(pa.float32()), nullable=False)])
    schema = pa.schema([f.with_metadata({"PARQUET:field_id": str(100 + k)}) for k, f in enumerate(schema)])
    offsets = pa.array(np.arange(0, (n + 1) * dim, dim, dtype="i4"))
    return pa.table([pa.array(i), pa.array([f"name_{k}" for k in range(n)]), pa.array(i * 1.5),
                     pa.ListArray.from_arrays(offsets, pa.array(vector.reshape(-1)))], schema=schema)


def test_row_groups_of_the_sequential_generator(tmp_path):
    """10.38: about 1922 rows each; every group but the last has 1 MiB by the estimate, and hardly more."""
    data = sequential(40_000, 128)
    grebe.create(tmp_path / "t", data, durable=False, profile="milvus")
    (path,) = (tmp_path / "t" / "_data").iterdir()
    file = pq.ParquetFile(path)
    entries = [tuple(map(int, e.split("|"))) for e in file.metadata.metadata[b"row_group_metadata"].decode().split(";")]
    rows = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert [e[1] for e in entries] == rows and len(rows) == 21
    assert all(1 << 20 <= e[0] <= 1.1 * (1 << 20) for e in entries[:-1]) and all(abs(n - 1922) <= 6 for n in rows[:-1])
    # 10.37: three-level lists, numbers of fields, element optional in a required list
    assert file.schema.column(3).path == "vector.list.element" and file.schema.column(3).max_definition_level == 2
    assert [f.metadata[b"PARQUET:field_id"] for f in file.schema_arrow] == [b"100", b"101", b"102", b"103"]
    assert not file.schema_arrow.field("vector").nullable and list(file.metadata.metadata) == [b"row_group_metadata", b"storage_version"] or \
        set(file.metadata.metadata) == {b"row_group_metadata", b"storage_version"}


# ---- columns, groups, ranges -------------------------------------------------------------------------------------------

@pytest.mark.parametrize("compat", [None, "milvus"])
def test_columns_asked_for(tmp_path, compat):
    """10.41: the order asked for; twice or unknown is an error; a column that a file lacks is null of its type."""
    (tmp_path / "t" / "_data").mkdir(parents=True)
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "t/_data/1.parquet")
    pq.write_table(pa.table({"b": ["z"]}), tmp_path / "t/_data/2.parquet")
    put_manifest(tmp_path / "t", [(["a", "b"], [("1.parquet", 0, 2), ("2.parquet", 0, 1)])])
    table = grebe.open(tmp_path / "t", compat=compat)
    assert_same(table.scan(columns=["b", "a"]), pa.table({"b": ["x", "y", "z"], "a": [1, 2, None]}))
    assert_same(table.take([2], columns=["a"]), pa.table({"a": pa.array([None], pa.int64())}))
    with pytest.raises(grebe.InvalidArgument):
        table.scan(columns=["a", "a"])
    with pytest.raises(grebe.NotFound, match="nope"):
        table.scan(columns=["a", "nope"])
    none = table.scan(columns=[])
    assert sum(b.num_rows for b in none) == 3


@pytest.mark.parametrize("begin, end", [(3, 3), (5, 3), (-1, 2), (-1, -1)])
def test_ranges_that_are_none(tmp_path, begin, end):
    """10.34: the reference refuses them when it scans; a range that is no range is refused by us in any case."""
    (tmp_path / "t" / "_data").mkdir(parents=True)
    pq.write_table(pa.table({"a": range(10)}), tmp_path / "t/_data/x.parquet")
    put_manifest(tmp_path / "t", [(["a"], [("x.parquet", begin, end), ("x.parquet", 0, 2)])])
    ran = run("scan", tmp_path / "t", "--compat", "milvus")
    assert one_line_error(ran, {5}) is None, ran
    ran = run("scan", tmp_path / "t")
    assert ran.code == (0 if begin == end >= 0 else 5)
    assert run("info", tmp_path / "t").code == 0


def test_formats_that_are_none(tmp_path):
    put_manifest(tmp_path / "t", [{"columns": ["a"], "format": "tape", "files": [{"path": "x", "start_index": 0, "end_index": 1, "properties": {}}]}])
    assert one_line_error(run("head", tmp_path / "t"), {6}) is None and run("info", tmp_path / "t").code == 0


def test_groups_that_do_not_fit(tmp_path, oracle):
    """10.43: unequal totals, and a group without files: an error in scan; a take of the reference's kind works."""
    (tmp_path / "t" / "_data").mkdir(parents=True)
    for name, n in (("a", 10), ("b", 7)):
        pq.write_table(pa.table({name: range(n)}), tmp_path / f"t/_data/{name}.parquet", store_schema=False)

    def theirs(groups):
        (tmp_path / "groups.json").write_text(json.dumps([
            {"columns": c, "format": "parquet", "files": [{"path": f"t/_data/{p}", "start_index": a, "end_index": b} for p, a, b in f]} for c, f in groups]))
        return oracle("read", tmp_path / "t", "--groups", tmp_path / "groups.json", "--out", tmp_path / "o.arrow", check=False).returncode
    uneven = [(["a"], [("a.parquet", 0, 10)]), (["b"], [("b.parquet", 0, 7)])]
    put_manifest(tmp_path / "t", uneven, 1)
    put_manifest(tmp_path / "t", [(["a"], [("a.parquet", 0, 10)]), (["b"], [])], 2)
    assert theirs(uneven) != 0
    for version in (1, 2):
        for compat in ("none", "milvus"):
            ran = run("scan", tmp_path / "t", "--version", version, "--compat", compat)
            assert one_line_error(ran, {5}) is None, (version, compat, ran)
    table = grebe.open(tmp_path / "t", 1, compat="milvus")
    assert table.take([0, 6]).to_pyarrow().to_pydict() == {"a": [0, 6], "b": [0, 6]}
    with pytest.raises(grebe.InvalidArgument):
        table.take([7])
    with pytest.raises(grebe.Corrupt):
        grebe.open(tmp_path / "t", 1)


def test_a_group_without_columns(tmp_path):
    """2.3: the reference's size_based policy leaves one; its rows do not count, and commits carry it along."""
    (tmp_path / "t" / "_data").mkdir(parents=True)
    pq.write_table(pa.table({"a": range(4)}), tmp_path / "t/_data/a.parquet")
    put_manifest(tmp_path / "t", [([], []), (["a"], [("a.parquet", 0, 4)])])
    for compat in (None, "milvus"):
        table = grebe.open(tmp_path / "t", compat=compat)
        assert table.num_rows == 4 and table.scan().to_pyarrow()["a"].to_pylist() == [0, 1, 2, 3]
        assert table.take([3]).to_pyarrow()["a"].to_pylist() == [3]
    table = grebe.open(tmp_path / "t").append({"a": [9]}, durable=False)
    assert table.scan().to_pyarrow()["a"].to_pylist() == [0, 1, 2, 3, 9]
    more = tmp_path / "more.parquet"
    pq.write_table(pa.table({"a": [5, 6]}), more)
    table = table.import_files(more, durable=False).add_columns({"b": range(7)}, durable=False)
    assert table.num_rows == 7 and [g["columns"] for g in record_of(tmp_path / "t", 4)["column_groups"]] == [[], ["a"], ["b"]]
    assert table.check(deep=True) == []


def test_conditions_of_compat_milvus(tmp_path):
    """10.46: on Parquet a condition is looked at and gives every row; one that makes no sense is an error."""
    rows = pa.table({"a": [1, 2, 3], "t": ["x", None, "z"]})
    grebe.create(tmp_path / "t", rows, durable=False, profile="milvus")
    table = grebe.open(tmp_path / "t", compat="milvus")
    for where in ("a > 2", "a = 1 and t = 'x'", "t > 5", "a = 'x'", "a in (7)", "not (a = 1)", '"a" <> 1 or t is null'):
        assert table.scan(where=where).to_pyarrow().num_rows == table.count(where) == 3, where
    for where, error in (("a >", grebe.InvalidArgument), ("nope = 1", grebe.NotFound), ("", grebe.InvalidArgument)):
        with pytest.raises(error):
            table.scan(where=where)
    with pytest.raises(grebe.SchemaMismatch):
        grebe.open(tmp_path / "t").scan(where="t > 5")


# ---- transactions as the reference's -----------------------------------------------------------------------------------

def test_transactions_of_compat_milvus(tmp_path):
    """10.16 to 10.21 on a table opened as the reference opens it."""
    rows = pa.table({"a": [1, 2]})
    grebe.create(tmp_path / "t", rows, durable=False, profile="milvus")
    table = grebe.open(tmp_path / "t", compat="milvus")
    with pytest.raises(grebe.InvalidArgument, match="nothing"):
        table.transaction(durable=False).commit()
    first, second = (table.transaction("fail", durable=False) for _ in range(2))
    first.append({"a": [3]})
    second.import_files([put_rows(tmp_path / "x.parquet", [4])])
    assert first.commit().version == 2
    with pytest.raises(grebe.Conflict, match="changed since version 1") as e:
        second.commit()
    assert (e.value.read_version, e.value.latest_version, e.value.retryable) == (1, 2, True)
    assert (tmp_path / "x.parquet").exists()   # data files of others are never removed, and commit anew
    third = grebe.open(tmp_path / "t").transaction("fail", durable=False)
    third.import_files([tmp_path / "x.parquet"])
    assert third.commit().scan().to_pyarrow()["a"].to_pylist() == [1, 2, 3, 4]
    # overwrite from version 1: version 4 is version 1 and the own changes
    over = grebe.open(tmp_path / "t", 1, compat="milvus").transaction("overwrite", durable=False)
    over.append({"a": [7]})
    assert over.commit().version == 4
    assert grebe.open(tmp_path / "t").scan().to_pyarrow()["a"].to_pylist() == [1, 2, 7]
    assert [grebe.open(tmp_path / "t", v).num_rows for v in (1, 2, 3, 4)] == [2, 3, 4, 3]
    with pytest.raises(grebe.NotFound):
        grebe.open(tmp_path / "t", 5)
    assert all(not k.startswith("grebe.") for v in (1, 2, 4) for k in record_of(tmp_path / "t", v)["stats"])


def put_rows(path, values):
    pq.write_table(pa.table({"a": pa.array(values, pa.int64())}), path)
    return path


def test_nothing_written_nothing_committed(tmp_path):
    """10.36: rows that never come make no version where the reference would make none."""
    empty = pa.table({"a": pa.array([], pa.int64())})
    with pytest.raises(grebe.InvalidArgument):
        grebe.create(tmp_path / "t", empty, durable=False, profile="milvus")
    assert not (tmp_path / "t").exists()
    table = grebe.create(tmp_path / "t", empty, durable=False)   # ours keeps the schema
    assert table.num_rows == 0 and not (tmp_path / "t" / "_data").exists() and table.schema.names == ["a"]


# ---- the reference writes, we read -------------------------------------------------------------------------------------

def random_rows(rng, n):
    wide = rng.randrange(1, 40)
    return pa.table({"id": pa.array(range(n)), "t": [None if rng.random() < 0.2 else "x" * rng.randrange(50) for _ in range(n)],
                     "f": [rng.random() for _ in range(n)], "v": pa.array([rng.randbytes(wide) for _ in range(n)], pa.binary(wide)),
                     "b": pa.array([rng.random() < 0.5 for _ in range(n)]), "l": [[k] * rng.randrange(4) for k in range(n)]})


@pytest.mark.parametrize("seed", range(6))
def test_tables_of_the_reference(tmp_path, oracle, seed):
    """Random policies, batches and file sizes: scan, chunks and take give what was written, and what it gives itself."""
    rng = random.Random(seed)
    data = random_rows(rng, rng.randrange(200, 3000))
    pq.write_table(data, tmp_path / "in.parquet")
    policy = rng.choice(["single", "size_based", "schema_based"])
    args = ["--policy", policy, "--batch-rows", rng.choice([17, 100, 1000]), "--prop", f"writer.file_rolling.size={rng.choice([2000, 20000, 1 << 31])}",
            "--prop", f"writer.buffer_size={rng.choice([1000, 30000, 33554432])}"]
    if policy == "size_based":
        args += ["--prop", f"writer.split.size_based.max_avg_column_size={rng.choice([5, 20, 100])}",
                 "--prop", f"writer.split.size_based.max_columns_in_group={rng.choice([1, 2, 5])}"]
    elif policy == "schema_based":
        args += ["--patterns", rng.choice(["id,t|f", "v,[a-f]", ".*"])]
    oracle("write", tmp_path / "ref" / "t", "--from", tmp_path / "in.parquet", *args, "--commit")
    for compat in (None, "milvus"):
        table = grebe.open(tmp_path / "ref" / "t", compat=compat)
        columns = table.schema.names
        assert sorted(columns) == sorted(data.column_names)
        assert_same(table.scan(batch_rows=rng.choice([1, 7, 8192])), data, columns)
        for group, g in enumerate(g for g in info(tmp_path / "ref" / "t")["groups"]):
            if g["columns"]:
                chunks = table.chunks(group)
                assert_same(pa.Table.from_batches([pa.record_batch(b) for b in chunks]), data, g["columns"])
        ids = sorted(rng.sample(range(data.num_rows), 100))
        assert_same(table.take(ids), data.take(ids), columns)
    want = [c for c in rng.sample(columns, 3)]
    rows = ",".join(map(str, ids))
    for parallelism in (1, 8):   # 10.44
        oracle("take", tmp_path / "ref" / "t", rows, "--columns", ",".join(want), "--parallelism", parallelism, "--out", tmp_path / "o.arrow")
        with pa.ipc.open_file(tmp_path / "o.arrow") as f:
            theirs = f.read_all()
        ran = run("take", tmp_path / "ref" / "t", "--rows", rows, "--columns", ",".join(want), "--compat", "milvus", "--threads", parallelism, "--format", "arrow")
        assert ran.code == 0, ran
        assert_same(ran.rows(), theirs.select(want).combine_chunks(), want)


def test_takes_that_are_refused(tmp_path, oracle):
    """10.44: what the reference refuses, --compat milvus refuses; nothing asked for is an empty batch with us."""
    pq.write_table(pa.table({"a": range(50)}), tmp_path / "in.parquet")
    oracle("write", tmp_path / "ref" / "t", "--from", tmp_path / "in.parquet", "--policy", "single", "--commit")
    for rows in ("3,1", "2,2", "50", "-1", "0,9999999999"):
        assert oracle("take", tmp_path / "ref" / "t", rows, check=False).returncode != 0, rows
        ran = run("take", tmp_path / "ref" / "t", "--rows=" + rows, "--compat", "milvus")
        assert one_line_error(ran, {2}) is None, (rows, ran)
    assert grebe.open(tmp_path / "ref" / "t", compat="milvus").take([]).num_rows == 0
    assert grebe.open(tmp_path / "ref" / "t").take([3, 1, 3]).to_pyarrow()["a"].to_pylist() == [3, 1, 3]
