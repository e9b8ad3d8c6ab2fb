# SPDX-License-Identifier: Apache-2.0
"""Graphs for training, in the layout of DGL GraphBolt's OnDiskDataset (docs/format/graph.md).

    for problem in grebe.graph.check("citations"):
        print(problem)
    grebe.graph.preprocess("citations")
    g = grebe.graph.open("citations")
    g.features["feat"].read([3, 1, 3])                        # rows by id, a new array
    batch = g.sample_neighbors([0, 5, 9], [10, 5])            # nodes and edges around three seeds
    for batch in g.loader("paper", "train", [10, 5], batch_size=1024, shuffle=True, features=["feat"]):
        batch.items, batch.nodes, batch.layers, batch.features

Arrays are numpy's; those of a graph are read-only views of mapped files, which live as long as a view does. numpy is
needed for everything but check() and preprocess()."""

from ._graph_batch import Batch, Layer, Loader, MiniBatch, Sampler  # noqa: F401
from ._graph_data import Dataset, Feature, Features, Task, open  # noqa: F401
from ._graph_files import Problem, check, export, init, preprocess  # noqa: F401

_GRAPHBOLT = ("OnDiskDataset", "OnDiskTask", "TorchBasedFeature", "TorchBasedFeatureStore", "ItemSet", "HeteroItemSet", "ItemSetDict",
              "CSCFormatBase", "SampledSubgraph", "FusedCSCSamplingGraph", "add_reverse_edges", "exclude_seed_edges", "ItemSampler",
              "DistributedItemSampler", "NeighborSampler", "LayerNeighborSampler",
              "TemporalNeighborSampler", "TemporalLayerNeighborSampler", "UniformNegativeSampler", "SeedEdgesExcluder",
              "FeatureFetcher", "MiniBatchTransformer", "CopyTo", "DataLoader")


def __getattr__(name):
    """The names of DGL GraphBolt, read when one of them is asked for."""
    if name not in _GRAPHBOLT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import _graphbolt, _graphbolt_graph, _graphbolt_pipe
    return next(getattr(m, name) for m in (_graphbolt, _graphbolt_graph, _graphbolt_pipe) if hasattr(m, name))


def __dir__():
    return [*globals(), *_GRAPHBOLT]
