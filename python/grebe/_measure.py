# SPDX-License-Identifier: Apache-2.0
"""Measurement of vector search: recall of results, runs of indexes, plots (docs/guide/ann.md)."""

import json
import os
import tempfile

from . import _core
from ._ann import DataSet, _content, read_hdf5
from ._index import _numpy


def _is_path(x):
    return isinstance(x, (str, os.PathLike))


def evaluate(dataset, ids, distances=None, times=None, k=None, rule="ties"):
    """Recall and latency of results, as a dict with the keys of docs/json/ann.md and "recall" (one number for each query, NaN
    where a query has no true neighbour).

    dataset: a DataSet, or the path of one. ids: shape (queries, columns), -1 behind the last; or the path of a result file of
    ann-benchmarks (HDF5) or of ids (.npy, .ivecs, .ibin). distances: as the engine stated them. times: seconds of each query.
    k: 10, or the columns of the truth if they are fewer. rule: of recall_avg: "ties", "vsag", "id", "annb", "annb_eps_0.01",
    "annb_eps_0.1", "bigann"; "recall_by_rule" has all of them."""
    np = _numpy()
    if _is_path(ids):
        if not _is_path(dataset):
            raise TypeError("evaluate: the path of results needs the path of a data set")
        if distances is not None or times is not None:
            raise TypeError("evaluate: a result file has distances and times of its own")
        return next(iter(json.loads(_core.ann_evaluate_file(os.fspath(dataset), os.fspath(ids), k or 0, rule)).values()))
    if _is_path(dataset):
        dataset = read_hdf5(dataset)
    if not isinstance(dataset, DataSet) or dataset.neighbors is None:
        raise TypeError("evaluate: expected a DataSet with neighbors, or a path")
    d = dataset
    ids = np.ascontiguousarray(ids, np.int64)
    if ids.ndim != 2:
        raise ValueError(f"ids: expected shape (queries, columns), found {ids.ndim} dimensions")
    given = d.distances if d.distances is not None else np.full(d.neighbors.shape, np.inf, np.float32)
    c = _content(d.layout, d.distance, d.train, d.test, d.neighbors, given, d.neighbors.shape[1], d.train_labels, d.test_labels,
                 d.valid_ratios, (None, None), d.int8_negated_ip, d.plain_l2)
    if d.distances is None:
        del c["distances"]
    if distances is not None:
        distances = np.ascontiguousarray(distances, np.float32)
        if distances.shape != ids.shape:
            raise ValueError(f"distances: expected shape {ids.shape}, found {distances.shape}")
    if times is not None:
        times = np.ascontiguousarray(times, np.float64)
        if times.shape != (len(ids),):
            raise ValueError(f"times: expected shape {(len(ids),)}, found {times.shape}")
    recall = np.empty(len(ids), np.float64)
    text = _core.ann_evaluate(c, ids, distances, times, len(ids), ids.shape[1], k or 0, rule, recall)
    result = next(iter(json.loads(text).values()))
    result["recall"] = recall
    return result


def run(dataset, indexes, sweep=(), *, k=None, mode="knn", range=None, queries=None, threads=1, build_threads=0, runs=1,
        rule="ties", warmup=True, batch=False):
    """Build each index over a data set (its path), search, measure: {name: case} with the keys of docs/json/ann.md.

    indexes: "graph degree=32 quant=sq8", or a list of such. sweep: "ef=16,32,64" or "graph:ef=16,32", or a list. threads share
    the queries. mode: "knn", "range" (with range: the radius), "knn_filter", "range_filter"."""
    indexes = [indexes] if isinstance(indexes, str) else list(indexes)
    sweep = [sweep] if isinstance(sweep, str) else list(sweep)
    if (range is None) == mode.startswith("range"):
        raise ValueError(f"range: expected with the range modes alone, found {range!r} with {mode!r}")
    return json.loads(_core.ann_run(os.fspath(dataset), indexes, sweep, k or 0, queries or 0, threads, build_threads, runs, mode,
                                    range or 0.0, rule, warmup, batch))


def plot(reports, path=None, *, x=None, y=None, x_scale=None, y_scale=None, title=None, bars=False, all=False):
    """Draw reports (what run() gave, paths of JSON files, or a list of such) as SVG or, where path ends in .html, as a page.
    Gives the text; writes it to path."""
    html = path is not None and os.fspath(path).endswith((".html", ".htm"))
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for report in [reports] if isinstance(reports, dict) or _is_path(reports) else reports:
            if isinstance(report, dict):
                name = os.path.join(folder, f"{len(paths)}.json")
                with open(name, "w", encoding="utf-8") as f:
                    json.dump(report, f)
                report = name
            paths.append(os.fspath(report))
        text = _core.ann_plot(paths, html, bars, all, x, y, x_scale, y_scale, title)
    if path is not None:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    return text
