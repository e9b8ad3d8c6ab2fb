# SPDX-License-Identifier: Apache-2.0
import os
from typing import Any, Callable, Iterator, Literal, Mapping, Optional, Sequence, Union

import numpy as np

Path = Union[str, os.PathLike[str]]
Ids = Union[Sequence[int], np.ndarray[Any, Any]]
Seeds = Union[Ids, Mapping[str, Ids]]
Fanouts = Union[Sequence[int], Sequence[Sequence[int]], np.ndarray[Any, Any]]
Method = Literal["neighbors", "labor"]
Set = Literal["train", "validation", "test"]
Progress = Optional[Callable[[str, int, int], Any]]
Array = np.ndarray[Any, Any]
Relation = tuple[Array, Array, Array]

class Problem:
    is_error: bool
    file: str
    line: int
    column: int
    field: str
    message: str

def check(path: Path, *, deep: bool = False, strict: bool = False, threads: Optional[int] = None, progress: Set = Literal["train", "validation", "test"]
Progress = None) -> list[Problem]: ...
def preprocess(path: Path, *, include_original_edge_id: bool = False, out: Optional[Path] = None, cast: bool = True, force: bool = False,
               durable: bool = True, threads: Optional[int] = None, progress: Set = Literal["train", "validation", "test"]
Progress = None) -> str: ...
def open(path: Path, *, threads: Optional[int] = None) -> Dataset: ...

class Feature:
    domain: str
    type: Optional[str]
    name: str
    is_in_memory: bool
    metadata: dict[str, Any]
    @property
    def dtype(self) -> str: ...
    @property
    def values(self) -> Array: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    def __len__(self) -> int: ...
    def read(self, ids: Optional[Ids] = None) -> Array: ...

class Features(Mapping[Any, Feature]):
    def __getitem__(self, key: Union[str, tuple[str, Optional[str], str]]) -> Feature: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...

class Task:
    metadata: dict[str, Any]
    train_set: dict[Optional[str], dict[Optional[str], Array]]
    validation_set: dict[Optional[str], dict[Optional[str], Array]]
    test_set: dict[Optional[str], dict[Optional[str], Array]]

class Layer:
    relations: Union[Relation, dict[str, Relation]]
    counts: Union[tuple[int, int], dict[str, tuple[int, int]]]

class Batch:
    nodes: Union[Array, dict[str, Array]]
    layers: list[Layer]
    num_edges: int
    @property
    def input_nodes(self) -> Union[Array, dict[str, Array]]: ...

class Dataset:
    name: Optional[str]
    num_nodes: int
    num_edges: int
    features: Features
    tasks: list[Task]
    @property
    def indptr(self) -> Optional[Array]: ...
    @property
    def indices(self) -> Optional[Array]: ...
    @property
    def node_type_offset(self) -> Optional[Array]: ...
    @property
    def type_per_edge(self) -> Optional[Array]: ...
    @property
    def node_types(self) -> dict[str, int]: ...
    @property
    def edge_types(self) -> dict[str, int]: ...
    @property
    def node_attributes(self) -> dict[str, Array]: ...
    @property
    def edge_attributes(self) -> dict[str, Array]: ...
    def sampler(self, fanouts: Fanouts, *, replace: bool = False, method: Method = "neighbors", probs: Optional[str] = None,
                threads: Optional[int] = None, layer_dependency: bool = False, batch_dependency: int = 1) -> Sampler: ...
    def sample_neighbors(self, seeds: Seeds, fanouts: Fanouts, *, replace: bool = False, method: Method = "neighbors",
                         probs: Optional[str] = None, layer_seed: int = 0) -> Batch: ...
    def batches(self, task: Union[str, int], set: Set = "train", *, batch_size: int, **options: Any) -> Iterator[dict[str, Any]]: ...
    def loader(self, task: Union[str, int], set: Set = "train", fanouts: Optional[Fanouts] = None, *, batch_size: int, shuffle: bool = False,
               drop_last: bool = False, seed: int = 0, features: Sequence[Union[str, tuple[str, Optional[str], str]]] = (), replace: bool = False,
               method: Method = "neighbors", probs: Optional[str] = None, negative_ratio: int = 0, exclude_seeds: bool = False, rank: int = 0,
               num_replicas: int = 0, worker: int = 0, num_workers: int = 0, cache_bytes: int = 0, threads: Optional[int] = None,
               layer_dependency: bool = False, batch_dependency: int = 1, node_times: Optional[str] = None, edge_times: Optional[str] = None,
               window: Optional[int] = None) -> Loader: ...
    def sample_negatives(self, pairs: Any, ratio: int, *, num_targets: Optional[int] = None, seed: int = 0) -> Array: ...

class Sampler:
    def run(self, seeds: Seeds, layer_seed: int = 0) -> Batch: ...

class MiniBatch(Batch):
    items: dict[Optional[str], dict[str, Array]]
    features: dict[Any, Array]

class Loader:
    epoch: int
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[MiniBatch]: ...
