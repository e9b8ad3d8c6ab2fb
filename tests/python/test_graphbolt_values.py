# SPDX-License-Identifier: Apache-2.0
"""What GraphBolt's pipelines are given and cannot use: it is refused, with the words of who gave it, and never cut, wrapped or taken for another."""

import os
import shutil

import numpy as np
import pytest

import grebe
import grebe.graph as gb
from grebe._graph_tensors import torch as find_torch

torch = find_torch()
KARATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "graph")
PAIRS = np.array([[1, 2], [3, 4]])


def tensors(*arrays):
    return tuple(a if torch is None or a.dtype in (np.uint16, np.uint32, np.uint64) else torch.from_numpy(a) for a in arrays)


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("values") / "karate"
    shutil.copytree(KARATE, folder)
    return gb.OnDiskDataset(folder, include_original_edge_id=True).load().graph


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """400 nodes in a ring, edges with times and features, preprocessed without the numbers of edges."""
    folder = tmp_path_factory.mktemp("timed")
    nodes = np.arange(400)
    np.save(folder / "e.npy", np.stack([np.roll(nodes, 1), nodes])[:, ::-1])
    np.save(folder / "t.npy", nodes)
    np.save(folder / "f.npy", np.arange(400.0).reshape(-1, 1))
    (folder / "metadata.yaml").write_text("""
graph:
  nodes:
  - num: 400
  edges:
  - {format: numpy, path: e.npy}
  feature_data:
  - {domain: edge, name: t, format: numpy, path: t.npy}
""")
    gb.preprocess(folder)
    return gb.OnDiskDataset(folder, force_preprocess=False).load()


def batches(arrays, names, size=4):
    return gb.ItemSampler(gb.ItemSet(tensors(*arrays), names), batch_size=size)


# ---- ids ----

@pytest.mark.parametrize("seeds", [np.array([1.7, 2.2]), np.array([True, False]), np.array([[1.7, 2.2]]), np.array([[True, False]])])
def test_seeds_that_are_no_whole_numbers_are_refused(graph, seeds):
    with pytest.raises(TypeError, match="seeds: expected whole numbers, found"):
        next(iter(batches([seeds], "seeds").sample_neighbor(graph, [2])))
    kind = {"a": seeds} if seeds.ndim == 1 else {"a:r:a": seeds}
    from grebe._graphbolt_pipe import _compact
    with pytest.raises(TypeError, match="seeds: expected whole numbers, found"):
        _compact(kind)


def test_ids_beyond_int64_are_refused(graph):
    seeds = np.array([2 ** 64 - 1], np.uint64)
    with pytest.raises(ValueError, match="seeds: expected numbers below 2\\*\\*63, found 18446744073709551615"):
        next(iter(gb.ItemSampler(gb.ItemSet(seeds if torch is None else Own(seeds), "seeds"), batch_size=1).sample_neighbor(graph, [2])))
    with pytest.raises(ValueError, match="below 2\\*\\*63"):
        graph._dataset.sample_negatives(np.array([[1, 2 ** 64 - 1]], np.uint64), 1)
    with pytest.raises(ValueError, match="below 2\\*\\*63"):
        graph._dataset.sample_neighbors(seeds, [2])


class Own:
    """Items that stay numpy's where torch is installed."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return self.values[np.asarray(index)]


def test_edges_to_leave_out_are_whole_numbers(graph):
    found = graph.sample_neighbors(np.array([1, 2]), [2])
    with pytest.raises(TypeError, match="edges: expected whole numbers"):
        found.exclude_edges(np.array([[1.5, 2.0]]))


def test_numbers_of_options_are_whole(graph):
    seeds = batches([np.arange(4)], "seeds")
    with pytest.raises(TypeError, match="fanouts: expected whole numbers"):
        seeds.sample_neighbor(graph, [1.5])
    with pytest.raises(TypeError):
        batches([np.arange(4)], "seeds", size=1.5)
    with pytest.raises(TypeError):
        seeds.sample_uniform_negative(graph, 1.5)
    with pytest.raises(ValueError, match="negative_ratio: expected a number from 0, found -1"):
        seeds.sample_uniform_negative(graph, -1)
    with pytest.raises(TypeError, match="random_seed: expected whole numbers"):
        graph.sample_layer_neighbors(np.arange(4), [2], random_seed=1.5)


# ---- negatives ----

@pytest.mark.parametrize("pairs, negatives", [(np.int32, [[2 ** 32 + 7], [5]]), (np.uint8, [[300], [5]]), (np.int16, [[40000], [-1]])])
def test_negatives_do_not_wrap_to_the_type_of_seeds(pairs, negatives):
    batch = next(iter(batches([PAIRS.astype(pairs), np.array(negatives)], ("seeds", "negative_dsts"))))
    assert np.asarray(batch.seeds).tolist() == [[1, 2], [3, 4], [1, negatives[0][0]], [3, negatives[1][0]]]


def test_negatives_of_the_type_of_seeds_keep_it():
    batch = next(iter(batches([PAIRS.astype(np.int32), np.array([7, 5], np.int32)], ("seeds", "negative_dsts"))))
    assert np.asarray(batch.seeds).dtype == np.int32


def test_drawn_negatives_do_not_wrap_to_the_type_of_seeds(timed):
    batch = next(iter(batches([PAIRS.astype(np.uint8)], "seeds").sample_uniform_negative(timed.graph, 200)))
    drawn = np.asarray(batch.seeds)[2:, 1]
    assert drawn.max() > 255 and drawn.max() < 400


@pytest.mark.parametrize("arrays, names, error, match", [
    ((PAIRS, np.array([[1.9], [2.9]])), ("seeds", "negative_dsts"), TypeError, "negatives: expected whole numbers, found float64"),
    ((PAIRS, np.arange(8).reshape(2, 2, 2)), ("seeds", "negative_dsts"), ValueError, "negatives: expected shape"),
    ((np.array([[1], [2]]),), ("negative_dsts",), ValueError, "negative_dsts: expected \"seeds\" in the set"),
    ((np.array([[1], [2]]),), ("negative_srcs",), ValueError, "negative_srcs: expected \"seeds\" in the set"),
    ((np.array([1, 2]), np.array([[1], [2]])), ("seeds", "negative_dsts"), ValueError, "negatives of seeds that are no pairs")])
def test_negatives_that_are_none_are_refused(arrays, names, error, match):
    with pytest.raises(error, match=match):
        next(iter(batches(arrays, names)))


# ---- times ----

@pytest.mark.parametrize("times, error", [(np.full(3, 50.9), TypeError), (np.full(3, np.nan), TypeError), (np.full(3, True), TypeError),
                                          (np.full(3, 2 ** 64 - 1, np.uint64), ValueError)])
def test_times_that_are_no_whole_numbers_are_refused(timed, times, error):
    items = gb.ItemSet((np.array([1, 2, 3]) if torch is None else torch.tensor([1, 2, 3]), Own(times)), ("seeds", "timestamp"))
    pipe = gb.ItemSampler(items, batch_size=3).temporal_sample_neighbor(timed.graph, [-1], edge_timestamp_attr_name="t")
    with pytest.raises(error, match="timestamp: expected"):
        next(iter(pipe))


# ---- sets by type ----

def test_sets_by_type_that_are_none_are_refused(tmp_path):
    with pytest.raises(ValueError, match="expected one type or more, found none"):
        gb.HeteroItemSet({})
    from grebe._graphbolt_pipe import _compact
    with pytest.raises(ValueError, match="seeds of type 'a': expected 1 nodes in each, as the type has, found 2"):
        _compact({"a": PAIRS})


# ---- edge ids ----

def test_features_of_edges_without_ids_are_refused_whatever_hands_the_layers_on(timed):
    def again(batch):
        return type(batch)(seeds=batch.seeds, sampled_subgraphs=batch.sampled_subgraphs, input_nodes=batch.input_nodes)
    store = gb.TorchBasedFeatureStore({("edge", None, "f"): np.arange(400.0).reshape(-1, 1)})
    pairs = batches([PAIRS], "seeds").sample_neighbor(timed.graph, [-1])
    for pipe in (pairs, pairs.transform(again), pairs.exclude_seed_edges(), pairs.exclude_seed_edges().transform(again)):
        with pytest.raises(grebe.SchemaMismatch, match="without original edge ids"):
            next(iter(pipe.fetch_feature(store, edge_feature_keys=["f"])))
    assert not timed.graph.in_subgraph(np.array([1]))._has_edge_ids


# ---- options of Dataset and init ----

def test_numbers_that_make_no_sense_are_told_in_words(graph):
    d = graph._dataset
    with pytest.raises(grebe.InvalidArgument, match="num_targets: expected a number from 1, found 0"):
        d.sample_negatives(PAIRS, 1, num_targets=0)
    with pytest.raises(grebe.InvalidArgument, match="negative_ratio: expected a number from 0, found -1"):
        d.loader("club", "train", [2], batch_size=2, negative_ratio=-1)


@pytest.mark.parametrize("options, match", [
    ({"nodes": -1}, "nodes: expected a number from 0, found -1"),
    ({"nodes": {"a": -1}}, "nodes of type a: expected a number from 0, found -1"),
    ({"task": {"x": 1}}, "task: expected sets"),
    ({"task": {"train_set": 1}, "train": {"seeds": "s.npy"}}, "task: \"train_set\" is the key of a set"),
    ({"train": {"": "s.npy"}}, "train_set: the name of an array is empty"),
    ({"train": {":seeds": "s.npy"}}, "train_set: \"seeds\" is given twice"),
    ({"node_features": {"": "s.npy"}}, "the name of a feature is empty"),
    ({"train": {"a:seeds": "s.npy"}}, "metadata.yaml, as it would be: tasks\\[0\\].train_set\\[0\\].type: the graph has no types, found a")])
def test_options_of_init_that_make_no_sense_are_told_in_words(tmp_path, options, match):
    np.save(tmp_path / "e.npy", np.array([[0, 1], [1, 0]]))
    np.save(tmp_path / "s.npy", np.array([0, 1]))
    files = {key: {k: str(tmp_path / v) for k, v in value.items()} if key in ("train", "node_features") else value for key, value in options.items()}
    if ":seeds" in files.get("train", {}):
        files["train"]["seeds"] = files["train"][":seeds"]
    with pytest.raises(grebe.InvalidArgument if "as it would be" not in match else grebe.SchemaMismatch, match=match):
        gb.init(tmp_path / "g", tmp_path / "e.npy", **files)
    assert not (tmp_path / "g").exists()
