# SPDX-License-Identifier: Apache-2.0
"""Damaged and hostile tables through the command, with a limit on memory and time: the right rows, or what the bytes now say, or
an exit code of the list and one line. Never a signal."""
import concurrent.futures
import io
import json
import os
import pathlib
import queue
import random
import shutil
import struct
import sys
import zlib

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
import avro_check  # noqa: E402
from arrow_same import problem  # noqa: E402
from harness import assert_same, one_line_error, run  # noqa: E402

import grebe  # noqa: E402

REFUSALS = {2, 3, 5, 6, 10, 11}
LENGTHS = (0, -1, 2**31 - 1, 2**63 - 1)
SAMPLE = int(os.environ.get("GREBE_HOSTILE_SAMPLE", "400"))
THREADS = 4


def rows(n, seed):
    r = random.Random(seed)
    pick = lambda v: None if r.random() < 0.2 else v
    return pa.table({
        "id": pa.array(range(n)), "small": pa.array([pick(i % 5) for i in range(n)], pa.int16()), "flag": pa.array([pick(i % 3 == 0) for i in range(n)]),
        "f": pa.array([pick(r.random()) for _ in range(n)]), "word": pa.array([pick(f"word{i % 7}") for i in range(n)]),
        "text": pa.array([pick("x%d" % i * (i % 9)) for i in range(n)]), "blob": pa.array([pick(r.randbytes(i % 20)) for i in range(n)], pa.binary()),
        "tags": pa.array([pick([pick(k) for k in range(i % 4)]) for i in range(n)], pa.list_(pa.int32())),
        "key": pa.array([r.randbytes(8) for _ in range(n)], pa.binary(8)),
        "vector": pa.array([[r.random() for _ in range(8)] for _ in range(n)], pa.list_(pa.float32(), 8))})


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Two files in each of two groups, a renamed column, a tag."""
    path = tmp_path_factory.mktemp("hostile") / "t"
    made = grebe.create(path, rows(120, 1), durable=False, row_group_rows=50)
    made = made.append(rows(40, 2), durable=False)
    made = made.rename_column("small", "little", durable=False)
    made.tag("good", message="before anything happened")
    return path


@pytest.fixture(scope="module")
def good(table):
    return pa.table(grebe.open(table).scan()).combine_chunks()


@pytest.fixture
def copies(table, tmp_path):
    """Copies of the table to damage, one for each thread."""
    pool = queue.Queue()
    for i in range(THREADS):
        shutil.copytree(table, tmp_path / f"t{i}")
        pool.put(tmp_path / f"t{i}")
    return pool


def data_file(table, group):
    """The first file of a group, relative to the table."""
    path = json.loads(run("info", table, "--format", "json").out)["groups"][group]["files"][0]["path"]
    return pathlib.Path(path).relative_to(table)


IDS = "119,0,159,120,7,7,63"
VERBS = {"head": ("head",), "scan": ("scan", "--format", "arrow"), "take": ("take", "--rows", IDS, "--format", "arrow"),
         "check": ("check",), "deep": ("check", "--deep")}


def look(path, verb, good):
    """'' or what is wrong with a run; second: whether it gave other rows than the undamaged table."""
    ran = run(VERBS[verb][0], path, *VERBS[verb][1:])
    if ran.code == 0:
        if ran.err:
            return f"{verb}: exit 0 with {ran.message[:200]!r}", False
        if verb not in ("scan", "take"):
            return "", False
        try:
            got = ran.rows()
            got.validate(full=True)
        except pa.ArrowInvalid as e:
            # bytes of a text are given as they are, as pyarrow does; a deep check tells
            if "Invalid UTF8" in str(e) and run("check", path, "--deep").out != b"ok\n":
                return "", True
            return f"{verb}: exit 0 with rows that are not valid: {e}", False
        want = good.take(list(map(int, IDS.split(",")))) if verb == "take" else good
        return "", problem(got, want, exact_nan=True) is not None
    if verb in ("check", "deep") and ran.code == 5 and ran.out and not ran.err:
        return "", False
    wrong = one_line_error(ran, REFUSALS)
    return f"{verb}: {wrong}" if wrong else "", False


def damage(copies, name, good, changes, verbs=("head", "scan", "take", "check"), deep=True):
    """Write each (label, bytes) in place of the file and look; gives the failures and counts what was seen."""
    failures, silent = [], []
    seen = {"refused or right": 0, "other rows": 0}

    def one(change):
        label, content = change
        path = copies.get()
        try:
            before = (path / name).read_bytes()
            (path / name).write_bytes(content)
            differs = False
            for verb in verbs:
                wrong, other = look(path, verb, good)
                differs = differs or other
                if wrong:
                    failures.append(f"{label}: {wrong}")
            seen["other rows" if differs else "refused or right"] += 1
            if differs and deep:
                ran = run("check", path, "--deep")
                if ran.code == 0 and not ran.out.startswith((b"severity", b"| severity")) and b"warning" not in ran.out:
                    silent.append(label)
            (path / name).write_bytes(before)
        finally:
            copies.put(path)
    with concurrent.futures.ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(one, changes))
    print(name, seen, "not found by check --deep:", silent)
    assert not failures, "\n".join(failures[:20])
    return silent


def truncations(content, n):
    sizes = sorted({0, 1, 3, 4, 7, 8, 11, 12, len(content) - 1, len(content) - 4, len(content) - 8, len(content) - 9} |
                   {i * len(content) // n for i in range(n)})
    return [(f"cut to {size}", content[:size]) for size in sizes]


def flips(content, n, seed):
    r = random.Random(seed)
    places = range(len(content)) if len(content) <= n else sorted(r.sample(range(len(content)), n))
    out = []
    for at in places:
        bits = r.choice((1, 2, 4, 8, 16, 32, 64, 128, 255, 128))
        out.append((f"byte {at} ^ {bits}", content[:at] + bytes([content[at] ^ bits]) + content[at + 1:]))
    return out


def test_manifest_cut_and_flipped(table, copies, good):
    name = "_metadata/manifest-3.avro"
    content = (table / name).read_bytes()
    body = 2485     # what is in front of it is mostly the schema's text
    changes = truncations(content, 60) + flips(content, SAMPLE // 4, 1)
    changes += [(f"body {label}", content[:body] + part) for label, part in flips(content[body:], SAMPLE * 3 // 4, 2)]
    damage(copies, name, good, changes, verbs=("scan", "take", "check"), deep=False)


@pytest.mark.parametrize("group", [0, 1])
def test_data_file_cut_and_flipped(table, copies, good, group):
    name = data_file(table, group)
    content = (table / name).read_bytes()
    footer = len(content) - 8 - struct.unpack("<I", content[-8:-4])[0]
    damage(copies, name, good, truncations(content, 40))
    silent = damage(copies, name, good, [(f"pages {label}", part + content[footer:]) for label, part in flips(content[:footer], SAMPLE // 2, 3)])
    assert silent == []   # a changed value in a page is found by the checksum of the page
    damage(copies, name, good, [(f"footer {label}", content[:footer] + part) for label, part in flips(content[footer:], SAMPLE // 2, 4)])


@pytest.mark.parametrize("form", [{"compression": "none"}, {"compression": "none", "data_page_version": "2.0", "use_dictionary": False},
                                  {"compression": "lz4", "write_page_index": True}], ids=["plain", "no_dictionary", "lz4"])
def test_files_of_others_flipped(tmp_path, form):
    """Without a checksum a changed value cannot be told from another; what is given is valid Arrow all the same."""
    want = rows(150, 3)
    pq.write_table(want, tmp_path / "good.parquet", row_group_size=60, **form)
    content = (tmp_path / "good.parquet").read_bytes()
    footer = len(content) - 8 - struct.unpack("<I", content[-8:-4])[0]
    changes = flips(content[:footer], SAMPLE // 2, 8)
    changes = [(label, part + content[footer:]) for label, part in changes]
    changes += [(label, content[:footer] + part) for label, part in flips(content[footer:], SAMPLE // 2, 9)] + truncations(content, 30)
    failures = []

    def one(change):
        path = tmp_path / f"{change[0].replace(' ', '_')}.parquet"
        path.write_bytes(change[1])
        for verb in ("scan", "take", "deep"):
            wrong, _ = look(path, verb, want)
            if wrong:
                failures.append(f"{change[0]}: {wrong}")
        path.unlink()
    with concurrent.futures.ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(one, changes))
    assert not failures, "\n".join(failures[:20])


# ---- length fields ---------------------------------------------------------------------------------------------------

def zigzag(v):
    v = (v << 1) ^ (v >> 63)
    return varint(v & (2**64 - 1))


def varint(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def avro_longs(body):
    """(begin, end) of every number of a manifest's body: counts, lengths, row ranges."""
    places = []
    at = 0

    def long():
        nonlocal at
        begin = at
        value, at = avro_check.long(body, at)
        places.append((begin, at))
        return value

    def text():
        nonlocal at
        n = long()
        at += n

    def each(item):
        while (count := long()) != 0:
            for _ in range(count):
                item()

    def pairs():
        each(lambda: (text(), text()))
    each(lambda: (each(text), each(lambda: (text(), long(), long(), pairs())), text()))   # groups
    each(lambda: (text(), long(), long()))                                                # delta logs
    each(lambda: (text(), each(text), pairs()))                                           # statistics
    long()                                                                                # indexes
    long()                                                                                # LOB files
    assert at == len(body)
    return places


def test_manifest_length_fields(table, copies, good):
    name = "_metadata/manifest-3.avro"
    content = (table / name).read_bytes()
    _, ((_, body),) = avro_check.container(content)
    begin = content.index(body, 2485)
    start, sync = content[:begin - len(zigzag(len(body)))], content[-16:]
    changes = [(f"block length {v}", start + zigzag(v) + body + sync) for v in LENGTHS]
    changes += [(f"record count {v}", start[:-1] + zigzag(v) + zigzag(len(body)) + body + sync) for v in LENGTHS]
    changes += [(f"header count {v}", content[:4] + zigzag(v) + content[5:]) for v in LENGTHS]
    changes += [(f"schema length {v}", content[:33] + zigzag(v) + content[35:]) for v in LENGTHS]
    numbers = avro_longs(body)
    r = random.Random(6)
    r.shuffle(numbers)
    for first, last in numbers[:SAMPLE // 4]:
        for v in LENGTHS:
            new = body[:first] + zigzag(v) + body[last:]
            changes.append((f"number at {first} = {v}", start + zigzag(len(new)) + new + sync))
    damage(copies, name, good, changes, verbs=("scan", "take", "check"), deep=False)


class Thrift:
    """A walk over compact Thrift that notes where its numbers are: integers, sizes of lists, lengths of texts."""

    def __init__(self, raw, at):
        self.raw, self.at, self.places, self.fields = raw, at, [], {}

    def number(self, is_length):
        begin = self.at
        while self.raw[self.at] & 128:
            self.at += 1
        self.at += 1
        self.places.append((begin, self.at, is_length))
        value = shift = 0
        for b in self.raw[begin:self.at]:
            value |= (b & 127) << shift
            shift += 7
        return value if is_length else (value >> 1) ^ -(value & 1)

    def value(self, kind, in_list=False):
        if kind in (1, 2):
            self.at += in_list
        elif kind == 3:
            self.at += 1
        elif kind in (4, 5, 6):
            return self.number(False)
        elif kind == 7:
            self.at += 8
        elif kind == 8:
            n = self.number(True)
            self.at += n
        elif kind in (9, 10):
            head = self.raw[self.at]
            self.at += 1
            n = head >> 4
            if n == 15:
                n = self.number(True)
            for _ in range(n):
                self.value(head & 15, True)
        elif kind == 12:
            return self.struct()
        return None

    def struct(self):
        field, out = 0, {}
        while (head := self.raw[self.at]) != 0:
            self.at += 1
            field = field + (head >> 4) if head >> 4 else self.number(False)
            out[field] = self.value(head & 15)
        self.at += 1
        return out


def with_number(raw, place, v):
    begin, end, is_length = place
    return raw[:begin] + (varint(v & (2**64 - 1)) if is_length else zigzag(v)) + raw[end:]


@pytest.mark.parametrize("group", [0, 1])
def test_data_file_length_fields(table, copies, good, group):
    name = data_file(table, group)
    content = (table / name).read_bytes()
    length = struct.unpack("<I", content[-8:-4])[0]
    pages, footer = content[:-8 - length], content[-8 - length:-8]
    r = random.Random(7)
    changes = [(f"footer length {v}", content[:-8] + struct.pack("<I", v & 0xFFFFFFFF) + b"PAR1") for v in (0, -1, 1, 8, 2**31 - 1, len(content) - 8)]
    walk = Thrift(footer, 0)
    walk.struct()
    assert walk.at == len(footer)
    places = [(p, v) for p in walk.places for v in LENGTHS]
    for place, v in sorted(r.sample(places, min(len(places), SAMPLE))):
        new = with_number(footer, place, v)
        changes.append((f"footer number at {place[0]} = {v}", pages + new + struct.pack("<I", len(new)) + b"PAR1"))
    # page headers: what is behind moves by some bytes, so that only the first column that is hit means what it says
    metadata = pq.ParquetFile(io.BytesIO(content)).metadata
    heads = []
    for g in range(metadata.num_row_groups):
        for c in range(metadata.num_columns):
            chunk = metadata.row_group(g).column(c)
            walk = Thrift(content, chunk.dictionary_page_offset or chunk.data_page_offset)
            walk.struct()
            heads += [(p, v) for p in walk.places for v in LENGTHS]
    for place, v in sorted(r.sample(heads, min(len(heads), SAMPLE // 2))):
        changes.append((f"page header number at {place[0]} = {v}", with_number(content, place, v)))
    damage(copies, name, good, changes, verbs=("scan", "take", "check"), deep=False)


# ---- manifests that lie ----------------------------------------------------------------------------------------------

@pytest.fixture
def lie(table, tmp_path):
    """Write another manifest in place of version 3, made by `change` of its record; gives the folder."""
    path = tmp_path / "lie"
    shutil.copytree(table, path)
    raw = (path / "_metadata" / "manifest-3.avro").read_bytes()
    schema = fastavro.parse_schema(json.loads(avro_check.container(raw)[0]["avro.schema"]))

    def write(change, codec="null"):
        (record,) = fastavro.reader(io.BytesIO(raw))
        change(record)
        with open(path / "_metadata" / "manifest-3.avro", "wb") as f:
            fastavro.writer(f, schema, [record], codec=codec)
        return path
    return write


def refused(path, codes=REFUSALS, text="", verbs=("scan", "take")):
    for verb in verbs:
        ran = run(VERBS[verb][0], path, *VERBS[verb][1:], seconds=10)
        wrong = one_line_error(ran, codes)
        assert wrong is None, (verb, wrong)
        assert text in ran.message, (verb, ran)
        assert ran.out == b"" or verb == "scan", ran


def test_the_lie_that_changes_nothing(lie, good):
    path = lie(lambda record: None)
    assert_same(run("scan", path, "--format", "arrow").rows(), good)
    assert run("check", path, "--deep").code == 0


@pytest.mark.parametrize("stored", ["../../../../../../../etc/passwd", "/etc/passwd", "file:///etc/passwd", "s3://bucket/key.parquet",
                                    "http://localhost/x.parquet", "..", ".", "../_metadata/manifest-1.avro", "/dev/zero", "/dev/null",
                                    "/proc/self/mem", "nowhere.parquet", "a" * 5000, "pipe", "loop", "folder", "\x1b[31mred\n"])
def test_paths_that_lead_elsewhere(lie, stored, tmp_path):
    def change(record):
        record["column_groups"][0]["files"][0]["path"] = stored
    path = lie(change)
    os.mkfifo(path / "_data" / "pipe")
    (path / "_data" / "loop").symlink_to("loop")
    (path / "_data" / "folder").mkdir()
    refused(path, REFUSALS | ({1} if stored == "loop" else set()))
    ran = run("check", path, seconds=10)
    assert ran.code == 5 and b"root:" not in ran.out + ran.err, ran
    ran = run("scan", path, "--columns", "id")
    assert ran.code != 0 and b"root:" not in ran.out + ran.err and b"\x1b" not in ran.err, ran


@pytest.mark.parametrize("begin, end", [(0, 121), (0, 2**31), (0, 2**63 - 1), (2**63 - 2, 2**63 - 1), (-1, 119), (-2**63, 2**63 - 1),
                                        (10, 5), (7, 7), (1000, 1120), (0, 119), (0, 0), (120, 240)])
def test_row_ranges_that_lie(lie, begin, end):
    def one(record):
        record["column_groups"][0]["files"][0].update(start_index=begin, end_index=end)
    refused(lie(one), {5})
    assert run("check", lie(one)).code == 5

    def all_groups(record):
        for group in record["column_groups"]:
            group["files"][0].update(start_index=begin, end_index=end)
    path = lie(all_groups)
    refused(path, {5, 10})
    ran = run("scan", path, "--compat", "milvus", "--format", "arrow")
    if (begin, end) == (0, 119):      # a table as good as any, but for what our own entry says of its row ids
        assert ran.code == 0 and ran.rows().num_rows == 159
    elif (begin, end) == (0, 0):
        assert ran.code in {0, 5}, ran
    else:
        assert one_line_error(ran, {5, 10}) is None, ran


def test_totals_that_overflow(lie):
    def change(record):
        for group in record["column_groups"]:
            group["files"] = [dict(group["files"][0], start_index=0, end_index=2**62) for _ in range(8)]
    refused(lie(change), {5})


@pytest.mark.parametrize("properties", [{}, {"file_size": "0"}, {"file_size": "-1"}, {"file_size": "9223372036854775807"}, {"footer_size": "1"},
                                        {"footer_size": "-5"}, {"footer_size": "99999999999999999999"}, {"file_size": "x", "footer_size": "y"},
                                        {"file_size": "", "footer_size": ""}, {"other": "\0"}])
def test_sizes_that_lie(lie, good, properties):
    """Sizes are hints: without them, or with others, the rows are the same; a check tells."""
    def change(record):
        for group in record["column_groups"]:
            for file in group["files"]:
                file["properties"] = properties
    path = lie(change)
    ran = run("scan", path, "--format", "arrow")
    if ran.code == 0:
        assert_same(ran.rows(), good)
    else:
        assert one_line_error(ran, {5}) is None and "file_size" in properties, ran
    if "footer_size" in properties or not properties:
        assert ran.code == 0, ran


def test_groups_that_lie(lie, good):
    def no_files(record):
        record["column_groups"][1]["files"] = []
    refused(lie(no_files), {5})

    def other_format(record):
        record["column_groups"][1]["format"] = "vortex"
    refused(lie(other_format), {6}, "vortex")
    assert run("scan", lie(other_format), "--columns", "id", "--format", "arrow").rows().num_rows == 160

    def other_column(record):
        record["column_groups"][1]["columns"] = ["no such column"]
    ran = run("scan", lie(other_column), "--format", "arrow")
    assert ran.code == 0 and ran.rows()["no such column"].null_count == 160 if ran.code == 0 else one_line_error(ran, REFUSALS) is None

    def twice(record):
        record["column_groups"].append(dict(record["column_groups"][0]))
    path = lie(twice)
    ran = run("scan", path, "--format", "arrow")
    if ran.code == 0:
        assert_same(ran.rows(), good)
    else:
        assert one_line_error(ran, REFUSALS) is None, ran
    assert run("check", path).code == 5

    def empty_name(record):
        record["column_groups"][0]["columns"][0] = ""
    refused(lie(empty_name), {5})

    def files_of_the_other(record):
        record["column_groups"][0]["files"], record["column_groups"][1]["files"] = (record["column_groups"][k]["files"] for k in (1, 0))
    ran = run("scan", lie(files_of_the_other), "--format", "arrow")
    assert ran.code == 0 and all(c.null_count == 160 for c in ran.rows().columns) if ran.code == 0 else one_line_error(ran, REFUSALS) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"fields":5}', '{"fields":[{"name":"id"}]}', '{"fields":[{"name":"id","type":"int99"}]}',
                                  '{"fields":[{"name":"id","type":"int32"}]}', '{"fields":[{"name":"id","type":"string"}]}',
                                  '{"fields":[{"name":"id","type":"int64"},{"name":"id","type":"int64"}]}', "[" * 100_000,
                                  '{"fields":[{"name":"id","type":"' + "list<" * 5000 + "int8" + ">" * 5000 + '"}]}',
                                  '{"fields":[{"name":"vector","type":"fixed_size_list<float>[2147483647]"}]}',
                                  '{"fields":[{"name":"vector","type":"fixed_size_list<float>[-1]"}]}'])
def test_schemas_that_lie(lie, text):
    path = lie(lambda record: record["stats"]["grebe.schema"]["metadata"].update(schema=text))
    for verb in ("scan", "take", "deep"):
        wrong, _ = look(path, verb, pa.table({}))
        assert not wrong, wrong
    assert run("info", path).code in (0, 5) and run("schema", path).code in {0} | REFUSALS


@pytest.mark.parametrize("metadata", [{"rows": "999", "next": "999"}, {"rows": "-1", "next": "0"}, {"rows": "x", "next": "y"}, {"rows": "160", "next": "1"},
                                      {"rows": "160", "next": "9223372036854775807"}, {"next": "160"}, {"rows": "160", "next": "160", "runs": "0:200"},
                                      {"rows": "160", "next": "160", "runs": "0:80,0:80"}, {"rows": "160", "next": "160", "runs": "0:-1"},
                                      {"rows": "160", "next": "160", "runs": "," * 100_000}, {"rows": "160", "next": "160", "runs": "5:"}])
def test_row_ids_that_lie(lie, metadata):
    refused(lie(lambda record: record["stats"]["grebe.rowids"].update(metadata=metadata)), {5}, "grebe.rowids")


def test_bombs(lie, tmp_path):
    """A small manifest that inflates to 400 MB, and schema texts nested a million deep."""
    path = tmp_path / "bomb"
    (path / "_metadata").mkdir(parents=True)
    header = (HERE.parent / "golden" / "loon" / "manifests" / "ocf_empty.avro").read_bytes()[:2485]
    sync = header[-16:]
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(400)) + packer.flush()
    raw = header.replace(b"\x08null", b"\x0edeflate")
    assert len(raw) == len(header) + 3
    (path / "_metadata" / "manifest-1.avro").write_bytes(raw + zigzag(1) + zigzag(len(packed)) + packed + sync)
    ran = run("scan", path, memory_mib=512)
    assert ran.code in {5, 10} and one_line_error(ran, {5, 10}) is None, ran
    deep = b'{"type":"array","items":' * 1_000_000
    for text in (b"[" * 1_000_000, deep, b'{"a":' * 500_000):
        raw = b"Obj\x01" + zigzag(1) + zigzag(11) + b"avro.schema" + zigzag(len(text)) + text + b"\0" + sync + zigzag(1) + zigzag(5) + bytes(5) + sync
        (path / "_metadata" / "manifest-1.avro").write_bytes(raw)
        ran = run("scan", path, memory_mib=512)
        assert one_line_error(ran, {5, 6, 10}) is None, ran


def test_tags_that_lie(table, tmp_path):
    path = tmp_path / "t"
    shutil.copytree(table, path)
    tag = path / "_refs" / "tags" / "good.json"
    before = tag.read_bytes()
    for text in (b"", b"{", b"[]", b"null", b'{"version":-1}', b'{"version":99}', b'{"version":1.5}', b'{"version":"1"}', b"[" * 100_000,
                 b'{"version":99999999999999999999}', b"\xff\xfe", before[:-3], bytes(5_000_000)):
        tag.write_bytes(text)
        for verb in (["scan", f"{path}@good"], ["tag", path]):
            ran = run(*verb)
            assert ran.code == 0 or one_line_error(ran, {3, 5, 10}) is None, (text[:40], verb, ran)
        assert run("scan", f"{path}@good").code != 0, text[:40]
        assert run("scan", path).code == 0


def test_strange_things_in_the_folder(table, good, tmp_path):
    """Names that are almost a manifest's do not change which version is the latest."""
    path = tmp_path / "t"
    shutil.copytree(table, path)
    whole = (path / "_metadata" / "manifest-1.avro").read_bytes()
    for name in ("manifest-.avro", "manifest-x.avro", "manifest-9.avro.tmp", ".manifest-9.avro", "manifest-9", "manifest--9.avro", "manifest-0.avro",
                 "manifest-99999999999999999999.avro", "Manifest-9.avro", "manifest-9.AVRO", "manifest- 9.avro", "manifest-+9.avro", "manifest-1e3.avro",
                 "manifest-0x9.avro", "foo", "manifest-9.avrox"):
        (path / "_metadata" / name).write_bytes(whole)
    (path / "_metadata" / "sub").mkdir()
    (path / "_metadata" / "sub" / "manifest-9.avro").write_bytes(whole)
    ran = run("scan", path, "--format", "arrow")
    assert ran.code == 0, ran
    assert_same(ran.rows(), good)
    assert grebe.open(path).versions() == [1, 2, 3]
    # ten comes after nine
    (path / "_metadata" / "manifest-10.avro").write_bytes((path / "_metadata" / "manifest-3.avro").read_bytes())
    (path / "_metadata" / "manifest-9.avro").write_bytes(whole)
    assert grebe.open(path).version == 10 and grebe.open(path).versions() == [1, 2, 3, 9, 10]
    assert grebe.open(path).append(rows(1, 5).rename_columns(["little" if c == "small" else c for c in rows(1, 5).column_names]),
                                   durable=False).version == 11


@pytest.mark.parametrize("content", [b"", b"P", b"PAR1", b"PAR1PAR1", b"PAR1" + bytes(4) + b"PAR1", b"PAR1" + b"\xff" * 4 + b"PAR1", b"PARE" * 5,
                                     b"ARROW1\0\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\xff\xff\xff\xff\x7f", b"Obj\x01", b"\x89HDF\r\n\x1a\n", bytes(100_000)])
def test_files_that_are_none(tmp_path, content):
    for name in ("x.parquet", "x.arrows", "x"):
        (tmp_path / name).write_bytes(content)
        for verb in ("scan", "head", "check", "schema", "count", "info"):
            ran = run(verb, tmp_path / name, seconds=10)
            if verb == "check" and ran.code == 5 and ran.out:
                continue
            assert one_line_error(ran, {5, 6}) is None, (name, verb, ran)
        for form in ("parquet", "arrow"):
            assert one_line_error(run("scan", f"{form}:{tmp_path / name}", seconds=10), {5, 6}) is None, (name, form)
    ran = run("create", tmp_path / "t", "--from", tmp_path / "x")
    assert one_line_error(ran, {5, 6}) is None and not list((tmp_path / "t").rglob("manifest-*")), ran
