# SPDX-License-Identifier: Apache-2.0
"""Result files as ann-benchmarks writes them with h5py, its metrics, and big-ann-benchmarks' average precision, computed here
by their definitions."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")
import grebe  # noqa: E402
import grebe.ann  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "ann"
GREBE = os.environ.get("GREBE", "grebe")


def result_file(path, neighbors, distances, times, **attrs):
    """store_results() of ann-benchmarks: attributes as Python has them, padded arrays."""
    with h5py.File(path, "w") as f:
        for name, value in attrs.items():
            f.attrs[name] = value
        f.create_dataset("times", (len(times),), "f")[:] = times
        f.create_dataset("neighbors", neighbors.shape, "i")[:] = neighbors
        f.create_dataset("distances", distances.shape, "f")[:] = distances


def knn(truth, found, k, epsilon=1e-3):
    """Hits of its metric k-nn: stated distances up to the k-th true one."""
    return np.array([(row[:k] <= t[k - 1] + epsilon).sum() for t, row in zip(truth, found)])


@pytest.mark.parametrize("name", ["good/dense_l2_f32.hdf5", "good/dense_angular_f32.hdf5", "good/sparse_ip.hdf5"])
@pytest.mark.parametrize("k", [1, 10])
def test_k_nn_is_ann_benchmarks(tmp_path, name, k):
    d = grebe.ann.read_hdf5(DATA / name)
    rng = np.random.default_rng(5)
    ids, distances = d.neighbors[:, :10].copy(), d.distances[:, :10].copy()
    wrong = rng.random(ids.shape) < 0.3
    distances[wrong] *= 1.5
    ids[wrong] = rng.integers(0, 300, wrong.sum())
    order = np.argsort(distances, axis=1)
    ids, distances = np.take_along_axis(ids, order, 1), np.take_along_axis(distances, order, 1)
    ids[0, 7:], distances[0, 7:] = -1, np.inf
    times = rng.random(len(ids)) / 1000
    result_file(tmp_path / "r.hdf5", ids, distances, times, algo="x", dataset="d", name="x (1)", count=10, distance=d.distance,
                batch_mode=np.bool_(False), best_search_time=0.0005, build_time=np.float32(1.5), index_size=2048, candidates=9.5,
                run_count=3, expect_extra=False)
    r = grebe.ann.evaluate(DATA / name, tmp_path / "r.hdf5", k=k, rule="annb")
    hits = knn(d.distances, distances, k)
    assert r["recall_avg"] == pytest.approx(hits.mean() / k) and r["recall_std"] == pytest.approx(hits.std() / k)
    for rule, factor in (("annb_eps_0.01", 1.01), ("annb_eps_0.1", 1.1)):
        if (d.distances[:, k - 1] >= 0).all():
            want = np.mean([(row[:k] <= t[k - 1] * np.float64(factor)).sum() for t, row in zip(d.distances.astype("f8"), distances)]) / k
            assert r["recall_by_rule"][rule] == pytest.approx(want)
    assert r["qps"] == pytest.approx(2000) and r["duration(s)"] == 1.5 and r["index_memory(B)"] == 2048 * 1024
    assert r["latency_avg(ms)"] == pytest.approx(times.mean() * 1000, rel=1e-5) and r["index"] == "x"


def test_ours_is_read_by_h5py(tmp_path):
    out = tmp_path / "found.hdf5"
    subprocess.run([GREBE, "ann", "run", DATA / "good/dense_l2_f32.hdf5", "--index", "flat", "--results", out, "-q", "-o",
                    tmp_path / "r.json"], check=True)
    with h5py.File(out) as f:
        d = grebe.ann.read_hdf5(DATA / "good/dense_l2_f32.hdf5")
        assert f["neighbors"].dtype == np.int32 and f["neighbors"][:].tolist() == d.neighbors[:, :10].tolist()
        np.testing.assert_allclose(f["distances"][:], d.distances[:, :10], rtol=1e-5)
        assert f["times"].shape == (len(d.test),) and (f["times"][:] > 0).all()
        assert f.attrs["count"] == 10 and f.attrs["distance"] == "euclidean" and f.attrs["best_search_time"] > 0
    r = json.loads((tmp_path / "r.json").read_text())["flat"]
    assert r["recall_avg"] == 1


def average_precision(truth, found, distances):
    """compute_AP() of big-ann-benchmarks, with the last threshold beyond every result."""
    every = np.concatenate([np.asarray(x, "f8") for x in distances])
    thresholds = np.linspace(min(every.min(), 0) - 0.001, every.max(), 100)
    thresholds[-1] = np.inf
    precision, recall, n_truth = [], [], sum(map(len, truth))
    for t in thresholds:
        n = n_true = 0
        for want, ids, ds in zip(truth, found, distances):
            kept = [i for i, x in zip(ids, ds) if x < t]
            n += len(kept)
            n_true += len(set(kept) & set(want))
        precision.append(n_true / n if n else 1.0)
        recall.append(n_true / n_truth)
    return sum((recall[i + 1] - recall[i]) * (precision[i + 1] + precision[i]) / 2 for i in range(99))


@pytest.mark.parametrize("index", ["flat", "ivf lists=16", "graph"])
def test_ranges_are_judged_as_big_ann_does(index):
    path, radius = DATA / "good/dense_l2_f32.hdf5", 6.5
    d = grebe.ann.read_hdf5(path)
    kind, *words = index.split()
    params = dict(word.split("=") for word in words)
    extra = {"nprobe": 2} if kind == "ivf" else {"ef": 10} if kind == "graph" else {}
    full = np.sqrt(((d.test[:, None].astype("f8") - d.train[None]) ** 2).sum(2))
    truth = [np.flatnonzero(row <= radius).tolist() for row in full]
    x = grebe.ann.Index(kind, "euclidean", **params).build(d.train)
    found, distances = [], []
    for q in d.test:
        _, ids, ds = x.range_search(q[None], radius, **extra)
        found.append(ids.tolist())
        distances.append(ds.tolist())
    sweep = [f"{name}={value}" for name, value in extra.items()]
    r = next(iter(grebe.ann.run(path, index, sweep, mode="range", range=radius).values()))
    assert r["result_count"] == sum(map(len, found))
    per_query = [len(set(f) & set(t)) / len(t) for f, t in zip(found, truth) if t]
    assert r["recall_avg"] == pytest.approx(np.mean(per_query)) and r["recall_query_count"] == len(per_query)
    assert r["precision"] == pytest.approx(1)
    assert r["average_precision"] == pytest.approx(average_precision(truth, found, distances), abs=2e-3)
