# SPDX-License-Identifier: Apache-2.0
"""Data sets that are read as a stream: steps are applied while rows come by, and the state of an iteration resumes it exactly."""

import json
import os
import sys

from . import _core
from ._arguments import at_least_one, pairs_of
from ._build import build
from ._export import to_csv, to_json, to_parquet
from ._features import Features, features_json, json_paths
from ._formats import LazyColumns, format_name, formatter
from ._generated import Shards, growing
from ._kinds import enter, kinds
from ._load import load
from ._map_call import BatchCall, FilterCall, RowCall
from ._transforms import _batch_rows, _names, seed_words

class IterableColumn:
    """One column of a stream: iterates anew each time."""

    def __init__(self, ds, path):
        self._ds, self._path = ds, path

    def __iter__(self):
        for row in self._ds:
            for part in self._path:
                row = row[part] if row is not None else None
            yield row

    def __getitem__(self, name):
        return IterableColumn(self._ds, self._path + (name,))

    def __repr__(self):
        return f"IterableColumn({'.'.join(self._path)})"


class _Plain:
    """Takes the place of torch's class among the bases while torch is not loaded."""


@enter
class IterableDataset(_Plain):
    """Rows as a stream. Iterates over dicts; each step gives a new stream and nothing is read before rows are asked for.

    ``state_dict()`` tells where the iteration stands after the row that came last; ``load_state_dict`` makes the next iteration go on
    there, in another process too, through shuffle buffers and in the middle of batches."""

    def __init__(self, core, split=None, format=None, format_kwargs=None):
        self._core = core
        self._split = split
        self._format, self._kwargs = format, dict(format_kwargs or {})
        self._state = None     # to begin with
        self._position = None  # (iterator, [rows of its last batch that were given out, rows in it])
        _join_torch()

    # ---- where they come from

    @classmethod
    def from_generator(cls, generator, features=None, gen_kwargs=None, split="train"):
        """From a function that yields dicts. Lists among gen_kwargs are what is cut into shards."""
        shards = Shards(generator, gen_kwargs, features)
        return cls(_core.iterable_of_function(shards, shards.n, False, features_json(features)), split)

    @classmethod
    def from_dict(cls, mapping, features=None, split=None, num_shards=1):
        """From a dict of columns."""
        return kinds.Dataset.from_dict(mapping, features, None, split).to_iterable_dataset(num_shards)

    @classmethod
    def from_list(cls, mapping, features=None, split=None, num_shards=1):
        """From a list of dicts, as Dataset.from_list."""
        return kinds.Dataset.from_list(mapping, features, None, split).to_iterable_dataset(num_shards)

    @classmethod
    def from_pandas(cls, df, features=None, split=None, num_shards=1):
        """From a pandas.DataFrame."""
        return kinds.Dataset.from_pandas(df, features, None, split).to_iterable_dataset(num_shards)

    @classmethod
    def from_polars(cls, df, features=None, split=None, num_shards=1):
        """From a polars.DataFrame."""
        return kinds.Dataset.from_polars(df, features, None, split).to_iterable_dataset(num_shards)

    @classmethod
    def from_file(cls, filename):
        """An Arrow file (stream or file format), mapped."""
        return kinds.Dataset.from_file(filename).to_iterable_dataset()

    for _name in ("csv", "json", "parquet", "text"):
        def _of_files(cls, path_or_paths, split=None, features=None, *, _kind=_name, **options):
            name = str(split) if split is not None else "train"
            return load(_kind, data_files={name: path_or_paths}, split=name, features=features, streaming=True, **options)
        _of_files.__doc__ = f"From {_name} files, read as rows are asked for."
        locals()["from_" + _name] = classmethod(_of_files)
    del _name, _of_files

    @classmethod
    def from_dataset(cls, ds, num_shards=1):
        """A Dataset as a stream."""
        return ds.to_iterable_dataset(num_shards)

    # ---- what they are

    split = property(lambda self: self._split, doc="Name of the split, or None.")
    epoch = property(lambda self: self._core.epoch, doc="What set_epoch set.")
    num_shards = property(lambda self: self._core.num_shards, doc="Parts that workers and nodes can read side by side.")
    n_shards = num_shards

    @property
    def features(self):
        """What the columns mean; None when it is not known before rows are read."""
        text = self._core.features
        return None if text is None else Features.from_json(text)

    @property
    def column_names(self):
        """Names of the columns; None when they are not known before rows are read."""
        features = self.features
        return None if features is None else list(features)

    @property
    def num_columns(self):
        """Number of columns; None when it is not known before rows are read."""
        names = self.column_names
        return None if names is None else len(names)

    def __repr__(self):
        names = self.column_names
        return f"IterableDataset({{\n    features: {names if names is not None else 'Unknown'},\n    num_shards: {self.num_shards}\n}})"

    def __getitem__(self, name):
        if not isinstance(name, str):
            raise TypeError("a stream has no row numbers: iterate over it, or take a column by its name")
        return IterableColumn(self, (name,))

    def __reduce__(self):
        raise TypeError("an IterableDataset does not pickle: make it in the other process; workers of a data loader that are forked "
                        "have it")

    # ---- reading

    def _open(self, core=None):
        state, self._state = self._state, None
        iterator = (core or self._worker()).iterator(state, 0)
        self._position = (iterator, [0, 0])
        return iterator, self._position[1]

    def _worker(self):
        """What this worker of a torch data loader reads; all, where there is none."""
        torch_data = sys.modules.get("torch.utils.data")
        info = torch_data.get_worker_info() if torch_data is not None else None
        return self._core if info is None else self._core.step("worker", info.id, info.num_workers)

    def _formatter(self):
        features = self.features
        return formatter(self._format, json_paths(features) if features else (), **self._kwargs)

    def __iter__(self):
        iterator, position = self._open()
        made = self._formatter()
        for n in growing(1):
            batch = iterator.next(n)
            if batch is None:
                position[:] = 0, 0
                return
            position[:] = 0, batch.num_rows  # none of them was given out, should what follows fail
            rows = made.rows(batch)
            for i, row in enumerate(rows, 1):
                position[0] = i
                yield row

    def iter(self, batch_size, drop_last_batch=False):
        """Batches of so many rows."""
        batch_size = at_least_one("batch_size", batch_size)
        iterator, position = self._open()
        made = self._formatter()
        while True:
            batch = iterator.next(batch_size)
            if batch is None or (drop_last_batch and batch.num_rows < batch_size):
                return
            position[:] = 0, batch.num_rows  # as in __iter__
            lazy = self._format in ("numpy", "torch")
            given = LazyColumns(batch.schema.names, lambda name, b=batch: made.column(b, name)) if lazy else made.whole(batch)
            position[0] = batch.num_rows
            yield given

    def batches(self, batch_rows=0):
        """grebe.Batch after grebe.Batch; 0: as they come."""
        iterator, position = self._open()
        while (batch := iterator.next(batch_rows)) is not None:
            position[:] = batch.num_rows, batch.num_rows
            yield batch

    def __arrow_c_stream__(self, requested_schema=None):
        return _core.stream_of_batches(self.batches(), build({})).__arrow_c_stream__(requested_schema)

    def state_dict(self):
        """Where the iteration stands, as a dict that JSON can hold."""
        if self._position is None:
            return json.loads(self._state) if self._state is not None else {"epoch": self.epoch, "examples_iterable": None}
        iterator, (given, n) = self._position
        return json.loads(iterator.state(n - given))

    def load_state_dict(self, state_dict):
        """The next iteration goes on from there; of another epoch it begins anew."""
        state = state_dict
        if state is not None and not isinstance(state, dict):
            raise TypeError(f"load_state_dict: expected what state_dict gives, found {type(state).__name__}")
        self._state = None if state is None or state.get("examples_iterable", 0) is None else json.dumps(state)
        self._position = None

    def set_epoch(self, epoch):
        """The epoch of this object: other orders of shuffles."""
        self._core = self._core.step("epoch", epoch)
        self._position = None

    # ---- steps

    def _like(self, core, **more):
        kept = {"split": self._split, "format": self._format, "format_kwargs": self._kwargs, **more}
        return IterableDataset(core, **kept)

    def with_format(self, type=None, **kwargs):
        """Rows given out as "numpy", "torch", "arrow", "pandas", "polars" or None (Python)."""
        kind = format_name(type)
        formatter(kind, (), **kwargs)
        return self._like(self._core.step("epoch", 0).step("formatted", int(kind is not None)), format=kind, format_kwargs=kwargs)

    def shuffle(self, seed=None, generator=None, buffer_size=1000, max_buffer_input_shards=10):
        """Shards in a random order, and rows through a buffer."""
        if generator is not None:
            if seed is not None:
                raise ValueError("shuffle: give seed or generator, not both")
            seed = int(generator.integers(0, 2**63 - 1))
        buffer_size = at_least_one("shuffle: buffer_size", buffer_size)
        max_buffer_input_shards = at_least_one("shuffle: max_buffer_input_shards", max_buffer_input_shards)
        return self._like(self._core.shuffle(seed_words(seed), buffer_size, max_buffer_input_shards))

    def skip(self, n):
        """All rows but the first n."""
        return self._like(self._core.step("skip", n))

    def take(self, n):
        """The first n rows."""
        return self._like(self._core.step("take", n))

    def repeat(self, num_times=None):
        """So many times; None: without end."""
        return self._like(self._core.step("repeat", -1 if num_times is None else max(0, num_times)))

    def shard(self, num_shards, index, contiguous=True):
        """Of the shards, part `index` of num_shards."""
        return self._like(self._core.step("shard", num_shards, index, int(contiguous)))

    def reshard(self):
        """Smaller shards where the files have them (row groups of Parquet)."""
        return self._like(self._core.step("reshard"))

    def prefetch(self, batches=2):
        """Rows are read ahead on another thread."""
        return self._like(self._core.step("prefetch", batches))

    def _map(self, call, is_filter, is_by_row, options):
        return self._like(self._core.map(call, is_filter, is_by_row, {k: v for k, v in options.items() if v is not None}))

    def map(self, function=None, with_indices=False, input_columns=None, batched=False, batch_size=1000, drop_last_batch=False,
            remove_columns=None, features=None, fn_kwargs=None):
        """As Dataset.map, while rows come by. Or columns by expressions: ``map({"n": "length(text)"})``."""
        if isinstance(function, dict):
            return self._like(self._core.pairs("map_expr", list(function.items())))
        make = BatchCall if batched else RowCall
        call = make(function if function is not None else lambda x, *a: x, self._formatter(), _names(input_columns), with_indices, False,
                    fn_kwargs or {})
        return self._map(call, False, not batched, {
            "batch_rows": _batch_rows(batched, batch_size) if batched else 0, "drop_last_batch": drop_last_batch and batched,
            "remove_columns": _names(remove_columns), "features": features_json(features)})

    def filter(self, function=None, with_indices=False, input_columns=None, batched=False, batch_size=1000, fn_kwargs=None):
        """Rows for which the function, or a predicate in the where language, is true."""
        if isinstance(function, str):
            return self._like(self._core.filter(function))
        call = FilterCall(function, batched, self._formatter(), _names(input_columns), with_indices, False, fn_kwargs or {})
        return self._map(call, True, not batched, {"batch_rows": _batch_rows(batched, batch_size) if batched else 0})

    def batch(self, batch_size=None, drop_last_batch=False, by_column=None):
        """Rows as lists: of batch_size rows, or of consecutive rows equal in a column."""
        if by_column is None or batch_size is not None:
            batch_size = at_least_one("batch_size", batch_size)
        return self._like(self._core.batch(batch_size or 0, by_column, drop_last_batch))

    def add_column(self, name, column):
        """One column more, of a list with a value for each row."""
        values = list(column)

        def add(batch, indices):
            if name in batch:
                raise ValueError(f"add_column: column {name!r}: it is there already")
            if indices and indices[-1] >= len(values):
                raise ValueError(f"add_column: column {name!r}: {len(values)} values, the stream has more rows")
            return {name: [values[i] for i in indices]}
        return self.map(add, with_indices=True, batched=True)

    def rename_column(self, original_column_name, new_column_name):
        """A column under another name."""
        return self._like(self._core.pairs("rename", [(original_column_name, new_column_name)]))

    def rename_columns(self, column_mapping):
        """Columns under other names, {old: new}."""
        return self._like(self._core.pairs("rename", pairs_of(column_mapping)))

    def remove_columns(self, column_names):
        """All columns but these."""
        return self._like(self._core.columns(_names(column_names), True))

    def select_columns(self, column_names):
        """These columns."""
        return self._like(self._core.columns(_names(column_names), False))

    def cast(self, features):
        """All columns as other features."""
        return self._like(self._core.cast(features_json(features), False))

    def cast_column(self, column, feature):
        """One column as another feature."""
        return self._like(self._core.cast(features_json({column: feature}), True))

    # ---- all rows in memory

    def to_dataset(self):
        """All rows, read into memory, as a Dataset."""
        return kinds.Dataset.from_arrow(self, self.features, self._split)

    def to_dict(self):
        """{name: list} of all rows."""
        return self.to_dataset().to_dict()

    def to_list(self):
        """Rows as a list of dicts."""
        return list(self.with_format(None))

    def to_pandas(self, batch_size=None, batched=False):
        """A pandas.DataFrame, or an iterator of those of batch_size rows."""
        return self.with_format("pandas").iter(batch_size or 1000) if batched else self.to_dataset().to_pandas()

    def to_polars(self, batch_size=None, batched=False):
        """A polars.DataFrame, or an iterator of those of batch_size rows."""
        return self.with_format("polars").iter(batch_size or 1000) if batched else self.to_dataset().to_polars()

    # ---- writing

    def to_csv(self, path_or_buf, **options):
        """One CSV file; gives the bytes written."""
        return to_csv(self, path_or_buf, None, **options)

    def to_json(self, path_or_buf, **options):
        """JSON lines; gives the bytes written."""
        return to_json(self, path_or_buf, None, **options)

    def to_parquet(self, path_or_buf, **options):
        """One Parquet file; gives the bytes written."""
        return to_parquet(self, path_or_buf, None, **options)

    def to_table(self, uri, **options):
        """A new Grebe table of the rows; gives it."""
        import grebe
        return grebe.create(uri, self, **options)


def _join_torch():
    """torch's DataLoader wants its own class among the bases; joined when torch is loaded."""
    torch_data = sys.modules.get("torch.utils.data")
    if torch_data is not None and torch_data.IterableDataset not in IterableDataset.__mro__:
        IterableDataset.__bases__ = (_Plain, torch_data.IterableDataset)


def split_dataset_by_node(dataset, rank, world_size, strategy="auto"):
    """What node `rank` of world_size reads. Streams: by shards where these divide evenly, else each world_size-th row;
    strategy "shards" or "examples" says which."""
    if not 0 <= rank < world_size:
        raise ValueError(f"rank: expected from 0 to {world_size - 1}, found {rank}")
    strategies = {"auto": 0, "shards": 1, "examples": 2}
    if strategy not in strategies:
        raise ValueError(f"strategy: expected auto, shards or examples, found {strategy!r}")
    if isinstance(dataset, kinds.Dataset):
        if strategy != "auto":
            raise ValueError(f"strategy {strategy!r} is for streams; a map-style data set is cut into consecutive parts")
        return dataset.shard(world_size, rank, contiguous=True)
    return dataset._like(dataset._core.step("node", rank, world_size, strategies[strategy]))


def for_this_rank(dataset, strategy="auto"):
    """What this process of a distributed training reads: its rank as torch.distributed says, where that is initialised, else by RANK and
    WORLD_SIZE of the environment; all, where there is neither."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        rank, world_size = distributed.get_rank(), distributed.get_world_size()
    else:
        rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    return split_dataset_by_node(dataset, rank, world_size, strategy)
