# SPDX-License-Identifier: Apache-2.0
"""map and filter in several processes: results, parts that are found again, workers that die."""
import os
import signal
import subprocess
import sys
import time

import pytest

import grebe.dataset as gd

N = 3000


@pytest.fixture
def ds(tmp_path):
    gd.Dataset.from_dict({"id": list(range(N)), "text": [f"text {i}" for i in range(N)]}).save_to_disk(tmp_path / "saved")
    return gd.load_from_disk(tmp_path / "saved")


def double(b):
    return {"n": [2 * i for i in b["id"]]}


def caches(ds):
    folder = os.path.dirname(ds.cache_files[0]["filename"])
    return sorted(f for f in os.listdir(folder) if f.startswith("cache-"))


@pytest.mark.parametrize("num_proc", [1, 2, 3, 8])
def test_the_number_of_workers_changes_nothing(ds, num_proc):
    out = ds.map(double, batched=True, num_proc=num_proc, load_from_cache_file=False)
    assert out["n"][:] == [2 * i for i in range(N)] and out["id"][:] == list(range(N))
    assert out.fingerprint == ds.map(double, batched=True).fingerprint
    kept = ds.filter(lambda r: r["id"] % 3 == 0, num_proc=num_proc, load_from_cache_file=False)
    assert kept["id"][:] == list(range(0, N, 3))


def test_indices_and_ranks(ds):
    out = ds.map(lambda b, i, rank: {"i": i, "rank": [rank] * len(i)}, with_indices=True, with_rank=True, batched=True, num_proc=4)
    assert out["i"][:] == list(range(N))
    assert sorted(set(out["rank"][:])) == [0, 1, 2, 3] and out["rank"][:] == sorted(out["rank"][:])


def test_drop_last_batch_is_of_each_worker(ds):
    assert len(ds.map(lambda b: b, batched=True, batch_size=700, drop_last_batch=True, num_proc=2)) == 2800


def test_other_numbers_of_workers_find_it(ds, tmp_path):
    def noted(b):
        with open(tmp_path / "calls", "a") as f:
            f.write("x")
        return {"n": b["id"]}
    first = ds.map(noted, batched=True, num_proc=3)
    n = os.path.getsize(tmp_path / "calls")
    for num_proc in (3, 2, 5, None):
        again = ds.map(noted, batched=True, num_proc=num_proc)
        assert again.fingerprint == first.fingerprint and again["n"][:] == list(range(N))
    assert os.path.getsize(tmp_path / "calls") == n


def test_in_memory(tmp_path):
    rows = gd.Dataset.from_dict({"id": list(range(100))})
    out = rows.map(double, batched=True, num_proc=2)
    assert out["n"][:] == [2 * i for i in range(100)]


def test_an_exception_comes_through(ds):
    def fail(r):
        if r["id"] == 2500:
            time.sleep(0.3)  # the other worker is in the middle of its part
            raise ZeroDivisionError("number 2500")
        time.sleep(0.002 if 1000 <= r["id"] < 1500 else 0)
        return r
    with pytest.raises(ZeroDivisionError, match="number 2500"):
        ds.map(fail, num_proc=2)
    assert not [f for f in os.listdir(os.path.dirname(ds.cache_files[0]["filename"])) if "tmp" in f]


def test_a_killed_worker_ends_the_map_and_parts_are_found_again(ds, tmp_path):
    armed = tmp_path / "armed"
    armed.touch()

    def die(b):
        with open(tmp_path / "calls", "a") as f:
            f.write("x")
        if b["id"][0] >= 2 * N // 3 and armed.exists():
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGKILL)
        return {"n": b["id"]}
    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="died"):
        ds.map(die, batched=True, num_proc=3)
    assert time.monotonic() - begin < 2
    time.sleep(0.1)
    assert subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "stat="], capture_output=True, text=True).stdout.count("Z") == 0
    assert len(caches(ds)) == 2  # the parts that were finished
    armed.unlink()
    n = os.path.getsize(tmp_path / "calls")
    out = ds.map(die, batched=True, num_proc=3)
    assert out["n"][:] == list(range(N)) and os.path.getsize(tmp_path / "calls") - n == 1


def test_two_hundred_killed_workers(ds):
    """None of them hangs, none stays behind."""
    for k in range(200):
        def die(b):
            if b["id"][0] >= 2 * N // 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return {"n": [k + i for i in b["id"]]}
        begin = time.monotonic()
        with pytest.raises(RuntimeError, match="died"):
            ds.map(die, batched=True, num_proc=3)
        assert time.monotonic() - begin < 1
    assert "Z" not in subprocess.run(["ps", "--ppid", str(os.getpid()), "-o", "stat="], capture_output=True, text=True).stdout


def test_interrupted_sets_are_completed_as_they_were(ds, tmp_path):
    armed = tmp_path / "armed"
    armed.touch()

    def stop(b):
        if b["id"][0] >= 5 * N // 7 and armed.exists():
            raise RuntimeError("stopped")
        return {"n": b["id"]}
    with pytest.raises(RuntimeError, match="stopped"):
        ds.map(stop, batched=True, num_proc=7, batch_size=50)
    armed.unlink()
    done = caches(ds)
    assert done and all("_of_00007" in f for f in done)
    assert ds.map(stop, batched=True, num_proc=4, batch_size=50)["n"][:] == list(range(N))
    assert all("_of_00007" in f for f in caches(ds)) and len(caches(ds)) == 7


def test_ctrl_c(tmp_path, ds):
    code = f"""
import os, sys, time, grebe.dataset as gd
ds = gd.load_from_disk({str(tmp_path / 'saved')!r})
print("ready", flush=True)
try:
    ds.map(lambda r: time.sleep(0.01), num_proc=2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    p = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert p.stdout.readline() == "ready\n"
    time.sleep(0.5)
    p.send_signal(signal.SIGINT)
    assert p.stdout.readline() == "interrupted\n" and p.wait(5) == 0


@pytest.mark.parametrize("bad", [-1])
def test_arguments(ds, bad):
    with pytest.raises(ValueError):
        ds.map(double, batched=True, num_proc=bad)
    with pytest.warns(UserWarning, match="more than there are rows"):
        ds.take(2).map(double, batched=True, num_proc=5)
