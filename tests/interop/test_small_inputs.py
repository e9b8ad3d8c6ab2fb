# SPDX-License-Identifier: Apache-2.0
"""Small inputs that ask for much: the command answers or refuses within a limit on memory and CPU time."""
import io
import pathlib
import struct
import sys

import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
from harness import one_line_error, run  # noqa: E402

LIMITS = {"memory_mib": 2048, "seconds": 10}   # sums over all threads; most of these need a hundredth
REFUSALS = {5, 6, 10, 11}
MARK, MANY = 1234567, 2**28                     # a length that is written, and what it becomes

CSV = {
    "ten_thousand_columns": ",".join(f"c{i}" for i in range(10000)) + "\n" + ",".join("1" for _ in range(10000)) + "\n",
    "a_hundred_thousand_columns": ",".join(f"c{i}" for i in range(100000)) + "\n" + ",".join("1" * 100000) + "\n",
    "a_million_columns": "," * 1000000 + "\n1\n",
    "one_name_for_all_columns": ",".join(["a"] * 30000) + "\n" + ",".join("1" * 30000) + "\n",
    "rows_of_one_field": "," * 30000 + "\n" + "1\n" * 15000,
    "lines_without_end": "a\n" * 32000,
    "quotes": "a\n" + '""' * 32000 + "\n",
    "an_open_quote": 'a\n"' + "x\n" * 30000,
    "a_long_number": "a\n" + "1" * 60000 + "\n",
    "empty_texts": "a,b\n" + '1,""\n' * 5000,
}
JSON = {
    "ten_thousand_keys": "{" + ",".join(f'"{i}":1' for i in range(10000)) + "}",
    "a_hundred_thousand_keys": "{" + ",".join(f'"{i}":1' for i in range(100000)) + "}",
    "one_key_ten_thousand_times": "{" + ",".join('"a":1' for _ in range(10000)) + "}",
    "another_key_in_each_row": "\n".join(f'{{"{i}":1}}' for i in range(3000)),
    "far_more_keys_than_rows_can_have": "\n".join(f'{{"{i}":1}}' for i in range(50000)),
    "deep_lists": "[" * 32000 + "]" * 32000,
    "deep_objects": '{"a":' * 10000 + "1" + "}" * 10000,
    "types_that_change": "\n".join('{"a":%s}' % ("1" if i % 2 else '{"b":[1,"x"]}') for i in range(4000)),
    "a_long_number": '{"a":' + "1" * 60000 + "}",
}


def answers(path, verbs):
    for verb, *options in verbs:
        ran = run(verb, path, *options, **LIMITS)
        if ran.code != 0:
            assert one_line_error(ran, REFUSALS) is None, (verb, ran)
    return True


@pytest.mark.parametrize("name", list(CSV))
def test_csv(tmp_path, name):
    path = tmp_path / "x.csv"
    path.write_text(CSV[name])
    assert answers(path, [("schema",), ("count",), ("scan", "--format", "arrow"), ("check",)])


@pytest.mark.parametrize("name", list(JSON))
def test_json(tmp_path, name):
    path = tmp_path / "x.jsonl"
    path.write_text(JSON[name])
    assert answers(path, [("schema",), ("count",), ("scan", "--format", "arrow"), ("check",)])


BATCHES = {
    "nulls": lambda: pa.nulls(MARK),
    "one_list_of_nulls": lambda: pa.ListArray.from_arrays(pa.array([0, MARK], pa.int32()), pa.nulls(MARK)),
    "one_fixed_list_of_nulls": lambda: pa.FixedSizeListArray.from_arrays(pa.nulls(MARK), MARK),
    "one_list_of_structs": lambda: pa.ListArray.from_arrays(
        pa.array([0, MARK], pa.int32()), pa.StructArray.from_arrays([pa.nulls(MARK)], names=["x"])),
    "views_of_one_list": lambda: pa.ListViewArray.from_arrays(
        pa.array([0] * 2000, pa.int32()), pa.array([MARK] * 2000, pa.int32()), pa.nulls(MARK)),
}


def claimed(values, new, n):
    """An Arrow file or stream where n takes the place of MARK."""
    out = io.BytesIO()
    batch = pa.record_batch({"x": values})
    with new(out, batch.schema) as writer:
        writer.write_batch(batch)
    content = out.getvalue().replace(struct.pack("<q", MARK), struct.pack("<q", n))
    return content.replace(struct.pack("<i", MARK), struct.pack("<i", n)) if n < 2**31 else content


@pytest.mark.parametrize("new", [ipc.new_file, ipc.new_stream], ids=["file", "stream"])
@pytest.mark.parametrize("name", list(BATCHES))
def test_arrow_rows_without_bytes(tmp_path, name, new):
    """As many rows as may be: they are counted, chosen and written on; as text they are too much."""
    path = tmp_path / "x.arrow"
    path.write_bytes(claimed(BATCHES[name](), new, MANY))
    assert answers(path, [("count",), ("check",), ("take", "--rows", "0"), ("scan", "--limit", "1", "--format", "jsonl")])
    assert run("count", path, **LIMITS).code == 0


@pytest.mark.parametrize("new", [ipc.new_file, ipc.new_stream], ids=["file", "stream"])
@pytest.mark.parametrize("n", [MANY + 1, 2**31, 2**40, 2**56])
def test_arrow_rows_beyond_the_limit(tmp_path, n, new):
    path = tmp_path / "x.arrow"
    path.write_bytes(claimed(pa.nulls(MARK), new, n))
    for verb in ("count", "scan", "check"):
        ran = run(verb, path, **LIMITS)
        assert ran.code == 10 or verb == "check" and ran.code == 5, ran
        assert f"{n} rows" in ran.message or verb == "check"
