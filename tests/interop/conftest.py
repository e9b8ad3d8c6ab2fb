# SPDX-License-Identifier: Apache-2.0
import pathlib
import subprocess
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parent / "tools"


@pytest.fixture(scope="session")
def oracle():
    """Milvus's own engine: oracle("read", DIR, …) gives what tools/loon_oracle.py prints. check=False: gives the
    ended process. Tests that need it are skipped where the package is not installed."""
    find = "import importlib.util, sys; sys.exit(importlib.util.find_spec('milvus_storage') is None)"
    if subprocess.run([sys.executable, "-c", find], check=False).returncode:
        pytest.skip("the package milvus-storage is not installed")

    def call(*args, check=True):
        done = subprocess.run([sys.executable, str(TOOLS / "loon_oracle.py"), *map(str, args)], capture_output=True, text=True,
                              check=False, timeout=120)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout if check else done
    return call
