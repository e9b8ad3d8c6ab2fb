# SPDX-License-Identifier: Apache-2.0
"""Types that DuckDB has a name for go through Grebe and come back."""
import pytest

import grebe

duckdb = pytest.importorskip("duckdb")
SELECT = """select uuid() u, '{"a": 1}'::json j, 1::utinyint t, 12.50::decimal(9, 2) d, date '2026-01-02' as the_day, time '10:11:12' as clock,
            timestamp '2026-01-02 03:04:05' as stamp, timestamptz '2026-01-02 03:04:05+00' as zoned, 'x'::blob as bytes, [1, null] l, {'a': 1, 'b': 'x'} s,
            map {'k': 1} m, 1::double f, true flag from range(3)"""


def types(path):
    return {row[0]: row[1] for row in duckdb.sql(f"describe select * from '{path}'").fetchall()}


def test_types_survive_convert(tmp_path):
    there, back = tmp_path / "duck.parquet", tmp_path / "grebe.parquet"
    duckdb.sql(f"copy ({SELECT}) to '{there}'")
    grebe.write(back, grebe.read(there))
    assert types(back) == types(there)
    assert types(back)["u"] == "UUID" and types(back)["j"] == "JSON"
    assert duckdb.sql(f"select * from '{back}'").fetchall() == duckdb.sql(f"select * from '{there}'").fetchall()


def test_types_survive_a_table(tmp_path):
    there = tmp_path / "duck.parquet"
    duckdb.sql(f"copy ({SELECT}) to '{there}'")
    table = grebe.create(tmp_path / "t", grebe.read(there), durable=False)
    grebe.write(tmp_path / "back.parquet", table.scan())
    assert types(tmp_path / "back.parquet") == types(there)


def test_a_uuid_prints_as_one(tmp_path):
    there = tmp_path / "duck.parquet"
    duckdb.sql(f"copy (select '12345678-9abc-def0-1234-56789abcdef0'::uuid u) to '{there}'")
    grebe.write(tmp_path / "x.csv", grebe.read(there))
    assert (tmp_path / "x.csv").read_text() == "u\n12345678-9abc-def0-1234-56789abcdef0\n"
