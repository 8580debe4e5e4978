"""What a call costs beside what others would call for it: the short form of `bench.py`, as ratios of CPU time.

What has no peer stands beside a yardstick, a fixed amount of work of a library that we do not change. For runs, most
of which is Python, that is Python: where others take the caches away, it becomes as much slower as they do.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read at NumPy's import: everything is compared on one core

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import accuracy  # noqa: F401 - before numba: it chooses Exudyn's build at the import
import numpy as np
import pink
import pinocchio
import speed
import table
import yaml

sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))

from support.robots import URDF, chain, pinocchio_chain

from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.ik_redundancy.plan import make_plan
from flexarm_core.ik_redundancy.step import RedundancyStep, redundancy_step
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState
from flexarm_tools.learning.planar_reach import PlanarReach
from flexarm_tools.metrics.figures import Figure
from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.scenario.file import load_scenario

ROOT = Path(__file__).resolve().parents[1]
STEPS = 1000  # redundancy steps in one call
TICKS = 10  # of a run, timed at once
SCENARIOS = {
    "planar": "config/planar_3r/scenarios/combined.yaml",
    "flagship": "config/boom_7r/scenarios/inspect_and_wipe.yaml",
}
LEVELS, SETTINGS = [[0, 1, 2], [3, 4, 5]], {"length_scale": 0.3, "threshold": 1e-3, "band": 0.05}


def redundancy() -> Iterator[Figure]:
    """A step of 6x7 beside pink and a pseudo-inverse, alone and a thousand in one call."""
    arm, theirs, random = chain("panda"), pinocchio_chain("panda"), np.random.default_rng(0)
    q = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.7])
    J = np.ascontiguousarray(arm.kinematics(q)[2])
    displacement, offset = np.full(6, 1e-3), q - 0.1
    plan, out = make_plan(np.ones(7), LEVELS, **SETTINGS), np.empty(7)
    step = RedundancyStep(np.ones(7), LEVELS, **SETTINGS)
    postures = q + random.uniform(-0.5, 0.5, (STEPS, 7))
    many = np.stack([arm.kinematics(posture)[2] for posture in postures])
    ways, offsets = random.normal(0.0, 1e-3, (STEPS, 6)), postures - 0.1
    configuration = pink.Configuration(theirs.model, theirs.model.createData(), theirs.configuration(q))
    task = pink.FrameTask(arm.tool_frame, position_cost=1.0, orientation_cost=1.0)
    task.set_target(configuration.get_transform_frame_to_world(arm.tool_frame) * pinocchio.exp6(np.full(6, 1e-3)))
    posture = pink.PostureTask(cost=1e-3)
    posture.set_target(theirs.configuration(q - 0.1))
    found = table.costs(
        {
            "step": lambda: redundancy_step(J, displacement, offset, plan, out),
            "checked": lambda: step.solve(J, displacement, offset),
            "many": lambda: step.solve_many(many, ways, offsets),
            "numpy.linalg.pinv": lambda: np.linalg.pinv(J) @ displacement,
            "pink": lambda: pink.solve_ik(configuration, [task, posture], 1e-3, solver="quadprog"),
        }
    )
    found["one of many"] = table.Cost(*(each / STEPS for each in found["many"]))
    said = "a 6x7 step alone"
    yield table.versus("redundancy_step", f"{said}, beside pink's solve_ik", found, "step", "pink")
    yield table.versus("redundancy_checked", f"{said}, inputs checked, beside the same", found, "checked", "pink")
    yield table.versus("redundancy_pinv", f"{said}, beside a pseudo-inverse", found, "step", "numpy.linalg.pinv")
    meaning = f"a step of {STEPS} in one call, beside pink's solve_ik"
    yield table.versus("redundancy_many", meaning, found, "one of many", "pink", ">= 200")


def rigid_models() -> Iterator[Figure]:
    """Inverse dynamics about a sensor, and the dynamics that the laws need, on the arm of seven joints."""
    text = load_robot_description(URDF / "boom_7r.urdf.xacro")
    model = ArmModel(text, gravity=(0.0, 0.0, 0.0))
    sensed = SensorDynamics(build_sensed_bodies(model.description, "base_ft_sensor"), (0.0, 0.0, 0.0))
    whole = pinocchio.buildModelFromXML(text)
    data, size = whole.createData(), model.n + model.m
    q, v = np.random.default_rng(0).uniform(-1.0, 1.0, (2, model.n))
    state = ArmState(0, q, v, np.zeros(model.m), np.zeros(model.m))
    all_q, all_v = np.concatenate((np.zeros(model.m), q)), np.concatenate((np.zeros(model.m), v))
    wrench, rates = np.ones(6), np.zeros(size)

    def crba_rnea() -> None:
        pinocchio.crba(whole, data, all_q)
        pinocchio.rnea(whole, data, all_q, all_v, rates)

    found = table.costs(
        {
            "torques": lambda: sensed.torques(all_q, all_v, rates, wrench),
            "blocks": lambda: model.blocks(state),
            "pinocchio.rnea": lambda: pinocchio.rnea(whole, data, all_q, all_v, rates),
            "pinocchio.crba, rnea": crba_rnea,
        }
    )
    meaning = "joint torques from the base sensor, 7 joints on 6 springs, beside Pinocchio's RNEA"
    yield table.versus("sensed_torques", meaning, found, "torques", "pinocchio.rnea")
    meaning = "inertia and bias of base and joints, all checks, beside the same of Pinocchio"
    yield table.versus("blocks", meaning, found, "blocks", "pinocchio.crba, rnea")


def words() -> Callable[[], Any]:
    """The yardstick: PyYAML, in plain Python, reads a part of a scenario."""
    text = "\n".join((ROOT / SCENARIOS["flagship"]).read_text(encoding="utf-8").splitlines()[:60])
    return lambda: list(yaml.scan(text))


def runs() -> Iterator[Figure]:
    """Ticks of whole runs in one process, and steps of an environment."""
    for name, path in SCENARIOS.items():
        scenario = load_scenario(ROOT / path)
        run, row, plant = ProcessRun(replace(scenario, events=(), pushes=())), [0], [0]

        def ticks(run: ProcessRun = run, row: list[int] = row, plant: list[int] = plant) -> None:
            for _ in range(TICKS):
                command = run.answer(row[0])
                run.record(row[0])
                began = time.thread_time_ns()
                run.plant.advance(command)
                plant.append(time.thread_time_ns() - began)
                row[0] += 1

        found = table.costs({"ticks": ticks, "yaml.scan": words()}, rounds=60, batch=1)
        meaning = f"{TICKS} ticks of {scenario.title} in one process, beside 60 lines of YAML"
        figure = table.versus(f"{name}_ticks", meaning, found, "ticks", "yaml.scan")
        least = found["ticks"].least / TICKS
        figure.details.update(us_per_tick=least, of_it_plant_us=float(np.median(plant)) * 1e-3)
        yield figure
    env, action = PlanarReach(), np.zeros(2)
    env.reset(seed=1)
    found = table.costs({"step": lambda: env.step(action), "yaml.scan": words()}, rounds=60, batch=1)
    yield table.versus("env_step", "a step of PlanarReach, beside 60 lines of YAML", found, "step", "yaml.scan")


MEASURES = (
    speed.aba_ratios,
    speed.dense_ratios,
    speed.growth_exponent,
    speed.exudyn_speed_ratio,
    redundancy,
    rigid_models,
    runs,
)

if __name__ == "__main__":
    sys.exit(table.run("peers", MEASURES))
