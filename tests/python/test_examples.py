# SPDX-License-Identifier: Apache-2.0
"""The examples in Python do what they say."""
import pathlib
import subprocess
import sys

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def test_training_stops_and_goes_on():
    out = subprocess.run([sys.executable, str(EXAMPLES / "dataset" / "train.py")], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    assert "16000 rows to train with, 4000 to test" in out.stdout and "are the same from both" in out.stdout


def test_a_graph_is_learnt():
    out = subprocess.run([sys.executable, str(EXAMPLES / "graph" / "train.py")], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    assert "karate: 34 nodes, 156 edges" in out.stdout
    train, test = (int(part.split("%")[0]) for part in out.stdout.split("right: ")[1].split(" set, "))
    assert train >= 95 and test >= 80, out.stdout
