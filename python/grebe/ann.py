# SPDX-License-Identifier: Apache-2.0
"""Vector search and its measurement (docs/guide/ann.md).

    index = grebe.ann.Index("graph", "angular", quant="sq8").build(vectors)
    ids, distances = index.search(queries, 10, ef=64)
    index.save("words.gix"); index = grebe.ann.Index.load("words.gix")
"""

from ._ann import DataSet, check_hdf5, groundtruth, read_hdf5, write_hdf5
from ._index import Index
from ._measure import evaluate, plot, run

__all__ = ["DataSet", "Index", "check_hdf5", "evaluate", "groundtruth", "plot", "read_hdf5", "run", "write_hdf5"]
