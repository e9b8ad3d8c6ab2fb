# SPDX-License-Identifier: Apache-2.0
"""What odd use of data sets must not break: clear errors, no crash, no wrong rows without a word."""

import io
import os
import tarfile
import zipfile

import numpy as np
import pytest

import grebe
import grebe.dataset as gd


def rows(n):
    return gd.Dataset.from_dict({"a": list(range(n)), "t": [f"t{i}" for i in range(n)]})


@pytest.fixture
def ds():
    return rows(5)


@pytest.fixture
def stream(ds):
    return ds.to_iterable_dataset(2)


# ---- functions


def test_an_exception_with_notes_comes_out_of_workers_once(ds):
    with pytest.raises(ZeroDivisionError) as e:
        ds.map(lambda r: {"z": 1 // (r["a"] - 3)}, num_proc=2)
    assert e.value.__notes__.count("row 3") == 1


def test_a_worker_that_ends_before_its_part_is_done_is_an_error(ds, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(RuntimeError, match="died"):
        ds.map(lambda r: os._exit(0), num_proc=2)
    assert os.listdir(tmp_path) == []


def test_functions_of_streams_that_change_nothing(stream):
    want = list(stream)
    assert list(stream.map(lambda r: r)) == want and list(stream.map()) == want
    assert list(stream.map(lambda r: {})) == want
    assert list(stream.map(lambda b: b, batched=True, batch_size=2)) == want
    assert list(stream.map(lambda b: {}, batched=True)) == want
    assert list(stream.map(lambda b: {}, batched=True, remove_columns=["a", "t"])) == []
    assert list(stream.map(lambda r: {}, remove_columns="a")) == [{"t": r["t"]} for r in want]


def test_add_column_of_streams(stream):
    assert [r["z"] for r in stream.add_column("z", range(5))] == list(range(5))
    with pytest.raises(ValueError, match="4 values"):
        list(stream.add_column("z", [1] * 4))
    with pytest.raises(ValueError, match="there already"):
        list(stream.add_column("a", [1] * 5))


# ---- row numbers, sizes, seeds


def test_masks_are_no_row_numbers(ds):
    for mask in ([True, False], [1, True], np.array([True, False])):
        with pytest.raises(TypeError):
            ds[mask]
        with pytest.raises(TypeError):
            ds.select(mask)
        with pytest.raises(TypeError):
            ds.take_rows(mask)


@pytest.mark.parametrize("size", [-1, -0.5, True, "x", [1]])
def test_split_sizes(ds, size):
    with pytest.raises(ValueError):
        ds.train_test_split(size)
    with pytest.raises(ValueError):
        ds.train_test_split(train_size=size)


@pytest.mark.parametrize("n", [None, 1.5, float("nan"), "x", [1]])
def test_counts_that_are_no_integers(ds, stream, n):
    for call in (ds.take, ds.skip, ds.repeat, lambda n: list(ds.iter(n)), lambda n: list(stream.iter(n)), ds.batch, stream.batch,
                 lambda n: stream.shuffle(seed=1, buffer_size=n), lambda n: ds.map(lambda b: b, batched=True, batch_size=n or "x"),
                 lambda n: ds.to_csv(os.devnull, batch_size=n or "x")):
        with pytest.raises((TypeError, ValueError)):
            call(n)


@pytest.mark.parametrize("n", [0, -1, -2**63])
def test_counts_below_one(ds, stream, n, tmp_path):
    for call in (lambda n: list(ds.iter(n)), lambda n: list(stream.iter(n)), ds.batch, stream.batch,
                 lambda n: stream.shuffle(seed=1, buffer_size=n), lambda n: ds.to_json(tmp_path / "x", batch_size=n)):
        with pytest.raises(ValueError, match="at least 1"):
            call(n)


def test_counts_beyond_32_bits_are_not_cut(ds, stream):
    with pytest.raises(grebe.InvalidArgument):
        ds.flatten(max_depth=-2**63)
    assert ds.flatten(max_depth=2**32).column_names == ["a", "t"]
    for n in (-2**63, -2**32):
        with pytest.raises(grebe.InvalidArgument, match="read ahead"):
            stream.prefetch(n)


@pytest.mark.parametrize("seed", ["x", b"x", 1.5, [None], ["a"], {}, object()])
def test_seeds(ds, stream, seed):
    for call in (ds.shuffle, stream.shuffle, lambda seed: ds.train_test_split(0.5, seed=seed)):
        with pytest.raises(TypeError, match="seed"):
            call(seed=seed)
    assert list(ds.shuffle(seed=np.int64(3))) == list(ds.shuffle(seed=3))


# ---- rows and names


def test_rows_that_are_no_dicts(tmp_path):
    for odd in ("", [], None, 5):
        with pytest.raises(TypeError, match="row 1: expected a dict"):
            gd.Dataset.from_list([{"a": 1}, odd])
        with pytest.raises(TypeError, match="row 1: expected a dict"):
            gd.Dataset.from_generator(lambda odd=odd: iter([{"a": 1}, odd]))
        with pytest.raises(TypeError, match="row 1: expected a dict"):
            list(gd.IterableDataset.from_generator(lambda odd=odd: iter([{"a": 1}, odd])))


def test_a_generator_is_known_by_its_first_thousand_rows():
    for late in (15, 1.5, "x"):
        made = gd.Dataset.from_generator(lambda late=late: iter([{"a": None}] * 20 + [{"a": late, "b": 1}]))
        assert made[20] == {"a": late, "b": 1} and made[0] == {"a": None, "b": None}
    assert gd.Dataset.from_generator(lambda: iter([{"a": 1}] * 20 + [{"a": 1.5}]))[20] == {"a": 1.5}


def test_null_characters_in_names_are_refused(ds):
    for call in (lambda: gd.Dataset.from_dict({"a\0b": [1]}), lambda: ds.map(lambda r: {"a\0b": 1}),
                 lambda: ds.rename_column("a", "a\0b"), lambda: ds.add_column("z\0", [1] * 5)):
        with pytest.raises(ValueError, match="null character"):
            call()


def test_what_is_no_mapping_of_names(ds, stream):
    for call in (ds.rename_columns, stream.rename_columns):
        with pytest.raises(TypeError, match="expected a dict"):
            call(["a"])
    with pytest.raises(TypeError, match="expected a dict"):
        ds.add_item([1])
    with pytest.raises(TypeError, match="load_state_dict"):
        stream.load_state_dict(5)


# ---- the cache


def test_cache_remove_takes_no_number_below_0_for_all(tmp_path):
    (tmp_path / "x.csv").write_text("a\n1\n")
    cache = tmp_path / "cache"
    gd.load("csv", data_files=tmp_path / "x.csv", cache_dir=cache)
    for what in ({"max_size": -1}, {"older_than": -1}, {"older_than": float("nan")}, {"path": ""}):
        with pytest.raises(ValueError, match="cache_remove"):
            gd.cache_remove(cache, **what)
    assert len(gd.cache_list(cache)) >= 1
    assert gd.load("csv", data_files=tmp_path / "x.csv", cache_dir=cache, split="train", num_proc=2**40)[0] == {"a": 1}
    with pytest.raises(ValueError, match="num_proc"):
        gd.load("csv", data_files=tmp_path / "x.csv", cache_dir=cache, num_proc=-1)


# ---- names


@pytest.mark.parametrize("name", ["[t]", "test[1]", "*", "?", "a b", "a\nb", "..x", "...", "x" * 255, "☃" * 85, "a::b", "@x", "#x", "50%"])
def test_folders_with_odd_names(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "t.csv").write_text("v\n1\n")
    (tmp_path / "t1.csv").write_text("v\n2\n")
    for _ in range(2):  # made, and found
        assert gd.load(folder, split="train", cache_dir=tmp_path / "cache")[:] == {"v": [1]}
    assert gd.load("csv", data_dir=folder, split="train", cache_dir=tmp_path / "cache")[:] == {"v": [1]}
    assert list(gd.load(folder, split="train", streaming=True)) == [{"v": 1}]
    rows(3).save_to_disk(folder / "saved")
    assert len(gd.load_from_disk(folder / "saved")) == 3


def test_a_cache_file_that_the_set_reads_is_refused(tmp_path):
    rows(5).save_to_disk(tmp_path / "s")
    first = gd.load_from_disk(tmp_path / "s").map(lambda r: {"z": 1}, cache_file_name=tmp_path / "x.arrow")
    os.symlink(tmp_path / "x.arrow", tmp_path / "y.arrow")
    for name in ("x.arrow", "y.arrow"):
        for call in (lambda n: first.map(lambda r: {"w": 2}, cache_file_name=n), lambda n: first.filter("a > 1", cache_file_name=n),
                     lambda n: first.map(lambda r: {"w": 2}, cache_file_name=n, load_from_cache_file=False),
                     lambda n: first.shuffle(seed=1, indices_cache_file_name=n), lambda n: first.sort("a", indices_cache_file_name=n)):
            with pytest.raises(grebe.InvalidArgument, match="this data set reads it"):
                call(tmp_path / name)
    assert first["z"][:] == [1] * 5


# ---- archives


def tar_of(path, *names):
    with tarfile.open(path, "w") as t:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 1
            t.addfile(member, io.BytesIO(name[-5:-4].encode()))
    return str(path)


def zip_of(path, **members):
    with zipfile.ZipFile(path, "w") as z:
        for name, text in members.items():
            z.writestr(name, text)
    return str(path)


def test_members_below_a_dot_are_data(tmp_path):
    """`tar cf x.tar .` names each member "./…"."""
    path = tar_of(tmp_path / "x.tar", "./a.txt", "./.b.txt", "./__c.txt", ".d/e.txt", "../../f.txt", "/g.txt")
    want = [("./a", "a"), (".d/e", "e"), ("../../f", "f"), ("/g", "g")]
    made = gd.load("webdataset", data_files=path, split="train", cache_dir=tmp_path / "cache")
    assert [(r["__key__"], r["txt"]) for r in made] == want
    assert [(r["__key__"], r["txt"]) for r in gd.load("webdataset", data_files=path, split="train", streaming=True)] == want


def test_members_of_zip_below_a_dot_are_data(tmp_path):
    path = zip_of(tmp_path / "x.zip", **{"./a.csv": "v\n1\n", "../../b.csv": "v\n2\n", "/c.csv": "v\n3\n", ".d.csv": "v\n4\n", "__M/e.csv": "v\n5\n"})
    made = gd.load("csv", data_files=path, split="train", cache_dir=tmp_path / "cache")
    assert sorted(made["v"][:]) == [1, 2, 3]
    path = zip_of(tmp_path / "i.zip", **{"./a/x.png": "1", "./b/y.png": "2", "__MACOSX/a/x.png": "3"})
    made = gd.load("imagefolder", data_files=path, split="train", cache_dir=tmp_path / "cache")
    assert len(made) == 2 and made.features["label"].names == ["a", "b"]


# ---- content that is not what it is said to be


@pytest.mark.parametrize("kind, content", [
    ("csv", "a\n1\n".encode("utf-16")), ("csv", b"\xff,b\n1,2\n"), ("csv", b"a\0,b\n1,2\n"), ("csv", b""), ("webdataset", b""), ("parquet", b""),
    ("arrow", b"")])
def test_content_that_is_none_of_its_kind(tmp_path, kind, content):
    (tmp_path / "x").write_bytes(content)
    for streaming in (False, True):
        with pytest.raises(grebe.Corrupt, match="x"):
            list(gd.load(kind, data_files=tmp_path / "x", split="train", cache_dir=tmp_path / "cache", streaming=streaming))


# ---- functions that fail half way, or give too little


def test_rows_before_a_generator_raises_are_given_out():
    def rows_then_error():
        for i in range(7):
            yield {"a": i}
        raise ValueError("at 7")

    for features in (None, gd.Features({"a": gd.Value("int64")})):
        got = []
        with pytest.raises(ValueError, match="at 7"):
            for row in gd.IterableDataset.from_generator(rows_then_error, features=features):
                got.append(row["a"])
        assert got == list(range(7))
    with pytest.raises(ValueError, match="at 7"):
        gd.Dataset.from_generator(rows_then_error)


def test_transforms_that_give_other_numbers_of_values_lose_no_rows(ds):
    assert list(ds.with_transform(lambda b: {"a": [b["a"][0] * 2]})) == [{"a": 2 * i} for i in range(5)]
    assert list(ds.with_transform(lambda b: {"a": b["a"], "q": b["a"][:1]})) == [{"a": i, "q": i} for i in range(5)]
    with pytest.raises(ValueError, match="no value"):
        list(ds.with_transform(lambda b: {"a": []}))
    for read in (lambda d: d[0], lambda d: d[:], list):
        with pytest.raises(TypeError, match="expected a dict of columns"):
            read(ds.with_transform(lambda b: 5))


@pytest.mark.parametrize("n", [2**62, 2**63 - 1])
def test_counts_at_the_end_of_64_bits(ds, stream, n):
    a = [r["a"] for r in stream.shuffle(seed=1, buffer_size=100)]
    assert [r["a"] for r in stream.shuffle(seed=1, buffer_size=n)] == a
    assert [r["a"] for r in stream.batch(2).shuffle(seed=1, buffer_size=n)] == [r["a"] for r in stream.batch(2).shuffle(seed=1, buffer_size=9)]
    assert len(list(stream.take(n))) == 5 and len(list(stream.skip(n))) == 0 and len(list(stream.batch(n))) == 1
    assert next(iter(stream.repeat(n)))["a"] == 0 and len(list(stream.iter(n))) == 1 and len(list(ds.iter(n))) == 1
    assert len(ds.take(n)) == 5 and len(ds.skip(n)) == 0 and len(ds.batch(n)) == 1
    assert len(ds.map(lambda b: b, batched=True, batch_size=n, writer_batch_size=n)) == 5
    with pytest.raises(grebe.Limit):
        ds.repeat(n)
