# SPDX-License-Identifier: Apache-2.0
"""Values of Arrow's integration files in JSON, and of pyarrow arrays, as the same plain Python: times and decimals as the integers that
are stored, binary as hexadecimal digits, structs as lists of their fields' values."""
import gzip
import json

import pyarrow as pa


# ---- the twins in JSON ----

def _views(column, is_text):
    out = []
    for view in column["VIEWS"]:
        if "INLINED" in view:
            out.append(view["INLINED"])
        else:
            data = column["VARIADIC_DATA_BUFFERS"][view["BUFFER_INDEX"]][2 * view["OFFSET"]:2 * (view["OFFSET"] + view["SIZE"])]
            out.append(bytes.fromhex(data).decode() if is_text else data)
    return out


def _lists(column, field, dictionaries, sizes):
    child = decode(column["children"][0], field["children"][0], dictionaries)
    ends = [int(v) for v in column.get("OFFSET", [])]
    return [child[ends[i]:ends[i] + int(sizes[i])] if sizes else child[ends[i]:ends[i + 1]] for i in range(column["count"])]


def _union(column, field, dictionaries):
    children = [decode(c, f, dictionaries) for c, f in zip(column["children"], field["children"])]
    place = {id: k for k, id in enumerate(field["type"]["typeIds"])}
    rows = column["OFFSET"] if "OFFSET" in column else range(column["count"])
    return [children[place[t]][int(r)] for t, r in zip(column["TYPE_ID"], rows)]


def decode(column, field, dictionaries):
    n, kind = column["count"], field["type"]["name"]
    if field.get("dictionary") is not None and not column.get("is_values"):
        values = dictionaries[field["dictionary"]["id"]]
        out = [values[int(i)] if ok else None for i, ok in zip(column["DATA"], column["VALIDITY"])]
        return out
    if kind == "null":
        return [None] * n
    if kind == "union":
        return _union(column, field, dictionaries)
    if kind == "runendencoded":
        ends = decode(column["children"][0], field["children"][0], dictionaries)
        values, out = decode(column["children"][1], field["children"][1], dictionaries), []
        for end, v in zip(ends, values):
            out += [v] * (min(end, n) - len(out))
        return out
    if kind in ("list", "largelist", "map"):
        out = _lists(column, field, dictionaries, None)
    elif kind in ("listview", "largelistview"):
        out = _lists(column, field, dictionaries, column["SIZE"])
    elif kind == "fixedsizelist":
        size = field["type"]["listSize"]
        child = decode(column["children"][0], field["children"][0], dictionaries)
        out = [child[i * size:(i + 1) * size] for i in range(n)]
    elif kind == "struct":
        children = [decode(c, f, dictionaries) for c, f in zip(column["children"], field["children"])]
        out = [[c[i] for c in children] for i in range(n)]
    elif kind in ("utf8view", "binaryview"):
        out = _views(column, kind == "utf8view")
    elif kind in ("int", "date", "time", "timestamp", "duration", "decimal"):
        out = [int(v) for v in column["DATA"]]
    elif kind == "bool":
        out = [bool(v) for v in column["DATA"]]
    elif kind == "interval":
        out = [list(v.values()) if isinstance(v, dict) else v for v in column["DATA"]]
    else:
        out = column["DATA"]
    return [v if ok else None for v, ok in zip(out, column["VALIDITY"])]


def _fields(schema):
    for f in schema:
        yield f
        yield from _fields(f.get("children") or [])


def load(path):
    """Rows of each column, all batches together: [[values], …]."""
    doc = json.load(gzip.open(path))
    fields, dictionaries = doc["schema"]["fields"], {}
    kinds = {f["dictionary"]["id"]: f for f in _fields(fields) if f.get("dictionary")}
    todo = list(doc.get("dictionaries", []))
    while todo:   # inner ones first
        d = todo.pop(0)
        column = dict(d["data"]["columns"][0], is_values=True)
        try:
            dictionaries[d["id"]] = decode(column, kinds[d["id"]], dictionaries)
        except KeyError:
            todo.append(d)
    return [sum((decode(b["columns"][i], f, dictionaries) for b in doc["batches"]), []) for i, f in enumerate(fields)]


# ---- pyarrow's arrays ----

def _stored(a, width, signed=True):
    data = a.buffers()[1]
    part = data.to_pybytes()[a.offset * width:(a.offset + len(a)) * width] if data is not None else b"\0" * width * len(a)
    return [int.from_bytes(part[i * width:(i + 1) * width], "little", signed=signed) for i in range(len(a))]


def raw(a):
    t = a.type
    if isinstance(t, pa.BaseExtensionType):
        return raw(a.storage)
    if pa.types.is_null(t):
        return [None] * len(a)
    if pa.types.is_dictionary(t):
        values = raw(a.dictionary)
        return [None if i is None else values[i] for i in a.indices.to_pylist()]
    if pa.types.is_run_end_encoded(t):
        values = raw(a.values)
        return [values[a.run_ends.to_pylist().index(next(e for e in a.run_ends.to_pylist() if e > a.offset + i))] for i in range(len(a))]
    if pa.types.is_union(t):
        codes, place = a.type_codes.to_pylist(), {c: k for k, c in enumerate(t.type_codes)}
        rows = a.offsets.to_pylist() if t.mode == "dense" else list(range(len(a)))
        children = [raw(a.field(k)) for k in range(t.num_fields)]
        return [children[place[c]][r] for c, r in zip(codes, rows)]
    ok = [v is not None for v in a.is_valid().to_pylist()]
    ok = a.is_valid().to_pylist()
    if pa.types.is_struct(t):
        children = [raw(a.field(k)) for k in range(t.num_fields)]
        out = [[c[i] for c in children] for i in range(len(a))]
    elif pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_map(t):
        ends, child = a.offsets.to_pylist(), raw(a.values if not pa.types.is_map(t) else _entries(a))
        out = [child[ends[i]:ends[i + 1]] for i in range(len(a))]
    elif pa.types.is_list_view(t) or pa.types.is_large_list_view(t):
        child, ends, sizes = raw(a.values), a.offsets.to_pylist(), a.sizes.to_pylist()
        out = [child[e:e + s] for e, s in zip(ends, sizes)]
    elif pa.types.is_fixed_size_list(t):
        child = raw(a.values)
        out = [child[(a.offset + i) * t.list_size:(a.offset + i + 1) * t.list_size] for i in range(len(a))]
    elif pa.types.is_decimal(t):
        out = _stored(a, t.bit_width // 8)
    elif str(t) == "month_interval":
        out = _stored(a, 4)
    elif str(t) == "day_time_interval":
        out = [[int.from_bytes(v.to_bytes(8, "little")[:4], "little", signed=True), int.from_bytes(v.to_bytes(8, "little")[4:], "little", signed=True)]
               for v in _stored(a, 8, signed=False)]
    elif str(t) == "month_day_nano_interval":
        out = [[v.months, v.days, v.nanoseconds] if v is not None else None for v in a.to_pylist()]
    elif pa.types.is_temporal(t):
        out = _stored(a, t.bit_width // 8)
    elif pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t) or t == pa.binary_view():
        out = [v.hex().upper() if v is not None else None for v in a.to_pylist()]
    else:
        out = a.to_pylist()
    return [v if v_ok else None for v, v_ok in zip(out, ok)]


def _entries(a):
    return pa.StructArray.from_arrays([a.keys, a.items], ["k", "v"])


def columns_of(table):
    return [sum((raw(c) for c in table.column(i).chunks), []) for i in range(table.num_columns)]
