# SPDX-License-Identifier: Apache-2.0
"""Batches of random graphs, all neighbours of random seeds hop by hop: rows of nodes, lists and edges are DGL's, in its order.

DGL runs in a Python of its own, named by GREBE_TEST_DGL (its newest release needs an old torch and numpy), or in this one."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import grebe.graph

TOOL = pathlib.Path(__file__).resolve().parent / "tools" / "graph_dgl_layers.py"
PYTHON = os.environ.get("GREBE_TEST_DGL") or (sys.executable if importlib.util.find_spec("dgl") else None)
pytestmark = pytest.mark.skipif(PYTHON is None, reason="DGL is not installed, and GREBE_TEST_DGL names no Python that has it")
SEED = int(os.environ.get("GREBE_TEST_SEED", "1"))


def dgl_layers(folder, calls):
    done = subprocess.run([PYTHON, str(TOOL), str(folder)], input="".join(json.dumps(c) + "\n" for c in calls), capture_output=True,
                          text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_same(batch, answer, typed):
    assert len(batch.layers) == len(answer["layers"])
    for kind, ids in (answer["input_nodes"] if typed else {None: answer["input_nodes"]}).items():
        assert not ids or (batch.nodes[kind] if typed else batch.nodes).tolist() == ids
    for layer, want in zip(batch.layers, answer["layers"]):
        for kind, ids in (want["edge_ids"] if typed else {None: want["edge_ids"]}).items():
            indptr, indices, edges = layer.relations[kind] if typed else layer.relations
            csc = want["csc"][kind] if typed else want["csc"]
            assert (indptr.tolist(), indices.tolist(), edges.tolist()) == (csc["indptr"], csc["indices"], ids)


def compare(folder, calls, typed):
    g = grebe.graph.open(folder)
    answers = dgl_layers(folder, calls)
    assert len(answers) == len(calls)
    for call, answer in zip(calls, answers):
        assert_same(g.sample_neighbors(call["seeds"], [-1] * call["hops"]), answer, typed)


def save_edges(folder, lines, name, ends, fields):
    np.save(folder / f"{name}.npy", ends)
    lines.append("  - {" + fields + f"format: numpy, path: {name}.npy" + "}")


@pytest.mark.parametrize("round", range(2))
def test_graphs_without_types(tmp_path, round):
    print("seed", SEED + round)
    rng = np.random.default_rng(SEED + round)
    n, m = int(rng.integers(2, 200)), int(rng.integers(1, 1500))
    lines = [f"graph:\n  nodes: [{{num: {n}}}]\n  edges:"]
    save_edges(tmp_path, lines, "e", np.stack([rng.integers(0, n, m), rng.integers(0, max(1, n // 3), m)]), "")
    (tmp_path / "metadata.yaml").write_text("\n".join(lines) + "\n")
    grebe.graph.preprocess(tmp_path, include_original_edge_id=True)
    compare(tmp_path, [{"seeds": rng.permutation(n)[:int(rng.integers(1, 8))].tolist(), "hops": int(rng.integers(1, 4))}
                       for _ in range(40)], False)


@pytest.mark.parametrize("round", range(3))
def test_graphs_with_types(tmp_path, round):
    print("seed", SEED + round)
    rng = np.random.default_rng(SEED + 100 + round)
    kinds = {k: int(rng.integers(3, 60)) for k in ("user", "Item", "tag", "shop")[:int(rng.integers(1, 5))]}
    lines = ["graph:\n  nodes:"] + [f"  - {{type: {k}, num: {n}}}" for k, n in kinds.items()] + ["  edges:"]
    # every type is a source: DGL forgets nodes of a type that is only a destination, and does not go on from them
    for i in range(len(kinds) + int(rng.integers(0, 5))):
        a, b = list(kinds)[i] if i < len(kinds) else str(rng.choice(list(kinds))), str(rng.choice(list(kinds)))
        m = int(rng.integers(0, 300)) if i else 100
        ends = np.stack([rng.integers(0, kinds[a], m), rng.integers(0, kinds[b], m)]).astype(rng.choice([np.int32, np.int64]))
        save_edges(tmp_path, lines, f"e{i}", ends, f"type: '{a}:r{rng.integers(0, 99)}_{i}:{b}', ")
    (tmp_path / "metadata.yaml").write_text("\n".join(lines) + "\n")
    grebe.graph.preprocess(tmp_path, include_original_edge_id=True)
    calls = []
    for _ in range(40):
        some = [k for k in kinds if rng.random() < 0.6] or list(kinds)[:1]
        calls.append({"seeds": {k: rng.permutation(kinds[k])[:int(rng.integers(1, 4))].tolist() for k in some},
                      "hops": int(rng.integers(1, 4))})
    compare(tmp_path, calls, True)
