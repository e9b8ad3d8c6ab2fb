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


_PLAIN = (int, float, str, bool, bytes)  # what batch_from_columns takes as it is, whatever stands behind it


def build(columns, use_json=True):
    """A Batch of {name: values}; values of several kinds become the texts of their JSON."""
    names, values = list(columns), []
    for column in columns.values():
        first = column[0] if isinstance(column, list) and column else column
        if type(first) in _PLAIN:
            values.append(column)
        else:
            values.append(_arrays(column) if hasattr(first, "detach") else column)  # as numbers of their own width
    try:
        return _core.batch_from_columns(names, values, True)
    except TypeError:
        if "torch" in sys.modules:
            values = [_arrays(column) for column in values]
    return _build_as_json(names, values, use_json)


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
