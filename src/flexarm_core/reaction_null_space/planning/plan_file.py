"""Plans on disk: ``.npz`` with the arrays of a :class:`ReactionPlan`, the robot name and the joint names."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from flexarm_core.array_file import ArrayFile
from flexarm_core.entrance import finite, number
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.planning.plan import ReactionPlan
from flexarm_core.robot.arm_model import ArmModel

NAMES = tuple(field.name for field in fields(ReactionPlan))
NUMBERS = tuple(name for name in NAMES if name not in ("kind", "joint_names", "peak_energy", "straight_energy"))
JOINT_ROWS = ("positions", "velocities", "accelerations")
ROUNDING = 1e-6  # relative tolerance on limits, because a plan may reach them


def save_plan(plan: ReactionPlan, file: str | Path, robot: str) -> None:
    """Write a plan for the robot with this name."""
    arrays: dict[str, Any] = {name: np.array(getattr(plan, name)) for name in NAMES}
    with open(file, "wb") as stream:
        np.savez(stream, robot=np.array(robot), **arrays)


def load_plan(file: str | Path, model: ArmModel) -> ReactionPlan:
    """Read a plan for this arm.

    Raises:
        ConfigError: the file does not exist, is not a plan, is for another robot or other joints, or exceeds the
            position, velocity or acceleration limits of this arm.
    """
    archive = ArrayFile(file, "plan")
    missing = archive.lacking(("robot", *NAMES))
    if missing:
        raise ConfigError(f"plan '{file}' lacks {', '.join(missing)}")
    arrays = archive.load()
    try:
        for name in NUMBERS:
            arrays[name] = finite(name, arrays[name], *arrays[name].shape)
        energies = {name: number(name, arrays[name]) for name in ("peak_energy", "straight_energy")}
    except (InputError, TypeError) as error:
        raise ConfigError(f"plan '{file}': {error}") from error
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
    if not good or (np.diff(times) <= 0.0).any():
        raise ConfigError(f"plan '{file}': times must rise, and {', '.join(JOINT_ROWS)} be ({times.size}, {model.n})")
    short = [name for name in NUMBERS if arrays[name].shape[:1] != times.shape]
    if short:
        raise ConfigError(f"plan '{file}': {', '.join(short)} must have {len(times)} rows, one a time")
    beyond = ((rows["positions"] < model.lower) | (rows["positions"] > model.upper)).any(axis=0)
    if beyond.any():
        raise ConfigError(f"plan '{file}' leaves the limits of joint '{model.joint_names[int(beyond.argmax())]}'")
    for what, limit in (("velocities", model.velocity_limit), ("accelerations", model.acceleration_limit)):
        most = np.abs(rows[what]).max(axis=0)
        if (most > limit * (1.0 + ROUNDING)).any():
            i = int((most / limit).argmax())
            raise ConfigError(
                f"plan '{file}': {what} of joint '{model.joint_names[i]}' are up to {most[i]:.4g}, its limit is"
                f" {limit[i]:.4g}"
            )
    values: dict[str, Any] = {name: arrays[name] for name in NAMES} | {
        "kind": str(arrays["kind"]),
        "joint_names": joints,
    }
    return ReactionPlan(**(values | energies))
