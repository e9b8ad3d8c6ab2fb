# SPDX-License-Identifier: Apache-2.0
"""The chunks of a column group, and the scan that merges the chunks of several groups."""
import pathlib
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "tools"))
from harness import LOON, assert_same, golden_rows, info, one_line_error, run  # noqa: E402

import grebe  # noqa: E402


def rows(n, begin=0):
    return pa.table({"id": pa.array(range(begin, begin + n)), "text": pa.array([None if i % 3 == 1 else f"t{i}" * (i % 5) for i in range(begin, begin + n)]),
                     "v": pa.array([bytes([i % 250]) * 16 for i in range(begin, begin + n)], pa.binary(16))})


def put(path, table, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, **options)
    return path


def edges(chunks):
    return [(chunks.info(i)["row_begin"], chunks.info(i)["num_rows"]) for i in range(len(chunks))]


@pytest.fixture
def uneven(tmp_path):
    """Three groups with other files and other row groups each."""
    all_rows = rows(1000)
    table = grebe.import_files(tmp_path / "t", [put(tmp_path / f"a{i}.parquet", all_rows.select(["id"]).slice(250 * i, 250), row_group_size=97)
                                                for i in range(4)], durable=False)
    table = table.import_files(put(tmp_path / "b.parquet", all_rows.select(["text"]), row_group_size=310), durable=False)
    return table.import_files([put(tmp_path / "c.parquet", all_rows.select(["v"]).slice(0, 1), row_group_size=1),
                               put(tmp_path / "d.parquet", all_rows.select(["v"]).slice(1), row_group_size=64)], durable=False)


def test_chunks_are_row_groups(uneven):
    want = rows(1000)
    sizes = [[97, 97, 56] * 4, [310, 310, 310, 70], [1] + [64] * 15 + [39]]
    for group, column in enumerate(want.column_names):
        chunks = uneven.chunks(group)
        at = [c[1] for c in edges(chunks)]
        assert at == sizes[group] and len(chunks) == len(at) and sum(at) == 1000
        assert [c[0] for c in edges(chunks)] == [sum(at[:i]) for i in range(len(at))]
        assert chunks.schema.names == [column]
        assert_same(pa.Table.from_batches([pa.record_batch(b) for b in chunks]), want, [column])
        picked = [len(at) - 1, 0, 0, len(at) // 2]
        for threads in (1, 8, None):
            for number, batch in zip(picked, chunks.read(picked, threads=threads), strict=True):
                begin, n = edges(chunks)[number]
                assert_same(pa.Table.from_batches([pa.record_batch(batch)]), want.slice(begin, n), [column])
        assert chunks.read([]) == [] and len(chunks[-1]) == at[-1]
        bytes_ = [chunks.info(i)["memory_bytes"] for i in range(len(chunks))]
        assert all(b > 0 for b in bytes_)
        for bad in ([len(at)], [0, -1]):
            with pytest.raises(grebe.InvalidArgument, match=f"less than {len(at)}"):
                chunks.read(bad)
        with pytest.raises(grebe.InvalidArgument):
            chunks.info(len(at))
    with pytest.raises(grebe.InvalidArgument, match="less than 3"):
        uneven.chunks(3)


def test_columns_are_those_of_the_group(tmp_path):
    table = grebe.create(tmp_path / "t", rows(50), durable=False, groups=[["id", "text"], ["v"]], row_group_rows=7)
    assert table.chunks(0, columns=["text", "v", "nothing"]).schema.names == ["text"]
    assert table.chunks(0, columns=["text", "id"]).schema.names == ["text", "id"]
    assert_same(pa.Table.from_batches([pa.record_batch(b) for b in table.chunks(1)]), rows(50), ["v"])
    for columns in (["v"], [], ["nothing"]):
        with pytest.raises(grebe.NotFound):
            table.chunks(0, columns=columns)
    with pytest.raises(grebe.InvalidArgument, match="twice"):
        table.chunks(0, columns=["id", "id"])
    whole, part = table.chunks(0), table.chunks(0, columns=["id"])
    assert 0 < part.info(0)["memory_bytes"] < whole.info(0)["memory_bytes"]


def test_chunks_of_rows(uneven):
    chunks = uneven.chunks(0)   # 97 97 56 | 97 97 56 | …
    assert chunks.of_rows([999, 0, 96, 97, 0, 998, 250, 249]) == [11, 0, 1, 3, 2]
    assert chunks.of_rows([]) == []
    rng = random.Random(3)
    ids = [rng.randrange(1000) for _ in range(400)]
    want = []
    for i in ids:
        number = next(k for k, (begin, n) in enumerate(edges(chunks)) if begin <= i < begin + n)
        if number not in want:
            want.append(number)
    assert chunks.of_rows(ids) == want
    for bad in ([1000], [5, -1], [1 << 62]):
        with pytest.raises(grebe.InvalidArgument, match=str(bad[-1])):
            chunks.of_rows(bad)


@pytest.mark.parametrize("compat", [None, "milvus"])
def test_ranges_of_one_file(compat):
    """Rows [10, 20) and then [5, 8) of one file, in scan, chunks and take; expected.json tells what is listed."""
    table = grebe.open(LOON / "ranges" / "table", compat=compat)
    want = golden_rows("ranges", table.version)
    columns = table.schema.names
    assert_same(table.scan(), want, columns)
    assert_same(table.take(range(want.num_rows)), want, columns)
    at = 0
    for group, g in enumerate(info(LOON / "ranges" / "table")["groups"]):
        chunks = table.chunks(group)
        assert sum(n for _, n in edges(chunks)) == want.num_rows
        assert_same(pa.Table.from_batches([pa.record_batch(b) for b in chunks]), want, g["columns"])
        starts = {f["row_begin"] for f in g["files"]}
        assert starts <= {b for b, _ in edges(chunks)}
        at += len(chunks)
    assert at > 0


def test_one_file_listed_twice(tmp_path):
    import fastavro
    import json
    file = put(tmp_path / "t" / "_data" / "x.parquet", rows(30), row_group_size=6)
    record = {"column_groups": [{"columns": ["id", "text", "v"], "format": "parquet",
                                 "files": [{"path": "x.parquet", "start_index": a, "end_index": b, "properties": {}} for a, b in ((10, 20), (5, 8))]}],
              "delta_logs": [], "stats": {}, "indexes": [], "lob_files": []}
    schema = json.loads(next(fastavro.reader(open(LOON / "manifests" / "ocf_empty.avro", "rb")).metadata[k] for k in ["avro.schema"]))
    (tmp_path / "t" / "_metadata").mkdir()
    with open(tmp_path / "t" / "_metadata" / "manifest-1.avro", "wb") as out:
        fastavro.writer(out, fastavro.parse_schema(schema), [record])
    want = pa.concat_tables([rows(30).slice(10, 10), rows(30).slice(5, 3)])
    table = grebe.open(tmp_path / "t")
    assert table.num_rows == 13
    assert_same(table.scan(), want)
    assert_same(table.take([12, 0, 9, 10, 12]), want.take([12, 0, 9, 10, 12]))
    chunks = table.chunks()
    assert edges(chunks) == [(0, 2), (2, 6), (8, 2), (10, 1), (11, 2)]   # 10..12, 12..18, 18..20, 5..6, 6..8
    assert_same(pa.Table.from_batches([pa.record_batch(b) for b in chunks]), want)
    assert chunks.of_rows([12, 10, 0, 9]) == [4, 3, 0, 2] and file.exists()
    half, whole = chunks.info(0)["memory_bytes"], chunks.info(1)["memory_bytes"]
    assert 0 < half < whole


def test_profile_milvus_tells_memory(tmp_path):
    n = 5000
    data = pa.table({"id": range(n), "v": pa.array([bytes(1000)] * n, pa.binary(1000))})
    grebe.create(tmp_path / "t", data, durable=False, profile="milvus")
    (file,) = (tmp_path / "t" / "_data").iterdir()
    entries = [e.split("|") for e in pq.read_metadata(file).metadata[b"row_group_metadata"].decode().split(";")]
    chunks = grebe.open(tmp_path / "t", compat="milvus").chunks()
    assert [chunks.info(i)["memory_bytes"] for i in range(len(chunks))] == [int(e[0]) for e in entries] and len(chunks) > 3
    # one entry less than row groups, or an entry that is none: the file contradicts itself
    raw = file.read_bytes()
    text = pq.read_metadata(file).metadata[b"row_group_metadata"]
    for bad in (text.replace(b";", b"!", 1), text.replace(b"|", b" ", 1), text[:-1] + b";", text.replace(b";", b"0", 1)):
        assert len(bad) == len(text)
        file.write_bytes(raw.replace(text, bad))
        ran = run("scan", tmp_path / "t", "--compat", "milvus")
        assert one_line_error(ran, {5}) is None and "row_group_metadata" in ran.message, ran
        assert run("check", tmp_path / "t").code == 5


# ---- merging groups ----------------------------------------------------------------------------------------------------

MEMORY = ["1", "4KiB", "1MiB", "4GiB"]


@pytest.mark.parametrize("compat", [None, "milvus"])
@pytest.mark.parametrize("batch_rows", [1, 7, 8192])
def test_groups_of_other_chunks_merge(uneven, batch_rows, compat):
    want = rows(1000)
    table = grebe.open(uneven.uri, compat=compat)
    for columns in (["id", "text", "v"], ["v", "id"], ["text"]):
        cuts = set()
        for group, column in enumerate(want.column_names):
            if column in columns:
                cuts |= {b for b, _ in edges(table.chunks(group))}
        batches = list(table.scan(columns=columns, batch_rows=batch_rows))
        assert_same(pa.Table.from_batches([pa.record_batch(b) for b in batches]), want.select(columns))
        at = 0
        for b in batches:
            assert 0 < b.num_rows <= batch_rows
            assert not any(at < cut < at + b.num_rows for cut in cuts), (at, b.num_rows)
            at += b.num_rows


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("threads", [1, 4])
def test_memory_limits_change_nothing(uneven, memory, threads):
    for batch_rows in (1, 7, 8192):
        ran = run("scan", uneven.uri, "--memory-limit", memory, "--threads", threads, "--batch-rows", batch_rows, "--format", "arrow",
                  env={"GREBE_MEMORY_LIMIT": ""})
        assert ran.code == 0, ran
        with pa.ipc.open_stream(ran.out) as reader:
            batches = list(reader)
        assert max(b.num_rows for b in batches) <= batch_rows
        assert_same(pa.Table.from_batches(batches), rows(1000))
