#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the cost of fetching 1,000 random rows grow with the table?

    scaling.py [--rows 40000,1000000,10000000] [--dim 128] [--take 1000] [--reps 15] [--work DIR]

Tables of {id int64, name utf8, value float64, vector float32[dim]} of several sizes; each repetition opens the table anew and
takes other random rows. Page cache warm where the table fits into memory. Also the peak memory of a scan of all
columns (beyond the interpreter's), in a fresh process. One JSON line a size."""
import argparse, json, os, shutil, statistics, subprocess, sys, tempfile, time
import numpy as np
import grebe

# Anonymous memory only: pages of mapped files are the page cache's, and can be dropped at any time.
SCAN = """
import sys, grebe
def anonymous_kib():
    with open("/proc/self/status") as f:
        return int(next(line for line in f if line.startswith("RssAnon")).split()[1])
n, before, peak = 0, anonymous_kib(), 0
for i, batch in enumerate(grebe.open(sys.argv[1]).scan()):
    n += batch.num_rows
    if i % 16 == 0:
        peak = max(peak, anonymous_kib() - before)
print(n, peak)
"""


def batches(rows, dim, rng, piece=100_000):
    import pyarrow as pa
    schema = pa.schema([("id", pa.int64()), ("name", pa.string()), ("value", pa.float64()), ("vector", pa.list_(pa.float32(), dim))])
    def make():
        for begin in range(0, rows, piece):
            n = min(piece, rows - begin)
            ids = np.arange(begin, begin + n)
            vec = rng.random((n, dim), dtype=np.float32)
            yield pa.record_batch([pa.array(ids), pa.array([f"name_{i}" for i in ids]), pa.array(rng.random(n)),
                                   pa.FixedSizeListArray.from_arrays(pa.array(vec.ravel()), dim)], schema=schema)
    return pa.RecordBatchReader.from_batches(schema, make())


def median_ms(fn, reps):
    fn()
    times = []
    for _ in range(reps):
        begin = time.perf_counter()
        fn()
        times.append((time.perf_counter() - begin) * 1e3)
    return round(statistics.median(times), 3)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rows", default="40000,1000000,10000000")
    ap.add_argument("--dim", type=int, default=128)
    ap.add_argument("--take", type=int, default=1000)
    ap.add_argument("--reps", type=int, default=15)
    ap.add_argument("--work")
    a = ap.parse_args()
    work = a.work or tempfile.mkdtemp(prefix="grebe-scaling")
    rng = np.random.default_rng(1)
    for rows in map(int, a.rows.split(",")):
        path = os.path.join(work, str(rows))
        shutil.rmtree(path, ignore_errors=True)
        begin = time.perf_counter()
        grebe.create(path, batches(rows, a.dim, rng), durable=False)
        write_s = time.perf_counter() - begin
        def take(columns=None):
            ids = np.sort(rng.choice(rows, a.take, replace=False))
            grebe.open(path).take(ids, columns=columns)
        out = {"bench": "scaling", "rows": rows, "take": a.take, "write_s": round(write_s, 2),
               "take_all_ms": median_ms(take, a.reps), "take_vector_ms": median_ms(lambda: take(["vector"]), a.reps),
               "take_id_ms": median_ms(lambda: take(["id"]), a.reps)}
        scan = subprocess.run([sys.executable, "-c", SCAN, path], capture_output=True, text=True, check=True)
        n, peak_kib = map(int, scan.stdout.split())
        assert n == rows
        out["scan_anonymous_mib"] = peak_kib // 1024
        out["data_mib"] = sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(path) for f in fs) >> 20
        print(json.dumps(out), flush=True)
        shutil.rmtree(path)
    if not a.work:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
