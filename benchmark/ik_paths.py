"""Random reachable paths: how many are planned whole, within tolerance and every limit, judged by Pinocchio.

A path is the image of a random smooth motion of the joints inside their limits, given as 73 tool poses that a spline
goes through: the arm can follow it, though not always in the way a local method takes. It begins where that motion
begins.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read at NumPy's import: as in the whole benchmark

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pinocchio
from scipy.interpolate import CubicSpline

sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))

import table
from support.robots import PinocchioChain, chain, pinocchio_chain

from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.path_planner import PathError, PathPlanner
from flexarm_core.ik_redundancy.planned_path import PlannedPath
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.path_timing import load_solver
from flexarm_core.path.pose_path import PosePath
from flexarm_core.types import Array
from flexarm_tools.metrics.figures import Figure, parse_goal

ROBOTS, PATHS = ("panda", "iiwa", "ur5"), 1000
POSES = 73  # of a path
LEGS, LONGEST_LEG = 3, 0.5  # of its joint motion, and how far a joint goes in one at most [rad]
OFF_LIMITS = 0.01  # [rad] that the motion keeps off the position limits
ACCELERATION = 10.0  # [rad/s^2] limit of every joint
TOOL = PathLimits(linear_velocity=0.5, linear_acceleration=2.0, angular_velocity=2.0, angular_acceleration=8.0)
POSITION_TOLERANCE, ROTATION_TOLERANCE = 1e-4, 1e-3  # [m], [rad]
SAMPLES = 101


def random_path(arm: Chain, random: np.random.Generator) -> tuple[PosePath, Array]:
    """A path and the joint positions (n,) at its begin."""
    low = np.maximum(arm.lower, -np.pi) + OFF_LIMITS
    high = np.minimum(arm.upper, np.pi) - OFF_LIMITS
    knots = [random.uniform(low, high)]
    for _ in range(LEGS):
        knots.append(np.clip(knots[-1] + random.uniform(-LONGEST_LEG, LONGEST_LEG, arm.n), low, high))
    motion = CubicSpline(np.arange(LEGS + 1), np.array(knots))
    joints = np.clip(motion(np.linspace(0.0, LEGS, POSES)), low, high)
    positions, rotations = zip(*(arm.pose(q) for q in joints), strict=True)
    begin = PosePath(positions[0], rotations[0])
    return begin.spline(np.array(positions[1:]), np.array(rotations[1:])), joints[0]


def fault(path: PosePath, plan: PlannedPath, limits: MotionLimits, judge: PinocchioChain) -> str:
    """What is wrong with a plan, by samples of it; empty where nothing is."""
    for moment in np.linspace(0.0, plan.duration, SAMPLES):
        q, v, a = plan.sample(float(moment))
        s = plan.timing.at(float(moment))[0]
        p, R = judge.pose(q)
        wanted, R_wanted = path.pose(s)
        if not np.linalg.norm(wanted - p) <= POSITION_TOLERANCE:
            return "position"
        if not np.linalg.norm(pinocchio.log3(R_wanted @ R.T)) <= ROTATION_TOLERANCE:
            return "orientation"
        if (q < limits.lower).any() or (q > limits.upper).any():
            return "position limit"
        if (np.abs(v) > limits.velocity).any() or (np.abs(a) > limits.acceleration).any():
            return "velocity or acceleration limit"
    end = plan.timing.at(plan.duration)[0]
    return "" if abs(end - path.length) <= 1e-9 * path.length else "not complete"


def path_success(robots: tuple[str, ...] = ROBOTS, paths: int = PATHS) -> Iterator[Figure]:
    """Share of the paths that are whole."""
    load_solver()
    for name in robots:
        arm, judge, random = chain(name), pinocchio_chain(name), np.random.default_rng(7)
        limits = MotionLimits(arm.lower, arm.upper, arm.velocity_limit, np.full(arm.n, ACCELERATION))
        planner = PathPlanner(arm, limits, RedundancyConfig())
        reasons: Counter[str] = Counter()
        times = []
        for _ in range(paths):
            path, start = random_path(arm, random)
            began = time.perf_counter()
            try:
                plan = planner.plan(path, start, TOOL, position_tolerance=5e-5, rotation_tolerance=5e-4)
                reasons[fault(path, plan, limits, judge) or "whole"] += 1
            except PathError as error:
                reasons["refused: " + ("singular" if "singular" in str(error) else "limits or jump")] += 1
            times.append(time.perf_counter() - began)
        yield Figure(
            f"path_success_{name}",
            reasons["whole"] / paths,
            "1",
            parse_goal(">= 0.99"),
            f"of {paths} random reachable paths whole within 1e-4 m, 1e-3 rad and all limits",
            details={
                **{reason: float(count) for reason, count in reasons.items()},
                "planning_median_ms": float(np.median(times)) * 1e3,
                "planning_p99_ms": float(np.percentile(times, 99)) * 1e3,
            },
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*", default=ROBOTS)
    parser.add_argument("--paths", type=int, default=PATHS)
    options = parser.parse_args()
    sys.exit(table.run("ik_paths", (lambda: path_success(tuple(options.robots), options.paths),)))
