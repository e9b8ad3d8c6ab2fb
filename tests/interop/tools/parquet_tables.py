# SPDX-License-Identifier: Apache-2.0
"""Tables of every type that Parquet can hold, for the tests of the writer."""
import datetime, decimal
import numpy as np, pyarrow as pa


def with_nulls(rng, values, share, type_):
    values = list(values)
    return pa.array([None if rng.random() < share else v for v in values], type_)


def scalars(n, share, seed):
    rng = np.random.default_rng(seed)
    ints = lambda t: [int(x) for x in rng.integers(np.iinfo(t).min, np.iinfo(t).max, n, dtype=t, endpoint=True)]
    words = ["", "a", "Grüße", "日本語", "🚀" * 30, "x" * 200, "\U0010ffff" * 40]
    c = {
        "b": with_nulls(rng, (bool(x) for x in rng.integers(0, 2, n)), share, pa.bool_()),
        "f16": with_nulls(rng, rng.standard_normal(n).astype("f2"), share, pa.float16()),
        "f32": with_nulls(rng, (float(x) for x in rng.standard_normal(n).astype("f4")), share, pa.float32()),
        "f64": with_nulls(rng, (float(x) for x in rng.standard_normal(n)), share, pa.float64()),
        "nan": with_nulls(rng, (float("nan") if x % 3 == 0 else 0.0 if x % 3 == 1 else -0.0 for x in range(n)), share,
                          pa.float64()),
        "id": pa.array(np.arange(n) * 3 - 7, pa.int64()),
        "word": with_nulls(rng, (words[x] for x in rng.integers(0, len(words), n)), share, pa.string()),
        "text": with_nulls(rng, ("t%d-" % x * int(x % 9) for x in rng.integers(0, 10**9, n)), share, pa.string()),
        "large": with_nulls(rng, ("L%d" % x for x in rng.integers(0, 10**9, n)), share, pa.large_string()),
        "bin": with_nulls(rng, (rng.bytes(int(k)) for k in rng.integers(0, 90, n)), share, pa.binary()),
        "ff": with_nulls(rng, (b"\xff" * int(k) for k in rng.integers(0, 90, n)), share, pa.large_binary()),
        "fsb": with_nulls(rng, (rng.bytes(5) for _ in range(n)), share, pa.binary(5)),
        "d32": with_nulls(rng, (datetime.date(1970, 1, 1) + datetime.timedelta(int(x)) for x in rng.integers(-9999, 9999, n)),
                          share, pa.date32()),
        "d64": with_nulls(rng, (datetime.date(1970, 1, 1) + datetime.timedelta(int(x)) for x in rng.integers(-9999, 9999, n)),
                          share, pa.date64()),
        "dec9": with_nulls(rng, (decimal.Decimal(int(x)).scaleb(-2) for x in rng.integers(-10**7, 10**7, n)), share,
                           pa.decimal128(9, 2)),
        "dec38": with_nulls(rng, (decimal.Decimal(int(x)) * 10**15 + 1 for x in rng.integers(-10**18, 10**18, n)), share,
                            pa.decimal128(38, 0)),
        "none": pa.nulls(n),
    }
    for t in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()):
        c[str(t)] = with_nulls(rng, ints(str(t)), share, t)
    for unit in ("s", "ms", "us", "ns"):
        v = [int(x) for x in rng.integers(-10**9, 10**9, n)]
        c["ts_" + unit] = with_nulls(rng, v, share, pa.timestamp(unit))
        c["tz_" + unit] = with_nulls(rng, v, share, pa.timestamp(unit, "UTC"))
        day = [int(x) for x in rng.integers(0, 86400, n)]
        scale = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[unit]
        c["t_" + unit] = with_nulls(rng, (x * scale for x in day), share,
                                    pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit))
        c["dur_" + unit] = with_nulls(rng, v, share, pa.duration(unit))
    c["dict"] = c["word"].dictionary_encode()
    c["dictnull"] = pa.DictionaryArray.from_arrays(
        pa.array([None if x == 3 else int(x) for x in rng.integers(0, 4, n)], pa.int8()) if share else
        pa.array([int(x) for x in rng.integers(0, 4, n)], pa.int8()), pa.array(["p", "q", None, "r"]))
    return c


def lists(n, share, seed):
    rng = np.random.default_rng(seed)
    f = lambda k: [float(x) for x in rng.standard_normal(k).astype("f4")]
    vec = pa.FixedSizeListArray.from_arrays(pa.array(rng.standard_normal(n * 20).astype("f4")), 20)
    return {
        "ragged": with_nulls(rng, ([int(x) for x in rng.integers(0, 99, int(k))] for k in rng.integers(0, 5, n)), share,
                             pa.list_(pa.int32())),
        "holes": with_nulls(rng, ([None if x % 5 == 0 else "s%d" % x for x in rng.integers(0, 99, int(k))]
                                  for k in rng.integers(0, 5, n)), share, pa.large_list(pa.string())),
        "same": with_nulls(rng, (f(8) for _ in range(n)), share, pa.list_(pa.float32())),
        "almost": with_nulls(rng, (f(8 if i + 1 < n else 7) for i in range(n)), share, pa.list_(pa.float32())),
        "fixed": vec if not share else with_nulls(rng, vec.to_pylist(), share, vec.type),
        "fixed_holes": with_nulls(rng, ([None if x < 0 else float(x) for x in f(3)] for _ in range(n)), share,
                                  pa.list_(pa.float64(), 3)),
        "tiny": with_nulls(rng, ([int(x) for x in rng.integers(-128, 127, 4)] for _ in range(n)), share,
                           pa.list_(pa.int8(), 4)),
        "one": with_nulls(rng, (f(1) for _ in range(n)), share, pa.list_(pa.float32(), 1)),
        "half": with_nulls(rng, ([np.float16(x) for x in f(16)] for _ in range(n)), share, pa.list_(pa.float16(), 16)),
        "bools": with_nulls(rng, ([bool(x > 0) for x in f(3)] for _ in range(n)), share, pa.list_(pa.bool_())),
    }


def nested(n, share, seed):
    rng = np.random.default_rng(seed)
    pick = lambda v: None if rng.random() < share else v
    return {
        "st": with_nulls(rng, ({"x": pick(int(i)), "y": pick("y%d" % i)} for i in range(n)), share,
                         pa.struct([("x", pa.int32()), ("y", pa.string())])),
        "lol": with_nulls(rng, ([pick([pick(int(x)) for x in range(int(k))]) for k in rng.integers(0, 4, int(m))]
                                for m in rng.integers(0, 4, n)), share, pa.list_(pa.list_(pa.int64()))),
        "los": with_nulls(rng, ([pick({"a": pick(1.5 * i), "b": pick([i, i + 1])}) for i in range(int(m))]
                                for m in rng.integers(0, 4, n)), share,
                          pa.list_(pa.struct([("a", pa.float64()), ("b", pa.list_(pa.int16()))]))),
        "map": with_nulls(rng, ([("k%d" % i, pick(i)) for i in range(int(m))] for m in rng.integers(0, 4, n)), share,
                          pa.map_(pa.string(), pa.int32())),
        "sof": with_nulls(rng, ({"v": pick([1.0 * i, 2.0, 3.0])} for i in range(n)), share,
                          pa.struct([("v", pa.list_(pa.float32(), 3))])),
    }


def table_of(columns, required=()):
    fields = [pa.field(k, v.type, nullable=k not in required) for k, v in columns.items()]
    return pa.table(list(columns.values()), schema=pa.schema(fields, metadata={"made": "by a test"}))


def vectors(n, dim, share=0.0, nullable=True):
    rng = np.random.default_rng(dim)
    v = pa.array(rng.standard_normal(n * dim).astype("f4"))
    item = pa.field("item", pa.float32(), nullable=nullable)
    a = pa.FixedSizeListArray.from_arrays(v, type=pa.list_(item, dim))
    if share:
        a = pa.array([None if rng.random() < share else x for x in a.to_pylist()], a.type)
    blob = pa.array([rng.bytes(4 * dim) if rng.random() >= share else None for _ in range(n)], pa.binary(4 * dim))
    schema = pa.schema([pa.field("id", pa.int64(), False), pa.field("v", a.type, nullable), pa.field("blob", blob.type, nullable)])
    return pa.table([pa.array(range(n)), a, blob], schema=schema)
