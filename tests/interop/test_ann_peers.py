# SPDX-License-Identifier: Apache-2.0
"""Exhaustive search of faiss and of VSAG's library finds what Grebe's ground truth and exact indexes find."""

import json
import pathlib

import numpy as np
import pytest

import grebe.ann

DATA = pathlib.Path(__file__).parents[1] / "data" / "ann" / "good"
FILES = {"dense_l2_f32": "euclidean", "dense_ip_f32": "ip", "dense_angular_f32": "angular"}


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("name", FILES)
def test_faiss(name):
    faiss = pytest.importorskip("faiss")
    d = grebe.ann.read_hdf5(DATA / f"{name}.hdf5")
    metric, k = FILES[name], d.neighbors.shape[1]
    train, test = np.asarray(d.train), np.asarray(d.test)
    if metric == "euclidean":
        index = faiss.IndexFlatL2(train.shape[1])
    else:
        index = faiss.IndexFlatIP(train.shape[1])
        if metric == "angular":
            train, test = unit(train), unit(test)
    index.add(train)
    values, _ = index.search(test, k)
    theirs = np.sqrt(values) if metric == "euclidean" else 1 - values
    for ids, distances in (grebe.ann.groundtruth(d.train, d.test, k, metric),
                           grebe.ann.Index("flat", metric).build(d.train).search(d.test, k)):
        np.testing.assert_allclose(distances, theirs, rtol=1e-3, atol=2e-4)
    assert (grebe.ann.groundtruth(d.train, d.test, k, metric)[0] == d.neighbors).all()


@pytest.mark.parametrize("name", FILES)
def test_vsag(name):
    pyvsag = pytest.importorskip("pyvsag")
    pyvsag.set_logger_off()
    d = grebe.ann.read_hdf5(DATA / f"{name}.hdf5")
    metric, k = FILES[name], 10
    train, test = np.ascontiguousarray(d.train), np.ascontiguousarray(d.test)
    kind = {"euclidean": "l2", "ip": "ip", "angular": "cosine"}[metric]
    index = pyvsag.Index("brute_force", json.dumps(dict(dtype="float32", metric_type=kind, dim=train.shape[1])))
    index.build(vectors=train.ravel(), ids=np.arange(len(train), dtype=np.int64), num_elements=len(train), dim=train.shape[1])
    _, ours = grebe.ann.Index("flat", "l2" if metric == "euclidean" else metric).build(train).search(test, k)
    for i in range(len(test)):
        _, theirs = index.knn_search(test[i], k, "{}")
        np.testing.assert_allclose(np.sort(theirs), ours[i], rtol=1e-3, atol=2e-4)


def test_vsag_sparse():
    pyvsag = pytest.importorskip("pyvsag")
    pyvsag.set_logger_off()
    d = grebe.ann.read_hdf5(DATA / "sparse_ip.hdf5")
    offsets, terms, values = (np.asarray(x) for x in d.train)
    index = pyvsag.Index("sparse_index", json.dumps(dict(dtype="sparse", metric_type="ip", dim=4096, index_param=dict(need_sort=True))))
    index.build(index_pointers=offsets.astype(np.uint32), indices=terms, values=values, ids=np.arange(len(offsets) - 1, dtype=np.int64))
    k = 5
    _, ours = grebe.ann.Index("sparse", "ip").build((offsets, terms, values)).search(tuple(d.test), k, exact=1)
    q_offsets, q_terms, q_values = (np.asarray(x) for x in d.test)
    for i in range(len(q_offsets) - 1):
        a, b = q_offsets[i], q_offsets[i + 1]
        if a == b:
            continue
        _, theirs = index.knn_search(index_pointers=np.array([0, b - a], np.uint32), indices=q_terms[a:b].copy(), values=q_values[a:b].copy(), k=k, parameters="{}")
        np.testing.assert_allclose(np.sort(np.ravel(theirs)), ours[i], rtol=1e-4, atol=1e-5)
