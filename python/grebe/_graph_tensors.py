# SPDX-License-Identifier: Apache-2.0
"""Arrays of graphs as torch's tensors without a copy where torch is installed, else as numpy's arrays."""

import collections.abc
import functools


@functools.lru_cache(None)
def torch():
    """The module, None where there is none."""
    try:
        import torch as module
    except ImportError:
        return None
    return module


def is_mapping(value):
    return isinstance(value, collections.abc.Mapping)


def tensor(values):
    """An array of the core or of numpy as a tensor that shares its memory (do not write to one of a graph: its file is mapped
    read-only); other values as a new one. Without torch as a numpy array."""
    import numpy as np
    module = torch()
    if module is None:
        return np.asarray(values)
    if isinstance(values, module.Tensor):
        return values
    if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
        return module.from_dlpack(values)
    values = np.asarray(values)
    if values.flags.writeable:
        return module.from_numpy(values)
    base = values.base.obj if isinstance(values.base, memoryview) else values.base
    is_whole = hasattr(base, "__dlpack__") and not isinstance(base, np.ndarray) and memoryview(base).nbytes == values.nbytes
    found = module.from_dlpack(base).reshape(values.shape) if is_whole else None
    return found if found is not None and str(found.dtype) == f"torch.{values.dtype}" else module.from_numpy(values.copy())


def array(values, dtype=None):
    """A tensor or list as a numpy array, which shares its memory where it can."""
    import numpy as np
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values, dtype)


def integers(values, what):
    """Whole numbers of any shape as an array of int64: what would have to be cut or would wrap is refused."""
    import numpy as np
    a = array(values)
    if a.size and a.dtype.kind not in "iu":
        raise TypeError(f"{what}: expected whole numbers, found {a.dtype} of shape {a.shape}")
    if a.dtype == np.uint64 and a.size and int(a.max()) > np.iinfo(np.int64).max:
        raise ValueError(f"{what}: expected numbers below 2**63, found {a.max()}")
    return np.asarray(a, np.int64)


def whole_numbers(values, what="ids"):
    """A list of ids, or whatever numbers, as an array of int64."""
    import numpy as np
    a = integers(values, what)
    if a.size and a.ndim != 1:
        raise TypeError(f"{what}: expected a list of whole numbers, found shape {a.shape}")
    return np.ascontiguousarray(a.reshape(-1))
