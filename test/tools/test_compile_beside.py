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
import numpy as np
from flexarm_core.compilation import progress
from flexarm_core.kernels.rotations import rotation_of
from flexarm_core.pipeline.warm import is_kept
from flexarm_tools.run.compile_beside import compile_beside

def build_gate():
    rotation_of(np.ones(3), np.empty((3, 3)))
    open(sys.argv[1], "w").close()
    print("heard of the fork")
    if "fails" in sys.argv:
        raise RuntimeError("a gate that is refused")

with compile_beside(build_gate):
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


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core compiles no faster in two processes")
@pytest.mark.parametrize("words", [(), ("fails",)])
def test_what_the_fork_compiles_is_kept_and_the_rest_of_it_is_silent(tmp_path, words):
    assert run(tmp_path, *words, cache="empty") == "True 0\n"
    assert (tmp_path / "built").exists()


def test_nothing_is_forked_where_the_gate_is_compiled(tmp_path):
    ProcessRun(load_scenario(CONFIG / "planar_3r/scenarios/combined.yaml"))  # compiles the gate, if nobody has
    run(tmp_path)
    assert not (tmp_path / "built").exists()
