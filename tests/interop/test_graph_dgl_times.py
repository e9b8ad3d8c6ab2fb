# SPDX-License-Identifier: Apache-2.0
"""Batches of random graphs with times, all neighbours that are old enough: TemporalNeighborSampler gives what DGL's gives, in its order.

DGL runs in a Python of its own, as in test_graph_dgl_layers.py. Left out is where DGL is wrong: pairs of a graph without types, whose
times it gives to other ends, are given one time in all of a batch; all types of nodes have seeds, for those that it adds are int64 where the graph is int32; nodes have
fewer than 1,000 neighbours."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import grebe.graph as gb

TOOL = pathlib.Path(__file__).resolve().parent / "tools" / "graph_dgl_times.py"
PYTHON = os.environ.get("GREBE_TEST_DGL") or (sys.executable if importlib.util.find_spec("dgl") else None)
pytestmark = pytest.mark.skipif(PYTHON is None, reason="DGL is not installed, and GREBE_TEST_DGL names no Python that has it")
SEED = int(os.environ.get("GREBE_TEST_SEED", "1"))
NAMES = [("t", None), (None, "t"), ("t", "t")]


def dgl_batches(folder, calls):
    done = subprocess.run([PYTHON, str(TOOL), str(folder)], input="".join(json.dumps(c) + "\n" for c in calls), capture_output=True,
                          text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def lists(values):
    return {k: lists(v) for k, v in values.items()} if isinstance(values, dict) else None if values is None else np.asarray(values).tolist()


def items_of(seeds, times):
    return gb.ItemSet((np.array(seeds), np.array(times)), names=("seeds", "timestamp"))


def our_batch(graph, call):
    seeds, times = call["seeds"], call["times"]
    if isinstance(seeds, dict):
        items, n = gb.HeteroItemSet({k: items_of(v, times[k]) for k, v in seeds.items()}), sum(map(len, seeds.values()))
    else:
        items, n = items_of(seeds, times), len(seeds)
    pipe = gb.ItemSampler(items, n).temporal_sample_neighbor(graph, [-1] * call["hops"], False, None, call["node"], call["edge"])
    return next(iter(pipe))


def without_empty(values):
    """DGL leaves out types of nodes and edges that nothing was found of, and we do not."""
    return {k: v for k, v in values.items() if v} if isinstance(values, dict) else values


def compare(folder, calls):
    graph = gb.OnDiskDataset(folder, include_original_edge_id=True).load().graph
    answers = dgl_batches(folder, calls)
    assert len(answers) == len(calls)
    n_edges = 0
    for call, want in zip(calls, answers):
        batch = our_batch(graph, call)
        assert without_empty(lists(batch.input_nodes)) == without_empty(want["input_nodes"])
        if want["compacted"] is not None and np.ndim(next(iter(call["seeds"].values())) if isinstance(call["seeds"], dict) else call["seeds"]) == 2:
            assert lists(batch.compacted_seeds) == want["compacted"]
        assert len(batch.sampled_subgraphs) == len(want["layers"])
        for layer, other in zip(batch.sampled_subgraphs, want["layers"]):
            assert without_empty(lists(layer.original_column_node_ids)) == without_empty(other["columns"])
            assert without_empty(lists(layer.original_edge_ids)) == without_empty(other["edge_ids"])
            for kind, ids in (other["edge_ids"] if isinstance(other["edge_ids"], dict) else {None: other["edge_ids"]}).items():
                csc, wanted = (layer.sampled_csc, other["csc"]) if kind is None else (layer.sampled_csc[kind], other["csc"][kind])
                assert (lists(csc.indptr), lists(csc.indices)) == (wanted["indptr"], wanted["indices"])
                n_edges += len(ids)
    assert n_edges > 100


def make(folder, rng, kinds, relations):
    """Times from 0 to 99 of all nodes and edges; seeds' times are such that some fall on a bound."""
    lines = ["graph:", "  nodes:"] + [f"  - {{{'' if k is None else f'type: {k}, '}num: {n}}}" for k, n in kinds.items()] + ["  edges:"]
    features = ["  feature_data:"]
    for i, (kind, n) in enumerate(kinds.items()):
        np.save(folder / f"n{i}.npy", rng.integers(0, 100, n))
        features.append(f"  - {{domain: node, {'' if kind is None else f'type: {kind}, '}name: t, format: numpy, path: n{i}.npy}}")
    for i, (kind, source, target, m) in enumerate(relations):
        np.save(folder / f"e{i}.npy", np.stack([rng.integers(0, kinds[source], m), rng.integers(0, kinds[target], m)]))
        np.save(folder / f"t{i}.npy", rng.integers(0, 100, m))
        typed = "" if kind is None else f"type: '{kind}', "
        lines.append(f"  - {{{typed}format: numpy, path: e{i}.npy}}")
        features.append(f"  - {{domain: edge, {typed}name: t, format: numpy, path: t{i}.npy}}")
    (folder / "metadata.yaml").write_text("\n".join(lines + features) + "\n")
    gb.preprocess(folder, include_original_edge_id=True)


def call_of(rng, seeds, times, names):
    return {"seeds": seeds, "times": times, "hops": int(rng.integers(1, 3)), "node": names[0], "edge": names[1]}


@pytest.mark.parametrize("names", NAMES)
def test_graphs_without_types(tmp_path, names):
    print("seed", SEED)
    rng = np.random.default_rng(SEED)
    n = 60
    make(tmp_path, rng, {None: n}, [(None, None, None, 500)])
    calls = []
    for i in range(30):
        k = int(rng.integers(1, 6))
        pairs = i % 3 == 0
        seeds = rng.integers(0, n, (k, 2) if pairs else k).tolist()
        calls.append(call_of(rng, seeds, ([int(rng.integers(0, 101))] * k if pairs else rng.integers(0, 101, k).tolist()), names))
    compare(tmp_path, calls)


@pytest.mark.parametrize("names", NAMES)
def test_graphs_with_types(tmp_path, names):
    print("seed", SEED)
    rng = np.random.default_rng(SEED + 50)
    kinds = {"user": 30, "Item": 20, "tag": 5}
    relations = [("user:buys:Item", "user", "Item", 300), ("Item:of:user", "Item", "user", 200), ("tag:is:Item", "tag", "Item", 60),
                 ("user:knows:user", "user", "user", 90), ("Item:has:tag", "Item", "tag", 40)]
    make(tmp_path, rng, kinds, relations)
    calls = []
    for i in range(30):
        if i % 2:
            some = {k: int(rng.integers(1, 4)) for k in kinds}
            seeds = {k: rng.integers(0, kinds[k], m).tolist() for k, m in some.items()}
        else:
            some = {r[0]: int(rng.integers(1, 4)) for r in relations[:3 + i % 3]}
            seeds = {r[0]: np.stack([rng.integers(0, kinds[r[1]], some[r[0]]), rng.integers(0, kinds[r[2]], some[r[0]])], 1).tolist()
                     for r in relations if r[0] in some}
        calls.append(call_of(rng, seeds, {k: rng.integers(0, 101, m).tolist() for k, m in some.items()}, names))
    compare(tmp_path, calls)
