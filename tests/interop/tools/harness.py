# SPDX-License-Identifier: Apache-2.0
"""What the interop tests share: the command under limits, golden data, comparison of rows."""
import json
import os
import pathlib
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq

from arrow_same import problem

TESTS = pathlib.Path(__file__).resolve().parents[2]
LOON = TESTS / "golden" / "loon"
GREBE = os.environ.get("GREBE", "grebe")

# The limits are set by a shell: a fork of a large Python process for each run would take most of the time.
LIMITED = 'ulimit -c 0; ulimit -v "$1" && ulimit -t "$2" && shift 2 && exec "$@"'


class Ran:
    """A command that ended: code (negative: by a signal), out and err as bytes."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    @property
    def message(self):
        return self.err.decode(errors="replace").strip()

    def rows(self):
        """Rows of --format arrow."""
        with pa.ipc.open_stream(self.out) as reader:
            return reader.read_all()

    def __repr__(self):
        return f"<exit {self.code}, {len(self.out)} bytes, {self.message[:300]!r}>"


def run(*args, memory_mib=1024, seconds=20, env=None, cwd=None):
    """The command with a limit on address space and CPU time; every argument becomes text."""
    limit = "unlimited" if os.environ.get("GREBE_TEST_UNLIMITED") else str(memory_mib * 1024)   # sanitizers reserve terabytes
    argv = ["sh", "-c", LIMITED, "sh", limit, str(seconds), GREBE, *map(str, args)]
    ended = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, cwd=cwd, timeout=10 * seconds,
                           env=dict(os.environ, **env) if env else None)
    return Ran(ended.returncode, ended.stdout, ended.stderr)


def one_line_error(ran, codes):
    """None, or what is wrong with a run that had to fail with one of the codes and one line of text."""
    if ran.code not in codes:
        return f"exit {ran.code}, expected {sorted(codes)}: {ran.message[:300]}"
    text = ran.err.decode(errors="replace")
    if not text.endswith("\n") or text.count("\n") != 1:
        return f"expected one line, found {text[:500]!r}"
    if not text.startswith(("grebe: ", '{"error":')):
        return f"expected a message of the command, found {text[:200]!r}"
    return None


def info(table, *options):
    ran = run("info", table, "--format", "json", *options)
    assert ran.code == 0, ran
    return json.loads(ran.out)


def golden_rows(name, version):
    """Rows that a version of a golden table has. Today's manifests name the files of `deletes`."""
    if name == "current":
        name, version = "deletes", min(version, 3)
    return pq.read_table(LOON / name / f"rows-v{version}.parquet")


def assert_same(got, want, columns=None):
    """Same columns in the same order, same types, same values bit by bit."""
    want = want.select(columns) if columns is not None else want
    found = problem(pa.table(got), want, exact_nan=True)
    assert found is None, found
