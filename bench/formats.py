#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write, read and filter three tables in several columnar file formats, side by side in one run.

    formats.py [--tables lineitem,text,vector] [--engines a,b,...] [--threads 1,0] [--scale 1.0] [--reps 3]
                    [--work DIR] [--out results.jsonl]
    formats.py --summary results.jsonl          prints the results as Markdown tables
    formats.py --make-only --work DIR            only generates the tables

Tables (all made with numpy, fixed seeds):
  lineitem   2,000,000 x 16, shaped like the TPC-H table: 4 integer keys, 4 decimal(15,2), 3 dates, 5 strings; sorted by
             l_orderkey
  text         500,000 x 4: id (sorted), lang (12 values), score (random double), text (about 120 characters)
  vector       200,000 x 3: id (sorted), label (1000 values), vector fixed_size_list<float32, 256>

Measured, per engine and per number of threads (1 = one thread and one core, 0 = whatever the engine takes by default):
  write            Arrow table in memory -> file, engine defaults; with the size on disk
  read_full        file -> Arrow table, every column
  read_2col        file -> Arrow table, two columns
  filter_sorted    about 1 % of the rows by a range on the sorted column, three columns (two for text and vector)
  filter_unsorted  about 1 % of the rows by a range on a column in random order, same columns

Every (table, engine, threads) runs in its own process; the page cache is warm; every repetition opens the file anew.
Seconds are the best of --reps (median beside it); what comes back is each engine's own Arrow form (vortex: string views).
`check` is a row count and a sum that must agree between engines; the parent says so on standard error and exits 1 when
they do not.  One JSON line per measurement; `load` is the load average of the machine when the process began: compare only
lines of one run, and distrust those whose load exceeds the number of threads.  The engines grebe-* are skipped when the module
cannot be imported; they call grebe.write(path, table, durable=False) (no peer waits for the disk either) and
grebe.read(path, columns=[...], where="a >= 1 and a < 2").  `grebe-reads-pyarrow` reads the very file that `parquet-pyarrow` reads;
its `write` is pyarrow's.
"""
import argparse, json, os, shutil, statistics, subprocess, sys, time

TABLES = ("lineitem", "text", "vector")
ENGINES = ("parquet-pyarrow", "parquet-pyarrow-zstd", "parquet-duckdb", "parquet-polars", "vortex", "vortex-compact",
           "lance", "ipc-pyarrow", "grebe-parquet", "grebe-parquet-zstd", "grebe-reads-pyarrow", "grebe-ipc")


# ---------------------------------------------------------------------------------------------------- tables

def decimal_array(pa, np, unscaled, precision, scale):
    wide = np.empty((len(unscaled), 2), np.int64)
    wide[:, 0] = unscaled
    wide[:, 1] = unscaled >> 63
    return pa.Array.from_buffers(pa.decimal128(precision, scale), len(unscaled), [None, pa.py_buffer(wide)])


def pick(pa, words, codes):
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype("int32")), pa.array(words)).dictionary_decode()


def vocabulary(rng, n):
    syllables = [c + v for c in "bcdfghjklmnprstvz" for v in ("a", "e", "i", "o", "u", "an", "er", "is")]
    out = set()
    while len(out) < n:
        out.add("".join(syllables[i] for i in rng.integers(0, len(syllables), rng.integers(1, 5))))
    return sorted(out)


def make_lineitem(rows):
    import numpy as np, pyarrow as pa, pyarrow.compute as pc
    rng = np.random.default_rng(1992)
    per_order = rng.integers(1, 8, rows // 2 + 8)
    order = np.repeat(np.arange(len(per_order)), per_order)[:rows]
    assert len(order) == rows
    line = (np.arange(rows) - np.searchsorted(order, order)) + 1
    part = rng.integers(1, max(2, rows // 30) + 1, rows)
    quantity = rng.integers(1, 51, rows)
    price = quantity * (90000 + (part // 10) % 20001 + 100 * (part % 1000)) // 1
    shipped = 8036 + rng.integers(1, 2526, rows)
    commit, receipt = shipped + rng.integers(-60, 60, rows), shipped + rng.integers(1, 31, rows)
    late = receipt > 9298
    words = vocabulary(rng, 600)
    comment = pc.binary_join_element_wise(*[pick(pa, words, rng.integers(0, 600, rows)) for _ in range(4)], " ")
    days = lambda v: pa.array(v.astype(np.int32), pa.date32())
    return pa.table({
        "l_orderkey": pa.array((order // 8) * 32 + order % 8 + 1), "l_partkey": pa.array(part),
        "l_suppkey": pa.array(rng.integers(1, max(2, rows // 600) + 1, rows)), "l_linenumber": pa.array(line.astype(np.int32)),
        "l_quantity": decimal_array(pa, np, quantity * 100, 15, 2), "l_extendedprice": decimal_array(pa, np, price, 15, 2),
        "l_discount": decimal_array(pa, np, rng.integers(0, 11, rows), 15, 2),
        "l_tax": decimal_array(pa, np, rng.integers(0, 9, rows), 15, 2),
        "l_returnflag": pick(pa, ["A", "N", "R"], np.where(late, 1, rng.integers(0, 2, rows) * 2)),
        "l_linestatus": pick(pa, ["F", "O"], (shipped > 9298).astype(int)),
        "l_shipdate": days(shipped), "l_commitdate": days(commit), "l_receiptdate": days(receipt),
        "l_shipinstruct": pick(pa, ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"], rng.integers(0, 4, rows)),
        "l_shipmode": pick(pa, ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"], rng.integers(0, 7, rows)),
        "l_comment": comment})


def make_text(rows):
    import numpy as np, pyarrow as pa, pyarrow.compute as pc
    rng = np.random.default_rng(7)
    words = vocabulary(rng, 5000)
    weight = 1.0 / np.arange(1, 5001)
    codes = lambda: rng.choice(5000, rows, p=weight / weight.sum())
    body = pc.binary_join_element_wise(*[pick(pa, words, codes()) for _ in range(18)], " ")
    langs = ["ar", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "pt", "ru", "zh"]
    return pa.table({"id": pa.array(np.arange(rows, dtype=np.int64)), "lang": pick(pa, langs, rng.integers(0, 12, rows)),
                     "score": pa.array(rng.random(rows)), "text": body})


def make_vector(rows):
    import numpy as np, pyarrow as pa
    rng = np.random.default_rng(256)
    v = rng.standard_normal((rows, 256), dtype=np.float32)
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    return pa.table({"id": pa.array(np.arange(rows, dtype=np.int64)),
                     "label": pa.array(rng.integers(0, 1000, rows, dtype=np.int32)),
                     "vector": pa.FixedSizeListArray.from_arrays(pa.array(v.ravel()), 256)})


ROWS = {"lineitem": 2_000_000, "text": 500_000, "vector": 200_000}
MAKE = {"lineitem": make_lineitem, "text": make_text, "vector": make_vector}
TWO = {"lineitem": ["l_extendedprice", "l_shipdate"], "text": ["lang", "text"], "vector": ["id", "vector"]}
OUT = {"lineitem": ["l_orderkey", "l_partkey", "l_comment"], "text": ["id", "text"], "vector": ["id", "vector"]}
SUM = {"lineitem": "l_orderkey", "text": "id", "vector": "id"}


def ranges(table, rows):
    """(column, low, high) half open: on the sorted column, and on one in random order."""
    if table == "lineitem":
        top = rows                                            # about the largest order key: 4 rows an order, keys 4 apart
        return ("l_orderkey", int(top * .60), int(top * .61)), ("l_partkey", rows // 30 // 2, rows // 30 // 2 + rows // 3000)
    if table == "text":
        return ("id", int(rows * .60), int(rows * .61)), ("score", 0.40, 0.41)
    return ("id", int(rows * .60), int(rows * .61)), ("label", 500, 510)


# ---------------------------------------------------------------------------------------------------- engines

def arrow_of(x):
    import pyarrow as pa
    if isinstance(x, pa.Table): return x
    if isinstance(x, pa.RecordBatch): return pa.Table.from_batches([x])
    if hasattr(x, "read_all"): return x.read_all()
    return pa.table(x)


class PyarrowParquet:
    ext, options = ".parquet", {}
    def __init__(self, threads):
        import pyarrow, pyarrow.parquet as pq
        self.pq, self.many, self.version = pq, threads != 1, "pyarrow " + pyarrow.__version__
        if threads == 1:
            pyarrow.set_cpu_count(1); pyarrow.set_io_thread_count(1)
    def write(self, t, p): self.pq.write_table(t, p, **self.options)
    def read(self, p, cols): return self.pq.read_table(p, columns=cols, use_threads=self.many)
    def filter(self, p, cols, r):
        import pyarrow.compute as pc
        f = pc.field(r[0])
        return self.pq.read_table(p, columns=cols, use_threads=self.many, filters=(f >= r[1]) & (f < r[2]))


class PyarrowParquetZstd(PyarrowParquet):
    options = {"compression": "zstd"}


class PyarrowIpc(PyarrowParquet):
    ext = ".arrow"
    def write(self, t, p):
        import pyarrow.feather as f
        f.write_feather(t, p, compression="uncompressed")
    def read(self, p, cols):
        import pyarrow.feather as f
        return f.read_table(p, columns=cols, memory_map=False, use_threads=self.many)
    def filter(self, p, cols, r):
        import pyarrow.dataset as ds, pyarrow.compute as pc
        f = pc.field(r[0])
        return ds.dataset(p, format="ipc").to_table(columns=cols, filter=(f >= r[1]) & (f < r[2]), use_threads=self.many)


class DuckParquet:
    ext = ".parquet"
    def __init__(self, threads):
        import duckdb
        self.con, self.version = duckdb.connect(), "duckdb " + duckdb.__version__
        if threads: self.con.execute(f"SET threads={threads}")
    def run(self, sql): 
        r = self.con.execute(sql)
        return r.to_arrow_table() if hasattr(r, "to_arrow_table") else arrow_of(r.arrow())
    def write(self, t, p):
        self.con.register("t", t); self.con.execute(f"COPY t TO '{p}' (FORMAT parquet)"); self.con.unregister("t")
    def read(self, p, cols): return self.run(f"SELECT {', '.join(cols) if cols else '*'} FROM '{p}'")
    def filter(self, p, cols, r):
        return self.run(f"SELECT {', '.join(cols)} FROM '{p}' WHERE {r[0]} >= {r[1]} AND {r[0]} < {r[2]}")


class PolarsParquet:
    ext = ".parquet"
    def __init__(self, threads):
        import polars as pl
        self.pl, self.version = pl, "polars " + pl.__version__
    def write(self, t, p): self.pl.from_arrow(t).write_parquet(p)
    def read(self, p, cols): return self.pl.read_parquet(p, columns=cols).to_arrow()
    def filter(self, p, cols, r):
        c = self.pl.col(r[0])
        return self.pl.scan_parquet(p).filter((c >= r[1]) & (c < r[2])).select(cols).collect().to_arrow()


class Vortex:
    ext = ".vortex"
    compact = False
    def __init__(self, threads):
        import vortex as vx, vortex.expr as ve
        self.vx, self.ve, self.version = vx, ve, "vortex-data " + vx.__version__
        if threads == 1: vx.set_worker_threads(1)
    def write(self, t, p):
        o = self.vx.io.VortexWriteOptions
        (o.compact() if self.compact else o.default()).write(t, p)
    def read(self, p, cols): return self.vx.open(p).to_arrow(cols).read_all()
    def filter(self, p, cols, r):
        f, c = self.vx.open(p), self.ve.column(r[0])
        t = f.to_arrow([r[0]]).schema.field(0).type                      # the package compares only equal types
        v = (self.vx.float_ if str(t) == "double" else self.vx.int_)(t.bit_width, nullable=True)
        return f.to_arrow(cols, expr=(c >= self.ve.literal(v, r[1])) & (c < self.ve.literal(v, r[2]))).read_all()


class VortexCompact(Vortex):
    compact = True


class Lance:
    ext = ".lance"
    def __init__(self, threads):
        import lance
        self.lance, self.version = lance, "pylance " + lance.__version__
    def write(self, t, p): self.lance.write_dataset(t, p)
    def read(self, p, cols): return self.lance.dataset(p).to_table(columns=cols)
    def filter(self, p, cols, r):
        return self.lance.dataset(p).to_table(columns=cols, filter=f"{r[0]} >= {r[1]} AND {r[0]} < {r[2]}")


class GrebeParquet:
    ext, options = ".parquet", {}
    def __init__(self, threads):
        import grebe
        self.g, self.version = grebe, "grebe " + getattr(grebe, "__version__", "?")
        if threads and hasattr(grebe, "set_threads"): grebe.set_threads(threads)
    def write(self, t, p): self.g.write(p, t, durable=False, **self.options)
    def read(self, p, cols): return arrow_of(self.g.read(p, columns=cols))
    def filter(self, p, cols, r):
        return arrow_of(self.g.read(p, columns=cols, where=f"{r[0]} >= {r[1]} and {r[0]} < {r[2]}"))


class GrebeParquetZstd(GrebeParquet):
    options = {"compression": "zstd"}


class GrebeReadsPyarrow(GrebeParquet):
    """The file is the one of parquet-pyarrow: written by pyarrow with its defaults."""
    def __init__(self, threads):
        super().__init__(threads)
        import pyarrow, pyarrow.parquet as pq
        self.pq = pq; self.version += ", file by pyarrow " + pyarrow.__version__
    def write(self, t, p): self.pq.write_table(t, p)


class GrebeIpc(GrebeParquet):
    ext = ".arrow"


CLASS = {"parquet-pyarrow": PyarrowParquet, "parquet-pyarrow-zstd": PyarrowParquetZstd, "parquet-duckdb": DuckParquet,
         "parquet-polars": PolarsParquet, "vortex": Vortex, "vortex-compact": VortexCompact, "lance": Lance,
         "ipc-pyarrow": PyarrowIpc, "grebe-parquet": GrebeParquet, "grebe-parquet-zstd": GrebeParquetZstd,
         "grebe-reads-pyarrow": GrebeReadsPyarrow, "grebe-ipc": GrebeIpc}


# ---------------------------------------------------------------------------------------------------- measuring

def remove(p):
    shutil.rmtree(p) if os.path.isdir(p) else os.path.exists(p) and os.remove(p)


def size(p):
    if os.path.isfile(p): return os.path.getsize(p)
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(p) for f in fs)


def timed(fn, reps, budget=20.0):
    out, spent = [], 0.0
    while len(out) < reps and (not out or spent < budget):
        t = time.perf_counter(); r = fn(); out.append(time.perf_counter() - t); spent += out[-1]
    return out, r


def source(work, table, scale):
    return os.path.join(work, f"source_{table}_{scale:g}.arrow")


def child(a):
    import pyarrow as pa, pyarrow.compute as pc, pyarrow.feather as feather
    try: e = CLASS[a.engine](a.threads_child)
    except ImportError as x:
        print(json.dumps({"skip": a.engine, "why": str(x)})); return
    t = feather.read_table(source(a.work, a.table, a.scale), memory_map=False)
    rows = t.num_rows
    path = os.path.join(a.work, f"{a.table}_{a.engine}{e.ext}")
    base = {"table": a.table, "engine": a.engine, "version": e.version, "threads": a.threads_child or "default", "rows": rows,
            "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None}

    def line(op, secs, **more):
        print(json.dumps({**base, "op": op, "seconds": round(min(secs), 4), "median": round(statistics.median(secs), 4),
                          "reps": len(secs), **more}), flush=True)

    def write():
        remove(path); e.write(t, path)
    secs, _ = timed(write, min(a.reps, 2))
    raw = sum(c.nbytes for c in t.columns)
    line("write", secs, bytes=size(path), arrow_bytes=raw)
    del t
    total = SUM[a.table]

    def check(r):
        assert isinstance(r, pa.Table)
        v = [r.num_rows]
        if total in r.column_names: v.append(pc.sum(r[total]).as_py())
        return v
    jobs = [("read_full", lambda: e.read(path, None)), ("read_2col", lambda: e.read(path, TWO[a.table]))]
    s, u = ranges(a.table, rows)
    jobs += [("filter_sorted", lambda: e.filter(path, OUT[a.table], s)), ("filter_unsorted", lambda: e.filter(path, OUT[a.table], u))]
    for op, fn in jobs:
        try: secs, r = timed(fn, a.reps)
        except Exception as x:
            print(json.dumps({**base, "op": op, "error": f"{type(x).__name__}: {str(x)[:200]}"}), flush=True); continue
        line(op, secs, check=check(r))
        del r
    remove(path)


def parent(a):
    os.makedirs(a.work, exist_ok=True)
    import pyarrow.feather as feather
    for t in a.tables:
        if not os.path.exists(source(a.work, t, a.scale)):
            feather.write_feather(MAKE[t](int(ROWS[t] * a.scale)), source(a.work, t, a.scale), compression="uncompressed")
    if a.make_only: return 0
    seen, bad = {}, 0
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    for t in a.tables:
        for n in a.threads:
            for name in a.engines:
                env = dict(os.environ)
                if n:
                    for k in ("POLARS_MAX_THREADS", "LANCE_CPU_THREADS", "LANCE_IO_THREADS", "OMP_NUM_THREADS", "TOKIO_WORKER_THREADS",
                              "RAYON_NUM_THREADS", "GREBE_THREADS"): env[k] = str(n)
                cmd = [sys.executable, os.path.abspath(__file__), "--child", "--table", t, "--engine", name, "--threads-child", str(n),
                       "--work", a.work, "--scale", str(a.scale), "--reps", str(a.reps)]
                pin = (lambda: os.sched_setaffinity(0, set(cores[-n:]))) if n and cores else None
                r = subprocess.run(cmd, env=env, capture_output=True, text=True, preexec_fn=pin)
                if r.returncode: print(f"{t} {name} {n}: exit {r.returncode}: {r.stderr[-600:]}", file=sys.stderr)
                for row in r.stdout.splitlines():
                    try: d = json.loads(row)
                    except ValueError: continue
                    if "skip" in d: print(f"skipped {name}: {d['why']}", file=sys.stderr); continue
                    if a.out:
                        with open(a.out, "a") as f: f.write(row + "\n")
                    print(row, flush=True)
                    if "check" in d:
                        want = seen.setdefault((t, d["op"]), d["check"])
                        if want != d["check"]:
                            bad += 1; print(f"DISAGREE {t} {d['op']} {name}: {d['check']} but first engine {want}", file=sys.stderr)
    return 1 if bad else 0


def summary(path):
    rows = [json.loads(x) for x in open(path) if x.strip()]
    ops = ["write", "read_full", "read_2col", "filter_sorted", "filter_unsorted"]
    last = {(r["table"], str(r["threads"]), r["engine"], r["op"]): r for r in rows}
    for t in TABLES:
        for n in ("1", "default"):
            names = [e for e in ENGINES if any((t, n, e, o) in last for o in ops)]
            if not names: continue
            print(f"\n{t}, {last[next(k for k in last if k[0] == t)]['rows']:,} rows, threads: {n} (seconds, best)\n")
            print("| engine | MB | " + " | ".join(ops) + " |\n|---|" + "--:|" * (len(ops) + 1))
            for e in names:
                cell = lambda o: (lambda r: "" if r is None else r.get("error", "")[:24] or f"{r['seconds']:.3f}")(last.get((t, n, e, o)))
                w = last.get((t, n, e, "write"))
                print(f"| {e} | {w['bytes'] / 1e6:.1f} | " + " | ".join(map(cell, ops)) + " |" if w else f"| {e} | | " + " | ".join(map(cell, ops)) + " |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    split = lambda s: [x for x in s.split(",") if x]
    p.add_argument("--tables", type=split, default=list(TABLES)); p.add_argument("--engines", type=split, default=list(ENGINES))
    p.add_argument("--threads", type=lambda s: [int(x) for x in split(s)], default=[1, 0])
    p.add_argument("--scale", type=float, default=1.0); p.add_argument("--reps", type=int, default=3)
    p.add_argument("--work", default="bench_formats_work"); p.add_argument("--out"); p.add_argument("--make-only", action="store_true")
    p.add_argument("--summary")
    p.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--table", help=argparse.SUPPRESS); p.add_argument("--engine", help=argparse.SUPPRESS)
    p.add_argument("--threads-child", type=int, default=0, help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.summary: return summary(a.summary)
    for x in a.tables: assert x in TABLES, x
    for x in a.engines: assert x in ENGINES, x
    return child(a) if a.child else parent(a)


if __name__ == "__main__":
    sys.exit(main())
