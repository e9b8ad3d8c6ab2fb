# SPDX-License-Identifier: Apache-2.0
"""grebe.dataset when things go wrong, and at sizes beyond memory: killed processes, two at a time, a full disk, few open files."""
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import grebe
import grebe.dataset as gd


def run(code, *args, wait=True, **kwargs):
    """Python code in a process of its own."""
    p = subprocess.Popen([sys.executable, "-c", code, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         **kwargs)
    if not wait:
        return p
    out, err = p.communicate()
    return p.returncode, out, err


def lines(path, n, text="x" * 50):
    with open(path, "w") as f:
        for i in range(n):
            f.write(json.dumps({"id": i, "text": f"{text} {i}"}) + "\n")


LOAD = """
import os, sys, time, grebe.dataset as gd
ds = gd.load("json", data_files=sys.argv[1], split="train", cache_dir=sys.argv[2])
print(len(ds), ds.cache_files[0]["filename"], os.stat(ds.cache_files[0]["filename"]).st_ino)
"""


def test_of_two_processes_one_prepares(tmp_path):
    lines(tmp_path / "a.jsonl", 200_000)
    both = [run(LOAD, tmp_path / "a.jsonl", tmp_path / "cache", wait=False) for _ in range(3)]
    out = [p.communicate() for p in both]
    assert all(p.returncode == 0 for p in both), out
    assert len({o for o, _ in out}) == 1 and out[0][0].startswith("200000 ")  # the same file, not one that replaced it


def test_a_killed_preparer_leaves_nothing_that_is_trusted(tmp_path):
    lines(tmp_path / "a.jsonl", 150_000)
    for i in range(6):
        p = run(LOAD, tmp_path / "a.jsonl", tmp_path / "cache", wait=False)
        time.sleep(0.05 + 0.04 * i)
        p.send_signal(signal.SIGKILL)
        p.wait()
    ds = gd.load("json", data_files=str(tmp_path / "a.jsonl"), split="train", cache_dir=tmp_path / "cache")
    assert len(ds) == 150_000 and ds[149_999]["id"] == 149_999
    left = [os.path.join(d, f) for d, _, files in os.walk(tmp_path / "cache") for f in files if f.endswith(".arrow")]
    assert left == [ds.cache_files[0]["filename"]]


SAVE = """
import sys, grebe.dataset as gd
ds = gd.Dataset.from_dict({"id": list(range(300_000)), "text": [f"{sys.argv[2]} {i}" for i in range(300_000)]})
print("ready", flush=True)
ds.save_to_disk(sys.argv[1], num_shards=4)
"""


def test_a_killed_save_leaves_the_old_or_the_new(tmp_path):
    target = tmp_path / "saved"
    rng = random.Random(4)
    known = None
    for i in range(10):
        p = run(SAVE, target, f"version {i}", wait=False)
        assert p.stdout.readline() == "ready\n"
        time.sleep(rng.random() * 0.12)
        p.send_signal(signal.SIGKILL)
        p.wait()
        if not target.exists():
            assert known is None
            continue
        ds = gd.load_from_disk(target)
        version = ds[0]["text"].rsplit(" ", 1)[0]
        assert len(ds) == 300_000 and ds[299_999] == {"id": 299_999, "text": f"{version} 299999"} and version in (known, f"version {i}")
        known = version
    assert run(SAVE, target, "last")[0] == 0 and gd.load_from_disk(target)[0]["text"] == "last 0"


def test_a_killed_map_leaves_nothing_that_is_trusted(tmp_path):
    gd.Dataset.from_dict({"id": list(range(200_000))}).save_to_disk(tmp_path / "saved")
    code = """
import sys, grebe.dataset as gd
ds = gd.load_from_disk(sys.argv[1])
out = ds.map(lambda b: {"n": [2 * i for i in b["id"]]}, batched=True)
assert out["n"][:] == list(range(0, 400_000, 2))
print("done")
"""
    for i in range(6):
        p = run(code, tmp_path / "saved", wait=False)
        time.sleep(0.1 + 0.05 * i)
        p.send_signal(signal.SIGKILL)
        p.wait()
    assert run(code, tmp_path / "saved")[1] == "done\n"


def limited(kind, n):
    def set_limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(kind, (n, n))
    return set_limit


def test_a_full_disk_is_a_clean_error(tmp_path):
    """A limit on the size of files stands for a disk without room: writes fail half way."""
    lines(tmp_path / "a.jsonl", 50_000)
    lines(tmp_path / "b.jsonl", 100)
    before = gd.load("json", data_files=str(tmp_path / "b.jsonl"), split="train", cache_dir=tmp_path / "cache")
    code = """
import sys, grebe, grebe.dataset as gd
try:
    gd.load("json", data_files=sys.argv[1], split="train", cache_dir=sys.argv[2])
except grebe.Error as e:
    print(e.status)
small = gd.load("json", data_files=sys.argv[3], split="train", cache_dir=sys.argv[2])
try:
    gd.concatenate_datasets([small] * 500).save_to_disk(sys.argv[4])
except grebe.Error as e:
    print(e.status)
try:
    gd.concatenate_datasets([small] * 500).map({"n": "id + 1"}, cache_file_name=sys.argv[4] + ".arrow")
except grebe.Error as e:
    print(e.status)
print(len(small))
"""
    rc, out, err = run(code, tmp_path / "a.jsonl", tmp_path / "cache", tmp_path / "b.jsonl", tmp_path / "out",
                       preexec_fn=limited(resource.RLIMIT_FSIZE, 1 << 20))
    assert rc == 0, err
    status = out.split()
    assert len(status) == 4 and set(status[:3]) <= {"limit", "io"} and status[3] == "100", out + err
    assert before[99]["id"] == 99 and not (tmp_path / "out").exists()
    assert not [f for f in os.listdir(tmp_path) if f.startswith("out")]
    assert len(gd.load("json", data_files=str(tmp_path / "a.jsonl"), split="train", cache_dir=tmp_path / "cache")) == 50_000


def test_many_files_with_few_descriptors(tmp_path):
    for i in range(2000):
        pq.write_table(pa.table({"id": [2 * i, 2 * i + 1]}), tmp_path / f"{i:04}.parquet")
    code = """
import sys, grebe.dataset as gd
files = sys.argv[1] + "/*.parquet"
ds = gd.load("parquet", data_files=files, split="train", cache_dir=sys.argv[1] + "/cache")
assert ds["id"][:] == list(range(4000))
stream = gd.load("parquet", data_files=files, split="train", streaming=True)
assert [r["id"] for r in stream] == list(range(4000)) and stream.num_shards == 2000
assert sorted(r["id"] for r in stream.shuffle(seed=1, buffer_size=100)) == list(range(4000))
ds.save_to_disk(sys.argv[1] + "/saved", num_shards=1500)
saved = gd.load_from_disk(sys.argv[1] + "/saved")
assert saved["id"][:] == list(range(4000)) and len(saved.cache_files) == 1500
print("all")
"""
    rc, out, err = run(code, tmp_path, preexec_fn=limited(resource.RLIMIT_NOFILE, 64))
    assert out == "all\n", err


def test_descriptors_come_back(tmp_path):
    gd.Dataset.from_dict({"id": list(range(100))}).save_to_disk(tmp_path / "saved", num_shards=5)
    lines(tmp_path / "a.jsonl", 10)
    state = lambda: (len(os.listdir("/proc/self/fd")), open("/proc/self/maps").read().count(str(tmp_path)))  # noqa: E731

    def cycle():
        ds = gd.load_from_disk(tmp_path / "saved").map({"n": "id * 2"}).shuffle(seed=1)
        assert ds[5]["n"] == 2 * ds[5]["id"]
        loaded = gd.load("json", data_files=str(tmp_path / "a.jsonl"), split="train", cache_dir=tmp_path / "cache")
        assert next(iter(loaded.to_iterable_dataset().shuffle(seed=2)))["id"] < 10
    for _ in range(3):
        cycle()
    before = state()
    for _ in range(1000):
        cycle()
    after = state()
    assert after[0] <= before[0] + 2 and after[1] <= before[1] + 8, (before, after)


# ---- larger than memory

PEAK = """
import resource
def anonymous():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon")) * 1024
"""


def test_files_larger_than_the_memory_limit(tmp_path):
    """400 MB of rows with 256 MB of anonymous memory: mapped files are not counted, copies would be."""
    rng = np.random.default_rng(1)
    for i in range(8):
        pq.write_table(pa.table({"id": np.arange(i * 100_000, (i + 1) * 100_000), "v": list(rng.random((100_000, 64), np.float32))}),
                       tmp_path / f"{i}.parquet", row_group_size=20_000)
    code = """
import sys, grebe, grebe.dataset as gd
grebe.set_threads(2)
ds = gd.load("parquet", data_files=sys.argv[1] + "/*.parquet", split="train", cache_dir=sys.argv[1] + "/cache")
assert len(ds) == 800_000
out = ds.map({"n": "id * 2"})
assert out[799_999]["n"] == 1_599_998
out = out.map(lambda b: {"m": b["n"]}, batched=True).shuffle(seed=3).filter("n % 4 = 0")
assert len(out) == 400_000 and out[17]["m"] % 4 == 0
out.save_to_disk(sys.argv[1] + "/saved")
assert len(gd.load_from_disk(sys.argv[1] + "/saved")) == 400_000
print("all")
"""
    rc, out, err = run(code, tmp_path, preexec_fn=limited(resource.RLIMIT_DATA, 256 << 20))
    assert out == "all\n", err[-2000:]


def test_a_long_stream_in_little_memory(tmp_path):
    rng = np.random.default_rng(2)
    for i in range(4):
        pq.write_table(pa.table({"id": np.arange(i * 2_500_000, (i + 1) * 2_500_000), "r": rng.integers(0, 1 << 40, 2_500_000)}),
                       tmp_path / f"{i}.parquet", row_group_size=100_000)
    code = PEAK + """
import sys, grebe.dataset as gd
stream = gd.load("parquet", data_files=sys.argv[1] + "/*.parquet", split="train", streaming=True)
n = most = 0
start = anonymous()
for k, batch in enumerate(stream.shuffle(seed=1, buffer_size=10_000).batches(1000)):
    n += len(batch)
    if k % 100 == 0:
        most = max(most, anonymous())
print(n, most - start)
"""
    rc, out, err = run(code, tmp_path)
    assert rc == 0, err
    n, grown = map(int, out.split())
    assert n == 10_000_000 and grown < 100e6


def test_a_hundred_million_rows_are_shuffled(tmp_path):
    code = PEAK + """
import hashlib, time, numpy, grebe.dataset as gd
ds = gd.concatenate_datasets([gd.Dataset.from_dict({"a": numpy.zeros(1_000_000, numpy.int8)})] * 100)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
t = time.process_time()
out = ds.shuffle(seed=42, keep_in_memory=True)
print(len(out), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, time.process_time() - t)
"""
    rc, out, err = run(code)
    assert rc == 0, err
    n, grown, seconds = out.split()
    assert int(n) == 100_000_000 and int(grown) <= 850e6, out


# ---- bad input


@pytest.mark.parametrize("kind,content,place", [
    ("json", b'{"a": 1}\n{"a": \n', "a.x:3:1"), ("json", b'{"a": 1}\n{"a": 1}}\n', "a.x:2"), ("csv", b'a,b\n1,2\n3,4,5\n', "a.x"),
    ("csv", b'a\n"open\n', "a.x"), ("parquet", b"PAR1 nothing PAR1", "a.x"), ("arrow", b"ARROW1\0\0 nothing", "a.x"),
    ("text", b"ok\n\xff\xfe\n", "a.x"), ("json", b"\x00\x01\x02", "a.x"), ("parquet", b"", "a.x"),
])
def test_broken_files_are_named(tmp_path, kind, content, place):
    (tmp_path / "a.x").write_bytes(content)
    for streaming in (False, True):
        with pytest.raises(grebe.Error) as e:
            rows = gd.load(kind, data_files=str(tmp_path / "a.x"), split="train", cache_dir=tmp_path / "cache", streaming=streaming)
            list(rows)
        assert place in str(e.value) and e.value.status in ("corrupt", "schema", "invalid", "unsupported"), str(e.value)
    assert not [f for _, _, files in os.walk(tmp_path / "cache") for f in files if f.endswith(".arrow")]


def test_damaged_caches_and_saved_sets(tmp_path):
    gd.Dataset.from_dict({"id": list(range(5000)), "s": [str(i) for i in range(5000)]}).save_to_disk(tmp_path / "saved")
    path = tmp_path / "saved" / "data-00000-of-00001.arrow"
    good = path.read_bytes()
    rng = random.Random(9)
    for i in range(150):
        data = bytearray(good)
        if i % 3 == 0:
            data = data[:rng.randrange(len(data))]
        else:
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        try:
            ds = gd.load_from_disk(tmp_path / "saved")
            rows = [r["id"] for r in ds]
            ds.sort("id"), ds.filter("id > 3"), ds.shuffle(seed=1)[:10]
            assert all(isinstance(r, int) or r is None for r in rows)
        except (grebe.Error, ValueError, UnicodeDecodeError):
            pass
    for name in ("state.json", "dataset_info.json"):
        path.write_bytes(good)
        text = (tmp_path / "saved" / name).read_bytes()
        for i in range(60):
            data = bytearray(text)
            data[rng.randrange(len(data))] = rng.randrange(256)
            (tmp_path / "saved" / name).write_bytes(data)
            try:
                assert len(gd.load_from_disk(tmp_path / "saved")) == 5000
            except (grebe.Error, ValueError):
                pass
        (tmp_path / "saved" / name).write_bytes(text)
    (tmp_path / "saved" / "state.json").write_text('{"_data_files": [{"filename": "../../etc/passwd"}], "_fingerprint": "x"}')
    with pytest.raises(grebe.Error):
        gd.load_from_disk(tmp_path / "saved")
