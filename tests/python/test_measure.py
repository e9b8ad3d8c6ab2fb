# SPDX-License-Identifier: Apache-2.0
"""Measurement through Python: recalls against numbers of another program, runs, plots."""
import json
import pathlib
import xml.dom.minidom

import numpy as np
import pytest

import grebe
import grebe.ann

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "ann"
EXPECTED = json.loads((DATA / "expected.json").read_text())["files"]
RESULTS = sorted(name for name in EXPECTED if name.startswith("result/"))
RULES = ("vsag", "id", "annb", "annb_eps_0.01", "annb_eps_0.1", "bigann")


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("k", [1, 5, 10])
def test_evaluate_gives_the_expected_recalls(name, k):
    want, data = EXPECTED[name]["k_values"][str(k)], grebe.ann.read_hdf5(DATA / EXPECTED[name]["truth"])
    ids = np.load((DATA / name).with_suffix(".npy"))
    for rule in RULES:
        r = grebe.ann.evaluate(data, ids, k=k, rule=rule)
        np.testing.assert_allclose(r["recall"], want[rule]["per_query"], atol=1e-12)
        assert r["recall_avg"] == pytest.approx(want[rule]["mean"], abs=1e-12)
        assert r["recall_std"] == pytest.approx(want[rule]["std"], abs=1e-12)
        assert r["recall_rule"] == rule and r["recall_by_rule"][rule] == r["recall_avg"]
        f = grebe.ann.evaluate(DATA / EXPECTED[name]["truth"], DATA / name, k=k, rule=rule)
        assert f["recall_avg"] == r["recall_avg"] and f["latency_avg(ms)"] > 0


def test_evaluate_times_and_distances():
    d = grebe.ann.read_hdf5(DATA / "good/dense_l2_f32.hdf5")
    n = len(d.neighbors)
    r = grebe.ann.evaluate(d, d.neighbors, d.distances, np.arange(1, n + 1) / 1000)
    assert r["recall_avg"] == 1 and r["topk"] == 10
    assert r["latency_detail(ms)"]["p50"] == pytest.approx(int(0.5 * (n - 1)) + 1)
    assert r["qps"] == pytest.approx(n / (n * (n + 1) / 2 / 1000))
    assert grebe.ann.evaluate(d, d.neighbors, np.full(d.neighbors.shape, np.inf), rule="annb")["recall_avg"] == 0
    assert grebe.ann.evaluate(d, d.neighbors[:3], k=20)["recall"].shape == (3,)


def test_what_does_not_fit_is_refused():
    d = grebe.ann.read_hdf5(DATA / "good/dense_l2_f32.hdf5")
    with pytest.raises(grebe.InvalidArgument, match="1 to 20"):
        grebe.ann.evaluate(d, d.neighbors, k=21)
    with pytest.raises(grebe.InvalidArgument, match="annb"):
        grebe.ann.evaluate(d, d.neighbors, rule="recall")
    with pytest.raises(ValueError, match="shape"):
        grebe.ann.evaluate(d, d.neighbors, d.distances[:, :3])
    with pytest.raises(ValueError, match="dimensions"):
        grebe.ann.evaluate(d, d.neighbors[0])
    with pytest.raises(grebe.InvalidArgument):
        grebe.ann.evaluate(d, np.vstack([d.neighbors, d.neighbors]))
    with pytest.raises(ValueError, match="range"):
        grebe.ann.run(DATA / "good/dense_l2_f32.hdf5", "flat", mode="range")


def test_run_and_plot(tmp_path):
    r = grebe.ann.run(DATA / "good/dense_l2_f32.hdf5", ["flat", "graph degree=16"], "graph:ef=10,40", k=5, threads=2, queries=100)
    assert list(r) == ["flat", "graph degree=16 ef=10", "graph degree=16 ef=40"]
    assert r["flat"]["recall_avg"] == 1
    for case in r.values():
        assert case["measurement_sample_count"] == 100 and case["dataset_info"]["query_count"] == 24
        assert case["num_threads_searching"] == 2 and case["qps"] > 0 and case["index_memory(B)"] > 0
    svg = grebe.ann.plot(r)
    assert svg == grebe.ann.plot([r]) and "graph degree=16" in svg
    xml.dom.minidom.parseString(svg)
    page = grebe.ann.plot(r, tmp_path / "x.html", x_scale="a3")
    assert (tmp_path / "x.html").read_text() == page and "<script" in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")
    xml.dom.minidom.parseString(grebe.ann.plot(r, bars=True, title="<&>"))
    with pytest.raises(grebe.InvalidArgument, match="key"):
        grebe.ann.plot(r, x="recall")


@pytest.mark.parametrize("mode", ["knn_filter", "range_filter"])
def test_filtered_runs_are_exact_with_flat(mode):
    path = DATA / "good/dense_l2_labels.hdf5"
    extra = {"range": 6.0} if mode == "range_filter" else {}
    case = grebe.ann.run(path, "flat", mode=mode, k=5, **extra)["flat"]
    assert case["recall_avg"] == 1 and case["search_mode"] == mode
    if mode == "range_filter":
        assert case["precision"] == 1 and case["average_precision"] == pytest.approx(1)
