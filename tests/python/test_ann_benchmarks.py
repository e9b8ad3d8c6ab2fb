# SPDX-License-Identifier: Apache-2.0
"""The module for ann-benchmarks, under a base class with the interface of that program's."""
import importlib.util
import pathlib
import sys
import types

import numpy as np
import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
FOLDER = TOP / "integrations" / "ann_benchmarks"
RNG = np.random.default_rng(3)
X, Q = RNG.standard_normal((500, 16)).astype("f4"), RNG.standard_normal((9, 16)).astype("f4")


class BaseANN:
    def done(self):
        pass

    def get_memory_usage(self):
        return 1024.0

    def get_additional(self):
        return {}


@pytest.fixture(scope="module")
def module():
    for name in ("annb", "annb.algorithms", "annb.algorithms.base", "annb.algorithms.grebe"):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = []
    base = types.ModuleType("annb.algorithms.base.module")
    base.BaseANN = BaseANN
    sys.modules[base.__name__] = base
    spec = importlib.util.spec_from_file_location("annb.algorithms.grebe.module", FOLDER / "module.py")
    m = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = m
    spec.loader.exec_module(m)
    yield m
    for name in [n for n in sys.modules if n.split(".")[0] == "annb"]:
        del sys.modules[name]


def truth(metric, k):
    a, b = X.astype("f8"), Q.astype("f8")
    if metric == "euclidean":
        d = ((b[:, None] - a[None]) ** 2).sum(2)
    else:
        d = -(b @ a.T) / np.linalg.norm(b, axis=1)[:, None] / np.linalg.norm(a, axis=1)[None]
    return np.argsort(d, axis=1)[:, :k]


@pytest.mark.parametrize("metric", ["euclidean", "angular"])
@pytest.mark.parametrize("args, value", [(("flat",), None), (("hnsw", {"M": 16}), 200), (("graph", {"quant": "sq8"}), 200),
                                         (("ivf", {"lists": 8}, "nprobe"), 8), (("graph",), {"ef": 200, "rerank": 50})])
def test_protocol_of_a_run(module, metric, args, value):
    algo = module.Grebe(metric, *args)
    before = algo.get_memory_usage()
    algo.fit(X)
    assert algo.get_memory_usage() >= before
    if value is not None:
        algo.set_query_arguments(value)
    found = [list(algo.query(q, 10)) for q in Q]
    assert all(len(set(row)) == 10 for row in found)  # the runner asserts that ids are unique
    hits = sum(len(set(a) & set(b)) for a, b in zip(found, truth(metric, 10).tolist()))
    assert hits >= 0.97 * 90
    assert algo.batch_query(Q, 10) is None
    assert [list(row) for row in algo.get_batch_results()] == found
    assert algo.get_additional()["grebe_index_bytes"] > 0
    assert str(algo) == algo.name and algo.name.startswith(f"grebe {args[0]}")
    algo.done()
    algo.done()


def test_fewer_rows_than_asked_for(module):
    algo = module.Grebe("euclidean", "flat")
    algo.fit(X[:4])
    assert sorted(algo.query(Q[0], 10)) == [0, 1, 2, 3]
    algo.batch_query(Q, 10)
    assert [len(row) for row in algo.get_batch_results()] == [4] * 9


def test_bits(module):
    bits = RNG.integers(0, 2, (200, 64)).astype(bool)
    algo = module.Grebe("hamming", "flat")
    algo.fit(bits)
    want = (bits[5] != bits).sum(1)
    assert want[algo.query(bits[5], 5)].tolist() == sorted(want)[:5]


def test_config_fits_the_module(module):
    yaml = pytest.importorskip("yaml")
    config = yaml.safe_load((FOLDER / "config.yml").read_text())
    assert set(config) == {"float", "bit"}
    for point, metrics in config.items():
        for metric, entries in metrics.items():
            for entry in entries:
                assert {"base_args", "constructor", "disabled", "docker_tag", "module", "name", "run_groups"} == set(entry)
                for group in entry["run_groups"].values():
                    algo = getattr(module, entry["constructor"])("euclidean" if metric == "any" else metric, *group["args"])
                    algo.fit(X if point == "float" else X > 0)
                    for values in group["query_args"]:
                        for value in values[:2]:
                            algo.set_query_arguments(value)
                            assert len(algo.query(Q[0] if point == "float" else Q[0] > 0, 3)) == 3
                    algo.done()
