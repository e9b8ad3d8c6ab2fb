# SPDX-License-Identifier: Apache-2.0
"""What is written can be read; what grows with many files or columns grows in proportion."""
import pathlib
import sys
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
from harness import run  # noqa: E402

import grebe  # noqa: E402


def nest(kinds):
    t, v = pa.int64(), 1
    for kind in kinds:
        t, v = (pa.list_(t), [v]) if kind == "l" else (pa.struct([("f", t)]), {"f": v})
    return pa.table({"a": pa.array([v], t)})


@pytest.mark.parametrize("kinds", ["l" * n for n in (31, 32, 33, 40)] + ["s" * n for n in (60, 61, 62, 63)] + ["ls" * n for n in (20, 21, 22)])
def test_deep_types_are_read_or_refused_before_a_file_is_there(tmp_path, kinds):
    path = tmp_path / "deep.parquet"
    try:
        grebe.write(path, nest(kinds))
    except (grebe.Limit, grebe.SchemaMismatch):
        assert not path.exists()
        return
    assert run("count", path, "--where", "a IS NOT NULL").out == b"1\n"
    if len(kinds) < 60:   # pyarrow has limits of its own
        assert grebe.read(path).to_pyarrow().equals(nest(kinds))


def test_wide_files_with_other_names_unite_quickly(tmp_path):
    for i in range(2):
        (tmp_path / f"{i}.csv").write_text(",".join(f"c{i}_{k}" for k in range(8000)) + "\n" + ",".join(["1"] * 8000) + "\n")
    begin = time.monotonic()
    got = grebe.read(str(tmp_path / "*.csv")).to_pyarrow()
    assert got.shape == (2, 16000)
    assert time.monotonic() - begin < 8   # it took 28 seconds once


def test_more_files_than_may_be_open(tmp_path):
    for i in range(300):
        pq.write_table(pa.table({"a": [i], **({"b": [1.5]} if i == 7 else {})}), tmp_path / f"{i:03}.parquet")
    import subprocess, os
    ended = subprocess.run(["sh", "-c", 'ulimit -n 100; exec "$0" count "$1" --where "a >= 0"', os.environ.get("GREBE", "grebe"),
                            str(tmp_path / "*.parquet")], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (0, "300\n"), ended.stderr


def test_many_deltas_of_a_dictionary_take_their_own_time(tmp_path):
    path = tmp_path / "d.arrow"
    words, n = [], 3000
    schema = pa.schema([("d", pa.dictionary(pa.int32(), pa.string()))])
    with pa.ipc.new_file(path, schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as w:
        for i in range(n):
            words += [f"word {i}.{k}" for k in range(20)]
            w.write_batch(pa.record_batch([pa.DictionaryArray.from_arrays(pa.array([len(words) - 1], pa.int32()), pa.array(words))], schema=schema))
    begin = time.monotonic()
    rows = grebe.read(path).to_pyarrow()
    assert rows["d"][n - 1].as_py() == words[-1] and rows.num_rows == n
    assert time.monotonic() - begin < 10


def test_a_full_disk_behind_standard_output_is_a_limit(tmp_path):
    (tmp_path / "x.csv").write_text("a\n" + "1\n" * 100000)
    import subprocess, os
    for form in ("csv", "jsonl", "arrow", "table"):
        with open("/dev/full", "wb") as full:
            ended = subprocess.run([os.environ.get("GREBE", "grebe"), "scan", str(tmp_path / "x.csv"), "--format", form], stdout=full,
                                   stderr=subprocess.PIPE)
        assert ended.returncode == 10, (form, ended.stderr)


def test_names_with_a_null_character_are_no_names(tmp_path):
    (tmp_path / "o.csv").write_text("a\n1\n")
    with pytest.raises(ValueError, match="null"):
        grebe.read(str(tmp_path / "o.csv") + "\0junk")


def test_no_time_of_day_beyond_the_day():
    for value in (-1, 86400):
        with pytest.raises(grebe.SchemaMismatch, match="does not fit time32"):
            grebe._core.stream_from(pa.table({"x": [value]})).cast({"x": "time32[s]"}).to_pyarrow()
