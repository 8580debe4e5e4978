"""After the warm-up nothing is left to compile."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).resolve().parents[2] / "support"
CONFIG = Path(__file__).resolve().parents[3] / "config"
SCENARIOS = (  # all stages
    "boom_7r/scenarios/inspect_and_wipe.yaml",
    "boom_7r/scenarios/sensed_both.yaml",
    "planar_3r/scenarios/combined.yaml",
    "trep/scenarios/fig11_fast.yaml",
    "flexible_2r/scenarios/damped.yaml",
)
AFTER_WARM = """
import importlib, pkgutil, sys

import flexarm_core, flexarm_sim
from flexarm_core.compilation import progress
from flexarm_core.pipeline.warm import PARTS, is_kept
from flexarm_sim.warm import compile_plant

for part in (*PARTS.values(), compile_plant):
    part()
before = progress.compiled
for package in (flexarm_core, flexarm_sim):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
print("not kept:", *(each.py_func.__qualname__ for each in progress.kernels if not is_kept(each)))

from pipeline_run import sample_of
from scenario_pipeline import built_pipeline, built_plant
from flexarm_tools.scenario.file import load_scenario

for path in sys.argv[1:]:
    scenario = load_scenario(path)
    pipeline, built, model = built_pipeline(scenario)
    plant = built_plant(scenario, model.description)
    for _ in range(20):
        tick = pipeline.tick(sample_of(plant.measure()))
        pipeline.after()
        plant.advance(tick.command)
    print(path.split("/")[-1], "compiled", progress.compiled - before)
"""


def test_after_the_warm_up_every_kernel_is_kept_and_no_stage_compiles():
    command = [sys.executable, "-c", AFTER_WARM, *(str(CONFIG / name) for name in SCENARIOS)]
    paths = os.pathsep.join(filter(None, (str(SUPPORT), os.environ.get("PYTHONPATH"))))
    ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths})
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["not kept:", *(f"{Path(name).name} compiled 0" for name in SCENARIOS)]


@pytest.mark.long
def test_into_an_empty_folder_every_kernel_is_compiled(tmp_path):
    given = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-m", "flexarm_sim.warm"], capture_output=True, text=True, env=given)
    assert ran.returncode == 0, ran.stderr
    total = re.search(r"of (\d+) in", ran.stderr)[1]
    assert ran.stdout.startswith(f"{total} functions compiled")
