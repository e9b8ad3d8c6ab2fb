# SPDX-License-Identifier: Apache-2.0
"""Equal input gives equal bytes: whatever the number of threads, the instruction set, the place, the locale and the time zone."""
import pathlib
import random
import re
import shutil
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
from harness import assert_same, run  # noqa: E402

import grebe  # noqa: E402

UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
EPOCH = {"SOURCE_DATE_EPOCH": "1700000000"}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Enough rows for several row groups of each group."""
    path = tmp_path_factory.mktemp("source")
    r = random.Random(11)
    n = 20_000
    rng = np.random.default_rng(11)
    pick = lambda v: None if r.random() < 0.1 else v
    rows = pa.table({"id": pa.array(range(n)), "word": pa.array([pick("w%d" % r.randrange(300)) for _ in range(n)]),
                     "text": pa.array([pick("text %d " % r.randrange(10**9) * r.randrange(4)) for _ in range(n)]),
                     "value": pa.array([pick(r.random()) for _ in range(n)]), "flag": pa.array([pick(r.random() < 0.3) for _ in range(n)]),
                     "tags": pa.array([pick([r.randrange(9) for _ in range(r.randrange(4))]) for _ in range(n)], pa.list_(pa.int16())),
                     "vector": pa.FixedSizeListArray.from_arrays(pa.array(rng.standard_normal(n * 32).astype("f4")), 32)})
    pq.write_table(rows, path / "rows.parquet")
    pq.write_table(pa.table({"norm": rng.random(n)}), path / "norm.parquet")
    return path, rows


def files(table):
    """Data files in the order of the versions and groups that they were written for, manifests by name."""
    data = []
    for version in sorted((table / "_metadata").iterdir(), key=lambda p: int(p.name[9:-5])):
        for name in re.findall(rb"[0-9]+_" + UUID.pattern + rb"\.parquet", version.read_bytes()):
            if name not in data:
                data.append(name)
    assert len(data) == len(list((table / "_data").iterdir()))
    manifests = {p.name: UUID.sub(b"-", p.read_bytes().replace(p.read_bytes()[-16:], b"sync")) for p in (table / "_metadata").iterdir()}
    return [(table / "_data" / name.decode()).read_bytes() for name in data], manifests


def live(table, source, options=(), env=None, profile="open"):
    """A life with every kind of change."""
    rows, norm = source / "rows.parquet", source / "norm.parquet"
    for args in (["create", table, "--from", rows, "--profile", profile, "--group", "id,word", "-m", "first"], ["add-column", table, norm],
                 ["drop-column", table, "flag"], ["rename-column", table, "word", "term"] if profile == "open" else None,
                 ["append", table, "-m", "more", rows, "--columns", "id,text,value,tags,vector"]):
        if args is not None:
            durable = [] if args[0] == "tag" else ["--durable", "off"]
            ran = run(*args, *durable, *options, env=dict(EPOCH, **(env or {})))
            assert ran.code == 0, ran


def same(a, b):
    (data_a, manifests_a), (data_b, manifests_b) = files(a), files(b)
    assert [len(x) for x in data_a] == [len(x) for x in data_b]
    assert data_a == data_b
    assert manifests_a.keys() == manifests_b.keys()
    for name, content in manifests_a.items():
        assert content == manifests_b[name], name


@pytest.fixture(scope="module", params=["open", "milvus"])
def lived(request, source, tmp_path_factory):
    table = tmp_path_factory.mktemp("lived") / "t"
    live(table, source[0], ["--threads", "1"], profile=request.param)
    return table, request.param


@pytest.mark.parametrize("options, env", [(["--threads", "4"], {}), (["--threads", "1"], {}), ([], {"GREBE_SIMD": "scalar"}),
                                          (["--memory-limit", "1MiB"], {}),
                                          ([], {"TZ": "Asia/Tokyo", "LC_ALL": "de_DE.UTF-8", "LANG": "tr_TR.UTF-8"})],
                         ids=["four_threads", "again", "scalar", "little_memory", "elsewhere"])
def test_the_same_bytes(lived, source, tmp_path, options, env):
    table, profile = lived
    live(tmp_path / "another name", source[0], options, env, profile)
    same(table, tmp_path / "another name")


def test_batches_do_not_matter(source, tmp_path):
    """The same rows in other pieces, through Python: the same files. (Where a row group ends by its bytes depends on the
    pieces a little: they are what is measured.)"""
    rows = source[1]
    made = []
    for size in (20_000, 1024, 7):
        table = tmp_path / str(size)
        batches = rows.to_batches(max_chunksize=size)
        grebe.create(table, pa.RecordBatchReader.from_batches(rows.schema, batches), durable=False, row_group_rows=6000)
        made.append(files(table)[0])
    assert made[0] == made[1] == made[2]


def test_threads_of_python(source, tmp_path):
    made = []
    try:
        for threads in (1, 2, 4):
            grebe.set_threads(threads)
            table = grebe.create(tmp_path / str(threads), source[1], durable=False, groups=[["id", "word"], ["text"]])
            made.append(files(tmp_path / str(threads))[0])
            assert_same(table.scan(), source[1])
    finally:
        grebe.set_threads(None)
    assert made[0] == made[1] == made[2]


def test_output_does_not_depend_on_threads(lived):
    """What is printed, too: rows in order, the same digits."""
    for form, lines in (("jsonl", 40_000), ("csv", 40_001)):
        outputs = set()
        for threads, env in (("1", {}), ("4", {}), ("4", {"LC_ALL": "de_DE.UTF-8"}), ("2", {"GREBE_SIMD": "scalar"})):
            ran = run("scan", lived[0], "--format", form, "--threads", threads, env=env)
            assert ran.code == 0 and ran.err == b"", ran
            outputs.add(ran.out)
        assert len(outputs) == 1 and len(outputs.pop().splitlines()) == lines


def test_a_copy_is_the_same_table(lived, tmp_path):
    shutil.copytree(lived[0], tmp_path / "copy")
    same(lived[0], tmp_path / "copy")
    assert_same(grebe.open(tmp_path / "copy").scan(), pa.table(grebe.open(lived[0]).scan()))
