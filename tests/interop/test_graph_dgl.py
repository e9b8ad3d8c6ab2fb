# SPDX-License-Identifier: Apache-2.0
"""What `grebe graph preprocess` writes is opened by DGL's GraphBolt, which finds the values that were put in.

DGL runs in a Python of its own, named by GREBE_TEST_DGL (its newest release needs an old torch and numpy), or in this one."""
import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import grebe.graph

TOOL = pathlib.Path(__file__).resolve().parent / "tools" / "graph_dgl_oracle.py"
PYTHON = os.environ.get("GREBE_TEST_DGL") or (sys.executable if importlib.util.find_spec("dgl") else None)
pytestmark = pytest.mark.skipif(PYTHON is None, reason="DGL is not installed, and GREBE_TEST_DGL names no Python that has it")


def in_dgl(folder, tmp_path):
    out = tmp_path / "found.npz"
    done = subprocess.run([PYTHON, str(TOOL), str(folder), str(out)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return np.load(out)


def csc(n, sources, destinations):
    order = np.argsort(destinations, kind="stable")
    return np.concatenate([[0], np.cumsum(np.bincount(destinations, minlength=n))]), sources[order], order


@pytest.mark.parametrize("cast", [True, False])
def test_a_graph_without_types(tmp_path, cast):
    rng, n, m = np.random.default_rng(5), 500, 20_000
    edges = rng.integers(0, n, (2, m))
    weight, x, seeds = rng.random(m, dtype=np.float32), rng.standard_normal((n, 7)), rng.permutation(n)[:90]
    label = rng.integers(0, 5, 90)
    for name, values in (("edges", edges), ("weight", weight), ("x", x), ("y", np.arange(n)), ("seeds", seeds), ("label", label)):
        np.save(tmp_path / f"{name}.npy", values)
    (tmp_path / "metadata.yaml").write_text("""dataset_name: d
graph:
  nodes: [{num: 500}]
  edges: [{format: numpy, path: edges.npy}]
  feature_data:
  - {domain: edge, name: weight, format: numpy, path: weight.npy}
feature_data:
- {domain: node, name: x, format: numpy, in_memory: false, path: x.npy}
- {domain: node, name: y, format: numpy, path: y.npy}
tasks:
- name: t
  train_set:
  - data: [{name: seeds, format: numpy, path: seeds.npy}, {name: labels, format: numpy, path: label.npy}]
""")
    grebe.graph.preprocess(tmp_path, include_original_edge_id=True, cast=cast)
    found = in_dgl(tmp_path, tmp_path)
    indptr, indices, order = csc(n, *edges)
    wide = np.int32 if cast else np.int64
    for name, expected in (("csc_indptr", indptr), ("indices", indices), ("edge__ORIGINAL_EDGE_ID", order)):
        assert found[name].dtype == wide
        np.testing.assert_array_equal(found[name], expected)
    np.testing.assert_array_equal(found["edge_weight"], weight[order])
    np.testing.assert_array_equal(found["feature_node_None_x"], x)
    np.testing.assert_array_equal(found["feature_node_None_y"], np.arange(n)[:, None])
    np.testing.assert_array_equal(found["task_0"], [seeds[4], label[4]])
    np.testing.assert_array_equal(found["sample_indptr"], indptr)
    for v in range(n):
        assert sorted(found["sample_indices"][indptr[v]:indptr[v + 1]]) == sorted(indices[indptr[v]:indptr[v + 1]])


def test_a_graph_with_types(tmp_path):
    rng, num = np.random.default_rng(6), {"user": 300, "item": 70}
    types = ["user:buys:item", "item:like:item", "item:bought_by:user"]
    edges = {t: np.stack([rng.integers(0, num[t.split(":")[0]], 3000), rng.integers(0, num[t.split(":")[2]], 3000)]) for t in types}
    lines = ["graph:", "  nodes:"] + [f"  - {{type: {t}, num: {n}}}" for t, n in num.items()] + ["  edges:"]
    for i, t in enumerate(types):
        np.save(tmp_path / f"e{i}.npy", edges[t])
        np.save(tmp_path / f"w{i}.npy", np.arange(3000) + 10_000 * i)
        lines.append(f"  - {{type: '{t}', format: numpy, path: e{i}.npy}}")
    lines += ["  feature_data:"] + [f"  - {{domain: edge, type: '{t}', name: w, format: numpy, path: w{i}.npy}}" for i, t in enumerate(types)]
    (tmp_path / "metadata.yaml").write_text("\n".join(lines) + "\n")
    grebe.graph.preprocess(tmp_path, include_original_edge_id=True)
    found = in_dgl(tmp_path, tmp_path)
    begin = {"item": 0, "user": 70}
    np.testing.assert_array_equal(found["node_type_offset"], [0, 70, 370])
    source, target, kind, row, w = [], [], [], [], []
    for k, t in enumerate(sorted(types)):
        a, _, b = t.split(":")
        source.append(edges[t][0] + begin[a]), target.append(edges[t][1] + begin[b])
        kind.append(np.full(3000, k)), row.append(np.arange(3000)), w.append(np.arange(3000) + 10_000 * types.index(t))
    indptr, indices, order = csc(370, np.concatenate(source), np.concatenate(target))
    np.testing.assert_array_equal(found["csc_indptr"], indptr)
    np.testing.assert_array_equal(found["indices"], indices)
    assert found["type_per_edge"].dtype == np.uint8
    for name, expected in (("type_per_edge", kind), ("edge__ORIGINAL_EDGE_ID", row), ("edge_w", w)):
        np.testing.assert_array_equal(found[name], np.concatenate(expected)[order])


@pytest.mark.parametrize("case", ["hetero_mix", "homo_attr", "many_types"])
def test_dgl_preprocesses_what_was_exported(tmp_path, case):
    made = pathlib.Path(__file__).resolve().parents[1] / "data" / "graphbolt" / "cases" / case / "dgl_preprocessed"
    grebe.graph.export(made, tmp_path / "plain")
    found, g = in_dgl(tmp_path / "plain", tmp_path), grebe.graph.open(made)
    assert (tmp_path / "plain" / "preprocessed" / "metadata.yaml").exists()
    for name, expected in (("csc_indptr", g.indptr), ("indices", g.indices), ("type_per_edge", g.type_per_edge)):
        if expected is not None:
            np.testing.assert_array_equal(found[name], expected)
