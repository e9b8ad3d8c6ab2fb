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
