# SPDX-License-Identifier: Apache-2.0
"""Progress bars: on a terminal only, and as the environment says; nothing on standard output."""
import os
import pty
import subprocess
import sys

import pytest

import grebe.dataset as gd

CODE = """
import sys, time, grebe.dataset as gd
if "off" in sys.argv: gd.disable_progress_bars()
ds = gd.Dataset.from_dict({"id": list(range(40))})
ds.map(lambda r: time.sleep(0.01), desc="my work")
"""


def run(*args, terminal=True, **env):
    """(standard output, what came on the terminal)."""
    here, there = pty.openpty()
    p = subprocess.Popen([sys.executable, "-W", "ignore", "-c", CODE, *args], stdout=subprocess.PIPE,
                         stderr=there if terminal else subprocess.PIPE, text=True, env={**os.environ, **env})
    os.close(there)
    out, err = p.communicate(timeout=30)
    shown = b""
    while terminal:
        try:
            part = os.read(here, 4096)
        except OSError:
            break
        shown += part
        if not part:
            break
    os.close(here)
    assert p.returncode == 0
    return out, shown.decode() if terminal else err


def test_bars_on_a_terminal():
    out, shown = run()
    assert out == "" and "my work" in shown and "examples/s" in shown
    assert run(terminal=False) == ("", "")
    assert run("off") == ("", "")


def test_the_environment_wins():
    assert run(HF_DATASETS_DISABLE_PROGRESS_BARS="1") == ("", "")
    assert "my work" in run("off", HF_DATASETS_DISABLE_PROGRESS_BARS="0")[1]


def test_state(monkeypatch):
    monkeypatch.delenv("HF_DATASETS_DISABLE_PROGRESS_BARS", raising=False)
    gd.disable_progress_bars()
    assert gd.are_progress_bars_disabled()
    gd.enable_progress_bars()
    assert not gd.are_progress_bars_disabled()
    monkeypatch.setenv("HF_DATASETS_DISABLE_PROGRESS_BARS", "yes")
    assert gd.are_progress_bars_disabled()
    with pytest.warns(UserWarning, match="stay off"):
        gd.enable_progress_bars()
    assert gd.are_progress_bars_disabled()


@pytest.mark.parametrize("text,size", [("500MB", 500 * 10**6), ("1GiB", 2**30), ("8Mb", 10**6), (7, 7), ("1.5KB", 1500)])
def test_sizes(text, size):
    from grebe._export import size_of
    assert size_of(text) == size
    with pytest.raises(ValueError):
        size_of("a lot")
