# SPDX-License-Identifier: Apache-2.0
"""Progress bars on stderr: only on a terminal, at most twenty times a second, and as the environment says."""

import os
import sys
import time
import warnings

_TRUE = ("1", "ON", "YES", "TRUE")
_state = {"enabled": True}


def _forced():
    """True: bars are off, False: on, None: the program says."""
    value = os.environ.get("HF_DATASETS_DISABLE_PROGRESS_BARS")
    return None if value is None else value.upper() in _TRUE


def disable_progress_bars():
    """No bars from now on. HF_DATASETS_DISABLE_PROGRESS_BARS=0 wins over it."""
    if _forced() is False:
        warnings.warn("progress bars stay on: HF_DATASETS_DISABLE_PROGRESS_BARS=0 is set", stacklevel=2)
        return
    _state["enabled"] = False


def enable_progress_bars():
    """Bars again. HF_DATASETS_DISABLE_PROGRESS_BARS=1 wins over it."""
    if _forced() is True:
        warnings.warn("progress bars stay off: HF_DATASETS_DISABLE_PROGRESS_BARS=1 is set", stacklevel=2)
        return
    _state["enabled"] = True


def are_progress_bars_disabled():
    """Whether no bars are shown."""
    forced = _forced()
    return forced if forced is not None else not _state["enabled"]


class Bar:
    """One bar: update(done, total); close() ends its line."""

    def __init__(self, text, unit=" examples"):
        self._text, self._unit = text, unit
        self._begin = time.monotonic()
        self._is_drawn = False

    def update(self, done, total):
        seconds = time.monotonic() - self._begin
        rate = done / seconds if seconds > 0 else 0
        part = f"{100 * done // total:3d}%|{'#' * (20 * done // total):<20}| {done}/{total}" if total else f"{done}"
        sys.stderr.write(f"\r{self._text}: {part} [{seconds:.0f}s, {rate:.0f}{self._unit}/s]")
        sys.stderr.flush()
        self._is_drawn = True

    def __call__(self, phase, done, total):
        self.update(done, total)

    def close(self):
        if self._is_drawn:
            sys.stderr.write("\n")
            sys.stderr.flush()


def bar(text):
    """A bar, or None where none is to be shown."""
    if are_progress_bars_disabled() or not hasattr(sys.stderr, "isatty") or not sys.stderr.isatty():
        return None
    return Bar(text)
