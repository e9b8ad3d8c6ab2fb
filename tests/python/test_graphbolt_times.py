# SPDX-License-Identifier: Apache-2.0
"""GraphBolt's samplers by times: every sampled edge is old enough for the seed that it was reached from, and with -1 none is missing."""

import pickle

import numpy as np
import pytest

import grebe
import grebe.graph as gb

N = 40


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(3)
    edges = rng.integers(0, N, (2, 400))
    node_times, edge_times = rng.integers(0, 50, N), rng.integers(0, 50, 400)
    np.save(tmp_path / "e.npy", edges)
    np.save(tmp_path / "n.npy", node_times)
    np.save(tmp_path / "t.npy", edge_times)
    (tmp_path / "metadata.yaml").write_text(
        "graph:\n  nodes: [{num: 40}]\n  edges: [{format: numpy, path: e.npy}]\n  feature_data:\n"
        "  - {domain: node, name: t, format: numpy, path: n.npy}\n  - {domain: edge, name: t, format: numpy, path: t.npy}\n")
    graph = gb.OnDiskDataset(tmp_path, include_original_edge_id=True).load().graph
    return graph, edges, node_times, edge_times


def allowed(data, node, time, by, window=None):
    """Rows of the edge file, in its order."""
    _, (sources, targets), node_times, edge_times = data
    found = []
    for e in np.flatnonzero(targets == node):
        whens = [node_times[sources[e]]] * ("node" in by) + [edge_times[e]] * ("edge" in by)
        if all(w < time and (window is None or w > time - window) for w in whens):
            found.append(int(e))
    return found


def names(by):
    return {f"{domain}_timestamp_attr_name": "t" for domain in by}


def numbers(values):
    return np.asarray(values).tolist()


@pytest.mark.parametrize("window", [None, 20])
@pytest.mark.parametrize("by", [("node",), ("edge",), ("node", "edge")])
@pytest.mark.parametrize("layered", [False, True])
def test_all_that_is_old_enough_hop_by_hop(data, by, window, layered):
    graph, (sources, _), _, _ = data
    seeds, times = np.array([3, 3, 17, 0]), np.array([30, 10, 50, 0])
    items = gb.ItemSet((seeds, times), names=("seeds", "timestamp"))
    pipe = gb.ItemSampler(items, 4)
    step = pipe.temporal_sample_layer_neighbor if layered else pipe.temporal_sample_neighbor
    (batch,) = step(graph, [-1, -1], window=window, **names(by))
    nodes, when = seeds.tolist(), times.tolist()
    for layer in reversed(batch.sampled_subgraphs):
        assert numbers(layer.original_column_node_ids) == nodes
        lists = [allowed(data, node, t, by, window) for node, t in zip(nodes, when)]
        flat = [e for found in lists for e in found]
        assert np.diff(numbers(layer.sampled_csc.indptr)).tolist() == [len(found) for found in lists]
        assert sorted(numbers(layer.original_edge_ids)) == sorted(flat)
        rows = np.asarray(layer.original_row_node_ids)
        assert rows[np.asarray(layer.sampled_csc.indices)].tolist() == sources[np.asarray(layer.original_edge_ids)].tolist()
        when = when + [t for found, t in zip(lists, when) for _ in found]  # a node has the time of the seed that it was reached from
        nodes = rows.tolist()
        assert len(nodes) == len(when)
    assert numbers(batch.input_nodes) == nodes and batch.compacted_seeds is None
    assert len(nodes) > 4


def test_both_ends_of_a_pair_and_its_negatives_have_its_time(data):
    graph = data[0]
    pairs, times = np.array([[0, 1], [2, 3]]), np.array([10, 40])
    items = gb.ItemSet((pairs, times), names=("seeds", "timestamp"))
    (batch,) = gb.ItemSampler(items, 2).temporal_sample_neighbor(graph, [-1], edge_timestamp_attr_name="t")
    assert numbers(batch.compacted_seeds) == [[0, 1], [2, 3]]
    (layer,) = batch.sampled_subgraphs
    assert numbers(layer.original_column_node_ids) == [0, 1, 2, 3]
    counts = [len(allowed(data, node, t, ("edge",))) for node, t in zip(range(4), (10, 10, 40, 40))]
    assert np.diff(numbers(layer.sampled_csc.indptr)).tolist() == counts
    (batch,) = gb.ItemSampler(items, 2).sample_uniform_negative(graph, 2).temporal_sample_neighbor(graph, [-1], edge_timestamp_attr_name="t")
    ends = np.asarray(batch.seeds)
    assert ends.shape == (6, 2) and numbers(batch.compacted_seeds) == np.arange(12).reshape(6, 2).tolist()
    when = np.repeat([10, 40, 10, 10, 40, 40], 2)
    counts = [len(allowed(data, node, t, ("edge",))) for node, t in zip(ends.reshape(-1), when)]
    assert np.diff(numbers(batch.sampled_subgraphs[0].sampled_csc.indptr)).tolist() == counts


@pytest.mark.parametrize("layered", [False, True])
def test_a_number_of_them(data, layered):
    graph = data[0]
    seeds, times = np.arange(N), np.full(N, 25)
    call = graph.temporal_sample_layer_neighbors if layered else graph.temporal_sample_neighbors
    found = call(seeds, times, [2], edge_timestamp_attr_name="t", node_timestamp_attr_name="t")
    indptr, edges = numbers(found.sampled_csc.indptr), numbers(found.original_edge_ids)
    for i in range(N):
        mine, may = edges[indptr[i]:indptr[i + 1]], allowed(data, i, 25, ("node", "edge"))
        assert len(set(mine)) == len(mine) == min(2, len(may)) and set(mine) <= set(may)
    assert numbers(found.sampled_csc.indices) == data[1][0][edges].tolist()
    again = call(seeds, times, [2], True, edge_timestamp_attr_name="t")
    counts = np.diff(numbers(again.sampled_csc.indptr))
    assert counts.tolist() == [2 if allowed(data, i, 25, ("edge",)) else 0 for i in range(N)]


def test_what_cannot_be(data):
    graph = data[0]
    items = gb.ItemSet((np.arange(3), np.arange(3)), names=("seeds", "timestamp"))
    assert len(list(pickle.loads(pickle.dumps(gb.ItemSampler(items, 2).temporal_sample_neighbor(graph, [2], node_timestamp_attr_name="t"))))) == 2
    with pytest.raises(ValueError, match="timestamp"):
        list(gb.ItemSampler(gb.ItemSet(np.arange(3), names="seeds"), 2).temporal_sample_neighbor(graph, [2], node_timestamp_attr_name="t"))
    with pytest.raises(grebe.NotFound):
        gb.ItemSampler(items, 2).temporal_sample_neighbor(graph, [2], node_timestamp_attr_name="u")
    with pytest.raises(grebe.InvalidArgument):
        gb.ItemSampler(items, 2).temporal_sample_neighbor(graph, [2], window=3)
    with pytest.raises(ValueError, match="for each seed"):
        graph.temporal_sample_neighbors([1, 2], [5], [2], edge_timestamp_attr_name="t")
    with pytest.raises(grebe.Error):
        graph._dataset.sampler([2], edge_times="t").run([1, 2])
    (batch,) = gb.ItemSampler(items, 3).temporal_sample_neighbor(graph, [-1])  # by no times: all, and none merged
    degrees = [int((data[1][1] == i).sum()) for i in range(3)]
    assert np.diff(numbers(batch.sampled_subgraphs[0].sampled_csc.indptr)).tolist() == degrees
    assert len(batch.input_nodes) == 3 + sum(degrees)
