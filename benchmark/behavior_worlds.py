"""Random worlds: obstacles, goals and poses; no collision, no limit violated, and no arm that fails without a word."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from behavior_arms import DT, STEP_NS, find, least_singular_value, make_arm, make_controller
from collision import CoalArm
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.avoidance.obstacle_guard import ObstacleGuard
from flexarm_core.behavior_impedance.avoidance.obstacles import Obstacle, obstacles_from_lists
from flexarm_core.behavior_impedance.behavior import Arm, BehaviorSpec
from flexarm_core.types import Array
from flexarm_tools.metrics.figures import Figure, parse_goal

WORLDS = 500
ROBOTS = ("arm_7r", "panda", "arm_6r")
MARGIN = 0.02  # [m]
DURATION = 60.0  # [s] after which a world ends, whatever its arm does
JUDGED = 5  # samples between two looks of the judge
STALLED = 1.0  # [s] for which it must be said that the arm gets no further
RESTLESS = 0.05  # [rad/s]
REACHED = (2e-3, 1e-2)  # [m, rad]
PROCESSES = 2
KINDS = ("sphere", "box", "half_space")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one world.

    Attributes:
        seed: of it.
        robot: in it.
        least_distance: of the arm from an obstacle, by coal [m].
        violated: which joint limits.
        reached: whether the tool came to its goal.
        told: whether it said that it did not, and what hindered it.
        hindered_by: what it said.
        held: how many samples the law was held.
        speed: of the fastest joint at the end [rad/s].
    """

    seed: int
    robot: str
    least_distance: float
    violated: tuple[str, ...] = ()
    reached: bool = False
    told: bool = False
    hindered_by: tuple[str, ...] = field(default_factory=tuple)
    held: int = 0
    speed: float = 0.0


def worlds() -> Iterator[Figure]:
    """Path to a goal, obstacles, joint limits, singularity and posture."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        outcomes = list(pool.map(run_world, range(WORLDS), chunksize=5))
    nearer = [outcome for outcome in outcomes if outcome.least_distance < MARGIN - 1e-6]
    least = min(outcome.least_distance for outcome in outcomes)
    yield Figure(
        "world_collisions", float(sum(outcome.least_distance < 0.0 for outcome in outcomes)), "1", parse_goal("== 0"),
        f"of {WORLDS} random worlds, {', '.join(ROBOTS)}, 2 to 6 obstacles; every {JUDGED}th sample judged by coal",
        details={"least_distance_m": least, "nearer_than_the_margin": float(len(nearer))},
    )  # fmt: skip
    violated = [outcome for outcome in outcomes if outcome.violated]
    yield Figure(
        "world_limit_violations", float(len(violated)), "1", parse_goal("== 0"),
        "worlds in which the joint reference, differenced, leaves a limit of position, velocity or acceleration",
    )  # fmt: skip
    silent = [outcome for outcome in outcomes if not (outcome.reached or outcome.told)]
    yield Figure(
        "world_silent_failures", float(len(silent)), "1", parse_goal("== 0"), "neither reached the goal nor said so",
        details={"seeds": ", ".join(str(outcome.seed) for outcome in silent)},
    )  # fmt: skip
    restless = [outcome for outcome in outcomes if not outcome.reached and outcome.speed > RESTLESS]
    yield Figure(
        "world_restless", float(len(restless)), "1", None,
        f"said that they get no further, but a joint moves by more than {RESTLESS:g} rad/s a second later",
        details={"seeds": ", ".join(str(outcome.seed) for outcome in restless)},
    )  # fmt: skip
    share = {name: [o.reached for o in outcomes if o.robot == name] for name in ROBOTS}
    yield Figure(
        "world_reached", float(np.mean([outcome.reached for outcome in outcomes])), "1", None, "share that got there",
        details={name: float(np.mean(reached)) for name, reached in share.items()},
    )  # fmt: skip


def run_world(seed: int) -> Outcome:
    """One world."""
    random, name = np.random.default_rng(seed), ROBOTS[seed % len(ROBOTS)]
    arm = make_arm(name)
    start, settings, position, rotation = _world(random, arm)
    obstacles = _obstacles(settings)
    controller = make_controller(arm)
    controller.begin(start)
    controller.set_behaviors(_behaviors(settings, position, rotation))
    judge = CoalArm(find(name)[0], arm.chain, arm.shape, obstacles)
    least, positions, held, stalled = np.inf, [start], 0, 0
    for sample in range(round(DURATION / DT)):
        output = controller.update((sample + 1) * STEP_NS, DT, np.zeros(6))
        positions.append(controller.solver.position)
        held += bool(output.held)
        stalled = stalled + 1 if output.stalled else 0
        if sample % JUDGED == 0:
            least = min(least, judge.least(controller.solver.position))
        at_end = controller.behaviors[0].behavior.note() == "at its end"
        rests = float(np.abs(controller.solver.velocity).max()) < 1e-3
        if stalled * DT > STALLED or (at_end and rests and _reached(controller, position, rotation)):
            break
    reached = _reached(controller, position, rotation)
    told = output.stalled and bool(output.hindered_by)
    violated, speed = _violated(arm, np.array(positions)), float(np.abs(controller.solver.velocity).max())
    return Outcome(seed, name, least, violated, reached, told, output.hindered_by, held, speed)


def _behaviors(settings: dict, position: Array, rotation: Array) -> list[BehaviorSpec]:
    rpy = Rotation.from_matrix(rotation).as_euler("xyz")
    to_goal = {
        "positions": position.tolist(), "rpys": rpy.tolist(), "max_linear_velocity": 0.4,
        "max_linear_acceleration": 1.0, "max_angular_velocity": 1.5, "max_angular_acceleration": 4.0,
    }  # fmt: skip
    return [
        BehaviorSpec("path", "path", to_goal),
        BehaviorSpec("obstacles", "obstacles", settings),
        BehaviorSpec("joint_limits", "joint_limits"),
        BehaviorSpec("singularity", "singularity"),
        BehaviorSpec("posture", "posture"),
    ]


def _reached(controller, position: Array, rotation: Array) -> bool:
    p, R = controller.arm.chain.pose(controller.solver.position)
    turn = np.linalg.norm(Rotation.from_matrix(R.T @ rotation).as_rotvec())
    return bool(np.linalg.norm(p - position) < REACHED[0] and turn < REACHED[1])


def _world(random: np.random.Generator, arm: Arm) -> tuple[Array, dict, Array, Array]:
    """Start (n,), settings of the obstacles, goal; start and goal are clear of them by twice the margin."""
    while True:
        start, goal = _joints(random, arm), _joints(random, arm)
        (p0, _), (p1, R1) = arm.chain.pose(start), arm.chain.pose(goal)
        settings = _random_obstacles(random, 0.5 * (p0 + p1), p1 - p0)
        guard = ObstacleGuard(arm.shape, arm.chain, arm.limits, _obstacles(settings), MARGIN)
        if min(guard.least_distance(start)[0], guard.least_distance(goal)[0]) > 2.0 * MARGIN:
            return start, settings, p1, R1


def _joints(random: np.random.Generator, arm: Arm) -> Array:
    """Joints within their ranges and away from singularities, the tool above the floor."""
    lower, upper = np.maximum(arm.limits.lower, -2.5), np.minimum(arm.limits.upper, 2.5)
    while True:
        q = lower + (0.05 + 0.9 * random.random(arm.chain.n)) * (upper - lower)
        if least_singular_value(arm, q) > 0.03 and arm.chain.pose(q)[0][2] > 0.1:
            return q


def _random_obstacles(random: np.random.Generator, middle: Array, way: Array) -> dict:
    count = int(random.integers(2, 7))
    kinds = [KINDS[k] for k in random.choice(3, count, p=(0.4, 0.4, 0.2))]
    positions, rpys, sizes = [], [], []
    for kind in kinds:
        # half of them near the straight way
        near = middle + (random.random() - 0.5) * way + 0.1 * random.normal(size=3)
        place = near if random.random() < 0.5 else random.uniform((-0.9, -0.9, 0.0), (0.9, 0.9, 1.2))
        if kind == "half_space":
            place = random.uniform((-0.2, -0.2, -0.3), (0.2, 0.2, 0.0))
        positions += place.tolist()
        rpys += (random.normal(size=3) * (0.2 if kind == "half_space" else 1.5)).tolist()
        sizes += random.uniform(0.03, 0.15, 3).tolist() if kind == "box" else [random.uniform(0.03, 0.15), 0.0, 0.0]
    return {
        "names": [f"{kind}_{i}" for i, kind in enumerate(kinds)], "kinds": kinds, "positions": positions, "rpys": rpys,
        "sizes": sizes, "margin": MARGIN,
    }  # fmt: skip


def _obstacles(settings: dict) -> tuple[Obstacle, ...]:
    return obstacles_from_lists(*(settings[key] for key in ("names", "kinds", "positions", "rpys", "sizes")))


def _violated(arm: Arm, q: Array) -> tuple[str, ...]:
    """Which limits a sequence of joint references (k, n), a sample apart and from rest, leaves."""
    limits, found = arm.limits, []
    velocity = np.diff(q, axis=0) / DT
    acceleration = np.diff(np.vstack((np.zeros(q.shape[1]), velocity)), axis=0) / DT
    if (q > limits.upper + 1e-9).any() or (q < limits.lower - 1e-9).any():
        found.append("position")
    if (np.abs(velocity) > limits.velocity * (1.0 + 1e-9) + 1e-9).any():
        found.append("velocity")
    # differencing twice loses 1e-16 / DT^2
    if (np.abs(acceleration) > limits.acceleration * (1.0 + 1e-6)).any():
        found.append("acceleration")
    return tuple(found)
