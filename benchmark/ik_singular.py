"""Straight through singularities: a wrist that goes through zero, an elbow that is stretched beyond reach and back.

The tool is streamed at 500 Hz, as fast as the time law says, whatever the arm can do. Beside it runs damped least
squares with the usual damping, its joints slowed together where one is too fast. A direction is feasible where the
Jacobian of the tool's position has a singular value above FEASIBLE: position has priority, so there it must be kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))

import table
from support.robots import chain

from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.inverse_kinematics import InverseKinematics
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.solver import RedundancySolver
from flexarm_core.path.line import fifth_order
from flexarm_core.types import Array
from flexarm_tools.metrics.figures import Figure, parse_goal

DT = 0.002  # [s]
ACCELERATION = 20.0  # [rad/s^2]
FEASIBLE = 0.05  # [m/rad]
STANDS = 1e-4  # [rad/s] of the fastest joint, while the tool is wanted to move faster than MOVES
MOVES = 0.01  # [m/s]
SERVO_STOPS_AT = 30.0  # condition number, MoveIt Servo's default


@dataclass(frozen=True, slots=True)
class Crossing:
    """A straight path that meets a singularity.

    Attributes:
        robot: by name.
        kind: ``wrist`` or ``elbow``.
        singular: (n) joint positions on or before the singularity [rad].
        way: (3) of the tool: from minus this to plus this for a wrist; for an elbow as far outwards and back [m].
        duration: of one way [s].
    """

    robot: str
    kind: str
    singular: tuple[float, ...]
    way: tuple[float, float, float]
    duration: float


CROSSINGS = (
    Crossing("arm_6r", "wrist", (0.0, 0.3, 1.2, 0.0, 0.0, 0.0), (0.0, 0.2, 0.0), 4.0),
    Crossing("arm_6r", "wrist", (0.0, 0.3, 1.2, 0.7, 0.0, 0.3), (0.1, 0.15, 0.05), 4.0),
    Crossing("ur5", "wrist", (0.0, -1.2, 1.6, -1.0, 0.0, 0.0), (0.1, 0.15, 0.05), 4.0),
    # out to where the elbow is straight, on until only giving up orientation gets the tool there, and back
    Crossing("arm_6r", "elbow", (0.0, 0.4, 0.9, 0.0, 0.5, 0.0), (0.12, 0.0, 0.0), 6.0),
    Crossing("ur5", "elbow", (0.0, -0.6, 0.6, -1.5, -1.5, 0.0), (0.06, 0.0, 0.0), 6.0),
)


@dataclass(slots=True)
class Course:
    """What a run showed."""

    feasible_error: float = 0.0
    rotation_error: float = 0.0
    acceleration: float = 0.0
    condition: float = 0.0
    stops: int = 0


def singular() -> Iterator[Figure]:
    """All crossings, by both methods."""
    ours = [follow(crossing, RedundancyConfig()) for crossing in CROSSINGS]
    theirs = [follow(crossing, RedundancyConfig(method="damped_least_squares")) for crossing in CROSSINGS]
    names = [f"{c.robot}_{c.kind}_{i}" for i, c in enumerate(CROSSINGS)]
    yield Figure(
        "singular_stops",
        float(sum(course.stops for course in ours)),
        "1",
        parse_goal("== 0"),
        "samples on which all joints stand while the tool should move, and samples outside a velocity limit",
        details={
            **{f"{name}_condition_number": course.condition for name, course in zip(names, ours, strict=True)},
            "least_condition_number": min(course.condition for course in ours),
            "servo_stops_at": SERVO_STOPS_AT,
        },
    )
    details: dict[str, bool | float | str] = {}
    for name, our, their in zip(names, ours, theirs, strict=True):
        details |= {
            f"{name}_m": our.feasible_error,
            f"{name}_rotation_rad": our.rotation_error,
            f"{name}_acceleration_of_limit": our.acceleration / ACCELERATION,
            f"{name}_damped_least_squares_m": their.feasible_error,
            f"{name}_damped_least_squares_acceleration_of_limit": their.acceleration / ACCELERATION,
        }
    yield Figure(
        "singular_feasible_error",
        max(course.feasible_error for course in ours),
        "m",
        parse_goal("<= 1e-6"),
        "largest tool position error in feasible directions, straight through wrist and elbow singularities",
        details=details,
    )


def follow(crossing: Crossing, config: RedundancyConfig) -> Course:
    """Stream the path through the solver."""
    arm = chain(crossing.robot)
    limits = MotionLimits(arm.lower, arm.upper, arm.velocity_limit, np.full(arm.n, ACCELERATION))
    start, where, length = _path(arm, crossing)
    solver, course = RedundancySolver(arm, limits, config), Course()
    solver.begin(start)
    rotation = arm.pose(start)[1]
    for tick in range(1, round((length + 1.0) / DT)):
        wanted, speed = where(tick * DT)
        before = solver.velocity
        status = solver.update(wanted, rotation, dt=DT)
        p, _, J = arm.kinematics(solver.position)
        U, values, _ = np.linalg.svd(J[:3])
        missed = U.T @ (wanted - p)
        course.feasible_error = max(course.feasible_error, float(np.linalg.norm(missed[values > FEASIBLE])))
        course.rotation_error = max(course.rotation_error, float(np.linalg.norm(status.rotation_error)))
        course.acceleration = max(course.acceleration, float(np.abs(solver.velocity - before).max() / DT))
        course.condition = max(course.condition, status.condition_number)
        stands = np.abs(solver.velocity).max() < STANDS and speed > MOVES
        course.stops += int(stands or (np.abs(solver.velocity) > limits.velocity).any())
    return course


def _path(arm: Chain, crossing: Crossing) -> tuple[Array, Callable[[float], tuple[Array, float]], float]:
    """Joints at the begin, tool position and speed over time, and how long it takes."""
    q, way = np.array(crossing.singular), np.array(crossing.way)
    center, rotation = arm.pose(q)
    length, duration = float(np.linalg.norm(way)), crossing.duration
    if crossing.kind == "wrist":
        bent = q.copy()
        bent[4] += 0.3
        found = InverseKinematics(arm, arm.lower, arm.upper).solve(center - way, rotation, bent)
        assert found.success, found.reason

        def cross(time: float) -> tuple[Array, float]:
            s, rate, _ = fifth_order(time, duration)
            return center + (2.0 * s - 1.0) * way, 2.0 * length * rate

        return found.position, cross, duration
    out = np.array([center[0], center[1], 0.0]) / np.hypot(center[0], center[1]) * length

    def out_and_back(time: float) -> tuple[Array, float]:
        s, rate, _ = fifth_order(time, duration) if time < duration else fifth_order(2.0 * duration - time, duration)
        return center + s * out, length * rate

    return q, out_and_back, 2.0 * duration


if __name__ == "__main__":
    sys.exit(table.run("ik_singular", (singular,)))
