# SPDX-License-Identifier: Apache-2.0
"""Vector collections against what git-vdb 0.4.0 wrote and printed: golden repositories, and roots that content must have."""
import json
import pathlib
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "tools"))
from vdb import ENV, GOLDEN, REFS, Vdb, listing, lines, reference, synthetic, unpack  # noqa: E402

REPOSITORIES = json.loads((GOLDEN / "expected.json").read_text())["repositories"]
ROOTS = {  # format 2, format 1
    "E1": ("94f39fb7cebfdfd9ea0747b67aef6bb926ce8c69", "0ea7f46fcb1f4b855e3d29c55146464594c5a970"),
    "E2": ("e12ccb6d37e3b57f54b4d609a6848278d1079469", "23bb1892b387f2f19016a781ee28384451bfd54a"),
    "E3": ("33d66cfee6e998d9e0db7af6199b520abcddbb01", "1c669e98f778302d042ea1d7d457598a544ef069"),
    "E4": ("584f3d35bab91a82a2900e0c7bdcd9d059d69810", "274c3524d1cdd7d3f7da329366234d7399dc390b"),
    "E5": ("e2299197af931b565879f121cd6566043c9b4dd6", "65746ca5d6ea10ed2887a1f77e107c436039b367"),
    "E6": ("7c4c6d15042147967e0c102f4a1751bf7d7cfb35", "13db032ca32a1fdb5177ce05692d2509cfbea615"),
    "E7": ("80dee53f28fb300d8d6d8eb80e12e5cb3c8acf65", "6e856458d9b8213f4be86639e81e5cb9760be38b"),
    "E8": ("3f6a3032dd69d52fa16c30c74e1507171b54d65c", "bde6a6072aa2106b610cd9c7277a03c7a190df81"),
    "E9": ("e08263389495d3acb6db17b78cb1893e5b93f40f", "27fff03860182ef8ad1c5d08083b5c9612fb63f1"),
}
SETS = [  # points, dimension, clusters, root
    (1000, 100, 32, "9250bf0ff72696b53bcde5641b03a985d1f889c3"), (1000, 100, 0, "696eef57e2d6da19c83d82d22e9895860c16ba33"),
    (10000, 25, 0, "86b0307664e7ca78521d8d1ea796fdc80b44e52f"), (100000, 25, 0, "5bbcdc56126ffbb25028d4cb8990cf94df6f960e"),
    (100000, 25, 32, "65bd1241e38caee2ab6376a4a1f99c7e2aefdd86"),
]


def each_repository():
    return [pytest.param(r, id=r["file"].partition(".")[0]) for r in REPOSITORIES]


def check_reads(db, r, revision=()):
    for read in r["reads"]:
        assert db.ok(*read["argv"], *revision) == read["stdout"], read["argv"]


def short_lines(points):
    """As reference.to_jsonl(), faster; all ids are numbers."""
    return "".join('{"id":%d,"vector":[%s],"payload":%s}\n' % (i, ",".join(map("%.9g".__mod__, v)), json.dumps(p)) for i, v, p in points)


def config_words(index):
    return [w for key in ("full_scan_threshold", "default_probes", "default_candidate_limit")
            for w in ("--" + key.replace("_", "-"), index[key])]


# ---- golden repositories -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("r", each_repository())
def test_reads__golden__as_printed(r, tmp_path):
    db = unpack(r["file"], tmp_path / "r.git")
    db.check_git()
    before = listing(db.path)
    info = db.value("collection", "info", r["collection"])
    assert (info["root"], info["format_version"], info["point_count"], info["config"]) == \
        (r["root"], r["format_version"], r["point_count"], r["config"])
    check_reads(db, r)
    history = db.value("history", r["collection"], "--limit", 100)["history"]
    assert [{"root": h["root"], "subject": h["message"].strip()} for h in history] == r["history_newest_first"]
    for h in history:
        assert db.value("validate", r["collection"], "--full", "--at", h["commit"])["root"] == h["root"]
    assert listing(db.path) == before


@pytest.mark.parametrize("r", each_repository())
def test_mutations__golden__give_the_roots(r, tmp_path):
    db = unpack(r["file"], tmp_path / "r.git")
    for m in r["mutations_in_order"]:
        assert db.ok(*m["argv"]) == m["stdout"], m["argv"]
    db.check_git()
    assert db.value("validate", r["collection"], "--full")["valid"]


@pytest.mark.parametrize("r", each_repository())
def test_clone_bundle_gc__golden__read_alike(r, tmp_path):
    db, ref = unpack(r["file"], tmp_path / "r.git"), REFS + r["collection"]
    db.git("gc", "-q", "--prune=now")
    check_reads(db, r)
    db.git("pack-refs", "--all")
    db.git("repack", "-q", "-a", "-d", "--window=50", "--depth=50", "-f")  # deltas, deep ones
    check_reads(db, r)
    db.ok("gc", "--grace", 0)
    db.check_git()
    check_reads(db, r)
    db.git("bundle", "create", "-q", tmp_path / "again.bundle", ref)
    subprocess.run(["git", "clone", "-q", "--mirror", db.path, tmp_path / "clone.git"], check=True, env=ENV)
    check_reads(Vdb(tmp_path / "clone.git"), r)
    subprocess.run(["git", "clone", "-q", "--mirror", "--shared", db.path, tmp_path / "shared.git"], check=True, env=ENV)
    check_reads(Vdb(tmp_path / "shared.git"), r)  # objects of another repository
    subprocess.run(["git", "init", "-q", tmp_path / "work"], check=True, env=ENV)
    work = Vdb(tmp_path / "work")
    work.git("fetch", "-q", tmp_path / "again.bundle", "refs/*:refs/*")
    check_reads(work, r)
    for m in r["mutations_in_order"]:
        assert work.ok(*m["argv"]) == m["stdout"], m["argv"]
    work.check_git()
    pushed = Vdb(tmp_path / "far.git")
    pushed.ok("init", pushed.path, "--bare")
    work.ok("push", r["collection"], pushed.path)
    assert pushed.root(r["collection"]) == work.root(r["collection"])
    pushed.check_git()


@pytest.mark.parametrize("r", each_repository())
def test_export_import__golden__same_root(r, tmp_path):
    """Every version of a golden collection, rebuilt from its own points in one commit, in small ones and backwards."""
    if r["format_version"] == 1:
        pytest.skip("new collections have format 2")
    db = unpack(r["file"], tmp_path / "r.git")
    for i, h in enumerate(db.value("history", r["collection"], "--limit", 100)["history"]):
        points = db.ok("export", r["collection"], "--at", h["commit"]).splitlines(keepends=True)
        if not points:
            continue
        for order, words in ((points, ["--single-commit"]), (points[::-1], ["--batch-size", 97])):
            name = f"again-{i}-{len(words)}"
            space = r["config"]["vector_space"]
            db.ok("collection", "create", name, "--dimension", r["config"]["dimension"], *config_words(r["config"]["index"]),
                  *(["--vector-space", space] if space is not None else []))
            assert db.value("import", name, "-", *words, text="".join(order))["root"] == h["root"]
    db.check_git()


# ---- roots of known content ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", reference.EXAMPLES, ids=lambda e: e[0].split()[0])
def test_root__example(example, tmp_path):
    name, config, points = example
    want, want_old = ROOTS[name.split()[0]]
    db = Vdb(tmp_path / "r.git")
    space = ["--vector-space", config["vector_space"]] if "vector_space" in config else []
    index = dict(reference.DEFAULT_INDEX, **config.get("index", {}))
    made = db.value("collection", "create", "c", "--dimension", config["dimension"], *space, *config_words(index))
    root = made["root"]
    if points:
        root = db.value("upsert", "c", "-", text=reference.to_jsonl(points))["root"]
        assert db.value("upsert", "c", "-", text=reference.to_jsonl(points[::-1]))["root"] == root
    assert root == want == db.root("c")
    assert db.value("validate", "c", "--full")["valid"]
    db.check_git()
    # format 1 starts from an empty root that plain git writes
    plant_old(db, "old", config)
    if points:
        db.ok("upsert", "old", "-", text=reference.to_jsonl(points))
    assert db.root("old") == want_old
    assert db.value("validate", "old", "--full")["valid"]


def plant_old(db, name, config):
    """An empty collection of format 1."""
    index = dict(reference.DEFAULT_INDEX, **config.get("index", {}))
    meta = {"format_version": 1, "point_count": 0, "dimension": config["dimension"], "distance": "cosine", "vector_codec": "f32le-v1",
            "vector_space": config.get("vector_space"), "git_object_format": "sha1", "index": index}
    text = json.dumps(meta, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    blob, empty = db.git("hash-object", "-w", "--stdin", text=text), db.git("mktree", text=b"")
    lsh = db.git("mktree", text=f"040000 tree {empty}\tlsh-v1\n".encode())
    root = db.git("mktree", text=f"040000 tree {lsh}\tindex\n100644 blob {blob}\tmeta.json\n040000 tree {empty}\tpoints\n".encode())
    db.git("update-ref", REFS + name, db.git("commit-tree", root, "-m", "format 1"))


def test_root__upstreams_golden_of_format_1(tmp_path):
    db = Vdb(tmp_path / "r.git")
    db.ok("init", db.path, "--bare")
    plant_old(db, "old", {"dimension": 2})
    assert db.value("upsert", "old", "--id", "old", "--vector=1,0", "--payload", '{"topic":"v1"}')["root"] == \
        "b02e98c1f919ec065ac342812a5ccf6b62bc4217"


def test_root__options_of_collections(tmp_path):
    db = Vdb(tmp_path / "r.git")
    assert db.value("collection", "create", "a", "--dimension", 2, "--vector-space", "m@1")["root"] == \
        "6eb6e89eefe1ac93a843e1fe5e678789c8bfaa5c"
    assert db.value("collection", "create", "b", "--dimension", 2, "--full-scan-threshold", 0, "--default-probes", 3)["root"] == \
        "1f9ac688d5538105cf95db9a01695ad462b7034b"


def test_root__sequence_of_mutations(tmp_path):
    db = Vdb(tmp_path / "r.git")
    db.ok("collection", "create", "c", "--dimension", 2)
    first = db.value("upsert", "c", "--id", "a", "--vector=1,0")["root"]
    assert first.startswith("e12ccb6d")
    assert db.value("upsert", "c", "--id", "b", "--vector=0,1", "--payload", '{"t":1}')["root"] == "f12b1ee82d51687c5f60bb5028c399e91c89a12b"
    last = db.value("upsert", "c", "--id", "a", "--vector=.5,.5")["root"]
    assert last == "7f76771dee1e2bf9b8dabb63d64ad97ca227f3ab"
    diff = db.value("diff", "c", first, last)
    assert (diff["added"], diff["changed"], diff["removed"]) == (["b"], ["a"], [])
    assert [(diff[k]["objects"], diff[k]["bytes"]) for k in ("shared", "left_unique", "right_unique")] == [(2, 48), (13, 1017), (16, 1246)]
    assert db.value("delete", "c", "--ids", "zz") == {"root": last, "affected_points": 0}
    assert db.value("delete", "c", "--ids", "b")["root"] == "0e05657b57d02fcc3c8972629c1ddf272301bb64"
    assert len(db.value("history", "c")["history"]) == 6


def test_root__signs_of_zeros(tmp_path):
    db = Vdb(tmp_path / "r.git")
    assert db.value("upsert", "c", "--id", "a", "--vector=0.0,1")["root"] == "fcf1b06068ed1caf5c56cf157c2a14db794ab132"
    assert db.value("upsert", "c", "--id", "a", "--vector=-0.0,1")["root"] == "fcf1b06068ed1caf5c56cf157c2a14db794ab132"
    assert db.value("upsert", "d", "--id", "a", "--vector=-0.0,1")["root"] == "a10e98edcc49df736eb3ce8e10d51bb08603c587"


def test_root__beyond_the_sample(tmp_path):
    """Not all points are in the sample; others than those of the sample change: the centroids stay."""
    db, points = Vdb(tmp_path / "r.git"), reference.synth(9000, 4)
    assert db.value("import", "c", "-", "--single-commit", text=short_lines(points))["root"] == \
        "64c497a1a68b8facf976a836465efafa8a2f3110"
    rank = sorted(points, key=lambda p: (reference.hashlib.sha256(reference.id_bytes(p[0])).digest(), reference.id_bytes(p[0])))
    rest = {int(p[0]) for p in rank[8192:]}
    moved = [(i, [reference.f32(v[0] + 0.25), *v[1:]], dict(p, new=True)) for i, v, p in points if int(i) in rest][:50]
    assert db.value("upsert", "c", "-", text=reference.to_jsonl(moved))["root"] == "4c560acf77cd55f31e8f16e3b0eccd20a5f21ac2"
    assert db.value("validate", "c", "--full")["valid"]


@pytest.mark.parametrize("n, dim, clusters, want", SETS)
def test_root__benchmark_sets(n, dim, clusters, want, tmp_path):
    """In one commit; the clustered ones as rows of a Parquet file."""
    rows, db = synthetic(n, dim, clusters), Vdb(tmp_path / "r.git")
    if clusters:
        path = tmp_path / "rows.parquet"
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), dim)
        pq.write_table(pa.table({"id": np.arange(n, dtype="u8"), "vector": vectors, "selectivity_bucket": np.arange(n) % 1000}), path)
    else:
        path = tmp_path / "rows.jsonl"
        with open(path, "w") as f:
            for i, row in enumerate(rows):
                f.write('{"id":%d,"vector":[%s],"payload":{"selectivity_bucket":%d}}\n' % (i, ",".join(map("%.9g".__mod__, row.tolist())), i % 1000))
    assert db.value("import", "c", path, "--single-commit") == {"root": want, "affected_points": n}
    assert db.root("c") == want and db.value("validate", "c")["point_count"] == n
    assert synthetic(50, 3, clusters).tolist() == [v for _, v, _ in reference.synth(50, 3, clusters or None)]


def test_root__batches_and_threads_do_not_matter(tmp_path):
    points, roots, found = reference.synth(2300, 7, 20), set(), set()
    text = short_lines(points)
    for number, (threads, simd, words) in enumerate([("1", "", ["--batch-size", 100]), ("2", "", ["--batch-size", 999]), ("5", "", ["--single-commit"]),
                                                     ("2", "none", ["--single-commit"]), ("1", "none", [])]):
        db = Vdb(tmp_path / f"{number}.git", env={"GREBE_THREADS": threads, **({"GREBE_SIMD": simd} if simd else {})})
        roots.add(db.value("import", "c", "-", *words, text=text)["root"])
        out = [db.ok("search", "c", "--vector=" + ",".join(map(str, points[k][1])), "--limit", 40, "--with-payload", "--with-vector", *mode)
               for k in range(0, 2300, 401) for mode in (["--exact"], ["--approximate"], ["--probes", 3], ["--candidate-limit", 77],
                                                         ["--filter", '{"must":[{"key":"selectivity_bucket","range":{"lt":90}}]}'])]
        found.add("".join(out))
    assert len(roots) == 1 and len(found) == 1
    assert roots == {"5896e9f2e1a3d9d43545a654c33c54ab642513c7"}


def test_floats__unstable_ones__kept_and_exported(tmp_path):
    """Floats that the format's reader takes for a neighbour: bytes as git-vdb writes them, readable here, back by export and import."""
    db, rng = Vdb(tmp_path / "r.git"), np.random.default_rng(3)
    texts = ["123456789012345680000", "0.99955335555768920", "1e23", "-1.2345678901234567e+20", "4.35", "5e-324", "0.1e-320", "1.7976931348623157e308",
             *("%.17g" % v for v in (rng.random(300) * 10.0 ** rng.integers(-300, 300, 300)).tolist())]
    payloads = [reference.parse_json('{"a":[%s,{"b":"\\"1e23\\\\"}],"f":%s}' % (t, t)) for t in texts]
    points = [(reference.Int(i), [1.0, float(i)], p) for i, p in enumerate(payloads)]
    root = reference.build_v2(reference.Store(), {"dimension": 2}, points).hex()
    assert db.value("upsert", "c", "-", text="".join('{"id":%d,"vector":[1,%d],"payload":{"a":[%s,{"b":"\\"1e23\\\\"}],"f":%s}}\n' % (i, i, t, t)
                                                     for i, t in enumerate(texts)))["root"] == root
    stored = {i: reference.canon(p) for i, p in enumerate(payloads)}
    unstable = [i for i, s in stored.items() if reference.canon(reference.parse_json(s)) != s]
    assert len(unstable) > 10
    assert db.value("validate", "c", "--full")["valid"]
    out = db.ok("get", "c", "--with-payload")
    assert all('{"id":%d,"payload":%s}' % (i, s) in out for i, s in stored.items())
    assert db.value("import", "again", "-", text=db.ok("export", "c"))["root"] == root
    commits = len(db.value("history", "c")["history"])
    assert db.value("upsert", "c", "-", text=db.ok("export", "c"))["root"] == root  # equal to itself
    assert len(db.value("history", "c")["history"]) == commits + 1


def test_lines__odd_but_allowed(tmp_path):
    """What the reader takes as the original does: white space, CRLF, arrays, more members, escapes."""
    db = Vdb(tmp_path / "r.git")
    plain = lines([("é", [1.0, 2.0], {"a": 1}), (7, [0.5, -1.0], {})])
    odd = ' {"extra":[{}],"payload": {"a" : 1},"vector":[1e0,2.0],"id":"\\u00e9"}\t\r\n\u3000\r\n\n[7,[0.5,-1]]'
    root = db.value("upsert", "a", "-", text=plain)["root"]
    assert db.value("upsert", "b", "-", text=odd)["root"] == root
    # members that nobody asked for are only passed over
    for more in ("1e999", '"\\ud800"', "[" * 500 + "]" * 500, '{"a":[{},[],"]}\\""]}', "-0.0"):
        assert db.value("upsert", "b", "-", text=odd.replace("[{}]", more, 1))["root"] == root, more
    for more in ("01", "1.", '"\\x"', '"\\u12g4"', "[1,]", "{,}", "[}", "tru", "[" * 500, '"\u0001"', "", '{"a" 1}'):
        db.fails(2, "upsert", "b", "-", text=odd.replace("[{}]", more, 1))
