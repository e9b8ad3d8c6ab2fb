# SPDX-License-Identifier: Apache-2.0
"""What ann.py measured, as a table or as JSON lines: queries a second where engines are equally good."""
import json

import numpy as np


def at(points, r):
    """QPS at recall r: best of the frontier, log-linear between its two neighbours; None when r is not reached."""
    pts, best = [], 0.0
    for rec, q in sorted(points, key=lambda t: (-t[0], -t[1])):
        if q > best:
            pts.append((rec, q)); best = q
    pts.sort()
    for (r0, q0), (r1, q1) in zip(pts, pts[1:]):
        if r0 <= r <= r1 and r1 > r0:
            f = (r - r0) / (r1 - r0)
            return float(np.exp(np.log(q0) * (1 - f) + np.log(q1) * f))
    if pts and pts[0][0] >= r:
        return pts[0][1]
    return None


def report(a):
    lines = [json.loads(l) for l in open(a.out) if l.strip()]
    for s in a.set or sorted({l["set"] for l in lines if "set" in l}):
        a.json or print(f"\n### {s}\n\n| engine | build s (1 thread) | (2 threads) | index MB | peak RSS MB | QPS at 0.90 | 0.95 | 0.99 | one call each: 0.90 | 0.95 | 0.99 | best recall |\n"
              "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
        rows = []
        for e in dict.fromkeys(l["engine"] for l in lines if l.get("set") == s):
            b = {l["threads"]: l for l in lines if l.get("set") == s and l["engine"] == e and l["phase"] == "build"}
            pts = [l for l in lines if l.get("set") == s and l["engine"] == e and l["phase"] == "search"]
            if not pts:
                continue
            tail = "_cpu" if a.by == "cpu" else ""
            main = [at([(p["recall"], p["qps_batch" + tail]) for p in pts if "qps_batch" + tail in p], r) for r in (.9, .95, .99)]
            one = [at([(p["recall"], p["qps_single" + tail]) for p in pts if "qps_single" + tail in p], r) for r in (.9, .95, .99)]
            if a.json:
                print(json.dumps(dict(phase="summary", set=s, engine=e, by=a.by, qps_batch=dict(zip(("0.90", "0.95", "0.99"), main)),
                                      qps_single=dict(zip(("0.90", "0.95", "0.99"), one)), best_recall=max(p["recall"] for p in pts))))
                continue
            sec = lambda t: f'{b[t]["cpu_seconds" if a.by == "cpu" and t == 1 else "seconds"]:.1f}' if t in b else "-"
            mb = lambda v: f"{v / 1e6:.1f}" if v else "-"
            f = lambda v: f"{v:,.0f}" if v else "-"
            rows.append((max(main[1] or 0, one[1] or 0), f'| {e} | {sec(1)} | {sec(2)} | {mb(b.get(1, {}).get("index_bytes"))} | {mb(b.get(1, {}).get("peak_rss"))} | '
                         + " | ".join(f(v) for v in main + one) + f' | {max(p["recall"] for p in pts):.4f} |'))
        for _, r in sorted(rows, reverse=True):
            print(r)
