# SPDX-License-Identifier: Apache-2.0
"""Tables that Grebe wrote, read by everybody else: pyarrow, DuckDB and Polars the data files, fastavro the manifests,
Milvus's own engine the files of --profile milvus; and commits of another program on top of ours."""
import argparse
import hashlib
import io
import json
import os
import pathlib
import re
import sys

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
sys.path.insert(0, str(HERE))
import avro_check  # noqa: E402
import parquet_check  # noqa: E402
from harness import assert_same, info, run  # noqa: E402
from test_parquet_written import lists, nested, scalars, table_of  # noqa: E402

import grebe  # noqa: E402

SCHEMA_SHA256 = "c669d92afe76d5a9339d6f89154f7b6c569af3a85623e92150208a18dac23143"
DATA_NAME = re.compile(r"^[0-9]+_[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\.(parquet|vortex)$")
PEERS = argparse.Namespace(twin=None, no_twin=True, peers=["pyarrow", "duckdb", "polars"], may_refuse=[], verbose=False)


def data(n, seed=1, share=0.1):
    columns = scalars(n, share, seed)
    columns.update(lists(n, share, seed + 1))
    columns["vector"] = pa.FixedSizeListArray.from_arrays(
        pa.array(np.random.default_rng(seed).standard_normal(n * 32).astype("f4")), 32)
    return table_of(columns, required=("id", "vector"))


pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")


def plain(table):
    """Dictionaries are one producer's way to hold values: a table keeps the values."""
    columns = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table.combine_chunks().columns]
    return pa.table(columns, names=table.column_names)


def refusals(path):
    """Peers that cannot read a type that Parquet has: the file is checked by the others."""
    types = {str(f.type) for f in pq.read_schema(path)}
    refuse = []
    if any(t.startswith(("duration", "map")) or t == "null" for t in types):
        refuse.append("polars")
    return refuse


def manifest_bytes(table, version):
    return (pathlib.Path(table) / "_metadata" / f"manifest-{version}.avro").read_bytes()


def manifest_of(table, version):
    (record,) = fastavro.reader(io.BytesIO(manifest_bytes(table, version)))
    return record


def check_folder(table):
    """Names, manifests and data files of every version, by hand and by the peers."""
    table = pathlib.Path(table)
    versions = sorted(int(p.name[9:-5]) for p in (table / "_metadata").iterdir())
    assert versions == list(range(1, len(versions) + 1))
    seen = set()
    for version in versions:
        path = table / "_metadata" / f"manifest-{version}.avro"
        avro_check.check(str(path), argparse.Namespace(schema=False, json=False, twin=None))
        header, blocks = avro_check.container(path.read_bytes())
        assert len(blocks) == 1 and blocks[0][0] == 1
        assert hashlib.sha256(header["avro.schema"]).hexdigest() == SCHEMA_SHA256 and header["avro.codec"] == b"null"
        assert set(header) <= {"avro.schema", "avro.codec", "grebe.message", "grebe.operation", "grebe.parent", "grebe.time",
                               "grebe.writer"}
        record = manifest_of(table, version)
        for key in record["stats"]:
            assert key.startswith("grebe."), key
        for group in record["column_groups"]:
            for entry in group["files"]:
                assert DATA_NAME.match(entry["path"]), entry["path"]
                file = table / "_data" / entry["path"]
                raw = file.read_bytes()
                assert (entry["start_index"], entry["end_index"]) == (0, pq.read_metadata(file).num_rows)
                assert int(entry["properties"]["file_size"]) == len(raw)
                assert int(entry["properties"]["footer_size"]) == int.from_bytes(raw[-8:-4], "little") + 8
                assert [c for c in pq.read_schema(file).names if c in group["columns"]] == group["columns"]
                seen.add(entry["path"])
    assert seen == {p.name for p in (table / "_data").iterdir()} if (table / "_data").exists() else not seen
    for name in sorted(seen):
        path = str(table / "_data" / name)
        notes = []
        parquet_check.check(path, argparse.Namespace(**dict(vars(PEERS), may_refuse=refusals(path))), notes)
    return versions


def files_of(table):
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in (pathlib.Path(table) / "_data").iterdir()}


def peers_rows(table, version):
    """A version's rows put together by pyarrow from the manifest as fastavro reads it."""
    columns = {}
    for group in manifest_of(table, version)["column_groups"]:
        parts = [pq.read_table(pathlib.Path(table) / "_data" / f["path"]).slice(f["start_index"], f["end_index"] - f["start_index"])
                 for f in group["files"]]
        if parts:
            rows = pa.concat_tables([p.replace_schema_metadata(None) for p in parts])
            columns.update({c: rows[c] for c in group["columns"]})
    return columns


@pytest.mark.parametrize("profile", ["open", "milvus"])
@pytest.mark.parametrize("n", [0, 1, 700])
def test_all_types(tmp_path, n, profile):
    rows = data(n)
    if profile == "milvus":   # without a stored schema types are what the files say, as for the reference
        rows = rows.drop_columns([c for c in rows.column_names if c in ("none",)])
        if n == 0:
            with pytest.raises(grebe.InvalidArgument):
                grebe.create(tmp_path / "t", rows, durable=False, profile=profile)
            return
    table = grebe.create(tmp_path / "t", rows, durable=False, profile=profile)
    got = pa.table(table.scan())
    if profile == "open":
        assert_same(got, plain(rows))
    else:
        assert_same(got.select(["id", "word", "f64", "bin"]), plain(rows), ["id", "word", "f64", "bin"])
    take = np.random.default_rng(n).integers(0, n, 50) if n else []
    assert_same(table.take(take), got.take(pa.array(take, pa.int64())))
    assert check_folder(tmp_path / "t") == [1] and table.check(deep=True) == []
    theirs = peers_rows(tmp_path / "t", 1)
    for name in theirs:
        assert parquet_check.same_values(theirs[name], got[name], name) is None


@pytest.mark.parametrize("share", [0, 0.3])
def test_nested_types(tmp_path, share):
    rows = table_of(nested(200, share, 5))
    table = grebe.create(tmp_path / "t", rows, durable=False)
    assert_same(table.scan(), rows)
    assert_same(table.take([7, 199, 0, 7]), rows.take([7, 199, 0, 7]))
    check_folder(tmp_path / "t")


def test_life_of_a_table(tmp_path):
    """create, append, add a column, drop, rename, append again, tag: old versions and files stay as they were."""
    path = tmp_path / "t"
    first, second, third = data(300, 1), data(41, 2), data(7, 3)
    table = grebe.create(path, first, durable=False, groups=[["id", "word"], ["vector", "b"]], message="one")
    states = [plain(first)]
    files = files_of(path)
    table = table.append(second, durable=False)
    states.append(pa.concat_tables([plain(first), plain(second)]))
    norm = pa.array(np.arange(341) / 7.0)
    table = table.add_columns({"norm": norm}, durable=False)
    states.append(states[-1].append_column("norm", norm))
    table = table.drop_columns(["text", "ragged"], durable=False)
    states.append(states[-1].drop_columns(["text", "ragged"]))
    table = table.rename_column("word", "the word", durable=False)
    states.append(states[-1].rename_columns(["the word" if c == "word" else c for c in states[-1].column_names]))
    more = plain(third).drop_columns(["text", "ragged"])
    more = more.rename_columns(["the word" if c == "word" else c for c in more.column_names])
    more = more.append_column("norm", pa.nulls(7, pa.float64()))
    table = table.append(more, durable=False)
    states.append(pa.concat_tables([states[-1], more.select(states[-1].column_names)]))
    # a column of the old name again: other files, other values
    again = pa.array([f"new {i}" for i in range(348)])
    table = table.add_columns({"word": again}, durable=False, message="again")
    states.append(states[-1].append_column("word", again))
    table.tag("now", 7)

    assert table.versions() == [1, 2, 3, 4, 5, 6, 7] and check_folder(path) == table.versions()
    assert [e["operation"] for e in table.log()] == ["add-column", "append", "rename-column", "drop-column", "add-column", "append",
                                                     "create"]
    for version, want in enumerate(states, 1):
        at = grebe.open(path, version)
        columns = at.schema.names
        assert sorted(columns) == sorted(want.column_names)
        assert_same(at.scan(), want, columns)
        rows = np.random.default_rng(version).integers(0, want.num_rows, 60)
        assert_same(at.take(rows), want.take(rows), columns)
        assert at.check(deep=True) == []
    assert_same(grebe.open(path, "now").scan(), states[-1], table.schema.names)
    after = files_of(path)
    assert {k: after[k] for k in files} == files
    assert [len(g["columns"]) for g in info(path, "--version", "1")["groups"]][:2] == [2, 2]


def test_wide_and_odd_names(tmp_path):
    names = ["a.b", "with space", "ünïcode", 'quo"te', "100", "select", "x" * 300, " ", "tab\there", "new\nline", "𝕏", "a.b.c", "a",
             "list", "element", "item", "[0]", "back\\slash", "per%cent", "..", "/"]
    odd = pa.table({name: pa.array([i, None, i + 1], pa.int32()) for i, name in enumerate(names)})
    table = grebe.create(tmp_path / "odd@name ü", odd, durable=False, groups=[[n] for n in names[:5]])
    assert_same(table.scan(), odd)
    table = table.rename_column("a.b", "now.a.b", durable=False).append(odd.rename_columns(["now.a.b"] + names[1:]), durable=False)
    assert table.num_rows == 6 and check_folder(tmp_path / "odd@name ü") == [1, 2, 3]
    wide = pa.table({f"c{i}": pa.array([i, i + 1]) for i in range(1000)})
    table = grebe.create(tmp_path / "wide", wide, durable=False)
    assert_same(table.scan(), wide)
    assert_same(table.take([1, 0, 1]), wide.take([1, 0, 1]))
    # one group a column: a thousand files
    groups = grebe.create(tmp_path / "groups", wide, durable=False, groups=[[c] for c in wide.column_names])
    assert_same(groups.scan(), wide)
    assert_same(groups.take([1, 0, 1], columns=["c999", "c0"]), wide.select(["c999", "c0"]).take([1, 0, 1]))
    assert len(files_of(tmp_path / "groups")) == 1000
    assert check_folder(tmp_path / "wide") == [1]


# ---- profile milvus --------------------------------------------------------------------------------------------------

def long(v):
    v = (v << 1) ^ (v >> 63)
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def text(s):
    raw = s.encode() if isinstance(s, str) else s
    return long(len(raw)) + raw


def block(items):
    return long(len(items)) + b"".join(items) + b"\0" if items else b"\0"


def encode_manifest(groups):
    """The body of a manifest with nothing but groups, from the specification alone."""
    def file(path, rows, properties):
        return text(path) + long(0) + long(rows) + block([text(k) + text(v) for k, v in sorted(properties.items())])
    return block([block([text(c) for c in columns]) + block([file(*f) for f in files]) + text("parquet")
                  for columns, files in groups]) + b"\0" * 4


def milvus_rows(n, seed=3):
    rng = np.random.default_rng(seed)
    pick = lambda v: None if rng.random() < 0.2 else v
    return pa.table({
        "id": pa.array(np.arange(n)),
        "flag": pa.array([pick(bool(i % 3)) for i in range(n)]),
        "small": pa.array([pick(i % 100) for i in range(n)], pa.int8()),
        "rank": pa.array([pick(i) for i in range(n)], pa.int32()),
        "f": pa.array([pick(float(np.float32(x))) for x in rng.standard_normal(n)], pa.float32()),
        "d": pa.array([float("nan") if i % 9 == 0 else -0.0 if i % 9 == 1 else float(i) for i in range(n)]),
        "text": pa.array([pick(f"tëxt {i}" * (i % 4)) for i in range(n)]),
        "blob": pa.array([pick(rng.bytes(i % 50)) for i in range(n)], pa.binary()),
        "tags": pa.array([pick([pick(int(k)) for k in range(i % 4)]) for i in range(n)], pa.list_(pa.int64())),
        "vector": pa.array([rng.bytes(64) for _ in range(n)], pa.binary(64)),
        "array": pa.array([[float(np.float32(x)) for x in rng.standard_normal(8)] for _ in range(n)], pa.list_(pa.float32(), 8))})


def test_profile_milvus_manifest_is_the_references(tmp_path):
    rows = milvus_rows(500)
    grebe.create(tmp_path / "one", rows, durable=False, profile="milvus", message="not kept")
    grebe.create(tmp_path / "two", rows, durable=False, profile="milvus", groups=[["vector"], ["id", "text"]])
    for name, groups in (("one", [rows.column_names]), ("two", [["vector"], ["id", "text"], None])):
        raw = manifest_bytes(tmp_path / name, 1)
        header, ((count, body),) = avro_check.container(raw)
        assert list(header) == ["avro.codec", "avro.schema"] and raw[33:35] == b"\x82\x26"
        assert hashlib.sha256(header["avro.schema"]).hexdigest() == SCHEMA_SHA256
        assert raw[2485:] == long(1) + text(body) + raw[2469:2485] and len(raw) == 2485 + 1 + len(text(body)) + 16
        record = manifest_of(tmp_path / name, 1)
        want = []
        for group, columns in zip(record["column_groups"], groups, strict=True):
            columns = columns or [c for c in rows.column_names if not any(c in g for g in groups if g)]
            (entry,) = group["files"]
            path = tmp_path / name / "_data" / entry["path"]
            size = path.stat().st_size
            footer = int.from_bytes(path.read_bytes()[-8:-4], "little") + 8
            want.append((columns, [(entry["path"], 500, {"file_size": str(size), "footer_size": str(footer)})]))
        assert body == encode_manifest(want)
    check_folder(tmp_path / "one")
    # the empty manifest and the worked example have the sizes that the specification names
    assert 2485 + 1 + len(text(encode_manifest([]))) + 16 == 2508
    assert len(encode_manifest([(["id", "name"], [("0_a.parquet", 3, {"file_size": "1234", "footer_size": "567"})])])) == 73


def test_profile_milvus_data_files(tmp_path):
    """Footer keys, levels, codecs and row groups as the reference writes them."""
    n, dim = 40_000, 128
    rng = np.random.default_rng(5)
    rows = pa.table({"id": pa.array(np.arange(n)), "name": pa.array([f"name_{i}" for i in range(n)]), "value": pa.array(np.arange(n) * 0.5),
                     "vector": pa.FixedSizeBinaryArray.from_buffers(pa.binary(dim * 4), n, [None, pa.py_buffer(rng.bytes(n * dim * 4))])})
    table = grebe.create(tmp_path / "t", rows, durable=False, profile="milvus")
    (name,) = files_of(tmp_path / "t")
    file = pq.ParquetFile(tmp_path / "t" / "_data" / name)
    metadata = file.metadata.metadata
    assert set(metadata) == {b"row_group_metadata", b"storage_version"} and metadata[b"storage_version"] == b"1.0.0"
    footer = (tmp_path / "t" / "_data" / name).read_bytes()[-100_000:]
    assert footer.rindex(b"row_group_metadata") < footer.rindex(b"storage_version")
    entries = [tuple(map(int, e.split("|"))) for e in metadata[b"row_group_metadata"].decode().split(";")]
    assert len(entries) == file.num_row_groups and file.num_row_groups > 15
    assert [e[1] for e in entries] == [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert [e[2] for e in entries] == np.cumsum([0] + [e[1] for e in entries])[:-1].tolist()
    assert all(1 << 20 <= e[0] <= 1.1 * (1 << 20) for e in entries[:-1]), entries
    vector = file.metadata.row_group(0).column(3)
    assert vector.compression == "UNCOMPRESSED" and not vector.is_stats_set
    assert file.metadata.row_group(0).column(0).compression == "ZSTD" and file.metadata.row_group(0).column(0).is_stats_set
    assert file.schema_arrow.metadata is None or b"ARROW:schema" not in file.schema_arrow.metadata
    rows_taken = rng.integers(0, n, 100)
    assert_same(table.take(rows_taken), rows.take(rows_taken))
    more = milvus_rows(100)
    more = more.cast(pa.schema([f.with_metadata({"PARQUET:field_id": str(100 + i)}) for i, f in enumerate(more.schema)]))
    grebe.create(tmp_path / "u", more, durable=False, profile="milvus")
    (name,) = files_of(tmp_path / "u")
    file = pq.ParquetFile(tmp_path / "u" / "_data" / name)
    assert "tags.list.element" in [file.schema.column(i).path for i in range(len(more.schema))]
    assert [f.metadata[b"PARQUET:field_id"] for f in file.schema_arrow] == [str(100 + i).encode() for i in range(len(more.schema))]


@pytest.mark.parametrize("groups", [None, [["vector"], ["id", "text", "f"], ["blob", "tags"]]], ids=["one_group", "three_groups"])
def test_the_engine_reads_files_of_profile_milvus(tmp_path, oracle, groups):
    rows = milvus_rows(2500)
    table = grebe.create(tmp_path / "t", rows.slice(0, 2000), durable=False, profile="milvus", groups=groups)
    table = table.append(rows.slice(2000), durable=False, profile="milvus")
    record = manifest_of(tmp_path / "t", 2)
    handed = [{"columns": g["columns"], "format": g["format"],
               "files": [{"path": f"t/_data/{f['path']}", "start_index": f["start_index"], "end_index": f["end_index"]} for f in g["files"]]}
              for g in record["column_groups"]]
    (tmp_path / "groups.json").write_text(json.dumps(handed))
    columns = [c for g in handed for c in g["columns"]]
    want = rows.set_column(rows.schema.get_field_index("array"), "array", rows["array"].cast(pa.list_(pa.float32())))
    oracle("read", tmp_path / "t", "--groups", tmp_path / "groups.json", "--out", tmp_path / "scan.parquet")
    assert_same(pq.read_table(tmp_path / "scan.parquet"), want, columns)
    ids = sorted(np.random.default_rng(1).choice(2500, 40, replace=False).tolist())
    oracle("take", tmp_path / "t", ",".join(map(str, ids)), "--groups", tmp_path / "groups.json", "--out", tmp_path / "take.parquet")
    assert_same(pq.read_table(tmp_path / "take.parquet"), want.take(ids), columns)
    # and what grebe reads of it, in both semantics, is the same
    for compat in (None, "milvus"):
        assert_same(grebe.open(tmp_path / "t", compat=compat).scan(), want, columns)


def test_the_engine_reads_its_commit_of_our_files(tmp_path, oracle):
    """The engine commits our files itself, and grebe reads the manifest that it wrote."""
    rows = milvus_rows(300)
    grebe.create(tmp_path / "t", rows, durable=False, profile="milvus")
    record = manifest_of(tmp_path / "t", 1)
    handed = [{"columns": g["columns"], "format": g["format"], "files": [
        {"path": f"u/_data/{f['path']}", "start_index": 0, "end_index": f["end_index"]} for f in g["files"]]} for g in record["column_groups"]]
    (tmp_path / "u").mkdir()
    (tmp_path / "t" / "_data").rename(tmp_path / "u" / "_data")
    (tmp_path / "groups.json").write_text(json.dumps(handed))
    oracle("commit", tmp_path / "u", "--append", tmp_path / "groups.json")
    oracle("read", tmp_path / "u", "--out", tmp_path / "scan.parquet")
    want = rows.set_column(rows.schema.get_field_index("array"), "array", rows["array"].cast(pa.list_(pa.float32())))
    assert_same(pq.read_table(tmp_path / "scan.parquet"), want)
    assert_same(grebe.open(tmp_path / "u").scan(), want)
    assert info(tmp_path / "u")["manifest"]["encoding"] == "raw-v1"


# ---- commits of another program ----------------------------------------------------------------------------------------

def foreign_commit(table, version, change):
    """The next version as Milvus writes it: the whole record carried along, header keys of ours dropped."""
    raw = manifest_bytes(table, version)
    schema = json.loads(avro_check.container(raw)[0]["avro.schema"])
    record = manifest_of(table, version)
    change(record)
    path = pathlib.Path(table) / "_metadata" / f"manifest-{version + 1}.avro"
    with open(path, "xb") as f:
        fastavro.writer(f, fastavro.parse_schema(schema), [record])
    return record


def append_by_pyarrow(table, rows):
    """A file of each group written by pyarrow."""
    def change(record):
        for i, group in enumerate(record["column_groups"]):
            name = f"{i}_foreign-{len(group['files'])}.parquet"
            pq.write_table(rows.select(group["columns"]), pathlib.Path(table) / "_data" / name, row_group_size=11)
            group["files"].append({"path": name, "start_index": 0, "end_index": rows.num_rows, "properties": {}})
    return change


@pytest.mark.parametrize("profile", ["open", "milvus"])
def test_a_foreign_append_is_a_version(tmp_path, profile):
    path = tmp_path / "t"
    rows = milvus_rows(100, 1)
    table = grebe.create(path, rows, durable=False, groups=[["vector"], ["id", "text"]], profile=profile)
    theirs = milvus_rows(30, 2)
    foreign_commit(path, 1, append_by_pyarrow(path, theirs))
    if profile == "milvus":
        rows, theirs = (t.set_column(10, "array", t["array"].cast(pa.list_(pa.float32()))) for t in (rows, theirs))
    both = pa.concat_tables([rows, theirs])
    now = grebe.open(path)
    columns = now.schema.names
    assert now.version == 2 and now.num_rows == 130 and sorted(columns) == sorted(rows.column_names)
    assert_same(now.scan(), both, columns)
    ids = pa.table(now.scan(columns=["id"], with_row_id=True))
    assert ids["_rowid"].to_pylist() == list(range(130))
    assert_same(now.take([129, 0, 100, 99]), both.take([129, 0, 100, 99]), columns)
    assert_same(table.take([99, 5]), rows.take([99, 5]), table.schema.names)
    assert now.log()[0]["operation"] in ("", None)
    # and we go on from there: their rows keep their ids
    ours = milvus_rows(7, 9)
    third = now.append(ours, durable=False)
    if profile == "milvus":
        ours = ours.set_column(10, "array", ours["array"].cast(pa.list_(pa.float32())))
    assert third.version == 3 and third.num_rows == 137
    assert_same(third.scan(), pa.concat_tables([both, ours]), columns)
    assert_same(third.take([136, 129, 0]), pa.concat_tables([both, ours]).take([136, 129, 0]), columns)
    assert third.check(deep=True) == [] and grebe.open(path, compat="milvus").num_rows == 137


def test_foreign_changes_of_columns(tmp_path):
    """Another program drops a column, renames nothing, adds a group: the stored schema follows what is there."""
    path = tmp_path / "t"
    rows = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"], "v": pa.array([[1.0, 2.0]] * 3, pa.list_(pa.float32(), 2))})
    table = grebe.create(path, rows, durable=False)
    table = table.rename_column("b", "bee", durable=False)

    def drop_and_add(record):
        for group in record["column_groups"]:
            group["columns"] = [c for c in group["columns"] if c != "a"]
        pq.write_table(pa.table({"z": [7, 8, 9]}), path / "_data" / "9_foreign.parquet")
        record["column_groups"].append({"columns": ["z"], "format": "parquet",
                                        "files": [{"path": "9_foreign.parquet", "start_index": 0, "end_index": 3, "properties": {}}]})
    foreign_commit(path, 2, drop_and_add)
    now = grebe.open(path)
    assert now.schema.names == ["bee", "v", "z"]
    want = pa.table({"bee": rows["b"], "v": rows["v"], "z": [7, 8, 9]})
    assert_same(now.scan(), want)
    assert grebe.open(path, compat="milvus").schema.names == ["b", "v", "z"]   # the reference knows no rename
    fourth = now.append(want, durable=False)
    assert_same(fourth.scan(), pa.concat_tables([want, want]))


def test_files_of_others_as_a_table(tmp_path):
    """Plain pyarrow files without any key of ours become a table by a manifest alone."""
    (tmp_path / "t" / "_data").mkdir(parents=True)
    (tmp_path / "t" / "_metadata").mkdir()
    rows = milvus_rows(64).drop_columns(["array"])
    pq.write_table(rows, tmp_path / "t" / "_data" / "anything.parquet", row_group_size=10, compression="snappy")
    schema = json.loads(avro_check.container((HERE.parent / "golden/loon/manifests/ocf_empty.avro").read_bytes())[0]["avro.schema"])
    part = {"path": "anything.parquet", "start_index": 5, "end_index": 25, "properties": {}}
    record = {"column_groups": [{"columns": rows.column_names, "format": "parquet", "files": [part, dict(part, start_index=0, end_index=3)]}],
              "delta_logs": [], "stats": {}, "indexes": [], "lob_files": []}
    with open(tmp_path / "t" / "_metadata" / "manifest-1.avro", "xb") as f:
        fastavro.writer(f, fastavro.parse_schema(schema), [record], codec="deflate")
    want = pa.concat_tables([rows.slice(5, 20), rows.slice(0, 3)])
    table = grebe.open(tmp_path / "t")
    assert_same(table.scan(), want)
    assert_same(table.take([22, 0, 20]), want.take([22, 0, 20]))
    ran = run("check", tmp_path / "t", "--deep")
    assert ran.code == 0, ran
    assert os.listdir(tmp_path / "t" / "_metadata") == ["manifest-1.avro"]
