# SPDX-License-Identifier: Apache-2.0
"""GraphBolt's names over grebe.graph, batches as PyG has them, DLPack; graphs from files and to files. With torch where it is installed."""

import gc
import json
import os
import pickle
import shutil
import subprocess

import numpy as np
import pytest

import grebe
import grebe.graph as gb
from grebe._graph_tensors import torch as find_torch

torch = find_torch()
HERE = os.path.dirname(os.path.abspath(__file__))
KARATE = os.path.join(HERE, "..", "..", "examples", "graph")
CASES = os.path.join(HERE, "..", "data", "graphbolt", "cases")
needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")


def ids(values):
    return np.array(values, np.int64) if torch is None else torch.tensor(values)


def lists(value):
    if isinstance(value, dict):
        return {k: lists(v) for k, v in value.items()}
    return value if value is None else np.asarray(value).tolist()


def make(folder, n, src, dst, more=""):
    """An untyped graph of these edges."""
    np.save(folder / "e.npy", np.array([src, dst], np.int64))
    (folder / "metadata.yaml").write_text(f"graph:\n  nodes:\n  - num: {n}\n  edges:\n  - {{format: numpy, path: e.npy}}\n{more}")
    return gb.OnDiskDataset(folder, include_original_edge_id=True).load()


@pytest.fixture
def karate(tmp_path):
    shutil.copytree(KARATE, tmp_path / "karate")
    return gb.OnDiskDataset(tmp_path / "karate", include_original_edge_id=True).load()


@pytest.fixture
def typed(tmp_path):
    shutil.copytree(os.path.join(CASES, "hetero_mix", "raw"), tmp_path / "typed")
    return gb.OnDiskDataset(tmp_path / "typed", include_original_edge_id=True).load()


# ---- the data set ----

def test_a_raw_data_set_is_preprocessed_and_opened(karate):
    assert karate.dataset_name == "karate"
    assert karate.graph.total_num_nodes == karate.graph.num_nodes == 34 and karate.graph.total_num_edges == 156
    assert karate.graph.node_type_to_id is None and karate.graph.type_per_edge is None
    assert len(karate.graph.csc_indptr) == 35 and len(karate.graph.indices) == 156
    assert karate.tasks[0].metadata == {"name": "club", "num_classes": 2}
    assert karate.tasks[0].train_set.names == ("seeds", "labels") and len(karate.tasks[0].train_set) == 20
    assert karate.tasks[0].validation_set is None
    assert lists(karate.all_nodes_set[:]) == list(range(34)) and karate.all_nodes_set.names == ("seeds",)
    if torch is not None:
        assert isinstance(karate.graph.indices, torch.Tensor) and karate.graph.indices.dtype == torch.int32


def test_what_is_preprocessed_opens_as_it_is():
    d = gb.OnDiskDataset(os.path.join(CASES, "hetero_mix", "dgl_preprocessed")).load()
    assert d.graph.num_nodes == {"Zz": 0, "author": 6, "inst": 4, "paper": 9}
    assert d.graph.node_type_to_id == {"Zz": 0, "author": 1, "inst": 2, "paper": 3}
    assert list(d.graph.edge_type_to_id.values()) == [0, 1, 2, 3, 4]
    assert d.tasks[0].train_set[0] == {"author": (2, 0)}


def test_paths_and_tasks_that_are_none(tmp_path, karate):
    with pytest.raises(RuntimeError, match="Invalid dataset path"):
        gb.OnDiskDataset(tmp_path / "nowhere")
    with pytest.raises(RuntimeError, match="must be a directory"):
        gb.OnDiskDataset(os.path.join(KARATE, "edges.csv"))
    os.mkdir(tmp_path / "empty")
    with pytest.raises(RuntimeError, match="metadata.yaml does not exist"):
        gb.OnDiskDataset(tmp_path / "empty")
    with pytest.raises(AssertionError, match="load"):
        gb.OnDiskDataset(tmp_path / "karate").graph
    with pytest.raises(TypeError):
        karate.load(tasks=2)
    with pytest.warns(UserWarning, match="no task 'nothing'"):
        assert [t.metadata["name"] for t in karate.load(tasks=["nothing", "club"]).tasks] == ["club"]
    with pytest.raises(AttributeError):
        gb.Nothing


def test_rows_of_features(karate):
    wanted = np.load(os.path.join(KARATE, "degrees.npy"))
    read = karate.feature.read("node", None, "degrees", ids([33, 0, 33]))
    np.testing.assert_array_equal(read, wanted[[33, 0, 33]])
    np.testing.assert_array_equal(karate.feature.read("node", None, "degrees"), wanted)
    assert karate.feature.count("node", None, "degrees") == 34 and tuple(karate.feature.size("node", None, "degrees")) == (2,)
    assert karate.feature.keys() == [("node", None, "degrees")] and ("node", None, "x") not in karate.feature
    assert tuple(karate.feature.read("node", None, "degrees", ids([]))[:0].shape) == (0, 2)
    with pytest.raises(grebe.InvalidArgument):
        karate.feature.read("node", None, "degrees", ids([34]))


def test_features_of_memory_are_updated():
    f = gb.TorchBasedFeature(ids([[1, 2, 3], [4, 5, 6]]), metadata={"a": 1})
    assert lists(f.read(ids([0]))) == [[1, 2, 3]] and tuple(f.size()) == (3,) and f.count() == 2 and f.metadata() == {"a": 1}
    f.update(ids([[0, 1, 2]]), ids([0]))
    assert lists(f.read()) == [[0, 1, 2], [4, 5, 6]] and lists(f.read(ids([1, 0, 1]))) == [[4, 5, 6], [0, 1, 2], [4, 5, 6]]
    f.update(ids([[5, 1, 3]]))
    assert f.count() == 1 and tuple(gb.TorchBasedFeature(ids([[[1, 2], [3, 4]], [[2, 5], [4, 3]]])).size()) == (2, 2)
    for wrong in ([1], [-1]):
        with pytest.raises(grebe.InvalidArgument, match="no row"):
            f.read(ids(wrong))
    with pytest.raises(ValueError, match="expected shape"):
        f.update(ids([[5, 1]]), ids([0]))
    with pytest.raises(ValueError, match="two dimensions"):
        gb.TorchBasedFeature(ids([1, 2]))


def test_files_of_features_stay(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6, dtype=np.int64).reshape(3, 2))
    item = "- {{domain: node, name: {}, format: numpy, in_memory: {}, path: x.npy}}\n"
    store = make(tmp_path, 3, [0], [1], "feature_data:\n" + item.format("x", "true") + item.format("y", "false")).feature
    store.update("node", None, "x", ids([[7, 8]]), ids([1]))
    assert lists(store.read("node", None, "x")) == [[0, 1], [7, 8], [4, 5]] and lists(store.read("node", None, "x", ids([1, 2]))) == [[7, 8], [4, 5]]
    with pytest.raises(grebe.Unsupported, match="read only"):
        store.update("node", None, "y", ids([[7, 8]]), ids([1]))
    assert lists(store.read("node", None, "y")) == [[0, 1], [2, 3], [4, 5]]
    assert lists(gb.OnDiskDataset(tmp_path).load().feature.read("node", None, "x")) == [[0, 1], [2, 3], [4, 5]]


def test_pickles_hold_the_path(karate):
    whole = gb.open(karate._path, threads=2)
    features = np.load(os.path.join(KARATE, "degrees.npy"))
    again, x, task, sampler = pickle.loads(pickle.dumps((whole, whole.features["degrees"], whole.tasks[0], whole.sampler([2, -1]))))
    assert again.num_edges == whole.num_edges and again._threads == 2 and x.read([5, 3]).tolist() == features[[5, 3]].tolist()
    assert task.metadata == whole.tasks[0].metadata and lists(task.train_set[None]["seeds"]) == lists(whole.tasks[0].train_set[None]["seeds"])
    assert sampler.run([3, 33], 7).nodes.tolist() == whole.sampler([2, -1]).run([3, 33], 7).nodes.tolist()
    karate.feature.read("node", None, "degrees")
    text = pickle.dumps((karate, karate.graph, karate.feature))
    assert len(text) < 4000 and features.tobytes()[:64] not in text
    found, graph, store = pickle.loads(text)
    assert lists(store.read("node", None, "degrees", ids([1]))) == features[[1]].tolist()
    assert graph.total_num_edges == found.graph.total_num_edges == whole.num_edges


# ---- sets ----

def test_item_sets():
    s = gb.ItemSet((ids([5, 6, 7]), ids([1, 0, 1])), names=("seeds", "labels"))
    assert len(s) == 3 and lists(s[1]) == [6, 0] and lists(s[-1]) == [7, 1] and [lists(a) for a in s[1:]] == [[6, 7], [0, 1]]
    with pytest.raises(IndexError):
        s[3]
    with pytest.raises(ValueError, match="Size mismatch"):
        gb.ItemSet((ids([1]), ids([1, 2])))
    with pytest.raises(ValueError, match="don't match"):
        gb.ItemSet(ids([1]), names=("a", "b"))
    h = gb.HeteroItemSet({"user": gb.ItemSet(ids([0, 1, 2, 3, 4]), "seeds"), "item": gb.ItemSet(ids([5, 6]), "seeds")})
    assert len(h) == 7 and lists(h[3:6]) == {"user": [3, 4], "item": [5]} and h[6] == {"item": 6} and h[-7] == {"user": 0}
    assert lists(h[ids([6, 0, 5, 4])]) == {"user": [0, 4], "item": [6, 5]}
    with pytest.raises(ValueError, match="same names"):
        gb.HeteroItemSet({"user": gb.ItemSet(ids([0]), "seeds"), "item": gb.ItemSet(ids([5]), "labels")})


def test_batches_are_consecutive():
    h = gb.HeteroItemSet({"user": gb.ItemSet(5, "seeds"), "item": gb.ItemSet(6, "seeds")})
    batches = [lists(b.seeds) for b in gb.ItemSampler(h, 4)]
    assert batches == [{"user": [0, 1, 2, 3]}, {"user": [4], "item": [0, 1, 2]}, {"item": [3, 4, 5]}]
    assert len(gb.ItemSampler(h, 4)) == 3 and len(gb.ItemSampler(h, 4, drop_last=True)) == len(list(gb.ItemSampler(h, 4, drop_last=True))) == 2
    assert list(gb.ItemSampler(gb.ItemSet(0, "seeds"), 4)) == []


@needs_torch
def test_orders_are_graphbolts():
    sampler = gb.ItemSampler(gb.ItemSet(10, "seeds"), 10, shuffle=True, seed=42)
    assert [lists(next(iter(list(sampler))).seeds) for _ in range(2)] == [[2, 6, 1, 8, 4, 5, 0, 9, 3, 7], [8, 4, 9, 0, 5, 1, 6, 7, 2, 3]]
    h = gb.HeteroItemSet({"user": gb.ItemSet(5, "seeds"), "item": gb.ItemSet(6, "seeds")})
    assert [lists(b.seeds) for b in gb.ItemSampler(h, 4, shuffle=True, seed=7)] == [
        {"user": [3, 0, 2], "item": [4]}, {"user": [4], "item": [0, 3, 5]}, {"user": [1], "item": [2, 1]}]


def test_ranges_of_processes():
    """GraphBolt's own ranges, and that all of them together are the epoch."""
    with open(os.path.join(CASES, "..", "golden.json")) as f:
        ranges = json.load(f)["calculate_range"]
    n_seen = 0
    for case in ranges:
        distributed, total, replicas, rank, workers, _, size, drop_last, drop_uneven = case["args"]
        if workers > 1 or total == 0:
            continue
        n_seen += 1
        s = gb.ItemSet(total, "seeds")
        if distributed:
            sampler = gb.DistributedItemSampler(s, size, drop_last=drop_last, num_replicas=replicas, rank=rank, drop_uneven_inputs=drop_uneven)
        else:
            sampler = gb.ItemSampler(s, size, drop_last=drop_last)
        begin, _, n = case["out"]
        assert lists(sum((lists(b.seeds) for b in sampler), [])) == list(range(begin, begin + n)), case
    assert n_seen > 20
    shuffled = [[lists(b.seeds) for b in gb.DistributedItemSampler(gb.ItemSet(10, "seeds"), 2, shuffle=True, num_replicas=3, rank=r, seed=5)]
                for r in range(3)]
    whole = [lists(b.seeds) for b in gb.ItemSampler(gb.ItemSet(10, "seeds"), 2, shuffle=True, seed=5)]
    assert sum((sum(r, []) for r in shuffled), []) == sum(whole, [])
    with pytest.raises(RuntimeError, match="num_replicas"):
        gb.DistributedItemSampler(gb.ItemSet(10, "seeds"), 2)
    with pytest.raises(ValueError, match="rank"):
        gb.DistributedItemSampler(gb.ItemSet(10, "seeds"), 2, num_replicas=2, rank=2)
    with pytest.raises(ValueError, match="seed"):
        gb.DistributedItemSampler(gb.ItemSet(10, "seeds"), 2, shuffle=True, num_replicas=2, rank=0)


# ---- sampling: values that GraphBolt's own tests expect ----

@pytest.fixture
def small(tmp_path):
    return make(tmp_path, 8, [5, 0, 6, 7, 2, 2, 4], [0, 1, 2, 2, 3, 4, 4])


@pytest.mark.parametrize("seeds, compacted", [([0, 3, 4], None), ([[0, 3], [4, 4]], [[0, 1], [2, 2]]), ([[0, 3, 3], [4, 4, 4]], [[0, 1, 1], [2, 2, 2]])])
def test_two_hops(small, seeds, compacted):
    batch, = gb.ItemSampler(gb.ItemSet(ids(seeds), "seeds"), 3).sample_neighbor(small.graph, [ids([2]), ids([2])])
    outer, inner = batch.sampled_subgraphs
    assert lists(outer.original_row_node_ids) == lists(batch.input_nodes) == [0, 3, 4, 5, 2, 6, 7] and lists(outer.original_column_node_ids) == [0, 3, 4, 5, 2]
    assert lists(outer.sampled_csc.indptr) == [0, 1, 2, 4, 4, 6] and lists(outer.sampled_csc.indices) == [3, 4, 4, 2, 5, 6]
    assert lists(outer.original_edge_ids) == [0, 4, 5, 6, 2, 3]
    assert lists(inner.sampled_csc.indptr) == [0, 1, 2, 4] and lists(inner.sampled_csc.indices) == [3, 4, 4, 2]
    assert lists(inner.original_row_node_ids) == [0, 3, 4, 5, 2] and lists(inner.original_column_node_ids) == [0, 3, 4]
    assert lists(batch.compacted_seeds) == compacted and batch.num_layers() == 2 and lists(batch.edge_ids(1)) == [0, 4, 5, 6]
    (x, x_dst), index, size = inner.to_pyg(ids([10, 20, 30, 40, 50]))
    assert lists(x_dst) == [10, 20, 30] and lists(index) == [[3, 4, 4, 2], [0, 1, 2, 2]] and size == (5, 3)


def test_seed_edges_are_left_out(small):
    pipe = gb.ItemSampler(gb.ItemSet(ids([[0, 3], [4, 4]]), "seeds"), 2).sample_neighbor(small.graph, [ids([2]), ids([2])])
    for batch in (next(iter(pipe.exclude_seed_edges())), gb.exclude_seed_edges(next(iter(pipe)))):
        outer, inner = batch.sampled_subgraphs
        assert lists(outer.sampled_csc.indptr) == [0, 1, 2, 3, 3, 5] and lists(outer.sampled_csc.indices) == [3, 4, 4, 5, 6]
        assert lists(outer.original_edge_ids) == [0, 4, 5, 2, 3] and lists(outer.original_row_node_ids) == [0, 3, 4, 5, 2, 6, 7]
        assert lists(inner.sampled_csc.indptr) == [0, 1, 2, 3] and lists(inner.sampled_csc.indices) == [3, 4, 4]
        assert lists(inner.original_edge_ids) == [0, 4, 5]
    # 3 -> 2 was never there, 2 -> 3 is, by the other direction
    pipe = gb.ItemSampler(gb.ItemSet(ids([[3, 2]]), "seeds"), 1).sample_neighbor(small.graph, [ids([-1])])
    assert lists(next(iter(pipe.exclude_seed_edges())).edge_ids(0)) == [4, 2, 3]
    assert lists(next(iter(pipe.exclude_seed_edges(include_reverse_edges=True))).edge_ids(0)) == [2, 3]


@pytest.mark.parametrize("has_ids", [True, False])
def test_excluded_edges(has_ids):
    """The values of GraphBolt's own tests."""
    names = ids([10, 15, 11, 24, 9]) if has_ids else None
    csc = gb.CSCFormatBase(ids([0, 0, 1, 3, 3, 5]), ids([0, 3, 3, 2, 2]))
    left = gb.SampledSubgraph(csc, names, names, ids([5, 9, 9, 10, 10])).exclude_edges(ids([[24, 11]] if has_ids else [[3, 2]]))
    assert lists(left.sampled_csc.indptr) == [0, 0, 1, 1, 1, 3] and lists(left.sampled_csc.indices) == [0, 2, 2]
    assert lists(left.original_edge_ids) == [5, 10, 10] and lists(left.original_row_node_ids) == lists(names)
    kind, a, b = "A:r:B", ids([13, 14, 15]), ids([10, 11, 12])
    rows, columns = ({"A": a, "B": b}, {"B": b}) if has_ids else (None, None)
    sub = gb.SampledSubgraph({kind: gb.CSCFormatBase(ids([0, 2, 4, 5]), ids([2, 2, 1, 1, 0]))}, columns, rows, {kind: ids([19, 19, 20, 20, 21])})
    left = sub.exclude_edges({kind: ids([[15, 10], [13, 12]] if has_ids else [[2, 0], [0, 2]]), "C:s:B": ids([[0, 0]])})
    assert lists(left.sampled_csc[kind].indptr) == [0, 0, 2, 2] and lists(left.sampled_csc[kind].indices) == [1, 1]
    assert lists(left.original_edge_ids) == {kind: [20, 20]}


def test_reverse_edges():
    assert lists(gb.add_reverse_edges(ids([[0, 1], [2, 3]]))) == [[0, 1], [2, 3], [1, 0], [3, 2]]
    found = gb.add_reverse_edges({"n1:e1:n2": ids([[0, 1], [2, 3]]), "n2:e2:n1": ids([[5, 6]])}, {"n1:e1:n2": "n2:e2:n1"})
    assert lists(found) == {"n1:e1:n2": [[0, 1], [2, 3]], "n2:e2:n1": [[5, 6], [1, 0], [3, 2]]}
    with pytest.raises(ValueError, match="reverse_etypes_mapping"):
        gb.add_reverse_edges({"n1:e1:n2": ids([[0, 1]])})


@pytest.mark.parametrize("seeds, outer, inner", [
    ([0, 3, 4], [0, 1, 2, 4, 4, 6, 8, 10], [0, 1, 2, 4]),
    ([[0, 1], [3, 5]], [0, 1, 2, 3, 3, 3, 4, 6], [0, 1, 2, 3, 3]),
    ([[0, 1, 4], [3, 5, 6]], [0, 1, 2, 4, 5, 5, 5, 5, 6, 8, 10, 12], [0, 1, 2, 4, 5, 5, 5])])
def test_duplicates_stay(tmp_path, seeds, outer, inner):
    graph = make(tmp_path, 8, [5, 0, 1, 5, 6, 7, 2, 2, 4], [0, 1, 2, 2, 2, 2, 3, 4, 4]).graph
    for method in ("sample_neighbor", "sample_layer_neighbor"):
        pipe = gb.ItemSampler(gb.ItemSet(ids(seeds), "seeds"), 3)
        batch, = getattr(pipe, method)(graph, [ids([2]), ids([2])], deduplicate=False)
        for sub, indptr in zip(batch.sampled_subgraphs, (outer, inner)):
            n = len(indptr) - 1  # each edge has a row of its own, behind those of the columns
            if method == "sample_neighbor" or len(indptr) == len(inner):
                assert sorted(np.diff(lists(sub.sampled_csc.indptr)).tolist()) == sorted(np.diff(indptr).tolist())
            assert lists(sub.sampled_csc.indices) == list(range(n, n + lists(sub.sampled_csc.indptr)[-1]))
            assert len(sub.original_row_node_ids) == n + lists(sub.sampled_csc.indptr)[-1]
            assert lists(sub.original_row_node_ids)[:n] == lists(sub.original_column_node_ids)


def test_one_hop_has_ids(small):
    found = small.graph.sample_neighbors(ids([3, 4, 3]), ids([-1]))
    assert lists(found.sampled_csc.indptr) == [0, 1, 3, 4] and lists(found.sampled_csc.indices) == [2, 2, 4, 2]
    assert lists(small.graph.in_subgraph(ids([2])).original_edge_ids) == [2, 3]
    assert len(small.graph.sample_layer_neighbors(ids([2]), ids([1])).sampled_csc.indices) == 1


def test_negatives(karate):
    pairs = gb.ItemSet(ids([[0, 1], [1, 2]]), "seeds")
    batch, = gb.ItemSampler(pairs, 2).sample_uniform_negative(karate.graph, 2)
    assert lists(batch.seeds[:, 0]) == [0, 1, 0, 0, 1, 1] and lists(batch.labels) == [1, 1, 0, 0, 0, 0] and lists(batch.indexes) == [0, 1, 0, 0, 1, 1]
    with pytest.raises(ValueError, match=r"N\*2"):
        list(gb.ItemSampler(gb.ItemSet(ids([1, 2]), "seeds"), 2).sample_uniform_negative(karate.graph, 1))


@pytest.mark.parametrize("names, values, seeds", [
    (("node_pairs", "negative_dsts"), ([[0, 1], [2, 3]], [[7, 8], [9, 6]]), [[0, 1], [2, 3], [0, 7], [0, 8], [2, 9], [2, 6]]),
    (("node_pairs", "negative_srcs"), ([[0, 1], [2, 3]], [7, 8]), [[0, 1], [2, 3], [7, 1], [8, 3]]),
    (("seeds", "negative_srcs", "negative_dsts"), ([[0, 1], [2, 3]], [[7], [8]], [[5], [6]]), [[0, 1], [2, 3], [7, 5], [8, 6]])])
def test_negatives_of_old_names(names, values, seeds):
    items = gb.ItemSet(tuple(ids(v) for v in values), names=names)
    batch, = gb.ItemSampler(items, 2)
    n = len(seeds) - 2
    assert lists(batch.seeds) == seeds
    assert lists(batch.labels) == [1, 1] + [0] * n and lists(batch.indexes) == [0, 1] + sorted([0, 1] * (n // 2))
    assert not hasattr(batch, "negative_srcs") and not hasattr(batch, "negative_dsts")
    typed, = gb.ItemSampler(gb.HeteroItemSet({"a:r:b": items, "b:s:a": items}), 4)
    assert lists(typed.seeds) == {"a:r:b": seeds, "b:s:a": seeds}


def test_types_of_edges_have_negatives_of_their_own(typed):
    pairs = gb.ItemSet(ids([[0, 1], [1, 2], [2, 3], [3, 4]]), names="seeds")
    kinds = [k for k in typed.graph.edge_type_to_id if k.endswith(":paper")]
    assert len(kinds) > 1
    batch, = gb.ItemSampler(gb.HeteroItemSet({k: pairs for k in kinds}), 4 * len(kinds)).sample_uniform_negative(typed.graph, 5)
    drawn = {tuple(lists(v)[i][1] for i in range(4, 24)) for v in batch.seeds.values()}
    assert len(drawn) == len(kinds)


def test_edge_features_need_edge_ids(tmp_path):
    shutil.copytree(os.path.join(CASES, "homo_csv", "raw"), tmp_path / "g")
    d = gb.OnDiskDataset(tmp_path / "g").load()  # kept: edges have features
    pipe = gb.ItemSampler(gb.ItemSet(ids([1, 2, 3]), names="seeds"), 3).sample_neighbor(d.graph, [-1])
    batch, = pipe.fetch_feature(d.feature, None, ["w"])
    rows = np.load(tmp_path / "g" / "data" / "edge-w.npy").reshape(-1, np.asarray(batch.edge_features[0]["w"]).shape[1])
    np.testing.assert_array_equal(np.asarray(batch.edge_features[0]["w"]), rows[lists(batch.sampled_subgraphs[0].original_edge_ids)])
    command = os.environ.get("GREBE", "grebe")
    subprocess.run([command, "graph", "preprocess", "--no-original-edge-id", str(tmp_path / "g")], check=True, capture_output=True)
    d = gb.OnDiskDataset(tmp_path / "g", force_preprocess=False).load()
    pipe = gb.ItemSampler(gb.ItemSet(ids([1, 2, 3]), names="seeds"), 3).sample_neighbor(d.graph, [-1])
    with pytest.raises(grebe.SchemaMismatch, match="original edge ids"):
        list(pipe.fetch_feature(d.feature, None, ["w"]))


def test_a_whole_pipeline_of_types(typed):
    task = typed.tasks[0]
    pipe = gb.ItemSampler(task.train_set, batch_size=3, shuffle=True, seed=1).sample_neighbor(typed.graph, [2, 2])
    pipe = pipe.fetch_feature(typed.feature, {"paper": ["x"], "author": ["x"]}, {"author:writes:paper": ["score"]})
    scores = np.load(os.path.join(CASES, "hetero_mix", "raw", "data", "author__writes__paper-score.npy")).reshape(20, -1)
    seen = {"author": [], "paper": []}
    for batch in gb.DataLoader(pipe.transform(lambda b: b)):
        for kind, rows in batch.seeds.items():
            seen[kind] += lists(rows)
        for kind in ("paper", "author"):
            np.testing.assert_array_equal(batch.node_features[kind, "x"], typed.feature.read("node", kind, "x", batch.input_nodes[kind]))
        for sub, rows in zip(batch.sampled_subgraphs, batch.edge_features):
            np.testing.assert_array_equal(rows["author:writes:paper", "score"], scores[lists(sub.original_edge_ids["author:writes:paper"])])
        assert set(batch.sampled_subgraphs[0].sampled_csc) == set(typed.graph.edge_type_to_id)
    assert {k: sorted(v) for k, v in seen.items()} == {
        kind: sorted(lists(typed.tasks[0]._task.train_set[kind]["seeds"])) for kind in seen}


def test_labor_reaches_no_more(karate):
    """As many edges and, of nodes with the same neighbours, fewer nodes; a single batch may have more by chance."""
    seeds, reached = gb.ItemSet(ids([32, 33]), "seeds"), [0, 0]
    for seed in range(20):
        plain, = gb.ItemSampler(seeds, 2, seed=seed).sample_neighbor(karate.graph, [5])
        labor, = gb.ItemSampler(seeds, 2, seed=seed).sample_layer_neighbor(karate.graph, [5])
        assert len(labor.sampled_subgraphs[0].sampled_csc.indices) == len(plain.sampled_subgraphs[0].sampled_csc.indices)
        reached = [reached[0] + len(plain.input_nodes), reached[1] + len(labor.input_nodes)]
    assert reached[1] < 0.95 * reached[0], reached


def test_labor_batches_depend_on_one_another(karate):
    """The same node in each batch: its neighbours stay for a while where batches depend, and of all hops where layers do."""
    seeds = gb.ItemSet(ids([33] * 60), "seeds")
    picks = {1: 0, 60: 0}
    for n, s in ((n, s) for n in picks for s in range(5)):
        pipe = gb.ItemSampler(seeds, 1, seed=s).sample_layer_neighbor(karate.graph, [3, 3], layer_dependency=True, batch_dependency=n)
        batches = [[sorted(np.asarray(x.original_edge_ids)[:int(x.sampled_csc.indptr[1])].tolist()) for x in b.sampled_subgraphs] for b in pipe]
        assert len(batches) == 60 and all(far == near for far, near in batches)
        picks[n] += sum(a == b for a, b in zip(batches, batches[1:]))
    assert picks[1] < 30 and picks[60] > 180, picks  # of 295 pairs


# ---- PyG ----

def check_pyg(store, source, target, edges, n_hops):
    """edge_index has rows of n_id, and e_id those of the edge file."""
    index, e_id = np.asarray(store["edge_index"]), np.asarray(store["e_id"])
    assert index.shape == (2, len(e_id)) and sum(store["num_sampled_edges"]) == len(e_id) and len(store["num_sampled_edges"]) == n_hops
    np.testing.assert_array_equal(np.asarray(source["n_id"])[index[0]], edges[0][e_id])
    np.testing.assert_array_equal(np.asarray(target["n_id"])[index[1]], edges[1][e_id])


def test_pyg_batches(karate):
    edges = np.loadtxt(os.path.join(KARATE, "edges.csv"), delimiter=",", dtype=np.int64).T
    for batch in gb.ItemSampler(karate.tasks[0].train_set, 8).sample_neighbor(karate.graph, [3, 5]).fetch_feature(karate.feature, ["degrees"]):
        data = batch.to_pyg_data()
        check_pyg(data, data, data, edges, 2)
        assert lists(data.n_id[:data.batch_size]) == lists(batch.seeds) and sum(data.num_sampled_nodes) == len(data.n_id)
        assert len(data.x) == len(data.n_id) and lists(data.y) == lists(batch.labels)
    batch = gb.open(karate._path).sample_neighbors([3, 33], [3, 5])
    check_pyg(batch.to_pyg(), batch.to_pyg(), batch.to_pyg(), edges, 2)


def test_pyg_batches_of_types_have_every_type(typed):
    raw = os.path.join(CASES, "hetero_mix", "raw", "edges")
    edges = {"author:writes:paper": np.loadtxt(os.path.join(raw, "author__writes__paper.csv"), delimiter=",", dtype=np.int64).T,
             "paper:cites:paper": np.load(os.path.join(raw, "paper__cites__paper.npy"))}
    data = gb.open(typed._path).sample_neighbors({"paper": [0, 2, 5], "inst": [1]}, [2, 2]).to_pyg()
    for kind, found in edges.items():
        source, _, target = kind.split(":")
        check_pyg(data[tuple(kind.split(":"))], data[source], data[target], found, 2)
    assert lists(data["inst"]["n_id"])[:1] == [1] and data["inst"]["batch_size"] == 1  # which edges only lead to
    assert len(data["Zz"]["n_id"]) == 0 and data["paper"]["batch_size"] == 3
    for kind in ("author", "inst", "paper", "Zz"):
        assert sum(data[kind]["num_sampled_nodes"]) == len(data[kind]["n_id"])


def test_pyg_of_itself():
    geometric = pytest.importorskip("torch_geometric")
    data = gb.open(os.path.join(CASES, "hetero_mix", "dgl_preprocessed")).sample_neighbors({"paper": [0]}, [2]).to_pyg()
    assert isinstance(data, geometric.data.HeteroData) and data.validate()


# ---- memory ----

def test_dlpack_shares_the_mapped_file(karate):
    array = gb.open(karate._path)._arrays["indices"]
    assert array.__dlpack_device__() == (1, 0)
    found = np.from_dlpack(array)
    assert np.shares_memory(found, np.asarray(array))
    wanted = lists(karate.graph.indices)
    del array
    gc.collect()
    assert found.tolist() == wanted


@needs_torch
def test_tensors_are_views(karate):
    d = gb.open(karate._path)
    assert torch.from_dlpack(d._arrays["indices"]).data_ptr() == d.indices.ctypes.data
    nodes = d.sample_neighbors([3, 33], [3]).nodes
    from grebe._graph_tensors import tensor
    assert tensor(nodes).data_ptr() == nodes.ctypes.data
    bf16 = gb.OnDiskDataset(os.path.join(CASES, "dtypes", "dgl_preprocessed")).load()
    assert len(bf16.feature) > 5


# ---- files ----

def test_init_and_export(tmp_path):
    edges = np.array([[0, 2, 1], [1, 1, 3]])
    np.save(tmp_path / "e.npy", edges)
    np.save(tmp_path / "x.npy", np.arange(10, dtype=np.float32).reshape(5, 2))
    assert gb.init(tmp_path, tmp_path / "e.npy", node_features={"x": tmp_path / "x.npy"}, name="made") == str(tmp_path / "metadata.yaml")
    assert gb.check(tmp_path, deep=True) == []
    gb.preprocess(tmp_path, include_original_edge_id=True)
    assert gb.open(tmp_path).num_nodes == 5 and gb.open(tmp_path).name == "made"
    with pytest.raises(grebe.Exists):
        gb.init(tmp_path, tmp_path / "e.npy")
    plain = gb.export(tmp_path, tmp_path / "plain")
    np.testing.assert_array_equal(np.load(os.path.join(plain, "edges", "edges.npy")), edges)
    assert gb.check(plain, deep=True) == []
    gb.export(tmp_path, tmp_path / "tables", file_format="csv")
    assert (tmp_path / "tables" / "edges" / "edges.csv").read_text().splitlines()[:2] == ["source,target,edge", "0,1,0"]
    with pytest.raises(grebe.Exists):
        gb.export(tmp_path, tmp_path / "plain")


def test_init_of_tasks(tmp_path):
    np.save(tmp_path / "e.npy", np.array([[0, 1, 2], [1, 2, 0]]))
    np.save(tmp_path / "s.npy", np.array([2, 0]))
    grebe.write(str(tmp_path / "t.parquet"), {"a": np.array([1, 2], "int32"), "b": np.array([0, 2]), "y": np.array([0.5, 1.5], "float32")})
    table = tmp_path / "t.parquet"
    gb.init(tmp_path, tmp_path / "e.npy", train={"seeds": tmp_path / "s.npy", "labels": (table, "y")},
            test={"seeds": (table, ["a", "b"]), "labels": (table, "y")}, task={"name": "both", "num_classes": 3})
    gb.preprocess(tmp_path)
    (task,) = gb.open(tmp_path).tasks
    assert task.metadata == {"name": "both", "num_classes": 3}
    assert task.train_set[None]["seeds"].tolist() == [2, 0] and task.train_set[None]["labels"].tolist() == [0.5, 1.5]
    assert task.test_set[None]["seeds"].tolist() == [[1, 0], [2, 2]] and task.test_set[None]["labels"].dtype == np.float32
    with pytest.raises(grebe.NotFound):
        gb.init(tmp_path, tmp_path / "e.npy", train={"seeds": (table, "c")}, force=True)
    with pytest.raises(TypeError):
        gb.init(tmp_path, tmp_path / "e.npy", train={"seeds": (table, [1])}, force=True)
    with pytest.raises(grebe.Corrupt, match="node 2, the bound is 2"):
        gb.init(tmp_path, tmp_path / "e.npy", train={"seeds": tmp_path / "s.npy"}, nodes=2, force=True)


def test_init_of_types(tmp_path):
    table = {"user": np.array([0, 3, 1]), "item": np.array([1, 0, 1])}
    grebe.create(str(tmp_path / "t"), table)
    gb.init(tmp_path / "g", {"user:buys:item": tmp_path / "t"}, src="user", dst="item", nodes={"item": 7})
    gb.preprocess(tmp_path / "g")
    assert gb.open(tmp_path / "g").node_types == {"item": 7, "user": 4}
    with pytest.raises(ValueError, match="type of 1 part"):
        gb.init(tmp_path / "h", tmp_path / "t", node_features={"a:b:c": tmp_path / "x.npy"})
    with pytest.raises(grebe.NotFound):
        gb.init(tmp_path / "h", {"user:buys:item": tmp_path / "t"}, src="user", dst="things")
