# SPDX-License-Identifier: Apache-2.0
"""Words of loading: names of splits, parts of them, and what is done with a cache that is there."""

import enum
import os

from ._load import load


class Split(str, enum.Enum):
    """The usual names of splits. Each is a text: ``Split.TRAIN == "train"``."""

    TRAIN, TEST, VALIDATION, ALL = "train", "test", "validation", "all"

    __str__ = str.__str__


class DownloadMode(enum.Enum):
    """download_mode of load: take what the cache has, or make it anew."""

    REUSE_DATASET_IF_EXISTS = "reuse_dataset_if_exists"
    REUSE_CACHE_IF_EXISTS = "reuse_cache_if_exists"
    FORCE_REDOWNLOAD = "force_redownload"


class VerificationMode(enum.Enum):
    """verification_mode of load: whether sizes of splits are compared with those recorded."""

    ALL_CHECKS = "all_checks"
    BASIC_CHECKS = "basic_checks"
    NO_CHECKS = "no_checks"


class ReadInstruction:
    """Part of a split, as an object: ``ReadInstruction("train", to=10, unit="%")`` is "train[:10%]"; parts are added with +."""

    def __init__(self, split_name, rounding=None, from_=None, to=None, unit=None):
        if unit not in (None, "%", "abs"):
            raise ValueError(f"unit: expected % or abs, found {unit!r}")
        if rounding not in (None, "closest", "pct1_dropremainder"):
            raise ValueError(f"rounding: expected closest or pct1_dropremainder, found {rounding!r}")
        ends = ["" if n is None else f"{n}{'%' if unit == '%' else ''}" for n in (from_, to)]
        part = "" if from_ is None and to is None else f"[{ends[0]}:{ends[1]}]"
        # rounding is a matter of percents alone, and the grammar has it nowhere else
        self._spec = f"{split_name}{part}" + ("(pct1_dropremainder)" if rounding == "pct1_dropremainder" and unit == "%" else "")

    @classmethod
    def from_spec(cls, spec):
        """Of the split grammar: "train[:10%]+test"."""
        out = cls("")
        out._spec = str(spec)
        return out

    def to_spec(self):
        """As the split grammar has it."""
        return self._spec

    def __add__(self, other):
        if not isinstance(other, ReadInstruction):
            return NotImplemented
        return ReadInstruction.from_spec(f"{self}+{other}")

    __str__ = to_spec

    def __repr__(self):
        return f"ReadInstruction.from_spec({self._spec!r})"


def get_dataset_split_names(path, config_name=None, data_files=None, **options):
    """Names of the splits that load would give, of which nothing is prepared."""
    return list(load(os.fspath(path), config_name, data_files=data_files, streaming=True, **options))
