# SPDX-License-Identifier: Apache-2.0
"""The package `datasets` beside grebe.dataset: folders that both read, the same orders, the same values in every format."""
import datetime
import decimal
import os
import random

import numpy as np
import pyarrow as pa
import pytest

import grebe.dataset as gd

os.environ.setdefault("HF_HUB_OFFLINE", "1")
datasets = pytest.importorskip("datasets")
datasets.disable_progress_bars()
N = 1200


def columns():
    rng = np.random.default_rng(1)
    return {"id": list(range(N)), "text": [None if i % 11 == 0 else f"text {i} ä" for i in range(N)], "label": [i % 3 for i in range(N)],
            "score": rng.random(N).tolist(), "tags": [[f"t{j}" for j in range(i % 4)] for i in range(N)],
            "flag": [i % 2 == 0 for i in range(N)], "vec": rng.random((N, 3)).tolist(),
            "meta": [{"a": i, "b": {"c": str(i)}} for i in range(N)], "when": [datetime.datetime(2020, 1, 1, i % 24) for i in range(N)],
            "day": [datetime.date(2020, 1, 1 + i % 28) for i in range(N)], "raw": [bytes([i % 256]) for i in range(N)],
            "money": [decimal.Decimal(i) / 100 for i in range(N)]}


@pytest.fixture(scope="module")
def theirs():
    features = datasets.Dataset.from_dict(columns()).features.copy()
    features["label"] = datasets.ClassLabel(names=["neg", "neutral", "pos"])
    return datasets.Dataset.from_dict(columns(), features=features)


@pytest.fixture(scope="module")
def ours(theirs):
    return gd.Dataset.from_datasets(theirs)


def test_values_and_features(theirs, ours):
    assert ours[:] == theirs[:] and ours[5] == theirs[5] and ours.features.to_dict() == theirs.features.to_dict()
    assert gd.Dataset.from_dict(columns()).features.to_dict() == datasets.Dataset.from_dict(columns()).features.to_dict()


def test_without_a_copy(theirs, ours):
    back = ours.to_datasets()
    assert back[:10] == theirs[:10] and back.features == theirs.features
    mine = pa.table(ours)["score"].chunk(0).buffers()[1].address
    assert mine == theirs.data.table["score"].chunk(0).buffers()[1].address
    assert back.data.table["score"].chunk(0).buffers()[1].address == mine


def test_saved_by_either(theirs, ours, tmp_path):
    theirs.save_to_disk(tmp_path / "theirs", num_shards=3)
    ours.save_to_disk(tmp_path / "ours", num_shards=3)
    mine, other = gd.load_from_disk(tmp_path / "theirs"), datasets.load_from_disk(str(tmp_path / "ours"))
    assert mine[:] == theirs[:] and mine.features.to_dict() == theirs.features.to_dict()
    assert other[:] == theirs[:] and other.features == theirs.features
    for name in ("state.json", "dataset_info.json"):
        a, b = (tmp_path / "theirs" / name).read_bytes(), (tmp_path / "ours" / name).read_bytes()
        assert a.replace(theirs._fingerprint.encode(), b"") == b.replace(ours.fingerprint.encode(), b"")
    split = ours.train_test_split(0.25, seed=7)
    split.save_to_disk(tmp_path / "dict")
    both = datasets.load_from_disk(str(tmp_path / "dict"))
    assert list(both) == ["train", "test"] and both["test"]["id"][:] == theirs.train_test_split(0.25, seed=7)["test"]["id"][:]


@pytest.mark.parametrize("seed", [0, 42, 2**40])
def test_orders(theirs, ours, seed):
    assert ours.shuffle(seed=seed)["id"][:] == theirs.shuffle(seed=seed)["id"][:]
    a, b = ours.train_test_split(0.3, seed=seed), theirs.train_test_split(0.3, seed=seed)
    assert a["train"]["id"][:] == b["train"]["id"][:] and a["test"]["id"][:] == b["test"]["id"][:]
    a, b = (d.train_test_split(0.3, seed=seed, stratify_by_column="label") for d in (ours, theirs))
    assert a["train"]["id"][:] == b["train"]["id"][:] and a["test"]["id"][:] == b["test"]["id"][:]
    keys = (["label", "score"], [True, False])
    assert ours.sort(*keys)["id"][:] == theirs.sort(*keys)["id"][:]
    stream = ours.to_iterable_dataset(7).shuffle(seed=seed, buffer_size=100)
    other = theirs.to_iterable_dataset(7).shuffle(seed=seed, buffer_size=100)
    for epoch in (0, 1, 5):
        stream.set_epoch(epoch)
        other.set_epoch(epoch)
        assert [r["id"] for r in stream] == [r["id"] for r in other]


def equal(x, y):
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        x, y = np.asarray(x), np.asarray(y)
        return x.shape == y.shape and (x.dtype == y.dtype or "O" in (x.dtype.char, y.dtype.char) or x.dtype.kind in "SU") and \
            all(equal(a, b) for a, b in zip(x.ravel().tolist(), y.ravel().tolist()))
    if isinstance(x, dict):
        return list(x) == list(y) and all(equal(x[k], y[k]) for k in x)
    if isinstance(x, (list, tuple)):
        return len(x) == len(y) and all(equal(a, b) for a, b in zip(x, y))
    return x == y or (x != x and y != y)


@pytest.mark.parametrize("name", ["id", "text", "label", "score", "tags", "vec", "when"])
def test_numpy_gives_the_same(theirs, ours, name):
    a, b = ours.with_format("numpy"), theirs.with_format("numpy")
    assert equal(a[:50][name], b[:50][name]) and equal(a[7][name], b[7][name])
    assert equal(list(a.iter(100))[3][name], list(b.iter(100))[3][name])


def test_torch_gives_the_same(theirs, ours):
    torch = pytest.importorskip("torch")
    columns = ["id", "text", "label", "score", "vec", "flag"]
    a, b = ours.with_format("torch", columns)[:20], theirs.with_format("torch", columns)[:20]
    for name in ("id", "label", "score", "vec", "flag"):
        assert torch.equal(a[name], b[name]) and a[name].dtype == b[name].dtype
    assert a["text"] == b["text"]


def test_random_pipelines(theirs, ours):
    rng = random.Random(3)
    for _ in range(12):
        a, b = ours.select_columns(["id", "label", "text"]), theirs.select_columns(["id", "label", "text"])
        for _ in range(rng.randrange(1, 5)):
            seed, k = rng.randrange(50), rng.randrange(2, 6)
            a, b = rng.choice([
                lambda a, b: (a.shuffle(seed=seed), b.shuffle(seed=seed)),
                lambda a, b: (a.filter(lambda r: r["id"] % k), b.filter(lambda r: r["id"] % k)),
                lambda a, b: (a.map(lambda r: {"id": r["id"], "n": k}), b.map(lambda r: {"id": r["id"], "n": k})),
                lambda a, b: (a.shard(k, 1), b.shard(k, 1)),
                lambda a, b: (a.sort("text"), b.sort("text")),
                lambda a, b: (a.take(200), b.take(200)),
                lambda a, b: (gd.concatenate_datasets([a, a]), datasets.concatenate_datasets([b, b])),
                lambda a, b: (gd.interleave_datasets([a, a], [.5, .5], seed=k), datasets.interleave_datasets([b, b], [.5, .5], seed=k)),
            ])(a, b)
        assert a[:] == b[:] and a.features.to_dict() == b.features.to_dict()


def test_a_cache_of_theirs_is_read(theirs, tmp_path):
    theirs.to_parquet(tmp_path / "a.parquet")
    loaded = datasets.load_dataset("parquet", data_files=str(tmp_path / "a.parquet"), split="train", cache_dir=str(tmp_path / "c"))
    mine = gd.Dataset.from_file(loaded.cache_files[0]["filename"])
    assert mine[:] == theirs[:] and mine.features.to_dict() == theirs.features.to_dict()
    ours = gd.load("parquet", data_files=str(tmp_path / "a.parquet"), split="train", cache_dir=tmp_path / "d")
    other = datasets.Dataset.from_file(ours.cache_files[0]["filename"])
    assert other[:] == theirs[:] and other.features == theirs.features


def test_formats_are_named_the_same(theirs):
    mine = gd.Dataset.from_datasets(theirs)
    formats = [dict(type="numpy"), dict(), dict(type="numpy", columns=["id"]), dict(type="numpy", columns=["id"], output_all_columns=True)]
    for a in formats:
        for b in formats:
            ours_again, theirs_again = mine.with_format(**a).with_format(**b), theirs.with_format(**a).with_format(**b)
            assert ours_again.fingerprint == theirs_again._fingerprint
            assert ours_again.shuffle(seed=1).fingerprint == theirs_again.shuffle(seed=1)._fingerprint
    changed = gd.Dataset.from_datasets(theirs)
    changed.set_format("numpy")
    assert changed.fingerprint == theirs.with_format("numpy")._fingerprint
    # what is no plain value has names of ours, which differ where it does
    kinds = [mine.with_format("numpy", dtype=t) for t in (np.float32, np.float64, np.float32)]
    assert kinds[0].fingerprint == kinds[2].fingerprint != kinds[1].fingerprint != mine.fingerprint
    functions = [mine.with_transform(f) for f in (lambda b: b, lambda b: {"n": b["id"]}, lambda b: b)]
    assert functions[0].fingerprint == functions[2].fingerprint != functions[1].fingerprint != mine.fingerprint


def in_all_places(kind):
    """A scalar of numpy as a value, in lists, in dicts, with None, with another width, and beside a Python number."""
    one, two = getattr(np, kind)(1), getattr(np, kind)(0)
    wide = {"i": np.int64, "u": np.uint64, "f": np.float64}[one.dtype.kind](1)
    places = [[one, None], [[one, two], None, []], [(one, None)], [{"a": one}, {"a": None}], [{"a": None}, {"a": two, "b": "x"}], [[{"a": one}]],
            [{"a": [one]}], [[[one]], [[], None]], [{"a": {"b": one}}, None], [[one, wide]], [{"a": one}, {"a": wide}]]
    return places if kind == "float16" else places + [[[1, one]], [{"a": one}, {"a": 1}]]  # theirs makes whole numbers of halves then


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"])
def test_scalars_of_numpy_keep_their_type(kind):
    for values in in_all_places(kind):
        want, got = datasets.Dataset.from_dict({"x": values}), gd.Dataset.from_dict({"x": values})
        assert got.features.to_dict() == want.features.to_dict(), values
        assert got["x"][:] == want["x"][:]
        mapped = gd.Dataset.from_dict({"i": list(range(len(values)))}).map(lambda r: {"x": values[r["i"]]})
        assert mapped.features.to_dict()["x"] == got.features.to_dict()["x"]


def test_halves_are_written_exactly():
    some = [[np.float16(v)] for v in (0, -0.0, 1.5, -65504, 2**-14, 2**-24, 3 * 2**-24, 1 / 3, np.inf, -np.inf)]
    got = pa.table(gd.Dataset.from_dict({"x": some}))["x"]
    assert got.type == pa.list_(pa.float16()) and [np.float16(v[0]).tobytes() for v in got.to_pylist()] == [v[0].tobytes() for v in some]


@pytest.mark.parametrize("how", ["by batch", "more rows", "generator"])
def test_streams_go_on_after_an_exception_as_theirs(how):
    """`datasets` gives a state from which these go on exactly; of a function of rows it leaves out the row that failed."""
    bad = None

    def check(ids):
        if bad in ids:
            raise RuntimeError("bad")

    def generate(begins):
        for begin in begins:
            for i in range(begin, begin + 10):
                check([i])
                yield {"id": i}

    def rest(module, number):
        nonlocal bad

        def make():
            if how == "generator":
                return module.IterableDataset.from_generator(generate, gen_kwargs={"begins": [0, 10, 20]})
            stream = module.Dataset.from_dict({"id": list(range(30))}).to_iterable_dataset(num_shards=3)
            n = 2 if how == "more rows" else 1
            return stream.map(lambda b: check(b["id"]) or {"id": [i for i in b["id"] for _ in range(n)]}, batched=True, batch_size=7)

        bad, got, stream = number, [], make()
        with pytest.raises(RuntimeError, match="bad"):
            for row in stream:
                got.append(row["id"])
        state, bad = stream.state_dict(), None
        again = make()
        again.load_state_dict(state)
        return got + [r["id"] for r in again]

    for number in (0, 4, 12, 29):
        assert rest(gd, number) == rest(datasets, number)
