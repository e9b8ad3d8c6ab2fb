# SPDX-License-Identifier: Apache-2.0
"""Several data sets, or several streams, as one."""

import array

from . import _core
from ._kinds import kinds
from ._transforms import seed_words


def _checked(datasets, what):
    datasets = list(datasets) if not isinstance(datasets, dict) else [datasets]
    if not datasets:
        raise ValueError(f"{what}: expected at least one data set")
    found = [next((k for k in (kinds.Dataset, kinds.IterableDataset) if isinstance(d, k)), None) for d in datasets]
    for i, kind in enumerate(found):
        if kind is None:
            hint = f"; it has the splits {list(datasets[i])}" if isinstance(datasets[i], dict) else ""
            raise ValueError(f"{what}: number {i}: expected a Dataset or an IterableDataset, found "
                             f"{type(datasets[i]).__name__}{hint}")
        if kind is not found[0]:
            raise ValueError(f"{what}: number {i} is of another kind than the first: all map-style, or all iterable")
    return datasets, found[0] is kinds.Dataset


def concatenate_datasets(dsets, info=None, split=None, axis=0):
    """One behind the other (axis 0, columns by name), or side by side (axis 1)."""
    dsets, is_map = _checked(dsets, "concatenate_datasets")
    if axis not in (0, 1):
        raise ValueError(f"concatenate_datasets: axis: expected 0 or 1, found {axis!r}")
    if not is_map:
        return dsets[0]._like(_core.iterable_concatenate([d._core for d in dsets], axis))
    out = _core.dataset_concatenate([d._core for d in dsets], axis)
    return dsets[0]._like(out if split is None else out.with_labels({"split": str(split)}))


_STOPS = {"first_exhausted": 0, "all_exhausted": 1, "all_exhausted_without_replacement": 2}


def interleave_datasets(datasets, probabilities=None, seed=None, info=None, split=None, stopping_strategy="first_exhausted"):
    """Rows of several in turn, or as drawn with probabilities."""
    datasets, is_map = _checked(datasets, "interleave_datasets")
    if stopping_strategy not in _STOPS:
        raise ValueError(f"stopping_strategy: expected one of {', '.join(_STOPS)}, found {stopping_strategy!r}")
    if probabilities is not None and len(probabilities) != len(datasets):
        raise ValueError(f"probabilities: expected {len(datasets)}, one for each data set, found {len(probabilities)}")
    weights = None if probabilities is None else array.array("d", probabilities)
    if not is_map:
        return datasets[0]._like(_core.iterable_interleave([d._core for d in datasets], weights, seed_words(seed), _STOPS[stopping_strategy]))
    out = _core.dataset_interleave([d._core for d in datasets], weights, seed_words(seed), _STOPS[stopping_strategy])
    return datasets[0]._like(out if split is None else out.with_labels({"split": str(split)}))
