# SPDX-License-Identifier: Apache-2.0
"""What odd use of the package must not break."""

import numpy as np
import pyarrow as pa
import pytest

import grebe


def test_stream_to_numpy__vectors_with_nulls_in_one_batch(tmp_path):
    vectors = pa.array([[1, 2], [3, 4], [5, None], [7, 8]], pa.list_(pa.float32(), 2))
    table = grebe.create(tmp_path / "t", pa.table({"v": vectors}))
    got = table.scan(batch_rows=2).to_numpy()["v"]
    assert got.shape == (4,) and [len(row) for row in got] == [2, 2, 2, 2]
    assert got[0].tolist() == [1, 2] and np.isnan(got[2][1])


def test_stream_to_numpy__no_rows__keeps_columns_types_and_shapes(tmp_path):
    table = grebe.create(tmp_path / "t", pa.table({
        "k": [1], "v": pa.array([[1, 2]], pa.list_(pa.float32(), 2)), "s": ["a"],
        "t": pa.array([1], pa.timestamp("us"))}))
    got = table.scan(where="k < 0").to_numpy()
    assert {name: (a.shape, str(a.dtype)) for name, a in got.items()} == {
        "k": ((0,), "int64"), "v": ((0, 2), "float32"), "s": ((0,), "object"), "t": ((0,), "datetime64[us]")}
