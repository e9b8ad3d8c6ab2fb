#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A million rows of 128 components: build, save, open, search; seconds and memory.

    PYTHONPATH=build/python ann_large.py --work DIR [--kind graph] [--rows 1000000] [--threads 2]

The rows are clusters with a decaying spectrum (as the set clust of bench/ann.py). Each phase is a process of its own, so that its
peak memory is its own; truth for 200 queries by kind flat. The file is opened with the system's cache warm, as after building.
"""
import argparse, json, os, resource, subprocess, sys, time

import numpy as np

DIM = 128


def rows(n, seed):
    rng = np.random.default_rng(11)
    spectrum = (1.0 + np.arange(DIM)) ** -0.5
    rot, _ = np.linalg.qr(rng.standard_normal((DIM, DIM)))
    centres = (rng.standard_normal((n // 100, DIM)) * spectrum).astype(np.float32)
    rng = np.random.default_rng(seed)
    out = np.empty((n, DIM), np.float32)
    for at in range(0, n, 100_000):
        m = min(100_000, n - at)
        x = centres[rng.integers(len(centres), size=m)] + 0.5 * rng.standard_normal((m, DIM), np.float32) * spectrum.astype(np.float32)
        out[at:at + m] = x @ rot.astype(np.float32) * 10
    return out


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def rss():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * resource.getpagesize()


def phase(a):
    import grebe.ann
    base, queries, path = (os.path.join(a.work, x) for x in ("large.npy", "large_q.npy", f"large_{a.kind}.index"))
    if a.phase == "make":
        np.save(base, rows(a.rows, 1))
        np.save(queries, rows(a.rows, 1)[:200] + np.random.default_rng(3).standard_normal((200, DIM), np.float32) * 0.5)
        return {}
    if a.phase == "truth":
        ids, _ = grebe.ann.Index("flat", "euclidean").build(np.load(base, mmap_mode="r")).search(np.load(queries), 10)
        np.save(os.path.join(a.work, "large_truth.npy"), ids)
        return {}
    if a.phase == "build":
        x = np.load(base, mmap_mode="r")
        before, begin, cpu = rss(), time.perf_counter(), time.process_time()
        options = dict(quant="sq8") if a.kind in ("graph", "ivf") else {}
        index = grebe.ann.Index(a.kind, "euclidean", threads=a.threads, **options)
        index.build(x)
        built, used = time.perf_counter() - begin, time.process_time() - cpu
        top = peak()  # of a mapped input only what is in use counts beside it
        begin = time.perf_counter()
        index.save(path)
        info = index.info
        return dict(seconds=round(built, 2), cpu_seconds=round(used, 2), save_seconds=round(time.perf_counter() - begin, 2), peak_rss=top,
                    rss_before=before, vectors_and_links=info["bytes_vectors"] + info["bytes_links"], file_bytes=os.path.getsize(path), info=info)
    q, truth = np.load(queries), np.load(os.path.join(a.work, "large_truth.npy"))
    before, begin = rss(), time.perf_counter()
    index = grebe.ann.Index.load(path)
    index.search(q[0], 10)
    first = time.perf_counter() - begin
    out = []
    for ef in (16, 32, 64, 128, 256):
        p = dict(nprobe=ef // 4) if a.kind == "ivf" else dict(ef=ef)
        begin = time.process_time()
        ids, _ = index.search(q, 10, threads=1, **p)
        out.append(dict(p, qps_cpu=round(len(q) / (time.process_time() - begin)), recall=float(np.mean([len(set(x) & set(y)) / 10 for x, y in zip(ids, truth)]))))
    return dict(first_answer_ms=round(first * 1e3, 2), rss_growth=rss() - before, search=out)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--work", required=True)
    p.add_argument("--kind", default="graph")
    p.add_argument("--rows", type=int, default=1_000_000)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--phase")
    a = p.parse_args()
    if a.phase:
        print(json.dumps(dict(kind=a.kind, rows=a.rows, phase=a.phase, **phase(a))), flush=True)
        return
    for name in ("make", "truth", "build", "search"):
        if name not in ("make", "truth") or not os.path.exists(os.path.join(a.work, "large_truth.npy")):
            subprocess.run([sys.executable, __file__, "--work", a.work, "--kind", a.kind, "--rows", str(a.rows), "--threads", str(a.threads),
                            "--phase", name], check=True)


main()
