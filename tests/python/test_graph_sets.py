# SPDX-License-Identifier: Apache-2.0
"""Sets of metadata.yaml that can be read but not sampled: a check says so, as a warning, for reading is all that some sets are for."""

import numpy as np
import pytest

import grebe
import grebe.graph as gb

TYPED = """
graph:
  nodes:
  - {type: a, num: 5}
  - {type: b, num: 5}
  edges:
  - {type: "a:r:b", format: numpy, path: e.npy}
tasks:
- train_set:
"""
PLAIN = """
graph:
  nodes:
  - {num: 5}
  edges:
  - {format: numpy, path: e.npy}
tasks:
- train_set:
"""
FILES = {"one": np.arange(3), "two": np.zeros((3, 2), np.int64), "three": np.zeros((3, 3), np.int64), "none": np.zeros((3, 0), np.int64),
         "wide": np.zeros((3, 65), np.int64), "float": np.zeros(3)}
UNSAMPLED = "such a set can be read, but not be sampled"


def warnings(folder, head, kind, arrays, errors=0):
    """What a check tells of a set of that type and those (name, file)."""
    np.save(folder / "e.npy", np.array([[0, 1], [1, 0]]))
    for name, values in FILES.items():
        np.save(folder / f"{name}.npy", values)
    items = "".join(f"    - {{name: {name}, format: numpy, path: {file}.npy}}\n" for name, file in arrays)
    (folder / "metadata.yaml").write_text(head + (f"  - type: \"{kind}\"\n    data:\n" if kind else "  - data:\n") + items)
    found = gb.check(folder, deep=True)
    assert len([p for p in found if p.is_error]) == errors
    return [f"{p.line} {p.field}: {p.message}" for p in found]


@pytest.mark.parametrize("head, kind, arrays", [
    (PLAIN, None, [("seeds", "one"), ("labels", "float")]), (PLAIN, None, [("seeds", "two"), ("labels", "one"), ("indexes", "one")]),
    (PLAIN, None, [("seed_nodes", "one"), ("mask", "one")]), (PLAIN, None, [("node_pairs", "two"), ("negative_dsts", "three")]),
    (PLAIN, None, [("seeds", "three")]), (TYPED, "a", [("seeds", "one")]), (TYPED, "a:r:b", [("seeds", "two")]), (TYPED, "a:b", [("seeds", "two")]),
    (TYPED, "a:r:b:s:a", [("seeds", "three")]), (TYPED, "a:b:a", [("seeds", "three")]), (PLAIN, None, [("seeds", "one"), ("seed", "one")])])
def test_sets_that_can_be_sampled_are_no_problem(tmp_path, head, kind, arrays):
    assert warnings(tmp_path, head, kind, arrays) == []
    gb.preprocess(tmp_path)
    assert len(next(iter(gb.open(tmp_path).loader(0, "train", [1], batch_size=2))).layers) == 1


@pytest.mark.parametrize("head, kind, arrays, told", [
    (TYPED, None, [("seeds", "one")], "10 tasks[0].train_set[0]: seeds without a type in a graph with types can be read, but not be sampled"),
    (TYPED, "a", [("seeds", "two")], f"two.npy: seeds of 2 nodes, which type a does not have: {UNSAMPLED}"),
    (TYPED, "a:r:b", [("seeds", "one")], f"one.npy: seeds of 1 node, of which a:r:b is no type: {UNSAMPLED}"),
    (TYPED, "a:r:b", [("seeds", "three")], f"three.npy: seeds of 3 nodes, of which r is no type: {UNSAMPLED}"),
    (TYPED, "a:b", [("node_pairs", "three")], f"three.npy: seeds of 3 nodes, which type a:b does not have: {UNSAMPLED}"),
    (PLAIN, None, [("seeds", "none")], f"none.npy: seeds of 0 nodes, expected 1 to 64: {UNSAMPLED}"),
    (PLAIN, None, [("seeds", "wide")], f"wide.npy: seeds of 65 nodes, expected 1 to 64: {UNSAMPLED}"),
    (PLAIN, None, [("items", "one"), ("labels", "one")], f"9 tasks[0].train_set[0]: there are no seeds: {UNSAMPLED}"),
    (PLAIN, None, [("seed", "one")], "10 tasks[0].train_set[0].data[0].name: did you mean seeds? Arrays of other names are handed on as they are."),
    (PLAIN, None, [("seeds", "one"), ("lables", "one")], "11 tasks[0].train_set[0].data[1].name: did you mean labels?"),
    (PLAIN, None, [("seeds", "one"), ("seeds", "two")], "11 tasks[0].train_set[0].data[1].name: seeds is there already: only one of them is")])
def test_sets_that_cannot_be_sampled_are_told(tmp_path, head, kind, arrays, told):
    found = warnings(tmp_path, head, kind, arrays)
    assert len(found) == 1 and told in found[0], found
    gb.preprocess(tmp_path)
    assert len(gb.open(tmp_path).tasks[0].train_set) == 1
    with pytest.raises(grebe.SchemaMismatch):
        gb.preprocess(tmp_path, strict=True, force=True)


@pytest.mark.parametrize("name", ["seeds", "seed_nodes", "node_pairs"])
def test_seeds_that_are_no_whole_numbers_are_errors(tmp_path, name):
    found = warnings(tmp_path, PLAIN, None, [(name, "float")], errors=1)
    assert len(found) == 1 and "float.npy: seeds must be integers, found float64" in found[0]
