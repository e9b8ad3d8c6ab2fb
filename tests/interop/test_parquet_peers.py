# SPDX-License-Identifier: Apache-2.0
"""Files of pyarrow, DuckDB and Polars: every one reads as its twin says, or is refused as the index says."""
import json
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

PEERS = TESTS / "golden" / "parquet" / "peers"
INDEX = [json.loads(line) for line in (PEERS / "index.jsonl").read_text().splitlines()]
# Columns that are not encrypted, in files where some are, and their rows.
PLAIN_COLUMNS = {"pa_encrypted_one_column.parquet": {"sorted": 330, "price": 330}, "pl_encrypted_one_column.parquet": {"a": 3}}


def files(expect):
    found = [d for d in INDEX if d["expect"] == expect]
    return pytest.mark.parametrize("entry", found, ids=[d["file"][:-8] for d in found])


def twin(entry):
    with pa.ipc.open_file(PEERS / entry["twin"]) as reader:
        table = reader.read_all()
    # a file without columns says how many rows it has, and pyarrow writes 0
    return table if table.num_columns else table.slice(0, entry["rows"])


def test_the_index_names_every_file():
    assert {d["file"] for d in INDEX} == {p.name for p in PEERS.glob("*.parquet")}
    assert len(INDEX) == 87
    assert all((PEERS / d["twin"]).exists() for d in INDEX if d["expect"] == "read")


@files("read")
def test_values_are_those_of_the_twin(entry):
    path, want = PEERS / entry["file"], twin(entry)
    with grebe.read(path) as rows:
        got = pa.table(rows.to_pyarrow())
    assert got.num_rows == entry["rows"]
    assert_same(got, want)
    for name in want.column_names[:40]:   # a column alone is the column among others
        assert_same(grebe.read(path, columns=[name]).to_pyarrow(), want, [name])


@files("read")
def test_ranges_of_rows_and_small_batches(entry):
    path, want = PEERS / entry["file"], twin(entry)
    n = want.num_rows
    for begin, end in ((0, n // 2), (n // 3, n), (n // 2, min(n, n // 2 + 1)), (n, n)):
        got = pa.table(grebe.read(path, rows=(begin, end), batch_rows=7 if n < 1000 else 501).to_pyarrow())
        assert_same(got, want.slice(begin, end - begin))


@files("read")
def test_takes_are_the_rows_of_a_scan(entry):
    if entry["columns"]:
        check_takes(PEERS / entry["file"], twin(entry))


@files("read")
def test_check_finds_nothing_wrong(entry):
    ran = run("check", PEERS / entry["file"], "--deep")
    assert ran.code == 0, ran


@files("refuse")
def test_encrypted_files_say_so(entry):
    path = PEERS / entry["file"]
    plain = PLAIN_COLUMNS.get(entry["file"], {})
    with pytest.raises(grebe.Unsupported, match="encrypted"):
        grebe.read(path).to_pyarrow()
    if "plaintext_footer" not in entry["file"] and not plain:
        with pytest.raises(grebe.Unsupported, match="footer is encrypted"):
            grebe.read(path)
        return
    names = pa.schema(grebe.read(path).schema).names   # every column is listed
    assert set(plain) < set(names)
    for name in names:
        if name in plain:
            got = pa.table(grebe.read(path, columns=[name]).to_pyarrow())
            assert got.num_rows == plain[name] and got.column(name).null_count == 0
            check_takes(path, got, [name])
        else:
            with pytest.raises(grebe.Unsupported, match=f"column {name}: it is encrypted"):
                grebe.read(path, columns=[name]).to_pyarrow()
    if "pl_" in entry["file"] and plain:
        assert grebe.read(path, columns=["a"]).to_pyarrow().to_pydict() == {"a": [1, 2, 3]}


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("page_bytes", [3000, 1 << 20])
def test_single_rows_among_nulls(tmp_path, version, page_bytes):
    """Pages whose values lie open, with null rows: found by arithmetic once the page is known."""
    rng, n, dim = np.random.default_rng(5), 3000, 12
    null = rng.random(n) < np.where(np.arange(n) < 1500, 0.1, 0.97)
    flat = rng.standard_normal(n * dim).astype("f4")
    lists = [None if gone else flat[i * dim:(i + 1) * dim] for i, gone in enumerate(null)]
    odd = [x if i % 211 else [1.0] for i, x in enumerate(lists)]
    table = pa.table({"fixed": pa.FixedSizeListArray.from_arrays(pa.array(flat), dim, mask=pa.array(null)),
                      "list": pa.array(lists, pa.list_(pa.float32())), "odd": pa.array(odd, pa.list_(pa.float32())),
                      "bytes": pa.array([None if x is None else x.tobytes() for x in lists], pa.binary(4 * dim)),
                      "number": pa.array(rng.standard_normal(n), mask=null), "flag": pa.array(rng.random(n) < 0.5, mask=null),
                      "nothing": pa.array([None] * n, pa.list_(pa.float32()))})
    path = tmp_path / "nulls.parquet"
    pq.write_table(table, path, compression="none", use_dictionary=False, data_page_version=version,
                   data_page_size=page_bytes, row_group_size=1700, write_batch_size=64)
    check_takes(path, table)
    for name in table.column_names:
        check_takes(path, table.select([name]), [name])


@files("degrade")
def test_integers_of_128_bits_are_bytes(entry):
    got = pa.table(grebe.read(PEERS / entry["file"]).to_pyarrow())
    assert got.schema.field("i128").type == pa.binary(16) and got.schema.field("x").type == pa.int64()
    assert got.column("x").null_count == 0 and got.num_rows > 0
    check_takes(PEERS / entry["file"], got)
