# SPDX-License-Identifier: Apache-2.0
"""Benchmark data sets through Python: read, written, checked, and their truth found."""
import json
import pathlib

import numpy as np
import pytest

import grebe
import grebe.ann

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "ann"
EXPECTED = json.loads((DATA / "expected.json").read_text())["files"]


def good():
    return [p for p in sorted(EXPECTED) if p.startswith(("good/", "storage/"))]


@pytest.mark.parametrize("path", good())
def test_read_gives_what_the_file_has(path):
    x = EXPECTED[path]
    if "N" not in x:
        x = EXPECTED[x["same_as"]]
    d = grebe.ann.read_hdf5(DATA / path)
    n, q = (len(s[0]) - 1 if isinstance(s, tuple) else len(s) for s in (d.train, d.test))
    assert (n, q, d.neighbors.shape) == (x["N"], x["Q"], (x["Q"], x["K"]))
    assert d.distance == x["metric"]
    for row, pairs in zip(range(3), x["first_neighbours"] if isinstance(x["first_neighbours"], list) else x["first_neighbours"].values()):
        if isinstance(pairs, list) and pairs and isinstance(pairs[0], list):
            assert d.neighbors[row][: len(pairs)].tolist() == [p[0] for p in pairs]


@pytest.mark.parametrize("path", [p for p in good() if p.startswith("good/")])
def test_written_again_is_the_same(tmp_path, path):
    d = grebe.ann.read_hdf5(DATA / path)
    grebe.ann.write_hdf5(tmp_path / "a.hdf5", d)
    grebe.ann.write_hdf5(tmp_path / "b.hdf5", grebe.ann.read_hdf5(tmp_path / "a.hdf5"))
    assert (tmp_path / "a.hdf5").read_bytes() == (tmp_path / "b.hdf5").read_bytes()
    assert not [f for f in grebe.ann.check_hdf5(tmp_path / "a.hdf5") if f[0] == "error"]


@pytest.mark.parametrize("path", ["good/dense_l2_f32.hdf5", "good/dense_ip_i8.hdf5", "good/dense_angular_f32.hdf5", "good/sparse_ip.hdf5",
                                  "good/multi_vector_ip.hdf5", "good/multi_vector_euclidean.hdf5", "storage/annb_jaccard.hdf5",
                                  "storage/annb_hamming_bit.hdf5", "good/dense_l2_labels.hdf5"])
def test_groundtruth_is_the_files(path):
    d = grebe.ann.read_hdf5(DATA / path)
    ids, distances = grebe.ann.groundtruth(d.train, d.test, d.neighbors.shape[1], d.distance, train_labels=d.train_labels,
                                           test_labels=d.test_labels)
    assert np.array_equal(ids, d.neighbors)
    assert np.allclose(distances, d.distances, rtol=1e-6, atol=1e-7)


def test_made_from_arrays(tmp_path):
    rng = np.random.default_rng(1)
    train, test = rng.normal(size=(300, 8)).astype("f4"), rng.normal(size=(7, 8))
    grebe.ann.write_hdf5(tmp_path / "m.hdf5", train=train, test=test.astype("f4"), distance="euclidean", k=10)
    d = grebe.ann.read_hdf5(tmp_path / "m.hdf5", profile="vsag")
    exact = np.sqrt(((test[:, None].astype("f4").astype("f8") - train[None].astype("f8")) ** 2).sum(-1))
    assert np.array_equal(d.neighbors, np.argsort(exact, axis=1, kind="stable")[:, :10])
    assert grebe.ann.check_hdf5(tmp_path / "m.hdf5") == []


def test_what_is_wrong_is_an_exception_of_its_kind(tmp_path):
    with pytest.raises(grebe.Corrupt, match="test has 7 components, train 8"):
        grebe.ann.read_hdf5(DATA / "bad" / "dim_mismatch.hdf5")
    with pytest.raises(grebe.NotFound):
        grebe.ann.read_hdf5(tmp_path / "nowhere.hdf5")
    with pytest.raises(grebe.Corrupt, match="uint8"):
        grebe.ann.read_hdf5(DATA / "bad" / "train_uint8.hdf5", profile="vsag")
    assert grebe.ann.read_hdf5(DATA / "bad" / "train_uint8.hdf5").train[0, 0] == 200
    with pytest.raises(ValueError, match="profile"):
        grebe.ann.read_hdf5(DATA / "good" / "small_l2.hdf5", profile="x")
    with pytest.raises(ValueError, match="k: expected from 1 to 3"):
        grebe.ann.groundtruth(np.zeros((3, 2), "f4"), np.zeros((1, 2), "f4"), 4)
    with pytest.raises(TypeError):
        grebe.ann.groundtruth(np.zeros((3, 2), "f4"), np.zeros((1, 3), "f4"), 1)
    assert ("error", "file", "data set test is missing") in grebe.ann.check_hdf5(DATA / "bad" / "missing_test.hdf5")


ROWS = np.random.default_rng(3).standard_normal((50, 8)).astype(np.float32)
SPARSE = (np.array([0, 2, 3]), np.array([1, 5, 2]), np.array([1, 2, 3], np.float32))


def changed(part, value, what=SPARSE):
    return tuple(np.asarray(value) if i == part else x for i, x in enumerate(what))


@pytest.mark.parametrize("train, error, message", [
    (changed(1, [5, 1, 2]), grebe.InvalidArgument, "base: row 0: expected ascending terms, found 1 after 5"),
    (changed(1, [5, 5, 2]), grebe.InvalidArgument, "base: row 0: expected ascending terms, found 5 after 5"),
    (changed(1, [-5, 5, 2]), ValueError, "terms: expected from 0"), (changed(1, [0.5, 5, 2]), TypeError, "terms: expected integers"),
    (changed(2, [1, np.nan, 3]), grebe.InvalidArgument, "base: row 0, term 5: expected a finite number"),
    (changed(0, [0, 9, 3]), grebe.InvalidArgument, "base: expected offsets that ascend from 0"),
    (changed(0, [0, -2, 3]), grebe.InvalidArgument, "base: expected offsets that ascend from 0"),
    (changed(0, [0, 2, 9]), ValueError, "terms: expected 36 bytes"), (changed(0, []), ValueError, "offsets: expected one more")])
def test_sparse_rows_of_no_truth(train, error, message):
    with pytest.raises(error, match=message):
        grebe.ann.groundtruth(train, SPARSE, 1, "ip")


def test_numbers_of_no_truth():
    for bad in (np.nan, np.inf):
        rows = ROWS.copy()
        rows[7, 3] = bad
        for train, test in ((rows, ROWS), (ROWS, rows), (rows.astype("f2"), ROWS.astype("f2"))):
            with pytest.raises(grebe.InvalidArgument, match="vector 7, component 3: expected a finite number"):
                grebe.ann.groundtruth(train, test, 2)
    with pytest.raises(grebe.InvalidArgument, match="base: row 0: expected ascending terms"):
        grebe.ann.groundtruth((SPARSE[0], np.array([5, 1, 2])), SPARSE[:2], 1, "jaccard")
    want = grebe.ann.groundtruth(ROWS, ROWS[:3], 2)
    for same in (ROWS.astype("f8"), ROWS.tolist(), ROWS.astype(">f4"), np.asfortranarray(ROWS)):
        ids, distances = grebe.ann.groundtruth(same, ROWS[:3], 2)
        assert (ids == want[0]).all() and (distances == want[1]).all()


@pytest.mark.parametrize("fields, error, message", [
    ({"neighbors": np.full((5, 2), 99), "distances": np.zeros((5, 2))}, grebe.InvalidArgument, "expected a row below 50, found 99"),
    ({"neighbors": np.full((5, 2), -2), "distances": np.zeros((5, 2))}, grebe.InvalidArgument, "expected a row below 50, found -2"),
    ({"neighbors": np.zeros((5, 2), int)}, ValueError, "distances: expected the shape of neighbors"),
    ({"neighbors": np.zeros((5, 2), int), "distances": np.zeros((5, 3))}, ValueError, "distances: expected the shape"),
    ({"neighbors": np.zeros((5, 2)), "distances": np.zeros((5, 2))}, TypeError, "neighbors: expected integers"),
    ({"neighbors": np.zeros(5, int), "distances": np.zeros(5)}, ValueError, "distances: expected the shape"),
    ({"valid_ratios": np.ones(3, np.float32)}, grebe.InvalidArgument, "expected labels with valid_ratios"),
    ({"layout": "matrix"}, ValueError, "layout: expected one of"), ({"distance": None}, TypeError, "distance: expected a word")])
def test_nothing_is_written_that_no_reader_takes(tmp_path, fields, error, message):
    with pytest.raises(error, match=message):
        grebe.ann.write_hdf5(tmp_path / "x.hdf5", **{"train": ROWS, "test": ROWS[:5], "distance": "euclidean", "k": 2, **fields})
    assert list(tmp_path.iterdir()) == []


def test_sequences_of_tokens_are_in_their_buffer(tmp_path):
    for offsets in ([0, 900000, 2], [0, -7, 2], [1, 1, 2]):
        with pytest.raises((grebe.InvalidArgument, ValueError), match="ascend from 0"):
            grebe.ann.write_hdf5(tmp_path / "x.hdf5", train=SPARSE, test=SPARSE, distance="ip", k=1,
                                 train_tokens=(np.array(offsets), np.array([4, 4])), test_tokens=(np.array([0, 1, 2]), np.array([4, 4])))
    assert list(tmp_path.iterdir()) == []
