"""Slow fine motion against friction: the torque loop, the position loop without it, and other ways round friction."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from base_wrench_judge import judge
from base_wrench_peers import FrictionModel, MomentumObserver, PositionOnly
from base_wrench_station import COUNT, END, BaseWrenchLoop, Conditions, Loop, run, told

from flexarm_core.base_wrench.controller import BaseWrenchControllerConfig
from flexarm_core.base_wrench.position_loop import PositionLoopConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array
from flexarm_sim.pushes import Push
from flexarm_tools.metrics.figures import Figure, parse_goal

SEEDS = (1, 2, 3)
# Of a grid over all three gains on this motion at 500 Hz, those with the least error that come to rest.
PID = PositionLoopConfig(2500.0, 100.0, 25000.0, 1000.0)
STIFF = PositionLoopConfig(22500.0, 300.0)
STIFF_PID = PositionLoopConfig(22500.0, 300.0, 1e6, 1000.0)
OBSERVER = 1000.0  # [rad/s] of the momentum observer, where its error is least
PUSH, PUSHED = 20.0, 1.0  # [N] sideways on the tool, [s] from which on


def tracking() -> Iterator[Figure]:
    """The figures of the loop under test."""
    plain = judge(run(PositionOnly))
    ours = [judge(run(told(), Conditions(seed=seed))) for seed in SEEDS]
    quiet = judge(run(told(), Conditions(noise=0.0)))
    ratio = float(max((verdict.joints / plain.joints).max() for verdict in ours))
    yield Figure(
        "tracking_ratio", ratio, "1", parse_goal("<= 0.1"),
        "RMS error of the worst joint with the torque loop over without, 1 deg at 1 deg/s, worst seed",
        details={
            "all_joints": max(verdict.rms for verdict in ours) / plain.rms,
            "with": str(ours[0]), "without": str(plain), "with_by_joint_mdeg": _row(ours[0].joints),
            "without_by_joint_mdeg": _row(plain.joints),
        },
    )  # fmt: skip
    yield Figure(
        "stick_slip_events", float(max(verdict.slips for verdict in (*ours, quiet))), "1", parse_goal("<= 0"),
        "times that a joint comes to stand while its reference moves steadily, all joints, most of all seeds",
        details={"without_torque_loop": float(plain.slips), "without_noise": float(quiet.slips)},
    )  # fmt: skip
    noisy = max(verdict.final for verdict in ours)
    explained = max(0.0, noisy - quiet.final)
    yield Figure(
        "final_error_counts", noisy, "1", parse_goal(f"<= {2.0 + explained:.4g}"),
        f"largest error at the end in encoder counts, most of {len(SEEDS)} seeds; goal: 2 and what the noise explains",
        details={
            "without_noise": quiet.final, "explained_by_noise": explained, "without_torque_loop": plain.final,
            "count_mdeg": 1e3 * float(np.rad2deg(COUNT)),
        },
    )  # fmt: skip


def _row(joints: Array) -> str:
    return " ".join(f"{1e3 * np.rad2deg(error):.1f}" for error in joints)


def _stiff(model: ArmModel) -> Loop:
    return BaseWrenchLoop(model, None, BaseWrenchControllerConfig(position_loop=STIFF))


PEERS: dict[str, Callable[[ArmModel], Loop]] = {
    "base wrench": told(),
    "position loop": PositionOnly,
    "PID, same gains": lambda model: PositionOnly(model, PID),
    "Coulomb and viscous model, exact": lambda model: FrictionModel(model),
    "Coulomb and viscous model, 20 % low": lambda model: FrictionModel(model, 0.8),
    "Coulomb and viscous model, 20 % high": lambda model: FrictionModel(model, 1.2),
    "whole friction law, exact": lambda model: FrictionModel(model, 1.0, whole=True),
    "whole friction law, 20 % low": lambda model: FrictionModel(model, 0.8, whole=True),
    "whole friction law, 20 % high": lambda model: FrictionModel(model, 1.2, whole=True),
    "momentum observer": lambda model: MomentumObserver(model, OBSERVER),
    "base wrench, 9 times as stiff": _stiff,
    "position loop, 9 times as stiff": lambda model: PositionOnly(model, STIFF),
    "PID, 9 times as stiff": lambda model: PositionOnly(model, STIFF_PID),
}


def peers() -> Iterator[Figure]:
    """All ways round friction on the same motion."""
    verdicts = {name: judge(run(make)) for name, make in PEERS.items()}
    ours, best = verdicts["base wrench"].rms, verdicts["momentum observer"].rms
    better = ", ".join(name for name, verdict in verdicts.items() if verdict.rms < ours)
    yield Figure(
        "peer_tracking_ratio", ours / best, "1", None,
        "RMS error with the base wrench over that with a momentum observer in the same loops; below 1 ours is better",
        details={name: str(verdict) for name, verdict in verdicts.items()} | {"less error than ours": better or "none"},
    )  # fmt: skip


def pushed() -> Iterator[Figure]:
    """A push on the moving tool: what is taken for friction of it, and how far the arm gives way."""
    push = Push("tool0", PUSHED, 10.0, (0.0, PUSH, 0.0))
    found: dict[str, bool | float | str] = {}
    wrong: dict[str, float] = {}
    for name in ("base wrench", "position loop", "momentum observer"):
        trace = run(PEERS[name], Conditions(duration=END, pushes=(push,)))
        late = trace.time > PUSHED + 0.5
        wrong[name] = float(np.sqrt(np.square(trace.estimated[late] - trace.friction[late]).mean()))
        rms = 1e3 * float(np.rad2deg(np.sqrt(np.square(trace.error[late]).mean())))
        found[name] = f"friction wrong by {wrong[name]:.3g} N*m, rms {rms:.4g} mdeg"
    yield Figure(
        "pushed_friction_error", wrong["base wrench"], "N*m", None,
        f"RMS error of the estimated friction while {PUSH:g} N push sideways on the slowly moving tool", details=found,
    )  # fmt: skip
