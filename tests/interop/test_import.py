# SPDX-License-Identifier: Apache-2.0
"""Files of others taken into a table in place: `grebe import`, grebe.import_files, Table.import_files."""
import os
import pathlib
import shutil
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "tools"))
from harness import assert_same, info, one_line_error, run  # noqa: E402

import grebe  # noqa: E402


def rows(begin, n):
    return pa.table({"id": pa.array(range(begin, begin + n), pa.int64()),
                     "word": pa.array([None if i % 5 == 3 else f"w{i}" for i in range(begin, begin + n)], pa.string()),
                     "v": pa.array([[float(i), -1.0] for i in range(begin, begin + n)], pa.list_(pa.float32(), 2))})


def put(path, table, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)
    return path


@pytest.fixture
def files(tmp_path):
    return [put(tmp_path / "in" / f"{i}.parquet", rows(10 * i, 10), row_group_size=4) for i in range(3)]


def paths_of(table):
    return [[f["path"] for f in g["files"]] for g in info(table)["groups"]]


def test_new_table_of_plain_files(tmp_path, files):
    before = [f.read_bytes() for f in files]
    table = grebe.import_files(tmp_path / "t", files, durable=False, check=True)
    assert (table.version, table.num_rows) == (1, 30) and not (tmp_path / "t" / "_data").exists()
    assert_same(table.scan(), rows(0, 30))
    assert_same(table.take([29, 0, 11]), rows(0, 30).take([29, 0, 11]))
    assert paths_of(tmp_path / "t") == [[str(f) for f in files]]
    assert table.check(deep=True) == [] and [f.read_bytes() for f in files] == before
    # written rows and further files follow, in either order
    table = table.append(rows(30, 3), durable=False)
    more = put(tmp_path / "in" / "more.parquet", rows(33, 4).select(["v", "id", "word"]))
    table = table.import_files(more, durable=False)
    assert_same(table.scan(), rows(0, 37))
    assert [e["operation"] for e in table.log()] == ["import", "append", "create"]
    by_pattern = grebe.import_files(tmp_path / "p", tmp_path / "in" / "[0-9].parquet", durable=False)
    assert paths_of(tmp_path / "p") == [[str(f) for f in files]] and by_pattern.num_rows == 30
    with pytest.raises(grebe.NotFound):
        by_pattern.import_files(str(tmp_path / "no*.parquet"), durable=False)


def test_rows_for_every_group(tmp_path, files):
    """One file serves all groups of a table; what is in it and what not is seen by name."""
    table = grebe.create(tmp_path / "t", rows(0, 5), durable=False, groups=[["word"], ["v", "id"]])
    table = table.import_files(files, durable=False)
    want = pa.concat_tables([rows(0, 5), rows(0, 30)])
    assert_same(table.scan(), want, table.schema.names)
    assert_same(table.take([34, 0, 5, 5]), want.take([34, 0, 5, 5]), table.schema.names)
    found = info(tmp_path / "t")
    written = sum(p.stat().st_size for p in (tmp_path / "t" / "_data").iterdir())
    assert found["bytes"] == written + sum(f.stat().st_size for f in files)   # each file once, though two groups list it
    narrow = put(tmp_path / "in" / "narrow.parquet", pa.table({"id": pa.array([7, 8], pa.int32()), "v": rows(0, 2)["v"]}))
    table = table.import_files(narrow, durable=False)
    tail = table.scan(rows=(35, 37)).to_pyarrow()
    assert tail["id"].to_pylist() == [7, 8] and tail["word"].to_pylist() == [None, None] and tail["id"].type == pa.int64()
    empty = grebe.create(tmp_path / "empty", rows(0, 0), durable=False)
    assert_same(empty.import_files(files[0], durable=False).scan(), rows(0, 10), empty.schema.names)


def test_new_columns(tmp_path, files):
    table = grebe.import_files(tmp_path / "t", files, durable=False)
    parts = [put(tmp_path / "in" / f"n{i}.parquet", pa.table({"norm": [float(i)] * 15, "other": [i] * 15})) for i in range(2)]
    with pytest.raises(grebe.SchemaMismatch, match="expected 30 rows.*found 15"):
        table.import_files(parts[:1], durable=False)
    table = table.import_files(parts, columns=["norm"], durable=False)
    assert table.schema.names == ["id", "word", "v", "norm"]
    assert table.scan(columns=["norm"]).to_pyarrow()["norm"].to_pylist() == [0.0] * 15 + [1.0] * 15
    # the other column of the same files later; rows of a file that the table has are refused
    table = table.import_files(parts, columns=["other"], durable=False)
    assert table.scan(columns=["other"]).to_pyarrow()["other"].to_pylist() == [0] * 15 + [1] * 15
    with pytest.raises(grebe.Exists, match="0.parquet"):
        table.import_files(files[:1], durable=False)
    # rows and columns together: the transaction is all or nothing
    with grebe.import_files(tmp_path / "u", files[:1], durable=False).transaction(durable=False) as txn:
        txn.import_files(files[1:])
        txn.import_files(put(tmp_path / "in" / "z.parquet", pa.table({"z": range(30)})))
    assert txn.table.version == 2 and txn.table.scan(columns=["z"]).to_pyarrow()["z"].to_pylist() == list(range(30))
    assert_same(txn.table.scan(columns=["id", "word", "v"]), rows(0, 30))


def test_paths_move_with_the_table(tmp_path, files):
    inside = tmp_path / "t" / "_data"
    inside.mkdir(parents=True)
    shutil.copy(files[0], inside / "a.parquet")
    (inside / "sub").mkdir()
    shutil.copy(files[1], inside / "sub" / "b.parquet")
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        ran = run("import", "t", "./t/_data/a.parquet", tmp_path / "t/_data/../_data/sub/b.parquet", "in/2.parquet")
        assert ran.code == 0, ran
    finally:
        os.chdir(here)
    assert paths_of(tmp_path / "t") == [[str(inside / "a.parquet"), str(inside / "sub/b.parquet"), str(files[2])]]
    os.rename(tmp_path / "t", tmp_path / "moved")
    assert_same(grebe.open(tmp_path / "moved").scan(), rows(0, 30))
    os.rename(files[2], tmp_path / "gone")
    ran = run("scan", tmp_path / "moved")
    assert one_line_error(ran, {5}) is None and "2.parquet" in ran.message


@pytest.mark.parametrize("change, words", [
    (lambda t: t.set_column(0, "id", t["id"].cast(pa.string())), ['"id"', "expected int64", "found string"]),
    (lambda t: t.drop_columns(["word"]), ['"word"', "expected it", "found none"]),
    (lambda t: t.append_column("x", t["id"]), ['"x"', "none of this name"]),
    (lambda t: t.rename_columns(["id", "id", "v"]), ["id"]),
])
def test_files_that_differ_are_refused(tmp_path, files, change, words):
    odd = put(tmp_path / "in" / "odd.parquet", change(rows(0, 3)))
    ran = run("import", tmp_path / "t", files[0], odd)
    assert one_line_error(ran, {11}) is None, ran
    assert all(w in ran.message for w in ["odd.parquet"] + words), ran.message
    assert not (tmp_path / "t").exists()
    table = grebe.import_files(tmp_path / "t", files[0], durable=False)
    if "expected it" not in words:   # a nullable column may be missing in rows that come later
        with pytest.raises(grebe.SchemaMismatch):
            table.import_files(odd, durable=False)
        assert grebe.open(tmp_path / "t").version == 1


def test_what_the_table_does_not_allow(tmp_path, files):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("word", pa.string(), nullable=False)])
    table = grebe.create(tmp_path / "t", pa.table({"id": [1], "word": ["x"]}, schema=schema), durable=False)
    full = rows(4, 3).select(["id", "word"])
    full = full.set_column(1, "word", pa.array(["a", "b", "c"]))
    table = table.import_files(put(tmp_path / "in/full.parquet", full), durable=False)   # nullable, but no nulls: known of statistics
    assert table.num_rows == 4
    nulls = put(tmp_path / "in/nulls.parquet", rows(0, 10).select(["id", "word"]), write_statistics=False)
    for words, options in ((["word", "no nulls", "found 2"], {}),):
        with pytest.raises(grebe.SchemaMismatch) as e:
            table.import_files(nulls, durable=False, **options)
        assert all(w in str(e.value) for w in words)
    with pytest.raises(grebe.SchemaMismatch, match="expected it .it is not nullable"):
        table.import_files(nulls, columns=["id"], durable=False)
    table = table.rename_column("word", "name", durable=False)
    with pytest.raises(grebe.SchemaMismatch, match="word"):
        table.import_files(put(tmp_path / "in/renamed.parquet", full.rename_columns(["id", "name"])), durable=False)
    with pytest.raises(grebe.NotFound):
        table.import_files(files, columns=["id", "nothing"], durable=False)


def test_mistakes_and_damage(tmp_path, files):
    assert run("import", tmp_path / "t", tmp_path / "in/none.parquet").code == 3
    (tmp_path / "in" / "x.csv").write_text("a,b\n1,2\n")
    assert one_line_error(run("import", tmp_path / "t", tmp_path / "in" / "x.csv"), {6}) is None
    assert run("import", tmp_path / "t", files[0], files[0]).code == 4
    bad = bytearray(files[1].read_bytes())
    meta = pq.read_metadata(files[1])
    at = meta.row_group(1).column(0).data_page_offset + meta.row_group(1).column(0).total_compressed_size - 2
    bad[at] ^= 0xFF
    files[1].write_bytes(bad)
    assert not (tmp_path / "t").exists()
    ran = run("import", tmp_path / "t", *files, "--check")
    if ran.code != 0:   # what lies in the flipped byte decides whether a reader without checksums can see it
        assert one_line_error(ran, {5}) is None and "1.parquet" in ran.message
    files[1].write_bytes(bytes(bad[:-5]))
    ran = run("import", tmp_path / "u", *files)
    assert one_line_error(ran, {5}) is None and "1.parquet" in ran.message and not (tmp_path / "u").exists()
    pq.write_table(rows(0, 10), files[1], write_page_checksum=True)
    bad = bytearray(files[1].read_bytes())
    bad[60] ^= 1
    files[1].write_bytes(bad)
    ran = run("import", tmp_path / "w", *files, "--check")
    assert one_line_error(ran, {5}) is None and "1.parquet" in ran.message
    assert run("import", tmp_path / "w", *files).code == 0   # unchecked: footers only


def test_profile_milvus(tmp_path, files):
    """Only what the reference knows is written; nothing is cast for it."""
    table = grebe.import_files(tmp_path / "t", files, durable=False, profile="milvus")
    assert table.num_rows == 30 and info(tmp_path / "t")["has_stored_schema"] is False
    with pytest.raises(grebe.SchemaMismatch, match="expected int64, found int32"):
        narrow = put(tmp_path / "in/narrow.parquet", pa.table({"id": pa.array([7], pa.int32())}))
        with table.transaction(durable=False, profile="milvus") as txn:
            txn.import_files(narrow)
    with pytest.raises(grebe.SchemaMismatch, match="expected int64, found int32"):
        with table.transaction(durable=False) as txn:   # the table has no stored schema: others read it too
            txn.import_files(narrow)
    assert_same(grebe.open(tmp_path / "t", compat="milvus").scan(), rows(0, 30))


def test_files_without_rows(tmp_path):
    none = put(tmp_path / "none.parquet", rows(0, 0))
    table = grebe.import_files(tmp_path / "t", none, durable=False)
    assert table.num_rows == 0 and table.schema.names == ["id", "word", "v"]
    some = put(tmp_path / "some.parquet", rows(0, 2))
    table = table.import_files([some, put(tmp_path / "none2.parquet", rows(0, 0))], durable=False)
    assert_same(table.scan(), rows(0, 2)) and paths_of(tmp_path / "t") == [[str(some)]]


def test_imports_at_once(tmp_path, files):
    """Rows that two import from one version both arrive; what does not commute any more is a conflict."""
    table = grebe.create(tmp_path / "t", rows(0, 5), durable=False)
    first, second, third = (table.transaction(durable=False) for _ in range(3))
    first.import_files(files[0])
    second.import_files(files[1:])
    third.import_files(put(tmp_path / "in" / "z.parquet", pa.table({"z": range(5)})))
    assert (first.commit().version, second.commit().version) == (2, 3)
    now = grebe.open(tmp_path / "t")
    assert_same(now.scan(), pa.concat_tables([rows(0, 5), rows(0, 10), rows(10, 20)]), now.schema.names)
    with pytest.raises(grebe.Conflict, match="5 rows"):   # the column was made for the rows of then
        third.commit()
    fourth = now.transaction(durable=False)
    fourth.import_files(put(tmp_path / "in" / "more.parquet", rows(30, 2)))
    now.drop_columns("word", durable=False)
    with pytest.raises(grebe.Conflict, match="word"):
        fourth.commit()
    with pytest.raises(grebe.Conflict):
        now.import_files(put(tmp_path / "in" / "more2.parquet", rows(30, 2)), on_conflict="fail", durable=False)
    assert grebe.open(tmp_path / "t").version == 4 and all(f.exists() for f in files)


def test_the_engine_reads_one_file_for_many_groups(tmp_path, oracle):
    """What an import makes of a table of two groups, read by Milvus's engine by its own rules."""
    import json
    data = rows(0, 40).select(["id", "word"])
    table = grebe.create(tmp_path / "t", data.slice(0, 10), durable=False, profile="milvus", groups=[["word"], ["id"]])
    inside = put(tmp_path / "t" / "_data" / "theirs.parquet", data.slice(10), compression="zstd", row_group_size=7)
    with table.transaction(durable=False, profile="milvus") as txn:
        txn.import_files(inside)
    assert_same(txn.table.scan(columns=["id", "word"]), data)
    groups = [{"columns": g["columns"], "format": "parquet",
               "files": [{"path": "t/_data/" + pathlib.Path(f["path"]).name, "start_index": f["file_row_begin"],
                          "end_index": f["file_row_begin"] + f["row_end"] - f["row_begin"]} for f in g["files"]]}
              for g in info(tmp_path / "t")["groups"]]
    assert [len(g["files"]) for g in groups] == [2, 2] and groups[0]["files"][1]["path"] == groups[1]["files"][1]["path"]
    (tmp_path / "groups.json").write_text(json.dumps(groups))
    oracle("read", tmp_path / "t", "--groups", tmp_path / "groups.json", "--out", tmp_path / "o.arrow")
    with pa.ipc.open_file(tmp_path / "o.arrow") as f:
        got = f.read_all().combine_chunks()
    assert_same(got.select(["id", "word"]), data)
    oracle("take", tmp_path / "t", "0,10,39", "--groups", tmp_path / "groups.json", "--out", tmp_path / "k.arrow")
    with pa.ipc.open_file(tmp_path / "k.arrow") as f:
        assert_same(f.read_all().combine_chunks().select(["id", "word"]), data.take([0, 10, 39]))
