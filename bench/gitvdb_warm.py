#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Queries in one process, everything in memory: grebe.gitvdb beside git-vdb's own Rust interface, on one repository.

    gitvdb_warm.py REPO NAME --queries FILE [--threads 1,0] [--rust BINARY] [--limit 10]

FILE has a JSON array a line. The Rust side (gitvdb_warm/, `cargo build --release --ignore-rust-version`) runs before and after; without
cargo or --rust it is left out. Both include making the request and taking the answer (here: an Arrow batch of ids and scores).
Prints the median of all queries but the first round, in milliseconds, and the ratio.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

import numpy as np


def rust_binary(given):
    if given or not shutil.which("cargo"):
        return given
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gitvdb_warm")
    target = os.path.join(tempfile.gettempdir(), "gitvdb_warm_target")
    built = subprocess.run(["cargo", "build", "-q", "--release", "--ignore-rust-version", "--manifest-path",
                            os.path.join(here, "Cargo.toml"), "--target-dir", target])
    return os.path.join(target, "release", "gitvdb_warm") if built.returncode == 0 else None


def run_rust(binary, args):
    out = subprocess.run([binary, args.repo, args.name, args.queries], check=True, capture_output=True, text=True).stdout
    return {r["mode"]: r["us"] for r in map(json.loads, out.splitlines())}


def run_grebe(args, threads):
    import grebe
    import grebe.gitvdb

    grebe.set_threads(threads)
    collection = grebe.gitvdb.open(args.repo)[args.name]
    with open(args.queries) as f:
        queries = [np.array(json.loads(line), "f4") for line in f]
    times = {}
    for mode, exact in (("exact", True), ("approximate", False)):
        times[mode] = []
        for turn in range(6):
            for q in queries:
                start = time.perf_counter()
                rows = collection.search(q, k=args.limit, exact=exact, with_payload=False)
                assert len(rows) == args.limit
                if turn:
                    times[mode].append((time.perf_counter() - start) * 1e6)
    return times


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("repo")
    p.add_argument("name")
    p.add_argument("--queries", required=True)
    p.add_argument("--threads", default="1,0")
    p.add_argument("--rust")
    p.add_argument("--limit", type=int, default=10)
    args = p.parse_args()
    binary = rust_binary(args.rust)
    before = run_rust(binary, args) if binary else None
    ours = {t: run_grebe(args, t) for t in map(int, args.threads.split(","))}
    after = run_rust(binary, args) if binary else None
    for mode in ("exact", "approximate"):
        theirs = statistics.median(before[mode] + after[mode]) if binary else None
        if theirs:
            print(json.dumps({"side": "git-vdb", "mode": mode, "ms": round(theirs / 1000, 3)}))
        for threads, times in ours.items():
            mine = statistics.median(times[mode])
            print(json.dumps({"side": "grebe", "threads": threads, "mode": mode, "ms": round(mine / 1000, 3),
                              "times_as_fast": round(theirs / mine, 1) if theirs else None}))


if __name__ == "__main__":
    main()
