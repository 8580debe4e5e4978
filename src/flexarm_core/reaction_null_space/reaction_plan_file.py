"""Plans on disk: ``.npz`` with the arrays of a :class:`ReactionPlan`, the robot and its joints."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.reaction_plan import ReactionPlan
from flexarm_core.robot.arm_model import ArmModel

NAMES = tuple(field.name for field in fields(ReactionPlan))
JOINT_ROWS = ("positions", "velocities", "accelerations")


def save_plan(plan: ReactionPlan, file: str | Path, robot: str) -> None:
    """Write a plan of a robot of this name."""
    arrays: dict[str, Any] = {name: np.array(getattr(plan, name)) for name in NAMES}
    with open(file, "wb") as stream:
        np.savez(stream, robot=np.array(robot), **arrays)


def load_plan(file: str | Path, model: ArmModel) -> ReactionPlan:
    """Read a plan of this arm.

    Raises:
        ConfigError: no such file, not a plan, of another robot or other joints, beyond this arm's position limits.
    """
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: np.array(archive[name]) for name in archive.files}
    except (OSError, ValueError, EOFError, BadZipFile) as problem:
        raise ConfigError(f"plan '{file}' cannot be read: {problem}") from problem
    missing = [name for name in ("robot", *NAMES) if name not in arrays]
    if missing:
        raise ConfigError(f"plan '{file}' lacks {', '.join(missing)}")
    robot, joints = str(arrays["robot"]), tuple(str(name) for name in np.atleast_1d(arrays["joint_names"]))
    for what, found, valid in (
        ("robot", robot, model.description.name),
        ("joints", joints, tuple(model.joint_names)),
    ):
        if found != valid:
            raise ConfigError(f"plan '{file}' is of the {what} {found}, not of {valid}")
    times = arrays["times"]
    rows = {name: arrays[name] for name in JOINT_ROWS}
    good = times.ndim == 1 and len(times) > 1 and all(row.shape == (len(times), model.n) for row in rows.values())
    if not good or not all(np.isfinite(row).all() for row in (times, *rows.values())) or (np.diff(times) <= 0.0).any():
        raise ConfigError(f"plan '{file}': times must rise, and {', '.join(JOINT_ROWS)} be ({len(times)}, {model.n})")
    beyond = ((rows["positions"] < model.lower) | (rows["positions"] > model.upper)).any(axis=0)
    if beyond.any():
        raise ConfigError(f"plan '{file}' leaves the limits of joint '{model.joint_names[int(beyond.argmax())]}'")
    values: dict[str, Any] = {name: arrays[name] for name in NAMES} | {
        "kind": str(arrays["kind"]),
        "joint_names": joints,
    }
    for name in ("peak_energy", "straight_energy"):
        values[name] = float(arrays[name])
    return ReactionPlan(**values)
