"""Closed tool paths with joint limits active on the way: how far from their start the joints end a lap.

A circle that a seven-joint arm can follow without limits; then the range of the joint that moved most is cut, so that
the arm has to go round the lap otherwise. Judged: laps that are planned, from their own start. Some such laps cannot
return: those that do not are searched by solutions of the inverse kinematics from random joints, joined where they are
close: more than is continuous, but a way that is open for less than the spacing of these poses may be missed.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read at NumPy's import: as in the whole benchmark

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))

import table
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree
from support.robots import chain

from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.inverse_kinematics import IkConfig, InverseKinematics
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.path_planner import PathError, PathPlanner
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.pose_path import PosePath
from flexarm_core.types import Array
from flexarm_tools.metrics.figures import Figure, parse_goal

ROBOTS, LAPS = ("panda", "iiwa"), 20
TOOL = PathLimits(linear_velocity=0.5, linear_acceleration=2.0, angular_velocity=2.0, angular_acceleration=8.0)
GOAL = 1e-6  # [rad]
CUT = 0.25  # share of the range of the joint in a lap without limits that is taken away
SAMPLES = 401
ROOM = 0.02  # [rad] that the start keeps from a limit
LAYERS, SOLUTIONS = 80, 1500  # of the search for a way back: poses of the lap, and joint positions of each
BESIDE, ALONG = 0.15, 0.4  # [rad] up to which joint positions of one pose, and of two poses in a row, are joined


def circle(arm: Chain, start: Array, random: np.random.Generator) -> PosePath:
    """A circle of the tool from joint positions (n,), in a random plane."""
    p, R = arm.pose(start)
    across, _ = np.linalg.qr(random.normal(size=(3, 2)))
    radius = random.uniform(0.05, 0.2)
    first, second = radius * across.T
    return PosePath(p, R).arc(p + first + second, p + 2.0 * first).arc(p + first - second, p)


def lap(arm: Chain, limits: MotionLimits, config: RedundancyConfig, start: Array, path: PosePath) -> Array | None:
    """Joint positions over a planned lap, None if there is no plan."""
    try:
        planned = PathPlanner(arm, limits, config).plan(path, start, TOOL)
    except PathError:
        return None
    return np.array([planned.sample(t)[0] for t in np.linspace(0.0, planned.timing.duration, SAMPLES)])


def may_return(arm: Chain, limits: MotionLimits, start: Array, path: PosePath, random: np.random.Generator) -> bool:
    """Whether joint positions along the lap lead from the start back to it, by a graph of random solutions."""
    inverse = InverseKinematics(arm, limits.lower, limits.upper, IkConfig(restarts=0))
    reached = start[None]
    for s in np.linspace(0.0, path.length, LAYERS + 1):
        pose = path.pose(s)
        tried = (inverse.solve(*pose, q) for q in random.uniform(limits.lower, limits.upper, (SOLUTIONS, arm.n)))
        found = np.array(
            [*(one.position for one in tried if one.success), *(start[None] if s in (0.0, path.length) else ())]
        )
        _, part = connected_components(KDTree(found).sparse_distance_matrix(KDTree(found), BESIDE, p=np.inf), False)
        near = KDTree(reached).query(found, p=np.inf)[0] <= ALONG
        at_end = np.isin(part, part[near])
        reached = found[at_end]
        if not len(reached):
            return False
    return bool(at_end[-1])


def cut_laps(name: str, count: int, config: RedundancyConfig) -> Iterator[tuple[float, float, bool]]:
    """How far from the start a lap ends without and with a limit in the way [rad], and whether it may return."""
    arm, random = chain(name), np.random.default_rng(7)
    limits = MotionLimits.of(arm)
    while count:
        middle, half = 0.5 * (limits.lower + limits.upper), 0.3 * (limits.upper - limits.lower)
        start = random.uniform(middle - half, middle + half)
        path = circle(arm, start, random)
        free = lap(arm, limits, config, start, path)
        if free is None:
            continue
        joints = free
        i = int(np.ptp(joints, axis=0).argmax())
        up, down = joints[:, i].max() - start[i], start[i] - joints[:, i].min()
        lower, upper = limits.lower.copy(), limits.upper.copy()
        if up > down:
            upper[i] = max(joints[:, i].max() - CUT * up, start[i] + ROOM)
        else:
            lower[i] = min(joints[:, i].min() + CUT * down, start[i] - ROOM)
        cut_limits = replace(limits, lower=lower, upper=upper)
        cut = lap(arm, cut_limits, config, start, path)
        if cut is None:
            continue
        count -= 1
        drift, cut_drift = (float(np.abs(one[-1] - start).max()) for one in (free, cut))
        can = cut_drift <= GOAL or may_return(arm, cut_limits, start, path, np.random.default_rng(count))
        yield drift, cut_drift, can


def measures(count: int) -> Iterator[Figure]:
    """Figures of the laps."""
    free, cut, can = np.array([row for name in ROBOTS for row in cut_laps(name, count, RedundancyConfig())]).T
    goal, possible = parse_goal(f"<= {GOAL}"), cut[can == 1.0]
    meaning = (
        "largest distance of a joint from its start after a lap of the tool, limits active, where there is a way back"
    )
    details = {"laps": len(cut), "median": float(np.median(cut)), "without_limits": float(free.max())}
    details |= {"laps_without_a_way_back": int((can == 0.0).sum()), "above the goal": int((possible > GOAL).sum())}
    yield Figure("lap_drift_rad", float(possible.max()), "rad", goal, meaning, details=details)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--laps", type=int, default=LAPS, help="laps of each arm")
    sys.exit(table.run("ik_laps", [lambda: measures(parser.parse_args().laps)]))
