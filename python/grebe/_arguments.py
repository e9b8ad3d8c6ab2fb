# SPDX-License-Identifier: Apache-2.0
"""Arguments that are checked before they go into the library, so that what was odd is told by its name."""

import collections.abc


def at_least_one(name, n):
    """n as an int from 1."""
    if not hasattr(n, "__index__") or getattr(n, "shape", ()):
        raise TypeError(f"{name}: expected an integer, found {n!r}")
    if n < 1:
        raise ValueError(f"{name}: expected at least 1, found {n}")
    return n.__index__()


def check_rows(what, rows, first=0):
    """TypeError where a row is no dict: a value without keys would be a row without values."""
    for i, row in enumerate(rows, first):
        if not isinstance(row, collections.abc.Mapping):
            raise TypeError(f"{what}: row {i}: expected a dict, found {type(row).__name__}")


def pairs_of(mapping):
    """[(old, new)] of {old: new}."""
    if not hasattr(mapping, "items"):
        raise TypeError(f"expected a dict {{old name: new name}}, found {type(mapping).__name__}")
    return list(mapping.items())


def seeds_of(seed):
    """The integers of a seed: itself, or those of a sequence."""
    if hasattr(seed, "__index__") and not getattr(seed, "shape", ()):
        return [seed.__index__()]
    parts = list(seed) if hasattr(seed, "__len__") and not isinstance(seed, (str, bytes, dict, set)) else [None]
    if not all(hasattr(part, "__index__") for part in parts):
        raise TypeError(f"seed: expected an integer or a sequence of integers, found {seed!r}")
    return [part.__index__() for part in parts]


def split_size(size):
    """A number of rows, a fraction, or None."""
    if size is None:
        return size
    if isinstance(size, bool) or not (isinstance(size, float) or hasattr(size, "__index__")):
        raise ValueError(f"expected a number of rows or a fraction, found {size!r}")
    if size < 0:
        raise ValueError(f"expected a number of rows or a fraction in (0, 1), found {size!r}")
    return size if isinstance(size, float) else size.__index__()
