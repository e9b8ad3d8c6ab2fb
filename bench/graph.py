#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sampling and loading of one graph for training in several engines, side by side in one run.

    graph.py --work DIR [--nodes 1000000] [--edges 20000000] [--threads 1,2] [--reps 5] [--only ENGINE] [--ops a,b,c]
             [--lock FILE] [--out results.jsonl]

A directed graph whose degrees fall off as a power in both directions, weights of edges, 100 float32 a node, a fifth of the nodes as
training items with labels; made by a fixed seed, once per --work folder. Each engine preprocesses a folder of its own.

Engines: grebe, dgl (GraphBolt: `pip install dgl==2.1.0 torch==2.2.1 "numpy<2" torchdata==0.7.1 pandas pyyaml pydantic`), pyg (torch_geometric with
pyg_lib or torch_sparse). One that cannot be imported gives one line with `error`.

Operations, each in a process of its own, after one call that does not count:
  preprocess       seconds from raw arrays to what can be sampled, page cache warm
  sample           edges a second, renumbered: 1,024 seeds, three hops of 5, 10 and 15 neighbours without replacement
  sample_weighted  the same by weight of the edges                      sample_layer   the same, layer-dependent (LABOR)
  rows_1k, rows_300k   gigabytes a second: rows of features by random id, of an array in memory
  mapped_300k      the same of a mapped file
  items            items a second: an epoch of shuffled (seed, label), 1,024 a batch, nothing sampled
  negatives        drawn a second: 5 for each pair, 1,024 pairs a call
  loop             batches a second, as a training loop sees them: shuffled, sampled, with rows of features

Prints one JSON line per engine, operation and number of threads: median and best of --reps repetitions by the wall clock, and the
work for each second of processor time, which is what to compare on a machine that others use (load1). `check` is the number of all edges
that lead to 1,000 nodes, which every engine must agree on. At the end, one line per operation: how many times as much grebe does, by the
median and for each second of processor time.
"""
import argparse, json, os, shutil, statistics, sys, time

import processes

FANOUTS, BATCH, WIDTH, SEED, LOOP = [15, 10, 5], 1024, 100, 42, 10      # outermost hop first; LOOP: batches of one repetition


# ---------------------------------------------------------------------------------------------------- the data
def make(root, nodes, edges):
    import numpy as np
    done, key = os.path.join(root, "made"), f"{nodes} {edges}"
    if os.path.exists(done) and open(done).read() == key:
        return
    shutil.rmtree(root, ignore_errors=True)
    os.makedirs(root)
    rng = np.random.default_rng(SEED)
    ends = [rng.permutation(nodes)[(nodes * rng.random(edges) ** 2.5).astype(np.int64)] for _ in range(2)]
    np.save(f"{root}/edges.npy", np.stack(ends))
    np.save(f"{root}/weight.npy", rng.uniform(0.01, 1.01, edges).astype(np.float32))
    np.save(f"{root}/x.npy", rng.random((nodes, WIDTH), dtype=np.float32))
    items = rng.permutation(nodes)[: nodes // 5]
    np.save(f"{root}/seeds.npy", items)
    np.save(f"{root}/labels.npy", items % 10)
    column = "{{format: numpy, name: {0}, path: {0}.npy}}".format
    with open(f"{root}/metadata.yaml", "w") as f:
        f.write(f"""dataset_name: bench
graph:
  nodes: [{{num: {nodes}}}]
  edges: [{{format: numpy, path: edges.npy}}]
  feature_data: [{{domain: edge, name: weight, format: numpy, path: weight.npy}}]
feature_data:
- {{domain: node, name: x, format: numpy, in_memory: true, path: x.npy}}
- {{domain: node, name: mapped, format: numpy, in_memory: false, path: x.npy}}
tasks:
- name: classify
  train_set: [{{data: [{column('seeds')}, {column('labels')}]}}]
""")
    with open(done, "w") as f:
        f.write(key)


def own_copy(root, to):
    """The raw data set by links, for one engine to preprocess."""
    shutil.rmtree(to, ignore_errors=True)
    os.makedirs(to)
    for name in os.listdir(root):
        (shutil.copy if name.endswith(".yaml") else os.link)(os.path.join(root, name), os.path.join(to, name))
    for name in os.listdir(to):                                          # page cache
        with open(os.path.join(to, name), "rb") as f:
            while f.read(1 << 24): pass


# ------------------------------------------------------------------------------------------------- the engines
class Engine:
    """make() preprocesses, open() opens; every op_NAME() gives a call that does a piece of work and returns how much, and the unit."""

    def __init__(self, folder, threads):
        self.folder, self.threads = folder, threads

    def draws(self, how_many):
        import numpy as np
        rng, train = np.random.default_rng(SEED), np.load(f"{self.folder}/seeds.npy")
        self.batches = [rng.choice(train, BATCH, replace=False) for _ in range(how_many)]
        self.nodes = len(np.load(f"{self.folder}/x.npy", mmap_mode="r"))
        self.ids = {n: [rng.integers(0, self.nodes, n) for _ in range(k)] for n, k in ((1024, 300), (300_000, 6))}   # more rows than a cache holds
        self.pairs = [rng.integers(0, self.nodes, (BATCH, 2)) for _ in range(how_many)]
        self.at = 0

    def next_of(self, choices):
        self.at += 1
        return choices[self.at % len(choices)]

    def rows(self, read, n):
        def call():
            got = read(self.next_of(self.ids[n]))
            assert tuple(got.shape) == (n, WIDTH)
            return n * WIDTH * 4 / 1e9
        return call, "GB"


class Grebe(Engine):
    def __init__(self, *a):
        super().__init__(*a)
        import grebe.graph
        self.m = grebe.graph

    def make(self):
        self.m.preprocess(self.folder, include_original_edge_id=True, threads=self.threads)

    def open(self):
        self.g = self.m.open(self.folder, threads=self.threads)

    def check(self):
        return self.g.sample_neighbors(list(range(1000)), [-1]).num_edges

    def sampled(self, **how):
        return lambda: self.g.sample_neighbors(self.next_of(self.batches), FANOUTS, layer_seed=self.at, **how).num_edges, "edges"

    def op_sample(self): return self.sampled()
    def op_sample_weighted(self): return self.sampled(probs="weight")
    def op_sample_layer(self): return self.sampled(method="labor")
    def op_rows_1k(self): return self.rows(self.g.features["x"].read, 1024)
    def op_rows_300k(self): return self.rows(self.g.features["x"].read, 300_000)
    def op_mapped_300k(self): return self.rows(self.g.features["mapped"].read, 300_000)

    def op_items(self):
        return lambda: sum(len(b["labels"]) for b in self.g.batches("classify", batch_size=BATCH, shuffle=True, seed=SEED)), "items"

    def op_negatives(self):
        return lambda: len(self.g.sample_negatives(self.next_of(self.pairs), 5, seed=self.at)) - BATCH, "negatives"

    def op_loop(self):
        def call():
            n = 0
            for b in self.g.loader("classify", fanouts=FANOUTS, batch_size=BATCH, shuffle=True, seed=SEED, features=["x"]):
                n += 1
                if n == LOOP: return n
        return call, "batches"


class Dgl(Engine):
    def __init__(self, *a):
        super().__init__(*a)
        os.environ["DGLBACKEND"] = "pytorch"
        import torch, dgl.graphbolt as gb
        self.t, self.gb = torch, gb
        torch.set_num_threads(self.threads)

    def make(self):
        self.gb.preprocess_ondisk_dataset(self.folder, include_original_edge_id=True, force_preprocess=True)

    def open(self):
        self.ds = self.gb.OnDiskDataset(self.folder, include_original_edge_id=True).load()
        self.g = self.ds.graph

    def check(self):
        return len(self.g.sample_neighbors(self.t.arange(1000, dtype=self.g.indices.dtype), self.t.tensor([-1])).sampled_csc.indices)

    def sampled(self, sampler, **how):
        def call():
            seeds, n = self.t.as_tensor(self.next_of(self.batches)).to(self.g.indices.dtype), 0
            for fanout in reversed(FANOUTS):
                found = sampler(seeds, self.t.tensor([fanout]), **how).sampled_csc
                seeds = self.gb.unique_and_compact_csc_formats(found, seeds)[0]
                n += len(found.indices)
            return n
        return call, "edges"

    def read(self, name):
        return lambda ids: self.ds.feature.read("node", None, name, self.t.as_tensor(ids))

    def op_sample(self): return self.sampled(self.g.sample_neighbors)
    def op_sample_weighted(self): return self.sampled(self.g.sample_neighbors, probs_name="weight")
    def op_sample_layer(self): return self.sampled(self.g.sample_layer_neighbors)
    def op_rows_1k(self): return self.rows(self.read("x"), 1024)
    def op_rows_300k(self): return self.rows(self.read("x"), 300_000)
    def op_mapped_300k(self): return self.rows(self.read("mapped"), 300_000)

    def items(self):
        return self.gb.ItemSampler(self.ds.tasks[0].train_set, batch_size=BATCH, shuffle=True)

    def op_items(self): return lambda: sum(len(b.labels) for b in self.items()), "items"

    def op_negatives(self):
        f = getattr(self.g, "sample_negative_edges_uniform_2", None) or self.g.sample_negative_edges_uniform    # the former in 2.1 alone
        return lambda: len(f(None, self.t.as_tensor(self.next_of(self.pairs)), 5)) - BATCH, "negatives"

    def op_loop(self):
        def call():
            steps, n = self.items().sample_neighbor(self.g, FANOUTS).fetch_feature(self.ds.feature, node_feature_keys=["x"]), 0
            for _ in self.gb.DataLoader(steps, num_workers=0):
                n += 1
                if n == LOOP: return n
        return call, "batches"


class Pyg(Engine):
    def __init__(self, *a):
        super().__init__(*a)
        import torch, torch_geometric.typing
        if not (torch_geometric.typing.WITH_PYG_LIB or torch_geometric.typing.WITH_TORCH_SPARSE):
            raise ImportError("torch_geometric samples with pyg_lib or torch_sparse, of which there is neither")
        self.t = torch
        torch.set_num_threads(self.threads)

    def make(self):
        """It has no form on disk of its own: the sorted lists, saved."""
        import numpy as np
        from torch_geometric.utils import index_sort
        source, target = self.t.from_numpy(np.load(f"{self.folder}/edges.npy"))
        target, order = index_sort(target, stable=True)
        self.t.save(self.t.stack([source[order], target]), f"{self.folder}/sorted.pt")

    def open(self):
        import numpy as np
        from torch_geometric.data import Data
        read = lambda name: self.t.from_numpy(np.load(f"{self.folder}/{name}.npy"))
        self.data = Data(x=read("x"), edge_index=self.t.load(f"{self.folder}/sorted.pt"))
        self.seeds = read("seeds")

    def loader(self, fanouts, seeds, batch, **how):
        from torch_geometric.loader import NeighborLoader
        return NeighborLoader(self.data, fanouts, input_nodes=seeds, batch_size=batch, is_sorted=True, **how)

    def check(self):
        return next(iter(self.loader([-1], self.t.arange(1000), 1000))).num_edges

    def op_sample(self):
        from torch_geometric.sampler import NeighborSampler, NodeSamplerInput
        s = NeighborSampler(self.data, FANOUTS[::-1], is_sorted=True)
        return lambda: len(s.sample_from_nodes(NodeSamplerInput(None, self.t.as_tensor(self.next_of(self.batches)))).row), "edges"

    def op_rows_1k(self): return self.rows(lambda ids: self.data.x.index_select(0, self.t.as_tensor(ids)), 1024)
    def op_rows_300k(self): return self.rows(lambda ids: self.data.x.index_select(0, self.t.as_tensor(ids)), 300_000)

    def op_loop(self):
        loader = self.loader(FANOUTS[::-1], self.seeds, BATCH, shuffle=True)

        def call():
            n = 0
            for _ in loader:
                n += 1
                if n == LOOP: return n
        return call, "batches"


ENGINES = {"grebe": Grebe, "dgl": Dgl, "pyg": Pyg}
NEEDS = {"grebe": "grebe", "dgl": "dgl", "pyg": "torch_geometric"}
OPS = ["sample", "sample_weighted", "sample_layer", "rows_1k", "rows_300k", "mapped_300k", "items", "negatives", "loop"]
ONE_THREAD = ("items", "negatives")
CALLS = {"sample": 10, "sample_layer": 10, "sample_weighted": 3, "rows_1k": 300, "rows_300k": 3, "mapped_300k": 3, "negatives": 200}   # of a repetition


# ------------------------------------------------------------------------------------------------- measurement
def child(a):
    e = ENGINES[a.child](os.path.join(a.work, a.child), int(a.threads))
    if a.ops == "preprocess":
        own_copy(os.path.join(a.work, "raw"), e.folder)
        t, cpu = time.perf_counter(), time.process_time()
        e.make()
        t, cpu = time.perf_counter() - t, time.process_time() - cpu
        e.open()
        print(json.dumps({"unit": "s", "seconds": round(t, 3), "cpu_seconds": round(cpu, 3), "check": e.check()}))
        return
    e.draws(10)
    e.open()
    op = getattr(e, "op_" + a.ops, None)
    if op is None:
        print(json.dumps({"skip": True}))
        return
    call, unit = op()
    call()
    rates, done, cpu = [], 0, time.process_time()
    for _ in range(a.reps):
        t, n = time.perf_counter(), 0
        for _ in range(CALLS.get(a.ops, 1)): n += call()
        rates.append(n / (time.perf_counter() - t))
        done += n
    cpu = time.process_time() - cpu
    figures = {"median": statistics.median(rates), "best": max(rates), "per_cpu_second": done / cpu}
    print(json.dumps({"unit": unit + "/s", **{k: float(f"{v:.4g}") for k, v in figures.items()}, "runs": a.reps}))


def run(a, engine, op, threads):
    """The record of a child, or {"error": …}."""
    return processes.child(os.path.abspath(__file__), "--child", engine, "--ops", op, "--threads", threads, "--work", a.work, "--reps", a.reps,
                           lock=a.lock, env=dict(os.environ, OMP_NUM_THREADS=threads, MKL_NUM_THREADS=threads))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--work", required=True); ap.add_argument("--nodes", type=int, default=1_000_000); ap.add_argument("--edges", type=int, default=20_000_000)
    ap.add_argument("--threads", default="1,2"); ap.add_argument("--reps", type=int, default=5); ap.add_argument("--only"); ap.add_argument("--ops")
    ap.add_argument("--lock"); ap.add_argument("--out"); ap.add_argument("--child", help=argparse.SUPPRESS)
    a = ap.parse_args()
    if a.child:
        return child(a)
    say = processes.lines(a.out)
    make(os.path.join(a.work, "raw"), a.nodes, a.edges)
    threads, found, checks = a.threads.split(","), {}, {}
    say({"nodes": a.nodes, "edges": a.edges, "fanouts": FANOUTS, "batch": BATCH, "row_bytes": WIDTH * 4, "cpus": os.cpu_count(), "python": sys.version.split()[0]})
    for engine in ENGINES if not a.only else [a.only]:
        made = run(a, engine, "preprocess", threads[-1])
        say({"engine": engine, "version": processes.version(NEEDS[engine])[0] or "", "op": "preprocess", "threads": int(threads[-1]), **made})
        if "error" in made:
            continue
        found["preprocess", threads[-1], engine] = 1 / made["seconds"], 1 / made["cpu_seconds"]
        checks[engine] = made["check"]
        for op in OPS if not a.ops else a.ops.split(","):
            for n in threads[:1] if op in ONE_THREAD else threads:
                got = run(a, engine, op, n)
                if got.get("skip"): continue
                say({"engine": engine, "op": op, "threads": int(n), **got, "load1": round(os.getloadavg()[0], 1)})
                if "error" not in got: found[op, n, engine] = got["median"], got["per_cpu_second"]
    for op, n in dict.fromkeys(k[:2] for k in found):
        ours = found.get((op, n, "grebe"))
        ratios = {f"grebe/{e}": [round(x / y, 2) for x, y in zip(ours, found[op, n, e])] for e in ENGINES if e != "grebe" and ours and (op, n, e) in found}
        if ratios: say({"op": op, "threads": int(n), **ratios})
    if len(set(checks.values())) > 1:
        say({"error": f"engines see different graphs: {checks}"})
        sys.exit(1)


if __name__ == "__main__":
    main()
