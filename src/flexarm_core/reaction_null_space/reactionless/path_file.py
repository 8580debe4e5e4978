"""Reactionless paths on disk: ``.npz`` with the path, the robot name, the joints and the elastic directions."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flexarm_core.array_file import ArrayFile
from flexarm_core.entrance import finite, number
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.coupling.null_direction import NullDirection
from flexarm_core.reaction_null_space.reactionless.path import ENDS, PathEnd, PathKnots, ReactionlessPath
from flexarm_core.robot.arm_model import ArmModel

KNOTS = ("s", "position", "tangent", "curvature", "sigma_min", "tool_position")
NAMES = ("robot", "joint_names", "selection", "end_reasons", "end_joints")
RESIDUAL = 1e-8  # largest relative coupling of a stored direction; a larger one means that the robot model has changed


def save_path(path: ReactionlessPath, file: str | Path) -> None:
    """Write a path."""
    model, ends = path.field.model, (path.backward_end, path.forward_end)
    with open(file, "wb") as stream:
        np.savez(
            stream,
            robot=np.array(model.description.name),
            joint_names=np.array(model.joint_names),
            selection=np.array(path.field.selection),
            end_reasons=np.array([end.reason for end in ends]),
            end_joints=np.array([end.joint for end in ends]),
            closing_error=np.array(path.closing_error),
            **{key: getattr(path.knots, key) for key in KNOTS},
        )


def load_path(file: str | Path, model: ArmModel) -> ReactionlessPath:
    """Read a path for this arm.

    Raises:
        ConfigError: the file does not exist, is not a path, is for another robot, other joints or other elastic joints,
            or was traced with other masses, so that its directions are not reactionless for this arm.
    """
    archive = ArrayFile(file, "reactionless path")
    missing = archive.lacking((*NAMES, "closing_error", *KNOTS))
    if missing:
        raise ConfigError(f"reactionless path '{file}' lacks {', '.join(missing)}")
    arrays = archive.load()
    try:
        for key in KNOTS:
            arrays[key] = finite(key, arrays[key], *arrays[key].shape)
        closing_error = number("closing_error", arrays["closing_error"])
    except (InputError, TypeError) as error:
        raise ConfigError(f"reactionless path '{file}': {error}") from error
    if len(arrays["end_joints"].ravel()) != 2:
        raise ConfigError(f"reactionless path '{file}': end_joints must name two joints")
    robot, names, selection, reasons, joints = (_texts(arrays[key]) for key in NAMES)
    for what, found, valid in (
        ("robot", robot, (model.description.name,)),
        ("joints", names, model.joint_names),
    ):
        if found != valid:
            raise ConfigError(f"reactionless path '{file}' is of the {what} {found}, not of {valid}")
    field = NullDirection(model, selection)
    knots = PathKnots(*(arrays[key] for key in KNOTS))
    _check(file, field, knots, reasons)
    backward, forward = (PathEnd(reason, joint) for reason, joint in zip(reasons, joints, strict=True))
    return ReactionlessPath(field, knots, backward, forward, closing_error)


def _texts(values: np.ndarray) -> tuple[str, ...]:  # type: ignore[type-arg]
    return tuple(str(value) for value in np.ravel(values))


def _check(file: str | Path, field: NullDirection, knots: PathKnots, reasons: tuple[str, ...]) -> None:
    """Reject knots that are inconsistent or do not belong to this arm."""
    count, n = len(np.atleast_1d(knots.s)), field.model.n
    shapes = {"s": (count,), "sigma_min": (count,), "tool_position": (count, 3)}
    for key in KNOTS:
        value, shape = getattr(knots, key), shapes.get(key, (count, n))
        if value.shape != shape or not np.isfinite(value).all():
            raise ConfigError(f"reactionless path '{file}': {key} must be finite and of shape {shape}")
    if count < 2 or not (np.diff(knots.s) > 0.0).all() or len(reasons) != 2 or not set(reasons) <= set(ENDS):
        raise ConfigError(f"reactionless path '{file}': s must increase, ends must be of {', '.join(ENDS)}")
    for position, tangent in zip(knots.position, knots.tangent, strict=True):
        coupling = field.coupling(position)
        if np.linalg.norm(coupling @ tangent) > RESIDUAL * np.linalg.norm(coupling):
            raise ConfigError(f"reactionless path '{file}' was traced with other masses or lengths: trace it again")
