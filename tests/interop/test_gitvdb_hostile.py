# SPDX-License-Identifier: Apache-2.0
"""Damaged vector collections, made with plain git: what is wrong is said with its place, nothing crashes, nothing is written by readers."""
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "tools"))
from vdb import ENV, REFS, Vdb, listing, reference  # noqa: E402

CORRUPT, UNSUPPORTED = 5, 6
POINTS = [("a", [1.0, 0.0], {"t": "x", "n": 1.5}), ("b", [0.0, 1.0], {"t": "y"}), ("c", [1.0, 1.0], {}), (1, [-1.0, 0.5], {"t": "x"}),
          (2, [0.25, -1.0], {"m": [1, None]}), (3, [0.5, 0.5], {}), (4, [2.0, 3.0], {"t": "é"})]
COMMANDS = {
    "get": ["get", "c", "--with-payload", "--with-vector"], "exact": ["search", "c", "--vector=1,2", "--exact", "--with-payload"],
    "approximate": ["search", "c", "--vector=1,2", "--approximate", "--with-payload"], "export": ["export", "c"],
    "validate": ["validate", "c"], "full": ["validate", "c", "--full"],
}
READS = ("get", "exact", "approximate", "export")
EVERYTHING = tuple(COMMANDS)


def content():
    """path -> bytes of the collection, made by the reference."""
    store = reference.Store()
    points = [(reference.Int(i) if isinstance(i, int) else i, v, reference.parse_json(json.dumps(p))) for i, v, p in POINTS]
    root = reference.build_v2(store, {"dimension": 2}, points)
    return {path: store.objects[oid][1] for path, mode, oid in store.walk(root) if mode != b"40000"}


FILES = content()
ID_SHARD = next(p for p in sorted(FILES) if p.startswith("points/ids/"))      # of one of the points
SHARD = ID_SHARD[-7:-4]
PAYLOADS, VECTORS = f"points/payloads/{SHARD}.bin", f"points/vectors/{SHARD}.f32le"
CODEBOOK, SAMPLE, POSTING = ("index/ivf-flat-v2/" + x for x in ("codebook.bin", "sample.bin", "postings/0000.bin"))


def write(db, files, modes=None, name="c"):
    """A collection of these files: a value is bytes, or (mode, id) of any tree entry."""
    env = dict(ENV, GIT_INDEX_FILE=str(db.path / "index.of.test"))
    entries = []
    for path, data in files.items():
        mode, oid = data if isinstance(data, tuple) else ("100644", db.git("hash-object", "-w", "--stdin", text=data))
        entries.append(f"{mode} {oid}\t{path}\0")
    done = subprocess.run(["git", "-C", db.path, "update-index", "-z", "--index-info"], input="".join(entries).encode(), env=env, capture_output=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(["git", "-C", db.path, "write-tree", "--missing-ok"], env=env, capture_output=True)
    assert done.returncode == 0, done.stderr
    os.unlink(env["GIT_INDEX_FILE"])
    return publish(db, done.stdout.decode().strip(), name)


def publish(db, root, name="c"):
    db.git("update-ref", REFS + name, db.git("commit-tree", root, "-m", "damaged"))
    return root


@pytest.fixture
def db(tmp_path):
    made = Vdb(tmp_path / "r.git")
    made.ok("init", made.path, "--bare")
    return made


def edit(path, change):
    """A damage: bytes of a file, changed; None takes the file away."""
    def run(files):
        data = change(files[path])
        files.pop(path)
        if data is not None:
            files[path] = data
    return path, run


def add(path, data=b"x"):
    return path, lambda files: files.__setitem__(path, data)


def rows(data):
    n, = struct.unpack_from("<I", data, 8)
    off = struct.unpack_from(f"<{n + 1}I", data, 12)
    body = data[12 + 4 * (n + 1):]
    return [body[off[i]:off[i + 1]] for i in range(n)]


def pack_rows(magic, items):
    off = [0]
    for item in items:
        off.append(off[-1] + len(item))
    return magic + struct.pack(f"<I{len(off)}I", len(items), *off) + b"".join(items)


def payload(*texts):
    return lambda data: pack_rows(b"GTV2PAY\0", [texts[i % len(texts)] for i in range(len(rows(data)))])


def ids(change):
    return lambda data: pack_rows(b"GTV2IDS\0", change(rows(data)))


def meta(**changes):
    def run(data):
        value = json.loads(data)
        value.update(changes)
        return json.dumps({k: v for k, v in value.items() if v != "drop"}, sort_keys=True, separators=(",", ":")).encode()
    return run


def put(offset, fmt, *values):
    def run(data):
        packed = struct.pack(fmt, *values)
        return data[:offset] + packed + data[offset + len(packed):]
    return run


POSTINGS = sorted(p for p in FILES if "/postings/" in p and struct.unpack_from("<I", FILES[p], 8)[0])
NOT_VALID = ("validate", "full")
INDEX = ("approximate", "validate", "full")
DAMAGES = {
    # only a check of the whole notices
    "extra in root": (NOT_VALID, add("extra")), "extra in points": (NOT_VALID, add("points/extra")),
    "extra in index": (NOT_VALID, add("index/extra")), "extra in the index": (NOT_VALID, add("index/ivf-flat-v2/extra")),
    # metadata
    "meta with a line feed": (EVERYTHING, edit("meta.json", lambda b: b + b"\n")),
    "meta with another key": (EVERYTHING, edit("meta.json", meta(other=1))),
    "meta without a key": (EVERYTHING, edit("meta.json", meta(vector_space="drop"))),
    "meta of version 3": (EVERYTHING, edit("meta.json", meta(format_version=3))),
    "meta of a version beyond all": (EVERYTHING, edit("meta.json", meta(format_version=2 ** 64 - 1))),
    "meta of another codec": (EVERYTHING, edit("meta.json", meta(vector_codec="f32le-v1"))),
    "meta of another distance": (EVERYTHING, edit("meta.json", meta(distance="dot"))),
    "meta of another dimension": (EVERYTHING, edit("meta.json", meta(dimension=3))),
    "meta of dimension 0": (EVERYTHING, edit("meta.json", meta(dimension=0))),
    "meta with a text for a number": (EVERYTHING, edit("meta.json", meta(dimension="2"))),
    "meta that is no JSON": (EVERYTHING, edit("meta.json", lambda b: b[:-1])),
    "meta that is empty": (EVERYTHING, edit("meta.json", lambda b: b"")),
    "meta that is missing": (EVERYTHING, edit("meta.json", lambda b: None)),
    "meta that repeats a key": (EVERYTHING, edit("meta.json", lambda b: b[:-1] + b',"dimension":2}')),
    "wrong count": (INDEX, edit("meta.json", meta(point_count=6))),
    "a huge count": (INDEX, edit("meta.json", meta(point_count=2 ** 63))),
    # payloads
    "payload with blanks": (EVERYTHING, edit(PAYLOADS, payload(b'{"a": 1}'))),
    "payload in another order": (EVERYTHING, edit(PAYLOADS, payload(b'{"b":1,"a":1}'))),
    "payload with a key twice": (EVERYTHING, edit(PAYLOADS, payload(b'{"a":1,"a":2}'))),
    "payload that is no object": (EVERYTHING, edit(PAYLOADS, payload(b"[]"))),
    "payload that is no UTF-8": (EVERYTHING, edit(PAYLOADS, payload(b'{"a":"\xff"}'))),
    "payload with an escape too many": (EVERYTHING, edit(PAYLOADS, payload(b'{"a":"\\u00e9"}'))),
    "payload with another float": (EVERYTHING, edit(PAYLOADS, payload(b'{"a":1e16}'))),
    "payload that is empty": (EVERYTHING, edit(PAYLOADS, payload(b""))),
    "payload beyond all depth": (EVERYTHING, edit(PAYLOADS, payload(b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}"))),
    "payload shard missing": (EVERYTHING, edit(PAYLOADS, lambda b: None)),
    "payload shard with another count": (EVERYTHING, edit(PAYLOADS, lambda b: pack_rows(b"GTV2PAY\0", rows(b) + [b"{}"]))),
    "payload magic": (EVERYTHING, edit(PAYLOADS, lambda b: b"GTV2XXX\0" + b[8:])),
    "payload shard of a huge count": (EVERYTHING, edit(PAYLOADS, put(8, "<I", 0xFFFFFFFF))),
    "payload offsets that go back": (EVERYTHING, edit(PAYLOADS, put(12, "<I", 5))),
    "payload offsets beyond the end": (EVERYTHING, edit(PAYLOADS, put(16, "<I", 0x7FFFFFFF))),
    # ids; readers do not compute which shard an id belongs to
    "ids with bytes behind": (EVERYTHING, edit(ID_SHARD, lambda b: b + b"x")),
    "ids cut": (EVERYTHING, edit(ID_SHARD, lambda b: b[:-1])),
    "ids of a huge count": (EVERYTHING, edit(ID_SHARD, put(8, "<I", 0x3FFFFFFE))),
    "ids that are none": (EVERYTHING, edit(ID_SHARD, ids(lambda r: []))),
    "id of an unknown type": (EVERYTHING, edit(ID_SHARD, ids(lambda r: [b"\2" + r[0][1:]] + r[1:]))),
    "id of a wrong length": (NOT_VALID, edit(ID_SHARD, ids(lambda r: [r[0][:1] + b"\xff" + r[0][2:]] + r[1:]))),
    "id that is no UTF-8": (EVERYTHING, edit(ID_SHARD, ids(lambda r: [b"\0\1\0\0\0\xff"] + r[1:]))),
    "id in a wrong shard": (NOT_VALID, edit(ID_SHARD, ids(lambda r: [b"\0\3\0\0\0zzz"] + r[1:]))),
    "id twice": (EVERYTHING, edit(ID_SHARD, ids(lambda r: r[:1] + r))),
    # vectors
    "vector with a NaN": (EVERYTHING, edit(VECTORS, put(16, "<I", 0x7FC00000))),
    "vector with an infinity": (EVERYTHING, edit(VECTORS, put(16, "<f", float("-inf")))),
    "vectors cut": (EVERYTHING, edit(VECTORS, lambda b: b[:-4])),
    "vectors of another dimension": (EVERYTHING, edit(VECTORS, put(8, "<I", 1))),
    "vectors of dimension 0": (EVERYTHING, edit(VECTORS, put(8, "<I", 0))),
    "vectors of huge sizes": (EVERYTHING, edit(VECTORS, put(8, "<II", 0xFFFFFFFF, 0xFFFFFFFF))),
    "vectors of no bytes": (EVERYTHING, edit(VECTORS, lambda b: b"")),
    "vector shard missing": (EVERYTHING, edit(VECTORS, lambda b: None)),
    "vector changed": (("full",), edit(VECTORS, put(16, "<ff", -7.0, 123.0))),
    "shard of a number beyond 63": (EVERYTHING, add("points/ids/040.bin", FILES[ID_SHARD])),
    "shard of an odd name": (EVERYTHING, add("points/vectors/01.f32le", FILES[VECTORS])),
    # the index
    "codebook changed": (("full",), edit(CODEBOOK, put(16, "<f", 0.75))),
    "codebook with a NaN": (INDEX, edit(CODEBOOK, put(16, "<I", 0x7FC00000))),
    "codebook of another dimension": (INDEX, edit(CODEBOOK, put(8, "<I", 1))),
    "codebook of a huge count": (INDEX, edit(CODEBOOK, put(12, "<I", 0xFFFFFFFF))),
    "codebook missing": (INDEX, edit(CODEBOOK, lambda b: None)),
    "sample with a byte behind": (("validate", "full"), edit(SAMPLE, lambda b: b + b"\0")),
    "sample of a huge count": (("validate", "full"), edit(SAMPLE, put(8, "<I", 0xFFFFFFFF))),
    "sample hash changed": (("full",), edit(SAMPLE, lambda b: b[:-1] + bytes([b[-1] ^ 1]))),
    "sample missing": (INDEX, edit(SAMPLE, lambda b: None)),
    "posting of shard 64": (INDEX, edit(POSTINGS[0], put(12, "<H", 64))),
    "posting of a row that is not there": (("approximate", "full"), edit(POSTINGS[0], lambda b: b[:-4] + struct.pack("<I", 77))),
    "posting of a huge count": (INDEX, edit(POSTINGS[0], put(8, "<I", 0xFFFFFFFF))),
    "posting cut": (INDEX, edit(POSTINGS[0], lambda b: b[:-1])),
    "posting too many": (INDEX, add("index/ivf-flat-v2/postings/0fff.bin", FILES[POSTINGS[0]])),
    "posting missing": (INDEX, edit(POSTING, lambda b: None)),
    "point in two postings": (("full",), edit(POSTINGS[0], lambda b: FILES[POSTINGS[1]])),
    # entries that are no files
    "a link as shard": (EVERYTHING, add(VECTORS, ("120000", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"))),
    "a module as shard": (EVERYTHING, add(ID_SHARD, ("160000", "1" * 40))),
    "a module as metadata": (EVERYTHING, add("meta.json", ("160000", "1" * 40))),
    "a module in root": (NOT_VALID, add("extra", ("160000", "1" * 40))),
    "a link as codebook": (INDEX, add(CODEBOOK, ("120000", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"))),
    "an object that is missing": (EVERYTHING, add(PAYLOADS, ("100644", "2" * 40))),
    "metadata that is missing": (EVERYTHING, add("meta.json", ("100644", "3" * 40))),
}
NOT_KNOWN = {"meta of version 3", "meta of a version beyond all", "meta of another codec"}
MAY_MISS = {  # a search reads what it needs: damage that it does not touch is for validate to find
    ("approximate", "wrong count"), ("approximate", "a huge count"),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_damage(db, what):
    """Which commands notice, that they say where, and that none writes into the repository."""
    must_fail, (path, damage) = DAMAGES[what]
    codes = {UNSUPPORTED} if what in NOT_KNOWN else {CORRUPT, 2} if what == "meta of another dimension" else {CORRUPT}
    files = dict(FILES)
    db.git("hash-object", "-w", "--stdin", text=b"")
    damage(files)
    write(db, files)
    before = listing(db.path)
    for name, argv in COMMANDS.items():
        ran = db.run(*argv)
        if name not in must_fail:
            assert ran.code == 0, (name, ran)
            continue
        if (name, what) in MAY_MISS and ran.code == 0:
            continue
        assert ran.code in codes and ran.out == "", (name, ran)
        assert re.fullmatch(r"grebe: vdb \w+: (collection c: )?.+\n", ran.err), ran
        assert "collection c" in ran.err, ran
    everything = db.run("validate", "c", "--full", "--all")
    assert db.run("doctor").code == (CORRUPT if "validate" in must_fail else 0)
    assert listing(db.path) == before
    if what in NOT_KNOWN:
        assert everything.code == UNSUPPORTED
        return
    assert everything.code == CORRUPT, everything
    report = json.loads(everything.out)
    assert report["valid"] is False and report["problems"], report
    text = json.dumps(report["problems"])
    folder = path.rpartition("/")[0] if must_fail != ("full",) else "index"  # only what is computed differs
    assert path in text or (folder and folder in text) or "/" not in path, report


def test_damage__writers_refuse(db):
    """Nobody builds on what is damaged: the reference stays."""
    for what in ("payload with blanks", "ids with bytes behind", "vector with a NaN", "meta with another key", "an object that is missing"):
        files = dict(FILES)
        path, damage = DAMAGES[what][1]
        damage(files)
        write(db, files)
        commit = db.commit("c")
        changed = next(p for p in POINTS if reference.hashlib.sha256(reference.id_bytes(
            reference.Int(p[0]) if isinstance(p[0], int) else p[0])).digest()[0] >> 2 == int(SHARD, 16))
        db.fails(CORRUPT, "upsert", "c", "--id", changed[0], "--vector=5,5")
        db.fails(CORRUPT, "delete", "c", "--ids", changed[0])
        assert db.commit("c") == commit


def test_damage__all_is_listed(db):
    """One report names every damaged place."""
    files = dict(FILES)
    some = ["extra in points", "payload with blanks", "vector with a NaN", "codebook of another dimension", "sample with a byte behind"]
    for what in some:
        DAMAGES[what][1][1](files)
    write(db, files)
    report = json.loads(db.run("validate", "c", "--all").out)
    text = json.dumps(report["problems"])
    for word in ("points", PAYLOADS, VECTORS, CODEBOOK, SAMPLE):
        assert word in text, report
    assert len(report["problems"]) >= len(some), report


def test_trees__odd_kinds(db):
    """A tree where a file belongs, a file where a tree belongs, a commit or a tag as root."""
    whole = write(db, FILES)
    tree = db.git("rev-parse", f"{whole}:points")
    blob = db.git("rev-parse", f"{whole}:meta.json")
    index = db.git("rev-parse", f"{whole}:index")
    for text in (f"040000 tree {index}\tindex\n040000 tree {tree}\tmeta.json\n040000 tree {tree}\tpoints\n",
                 f"040000 tree {index}\tindex\n100644 blob {blob}\tmeta.json\n100644 blob {blob}\tpoints\n",
                 f"100644 blob {blob}\tindex\n100644 blob {blob}\tmeta.json\n040000 tree {tree}\tpoints\n",
                 f"100644 blob {blob}\tmeta.json\n", ""):
        publish(db, db.git("mktree", text=text.encode()))
        assert db.fails(CORRUPT, "validate", "c")
        assert db.fails(CORRUPT, "search", "c", "--vector=1,2", "--approximate")
    # executable files are files
    files = {p: ("100755", db.git("hash-object", "-w", "--stdin", text=b)) for p, b in FILES.items()}
    write(db, files)
    assert db.value("validate", "c", "--full")["valid"]
    # references to what is no commit
    for target in (blob, db.git("mktag", text=f"object {blob}\ntype blob\ntag x\ntagger t <t@t> 0 +0000\n\nx\n".encode())):
        db.git("update-ref", REFS + "c", target)
        for argv in (["get", "c"], ["count", "c"], ["validate", "c"], ["history", "c"]):
            assert db.run(*argv).code not in (0, 70), argv
    (db.path / "refs/git-vdb/collections/c").write_text("4" * 40 + "\n")
    for argv in (["get", "c"], ["count", "c"], ["validate", "c"], ["history", "c"], ["collection", "list"]):
        assert db.run(*argv).code == CORRUPT, argv
    (db.path / "refs/git-vdb/collections/c").write_bytes(b"\0\xffnonsense")
    for argv in (["get", "c"], ["collection", "list"], ["upsert", "c", "--id", "1", "--vector=1,2"]):
        assert db.run(*argv).code not in (0, 70, 1, -11, -6), argv


def test_packs__cut_and_changed(db, tmp_path):
    """A pack that lost its end or a bit: an error or the right answer, never another one and no crash."""
    db.ok("upsert", "c", "-", text="".join(json.dumps({"id": i, "vector": [i / 3, 1.5], "payload": {"t": "x" * (i % 40)}}) + "\n" for i in range(400)))
    db.git("repack", "-q", "-a", "-d", "-f")
    packs = list(db.path.glob("objects/pack/*.pack"))
    assert len(packs) == 1
    whole, want, rng = packs[0].read_bytes(), db.ok("export", "c"), random.Random(5)
    index_path = packs[0].with_suffix(".idx")
    index = index_path.read_bytes()
    os.chmod(packs[0], 0o644)
    os.chmod(index_path, 0o644)
    failed = 0
    for k in range(60):
        if k % 3 == 0:
            packs[0].write_bytes(whole[:rng.randrange(len(whole))])
        elif k % 3 == 1:
            at = rng.randrange(12, len(whole))
            packs[0].write_bytes(whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1:])
        else:
            packs[0].write_bytes(whole)
            at = rng.randrange(len(index))
            index_path.write_bytes(index[:at] + bytes([index[at] ^ (1 << rng.randrange(8))]) + index[at + 1:] if k % 2 else index[:at])
        ran = db.run("export", "c", seconds=60)
        assert ran.code in (0, 3, CORRUPT) or ran.code == 4, ran
        assert ran.code == 0 or re.match(r"grebe: vdb export: .+\n$", ran.err), ran
        assert want.startswith(ran.out) and (ran.code != 0 or ran.out == want), ran
        failed += ran.code != 0
        packs[0].write_bytes(whole)
        index_path.write_bytes(index)
    assert failed > 20
    assert db.ok("export", "c") == want


def test_random_bytes_in_every_file(db):
    """One byte of one file changed: no crash, no huge allocation; what is printed is well formed."""
    rng, paths = random.Random(11), sorted(FILES)
    for k in range(150):
        files, path = dict(FILES), rng.choice(paths)
        data = bytearray(files[path])
        at = rng.randrange(len(data))
        data[at] = rng.choice((0, 1, 0xFF, 0x7F, data[at] ^ 0x80, rng.randrange(256)))
        files[path] = bytes(data[:rng.randrange(1, len(data) + 1)] if k % 5 == 0 else data)
        write(db, files)
        for name in ("get", "approximate", "full")[k % 3:k % 3 + 1]:
            ran = db.run(*COMMANDS[name], seconds=30)
            assert ran.code in (0, CORRUPT), (path, ran)
        ran = db.run("validate", "c", "--all", "--full", seconds=30)
        assert ran.code in (0, CORRUPT) and isinstance(json.loads(ran.out)["valid"], bool), (path, ran)


def test_reads_write_nothing(tmp_path):
    """Also not into a folder that is closed."""
    db = Vdb(tmp_path / "r.git")
    db.ok("upsert", "c", "-", text="".join(json.dumps({"id": i, "vector": [i, 1], "payload": {"n": i}}) + "\n" for i in range(50)))
    db.ok("upsert", "c", "--id", "x", "--vector=1,1")
    before = listing(db.path)
    reads = [["get", "c"], ["get", "c", "--ids", "3"], ["count", "c"], ["count", "c", "--filter", '{"must":[{"key":"n","range":{"lt":9}}]}'],
             ["search", "c", "--vector=1,2"], ["search", "c", "--vector=1,2", "--approximate"], ["history", "c"], ["validate", "c", "--full"],
             ["validate", "c", "--all"], ["doctor"], ["collection", "list"], ["collection", "info", "c"], ["export", "c"], ["stats", "c"],
             ["diff", "c", REFS + "c~1", REFS + "c"], ["get", "c", "--at", REFS + "c~1"]]
    for argv in reads:
        db.ok(*argv)
    assert listing(db.path) == before
    missing = Vdb(tmp_path / "missing")
    for argv in reads:
        missing.fails(3, *argv)
    assert not missing.path.exists()
    if os.geteuid() != 0:
        for p in [*db.path.rglob("*"), db.path]:
            p.chmod(p.stat().st_mode & ~0o222)
        for argv in reads:
            db.ok(*argv)
        assert db.run("upsert", "c", "--id", "y", "--vector=1,1").code == 4
        for p in [db.path, *db.path.rglob("*")]:
            p.chmod(p.stat().st_mode | 0o200)
