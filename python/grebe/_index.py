# SPDX-License-Identifier: Apache-2.0
"""Vector indexes (grebe.ann.Index) and vectors on their way into the library."""

import os

from . import _core

# Numbers of element types in grebe/ann_index.h
_ELEMS = {"float32": 0, "float16": 1, "bfloat16": 2, "int8": 3, "uint8": 4, "bit": 5, "float64": 6}
_NAMES = {number: name for name, number in _ELEMS.items()}


_np = _float32 = None  # numpy, when it was first needed; nothing else of the package needs it


def _numpy():
    global _np, _float32
    if _np is None:
        import numpy
        _np, _float32 = numpy, numpy.dtype("float32")
    return _np


def _from_arrow(vectors):
    """(2-D numpy array) of an array of lists of one length of Arrow, without a copy where its host allows it."""
    np = _numpy()
    if hasattr(vectors, "column_names") or hasattr(vectors, "num_columns"):
        raise TypeError(f"vectors: expected an array of lists, such as one column, found {type(vectors).__name__}")
    if hasattr(vectors, "combine_chunks"):
        vectors = vectors.combine_chunks()
    if hasattr(vectors, "type") and not hasattr(vectors.type, "value_type"):
        raise TypeError(f"vectors: expected an array of lists, found {vectors.type}")
    if not hasattr(vectors, "flatten"):  # another host
        if not hasattr(vectors, "to_numpy"):
            raise TypeError(f"vectors: expected an array of lists, found {type(vectors).__name__}")
        rows = [np.asarray(row) for row in vectors.to_numpy()]
        if len({row.shape for row in rows}) > 1:
            raise ValueError("vectors: expected lists of one length")
        return np.stack(rows) if rows else np.empty((0, 0), "float32")
    values = vectors.flatten()
    if vectors.null_count or values.null_count:
        raise ValueError(f"vectors: expected no nulls, found {vectors.null_count or values.null_count}")
    n, dim = len(vectors), getattr(vectors.type, "list_size", None)
    if dim is None:  # lists of any length: of one, here
        lengths = np.asarray(vectors.value_lengths())
        dim = int(lengths[0]) if n else 0
        if (lengths != dim).any():
            at = int((lengths != dim).argmax())
            raise ValueError(f"vectors: row {at}: expected {dim} components, found {lengths[at]}")
    return values.to_numpy(zero_copy_only=False).reshape(n, dim)


def integers(values, what):
    """int64, contiguous; nothing is rounded or wrapped on the way."""
    np = _numpy()
    values = np.asarray(values)
    if values.dtype.kind not in "iu" and values.size:
        raise TypeError(f"{what}: expected integers, found {values.dtype}")
    if values.dtype == np.uint64 and values.size and values.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{what}: expected at most {np.iinfo(np.int64).max}, found {values.max()}")
    if values.ndim > 1:
        raise ValueError(f"{what}: expected one dimension, found {values.ndim}")
    return np.ascontiguousarray(values, np.int64)


def unsigned(values, what):
    """uint32, contiguous; nothing is rounded or wrapped on the way."""
    values = integers(values, what)
    if values.size and not 0 <= values.min() <= values.max() < 1 << 32:
        raise ValueError(f"{what}: expected from 0 to {(1 << 32) - 1}, found from {values.min()} to {values.max()}")
    return _numpy().ascontiguousarray(values, _numpy().uint32)


def lanes(threads):
    """A number of threads for the library; None: its own."""
    threads = 0 if threads is None else int(threads)
    if not 0 <= threads < 1 << 31:
        raise ValueError(f"threads: expected a number from 0 to {(1 << 31) - 1}, found {threads}")
    return threads


def dense(vectors, elem=None):
    """(buffer, element type, rows, components) of a matrix, or of one vector, and whether it was one vector."""
    np = _numpy()
    if type(vectors) is np.ndarray and vectors.dtype is _float32 and vectors.flags.c_contiguous: # the common case, at once
        shape = vectors.shape
        if len(shape) == 1:
            return (vectors, 0, 1, shape[0]), True
        if len(shape) == 2:
            return (vectors, 0, shape[0], shape[1]), False
    if not isinstance(vectors, np.ndarray):
        if hasattr(vectors, "__arrow_c_array__") or hasattr(vectors, "combine_chunks"):
            vectors = _from_arrow(vectors)
        else:
            vectors = np.asarray(vectors)
            if vectors.dtype.kind in "iu" and vectors.dtype.itemsize > 1 or vectors.dtype == object:
                vectors = vectors.astype(np.float32)
    if vectors.dtype == bool:
        components = vectors.shape[-1] if vectors.ndim else 0
        vectors, number = np.packbits(vectors, axis=-1), _ELEMS["bit"]
    else:
        number = _ELEMS.get(vectors.dtype.name)
        components = vectors.shape[-1] if vectors.ndim else 0
        if elem == "bit" and number == _ELEMS["uint8"]:
            number, components = _ELEMS["bit"], components * 8
    if number is None:
        raise TypeError(f"vectors: expected {', '.join(_ELEMS)}, found {vectors.dtype}")
    if vectors.ndim not in (1, 2):
        raise ValueError(f"vectors: expected one vector or a matrix of rows, found {vectors.ndim} dimensions")
    if not vectors.flags.c_contiguous or not vectors.dtype.isnative:
        vectors = np.ascontiguousarray(vectors, dtype=vectors.dtype.newbyteorder("="))
    is_one = vectors.ndim == 1
    buffer = vectors.view(np.uint16) if number == _ELEMS["bfloat16"] else vectors
    return (buffer, number, 1 if is_one else vectors.shape[0], components), is_one


def sparse(vectors):
    """(int64 offsets, uint32 terms, float32 values) of such a triple or of a SciPy matrix, and that it is no single row."""
    np = _numpy()
    if hasattr(vectors, "indptr"):
        vectors = vectors.tocsr()
        vectors = (vectors.indptr, vectors.indices, vectors.data)
    if not isinstance(vectors, (tuple, list)) or len(vectors) != 3:
        raise TypeError(f"sparse rows: expected (offsets, terms, values) or a SciPy matrix, found {type(vectors).__name__}")
    offsets, terms, values = vectors
    return (integers(offsets, "offsets"), unsigned(terms, "terms"), np.ascontiguousarray(values, np.float32)), False


class Index:
    """Index(kind, metric, **params): rows of vectors and the nearest of them.

        index = grebe.ann.Index("graph", "angular", quant="sq8")
        index.build(vectors)
        ids, distances = index.search(queries, 10, ef=64)

    kind: "flat" (exact), "hnsw", "graph", "ivf", "sparse". metric: "euclidean", "l2" (not rooted), "ip" (1 - a.b), "angular";
    "hamming" and "jaccard" over bits (bool arrays, or packed with dtype="bit"). dtype: how rows are kept for ranking
    ("float32", "float16", "bfloat16", "int8", "uint8"); by default what the first rows are (float64: float32). params: those
    of the kind (docs/guide/ann.md). threads: of building.

    Searches may run on several threads at once; add, remove and save need the index alone. The GIL is released."""

    def __init__(self, kind="hnsw", metric="euclidean", *, dtype=None, threads=0, **params):
        self._config = (kind, metric, dtype, tuple(words(params)), lanes(threads))
        self._params = {(): ()}
        self._sparse = kind == "sparse"
        self._core = self._new("float32") if dtype is None and metric not in ("hamming", "jaccard") else \
            self._new(dtype or "bit")
        self._is_open = dtype is not None or self._sparse  # the element type is settled
        self._elem = dtype if dtype is not None else "bit" if metric in ("hamming", "jaccard") else None

    def _new(self, dtype):
        kind, metric, _, params, threads = self._config
        if dtype not in _ELEMS:
            raise ValueError(f"dtype: expected one of {', '.join(_ELEMS)}, found {dtype!r}")
        return _core.new_index(kind, metric, 0 if dtype == "float64" else _ELEMS[dtype], params, threads)

    @classmethod
    def load(cls, path, *, verify=False):
        """Open a saved index; the file is mapped, not read. verify: compare every checksum first."""
        self = cls.__new__(cls)
        self._core = _core.open_index(os.fspath(path), verify)
        info = self._core.info()
        self._config = (info["kind"], info["metric"], _NAMES[info["elem"]], (), 0)
        self._params = {(): ()}
        self._sparse = info["kind"] == "sparse"
        self._is_open = True
        self._elem = _NAMES[info["elem"]]
        return self

    def _rows(self, vectors):
        return sparse(vectors) if self._sparse else dense(vectors, self._elem)

    def build(self, vectors, ids=None, *, threads=None):
        """Rows of a new index: add() to one that is empty. Gives the index back."""
        if len(self):
            raise ValueError(f"build: expected an empty index, found one of {len(self)} rows; add() appends")
        return self.add(vectors, ids, threads=threads)

    def add(self, vectors, ids=None, *, threads=None):
        """Add rows (numpy, Arrow, lists; sparse: (offsets, terms, values) or a SciPy matrix). ids: int64, unique; by
        default the positions 0, 1, … Gives the index back."""
        rows, _ = self._rows(vectors)
        if not self._is_open and rows[2]:
            if rows[1] not in (0, 6, 5):
                self._core = self._new(_NAMES[rows[1]])
            self._elem, self._is_open = _NAMES[0 if rows[1] == 6 else rows[1]], True
        self._core.add(rows, None if ids is None else integers(ids, "ids"), lanes(threads))
        return self

    def remove(self, ids):
        """Make rows unfindable. Gives how many of the ids were there."""
        return self._core.remove(_numpy().atleast_1d(integers(ids, "ids")))

    def _filter(self, where):
        """(bits as uint64 or None, how many, ids or None)"""
        if where is None:
            return None, 0, None
        np = _numpy()
        where = np.asarray(where)
        if where.dtype != bool:
            return None, 0, np.atleast_1d(integers(where, "where"))
        info = self._core.info()
        if where.shape != (info["rows"] + info["removed"],):
            raise ValueError(f"where: expected {info['rows'] + info['removed']} values, one for each row that was added, "
                             f"found shape {where.shape}")
        bits = np.packbits(where, bitorder="little")
        words = np.zeros((len(where) + 63) // 64 * 8, np.uint8)
        words[:len(bits)] = bits
        return words, len(where), None

    def _given(self, params):
        key = tuple(params.items())
        known = self._params.get(key)
        if known is None:
            known = self._params[key] = tuple(words(params))
            if len(self._params) > 1000:
                self._params = {key: known}
        return known

    def search(self, queries, k=10, *, where=None, threads=None, **params):
        """The k nearest rows of each query: (ids int64, distances float32), each of shape (queries, k), or (k,) for
        one vector. Fewer than k: -1 and inf behind them. where: a bool array (a value for each row in the order added)
        or the ids that may be given. params: those of the kind, such as ef or nprobe."""
        rows, is_one = self._rows(queries)
        np = _np
        n = len(rows[0]) - 1 if self._sparse else rows[2]
        shape = k if is_one else (n, k)
        ids, distances = np.empty(shape, np.int64), np.empty(shape, np.float32)
        bits, n_bits, only = self._filter(where) if where is not None else (None, 0, None)
        self._core.search(rows, k, self._given(params), bits, n_bits, only, lanes(threads) if threads else 0, ids, distances)
        return ids, distances

    def search_rows(self, queries, k=10, **options):
        """search() as Arrow rows: columns query, rank, id, distance; what was not found is left out."""
        np = _numpy()
        ids, distances = self.search(queries, k, **options)
        ids, distances = np.atleast_2d(ids), np.atleast_2d(distances)
        query, rank = np.nonzero(ids >= 0) if ids.size else (np.empty(0, np.int64),) * 2
        return _core.batch_from_columns(["query", "rank", "id", "distance"],
                                        [query.astype(np.int64), rank.astype(np.int64), ids[query, rank], distances[query, rank]])

    def range_search(self, queries, radius, *, where=None, threads=None, **params):
        """Rows up to and with a distance: (offsets, ids, distances); those of query i stand in [offsets[i], offsets[i + 1])."""
        np = _numpy()
        rows, _ = self._rows(queries)
        bits, n_bits, only = self._filter(where)
        found = self._core.range(rows, radius, self._given(params), bits, n_bits, only, lanes(threads))
        return tuple(np.frombuffer(part, kind) for part, kind in zip(found, (np.int64, np.int64, np.float32)))

    def save(self, path, *, durable=False):
        """One file with checksums, whole or not at all."""
        self._core.save(os.fspath(path), durable)

    def close(self):
        self._core.close()

    def __reduce__(self):
        raise TypeError("an Index is not pickled: save() it, and load() the file where it is needed")

    @property
    def info(self):
        """kind, metric, dtype, dim, rows, removed, and bytes of vectors, codes, links and the rest."""
        info = self._core.info()
        info["dtype"] = _NAMES[info.pop("elem")]
        return info

    def __len__(self):
        return self._core.info()["rows"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        try:
            i = self.info
        except (ValueError, RuntimeError) as e:  # closed; busy in another thread
            return f"<grebe.ann.Index {self._config[0]} {self._config[1]}: {str(e).split(':')[0]}>"
        return f"<grebe.ann.Index {i['kind']} {i['metric']}: {i['rows']} rows of {i['dim']} {i['dtype']}>"


def words(params):
    """Parameters as the library takes them: "name=value"."""
    return [f"{name}={value}" for name, value in params.items() if value is not None]
