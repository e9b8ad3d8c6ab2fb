# SPDX-License-Identifier: Apache-2.0
"""Entries of a manifest that Grebe keeps but does not look into: delete logs, statistics, indexes, LOB files. They survive
our commits field by field, and the reference's rules say which of them go."""
import io
import pathlib
import sys

import fastavro
import pyarrow as pa
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
from harness import info  # noqa: E402

import grebe  # noqa: E402


def record_of(table, version):
    raw = (pathlib.Path(table) / "_metadata" / f"manifest-{version}.avro").read_bytes()
    (record,) = fastavro.reader(io.BytesIO(raw))
    return record


def rows(begin=0, n=5):
    return pa.table({"id": range(begin, begin + n), "v": [float(i) for i in range(n)], "w": [str(i) for i in range(n)]})


FULL = dict(index_name="vec_idx", field_id=100, index_id=200, build_id=300, index_version=4, num_rows=1000, serialized_size=1024,
            mem_size=1 << 40, current_index_version=15, current_scalar_index_version=7, index_store_path_version=1,
            index_file_keys=["a", "b/c", ""], properties={"M": "16", "ef": "ü", "": "empty"})


@pytest.fixture(params=["open", "milvus"])
def filled(request, tmp_path):
    table = grebe.create(tmp_path / "t", rows(), durable=False, profile=request.param, groups=[["id"], ["v"], ["w"]])
    with table.transaction(durable=False, profile=request.param) as txn:
        txn.add_index("v", "hnsw", tmp_path / "t/_index/vec_hnsw", **FULL)
        txn.add_index("id", "inverted", "s3://elsewhere/x")
        txn.set_stat("bloom_filter.100", [tmp_path / "t/_stats/bf_100"], {"fpp": "0.01", "": "x", "long": "y" * 5000})
        txn.set_stat("a.1", [], None)
        txn.set_stat("bm25.101", ["/abs/1", tmp_path / "t/_stats/2"], {"memory_size": 5})
        for i in range(3):
            txn.add_delta_log(tmp_path / f"t/_delta/{9 - i}", (1 << 40) + i, type=i)
        txn.add_lob_file(tmp_path / "lobs/101/_data/x.vx", 101, 10, 9, 4096)
        txn.add_lob_file(tmp_path / "lobs/7/_data/x.vx", 7, 1 << 33, 0, 0)
    return txn.table, request.param


def others(record):
    """Everything but groups and our own statistics."""
    stats = {k: v for k, v in record["stats"].items() if not k.startswith("grebe.")}
    return record["delta_logs"], stats, record["indexes"], record["lob_files"]


def test_written_as_the_schema_says(filled, tmp_path):
    record = record_of(tmp_path / "t", 2)
    assert record["indexes"][0] == dict(FULL, column_name="v", index_type="hnsw", path="vec_hnsw")
    zero = dict.fromkeys(FULL, 0)
    assert record["indexes"][1] == dict(zero, column_name="id", index_type="inverted", path="s3://elsewhere/x", index_name="",
                                        index_file_keys=[], properties={})
    assert [(d["path"], d["type"], d["num_entries"]) for d in record["delta_logs"]] == [(str(9 - i), i, (1 << 40) + i) for i in range(3)]
    assert [k for k in record["stats"] if not k.startswith("grebe.")] == ["a.1", "bloom_filter.100", "bm25.101"]
    assert record["stats"]["bm25.101"] == {"paths": ["/abs/1", "2"], "metadata": {"memory_size": "5"}}
    assert record["stats"]["bloom_filter.100"]["paths"] == ["bf_100"] and len(record["stats"]["bloom_filter.100"]["metadata"]) == 3
    assert [f["path"] for f in record["lob_files"]] == ["101/_data/x.vx", "7/_data/x.vx"]
    assert info(tmp_path / "t")["delta_logs"][0]["path"] == str(tmp_path / "t/_delta/9")


def test_kept_by_later_commits(filled, tmp_path):
    table, profile = filled
    want = others(record_of(tmp_path / "t", 2))
    table = table.add_columns({"n": [1] * 5}, durable=False)
    assert others(record_of(tmp_path / "t", 3)) == want
    with table.transaction(durable=False, profile=profile) as txn:
        txn.set_stat("z.9", ["/z"])
    deltas, stats, indexes, lobs = others(record_of(tmp_path / "t", 4))
    assert (deltas, indexes, lobs) == (want[0], want[2], want[3]) and {k: stats[k] for k in want[1]} == want[1] and "z.9" in stats
    if profile == "open":
        table = txn.table.rename_column("w", "word", durable=False)
        assert others(record_of(tmp_path / "t", 5))[2] == want[2]
    # rows that come drop the indexes of the columns they come to, and nothing else
    table = grebe.open(tmp_path / "t")
    more = {c: pa.nulls(1, pa.int64()) if c == "n" else rows(9, 1)["w" if c == "word" else c] for c in table.schema.names}
    table.append(pa.table(more), durable=False)
    after = others(record_of(tmp_path / "t", table.version + 1))
    assert after[2] == [] and (after[0], after[3]) == (want[0], want[3]) and {k: after[1][k] for k in want[1]} == want[1]


def test_drop_column_takes_its_indexes(filled, tmp_path):
    table, profile = filled
    with table.transaction(durable=False, profile=profile) as txn:
        txn.drop_columns("v")
    record = record_of(tmp_path / "t", 3)
    assert [x["column_name"] for x in record["indexes"]] == ["id"] and [g["columns"] for g in record["column_groups"]] == [["id"], ["w"]]
    # drop and add in one transaction replaces the column
    with txn.table.transaction(durable=False, profile=profile) as txn:
        txn.drop_columns("w")
        txn.add_columns({"w": [b"new"] * 5}, compression="none")
    assert txn.table.scan(columns=["w"]).to_pyarrow()["w"].to_pylist() == [b"new"] * 5
    with pytest.raises(grebe.NotFound):
        txn.table.drop_columns("nothing", durable=False)
    with txn.table.transaction(durable=False, profile="milvus") as milvus:   # there an unknown name is nothing to do, and a commit
        milvus.drop_columns("nothing")
    assert milvus.table.version == 5 and record_of(tmp_path / "t", 5)["column_groups"] == record_of(tmp_path / "t", 4)["column_groups"]


def test_identity_of_indexes(filled, tmp_path):
    table, profile = filled
    with table.transaction(durable=False, profile=profile) as txn:
        txn.add_index("v", "ivf", "/i", index_id=200)               # of the same id: replaced
        txn.add_index("v", "ivf", "/j", index_id=201)               # another id on the same column and type
        txn.add_index("id", "inverted", "/k")                       # id 0: by column and type
        txn.add_index("id", "bitmap", "/l")
        txn.set_stat("a.1", ["/one"])
        txn.set_stat("a.1", ["/two"])
    record = record_of(tmp_path / "t", 3)
    assert [(x["index_id"], x["path"]) for x in record["indexes"]] == [(200, "/i"), (201, "/j"), (0, "/k"), (0, "/l")]
    assert record["stats"]["a.1"]["paths"] == ["/two"]
    with txn.table.transaction(durable=False, profile=profile) as txn:
        txn.drop_index(201)
        txn.drop_index(5)
    assert [x["index_id"] for x in record_of(tmp_path / "t", 4)["indexes"]] == [200, 0, 0]
    for call in (lambda t: t.drop_index(0), lambda t: t.set_stat("grebe.schema"), lambda t: t.set_stat(""), lambda t: t.add_delta_log("x", 1, 3),
                 lambda t: t.add_delta_log("x", -1), lambda t: t.add_group({"columns": [], "files": []}),
                 lambda t: t.append_files([{"columns": ["id"], "files": [{"path": "x", "row_begin": 3, "row_end": 2}]}])):
        txn = grebe.open(tmp_path / "t").transaction(durable=False)
        with pytest.raises(grebe.InvalidArgument):
            call(txn)
        txn.abort()


def test_files_as_they_are(tmp_path):
    """append_files and add_group: ranges and properties as given, positions and totals checked."""
    import pyarrow.parquet as pq
    pq.write_table(rows(0, 20), tmp_path / "a.parquet")
    pq.write_table(pa.table({"z": range(40)}), tmp_path / "z.parquet")

    def part(begin, end, columns=("w", "v", "id"), path="a.parquet"):
        return {"columns": list(columns), "files": [{"path": str(tmp_path / path), "row_begin": begin, "row_end": end,
                                                     "properties": {"file_size": (tmp_path / path).stat().st_size, "x": "y"}}]}
    table = grebe.import_files(tmp_path / "t", tmp_path / "a.parquet", durable=False)
    with table.transaction(durable=False) as txn:
        txn.append_files([part(3, 5)])   # another order of columns: the table's is kept
    assert txn.table.num_rows == 22 and txn.table.take([20, 21], columns=["id"]).to_pyarrow()["id"].to_pylist() == [3, 4]
    record = record_of(tmp_path / "t", 2)
    assert record["column_groups"][0]["columns"] == ["id", "v", "w"] and record["column_groups"][0]["files"][1]["properties"]["x"] == "y"
    for bad, match in ((part(0, 5, ["id", "v"]), "columns"), (dict(part(0, 5), format="vortex"), "format")):
        with pytest.raises(grebe.SchemaMismatch, match=match):
            with txn.table.transaction(durable=False) as failing:
                failing.append_files([bad])
    with pytest.raises(grebe.SchemaMismatch, match="groups"):
        with txn.table.transaction(durable=False) as failing:
            failing.append_files([part(0, 5), part(0, 5)])
    with pytest.raises(grebe.SchemaMismatch, match="expected 22 rows"):
        with txn.table.transaction(durable=False) as failing:
            failing.add_group(part(0, 21, ["z"], "z.parquet"))
    with pytest.raises(grebe.Exists):
        with txn.table.transaction(durable=False) as failing:
            failing.add_group(part(0, 22, ["id"], "a.parquet"))
    with txn.table.transaction(durable=False) as adding:
        adding.add_group(part(10, 32, ["z"], "z.parquet"))
    assert adding.table.schema.names == ["id", "v", "w", "z"] and adding.table.scan(columns=["z"]).to_pyarrow()["z"].to_pylist() == list(range(10, 32))
    assert record_of(tmp_path / "t", 3)["column_groups"][-1]["columns"] == ["z"]
    assert sorted(p.name for p in (tmp_path / "t" / "_metadata").iterdir()) == [f"manifest-{i}.avro" for i in (1, 2, 3)]
