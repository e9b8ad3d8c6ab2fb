#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes examples/data/glove_norms.parquet: the Euclidean norm of each vector of glove_20k.parquet, in its order."""
import os
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
vectors = pq.read_table(os.path.join(here, "glove_20k.parquet"), columns=["vector"])["vector"].combine_chunks()
values = np.asarray(vectors.flatten(), dtype=np.float64).reshape(len(vectors), -1)
norm = np.sqrt((values * values).sum(axis=1)).astype(np.float32)
pq.write_table(pa.table({"norm": norm}), os.path.join(here, "glove_norms.parquet"), compression="zstd")
