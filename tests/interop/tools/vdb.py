# SPDX-License-Identifier: Apache-2.0
"""What the tests of vector collections share: the command on one repository, git as the judge, the reference."""
import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden" / "gitvdb"
GREBE = os.environ.get("GREBE", "grebe")
REFS = "refs/git-vdb/collections/"
sys.path.insert(0, str(TOOLS))
import gitvdb_ref as reference  # noqa: E402

ENV = dict(os.environ, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null", LC_ALL="C.UTF-8", GIT_AUTHOR_NAME="t", GIT_AUTHOR_EMAIL="t@t",
           GIT_COMMITTER_NAME="t", GIT_COMMITTER_EMAIL="t@t")
ENV.pop("GIT_VDB_REPO", None)


class Ended:
    """A command that ended: code, out and err as text."""

    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout.decode(), done.stderr.decode()

    def __repr__(self):
        return f"<exit {self.code}, {self.out[:200]!r}, {self.err[:300]!r}>"


class Vdb:
    """`grebe vdb` on one repository; `binary`: another command with the same words."""

    def __init__(self, path, binary=None, env=None):
        self.path, self.env = pathlib.Path(path), dict(ENV, **(env or {}))
        self.argv = [*(binary or [GREBE, "vdb"]), "--db", str(path)]

    def run(self, *args, text=None, seconds=300, cwd=None):
        text = text.encode() if isinstance(text, str) else text
        source = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
        return Ended(subprocess.run([*self.argv, *map(str, args)], capture_output=True, env=self.env, timeout=seconds, cwd=cwd, **source))

    def start(self, *args, **options):
        return subprocess.Popen([*self.argv, *map(str, args)], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def ok(self, *args, **options):
        """What it printed; it must succeed."""
        ran = self.run(*args, **options)
        assert ran.code == 0, (args, ran)
        return ran.out

    def value(self, *args, **options):
        return json.loads(self.ok(*args, **options))

    def fails(self, code, *args, **options):
        """The message; it must fail with this code, nothing on stdout and one line of text."""
        ran = self.run(*args, **options)
        assert ran.code == code and ran.out == "" and ran.err.startswith("grebe: ") and ran.err.count("\n") == 1, (args, ran)
        return ran.err

    def root(self, name):
        return self.git("rev-parse", REFS + name + "^{tree}")

    def commit(self, name):
        return self.git("rev-parse", REFS + name)

    def git(self, *args, text=None):
        done = subprocess.run(["git", "-C", str(self.path), *map(str, args)], capture_output=True, env=self.env, input=text)
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout.decode().strip()

    def check_git(self):
        """git finds nothing to complain of, and no lock or temporary file is left."""
        done = subprocess.run(["git", "-C", str(self.path), "fsck", "--strict", "--full", "--no-dangling", "--no-progress"],
                              capture_output=True, env=self.env)
        assert done.returncode == 0 and not re.sub(r"notice: .*\n", "", (done.stdout + done.stderr).decode()), done
        assert left_behind(self.path) == []


def left_behind(path):
    """Files in a repository that no finished command leaves."""
    return sorted(str(p.relative_to(path)) for p in pathlib.Path(path).rglob("*")
                  if p.is_file() and (p.name.endswith(".lock") or "tmp" in p.name or (p.suffix == ".pack" and not p.with_suffix(".idx").exists())))


def listing(path):
    """Every file with its size and time: what a command that only reads must not change."""
    return {str(p): (p.lstat().st_size, p.lstat().st_mtime_ns) for p in [path, *path.rglob("*")]}


def lines(points):
    """Points (id, vector, payload) as lines of JSON."""
    return "".join(json.dumps({"id": i, "vector": v, "payload": p}, ensure_ascii=False) + "\n" for i, v, p in points)


def many(n, dim, begin=0):
    """Points with numbers as ids, vectors that repeat nowhere."""
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((n + begin, dim)).astype("f4")[begin:]
    return [(begin + k, [float(x) for x in row], {"n": begin + k}) for k, row in enumerate(rows)]


def synthetic(n, dim, clusters=0, seed=0x676974766462626D):
    """The sets of git-vdb's benchmarks, as float32 of shape [n, dim]: gitvdb_ref.synth() in numpy."""
    count = (n + clusters) * dim
    with np.errstate(over="ignore"):
        v = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        v = (v ^ (v >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        v = (v ^ (v >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        v = v ^ (v >> np.uint64(31))
    numbers = ((v >> np.uint64(40)).astype("f8") / 16777216.0 * 2.0 - 1.0).astype("f4").reshape(-1, dim)
    if not clusters:
        return numbers
    return numbers[:clusters][np.arange(n) % clusters] + numbers[clusters:] * np.float32(0.08)


def unpack(bundle, path):
    """A golden bundle as a bare repository."""
    subprocess.run(["git", "init", "-q", "--bare", str(path)], check=True, env=ENV)
    db = Vdb(path)
    db.git("fetch", "-q", GOLDEN / bundle, "refs/*:refs/*")
    return db


