#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reading CSV and JSON lines into an Arrow table, in several engines, side by side in one run.

    text.py [--rows 1000000] [--threads 1,2] [--reps 5] [--work DIR] [--only NAME] [--data csv,jsonl,nested]

Data, made with fixed seeds: a mixed table of ten columns (integers, floats, dates, times, truth values, strings with
quotes, nulls) as CSV and as JSON lines, and JSON lines with lists and an object inside. Each repetition starts from the
file and ends in an Arrow table in Python, types inferred by the engine. The page cache is warm. Each engine and number
of threads runs in a process of its own. Prints one JSON line each: milliseconds (median of --reps after one run that does
not count), rows a second, CPU milliseconds, types, and one checksum that must agree between engines.
"""
import argparse, json, os, statistics, sys, tempfile, time
import numpy as np
import processes

WORDS = ["red", "green", "blue", "a longer text, with a comma", 'said "no" twice', "", "naïve", "x y z", "tail", "Zürich"]


def columns(rows):
    rng = np.random.default_rng(7)
    at = np.datetime64("2020-01-01T00:00:00") + rng.integers(0, 10**8, rows).astype("timedelta64[s]")
    return {
        "id": np.arange(rows), "user": rng.integers(0, 2**31, rows), "big": rng.integers(-2**62, 2**62, rows),
        "price": np.round(rng.random(rows) * 1000, 2), "score": rng.standard_normal(rows), "day": at.astype("datetime64[D]"),
        "at": at, "ok": rng.integers(0, 2, rows).astype(bool), "word": rng.integers(0, len(WORDS), rows),
        "part": rng.integers(0, 10, rows),
    }


def csv_text(s):
    return '"' + s.replace('"', '""') + '"' if s == "" or "," in s or '"' in s else s


def write_csv(path, c, rows):
    words = [csv_text(w) for w in WORDS]
    cols = [c["id"].tolist(), c["user"].tolist(), c["big"].tolist(), c["price"].tolist(), c["score"].tolist(), c["day"].astype(str).tolist(),
            np.char.replace(c["at"].astype(str), "T", " ").tolist(), c["ok"].tolist(), c["word"].tolist(), c["part"].tolist()]
    with open(path, "w", encoding="utf-8") as f:
        f.write(",".join(c) + "\n")
        for i, u, b, p, s, d, t, k, w, n in zip(*cols):
            f.write(f"{i},{u},{b},{p!r},{s!r},{d},{t},{'true' if k else 'false'},{words[w]},{n if n else ''}\n")


def write_jsonl(path, c, rows):
    words = [json.dumps(w, ensure_ascii=False) for w in WORDS]
    cols = [c["id"].tolist(), c["user"].tolist(), c["big"].tolist(), c["price"].tolist(), c["score"].tolist(), c["day"].astype(str).tolist(),
            np.char.replace(c["at"].astype(str), "T", " ").tolist(), c["ok"].tolist(), c["word"].tolist(), c["part"].tolist()]
    with open(path, "w", encoding="utf-8") as f:
        for i, u, b, p, s, d, t, k, w, n in zip(*cols):
            f.write(f'{{"id":{i},"user":{u},"big":{b},"price":{p!r},"score":{s!r},"day":"{d}","at":"{t}","ok":{"true" if k else "false"},'
                    f'"word":{words[w]},"part":{n if n else "null"}}}\n')


def write_nested(path, c, rows):
    rng = np.random.default_rng(8)
    n_tags, vec = rng.integers(0, 4, rows).tolist(), np.round(rng.random((rows, 4)), 6).tolist()
    words = [json.dumps(w, ensure_ascii=False) for w in WORDS]
    with open(path, "w", encoding="utf-8") as f:
        for i, u, w, k, v, p in zip(c["id"].tolist(), c["user"].tolist(), c["word"].tolist(), n_tags, vec, c["price"].tolist()):
            tags = ",".join(words[(w + j) % len(words)] for j in range(k))
            f.write(f'{{"id":{i},"who":{{"user":{u},"name":{words[w]}}},"tags":[{tags}],"vec":{v},"part":[{{"n":{i % 7},"price":{p!r}}}]}}\n')


WRITERS = {"csv": write_csv, "jsonl": write_jsonl, "nested": write_nested}
SUFFIX = {"csv": "csv", "jsonl": "jsonl", "nested": "jsonl"}


def read_grebe(path, kind, threads):
    import grebe, pyarrow as pa
    grebe.set_threads(threads)
    return lambda: pa.table(grebe.read(path))


def read_pyarrow(path, kind, threads):
    import pyarrow as pa, pyarrow.csv, pyarrow.json
    pa.set_cpu_count(threads)
    if kind == "csv":
        return lambda: pyarrow.csv.read_csv(path, read_options=pyarrow.csv.ReadOptions(use_threads=threads > 1))
    return lambda: pyarrow.json.read_json(path, read_options=pyarrow.json.ReadOptions(use_threads=threads > 1))


def read_duckdb(path, kind, threads):
    import duckdb
    con = duckdb.connect(config={"threads": threads})
    fn = "read_csv" if kind == "csv" else "read_json"
    return lambda: con.execute(f"select * from {fn}('{path}')").to_arrow_table()


def read_polars(path, kind, threads):              # POLARS_MAX_THREADS is set by the parent
    import polars as pl
    if kind == "csv":
        return lambda: pl.read_csv(path, try_parse_dates=True).to_arrow()
    return lambda: pl.read_ndjson(path).to_arrow()


ENGINES = {"grebe": read_grebe, "duckdb": read_duckdb, "pyarrow": read_pyarrow, "polars": read_polars}


def checksum(t):
    """Of values that every engine reads the same way: integers, floats, lengths of texts, items of lists."""
    import pyarrow.compute as pc
    out = [t.num_rows, pc.sum(t["id"]).as_py()]
    if "big" in t.column_names:
        big = pc.cast(t["big"], "int64").combine_chunks().to_numpy(zero_copy_only=False)
        out += [int(np.bitwise_xor.reduce(big)), pc.sum(pc.cast(t["user"], "int64")).as_py(), t["part"].null_count]
        score = t["score"].combine_chunks().to_numpy(zero_copy_only=False).view(np.int64)
        out += [int(np.bitwise_xor.reduce(score)), pc.sum(pc.binary_length(pc.cast(t["word"], "large_string"))).as_py()]
    else:
        who, vec = t["who"].combine_chunks(), t["vec"].combine_chunks()
        out += [pc.sum(pc.struct_field(who, "user")).as_py(), pc.sum(pc.list_value_length(t["tags"])).as_py(),
                int(np.bitwise_xor.reduce(vec.flatten().to_numpy(zero_copy_only=False).view(np.int64))),
                round(pc.sum(pc.struct_field(t["part"].combine_chunks().flatten(), "n")).as_py())]
    return out


def child(o):
    run = ENGINES[o.child](o.path, o.kind, o.n_threads)
    t = run()
    line = {"checksum": checksum(t), "types": [str(f.type) for f in t.schema]}
    del t
    times, cpus = [], []
    for _ in range(o.reps):
        a, c = time.perf_counter(), time.process_time()
        t = run()
        times.append((time.perf_counter() - a) * 1e3)
        cpus.append((time.process_time() - c) * 1e3)
        del t
    line.update(ms=round(statistics.median(times), 1), ms_min=round(min(times), 1), cpu_ms=round(statistics.median(cpus), 1))
    print(json.dumps(line))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rows", type=int, default=10**6)
    ap.add_argument("--threads", default=",".join(str(n) for n in sorted({1, os.cpu_count()})))
    ap.add_argument("--reps", type=int, default=5)
    ap.add_argument("--work")
    ap.add_argument("--only")
    ap.add_argument("--data", default="csv,jsonl,nested")
    ap.add_argument("--child", help=argparse.SUPPRESS)
    ap.add_argument("--path", help=argparse.SUPPRESS)
    ap.add_argument("--kind", help=argparse.SUPPRESS)
    ap.add_argument("--n-threads", type=int, help=argparse.SUPPRESS)
    o = ap.parse_args()
    if o.child:
        return child(o)
    with tempfile.TemporaryDirectory() as tmp:
        work, failed, made = o.work or tmp, False, None
        os.makedirs(work, exist_ok=True)
        for kind in o.data.split(","):
            path = os.path.join(work, f"{kind}_{o.rows}.{SUFFIX[kind]}")
            if not os.path.exists(path):
                made = made or columns(o.rows)
                WRITERS[kind](path + ".part", made, o.rows)
                os.rename(path + ".part", path)
            sums = {}
            for threads in [int(x) for x in o.threads.split(",")]:
                for name in ENGINES:
                    if o.only and o.only not in name:
                        continue
                    env = dict(os.environ, POLARS_MAX_THREADS=str(threads), ARROW_IO_THREADS=str(threads))
                    got = processes.child(os.path.abspath(__file__), "--child", name, "--path", path, "--kind", kind, "--n-threads", threads,
                                          "--reps", o.reps, env=env)
                    line = {"data": kind, "engine": name, "threads": threads, "rows": o.rows, "bytes": os.path.getsize(path)}
                    if "error" in got:
                        line["skipped"] = got["error"]
                    else:
                        line.update(got)
                        line["rows_per_s"] = round(o.rows / line["ms"] * 1e3)
                        sums[name] = line["checksum"]
                    print(json.dumps(line), flush=True)
            if len({json.dumps(s) for s in sums.values()}) > 1:
                print(json.dumps({"data": kind, "checksums differ": sums}), file=sys.stderr)
                failed = True
        return int(failed)


if __name__ == "__main__":
    sys.exit(main())
