# SPDX-License-Identifier: Apache-2.0
"""HDF5 and array files against h5py and numpy: what they write reads with the same values, and the reverse."""
import itertools
import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

h5py = pytest.importorskip("h5py")

GREBE = os.environ["GREBE"]
DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "ann"


def grebe(*args, ok=True):
    done = subprocess.run([GREBE, *map(str, args)], capture_output=True, text=True, check=False, timeout=120)
    assert not ok or done.returncode == 0, done.stderr
    return done


def read(path, name, tmp_path):
    """The data set as numpy has it, through grebe."""
    out = tmp_path / "out.npy"
    grebe("convert", f"{path}#{name}", out, "-q")
    return np.load(out)


def same(x, y):
    return x.dtype.newbyteorder("=") == y.dtype.newbyteorder("=") and x.shape == y.shape and x.tobytes() == y.astype(x.dtype).tobytes()


TYPES = ["<f4", "<f8", "<f2", ">f4", ">f8", "|i1", "|u1", "<i2", "<u2", ">i4", "<i4", "<u4", "<i8", ">i8", "<u8", "|b1"]
SHAPES = [(1,), (1000,), (3, 5), (257, 33), (0, 4)]
STORAGE = [{}, {"chunks": True}, {"chunks": True, "compression": "gzip"}, {"chunks": True, "compression": "lzf"},
           {"chunks": True, "compression": "gzip", "shuffle": True, "fletcher32": True}, {"chunks": True, "fletcher32": True}]


@pytest.mark.parametrize("libver", ["earliest", "latest", ("v108", "v108"), ("v110", "v110")], ids=str)
def test_everything_that_h5py_writes(tmp_path, libver):
    rng = np.random.default_rng(7)
    path = tmp_path / "f.h5"
    for number, (shape, storage) in enumerate(itertools.product(SHAPES, STORAGE)):
        if 0 in shape and storage:
            continue
        arrays = {}
        with h5py.File(path, "w", libver=libver, userblock_size=1024 if number % 3 == 2 else 0) as f:
            for i in range(5):  # so many that links stay in the header of the group
                dtype = np.dtype(TYPES[(number * 5 + i) % len(TYPES)])
                values = rng.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)
                arrays[f"d{i}"] = values
                f.create_dataset(f"d{i}", data=values, **storage)
            f.create_group("group").create_dataset("inner", data=[1])
            f.attrs["distance"] = "ip"
        for name, values in arrays.items():
            got = read(path, name, tmp_path)
            assert same(values, got), (libver, shape, storage, values.dtype, got.dtype, got.shape)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("chunks", [(7, 3), (64, 5), (1, 33), (300, 40), (1, 1)])
@pytest.mark.parametrize("filtered", [False, True])
def test_chunks_of_any_shape(tmp_path, libver, chunks, filtered):
    values = np.arange(300 * 40, dtype="<i4").reshape(300, 40)
    path = tmp_path / "f.h5"
    with h5py.File(path, "w", libver=libver) as f:
        f.create_dataset("x", data=values, chunks=chunks, **({"compression": "gzip"} if filtered else {}))
    assert same(values, read(path, "x", tmp_path))
    rows = grebe("scan", f"{path}#x", "--rows", "63:66", "--format", "json").stdout
    assert [r["vector"] for r in json.loads(rows)] == values[63:66].tolist()


def test_places_that_were_never_written_have_the_fill_value(tmp_path):
    for libver in ("earliest", "latest"):
        path = tmp_path / f"{libver}.h5"
        with h5py.File(path, "w", libver=libver) as f:
            d = f.create_dataset("x", (100, 8), "<f4", chunks=(10, 8), fillvalue=-1.5)
            d[20:31] = 2
            expected = d[...]
        assert same(expected, read(path, "x", tmp_path))


def test_data_sets_that_grew(tmp_path):
    path = tmp_path / "f.h5"
    with h5py.File(path, "w") as f:
        d = f.create_dataset("x", (10, 4), "<i8", maxshape=(None, 4), chunks=(16, 4))
        d[...] = 1
        d.resize((5000, 4))
        d[10:] = 2
        expected = d[...]
    assert same(expected, read(path, "x", tmp_path))


def test_what_is_not_read_is_named(tmp_path):
    def refuse(fill, fragment, code=6, libver="earliest", name="x"):
        path = tmp_path / "f.h5"
        with h5py.File(path, "w", libver=libver) as f:
            fill(f)
        done = grebe("head", f"{path}#{name}", ok=False)
        assert done.returncode == code and fragment in done.stderr, done.stderr

    refuse(lambda f: f.create_dataset("x", data=np.zeros((40, 4)), maxshape=(None, 4), chunks=(4, 4)), "extensible array", libver="latest")
    refuse(lambda f: f.create_dataset("x", data=np.zeros((40, 4)), maxshape=(None, None), chunks=(4, 4)), "B-tree of version 2", libver="latest")
    refuse(lambda f: [f.create_dataset(f"x{i}", data=[1]) for i in range(40)], "fractal heap", libver="latest", name="x1")
    refuse(lambda f: f.create_dataset("x", (4, 4), external=[("else.bin", 0, 128)]), "other files")
    refuse(lambda f: f.create_dataset("x", data=np.array(["a", "b"], dtype=object)), "string")
    refuse(lambda f: f.create_dataset("x", data=np.zeros(3, [("a", "f4")])), "compound")
    refuse(lambda f: f.create_dataset("x", data=np.zeros((2, 2, 2))), "rank 3")
    refuse(lambda f: f.create_dataset("x", (10, 10), "i4", scaleoffset=3, chunks=(5, 5)), "scaleoffset")
    refuse(lambda f: f.create_dataset("y", data=[1]), "there are y", code=3)

    def soft(f):
        f.create_dataset("y", data=[1])
        f["x"] = h5py.SoftLink("/y")
        f["z"] = h5py.ExternalLink("/etc/passwd", "/x")
    refuse(soft, "there are y", code=3)


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_many_members_and_attributes(tmp_path, libver):
    path = tmp_path / "f.h5"
    with h5py.File(path, "w", libver=libver) as f:
        for i in range(500 if libver == "earliest" else 7):
            f.create_dataset(f"set{i:03}", data=np.full(3, i))
        for i in range(60 if libver == "earliest" else 7):
            f.attrs[f"a{i}"] = "text %d" % i
        f.attrs["distance"] = "euclidean"
    assert read(path, "set006", tmp_path).tolist() == [6] * 3
    done = grebe("ann", "check", path, ok=False)
    assert "data set train is missing" in done.stdout, done.stdout


def test_written_files_open_in_h5py(tmp_path):
    grebe("ann", "make", tmp_path / "o.hdf5", "--base", f"{DATA}/good/dense_ip_f32.hdf5#train", "--queries",
          f"{DATA}/good/dense_ip_f32.hdf5#test", "--metric", "ip", "-k", 20, "-q")
    with h5py.File(tmp_path / "o.hdf5") as f, h5py.File(DATA / "good" / "dense_ip_f32.hdf5") as g:
        assert f.attrs["type"] == "dense" and f.attrs["distance"] == "ip" and isinstance(f.attrs["distance"], str)
        assert [f[n].dtype.str for n in ("train", "test", "neighbors", "distances")] == ["<f4", "<f4", "<i8", "<f4"]
        for name in ("train", "test", "neighbors", "distances"):
            assert same(g[name][...], f[name][...])


@pytest.mark.parametrize("name", sorted(p.stem for p in (DATA / "good").glob("*.hdf5")))
def test_every_layout_written_is_read_and_changed_by_the_library(tmp_path, name):
    out = tmp_path / "o.hdf5"
    grebe("ann", "groundtruth", DATA / "good" / f"{name}.hdf5", out, "--filtered" if "labels" in name else "-q", "-q")
    with h5py.File(out) as f, h5py.File(DATA / "good" / f"{name}.hdf5") as g:
        for key in g:
            if key.startswith(("train", "test")) and "offsets" not in key and not (name == "sparse_unsorted_ids" and key == "train"):
                assert same(g[key][...], f[key][...]), key
        assert f.attrs["distance"] == g.attrs["distance"] and f.attrs["type"] == g.attrs["type"]
        if "multi_vector" in name:
            assert f.attrs["multi_vector_dim"].tolist() == [f["train_multi_vectors"].shape[1]] and f.attrs["multi_vector_dim"].dtype == "int64"
    with h5py.File(out, "r+") as f:  # its structure holds when members and attributes come and go
        for i in range(20):
            f.create_dataset(f"more{i}", data=np.arange(i + 1))
            f.attrs[f"attribute{i}"] = "x" * 100
        del f["neighbors"]
    with h5py.File(out) as f:
        assert f["more19"][...].tolist() == list(range(20)) and f.attrs["attribute19"] == "x" * 100 and "neighbors" not in f
    if shutil.which("h5dump"):
        assert subprocess.run(["h5dump", "-H", out], capture_output=True, check=False).returncode == 0


def test_a_write_that_fails_leaves_nothing(tmp_path):
    """A limit of file sizes stands for a full disk."""
    for size in (1, 20, 60, 100):
        done = subprocess.run(["bash", "-c", f"ulimit -f {size}; exec {GREBE} ann make {tmp_path}/o.hdf5 --base {DATA}/good/dense_angular_f32.hdf5#train "
                               f"--queries {DATA}/good/dense_angular_f32.hdf5#test --metric angular -k 20"], capture_output=True, text=True, check=False)
        assert done.returncode == 10 and "o.hdf5" in done.stderr, (size, done.returncode, done.stderr)
        assert list(tmp_path.iterdir()) == []


NPY = ["<f4", "<f2", "<f8", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "|b1", ">f4", ">f8", ">i2", ">u4", ">i8"]


@pytest.mark.parametrize("dtype", NPY)
def test_npy_of_every_type(tmp_path, dtype):
    for shape, order in itertools.product([(7, 5), (1, 9), (600,), (0, 3), (0,)], "CF"):
        values = np.asarray(np.arange(np.prod(shape)).reshape(shape) % 2 if dtype == "|b1" else np.arange(np.prod(shape)).reshape(shape) % 100,
                            dtype=dtype, order=order)
        np.save(tmp_path / "a.npy", values)
        grebe("convert", tmp_path / "a.npy", tmp_path / "b.npy", "-q")
        got = np.load(tmp_path / "b.npy")
        assert same(values, got), (dtype, shape, order)
        if dtype[0] != ">" and order == "C":
            assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()
