# SPDX-License-Identifier: Apache-2.0
"""Every byte of small files changed: under a checksum an error or equal rows; anywhere else an error, or the same rows from scan and take
and for any number of threads."""
import pathlib
import random
import struct
import sys

import pyarrow as pa
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "tools"))
import parquet_check  # noqa: E402

import grebe  # noqa: E402


def table(n=40):
    rnd = random.Random(4)
    return pa.table({"i": pa.array([None if k % 7 == 0 else rnd.randrange(10**6) for k in range(n)]),
                     "s": pa.array([f"text {k % 5}" for k in range(n)]), "l": pa.array([list(range(k % 3)) for k in range(n)]),
                     "v": pa.array([[k, 0.5] for k in range(n)], pa.list_(pa.float32(), 2))})


def page_bodies(path):
    """[begin, end) of the stored bytes of every page that has a checksum."""
    b = memoryview(path.read_bytes())
    n = struct.unpack("<I", b[-8:-4])[0]
    md = parquet_check.Thrift(b, len(b) - 8 - n).struct()
    out = []
    for g in md[4]:
        for cc in g[1]:
            m = cc[3]
            start = min(x for x in (m[9], m.get(11)) if x)
            for page in parquet_check.pages(b, start, start + m[7], "x"):
                assert 4 in page["h"]
                out.append((page["at"] + page["size"] - page["h"][3], page["at"] + page["size"]))
    return out


def rows_of(path):
    """Rows by scan with one and two threads and by take, which must agree; None: an error."""
    try:
        grebe.set_threads(1)
        one = grebe.read(path).to_pyarrow()
        grebe.set_threads(2)
        assert grebe.read(path).to_pyarrow().equals(one)
    except grebe.Error:
        return None
    finally:
        grebe.set_threads(None)
    return one


OPTIONS = {"plain": dict(compression="none", encodings="plain"), "dictionary": dict(compression="zstd", encodings="dictionary"),
           "v2": dict(compression="lz4", data_page_version=2), "gzip": dict(compression="gzip", page_rows=10)}


@pytest.mark.parametrize("name", list(OPTIONS))
def test_a_changed_byte_of_a_page_is_an_error_or_changes_nothing(tmp_path, name):
    path = tmp_path / "t.parquet"
    grebe.write(path, table(), **OPTIONS[name])
    want, clean = grebe.read(path).to_pyarrow(), bytearray(path.read_bytes())
    bodies = page_bodies(path)
    assert len(bodies) >= 4 and sum(e - b for b, e in bodies) > 200
    damaged = tmp_path / "d.parquet"
    n_errors = n = 0
    for begin, end in bodies:
        for at in range(begin, end):
            clean[at] ^= 0x10 if at % 2 else 0xff
            damaged.write_bytes(clean)
            clean[at] ^= 0x10 if at % 2 else 0xff
            got = rows_of(damaged)
            assert got is None or got.equals(want), at
            n_errors, n = n_errors + (got is None), n + 1
    assert n_errors > 0.9 * n   # bytes that align values lie in no page


@pytest.mark.parametrize("name", ["plain", "dictionary"])
def test_a_changed_byte_anywhere_is_an_error_or_one_answer(tmp_path, name):
    path = tmp_path / "t.parquet"
    grebe.write(path, table(12), checksums=False, **OPTIONS[name])
    clean = bytearray(path.read_bytes())
    damaged = tmp_path / "d.parquet"
    for at in range(len(clean)):
        clean[at] ^= 0x04
        damaged.write_bytes(clean)
        clean[at] ^= 0x04
        rows_of(damaged)


def test_every_cut_is_an_error(tmp_path):
    path = tmp_path / "t.parquet"
    grebe.write(path, table(12))
    clean = path.read_bytes()
    for n in range(len(clean)):
        path.write_bytes(clean[:n])
        with pytest.raises(grebe.Error):
            grebe.read(path)


def test_variant_is_opened_as_the_struct_that_it_is(tmp_path):
    """A VARIANT-annotated group of two binaries: no decoding, no refusal, and its neighbours are read."""
    import pyarrow.parquet as pq
    path = tmp_path / "v.parquet"
    values = pa.array([{"metadata": b"\x01\x00\x00", "value": bytes([12, k])} for k in range(5)],
                      pa.struct([pa.field("metadata", pa.binary(), False), pa.field("value", pa.binary(), False)]))
    pq.write_table(pa.table({"v": values, "n": range(5)}), path, store_schema=False)
    raw = path.read_bytes()
    n = struct.unpack("<I", raw[-8:-4])[0]
    footer = bytearray(raw[-8 - n:-8])
    # The group's SchemaElement: …, 4: name "v" (18 01 'v'), 5: num_children 2 (15 04), end (00). A logicalType (field 10,
    # struct) holding the union's member 16 (VARIANT, an empty struct) goes in front of its end.
    at = footer.index(b"\x18\x01v\x15\x04")
    end = at + 5
    assert footer[end] == 0
    logical = bytes([0x5c, 0x0c, 0x20, 0x00, 0x00])   # 10: struct {16: struct {}}; long form of id 16 (zig-zag 0x20)
    footer[end:end] = logical
    path.write_bytes(raw[:-8 - n] + bytes(footer) + struct.pack("<I", len(footer)) + b"PAR1")
    got = grebe.read(path).to_pyarrow()
    assert got["v"].to_pylist() == values.to_pylist() and got["n"].to_pylist() == list(range(5))
