"""Time of one update over the number of behaviors."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from behavior_arms import ACCELERATION, DT, STEP_NS, make_controller
from behavior_station import begin_controller, eight_behaviors
from robots import URDF

from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape
from flexarm_core.behavior_impedance.behavior import Arm, BehaviorSpec
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.controller import BehaviorImpedanceController
from flexarm_core.behavior_impedance.wrench.external_wrench import ExternalWrench
from flexarm_core.behavior_impedance.wrench.tool_wrench import ToolWrench
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.pipeline.behavior_stage import BehaviorStage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import FlexibleSample
from flexarm_tools.metrics.figures import Figure, parse_goal

COUNTS = (1, 4, 8, 16)
ROUNDS, CALLS = 30, 200
ON_THE_BOOM = (0.476, 1.311, -1.378, -1.555, -0.054, -1.214, 1.8)  # [rad]


class Given:
    """Behaviors that do not change."""

    def __init__(self, controller: BehaviorImpedanceController, specs: Sequence[BehaviorSpec]) -> None:
        self._controller, self._specs = controller, specs

    def begin(self) -> None:
        """Create every behavior again."""
        self.renew()

    def renew(self) -> None:
        """Create every behavior again."""
        self._controller.set_behaviors([])
        self._controller.set_behaviors(self._specs)

    def due(self, stamp: int) -> list[str]:
        """Change nothing."""
        return []


def stage_time() -> Iterator[Figure]:
    """The stage of the flagship in a tick, called back to back: a path and a force."""
    model = ArmModel(load_robot_description(URDF / "boom_7r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))
    links = build_chain(model.description, model.tool_frame)
    limits = MotionLimits(links.lower, links.upper, links.velocity_limit, np.full(7, ACCELERATION))
    arm = Arm(links, build_arm_shape(model.description, links, 0.06), limits, 0.3)
    config = ImpedanceConfig(axes=(True, True, True, False, False, False))
    controller = make_controller(arm, config)
    specs = [
        BehaviorSpec("reach", "path", {"positions": [0.0, 0.2, 0.0], "relative": True}),
        BehaviorSpec("press", "force", {"wrench": [1.0] + [0.0] * 5, "axes": [True] + [False] * 5}),
    ]
    sensor = "tool_ft_sensor"
    wrenches = ExternalWrench(sensor, ToolWrench(model.description, links, sensor), model, np.zeros(3))
    wrenches.timeout = 0.05
    stage = BehaviorStage(model, controller, Given(controller, specs), wrenches, leads=False)
    stage.deviation.tolerance = 3.0
    start, still, none, costs = np.array(ON_THE_BOOM), np.zeros(7), np.zeros(6), []
    for k in range(2000):
        push = np.array([-1.0, 0.01 * np.sin(k), 0.0, 0.0, 0.0, 0.0])
        sample = FlexibleSample(STEP_NS * k, start, still, still, none, none, wrenches={sensor: push})
        tick = Tick(sample, model.m)
        began = time.thread_time_ns()
        stage.update(tick)
        costs.append(time.thread_time_ns() - began)
    yield Figure(
        "behaviors_us", float(np.median(costs)) * 1e-3, "us", parse_goal("<= 60"), "median CPU time of the stage"
    )


def update_times() -> Iterator[Figure]:
    """In turns, each call timed alone; a turn begins with a twentieth untimed, and the first turn warms up."""
    eight = eight_behaviors(start=0.0, repeats=True)
    again = [replace(spec, name=f"{spec.name}_again") for spec in eight[1:]]
    # one path at most can lead
    all_of_them = [*eight, *again, BehaviorSpec("spring", "spring", {"stiffness": [10.0] * 6})]
    controllers = {count: begin_controller(all_of_them[:count]) for count in COUNTS}
    times: dict[int, list[int]] = {count: [] for count in COUNTS}
    clock, wrench, stamp = time.perf_counter_ns, np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0]), 0
    gc.disable()
    nothing = float(np.median([-clock() + clock() for _ in range(2000)]))
    for turn in range(ROUNDS):
        for count, controller in controllers.items():
            row = []
            for call in range(CALLS + CALLS // 20):
                stamp += STEP_NS
                began = clock()
                controller.update(stamp, DT, wrench)
                if call >= CALLS // 20:
                    row.append(clock() - began)
            if turn:
                times[count] += row
        gc.collect()
    gc.enable()
    median = {}
    for count in COUNTS:
        row = (np.array(times[count]) - nothing) * 1e-3
        median[count] = float(np.median(row))
        goal = parse_goal("<= 60") if count == 8 else None
        details = {"p99_us": float(np.percentile(row, 99)), "least_us": float(row.min())}
        yield Figure(
            f"update_time_{count}",
            median[count],
            "us",
            goal,
            f"median of an update, {count} behaviors",
            details=details,
        )
    first, second = (median[8] - median[1]) / 7.0, (median[16] - median[8]) / 8.0
    yield Figure(
        "update_growth", second / first, "1", parse_goal("<= 1.3"),
        "time of a further behavior from 8 to 16 by that from 1 to 8", details={"further_behavior_us": first},
    )  # fmt: skip
