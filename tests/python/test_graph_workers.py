# SPDX-License-Identifier: Apache-2.0
"""Loaders and pipelines of grebe.graph in other processes: spawned ones get a pickle, forked ones what was there; torch's DataLoader. What
a killed process leaves."""

import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import grebe
import grebe.graph as gb

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")
KARATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "graph")


@pytest.fixture
def karate(tmp_path):
    shutil.copytree(KARATE, tmp_path / "karate")
    gb.preprocess(tmp_path / "karate", include_original_edge_id=True)
    return gb.open(tmp_path / "karate")


def loader_of(karate, **options):
    return karate.loader("club", "train", [3, 2], batch_size=2, shuffle=True, seed=7, features=["degrees"], **options)


def plain(batch):
    """What a batch is, to be compared."""
    return [batch.items[None]["seeds"].tolist(), batch.items[None]["labels"].tolist(), batch.nodes.tolist(), batch.features["degrees"].tolist(),
            [[part.tolist() for part in layer.relations] for layer in batch.layers]]


def seeds_of(batches):
    return [b.items[None]["seeds"].tolist() for b in batches]


def send_epochs(loader, queue):
    queue.put([[plain(b) for b in loader] for _ in range(2)] + [loader.epoch])


def send_pipe(pipe, queue):
    queue.put([(np.asarray(b.seeds).tolist(), np.asarray(b.input_nodes).tolist()) for b in pipe])


def same(batch):
    return batch


def run(method, target, *args):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    worker = context.Process(target=target, args=(*args, queue))
    worker.start()
    found = queue.get(timeout=60)
    worker.join(60)
    assert worker.exitcode == 0
    return found


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_loader_in_a_process_goes_on_with_the_next_epoch(karate, method):
    loader = loader_of(karate)
    want = [[plain(b) for b in loader] for _ in range(3)]
    assert want[0] != want[1] != want[2]
    loader.epoch = 1
    assert run(method, send_epochs, loader) == [want[1], want[2], 3]
    assert loader.epoch == 1


def test_a_pickle_has_options_and_path_alone(karate):
    loader = loader_of(karate, replace=True, method="labor", cache_bytes=1000, threads=2, num_replicas=2, rank=1, drop_last=True)
    loader.epoch = 5
    text = pickle.dumps(loader)
    assert len(text) < 1500 and karate._path.encode() in text
    again = pickle.loads(text)
    assert again.epoch == 5 and len(again) == len(loader)
    assert [plain(b) for b in again] == [plain(b) for b in loader]
    pairs = pickle.loads(pickle.dumps(karate.loader(0, "test", batch_size=3)))
    assert seeds_of(pairs) == seeds_of(karate.loader(0, "test", batch_size=3))
    loader.epoch = 5
    batch = pickle.loads(pickle.dumps(next(iter(loader))))
    loader.epoch = 5
    assert plain(batch) == plain(next(iter(loader)))


def test_share_is_what_the_options_give(karate):
    loader = karate.loader("club", "test", batch_size=2, shuffle=True, seed=3)
    whole = sorted(sum(seeds_of(loader), []))
    parts = []
    for i in range(3):
        mine = seeds_of(loader.share(i, 3))
        wanted = karate.loader("club", "test", batch_size=2, shuffle=True, seed=3, worker=i, num_workers=3)
        wanted.epoch = 1
        assert mine == seeds_of(wanted)
        parts += sum(mine, [])
    assert sorted(parts) == whole and loader.epoch == 1
    again = [seeds_of(loader.share(0, 3)) for _ in range(2)]  # the same one, which goes on; a set epoch takes it along
    assert again[0] != again[1]
    loader.epoch = 2
    assert seeds_of(loader.share(0, 3)) == again[0]
    with pytest.raises(grebe.InvalidArgument):
        loader.share(3, 3)


def test_features_of_a_loader_may_be_an_iterator(karate):
    loader = karate.loader("club", "train", [2], batch_size=2, features=iter(["degrees"]))
    assert [list(b.features) for b in pickle.loads(pickle.dumps(loader))] == [["degrees"]] * len(loader)


def pipe_of(folder):
    data = gb.OnDiskDataset(folder, include_original_edge_id=True).load()
    pipe = gb.ItemSampler(data.tasks[0].train_set, batch_size=2, shuffle=True, seed=4)
    pipe = pipe.sample_neighbor(data.graph, [3, 2]).fetch_feature(data.feature, node_feature_keys=["degrees"])
    return gb.DataLoader(pipe.transform(same).transform(None).copy_to("cpu"))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_pipeline_in_a_process(karate, method):
    pipe = pipe_of(karate._path)
    found = run(method, send_pipe, pipe)
    assert found == [(np.asarray(b.seeds).tolist(), np.asarray(b.input_nodes).tolist()) for b in pipe]
    assert len(found) == len(pipe) > 1


def test_a_pipeline_of_pairs_is_pickled(karate):
    pairs = gb.ItemSet(np.array([[0, 1], [1, 2], [2, 3]]), names="seeds")
    graph = gb.OnDiskDataset(karate._path, include_original_edge_id=True).load().graph
    pipe = gb.ItemSampler(pairs, batch_size=2).sample_uniform_negative(graph, 1).sample_neighbor(graph, [-1]).exclude_seed_edges(True)
    again = pickle.loads(pickle.dumps(pipe))
    for x, y in zip(pipe, again):
        assert np.asarray(x.input_nodes).tolist() == np.asarray(y.input_nodes).tolist()
        assert np.asarray(x.sampled_subgraphs[0].sampled_csc.indices).tolist() == np.asarray(y.sampled_subgraphs[0].sampled_csc.indices).tolist()


@needs_torch
@pytest.mark.parametrize("method", [None, "fork", "spawn"])
def test_workers_of_torch(karate, method):
    loader = loader_of(karate)
    want = [plain(b) for b in loader]
    loader.epoch = 0
    n_workers = 0 if method is None else 2
    batches = torch.utils.data.DataLoader(loader.as_torch(), batch_size=None, num_workers=n_workers, multiprocessing_context=method,
                                          collate_fn=plain)
    found = list(batches)
    assert sorted(sum((b[0] for b in found), [])) == sorted(sum((b[0] for b in want), []))
    if n_workers == 0:
        assert found == want
    else:
        loader.epoch = 0
        parts = [[plain(b) for b in loader.share(i, 2)] for i in range(2)]
        assert sorted(map(str, found)) == sorted(str(b) for part in parts for b in part)


@needs_torch
@pytest.mark.parametrize("method, stay", [(None, False), ("fork", True), ("fork", False), ("spawn", True)])
def test_epochs_of_workers_differ(karate, method, stay):
    loader = loader_of(karate)
    batches = torch.utils.data.DataLoader(loader.as_torch(), batch_size=None, num_workers=0 if method is None else 2,
                                          multiprocessing_context=method, persistent_workers=stay, collate_fn=plain)
    epochs = []
    for epoch in range(3):
        if method is not None and not stay:
            loader.epoch = epoch
        epochs.append([b[0] for b in batches])
    assert len({str(sorted(e)) for e in epochs}) == 3
    assert len({str(sorted(sum(e, []))) for e in epochs}) == 1


# ---- killed ----

def begin_export(graph, dest):
    """An export that is stopped while it writes; None: it was faster."""
    before = set(dest.parent.glob(dest.name + ".tmp-*"))
    p = subprocess.Popen([sys.executable, "-c", "import sys, grebe.graph; grebe.graph.export(*sys.argv[1:], file_format='csv', threads=1)",
                          str(graph), str(dest)])
    while not any(list(made.iterdir()) for made in set(dest.parent.glob(dest.name + ".tmp-*")) - before):  # then it has its lock
        if p.poll() is not None:
            return None
        time.sleep(0.001)
    p.send_signal(signal.SIGSTOP)
    return p if not dest.exists() else p.kill()


def test_what_a_killed_export_left_is_swept_by_the_next(tmp_path):
    rng = np.random.default_rng(1)
    np.save(tmp_path / "e.npy", rng.integers(0, 1000, (2, 400000)))
    gb.init(tmp_path / "g", tmp_path / "e.npy")
    gb.preprocess(tmp_path / "g")
    first = begin_export(tmp_path / "g", tmp_path / "out")
    assert first is not None
    (left,) = tmp_path.glob("out.tmp-*")
    second = begin_export(tmp_path / "g", tmp_path / "out")
    assert second is not None and left.exists()  # the first one lives
    first.kill()
    first.wait()
    (other,) = set(tmp_path.glob("out.tmp-*")) - {left}
    gb.export(tmp_path / "g", tmp_path / "out")
    assert not left.exists() and other.exists()
    second.kill()
    second.wait()
    shutil.rmtree(tmp_path / "out")
    gb.export(tmp_path / "g", tmp_path / "out", file_format="csv")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["e.npy", "g", "out"]
