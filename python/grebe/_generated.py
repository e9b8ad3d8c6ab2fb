# SPDX-License-Identifier: Apache-2.0
"""Rows that a function gives, one by one, as batches."""

import itertools
import json

from . import _core
from ._arguments import check_rows
from ._build import build
from ._features import features_json

_FIRST_ROWS, _MOST_ROWS = 16, 1000


def growing(first):
    """Rows of the batches that are asked for: few at first, so that the first row is there at once."""
    n = first
    while True:
        yield n
        n = min(2 * n, _MOST_ROWS)


def _cast(batch, features):
    ds = _core.dataset_of_rows(batch, features)
    return ds.read(0, ds.num_rows, None)


def generated_batches(rows, features=None, first_rows=_FIRST_ROWS):
    """Batches of dicts that come one by one. Without features the first rows tell the types, and the others must fit them."""
    text = features_json(features)
    names = None if text is None else list(json.loads(text))
    rows = iter(rows)
    done, failure = 0, None
    for n in growing(1 if text is not None else first_rows):
        part = []
        try:
            part.extend(itertools.islice(rows, n))  # what came before it raised stays
        except Exception as e:
            failure = e
        if not part:
            if failure is not None:
                raise failure
            return
        check_rows("generator", part, done)
        done += len(part)
        if names is None:
            names = list(dict.fromkeys(k for r in part for k in r))
        extra = {k for r in part for k in r} - set(names)
        if extra:
            raise ValueError(f"rows with columns {sorted(extra)} that the first ones do not have: give features")
        batch = build({name: [r.get(name) for r in part] for name in names})
        if text is None:
            text = _core.dataset_of_rows(batch, None).info()["features"]
        yield _cast(batch, text)
        if failure is not None:
            raise failure


class Shards:
    """A generator's shards: each list among its arguments is cut into its elements."""

    def __init__(self, generator, gen_kwargs, features):
        self.generator, self.kwargs, self.features = generator, dict(gen_kwargs or {}), features
        lists = {k: len(v) for k, v in self.kwargs.items() if isinstance(v, list)}
        if len(set(lists.values())) > 1:
            raise ValueError(f"gen_kwargs: lists are cut into shards and must be of equal length, found {lists}")
        self.lists = list(lists)
        self.n = max(1, *lists.values()) if lists else 1

    def __call__(self, shard, skip):
        kwargs = {k: [v[shard]] if k in self.lists else v for k, v in self.kwargs.items()}
        rows = itertools.islice(iter(self.generator(**kwargs)), skip, None)
        empty = build({}) if self.features is None else _cast(build({n: [] for n in self.features}), features_json(self.features))
        return _core.stream_of_batches(generated_batches(rows, self.features), empty)
