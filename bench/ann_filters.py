#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Filtered search at default settings: recall and speed at several selectivities, beside an exact scan of the matching rows.

    PYTHONPATH=build/python ann_filters.py --work DIR [--set glove-100k] [--kinds graph,hnsw,ivf]

The set is one of bench/ann.py (`ann.py make`). A line of JSON per kind and selectivity: recall@10, queries per CPU second of
the index and of kind flat with the same filter. Speed must not fall below the exact scan's, recall not below 0.95.
"""
import argparse, json, os, sys, time

sys.path.insert(0, os.path.dirname(__file__))
import numpy as np
import ann_sets


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--work", required=True)
    p.add_argument("--set", default="glove-100k")
    p.add_argument("--kinds", default="graph,hnsw,ivf")
    p.add_argument("--queries", type=int, default=300)
    a = p.parse_args()
    import grebe.ann
    d = ann_sets.Data(a.work, a.set, a.queries)
    rng = np.random.default_rng(5)
    options = {"graph": dict(quant="sq8"), "hnsw": {}, "ivf": dict(lists=1024, quant="sq8")}
    flat = grebe.ann.Index("flat", d.metric).build(d.train)

    def rate(index, mask):
        best = float("inf")
        for _ in range(3):
            begin = time.process_time()
            ids, _ = index.search(d.test, 10, where=mask, threads=1)
            best = min(best, time.process_time() - begin)
        return ids, len(d.test) / best

    for kind in a.kinds.split(","):
        index = grebe.ann.Index(kind, d.metric, **options[kind]).build(d.train)
        for share in (1.0, 0.5, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0001):
            mask = rng.random(d.n) < share if share < 1 else None
            want, exact = rate(flat, mask)
            got, qps = rate(index, mask)
            recall = float(np.mean([len(set(x[x >= 0]) & set(y[y >= 0])) / max(1, (y >= 0).sum()) for x, y in zip(got, want)]))
            outside = 0 if mask is None else int((~mask[got[got >= 0]]).sum())
            print(json.dumps(dict(set=a.set, kind=kind, share=share, recall=round(recall, 4), qps=round(qps), exact_qps=round(exact),
                                  ratio=round(qps / exact, 2), outside=outside)), flush=True)


main()
