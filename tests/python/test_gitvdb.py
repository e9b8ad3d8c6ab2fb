# SPDX-License-Identifier: Apache-2.0
"""grebe.gitvdb: repositories that git-vdb made give its answers; what is written gives its roots; Arrow in and out."""
import io
import json
import os
import pickle
import subprocess
import threading

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import grebe
import grebe.gitvdb

if "gitvdb" not in grebe._core.build_info():
    pytest.skip("a build without libgit2", allow_module_level=True)

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "golden", "gitvdb")
GLOVE = os.path.join(HERE, "..", "..", "examples", "data", "glove_20k.parquet")
EXPECTED = json.load(open(os.path.join(GOLDEN, "expected.json"), encoding="utf-8"))["repositories"]


def git(repo, *words):
    return subprocess.run(["git", "-C", str(repo), *words], check=True, capture_output=True, text=True).stdout


def unpack(expected, path):
    subprocess.run(["git", "init", "-q", "--bare", str(path)], check=True)
    git(path, "fetch", "-q", os.path.join(GOLDEN, expected["file"]), "refs/*:refs/*")
    return path


@pytest.fixture(params=EXPECTED, ids=lambda e: e["file"])
def golden(request, tmp_path):
    return request.param, unpack(request.param, tmp_path / "r.git")


@pytest.fixture
def db(tmp_path):
    with grebe.gitvdb.open(tmp_path / "new.git", create=True) as db:
        yield db


def glove(n):
    rows = pq.read_table(GLOVE).slice(0, n)
    vectors = rows["vector"].combine_chunks().flatten().to_numpy().reshape(n, 50)
    return rows, vectors


# ---- what git-vdb wrote ----

def words_to_calls(argv):
    """A command line of git-vdb as a call here; None: it has no counterpart."""
    command, name, rest = argv[0], argv[1], argv[2:]
    if command not in ("search", "get", "count"):
        return None
    o, at = {}, 0
    while at < len(rest):
        key, _, value = rest[at].partition("=")
        at += 1
        if key in ("--exact", "--approximate", "--with-payload", "--with-vector", "--lenient"):
            o[key] = True
        elif key == "--ids":
            o[key] = []
            while at < len(rest) and not rest[at].startswith("--"):
                o[key].append(rest[at])
                at += 1
        elif key in ("--vector", "--limit", "--filter", "--at", "--probes", "--candidate-limit", "--offset"):
            if not value:
                value, at = rest[at], at + 1
            o[key] = value
        else:
            return None
    return command, name, o


def id_of(word):
    try:
        value = json.loads(word)
    except ValueError:
        return word
    return value if isinstance(value, (str, int)) and not isinstance(value, bool) else word


def run(db, command, name, o):
    c = db.collection(name)
    common = {"filter": o.get("--filter"), "at": o.get("--at"), "lenient": "--lenient" in o}
    if command == "count":
        return {"root": c.info(at=o.get("--at"))["root"], "count": c.count(**common)}
    common.update(with_payload="--with-payload" in o, with_vector="--with-vector" in o)
    if command == "get":
        ids = [id_of(w) for w in o["--ids"]] if "--ids" in o else None
        limit = int(o["--limit"]) if "--limit" in o else None
        return c.get(ids, limit=limit, offset=int(o.get("--offset", 0)), **common).to_dict()
    text = o["--vector"]
    vector = json.loads(text if text.startswith("[") else f"[{text}]")
    return c.search(vector, int(o.get("--limit", 10)), exact=True if "--exact" in o else False if "--approximate" in o else None,
                    probes=int(o.get("--probes", 0)), candidate_limit=int(o.get("--candidate-limit", 0)), **common).to_dict()


def test_golden_repositories_answer_as_git_vdb_did(golden):
    expected, path = golden
    n = 0
    with grebe.gitvdb.open(path) as db:
        for read in expected["reads"]:
            call = words_to_calls(read["argv"])
            if call is not None and read.get("exit", 0) == 0 and read["stdout"].startswith('{"root"'):
                assert run(db, *call) == json.loads(read["stdout"]), read["argv"]
                n += 1
    assert n >= 6


def test_golden_repositories_history_and_views(golden):
    expected, path = golden
    with grebe.gitvdb.open(path) as db:
        assert db.collections() == [expected["collection"]]
        c = db[expected["collection"]]
        info = c.info()
        assert info["root"] == expected["root"] and info["point_count"] == expected["point_count"] == len(c)
        assert info["config"] == expected["config"]
        history = c.history(None)
        assert [(h["root"], h["message"].rstrip("\n")) for h in history] == \
            [(h["root"], h["subject"]) for h in expected["history_newest_first"]]
        old = c.at(history[1]["commit"])
        assert old.root == history[1]["root"]
        with pytest.raises(ValueError, match="is not written"):
            old.delete([1])
        assert c.validate(full=True)["valid"] is True
        assert db.doctor()["valid"] is True


@pytest.mark.parametrize("expected", [e for e in EXPECTED if e["format_version"] == 2], ids=lambda e: e["file"])
def test_rows_of_a_golden_collection_give_its_root(expected, tmp_path):
    path = unpack(expected, tmp_path / "r.git")
    config = expected["config"]["index"]
    with grebe.gitvdb.open(path) as db:
        c = db[expected["collection"]]
        copy = db.create("copy", c.dimension, expected["config"]["vector_space"],
                         full_scan_threshold=config["full_scan_threshold"], default_probes=config["default_probes"],
                         default_candidate_limit=config["default_candidate_limit"])
        assert copy.upsert(c.scan(), batch_size=None)["root"] == expected["root"]
    assert grebe.read(f"{path}#copy").to_pyarrow().num_rows == expected["point_count"]


# ---- writing ----

@pytest.mark.parametrize("n, root", [(500, "80c5810c29f40f4c6acfad01568b61e8f3d86e84"),
                                     (10_000, "1e597d8a2c7596f53b33a49c8d6b493078618877")])
def test_word_vectors_give_the_roots_of_git_vdb(db, n, root):
    rows, vectors = glove(n)
    words = rows["word"].to_pylist()
    assert db.collection("numpy").upsert(ids=np.arange(n), vectors=vectors, payloads=[{"word": w} for w in words],
                                         batch_size=None)["root"] == root
    assert db.collection("arrow").upsert(rows, id_column="rank", batch_size=None)["root"] == root
    lines = "".join(json.dumps({"id": i, "vector": [float(str(x)) for x in vectors[i]], "payload": {"word": w}}) + "\n"
                    for i, w in enumerate(words[:500]))
    if n == 500:
        assert db.collection("lines").upsert_jsonl(io.StringIO(lines))["root"] == root
    assert git(db.path, "rev-parse", "refs/git-vdb/collections/arrow^{tree}").strip() == root


def test_ids_are_integers_and_texts(db):
    c = db.collection("mixed")
    c.upsert(ids=["5", 5, "", "é\"\\\0", 2**64 - 1], vectors=np.eye(5))
    assert [p["id"] for p in c.get()] == ["", "5", "é\"\\\0", 5, 2**64 - 1]
    assert c.get("5").ids == ["5"] and c.get(5).ids == [5] and c.get(["5", 5]).ids == ["5", 5]
    assert c.search(id=2**64 - 1, k=1).ids == [2**64 - 1]
    assert c.scan().schema.types[0] in ("large_string", "string")
    assert json.loads(pa.table(c.scan())["id"][0].as_py()) == ""
    root = c.root
    assert db.collection("again").upsert(c)["root"] == root # a collection is an Arrow producer
    assert c.delete(5) == {"root": c.root, "affected_points": 1}
    assert c.get(5).ids == [] and c.get("5").ids == ["5"]
    for bad in (True, -1, 2**64, 1.5):
        with pytest.raises((TypeError, ValueError)):
            c.get(bad)
        with pytest.raises((TypeError, ValueError)):
            c.upsert(ids=[bad], vectors=[[0.0] * 5])

def test_no_ids_are_no_points(db):
    c = db.collection("few")
    c.upsert(ids=[1, 2], vectors=np.eye(2))
    assert len(c.get([])) == 0 and c.get(ids=[]).ids == [] and c.count(ids=[]) == 0 and c.count() == 2
    assert pa.table(c.scan(ids=[])).num_rows == 0 and c.delete(ids=[])["affected_points"] == 0 and len(c) == 2
    assert c.get(np.int64(2)).ids == [2] and c.get(np.array([2, 1])).ids == [1, 2] # as numpy has them
    with pytest.raises(grebe.InvalidArgument, match="neither"):
        c.delete()


def test_the_type_of_ids_can_be_asked_for(db):
    c = db.collection("mixed")
    c.upsert(ids=[1, "a"], vectors=np.eye(2))
    plain = [pa.schema(c.get(ids).schema).field("id").type for ids in ([1], ["a"], [1, "a"], [])]
    assert plain == [pa.uint64(), pa.large_string(), pa.large_string(), pa.uint64()]
    found = [c.get(ids, json_ids=True) for ids in ([1], ["a"], [1, "a"], [])]
    found += [c.search([1, 0], k=1, json_ids=True), c.search(np.eye(2), json_ids=True)]
    for points in found:
        field = pa.schema(points.schema).field("id")
        assert field.type == pa.large_string() and field.metadata == {b"grebe.id": b"json"}
        assert [json.loads(id) for id in points.to_pyarrow()["id"].to_pylist()] == points.ids
    assert c.scan([1], json_ids=True).to_pyarrow()["id"].to_pylist() == ["1"]
    assert all(type(id) in (int, str) for points in found for id in points.ids)


def test_writes_are_commits_in_batches(db):
    c = db.collection("b")
    c.upsert(ids=range(25), vectors=np.ones((25, 2)), batch_size=10)
    assert [h["message"] for h in c.history()] == ["upsert 5 points", "upsert 10 points", "upsert 10 points",
                                                   "create collection b"]
    before = c.root
    c.upsert(ids=range(25), vectors=np.ones((25, 2)), batch_size=None, expect_root=before)
    assert c.root == before and c.history(1)[0]["message"] == "upsert 25 points"
    with pytest.raises(grebe.Conflict, match="stale"):
        c.upsert(ids=[1], vectors=[[3, 4]], expect_root="0" * 40)
    c.delete(filter={"must": [{"has_id": list(range(20))}]})
    assert len(c) == 5 and c.count(ids=[19, 20, 21]) == 2
    diff = c.diff(c.history()[1]["commit"], c.history()[0]["commit"])
    assert sorted(diff["removed"]) == list(range(20)) and diff["added"] == []
    c.restore(c.history()[1]["commit"])
    assert c.root == before
    assert git(db.path, "fsck", "--strict", "--no-dangling") is not None


def test_payloads_from_dicts_texts_structs_and_columns(db):
    c = db.collection("p")
    c.upsert(ids=[1, 2], vectors=[[1, 0], [0, 1]], payloads=[{"b": 1, "a": {"x": [None, True, 0.5]}}, '{"z": "é"}'])
    assert [p["payload"] for p in c.get()] == [{"a": {"x": [None, True, 0.5]}, "b": 1}, {"z": "é"}]
    c.upsert(ids=[9], vectors=[[1, 1]], payloads=[{"i": np.int64(-3), "f": np.float32(0.5), "b": np.bool_(True),
                                                   "l": [np.uint8(1)], "v": np.arange(3), "s": np.str_("x")}])
    assert c.get(9)[0]["payload"] == {"i": -3, "f": 0.5, "b": True, "l": [1], "v": [0, 1, 2], "s": "x"}
    assert c.count(filter={"must": [{"key": "i", "range": {"lt": np.int8(0)}}]}) == 1
    with pytest.raises(TypeError, match="found complex"):
        c.upsert(ids=[9], vectors=[[1, 1]], payloads=[{"x": 1j}])
    c.delete(9)
    assert c.get(fields=["a.x"])[0]["payload"] == {"a": {"x": [None, True, 0.5]}}
    rows = pa.table({"id": [3], "vector": [[1.0, 1.0]], "payload": [{"m": 1}], "n": ["two"]})
    c.upsert(rows)
    assert c.get(3)[0]["payload"] == {"m": 1, "n": "two"}
    with pytest.raises(grebe.InvalidArgument, match='found "m"'):
        c.upsert(rows.append_column("m", pa.array([1])))
    with pytest.raises(grebe.SchemaMismatch, match='no "vector"'):
        c.upsert({"id": [1]})
    with pytest.raises(grebe.InvalidArgument, match="dimension 2"):
        c.upsert(ids=[1], vectors=[[1, 2, 3]])
    with pytest.raises(ValueError, match="one number of components"):
        c.upsert(ids=[1, 2], vectors=[[1, 2], [1]])
    with pytest.raises(grebe.InvalidArgument):
        c.upsert(ids=[1], vectors=[[float("nan"), 1]])
    with pytest.raises(TypeError):
        c.upsert(rows, ids=[1])
    with pytest.raises(TypeError):
        c.upsert(ids=[1])


def test_kinds_of_numbers_give_the_same_vectors(db):
    wide = np.arange(24, dtype=np.float64).reshape(3, 8)
    roots = {db.collection(f"k{i}").upsert(ids=[7, 8, 9], vectors=v)["root"]
             for i, v in enumerate([wide, wide.astype("f4"), wide.astype("f2"), wide.astype("i4"), wide.tolist(),
                                    np.asfortranarray(wide), np.repeat(wide, 2, axis=0)[::2],
                                    memoryview(np.ascontiguousarray(wide, dtype="f4")), list(wide.astype("f4"))])}
    assert len(roots) == 1
    assert db.collection("chunks").upsert(ids=pa.chunked_array([[7], [8, 9]]), vectors=pa.chunked_array(
        [pa.array([row], pa.list_(pa.float32())) for row in wide.tolist()]))["root"] in roots
    ids = [np.array([7, 8, 9], t) for t in ("i1", "u2", "i8", "u8")] + [(7, 8, 9), range(7, 10), pa.array([7, 8, 9])]
    assert {db.collection(f"i{i}").upsert(ids=x, vectors=wide)["root"] for i, x in enumerate(ids)} == roots
    assert db.collection("dictionary").upsert(
        {"id": pa.array(["a", "b", "a"]).dictionary_encode().take(pa.array([0, 1])), "vector": wide[:2]})["affected_points"] == 2


def test_jsonl_from_paths_files_and_pipes(db, tmp_path):
    text = "".join(f'{{"id":{i},"vector":[{i},1]}}\n' for i in range(3000))
    path = tmp_path / "points.jsonl"
    path.write_text(text)
    root = db.collection("path").upsert_jsonl(path)["root"]
    with open(path, "rb") as f:
        assert db.collection("file").upsert_jsonl(f)["root"] == root
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE) as pipe:
        assert db.collection("pipe").upsert_jsonl(pipe.stdout)["root"] == root
    with pytest.raises(grebe.InvalidArgument, match="points.jsonl line 2"):
        path.write_text('{"id":1,"vector":[1]}\n{"id":2}\n')
        db.collection("bad").upsert_jsonl(path)
    assert "bad" not in db

    class Failing(io.RawIOBase):
        def read(self, n=-1):
            raise KeyError("mine")

        def seekable(self):
            return True

        def tell(self):
            return 0

        def seek(self, where):
            pass
    with pytest.raises(KeyError, match="mine"):
        db.collection("bad").upsert_jsonl(Failing())


def test_a_write_inside_a_write_is_refused(db):
    c = db.collection("n")

    class Nested(io.BytesIO):
        def read(self, n=-1):
            c.upsert(ids=[2], vectors=[[1.0]])
            return super().read(n)
    with pytest.raises(RuntimeError, match="inside another one"):
        c.upsert_jsonl(Nested(b'{"id":1,"vector":[1]}\n'))
    assert c.upsert(ids=[2], vectors=[[1.0]])["affected_points"] == 1 # the lock is free again


# ---- searching ----

def cosines(matrix, q):
    m, q = matrix.astype(np.float64), np.asarray(q, np.float64)
    return m @ q / (np.linalg.norm(m, axis=1) * np.linalg.norm(q))


def test_search_is_numpys_search(db):
    rng = np.random.default_rng(3)
    v = rng.standard_normal((2000, 24)).astype(np.float32)
    c = db.collection("s")
    c.upsert(ids=np.arange(2000), vectors=v, payloads=[{"i": i, "even": i % 2 == 0} for i in range(2000)], batch_size=None)
    q = rng.standard_normal((5, 24)).astype(np.float32)
    found = c.search(q, k=7, exact=True, with_vector=True)
    assert len(found) == 35 and len(found.queries) == len(found.stats) == 5
    rows = pa.table(found)
    assert rows.column_names == ["query", "id", "score", "vector"]
    for i in range(5):
        s = cosines(v, q[i])
        best = np.argsort(-s)[:7]
        assert [p["id"] for p in found.queries[i]] == best.tolist()
        np.testing.assert_allclose([p["score"] for p in found.queries[i]], s[best], rtol=2e-6)
        assert rows.filter(pc.equal(rows["query"], i))["id"].to_pylist() == best.tolist()
    np.testing.assert_array_equal(np.stack(found.to_numpy()["vector"]), v[found.to_numpy()["id"].astype(int)])
    even = c.search(v[3], k=5, exact=True, filter={"must": [{"key": "even", "match": {"value": True}}]}, with_payload=True)
    assert all(p["payload"]["even"] for p in even) and len(even) == 5
    assert c.search(id=3, k=1)[0]["id"] == 3
    near = c.search(v[3].tolist(), k=5, exact=False)
    assert near.stats["mode"] == "approximate" and near.ids[0] == 3
    with pytest.raises(grebe.InvalidArgument, match="dimension 24"):
        c.search([1.0, 2.0])
    with pytest.raises(grebe.InvalidArgument):
        c.search(v[3], filter={"even": True}) # means nothing
    assert len(c.search(v[3], k=3, filter={"even": True}, lenient=True)) == 3
    with pytest.raises(grebe.NotFound):
        c.search(id="nope")
    with pytest.raises(TypeError):
        c.search()
    with pytest.raises(TypeError, match="float32"):
        c.search(memoryview(np.zeros(24)))


def test_vectors_go_in_and_come_out_without_loss(db):
    rng = np.random.default_rng(9)
    bits = rng.integers(0, 2**32, (300, 6), dtype=np.uint32).view(np.float32)
    v = np.where(np.isfinite(bits), bits, np.float32(1))
    c = db.collection("bits")
    c.upsert(ids=np.arange(300), vectors=v)
    back = c.scan().to_numpy()["vector"]
    assert back.dtype == np.float32 and back.tobytes() == v.tobytes()
    assert np.stack(c.get(with_vector=True).to_numpy()["vector"]).tobytes() == v.tobytes()


# ---- names, clones, threads ----

def test_names_merge_push_and_pull(db, tmp_path):
    c = db.create("one", 2, "space@1")
    assert c.info()["config"]["vector_space"] == "space@1" and len(c) == 0
    with pytest.raises(grebe.Exists):
        db.create("one", 2)
    c.upsert(ids=[1, 2], vectors=[[1, 0], [0, 1]])
    other = c.copy("two")
    other.upsert(ids=[1], vectors=[[5, 5]])
    c.upsert(ids=[3], vectors=[[3, 3]])
    c.merge("two")
    old = c.at("refs/git-vdb/collections/one~1").copy("old")
    assert old.root == c.at("refs/git-vdb/collections/one~1").root != c.root
    db.drop("old")
    assert c.get(1, with_vector=True)[0]["vector"] == [5, 5] and c.get(3).ids == [3]
    c.upsert(ids=[1], vectors=[[6, 6]])
    other.upsert(ids=[1], vectors=[[7, 7]])
    with pytest.raises(grebe.Conflict) as conflict:
        c.merge("refs/git-vdb/collections/two")
    assert type(conflict.value.result) is dict and 1 in [entry["id"] for entry in conflict.value.result["conflicts"]]
    c.merge("refs/git-vdb/collections/two", prefer="theirs")
    assert c.get(1, with_vector=True)[0]["vector"] == [7, 7]
    moved = other.rename("three")
    assert moved.name == "three" and db.collections() == ["one", "three"] and "two" not in db
    db.drop("three")
    assert list(db) == ["one"]
    with grebe.gitvdb.open(tmp_path / "clone.git", create=True) as clone:
        c.push(clone.path)
        assert clone["one"].root == c.root
        clone["one"].upsert(ids=[9], vectors=[[9, 9]])
        db.pull("one", clone.path)
        assert c.get(9).ids == [9]
    assert db.gc(0)["collected"] is True and c.validate()["valid"] is True
    assert c.stats()["point_count"] == 4
    with pytest.raises(grebe.NotFound):
        db["missing"]
    with pytest.raises(grebe.InvalidArgument):
        db.create("a/b", 2)


def test_a_view_of_no_version_is_refused_at_once(db):
    c = db.collection("v")
    c.upsert(ids=[1], vectors=[[1, 0]])
    with pytest.raises(grebe.NotFound, match="nope"):
        c.at("nope")
    with pytest.raises(grebe.NotFound):
        db.collection("w").at(c.history()[0]["commit"] + "0")
    assert c.at(c.history()[0]["commit"]).count() == 1


def test_damage_is_told(db):
    c = db.collection("d")
    c.upsert(ids=[1], vectors=[[1, 0]])
    tree = git(db.path, "rev-parse", "refs/git-vdb/collections/d^{tree}").strip()
    listing = git(db.path, "ls-tree", tree).splitlines()
    blob = subprocess.run(["git", "-C", db.path, "hash-object", "-w", "--stdin"], input=b"{}", check=True,
                          capture_output=True).stdout.decode().strip()
    broken = "\n".join(line if not line.endswith("meta.json") else f"100644 blob {blob}\tmeta.json" for line in listing)
    new = subprocess.run(["git", "-C", db.path, "mktree"], input=broken.encode() + b"\n", check=True,
                         capture_output=True).stdout.decode().strip()
    commit = git(db.path, "-c", "user.name=t", "-c", "user.email=t@t", "commit-tree", "-m", "broken", new).strip()
    git(db.path, "update-ref", "refs/git-vdb/collections/d", commit)
    with pytest.raises(grebe.Corrupt, match="meta.json"):
        c.get()
    report = db.doctor()
    assert report["valid"] is False and report["reports"][0]["name"] == "d"


def test_threads_read_while_one_writes(db):
    v = np.random.default_rng(1).random((400, 8), dtype=np.float32)
    c = db.collection("t")
    c.upsert(ids=np.arange(400), vectors=v)
    failures = []

    def read():
        try:
            for i in range(60):
                assert c.search(v[i], k=1, exact=True).ids == [i]
        except BaseException as e:
            failures.append(e)
    threads = [threading.Thread(target=read) for _ in range(4)]
    for t in threads:
        t.start()
    for i in range(10):
        c.upsert(ids=[1000 + i], vectors=[[-1] * 8])
    for t in threads:
        t.join()
    assert not failures and len(c) == 410


def test_closing(tmp_path):
    with pytest.raises(grebe.NotFound):
        grebe.gitvdb.open(tmp_path / "none.git")
    db = grebe.gitvdb.open(tmp_path / "tree", create=True, bare=False)
    assert (tmp_path / "tree" / ".git").is_dir()
    c = db.collection("c")
    c.upsert(ids=[1, 2], vectors=[[1, 0], [0, 1]])
    points, stream = c.get(with_vector=True), c.scan()
    assert pickle.loads(pickle.dumps(c)).root == c.root
    db.close()
    db.close()
    with pytest.raises(ValueError, match="closed"):
        c.get()
    assert points.ids == [1, 2] and pa.table(points).num_rows == 2 # what was read stays
    assert stream.to_pyarrow()["id"].to_pylist() == [1, 2]


# ---- as a source ----

def test_a_collection_is_a_source(db, tmp_path):
    rows, _ = glove(500)
    c = db.collection("words")
    c.upsert(rows, id_column="rank", batch_size=100)
    source = f"{db.path}#words"
    got = grebe.read(source).to_pyarrow()
    assert got.column_names == ["id", "vector", "payload"] and got["id"].to_pylist() == list(range(500))
    assert got["vector"].combine_chunks().flatten().equals(rows["vector"].combine_chunks().flatten())
    assert [json.loads(p)["word"] for p in got["payload"].to_pylist()] == rows["word"].to_pylist()
    assert grebe.read(source, columns=["id"], where="id >= 490").to_pyarrow()["id"].to_pylist() == list(range(490, 500))
    old = grebe.read(f"{source}@refs/git-vdb/collections/words~1").to_pyarrow()
    assert old.num_rows == 400
    table = grebe.create(tmp_path / "t", grebe.read(source))
    assert db.collection("copy").upsert(table, batch_size=None)["root"] == c.root
    grebe.write(tmp_path / "w.parquet", grebe.read(source))
    assert db.collection("file").upsert(grebe.read(tmp_path / "w.parquet"))["root"] == c.root
    assert grebe.create(tmp_path / "u", source).take([7]).to_pyarrow()["id"].to_pylist() == [7]
    assert grebe.write(tmp_path / "w.csv", tmp_path / "w.parquet") == 500
    with pytest.raises(grebe.NotFound, match="no collection"):
        grebe.read(f"{db.path}#nope")
    with pytest.raises(grebe.NotFound):
        grebe.create(tmp_path / "v", str(tmp_path / "nothing.parquet"))
    assert not (tmp_path / "v").exists()
    both = grebe.read([source, f"gitvdb:{db.path}#words"]).to_pyarrow()
    assert both.num_rows == 1000
