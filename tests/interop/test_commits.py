# SPDX-License-Identifier: Apache-2.0
"""Commits when things go wrong: many processes at once, kill -9, a full disk, a folder that cannot be written."""
import collections
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
import avro_check  # noqa: E402
from harness import GREBE, assert_same, one_line_error, run  # noqa: E402

import grebe  # noqa: E402

START = {"writer": [-1] * 3, "serial": [0] * 3, "part": [0, 1, 2], "text": [f"-1/0/{k}" for k in range(3)]}


def worker(*args):
    return subprocess.Popen([sys.executable, HERE / "tools" / "commit_worker.py", *map(str, args)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def release(workers):
    """Let workers begin together."""
    for w in workers:
        assert w.stdout.readline() == b"ready\n", w.stderr.read()
    for w in workers:
        w.stdin.close()


def answers(workers):
    """What each printed, once all have ended well."""
    out = []
    for w in workers:
        out.append(w.stdout.read().decode().split())
        message = w.stderr.read().decode()
        assert w.wait(120) == 0, message
        w.stdout.close()
        w.stderr.close()
    return out


def check_complete(table):
    """Every commit's three rows are there, together, whole and once. Gives (writer, serial) of each."""
    rows = pa.table(table.scan(columns=["writer", "serial", "part", "text"]))
    writer, serial, part = (np.asarray(rows[c]).reshape(-1, 3) for c in ("writer", "serial", "part"))
    assert rows.num_rows == table.num_rows
    assert (writer == writer[:, :1]).all() and (serial == serial[:, :1]).all() and (part == [0, 1, 2]).all()
    seen = list(zip(writer[:, 0].tolist(), serial[:, 0].tolist()))
    assert rows["text"].to_pylist() == [f"{w}/{s}/{k}" for w, s in seen for k in range(3)]
    assert len(set(seen)) == len(seen)
    return set(seen)


def check_folder(path, allow_lost_data=False):
    """Only whole manifests are called so; every data file is named by a manifest, unless a writer was killed."""
    for p in (path / "_metadata").iterdir():
        if p.name.startswith("manifest-"):
            assert p.name[9:-5].isdigit() and p.suffix == ".avro", p.name
            _, blocks = avro_check.container(p.read_bytes())
            assert len(blocks) == 1, p.name
    found = grebe.open(path)
    assert found.versions() == list(range(1, found.version + 1))
    for version in found.versions()[::-max(1, found.version // 15)]:
        assert found.at(version).check() == [], version
    names = set(avro_files(path))
    there = {p.name for p in (path / "_data").iterdir()}
    assert names <= there and (allow_lost_data or names == there), there - names
    return found


def avro_files(path):
    for p in (path / "_metadata").glob("manifest-*.avro"):
        with open(p, "rb") as f:
            for record in fastavro.reader(f):
                for group in record["column_groups"]:
                    for file in group["files"]:
                        yield file["path"]


def test_many_processes_commit_at_once(tmp_path):
    n, times = 6, 80
    path = tmp_path / "t"
    check_complete(grebe.create(path, START, groups=[["text"]], durable=False))
    workers = [worker("append", path, i, times) for i in range(n)]
    release(workers)
    looks = 0
    while any(w.poll() is None for w in workers):
        table = grebe.open(path)
        assert table.num_rows == 3 * table.version
        check_complete(table)
        looks += 1
    reported = [list(map(int, versions)) for versions in answers(workers)]
    assert all(len(r) == times and r == sorted(r) for r in reported)
    assert sorted(v for r in reported for v in r) == list(range(2, n * times + 2))
    table = check_folder(path)
    assert table.version == n * times + 1 and looks > 1
    seen = check_complete(table)
    assert seen == {(i, k) for i in range(n) for k in range(times)} | {(-1, 0)}
    # the version that was reported to a writer is the one that has its rows
    for i, versions in enumerate(reported):
        for k, version in enumerate(versions[::13]):
            rows = pa.table(table.at(version).take([3 * version - 3], columns=["writer", "serial"])).to_pylist()
            assert rows == [{"writer": i, "serial": 13 * k}]


def test_rows_and_columns_at_once(tmp_path):
    """New columns need all rows: they start anew when rows came in between; nothing is ever torn."""
    path = tmp_path / "t"
    grebe.create(path, START, durable=False)
    workers = [worker("append", path, i, 15) for i in range(2)] + [worker("add", path, i, 4) for i in range(2)]
    release(workers)
    while any(w.poll() is None for w in workers):
        table = grebe.open(path)
        check_complete(table)
        assert pa.table(table.scan()).num_rows == table.num_rows
    versions = sorted(int(v) for part in answers(workers) for v in part)
    assert versions == list(range(2, 2 + 30 + 8))
    table = check_folder(path)
    assert len(check_complete(table)) == 31
    assert {f"extra_{i}_{k}" for i in range(2) for k in range(4)} < set(table.schema.names)


def test_many_threads_commit_at_once(tmp_path):
    """In one process, with the caches and the pool that its threads share."""
    table = grebe.create(tmp_path / "t", START, groups=[["text"]], durable=False)
    versions, failures = [], []

    def work(number):
        try:
            for i in range(20):
                rows = {"writer": [number] * 3, "serial": [i] * 3, "part": [0, 1, 2], "text": [f"{number}/{i}/{k}" for k in range(3)]}
                made = (table if i % 2 else grebe.open(tmp_path / "t")).append(rows, durable=False)
                versions.append(made.version)
                check_complete(made)
        except Exception as e:
            failures.append(e)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == [] and sorted(versions) == list(range(2, 122))
    assert len(check_complete(check_folder(tmp_path / "t"))) == 121


@pytest.mark.parametrize("verb", ["create", "tag"])
def test_one_wins(tmp_path, verb):
    path = tmp_path / "t"
    if verb == "tag":
        grebe.create(path, START, durable=False)
    workers = [worker(verb, path, i, 1) for i in range(4)]
    release(workers)
    said = [a[0] for a in answers(workers)]
    assert sorted(said) == ["lost"] * 3 + ["won"], said
    table = grebe.open(path)
    if verb == "create":
        assert table.num_rows == 30_000 and set(pa.table(table.scan(columns=["writer"]))["writer"].to_pylist()) == {said.index("won")}
        check_folder(path)
    else:
        assert table.tags == {"first": 1}


def test_killed_writers_lose_nothing_that_was_reported(tmp_path):
    path = tmp_path / "t"
    grebe.create(path, START, groups=[["text"]])
    chance = random.Random(4)
    reported = 1
    killed = 0
    for number in range(40):
        w = worker("append", path, number, 10_000, "durable")
        release([w])
        if chance.random() < 0.8:
            w.stdout.readline()                # somewhere in the life of the second commit or later
        time.sleep(chance.random() * 0.03)
        w.kill()
        lines = w.stdout.read().decode().splitlines(keepends=True)
        message = w.stderr.read().decode()
        assert w.wait() == -signal.SIGKILL and message == "", message
        killed += 1
        whole = [int(x) for x in lines if x.endswith("\n")]
        reported = max([reported, *whole])
        table = grebe.open(path)
        assert reported <= table.version <= reported + 2, (reported, table.version)
        assert table.num_rows == 3 * table.version
        reported = table.version
    table = check_folder(path, allow_lost_data=True)
    check_complete(table)
    assert killed == 40 and table.version > 40
    ran = run("check", path, "--deep")
    assert ran.code == 0, ran
    # whatever the dead have left does not stand in the way of the next
    assert table.append(START).version == table.version + 1
    strange = [p.name for p in (path / "_metadata").iterdir() if not p.name.startswith("manifest-")]
    assert all(name.startswith(".") for name in strange), strange


def test_a_killed_create_leaves_a_table_or_none(tmp_path):
    chance = random.Random(5)
    outcomes = collections.Counter()
    for number in range(24):
        path = tmp_path / f"t{number}"
        w = worker("create", path, number, 1, "durable")
        release([w])
        time.sleep(chance.random() * 0.06)
        w.kill()
        said = w.stdout.read()
        w.wait()
        w.stderr.close()
        try:
            table = grebe.open(path)
        except grebe.NotFound:
            assert b"won" not in said
            outcomes["none"] += 1
            left = list(path.glob("_metadata/manifest-*")) if path.exists() else []
            assert left == []
            table = grebe.create(path, START, durable=False)   # the same place can be used again
            assert table.version == 1 and check_complete(table)
            continue
        outcomes["whole"] += 1
        assert table.version == 1 and table.num_rows == 30_000 and table.check(deep=True) == []
        serial = pa.table(table.scan(columns=["serial"]))["serial"].to_pylist()
        assert serial == list(range(30_000))
    print(dict(outcomes))


# ---- places that cannot be written -----------------------------------------------------------------------------------

@pytest.fixture
def disk(tmp_path):
    """A file system of one megabyte."""
    path = tmp_path / "disk"
    path.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "grebe-test", path], capture_output=True,
                                           check=False).returncode:
        pytest.skip("a file system of its own cannot be mounted here")
    yield path
    subprocess.run(["umount", "-l", path], check=True)


def listing(path):
    return {str(p.relative_to(path)): p.stat().st_size for p in path.rglob("*") if p.is_file() and p.name != "filler"}


def rows_file(path, n, text=60):
    rng = random.Random(n)
    rows = pa.table({"id": list(range(n)), "text": ["".join(rng.choices("abcdefghijklmnop", k=text)) for _ in range(n)],
                     "v": pa.array([[rng.random() for _ in range(8)] for _ in range(n)], pa.list_(pa.float32(), 8))})
    pq.write_table(rows, path)
    return rows


def test_a_full_disk(tmp_path, disk):
    small = rows_file(tmp_path / "small.parquet", 200)
    big = tmp_path / "big.parquet"
    rows_file(big, 20_000)
    table = disk / "t"
    assert run("create", table, "--from", tmp_path / "small.parquet").code == 0
    before = listing(disk)
    for verb in (["append", table, big], ["create", disk / "u", "--from", big]):
        ran = run(*verb)
        assert one_line_error(ran, {10}) is None and "No space left" in ran.message, ran
        assert listing(disk) == before
    assert not (disk / "u" / "_metadata").exists() or not any((disk / "u" / "_metadata").iterdir())
    # every amount of room that is left: the data, the temporary manifest or its folder does not fit
    small_size = sum(p.stat().st_size for p in (table / "_data").iterdir())
    committed, failed = 1, 0
    for room in range(0, 2 * small_size // 4096 + 16):
        (disk / "filler").write_bytes(b"")
        free = os.statvfs(disk).f_bavail * 4096
        with open(disk / "filler", "wb") as f:
            f.write(bytes(max(0, free - 4096 * room)))
        before = listing(disk)
        ran = run("append", table, tmp_path / "small.parquet")
        if ran.code == 0:
            committed += 1
            if committed > 3:
                break
        else:
            failed += 1
            assert one_line_error(ran, {10}) is None, ran
            assert listing(disk) == before, room
    (disk / "filler").unlink(missing_ok=True)
    assert failed >= 3 and committed >= 2
    opened = grebe.open(table)
    assert opened.version == committed and opened.num_rows == 200 * committed and opened.check(deep=True) == []
    assert_same(opened.scan(), pa.concat_tables([small] * committed))


def test_no_room_for_another_file(tmp_path, disk):
    rows_file(tmp_path / "small.parquet", 20)
    table = disk / "t"
    assert run("create", table, "--from", tmp_path / "small.parquet").code == 0
    subprocess.run(["mount", "-o", "remount,nr_inodes=32", disk], check=True)
    codes = []
    for _ in range(20):
        before = listing(disk)
        ran = run("append", table, tmp_path / "small.parquet", "--durable", "off")
        codes.append(ran.code)
        if ran.code:
            assert one_line_error(ran, {10}) is None and listing(disk) == before, ran
    assert codes[0] == 0 and codes[-1] == 10 and codes == sorted(codes)
    opened = grebe.open(table)
    assert opened.version == 1 + codes.count(0) and opened.check(deep=True) == []


def test_a_folder_that_is_read_only(tmp_path):
    rows_file(tmp_path / "small.parquet", 20)
    table = tmp_path / "disk" / "t"
    table.parent.mkdir()
    made = grebe.create(table, pq.read_table(tmp_path / "small.parquet"), durable=False)
    made.tag("one")
    is_root = os.geteuid() == 0
    if is_root:
        if subprocess.run(["mount", "--bind", table.parent, table.parent], capture_output=True, check=False).returncode:
            pytest.skip("a read-only file system cannot be mounted here")
        subprocess.run(["mount", "-o", "remount,bind,ro", table.parent], check=True)
    else:
        for p in [table, *table.rglob("*"), table.parent]:
            p.chmod(0o555 if p.is_dir() else 0o444)
    try:
        before = listing(table)
        for verb in (["append", table, tmp_path / "small.parquet"], ["add-column", table, tmp_path / "small.parquet", "--columns", "id"],
                     ["drop-column", table, "id"], ["rename-column", table, "id", "key"], ["tag", table, "two"], ["tag", table, "one", "--delete"],
                     ["create", table.parent / "u", "--from", tmp_path / "small.parquet"]):
            ran = run(*verb)
            codes = {4} if verb[0] == "add-column" else {1}
            assert one_line_error(ran, codes) is None, (verb, ran)
            assert verb[0] == "add-column" or "Read-only" in ran.message or "Permission denied" in ran.message, ran
        assert listing(table) == before
        assert run("scan", table, "--format", "arrow").rows().num_rows == 20
        assert run("check", f"{table}@one", "--deep").code == 0
        with pytest.raises(grebe.IOFailure):
            made.append(pq.read_table(tmp_path / "small.parquet"))
    finally:
        if is_root:
            subprocess.run(["umount", "-l", table.parent], check=True)
        else:
            for p in [table.parent, table, *table.rglob("*")]:
                p.chmod(0o755)


def test_places_that_are_no_folder(tmp_path):
    rows_file(tmp_path / "rows.parquet", 5)
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for verb, codes in ((["create", tmp_path / "file", "--from", tmp_path / "rows.parquet"], {1, 2, 4}),
                        (["create", tmp_path / "file" / "t", "--from", tmp_path / "rows.parquet"], {1, 2, 4}),
                        (["append", tmp_path / "empty", tmp_path / "rows.parquet"], {3}),
                        (["append", tmp_path / "nothing", tmp_path / "rows.parquet"], {3}),
                        (["scan", tmp_path / "empty"], {3}), (["scan", tmp_path / "nothing"], {3}), (["scan", tmp_path / "dangling"], {3}),
                        (["scan", tmp_path / "file"], {5, 6}), (["append", tmp_path / "empty", tmp_path / "nothing"], {3}),
                        (["create", tmp_path / "t", "--from", tmp_path / "nothing"], {3}),
                        (["create", tmp_path / "t", "--from", tmp_path / "file"], {5, 6})):
        ran = run(*verb)
        assert one_line_error(ran, codes) is None, (verb, ran)
    assert (tmp_path / "file").read_text() == "x" and not any((tmp_path / "empty").iterdir())
    assert not (tmp_path / "t" / "_metadata").exists()
    # an empty folder that is there is a fine place for a table
    assert run("create", tmp_path / "empty", "--from", tmp_path / "rows.parquet").code == 0
    ran = run("create", tmp_path / "empty", "--from", tmp_path / "rows.parquet")
    assert one_line_error(ran, {4}) is None and grebe.open(tmp_path / "empty").version == 1


def test_a_source_that_fails_half_way(tmp_path):
    rows = rows_file(tmp_path / "rows.parquet", 30_000)
    with pa.OSFile(str(tmp_path / "cut.arrows"), "wb") as f, pa.ipc.new_stream(f, rows.schema) as w:
        for batch in rows.to_batches(max_chunksize=1000):
            w.write_batch(batch)
    size = (tmp_path / "cut.arrows").stat().st_size
    os.truncate(tmp_path / "cut.arrows", size * 2 // 3)
    table = tmp_path / "t"
    ran = run("create", table, "--from", tmp_path / "cut.arrows")
    assert one_line_error(ran, {5}) is None and listing(table) == {} if table.exists() else True, ran
    assert run("create", table, "--from", tmp_path / "rows.parquet", "--durable", "off").code == 0
    before = listing(table)
    ran = run("append", table, tmp_path / "cut.arrows")
    assert one_line_error(ran, {5}) is None and listing(table) == before, ran


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_writer_removes_what_it_staged(tmp_path, number):
    """While it waits for rows on standard input, with half a table written."""
    rows = rows_file(tmp_path / "rows.parquet", 30_000)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as w:
        for batch in rows.to_batches(max_chunksize=3000):
            w.write_batch(batch)
    stream = sink.getvalue().to_pybytes()
    table = tmp_path / "t"
    grebe.create(table, rows.slice(0, 10), durable=False)
    before = listing(table)
    for args in (["create", tmp_path / "u", "--from", "-"], ["append", table, "-"]):
        process = subprocess.Popen([GREBE, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdin.write(stream[:len(stream) * 2 // 3])
        process.stdin.flush()
        folder = args[1] / "_data"
        end = time.monotonic() + 20
        while not (folder.exists() and any(p.name not in [pathlib.Path(k).name for k in before] for p in folder.iterdir())):
            assert time.monotonic() < end and process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(20) == 130, process.stderr.read()
        message = process.stderr.read().decode()
        assert message.startswith("grebe: ") and message.count("\n") == 1, message
        for pipe in (process.stdin, process.stdout, process.stderr):
            try:
                pipe.close()
            except BrokenPipeError:
                pass
    assert listing(table) == before and listing(tmp_path / "u") == {}
    with pytest.raises(grebe.NotFound):
        grebe.open(tmp_path / "u")


def test_not_durable_is_as_exclusive(tmp_path):
    """--durable off leaves out the syncs, never the order: the same files, the same answers."""
    rows = rows_file(tmp_path / "rows.parquet", 500)
    for durable in ("on", "off"):
        table = tmp_path / durable
        assert run("create", table, "--from", tmp_path / "rows.parquet", "--durable", durable).code == 0
        assert run("append", table, tmp_path / "rows.parquet", "--durable", durable).code == 0
        assert one_line_error(run("append", f"{table}@1", tmp_path / "rows.parquet", "--on-conflict", "fail", "--durable", durable), {7}) is None
        check_folder(table)
        assert_same(grebe.open(table).scan(), pa.concat_tables([rows, rows]))
    assert sorted(listing(tmp_path / "on").values()) == sorted(listing(tmp_path / "off").values())
    strace = shutil.which("strace")
    if strace is None:
        return
    for durable in ("on", "off"):
        log = tmp_path / f"{durable}.log"
        subprocess.run([strace, "-f", "-o", log, "-e", "trace=fsync,fdatasync", GREBE, "append", tmp_path / durable,
                        tmp_path / "rows.parquet", "--durable", durable], check=True, capture_output=True)
        assert ("sync(" in log.read_text()) == (durable == "on")
