# SPDX-License-Identifier: Apache-2.0
# writes the *.arrows and *.feather files into the folder given
import pyarrow as pa, random, datetime, decimal, sys
import pyarrow.compute as pc
d=sys.argv[1]
rnd=random.Random(5)
N=23
def vals(f, nulls=True):
    return [None if nulls and i%5==3 else f(i) for i in range(N)]
f=pa.field
cols={}
def add(name,t,fn,nulls=True):
    cols[name]=(t,vals(fn,nulls))
add("bool",pa.bool_(),lambda i:i%3==0)
for t,b in [(pa.int8(),127),(pa.int16(),32767),(pa.int32(),2**31-1),(pa.int64(),2**63-1)]:
    add(str(t),t,lambda i,b=b:[b,-b-1,i,-i][i%4])
for t,b in [(pa.uint8(),255),(pa.uint16(),65535),(pa.uint32(),2**32-1),(pa.uint64(),2**64-1)]:
    add(str(t),t,lambda i,b=b:[b,0,i][i%3])
add("half",pa.float16(),lambda i:i/4)
add("float",pa.float32(),lambda i:i/3)
add("double",pa.float64(),lambda i:[i/3,float('inf'),-0.0,float('nan')][i%4])
txt=lambda i:["","a","żółw "+str(i),"a long text beyond twelve bytes %d"%i][i%4]
for n,t in [("string",pa.string()),("large_string",pa.large_string()),("string_view",pa.string_view())]:
    add(n,t,txt)
for n,t in [("binary",pa.binary()),("large_binary",pa.large_binary()),("binary_view",pa.binary_view())]:
    add(n,t,lambda i:bytes([i,255-i])*(i%9))
add("fsb",pa.binary(5),lambda i:bytes([i])*5)
add("date32",pa.date32(),lambda i:datetime.date(1960+i,1,1))
add("date64",pa.date64(),lambda i:datetime.date(1960+i,1,1))
add("time32",pa.time32('ms'),lambda i:datetime.time(i,1,2))
add("time64",pa.time64('us'),lambda i:datetime.time(i,1,2,345))
add("ts",pa.timestamp('us','UTC'),lambda i:datetime.datetime(1960+i,1,1,tzinfo=datetime.timezone.utc))
add("dur",pa.duration('ms'),lambda i:datetime.timedelta(milliseconds=i))
add("mdn",pa.month_day_nano_interval(),lambda i:pa.MonthDayNano([i,-i,i*1000]))
add("dec32",pa.decimal32(9,2),lambda i:decimal.Decimal(i-5)/4)
add("dec64",pa.decimal64(18,2),lambda i:decimal.Decimal(i-5)/4)
add("dec128",pa.decimal128(38,3),lambda i:decimal.Decimal(-i*10**20)/8)
add("dec256",pa.decimal256(76,3),lambda i:decimal.Decimal(-i*10**20)/8)
add("list",pa.list_(pa.int32()),lambda i:[None if k%3==2 else k for k in range(i%5)])
add("large_list",pa.large_list(pa.string()),lambda i:[txt(k) for k in range(i%4)])
add("list_view",pa.list_view(pa.int32()),lambda i:list(range(i%5)))
add("large_list_view",pa.large_list_view(pa.int32()),lambda i:list(range(i%3)))
add("vec",pa.list_(pa.float32(),3),lambda i:[i,i+.5,-i])
add("vec_str",pa.list_(pa.string(),2),lambda i:[txt(i),None])
add("struct",pa.struct([f("a",pa.int32()),f("b",pa.list_(pa.string()))]),lambda i:{"a":i,"b":[txt(i)]*(i%3)})
add("map",pa.map_(pa.string(),pa.int32()),lambda i:[("k%d"%k,k) for k in range(i%3)])
add("dict",pa.dictionary(pa.int8(),pa.string()),lambda i:"abc"[i%3]*(i%2+1))
add("nn",pa.int32(),lambda i:i,nulls=False)
def arr(name,idx=None):
    t,v=cols[name]
    if idx is not None: v=[None if k<0 else v[k] for k in idx]
    if pa.types.is_dictionary(t): return pa.array(v,pa.string()).dictionary_encode().cast(t) if False else pa.DictionaryArray.from_arrays(pa.array([None if x is None else sorted(set(v)-{None}).index(x) for x in v],pa.int8()),pa.array(sorted(set(v)-{None}),pa.string()))
    return pa.array(v,t)
names=list(cols)
schema=pa.schema([f(n,arr(n).type,nullable=(n!="nn")) for n in names]+[f("null",pa.null())])
def batch(idx=None):
    n=N if idx is None else len(idx)
    return pa.record_batch([arr(n,idx) for n in names]+[pa.nulls(n)],schema=schema)
whole=batch()
def write(path,batches,opts=None,schema=schema):
    with pa.OSFile(path,"wb") as o:
        with pa.ipc.new_stream(o,schema,options=opts) as w:
            for b in batches: w.write_batch(b)
write(d+"/all_types.arrows",[whole])
write(d+"/all_types_zstd.arrows",[whole],pa.ipc.IpcWriteOptions(compression="zstd"))
write(d+"/all_types_lz4.arrows",[whole],pa.ipc.IpcWriteOptions(compression="lz4"))
idx=[22,0,3,3,1,-1,7,7,7,8,9,10,21,-1,5]
write(d+"/all_types_take.arrows",[batch([i if i>=0 else -1 for i in idx])], schema=pa.schema([f(x.name,x.type,True) for x in schema])) if False else None
s2=pa.schema([f(x.name,x.type,True) for x in schema])
b=pa.record_batch([arr(n,idx) for n in names]+[pa.nulls(len(idx))],schema=s2)
write(d+"/all_types_take.arrows",[b],schema=s2)
# unions and runs
i8=pa.array([0,1,0,1,1,0],pa.int8())
du=pa.UnionArray.from_dense(i8,pa.array([0,0,1,1,2,2],pa.int32()),[pa.array([1,2,None]),pa.array(["x","y","z"])],["i","s"])
su=pa.UnionArray.from_sparse(i8,[pa.array([1,None,3,4,5,6]),pa.array(list("abcdef"))],["i","s"])
ree=pa.RunEndEncodedArray.from_arrays(pa.array([2,3,6],pa.int32()),pa.array(["x",None,"z"]))
inner=pa.DictionaryArray.from_arrays(pa.array([0,1,0],pa.int32()),pa.array(["p","q"]))
nd=pa.DictionaryArray.from_arrays(pa.array([2,1,0,None,1,1],pa.int16()),pa.StructArray.from_arrays([inner],["x"]))
rb=pa.record_batch([du,su,ree,nd],names=["dense","sparse","runs","nested_dict"])
write(d+"/unions_runs.arrows",[rb],schema=rb.schema)
# dictionary: initial, delta, replacement
def db(ix,v): return pa.record_batch([pa.DictionaryArray.from_arrays(pa.array(ix,pa.int32()),pa.array(v))],names=["d"])
bs=[db([0,1],["a","b"]),db([2,0],["a","b","c"]),db([0,None],["z"])]
write(d+"/dictionary_delta.arrows",bs,pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True),schema=bs[0].schema)
import pyarrow.feather as fe
fe.write_feather(pa.table({"a":[1,2,3],"s":["x",None,"z"]}),d+"/feather_lz4.feather",compression="lz4")
import polars as pl
pl.DataFrame({"a":[1,2,None],"s":["x","long enough for a view buffer",None],"l":[[1.5],[],None],"c":pl.Series(["q","r","q"],dtype=pl.Categorical)}).write_ipc_stream(d+"/polars.arrows")
