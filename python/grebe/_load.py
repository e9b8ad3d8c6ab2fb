# SPDX-License-Identifier: Apache-2.0
"""Loading: files by format, folder or pattern into the cache or as a stream, and saved folders."""

import json
import os

from . import _core, _progress
from ._arguments import at_least_one
from ._export import size_of
from ._features import features_json
from ._kinds import kinds

_MODES = {None: False, "reuse_dataset_if_exists": False, "reuse_cache_if_exists": True, "force_redownload": True}


def _files(value):
    """data_files with paths as texts."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if isinstance(value, dict):
        return {str(split): _files(v) for split, v in value.items()}
    return [_files(v) for v in value]


def _split_of(split):
    return None if split is None else str(split)


def load(path, name=None, data_dir=None, data_files=None, split=None, cache_dir=None, features=None, download_mode=None,
         verification_mode=None, keep_in_memory=False, streaming=False, num_proc=None, max_shard_size=None, **options):
    """A data set from local files: a DatasetDict, or with ``split`` a Dataset (streaming=True: their iterable kinds).

    path: a format ("csv", "json", "parquet", "arrow", "text", "imagefolder", "audiofolder", "webdataset", …) with data_files or
    data_dir, or a folder. split: "train", "train[:10%]+test", a list or a dict of these. options: of the format (sep="\\t",
    columns=[…], field="data", …). What was loaded before is found in the cache unless a file changed."""
    if streaming and num_proc is not None:
        raise NotImplementedError("load: num_proc does not go with streaming: a data loader with workers reads side by side")
    if data_files is not None and not data_files:
        raise ValueError("load: data_files is empty")
    if num_proc is not None:
        num_proc = min(at_least_one("load: num_proc", num_proc or 1), 2**31 - 1)
    mode = getattr(download_mode, "value", download_mode)
    if mode not in _MODES:
        raise ValueError(f"download_mode: expected one of {', '.join(m for m in _MODES if m)}, found {mode!r}")
    verification_mode = getattr(verification_mode, "value", verification_mode)
    if verification_mode not in (None, "all_checks", "basic_checks", "no_checks"):
        raise ValueError(f"verification_mode: expected all_checks, basic_checks or no_checks, found {verification_mode!r}")
    o = {"config": name, "data_dir": None if data_dir is None else os.fspath(data_dir),
         "data_files": None if data_files is None else json.dumps(_files(data_files)),
         "cache_dir": None if cache_dir is None else os.fspath(cache_dir), "features": features_json(features),
         "format_options": json.dumps(options) if options else None, "again": _MODES[mode],
         "skip_verification": verification_mode == "no_checks", "keep_in_memory": bool(keep_in_memory), "n_jobs": num_proc,
         "max_shard_bytes": size_of(max_shard_size)}
    return _each_split(os.fspath(path), o, split, streaming)


def _each_split(path, o, split, streaming):
    if isinstance(split, dict):
        return {key: _each_split(path, o, s, streaming) for key, s in split.items()}
    if isinstance(split, (list, tuple)):
        return [_each_split(path, o, s, streaming) for s in split]
    o = dict(o, split=_split_of(split))
    if streaming:
        found = [(name, kinds.IterableDataset(core, split=name)) for name, core in _core.iterable_load(path, o)]
        return found[0][1] if split is not None else kinds.IterableDatasetDict(found)
    o["progress"] = _progress.bar("Generating the splits")
    try:
        found = [(name, kinds.Dataset(core)) for name, core in _core.dataset_load(path, o)]
    finally:
        if o["progress"] is not None:
            o["progress"].close()
    return found[0][1] if split is not None else kinds.DatasetDict(found)


def load_from_disk(dataset_path, keep_in_memory=None):
    """What save_to_disk, of this package or of `datasets`, wrote: a Dataset or a DatasetDict."""
    found = _core.dataset_from_disk(os.fspath(dataset_path), bool(keep_in_memory))
    if len(found) == 1 and found[0][0] == "":
        return kinds.Dataset(found[0][1])
    return kinds.DatasetDict({name: kinds.Dataset(core) for name, core in found})


def cache_list(cache_dir=None):
    """What lies in the cache, as a list of dicts."""
    return [row for batch in _core.cache_list(None if cache_dir is None else os.fspath(cache_dir)) for row in batch.to_dicts()]


def cache_remove(cache_dir=None, path=None, max_size=None, older_than=None, unfinished_only=False, dry_run=False):
    """Remove from the cache: below a path, the oldest beyond max_size ("10GB"), what was not used for older_than seconds. Gives
    what was, or with dry_run would be, removed."""
    if path is None and max_size is None and older_than is None and not unfinished_only:
        raise ValueError("cache_remove: say what: path, max_size, older_than or unfinished_only")
    size = size_of(max_size)
    if size is not None and size < 0 or older_than is not None and not older_than >= 0 or path == "":
        # -1 is how the library is told that there is no such limit: it would remove all
        raise ValueError(f"cache_remove: expected numbers not below 0 and a path, found max_size={max_size!r}, "
                         f"older_than={older_than!r}, path={path!r}")
    stream = _core.cache_remove(None if cache_dir is None else os.fspath(cache_dir), None if path is None else os.fspath(path),
                                -1 if size is None else size, -1 if older_than is None else int(older_than * 1e6), unfinished_only,
                                dry_run)
    return [row for batch in stream for row in batch.to_dicts()]
