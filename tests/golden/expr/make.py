# SPDX-License-Identifier: Apache-2.0
# writes rows.arrows into the folder given (pyarrow 26)
import pyarrow as pa, numpy as np, datetime, decimal, sys
D=decimal.Decimal
utc=datetime.timezone.utc
t0=datetime.datetime(2026,1,1,tzinfo=utc)
dvals=[0.1,float('nan'),-0.0,None,float('inf'),9007199254740992.0,-2.5,9.223372036854775807e18]
cols={
 "i":pa.array([1,2,None,-4,5,2**63-1,-2**63,0],pa.int64()),
 "j":pa.array(range(8),pa.int16()),
 "u":pa.array([0,2**64-1,9007199254740993,None,5,2**63,1,2],pa.uint64()),
 "d":pa.array(dvals,pa.float64()),
 "f":pa.array(dvals,pa.float32()),
 "h":pa.array([None if x is None else np.float16(x) for x in dvals],pa.float16()),
 "m":pa.array([D("1.10"),D("-0.05"),None,D("99999999.99"),D("0"),D("2"),D("3.14"),D("-7")],pa.decimal128(10,2)),
 "flag":pa.array([True,False,None,True,False,None,True,False]),
 "s":pa.array(["abc","",None,"ABC","a%c","żółw","it's","abcabc"]),
 "dict":pa.array(["red","green",None,"red","green","blue","blue","blue"]).dictionary_encode(),
 "view":pa.array(["short","a text of thirteen and more","x",None,"y","z","","w"],pa.string_view()),
 "bin":pa.array([b"\x00\xff",b"",None,b"\x01",b"\x02\x03\x04",b"\xff",b"abc",b"z"],pa.binary()),
 "ts":pa.array([t0,datetime.datetime(1969,12,31,23,59,59,999999,tzinfo=utc),None]+[t0+datetime.timedelta(days=k) for k in range(1,6)],pa.timestamp('us','UTC')),
 "day":pa.array([datetime.date(2026,1,1),datetime.date(2026,1,2),None]+[datetime.date(2026,1,3+k) for k in range(5)],pa.date32()),
 "clock":pa.array([datetime.time(0),datetime.time(1),None,datetime.time(11),datetime.time(12,30),datetime.time(13),datetime.time(14),datetime.time(15)],pa.time32('ms')),
 "st":pa.array([{"a":0,"odd name":"x"},{"a":1,"odd name":"y"},{"a":None,"odd name":None},{"a":3,"odd name":"z"},{"a":4,"odd name":"z"},None,{"a":6,"odd name":"z"},{"a":7,"odd name":"z"}],pa.struct([("a",pa.int8()),("odd name",pa.string())])),
 "li":pa.array([[],[0],[None,1],[],[0],[5,1],None,[0]],pa.list_(pa.int32())),
 "vec":pa.array([[k,k+.5] for k in range(8)],pa.list_(pa.float32(),2)),
 "100":pa.array(range(8),pa.int32()),
 "dot.ted":pa.array(range(8),pa.uint8()),
 "runs":pa.RunEndEncodedArray.from_arrays(pa.array([3,6,8],pa.int32()),pa.array([1,2,None],pa.int64())),
}
b=pa.record_batch(list(cols.values()),names=list(cols))
with pa.OSFile(sys.argv[1]+"/rows.arrows","wb") as o:
    with pa.ipc.new_stream(o,b.schema) as w: w.write_batch(b)
