# SPDX-License-Identifier: Apache-2.0
"""Search by vectors over a column of a data set, or over vectors of the caller's: the indexes of grebe.ann, attached by name."""

import collections

SearchResults = collections.namedtuple("SearchResults", ["scores", "indices"])
BatchedSearchResults = collections.namedtuple("BatchedSearchResults", ["total_scores", "total_indices"])
NearestExamplesResults = collections.namedtuple("NearestExamplesResults", ["scores", "examples"])
BatchedNearestExamplesResults = collections.namedtuple("BatchedNearestExamplesResults", ["total_scores", "total_examples"])


class MissingIndex(Exception):
    """No index of that name is attached."""


_METRICS = {None: "l2", 0: "ip", 1: "l2", "l2": "l2", "ip": "ip", "cosine": "cosine"}


class Searchable:
    """The part of a data set that has search indexes."""

    def __init__(self):
        self._indexes = {}

    def add_index(self, column, index_name=None, kind="flat", metric="l2", batch_size=1000, train_size=None, **params):
        """Attach an index (grebe.ann.Index) over a column of vectors; kind "flat" compares all."""
        import numpy
        from . import ann
        if column not in self.column_names:
            raise ValueError(f"no column {column!r}: there are {self.column_names}")
        vectors = self.with_format("numpy", [column])
        parts = [b[column] for b in vectors.iter(batch_size)]
        for part in parts:
            if part.ndim != 2:
                raise ValueError(f"column {column!r}: expected vectors of one length, found an array of shape {part.shape}")
        rows = numpy.concatenate(parts).astype(numpy.float32, copy=False) if parts else numpy.empty((0, 1), numpy.float32)
        self._attach(index_name or column, ann.Index(kind, metric, **params), rows, metric)
        return self

    def add_faiss_index(self, column, index_name=None, device=None, string_factory=None, metric_type=None, custom_index=None,
                        batch_size=1000, train_size=None, faiss_verbose=False, dtype=None):
        """As `datasets` has it, with Grebe's own indexes: string_factory "Flat" (the default) or "HNSW"; metric_type 0 inner product,
        1 squared L2 (the default)."""
        if custom_index is not None or device is not None:
            raise NotImplementedError("add_faiss_index: custom_index and device are faiss's own")
        kind = _kind(string_factory)
        return self.add_index(column, index_name, kind, _METRICS[metric_type], batch_size)

    def add_index_from_external_arrays(self, external_arrays, index_name, kind="flat", metric="l2", **params):
        """Attach an index over vectors of the caller's, one for each row."""
        import numpy
        from . import ann
        rows = numpy.asarray(external_arrays, numpy.float32)
        if rows.ndim != 2 or len(rows) != len(self):
            raise ValueError(f"external_arrays: expected {len(self)} vectors, found an array of shape {rows.shape}")
        self._attach(index_name, ann.Index(kind, metric, **params), rows, metric)
        return self

    def add_faiss_index_from_external_arrays(self, external_arrays, index_name, device=None, string_factory=None, metric_type=None,
                                             custom_index=None, **kwargs):
        """As add_index_from_external_arrays, with the arguments of `datasets`."""
        return self.add_index_from_external_arrays(external_arrays, index_name, _kind(string_factory), _METRICS[metric_type])

    def _attach(self, name, index, rows, metric):
        if len(rows):
            index.add(rows)
        self._indexes[name] = (index, metric)

    def list_indexes(self):
        """Names of the attached indexes."""
        return list(self._indexes)

    def is_index_attached(self, index_name):
        """Whether there is one of that name."""
        return index_name in self._indexes

    def get_index(self, index_name):
        """The grebe.ann.Index of that name."""
        if index_name not in self._indexes:
            raise MissingIndex(f"no index {index_name!r}: there are {self.list_indexes()}; add_index() attaches one")
        return self._indexes[index_name][0]

    def drop_index(self, index_name):
        """Take an index away."""
        self.get_index(index_name)
        del self._indexes[index_name]
        return self

    def search(self, index_name, query, k=10):
        """(scores, rows) of the nearest to one vector; -1 where there are fewer than k."""
        import numpy
        query = numpy.asarray(query, numpy.float32)
        if query.ndim == 2 and len(query) == 1:
            query = query[0]
        if query.ndim != 1:
            raise ValueError(f"query: expected one vector, found an array of shape {query.shape}")
        scores, rows = self.search_batch(index_name, query[None], k)
        return SearchResults(scores[0], rows[0].astype(int))

    def search_batch(self, index_name, queries, k=10):
        """(scores, rows) of shape [queries, k]."""
        import numpy
        index = self.get_index(index_name)
        queries = numpy.ascontiguousarray(queries, numpy.float32)
        if queries.ndim != 2:
            raise ValueError(f"queries: expected an array of two dimensions, found {queries.shape}")
        n = max(1, min(k, len(self)))
        ids, distances = index.search(queries, n)
        rows = numpy.full((len(queries), k), -1, numpy.int64)
        scores = numpy.full((len(queries), k), numpy.nan, numpy.float32)
        rows[:, :ids.shape[1]] = ids
        metric = self._indexes[index_name][1]
        scores[:, :ids.shape[1]] = _scores(distances, metric)
        return BatchedSearchResults(scores, rows)

    def get_nearest_examples(self, index_name, query, k=10):
        """(scores, rows as a batch) of the nearest to one vector."""
        scores, rows = self.search(index_name, query, k)
        found = rows >= 0
        return NearestExamplesResults(scores[found], self[rows[found].tolist()])

    def get_nearest_examples_batch(self, index_name, queries, k=10):
        """Those of several vectors."""
        total_scores, total_rows = self.search_batch(index_name, queries, k)
        found = [rows >= 0 for rows in total_rows]
        return BatchedNearestExamplesResults([s[f] for s, f in zip(total_scores, found)],
                                             [self[rows[f].tolist()] for rows, f in zip(total_rows, found)])

    def save_index(self, index_name, file):
        """The index as a file (docs/format/index.md)."""
        self.get_index(index_name).save(file)

    def load_index(self, index_name, file, metric="l2"):
        """Attach an index that was saved; it must be of as many rows."""
        from . import ann
        index = ann.Index.load(file)
        if len(index) != len(self):
            raise ValueError(f"{file}: expected an index of {len(self)} vectors, found {len(index)}")
        self._indexes[index_name] = (index, getattr(index, "metric", metric))
        return self

    save_faiss_index, load_faiss_index = save_index, load_index


def _kind(string_factory):
    if string_factory is None or string_factory == "Flat":
        return "flat"
    if string_factory.startswith("HNSW"):
        return "hnsw"
    raise ValueError(f"string_factory: expected Flat or HNSW, found {string_factory!r}: add_index has all kinds of grebe.ann")


def _scores(distances, metric):
    """As faiss gives them: squared L2, inner products."""
    return distances if metric == "l2" else 1 - distances
