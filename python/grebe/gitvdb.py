# SPDX-License-Identifier: Apache-2.0
"""Collections of vectors in Git repositories, in the format of git-vdb (docs/guide/gitvdb.md).

    db = grebe.gitvdb.open("words.git", create=True)
    c = db.create("words", 50)
    c.upsert(ids=words, vectors=matrix, payloads=[{"rank": i} for i in range(len(words))])
    for point in c.search(matrix[7], k=5):
        print(point["id"], point["score"])

Ids are integers from 0 and texts; 5 and "5" are two ids. Every write is a commit."""

import array
import contextlib
import io
import json
import numbers
import operator
import os
import threading

from . import _core
from ._rows import _Convert

_ALL = 2**64 - 1


def open(path, create=False, bare=True):
    """Open a repository. create: where there is none (or an empty folder), one is made; bare=False: with a work tree."""
    return Database(path, create, bare)


# ---- values for the C calls ----

def _number(name, value, least=0):
    value = operator.index(value)
    if not least <= value <= _ALL:
        raise ValueError(f"{name}: expected a number from {least}, found {value}")
    return value


def _word(id):
    """An id as the library reads words: an integer by its digits, a text as a JSON string."""
    if isinstance(id, str):
        return json.dumps(id)
    if isinstance(id, bool):
        raise TypeError("id: expected an integer or a str, found a bool")
    return str(_number("id", id))


def _words(ids):
    if ids is None:
        return None
    if isinstance(ids, (str, numbers.Integral)):
        ids = [ids]
    return [_word(id) for id in ids]


def _plain(value):
    """What json does not know: scalars and arrays of numpy and the like."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"expected what JSON can hold, found {type(value).__name__}: {value!r}")


def _json(value):
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_plain)


def _is_text(ids):
    return all(isinstance(id, str) for id in ids)


def _id_column(ids):
    """(column, whether its texts are JSON)."""
    if hasattr(ids, "__arrow_c_array__") or getattr(getattr(ids, "dtype", None), "kind", None) in ("i", "u"):
        return ids, False
    ids = ids.to_pylist() if hasattr(ids, "to_pylist") else list(ids)
    if _is_text(ids):
        return ids, False
    if not any(isinstance(id, (str, bool)) for id in ids):
        return array.array("Q", [_number("id", id) for id in ids]), False
    return [_word(id) for id in ids], True


def _rows(vectors):
    """Lists of numbers as float32: one vector, or rows of them."""
    vectors = list(vectors)
    if not vectors or isinstance(vectors[0], (int, float)):
        return array.array("f", vectors)
    rows = [array.array("f", row) for row in vectors]
    dim = len(rows[0])
    if dim == 0 or any(len(row) != dim for row in rows):
        raise ValueError("vectors: expected one number of components, at least 1, in all of them")
    return memoryview(b"".join(rows)).cast("f", (len(rows), dim))


def _vectors(vectors):
    """float32 in one piece of memory, without a copy where it is that."""
    if hasattr(vectors, "combine_chunks"): # of pyarrow
        vectors = vectors.combine_chunks()
    if hasattr(vectors, "__arrow_c_array__") and not hasattr(vectors, "__array_interface__"):
        return vectors
    if hasattr(vectors, "__array_interface__") or hasattr(vectors, "__dlpack__"):
        import numpy
        return numpy.ascontiguousarray(vectors, dtype=numpy.float32)
    if isinstance(vectors, (memoryview, array.array)):
        return vectors
    return _rows(vectors)


def _query(vectors):
    """The same for a search, where Arrow is copied."""
    vectors = _vectors(vectors)
    return _rows(vectors.to_pylist()) if hasattr(vectors, "to_pylist") else vectors


class _Text:
    """Any file object as one that gives bytes and starts again."""

    def __init__(self, file):
        if isinstance(file, io.TextIOBase) or not file.seekable():
            data = file.read()
            file = io.BytesIO(data.encode() if isinstance(data, str) else data)
        self.read, self.seek, self.tell = file.read, file.seek, file.tell


class Points(_Convert):
    """Points that a call gave: a sequence of dicts, and Arrow rows (to_pyarrow(), to_pandas(), to_polars(), to_numpy();
    pyarrow, polars and duckdb take a Points as it is). `root` is what was read, `stats` what a search looked at (a list
    for several vectors).

    Columns: "query" (int32; of several vectors), "id", "score", "vector", "payload" (JSON text), as far as asked for. "id" is
    uint64 when all ids that were found are integers (or none was found), text when all are, else text that is each id as JSON;
    json_ids=True asks for the last in any case, so that results can be put together. `ids` are int and str always."""

    def __init__(self, result):
        self._result = result
        self._value = None
        self._batch = None

    @property
    def root(self):
        return self._result.root

    def to_dict(self):
        """As git-vdb prints it."""
        if self._value is None:
            self._value = json.loads(self._result.json())
        return self._value

    @property
    def queries(self):
        """The points of each vector that was looked for: a list of lists of dicts."""
        value = self.to_dict()
        return [r["points"] for r in value["results"]] if "results" in value else [value["points"]]

    @property
    def stats(self):
        value = self.to_dict()
        return [r["stats"] for r in value["results"]] if "results" in value else value.get("stats")

    @property
    def batch(self):
        """The points as a Batch; several vectors have a column "query"."""
        if self._batch is None:
            self._batch = self._result.rows()
        return self._batch

    @property
    def schema(self):
        return self.batch.schema

    @property
    def ids(self):
        """The ids, each an int or a str; of several vectors one behind the other."""
        return [point["id"] for point in self]

    def to_numpy(self):
        """``{column: array}``."""
        return self.batch.to_numpy()

    def __len__(self):
        return self._result.count

    def __iter__(self):
        return (point for points in self.queries for point in points)

    def __getitem__(self, i):
        return list(self)[i]

    def __arrow_c_schema__(self):
        return self.batch.__arrow_c_schema__()

    def __arrow_c_array__(self, requested_schema=None):
        return self.batch.__arrow_c_array__(requested_schema)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.batch.__arrow_c_stream__(requested_schema)

    def __repr__(self):
        return f"<grebe.gitvdb.Points {len(self)} of root {self.root}>"


class Database:
    """An open repository. What was read stays in memory for later calls; reading may come from several threads."""

    def __init__(self, path, create=False, bare=True):
        self.path = os.fspath(path)
        self._vdb = _core.open_vdb(self.path, 0 if not create else 3 if bare else 2)
        self._lock = threading.Lock() # one writer at a time
        self._writer = None           # thread that has it

    @contextlib.contextmanager
    def _writing(self):
        if self._writer == threading.get_ident():
            raise RuntimeError("a write began inside another one, which reads from what makes it")
        with self._lock:
            self._writer = threading.get_ident()
            try:
                yield self._vdb
            finally:
                self._writer = None

    def _call(self, what, name=None, first=None, second=None, number=0, flag=False, more=False):
        return json.loads(self._vdb.call(what, name, first, second, number, flag, more).json())

    def _write(self, what, *args):
        with self._writing():
            return self._call(what, *args)

    def collections(self):
        """Names of the collections, in order."""
        return [info["name"] for info in self._call("list")["collections"]]

    def info(self):
        """What is known of every collection: a list of dicts."""
        return self._call("list")["collections"]

    def create(self, name, dimension, vector_space=None, *, full_scan_threshold=1000, default_probes=96,
               default_candidate_limit=10000, format=2):
        """Make an empty collection. All of it is part of the root."""
        with self._writing() as vdb:
            vdb.create(name, _number("dimension", dimension, 1), vector_space,
                       _number("full_scan_threshold", full_scan_threshold), _number("default_probes", default_probes),
                       _number("default_candidate_limit", default_candidate_limit), _number("format", format))
        return Collection(self, name)

    def collection(self, name):
        """A collection by name. It need not be there yet: upsert() makes it."""
        return Collection(self, name)

    def __getitem__(self, name):
        c = Collection(self, name)
        c.info()
        return c

    def __contains__(self, name):
        return name in self.collections()

    def __iter__(self):
        return iter(self.collections())

    def __len__(self):
        return len(self.collections())

    def drop(self, name):
        """Remove a collection's reference; git keeps the objects until it collects them."""
        return self._write("drop", name)

    def copy(self, name, to, at=None):
        """A second name for a collection's newest version, or for an older one."""
        self._write("copy", name, at, to)
        return Collection(self, to)

    def rename(self, name, to):
        self._write("rename", name, to)
        return Collection(self, to)

    def push(self, name, remote="origin"):
        """Give a collection to a remote: a name of the repository's configuration, a path or an address."""
        return self._write("push", name, os.fspath(remote))

    def pull(self, name, remote="origin"):
        """Fetch a collection and fast-forward to it."""
        return self._write("pull", name, os.fspath(remote))

    def doctor(self):
        """Check every collection: {"valid", "reports", …}."""
        return self._call("doctor")

    def gc(self, grace_seconds=14 * 24 * 3600):
        """Pack the repository and drop what nothing refers to and is older."""
        return self._write("gc", None, None, None, _number("grace_seconds", grace_seconds))

    def close(self):
        """Points and Streams that were read stay valid."""
        self._vdb.close()

    def __reduce__(self):
        return open, (self.path,)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def __repr__(self):
        return f"<grebe.gitvdb.Database {self.path!r}>"


class Collection:
    """A collection of a Database, as it is now or (at) as it was at a git revision, which only reads."""

    def __init__(self, db, name, revision=None):
        self.db = db
        self.name = name
        self.revision = revision

    def _only_now(self):
        if self.revision is not None:
            raise ValueError(f"a view of revision {self.revision!r} is not written")

    def _revision(self, at):
        return self.revision if at is None else at

    def at(self, revision):
        """This collection at a git revision, such as c.history()[1]["commit"]; grebe.NotFound where there is none."""
        view = Collection(self.db, self.name, revision)
        view.info()
        return view

    # ---- reading ----

    def info(self, at=None):
        """root, point_count, format_version, config."""
        return self.db._call("info", self.name, self._revision(at))

    @property
    def root(self):
        return self.info()["root"]

    @property
    def dimension(self):
        return self.info()["config"]["dimension"]

    def __len__(self):
        return self.info()["point_count"]

    def stats(self, at=None):
        return self.db._call("stats", self.name, self._revision(at))

    def _read(self, ids, filter, at, with_payload, with_vector, fields, offset, limit, lenient, json_ids=False):
        return (self.name, _words(ids), _json(filter), lenient, self._revision(at), with_payload or fields is not None,
                with_vector, fields, _number("offset", offset), _ALL if limit is None else _number("limit", limit), json_ids)

    def get(self, ids=None, filter=None, limit=None, offset=0, with_payload=True, with_vector=False, fields=None, at=None,
            lenient=False, json_ids=False):
        """Points in the order of their ids, as Points: those of `ids` (None: of all) that the filter lets through.

        fields: only these members of payloads ("a.b"). json_ids: see Points."""
        return Points(self.db._vdb.get(*self._read(ids, filter, at, with_payload, with_vector, fields, offset, limit,
                                                   lenient, json_ids)))

    def scan(self, ids=None, filter=None, limit=None, offset=0, with_payload=True, with_vector=True, fields=None, at=None,
             lenient=False, json_ids=False):
        """The same as a Stream of batches."""
        return self.db._vdb.scan(*self._read(ids, filter, at, with_payload, with_vector, fields, offset, limit, lenient,
                                             json_ids))

    def __arrow_c_stream__(self, requested_schema=None):
        return self.scan().__arrow_c_stream__(requested_schema)

    def count(self, filter=None, ids=None, at=None, lenient=False):
        return self.db._vdb.count(*self._read(ids, filter, at, False, False, None, 0, None, lenient)).count

    def search(self, vector=None, k=10, *, id=None, exact=None, filter=None, probes=0, candidate_limit=0,
               with_payload=False, with_vector=False, fields=None, at=None, vector_space=None, lenient=False,
               json_ids=False):
        """The k nearest points by cosine, best first, as Points. vector: one, or rows of them; or id: near that point.

        exact: True compares with every point, False looks through the index, None is exact for small collections.
        json_ids: see Points."""
        if (vector is None) == (id is None):
            raise TypeError("search: expected a vector or an id")
        mode = 0 if exact is None else 1 if exact else 2
        read = self._read(None, filter, at, with_payload, with_vector, fields, 0, None, lenient, json_ids)
        return Points(self.db._vdb.search(read, None if vector is None else _query(vector), None if id is None else _word(id),
                                          _number("k", k), mode, _number("probes", probes),
                                          _number("candidate_limit", candidate_limit), vector_space))

    def history(self, limit=20):
        """Commits, newest first: a list of dicts."""
        return self.db._call("history", self.name, None, None, _ALL if limit is None else _number("limit", limit))["history"]

    def diff(self, a, b):
        """What differs between two revisions."""
        return self.db._call("diff", self.name, a, b)

    def validate(self, full=False, all=False, at=None):
        """Check; full: compute the index anew. What is wrong is grebe.Corrupt; all: a dict that lists every problem."""
        return self.db._call("validate", self.name, self._revision(at), None, 0, full, all)

    # ---- writing ----

    def upsert(self, data=None, *, ids=None, vectors=None, payloads=None, batch_size=1000, expect_root=None,
               id_column="id", vector_column="vector"):
        """Insert and replace points. Gives {"root", "affected_points"}.

        data: Arrow rows or a dict of arrays, of ids, vectors and a payload ("payload": JSON text or a struct; other
        columns are members of their names). Or ids, vectors (numpy, or rows of floats) and payloads (dicts or JSON
        texts). batch_size: points of one commit, None: all in one. expect_root: fail unless this is the root."""
        self._only_now()
        is_json = False
        if data is None:
            if ids is None or vectors is None:
                raise TypeError("upsert: expected data, or ids and vectors")
            column, is_json = _id_column(ids)
            data = {"id": column, "vector": _vectors(vectors)}
            if payloads is not None:
                data["payload"] = [_json(p) for p in payloads]
            id_column, vector_column = "id", "vector"
        elif ids is not None or vectors is not None or payloads is not None:
            raise TypeError("upsert: expected data or ids, found both")
        with self.db._writing() as vdb:
            return json.loads(vdb.upsert_rows(self.name, data, id_column, vector_column, is_json, expect_root,
                                              batch_size).json())

    def upsert_jsonl(self, source, batch_size=1000, expect_root=None):
        """The same from lines of JSON, {"id":…,"vector":[…],"payload":{…}}: a path or a file object."""
        self._only_now()
        if isinstance(source, (str, os.PathLike)):
            with io.open(source, "rb") as file:
                return self._upsert_lines(file, os.fspath(source), batch_size, expect_root)
        return self._upsert_lines(_Text(source), str(getattr(source, "name", "input")), batch_size, expect_root)

    def _upsert_lines(self, file, name, batch_size, expect_root):
        with self.db._writing() as vdb:
            return json.loads(vdb.upsert_lines(self.name, file, name, expect_root, batch_size).json())

    def delete(self, ids=None, filter=None, expect_root=None, lenient=False):
        """Delete the points that ids or filter name. Gives {"root", "affected_points"}."""
        self._only_now()
        with self.db._writing() as vdb:
            return json.loads(vdb.delete(self.name, _words(ids), _json(filter), lenient, expect_root).json())

    def restore(self, revision):
        """A new commit with the content of an old revision."""
        self._only_now()
        return self.db._write("restore", self.name, revision)

    def merge(self, revision, prefer=None):
        """Merge another revision point by point. Points changed on both sides are grebe.Conflict (its `result`, a dict,
        lists them) unless prefer is "ours" or "theirs"."""
        self._only_now()
        number = {None: 0, "ours": 1, "theirs": 2}.get(prefer)
        if number is None:
            raise ValueError(f'prefer: expected None, "ours" or "theirs", found {prefer!r}')
        return self.db._write("merge", self.name, revision, None, number)

    def copy(self, to):
        """A second name for this version."""
        return self.db.copy(self.name, to, self._revision(None))

    def rename(self, to):
        """Gives the collection under its new name."""
        return self.db.rename(self.name, to)

    def drop(self):
        return self.db.drop(self.name)

    def push(self, remote="origin"):
        return self.db.push(self.name, remote)

    def pull(self, remote="origin"):
        return self.db.pull(self.name, remote)

    def __repr__(self):
        return f"<grebe.gitvdb.Collection {self.name!r} of {self.db.path!r}{'' if self.revision is None else ' at ' + self.revision}>"


__all__ = ["Collection", "Database", "Points", "open"]
