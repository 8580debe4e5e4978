"""The step: against the KKT solution, its operation count, its drift on closed paths, and its time beside peers."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pink
import pinocchio

sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))

from support.counted import count_operations
from support.robots import URDF, chain, pinocchio_chain

from flexarm_core.ik_redundancy import step
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.plan import make_plan
from flexarm_core.ik_redundancy.solver import RedundancySolver
from flexarm_core.ik_redundancy.step import RedundancyStep, redundancy_step
from flexarm_core.pipeline.redundancy_stage import RedundancyStage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import Array, CartesianReference, FlexibleSample
from flexarm_tools.metrics.figures import Figure, parse_goal

PROBLEMS = 10_000
WELL_CONDITIONED = 100.0  # largest condition number of A
POINTS, TURNS = 200, 10
ON_THE_BOOM = (0.476, 1.311, -1.378, -1.555, -0.054, -1.214, 1.8)  # [rad]


def kkt_error() -> Iterator[Figure]:
    """Against ``[[K, J^T], [J, 0]]``, solved by LAPACK."""
    random = np.random.default_rng(0)
    worst, done = 0.0, 0
    while done < PROBLEMS:
        n = int(random.integers(2, 13))
        m = int(random.integers(1, min(6, n) + 1))
        J, k = random.normal(size=(m, n)), random.uniform(0.1, 10.0, n)
        if np.linalg.cond(J / np.sqrt(k)) > WELL_CONDITIONED:
            continue
        done += 1
        displacement, offset = random.normal(size=m), random.normal(size=n)
        matrix = np.block([[np.diag(k), J.T], [J, np.zeros((m, m))]])
        expected = np.linalg.solve(matrix, np.concatenate((-k * offset, displacement)))[:n]
        found = RedundancyStep(k, [[row] for row in range(m)], threshold=1e-6).solve(J, displacement, offset)
        worst = max(worst, float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max())))
    yield Figure(
        "kkt_error",
        worst,
        "1",
        parse_goal("<= 1e-10"),
        f"largest relative difference to the KKT solution, {PROBLEMS} problems of 1..6 x 2..12",
    )


def operation_count() -> Iterator[Figure]:
    """Of the source of the compiled step, run with numbers that count."""
    random = np.random.default_rng(1)
    regular = random.normal(size=(6, 7))
    singular, twice, zero = regular.copy(), regular.copy(), np.zeros((6, 7))
    singular[5] = regular[:5].sum(axis=0) * (1.0 + 1e-9)
    twice[3] = twice[0]
    counts = {
        name: _count(J)
        for name, J in (
            ("regular", regular),
            ("singular", singular),
            ("a row twice", twice),
            ("zero", zero),
            ("tiny", 1e-9 * regular),
        )
    }
    yield Figure(
        "operation_count_spread",
        float(max(counts.values()) - min(counts.values())),
        "1",
        parse_goal("== 0"),
        "6x7 step: additions, multiplications, divisions and roots, most minus least over all kinds of input",
        details={name: float(count) for name, count in counts.items()},
    )


def _count(J: Array) -> int:
    plan, out = make_plan(np.ones(7), [[0, 1, 2], [3, 4, 5]], 0.3, 1e-3, 0.05), np.empty(7)
    return sum(count_operations(step, "redundancy_step", J, np.full(6, 1e-3), np.full(7, 0.1), plan, out).values())


def cyclic_drift_growth() -> Iterator[Figure]:
    """Ten turns of a circle with the planar 4R, one step a point, beside the pseudo-inverse."""
    arm = chain("planar_4r")
    start = np.array([0.4, 0.6, 0.5, 0.3])
    limits = MotionLimits(np.full(4, -np.inf), np.full(4, np.inf), np.full(4, np.inf), np.full(4, np.inf))
    axes = np.array([True, True, False, False, False, False])
    center, rotation = arm.pose(start)
    drifts = {}
    for corrections in (0, 2):
        config = RedundancyConfig(objective_time_constant=0.0, corrections=corrections)
        solver = RedundancySolver(arm, limits, config)
        solver.begin(start)
        drift = []
        for tick in range(TURNS * POINTS):
            solver.update(_on_circle(center, tick + 1), rotation, axes, 1e-3)
            if (tick + 1) % POINTS == 0:
                drift.append(float(np.abs(solver.position - start).max()))
        drifts[corrections] = drift
    q, plain = start.copy(), []
    for tick in range(TURNS * POINTS):
        p, _, J = arm.kinematics(q)
        q = q + np.linalg.pinv(J[:2]) @ (_on_circle(center, tick + 1) - p)[:2]
        if (tick + 1) % POINTS == 0:
            plain.append(float(np.abs(q - start).max()))
    yield Figure(
        "cyclic_drift_growth",
        drifts[0][-1] / drifts[0][0],
        "1",
        parse_goal("<= 1.0000001"),
        f"joint drift of a planar 4R after turn {TURNS} by that after turn 1, {POINTS} points a turn, one step each",
        details={
            "drift_turn_1_rad": drifts[0][0],
            "drift_turn_10_rad": drifts[0][-1],
            "two_corrections_turn_10_rad": drifts[2][-1],
            "pseudo_inverse_turn_1_rad": plain[0],
            "pseudo_inverse_turn_10_rad": plain[-1],
        },
    )


def _on_circle(begin: Array, tick: int) -> Array:
    angle = 2.0 * np.pi * tick / POINTS
    return begin + 0.2 * np.array([np.cos(angle) - 1.0, np.sin(angle), 0.0])


def step_times() -> Iterator[Figure]:
    """6x7, from Python, each call timed alone, in turns with the peers; each turn begins with a twentieth untimed."""
    arm, theirs = chain("panda"), pinocchio_chain("panda")
    q = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.6, 0.7])
    J = np.ascontiguousarray(arm.kinematics(q)[2])
    displacement, offset, out = np.full(6, 1e-3), q - 0.1, np.empty(7)
    plan = make_plan(np.ones(7), [[0, 1, 2], [3, 4, 5]], 0.3, 1e-3, 0.05)
    configuration = pink.Configuration(theirs.model, theirs.model.createData(), theirs.configuration(q))
    task = pink.FrameTask(arm.tool_frame, position_cost=1.0, orientation_cost=1.0)
    task.set_target(configuration.get_transform_frame_to_world(arm.tool_frame) * pinocchio.exp6(np.full(6, 1e-3)))
    posture = pink.PostureTask(cost=1e-3)
    posture.set_target(theirs.configuration(q - 0.1))
    timed = _in_turns(
        {
            "step": (lambda: redundancy_step(J, displacement, offset, plan, out), 4000),
            "pinv": (lambda: np.linalg.pinv(J) @ displacement, 400),
            "pink": (lambda: pink.solve_ik(configuration, [task, posture], 1e-3, solver="quadprog"), 40),
        }
    )
    median = {name: float(np.median(times)) for name, times in timed.items()}
    p99 = float(np.percentile(timed["step"], 99))
    details = {f"{name}_median_us": value * 1e6 for name, value in median.items()}
    yield Figure(
        "step_time", median["step"], "s", parse_goal("<= 1.5e-6"), "median of a 6x7 step from Python", details=details
    )
    yield Figure("step_p99_over_p50", p99 / median["step"], "1", parse_goal("<= 1.3"), "of the same calls")
    yield Figure(
        "speed_ratio_pinv", median["pinv"] / median["step"], "1", parse_goal(">= 20"), "numpy.linalg.pinv by the step"
    )
    yield Figure(
        "speed_ratio_pink",
        median["pink"] / median["step"],
        "1",
        parse_goal(">= 200"),
        "pink.solve_ik, one frame and one posture task, quadprog, by the step",
    )


def stage_time() -> Iterator[Figure]:
    """The stage in a tick, called back to back: the arm on the boom follows a circle with three axes."""
    model = ArmModel(load_robot_description(URDF / "boom_7r.urdf.xacro"), gravity=(0.0, 0.0, 0.0))
    arm = build_chain(model.description, model.tool_frame)
    limits = MotionLimits(arm.lower, arm.upper, arm.velocity_limit, np.full(7, 20.0))
    config = RedundancyConfig(objective_time_constant=1.0)
    stage = RedundancyStage(model, RedundancySolver(arm, limits, config))
    start, still, none, zero, costs = np.array(ON_THE_BOOM), np.zeros(7), np.zeros(6), np.zeros(6), []
    center, rotation = arm.pose(start)
    axes = np.arange(6) < 3
    for tick in range(2000):
        stamp = 2_000_000 * tick
        sample = FlexibleSample(stamp, start, still, still, none, none)
        place = center + 0.1 * (_on_circle(np.zeros(3), tick) - _on_circle(np.zeros(3), 0))
        tool = CartesianReference(stamp, arm.base_frame, place, rotation, zero, zero, axes)
        done = Tick(sample, model.m, tool=tool)
        began = time.thread_time_ns()
        stage.update(done)
        costs.append(time.thread_time_ns() - began)
    yield Figure(
        "redundancy_us", float(np.median(costs)) * 1e-3, "us", parse_goal("<= 30"), "median CPU time of the stage"
    )


def _in_turns(calls: dict[str, tuple[Callable[[], object], int]], rounds: int = 25) -> dict[str, Array]:
    """Times of single calls [s], less what timing nothing takes; the first round warms up."""
    clock, times = time.perf_counter_ns, {name: [] for name in calls}
    gc.disable()
    nothing = np.median([-clock() + clock() for _ in range(2000)])
    for turn in range(rounds):
        for name, (call, count) in calls.items():
            row = []
            for _ in range(count // 20):
                call()
            for _ in range(count):
                began = clock()
                call()
                row.append(clock() - began)
            if turn:
                times[name] += row
    gc.enable()
    return {name: (np.array(row) - nothing) * 1e-9 for name, row in times.items()}
