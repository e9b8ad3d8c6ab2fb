# SPDX-License-Identifier: Apache-2.0
"""grebe.dataset as a stream: steps, states that resume, generators, nodes and workers."""
import itertools
import json
import os
import random
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import grebe
import grebe.dataset as gd


@pytest.fixture
def ds():
    return gd.Dataset.from_dict({"id": list(range(240)), "text": [f"t{i}" for i in range(240)]})


def ids(stream):
    return [r["id"] for r in stream]


def test_rows_and_batches(ds):
    stream = ds.to_iterable_dataset(num_shards=6)
    assert ids(stream) == list(range(240)) and ids(stream) == list(range(240)) and stream.num_shards == 6
    assert next(iter(stream)) == {"id": 0, "text": "t0"} and stream.column_names == ["id", "text"]
    assert [len(b["id"]) for b in stream.iter(100)] == [100, 100, 40] and len(list(stream.iter(100, drop_last_batch=True))) == 2
    assert list(stream["text"])[:2] == ["t0", "t1"]
    assert pa.table(stream)["id"].to_pylist() == list(range(240))
    assert next(stream.with_format("numpy").iter(4))["id"].tolist() == [0, 1, 2, 3]
    assert isinstance(next(iter(stream.with_format("numpy")))["id"], np.int64)
    with pytest.raises(ValueError):
        ds.to_iterable_dataset(num_shards=241)
    with pytest.raises(TypeError):
        stream[0]


def test_steps(ds):
    stream = ds.to_iterable_dataset(num_shards=3)
    assert ids(stream.skip(230)) == list(range(230, 240)) and ids(stream.take(3)) == [0, 1, 2] and len(ids(stream.take(1000))) == 240
    assert ids(stream.take(2).repeat(3)) == [0, 1] * 3 and ids(itertools.islice(stream.take(2).repeat(), 5)) == [0, 1, 0, 1, 0]
    assert ids(stream.filter("id % 100 = 7")) == [7, 107, 207] and ids(stream.filter(lambda r: r["id"] > 237)) == [238, 239]
    assert ids(stream.filter(lambda b: [i < 2 for i in b["id"]], batched=True)) == [0, 1]
    assert [r["n"] for r in stream.map(lambda r: {"n": r["id"] + 1}).take(3)] == [1, 2, 3]
    assert [r["n"] for r in stream.map({"n": "id * 3"}).take(3)] == [0, 3, 6]
    doubled = stream.map(lambda b: {"x": [v for i in b["id"] for v in (i, -i)]}, batched=True, remove_columns=["id", "text"])
    assert [r["x"] for r in doubled.take(4)] == [0, 0, 1, -1] and list(next(iter(doubled))) == ["x"]
    assert [r["i"] for r in stream.map(lambda r, i: {"i": i}, with_indices=True)] == list(range(240))
    assert next(iter(stream.rename_column("id", "key")))["key"] == 0
    assert list(next(iter(stream.remove_columns("text")))) == ["id"] and list(next(iter(stream.select_columns(["text"])))) == ["text"]
    assert next(iter(stream.cast_column("id", gd.Value("string"))))["id"] == "0"
    assert next(iter(stream.batch(3))) == {"id": [0, 1, 2], "text": ["t0", "t1", "t2"]}
    assert next(iter(stream.add_column("n", range(240))))["n"] == 0
    assert ids(gd.concatenate_datasets([stream.take(2), stream.take(1)])) == [0, 1, 0]
    assert ids(gd.interleave_datasets([stream.take(2), stream.skip(100)])) == [0, 100, 1]
    assert ids(stream.shard(3, 1)) == list(range(80, 160))
    assert ids(stream.prefetch(2)) == list(range(240))


def test_shuffle_is_known(ds):
    leaf = gd.IterableDataset.from_generator(lambda: ({"id": i} for i in range(20)))
    shuffled = leaf.shuffle(seed=42, buffer_size=5)
    assert ids(shuffled) == [4, 2, 3, 6, 1, 0, 8, 10, 5, 11, 13, 7, 12, 9, 16, 19, 14, 17, 18, 15]
    shuffled.set_epoch(1)
    assert ids(shuffled) == [4, 3, 2, 1, 7, 0, 6, 9, 10, 12, 13, 5, 15, 8, 14, 19, 17, 11, 18, 16]
    table = ds.take(24).to_iterable_dataset(6).shuffle(seed=42, buffer_size=6)
    assert ids(table) == [16, 20, 0, 12, 9, 4, 1, 5, 21, 10, 17, 13, 2, 14, 6, 18, 8, 23, 3, 19, 22, 7, 15, 11]
    assert sorted(ids(ds.to_iterable_dataset(4).shuffle(seed=1, buffer_size=50))) == list(range(240))


def pipelines(ds):
    stream = ds.to_iterable_dataset(num_shards=5)
    return {
        "plain": stream,
        "shuffled": stream.shuffle(seed=3, buffer_size=30),
        "rows": gd.IterableDataset.from_generator(lambda n: ({"id": i} for k in n for i in range(10 * k, 10 * k + 10)),
                                                  gen_kwargs={"n": list(range(8))}).shuffle(seed=1, buffer_size=13),
        "mapped": stream.shuffle(seed=5, buffer_size=20).map(lambda b: {"id": [v for i in b["id"] for v in (i, -i)]}, batched=True,
                                                              batch_size=7, remove_columns=["text"]),
        "filtered": stream.filter(lambda r: r["id"] % 3 == 1).shuffle(seed=9, buffer_size=11),
        "cut": stream.skip(7).take(100).shuffle(seed=2, buffer_size=10),
        "interleaved": gd.interleave_datasets([stream.take(50), stream.skip(60)], probabilities=[.3, .7], seed=4),
        "batched": stream.batch(7).map(lambda r: {"id": sum(r["id"])}),
        "twice": stream.take(20).shuffle(seed=8, buffer_size=6).repeat(3),
    }


@pytest.mark.parametrize("name", ["plain", "shuffled", "rows", "mapped", "filtered", "cut", "interleaved", "batched", "twice"])
def test_resume_is_exact_twice_in_a_row(ds, name):
    whole = ids(pipelines(ds)[name])
    for k in sorted({0, 1, 2, 17, len(whole) // 2, len(whole) - 1, len(whole)}):
        if k > len(whole):
            continue
        stream = pipelines(ds)[name]
        rows = iter(stream)
        assert [next(rows)["id"] for _ in range(k)] == whole[:k]
        state = json.loads(json.dumps(stream.state_dict()))
        again = pipelines(ds)[name]
        again.load_state_dict(state)
        rows, m = iter(again), min(5, len(whole) - k)
        assert [next(rows)["id"] for _ in range(m)] == whole[k:k + m]
        third = pipelines(ds)[name]
        third.load_state_dict(json.loads(json.dumps(again.state_dict())))
        assert ids(third) == whole[k + m:]


def test_state_of_another_tree_is_refused(ds):
    stream = ds.to_iterable_dataset(5)
    rows = iter(stream)
    next(rows)
    state = stream.state_dict()
    other = ds.to_iterable_dataset(5).shuffle(seed=1)
    other.load_state_dict(state)
    with pytest.raises(grebe.InvalidArgument):
        next(iter(other))
    ahead = ds.to_iterable_dataset(5)
    ahead.set_epoch(2)
    ahead.load_state_dict(state)
    assert ids(ahead) and len(ids(ahead)) == 240  # another epoch begins anew


def test_resume_in_another_process(tmp_path):
    gd.Dataset.from_dict({"id": list(range(1000))}).to_parquet(tmp_path / "a.parquet")
    code = f"""
import itertools, json, sys, grebe.dataset as gd
s = gd.load("parquet", data_files={str(tmp_path / 'a.parquet')!r}, split="train", streaming=True).shuffle(seed=1, buffer_size=100)
state = json.loads(sys.argv[1])
if state: s.load_state_dict(state)
rows = [r["id"] for r in itertools.islice(iter(s), 337)]
print(json.dumps([rows, s.state_dict()]))
"""
    state, got = None, []
    for _ in range(3):
        out = subprocess.run([sys.executable, "-c", code, json.dumps(state)], capture_output=True, text=True, check=True).stdout
        rows, state = json.loads(out)
        got += rows
    assert sorted(got) == list(range(1000)) and got != list(range(1000))


def test_generators(ds):
    def rows(names, k):
        for name in names:
            for i in range(3):
                yield {"name": name, "i": i * k}
    stream = gd.IterableDataset.from_generator(rows, gen_kwargs={"names": ["a", "b", "c", "d"], "k": 2})
    assert stream.num_shards == 4 and [r["name"] + str(r["i"]) for r in stream][:4] == ["a0", "a2", "a4", "b0"]
    typed = gd.IterableDataset.from_generator(rows, gen_kwargs={"names": ["a"], "k": 1},
                                              features=gd.Features({"name": gd.Value("string"), "i": gd.Value("float32")}))
    assert typed.features["i"] == gd.Value("float32") and [r["i"] for r in typed] == [0.0, 1.0, 2.0]

    def endless():
        yield from ({"i": i} for i in itertools.count())
    assert [r["i"] for r in gd.IterableDataset.from_generator(endless).take(5)] == [0, 1, 2, 3, 4]

    def broken():
        yield {"i": 1}
        raise KeyError("in the generator")
    with pytest.raises(KeyError, match="in the generator"):
        list(gd.IterableDataset.from_generator(broken))
    with pytest.raises(ValueError, match="equal length"):
        gd.IterableDataset.from_generator(rows, gen_kwargs={"names": ["a"], "k": [1, 2]})
    assert list(gd.Dataset.from_generator(rows, gen_kwargs={"names": ["a", "b"], "k": 1})["i"]) == [0, 1, 2] * 2


def test_exceptions_of_functions(ds):
    def fail(r):
        raise LookupError("mine")
    with pytest.raises(LookupError, match="mine"):
        list(ds.to_iterable_dataset().map(fail))
    with pytest.raises(LookupError, match="mine"):
        list(ds.to_iterable_dataset().filter(fail).prefetch(2))


@pytest.mark.parametrize("world", [1, 2, 3, 5, 8])
def test_nodes_cover_all_rows_once(ds, world):
    for shards in (1, 4, 5):
        for stream in (ds.to_iterable_dataset(shards), ds.to_iterable_dataset(shards).shuffle(seed=3, buffer_size=20)):
            parts = [ids(gd.split_dataset_by_node(stream, rank, world)) for rank in range(world)]
            assert sorted(sum(parts, [])) == list(range(240))
    parts = [gd.split_dataset_by_node(ds, rank, world)["id"][:] for rank in range(world)]
    assert sum(parts, []) == list(range(240))


def test_the_rank_of_this_process(ds, monkeypatch):
    stream = ds.to_iterable_dataset(4)
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert ids(gd.for_this_rank(stream)) == list(range(240)) and len(gd.for_this_rank(ds)) == 240
    monkeypatch.setenv("WORLD_SIZE", "2")
    parts = []
    for rank in "01":
        monkeypatch.setenv("RANK", rank)
        parts.append(ids(gd.for_this_rank(stream)))
        assert gd.for_this_rank(ds)["id"][:] == list(range(120 * int(rank), 120 * int(rank) + 120))
    assert sorted(sum(parts, [])) == list(range(240)) and all(parts)


def test_torch_loader(ds):
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader
    for workers in (0, 2):
        stream = ds.to_iterable_dataset(num_shards=4).shuffle(seed=1, buffer_size=30).with_format("torch")
        loader = DataLoader(stream, batch_size=16, num_workers=workers)
        rows = torch.cat([b["id"] for b in loader])
        assert sorted(rows.tolist()) == list(range(240)) and rows.dtype == torch.int64
        mapped = DataLoader(ds.with_format("torch"), batch_size=16, shuffle=True, num_workers=workers)
        assert sorted(torch.cat([b["id"] for b in mapped]).tolist()) == list(range(240))
    row = gd.Dataset.from_dict({"v": [[1.0, 2.0]], "s": ["x"], "n": [None], "r": [[1, 2]]}).with_format("torch")[0]
    assert row["v"].dtype == torch.float32 and row["s"] == "x" and row["n"] is None and row["r"].dtype == torch.int64


def test_random_states(ds):
    rng = random.Random(5)
    for _ in range(15):
        def make(seed=rng.randrange(1000), shards=rng.randrange(1, 8), buffer=rng.randrange(1, 60), n=rng.randrange(1, 9)):
            stream = ds.take(90).to_iterable_dataset(shards).shuffle(seed=seed, buffer_size=buffer)
            return stream.map(lambda b: {"id": b["id"]}, batched=True, batch_size=n).skip(n)
        whole, k = ids(make()), rng.randrange(0, 81)
        stream = make()
        rows = iter(stream)
        for _ in range(min(k, len(whole))):
            next(rows)
        again = make()
        again.load_state_dict(stream.state_dict())
        assert ids(again) == whole[k:]


def test_load_streaming(tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"i": i}) + "\n" for i in range(10)))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"i": i}) + "\n" for i in range(10, 15)))
    stream = gd.load("json", data_files=[str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")], split="train", streaming=True)
    assert [r["i"] for r in stream] == list(range(15)) and stream.num_shards == 2
    splits = gd.load("json", data_files={"train": str(tmp_path / "a.jsonl"), "test": str(tmp_path / "b.jsonl")}, streaming=True)
    assert list(splits) == ["train", "test"] and [r["i"] for r in splits["test"]] == list(range(10, 15))
    assert stream.to_json(tmp_path / "out.jsonl") == os.path.getsize(tmp_path / "out.jsonl")
    with pytest.raises((ValueError, grebe.Error)):
        gd.load("json", data_files=str(tmp_path / "a.jsonl"), split="train[:3]", streaming=True)


@pytest.mark.parametrize("kind,options", [("parquet", {}), ("parquet", {"batch_size": 7}), ("parquet", {"filters": [("id", ">=", 60)]}),
                                          ("arrow", {}), (None, {})])
def test_rows_that_are_skipped_are_not_read(tmp_path, kind, options):
    pq = pytest.importorskip("pyarrow.parquet")
    files = []
    for i, n in enumerate((130, 1, 75)):
        table = pa.table({"id": range(1000 * i, 1000 * i + n), "s": [f"row {k}" for k in range(n)]})
        files.append(str(tmp_path / f"{i}.{kind}"))
        if kind == "parquet":
            pq.write_table(table, files[-1], row_group_size=40)
        else:
            with pa.ipc.new_stream(files[-1], table.schema) as w:
                w.write_table(table, max_chunksize=40)
    if kind is None:
        stream = gd.Dataset.from_dict({"id": list(range(2500))}).to_iterable_dataset(num_shards=2)
    else:
        stream = gd.load(kind, data_files=files, split="train", streaming=True, **options)
    ids = [row["id"] for row in stream]
    step = 1 if len(ids) < 300 else 111
    for n in [*range(0, len(ids), step), len(ids) - 1, len(ids), len(ids) + 1]:
        assert [row["id"] for row in stream.skip(n)] == ids[n:]
    for n in range(1, len(ids), step):
        it = iter(stream)
        for _ in range(n):
            next(it)
        state = stream.state_dict()
        stream.load_state_dict(state)
        it = iter(stream)
        assert stream.state_dict() is not None
        assert [row["id"] for row in it] == ids[n:]
        stream.load_state_dict(state)       # once more, and a state taken behind the skip
        it = iter(stream)
        if n + 1 < len(ids):
            assert next(it)["id"] == ids[n]
            stream.load_state_dict(stream.state_dict())
            assert [row["id"] for row in stream] == ids[n + 1:]


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_functions_give_tensors(dtype):
    torch = pytest.importorskip("torch")
    kind, ds = getattr(torch, dtype), gd.Dataset.from_dict({"x": [1, 2, 3]})
    rows = ds.map(lambda r: {"one": torch.tensor(r["x"], dtype=kind),
                             "two": torch.ones(2, dtype=kind),
                             "in": {"a": [torch.ones(1, dtype=kind)]}})
    assert rows[2] == {"x": 3, "one": 3, "two": [1, 1], "in": {"a": [[1]]}}
    assert rows.features["one"].dtype == dtype == rows.features["two"].feature.dtype
    whole = ds.map(lambda b: {"t": torch.ones(len(b["x"]), 2, dtype=kind, requires_grad=dtype == "float32")}, batched=True)
    assert whole["t"][:] == [[1, 1]] * 3 and whole.features["t"].feature.dtype == dtype


@pytest.mark.parametrize("how", ["by row", "by batch", "more rows", "filter", "shuffle above", "shuffle below", "generator", "lists", "numpy"])
def test_a_state_after_an_exception_loses_and_repeats_no_row(how):
    bad = None

    def check(ids):
        if bad in ids:
            raise RuntimeError("bad")

    def by_row(r):
        check([r["id"]])
        return {"n": r["id"]}

    def by_batch(b):
        check(b["id"])
        return {"n": b["id"]}

    def generate(begins):
        for begin in begins:
            for i in range(begin, begin + 10):
                check([i])
                yield {"id": i}

    def make():
        if how == "generator":
            return gd.IterableDataset.from_generator(generate, gen_kwargs={"begins": [0, 10, 20, 30]})
        stream = gd.Dataset.from_dict({"id": list(range(40))}).to_iterable_dataset(num_shards=4)
        return {"by row": lambda: stream.map(by_row), "by batch": lambda: stream.map(by_batch, batched=True, batch_size=7),
                "more rows": lambda: stream.map(lambda b: check(b["id"]) or {"id": [i for i in b["id"] for _ in "ab"]}, batched=True, batch_size=7),
                "filter": lambda: stream.filter(lambda r: check([r["id"]]) or r["id"] % 3 > 0),
                "shuffle above": lambda: stream.map(by_row).shuffle(seed=1, buffer_size=8),
                "shuffle below": lambda: stream.shuffle(seed=1, buffer_size=8).map(by_row),
                "lists": lambda: stream.map(by_row).batch(4), "numpy": lambda: stream.map(by_row).with_format("numpy")}[how]()

    whole = [str(r["id"]) for r in make()]
    for number in (0, 1, 5, 17, 29, 39):
        bad, got, stream = number, [], make()
        with pytest.raises(RuntimeError, match="bad"):
            for row in stream:
                got.append(str(row["id"]))
        state, bad = json.loads(json.dumps(stream.state_dict())), None
        again = make()
        again.load_state_dict(state)
        assert got + [str(r["id"]) for r in again] == whole
