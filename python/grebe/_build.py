# SPDX-License-Identifier: Apache-2.0
"""Values of Python as a Batch of the types that data sets have."""

import json
import sys

from . import _core


def _arrays(value):
    """A value with numpy arrays where it has tensors: these are no buffers, so the library does not see what is in them."""
    if hasattr(value, "detach") and hasattr(value, "numpy"):
        array = value.detach().cpu().numpy()
        return array if array.shape else array[()]
    if isinstance(value, dict):
        return {k: _arrays(v) for k, v in value.items()}
    return [_arrays(v) for v in value] if isinstance(value, (list, tuple)) else value


def _width(column):
    """The type of a list of numpy scalars, such as "float32", with None among them or without; None of any other list."""
    first = next((v for v in column if v is not None), None) if isinstance(column, list) else None
    dtype = getattr(first, "dtype", None)
    if getattr(dtype, "kind", "") not in tuple("iuf") or getattr(first, "shape", None) != () or dtype.itemsize > 8:
        return None
    return dtype.name if all(v is None or type(v) is type(first) for v in column) else None


def _narrowed(batch, widths):
    """Numbers that were inferred as int64 and float64, as what they were."""
    features = json.loads(_core.dataset_of_rows(batch, None).info()["features"])
    features.update({name: {"dtype": width, "_type": "Value"} for name, width in widths.items()})
    ds = _core.dataset_of_rows(batch, json.dumps(features))
    return ds.read(0, ds.num_rows, None)


_PLAIN = (int, float, str, bool, bytes)  # what batch_from_columns takes as it is, whatever stands behind it


def build(columns, use_json=True):
    """A Batch of {name: values}; values of several kinds become the texts of their JSON."""
    names, values, widths = list(columns), [], {}
    for name, column in columns.items():
        first = column[0] if isinstance(column, list) and column else column
        if type(first) in _PLAIN:
            values.append(column)
            continue
        values.append(_arrays(column) if hasattr(first, "detach") else column)  # as numbers of their own width
        width = _width(values[-1])
        if width not in (None, "int64", "float64"):
            widths[name] = width
    try:
        batch = _core.batch_from_columns(names, values, True)
        return _narrowed(batch, widths) if widths else batch
    except TypeError:
        if "torch" in sys.modules:
            values = [_arrays(column) for column in values]
    batch = _build_as_json(names, values, use_json)
    return _narrowed(batch, widths) if widths else batch


def _build_as_json(names, values, use_json):
    json_names = []
    try:
        return _core.batch_from_columns(names, values, True)
    except TypeError:
        if not use_json:
            raise
    for i, column in enumerate(values):
        try:
            _core.batch_from_columns(names[i:i + 1], [column], True)
        except TypeError:
            try:
                values[i] = [None if v is None else json.dumps(v, ensure_ascii=False, separators=(",", ":")) for v in column]
            except TypeError:
                raise TypeError(f'column "{names[i]}": expected values of one type, or such as JSON has') from None
            json_names.append(names[i])
    return _core.batch_from_columns(names, values, True, json_names)
