"""CPU time of a tick of single stages, hot: ``setup/run python benchmark/stage_times.py``.

A stage's time is that of its Python and its compiled code, for a boom of seven joints on an elastic base (six elastic
joints). Beside it stands the floor: what is compiled of it, called back to back with arguments that are ready. Times of
the thread's CPU clock over many ticks that were made before, the median of several rounds.

Prints a table, writes build/benchmark/stage_times.json, and ends with status 0 only if every goal holds.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read at NumPy's import

import numpy as np
import table

from flexarm_core.base_wrench.controller import BaseWrenchController, BaseWrenchControllerConfig, control
from flexarm_core.base_wrench.estimate_step import estimate
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator, BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.effort_step import examine, trust, view_inputs
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.pipeline.base_wrench_stage import BaseWrenchStage
from flexarm_core.pipeline.gate_stage import GateStage
from flexarm_core.pipeline.stage import advance
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.articulated_bodies import accelerate
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState, FlexibleSample, FlexibleState, JointReference
from flexarm_tools.metrics.figures import Figure, parse_goal

URDF = Path(__file__).resolve().parents[1] / "urdf" / "boom_7r.urdf.xacro"
SENSOR = "base_ft_sensor"
STEP = 2_000_000  # [ns]
TICKS, ROUNDS = 500, 15
FRICTION = 0.002  # [N*m] that the reference claims: so little that light wrists stay safe without it


def boom() -> ArmModel:
    """The arm."""
    return ArmModel(load_robot_description(URDF), gravity=(0.0, 0.0, 0.0))


def ticks(model: ArmModel, effort: bool = True) -> list[Tick]:
    """A slow swing of all joints on a base that hardly moves, with the references that cause it."""
    found, none = [], np.zeros(0)
    start, w = np.array([0.0, 0.4, 0.1, -0.9, 0.2, 0.5, 0.1]), 3.0
    for k in range(TICKS):
        t, stamp = k * STEP * 1e-9, k * STEP
        swing, rate, growth = 0.05 * np.sin(w * t), 0.05 * w * np.cos(w * t), -0.05 * w * w * np.sin(w * t)
        q, v, a = start + swing, np.full(7, rate), np.full(7, growth)
        x, rate, growth = 1e-4 * np.sin(20.0 * t) * np.ones((3, model.m))
        wrench = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3]) * np.sin(t)
        state = ArmState(stamp, q, v, np.zeros(model.m), np.zeros(model.m))  # as the gate sees it
        motor = model.inverse_dynamics(model.blocks(state), state, a) + FRICTION
        sample = FlexibleSample(stamp, q, v, motor, x, rate, wrenches={SENSOR: wrench})
        bent = FlexibleState(stamp, x, rate, growth, none, none, none)
        joints = JointReference(stamp, q, v, a, motor if effort else None, np.full(7, FRICTION))
        found.append(Tick(sample, model.m, flexible=bent, joints=joints))
    return found


def cpu_time(made: Callable[[], list[Tick]], reset: Callable[[], None], step: Callable[[Tick], object]) -> float:
    """Median CPU time of a tick over ROUNDS rounds, of which the first loads what is loaded lazily [us]."""
    times = []
    for _ in range(ROUNDS + 1):
        prepared = made()
        reset()
        gc.collect()
        gc.disable()
        began = time.thread_time_ns()
        for tick in prepared:
            step(tick)
        times.append((time.thread_time_ns() - began) * 1e-3 / len(prepared))
        gc.enable()
    return float(np.median(times[1:]))


def base_wrench_times() -> Iterator[Figure]:
    """Estimate and efforts, for a reference with efforts and for one that the position loop follows."""
    model = boom()
    bodies = build_sensed_bodies(model.description, SENSOR)
    estimator = BaseWrenchEstimator(model, SensorDynamics(bodies, (0.0, 0.0, 0.0)), BaseWrenchEstimatorConfig())
    controller = BaseWrenchController(model, BaseWrenchControllerConfig())
    stage = BaseWrenchStage(estimator, controller, SENSOR, base_motion="flexible_state")
    took, by_position = (
        cpu_time(lambda effort=effort: ticks(model, effort), stage.reset, lambda tick: advance(stage, tick))  # type: ignore[misc]
        for effort in (True, False)
    )
    joints, wrenches, out, stamp = np.empty((7, 7)), np.empty((4, 6)), np.empty((2, 7)), [10**12]
    loop = controller._torque

    def floor(_: Tick) -> None:
        stamp[0] += STEP
        estimate(estimator._integers, estimator._memory, estimator._inputs, stamp[0], joints, wrenches)
        control(controller._constants, loop.memory, controller._inputs, 0.002, True, out)

    least = cpu_time(lambda: ticks(model), lambda: None, floor)
    yield Figure(
        "base_wrench_us", took, "us", parse_goal("<= 25"), "CPU time of the base wrench stage, 7 joints on 6 springs",
        details={"floor_us": least, "position_loop_us": by_position},
    )  # fmt: skip


def gate_times() -> Iterator[Figure]:
    """The gate in effort mode, in lockstep and by its clock."""
    model = boom()
    limits = JointLimits(
        model.lower, model.upper, model.velocity_limit, np.full(7, 100.0), model.effort_limit, np.full(7, np.inf),
        friction=np.full(7, 20.0),
    )  # fmt: skip
    now, took = [0.0], {}
    for lockstep in (True, False):
        gate = HardwareGate(
            model, limits, HardwareGateConfig(period=0.002, lockstep=lockstep, base_measured=False), lambda: now[0]
        )
        stage = GateStage(gate, "none")

        def step(tick: Tick, stage: GateStage = stage) -> None:
            now[0] = tick.stamp * 1e-9
            stage.update(tick)

        took[lockstep] = cpu_time(lambda: ticks(model), stage.reset, step)
        assert gate.status.state is GateState.RUNNING and not gate.status.stops, gate.status
    n, total = model.n, np.full(2 * (model.n + model.m) + 2 * model.n, 0.1)
    inputs, loads, taken, bounded = np.full(view_inputs.size(n), 0.1), np.empty((2, n)), np.empty(n), np.empty(n)

    def floor(_: Tick) -> None:
        trust(limits.table, inputs, taken, loads)
        accelerate(model._tree, model._sweep, total, loads)
        examine(limits.table, limits.table, inputs, loads, taken, bounded)

    least = cpu_time(lambda: ticks(model), lambda: None, floor)
    yield Figure(
        "gate_us", took[True], "us", parse_goal("<= 30"), "CPU time of the gate in lockstep, 7 joints on 6 springs",
        details={"floor_us": least, "by_its_clock_us": took[False]},
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(table.run("stage_times", (base_wrench_times, gate_times)))
