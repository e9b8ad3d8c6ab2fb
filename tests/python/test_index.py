# SPDX-License-Identifier: Apache-2.0
"""grebe.ann.Index and searching tables: arrays of every type in and out, filters, files, and what is refused."""

import os
import pickle
import threading

import numpy as np
import pytest

import grebe
import grebe.ann

RNG = np.random.default_rng(7)
ROWS = RNG.standard_normal((2000, 24)).astype(np.float32)
QUERIES = RNG.standard_normal((15, 24)).astype(np.float32)


def exact(rows, queries, k, metric="euclidean", allowed=None):
    rows, queries = rows.astype(np.float64), queries.astype(np.float64)
    if metric == "euclidean":
        d = np.sqrt(((queries[:, None] - rows[None]) ** 2).sum(2))
    elif metric == "ip":
        d = 1 - queries @ rows.T
    else:
        d = 1 - (queries @ rows.T) / np.linalg.norm(queries, axis=1)[:, None] / np.linalg.norm(rows, axis=1)[None]
    if allowed is not None:
        d[:, ~allowed] = np.inf
    order = np.argsort(d, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(d, order, 1)


@pytest.mark.parametrize("metric", ["euclidean", "ip", "angular"])
def test_flat_equals_numpy(metric):
    index = grebe.ann.Index("flat", metric).build(ROWS)
    ids, distances = index.search(QUERIES, 10)
    want_ids, want = exact(ROWS, QUERIES, 10, metric)
    assert (ids == want_ids).all()
    np.testing.assert_allclose(distances, want, rtol=1e-4, atol=1e-5)
    one_ids, one = index.search(QUERIES[3], 10)
    assert one_ids.shape == (10,) and (one_ids == ids[3]).all() and (one == distances[3]).all()
    for threads in (1, 4):
        assert (index.search(QUERIES, 10, threads=threads)[0] == ids).all()


@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "uint8"])
def test_types(dtype):
    rows = (ROWS * 20).clip(-120, 120).astype(np.int8)
    rows = (rows.astype(np.int16) + 128).astype(np.uint8) if dtype == "uint8" else rows.astype(dtype)
    index = grebe.ann.Index("flat", "euclidean").build(rows)
    assert index.info["dtype"] == ("float32" if dtype == "float64" else dtype)
    ids, distances = index.search(rows[:9], 3)
    assert (ids[:, 0] == exact(rows, rows[:9], 1)[0][:, 0]).all() and (distances[:, 0] == 0).all()


def test_bits():
    bits = RNG.random((500, 77)) < 0.4
    index = grebe.ann.Index("flat", "hamming").build(bits)
    ids, distances = index.search(bits[:5], 4)
    d = (bits[:5, None] != bits[None]).mean(2)
    assert (ids == np.argsort(d, axis=1, kind="stable")[:, :4]).all()
    np.testing.assert_allclose(distances, np.sort(d, axis=1)[:, :4], rtol=1e-6)


@pytest.mark.parametrize("kind,params", [("flat", {}), ("hnsw", {}), ("hnsw", {"quant": "sq8"}), ("graph", {"quant": "sq8"}), ("graph", {}),
                                         ("ivf", {}), ("ivf", {"quant": "none", "lists": 30})])
def test_kinds_save_load_filter_remove(kind, params, tmp_path):
    index = grebe.ann.Index(kind, "euclidean", **params).build(ROWS, ids=np.arange(2000) * 3)
    want, _ = exact(ROWS, QUERIES, 10)
    ids, distances = index.search(QUERIES, 10)
    assert np.mean([len(set(a) & set(b * 3)) / 10 for a, b in zip(ids, want)]) > 0.95
    assert (np.diff(distances, axis=1) >= 0).all()
    path = tmp_path / "x.index"
    index.save(path)
    first = path.read_bytes()
    index.save(path)
    assert path.read_bytes() == first
    with grebe.ann.Index.load(path, verify=True) as again:
        assert len(again) == 2000 and (again.search(QUERIES, 10)[0] == ids).all()
        for share in (0.5, 0.1, 0.01, 0.001, 0.0):
            mask = RNG.random(2000) < share
            found, _ = again.search(QUERIES, 10, where=mask)
            want, _ = exact(ROWS, QUERIES, min(10, mask.sum()), allowed=mask)
            assert mask[found[found >= 0] // 3].all()
            if mask.any():
                assert np.mean([len(set(a[a >= 0]) & set(b * 3)) / len(b) for a, b in zip(found, want)]) >= 0.95
            by_ids, _ = again.search(QUERIES, 10, where=np.nonzero(mask)[0] * 3)
            assert (by_ids == found).all()
        assert again.remove([0, 3, 6, 7, 99999]) == 3
        found, _ = again.search(ROWS[:3], 5)
        assert not set(found.ravel()) & {0, 3, 6}
        again.add(ROWS[:3] + 100, ids=[0, 3, 6])
        assert again.search(ROWS[1] + 100, 1)[0][0] == 3
    offsets, near, d = index.range_search(QUERIES, 5.5)
    for q in range(len(QUERIES)):
        true = np.nonzero(np.sqrt(((ROWS - QUERIES[q]) ** 2).sum(1)) <= 5.5)[0] * 3
        mine = near[offsets[q]:offsets[q + 1]]
        assert set(mine) <= set(true) and len(mine) >= 0.9 * len(true)


def test_arrow_in_and_out():
    pa = pytest.importorskip("pyarrow")
    column = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 24)
    index = grebe.ann.Index("flat", "euclidean").build(column)
    chunked = pa.chunked_array([column.slice(0, 2), column.slice(2, 3)])
    assert (index.search(chunked, 1)[0][:, 0] == np.arange(5)).all()
    table = pa.table(index.search_rows(QUERIES, 3, where=np.arange(2000) < 2))
    assert table.column_names == ["query", "rank", "id", "distance"] and len(table) == 2 * len(QUERIES)


def test_odd_sizes():
    index = grebe.ann.Index("graph", "angular", quant="sq8")
    assert len(index) == 0 and (index.search(QUERIES, 3)[0] == -1).all()
    index.build(ROWS[:4])
    ids, distances = index.search(QUERIES, 10)
    assert (ids[:, 4:] == -1).all() and np.isinf(distances[:, 4:]).all() and (ids[:, :4] >= 0).all()
    assert index.search(QUERIES, 0)[0].shape == (15, 0)
    assert index.search(np.empty((0, 24), np.float32), 5)[0].shape == (0, 5)


def test_refusals(tmp_path):
    index = grebe.ann.Index("flat", "euclidean").build(ROWS)
    with pytest.raises(grebe.InvalidArgument, match="expected 24 components, found 23"):
        index.search(QUERIES[:, :23], 1)
    bad = QUERIES.copy()
    bad[2, 5] = np.nan
    with pytest.raises(grebe.InvalidArgument, match="query 2, component 5"):
        index.search(bad, 1)
    with pytest.raises(grebe.Exists, match="ids"):
        index.add(ROWS[:1], ids=[5])
    with pytest.raises(ValueError, match="expected 2, one for each row"):
        index.add(ROWS[:2], ids=[100000])
    with pytest.raises(ValueError, match="empty index"):
        index.build(ROWS)
    with pytest.raises(grebe.InvalidArgument, match='nearest is "ef"'):
        grebe.ann.Index("hnsw").build(ROWS[:10]).search(QUERIES, 1, eff=3)
    with pytest.raises(grebe.InvalidArgument):
        grebe.ann.Index("flat", "manhattan")
    with pytest.raises(grebe.NotFound):
        grebe.ann.Index.load(tmp_path / "none")
    (tmp_path / "junk").write_bytes(b"x" * 9000)
    with pytest.raises(grebe.Corrupt):
        grebe.ann.Index.load(tmp_path / "junk")
    index.close()
    with pytest.raises(ValueError, match="closed"):
        index.search(QUERIES, 1)


def test_threads_search_one_index():
    index = grebe.ann.Index("graph", "euclidean", quant="sq8").build(ROWS)
    want = index.search(QUERIES, 10)[0]
    wrong = []

    def work():
        for _ in range(30):
            if not (index.search(QUERIES, 10)[0] == want).all():
                wrong.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_builds_do_not_depend_on_threads(tmp_path):
    for kind, params in (("hnsw", {}), ("graph", {"quant": "sq8"})):
        files = []
        for threads in (1, 2, 5):
            grebe.ann.Index(kind, "euclidean", threads=threads, **params).build(ROWS).save(tmp_path / "t")
            files.append((tmp_path / "t").read_bytes())
        assert files[0] == files[1] == files[2]


def test_search_of_a_table(tmp_path):
    pa = pytest.importorskip("pyarrow")
    names = [f"w{i}" for i in range(2000)]
    rows = pa.table({"name": names, "n": pa.array(range(2000)), "v": pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 24)})
    table = grebe.create(str(tmp_path / "t"), rows)
    want, distances = exact(ROWS, QUERIES, 5)
    found = pa.table(table.search("v", QUERIES, 5))
    assert found.column_names == ["_query", "_rowid", "_distance", "name", "n"]
    assert (np.array(found["_rowid"]).reshape(15, 5) == want).all()
    np.testing.assert_allclose(np.array(found["_distance"]).reshape(15, 5), distances, rtol=1e-4)
    indexed = table.build_index("v", kind="hnsw")
    assert indexed.version == 2
    assert (np.array(pa.table(indexed.search("v", QUERIES, 5, ef=300))["_rowid"]).reshape(15, 5) == want).all()
    allowed = np.arange(2000) < 100
    want, _ = exact(ROWS, QUERIES, 5, allowed=allowed)
    for t in (table, indexed):
        some = pa.table(t.search("v", QUERIES, 5, where="n < 100", columns=["name"]))
        assert (np.array(some["_rowid"]).reshape(15, 5) == want).all()
        assert some["name"].to_pylist() == [f"w{i}" for i in want.ravel()]
    assert pa.table(indexed.search("v", QUERIES[0], 3, where="n < 0")).num_rows == 0
    # rows appended to the column take its index out: the search is exact again, and finds them
    more = indexed.append(pa.table({"name": ["new"], "n": pa.array([5000]), "v": pa.FixedSizeListArray.from_arrays(pa.array(QUERIES[0]), 24)}))
    assert pa.table(more.search("v", QUERIES[0], 1))["name"].to_pylist() == ["new"]
    with pytest.raises(grebe.NotFound):
        more.drop_index("v")
    again = more.build_index("v", metric="angular", quant="sq8")
    assert pa.table(again.search("v", QUERIES[0], 1))["name"].to_pylist() == ["new"]
    assert again.drop_index("v").version == again.version + 1
    assert len(os.listdir(tmp_path / "t" / "_index")) == 2  # older versions keep theirs
    with pytest.raises(grebe.SchemaMismatch):
        table.search("name", QUERIES, 1)
    with pytest.raises(grebe.NotFound, match='nearest: "v"'):
        table.search("vv", QUERIES, 1)


@pytest.mark.parametrize("ids, error", [
    (np.arange(2000) + 0.5, TypeError), (np.arange(2000, dtype=np.uint64) + (1 << 63), ValueError), (["a"] * 2000, TypeError),
    (np.arange(2000).reshape(40, 50), ValueError), (np.arange(2000) % 2 == 0, TypeError), (np.arange(3), ValueError)])
def test_ids_are_integers_as_they_are(ids, error):
    index = grebe.ann.Index("flat")
    with pytest.raises(error, match="ids: expected"):
        index.add(ROWS, ids)
    assert len(index) == 0
    with pytest.raises(TypeError):
        index.build(ROWS).remove([1.5])
    assert len(index) == 2000


@pytest.mark.parametrize("where, error", [
    (np.ones(1999, bool), ValueError), (np.ones(2001, bool), ValueError), (np.ones((2000, 1), bool), ValueError),
    (np.zeros(0, bool), ValueError), (True, ValueError), ([1.5], TypeError), ("n > 3", TypeError),
    (np.array([True, False], object), TypeError)])
def test_filters_are_a_value_for_each_row_or_ids(where, error):
    index = grebe.ann.Index("flat").build(ROWS)
    index.remove([5])  # it keeps its place
    with pytest.raises(error, match="where: expected"):
        index.search(QUERIES, 3, where=where)
    assert (index.search(QUERIES, 3, where=np.ones(2000, bool))[0] == index.search(QUERIES, 3)[0]).all()
    assert (index.search(QUERIES, 2, where=[])[0] == -1).all() and index.search(QUERIES[0], 1, where=np.int32(7))[0][0] == 7


def test_lists_of_arrow_have_one_length_and_no_nulls():
    pa = pytest.importorskip("pyarrow")
    def build(values, *size, kind=pa.list_):
        return grebe.ann.Index("flat").build(pa.array(values, kind(pa.float32(), *size)))
    for rows in ([[1, 2, 3], [4]], [[1, 2], [3]], [[], [1, 2], [3, 4]]):
        for kind in (pa.list_, pa.large_list):
            with pytest.raises(ValueError, match="row 1: expected"):
                build(rows, kind=kind)
    for rows in ([[1, 2], None], [[1, None], [2, 3]]):
        with pytest.raises(ValueError, match="expected no nulls, found 1"):
            build(rows, 2)
    assert len(build([None, [1, 2]][1:], 2)) == 1 and len(build([], 2)) == 0
    column = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 24)
    with pytest.raises(TypeError, match="expected an array of lists"):
        grebe.ann.Index("flat").build(pa.table({"v": column}))
    with pytest.raises(TypeError, match="expected an array of lists"):
        grebe.ann.Index("flat").build(pa.array(["a"]))
    parts = pa.chunked_array([column[:7], column[7:7], column[7:]])
    same = grebe.ann.Index("flat").build(parts).search(QUERIES, 3)[0]
    assert (same == grebe.ann.Index("flat").build(pa.array(ROWS.tolist(), pa.list_view(pa.float32()))).search(QUERIES, 3)[0]).all()


def test_arrays_however_they_lie():
    want = grebe.ann.Index("flat").build(ROWS).search(QUERIES, 3)[0]
    wide = np.zeros((4000, 48), np.float32)
    wide[::2, ::2] = ROWS
    frozen = ROWS.copy()
    frozen.flags.writeable = False
    for rows in (np.asfortranarray(ROWS), ROWS[::-1].copy()[::-1], wide[::2, ::2], ROWS.astype(">f4"), ROWS.astype(">f8"), frozen):
        assert (grebe.ann.Index("flat").build(rows).search(QUERIES.astype(">f4")[::-1], np.int8(3))[0] == want[::-1]).all()


def test_what_an_index_is_not():
    index = grebe.ann.Index("flat").build(ROWS)
    for threads in (-1, 1 << 40):
        with pytest.raises(ValueError, match="threads: expected"):
            index.search(QUERIES, 1, threads=threads)
        with pytest.raises(ValueError, match="threads: expected"):
            grebe.ann.Index("flat", threads=threads)
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(index)
    for terms in ([-1], [1 << 32], [0.5]):
        with pytest.raises((TypeError, ValueError), match="terms: expected"):
            grebe.ann.Index("sparse", "ip").build(([0, 1], terms, [1.0]))
    index.close()
    assert repr(index) == "<grebe.ann.Index flat euclidean: the index is closed>"


def test_files_stay_what_they_are(tmp_path):
    index = grebe.ann.Index("flat").build(ROWS)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(grebe.InvalidArgument, match="expected a file, found a device or pipe"):
        index.save(tmp_path / "pipe")
    assert sorted(os.listdir(tmp_path)) == ["pipe"]


def test_an_index_of_another_table_is_found_out(tmp_path):
    pa = pytest.importorskip("pyarrow")
    column = pa.FixedSizeListArray.from_arrays(pa.array(ROWS.ravel()), 24)
    table = grebe.create(str(tmp_path / "t"), pa.table({"v": column})).build_index("v", kind="flat")
    file = next((tmp_path / "t" / "_index").iterdir()) / "vectors.index"
    others = [grebe.ann.Index("hnsw").build(ROWS), grebe.ann.Index("flat").build(ROWS[:, :5]), grebe.ann.Index("flat").build(ROWS.astype("f2")),
              grebe.ann.Index("flat").build(ROWS, np.arange(2000) + 1), grebe.ann.Index("flat").build(ROWS, -2 - np.arange(2000)),
              grebe.ann.Index("flat").build(np.vstack([ROWS, ROWS]))]
    for other in others:
        other.save(file)
        with pytest.raises(grebe.Corrupt, match="vectors.index: expected"):
            table.search("v", QUERIES, 2000)
    for junk in (b"", b"x", bytes(4096), bytes(range(256)) * 32):
        file.write_bytes(junk)
        with pytest.raises(grebe.Corrupt):
            table.search("v", QUERIES, 3)
        assert pa.table(table.search("v", QUERIES, 3, exact=True)).num_rows == 45
