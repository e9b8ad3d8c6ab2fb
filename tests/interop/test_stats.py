# SPDX-License-Identifier: Apache-2.0
"""`grebe stats` beside numpy and pyarrow."""
import decimal
import json
import pathlib
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
from harness import run  # noqa: E402


def stats(path, *args):
    ran = run("stats", path, "--format", "json", *args)
    assert ran.code == 0, ran
    return {row["column"]: row for row in json.loads(ran.out)}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(2)
    n = 300_000
    x = rng.standard_normal(n)
    x[::1000] = np.nan
    t = pa.table({
        "i": pa.array(rng.integers(-5000, 5000, n), pa.int32()), "u": pa.array(np.uint64(2**63) + rng.integers(0, 9, n).astype(np.uint64)),
        "x": pa.array(x, mask=np.arange(n) % 7 == 0), "s": pa.array([None if k % 3 == 0 else f"k{k % 70_000}" for k in range(n)]),
        "b": pa.array(np.arange(n) % 4 == 0), "t": pa.array(np.arange(n) * 1000, pa.timestamp("us", "UTC")),
        "d": pa.array([decimal.Decimal(k) / 100 for k in range(n)], pa.decimal128(12, 2)),
        "v": pa.FixedSizeListArray.from_arrays(pa.array(rng.random(n * 4, dtype=np.float32)), 4),
        "l": pa.array([None if k % 5 == 0 else [k, k + 1][:k % 3] for k in range(n)]), "z": pa.nulls(n),
        "c": pa.array([f"c{k % 11}" for k in range(n)]).dictionary_encode(), "m": pa.array([{"a": 1}] * n)})
    file = tmp_path_factory.mktemp("stats") / "t.parquet"
    pq.write_table(t, file, row_group_size=70_000)
    return file


def test_counts_and_bounds_are_exact(path):
    t, got = pq.read_table(path), stats(path)
    assert list(got) == t.column_names
    for name, row in got.items():
        column = t[name]
        assert (row["rows"], row["nulls"]) == (len(column), column.null_count), name
    for name in ("i", "u", "s", "t", "d", "c"):
        low, high = pc.min_max(t[name].cast(pa.string()) if name == "c" else t[name]).values()
        if name == "t":
            assert (got[name]["min"], got[name]["max"]) == ("1970-01-01T00:00:00Z", "1970-01-01T00:04:59.999Z".replace("59.999", "59.999000"))
        else:
            assert (got[name]["min"], got[name]["max"]) == (str(low), str(high)), name
    assert got["x"]["nans"] == int(pc.sum(pc.is_nan(t["x"])).as_py())
    assert got["z"]["min"] is None and got["z"]["distinct"] in (0, None)
    assert got["m"]["min"] is None and got["m"]["mean"] is None


def test_mean_and_deviation(path):
    t, got = pq.read_table(path), stats(path)
    columns = {"i": t["i"].to_numpy(), "b": t["b"].to_numpy().astype(float), "d": np.array([float(v) for v in t["d"].to_pylist()]),
               "v": np.concatenate([c.values.to_numpy() for c in t["v"].chunks]).astype(float),
               "l": np.concatenate([c.flatten().to_numpy() for c in t["l"].chunks]).astype(float)}
    x = t["x"].drop_null().to_numpy()
    columns["x"] = x[~np.isnan(x)]
    for name, values in columns.items():
        assert got[name]["mean"] == pytest.approx(values.mean(), rel=1e-9, abs=1e-12), name
        assert got[name]["std"] == pytest.approx(values.std(ddof=1), rel=1e-9), name


def test_distinct_is_near(path):
    t, got = pq.read_table(path), stats(path)
    for name in ("i", "u", "s", "b", "t", "c"):
        exact = pc.count_distinct(t[name].cast(pa.string()) if name == "c" else t[name], mode="only_valid").as_py()
        assert got[name]["distinct"] == pytest.approx(exact, rel=0.06), name
    assert got["b"]["distinct"] == 2 and got["c"]["distinct"] == 11


def test_only_the_rows_and_columns_asked_for(path):
    got = stats(path, "--columns", "i,t", "--where", "i >= 4000")
    assert list(got) == ["i", "t"]
    t = pq.read_table(path, filters=pc.field("i") >= 4000)
    assert got["i"]["rows"] == t.num_rows and got["i"]["min"] == "4000"
