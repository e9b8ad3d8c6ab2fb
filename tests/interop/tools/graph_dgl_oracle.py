#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What DGL finds in a preprocessed data set, with the Python that has DGL (graph_dgl_oracle.py FOLDER OUT.npz).

OUT.npz: arrays of the graph, `edge_NAME` and `node_NAME` attributes, features "feature_DOMAIN_TYPE_NAME", and one hop of all
neighbours of every node ("sample_indptr", "sample_indices", of graphs without types)."""
import os, sys
os.environ["DGLBACKEND"] = "pytorch"
import numpy as np
import torch
import dgl.graphbolt as gb

folder, out = sys.argv[1:]


def numbers(item):
    """All of an item: a value, a tuple of them, or {type: such}."""
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, (tuple, list)) else None
    return [int(x) for x in np.asarray(item).reshape(-1)] if parts is None else [x for part in parts for x in numbers(part)]


ds = gb.OnDiskDataset(folder, include_original_edge_id=True, force_preprocess=False).load()
g, found = ds.graph, {}
for name in ("csc_indptr", "indices", "node_type_offset", "type_per_edge"):
    if getattr(g, name) is not None:
        found[name] = getattr(g, name).numpy()
for kind, attributes in (("edge", g.edge_attributes), ("node", g.node_attributes)):
    for name, values in (attributes or {}).items():
        found[f"{kind}_{name}"] = values.numpy()
for (domain, type_, name), feature in ds.feature._features.items():
    found[f"feature_{domain.value}_{type_}_{name}"] = feature.read().numpy()
for i, task in enumerate(ds.tasks):
    for item in list(task.train_set)[:5] if task.train_set is not None else []:
        found[f"task_{i}"] = np.array(numbers(item))
if g.node_type_offset is None:
    n = g.total_num_nodes
    s = g.sample_neighbors(torch.arange(n, dtype=g.indices.dtype), torch.tensor([-1]))
    found["sample_indptr"], found["sample_indices"] = s.sampled_csc.indptr.numpy(), s.sampled_csc.indices.numpy()
np.savez(out, **found)
