"""A first run compiles in two processes: what a fork compiles is kept, and nothing else of it counts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.scenario.file import load_scenario

CONFIG = Path(__file__).resolve().parents[2] / "config"
SCRIPT = """
import sys
import time
import numpy as np
from flexarm_core.compilation import progress
from flexarm_core.kernels.rotations import rotation_of
from flexarm_core.pipeline.warm import is_kept
from flexarm_tools.run import compile_beside as module

def build_gate():
    if "hangs" in sys.argv:
        time.sleep(9999.0)
    rotation_of(np.ones(3), np.empty((3, 3)))
    open(sys.argv[1], "w").close()
    print("heard of the fork")
    if "fails" in sys.argv:
        raise RuntimeError("a gate that is refused")

if "hangs" in sys.argv:
    module.PATIENCE = 0.1
with module.compile_beside(build_gate):
    pass
print(is_kept(rotation_of), progress.count)
"""


def run(tmp_path: Path, *words: str, cache: str = "") -> str:
    """What the script says with a cache of its own, or with that of this installation."""
    given = {"NUMBA_CACHE_DIR": str(tmp_path / cache)} if cache else {}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "built"), *words],
        env=os.environ | given, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core compiles no faster in two processes")
@pytest.mark.parametrize("words", [(), ("fails",)])
def test_what_the_fork_compiles_is_kept_and_the_rest_of_it_is_silent(tmp_path, words):
    assert run(tmp_path, *words, cache="empty") == "True 0\n"
    assert (tmp_path / "built").exists()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core compiles no faster in two processes")
def test_a_fork_that_hangs_is_ended(tmp_path):
    assert run(tmp_path, "hangs", cache="empty").split()[-1] == "0"


def test_nothing_is_forked_where_the_gate_is_compiled(tmp_path):
    ProcessRun(load_scenario(CONFIG / "planar_3r/scenarios/combined.yaml"))  # compiles the gate, if nobody has
    run(tmp_path)
    assert not (tmp_path / "built").exists()
