# SPDX-License-Identifier: Apache-2.0
"""Benchmark data sets larger than the memory they may take: the address space is bounded below the size of their files,
and the same bytes come out."""
import pathlib
import struct
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
from harness import GREBE, LIMITED  # noqa: E402

N, D, Q, K = 640000, 100, 64, 10
FILE_MIB = N * D * 4 // 2**20   # 244
LOW = ["--memory-limit", "32MiB", "--threads", "2"]
# Runs a command and prints its peak: one that this process started itself would begin with the peak of this process.
PEAK = """import os, subprocess, sys
p = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(p.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""
# A sanitizer's shadow needs terabytes of addresses.
IS_SANITIZED = b"asan" in subprocess.run(["ldd", GREBE], capture_output=True, check=False).stdout


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """b.npy, b.fvecs, b.fbin of the same rows, and queries near some of them; u.hdf5 made of them without a limit."""
    path = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(7)
    rows = np.tile(rng.standard_normal((N // 64, D), dtype=np.float32), (64, 1))
    rows += np.arange(N, dtype=np.float32)[:, None] * np.float32(1e-6)
    np.save(path / "b.npy", rows)
    np.save(path / "q.npy", rows[:: N // Q] + np.float32(0.25))
    with open(path / "b.fbin", "wb") as f:
        f.write(struct.pack("<II", N, D))
        rows.tofile(f)
    records = np.empty((N, D + 1), np.float32)
    records[:, 1:] = rows
    records.view(np.int32)[:, 0] = D
    records.tofile(path / "b.fvecs")
    subprocess.run([GREBE, "ann", "make", path / "u.hdf5", "--base", path / "b.npy", "--queries", path / "q.npy", "--metric",
                    "euclidean", "-k", str(K), "-q"], check=True)
    yield path
    for name in path.iterdir():
        name.unlink()


def limited(*args, most_mib=FILE_MIB // 2):
    """Run within an address space smaller than the file, and a resident set of at most most_mib."""
    space = "unlimited" if IS_SANITIZED else str((FILE_MIB - 20) * 1024)
    done = subprocess.run([sys.executable, "-c", PEAK, "bash", "-c", LIMITED, "-", space, "120", GREBE, *map(str, args), *LOW, "-q"],
                          capture_output=True, text=True, check=True)
    code, peak_kib = map(int, done.stdout.split()[-2:])
    assert code == 0, done.stderr
    assert IS_SANITIZED or peak_kib < most_mib * 1024


def same(a, b):
    assert subprocess.run(["cmp", a, b], check=False).returncode == 0
    b.unlink()


@pytest.mark.parametrize("ending", ["npy", "fvecs", "fbin"])
def test_a_set_is_made_of_a_file_larger_than_memory(big, ending):
    out = big / "l.hdf5"
    limited("ann", "make", out, "--base", big / f"b.{ending}", "--queries", big / "q.npy", "--metric", "euclidean", "-k", K)
    same(big / "u.hdf5", out)


def test_groundtruth_check_and_export_of_a_set_larger_than_memory(big):
    out = big / "l.hdf5"
    limited("ann", "groundtruth", big / "u.hdf5", out)
    same(big / "u.hdf5", out)
    limited("ann", "check", big / "u.hdf5")
    limited("ann", "export", big / "u.hdf5", "--base", big / "l.npy")
    same(big / "b.npy", big / "l.npy")


def test_queries_are_drawn_from_a_file_larger_than_memory(big):
    args = ["--split", "500", "--seed", "3", "--metric", "angular", "-k", K]
    subprocess.run([GREBE, "ann", "make", big / "s.hdf5", "--base", big / "b.npy", *map(str, args), "-q"], check=True)
    limited("ann", "make", big / "l.hdf5", "--base", big / "b.npy", *args)
    same(big / "s.hdf5", big / "l.hdf5")
    limited("ann", "make", big / "l.hdf5", "--base", f"{big}/u.hdf5#train", *args)
    same(big / "s.hdf5", big / "l.hdf5")


def test_descending_inner_products_become_ascending_distances(tmp_path):
    """.dev.gt files: all ids, then dot products."""
    rng = np.random.default_rng(5)
    base, queries = rng.standard_normal((3000, 24), dtype=np.float32), rng.standard_normal((20, 24), dtype=np.float32)
    dots = queries.astype(np.float64) @ base.T.astype(np.float64)
    ids = np.argsort(-dots, axis=1, kind="stable")[:, :10]
    near = np.take_along_axis(dots, ids, 1)
    np.save(tmp_path / "b.npy", base)
    np.save(tmp_path / "q.npy", queries)
    (tmp_path / "x.dev.gt").write_bytes(struct.pack("<II", *ids.shape) + ids.astype("<i4").tobytes() + near.astype("<f4").tobytes())

    def make(neighbors, ok=True):
        done = subprocess.run([GREBE, "ann", "make", tmp_path / "x-ip.hdf5", "--base", tmp_path / "b.npy", "--queries",
                               tmp_path / "q.npy", "--neighbors", neighbors], capture_output=True, text=True, check=False)
        assert done.returncode == (0 if ok else 5), done.stderr
        for part in "neighbors", "distances":
            subprocess.run([GREBE, "ann", "export", tmp_path / "x-ip.hdf5", f"--{part}", tmp_path / f"{part}.npy"], check=True)
        return done.stderr, np.load(tmp_path / "neighbors.npy"), np.load(tmp_path / "distances.npy")

    text, found, distances = make(tmp_path / "x.dev.gt")
    assert "raw inner product instead of 1-ip" in text
    assert (found == ids).all() and (np.diff(distances) >= 0).all()
    assert (distances == (1 - near).astype(np.float32)).all()
    # an order of its own is kept, and told
    other = ids.astype(np.int32)
    other[3, [0, 5]] = other[3, [5, 0]]
    np.save(tmp_path / "other.npy", other)
    text, found, distances = make(tmp_path / "other.npy", ok=False)
    assert "distances of row 3 are not ascending" in text and (found == other).all()
    # a neighbour that is none of the nearest
    other = ids.astype(np.int64)
    other[3, 9] = np.argsort(-dots[3])[50]
    np.save(tmp_path / "other.npy", other)
    text, found, distances = make(tmp_path / "other.npy", ok=False)
    assert "neighbours are not the nearest" in text and "for 1 of 20 queries" in text and (found == other).all()
    assert distances[3, 9] == np.float32(1 - dots[3, other[3, 9]])
