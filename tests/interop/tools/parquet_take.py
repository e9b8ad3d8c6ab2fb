# SPDX-License-Identifier: Apache-2.0
"""Takes of random rows against a scan, for files of any writer."""
import os
import random
import tempfile

import pyarrow as pa

from harness import assert_same, run

SEED = 20261130


def row_sets(n, name):
    """Sorted, unsorted, with duplicates, none, all, the ends: ids in [0, n)."""
    rng = random.Random(f"{SEED} {name}")
    if n == 0:
        return [[]]
    some = rng.sample(range(n), min(n, 97))
    return [sorted(some), some, [rng.randrange(n) for _ in range(2 * min(n, 60))] + [n - 1, 0, n - 1], [],
            list(range(min(n, 9000)))]


def check_takes(path, table, columns=None):
    """`grebe take` gives the rows that the scan gave, in the order asked for; an id beyond the end is exit 2."""
    table = pa.table(table)
    more = ["--columns", ",".join(columns)] if columns is not None else []
    for rows in row_sets(table.num_rows, path.name):
        got = take(path, rows, more)
        assert got.code == 0, (path.name, rows[:5], got)
        # pyarrow cannot take views and unions: rows of the scan are picked one slice after another
        picked = [table.slice(i, 1) for i in rows]
        want = pa.concat_tables(picked) if picked else table.slice(0, 0)
        assert_same(got.rows(), want)
    for beyond in ([table.num_rows], [0, table.num_rows + 10**12]):
        assert take(path, beyond, more).code == 2


def take(path, rows, more):
    handle, name = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "w") as f:
            f.write("\n".join(map(str, rows)))
        return run("take", path, "--rows-from", name, "--format", "arrow", *more)
    finally:
        os.unlink(name)
