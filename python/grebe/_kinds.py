# SPDX-License-Identifier: Apache-2.0
"""The classes of data sets by their names, for those among them that give objects of another kind: data sets become streams and
dictionaries of splits, streams become data sets, loading gives any. Each class enters itself, so that imports point down alone."""

import types

kinds = types.SimpleNamespace()  # Dataset, IterableDataset, DatasetDict, IterableDatasetDict


def enter(cls):
    """Enters a class under its name."""
    setattr(kinds, cls.__name__, cls)
    return cls
