# SPDX-License-Identifier: Apache-2.0
"""Transforms of data sets: what is done, which cache file it goes into, and whether that is there already."""

import array
import json
import operator
import os
import secrets
import warnings

from . import _core, _progress
from ._arguments import at_least_one, check_rows, pairs_of, seeds_of, split_size
from ._build import build
from ._features import Features, features_json
from ._function_id import Unknown, function_id
from ._kinds import kinds
from ._map_call import BatchCall, FilterCall, RowCall

_state = {"caching": True, "warned": False}


def enable_caching():
    """Results of transforms are looked for in the cache (the default)."""
    _state["caching"] = True


def disable_caching():
    """Results of transforms are computed anew each time, and their files are named at random."""
    _state["caching"] = False


def is_caching_enabled():
    """Whether results of transforms are looked for in the cache."""
    return _state["caching"]


def seed_words(seed, generator=None):
    """A seed as the bytes of 32-bit words, lowest first; a sequence of seeds as theirs one after the other. None: None."""
    if generator is not None:
        if seed is not None:
            raise ValueError("give seed or generator, not both")
        return generator
    if seed is None:
        return None
    words = b""
    for number in seeds_of(seed):
        if number < 0:
            raise ValueError(f"seed: expected a number not below 0, found {number}")
        words += number.to_bytes(max(4, (number.bit_length() + 31) // 32 * 4), "little")
    return words


def _path(path):
    return None if path is None else os.fspath(path)


class DatasetTransformationNotAllowedError(Exception):
    """A transform of a data set that has search indexes attached."""


def _identity(x, *args):
    return x


def _keep_all(*args, **kwargs):
    return True


def _keep_all_batched(batch, *args, **kwargs):
    return [True] * len(next(iter(batch.values())))


def _names(names):
    return None if names is None else [names] if isinstance(names, str) else list(names)


def _batch_rows(batched, batch_size):
    if not batched:
        return 1000
    return -1 if batch_size is None or batch_size <= 0 else batch_size


class Transforms:
    """The part of a data set that makes new ones."""

    def _options(self, text=None, load_from_cache_file=None, keep_in_memory=False, cache_file_name=None, new_fingerprint=None,
                 writer_batch_size=None):
        if keep_in_memory and cache_file_name is not None:
            raise ValueError("give keep_in_memory or a cache file, not both")
        caching = _state["caching"] if load_from_cache_file is None else load_from_cache_file
        options = {"ignore_cache": not caching, "keep_in_memory": keep_in_memory, "cache_file": _path(cache_file_name),
                   "new_fingerprint": new_fingerprint, "writer_batch_rows": writer_batch_size or 0}
        if not _state["caching"] and new_fingerprint is None:
            options["new_fingerprint"] = secrets.token_hex(8)
        options["progress"] = _progress.bar(text) if text else None
        return options

    def _run(self, options, call):
        try:
            return call(options)
        finally:
            if options.get("progress") is not None:
                options["progress"].close()

    def _may_change(self, what):
        if self._indexes:
            raise DatasetTransformationNotAllowedError(
                f"{what}: not with attached search indexes {list(self._indexes)}; drop_index() first")

    def select(self, indices, keep_in_memory=False, indices_cache_file_name=None, writer_batch_size=1000, new_fingerprint=None):
        """Rows by number; consecutive ones become a slice."""
        self._may_change("select")
        options = self._options(None, None, keep_in_memory, indices_cache_file_name, new_fingerprint, writer_batch_size)
        if isinstance(indices, range) and indices.step == 1 and 0 <= indices.start <= indices.stop <= self._n:
            return self._like(self._core.slice(indices.start, indices.stop, options))
        rows = array.array("q", indices) if isinstance(indices, range) else indices if hasattr(indices, "__len__") else list(indices)
        if any(isinstance(i, bool) for i in rows[:1]):
            raise TypeError("select: expected row numbers, found bool")
        return self._like(self._core.select(rows, options))

    def take(self, n):
        """The first n rows, or all there are."""
        return self._like(self._core.slice(0, max(0, operator.index(n)), self._options()))

    def skip(self, n):
        """All rows but the first n."""
        return self._like(self._core.slice(max(0, operator.index(n)), self._n, self._options()))

    def shard(self, num_shards, index, contiguous=True, keep_in_memory=False, indices_cache_file_name=None, writer_batch_size=1000):
        """Part `index` of num_shards: consecutive rows, or each num_shards-th."""
        self._may_change("shard")
        options = self._options(None, None, keep_in_memory, indices_cache_file_name, None, writer_batch_size)
        return self._like(self._core.shard(num_shards, index, contiguous, options))

    def repeat(self, num_times):
        """The rows so many times."""
        if num_times is None:
            raise ValueError("repeat: a map-style data set cannot be repeated without end")
        return self._like(self._core.repeat(num_times, self._options()))

    def shuffle(self, seed=None, generator=None, keep_in_memory=False, load_from_cache_file=None, indices_cache_file_name=None,
                writer_batch_size=1000, new_fingerprint=None):
        """Rows in the order of numpy's default_rng(seed).permutation."""
        self._may_change("shuffle")
        options = self._options(None, load_from_cache_file, keep_in_memory, indices_cache_file_name, new_fingerprint, writer_batch_size)
        if generator is not None:
            if seed is not None:
                raise ValueError("shuffle: give seed or generator, not both")
            return self._like(self._core.select(generator.permutation(self._n), options))
        return self._like(self._core.shuffle(seed_words(seed), options))

    def sort(self, column_names, reverse=False, null_placement="at_end", keep_in_memory=False, load_from_cache_file=None,
             indices_cache_file_name=None, writer_batch_size=1000, new_fingerprint=None):
        """Stable, by columns, each ascending or (reverse) descending."""
        self._may_change("sort")
        names = [column_names] if isinstance(column_names, str) else list(column_names)
        down = [reverse] * len(names) if isinstance(reverse, bool) else list(reverse)
        if len(down) != len(names):
            raise ValueError(f"sort: reverse: expected {len(names)} truth values, one for each column, found {len(down)}")
        self._known(names)
        places = {"at_end": False, "last": False, "at_start": True, "first": True}
        if null_placement not in places:
            raise ValueError(f"null_placement: expected at_end or at_start, found {null_placement!r}")
        options = self._options("Sorting", load_from_cache_file, keep_in_memory, indices_cache_file_name, new_fingerprint,
                                writer_batch_size)
        return self._run(options, lambda o: self._like(self._core.sort(names, bytes(map(int, down)), places[null_placement], o)))

    def train_test_split(self, test_size=None, train_size=None, shuffle=True, stratify_by_column=None, seed=None, generator=None,
                         keep_in_memory=False, load_from_cache_file=None, train_indices_cache_file_name=None,
                         test_indices_cache_file_name=None, writer_batch_size=1000, train_new_fingerprint=None,
                         test_new_fingerprint=None):
        """A DatasetDict of train and test, as `datasets` splits."""
        self._may_change("train_test_split")
        if generator is not None:
            if seed is not None:
                raise ValueError("train_test_split: give seed or generator, not both")
            seed = int(generator.integers(0, 2**63 - 1))
        options = self._options(None, load_from_cache_file, keep_in_memory, None, None, writer_batch_size)
        train, test = self._core.split(split_size(test_size), split_size(train_size), shuffle, stratify_by_column, seed_words(seed),
                                       train_new_fingerprint, test_new_fingerprint, _path(train_indices_cache_file_name),
                                       _path(test_indices_cache_file_name), options)
        return kinds.DatasetDict({"train": self._like(train), "test": self._like(test)})

    def filter(self, function=None, with_indices=False, with_rank=False, input_columns=None, batched=False, batch_size=1000,
               keep_in_memory=False, load_from_cache_file=None, cache_file_name=None, writer_batch_size=1000, fn_kwargs=None,
               num_proc=None, suffix_template=None, new_fingerprint=None, desc=None):
        """Rows for which the function is true, or for which a predicate in the where language is (``"label = 3"``), which needs no
        function and runs at the speed of memory."""
        self._may_change("filter")
        if isinstance(function, str):
            options = self._options(desc or "Filter", load_from_cache_file, keep_in_memory, cache_file_name, new_fingerprint,
                                    writer_batch_size)
            return self._run(options, lambda o: self._like(self._core.filter(function, o)))
        if function is None:
            function = _keep_all if not batched else _keep_all_batched
        call = FilterCall(function, batched, self._formatter(), _names(input_columns), with_indices, with_rank, fn_kwargs or {})
        return self._apply(call, True, dict(
            batch_rows=_batch_rows(batched, batch_size), load_from_cache_file=load_from_cache_file, keep_in_memory=keep_in_memory,
            cache_file_name=cache_file_name, writer_batch_size=writer_batch_size, num_proc=num_proc, suffix_template=suffix_template,
            new_fingerprint=new_fingerprint, desc=desc or "Filter", batched=batched, input_columns=_names(input_columns)))

    def map(self, function=None, with_indices=False, with_rank=False, input_columns=None, batched=False, batch_size=1000,
            drop_last_batch=False, remove_columns=None, keep_in_memory=False, load_from_cache_file=None, cache_file_name=None,
            writer_batch_size=1000, features=None, disable_nullable=False, fn_kwargs=None, num_proc=None, suffix_template=None,
            new_fingerprint=None, desc=None, try_original_type=True, on_mixed_types="use_json", on_none="error"):
        """Rows, or batches, as a function makes them. Or columns by expressions: ``map({"n": "length(text)"})``.

        The function gets a row (dict) or, batched, a batch (a mapping of columns, converted when they are asked for), then the row
        number or numbers (with_indices) and the worker's number (with_rank); it gives a dict of columns that are added or replaced,
        a table that takes the place of the batch, or None everywhere. None for some rows only is an error, unless on_none="drop"
        (without those rows) or "keep" (they stay, None in the new columns). num_proc workers are processes."""
        if isinstance(function, dict):
            options = self._options(desc or "Map", load_from_cache_file, keep_in_memory, cache_file_name, new_fingerprint,
                                    writer_batch_size)
            return self._run(options, lambda o: self._like(self._core.map_expr(list(function.items()), o)))
        if self._indexes and batched and remove_columns:
            self._may_change("map with removed columns")
        make = BatchCall if batched else RowCall
        removed = _names(remove_columns)
        if on_none not in ("error", "drop", "keep"):
            raise ValueError(f"on_none: expected error, drop or keep, found {on_none!r}")
        call = make(function if function is not None else _identity, self._formatter(), _names(input_columns), with_indices, with_rank,
                    fn_kwargs or {}, on_mixed_types == "use_json", removed, on_none)
        for name in (removed or []) + (_names(input_columns) or []):
            if name not in self._names:
                raise ValueError(f"map: no column {name!r}: there are {self._names}")
        return self._apply(call, False, dict(
            batch_rows=_batch_rows(batched, batch_size), drop_last_batch=drop_last_batch and batched, remove_columns=removed,
            load_from_cache_file=load_from_cache_file, keep_in_memory=keep_in_memory, cache_file_name=cache_file_name,
            writer_batch_size=writer_batch_size, features=features_json(features), num_proc=num_proc, suffix_template=suffix_template,
            new_fingerprint=new_fingerprint, desc=desc or "Map", batched=batched, is_type_kept=try_original_type,
            is_rows_fixed=bool(self._indexes) and batched, input_columns=_names(input_columns), extra=[on_mixed_types, on_none]))

    def _function_id(self, call, a):
        try:
            return function_id(call.function, call.kwargs, a["batched"], call.with_indices, call.with_rank, call.input_columns,
                               self._info_dict["format"][0], repr(self._info_dict["format"][1]), repr(self._format_kwargs()),
                               a.get("extra"))
        except Unknown as e:
            if not _state["warned"]:
                _state["warned"] = True
                warnings.warn(f"the function cannot be told by its content ({e}): its result will not be found in the cache again; "
                              "new_fingerprint names it", stacklevel=4)
            return None

    def _apply(self, call, is_filter, a):
        if a["num_proc"] is not None and a["num_proc"] < 0:
            raise ValueError(f"num_proc: expected at least 1, found {a['num_proc']}")
        n_parts = min(a["num_proc"] or 0, max(self._n, 1))
        if n_parts < (a["num_proc"] or 0):
            warnings.warn(f"num_proc {a['num_proc']} is more than there are rows: {n_parts}", stacklevel=3)
        desc = a["desc"] + (f" (num_proc={n_parts})" if n_parts > 1 else "")
        options = self._options(desc, a["load_from_cache_file"], a["keep_in_memory"], a["cache_file_name"], a["new_fingerprint"],
                                a["writer_batch_size"])
        for name in ("batch_rows", "drop_last_batch", "remove_columns", "features", "suffix_template", "is_type_kept",
                     "is_rows_fixed"):
            if a.get(name) is not None:
                options[name] = a[name]
        if options["new_fingerprint"] is None:
            options["function_id"] = self._function_id(call, a)
        if getattr(call, "on_none", None) == "keep":
            call.learn(self._core)
        _, shown, _, output_all = self._info_dict["format"]
        if shown is not None and not output_all:
            options["input_columns"] = shown
        elif a.get("input_columns") is not None:
            options["input_columns"] = a["input_columns"]
        if n_parts > 1 and self._n > 0:
            from ._workers import run_parts
            return self._run(options, lambda o: self._like(run_parts(self._core, call, is_filter, o, n_parts)))
        return self._run(options, lambda o: self._like(self._core.map(call, is_filter, o)))

    def flatten_indices(self, keep_in_memory=False, cache_file_name=None, writer_batch_size=1000, features=None,
                        disable_nullable=False, num_proc=None, new_fingerprint=None):
        """The visible rows written out, without a mapping."""
        options = self._options("Flattening the indices", None, keep_in_memory, cache_file_name, new_fingerprint, writer_batch_size)
        return self._run(options, lambda o: self._like(self._core.apply("flatten_indices", None, 0, False, o)))

    def rename_column(self, original_column_name, new_column_name, new_fingerprint=None):
        """A column under another name."""
        return self._like(self._core.rename([(original_column_name, new_column_name)], self._options(new_fingerprint=new_fingerprint)))

    def rename_columns(self, column_mapping, new_fingerprint=None):
        """Columns under other names, {old: new}."""
        return self._like(self._core.rename(pairs_of(column_mapping), self._options(new_fingerprint=new_fingerprint)))

    def remove_columns(self, column_names, new_fingerprint=None):
        """All columns but these."""
        names = _names(column_names)
        self._known(names)
        return self._like(self._core.columns(names, True, self._options(new_fingerprint=new_fingerprint)))

    def select_columns(self, column_names, new_fingerprint=None):
        """These columns, in this order."""
        names = _names(column_names)
        self._known(names)
        return self._like(self._core.columns(names, False, self._options(new_fingerprint=new_fingerprint)))

    def add_column(self, name, column, new_fingerprint=None, feature=None):
        """One column more: any sequence or array of as many values as there are rows."""
        batch = build({name: column})
        text = None if feature is None else json.dumps(json.loads(features_json({name: feature}))[name])
        return self._like(self._core.add_column(name, batch, text, self._options(new_fingerprint=new_fingerprint)))

    def add_item(self, item, new_fingerprint=None):
        """One row more, a dict; missing values are None."""
        check_rows("add_item", [item])
        row = type(self).from_list([{n: item.get(n) for n in self._names}], features=self.features)
        return self._like(_core.dataset_concatenate([self._core, row._core], 0))

    def flatten(self, new_fingerprint=None, max_depth=16):
        """Struct columns as columns "parent.child"."""
        return self._like(self._core.apply("flatten", None, max_depth, False, self._options(new_fingerprint=new_fingerprint)))

    def cast(self, features, batch_size=1000, keep_in_memory=False, load_from_cache_file=None, cache_file_name=None,
             writer_batch_size=1000, num_proc=None):
        """All columns as other features, in their order."""
        options = self._options("Casting the dataset", load_from_cache_file, keep_in_memory, cache_file_name, None, writer_batch_size)
        return self._run(options, lambda o: self._like(self._core.apply("cast", features_json(features), 0, False, o)))

    def cast_column(self, column, feature, new_fingerprint=None):
        """One column as another feature."""
        self._known([column])
        features = Features(self.features)
        features[column] = feature
        options = self._options(new_fingerprint=new_fingerprint)
        return self._like(self._core.apply("cast", features_json(features), 0, False, options))

    def class_encode_column(self, column, include_nulls=False):
        """A column's values as class labels."""
        return self._like(self._core.apply("class_encode", column, 0, include_nulls, self._options()))

    def align_labels_with_mapping(self, label2id, label_column):
        """Class labels numbered as in a dict."""
        return self._like(self._core.align_labels(label_column, json.dumps(label2id), self._options()))

    def batch(self, batch_size=None, drop_last_batch=False, num_proc=None, new_fingerprint=None, by_column=None):
        """Rows as lists: of batch_size rows, or of consecutive rows equal in a column."""
        if by_column is None or batch_size is not None:
            batch_size = at_least_one("batch_size", batch_size)
        options = self._options(new_fingerprint=new_fingerprint)
        return self._like(self._core.batch(batch_size or 0, by_column, drop_last_batch, options))

    def to_iterable_dataset(self, num_shards=1):
        """The rows as a stream of so many shards."""
        kind, columns, _, _ = self._info_dict["format"]
        if num_shards > max(self._n, 1):
            raise ValueError(f"num_shards: expected at most {self._n}, the rows there are, found {num_shards}")
        core = self._core if columns is None else self._core.columns(columns, False, self._options())
        out = kinds.IterableDataset(_core.iterable_of_dataset(core, num_shards), split=self.split)
        return out.with_format(kind, **self._format_kwargs()) if kind in ("numpy", "torch", "arrow", "pandas", "polars") else out
