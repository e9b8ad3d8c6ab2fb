# SPDX-License-Identifier: Apache-2.0
"""How columns are split into groups and rows into files: by our options, and by the reference's properties as the
reference itself does it."""
import json
import pathlib
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "tools"))
from harness import assert_same, info, one_line_error, run  # noqa: E402

import grebe  # noqa: E402

COLUMNS = ["id", "name", "value", "vector", "text_1", "text_12", "json", "meta_a", "a.b"]


def rows(n=100):
    return pa.table({"id": pa.array(range(n)), "name": [f"n{i}" * (i % 20) for i in range(n)], "value": [i * 0.5 for i in range(n)],
                     "vector": pa.array([bytes(128)] * n, pa.binary(128)), "text_1": ["x" * 40] * n, "text_12": ["y" * 300] * n,
                     "json": ["{}"] * n, "meta_a": pa.array([i % 100 for i in range(n)], pa.int8()), "a.b": [True] * n})


def groups_of(table):
    return [g["columns"] for g in info(table)["groups"]]


def theirs(oracle, tmp_path, data, policy, properties, patterns=None):
    pq.write_table(data, tmp_path / "in.parquet")
    args = ["write", tmp_path / "ref", "--from", tmp_path / "in.parquet", "--policy", policy]
    if patterns is not None:
        args += ["--patterns", patterns]
    for key, value in properties.items():
        args += ["--prop", f"{key}={value}"]
    groups = [g["columns"] for g in json.loads(oracle(*args))["column_groups"]]
    return [g for g in groups if g]   # size_based: theirs may begin with a group without columns


@pytest.mark.parametrize("column_bytes, columns", [(0, 0), (100, 2), (10, 3), (1000, 100), (17, 1), (200, 4), (9, 0)])
def test_size_based_as_the_reference(tmp_path, oracle, column_bytes, columns):
    data = rows()
    names = {"max_avg_column_size": column_bytes, "max_columns_in_group": columns}
    properties = {f"writer.split.size_based.{k}": v for k, v in names.items()}
    want = theirs(oracle, tmp_path, data, "size_based", properties)
    grebe.create(tmp_path / "p", data, durable=False, properties={"writer.policy": "size_based", **properties})
    grebe.create(tmp_path / "o", data, durable=False, policy="size_based", max_column_bytes=column_bytes, max_columns_in_group=columns)
    assert groups_of(tmp_path / "p") == groups_of(tmp_path / "o") == want
    assert_same(grebe.open(tmp_path / "o").scan(), data)


PATTERNS = ["id,name", "text_.", "text_.*, id|name , [a-j]+", ".*", "name,.*e.*", "nothing,id", r"text_\d+,meta_(a|b)", r"a\.b,a.b",
            "", "(id)|(json), val", "[^_]*", "tex", "^vector$"]


@pytest.mark.parametrize("patterns", PATTERNS)
def test_schema_based_as_the_reference(tmp_path, oracle, patterns):
    data = rows()
    want = theirs(oracle, tmp_path, data, "schema_based", {}, patterns)
    properties = {"writer.policy": "schema_based", "writer.split.schema_based.patterns": patterns}
    table = grebe.create(tmp_path / "p", data, durable=False, properties=properties)
    assert groups_of(tmp_path / "p") == want
    assert_same(table.scan(), data)
    pq.write_table(data, tmp_path / "in.parquet")
    ran = run("create", tmp_path / "c", "--from", tmp_path / "in.parquet", "--policy", "schema_based", "--policy-patterns", patterns)
    assert ran.code == 0, ran
    assert groups_of(tmp_path / "c") == want
    # the number in the file's name is the group's, after empty ones are left out
    for i, group in enumerate(info(tmp_path / "c")["groups"]):
        assert [pathlib.Path(f["path"]).name.split("_")[0] for f in group["files"]] == [str(i)]


def test_single_and_named_groups(tmp_path, oracle):
    data = rows()
    assert theirs(oracle, tmp_path, data, "single", {}) == [COLUMNS]
    grebe.create(tmp_path / "one", data, durable=False, policy="single")
    assert groups_of(tmp_path / "one") == [COLUMNS]
    grebe.create(tmp_path / "default", data, durable=False)
    assert groups_of(tmp_path / "default") == [[c for c in COLUMNS if c != "vector"], ["vector"]]
    # groups that are named come first, the policy has the rest
    grebe.create(tmp_path / "both", data, durable=False, groups=[["json", "id"]], policy="schema_based", policy_patterns=["text.*", "i."])
    assert groups_of(tmp_path / "both") == [["id", "json"], ["text_1", "text_12"], ["name", "value", "vector", "meta_a", "a.b"]]
    # an explicit option counts for more than a property
    grebe.create(tmp_path / "more", data, durable=False, policy="single", properties={"writer.policy": "schema_based"})
    assert groups_of(tmp_path / "more") == [COLUMNS]
    table = grebe.open(tmp_path / "more").add_columns({"x": [1] * 100, "y": [2.0] * 100}, policy="size_based", durable=False)
    assert groups_of(tmp_path / "more")[1:] == [["x"], ["y"]] and table.schema.names[-2:] == ["x", "y"]


def test_formats_of_patterns(tmp_path):
    data = rows()
    ran = grebe.create(tmp_path / "t", data, durable=False, policy="schema_based", policy_patterns=["id", "text.*"],
                       policy_formats=["parquet", "parquet"])
    assert [g["format"] for g in info(tmp_path / "t")["groups"]] == ["parquet"] * 3 and ran.num_rows == 100
    with pytest.raises(grebe.InvalidArgument, match="2 patterns"):
        grebe.create(tmp_path / "u", data, durable=False, policy="schema_based", policy_patterns=["id", "text.*"], policy_formats=["parquet"])
    with pytest.raises(grebe.Unsupported, match="nonsense"):
        grebe.create(tmp_path / "u", data, durable=False, policy="schema_based", policy_patterns=["id"], policy_formats=["nonsense"])


@pytest.mark.parametrize("properties, words", [
    ({"writer.policy": "columnar"}, ["writer.policy", "single|schema_based|size_based", "columnar"]),
    ({"writer.split.size_based.max_avg_column_size": "10k"}, ["integer"]),
    ({"writer.split.size_based.max_columns_in_group": "-1"}, ["integer"]),
    ({"writer.buffer_size": str(1 << 31)}, ["2147483647"]), ({"writer.buffer_size": "+1x"}, ["buffer_size"]),
    ({"writer.file_rolling.size": ""}, ["file_rolling.size"]), ({"writer.compression": "lzo"}, ["lzo"]),
    ({"writer.compression_level": "3.5"}, ["compression_level"]), ({"writer.enable_dictionary": "maybe"}, ["true or false"]),
    ({"writer.enc.algorithm": "ROT13"}, ["ROT13"]), ({"writer.vortex.format_version": "3"}, ["format_version"]),
    ({"writer.vortex_v2.row_group_max_size": "131071"}, ["131072"]), ({"writer.format": "paimon-table"}, ["paimon"]),
    ({"writer.policy": "schema_based", "writer.split.schema_based.patterns": "id,(name"}, ["(name"]),
])
def test_invalid_values_are_refused(tmp_path, properties, words):
    with pytest.raises(grebe.InvalidArgument) as e:
        grebe.create(tmp_path / "t", rows(), durable=False, properties=properties)
    assert all(w in str(e.value) for w in words), str(e.value)
    key, value = list(properties.items())[-1]
    pq.write_table(rows(), tmp_path / "in.parquet")
    given = [x for k, v in properties.items() for x in ("--property", f"{k}={v}")]
    ran = run("create", tmp_path / "t", "--from", tmp_path / "in.parquet", *given)
    assert one_line_error(ran, {2}) is None, (key, value, ran)


def test_properties_that_are_accepted(tmp_path):
    data = rows()
    properties = {"whatever.key": "x", "reader.record_batch_max_rows": "0", "writer.policy": "size_based", "writer.enable_dictionary": "TRUE",
                  "writer.compression": "snappy", "writer.compression_level": "-1", "writer.enc.enable": "False", "writer.enc.key": "k",
                  "writer.vortex.format_version": 2, "writer.split.size_based.max_columns_in_group": 99,
                  "writer.split.size_based.max_avg_column_size": 1000, "writer.split.schema_based.patterns": "(", "writer.buffer_size": 1}
    table = grebe.create(tmp_path / "t", data, durable=False, properties=properties)
    assert_same(table.scan(), data)
    (name,) = (tmp_path / "t" / "_data").iterdir()
    assert {pq.read_metadata(name).row_group(0).column(0).compression} <= {"SNAPPY", "UNCOMPRESSED"}
    with pytest.raises(grebe.Unsupported, match="encrypted"):
        grebe.create(tmp_path / "u", data, durable=False, properties={"writer.enc.enable": "true"})
    with pytest.raises(grebe.InvalidArgument):
        grebe.write(tmp_path / "x.parquet", data, policy="single")
    ran = run("create", tmp_path / "u", "--from", tmp_path / "x", "--property", "nothing")
    assert ran.code == 2
    for options in (dict(policy_patterns=["a"]), dict(max_column_bytes=1), dict(policy="single", policy_formats=["parquet"])):
        with pytest.raises(grebe.InvalidArgument):
            grebe.create(tmp_path / "u", data, durable=False, **options)


@pytest.mark.parametrize("profile", ["open", "milvus"])
def test_dictionaries_can_be_left_out(tmp_path, profile):
    data = pa.table({"t": ["few", "values", None] * 3000, "n": pa.array([7, 8, 9] * 3000), "d": pa.array(["x", "y", "z"] * 3000).dictionary_encode()})
    for name, on in (("with", "true"), ("without", "false")):
        grebe.create(tmp_path / name, data, durable=False, profile=profile, properties={"writer.enable_dictionary": on})
        (file,) = (tmp_path / name / "_data").iterdir()
        found = [pq.read_metadata(file).row_group(0).column(i).encodings for i in range(3)]
        assert all(("RLE_DICTIONARY" in e) == (on == "true") for e in found), (name, found)
        assert grebe.open(tmp_path / name).scan(columns=["t", "n"]).to_pyarrow().to_pydict() == data.select(["t", "n"]).to_pydict()


def test_a_pattern_that_never_ends_is_stopped(tmp_path):
    data = pa.table({"a" * 40 + "!": [1], "b": [2]})
    with pytest.raises(grebe.Limit):
        grebe.create(tmp_path / "t", data, durable=False, policy="schema_based", policy_patterns=["(a|aa)+$x?", "((a+)+)+"])


# ---- files that end ----------------------------------------------------------------------------------------------------

def files_of(table):
    return [[f["row_end"] - f["row_begin"] for f in g["files"]] for g in info(table)["groups"]]


@pytest.mark.parametrize("profile", ["open", "milvus"])
def test_rolling(tmp_path, profile):
    """Several files a group, each group at rows of its own; no row lost, none in another place."""
    n = 20_000
    rng = random.Random(1)
    data = pa.table({"id": pa.array(range(n)), "text": [f"{i} " * rng.randrange(30) for i in range(n)],
                     "v": pa.array([bytes([i % 251]) * 256 for i in range(n)], pa.binary(256))})
    groups = [["id"], ["text"], ["v"]]
    table = grebe.create(tmp_path / "t", data, durable=False, groups=groups, file_bytes=100_000, profile=profile)
    parts = files_of(tmp_path / "t")
    assert [len(p) for p in parts][0] < len(parts[1]) < len(parts[2]) and len(parts[0]) > 1 and len(set(map(tuple, parts))) == 3
    assert all(sum(p) == n and min(p) > 0 for p in parts)
    # a file is ended once it has the bytes: each but the last has them, and none twice as many and a piece
    assert all(100_000 <= rows * 256 <= 250_000 for rows in parts[2][:-1])
    assert_same(table.scan(columns=["id", "text", "v"]), data)
    ids = [rng.randrange(n) for _ in range(500)]
    assert_same(table.take(ids, columns=["id", "text", "v"]), data.take(ids))
    table = table.append(data.slice(0, 5000), durable=False, properties={"writer.file_rolling.size": "300000"}, profile=profile)
    table = table.add_columns({"w": data["v"].to_pylist() + data["v"].to_pylist()[:5000]}, durable=False, file_bytes=1_000_000)
    more = files_of(tmp_path / "t")
    assert all(m[:len(p)] == p and len(m) > len(p) for m, p in zip(more, parts)) and len(more[3]) > 3
    assert table.check(deep=True) == [] and table.num_rows == n + 5000
    assert_same(table.scan(columns=["text", "id"], rows=(n - 10, n + 10)),
                pa.concat_tables([data.slice(n - 10), data.slice(0, 10)]), ["text", "id"])


def test_rolling_at_every_batch(tmp_path):
    data = rows(700)
    batches = data.to_batches(max_chunksize=100)
    table = grebe.create(tmp_path / "t", pa.RecordBatchReader.from_batches(data.schema, batches), durable=False, file_bytes=1, policy="single")
    assert files_of(tmp_path / "t") == [[100] * 7]
    assert_same(table.scan(), data)
    pq.write_table(data, tmp_path / "in.parquet", row_group_size=50)
    assert run("create", tmp_path / "u", "--from", tmp_path / "in.parquet", "--file-bytes", "1KiB", "--profile", "milvus").code == 0
    assert len(files_of(tmp_path / "u")[0]) > 7
    assert run("create", tmp_path / "w", "--from", tmp_path / "in.parquet", "--file-bytes", "0").code == 2


def test_the_engine_reads_files_that_rolled(tmp_path, oracle):
    data = rows(3000).drop_columns(["a.b"])
    table = grebe.create(tmp_path / "t", data, durable=False, profile="milvus", file_bytes=30_000, policy="schema_based",
                         policy_patterns=["id|name", "vector"])
    assert [len(p) > 1 for p in files_of(tmp_path / "t")] == [True] * 3
    groups = [{"columns": g["columns"], "format": g["format"],
               "files": [{"path": "t/_data/" + pathlib.Path(f["path"]).name, "start_index": 0, "end_index": f["row_end"] - f["row_begin"]}
                         for f in g["files"]]} for g in info(tmp_path / "t")["groups"]]
    (tmp_path / "groups.json").write_text(json.dumps(groups))
    oracle("read", tmp_path / "t", "--groups", tmp_path / "groups.json", "--out", tmp_path / "out.arrow")
    with pa.ipc.open_file(tmp_path / "out.arrow") as f:
        got = f.read_all()
    assert_same(pa.table({c: got[c] for c in table.schema.names}), data, table.schema.names)
