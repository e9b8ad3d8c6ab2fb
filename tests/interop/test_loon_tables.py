# SPDX-License-Identifier: Apache-2.0
"""Tables and manifests that the Milvus storage engine wrote: read value by value, at every version, from any place."""
import json
import os
import pathlib
import shutil
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "tools"))
from harness import LOON, assert_same, golden_rows, info, one_line_error, run  # noqa: E402

import grebe  # noqa: E402

TABLES = {name: json.loads((LOON / name / "expected.json").read_text())
          for name in ("single", "types", "commits", "deletes", "article", "row_groups", "ranges", "current")}
VERSIONS = [(name, int(v)) for name, expected in TABLES.items() for v in expected["versions"]]
MANIFESTS = json.loads((LOON / "manifests" / "expected.json").read_text())
ids = [f"{name}@{v}" for name, v in VERSIONS]


@pytest.fixture(params=[None, "milvus"], ids=["grebe", "milvus"])
def compat(request):
    return request.param


def group_columns(name, version):
    """Columns in the order of the column groups, which is the order of a table without a stored schema."""
    expected = TABLES[name]["versions"][str(version)]
    manifest = expected.get("manifest_as_stored") or expected["manifest"]
    return [c for g in manifest["column_groups"] for c in g["columns"]]


@pytest.mark.parametrize("name, version", VERSIONS, ids=ids)
def test_scan_gives_the_rows(name, version, compat):
    table = grebe.open(LOON / name / "table", version, compat=compat)
    want = golden_rows(name, version)
    columns = group_columns(name, version)
    assert (table.version, table.num_rows) == (version, want.num_rows) and table.schema.names == columns
    for batch_rows in (1, 7, 8192, None):
        batches = list(table.scan(batch_rows=batch_rows))
        assert batch_rows is None or max(b.num_rows for b in batches) <= batch_rows
        assert_same(pa.Table.from_batches([pa.record_batch(b) for b in batches]), want, columns)
    backwards = columns[::-1]
    assert_same(table.scan(columns=backwards), want, backwards)
    for column in columns:
        assert_same(table.scan(columns=[column]), want, [column])
    with_id = pa.table(table.scan(columns=columns[:1], with_row_id=True))
    assert with_id["_rowid"].to_pylist() == list(range(want.num_rows))


@pytest.mark.parametrize("name, version", VERSIONS, ids=ids)
def test_ranges_of_rows(name, version, compat):
    table = grebe.open(LOON / name / "table", version, compat=compat)
    want = golden_rows(name, version)
    columns = group_columns(name, version)
    rng = np.random.default_rng(version)
    for _ in range(8):
        begin, end = sorted(rng.integers(0, want.num_rows + 1, 2).tolist())
        assert_same(table.scan(rows=(begin, end)), want.slice(begin, end - begin), columns)


@pytest.mark.parametrize("name, version", VERSIONS, ids=ids)
def test_take_gives_the_rows(name, version, compat):
    table = grebe.open(LOON / name / "table", version, compat=compat)
    want = golden_rows(name, version)
    columns = group_columns(name, version)
    rng = np.random.default_rng(version + 100)
    for n in (1, 2, 13, 50, want.num_rows):
        rows = rng.integers(0, want.num_rows, n)
        if compat == "milvus":
            rows = np.unique(rows)
        assert_same(table.take(rows), want.take(rows), columns)
        assert_same(table.take(rows, columns=columns[-1:]), want.take(rows), columns[-1:])
    assert_same(table.take([]), want.slice(0, 0), columns)
    for bad in ([want.num_rows], [0, -1]):
        with pytest.raises(grebe.InvalidArgument, match=str(bad[-1])):
            table.take(bad)
    if compat == "milvus":
        for bad in ([1, 0], [3, 3]):
            with pytest.raises(grebe.InvalidArgument):
                table.take(bad)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_can_be_moved(name, tmp_path, compat):
    version = max(v for n, v in VERSIONS if n == name)
    first, second = tmp_path / "here", tmp_path / "other place@3"
    shutil.copytree(LOON / name / "table", first)
    want = golden_rows(name, version)
    columns = group_columns(name, version)
    assert_same(grebe.open(first, compat=compat).scan(), want, columns)
    os.rename(first, second)
    table = grebe.open(second, compat=compat)
    assert_same(table.scan(), want, columns)
    assert_same(table.take([0, 7]), want.take([0, 7]), columns)
    with pytest.raises(grebe.NotFound):
        grebe.open(first, compat=compat)


@pytest.mark.parametrize("name, version", VERSIONS, ids=ids)
def test_the_command_gives_the_rows(name, version):
    path = LOON / name / "table"
    ran = run("scan", path, "--version", version, "--format", "arrow")
    assert ran.code == 0 and ran.err == b"", ran
    assert_same(ran.rows(), golden_rows(name, version), group_columns(name, version))
    assert run("count", f"{path}@{version}").out.strip() == str(golden_rows(name, version).num_rows).encode()
    check = run("check", f"{path}@{version}", "--deep")
    assert check.code == 0, check
    found = info(path, "--version", version)
    expected = TABLES[name]["versions"][str(version)]
    manifest = expected.get("manifest_as_stored") or expected["manifest"]
    assert_groups(found, manifest, path)


def assert_groups(found, manifest, table):
    """What `grebe info` shows of a version is what its manifest holds."""
    def rows(f):
        return f["start_index"], f["end_index"] - f["start_index"]
    assert [(g["format"], g["columns"]) for g in found["groups"]] == [(g["format"], g["columns"]) for g in manifest["column_groups"]]
    for got, want in zip(found["groups"], manifest["column_groups"]):
        assert [(f["file_row_begin"], f["row_end"] - f["row_begin"]) for f in got["files"]] == [rows(f) for f in want["files"]]
        for f, w in zip(got["files"], want["files"]):
            path = w["path"]
            if "://" not in path and not path.startswith("/"):
                path = os.path.normpath(os.path.join(table, "_data", path))
            assert f["path"] == path
            assert f["bytes"] == int(w.get("properties", {}).get("file_size", 0))
    logs = manifest["delta_logs"]
    assert [(d["type"], d["entries"]) for d in found["delta_logs"]] == [(d["type"], d["num_entries"]) for d in logs]
    indexes = manifest.get("indexes", [])
    assert [(x["column"], x["type"]) for x in found["indexes"]] == [(x["column_name"], x["index_type"]) for x in indexes]
    stats = manifest["stats"]
    want = [(key, value["paths"] if isinstance(value, dict) else value) for key, value in sorted(stats.items())]
    assert [(s["key"], s["paths"]) for s in found["stats"]] == want


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_decode_or_are_refused(name, tmp_path):
    """The manifest alone in a folder: what it says is shown although none of its files are there."""
    table = tmp_path / "t"
    (table / "_metadata").mkdir(parents=True)
    shutil.copyfile(LOON / "manifests" / name, table / "_metadata" / "manifest-1.avro")
    want = MANIFESTS[name]
    ran = run("info", table, "--format", "json", memory_mib=64)
    if want["result"] == "ok" or (want["result"] != "error" and ran.code == 0):
        assert ran.code == 0, ran
        assert_groups(json.loads(ran.out), want["manifest"], table)
        return
    problem = one_line_error(ran, {6} if name == "bad_raw_version.avro" else {5})
    assert problem is None and "manifest-1.avro" in ran.message and ran.out == b"", (problem, ran)
    for verb in ("scan", "schema", "count", "log", "check", "head"):
        ran = run(verb, table, memory_mib=64)
        if verb == "check" and ran.code == 5 and ran.out:   # a finding, not a failure
            assert b"manifest-1.avro" in ran.out
            continue
        problem = one_line_error(ran, {5, 6})
        assert problem is None and "manifest-1.avro" in ran.message, (verb, problem, ran)


@pytest.mark.parametrize("name, version", VERSIONS, ids=ids)
def test_conditions_give_the_rows(name, version, compat):
    """Every column against a value of its own: as pyarrow filters it; the reference looks at a condition and gives every row."""
    table = grebe.open(LOON / name / "table", version, compat=compat)
    want = golden_rows(name, version)
    columns = group_columns(name, version)
    for column in columns:
        values = want[column]
        value = next(v for v in values.to_pylist()[len(values) // 2:] + values.to_pylist() if v is not None)
        if isinstance(value, str):
            text = "'" + value.replace("'", "''") + "'"
        elif isinstance(value, bool) or (isinstance(value, (int, float)) and value == value):
            text = repr(value).lower()
        else:
            continue
        scalar = pa.scalar(value, values.type)
        for operator, mask in (("<=", pc.less_equal), ("=", pc.equal), (">", pc.greater)):
            if values.type == pa.bool_() and operator != "=":
                continue
            where = f'"{column}" {operator} {text}'
            keep = mask(values, scalar).fill_null(False)
            if pa.types.is_floating(values.type):   # SQL puts NaN above all numbers, IEEE compares it to nothing
                if operator == ">":
                    continue
            if compat == "milvus":
                keep = pa.array([True] * len(values))
            assert_same(table.scan(where=where), want.filter(keep), columns)
            assert table.count(where) == pc.sum(keep).as_py(), where
        nulls = pa.array([True] * len(values)) if compat == "milvus" else values.is_null()
        assert table.count(f'"{column}" is null') == (pc.sum(nulls).as_py() or 0)
