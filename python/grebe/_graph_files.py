# SPDX-License-Identifier: Apache-2.0
"""Data sets of graphs as folders: checked, preprocessed, made of files and taken out."""

import collections.abc
import operator
import os

from . import _core


class Problem:
    """What is wrong with a data set, or looks so (is_error False): file, line and column (from 1; 0: of no place), field, message."""

    __slots__ = ("is_error", "file", "line", "column", "field", "message")

    def __init__(self, is_error, file, line, column, field, message):
        self.is_error, self.file, self.line, self.column = bool(is_error), file, line, column
        self.field, self.message = field, message

    def __str__(self):
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else f"{self.file}: "
        return f"{place}{'error' if self.is_error else 'warning'}: {self.field + ': ' if self.field else ''}{self.message}"

    def __repr__(self):
        return f"<Problem {self}>"


def _call(threads, progress):
    return {"threads": threads, "progress": progress}


def check(path, *, deep=False, strict=False, csv_header=False, csv_separator=None, allow_row_mismatch=False, threads=None, progress=None):
    """All problems of metadata.yaml and of the headers of what it names, in one run; deep reads the edges, and the ids in sets, too.

    strict: warnings are errors. csv_header, csv_separator, allow_row_mismatch: as of preprocess(). Returns a list of Problem; raises NotFound where there is no metadata.yaml."""
    return [Problem(*p) for p in _core.graph_check(os.fspath(path), deep, strict, (csv_header, csv_separator, allow_row_mismatch), _call(threads, progress))]


def preprocess(path, *, include_original_edge_id=False, out=None, cast=True, force=False, durable=False, strict=False, csv_header=False, csv_separator=None,
               allow_row_mismatch=False, threads=None, progress=None):
    """Make what training reads, in the folder `preprocessed` of path (or of out); nothing is done where that is up to date.

    include_original_edge_id: keep which row of its file an edge was; kept all the same where an edge has features, whose rows are found by
    it. cast: integers take the smallest type that holds them.
    durable: the result is on the disk before it appears: without, a loss of power soon after may leave a torn one (a killed process never does).
    strict: warnings are errors. csv_header: the first line of text files of edges is passed over; csv_separator: "," if None.
    allow_row_mismatch: features may have other numbers of rows than there are nodes or edges.
    The result is the same for any number of threads, appears whole or not at all, and the sources are only read.
    Returns the path of that folder; raises SchemaMismatch (metadata, shapes), Corrupt (edges, ids in sets, with file and line or row)."""
    _core.graph_preprocess(os.fspath(path), None if out is None else os.fspath(out), include_original_edge_id, cast, force, durable, strict,
                           (csv_header, csv_separator, allow_row_mismatch),
                           _call(threads, progress))
    return os.path.join(os.fspath(path if out is None else out), "preprocessed")


def _split_type(key, n):
    """"TYPE:NAME" with types of n parts as (type, name); type None where there is none."""
    kind, _, name = key.rpartition(":")
    if kind and kind.count(":") != n - 1:
        raise ValueError(f"expected NAME or TYPE:NAME with a type of {n} part{'s' * (n > 1)}, found {key!r}")
    return kind or None, name


def init(path, edges, *, nodes=None, node_features=None, edge_features=None, edge_attributes=None, src=None, dst=None,
         train=None, validation=None, test=None, task=None, name=None, force=False, threads=None, progress=None):
    """Write the metadata.yaml of files: what is wrong with them is found at once, for all edges are read.

    edges: a file (csv of two numbers, npy of shape (2, n), torch, Parquet of two columns), or {"source:relation:destination": file}; with src
    and dst names of two columns of any source. nodes: how many, or {type: how many} (default: as edges and features tell). node_features:
    {"name" or "type:name": file}; edge_features, edge_attributes (weights, times): {"name" or "source:relation:destination:name": file}.
    train, validation, test: sets of the task, {"name" or "type:name": file} with names like seeds and labels; the type is of nodes, or of edges
    for seeds that are pairs. A file is npy or torch; (file, column) or (file, [column, column]) takes columns of any source. task: what else
    is said of it, {"name": …, "num_classes": …}.
    force: replace files that are there (metadata.yaml, copies of columns). Returns the path of metadata.yaml; raises Exists, Corrupt (edges, with file and line or row), SchemaMismatch."""
    def files(found, n):
        return [(*_split_type(key, n), os.fspath(file)) for key, file in (found or {}).items()]
    def set_file(kind, key, file):
        file, columns = file if isinstance(file, tuple) else (file, [])
        part, _, item = key.rpartition(":")
        return (kind, part or None, item, os.fspath(file), [columns] if isinstance(columns, str) else list(columns))
    sets = [set_file(i, *item) for i, found in enumerate((train, validation, test)) for item in (found or {}).items()]
    pairs = edges.items() if isinstance(edges, collections.abc.Mapping) else [(None, edges)]
    counts = [] if nodes is None else nodes.items() if isinstance(nodes, collections.abc.Mapping) else [(None, nodes)]
    features = [("node", *f, False) for f in files(node_features, 1)] + [("edge", *f, False) for f in files(edge_features, 3)]
    features += [("edge", *f, True) for f in files(edge_attributes, 3)]
    _core.graph_init(os.fspath(path), name, [(kind, os.fspath(file), src, dst) for kind, file in pairs],
                     [(kind, operator.index(n)) for kind, n in counts], features, sets,
                     [(key, str(value)) for key, value in (task or {}).items()], force, _call(threads, progress))
    return os.path.join(os.fspath(path), "metadata.yaml")


def export(path, dest, *, file_format=None, threads=None, progress=None):
    """Write a preprocessed data set as plain files into the new folder dest: npy files and a metadata.yaml that can be preprocessed again,
    or tables (file_format "parquet", "csv", "jsonl", "arrow"). Edges are in the order of their files, where that was kept. Returns dest."""
    _core.graph_export(os.fspath(path), os.fspath(dest), file_format, _call(threads, progress))
    return os.fspath(dest)
