# SPDX-License-Identifier: Apache-2.0
"""apache/parquet-testing: each good file gives its rows, each bad one its error."""
import csv
import datetime
import decimal
import json
import math
import pathlib
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
from harness import TESTS, assert_same, run  # noqa: E402
from parquet_take import check_takes  # noqa: E402

import grebe  # noqa: E402

FOLDER = TESTS / "golden" / "parquet" / "testing"
BAD = {"ARROW-GH-41317": "timestamp_us_no_tz", "ARROW-GH-41321": "int64", "ARROW-GH-45185": "repetition level",
       "ARROW-GH-47662": "flba_field", "ARROW-RS-GH-6229-DICTHEADER": "column name",
       "ARROW-RS-GH-6229-LEVELS": "21 values, only 1", "PARQUET-1481": "physical type"}
# Read in part or not at all; each has a test of its own below.
APART = {"datapage_v1-corrupt-checksum", "rle-dict-uncompressed-corrupt-checksum", "int96_from_spark", "large_string_map.brotli",
         "incorrect_map_schema"}
ROWS = {
    "alltypes_dictionary": 2, "alltypes_plain": 8, "alltypes_plain.snappy": 2, "alltypes_tiny_pages": 7300, "binary": 12,
    "binary_truncated_min_max": 12, "byte_array_decimal": 24, "byte_stream_split.zstd": 300, "byte_stream_split_extended.gzip": 200,
    "column_chunk_key_value_metadata": 0, "concatenated_gzip_members": 513, "data_index_bloom_encoding_stats": 14,
    "data_index_bloom_encoding_with_length": 14, "datapage_v1-uncompressed-checksum": 5120,
    "datapage_v1-snappy-compressed-checksum": 5120, "datapage_v2.snappy": 5, "datapage_v2_empty_datapage.snappy": 1,
    "delta_binary_packed": 200, "delta_byte_array": 1000, "delta_encoding_required_column": 100,
    "delta_encoding_optional_column": 100, "delta_length_byte_array": 1000, "dict-page-offset-zero": 39,
    "fixed_length_byte_array": 1000, "fixed_length_decimal": 24, "fixed_length_decimal_legacy": 24,
    "float16_nonzeros_and_nans": 8, "float16_zeros_and_nans": 3, "floating_orders_nan_count": 50, "hadoop_lz4_compressed": 4,
    "hadoop_lz4_compressed_larger": 10000, "non_hadoop_lz4_compressed": 4, "lz4_raw_compressed": 4, "lz4_raw_compressed_larger": 10000,
    "incorrect_map_schema": 1, "int32_decimal": 24, "int64_decimal": 24, "int32_with_null_pages": 1000, "list_columns": 3,
    "map_no_value": 3, "nan_in_stats": 2, "nation.dict-malformed": 25, "nested_lists.snappy": 3, "nested_maps.snappy": 6,
    "nested_structs.rust": 1, "nonnullable.impala": 1, "nullable.impala": 7, "null_list": 1, "nulls.snappy": 8,
    "old_list_structure": 1, "overflow_i16_page_cnt": 40000, "page_v2_empty_compressed": 10, "plain-dict-uncompressed-checksum": 1000,
    "rle-dict-snappy-checksum": 1000, "repeated_no_annotation": 6, "repeated_primitive_no_list": 4, "rle_boolean_encoding": 68,
    "single_nan": 1, "sort_columns": 6, "unknown-logical-type": 3, "ARROW-GH-43605": 21186,
}
GOOD = sorted(str(p.relative_to(FOLDER))[:-8] for p in FOLDER.rglob("*.parquet") if p.stem not in BAD and p.stem not in APART)


def path_of(name):
    return FOLDER / f"{name}.parquet"


def read(name, *columns, **more):
    return pa.table(grebe.read(path_of(name), columns=list(columns) or None, **more).to_pyarrow())


def values(name, column):
    return read(name, column).column(column).to_pylist()


def test_the_corpus_is_whole():
    assert {p.stem for p in FOLDER.rglob("*.parquet") if p.parent == FOLDER} == (set(ROWS) | set(BAD) | APART)
    assert len(list(FOLDER.rglob("*.encrypted"))) == 13


@pytest.mark.parametrize("name", GOOD)
def test_rows_are_those_of_pyarrow(name):
    got = read(name)
    assert_same(got, pq.read_table(path_of(name)))
    if name in ROWS:
        assert got.num_rows == ROWS[name]
    for column in dict.fromkeys(got.column_names[:30]):   # a column alone is the column among others
        assert_same(read(name, column), got, [column])


@pytest.mark.parametrize("name", GOOD + ["incorrect_map_schema"])
def test_takes_are_the_rows_of_a_scan(name):
    check_takes(path_of(name), read(name))


@pytest.mark.parametrize("name", list(BAD))
def test_bad_data_is_found(name):
    with pytest.raises(grebe.Corrupt, match=BAD[name]):
        read(name)
    ran = run("check", path_of(name), "--deep")
    assert ran.code not in (0, 2) and ran.code > 0, ran


def test_bad_columns_fail_alone():
    name = "ARROW-RS-GH-6229-DICTHEADER"   # the values of its good column are damaged too, but nothing can tell
    assert values(name, "nation_key")[:5] == list(range(5)) and read(name, "nation_key").num_rows == 25
    names = pa.schema(grebe.read(path_of("ARROW-GH-41317")).schema).names
    good = [n for n in names if n != "timestamp_us_no_tz"]
    assert read("ARROW-GH-41317", *good[:18]).num_rows == 5


def test_a_dictionary_of_one_value_needs_no_bits():
    assert values("ARROW-GH-43605", read("ARROW-GH-43605").column_names[0]) == [0] * 21186


@pytest.mark.parametrize("name", ["delta_binary_packed", "delta_byte_array", "delta_encoding_required_column",
                                  "delta_encoding_optional_column"])
def test_delta_files_give_the_expected_csv(name):
    with open(FOLDER / f"{name}_expect.csv", newline="") as f:
        rows = list(csv.reader(f))
    names, rows = [n.strip() for n in rows[0]], rows[1:]
    got = read(name)
    assert [n.strip().rstrip(":") for n in got.column_names] == names and got.num_rows == len(rows)
    for i, column in enumerate(got.columns):
        found = ["" if v is None else str(v) for v in column.to_pylist()]
        assert found == [r[i] for r in rows], names[i]


def test_byte_stream_split():
    got = read("byte_stream_split_extended.gzip")
    pairs = [n for n in got.column_names if n.endswith("_plain")]
    assert len(pairs) == 7
    for plain in pairs:
        twin = plain.replace("_plain", "_byte_stream_split")
        assert_same(got.select([plain]).rename_columns([twin]), got, [twin])
    got = read("byte_stream_split.zstd")
    assert math.isclose(sum(got.column("f32").to_pylist()), 8.258872, rel_tol=1e-5)
    assert math.isclose(sum(got.column("f64").to_pylist()), -41.229190, rel_tol=1e-7)


def test_golden_values():
    assert sum(values("alltypes_tiny_pages", "id")) == 26641350
    assert values("binary", "foo") == [bytes([i]) for i in range(12)]
    assert values("concatenated_gzip_members", "long_col") == list(range(1, 514))
    assert values("datapage_v2.snappy", "a") == ["abc", "abc", "abc", None, "abc"]
    assert values("datapage_v2.snappy", "e") == [[1, 2, 3], None, None, [1, 2, 3], [1, 2]]
    assert read("datapage_v2_empty_datapage.snappy").column(0).to_pylist() == [None]
    assert read("dict-page-offset-zero").column(0).to_pylist() == [1552] * 39
    assert read("fixed_length_byte_array").column(0).null_count == 105
    assert read("int32_with_null_pages").column(0).null_count == 275
    assert values("null_list", "emptylist") == [[]]
    assert values("old_list_structure", "a") == [[[1, 2], [3, 4]]]
    assert values("overflow_i16_page_cnt", "inc") == [False] * 40000
    assert read("page_v2_empty_compressed").column(0).to_pylist() == [None] * 10
    assert read("single_nan").column(0).to_pylist() == [None]
    assert values("list_columns", "int64_list") == [[1, 2, 3], [None, 1], [4]]
    assert values("list_columns", "utf8_list") == [["abc", "efg", "hij"], None, ["efg", None, "hij", "xyz"]]
    assert values("nation.dict-malformed", "name")[:2] == [b"ALGERIA", b"ARGENTINA"]
    got = read("rle_boolean_encoding").column(0).to_pylist()
    assert (len(got), sum(v is not None for v in got), sum(bool(v) for v in got)) == (68, 62, 36)
    x, y = read("nan_in_stats").column(0).to_pylist()
    assert x == 1.0 and math.isnan(y)
    assert read("nulls.snappy").column(0).to_pylist() == [{"b_c_int": None}] * 8
    for name in ("byte_array_decimal", "fixed_length_decimal", "fixed_length_decimal_legacy", "int32_decimal", "int64_decimal"):
        assert read(name).column(0).to_pylist() == [decimal.Decimal(i) for i in range(1, 25)]
    floats = np.array(values("float16_nonzeros_and_nans", "x")[1:], dtype="f8")
    np.testing.assert_array_equal(floats, [1, -2, np.nan, 0, -1, -0.0, 2])


def test_a_map_with_an_optional_key_is_read():
    """pyarrow refuses it."""
    assert dict(read("incorrect_map_schema").column(0).to_pylist()[0]) == {"parent": "another", "name": "report"}


def test_lz4_of_every_framing():
    for name in ("hadoop_lz4_compressed", "non_hadoop_lz4_compressed"):
        assert_same(read(name), read("lz4_raw_compressed"))
    assert_same(read("hadoop_lz4_compressed_larger"), read("lz4_raw_compressed_larger"))
    rows = read("hadoop_lz4_compressed_larger").column(0).to_pylist()
    assert (rows[0], rows[-1]) == ("c7ce6bef-d5b0-4863-b199-8ea8c7fb117b", "85440778-460a-41ac-aa2e-ac3ee41696bf")


def test_checksums_that_do_not_fit():
    name = "datapage_v1-corrupt-checksum"
    for column, bad, good in (("a", (0, 2560), (2560, 5120)), ("b", (2560, 5120), (0, 2560))):
        with pytest.raises(grebe.Corrupt, match=f"column {column}: .*checksum"):
            read(name, column, rows=bad)
        assert_same(read(name, column, rows=good), pq.read_table(path_of(name), columns=[column]).slice(good[0], 2560))
    name = "rle-dict-uncompressed-corrupt-checksum"
    for column in ("long_field", "binary_field"):
        with pytest.raises(grebe.Corrupt, match="dictionary.*checksum"):
            read(name, column)


def test_checksums_left_uncompared_give_the_rows():
    for name in ("datapage_v1-corrupt-checksum", "rle-dict-uncompressed-corrupt-checksum"):
        assert_same(read(name, verify=False), pq.read_table(path_of(name)))


def test_int96_beyond_nanoseconds_is_an_error():
    """Others wrap the last row, or cut to microseconds."""
    with pytest.raises(grebe.SchemaMismatch, match="INT96"):
        read("int96_from_spark")


def test_int96_in_microseconds():
    ran = run("scan", path_of("int96_from_spark"), "--int96", "us", "--cast", "a=int64", "--format", "json")
    assert [row["a"] for row in json.loads(ran.out)] == [1704141296123456, 1704070800000000, 253402225200000000, 1735599600000000,
                                                         None, 9089380393200000000]
    ran = run("schema", path_of("alltypes_plain"), "--int96", "us", "--format", "json")
    assert {f["name"]: f["type"] for f in json.loads(ran.out)["fields"]}["timestamp_col"] == "timestamp[us]"
    whole = read("alltypes_plain").column("timestamp_col").cast(pa.timestamp("us"), safe=False)
    rows = run("scan", path_of("alltypes_plain"), "--int96", "us", "--format", "arrow").rows()
    assert rows.column("timestamp_col").to_pylist() == whole.to_pylist()


def test_a_page_of_a_gibibyte_is_refused():
    with pytest.raises(grebe.Limit, match="when decompressed"):
        read("large_string_map.brotli")


def test_predicates_lose_no_row_with_nan_or_zero():
    name = "floating_orders_nan_count"
    table = pq.read_table(path_of(name))
    for column in table.column_names:
        x = np.array(table.column(column).to_pylist(), dtype="f8")
        for where, want in ((f"{column} = 0.0", x == 0), (f"{column} = -0.0", x == 0), (f"{column} < 1.0", x < 1),
                            (f"{column} >= -1.0", x >= -1)):
            got = np.array(read(name, column, where=where).column(0).to_pylist(), dtype="f8")
            # NaN may count as the greatest value; every row that IEEE keeps must be there
            assert np.array_equal(got[~np.isnan(got)], x[want]), (column, where)
    assert read("nan_in_stats", where="x > 0").num_rows >= 1


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.encrypted")), ids=lambda p: str(p.relative_to(FOLDER))[:-18])
def test_encrypted_files_say_so(path):
    if "plaintext_footer" not in path.name:
        with pytest.raises(grebe.Unsupported, match="footer is encrypted"):
            grebe.read(path)
        return
    names = pa.schema(grebe.read(path).schema).names
    assert len(names) == 8
    secret = names if path.parent.name == "aes256" else ["float_field", "double_field"]
    for name in secret:
        with pytest.raises(grebe.Unsupported, match=f"column {name}.*encrypted"):
            grebe.read(path, columns=[name]).to_pyarrow()
    if path.parent.name == "aes256":
        return
    plain = pa.table(grebe.read(path, columns=["boolean_field", "int32_field", "int64_field", "ba_field", "flba_field"]).to_pyarrow())
    assert plain.column("boolean_field").to_pylist() == [i % 2 == 0 for i in range(50)]
    assert plain.column("int32_field").to_pylist() == [datetime.time(0, 0, 0, 1000 * i) for i in range(50)]
    assert plain.column("int64_field").to_pylist() == [[2 * i * 10**12, (2 * i + 1) * 10**12] for i in range(50)]
    assert plain.column("ba_field").to_pylist() == [b"parquet%03d" % i if i % 2 == 0 else None for i in range(50)]
    assert plain.column("flba_field").to_pylist() == [bytes([i]) * 10 for i in range(50)]


@pytest.mark.parametrize("name", ["bloom_filter.bin", "bloom_filter.xxhash.bin"])
def test_what_is_no_parquet_file_is_refused(name):
    with pytest.raises(grebe.Unsupported, match="expected a file of a known format"):
        grebe.read(FOLDER / name)
