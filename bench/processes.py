# SPDX-License-Identifier: Apache-2.0
"""What scripts share that measure in processes of their own: a lock, the child's record, versions, lines of JSON."""
import fcntl, json, subprocess, sys
from contextlib import contextmanager


@contextmanager
def locked(path):
    """Holds the file's lock, for as long as nobody else shall measure. No path: no lock."""
    if not path:
        yield
        return
    with open(path, "a") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def child(script, *words, lock=None, env=None):
    """The record that the script, called with these words, printed as its last line; {"error": the last line of its complaint}."""
    with locked(lock):
        p = subprocess.run([sys.executable, script, *map(str, words)], capture_output=True, text=True, env=env)
    if p.returncode:
        return {"error": (p.stderr.strip().splitlines() or [f"exit {p.returncode}"])[-1][:300]}
    return json.loads(p.stdout.strip().splitlines()[-1])


def version(module):
    """(version, None), or (None, why it cannot be imported); a package needs no dist-info."""
    code = f"import {module} as m; print(getattr(m, '__version__', '?'))"
    p = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if p.returncode:
        return None, (p.stderr.strip().splitlines() or [f"exit {p.returncode}"])[-1][:300]
    return p.stdout.split()[-1], None


def lines(path):
    """A function that prints a record as a line of JSON, and appends it to the file, where there is a path."""
    sink = open(path, "a", encoding="utf-8") if path else None

    def say(record):
        line = json.dumps(record)
        print(line, flush=True)
        if sink:
            sink.write(line + "\n")
            sink.flush()
    return say
