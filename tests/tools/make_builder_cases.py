# SPDX-License-Identifier: Apache-2.0
"""Results of the library `datasets` for small files, as tests/data/hfdatasets/load has them: python make_builder_cases.py FOLDER."""
import hashlib, json, os, sys, math, base64, datetime, decimal

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import datasets
import pyarrow as pa

datasets.disable_progress_bars()
CASES = []


def case(name, path, files, call=None, **options):
    CASES.append((name, path, files, call, options))


def csv(name, text, **options):
    case("csv_" + name, "csv", {"a.csv": text}, None, **options)


def jsonl(name, text, **options):
    case("json_" + name, "json", {"a.jsonl": text}, None, **options)


# ---- csv ----
csv("index_col_int", "k,a,b\n5,1,x\n6,2,y\n", index_col=0)
csv("index_col_name", "k,a,b\n5,1,x\n9,2,y\n7,3,z\n", index_col="k")
csv("index_col_false", "a,b\n1,2,\n3,4,\n", index_col=False)
csv("usecols_ints", "a,b,c\n1,2,3\n4,5,6\n", usecols=[2, 0])
csv("usecols_long_rows", "a,b\n1,2\n3,4,5\n", usecols=["a", "b"])
csv("skiprows_list", "a,b\n1,2\n3,4\n5,6\n", skiprows=[1, 3])
csv("skiprows_header", "x\na,b\n1,2\n", skiprows=[0])
csv("na_dict", "a,b\n-,-\n1,2\n", na_values={"a": ["-"]})
csv("na_number", "a,b\n-999,1\n5,-999.0\n", na_values=[-999])
csv("na_text_number", "a,b\n999,1.5\n5,999.0\n", na_values=["999"])
csv("whitespace", "a  b\tc\n1 2   3\n 4 5 6 \n", sep=r"\s+")
csv("pipe", "a|b\n1|x y\n2|\n", sep="|")
csv("delimiter", "a;b\n1;2\n", delimiter=";")
csv("lineterminator", "a,b~1,2~3,4~", lineterminator="~")
csv("quotechar", "a,b\n'x,y',1\n'it''s',2\n", quotechar="'")
csv("quoting_all", '"a","b"\n"1","x"\n"2","y"\n', quoting=1)
csv("single_column_blank", "a\n1\n\n2\n")
csv("single_column_keep", "a\n1\n\n2\n", skip_blank_lines=False)
csv("comment_inside", 'a,b\n1,"x#y"\n2,z#w\n', comment="#")
csv("thousands_float", 'a,b\n"1,234.5","12"\n"2,000","3"\n', thousands=",")
csv("thousands_dot", "a;b\n1.234,5;2\n7;3\n", sep=";", thousands=".", decimal=",")
csv("true_false_mixed", "a\nyes\nTrue\nno\n", true_values=["yes"], false_values=["no"])
csv("bool_and_int", "a\nTrue\n1\n")
csv("int_plus", "a,b\n+1,+2.5\n2,3\n")
csv("uint64", "a\n18446744073709551615\n1\n")
csv("uint64_na", "a\n18446744073709551615\n\"\"\n")
csv("uint64_negative", "a\n18446744073709551615\n-1\n")
csv("spaces_float", "a\n 1.5\n2.5 \n")
csv("spaces_text", "a,b\n x ,1\n y,2\n")
csv("exponents", "a,b,c\n1E3,1e-3,1.e2\n2e+2,.5e1,3\n")
csv("not_numbers", "a,b,c,d\n1e,1.2.3,--1,1_000\n2,3,4,5\n")
csv("inf_words", "a,b\ninf,INFINITY\n-Inf,+inf\n")
csv("nan_words", "a,b\nnan,1\n1.5,NaN\n")
csv("nan_kept", "a\nnan\n1.5\n", keep_default_na=False)
csv("na_quoted", 'a,b\n"NA","x"\n"","y"\n')
csv("empty_strings_off", 'a,b\n"",1\nx,2\n', na_filter=False)
csv("header_quoted", '"a, b","c ""d"""\n1,2\n')
csv("header_blank_before", "\n\na,b\n1,2\n")
csv("dup_many", "a,a,a,a.1\n1,2,3,4\n")
csv("unnamed_dup", ",,x\n1,2,3\n")
csv("header_longer", "a,b,c\n1,2\n")
csv("two_index", "a,b\n1,2,3,4\n5,6,7,8\n")
csv("names_longer", "1,2\n3,4\n", names=["a", "b", "c"])
csv("names_shorter", "1,2,3\n9,5,6\n4,8,1\n", names=["a", "b"])
csv("header_none_names", "a,b\n1,2\n", names=["x", "y"], header=None)
csv("header_list_one", "a,b\n1,2\n", header=[0])
csv("skipinitialspace_quotes", 'a, b\n1, "x, y"\n2,   z\n', skipinitialspace=True)
csv("trailing_delimiter_header", "a,b,\n1,2,\n3,4,\n")
csv("bad_lines_warn", "a,b\n1,2\n3,4,5\n6,7\n", on_bad_lines="warn")
csv("nrows_zero", "a,b\n1,2\n", nrows=0)
csv("nrows_chunks", "a\n" + "".join(f"{i}\n" for i in range(20)), nrows=13, chunksize=5)
csv("quoted_newlines", 'a,b\n"1\n2",x\n"3\r\n4",y\n')
csv("quote_then_text", 'a,b\n"x"y,1\n"x" ,2\n')
csv("quote_empty_fields", 'a,b,c\n"",,x\n,"",y\n')
csv("doublequote_off", 'a,b\n"x\\"y",1\n', doublequote=False, escapechar="\\")
csv("escape_delimiter", "a,b\nx\\,y,1\nz\\n,2\n", escapechar="\\")
csv("escape_newline", "a,b\nx\\\ny,1\n", escapechar="\\")
csv("cr_mixed", "a,b\r1,2\r\n3,4\n5,6\r")
csv("last_quoted", 'a,b\n1,"x"')
csv("last_delimiter", "a,b\n1,")
csv("only_header_no_newline", "a,b\n1,2\n\n   \n\n")
csv("tabs_blank", "a\tb\n1\t2\n\t\n3\t4\n", sep="\t")
csv("utf16", "a,b\n1,\u00e9\u6771\n", encoding="utf-16")
csv("cp1252", "a\n\u20ac\u201cx\u201d\n", encoding="cp1252")
csv("features_float", "a,b\n1,x\n2,y\n", features={"a": {"dtype": "float32", "_type": "Value"}, "b": {"dtype": "string", "_type": "Value"}})
csv("features_bool", "a\nTrue\nfalse\n", features={"a": {"dtype": "bool", "_type": "Value"}})
csv("features_text", "a,b\n007,1.50\n010,2.00\n", features={"a": {"dtype": "string", "_type": "Value"}, "b": {"dtype": "string", "_type": "Value"}})
csv("features_subset", "a,b\n1,2\n3,4\n", features={"b": {"dtype": "int64", "_type": "Value"}})
csv("features_label_name", "l\npos\nneg\n", features={"l": {"names": ["neg", "pos"], "_type": "ClassLabel"}})
csv("chunk_bool_then_null", "a,b\nTrue,1\nFalse,2\n,3\n,4\n", chunksize=2)
csv("chunk_text_then_null", "a,b\nx,1\ny,2\n,3\n,4\n", chunksize=2)
csv("chunk_text_then_int", "a,b\nx,1\ny,2\n7,3\n8,4\n", chunksize=2)
csv("chunk_float_then_int", "a\n1.5\n2.5\n3\n4\n", chunksize=2)
csv("chunk_int_then_na", "a\n1\n2\n3\nNA\n", chunksize=2)
csv("chunk_null_then_text", "a,b\n,1\n,2\nx,3\ny,4\n", chunksize=2)
csv("skipfooter", "a,b\n1,2\n3,4\nend,x\n", skipfooter=1)

# ---- json ----
jsonl("one_line_objects", '{"a":1}{"a":2}\n{"a":3}\n')
jsonl("spaces", '  { "a" : 1 , "b" : [ ] }  \n\n\t{"a":2,"b":[1]}\n')
jsonl("escaped_keys", '{"a\\u0062":1,"x\\"y":2}\n')
jsonl("deep", '{"a":{"b":{"c":{"d":[[{"e":1}]]}}}}\n')
jsonl("bool_null", '{"a":true}\n{"a":null}\n{"a":false}\n')
jsonl("bool_int", '{"a":true}\n{"a":1}\n')
jsonl("bool_string", '{"a":true,"b":1}\n{"a":"x","b":2}\n')
jsonl("null_then_object", '{"a":null}\n{"a":{"x":1}}\n')
jsonl("nested_missing", '{"a":[{"x":1},{"x":2}]}\n{"a":[]}\n')
jsonl("nested_varied", '{"a":[{"x":1},{"y":2}]}\n{"a":[]}\n')
jsonl("list_of_mixed_lists", '{"a":[[1],["x"]]}\n')
jsonl("list_int_float", '{"a":[1,2.5]}\n{"a":[3]}\n')
jsonl("list_null_int", '{"a":[null]}\n{"a":[3]}\n')
jsonl("list_object", '{"a":[1]}\n{"a":{"x":1}}\n')
jsonl("mixed_off_union", '{"a":{"x":1}}\n{"a":{"y":2}}\n', on_mixed_types=None)
jsonl("mixed_off_list", '{"a":[1,"x"]}\n', on_mixed_types=None)
jsonl("numbers_more", '{"a":1E2,"b":-0.0,"c":1e400,"d":12345678901234567890}\n')
jsonl("zero", '{"a":0,"b":-0}\n')
jsonl("dates", '{"a":"2024-01-01","b":"2024-01-01 10:00","c":"2024-01-01T10","d":"2024-13-01"}\n')
jsonl("dates_zone", '{"a":"2024-01-01T10:00:00+02:00","b":"2024-01-01T10:00:00-0530","c":"2024-02-30"}\n')
jsonl("date_null", '{"a":null}\n{"a":"2024-01-01"}\n')
jsonl("date_list", '{"a":["2024-01-01","2024-01-02"]}\n')
jsonl("unicode_names", '{"\u00e9":1,"\u6771":{"\u4eac":"x"}}\n')
jsonl("empty_string", '{"a":"","b":" "}\n')
jsonl("order_new_keys", '{"b":1}\n{"a":2,"b":3}\n{"c":1,"b":1,"a":0}\n')
jsonl("features_cast", '{"a":1,"b":"2"}\n{"a":2,"b":"3"}\n', features={"a": {"dtype": "string", "_type": "Value"}, "b": {"dtype": "int32", "_type": "Value"}})
jsonl("features_list", '{"a":[1,2]}\n{"a":[]}\n', features={"a": {"feature": {"dtype": "float32", "_type": "Value"}, "_type": "List"}})
jsonl("features_label", '{"a":"pos"}\n{"a":"neg"}\n', features={"a": {"names": ["neg", "pos"], "_type": "ClassLabel"}})
jsonl("features_label_int", '{"a":1}\n{"a":0}\n', features={"a": {"names": ["neg", "pos"], "_type": "ClassLabel"}})
jsonl("features_struct", '{"a":{"x":1}}\n{"a":null}\n', features={"a": {"x": {"dtype": "int8", "_type": "Value"}}})
jsonl("object_to_text_block", '{"a":"x","p":"' + "y" * 200 + '"}\n{"a":{"k":1},"p":"z"}\n', chunksize=100)
jsonl("text_to_int_block", '{"a":1,"p":"' + "y" * 200 + '"}\n{"a":"7","p":"z"}\n', chunksize=100)
jsonl("int_to_text_block", '{"a":"1","p":"' + "y" * 200 + '"}\n{"a":7,"p":"z"}\n', chunksize=100)
jsonl("float_to_int_block", '{"a":1.5,"p":"' + "y" * 200 + '"}\n{"a":7,"p":"z"}\n', chunksize=100)
jsonl("text_forms", '{"a":{"k":1.50,"u":"\u00e9/\\u00e9","e":1e2,"n":[null,true, 1 ],"d":{"x":-0.0,"big":123456789012345678901}}}\n{"a":"q\\"\\n/\u6771"}\n')
jsonl("text_floats", '{"a":[1.0,2]}\n{"a":1e-7}\n{"a":1E+30}\n{"a":0.1}\n{"a":12345678.125}\n')
jsonl("text_keys", '{"a":{"x\\u0041":1}}\n{"a":{"\u00e9":{"y":[]}}}\n')
jsonl("array_mixed", '[{"a":1},{"a":"x"}]')
jsonl("array_empty_object", '[{"a":{}},{"a":{}}]')
jsonl("array_of_arrays", '[[1,2],[3]]')
jsonl("bad_comma", '{"a":1,}\n')
jsonl("bad_trailing", '{"a":1} x\n')
jsonl("scalar_lines", '1\n2\n')
jsonl("control_character", '{"a":"x\ty"}\n')


def plain(v):
    if isinstance(v, bytes):
        return {"$b64": base64.b64encode(v).decode()}
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    if isinstance(v, list):
        return [plain(x) for x in v]
    if isinstance(v, float) and (math.isnan(v) or math.isinf(v)):
        return "NaN" if math.isnan(v) else "Infinity" if v > 0 else "-Infinity"
    return v


def storage(t):
    """Times as integers of their unit."""
    if pa.types.is_timestamp(t) or pa.types.is_duration(t) or pa.types.is_time64(t) or pa.types.is_date64(t):
        return pa.int64()
    if pa.types.is_date32(t) or pa.types.is_time32(t):
        return pa.int32()
    if pa.types.is_list(t):
        return pa.list_(storage(t.value_type))
    if pa.types.is_struct(t):
        return pa.struct([pa.field(f.name, storage(f.type)) for f in t])
    return t


def column(c):
    if isinstance(c.type, pa.ExtensionType):
        c = pa.chunked_array([x.storage for x in c.chunks], c.type.storage_type)
    return c.cast(storage(c.type)).to_pylist() if c.type != storage(c.type) else c.to_pylist()


# Accidents that are not repeated; the results are in the test.
OURS = {"csv_index_col_int": "the index is kept", "csv_nrows_zero": "no rows", "csv_skipfooter": "two rows",
        "csv_chunk_null_then_text": "text", "csv_uint64_na": "text with a null",
        "json_text_forms": "numbers as they are written, characters without escapes", "json_text_floats": "the same", "json_text_keys": "the same"}


def main(folder):
    out = []
    os.makedirs(folder, exist_ok=True)
    for name, path, files, call, options in CASES:
        os.makedirs(os.path.join(folder, name), exist_ok=True)
        for file, content in files.items():
            data = content if isinstance(content, bytes) else content.encode(options.get("encoding") or "utf-8")
            with open(os.path.join(folder, name, file), "wb") as f:
                f.write(data)
        c = {"case": name, "dir": name, "call": {"path": path, "data_files": next(iter(files)), **options}}
        kwargs = dict(options)
        if "features" in kwargs:
            kwargs["features"] = datasets.Features.from_dict(kwargs["features"])
        try:
            ds = datasets.load_dataset(path, data_files=os.path.join(folder, name, next(iter(files))), split="train",
                                       cache_dir=os.path.join(os.environ["HF_HOME"], "made"), download_mode="force_redownload", **kwargs)
            table = ds.data.table
            columns = [column(c) for c in table.columns]
            rows = [dict(zip(table.column_names, plain(list(r)))) for r in zip(*columns)]
            lines = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
            c["splits"] = {"train": {"num_rows": len(rows), "features": ds.features.to_dict(),
                                     "sha256": hashlib.sha256(lines.encode()).hexdigest(), "rows": rows}}
        except Exception as e:
            cause = e.__cause__ or e
            c["error"] = {"class": type(e).__name__, "message": f"{type(cause).__name__}: {cause}"[:200]}
        if name in OURS:
            c["ours"] = OURS[name]
        out.append(c)
    with open(os.path.join(folder, "expected.json"), "w") as f:
        f.write('{"cases": [\n' + ",\n".join(json.dumps(c) for c in out) + "\n]}\n")


main(sys.argv[1])
