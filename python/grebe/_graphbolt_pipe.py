# SPDX-License-Identifier: Apache-2.0
"""GraphBolt's names: batches, and the steps of a pipeline that makes them."""

import operator

from ._errors import SchemaMismatch
from ._graph_tensors import array, integers, is_mapping, tensor, torch
from ._graphbolt_graph import exclude_seed_edges, fanout_rows, layers_of


class MiniBatch:
    """What a pipeline hands on: seeds, labels, indexes, sampled_subgraphs (the outermost first), input_nodes, node_features,
    edge_features, compacted_seeds; other names of a set as they are."""

    def __init__(self, **fields):
        self.seeds = self.labels = self.indexes = self.sampled_subgraphs = self.input_nodes = None
        self.node_features = self.edge_features = self.compacted_seeds = self._batch = None
        self.__dict__.update(fields)

    def node_ids(self):
        return self.input_nodes

    def num_layers(self):
        return len(self.sampled_subgraphs or ())

    def edge_ids(self, layer_id):
        return self.sampled_subgraphs[layer_id].original_edge_ids

    def to_pyg_data(self):
        """Data or HeteroData of torch_geometric (a look-alike where that is not installed), with n_id, e_id and counts by hop."""
        from ._graph_pyg import to_pyg
        return to_pyg(self._batch, self._one_feature(), self.labels)

    def _one_feature(self):
        found = self.node_features or {}
        if not is_mapping(self.input_nodes):
            return next(iter(found.values())) if len(found) == 1 else None
        by_type = {}
        for (kind, _), rows in found.items():
            by_type.setdefault(kind, []).append(rows)
        return {kind: rows[0] for kind, rows in by_type.items() if len(rows) == 1}

    def to(self, device):
        """Tensors on a device."""
        def move(v):
            if is_mapping(v):
                return {k: move(x) for k, x in v.items()}
            return v.to(device) if hasattr(v, "to") else v
        for name, value in list(self.__dict__.items()):
            if not name.startswith("_") and name != "sampled_subgraphs":
                setattr(self, name, move(value))
        for s in self.sampled_subgraphs or ():
            csc = s.sampled_csc
            for c in csc.values() if is_mapping(csc) else (csc,):
                c.indptr, c.indices = move(c.indptr), move(c.indices)
            s.original_column_node_ids, s.original_row_node_ids = move(s.original_column_node_ids), move(s.original_row_node_ids)
            s.original_edge_ids = move(s.original_edge_ids)
        return self

    def __repr__(self):
        return f"MiniBatch({', '.join(k for k, v in self.__dict__.items() if v is not None and not k.startswith('_'))})"


class _Pipe:
    """One step after another; each has the methods of all steps."""

    def __init__(self, source):
        self._source = source

    def __iter__(self):
        return (self._step(b) for b in self._source)

    def __len__(self):
        return len(self._source)

    def sample_neighbor(self, graph, fanouts, replace=False, prob_name=None, deduplicate=True):
        return NeighborSampler(self, graph, fanouts, replace, prob_name, deduplicate)

    def sample_layer_neighbor(self, graph, fanouts, replace=False, prob_name=None, deduplicate=True, layer_dependency=False, batch_dependency=1):
        return LayerNeighborSampler(self, graph, fanouts, replace, prob_name, deduplicate, layer_dependency, batch_dependency)

    def temporal_sample_neighbor(self, graph, fanouts, replace=False, prob_name=None, node_timestamp_attr_name=None,
                                 edge_timestamp_attr_name=None, window=None):
        return TemporalNeighborSampler(self, graph, fanouts, replace, prob_name, node_timestamp_attr_name, edge_timestamp_attr_name, window)

    def temporal_sample_layer_neighbor(self, graph, fanouts, replace=False, prob_name=None, node_timestamp_attr_name=None,
                                       edge_timestamp_attr_name=None, window=None):
        return TemporalLayerNeighborSampler(self, graph, fanouts, replace, prob_name, node_timestamp_attr_name, edge_timestamp_attr_name, window)

    def sample_uniform_negative(self, graph, negative_ratio):
        return UniformNegativeSampler(self, graph, negative_ratio)

    def fetch_feature(self, feature_store, node_feature_keys=None, edge_feature_keys=None):
        return FeatureFetcher(self, feature_store, node_feature_keys, edge_feature_keys)

    def exclude_seed_edges(self, include_reverse_edges=False, reverse_etypes_mapping=None):
        return SeedEdgesExcluder(self, include_reverse_edges, reverse_etypes_mapping)

    def transform(self, transformer):
        return MiniBatchTransformer(self, transformer)

    def copy_to(self, device, extra_attrs=None):
        return CopyTo(self, device)


class ItemSampler(_Pipe):
    """Batches of a set. Each iteration that comes to its end is an epoch; the next one has another order when shuffled."""

    def __init__(self, item_set, batch_size, minibatcher=None, drop_last=False, shuffle=False, seed=None):
        import numpy as np
        self._items, self._batch_size, self._minibatcher = item_set, operator.index(batch_size), minibatcher
        self._drop_last, self._shuffle, self._epoch = drop_last, shuffle, 0
        self._seed = int(np.random.randint(0, 2 ** 31 - 1)) if seed is None else operator.index(seed)
        if self._batch_size < 1:
            raise ValueError(f"batch_size: expected a number from 1, found {batch_size}")

    def _range(self):
        """(first place in the order, items)."""
        n = len(self._items)
        return 0, n - n % self._batch_size if self._drop_last else n

    def __len__(self):
        return -(-self._range()[1] // self._batch_size)

    def set_epoch(self, epoch):
        self._epoch = operator.index(epoch)

    @property
    def epoch(self):
        return self._epoch

    def _order(self):
        import numpy as np
        n, module = len(self._items), torch()
        if not self._shuffle:
            return np.arange(n)
        if module is not None:
            return module.randperm(n, generator=module.Generator().manual_seed(self._seed + self._epoch)).numpy()
        return np.random.default_rng(self._seed + self._epoch).permutation(n)

    def __iter__(self):
        begin, n = self._range()
        order = self._order()[begin:begin + n]
        for i in range(len(self)):
            at = order[i * self._batch_size:(i + 1) * self._batch_size]
            found = self._items[tensor(at)]
            batch = self._minibatcher(found, self._items.names) if self._minibatcher else self._fill(found)
            batch._seed_of_batch = (self._seed + self._epoch) * 1000003 + begin // self._batch_size + i
            yield batch
        self._epoch += 1

    def _fill(self, found):
        names, fields = self._items.names or ("seeds",), {}
        for kind, values in found.items() if is_mapping(found) else ((None, found),):
            for name, v in zip(names, values if isinstance(values, tuple) else (values,)):
                name = "seeds" if name in ("seed_nodes", "node_pairs", None) else name
                if kind is None:
                    fields[name] = v
                else:
                    fields.setdefault(name, {})[kind] = v
        return MiniBatch(**_with_old_negatives(fields))


def _with_old_negatives(fields):
    """negative_srcs and negative_dsts, [n] or [n, ratio], as seeds behind the pairs, with labels and indexes that say so."""
    sources, targets = fields.pop("negative_srcs", None), fields.pop("negative_dsts", None)
    if sources is None and targets is None:
        return fields
    if "seeds" not in fields:
        raise ValueError(f"{'negative_srcs' if targets is None else 'negative_dsts'}: expected \"seeds\" in the set, "
                         "the pairs that these are negatives of")
    pairs = fields["seeds"]
    if not is_mapping(pairs):
        fields["seeds"], fields["labels"], fields["indexes"] = _pairs_and_negatives(pairs, sources, targets)
        return fields
    found = {kind: _pairs_and_negatives(v, (sources or {}).get(kind), (targets or {}).get(kind)) for kind, v in pairs.items()}
    fields["seeds"], fields["labels"], fields["indexes"] = ({kind: f[i] for kind, f in found.items()} for i in range(3))
    return fields


def _of_pairs(values, n):
    """Ends of negatives as [n, ratio]."""
    if values.size and values.dtype.kind not in "iu":
        raise TypeError(f"negatives: expected whole numbers, found {values.dtype}")
    if values.ndim not in (1, 2) or len(values) != n:
        raise ValueError(f"negatives: expected shape ({n},) or ({n}, ratio), found {values.shape}")
    return values if values.ndim == 2 else values.reshape(n, 1)


def _type_of_ids(*types):
    """A type of whole numbers, which torch has too, that holds ids of all of these."""
    import numpy as np
    found = np.result_type(*types)
    return found if found.kind == "i" or found == np.uint8 else np.dtype(np.int64)


def _pairs_and_negatives(pairs, sources, targets):
    """(seeds, labels, indexes) as tensors."""
    import numpy as np
    pairs = array(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"negatives of seeds that are no pairs, but of shape {pairs.shape}")
    given = [None if v is None else _of_pairs(array(v), len(pairs)) for v in (sources, targets)]
    widths = {v.shape[1] for v in given if v is not None}
    if len(widths) > 1:
        raise ValueError(f"negative_srcs and negative_dsts: expected as many for each pair, found {sorted(widths)}")
    ratio = widths.pop()
    ends = [np.repeat(pairs[:, i], ratio) if v is None else v.reshape(-1) for i, v in enumerate(given)]
    negatives = np.stack(ends, 1)
    kind = _type_of_ids(pairs.dtype, negatives.dtype)
    seeds = np.concatenate([pairs.astype(kind, copy=False), negatives.astype(kind, copy=False)])
    return (tensor(seeds), *(tensor(v) for v in _labels_and_indexes(len(pairs), ratio)))


def _labels_and_indexes(n, ratio):
    """Of n seeds and, behind them, `ratio` negatives of each."""
    import numpy as np
    return (np.concatenate([np.ones(n, np.float32), np.zeros(n * ratio, np.float32)]),
            np.concatenate([np.arange(n), np.repeat(np.arange(n), ratio)]))


def _split(total, parts, part, batch_size):
    """(items of a part, items before it): batches are dealt out in turn."""
    q, r = divmod(total, parts * batch_size)
    whole, last = divmod(r, batch_size)
    own = q * batch_size + (batch_size if part < whole else last if part == whole else 0)
    return own, q * part * batch_size + min(part * batch_size, r)


class DistributedItemSampler(ItemSampler):
    """What one of several processes has of an epoch: the order is that of all, each takes a range of it.

    drop_uneven_inputs: each rank has the same number of batches. num_replicas, rank: those of torch.distributed where that is initialized.
    seed: the same in all ranks; None: that of rank 0, which torch.distributed tells the others."""

    def __init__(self, item_set, batch_size, minibatcher=None, drop_last=False, shuffle=False, num_replicas=None, rank=None,
                 drop_uneven_inputs=False, seed=None):
        group = torch().distributed if torch() is not None and torch().distributed.is_available() else None
        is_group = group is not None and group.is_initialized()
        if (num_replicas is None or rank is None) and not is_group:
            raise RuntimeError("num_replicas and rank: expected both, or torch.distributed initialized")
        self._replicas = group.get_world_size() if num_replicas is None else operator.index(num_replicas)
        self._rank = group.get_rank() if rank is None else operator.index(rank)
        if not 0 <= self._rank < self._replicas:
            raise ValueError(f"rank: expected a number from 0 to {self._replicas - 1}, found {self._rank}")
        super().__init__(item_set, batch_size, minibatcher, drop_last, shuffle, seed)
        if seed is None and shuffle:
            if not is_group:
                raise ValueError("seed: expected a number that all ranks have, where torch.distributed is not initialized")
            told = [self._seed]
            group.broadcast_object_list(told, 0)
            self._seed = told[0]
        self._drop_uneven = drop_uneven_inputs

    def _range(self):
        total, ranks, size = len(self._items), self._replicas, self._batch_size
        own, begin = _split(total, ranks, self._rank, size)
        if not self._drop_uneven:
            return begin, own - own % size if self._drop_last else own
        if self._drop_last:
            return begin, total // (size * ranks) * size
        return begin, min(-(-_split(total, ranks, ranks - 1, size)[0] // size) * size, own)


def _link_types(kind, arity):
    """Types of the nodes of a seed of that type."""
    parts = kind.split(":")
    found = parts if len(parts) == arity else parts[::2]
    if len(found) != arity:
        raise ValueError(f"seeds of type {kind!r}: expected {len(found)} nodes in each, as the type has, found {arity}")
    return found


def _unique(ids):
    """(ids in the order of their first appearance, the place of each)."""
    import numpy as np
    found, first, place = np.unique(ids, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return found[order], rank[place.reshape(-1)]


def _compact(seeds):
    """(nodes to begin at, seeds as places in them): of nodes as they are, of pairs and more each once."""
    import numpy as np
    if not is_mapping(seeds):
        ids = integers(seeds, "seeds")
        if ids.ndim == 1:
            return ids, None
        nodes, place = _unique(ids.reshape(-1))
        return nodes, place.reshape(ids.shape)
    ids = {kind: integers(v, "seeds") for kind, v in seeds.items()}
    if any(v.ndim == 1 for v in ids.values()):
        return ids, None
    lists, spans = {}, {}
    for kind, v in ids.items():
        for c, node in enumerate(_link_types(kind, v.shape[1])):
            begin = sum(len(x) for x in lists.setdefault(node, []))
            lists[node].append(v[:, c])
            spans[kind, c] = (node, begin, begin + len(v))
    found = {node: _unique(np.concatenate(parts)) for node, parts in lists.items()}
    compacted = {kind: np.stack([found[spans[kind, c][0]][1][spans[kind, c][1]:spans[kind, c][2]] for c in range(v.shape[1])], 1)
                 for kind, v in ids.items()}
    return {node: nodes for node, (nodes, _) in found.items()}, compacted


def _by_time(seeds, times):
    """As _compact() of seeds with a time each, of whom none are merged: (nodes, seeds as places, times of the nodes)."""
    import numpy as np
    if not is_mapping(seeds):
        ids = integers(seeds, "seeds")
        times = _times_of(times, len(ids))
        if ids.ndim == 1:
            return ids, None, times
        return ids.reshape(-1), np.arange(ids.size).reshape(ids.shape), np.repeat(times, ids.shape[1])
    ids = {kind: integers(v, "seeds") for kind, v in seeds.items()}
    times = {kind: _times_of(times[kind], len(v)) for kind, v in ids.items()}
    if any(v.ndim == 1 for v in ids.values()):
        return ids, None, times
    nodes, when, compacted = {}, {}, {}
    for kind, v in ids.items():
        places = []
        for c, node in enumerate(_link_types(kind, v.shape[1])):
            begin = sum(len(x) for x in nodes.setdefault(node, []))
            nodes[node].append(v[:, c])
            when.setdefault(node, []).append(times[kind])
            places.append(np.arange(begin, begin + len(v)))
        compacted[kind] = np.stack(places, 1)
    return {k: np.concatenate(v) for k, v in nodes.items()}, compacted, {k: np.concatenate(v) for k, v in when.items()}


def _times_of(times, n):
    """Of n seeds, the negatives behind the positives: a negative has the time of its positive."""
    import numpy as np
    times = integers(times, "timestamp")
    if times.ndim != 1 or (n % len(times) if len(times) else n):
        raise ValueError(f"timestamp: expected one number for each seed, found shape {times.shape} for {n} seeds")
    ratio = n // len(times) - 1 if len(times) else 0
    return np.concatenate([times, np.repeat(times, ratio)])


class NeighborSampler(_Pipe):
    """Neighbours hop by hop; fanouts: the outermost hop first."""

    _method = "neighbors"

    def __init__(self, source, graph, fanouts, replace=False, prob_name=None, deduplicate=True, **how):
        super().__init__(source)
        rows = fanout_rows(fanouts)
        width = max(len(r) for r in rows)
        self._sampler = graph._dataset.sampler([r * width if len(r) == 1 and width > 1 else r for r in rows] if width > 1 else [r[0] for r in rows],
                                               replace=replace, method=self._method, probs=prob_name,
                                               deduplicate=deduplicate, **how)

        self._has_edge_ids = graph._has_edge_ids

    def _run(self, batch):
        """(what was sampled, seeds as places)."""
        nodes, compacted = _compact(batch.seeds)
        return self._sampler.run(nodes, getattr(batch, "_seed_of_batch", 0) % 2 ** 63), compacted

    def _step(self, batch):
        sampled, compacted = self._run(batch)
        batch._batch, batch.sampled_subgraphs = sampled, layers_of(sampled, self._has_edge_ids)
        batch.input_nodes = {k: tensor(v) for k, v in sampled.nodes.items()} if is_mapping(sampled.nodes) else tensor(sampled.nodes)
        if compacted is not None:
            batch.compacted_seeds = {k: tensor(v) for k, v in compacted.items()} if is_mapping(compacted) else tensor(compacted)
        return batch


class LayerNeighborSampler(NeighborSampler):
    """Neighbours whose random numbers the seeds share: fewer nodes (LABOR).

    layer_dependency: all hops have the same numbers; batch_dependency: so many batches in succession pick much the same nodes."""

    _method = "labor"

    def __init__(self, source, graph, fanouts, replace=False, prob_name=None, deduplicate=True, layer_dependency=False, batch_dependency=1):
        super().__init__(source, graph, fanouts, replace, prob_name, deduplicate, layer_dependency=layer_dependency,
                         batch_dependency=batch_dependency)


class TemporalNeighborSampler(NeighborSampler):
    """Neighbours that are older than the "timestamp" of the seed: nodes, edges or both, by the attributes that are named. Unlike GraphBolt
    both ends of a pair have the time of the pair in graphs without types, too.

    window: and younger than that time less the window."""

    def __init__(self, source, graph, fanouts, replace=False, prob_name=None, node_timestamp_attr_name=None, edge_timestamp_attr_name=None,
                 window=None):
        super().__init__(source, graph, fanouts, replace, prob_name, False, node_times=node_timestamp_attr_name, edge_times=edge_timestamp_attr_name,
                         window=window)

    def _run(self, batch):
        times = getattr(batch, "timestamp", None)
        if times is None:
            raise ValueError("a set without \"timestamp\" cannot be sampled by times")
        nodes, compacted, times = _by_time(batch.seeds, times)
        return self._sampler.run(nodes, getattr(batch, "_seed_of_batch", 0) % 2 ** 63, times), compacted


class TemporalLayerNeighborSampler(TemporalNeighborSampler):
    """The same, with random numbers that the seeds share (LABOR)."""

    _method = "labor"


class UniformNegativeSampler(_Pipe):
    """Negatives of pairs: each source again, with destinations drawn from all nodes of their type."""

    def __init__(self, source, graph, negative_ratio):
        super().__init__(source)
        self._graph, self._ratio = graph, operator.index(negative_ratio)
        if self._ratio < 0:
            raise ValueError(f"negative_ratio: expected a number from 0, found {negative_ratio}")

    def _pairs(self, pairs, n_targets, seed):
        import numpy as np
        ids = array(pairs)
        if ids.ndim != 2 or ids.shape[1] != 2:
            raise ValueError(f"Only tensor with shape N*2 is supported for negative sampling, but got {tuple(ids.shape)}.")
        out = self._graph._dataset.sample_negatives(ids, self._ratio, num_targets=n_targets, seed=seed)
        out = out.astype(_type_of_ids(ids.dtype, np.min_scalar_type(max(n_targets - 1, 0))), copy=False)
        return (tensor(out), *(tensor(v) for v in _labels_and_indexes(len(ids), self._ratio)))

    def _seed_of(self, kind, seed):
        """Each type of edges draws for itself."""
        place = (self._graph.edge_type_to_id or {}).get(kind, 0)
        return (seed + (place + 1) * 0x9E3779B97F4A7C15) % 2 ** 63

    def _step(self, batch):
        seed = getattr(batch, "_seed_of_batch", 0) % 2 ** 63
        if not is_mapping(batch.seeds):
            batch.seeds, batch.labels, batch.indexes = self._pairs(batch.seeds, self._graph.total_num_nodes, seed)
            return batch
        found = {kind: self._pairs(v, self._graph.num_nodes[_link_types(kind, 2)[1]], self._seed_of(kind, seed)) for kind, v in batch.seeds.items()}
        batch.seeds, batch.labels, batch.indexes = ({kind: f[i] for kind, f in found.items()} for i in range(3))
        return batch


class FeatureFetcher(_Pipe):
    """Rows of features: node_feature_keys and edge_feature_keys are names, or {type: names} in a graph with types."""

    def __init__(self, source, feature_store, node_feature_keys=None, edge_feature_keys=None):
        super().__init__(source)
        self._store, self._nodes, self._edges = feature_store, node_feature_keys or (), edge_feature_keys or ()

    def _rows(self, domain, keys, ids):
        if not is_mapping(keys):
            return {name: self._store.read(domain, None, name, ids) for name in keys}
        return {(kind, name): self._store.read(domain, kind, name, ids[kind]) for kind, names in keys.items() if kind in ids for name in names}

    def _step(self, batch):
        ids = batch.input_nodes if batch.input_nodes is not None else batch.seeds
        if self._edges and not all(s._has_edge_ids for s in batch.sampled_subgraphs or ()):
            raise SchemaMismatch("rows of edge features cannot be found: the graph was preprocessed without original edge ids "
                                 "(include_original_edge_id=True keeps them)")
        batch.node_features = self._rows("node", self._nodes, ids)
        batch.edge_features = [self._rows("edge", self._edges, s.original_edge_ids) for s in batch.sampled_subgraphs or ()] if self._edges else None
        return batch


class SeedEdgesExcluder(_Pipe):
    """exclude_seed_edges() of each batch."""

    def __init__(self, source, include_reverse_edges=False, reverse_etypes_mapping=None):
        super().__init__(source)
        self._how = include_reverse_edges, reverse_etypes_mapping

    def _step(self, batch):
        return exclude_seed_edges(batch, *self._how)


class MiniBatchTransformer(_Pipe):
    """A function of batches, which returns what is handed on."""

    def __init__(self, source, transformer=None):
        super().__init__(source)
        self._transformer = transformer

    def _step(self, batch):
        return batch if self._transformer is None else self._transformer(batch)


class CopyTo(_Pipe):
    """Tensors on a device."""

    def __init__(self, source, device):
        super().__init__(source)
        self._device = device

    def _step(self, batch):
        return batch.to(self._device)


class DataLoader(_Pipe):
    """The end of a pipeline. Sampling and reading use threads of their own, so num_workers and the like mean nothing here."""

    def __init__(self, datapipe, num_workers=0, persistent_workers=True, **options):
        super().__init__(datapipe)

    def __iter__(self):
        return iter(self._source)
