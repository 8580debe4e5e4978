"""Trajectories of planners: random and malformed goals, and the swing of a boom beside joint_trajectory_controller.

``strangers.py`` reports both measures. This file alone: `joint_trajectories.py [PATHS]` (200 paths, 15 min).

The rules are written down here a second time, from joint_trajectory_controller's source (validate_trajectory_msg and
get_segment_tolerances, ros2_controllers for Jazzy), as plainly as they stand there.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process per core

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import table
import yaml
from ament_index_python.packages import get_package_share_directory
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
from rclpy.serialization import deserialize_message, serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from flexarm_core.errors import InputError
from flexarm_core.joint_trajectory.follower import End, TrajectoryFollower, TrajectoryFollowerConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.turns import Turns
from flexarm_nodes.messages.trajectory_points import points_from_message, set_points_aside
from flexarm_nodes.node.bounded_requests import bound_message
from flexarm_tools.metrics.figures import Figure, parse_goal
from flexarm_tools.process.progress import Progress
from flexarm_tools.run.in_process import run_in_process
from flexarm_tools.scenario.file import load_scenario

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("a", "b", "c", "d")
LIMIT, SPEED = 3.0, 2.0
NOW = 5_000_000_000  # [ns]
STEP = 10_000_000  # [ns]
GOALS = 1000
CHOSEN = (0.2, 0.1, 0.4, 0.1, 0.1, 0.05, 0.05)  # how often a tolerance is 0, -1, ...
OFFSET = 0.02  # [rad] of a joint's encoder
LONGEST = 20_000_000_000  # [ns] after which a goal counts as waiting for ever

# Goals ----------------------------------------------------------------------------------------------------------------


def random_goal(rng: np.random.Generator, start: np.ndarray) -> tuple[FollowJointTrajectory.Goal, list[str]]:
    """Return a goal like those of planners, changed in up to three ways, and the names of the changes."""
    count, fields = int(rng.integers(1, 8)), int(rng.integers(0, 3))
    times = np.cumsum(rng.uniform(0.4, 1.0, count)) - rng.choice([0.0, 0.4])
    way = np.vstack((start, start + np.cumsum(rng.uniform(-0.25, 0.25, (count, 4)), axis=0)))[1:]
    points = []
    for i, (time, position) in enumerate(zip(np.maximum(times, 0.0), way, strict=True)):
        point = JointTrajectoryPoint(positions=position.tolist())
        if fields:
            point.velocities = (rng.uniform(-0.2, 0.2, 4) * (i < count - 1)).tolist()
        if fields > 1:
            point.accelerations = (rng.uniform(-0.5, 0.5, 4) * (i < count - 1)).tolist()
        set_time(point, time)
        points.append(point)
    order = rng.permutation(4)
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.joint_names = [NAMES[i] for i in order]
    for point in points:
        for name in ("positions", "velocities", "accelerations"):
            values = list(getattr(point, name))
            setattr(point, name, [values[i] for i in order] if values else [])
    goal.trajectory.points = points
    changes = [str(one) for one in rng.choice(list(CHANGES), int(rng.integers(0, 4)), replace=False)]
    changes += [name for name in ("path tolerance", "goal tolerance", "goal time") if rng.random() < 0.3]
    for change in changes:
        CHANGES[change](rng, goal)
    return goal, changes


def set_time(point: JointTrajectoryPoint, time: float) -> None:
    """Set the time of a point [s]."""
    point.time_from_start.sec, point.time_from_start.nanosec = divmod(round(time * 1e9), 1_000_000_000)


def any_point(rng, goal) -> JointTrajectoryPoint:
    """Return one of its points, or one of none."""
    points = goal.trajectory.points
    return points[int(rng.integers(len(points)))] if points else JointTrajectoryPoint()


def put(rng, values, number) -> None:
    """Put a number into a list."""
    if len(values):
        values[int(rng.integers(len(values)))] = number


def tolerances(rng) -> list[JointTolerance]:
    """Return tolerances of all joints, or of one that is none."""
    position, velocity = (float(x) for x in rng.choice([0.0, -1.0, 0.01, 0.5, np.inf, np.nan, -3.0], 2, p=CHOSEN))
    velocity = velocity if velocity != 0.01 else 0.0
    return [
        JointTolerance(name=str(name), position=position, velocity=velocity)
        for name in rng.permutation([*NAMES, "x"] if rng.random() < 0.1 else NAMES)
    ]


def _names(rng, goal, name: str) -> None:
    put(rng, goal.trajectory.joint_names, name)


def _stamp(rng, goal, offset: float) -> None:
    goal.trajectory.header.stamp.sec = round(NOW * 1e-9 + offset)


def _later(rng, goal, by: float) -> None:
    for point in goal.trajectory.points:
        set_time(point, point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec + by)


def _same_time(rng, goal) -> None:
    points = goal.trajectory.points
    any_point(rng, goal).time_from_start = any_point(rng, goal).time_from_start if points else Duration()


CHANGES = {
    "unknown joint": lambda rng, goal: _names(rng, goal, "x"),
    "joint twice": lambda rng, goal: _names(rng, goal, (goal.trajectory.joint_names or ["a"])[0]),
    "joint missing": lambda rng, goal: setattr(goal.trajectory, "joint_names", goal.trajectory.joint_names[:-1]),
    "no joints": lambda rng, goal: setattr(goal.trajectory, "joint_names", []),
    "no points": lambda rng, goal: setattr(goal.trajectory, "points", []),
    "nan": lambda rng, goal: put(rng, any_point(rng, goal).positions, np.nan),
    "inf velocity": lambda rng, goal: put(rng, any_point(rng, goal).velocities, np.inf),
    "positions short": lambda rng, goal: setattr(any_point(rng, goal), "positions", [0.0] * int(rng.integers(0, 4))),
    "velocities long": lambda rng, goal: setattr(any_point(rng, goal), "velocities", [0.0] * int(rng.integers(5, 9))),
    "no velocities": lambda rng, goal: setattr(any_point(rng, goal), "velocities", []),
    "accelerations": lambda rng, goal: setattr(any_point(rng, goal), "accelerations", [0.0] * int(rng.integers(0, 6))),
    "efforts": lambda rng, goal: setattr(any_point(rng, goal), "effort", [0.0] * int(rng.integers(0, 5))),
    "same time": lambda rng, goal: _same_time(rng, goal),
    "first at 0": lambda rng, goal: goal.trajectory.points and set_time(goal.trajectory.points[0], 0.0),
    "end moves": lambda rng, goal: goal.trajectory.points and put(rng, goal.trajectory.points[-1].velocities, 0.1),
    "past": lambda rng, goal: _stamp(rng, goal, -float(rng.integers(1, 5))),
    "future": lambda rng, goal: _stamp(rng, goal, float(rng.integers(1, 3))),
    "later": lambda rng, goal: _later(rng, goal, 0.5),
    "beyond limits": lambda rng, goal: put(rng, any_point(rng, goal).positions, float(rng.choice([-9.0, 9.0]))),
    "elsewhere": lambda rng, goal: put(rng, any_point(rng, goal).positions, float(rng.uniform(-0.3, 0.3))),
    "path tolerance": lambda rng, goal: setattr(goal, "path_tolerance", tolerances(rng)),
    "goal tolerance": lambda rng, goal: setattr(goal, "goal_tolerance", tolerances(rng)),
    "goal time": lambda rng, goal: setattr(goal.goal_time_tolerance, "sec", int(rng.choice([-1, -5, 3]))),
}


def upstream_rejects(goal: FollowJointTrajectory.Goal) -> str:
    """Return why joint_trajectory_controller rejects a goal, with its defaults; empty: it does not."""
    trajectory = goal.trajectory
    names, points = trajectory.joint_names, trajectory.points
    if len(names) != len(NAMES):
        return "joints do not match"
    if not points:
        return "empty trajectory"
    if any(name not in NAMES for name in names):
        return "unknown joint"
    if any(abs(velocity) > np.finfo(np.float32).eps for velocity in points[-1].velocities):
        return "last velocity"
    times = [point.time_from_start.sec * 1_000_000_000 + point.time_from_start.nanosec for point in points]
    stamp = trajectory.header.stamp.sec * 1_000_000_000 + trajectory.header.stamp.nanosec
    if stamp and stamp + times[-1] < NOW:
        return "in the past"
    for i, point in enumerate(points):
        if i and times[i] <= times[i - 1]:
            return "times"
        if len(point.positions) != len(names):
            return "positions"
        if len(point.velocities) not in (0, len(names)) or len(point.accelerations) not in (0, len(names)):
            return "sizes"
        if len(point.effort):
            return "effort"
    return ""


def harmful(goal: FollowJointTrajectory.Goal, start: np.ndarray) -> bool:
    """Return whether what joint_trajectory_controller accepts is rejected here: see docs/joint_trajectories.md."""
    names, points = list(goal.trajectory.joint_names), goal.trajectory.points
    numbers = [x for point in points for x in (*point.positions, *point.velocities, *point.accelerations)]
    if len(set(names)) < len(names) or not np.isfinite(numbers).all():
        return True
    if np.abs([list(point.positions) for point in points]).max() > LIMIT:
        return True
    # The largest speed of a spline is above its mean speed, here by less than twice.
    place = [names.index(name) for name in NAMES]
    for one, other in pairwise(points):
        way = np.abs(np.array(one.positions) - np.array(other.positions))[place]
        time = other.time_from_start.sec - one.time_from_start.sec
        time += 1e-9 * (other.time_from_start.nanosec - one.time_from_start.nanosec)
        if (way / time > 0.5 * SPEED).any():
            return True
    return False


def follower(start: np.ndarray) -> TrajectoryFollower:
    """Return a follower of four joints at rest, at the time NOW."""
    most = np.full(4, LIMIT)
    made = TrajectoryFollower(NAMES, Turns([False] * 4), -most, most, np.full(4, SPEED), TrajectoryFollowerConfig())
    made.update(NOW, start, np.zeros(4))
    return made


def as_received(trajectory: JointTrajectory) -> JointTrajectory:
    """Return a trajectory as the node gets it, with its points set aside."""
    return deserialize_message(serialize_message(trajectory), bound_message(JointTrajectory, set_points_aside))


def outside_of_rules(seed: int) -> str:
    """Return in what a random goal is not treated as the rules say; empty: in nothing."""
    rng = np.random.default_rng(seed)
    start = rng.uniform(-1.0, 1.0, 4)
    goal, changes = random_goal(rng, start)
    made, ends = follower(start), []
    given = [[(t.name, t.position, t.velocity, t.acceleration) for t in one]
             for one in (goal.path_tolerance, goal.goal_tolerance)]  # fmt: skip
    extra = goal.goal_time_tolerance.sec + 1e-9 * goal.goal_time_tolerance.nanosec
    wrong = upstream_rejects(goal)
    try:
        points = points_from_message(as_received(goal.trajectory))
        accepted, _ = made.goal(points, lambda code, why: ends.append(code), *given, extra)
    except InputError as error:
        return "" if wrong or harmful(goal, start) else f"{changes}: rejected: {error}"
    if wrong:
        return f"{changes}: accepted in spite of: {wrong}"
    if not set(changes) & {"elsewhere", "beyond limits"} and harmful(goal, start):
        return f"{changes}: accepted though harmful"
    return judge(made, accepted, goal, start, ends, changes, np.random.default_rng((seed, 1)))


def judge(made, accepted, goal, start, ends, changes, rng) -> str:
    """Follow an accepted goal; return what is wrong. The arm is ideal but for an offset of one joint, 0 in half of all.

    A third of the goals is canceled on the way.
    """
    stop_at = NOW + int(rng.uniform(0.0, 2.0) * 1e9) if rng.random() < 0.3 else None
    off = np.zeros(4)
    joint = int(rng.integers(4))
    off[joint] = OFFSET * rng.integers(2)
    stamp = NOW
    made.follow(replace(accepted, canceled=lambda: stop_at is not None and stamp >= stop_at))
    position, velocity, speed = start, np.zeros(4), 0.0
    while not ends and stamp < NOW + LONGEST:
        stamp += STEP
        reference = made.update(stamp, position + off, velocity)
        for one, most in ((reference.position, LIMIT + 0.5), (reference.velocity, 2.0 * SPEED)):
            if not (np.abs(one) <= most).all():
                return f"{changes}: reference {one}"
        jump = np.abs(reference.position - position - 0.5e-9 * STEP * (reference.velocity + velocity)).max()
        if jump > 1e-3:
            return f"{changes}: the reference jumps by {jump:.2g}"
        position, velocity, speed = reference.position, reference.velocity, float(np.abs(reference.velocity).max())
    if ends == [End.CANCELED]:
        return "" if stop_at is not None and speed == 0.0 else f"{changes}: canceled at {speed} rad/s"
    path, end = (resolved(one, NAMES[joint]) for one in (goal.path_tolerance, goal.goal_tolerance))
    time = goal.goal_time_tolerance.sec if goal.goal_time_tolerance.sec > 0 else 0
    tight = any(0.0 < value < 1.0 for one in goal.path_tolerance for value in (one.position, one.velocity))
    if 0.0 < path < abs(off[joint]) and not usual(goal):
        return "" if ends == [End.PATH_TOLERANCE_VIOLATED] else f"{changes}: not the path tolerance, but {ends}"
    if ends == [End.PATH_TOLERANCE_VIOLATED]:  # the path begins elsewhere
        return "" if tight and not usual(goal) else f"{changes}: path tolerance"
    if 0.0 < end < abs(off[joint]) and not usual(goal):
        wanted = [End.GOAL_TOLERANCE_VIOLATED] if time else []
        return "" if ends == wanted else f"{changes}: not the goal tolerance, but {ends}"
    if ends != [End.SUCCESSFUL]:
        return f"{changes}: ended as {ends}"
    last = dict(zip(goal.trajectory.joint_names, goal.trajectory.points[-1].positions, strict=True))
    if max(abs(last[name] - position[i]) for i, name in enumerate(NAMES)) > 1e-6:
        return f"{changes}: ended at {position}"
    return ""


def usual(goal: FollowJointTrajectory.Goal) -> bool:
    """Return whether the default tolerances hold for the whole goal, since one of its own has no meaning."""
    given = [*goal.path_tolerance, *goal.goal_tolerance]
    numbers = [x for one in given for x in (one.position, one.velocity, one.acceleration)]
    numbers.append(goal.goal_time_tolerance.sec + 1e-9 * goal.goal_time_tolerance.nanosec)
    return any(one.name not in NAMES for one in given) or any(x < 0.0 and x != -1.0 for x in numbers)


def resolved(given: list[JointTolerance], name: str) -> float:
    """Return the position tolerance of a joint; 0: none, as is the default."""
    return max([one.position for one in given if one.name == name and one.position > 0.0], default=0.0)


def measure_goals(count: int = GOALS) -> Iterator[Figure]:
    """The goals that are not treated as the rules say."""
    wrong = {seed: said for seed in range(count) if (said := outside_of_rules(seed))}
    yield Figure(
        *("trajectory_goals", len(wrong), "", parse_goal("== 0")),
        f"of {count} random and malformed goals, those that are not treated by joint_trajectory_controller's rules",
        details={str(seed): said[:300] for seed, said in wrong.items()},
    )


# Of control_msgs 5.8.0; test/nodes/test_control_msgs.py says where it is from. It covers all types that are used.
TYPE_HASH = "RIHS01_738ebcb7a2d7cfa42f9f1001cc99ce3a4383d1cfe508015d9be8485e4b1c66f6"


def measure_type_hash() -> Iterator[Figure]:
    """Whether the action that is installed here is the published one."""
    file = Path(get_package_share_directory("control_msgs")) / "action/FollowJointTrajectory.json"
    found = json.loads(file.read_text(encoding="utf-8"))["type_hashes"][0]["hash_string"]
    yield Figure(
        *("type_hash_equal", float(found == TYPE_HASH), "", parse_goal("== 1")),
        "type hash of FollowJointTrajectory here and in control_msgs of Jazzy",
    )


# Swing ----------------------------------------------------------------------------------------------------------------

PATHS = 200
SCALING = 0.1  # of velocity and acceleration limits: MoveIt's default
ACCELERATION = 5.0  # [rad/s^2] limit, as in the joint_limits.yaml of MoveIt configurations
QUIET = 1e-3  # [rad] error of the joints at the end of a run above which the plain servos count as unstable
NEAR, FAR = 0.3, 0.8  # [rad] from the posture of the demo to the start, and from there to the goal
SHARE = 0.19  # of the duration that the shaper may add
BEGIN, AFTER = 0.1, 1.5  # [s] before and behind a path
RATE = 250.0  # [Hz]
GAIN = 15.0  # [rad/s] of the servos of the joints, critically damped: stable in most postures


@dataclass(frozen=True, slots=True)
class Swing:
    """What a path did to the boom."""

    residual: float  # largest root of the elastic energy in the boom behind the end [sqrt(J)]
    peak: float  # largest one at all
    time: float  # from the begin of the path to its end [s]
    error: float  # of the joints at the end of the run [rad]


def planned_path(start: np.ndarray, goal: np.ndarray, velocity: np.ndarray) -> tuple[float, list[dict]]:
    """Return the duration, and the points of a straight joint path that is as fast as the scaled limits allow."""
    way = np.abs(goal - start)
    v, a = (SCALING * velocity / way).min(), (SCALING * ACCELERATION / way).min()
    v = min(v, np.sqrt(a))
    blend = v / a
    duration = 1.0 / v + blend
    points = []
    for time in np.unique(np.append(np.arange(0.0, duration, 0.1), duration)).tolist():
        left = duration - time
        if time < blend:
            s, ds, dds = 0.5 * a * time**2, a * time, a
        elif left < blend:
            s, ds, dds = 1.0 - 0.5 * a * left**2, a * left, -a
        else:
            s, ds, dds = v * (time - 0.5 * blend), v, 0.0
        rows = {"positions": start + s * (goal - start), "velocities": ds * (goal - start)}
        rows["accelerations"] = dds * (goal - start)
        points.append({name: row.tolist() for name, row in rows.items()} | {"time_from_start": time})
    return float(duration), points


def swing(arguments: tuple[int, bool]) -> Swing:
    """Follow path number ``seed`` as joint_trajectory_controller does, or shaped, by the same servos of the joints."""
    seed, shaped = arguments
    model = ArmModel(parse_robot_description(load_robot_description(ROOT / "urdf/boom_7r.urdf.xacro")))
    scenario = yaml.safe_load((ROOT / "config/boom_7r/scenarios/pd_zvd.yaml").read_text(encoding="utf-8"))
    rng = np.random.default_rng(seed)
    start = scenario["plant"]["initial_position"] + rng.uniform(-NEAR, NEAR, model.n)
    goal = np.clip(start + rng.uniform(-FAR, FAR, model.n), model.lower + 0.1, model.upper - 0.1)
    duration, points = planned_path(start, goal, model.velocity_limit)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "trajectory.yaml"
        file.write_text(yaml.safe_dump({"joint_names": list(model.joint_names), "points": points}), encoding="utf-8")
        follow = {"trajectory_file": str(file), "start": BEGIN}
        follow |= {"shaper": "base_modes", "shaper_share": SHARE} if shaped else {}
        _, _, servo, gate = scenario["nodes"]
        servo["parameters"] |= {"rate": RATE, "position_gain": GAIN**2, "velocity_gain": 2.0 * GAIN}
        scenario["rate"] = RATE
        scenario["nodes"] = [{"executable": "joint_trajectory_follower", "parameters": follow}, servo, gate]
        scenario["plant"]["initial_position"] = start.tolist()
        scenario["duration"], scenario["figures"] = round(BEGIN + 1.2 * duration + AFTER, 1), {}
        study = Path(folder) / "study.yaml"
        study.write_text(yaml.safe_dump(scenario), encoding="utf-8")
        recording = run_in_process(load_scenario(study), Silent("swing"))
    takes = duration * (1.0 + SHARE * shaped)
    behind = recording.time - recording.time[0] > BEGIN + takes
    root = recording.base_energy_root
    error = float(np.abs(recording.position[-1] - goal).max())
    return Swing(float(root[behind].max()), float(root.max()), takes, error)


class Silent(Progress):
    """Shows nothing."""

    def show(self, now: float, end: float) -> None:
        """Show nothing."""


def measure_swing(paths: int = PATHS) -> Iterator[Figure]:
    """The swing of the boom behind the end of a path, shaped and as joint_trajectory_controller follows it."""
    pairs, drawn, worst = [], 0, 0.0
    with get_context("spawn").Pool(2) as pool:
        while len(pairs) < paths and drawn < 2 * paths:
            seeds = range(drawn, drawn + paths - len(pairs))  # in place of those that were left out, too
            found = pool.map(swing, [(seed, shaped) for seed in seeds for shaped in (False, True)], chunksize=1)
            pairs += [(one, other) for one, other in zip(found[::2], found[1::2], strict=True) if one.error < QUIET]
            drawn, worst = seeds.stop, max(worst, *(one.error for one in found))
    plain, shaped = zip(*pairs, strict=True)
    ratios = np.array([one.residual / other.residual for one, other in zip(shaped, plain, strict=True)])
    total = float(np.sum([one.residual for one in shaped]) / np.sum([one.residual for one in plain]))
    yield Figure(
        *("swing_beside_jtc", total, "", parse_goal("<= 0.05")),
        f"of the boom behind the end of {len(pairs)} paths, shaped, as a share of that of joint_trajectory_controller",
        details={
            "further paths, left out, as the plain servos are not stable on them": drawn - len(pairs),
            "median": float(np.median(ratios)),
            "90 %": float(np.quantile(ratios, 0.9)),
            "largest": float(ratios.max()),
            "peak on the way": float(
                np.median([one.peak / other.peak for one, other in zip(shaped, plain, strict=True)])
            ),
            "joint error": worst,
        },
    )
    longer = max(one.time / other.time for one, other in zip(shaped, plain, strict=True)) - 1.0
    yield Figure(*("time_beside_jtc", longer, "", parse_goal("<= 0.2")), "by which the shaped path takes longer")


def main() -> int:
    """Run both measures."""
    paths = int(sys.argv[1]) if sys.argv[1:] else PATHS
    return table.run("joint_trajectories", [measure_type_hash, measure_goals, lambda: measure_swing(paths)])


if __name__ == "__main__":
    sys.exit(main())
