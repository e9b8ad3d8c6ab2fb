# SPDX-License-Identifier: Apache-2.0
"""grebe.graph beside values that GraphBolt's own tests and our records of it hold; seeds of any width; what is no seed."""

import json
import os
import shutil

import numpy as np
import pytest

import grebe
import grebe.graph

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "graphbolt", "cases")


def lines(case, name):
    with open(os.path.join(CASES, case, "expect", name)) as f:
        return [json.loads(line) for line in f]


def open_case(case, tmp_path):
    shutil.copytree(os.path.join(CASES, case, "raw"), tmp_path / case)
    grebe.graph.preprocess(tmp_path / case, include_original_edge_id=True)
    return grebe.graph.open(tmp_path / case)


def arrays(seeds, dtype):
    return {k: np.array(v, dtype) for k, v in seeds.items()} if isinstance(seeds, dict) else np.array(seeds, dtype)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint16])
@pytest.mark.parametrize("case", ["homo_csv", "homo_attr", "hetero_mix", "hetero_attr", "one_named_type", "homo_no_edges", "dtypes"])
def test_layers_of_any_seeds(case, dtype, tmp_path):
    g = open_case(case, tmp_path)
    records = [r for r in lines(case, "samples.jsonl") if r["op"] == "layers"]
    assert len(records) == 9
    for record in records:
        seeds, fanouts, expect = record["args"]["seeds"], record["args"]["fanouts"], record["expect"]
        batch = g.sample_neighbors(arrays(seeds, dtype), fanouts)
        nodes = expect["input_nodes"] if isinstance(expect["input_nodes"], dict) else {None: expect["input_nodes"]}
        for kind, ids in nodes.items():
            found = batch.nodes if kind is None else batch.nodes[kind]
            assert not ids or found.tolist() == ids  # a type that is only a destination is missing there
        for layer, want in zip(batch.layers, expect["layers"]):
            typed = isinstance(want["edge_ids"], dict)
            for kind, ids in (want["edge_ids"] if typed else {None: want["edge_ids"]}).items():
                indptr, indices, edges = layer.relations[kind] if typed else layer.relations
                csc = want["csc"][kind] if typed else want["csc"]
                assert (indptr.tolist(), indices.tolist(), edges.tolist()) == (csc["indptr"], csc["indices"], ids)


@pytest.mark.parametrize("seeds, words", [
    ({"paper": [10**6]}, "1000000"), ({"paper": [-1]}, "-1"), ({"nobody": [0]}, "nobody"), ({"paper": [0.5]}, None), ([0], None)])
def test_what_is_no_seed(seeds, words, tmp_path):
    g = open_case("hetero_mix", tmp_path)
    with pytest.raises((grebe.InvalidArgument, ValueError, TypeError), match=words):
        g.sample_neighbors(seeds, [1])


def test_an_id_behind_its_type_is_no_node_of_the_next(tmp_path):
    g = open_case("hetero_mix", tmp_path)
    for kind, n in g.node_types.items():
        if n > 0:
            g.sample_neighbors({kind: [n - 1]}, [1])
        with pytest.raises(grebe.InvalidArgument, match=str(n)):
            g.sample_neighbors({kind: [n]}, [1])


def test_numbers_of_nodes_and_edges(tmp_path):
    """GraphBolt's test of num_nodes and num_edges: five types of edges, one of them without any."""
    edges = {"N0:R0:N0": ([0, 1], [0, 0]), "N1:R2:N0": ([2, 0, 1], [0, 1, 1]), "N0:R1:N1": ([0, 1, 1, 0], [0, 0, 1, 2]),
             "N1:R3:N1": ([0, 1, 2], [1, 2, 2]), "N0:R4:N0": ([], [])}
    text = "graph:\n  nodes:\n  - {type: N0, num: 2}\n  - {type: N1, num: 3}\n  edges:\n"
    for kind, ends in edges.items():
        name = kind.replace(":", "_") + ".npy"
        np.save(tmp_path / name, np.array(ends, np.int64))
        text += f"  - {{type: '{kind}', format: numpy, path: {name}}}\n"
    (tmp_path / "metadata.yaml").write_text(text)
    grebe.graph.preprocess(tmp_path)
    g = grebe.graph.open(tmp_path)
    assert (g.num_nodes, g.num_edges) == (5, 12)
    assert g.node_types == {"N0": 2, "N1": 3}
    assert g.edge_types == {"N0:R0:N0": 2, "N0:R1:N1": 4, "N1:R2:N0": 3, "N1:R3:N1": 3, "N0:R4:N0": 0}
    assert list(g.edge_types) == sorted(edges)


def test_a_single_named_type_has_types(tmp_path):
    g = open_case("one_named_type", tmp_path)
    assert list(g.node_types.values()) == [g.num_nodes] and list(g.edge_types.values()) == [g.num_edges]


def star(tmp_path, n, **attributes):
    """Node n with an edge from each other node; attributes of these edges."""
    np.save(tmp_path / "e.npy", np.stack([np.arange(n), np.full(n, n)]))
    text = f"graph:\n  nodes: [{{num: {n + 1}}}]\n  edges: [{{format: numpy, path: e.npy}}]\n"
    for i, (name, values) in enumerate(attributes.items()):
        np.save(tmp_path / f"{name}.npy", values)
        text += ("" if i else "  feature_data:\n") + f"  - {{domain: edge, name: {name}, format: numpy, path: {name}.npy}}\n"
    np.save(tmp_path / "seeds.npy", np.full(6, n))
    np.save(tmp_path / "timestamp.npy", np.arange(6) * 20)
    text += ("tasks:\n- name: t\n  train_set:\n  - data:\n    - {name: seeds, format: numpy, path: seeds.npy}\n"
             "    - {name: timestamp, format: numpy, path: timestamp.npy}\n")
    (tmp_path / "metadata.yaml").write_text(text)
    grebe.graph.preprocess(tmp_path, include_original_edge_id=True)
    return grebe.graph.open(tmp_path)


def test_batches_that_depend_on_one_another(tmp_path):
    """GraphBolt's test of batch_dependency: of 200 neighbours those of a batch and of the next are much the same, and they drift."""
    g = star(tmp_path, 200)
    sampler = g.sampler([5, 5], method="labor", layer_dependency=True, batch_dependency=100)
    runs = [sampler.run([200], seed) for seed in range(300)]
    near = [set(b.layers[1].relations[2].tolist()) for b in runs]
    assert all(len(a & b) >= 3 for a, b in zip(near, near[1:]))
    assert 20 < len(set().union(*near)) < 150
    assert all(near[i] == set(b.layers[0].relations[2].tolist()) for i, b in enumerate(runs))
    for bad in (dict(batch_dependency=2), dict(layer_dependency=True), dict(method="labor", batch_dependency=0)):
        with pytest.raises((ValueError, grebe.InvalidArgument)):
            g.sampler([5], **bad)


def test_epochs_by_time(tmp_path):
    times = np.random.default_rng(4).permutation(100)
    g = star(tmp_path, 100, time=times)
    for window in (None, 15):
        n = 0
        for batch in g.loader("t", fanouts=[-1], batch_size=4, edge_times="time", window=window):
            indptr, _, edges = batch.layers[0].relations
            for i in range(len(indptr) - 1):
                at, found = 20 * n, sorted(times[edges[indptr[i]:indptr[i + 1]]])
                assert found == list(range(0 if window is None else max(0, at - window + 1), min(at, 100)))
                n += 1
        assert n == 6
    with pytest.raises(grebe.NotFound):
        g.loader("t", fanouts=[-1], batch_size=4, node_times="nothing")
