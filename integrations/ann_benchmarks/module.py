# SPDX-License-Identifier: Apache-2.0
"""Grebe as an algorithm of ann-benchmarks (README.md beside this file says where it goes)."""

import grebe
import grebe.ann
import numpy

from ..base.module import BaseANN


class Grebe(BaseANN):
    """An index of Grebe: kind ("flat", "hnsw", "graph", "ivf"), metric of the data set, build parameters, and the name of the
    search parameter that the query arguments are values of."""

    def __init__(self, metric, kind, build=None, search="ef"):
        self._metric, self._kind, self._build, self._search = metric, kind, dict(build or {}), search
        self._index, self._params, self._results = None, {}, None
        self.name = self._title()

    def _title(self):
        words = [f"{name}={value}" for name, value in list(self._build.items()) + list(self._params.items())]
        return " ".join([f"grebe {self._kind}"] + words)

    def fit(self, X):
        self._index = grebe.ann.Index(self._kind, self._metric, **self._build).build(numpy.asarray(X))

    def set_query_arguments(self, *values):
        """One value for the search parameter, or a dict of several."""
        if len(values) == 1 and isinstance(values[0], dict):
            self._params = values[0]
        else:
            self._params = {self._search: values[0]} if values else {}
        self.name = self._title()

    def query(self, q, n):
        ids, _ = self._index.search(q, n, threads=1, **self._params)
        return ids if ids[-1] >= 0 else ids[ids >= 0]

    def batch_query(self, X, n):
        """One call for all queries, which threads share."""
        self._results, _ = self._index.search(numpy.asarray(X), n, **self._params)

    def get_batch_results(self):
        return [row[row >= 0] for row in self._results]

    def get_memory_usage(self):
        """Kilobytes of the process, as of every other algorithm; get_additional() has what the index says of itself."""
        return super().get_memory_usage()

    def get_additional(self):
        info = self._index.info
        return {"grebe_index_bytes": sum(value for name, value in info.items() if name.startswith("bytes"))}

    def done(self):
        if self._index is not None:
            self._index.close()
            self._index = None

    def __str__(self):
        return self.name
