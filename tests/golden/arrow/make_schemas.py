# SPDX-License-Identifier: Apache-2.0
# writes tests/golden/arrow/schema_*.ipc
import pyarrow as pa, sys, os
d=sys.argv[1]
f=pa.field
fields=[f("null",pa.null()),f("b",pa.bool_(),False)]
for t in [pa.int8(),pa.int16(),pa.int32(),pa.int64(),pa.uint8(),pa.uint16(),pa.uint32(),pa.uint64(),pa.float16(),pa.float32(),pa.float64(),
 pa.string(),pa.large_string(),pa.string_view(),pa.binary(),pa.large_binary(),pa.binary_view(),pa.binary(16),pa.date32(),pa.date64(),
 pa.time32('s'),pa.time32('ms'),pa.time64('us'),pa.time64('ns'),pa.timestamp('s'),pa.timestamp('ms'),pa.timestamp('us','UTC'),pa.timestamp('ns','Europe/Paris'),
 pa.duration('s'),pa.duration('ms'),pa.duration('us'),pa.duration('ns'),pa.month_day_nano_interval(),
 pa.decimal32(9,2),pa.decimal64(18,3),pa.decimal128(38,-5),pa.decimal256(76,10),
 pa.list_(pa.int32()),pa.large_list(f("element",pa.string(),False)),pa.list_view(pa.int8()),pa.large_list_view(pa.float64()),
 pa.list_(pa.float32(),128),pa.struct([f("a",pa.int32(),metadata={"k":"v"}),f("b",pa.list_(pa.struct([f("c",pa.string())])))]),
 pa.map_(pa.string(),pa.int32()),pa.map_(pa.int32(),pa.string(),keys_sorted=True),
 pa.dictionary(pa.int8(),pa.string(),True),pa.dictionary(pa.uint32(),pa.struct([f("x",pa.dictionary(pa.int32(),pa.utf8()))])),
 pa.dense_union([f("i",pa.int32()),f("s",pa.string())],[3,7]),pa.sparse_union([f("i",pa.int32()),f("s",pa.string())]),
 pa.run_end_encoded(pa.int32(),pa.string())]:
    fields.append(f("f%d"%len(fields),t,metadata={"PARQUET:field_id":str(len(fields))} if len(fields)%3==0 else None))
s=pa.schema(fields,metadata={"hello":"world","empty":"","bin":b"\x00\xff"})
open(d+"/schema_all_types.ipc","wb").write(s.serialize().to_pybytes())
import polars as pl, io
df=pl.DataFrame({"a":[1],"s":["x"],"l":[[1.0]],"c":pl.Series(["q"],dtype=pl.Categorical),"ar":pl.Series([[1,2]],dtype=pl.Array(pl.Int32,2))})
b=io.BytesIO(); df.write_ipc_stream(b); v=b.getvalue()
n=int.from_bytes(v[4:8],'little'); open(d+"/schema_polars.ipc","wb").write(v[:8+n])
