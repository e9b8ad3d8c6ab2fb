#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What does opening a table cost that has many versions, or many files, and do concurrent commits lose anything?

    opening.py [--count 10000] [--processes 6] [--commits 60] [--reps 15]

One JSON line a question. "warm": the context has seen the table; "cold": a fresh process per opening, the page cache warm."""
import argparse, json, multiprocessing, os, shutil, statistics, subprocess, sys, tempfile, time
import numpy as np
import grebe

COLD = """
import sys, time, grebe
begin = time.perf_counter()
t = grebe.open(sys.argv[1])
n = t.num_rows
print((time.perf_counter() - begin) * 1e3)
"""


def warm_and_cold(path, reps):
    grebe.open(path)
    warm = []
    for _ in range(reps):
        begin = time.perf_counter()
        grebe.open(path).num_rows
        warm.append((time.perf_counter() - begin) * 1e3)
    cold = [float(subprocess.run([sys.executable, "-c", COLD, path], capture_output=True, text=True, check=True).stdout)
            for _ in range(5)]
    return {"warm_ms": round(statistics.median(warm), 3), "cold_ms": round(statistics.median(cold), 3)}


def many_versions(work, count, reps):
    path = os.path.join(work, "versions")
    table = grebe.create(path, {"a": np.arange(3)}, durable=False)
    folder = os.path.join(path, "_metadata")
    with open(os.path.join(folder, "manifest-1.avro"), "rb") as f:
        manifest = f.read()
    for v in range(2, count + 1):
        with open(os.path.join(folder, f"manifest-{v}.avro"), "wb") as f:
            f.write(manifest)
    assert grebe.open(path).version == count
    return {"bench": "opening", "versions": count, **warm_and_cold(path, reps)}


def many_files(work, count, reps):
    path = os.path.join(work, "files")
    table = grebe.create(path, {"a": np.arange(3)}, durable=False)
    piece = 500
    for begin in range(1, count, piece):
        with table.transaction(durable=False) as txn:
            for _ in range(min(piece, count - begin)):
                txn.append({"a": np.arange(3)})
        table = txn.table
    assert table.num_rows == 3 * count
    return {"bench": "opening", "files": count, "manifest_bytes": os.path.getsize(os.path.join(path, "_metadata", f"manifest-{table.version}.avro")),
            **warm_and_cold(path, reps)}


def committer(path, n, start, results):
    start.wait()
    made = [grebe.open(path).append({"a": np.array([i])}, durable=False).version for i in range(n)]
    results.put(made)


def concurrent(work, processes, commits):
    path = os.path.join(work, "commits")
    grebe.create(path, {"a": np.array([0])}, durable=False)
    context = multiprocessing.get_context("spawn")
    start, results = context.Event(), context.Queue()
    workers = [context.Process(target=committer, args=(path, commits, start, results)) for _ in range(processes)]
    for w in workers:
        w.start()
    begin = time.perf_counter()
    start.set()
    versions = sorted(v for _ in workers for v in results.get())
    seconds = time.perf_counter() - begin
    for w in workers:
        w.join()
    return {"bench": "commits", "processes": processes, "reported": len(versions), "seconds": round(seconds, 2),
            "versions_consecutive": versions == list(range(2, 2 + processes * commits)),
            "rows": grebe.open(path).num_rows, "rows_expected": 1 + processes * commits}


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--count", type=int, default=10000)
    ap.add_argument("--processes", type=int, default=6)
    ap.add_argument("--commits", type=int, default=60)
    ap.add_argument("--reps", type=int, default=15)
    a = ap.parse_args()
    work = tempfile.mkdtemp(prefix="grebe-opening")
    print(json.dumps(many_versions(work, a.count, a.reps)), flush=True)
    print(json.dumps(many_files(work, a.count, a.reps)), flush=True)
    print(json.dumps(concurrent(work, a.processes, a.commits)), flush=True)
    shutil.rmtree(work)


if __name__ == "__main__":
    main()
