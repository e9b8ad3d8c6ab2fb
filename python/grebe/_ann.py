# SPDX-License-Identifier: Apache-2.0
"""Benchmark data sets: HDF5 files of VSAG and ann-benchmarks, and true neighbours (docs/format/ann.md)."""

import os

from . import _core
from ._index import _ELEMS, _NAMES, _numpy, dense, integers, lanes, sparse, unsigned

_LAYOUTS = ("dense", "sparse", "multi_vector", "sets")
_PROFILES = ("read", "vsag", "annb")
_TYPES = {"float32": "float32", "float16": "float16", "bfloat16": "uint16", "int8": "int8", "uint8": "uint8", "bit": "uint8",
          "float64": "float64"}


class DataSet:
    """A benchmark data set.

    layout: "dense", "sparse", "multi_vector", "sets". distance: the file's word. train, test: a matrix (bool where the
    file has bits); sparse: (offsets, terms, values); multi_vector: (offsets, matrix); sets: (offsets, terms).
    neighbors (int64), distances (float32): rows of train nearest first, shape (queries, k). train_labels, test_labels,
    valid_ratios, train_tokens, test_tokens ((offsets, tokens)): None where there are none."""

    __slots__ = ("layout", "distance", "train", "test", "neighbors", "distances", "train_labels", "test_labels", "valid_ratios",
                 "train_tokens", "test_tokens", "int8_negated_ip", "plain_l2")

    def __init__(self, layout, distance, train, test, neighbors=None, distances=None, *, train_labels=None, test_labels=None,
                 valid_ratios=None, train_tokens=None, test_tokens=None, int8_negated_ip=False, plain_l2=False):
        self.layout, self.distance, self.train, self.test = layout, distance, train, test
        self.neighbors, self.distances = neighbors, distances
        self.train_labels, self.test_labels, self.valid_ratios = train_labels, test_labels, valid_ratios
        self.train_tokens, self.test_tokens = train_tokens, test_tokens
        self.int8_negated_ip, self.plain_l2 = int8_negated_ip, plain_l2

    def __repr__(self):
        n = [len(s[0]) - 1 if isinstance(s, tuple) else len(s) for s in (self.train, self.test)]
        k = 0 if self.neighbors is None else self.neighbors.shape[1]
        return f"DataSet({self.layout}, {self.distance}, {n[0]} rows, {n[1]} queries, k {k})"


def _profile(name):
    if name not in _PROFILES:
        raise ValueError(f"profile: expected one of {', '.join(_PROFILES)}, found {name!r}")
    return _PROFILES.index(name)


def _array(buffer, dtype, *shape):
    return None if buffer is None else _numpy().frombuffer(buffer, dtype).reshape(shape or -1)


def _side(side, layout):
    np, n, dim = _numpy(), side["n"], side["dim"]
    offsets = _array(side["offsets"], "int64")
    if layout == "sparse":
        return offsets, _array(side["terms"], "uint32"), _array(side["values"], "float32")
    if layout == "sets":
        return offsets, _array(side["terms"], "uint32")
    if layout == "multi_vector":
        return offsets, _array(side["vectors"], "float32", -1, dim)
    elem = _NAMES[side["elem"]]
    if elem == "bit":
        return np.unpackbits(_array(side["vectors"], "uint8", n, -1), axis=1, count=dim).astype(bool)
    return _array(side["vectors"], _TYPES[elem], n, dim)


def read_hdf5(path, *, profile="read", allow_padding=True):
    """Read a data set (DataSet). float16, float64 and wider integers become float32. profile: "vsag" and "annb" refuse what
    those programs do not read. Corrupt names data set, row, expected and found."""
    d = _core.ann_read(os.fspath(path), _profile(profile), allow_padding)
    layout, base, queries = _LAYOUTS[d["layout"]], d["base"], d["queries"]
    tokens = [None if s["token_offsets"] is None else (_array(s["token_offsets"], "int64"), _array(s["tokens"], "uint32"))
              for s in (base, queries)]
    return DataSet(layout, d["distance"], _side(base, layout), _side(queries, layout),
                   _array(d["neighbors"], "int64", queries["n"], d["k"]), _array(d["distances"], "float32", queries["n"], d["k"]),
                   train_labels=_array(base["labels"], "int64"), test_labels=_array(queries["labels"], "int64"),
                   valid_ratios=_array(d["valid_ratios"], "float32"), train_tokens=tokens[0], test_tokens=tokens[1],
                   int8_negated_ip=d["int8_negated_ip"], plain_l2=d["plain_l2"])


def check_hdf5(path, *, profile="read", allow_padding=False):
    """Findings of a check: a list of (level, place, message), level "notice", "warning" or "error"."""
    return _core.ann_check(os.fspath(path), _profile(profile), allow_padding)


def _layout_of(vectors):
    if hasattr(vectors, "indptr"):
        return "sparse"
    if isinstance(vectors, tuple) and len(vectors) == 3:
        return "sparse"
    if isinstance(vectors, tuple) and len(vectors) == 2:
        return "multi_vector" if getattr(vectors[1], "ndim", 1) == 2 else "sets"
    return "dense"


def _give_side(vectors, layout, labels, tokens):
    np = _numpy()
    side = {"n": 0, "dim": 0, "elem": 0, "labels": None if labels is None else integers(labels, "labels")}
    if tokens is not None:
        side["token_offsets"] = integers(tokens[0], "tokens")
        side["tokens"] = unsigned(tokens[1], "tokens")
    if layout == "dense":
        (side["vectors"], side["elem"], side["n"], side["dim"]), is_one = dense(vectors)
        if side["elem"] == _ELEMS["float64"]:
            side["vectors"], side["elem"] = side["vectors"].astype(np.float32), _ELEMS["float32"]
        if is_one:
            raise ValueError("vectors: expected a matrix of rows, found one vector")
        return side
    if layout == "sparse":
        side["offsets"], side["terms"], side["values"] = sparse(vectors)[0]
    else:
        side["offsets"] = integers(vectors[0], "offsets")
        if layout == "sets":
            side["terms"] = unsigned(vectors[1], "items")
        else:
            side["vectors"] = np.ascontiguousarray(vectors[1], np.float32)
            side["dim"] = side["vectors"].shape[1]
    if not len(side["offsets"]):
        raise ValueError("offsets: expected one more than there are rows, found none")
    side["n"] = len(side["offsets"]) - 1
    return side


def _content(layout, distance, train, test, neighbors, distances, k, train_labels, test_labels, valid_ratios, tokens, int8_negated_ip,
             plain_l2):
    np = _numpy()
    if layout not in _LAYOUTS:
        raise ValueError(f"layout: expected one of {', '.join(_LAYOUTS)}, found {layout!r}")
    if not isinstance(distance, str):
        raise TypeError(f"distance: expected a word, found {distance!r}")
    c = {"layout": _LAYOUTS.index(layout), "distance": distance, "base": _give_side(train, layout, train_labels, tokens[0]),
         "queries": _give_side(test, layout, test_labels, tokens[1]), "k": k, "int8_negated_ip": bool(int8_negated_ip),
         "plain_l2": bool(plain_l2)}
    if neighbors is not None:
        shape = np.shape(neighbors)
        if distances is None or len(shape) != 2 or np.shape(distances) != shape:
            raise ValueError(f"distances: expected the shape of neighbors, {shape}, found "
                             f"{'none' if distances is None else np.shape(distances)}")
        c["neighbors"] = integers(np.ravel(neighbors), "neighbors")
        c["distances"] = np.ascontiguousarray(distances, np.float32)
    if valid_ratios is not None:
        c["valid_ratios"] = np.ascontiguousarray(valid_ratios, np.float32)
        c["n_valid_ratios"] = len(c["valid_ratios"])
    return c


def write_hdf5(path, data=None, *, durable=False, **fields):
    """Write a DataSet, or its fields by name (train, test, distance, neighbors, distances, …), as VSAG lays it out. Without
    neighbors they are found first (k: how many). Equal content gives equal bytes."""
    k = fields.pop("k", None)
    if data is None:
        fields.setdefault("layout", _layout_of(fields["train"]))
        data = DataSet(**fields)
    elif fields:
        raise TypeError(f"write_hdf5: a DataSet has its fields: unexpected {', '.join(fields)}")
    neighbors, distances = data.neighbors, data.distances
    if neighbors is None:
        neighbors, distances = groundtruth(data.train, data.test, k or 100, data.distance, int8_negated_ip=data.int8_negated_ip,
                                           plain_l2=data.plain_l2)
    c = _content(data.layout, data.distance, data.train, data.test, neighbors, distances, (_numpy().shape(neighbors) or (0,))[-1],
                 data.train_labels, data.test_labels, data.valid_ratios, (data.train_tokens, data.test_tokens), data.int8_negated_ip,
                 data.plain_l2)
    _core.ann_write(os.fspath(path), c, durable)


def groundtruth(train, test, k, metric="euclidean", *, train_labels=None, test_labels=None, int8_negated_ip=False, plain_l2=False,
                threads=0):
    """(ids int64, distances float32), shape (queries, k): exact in float64, ties to the lower row. With labels only rows with
    the query's label; a query with fewer than k ends in -1 and inf."""
    layout = _layout_of(train)
    c = _content(layout, metric, train, test, None, None, k, train_labels, test_labels, None, (None, None), int8_negated_ip, plain_l2)
    ids, distances = _core.ann_groundtruth(c, train_labels is not None, lanes(threads))
    return _array(ids, "int64", -1, k), _array(distances, "float32", -1, k)
