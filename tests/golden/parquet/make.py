# SPDX-License-Identifier: Apache-2.0
"""Makes the files of this folder: one table whose values follow formulas of the row number, by
three writers with many options. tests/unit/parquet/parquet_formula.h has the same formulas.

Versions used: pyarrow 26.0.1, duckdb 2.0.1, polars 2.1.0. Run in this folder.
"""
import decimal

import pyarrow as pa
import pyarrow.parquet as pq

N = 600


def rows(fn):
    return [fn(i) for i in range(N)]


def unless(test, fn):
    return lambda i: None if test(i) else fn(i)


SCALARS = [
    ("id", pa.int64(), lambda i: i * 3 - 500),
    ("i8", pa.int8(), unless(lambda i: i % 7 == 3, lambda i: i % 200 - 100)),
    ("u16", pa.uint16(), lambda i: i * 61 % 65536),
    ("u32", pa.uint32(), lambda i: 4294967295 - i),
    ("u64", pa.uint64(), lambda i: 18446744073709551615 - i * i),
    ("i32", pa.int32(), unless(lambda i: i % 5 == 0, lambda i: i % 13 * 1000)),
    ("f32", pa.float32(), lambda i: i * 0.5),
    ("f64", pa.float64(), unless(lambda i: i % 11 == 4, lambda i: i * 0.25 - 7)),
    ("b", pa.bool_(), unless(lambda i: i % 4 == 1, lambda i: i % 3 == 0)),
    ("s", pa.string(), unless(lambda i: i % 6 == 2, lambda i: "row-%d" % (i % 50))),
    ("t", pa.string(), lambda i: "x" * (i % 40) + str(i)),
    ("bin", pa.binary(), lambda i: bytes(i * k % 256 for k in range(i % 9))),
    ("d32", pa.date32(), lambda i: i - 200),
    ("ts", pa.timestamp("us"), lambda i: i * 1000003),
    ("none", pa.int32(), lambda i: None),
]
FIXED = [
    ("fsb", pa.binary(5), unless(lambda i: i % 10 == 9, lambda i: bytes((i + k) % 256 for k in range(5)))),
    ("dec", pa.decimal128(12, 2), unless(lambda i: i % 8 == 5, lambda i: decimal.Decimal(i * 101 - 5000).scaleb(-2))),
    ("f16", pa.float16(), lambda i: __import__("numpy").float16(i % 100 * 0.5)),
]
NESTED = [
    ("li", pa.list_(pa.int32()), unless(lambda i: i % 9 == 5, lambda i: [None if (i + k) % 5 == 0 else i + k for k in range(i % 4)])),
    ("ls", pa.list_(pa.string()), lambda i: ["s%d" % (i * k) for k in range(i % 3)]),
    ("v", pa.list_(pa.float32(), 8), lambda i: [i + k * 0.125 for k in range(8)]),
    ("vn", pa.list_(pa.float32(), 3), unless(lambda i: i % 4 == 2, lambda i: [i - k for k in range(3)])),
    ("st", pa.struct([("a", pa.int32()), ("b", pa.string())]),
     unless(lambda i: i % 8 == 6, lambda i: {"a": None if i % 3 == 1 else i, "b": "b%d" % (i % 5)})),
    ("ll", pa.list_(pa.list_(pa.int64())),
     unless(lambda i: i % 13 == 7, lambda i: [None if (i + k) % 6 == 1 else [i * 10 + j for j in range(k)] for k in range(i % 4)])),
    ("m", pa.map_(pa.string(), pa.int32()), lambda i: [("k%d" % k, None if (i + k) % 4 == 3 else i - k) for k in range(i % 3)]),
    ("ls2", pa.list_(pa.struct([("x", pa.int32()), ("y", pa.list_(pa.int8()))])),
     lambda i: [{"x": i + k, "y": None if k == 1 else [k] * (i % 3)} for k in range(i % 4)]),
]


def table(columns):
    required = {"id", "u64", "t", "v"}
    schema = pa.schema([pa.field(n, t, nullable=n not in required) for n, t, _ in columns])
    arrays = [pa.array(rows(fn), type=t) for _, t, fn in columns]
    return pa.Table.from_arrays(arrays, schema=schema)


ALL = table(SCALARS + FIXED + NESTED)
FLAT = table(SCALARS + FIXED)
PLAIN = ["id", "u16", "u32", "u64", "f32", "v"]


def write(name, t, **options):
    pq.write_table(t, name + ".parquet", row_group_size=options.pop("row_group_size", 250), **options)


write("pa_default", ALL)
write("pa_plain", ALL, compression="none", use_dictionary=False, store_schema=True, write_page_checksum=True)
write("pa_v2_zstd", ALL, compression="zstd", data_page_version="2.0", data_page_size=200, write_batch_size=16, write_page_index=True)
write("pa_small_pages", ALL, compression="none", use_dictionary=False, data_page_size=200, write_batch_size=16,
      write_page_index=True, write_page_checksum=True, row_group_size=600)
write("pa_small_pages_v1_lz4", ALL, compression="lz4", data_page_size=200, write_batch_size=16)
write("pa_format_1_0_gzip", FLAT.drop_columns(["f16"]), compression="gzip", version="1.0", store_schema=False)
delta = {n: "DELTA_BINARY_PACKED" for n in ("id", "i8", "u16", "u32", "u64", "i32", "d32", "ts")}
delta |= {"s": "DELTA_BYTE_ARRAY", "t": "DELTA_LENGTH_BYTE_ARRAY", "bin": "DELTA_BYTE_ARRAY", "f32": "BYTE_STREAM_SPLIT",
          "f64": "BYTE_STREAM_SPLIT", "fsb": "DELTA_BYTE_ARRAY", "f16": "BYTE_STREAM_SPLIT", "b": "RLE"}
write("pa_delta", FLAT, compression="none", use_dictionary=False, column_encoding=delta, data_page_size=500, write_batch_size=50)
write("pa_delta_v2", FLAT, compression="snappy", use_dictionary=False, column_encoding=delta, data_page_version="2.0")

import duckdb

con = duckdb.connect()
duck = ALL.drop_columns(["f16", "none"])
con.execute("COPY duck TO 'duck_default.parquet' (ROW_GROUP_SIZE 2048)")
con.execute("COPY duck TO 'duck_v2_zstd.parquet' (PARQUET_VERSION V2, COMPRESSION zstd)")

import polars as pl

pl.from_arrow(ALL.drop_columns(["f16", "m"])).write_parquet("pl_default.parquet", row_group_size=250, data_page_size=300)

# Lists of four floats, but one is short and, in the second file, the next one long, so that the total is right.
for name, at in (("list_short", {30: 3}), ("list_uneven", {30: 3, 31: 5})):
    lists = pa.array([[float(k) for k in range(at.get(i, 4))] for i in range(50)], type=pa.list_(pa.float32()))
    pq.write_table(pa.table({"v": lists}), name + ".parquet", store_schema=False, compression="none", use_dictionary=False)
