# SPDX-License-Identifier: Apache-2.0
"""The Python package: every call, in and out of the hosts it works with."""
import ctypes
import datetime
import gc
import multiprocessing
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest

import grebe


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    n, dim = 5000, 24
    vectors = rng.random((n, dim), dtype=np.float32)
    return pa.table({"id": np.arange(n), "name": pa.array([None if i % 7 == 0 else f"näme {i}" for i in range(n)]),
                     "value": rng.random(n), "flag": pa.array([i % 3 == 0 for i in range(n)]),
                     "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dim)})


@pytest.fixture
def table(tmp_path, data):
    return grebe.create(tmp_path / "t", data, durable=False)


def plain(rows):
    """A table with one chunk a column and without metadata, for comparison."""
    return pa.table(rows).combine_chunks().replace_schema_metadata(None)


def test_create_and_scan_give_the_same_rows(table, data):
    assert (table.version, table.num_rows, len(table)) == (1, 5000, 5000)
    got = pa.table(table.scan())
    assert got.to_pydict() == data.to_pydict()
    assert got.schema.field("vector").type == data.schema.field("vector").type
    assert pa.schema(table.schema).names == data.schema.names
    assert pa.table(table).num_rows == 5000


def test_take_keeps_order_and_duplicates(table, data):
    ids = [4999, 0, 17, 17, 3]
    want = data.take(ids).to_pydict()
    for rows in (ids, np.array(ids), np.array(ids, dtype=np.uint16), np.array(ids, dtype="i8")[::1], pa.array(ids), tuple(ids),
                 np.array([x for i in ids for x in (i, -1)])[::2]):
        assert pa.table(table.take(rows)).to_pydict() == want
    assert pa.table(table.take([])).num_rows == 0
    assert pa.table(table.take([5, 2], columns=["name"])).to_pydict() == {"name": ["näme 5", "näme 2"]}
    assert pa.table(table.take([5], columns=[], with_row_id=True)).to_pydict() == {"_rowid": [5]}


@pytest.mark.parametrize("rows, text", [([5000], "5000"), ([0, -1], "-1"), ([2**63], "9223372036854775807"),
                                        ([-2**63 - 1], "-9223372036854775808")])
def test_take_out_of_range_names_the_id(table, rows, text):
    with pytest.raises(grebe.InvalidArgument, match=text):
        table.take(rows)
    nulls = pa.table(table.take(rows, columns=["id", "name"], missing="null"))
    assert nulls["id"].null_count >= 1


def test_take_refuses_what_is_no_id(table):
    for rows in ([1.5], ["a"], 3, [None]):
        with pytest.raises((TypeError, ValueError)):
            table.take(rows)


def test_batches_work_with_their_hosts(table, data):
    duckdb, polars, nanoarrow = (pytest.importorskip(m) for m in ("duckdb", "polars", "nanoarrow"))
    batch = table.take([1, 2, 3])
    assert batch.to_pandas()["id"].tolist() == [1, 2, 3]
    assert batch.to_polars()["id"].to_list() == [1, 2, 3]
    assert polars.DataFrame(table.scan(columns=["id"]))["id"].sum() == data["id"].to_numpy().sum()
    stream = table.scan(columns=["id", "value"])
    assert duckdb.sql("select sum(id) from stream").fetchall()[0][0] == data["id"].to_numpy().sum()
    assert nanoarrow.Array(batch).to_pylist()[0]["id"] == 1
    # the same batch serves several consumers
    assert pa.record_batch(batch).num_rows == 3 and pa.table(batch).num_rows == 3
    assert repr(batch).startswith("<grebe.Batch 3 rows")


def test_columns_are_views_for_numpy_and_dlpack(table, data):
    batch = next(iter(table.scan(columns=["id", "vector", "name"])))
    vector = np.asarray(batch["vector"])
    assert vector.shape == (batch.num_rows, 24) and vector.dtype == np.float32
    assert not vector.flags.writeable and not vector.flags.owndata
    want = np.asarray(data["vector"].combine_chunks().flatten()).reshape(-1, 24)[: batch.num_rows]
    assert (vector == want).all()
    via_dlpack = np.from_dlpack(batch["id"])
    assert (via_dlpack == np.arange(batch.num_rows)).all()
    assert via_dlpack.__array_interface__["data"][0] == np.asarray(batch["id"]).__array_interface__["data"][0]
    with pytest.raises(BufferError, match="name"):
        np.asarray(memoryview(batch["name"]))
    del batch
    gc.collect()
    assert (vector == want).all()  # the view keeps the memory
    columns = table.take([7, 8]).to_numpy()
    assert columns["vector"].shape == (2, 24) and columns["name"].tolist() == [None, "näme 8"]
    with pytest.raises(KeyError):
        table.take([1])["nothing"]


def test_rows_enter_from_any_producer(tmp_path):
    polars = pytest.importorskip("polars")
    pandas = pytest.importorskip("pandas")
    want = {"a": [1, 2, 3], "s": ["x", None, "z"]}
    sources = {"pyarrow": pa.table(want), "polars": polars.DataFrame(want), "pandas": pandas.DataFrame({"a": [1, 2, 3], "s": ["x", None, "z"]}),
               "dict": want, "reader": pa.RecordBatchReader.from_batches(pa.table(want).schema, pa.table(want).to_batches()),
               "batch": pa.RecordBatch.from_pydict(want)}
    for name, source in sources.items():
        t = grebe.create(tmp_path / name, source, durable=False)
        assert pa.table(t.scan()).to_pydict() == want, name


def test_dicts_of_numpy_and_lists(tmp_path):
    dtypes = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "?"]
    columns = {f"c_{d}": np.arange(6).astype(d) for d in dtypes}
    columns |= {"matrix": np.arange(12, dtype="f4").reshape(6, 2), "strided": np.arange(12)[::2], "floats": [1.5, None, 2, 3, 4, 5],
                "texts": ["a", "b", None, "", "ü", "f"], "bytes": [b"\x00\xff", b"", None, b"c", b"d", b"e"],
                "lists": [[1, 2], [], None, [3], [4], [5]], "bools": [True, None, False, True, True, False], "nothing": [None] * 6,
                "unicode": np.array(list("uvwxyz"))}
    t = grebe.create(tmp_path / "t", columns, durable=False)
    got = pa.table(t.scan())
    assert got.schema.field("matrix").type == pa.list_(pa.float32(), 2)
    assert got.schema.field("c_u8").type == pa.uint64() and got.schema.field("c_?").type == pa.bool_()
    for name, values in columns.items():
        assert got[name].to_pylist() == [v.tolist() if isinstance(v, np.ndarray) else v for v in values] or name == "c_f2"
    assert got["floats"].to_pylist() == [1.5, None, 2.0, 3.0, 4.0, 5.0]
    with pytest.raises(ValueError, match="expected 6 rows, found 5"):
        grebe.create(tmp_path / "u", {"a": [1] * 6, "b": [1] * 5})
    with pytest.raises(TypeError, match="one type"):
        grebe.create(tmp_path / "u", {"a": [1, "x"]})
    assert not (tmp_path / "u" / "_metadata").exists()


def test_a_producer_that_fails_raises_its_own_error(tmp_path):
    schema = pa.schema([("a", pa.int64())])

    def batches():
        yield pa.record_batch({"a": [1]}, schema=schema)
        raise KeyError("from the producer")
    with pytest.raises(Exception, match="from the producer"):
        grebe.create(tmp_path / "t", pa.RecordBatchReader.from_batches(schema, batches()))
    with pytest.raises(grebe.NotFound):
        grebe.open(tmp_path / "t")


def test_versions_tags_and_times(table, tmp_path):
    second = table.add_columns({"norm": np.arange(5000, dtype="f4")}, message="norms")
    assert (second.version, second.versions()) == (2, [1, 2])
    assert [e["operation"] for e in second.log()] == ["add-column", "create"] and second.log()[0]["message"] == "norms"
    assert "norm" not in table.schema.names and "norm" in second.schema.names
    second.tag("first", 1)
    assert second.tags == {"first": 1}
    assert second.at("first").version == 1 and second.at(1).version == 1 and second.at(None).version == 2
    assert grebe.open(tmp_path / "t", "first").version == 1
    assert grebe.open(f"{tmp_path}/t@1").version == 1
    assert grebe.open(tmp_path / "t", datetime.datetime.now(datetime.timezone.utc)).version == 2
    with pytest.raises(grebe.Exists):
        second.tag("first", 2)
    second.delete_tag("first")
    assert second.tags == {}
    with pytest.raises(grebe.NotFound):
        grebe.open(tmp_path / "t", 99)


def test_transactions_are_all_or_nothing(table):
    with table.transaction(message="both", durable=False) as txn:
        txn.rename_column("value", "score")
        txn.drop_columns("flag")
        txn.append({"id": [5000], "name": ["new"], "score": [1.0], "vector": np.zeros((1, 24), "f4")})
    made = txn.table
    assert made.version == 2 and made.num_rows == 5001 and made.schema.names == ["id", "name", "score", "vector"]
    with pytest.raises(RuntimeError):
        with made.transaction() as txn:
            txn.drop_columns(["id"])
            raise RuntimeError("no")
    assert grebe.open(made.uri).version == 2
    with pytest.raises(ValueError, match="committed or given up"):
        txn.drop_columns("id")
    with pytest.raises(grebe.InvalidArgument):
        with made.transaction():
            pass


def test_conflicts_and_rebase(table):
    row = {"id": [1], "name": ["x"], "value": [0.0], "flag": [True], "vector": np.zeros((1, 24), "f4")}
    table.append(row, durable=False)
    with pytest.raises(grebe.Conflict) as caught:
        table.append(row, on_conflict="fail")
    assert (caught.value.status, caught.value.read_version, caught.value.latest_version) == ("conflict", 1, 2)
    assert table.append(row, durable=False).num_rows == 5002  # two appends commute
    with pytest.raises(grebe.Conflict):
        table.add_columns({"norm": np.arange(5000)})         # the rows that it was made for are not all of them any more
    assert table.append(row, on_conflict="overwrite").num_rows == 5001


def test_schema_mismatch_names_column_and_types(table):
    with pytest.raises(grebe.SchemaMismatch, match="id"):
        table.append({"id": ["text"], "name": ["x"], "value": [0.0], "flag": [True], "vector": np.zeros((1, 24), "f4")})
    with pytest.raises(TypeError):  # the builtin that fits
        table.append({"other": [1]})


def test_filters(table, data):
    got = pa.table(table.scan(columns=["id"], where="value < 0.25 and name is not null and flag"))
    ids = [i for i, v, n, f in zip(*(data[c].to_pylist() for c in ("id", "value", "name", "flag"))) if v < 0.25 and n is not None and f]
    assert got["id"].to_pylist() == ids and table.count("value < 0.25 and name is not null and flag") == len(ids)
    assert pa.table(table.scan(columns=["id"], rows=(10, 14)))["id"].to_pylist() == [10, 11, 12, 13]
    assert pa.table(table.scan(columns=["id"], rows=range(4990, 6000), limit=3))["id"].to_pylist() == [4990, 4991, 4992]
    assert pa.table(table.scan(columns=["id"], rows=slice(4998, None), with_row_id=True)).to_pydict() == {"_rowid": [4998, 4999], "id": [4998, 4999]}
    assert max(b.num_rows for b in table.scan(batch_rows=7)) == 7
    with pytest.raises(grebe.NotFound, match="valeu"):
        table.scan(where="valeu > 1")
    with pytest.raises(grebe.InvalidArgument):
        table.scan(where="value >")


def test_read_and_write_files(tmp_path, data):
    path = tmp_path / "rows.parquet"
    assert grebe.write(path, data) == 5000
    import pyarrow.parquet as pq
    assert pq.read_table(path).to_pydict() == data.to_pydict()
    assert pa.table(grebe.read(path, columns=["id"], where="id >= 4998"))["id"].to_pylist() == [4998, 4999]
    assert grebe.write(tmp_path / "rows.arrows", grebe.read(path)) == 5000
    with pa.ipc.open_stream(tmp_path / "rows.arrows") as reader:
        assert reader.read_all().to_pydict() == data.to_pydict()
    assert pa.table(grebe.read(tmp_path / "rows.arrows")).num_rows == 5000
    with pytest.raises(grebe.Unsupported):
        grebe.write(tmp_path / "rows.xyz", data)


def test_streams_are_consumed_once(table):
    stream = table.scan()
    pa.table(stream)
    with pytest.raises(ValueError, match="consumed"):
        pa.table(stream)
    with table.scan() as stream:
        next(stream)
    with pytest.raises(ValueError):
        next(stream)
    table.close()
    with pytest.raises(ValueError, match="closed"):
        table.take([1])


class GivesTheSameCapsulesAgain:
    """A producer that breaks the rules of the PyCapsule interface."""
    def __init__(self, producer):
        self.pair = producer.__arrow_c_array__()

    def __arrow_c_array__(self, requested_schema=None):
        return self.pair


def test_arrays_are_consumed_once(tmp_path):
    rows = GivesTheSameCapsulesAgain(pa.record_batch({"a": [1, 2]}))
    grebe.create(tmp_path / "rows", rows, durable=False)
    with pytest.raises(ValueError, match="consumed"):
        grebe.create(tmp_path / "again", rows, durable=False)
    column = GivesTheSameCapsulesAgain(pa.array([1, 2]))
    grebe.create(tmp_path / "column", {"a": column}, durable=False)
    with pytest.raises(ValueError, match="consumed"):
        grebe.create(tmp_path / "column_again", {"a": column}, durable=False)
    column.pair = None
    with pytest.raises(TypeError, match="pair of capsules"):
        grebe.create(tmp_path / "no_pair", {"a": column}, durable=False)


def test_pickle_and_repr(table):
    again = pickle.loads(pickle.dumps(table))
    assert (again.uri, again.version, again.num_rows) == (table.uri, table.version, table.num_rows)
    assert "version 1: 5000 rows" in repr(table)
    milvus = pickle.loads(pickle.dumps(grebe.open(table.uri, compat="milvus")))
    assert milvus._compat == "milvus"


def _sum_in_worker(table, queue):
    batch = table.take(np.arange(100), columns=["id"])
    queue.put(int(np.asarray(batch["id"]).sum()) + table.count("id < 10"))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_data_loaders(table, method):
    table.take(np.arange(2000))            # threads and caches of the parent are alive
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    workers = [context.Process(target=_sum_in_worker, args=(table, queue)) for _ in range(3)]
    for w in workers:
        w.start()
    assert [queue.get(timeout=60) for _ in workers] == [4950 + 10] * 3
    for w in workers:
        w.join(60)
        assert w.exitcode == 0


def test_many_threads_share_one_table(table, data):
    want = data["id"].to_numpy()
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(30):
            ids = rng.integers(0, 5000, 50)
            if not (np.asarray(table.take(ids, columns=["id"])["id"]) == want[ids]).all():
                failures.append(ids)
            if pa.table(table.scan(columns=["id"])).num_rows != 5000:
                failures.append("scan")
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_the_gil_is_released(table):
    """A producer written in Python is called back while a commit runs: it can only be with the GIL handed over."""
    counted = []

    def batches():
        for i in range(3):
            counted.append(threading.get_ident())
            yield pa.record_batch({"a": [i]})
    schema = pa.schema([("a", pa.int64())])
    t = grebe.create(table.uri + "_b", pa.RecordBatchReader.from_batches(schema, batches()), durable=False)
    assert len(counted) == 3 and t.num_rows == 3


def test_odd_names_and_shapes(tmp_path):
    names = ["a.b", "with space", "ünïcode", 'quo"te', "100", "select", "x" * 300, " "]
    rows = {n: [i] for i, n in enumerate(names)}
    t = grebe.create(tmp_path / "odd@name", rows, durable=False)
    assert t.schema.names == names
    assert grebe.open(tmp_path / "odd@name").num_rows == 1
    assert pa.table(t.take([0], columns=["a.b", " "])).to_pydict() == {"a.b": [0], " ": [7]}
    assert t.count('"a.b" = 0 and "100" = 4 and "quo""te" = 3') == 1
    wide = grebe.create(tmp_path / "wide", {f"c{i}": np.arange(3) + i for i in range(1000)}, durable=False)
    assert pa.table(wide.take([2, 0])).num_columns == 1000 and pa.table(wide.scan(columns=["c999"]))["c999"].to_pylist() == [999, 1000, 1001]
    empty = grebe.create(tmp_path / "empty", pa.table({"a": pa.array([], pa.int64()), "v": pa.array([], pa.list_(pa.float32(), 3))}), durable=False)
    assert empty.num_rows == 0 and pa.table(empty.scan()).num_rows == 0 and pa.table(empty.scan()).schema.field("v").type == pa.list_(pa.float32(), 3)
    assert pa.table(empty.take([])).num_rows == 0 and empty.count() == 0 and empty.count("a > 1") == 0


def test_errors_are_the_documented_classes():
    for name, base in {"InvalidArgument": ValueError, "NoMemory": MemoryError, "NotFound": LookupError, "IOFailure": OSError,
                       "SchemaMismatch": TypeError}.items():
        assert issubclass(getattr(grebe, name), base) and issubclass(getattr(grebe, name), grebe.Error)
    with pytest.raises(grebe.Unsupported, match="s3"):
        grebe.open("s3://bucket/table", storage_options={"region": "x", "secret": "hidden"})
    try:
        grebe.open("s3://bucket/table", storage_options={"secret": "hidden"})
    except grebe.Error as e:
        assert "hidden" not in str(e)


def test_set_threads(table, data):
    for n in (1, 3, None):
        grebe.set_threads(n)
        assert pa.table(table.scan()).to_pydict() == data.to_pydict()


def test_a_failed_create_leaves_nothing(tmp_path):
    """Folders that it made go again; those that were there stay, with what is in them."""
    def rows():
        yield pa.record_batch({"a": [1, 2]})
        raise RuntimeError("no more")
    def create(path):
        reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), rows())
        with pytest.raises(grebe.Error):
            grebe.create(path, reader, durable=False)
    create(tmp_path / "a" / "b" / "t")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a" / "t" / "_data").mkdir(parents=True)
    (tmp_path / "a" / "t" / "_data" / "mine").write_text("x")
    create(tmp_path / "a" / "t")
    create(tmp_path / "a" / "u")
    assert [p.relative_to(tmp_path) for p in sorted(tmp_path.rglob("*"))] == [pathlib.Path(p) for p in ("a", "a/t", "a/t/_data", "a/t/_data/mine")]
    table = grebe.create(tmp_path / "a" / "u", {"a": [1]}, durable=False)
    with pytest.raises(RuntimeError):
        with table.transaction(durable=False) as txn:
            txn.append({"a": [2]})
            raise RuntimeError
    assert len(list((tmp_path / "a" / "u" / "_data").iterdir())) == 1 and grebe.open(tmp_path / "a" / "u").num_rows == 1


@pytest.mark.skipif(shutil.which("localedef") is None, reason="no localedef: a Turkish locale cannot be made")
def test_names_of_options_follow_no_locale(tmp_path):
    """In Turkish the capital of "i" is not "I"; GZIP is gzip all the same."""
    if subprocess.run(["localedef", "-i", "tr_TR", "-f", "ISO-8859-9", tmp_path / "tr_TR"], capture_output=True).returncode > 1:
        pytest.skip("localedef does not know tr_TR")
    program = f"""
import locale, grebe
locale.setlocale(locale.LC_ALL, "tr_TR")
grebe.write({str(tmp_path / "x.parquet")!r}, {{"a": [1, 2]}}, compression="GZIP", encodings={{"a": "PLAIN"}})
with open({str(tmp_path / "X.JSONL")!r}, "w") as f:
    f.write('{{"i": 7}}')
print(*(grebe.read(f).to_pyarrow()[0][0] for f in ({str(tmp_path / "x.parquet")!r}, {str(tmp_path / "X.JSONL")!r})))
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "LOCPATH": str(tmp_path)})
    assert (ran.returncode, ran.stdout) == (0, "1 7\n"), ran.stderr
