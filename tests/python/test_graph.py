# SPDX-License-Identifier: Apache-2.0
"""grebe.graph: checking, preprocessing, arrays of an opened graph, rows of features, sampling; and what is refused."""

import gc
import os
import shutil

import numpy as np
import pytest

import grebe
import grebe.graph

HERE = os.path.dirname(os.path.abspath(__file__))
KARATE = os.path.join(HERE, "..", "..", "examples", "graph")


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(KARATE, tmp_path / "karate")
    return tmp_path / "karate"


@pytest.fixture
def karate(folder):
    grebe.graph.preprocess(folder, include_original_edge_id=True)
    return grebe.graph.open(folder)


def edges_of(folder):
    return np.loadtxt(folder / "edges.csv", delimiter=",", dtype=np.int64)


def test_check(folder):
    assert grebe.graph.check(folder, deep=True) == []
    metadata = folder / "metadata.yaml"
    metadata.write_text(metadata.read_text().replace("num: 34", "num: 33"))
    problems = grebe.graph.check(folder)
    assert problems and any(p.is_error and p.line > 0 and "34" in p.message for p in problems), problems
    with pytest.raises(grebe.NotFound):
        grebe.graph.check(folder / "nowhere")
    with pytest.raises(grebe.Error):
        grebe.graph.preprocess(folder)
    assert not (folder / "preprocessed").exists()


def test_check_ids_of_sets(folder):
    seeds = np.load(folder / "train_members.npy")
    wrong = seeds.copy()
    wrong[1] = 34
    np.save(folder / "train_members.npy", wrong)
    assert grebe.graph.check(folder) == []
    (problem,) = grebe.graph.check(folder, deep=True)
    assert problem.is_error and "row 1" in problem.message and "node 34, the bound is 34" in problem.message, problem
    with pytest.raises(grebe.Corrupt, match="train_members.npy: train_set, seeds, row 1.*node 34, the bound is 34"):
        grebe.graph.preprocess(folder)
    np.save(folder / "train_members.npy", seeds)
    grebe.graph.preprocess(folder)


def test_preprocess_once_and_elsewhere(folder, tmp_path):
    first = grebe.graph.preprocess(folder)
    assert first == str(folder / "preprocessed")
    inode = os.stat(first).st_ino
    grebe.graph.preprocess(folder, threads=2)
    assert os.stat(first).st_ino == inode
    grebe.graph.preprocess(folder, force=True)
    assert os.stat(first).st_ino != inode
    other = tmp_path / "other"
    other.mkdir()
    assert grebe.graph.preprocess(folder, out=other) == str(other / "preprocessed")
    assert "_ORIGINAL_EDGE_ID" not in grebe.graph.open(other).edge_attributes


def test_arrays_are_the_edges(karate, folder):
    edges = edges_of(folder)
    assert (karate.num_nodes, karate.num_edges) == (34, 156) == (34, len(edges))
    assert karate.node_types == {} and karate.edge_types == {} and karate.node_type_offset is None
    for node in range(34):
        begin, end = karate.indptr[node], karate.indptr[node + 1]
        assert sorted(karate.indices[begin:end]) == sorted(edges[edges[:, 1] == node, 0])
        rows = karate.edge_attributes["_ORIGINAL_EDGE_ID"][begin:end]
        assert (edges[rows, 0] == karate.indices[begin:end]).all() and (edges[rows, 1] == node).all()
    with pytest.raises(ValueError):
        karate.indices[0] = 1


def test_arrays_outlive_the_graph(folder):
    grebe.graph.preprocess(folder)
    indices = grebe.graph.open(folder).indices
    shutil.rmtree(folder / "preprocessed")
    assert indices.sum() == edges_of(folder)[:, 0].sum()


def test_features(karate, folder):
    want = np.load(folder / "degrees.npy")
    f = karate.features["degrees"]
    assert f is karate.features["node", None, "degrees"] and list(karate.features) == [("node", None, "degrees")]
    assert (f.dtype, f.shape, len(f)) == ("float32", (34, 2), 34)
    assert (f.values == want).all() and (f.read() == want).all() and not f.values.flags.writeable
    ids = np.random.default_rng(3).integers(0, 34, 1000)
    for kind in (np.int64, np.int32, np.uint8):
        assert (f.read(ids.astype(kind)) == want[ids]).all()
    assert f.read([]).shape == (0, 2)
    assert (f.read(ids[::3]) == want[ids[::3]]).all()
    for bad in ([34], [-1], [0, 10**12]):
        with pytest.raises(grebe.InvalidArgument, match="34"):
            f.read(bad)
    with pytest.raises(TypeError):
        f.read([0.5])
    with pytest.raises(KeyError):
        karate.features["degree"]


def test_tasks(karate, folder):
    task, = karate.tasks
    assert task.metadata == {"name": "club", "num_classes": 2}
    assert (task.train_set[None]["seeds"] == np.load(folder / "train_members.npy")).all()
    assert (task.test_set[None]["labels"] == np.load(folder / "test_clubs.npy")).all()
    assert task.validation_set == {}


@pytest.mark.parametrize("method", ["neighbors", "labor"])
def test_batches_hold_real_edges(karate, folder, method):
    edges = edges_of(folder)
    batch = karate.sample_neighbors([3, 33], [3, 5], method=method, layer_seed=4)
    assert list(batch.nodes[:2]) == [3, 33] and len(set(batch.nodes)) == len(batch.nodes)
    total = 0
    for layer, fanout in zip(batch.layers, [3, 5]):
        indptr, indices, rows = layer.relations
        assert len(indptr) - 1 == layer.counts[1] and len(indices) == indptr[-1]
        for column in range(layer.counts[1]):
            here = slice(indptr[column], indptr[column + 1])
            assert (edges[rows[here], 1] == batch.nodes[column]).all()
            assert (edges[rows[here], 0] == batch.nodes[indices[here]]).all()
            assert len(set(rows[here])) == len(rows[here])
            if method == "neighbors":
                assert len(rows[here]) == min(fanout, (edges[:, 1] == batch.nodes[column]).sum())
        total += len(indices)
    assert total == batch.num_edges
    again = grebe.graph.open(folder, threads=2).sample_neighbors([3, 33], [3, 5], method=method, layer_seed=4)
    assert (again.nodes == batch.nodes).all()
    other = [karate.sample_neighbors([3, 33], [3, 5], method=method, layer_seed=s).layers[1].relations[2] for s in range(8)]
    assert len({tuple(o) for o in other}) > 1


def test_other_options_are_another_sampler(karate):
    counts = [karate.sample_neighbors([33], [n], layer_seed=1).num_edges for n in (2, 5, 2, -1)]
    assert counts == [2, 5, 2, 17]
    first = karate.sample_neighbors([0], [4], layer_seed=1).nodes
    karate.sample_neighbors([5], [4], layer_seed=9)
    assert (karate.sample_neighbors([0], [4], layer_seed=1).nodes == first).all()
    with pytest.raises(grebe.InvalidArgument):
        karate.sample_neighbors([34], [4])
    assert (karate.sample_neighbors([0], [4], layer_seed=1).nodes == first).all()


def test_all_neighbours(karate, folder):
    edges = edges_of(folder)
    batch = karate.sample_neighbors([33], [-1])
    assert sorted(batch.nodes[1:]) == sorted(edges[edges[:, 1] == 33, 0])


def test_weights_of_zero_are_never_drawn(tmp_path):
    n = 50
    (tmp_path / "edges.csv").write_text("".join(f"{i},0\n" for i in range(1, n)))
    np.save(tmp_path / "weight.npy", (np.arange(1, n) % 2).astype(np.float32))
    (tmp_path / "metadata.yaml").write_text(
        f"graph:\n  nodes:\n  - num: {n}\n  edges:\n  - {{format: csv, path: edges.csv}}\n"
        "  feature_data:\n  - {domain: edge, name: weight, format: numpy, path: weight.npy}\n")
    grebe.graph.preprocess(tmp_path)
    g = grebe.graph.open(tmp_path)
    drawn = {i for s in range(20) for i in g.sample_neighbors([0], [10], probs="weight", layer_seed=s).nodes[1:].tolist()}
    assert drawn == set(range(1, n, 2))


def test_types(tmp_path):
    (tmp_path / "writes.csv").write_text("0,1\n1,0\n1,1\n")
    (tmp_path / "cites.csv").write_text("0,1\n")
    (tmp_path / "metadata.yaml").write_text(
        "graph:\n  nodes:\n  - {type: author, num: 2}\n  - {type: paper, num: 2}\n  edges:\n"
        "  - {type: 'author:writes:paper', format: csv, path: writes.csv}\n  - {type: 'paper:cites:paper', format: csv, path: cites.csv}\n")
    grebe.graph.preprocess(tmp_path, include_original_edge_id=True)
    g = grebe.graph.open(tmp_path)
    assert g.node_types == {"author": 2, "paper": 2}
    assert g.edge_types == {"author:writes:paper": 3, "paper:cites:paper": 1}
    batch = g.sample_neighbors({"paper": [1]}, [[-1, -1]])
    assert list(batch.nodes["paper"]) == [1, 0] and sorted(batch.nodes["author"]) == [0, 1]
    assert sorted(batch.layers[0].relations["author:writes:paper"][2]) == [0, 2]
    assert list(batch.layers[0].relations["paper:cites:paper"][2]) == [0]
    with pytest.raises(grebe.Error):
        g.sample_neighbors({"book": [0]}, [1])


def test_negatives(karate):
    pairs = np.array([[0, 1], [2, 3], [33, 0]])
    out = karate.sample_negatives(pairs, 4, seed=1)
    assert out.shape == (15, 2) and (out[:3] == pairs).all()
    assert (out[3:, 0] == np.repeat(pairs[:, 0], 4)).all()
    assert out.min() >= 0 and out.max() < 34
    assert (out == karate.sample_negatives(pairs, 4, seed=1)).all()
    assert not (out == karate.sample_negatives(pairs, 4, seed=2)).all()
    for bad in (lambda: karate.sample_negatives([1, 2], 1), lambda: karate.sample_negatives(pairs, -1),
                lambda: karate.sample_negatives(pairs, 1, num_targets=0)):
        with pytest.raises((ValueError, grebe.InvalidArgument)):
            bad()


@pytest.mark.parametrize("call", [
    lambda g: g.sample_neighbors([34], [1]), lambda g: g.sample_neighbors([-1], [1]), lambda g: g.sample_neighbors([0], [-2]),
    lambda g: g.sample_neighbors([0], [1], probs="nothing"), lambda g: g.sample_neighbors([0], []),
    lambda g: g.sample_neighbors([0], [1], method="guess"), lambda g: g.sample_neighbors([0], [[1, 2]]),
    lambda g: g.sample_neighbors({"paper": [0]}, [1])])
def test_bad_calls(karate, call):
    with pytest.raises((ValueError, grebe.InvalidArgument, grebe.NotFound, grebe.SchemaMismatch)):
        call(karate)


@pytest.mark.parametrize("threads", [1, 2])
def test_epochs(karate, folder, threads):
    members, clubs = np.load(folder / "train_members.npy"), np.load(folder / "train_clubs.npy")
    club_of, degrees = dict(zip(members.tolist(), clubs.tolist())), np.load(folder / "degrees.npy")
    loader = karate.loader("club", "train", [3, 5], batch_size=8, shuffle=True, seed=42, features=["degrees"], threads=threads)
    orders = []
    for _ in range(3):
        batches = list(loader)
        assert len(batches) == len(loader) == 3 and [len(b.items[None]["seeds"]) for b in batches] == [8, 8, 4]
        orders.append(np.concatenate([b.items[None]["seeds"] for b in batches]).tolist())
        assert sorted(orders[-1]) == sorted(members)
        for b in batches:
            items = b.items[None]
            assert [club_of[m] for m in items["seeds"].tolist()] == items["labels"].tolist()
            assert (b.nodes[items["rows"]] == items["seeds"]).all()
            assert (b.features["degrees"] == degrees[b.nodes]).all()
            assert b.num_edges == sum(len(layer.relations[1]) for layer in b.layers) > 0
    assert len({tuple(o) for o in orders}) == 3
    loader.epoch = 0
    assert np.concatenate([b.items[None]["seeds"] for b in loader]).tolist() == orders[0]


@pytest.mark.parametrize("threads", [1, 2])
def test_arrays_outlive_batch_and_loader(karate, threads):
    """Arrays are views of a batch's memory, which serves other batches once nothing holds it."""
    degrees = karate.features["degrees"].values
    loader = karate.loader("club", "train", [3, 5], batch_size=2, shuffle=True, seed=1, features=["degrees"], threads=threads)
    kept = []
    for i, b in enumerate(loader):
        if i % 3 == 0:  # the others give their memory back
            kept.append((b.nodes, b.nodes.copy(), b.features["degrees"], b.layers[0].relations, [r.copy() for r in b.layers[0].relations]))
    for _ in loader:
        pass
    sampled = [karate.sample_neighbors([3, 33], [3], layer_seed=s).nodes for s in range(20)]
    del loader, b
    gc.collect()
    for nodes, copy, rows, relations, copies in kept:
        assert (nodes == copy).all() and (rows == degrees[copy]).all()
        assert all((r == c).all() for r, c in zip(relations, copies))
        nodes[:], rows[:] = -1, -1  # theirs alone, and written anew when they serve another batch
    for nodes in sampled[::2]:
        nodes[:] = -1
    del nodes, sampled[::2]
    again = [karate.sample_neighbors([3, 33], [3], layer_seed=s).nodes for s in range(1, 20, 2)]
    assert all((a == b).all() for a, b in zip(sampled, again))


def test_rows_that_are_read_are_their_holders(tmp_path):
    """Memory is used again only when no view of it is left: what is held keeps its values. (Where it comes from is not told by addresses.)"""
    rng = np.random.default_rng(5)
    x = rng.random((3000, 600), dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "edges.npy", rng.integers(0, 3000, (2, 50)))
    (tmp_path / "metadata.yaml").write_text(
        "dataset_name: rows\ngraph: {nodes: [{num: 3000}], edges: [{format: numpy, path: edges.npy}]}\n"
        "feature_data: [{domain: node, name: x, format: numpy, in_memory: false, path: x.npy}]\n")
    grebe.graph.preprocess(tmp_path)
    g = grebe.graph.open(tmp_path)
    held, rows = [], None
    for n in (1000, 1200, 900, 2500, 2500, 2500, 100, 2400, 600, 3000):
        ids = rng.integers(0, 3000, n)
        del rows  # nobody holds what was read before, but for the parts
        rows = g.features["x"].read(ids)
        assert rows.flags.writeable and (rows == x[ids]).all()
        if n % 1000 == 500:
            held.append((rows[5:, 3], x[ids][5:, 3]))  # a part holds the whole
        with pytest.raises(grebe.InvalidArgument):
            g.features["x"].read(np.append(ids, 3000))
    del g, rows
    gc.collect()
    assert len(held) == 3 and all((a == b).all() for a, b in held)


def test_epochs_without_sampling(karate, folder):
    members = np.load(folder / "train_members.npy")
    assert np.concatenate([b["seeds"] for b in karate.batches(0, batch_size=7)]).tolist() == members.tolist()
    assert [len(b["labels"]) for b in karate.batches("club", batch_size=7, drop_last=True)] == [7, 7]
    shares = []
    for rank in (0, 1):
        shares += [b["seeds"] for b in karate.batches("club", batch_size=4, shuffle=True, seed=3, rank=rank, num_replicas=2)]
    assert sorted(np.concatenate(shares)) == sorted(members)


def test_loader_is_left_and_begun_anew(karate):
    loader = karate.loader("club", fanouts=[2], batch_size=4, shuffle=True)
    first = iter(loader)
    next(first)
    assert len(list(loader)) == 5
    with pytest.raises(RuntimeError, match="another iteration"):
        next(first)


def test_pairs_with_negatives(folder):
    edges = edges_of(folder)
    np.save(folder / "pairs.npy", edges)
    metadata = folder / "metadata.yaml"
    metadata.write_text(metadata.read_text() +
                        "- name: link\n  train_set:\n  - data:\n    - {name: seeds, format: numpy, path: pairs.npy}\n")
    grebe.graph.preprocess(folder)
    g = grebe.graph.open(folder)
    seen = []
    for b in g.loader("link", fanouts=[-1], batch_size=50, negative_ratio=2, exclude_seeds=True, seed=5):
        seeds, n = b.items[None]["seeds"], len(b.items[None]["seeds"]) // 3
        assert (b.nodes[b.items[None]["rows"]] == seeds).all() and (seeds[n:, 0] == np.repeat(seeds[:n, 0], 2)).all()
        seen.append(seeds[:n])
        indptr, indices, _ = b.layers[0].relations
        sampled = {(int(b.nodes[s]), int(b.nodes[c])) for c in range(len(indptr) - 1) for s in indices[indptr[c]:indptr[c + 1]]}
        assert sampled and not sampled & {tuple(p) for p in seeds[:n].tolist()}
    assert (np.concatenate(seen) == edges).all()


CASES = os.path.join(HERE, "..", "data", "graphbolt", "cases")


def test_rows_of_edges_come_with_batches(tmp_path):
    shutil.copytree(os.path.join(CASES, "hetero_mix", "raw"), tmp_path / "g")
    grebe.graph.preprocess(tmp_path / "g")
    g = grebe.graph.open(tmp_path / "g")
    kind, keys = "author:writes:paper", [("edge", "author:writes:paper", "score"), ("node", "paper", "x")]
    n = 0
    for b in g.loader(0, "train", [3, 3], batch_size=3, features=keys):
        rows = b.features[keys[0]]
        assert len(rows) == len(b.layers) == 2
        for layer, found in zip(b.layers, rows):
            np.testing.assert_array_equal(found, g.features[keys[0]].read(layer.relations[kind][2]))
            n += len(found)
        np.testing.assert_array_equal(b.features[keys[1]], g.features[keys[1]].read(b.nodes["paper"]))
    assert n > 0
    shutil.copytree(os.path.join(CASES, "homo_csv", "raw"), tmp_path / "h")
    grebe.graph.preprocess(tmp_path / "h")
    h = grebe.graph.open(tmp_path / "h")
    b = next(iter(h.loader(0, "train", [2], batch_size=3, features=["w"])))
    np.testing.assert_array_equal(b.features["w"][0], h.features["w"].read(b.layers[0].relations[2]))


def test_reverse_edges_are_left_out(tmp_path):
    np.save(tmp_path / "e.npy", np.array([[0, 1, 2, 3], [1, 0, 3, 2]]))
    np.save(tmp_path / "s.npy", np.array([[0, 1]]))
    (tmp_path / "metadata.yaml").write_text("graph:\n  nodes: [{num: 4}]\n  edges: [{format: numpy, path: e.npy}]\ntasks:\n- name: link\n"
                                            "  train_set:\n  - data: [{name: seeds, format: numpy, path: s.npy}]\n")
    grebe.graph.preprocess(tmp_path)
    g = grebe.graph.open(tmp_path)
    edges = [next(iter(g.loader("link", "train", [-1], batch_size=1, **how))).num_edges
             for how in ({}, {"exclude_seeds": True}, {"exclude_reverse": True})]
    assert edges == [2, 1, 0]


def test_pyg_of_a_batch_has_what_came_along(karate, folder):
    b = next(iter(karate.loader("club", "train", [3, 5], batch_size=8, features=["degrees"])))
    data = b.to_pyg()
    np.testing.assert_array_equal(np.asarray(data.x), np.load(folder / "degrees.npy")[b.nodes])
    np.testing.assert_array_equal(np.asarray(data.y), b.items[None]["labels"])
    assert len(np.asarray(b.to_pyg(x=np.zeros((len(b.nodes), 7))).x[0])) == 7
    assert "3" in repr(karate.loader("club", "train", [3], batch_size=8)) and "edges" in repr(b) and "edges" in repr(b.layers[0])


def test_fanouts_of_types_and_layers(tmp_path):
    shutil.copytree(os.path.join(CASES, "hetero_mix", "raw"), tmp_path / "g")
    grebe.graph.preprocess(tmp_path / "g")
    g = grebe.graph.open(tmp_path / "g")
    n = len(g.edge_types)
    same = [g.sample_neighbors({"paper": [0, 1]}, f, layer_seed=4).num_edges for f in ([[2] * n, [3] * n], [[2] * n, 3], [2, [3] * n])]
    assert len(set(same)) == 1
    with pytest.raises(ValueError, match="found 5$"):
        g.sample_neighbors({"paper": [0]}, 5)
    with pytest.raises(ValueError, match="as many numbers for each layer, found \\[1, 2\\]"):
        g.sample_neighbors({"paper": [0]}, [[1], [2, 3]])


def test_edges_of_csv_with_a_header(tmp_path):
    (tmp_path / "e.csv").write_text("from;to\n0;1\n1;2\n")
    (tmp_path / "metadata.yaml").write_text("graph:\n  nodes: [{num: 3}]\n  edges: [{format: csv, path: e.csv}]\n")
    assert grebe.graph.check(tmp_path, deep=True)
    assert grebe.graph.check(tmp_path, deep=True, csv_header=True, csv_separator=";") == []
    grebe.graph.preprocess(tmp_path, csv_header=True, csv_separator=";")
    assert grebe.graph.open(tmp_path).num_edges == 2
    with pytest.raises(ValueError, match="one character"):
        grebe.graph.check(tmp_path, csv_separator=";;")


@pytest.mark.parametrize("call", [
    lambda g: g.loader("club", fanouts=[1], batch_size=1, negative_ratio=1), lambda g: g.loader("club", fanouts=[1], batch_size=1, edge_times="t"),
    lambda g: g.loader("nothing", batch_size=1), lambda g: g.loader("club", "all", batch_size=1), lambda g: g.loader("club", batch_size=0),
    lambda g: g.loader("club", batch_size=1, features=["degrees"]), lambda g: g.loader("club", fanouts=[1], batch_size=1, features=["other"]),
    lambda g: g.loader("club", "validation", batch_size=1), lambda g: g.loader("club", batch_size=1, rank=2, num_replicas=2),
    lambda g: g.loader("club", batch_size=1, rank=1), lambda g: g.loader("club", batch_size=1, num_replicas=-1),
    lambda g: g.loader("club", batch_size=1, worker=1), lambda g: g.loader("club", batch_size=1, num_workers=-1),
    lambda g: g.loader("club", fanouts=[1], batch_size=1, window=1), lambda g: g.loader("club", fanouts=[1], batch_size=1, cache_bytes=-1),
    lambda g: g.loader("club", fanouts=[1], batch_size=1, features="degrees"),
    lambda g: g.sample_neighbors([0], np.array([2**64 - 1], np.uint64)), lambda g: g.sample_negatives([[0.5, 1]], 2)])
def test_bad_calls(karate, call):
    with pytest.raises((KeyError, TypeError, ValueError, grebe.InvalidArgument, grebe.NotFound)):
        call(karate)


def test_bad_places(tmp_path):
    for call in (grebe.graph.open, grebe.graph.check, grebe.graph.preprocess):
        with pytest.raises(grebe.InvalidArgument, match="an empty path"):
            call("")
    (tmp_path / "metadata.yaml").write_bytes(bytes(range(256)))
    (problem,) = grebe.graph.check(tmp_path)
    assert problem.file.endswith("metadata.yaml") and "metadata.yaml" not in problem.message
