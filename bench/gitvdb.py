#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure git-vdb compatible command lines side by side on real word vectors.

  gitvdb.py --a git-vdb --b "grebe vdb" --emb EMB.npy --words WORDS.parquet
  gitvdb.py --a git-vdb --jsonl POINTS.jsonl --sizes 1000      (any point file; last lines = queries)

A and B are command prefixes that take git-vdb's own arguments; B may be left out.  Every measurement runs A then B
on its own repository, back to back, so that both see the same machine state; with --lock FILE each timed step holds an
exclusive flock.  Needs numpy and pyarrow only to make the point file (once, kept in --work; without --work the work
folder is a temporary one and goes at the end).

One JSON line per measurement goes to --out:
  {side, cmd, version, n, dim, metric, seconds, cpu_seconds | bytes | value, runs, rss_kb, root, load1, ...}
Times are wall-clock of a whole process, page cache warm, median (p50) with min and max of all runs; rss_kb is the peak
of the largest run (floor about 15,000: the interpreter's own pages before exec).
cpu_seconds is user + system time, the steadier number on a busy machine (see load1).  Where A and B both
ran, a mismatch of roots or of result ids is printed and makes the exit status 1.

Metrics
  import_one_batch     upsert FILE --batch-size N   (includes the index: every write of git-vdb builds it)
  import_default       upsert FILE                  (1000 points per commit)
  search_exact, search_approx, search_filter        cold process, k=10, 15 queries; recall10 of approx against exact
  get_one, count, validate, validate_full
  upsert_one_new       insert of an unseen id (the original rebuilds the index)
  upsert_one_sample    replacement of a training-sample point (codebook changes: full rebuild)
  upsert_one_plain     replacement of a point outside the sample (n > 8192 only: codebook unchanged)
  delete_one, delete_filter_1pct
  repo_*, git_gc*                                   bytes, allocated bytes, files: after import, after the mutations, after
                                                    `git gc --prune=now` (with its time)
  search_exact_packed, search_approx_packed         the same searches after gc
"""
import argparse
import hashlib
import json
import os
import platform
import shlex
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import processes

NQ = 15
COL = "words"


def id_digest(i):
    return hashlib.sha256(b"u\0" + struct.pack(">Q", i)).digest()


def glove_jsonl(a, n, path):
    """points 0..n-1 in file order; NQ query vectors follow from row n+1000 on"""
    import numpy as np
    import pyarrow.parquet as pq

    emb = np.load(a.emb, mmap_mode="r")
    words = pq.read_table(a.words)["index"].to_pylist()
    tmp = path + ".tmp"
    with open(tmp, "w", encoding="utf-8") as f:
        for lo in range(0, n, 10000):
            txt = emb[lo : min(lo + 10000, n)].astype(str)  # shortest text that reads back to the same float32
            for k, row in enumerate(txt):
                f.write('{"id":%d,"vector":[%s],"payload":{"word":%s}}\n'
                        % (lo + k, ",".join(row), json.dumps(words[lo + k], ensure_ascii=False)))
    os.rename(tmp, path)
    with open(path + ".queries", "w") as f:
        for k in range(NQ):
            f.write("[%s]\n" % ",".join(emb[n + 1000 + k * 7].astype(str)))


def cut_jsonl(src, n, path):
    with open(src, encoding="utf-8") as f, open(path, "w", encoding="utf-8") as g, open(path + ".queries", "w") as q:
        for k, line in enumerate(f):
            if k < n:
                g.write(line)
            elif k < n + NQ:
                q.write(json.dumps(json.loads(line)["vector"]) + "\n")
            else:
                break


class Side:
    def __init__(self, name, prefix, db):
        self.name, self.prefix, self.db = name, shlex.split(prefix), db
        self.shown = prefix if name == "B" else os.path.basename(self.prefix[0])
        p = subprocess.run(self.prefix + ["--version"], capture_output=True, text=True)
        self.version = (p.stdout or p.stderr).strip().split("\n")[0]

    def run(self, *args, ok=True):
        """-> (seconds, peak KiB, stdout, processor seconds)"""
        out = open(self.db + ".stdout", "w+b")
        err = open(self.db + ".stderr", "w+b")
        t = time.perf_counter()
        p = subprocess.Popen(self.prefix + ["--db", self.db] + list(args), stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        _, st, ru = os.wait4(p.pid, 0)
        t = time.perf_counter() - t
        p.returncode = os.waitstatus_to_exitcode(st)
        out.seek(0)
        err.seek(0)
        text, msg = out.read().decode(), err.read().decode()
        out.close()
        err.close()
        if ok and p.returncode:
            raise SystemExit("%s: %s -> %d: %s" % (self.name, " ".join(args)[:200], p.returncode, msg[:500]))
        return t, ru.ru_maxrss, text, ru.ru_utime + ru.ru_stime


def du(path):
    size = alloc = files = 0
    for d, _, names in os.walk(path):
        for n in names:
            s = os.stat(os.path.join(d, n))
            size += s.st_size
            alloc += s.st_blocks * 512
            files += 1
    return dict(bytes=size, allocated=alloc, files=files)


class Bench:
    def __init__(self, a):
        self.a, self.bad, self.env = a, 0, {}
        cpu = ""
        try:
            cpu = [x.split(":")[1].strip() for x in open("/proc/cpuinfo") if x.startswith("model name")][0]
        except (OSError, IndexError):
            pass
        self.env = dict(cpu=cpu, cores=os.cpu_count(), system=platform.system(), lock=bool(a.lock))

    def emit(self, side, n, metric, **kw):
        rec = dict(side=side.name, cmd=side.shown, version=side.version, n=n, dim=self.dim, data=self.a.data, metric=metric)
        rec.update(kw)
        rec.update(self.env, load1=round(os.getloadavg()[0], 1), date=time.strftime("%Y-%m-%d", time.gmtime()))
        with open(self.a.out, "a") as f:
            f.write(json.dumps(rec, ensure_ascii=False) + "\n")
        shown = {k: v for k, v in kw.items() if k not in ("runs", "ids")}
        print("%s n=%-7d %-22s %s" % (side.name, n, metric, json.dumps(shown)), flush=True)

    def locked(self, fn):
        with processes.locked(self.a.lock):
            return fn()

    def timed(self, sides, n, metric, argvs, check=None, **extra):
        """argvs: list of argument lists, each run once on every side (interleaved)"""
        res = {s.name: ([], [], [], []) for s in sides}

        def go():
            for argv in argvs:
                for s in sides:
                    for into, x in zip(res[s.name], s.run(*argv)):
                        into.append(x)

        self.locked(go)
        for s in sides:
            t, rss, outs, cpu = res[s.name]
            kw = dict(seconds=round(statistics.median(t), 6), cpu_seconds=round(statistics.median(cpu), 6), min=round(min(t), 6), max=round(max(t), 6), count=len(t),
                      rss_kb=max(rss), runs=[round(x, 6) for x in t])
            try:
                kw["root"] = json.loads(outs[-1])["root"]
            except (ValueError, KeyError, TypeError):
                pass
            kw.update(extra)
            self.emit(s, n, metric, **kw)
        if len(sides) == 2:
            x, y = res["A"][2], res["B"][2]
            for i, (p, q) in enumerate(zip(x, y)):
                p, q = json.loads(p), json.loads(q)
                if check:
                    p, q = check(p), check(q)
                if p != q:
                    self.bad += 1
                    print("MISMATCH n=%d %s run %d\n  A %s\n  B %s" % (n, metric, i, str(p)[:300], str(q)[:300]), flush=True)
                    break
        return {k: v[2] for k, v in res.items()}

    def size(self, sides, n, metric):
        for s in sides:
            self.emit(s, n, metric, **du(s.db))

    def gc(self, s, n, metric):
        def go():
            t = time.perf_counter()
            subprocess.run(["git", "-C", s.db, "gc", "-q", "--prune=now"], check=True)
            return time.perf_counter() - t

        t = self.locked(go)
        self.emit(s, n, metric, seconds=round(t, 3), **du(s.db))

    def one(self, n):
        a = self.a
        path = os.path.join(a.work, "%s-%d.jsonl" % (a.data, n))
        if not os.path.exists(path + ".queries"):
            if a.jsonl:
                cut_jsonl(a.jsonl, n, path)
            else:  # in a child: numpy's pages would otherwise count in the children's peak memory
                subprocess.run([sys.executable, os.path.abspath(__file__), "--emb", a.emb, "--words", a.words,
                                "--sizes", str(n), "--make", path], check=True)
        first = json.loads(open(path, encoding="utf-8").readline())
        self.dim = len(first["vector"])
        queries = [x.strip() for x in open(path + ".queries")]
        prefixes = [("A", a.a)] + ([("B", a.b)] if a.b else [])
        root_of = lambda r: r.get("root")  # noqa: E731

        def fresh(tag):
            out = []
            for name, pre in prefixes:
                db = os.path.join(a.work, "%s-%s-%d.git" % (tag, name, n))
                shutil.rmtree(db, ignore_errors=True)
                s = Side(name, pre, db)
                s.run("init", db, "--bare")
                out.append(s)
            return out

        if not a.no_default_import:
            sides = fresh("def")
            self.timed(sides, n, "import_default", [["upsert", COL, path]], root_of)
            self.size(sides, n, "repo_import_default")
            for s in sides:
                self.gc(s, n, "git_gc_import_default")
                shutil.rmtree(s.db)
        sides = fresh("one")
        self.timed(sides, n, "import_one_batch", [["upsert", COL, path, "--batch-size", str(n)]], root_of)
        self.size(sides, n, "repo_import_one_batch")

        hits = lambda r: [(p["id"], p["score"]) for p in r["points"]]  # noqa: E731
        ids = lambda r: [p["id"] for p in r["points"]]  # noqa: E731
        exact = [["search", COL, "--vector=" + q, "--exact"] for q in queries]
        approx = [["search", COL, "--vector=" + q, "--approximate"] for q in queries]

        def searches(suffix):
            ex = self.timed(sides, n, "search_exact" + suffix, exact, hits)
            ap = self.timed(sides, n, "search_approx" + suffix, approx, ids)
            for s in sides:
                got = [len(set(map(str, ids(json.loads(x)))) & set(map(str, ids(json.loads(y))))) / 10.0
                       for x, y in zip(ex[s.name], ap[s.name])]
                self.emit(s, n, "recall10" + suffix, value=round(sum(got) / len(got), 4))

        searches("")
        word = first["payload"].get("word")
        flt = json.dumps({"must": [{"key": "word", "match": {"value": word}}]}, ensure_ascii=False)
        self.timed(sides, n, "search_filter", [["search", COL, "--vector=" + q, "--filter", flt, "--with-payload"]
                                               for q in queries[:5]], hits)
        self.timed(sides, n, "get_one", [["get", COL, "--ids", str(k * 37 % n), "--with-payload", "--with-vector"]
                                         for k in range(7)], lambda r: r["points"])
        self.timed(sides, n, "count", [["count", COL]] * 7)
        self.timed(sides, n, "validate", [["validate", COL]] * 3)
        self.timed(sides, n, "validate_full", [["validate", COL, "--full"]])
        order = sorted(range(n), key=id_digest)
        zero = "[" + ",".join(["0.5"] * self.dim) + "]"
        up = lambda i, v: ["upsert", COL, "--id", str(i), "--vector=" + v, "--payload", '{"word":"grebe"}']  # noqa: E731
        self.timed(sides, n, "upsert_one_new", [up(n + 10 + k, queries[k]) for k in range(3)], root_of)
        self.timed(sides, n, "upsert_one_sample", [up(order[k], zero) for k in range(3)], root_of)
        if n > 8192:
            self.timed(sides, n, "upsert_one_plain", [up(order[-1 - k], zero) for k in range(3)], root_of)
        self.timed(sides, n, "delete_one", [["delete", COL, "--ids", str(order[n // 2 + k])] for k in range(3)], root_of)
        some = json.dumps({"must": [{"has_id": order[:: 100]}]})
        fpath = os.path.join(a.work, "filter-%d.json" % n)
        open(fpath, "w").write(some)
        self.timed(sides, n, "delete_filter_1pct", [["delete", COL, "--filter", fpath]], root_of)
        self.size(sides, n, "repo_after_mutations")
        for s in sides:
            self.gc(s, n, "git_gc")
        searches("_packed")
        if not a.keep:
            for s in sides:
                shutil.rmtree(s.db)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--a", default="git-vdb", help="command prefix A (the reference)")
    p.add_argument("--b", help="command prefix B, e.g. 'grebe vdb'")
    p.add_argument("--emb", help="float32 matrix (.npy)")
    p.add_argument("--words", help="parquet with a column 'index' of words, same row order")
    p.add_argument("--jsonl", help="point file instead of --emb/--words")
    p.add_argument("--data", default="glove-6b-50d", help="name of the data set in the results")
    p.add_argument("--sizes", default="10000,100000")
    p.add_argument("--work", help="folder for point files and repositories (default: a temporary one, removed at the end without --keep)")
    p.add_argument("--out", default="gitvdb_bench.jsonl")
    p.add_argument("--lock", help="hold an exclusive flock on this file around timed steps")
    p.add_argument("--no-default-import", action="store_true", help="skip the slow import with 1000 points per commit")
    p.add_argument("--keep", action="store_true")
    p.add_argument("--make", help=argparse.SUPPRESS)
    a = p.parse_args()
    if not a.jsonl and not (a.emb and a.words):
        p.error("give --emb and --words, or --jsonl")
    if a.make:
        return glove_jsonl(a, int(a.sizes), a.make)
    own = a.work is None
    a.work = a.work or tempfile.mkdtemp(prefix="gitvdb-bench")
    os.makedirs(a.work, exist_ok=True)
    b = Bench(a)
    for n in [int(x) for x in a.sizes.split(",")]:
        b.one(n)
    if own and a.keep:
        print("kept: " + a.work, file=sys.stderr)
    elif own:
        shutil.rmtree(a.work)
    return 1 if b.bad else 0


if __name__ == "__main__":
    sys.exit(main())
