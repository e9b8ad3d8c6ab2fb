# SPDX-License-Identifier: Apache-2.0
"""grebe.dataset, map-style: rows, formats, transforms, functions and their cache."""
import json
import os
import pickle
import random

import numpy as np
import pyarrow as pa
import pytest

import grebe
import grebe.dataset as gd

N = 2500


@pytest.fixture
def ds(tmp_path):
    rows = gd.Dataset.from_dict({"id": list(range(N)), "text": [f"text {i}" for i in range(N)], "label": [i % 5 for i in range(N)],
                                 "vec": [[float(i), i + 0.5] for i in range(N)]})
    rows.save_to_disk(tmp_path / "saved")
    return gd.load_from_disk(tmp_path / "saved")


# ---- access


def test_access(ds):
    assert len(ds) == N and ds.column_names == ["id", "text", "label", "vec"] and ds.shape == (N, 4)
    assert ds[3] == {"id": 3, "text": "text 3", "label": 3, "vec": [3.0, 3.5]} and ds[-1]["id"] == N - 1
    assert ds[1:3] == {"id": [1, 2], "text": ["text 1", "text 2"], "label": [1, 2], "vec": [[1.0, 1.5], [2.0, 2.5]]}
    assert ds[[5, -1, 5]]["id"] == [5, N - 1, 5] and ds[np.array([7])]["id"] == [7] and ds[range(4, 0, -2)]["id"] == [4, 2]
    assert ds[::-1000]["id"] == [N - 1, N - 1001, N - 2001] and ds[[]]["text"] == [] and ds[10:5]["id"] == []
    assert ds["text"][2] == "text 2" and ds["id"][:3] == [0, 1, 2] and len(ds["id"]) == N and list(ds["id"]) == list(range(N))
    assert [r["id"] for r in ds] == list(range(N))
    assert [len(b["id"]) for b in ds.iter(1000)] == [1000, 1000, 500] and len(list(ds.iter(1000, drop_last_batch=True))) == 2


@pytest.mark.parametrize("key,error", [(N, IndexError), (-N - 1, IndexError), ([0, N], IndexError), ("no", KeyError), (True, TypeError),
                                       (1.5, TypeError), (["a"], TypeError)], ids=repr)
def test_access_errors(ds, key, error):
    with pytest.raises((error, grebe.InvalidArgument) if error is IndexError else error):
        ds[key]


def test_struct_columns_are_looked_into():
    rows = gd.Dataset.from_list([{"a": {"b": {"c": 1}}}, {"a": None}, {"a": {"b": {"c": 3}}}])
    assert rows["a"]["b"]["c"][:] == [1, None, 3] and rows["a"]["b"]["c"][2] == 3


def test_arrow_hosts_take_it(ds):
    table = pa.table(ds)
    assert table.num_rows == N and table["text"].to_pylist()[7] == "text 7"
    shuffled = ds.shuffle(seed=1)
    assert pa.table(shuffled)["id"].to_pylist() == shuffled["id"][:]
    assert pa.schema(ds).names == ds.column_names


# ---- formats


def test_numpy(ds):
    out = ds.with_format("numpy")
    batch = out[:4]
    assert batch["id"].dtype == np.int64 and batch["vec"].dtype == np.float32 and batch["vec"].shape == (4, 2)
    assert batch["text"].tolist() == ["text 0", "text 1", "text 2", "text 3"]
    row = out[3]
    assert row["id"] == 3 and isinstance(row["id"], np.int64) and row["vec"].dtype == np.float32
    native = ds.with_format("numpy", dtype="native")[:4]
    assert native["vec"].dtype == np.float64
    assert sum(int(b["id"].sum()) for b in out.iter(1000)) == sum(range(N))
    few = ds.with_format("numpy", columns=["id"])
    assert set(few[0]) == {"id"} and set(next(few.iter(10))) == {"id"}
    both = ds.with_format("numpy", columns=["id"], output_all_columns=True)[1]
    assert both["id"] == 1 and both["text"] == "text 1" and both["vec"] == [1.0, 1.5]


def test_numpy_nulls_and_ragged():
    rows = gd.Dataset.from_dict({"i": [1, None, 3], "r": [[1, 2], [3], []], "s": ["a", None, "b"], "e": [[1, 2], [3, 4], [5, 6]]})
    batch = rows.with_format("numpy")[:]
    assert batch["i"].dtype == np.float32 and np.isnan(batch["i"][1])
    assert batch["r"].dtype == object and [x.tolist() for x in batch["r"]] == [[1, 2], [3], []]
    assert batch["s"].tolist() == ["a", None, "b"] and batch["e"].shape == (3, 2)


def test_numpy_views_are_not_copies(ds):
    batch = next(ds.with_format("numpy").iter(1000))
    assert not batch["id"].flags.owndata and not batch["id"].flags.writeable


def test_arrow_pandas_polars(ds):
    assert pa.table(ds.with_format("arrow")[:3])["id"].to_pylist() == [0, 1, 2]
    assert sum(pa.record_batch(b).num_rows for b in ds.with_format("arrow").iter(1000)) == N
    pytest.importorskip("pandas")
    assert list(ds.with_format("pandas")[:3]["id"]) == [0, 1, 2] and list(ds.with_format("pandas")["id"])[:2] == [0, 1]
    pytest.importorskip("polars")
    assert ds.with_format("polars")[:3]["id"].to_list() == [0, 1, 2]


def test_transform_and_set_format(ds):
    out = ds.with_transform(lambda batch: {"double": [2 * i for i in batch["id"]]})
    assert out[3] == {"double": 6} and out[1:3] == {"double": [2, 4]} and next(iter(out)) == {"double": 0}
    copy = ds.select(range(5))
    copy.set_format("numpy")
    assert isinstance(copy[0]["id"], np.int64) and copy.format["type"] == "numpy"
    copy.reset_format()
    assert type(copy[0]["id"]) is int
    with copy.formatted_as("numpy", ["id"]):
        assert set(copy[0]) == {"id"}
    assert type(copy[0]["id"]) is int
    with pytest.raises(ValueError, match="unknown format"):
        ds.with_format("nonsense")
    with pytest.raises(ValueError, match="no column"):
        ds.with_format("numpy", columns=["nope"])


def test_format_goes_along(ds):
    out = ds.with_format("numpy", columns=["id"]).shuffle(seed=3).select(range(5))
    assert out.format["type"] == "numpy" and set(out[0]) == {"id"}
    added = ds.with_format("numpy", columns=["id"]).map(lambda b: {"n": b["id"]}, batched=True)
    assert set(added[0]) == {"id", "n"}


# ---- transforms


def test_orders_are_numpys(ds):
    perm = np.random.default_rng(42).permutation(N)
    assert ds.shuffle(seed=42)["id"][:] == perm.tolist()
    assert ds.shuffle(generator=np.random.default_rng(42))["id"][:] == perm.tolist()
    big = 2**70 + 5
    assert ds.shuffle(seed=big)["id"][:] == np.random.default_rng(big).permutation(N).tolist()
    assert ds.shuffle(seed=[1, 2])["id"][:] == np.random.default_rng([1, 2]).permutation(N).tolist()
    split = ds.train_test_split(test_size=0.2, seed=42)
    assert split["test"]["id"][:] == perm[:500].tolist() and split["train"]["id"][:] == perm[500:].tolist()
    with pytest.raises(ValueError):
        ds.shuffle(seed=-1)


def test_select_sort_shard(ds):
    assert ds.select([3, 1, -1])["id"][:] == [3, 1, N - 1] and ds.select(range(10, 13))["id"][:] == [10, 11, 12]
    assert ds.select(i for i in (4, 4))["id"][:] == [4, 4] and len(ds.select([])) == 0
    assert ds.take(3)["id"][:] == [0, 1, 2] and len(ds.skip(N)) == 0 and len(ds.skip(N - 1)) == 1 and len(ds.take(10 * N)) == N
    by = ds.sort(["label", "id"], reverse=[False, True])
    assert by["id"][:2] == [N - 5, N - 10] and by["label"][-1] == 4
    assert [len(ds.shard(7, i)) for i in range(7)] == [358] + [357] * 6 and ds.shard(1000, 3, contiguous=False)["id"][:] == [3, 1003, 2003]
    assert len(ds.take(3).repeat(3)) == 9 and ds.take(2).repeat(2)["id"][:] == [0, 1, 0, 1]
    with pytest.raises(ValueError):
        ds.sort("id", reverse=[True, False])
    with pytest.raises((IndexError, grebe.InvalidArgument)):
        ds.select([N])


def test_filter(ds):
    assert ds.filter("label = 3")["id"][:] == list(range(3, N, 5))
    assert ds.filter(lambda r: r["label"] == 3)["id"][:] == list(range(3, N, 5))
    assert ds.filter(lambda b: [v == 3 for v in b["label"]], batched=True)["id"][:] == list(range(3, N, 5))
    assert ds.filter(lambda b: np.asarray(b["label"]) == 3, batched=True)["id"][:] == list(range(3, N, 5))
    assert ds.filter(lambda r, i: i < 5, with_indices=True)["id"][:] == [0, 1, 2, 3, 4]
    assert ds.filter(lambda label: label == 0, input_columns="label").num_rows == 500
    shuffled = ds.shuffle(seed=0)
    assert shuffled.filter("label = 1")["id"][:] == [i for i in shuffled["id"] if i % 5 == 1]
    assert len(ds.filter(lambda r: False)) == 0 and len(ds.filter(None)) == N
    with pytest.raises(ValueError, match="mask"):
        ds.filter(lambda b: [True], batched=True)


def test_columns(ds):
    assert ds.rename_column("id", "key").column_names == ["key", "text", "label", "vec"]
    assert ds.remove_columns("vec").column_names == ["id", "text", "label"] and ds.select_columns(["vec", "id"]).column_names == ["vec", "id"]
    added = ds.add_column("n", np.arange(N))
    assert added[7]["n"] == 7 and added.features["n"] == gd.Value("int64")
    shuffled = ds.shuffle(seed=5)
    assert shuffled.add_column("n", list(range(N)))[3] == {**shuffled[3], "n": 3}
    with pytest.raises((ValueError, grebe.Error)):
        ds.add_column("n", [1])
    with pytest.raises(ValueError):
        ds.remove_columns("nope")
    labels = ds.class_encode_column("label")
    assert labels.features["label"] == gd.ClassLabel(names=["0", "1", "2", "3", "4"]) and labels["label"][:5] == [0, 1, 2, 3, 4]
    cast = ds.cast_column("id", gd.Value("int32"))
    assert cast.features["id"] == gd.Value("int32") and cast[3]["id"] == 3
    assert ds.unique("label") == [0, 1, 2, 3, 4]
    nested = gd.Dataset.from_list([{"a": {"b": 1, "c": {"d": 2}}}])
    assert nested.flatten().column_names == ["a.b", "a.c.d"]
    assert ds.take(5).batch(2)[0]["id"] == [0, 1] and ds.take(5).batch(2, drop_last_batch=True).num_rows == 2
    assert ds.take(3).add_item({"id": 99})[3] == {"id": 99, "text": None, "label": None, "vec": None}


def test_concatenate_and_interleave(ds):
    a, b = ds.take(3), ds.select([5, 4]).remove_columns("vec")
    both = gd.concatenate_datasets([a, b])
    assert both["id"][:] == [0, 1, 2, 5, 4] and both["vec"][3:] == [None, None]
    side = gd.concatenate_datasets([ds.select_columns("id"), ds.select_columns("text")], axis=1)
    assert side.column_names == ["id", "text"] and side[9] == {"id": 9, "text": "text 9"}
    parts = [gd.Dataset.from_dict({"i": [k * 10 + j for j in range(n)]}) for k, n in enumerate((3, 4, 5))]
    assert gd.interleave_datasets(parts)["i"][:] == [0, 10, 20, 1, 11, 21, 2, 12, 22]
    drawn = gd.interleave_datasets(parts, probabilities=[.7, .2, .1], seed=42, stopping_strategy="all_exhausted_without_replacement")
    assert drawn["i"][:] == [10, 0, 11, 1, 2, 20, 12, 13, 21, 22, 23, 24]
    for bad in ([], [a, 3], {"train": a}):
        with pytest.raises(ValueError):
            gd.concatenate_datasets(bad)


# ---- map


def test_map_rows_and_batches(ds):
    assert ds.map(lambda r: {"n": r["id"] * 2})[5]["n"] == 10
    assert ds.map(lambda b: {"n": [2 * i for i in b["id"]]}, batched=True)["n"][:3] == [0, 2, 4]
    assert ds.map({"n": "id * 2", "t": "length(text)"})[10] == {**ds[10], "n": 20, "t": 7}
    assert ds.map(lambda r, i: {"i": i}, with_indices=True)["i"][:] == list(range(N))
    assert ds.map(lambda b, i: {"i": i}, with_indices=True, batched=True, batch_size=7)["i"][:] == list(range(N))
    assert ds.map(lambda label: {"l": label + 1}, input_columns="label")["l"][:3] == [1, 2, 3]
    twice = ds.map(lambda b: {"x": [v for i in b["id"] for v in (i, -i)]}, batched=True, remove_columns=ds.column_names)
    assert len(twice) == 2 * N and twice["x"][:4] == [0, 0, 1, -1] and twice.column_names == ["x"]
    assert len(ds.map(lambda b: {"x": []}, batched=True, remove_columns=ds.column_names)) == 0
    assert ds.map(lambda b: {"n": b["id"]}, batched=True, batch_size=1000, drop_last_batch=True).num_rows == 2000
    assert ds.map(lambda r: {"v": np.float32([r["id"], 1])})[2]["v"] == [2.0, 1.0]
    assert ds.map(lambda r, k: {"n": k}, fn_kwargs={"k": 4})[0]["n"] == 4


def test_map_order_of_columns(ds):
    small = ds.take(3).select_columns(["id", "label"])
    assert small.map(lambda r: {"label": 9, "z": 1}).column_names == ["id", "label", "z"]
    assert small.map(lambda r: {"id": 9}, remove_columns="id").column_names == ["label", "id"]

    def change(r):
        r["label"] += 1
        return {"z": 0}
    assert small.map(change)["label"][:] == [1, 2, 3]

    def delete(r):
        del r["label"]
        return r
    assert small.map(delete).column_names == ["id"]

    def delete_batch(b):
        del b["label"]
        return {"z": b["id"]}
    assert small.map(delete_batch, batched=True).column_names == ["id", "z"]

    def set_batch(b):
        b["label"] = [7] * len(b["id"])
        return b
    assert small.map(set_batch, batched=True)["label"][:] == [7, 7, 7]

    def in_place(b):
        for v in b["vec"]:
            v.append(1.0)
        return b
    assert ds.take(2).map(in_place, batched=True)["vec"][:] == [[0.0, 0.5, 1.0], [1.0, 1.5, 1.0]]


def test_map_nothing(ds):
    seen = []
    assert ds.take(5).map(lambda r: seen.append(r["id"])).column_names == ds.column_names and seen == [0, 1, 2, 3, 4]
    with pytest.raises((ValueError, grebe.Error), match="row 3"):
        ds.take(5).map(lambda r: {"n": 1} if r["id"] < 3 else None)
    with pytest.raises((ValueError, grebe.Error)):
        ds.map(lambda b: None if b["id"][0] == 0 else {"n": b["id"]}, batched=True)


def test_map_nothing_for_some(ds):
    small = ds.select_columns(["id", "label"])
    odd = lambda r: {"n": r["id"]} if r["id"] % 2 else None  # noqa: E731
    assert small.map(odd, on_none="drop")["n"][:] == list(range(1, N, 2)) and small.map(odd, on_none="drop")["id"][:3] == [1, 3, 5]
    kept = small.map(odd, on_none="keep")
    assert kept["n"][:4] == [None, 1, None, 3] and kept["id"][:] == list(range(N))
    late = lambda r: {"n": "x"} if r["id"] > 2100 else None  # noqa: E731
    assert small.map(late, on_none="keep")["n"][2099:2103] == [None, None, "x", "x"]
    assert small.map(late, on_none="drop")["id"][:] == list(range(2101, N))
    assert small.map(late, on_none="drop", remove_columns="label").column_names == ["id", "n"]
    by = lambda b: {"n": b["id"]} if b["id"][0] >= 1000 else None  # noqa: E731
    assert small.map(by, batched=True, on_none="drop")["id"][:] == list(range(1000, N))
    assert small.map(by, batched=True, on_none="keep")["n"][998:1002] == [None, None, 1000, 1001]
    with pytest.raises(ValueError, match="on_none"):
        small.map(odd, on_none="maybe")


def test_map_deleted_and_removed_columns(ds):
    def delete(b):
        del b["label"]
        return {"z": b["id"]}
    assert ds.map(delete, batched=True, remove_columns=["vec"]).column_names == ["id", "text", "z"]


def test_map_types(ds):
    small = ds.take(4).cast_column("id", gd.Value("int32"))
    assert small.map(lambda r: {"id": r["id"] + 1}).features["id"] == gd.Value("int32")
    assert small.map(lambda r: {"id": f"n{r['id']}"}).features["id"] == gd.Value("string")
    assert small.map(lambda r: {"id": str(r["id"])}).features["id"] == gd.Value("int32")  # as `datasets`: the texts are numbers
    late = ds.map(lambda b: {"n": [None if i < 1500 else i for i in b["id"]]}, batched=True)
    assert late["n"][1498:1502] == [None, None, 1500, 1501]
    given = ds.take(3).map(lambda r: {"y": r["id"]}, remove_columns=ds.column_names, features=gd.Features({"y": gd.Value("float32")}))
    assert given.features == {"y": gd.Value("float32")} and given["y"][:] == [0.0, 1.0, 2.0]
    mixed = ds.take(3).map(lambda r: {"m": [1, "a", {"k": None}][r["id"]]})
    assert mixed.features["m"] == gd.Json() and mixed["m"][:] == [1, "a", {"k": None}]


def test_map_tables(ds):
    out = ds.with_format("arrow").map(lambda b: pa.table({"n": pa.record_batch(b)["id"]}), batched=True)
    assert out.column_names == ["n"] and len(out) == N


@pytest.mark.parametrize("batched", [False, True])
def test_errors_of_functions(ds, batched):
    def fail(r):
        raise KeyError("my own")
    with pytest.raises(KeyError, match="my own"):
        ds.map(fail, batched=batched)
    assert not [f for f in os.listdir(os.path.dirname(ds.cache_files[0]["filename"])) if f.startswith("cache-") or "tmp" in f]
    with pytest.raises(TypeError):
        ds.map(lambda r: 3, batched=batched)
    with pytest.raises((ValueError, grebe.Error)):
        ds.map(lambda b: {"n": [1]}, batched=True)
    with pytest.raises(TypeError):
        ds.map(lambda b: {"n": "abc"}, batched=True)
    with pytest.raises(ValueError, match="no column"):
        ds.map(lambda r: r, remove_columns=["nope"])


# ---- the cache

FACTOR = 2


def _count(folder):
    return len([f for f in os.listdir(folder) if f.startswith("cache-")])


def test_cache_hits_and_misses(ds):
    folder = os.path.dirname(ds.cache_files[0]["filename"])
    calls = []

    def make(k):
        def double(batch):
            open(os.path.join(folder, "called"), "a").write("x")
            return {"n": [k * i for i in batch["id"]]}
        return double
    called = lambda: os.path.getsize(os.path.join(folder, "called"))  # noqa: E731
    first = ds.map(make(2), batched=True)
    n = called()
    again = ds.map(make(2), batched=True)
    assert called() == n and again.fingerprint == first.fingerprint and again.cache_files == first.cache_files
    ds.map(make(3), batched=True)
    assert called() > n  # another captured value
    n = called()
    ds.map(make(2), batched=True, batch_size=500)
    assert called() > n
    n = called()
    ds.map(make(2), batched=True, remove_columns="text")
    assert called() > n
    n = called()
    ds.map(make(2), batched=True, load_from_cache_file=False)
    assert called() > n
    assert calls == [] and ds.cleanup_cache_files() == _count(folder) + ds.cleanup_cache_files() or _count(folder) == 0


def test_globals_are_part_of_a_function(ds, monkeypatch):
    def scaled(r):
        return {"n": FACTOR * r["id"]}
    first = ds.map(scaled)
    monkeypatch.setitem(globals(), "FACTOR", 3)
    second = ds.map(scaled)
    assert first.fingerprint != second.fingerprint and second[2]["n"] == 6


def test_unknown_functions_are_not_found_again(ds):
    class Odd:
        def __reduce__(self):
            raise TypeError("no")
    odd = Odd()
    with pytest.warns(UserWarning, match="cannot be told"):
        a = ds.map(lambda r: {"n": 1 if odd else 0})
    b = ds.map(lambda r: {"n": 1 if odd else 0})
    assert a.fingerprint != b.fingerprint


def test_caching_can_be_off(ds):
    gd.disable_caching()
    try:
        assert ds.map(lambda r: {"n": 1}).fingerprint != ds.map(lambda r: {"n": 1}).fingerprint
    finally:
        gd.enable_caching()
    assert ds.map(lambda r: {"n": 1}).fingerprint == ds.map(lambda r: {"n": 1}).fingerprint
    named = ds.map(lambda r: {"n": 1}, new_fingerprint="my-own")
    assert named.fingerprint == "my-own"
    for bad in ("", "a" * 65, "a/b"):
        with pytest.raises((ValueError, grebe.Error)):
            ds.map(lambda r: {"n": 1}, new_fingerprint=bad)


# ---- writing


def test_save_load_export(ds, tmp_path):
    out = ds.shuffle(seed=9).map({"n": "length(text)"})
    out.save_to_disk(tmp_path / "out", num_shards=3)
    back = gd.load_from_disk(tmp_path / "out")
    assert back[:] == out[:] and back.features == out.features and back.fingerprint == out.fingerprint
    assert sorted(os.listdir(tmp_path / "out")) == [f"data-0000{i}-of-00003.arrow" for i in range(3)] + ["dataset_info.json", "state.json"]
    split = out.train_test_split(0.1, seed=1)
    split.save_to_disk(tmp_path / "dict")
    again = gd.load_from_disk(tmp_path / "dict")
    assert list(again) == ["train", "test"] and again["test"][:] == split["test"][:]
    assert ds.to_json(tmp_path / "a.jsonl") == os.path.getsize(tmp_path / "a.jsonl")
    assert [json.loads(line)["id"] for line in open(tmp_path / "a.jsonl")] == list(range(N))
    ds.to_csv(tmp_path / "a.csv")
    ds.to_parquet(tmp_path / "a.parquet")
    for kind, name in (("json", "a.jsonl"), ("parquet", "a.parquet"), ("csv", "a.csv")):
        loaded = gd.load(kind, data_files=str(tmp_path / name), split="train", cache_dir=tmp_path / "cache")
        assert loaded["text"][:] == ds["text"][:] and loaded["id"][:] == ds["id"][:]
    with pytest.raises(ValueError):
        ds.save_to_disk(tmp_path / "x", num_shards=2, max_shard_size="1MB")


def test_pickle(ds):
    out = ds.with_format("numpy").shuffle(seed=4)
    back = pickle.loads(pickle.dumps(out))
    assert back["id"][:].tolist() == out["id"][:].tolist() and back.fingerprint == out.fingerprint
    memory = gd.Dataset.from_dict({"a": [1, None]})
    assert pickle.loads(pickle.dumps(memory))[:] == memory[:]
    assert pickle.loads(pickle.dumps(ds.features)) == ds.features


def test_table_and_back(ds, tmp_path):
    table = ds.to_table(tmp_path / "t")
    assert gd.Dataset.from_table(table)[5]["text"] == ds[5]["text"]
    assert ds.take(2).append_to(table).count() == N + 2


def test_random_pipelines_do_what_lists_do(ds):
    rng = random.Random(11)
    for _ in range(40):
        out, rows = ds.take(300), list(range(300))
        for _ in range(rng.randrange(1, 6)):
            what = rng.choice(["select", "shuffle", "filter", "skip", "take", "shard", "sort", "concat", "map"])
            if what == "select" and rows:
                picked = [rng.randrange(-len(rows), len(rows)) for _ in range(rng.randrange(0, 50))]
                out, rows = out.select(picked), [rows[i] for i in picked]
            elif what == "shuffle":
                seed = rng.randrange(100)
                out, rows = out.shuffle(seed=seed), [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
            elif what == "filter":
                k = rng.randrange(2, 5)
                out, rows = out.filter(f"id % {k} = 0"), [i for i in rows if i % k == 0]
            elif what == "skip":
                k = rng.randrange(0, 40)
                out, rows = out.skip(k), rows[k:]
            elif what == "take":
                k = rng.randrange(0, 200)
                out, rows = out.take(k), rows[:k]
            elif what == "shard":
                out, rows = out.shard(3, 1, contiguous=False), rows[1::3]
            elif what == "sort":
                out, rows = out.sort("id", reverse=True), sorted(rows, reverse=True)
            elif what == "concat":
                out, rows = gd.concatenate_datasets([out, ds.take(3)]), rows + [0, 1, 2]
            else:
                out = out.map(lambda b: {"label": b["id"]}, batched=True, batch_size=rng.randrange(1, 100))
        assert out["id"][:] == rows
        assert [r["text"] for r in out] == [f"text {i}" for i in rows]


# ---- search


def test_search(ds):
    eye = gd.Dataset.from_dict({"v": np.eye(5, dtype=np.float32).tolist()})
    eye.add_index("v")
    scores, rows = eye.search("v", np.eye(5)[1], k=1)
    assert rows.tolist() == [1] and scores.tolist() == [0.0]
    _, many = eye.search_batch("v", np.eye(5)[::-1].copy(), k=1)
    assert many[:, 0].tolist() == [4, 3, 2, 1, 0]
    scores, rows = eye.search("v", np.ones(5), k=8)
    assert sorted(rows[:5].tolist()) == [0, 1, 2, 3, 4] and rows[5:].tolist() == [-1, -1, -1]
    _, examples = eye.get_nearest_examples("v", np.eye(5)[2], k=2)
    assert examples["v"][0] == [0, 0, 1, 0, 0]
    with pytest.raises(gd.DatasetTransformationNotAllowedError):
        eye.select([0])
    with pytest.raises(gd.MissingIndex):
        eye.search("w", np.ones(5))
    eye.drop_index("v")
    assert eye.list_indexes() == []
