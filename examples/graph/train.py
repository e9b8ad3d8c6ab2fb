#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A graph neural network over sampled neighbours: which club the members of Zachary's karate club went to.

    train.py [FOLDER]        PYTHONPATH=build/python; numpy, and torch where it is installed

The loop is what code for DGL GraphBolt looks like, with another import. Members have no features that tell their club, only whom they meet, so each
member is one column, and a layer of GraphSAGE takes the mean of what neighbours have beside the member's own: after two hops rows say who is near.
In torch the layers have weights of their own; without torch the two means go into a logistic regression in numpy."""
import pathlib
import shutil
import sys
import tempfile

import numpy as np

import grebe.graph as gb

try:
    import torch
except ImportError:
    torch = None

EPOCHS, SEED = 40, 3


def batches(dataset, item_set, shuffle):
    pipe = gb.ItemSampler(item_set, batch_size=8, shuffle=shuffle, seed=SEED)
    pipe = pipe.sample_neighbor(dataset.graph, [10, 10])
    return gb.DataLoader(pipe)  # .fetch_feature(dataset.feature, ["degrees"]) before it brings rows of features along


def means(x, csc):
    """The mean of each column's neighbours, rows of x: edges are by column, and columns are the first rows."""
    indptr, indices = np.asarray(csc.indptr), np.asarray(csc.indices)
    sums = np.add.reduceat(np.concatenate([x[indices], np.zeros((1, x.shape[1]), x.dtype)]), indptr[:-1])
    sums[np.diff(indptr) == 0] = 0
    return sums / np.maximum(np.diff(indptr), 1)[:, None]


class Numpy:
    """Logistic regression, one step of gradient descent a batch."""

    def __init__(self, n_nodes):
        self.n_nodes, self.weights = n_nodes, np.zeros(n_nodes)

    def inputs(self, batch):
        x = np.eye(self.n_nodes)[np.asarray(batch.input_nodes)]
        for layer in batch.sampled_subgraphs:
            x = (x[:len(layer.original_column_node_ids)] + means(x, layer.sampled_csc)) / 2
        return x

    def step(self, batch):
        x, y = self.inputs(batch), np.asarray(batch.labels)
        self.weights -= 5.0 * x.T @ (1 / (1 + np.exp(-x @ self.weights)) - y) / len(y)

    def guess(self, batch):
        return self.inputs(batch) @ self.weights > 0


class Torch:
    """Two layers of GraphSAGE over a vector for each member."""

    def __init__(self, n_nodes):
        torch.manual_seed(SEED)
        self.members = torch.nn.Embedding(n_nodes, 16)
        self.layers = torch.nn.ModuleList([torch.nn.Linear(32, 16), torch.nn.Linear(32, 2)])
        self.optimizer = torch.optim.Adam([*self.members.parameters(), *self.layers.parameters()], lr=0.02)

    def scores(self, batch):
        x = self.members(batch.input_nodes)
        for i, (layer, sub) in enumerate(zip(self.layers, batch.sampled_subgraphs)):
            csc, n = sub.sampled_csc, len(sub.original_column_node_ids)
            degree = csc.indptr.diff()
            target = torch.repeat_interleave(torch.arange(n), degree)
            mean = torch.zeros(n, x.shape[1]).index_add_(0, target, x[csc.indices]) / degree.clamp(min=1)[:, None]
            x = layer(torch.cat([x[:n], mean], 1))
            x = x if i else torch.relu(x)
        return x

    def step(self, batch):
        self.optimizer.zero_grad()
        torch.nn.functional.cross_entropy(self.scores(batch), batch.labels).backward()
        self.optimizer.step()

    def guess(self, batch):
        with torch.no_grad():
            return self.scores(batch).argmax(1)


def accuracy(model, dataset, item_set):
    right = sum(int((np.asarray(model.guess(b)) == np.asarray(b.labels)).sum()) for b in batches(dataset, item_set, False))
    return right / len(item_set)


def main(folder):
    dataset = gb.OnDiskDataset(folder).load()
    task = dataset.tasks[0]
    model = (Torch if torch is not None else Numpy)(dataset.graph.total_num_nodes)
    loader = batches(dataset, task.train_set, True)
    for _ in range(EPOCHS):
        for batch in loader:
            model.step(batch)
    print(f"{dataset.dataset_name}: {dataset.graph.total_num_nodes} nodes, {dataset.graph.total_num_edges} edges")
    print(f"{type(model).__name__.lower()}, {EPOCHS} epochs of {len(loader)} batches")
    print(f"right: {accuracy(model, dataset, task.train_set):.0%} of the train set, {accuracy(model, dataset, task.test_set):.0%} of the test set")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as temporary:  # preprocessed there, not beside the example
            main(shutil.copytree(pathlib.Path(__file__).resolve().parent, pathlib.Path(temporary) / "karate"))
