#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Batches sampled by times as DGL makes them, with the Python that has DGL (graph_dgl_times.py FOLDER < CALLS > ANSWERS).

A call a line: {"seeds": ids, pairs, or {type: …}, "times": the same without ends, "hops": n, "node": attribute or null, "edge": the same}."""
import json, os, sys
os.environ["DGLBACKEND"] = "pytorch"
os.environ["OMP_NUM_THREADS"] = "1"
answers, sys.stdout = sys.stdout, sys.stderr  # DGL prints
import torch
import dgl.graphbolt as gb

torch.set_num_threads(1)
graph = gb.OnDiskDataset(sys.argv[1], include_original_edge_id=True, force_preprocess=False).load().graph


def lists(values):
    return {k: v.tolist() for k, v in values.items()} if isinstance(values, dict) else None if values is None else values.tolist()


def csc_lists(csc):
    if isinstance(csc, dict):
        return {k: csc_lists(v) for k, v in csc.items()}
    return {"indptr": csc.indptr.tolist(), "indices": csc.indices.tolist()}


def items_of(seeds, times):
    return gb.ItemSet((torch.tensor(seeds, dtype=graph.indices.dtype), torch.tensor(times)), names=("seeds", "timestamp"))


for line in sys.stdin:
    call = json.loads(line)
    seeds, times = call["seeds"], call["times"]
    if isinstance(seeds, dict):
        items, n = gb.ItemSetDict({k: items_of(v, times[k]) for k, v in seeds.items()}), sum(map(len, seeds.values()))
    else:
        items, n = items_of(seeds, times), len(seeds)
    pipe = gb.TemporalNeighborSampler(gb.ItemSampler(items, batch_size=n), graph, [torch.tensor([-1])] * call["hops"], False, None,
                                      call["node"], call["edge"])
    batch = next(iter(pipe))
    layers = [{"csc": csc_lists(s.sampled_csc), "edge_ids": lists(s.original_edge_ids), "columns": lists(s.original_column_node_ids)}
              for s in batch.sampled_subgraphs]
    print(json.dumps({"layers": layers, "input_nodes": lists(batch.input_nodes), "compacted": lists(batch.compacted_seeds)}), file=answers)
