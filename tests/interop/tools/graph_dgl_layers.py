#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layers of batches as DGL makes them, with the Python that has DGL (graph_dgl_layers.py FOLDER < CALLS > ANSWERS).

A call a line: {"seeds": ids or {type: ids}, "hops": n}, all neighbours each; answers are those of samples.jsonl of tests/data/graphbolt:
layers with "csc", "edge_ids", and the nodes that they come from."""
import json, os, sys
os.environ["DGLBACKEND"] = "pytorch"
os.environ["OMP_NUM_THREADS"] = "1"  # on several, 2.1.0 gives rows of more than 256 nodes in any order
answers, sys.stdout = sys.stdout, sys.stderr  # DGL prints
import torch
import dgl.graphbolt as gb

torch.set_num_threads(1)
graph = gb.OnDiskDataset(sys.argv[1], include_original_edge_id=True, force_preprocess=False).load().graph


def lists(values):
    return {k: v.tolist() for k, v in values.items()} if isinstance(values, dict) else values.tolist()


def csc_lists(csc):
    if isinstance(csc, dict):
        return {k: csc_lists(v) for k, v in csc.items()}
    return {"indptr": csc.indptr.tolist(), "indices": csc.indices.tolist()}


for line in sys.stdin:
    call = json.loads(line)
    kind = graph.indices.dtype
    if isinstance(call["seeds"], dict):
        items = gb.ItemSetDict({k: gb.ItemSet(torch.tensor(v, dtype=kind), names="seed_nodes") for k, v in call["seeds"].items()})
        n = sum(map(len, call["seeds"].values()))
    else:
        items, n = gb.ItemSet(torch.tensor(call["seeds"], dtype=kind), names="seed_nodes"), len(call["seeds"])
    pipe = gb.NeighborSampler(gb.ItemSampler(items, batch_size=n), graph, [torch.tensor([-1])] * call["hops"])
    batch = next(iter(pipe))
    layers = [{"csc": csc_lists(s.sampled_csc), "edge_ids": lists(s.original_edge_ids)} for s in batch.sampled_subgraphs]
    print(json.dumps({"layers": layers, "input_nodes": lists(batch.input_nodes)}), file=answers)
