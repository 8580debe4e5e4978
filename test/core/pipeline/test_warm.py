"""Stale machine code is found in every room that has some."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import flexarm_core
from flexarm_core.pipeline.warm import CALLING_EACH_OTHER, remove_stale

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


def test_what_is_older_than_the_newest_kernel_goes_with_all_that_may_call_it(tmp_path):
    rooms = [tmp_path / "one", tmp_path / "one" / "inner", tmp_path / "two"]
    for age, room in zip((30.0, 20.0, 10.0), rooms, strict=True):
        (room / "__pycache__").mkdir(parents=True)
        for file in (room / "kernel.py", room / "__pycache__" / "kernel.step-7.py311.nbi"):
            file.touch()
            os.utime(file, (1000.0 - age, 1000.0 - age))
    options = tmp_path / "options.py"
    options.touch()
    os.utime(options, (900.0, 900.0))
    assert remove_stale(tmp_path / "one", options=options) == 1  # the one in inner is as old as the newest source
    assert remove_stale(tmp_path / "one", tmp_path / "two", options=options) == 1
    assert remove_stale(tmp_path, options=options) == 0
    assert [path.parents[1].name for path in tmp_path.rglob("*.nbi")] == ["two"]
    options.touch()
    assert remove_stale(tmp_path, options=options) == 1  # other options of the compiler


def test_every_room_whose_functions_are_cached_is_looked_through():
    core = Path(flexarm_core.__file__).parent
    named = [core / name for names in CALLING_EACH_OTHER for name in names]
    assert all(room.is_dir() for room in named)
    cached = {path.parents[1] for path in core.rglob("__pycache__/*.nbi")}
    assert cached, "no compiled function is cached: run `make setup`"
    alone = {path for path in cached if not any(room == path or room in path.parents for room in named)}
    assert not alone
