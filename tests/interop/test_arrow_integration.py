# SPDX-License-Identifier: Apache-2.0
"""Arrow's integration files of many versions: files and streams give the values of their twins in JSON; big-endian ones are refused by name."""
import json
import math
import pathlib
import sys

import pyarrow as pa
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
import arrow_json  # noqa: E402
from harness import TESTS, run  # noqa: E402

import grebe  # noqa: E402

FOLDER = TESTS / "golden" / "arrow" / "integration"
LITTLE = sorted(p for p in FOLDER.rglob("*") if p.suffix in (".arrow_file", ".stream") and "bigendian" not in str(p))
BIG = sorted(p for p in FOLDER.rglob("*") if p.suffix in (".arrow_file", ".stream") and "bigendian" in str(p))


def same(x, y):
    if isinstance(x, list) and isinstance(y, list):
        return len(x) == len(y) and all(map(same, x, y))
    if isinstance(x, float) or isinstance(y, float):
        return x is not None and y is not None and (x == y or math.isclose(x, y, rel_tol=1e-6, abs_tol=5e-4))  # the twins are rounded
    return x == y


def name_of(path):
    return str(path.relative_to(FOLDER)).replace("generated_", "")


def test_the_corpus_is_whole():
    assert (len(LITTLE), len(BIG)) == (138, 4)


INTERVALS = [p for p in LITTLE if p.stem == "generated_interval"]   # types that pyarrow has no arrays for


@pytest.mark.parametrize("path", INTERVALS, ids=name_of)
def test_intervals_are_those_of_the_twin(path):
    def text(v, got):
        return v if v is None or isinstance(got, int) else f"{v} months" if isinstance(v, int) else f"{v[0]} days {v[1]} ms" if len(v) == 2 else v
    ran = run("scan", path, "--format", "jsonl")
    rows = [list(json.loads(line).values()) for line in ran.out.splitlines()]
    want = arrow_json.load(path.parent / (path.stem + ".json.gz"))
    for got, column in zip(zip(*rows), want):
        assert list(got) == [text(v, g) for v, g in zip(column, got)]


@pytest.mark.parametrize("path", [p for p in LITTLE if p not in INTERVALS], ids=name_of)
def test_values_are_those_of_the_twin(path):
    want = arrow_json.load(path.parent / (path.stem + ".json.gz"))
    stream = grebe.read(path)
    schema = stream.schema.to_pyarrow()
    got = arrow_json.columns_of(pa.Table.from_batches([pa.record_batch(b) for b in stream], schema))
    assert len(got) == len(want)
    for field, mine, twin in zip(schema, got, want):
        assert same(mine, twin), field


@pytest.mark.parametrize("path", BIG, ids=name_of)
def test_big_endian_files_are_refused_by_name(path):
    ran = run("head", path)
    assert ran.code == 6 and "big-endian" in ran.message, ran
