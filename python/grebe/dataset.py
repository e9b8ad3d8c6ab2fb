# SPDX-License-Identifier: Apache-2.0
"""Data sets for training: load, transform with a cache that hits, shuffle, stream, resume exactly.

    import grebe.dataset as gd
    ds = gd.load("json", data_files="train-*.jsonl", split="train")
    ds = ds.filter("label = 3").map(tokenize, batched=True, num_proc=2).shuffle(seed=42)
    for batch in ds.with_format("numpy").iter(1000): ...

Files, orders and fingerprints are those of the package `datasets` (docs/guide/dataset.md)."""

from ._dataset import Column, Dataset
from ._dataset_dict import DatasetDict, IterableDatasetDict
from ._features import (Array2D, Array3D, Array4D, Array5D, Audio, ClassLabel, Features, Image, Json, LargeList, List, Mesh, Nifti, Pdf,
                        Sequence, Translation, TranslationVariableLanguages, Value, Video)
from ._iterable import IterableColumn, IterableDataset, for_this_rank, split_dataset_by_node
from ._join import concatenate_datasets, interleave_datasets
from ._load import cache_list, cache_remove, load, load_from_disk
from ._progress import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars
from ._search_index import MissingIndex
from ._splits import DownloadMode, ReadInstruction, Split, VerificationMode, get_dataset_split_names
from ._transforms import DatasetTransformationNotAllowedError, disable_caching, enable_caching, is_caching_enabled

load_dataset = load

__all__ = ["Array2D", "Array3D", "Array4D", "Array5D", "Audio", "ClassLabel", "Column", "Dataset", "DatasetDict",
           "DatasetTransformationNotAllowedError", "DownloadMode", "Features", "Image", "IterableColumn", "IterableDataset",
           "IterableDatasetDict", "Json", "LargeList", "List", "Mesh", "MissingIndex", "Nifti", "Pdf", "ReadInstruction", "Sequence",
           "Split", "Translation", "TranslationVariableLanguages", "Value", "VerificationMode", "Video",
           "are_progress_bars_disabled", "cache_list", "cache_remove", "concatenate_datasets", "disable_caching",
           "disable_progress_bars", "enable_caching", "enable_progress_bars", "for_this_rank", "get_dataset_split_names",
           "interleave_datasets", "is_caching_enabled", "load", "load_dataset", "load_from_disk", "split_dataset_by_node"]
