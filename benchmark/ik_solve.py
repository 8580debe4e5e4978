"""Poses to joints: success and time beside peers: ``setup/run python benchmark/ik_solve.py [--poses N] [ROBOT ...]``.

Poses are those of uniformly random joints within the limits. Every answer, of all solvers alike, is judged by
Pinocchio: the pose within 1e-5 m and 1e-5 rad, all joints within their limits. The time is that of the call, failures
included.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read at NumPy's import: everything is compared on one core

import argparse
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio

sys.path.append(str(Path(__file__).resolve().parents[1] / "test" / "support"))

from ik_peers import PEERS, available
from robots import NAMES, PinocchioChain, chain, pinocchio_chain

from flexarm_core.ik_redundancy.inverse_kinematics import InverseKinematics
from flexarm_core.types import Array
from flexarm_tools.metrics.figures import Figure, parse_goal

REACHED = 1e-5  # [m, rad]
PATIENCE = 0.05  # [s] a pose, of every peer
# Rate and mean time [s] as published in the README of TRAC-IK (C++, 10,000 poses, 5 ms at most).
TRAC_IK = {"panda": (0.9988, 0.37e-3), "iiwa": (0.9992, 0.28e-3), "ur5": (0.9917, 0.37e-3)}

Solver = Callable[[Array, Array, Array], Array | None]


@dataclass(frozen=True, slots=True)
class Result:
    """How a solver did.

    Attributes:
        success: part of the poses that were reached within limits.
        times: (N,) of each call [s].
    """

    success: float
    times: Array

    @property
    def median(self) -> float:
        """[s]."""
        return float(np.median(self.times))

    @property
    def p99(self) -> float:
        """[s]."""
        return float(np.percentile(self.times, 99))


def run(solver: Solver, judge: PinocchioChain, lower: Array, upper: Array, positions: Array, starts: Array) -> Result:
    """Have a solver answer the poses at ``positions`` (N, n) from ``starts`` (N, n)."""
    solver(*judge.pose(positions[0]), starts[0])  # whatever happens once: compiling, first use of memory
    reached, times = 0, []
    for wanted, start in zip(positions, starts, strict=True):
        p, R = judge.pose(wanted)
        began = time.perf_counter()
        found = solver(p, R, start)
        times.append(time.perf_counter() - began)
        if found is not None and np.all(found >= lower) and np.all(found <= upper):
            p_found, R_found = judge.pose(found)
            far = np.linalg.norm(p - p_found) > REACHED or np.linalg.norm(pinocchio.log3(R @ R_found.T)) > REACHED
            reached += not far
    return Result(reached / len(positions), np.array(times))


def measure(names: Iterable[str] = NAMES, poses: int = 2000, peer_poses: int = 1000) -> list[Figure]:
    """Success and time of every solver on each robot, from another random position; ours also from mid-range.

    Args:
        names: of the robots; one whose package is not installed gives figures without a value.
        poses: for ours.
        peer_poses: for the peers, the first so many of the same poses.
    """
    figures: list[Figure] = []
    for name in names:
        figures += _of_robot(name, poses, min(peer_poses, poses)) if available(name) else _figures(name, None, {})
    return figures


def _of_robot(name: str, poses: int, peer_poses: int) -> list[Figure]:
    arm, judge, rng = chain(name), pinocchio_chain(name), np.random.default_rng(0)
    positions, starts = rng.uniform(arm.lower, arm.upper, (2, poses, arm.n))
    ours = InverseKinematics(arm, arm.lower, arm.upper)

    def solve(position: Array, rotation: Array, start: Array) -> Array | None:
        solution = ours.solve(position, rotation, start)
        return solution.position if solution.success else None

    middle = np.tile((arm.lower + arm.upper) / 2.0, (poses, 1))
    result = run(solve, judge, arm.lower, arm.upper, positions, starts)
    others = {"from_mid_range": run(solve, judge, arm.lower, arm.upper, positions, middle)}
    for peer, build in PEERS.items():
        theirs = build(name, arm)

        def ask(position: Array, rotation: Array, start: Array, theirs=theirs) -> Array | None:
            return theirs.solve(position, rotation, start, time.perf_counter() + PATIENCE)

        others[peer] = run(ask, judge, arm.lower, arm.upper, positions[:peer_poses], starts[:peer_poses])
    return _figures(name, result, others)


def _figures(name: str, result: Result | None, others: dict[str, Result]) -> list[Figure]:
    """The two figures of a robot."""
    count = 0 if result is None else len(result.times)
    success: dict[str, bool | float | str] = {"poses": float(count)}
    times: dict[str, bool | float | str] = {"median_us": np.nan if result is None else result.median * 1e6}
    for other, theirs in others.items():
        success[other] = theirs.success
        times[f"{other}_median_us"], times[f"{other}_p99_us"] = theirs.median * 1e6, theirs.p99 * 1e6
        if other in PEERS:
            success[f"{other}_poses"] = float(len(theirs.times))
            times[f"{other}_limit_us"] = PATIENCE * 1e6
    if name in TRAC_IK:
        success["trac_ik_published"], times["trac_ik_published_mean_us"] = TRAC_IK[name][0], TRAC_IK[name][1] * 1e6
    return [
        Figure(
            f"solve_ik_success_{name}",
            np.nan if result is None else result.success,
            "1",
            parse_goal(">= 0.999"),
            "random reachable poses reached within limits, from another random position",
            details=success,
        ),
        Figure(
            f"solve_ik_p99_{name}",
            np.nan if result is None else result.p99,
            "s",
            parse_goal("<= 2e-3"),
            "99th percentile of the time of a call from Python, failures included",
            details=times,
        ),
    ]


def main() -> int:
    """Print all figures; status 0 only if every goal holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("robots", nargs="*", metavar="ROBOT", help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--poses", type=int, default=2000, help="a robot (default 2000)")
    parser.add_argument("--peer-poses", type=int, default=1000, help="of these for the peers (default 1000)")
    options = parser.parse_args()
    good = True
    for name in options.robots or NAMES:
        for figure in measure([name], options.poses, options.peer_poses):
            goal, mark = figure.goal.text if figure.goal else "", "holds" if figure.holds else "FAILS"
            print(f"{figure.name:26} {figure.value:10.4g} {figure.unit:2} {goal:9} {mark:6} {figure.meaning}")
            for key, value in figure.details.items():
                print(f"    {key} = {value:.4g}" if isinstance(value, float) else f"    {key} = {value}")
            good &= figure.holds
        sys.stdout.flush()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
