# SPDX-License-Identifier: Apache-2.0
"""Several files as one source, against the peers' idea of it."""
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import grebe


def plain(rows):
    return pa.table(rows).combine_chunks().replace_schema_metadata(None)


@pytest.fixture
def folder(tmp_path):
    """Four files: two of one schema, one with a column less and a wider type, one CSV with a column more."""
    rng = np.random.default_rng(5)
    for i, n in enumerate((1000, 70_000)):
        pq.write_table(pa.table({"id": np.arange(n) + 1000 * i, "x": rng.random(n).astype(np.float32),
                                 "s": pa.array([f"s{j % 17}" for j in range(n)])}), tmp_path / f"p{i}.parquet")
    pq.write_table(pa.table({"id": pa.array(range(5), pa.int8()), "x": pa.array([0.5, None, 1, 2, 3], pa.float64())}),
                   tmp_path / "p2.parquet")
    (tmp_path / "p3.csv").write_text("id,extra\n7,seven\n8,eight\n")
    return tmp_path


def expected(folder, names):
    import pyarrow.csv
    parts = [pq.read_table(folder / n) if n.endswith("parquet") else pyarrow.csv.read_csv(folder / n) for n in names]
    return plain(pa.concat_tables(parts, promote_options="permissive"))


@pytest.mark.parametrize("names", [["p0.parquet", "p1.parquet"], ["p0.parquet", "p2.parquet", "p1.parquet"],
                                   ["p2.parquet", "p3.csv"], ["p3.csv", "p0.parquet", "p3.csv"]])
def test_read_of_several_is_the_promoting_concatenation(folder, names):
    want = expected(folder, names)
    assert plain(grebe.read([folder / n for n in names])) == want
    import pyarrow.compute as pc
    got = plain(grebe.read([str(folder / n) for n in names], columns=["id"], where="id >= 3 and id < 900"))
    id = want["id"]
    assert got == want.filter(pc.and_(pc.greater_equal(id, 3), pc.less(id, 900))).select(["id"]).combine_chunks()


def test_a_pattern_is_all_that_it_matches_in_order(folder):
    want = expected(folder, ["p0.parquet", "p1.parquet", "p2.parquet"])
    assert plain(grebe.read(str(folder / "p?.parquet"))) == want
    assert plain(grebe.read(str(folder / "*.parquet"), rows=(900, 1100), with_row_id=True))["_rowid"].to_pylist() == list(
        range(900, 1100))


def test_ten_thousand_files_are_one_source(tmp_path):
    for i in range(10_000):
        (tmp_path / f"{i:05}.jsonl").write_text(f'{{"i": {i}}}\n')
    got = grebe.read(str(tmp_path / "*.jsonl")).to_pyarrow()
    assert got["i"].to_pylist() == list(range(10_000))


def test_text_files_meet_in_types_that_lose_nothing(tmp_path):
    (tmp_path / "1.csv").write_text("a,b,c\n1,2,x\n2,3,007\n")
    (tmp_path / "2.csv").write_text("a,b,c\n1.5,z,7\n")
    (tmp_path / "3.jsonl").write_text('{"b": true, "d": 1}\n')
    got = plain(grebe.read(str(tmp_path / "*")))
    assert got.to_pydict() == {"a": [1.0, 2.0, 1.5, None], "b": ["2", "3", "z", "true"], "c": ["x", "007", "7", None],
                               "d": [None, None, None, 1]}
    assert plain(grebe.read(str(tmp_path / "*.csv"), where="c = '7' and a > 1")).to_pydict() == {"a": [1.5], "b": ["z"], "c": ["7"]}
    (tmp_path / "4.csv").write_text("a\n9007199254740993\n")
    with pytest.raises(grebe.SchemaMismatch, match=r'4\.csv: column "a": row 0: 9007199254740993 does not fit double'):
        list(grebe.read(str(tmp_path / "*.csv"), columns=["a"]))


def test_integers_and_floats_of_any_files_meet_in_double(tmp_path):
    pq.write_table(pa.table({"v": pa.array([1, 2], pa.int64())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"v": pa.array([0.5], pa.float32())}), tmp_path / "b.parquet")
    got = plain(grebe.read(str(tmp_path / "*.parquet"), where="v < 2"))
    assert got["v"].to_pylist() == [1.0, 0.5] and got.schema.field("v").type == pa.float64()
    pq.write_table(pa.table({"v": pa.array([2**53 + 1])}), tmp_path / "c.parquet")
    with pytest.raises(grebe.SchemaMismatch, match=r"c\.parquet: .*9007199254740993 does not fit double"):
        grebe.read(str(tmp_path / "*.parquet")).to_pyarrow()


def test_empty_text_files_among_others_add_nothing(tmp_path):
    (tmp_path / "1.jsonl").write_text('{"a": 1}\n')
    (tmp_path / "2.jsonl").write_text("")
    (tmp_path / "3.csv").write_text("")
    assert plain(grebe.read(str(tmp_path / "*"))).to_pydict() == {"a": [1]}
    (tmp_path / "1.jsonl").write_text("")
    assert grebe.read(str(tmp_path / "*")).to_pyarrow().shape == (0, 0)


def test_a_stream_that_was_read_is_not_read_again(tmp_path):
    (tmp_path / "x.csv").write_text("a\n1\n")
    for first in ("to_pyarrow", "to_pandas", "to_polars", "to_numpy"):
        for second in ("to_pyarrow", "to_pandas", "to_polars", "to_numpy"):
            rows = grebe.read(tmp_path / "x.csv")
            assert len(getattr(rows, first)()) == 1
            with pytest.raises(ValueError, match="consumed or closed"):
                getattr(rows, second)()


def test_types_that_do_not_meet_name_file_and_column(folder):
    (folder / "bad.csv").write_text("id,x\nu,1\n")  # p0's id is no text: nothing to read another way
    with pytest.raises(grebe.SchemaMismatch, match=r'bad\.csv: column "id": expected int64, found string'):
        grebe.read([folder / "p0.parquet", folder / "bad.csv"])
    with pytest.raises(grebe.NotFound, match="nothing matches"):
        grebe.read(str(folder / "*.none"))
