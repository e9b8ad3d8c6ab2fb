# SPDX-License-Identifier: Apache-2.0
"""Vector collections beside git-vdb itself: random histories by both, step by step, and command lines by both.

The program is taken from GREBE_TEST_GITVDB, PATH or .cache/git-vdb (scripts/setup-interop builds it); without it these tests are skipped.
GREBE_TEST_NIGHTLY=1 runs many more histories, GREBE_TEST_SEED other ones."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "tools"))
from vdb import ENV, GREBE, TOOLS, Vdb, lines, many  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]
NIGHTLY = bool(os.environ.get("GREBE_TEST_NIGHTLY"))
SEED = os.environ.get("GREBE_TEST_SEED", "7")
FOUND = os.environ.get("GREBE_TEST_GITVDB") or shutil.which("git-vdb") or shutil.which("git-vdb", path=str(TOP / ".cache/git-vdb/bin"))
DECIDED = "loose-filter,failed-create"  # docs/decisions/0007

pytestmark = pytest.mark.skipif(not FOUND, reason="git-vdb is not here (scripts/setup-interop builds it)")


def differ(*words, seconds=800):
    argv = [sys.executable, str(TOOLS / "gitvdb_diff.py"), "--a", FOUND, "--b", f"{GREBE} vdb", "--allow", DECIDED,
            "--ref", str(TOOLS / "gitvdb_ref.py"), *map(str, words)]
    done = subprocess.run(argv, capture_output=True, env=ENV, timeout=seconds)
    text = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    assert done.returncode == 0, text
    return text


@pytest.mark.parametrize("part", range(20 if NIGHTLY else 2))
def test_histories(part, tmp_path):
    """Roots, output, exit status, commits; each goes on with the repository that the other wrote."""
    text = differ("--seed", f"{SEED}-{part}", "--cases", 100 if NIGHTLY else 12, "--seconds", 700 if NIGHTLY else 60, "--save", tmp_path)
    assert ", 0 different" in text and "upsert" in text


@pytest.mark.skipif(not NIGHTLY, reason="minutes: GREBE_TEST_NIGHTLY=1")
def test_histories__beyond_the_sample(tmp_path):
    differ("--seed", SEED, "--cases", 30, "--big", "--seconds", 700, "--save", tmp_path)


def test_races(tmp_path):
    """Both write into one repository at the same time: what was reported is there."""
    differ("--race", 5 if NIGHTLY else 1)


# ---- command lines -------------------------------------------------------------------------------------------------

POINTS = lines(many(40, 2)) + lines([("a", [1.0, 0.0], {"t": "x"}), ("b c", [0.0, -2.0], {"t": ["é", None]})])


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Both, each with a repository of the same content; commands run in a folder with a few files."""
    folder = tmp_path_factory.mktemp("pair")
    both = [Vdb("r.git", binary=[FOUND]), Vdb("r.git")]
    for k, db in enumerate(both):
        db.folder = folder / "ab"[k]
        db.folder.mkdir()
        for name, text in FILES.items():
            (db.folder / name).write_bytes(text)
        (db.folder / "folder").mkdir()
        db.ok("upsert", "c", "-", text=POINTS, cwd=db.folder)
    return both


FILES = {
    "empty": b"", "blank": b"\n \r\n\t\n", "crlf.jsonl": b'{"id":1,"vector":[1,2]}\r\n{"id":2,"vector":[2,1]}\r\n',
    "cr.jsonl": b'{"id":1,"vector":[1,2]}\r{"id":2,"vector":[2,1]}', "bom.jsonl": b'\xef\xbb\xbf{"id":1,"vector":[1,2]}\n',
    "latin.jsonl": b'{"id":"\xe9","vector":[1,2]}\n', "latin_blank.jsonl": b'{"id":1,"vector":[1,2]}\n\xa0\n',
    "nul.jsonl": b'{"id":1,"vector":[1,2]}\0\n', "long.jsonl": b'{"id":1,"vector":[1,2],"payload":{"t":"' + b"x" * 3000000 + b'"}}\n',
    "odd.jsonl": b'{"id":1,"vector":[1,2],"id":2}\n', "extra.jsonl": b'{"id":1,"vector":[1,2]} x\n', "dim.jsonl": b'{"id":1,"vector":[1]}\n',
    "two.jsonl": b'{"id":1,"vector":[1,2]}{"id":2,"vector":[1,2]}\n', "null.jsonl": b'{"id":1,"vector":[1,2],"payload":null}\n',
    "twice.jsonl": b'{"id":1,"vector":[1,2]}\n{"id":1,"vector":[1,3]}\n', "space.jsonl": '\u3000{"id":1,"vector":[1,2]}\u00a0\n'.encode(),
    "vector.json": b"[1, 2]", "object.json": b'{"vector":[1,2],"x":1}', "words.txt": b"1,2", "filter.json": b'{"must":[{"has_field":"t"}]}',
    "1,2": b"[0,1]", "{}": b'{"must":[{"key":"n","range":{"lt":5}}]}',
    "vt.jsonl": b'\x0b{"id":1,"vector":[1,2]}\x0c\n', "form.jsonl": b"\x0b\n\x0c\n\xc2\x85\n" + b'{"id":1,"vector":[1,2]}\n',
}
# What ends well and what it prints must be the same; wrong ones must fail on both sides.
READS = """
get c --ids a 1
get c --ids a --ids 1
get c --ids=a --ids=1
get c --ids=a 1
get c --ids - a
get c --ids
get --ids a -- c
get -- c
get c -- --ids
get c --limit +5
get c --limit=+5
get c --limit -1
get c --limit=-1
get c --limit=-0
get c --limit 05
get c --limit ''
get c --limit=
get c --limit 0x5
get c --limit 5.0
get c --limit 18446744073709551615
get c --limit 18446744073709551616
get c --limit 5 --limit 6
get c --offset 3 --limit 4
get c --offset 18446744073709551615
get c --lim 5
get c --with-payload --with-payload
get c --with-payload=true
get c --with-payload --with-vector --format pretty
get c --format=jsonl --with-vector
get c --format JSON
get c --format json --format json
--format pretty get c --format json --limit 1
--format json --format pretty get c
get c --at refs/git-vdb/collections/c
get c --at HEAD
get c --at ''
get c --at refs/git-vdb/collections/c^{tree} --limit 1
get c --at refs/git-vdb/collections/c:meta.json
get c --filter filter.json --limit 3
get c --filter {} --limit 3
get c --filter folder
get c --filter empty
get c --filter ''
get c --filter '{"must":[]}' --limit 2
get c --filter '{"must":[],"must":[]}'
get c --filter ' {"must" : [ {"key":"n","range":{"lt":3}} ] } '
get c --filter '{"must":[]} x'
get c --filter nosuchfile
get c --ids ' 7 ' 007 +7 7.0 null
get c --ids '"a"' '"\\u0061"' '"'
get c --ids '' --limit 3
get c --ids=-1
get c --ids -1
count c
count c --filter '{"must_not":[{"has_field":"t"}]}'
count nosuch
count ''
count c d
count .c
count c..d
count c.lock
count c/d
search c --vector 1,2
search c --vector=1,2 --exact
search c --vector words.txt
search c --vector vector.json
search c --vector object.json
search c --vector folder
search c --vector empty
search c --vector ' 1 , 2 ' --limit 2
search c --vector '[1,2]' --limit 2
search c --vector ' [1,2]' --limit 2
search c --vector '[1,2] ' --limit 2
search c --vector '{"vector":[1,2]}' --limit 2
search c --vector '1,'
search c --vector ',1'
search c --vector ''
search c --vector=
search c --vector '1 2'
search c --vector '1,2,3'
search c --vector '[1]'
search c --vector '[]'
search c --vector '[1,"2"]'
search c --vector '[1,null]'
search c --vector inf,1
search c --vector nan,1
search c --vector 1e39,1
search c --vector 0x1,1
search c --vector +1,.5 --limit 2
search c --vector 1.,2. --limit 2
search c --vector 1e0,2E+0 --limit 2
search c --vector 1_0,2
search c --vector -1,0
search c --vector=-1,0 --limit 2
search c --vector=-0,0 --limit 2
search c --vector 0,0 --limit 2
search c --vector 1,2 --exact --approximate
search c --vector 1,2 --text x
search c
search c --vector 1,2 --vector 1,2
search c --vector 1,2 --limit 0
search c --vector 1,2 --limit 0 --approximate
search c --vector 1,2 --approximate --probes 1 --candidate-limit 3
search c --vector 1,2 --approximate --probes 18446744073709551615 --candidate-limit 18446744073709551615 --limit 2
search c --vector 1,2 --expected-vector-space x
search c --vector 1,2 --expected-vector-space ''
search c --vector 1,2 --with-payload --with-vector --format jsonl --limit 3
search c --vector 1,2 --with-payload --with-vector --format pretty --limit 3
search c --vector 1,2 --filter '{"must":[{"has_field":"nothing"}]}' --format pretty
search c --vector 1,2 --filter '{"must":[{"has_field":"nothing"}]}' --format jsonl
query c --vector 1,2 --limit 1
search c --text x
collection list
collection list --format pretty
collection list --format jsonl
collection list c
collection info c
collection info c --format pretty
collection info c --format jsonl
collection info c --at refs/git-vdb/collections/c~5
collection info nosuch
collection
collection nosuch
nosuch
history c --limit 0
history c --format jsonl --limit 0
history nosuch
diff c refs/git-vdb/collections/c refs/git-vdb/collections/c
diff c refs/git-vdb/collections/c nosuch
diff c refs/git-vdb/collections/c
validate c
validate c --full --full
validate c --full
validate c --at 4b825dc642cb6eb9a060e54bf8d69288fbee4904
doctor x
push c nosuch
pull c nosuch
restore c nosuch
index c empty
index c
completions
completions tcsh
--help
get --help
collection --help
help
help get
get help
get c -x
get c -h
-V
--db r.git --db r.git count c
--repo r.git count c
count c --db r.git
count c --repo nosuch
count c --db r.git --repo r.git
count c --db ''
"""
WRITES = """
upsert w empty
upsert w blank
upsert w nosuch
upsert w folder
upsert w crlf.jsonl
upsert w cr.jsonl
upsert w bom.jsonl
upsert w latin.jsonl
upsert w latin_blank.jsonl
upsert w nul.jsonl
upsert w long.jsonl
upsert w odd.jsonl
upsert w extra.jsonl
upsert w two.jsonl
upsert w null.jsonl
upsert w space.jsonl
upsert w vt.jsonl
upsert w form.jsonl
upsert w dim.jsonl
upsert w twice.jsonl --batch-size 1
upsert w twice.jsonl
upsert w crlf.jsonl --batch-size 0
upsert w crlf.jsonl --batch-size 1
upsert w crlf.jsonl --batch-size +1
upsert w crlf.jsonl crlf.jsonl
upsert w --input crlf.jsonl
upsert w --input crlf.jsonl crlf.jsonl
upsert w
upsert w --id x --vector 1,2
upsert w --id x
upsert w --vector 1,2
upsert w --id x --vector 1,2 crlf.jsonl
upsert w crlf.jsonl --payload {}
upsert w --id x --vector 1,2 --payload '{"a":1.50}'
upsert w --id x --vector 1,2 --payload '[]'
upsert w --id x --vector 1,2 --payload ''
upsert w --id x --vector 1,2 --payload null
upsert w --id x --vector 1,2 --payload '{"a":1} '
upsert w --id x --vector 1,2 --payload filter.json
upsert w --id x --vector 1,2 --batch-size 5
upsert w --id x --vector 1,2 --batch-size 0
upsert w --id x --vector 1,2 --progress
upsert w --id '' --vector 1,2
upsert w --id=-5 --vector 1,2
upsert w --id 18446744073709551616 --vector 1,2
upsert w --id '"7"' --vector 1,2
upsert w --id '[1]' --vector 1,2
upsert w --id 1.0 --vector 1,2
upsert w --id '"\\ud800"' --vector 1,2
upsert w --id y --vector 1,2,3
upsert w --id y --vector '[]'
upsert w --id y --vector vector.json
upsert w --id y --vector object.json
upsert w --id y --vector words.txt
upsert w --id y --vector 0.1,1e-46
upsert w --id y --vector 3.5e38,1
upsert w --id y --vector=1,2 --expect-root abc
upsert w --id y --vector=1,2 --expect-root ''
upsert w --id y --vector=1,2 --expect-root zz
upsert w crlf.jsonl --expect-root 4b825dc642cb6eb9a060e54bf8d69288fbee4904
delete w --ids x
delete w --ids x y
delete w --ids nosuch
delete w --ids - a
delete w
delete w --ids a --filter {}
delete w --filter '{"must":[{"has_field":"nothing"}]}'
delete w --filter '{"must":[{"key":"a","any":[]}]}'
delete w --ids 1 --expect-root abc
delete nosuch --ids a
collection create e --dimension 3
collection create e --dimension 3
collection create e2 --dimension 0
collection create e3
collection create e4 --dimension 2 --distance dot
collection create e5 --dimension 2 --vector-space ''
collection create e6 --dimension 2 --default-probes 0
collection create e7 --dimension 2 --default-candidate-limit 0
collection create e8 --dimension 4294967296
collection create e9 --dimension 4294967295
collection create .x --dimension 2
collection create x. --dimension 2
collection create x.lock --dimension 2
collection create x..y --dimension 2
collection create x/y --dimension 2
collection create 'x y' --dimension 2
collection create é --dimension 2
collection create - --dimension 2
collection create -x --dimension 2
collection create e10 --dimension 2 --full-scan-threshold 18446744073709551615
collection delete e
collection delete e
collection delete nosuch
restore w refs/git-vdb/collections/w~1
restore w nosuch
restore nosuch refs/git-vdb/collections/w
init .
init folder
init new/a/b --bare
init new/a/b
init empty
init
count c
history w --format jsonl --limit 0
"""
# decided (docs/decisions/0007): what git-vdb does otherwise, and why we do not follow
DIFFERENT = {"-V", "help", "help get", "init new/a/b"}


def split(text):
    import shlex
    return [(line, shlex.split(line)) for line in text.strip().splitlines()]


def same(pair, words, text=None):
    a, b = (db.run(*words, cwd=db.folder, text=text) for db in pair)
    if a.code in (101, 134):
        return None  # a panic is no behaviour to follow
    if (a.code == 0) != (b.code == 0):
        return f"exit {a.code}, ours {b.code}: {a.err.strip()[:200]!r}, ours {b.err.strip()[:200]!r}"
    if a.code == 0 and a.out != b.out and "--help" not in words and "help" not in words and "-h" not in words:
        return f"{a.out[:300]!r}, ours {b.out[:300]!r}"
    if a.code == 2 and b.code != 2 or a.code == 1 and b.code in (0, 70):
        return f"exit {a.code}, ours {b.code}: {a.err.strip()[:200]!r}, ours {b.err.strip()[:200]!r}"
    return None


@pytest.mark.parametrize("text", [READS, WRITES], ids=["reads", "writes"])
def test_command_lines(pair, text):
    found = []
    for line, words in split(text):
        problem = same(pair, words)
        if problem is not None and line not in DIFFERENT:
            found.append(f"{line}\n    {problem}")
    assert not found, "\n".join(found)


def test_command_lines__standard_input(pair):
    found = []
    for words, text in [(["upsert", "s", "-"], b""), (["upsert", "s", "-"], b"\n\n"), (["upsert", "s", "-"], b'{"id":1,"vector":[1,2]}'),
                        (["upsert", "s", "-"], b'{"id":1,"vector":[1,2]}\n{"id":'), (["upsert", "s", "--input", "-"], b'{"id":2,"vector":[1,2]}\r\n'),
                        (["upsert", "s", "--input=-"], b'{"id":3,"vector":[1,2]}\n'), (["upsert", "s", "-", "-"], b""),
                        (["upsert", "s", "-", "--batch-size", "1"], b'{"id":4,"vector":[1,2]}\n{"id":5,"vector":[1]}\n'),
                        (["upsert", "s", "-", "--batch-size", "1"], b'{"id":4,"vector":[1,2]}\n{"id":4,"vector":[2,2]}\n'),
                        (["upsert", "s", "-"], b'{"id":4,"vector":[1,2]}\n{"id":4,"vector":[2,2]}\n'), (["upsert", "s", "-"], b"\xff\n"),
                        (["upsert", "s", "-"], b'{"id":"' + b"x" * 70000 + b'","vector":[1,2]}'), (["upsert", "s", "-"], b'{"id":1.0,"vector":[1,2]}'),
                        (["upsert", "s", "-"], b'{"id":-1,"vector":[1,2]}'), (["upsert", "s", "-"], b'{"id":null,"vector":[1,2]}'),
                        (["upsert", "s", "-"], b'{"id":1,"vector":[]}'), (["upsert", "s", "-"], b'{"id":1,"vector":[1e39,2]}'),
                        (["upsert", "s", "-"], b'{"id":1,"vector":[1e400,2]}'), (["upsert", "s", "-"], b'["a",[1,2]]'),
                        (["upsert", "s", "-"], b'["a",[1,2],{},1]'), (["upsert", "s", "-"], b'["a",[1,2],null]'), (["upsert", "s", "-"], b'["a"]'),
                        (["upsert", "s", "-"], b'{"id":1,"vector":[1,2],"payload":{"a":' + b"[" * 125 + b"]" * 125 + b"}}"),
                        (["upsert", "s", "-"], b'{"id":1,"vector":[1,2],"payload":{"a":' + b"[" * 126 + b"]" * 126 + b"}}"),
                        (["upsert", "s", "-"], b'{"id":1,"vector":[1,2],"payload":{"a":"\\ud800"}}'),
                        (["upsert", "s", "-"], b'{"id":1,"vector":[1,2],"x":"\\ud800"}'), (["upsert", "s", "-"], b'{"id":1,"vector":[1,2],"x":1e999}'),
                        (["upsert", "s", "-"], b'{"id":1,"vector":[1,2],"payload":{},"payload":{}}'),
                        *[(["upsert", "s", "-"], b'{"id":1,"vector":[1,2],"x":' + x + b"}")
                          for x in (b"[" * 500 + b"]" * 500, b'{"\\udc00":1}', b'"\\x"', b'"\\u12g4"', b"[1,]", b"{,}", b'{"a":1,}', b"01", b"-", b"1.", b"tru", b'"\xff"',
                                    b'"\x01"', b'"\x7f\xc3\xa9"', b"[[],{},[{}]]", b'{"a":{"b":[1,"]"]}}', b"[}", b"nulll", b"- 1", b"1e+", b"[1 2]", b'{"a" : 1 , "b":[ ] }')],
                        (["upsert", "s", "-"], b'{"\\u0069d":9,"vector":[1,2]}'), (["get", "s"], None), (["history", "s", "--limit", "0"], None),
                        (["count", "c", "--filter", "-"], b'{"must":[{"has_field":"t"}]}'), (["count", "c", "--filter", "-"], b""),
                        (["count", "c", "--filter", "-"], b'\xef\xbb\xbf{"must":[]}'), (["count", "c", "--filter", "-"], b'{"must":[]}\n\n'),
                        (["delete", "s", "--filter", "-"], b'{"must":[{"has_id":[9]}]}'),
                        (["search", "c", "--vector", "-"], b"[1,2]"), (["validate", "s", "--full"], None)]:
        problem = same(pair, words, text)
        if problem is not None:
            found.append(f"{words} {text[:60] if text else text}\n    {problem}")
    assert not found, "\n".join(found)
    roots = [db.run("collection", "info", "s", cwd=db.folder).out for db in pair]
    assert roots[0] == roots[1]


def test_repository_of_the_environment(pair, tmp_path):
    """GIT_VDB_REPO, and what stands before and behind the sub-command."""
    for k, db in enumerate(pair):
        plain = Vdb("unused", binary=db.argv[:-2], env={"GIT_VDB_REPO": str(tmp_path / f"env{k}")})
        plain.argv = db.argv[:-2]
        assert plain.value("upsert", "c", "--id", "1", "--vector=1,2")["affected_points"] == 1
        assert plain.value("--db", tmp_path / f"other{k}", "upsert", "c", "--id", "2", "--vector=1,2")["affected_points"] == 1
        assert plain.value("--db", tmp_path / "nothing", "count", "c", "--repo", tmp_path / f"other{k}")["count"] == 1
        empty = Vdb("unused", env={"GIT_VDB_REPO": ""})
        empty.argv = db.argv[:-2]
        assert empty.run("collection", "list", cwd=tmp_path).code != 0
        nowhere = Vdb("unused")
        nowhere.argv = db.argv[:-2]
        (tmp_path / f"cwd{k}").mkdir()
        nowhere.ok("upsert", "c", "--id", "1", "--vector=1,2", cwd=tmp_path / f"cwd{k}")
        assert (tmp_path / f"cwd{k}" / ".git-vdb" / "HEAD").exists()
