"""`flexarm map`: picture, best postures and data of where an arm can move its tool without exciting the base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.reaction_null_space import ReactionNullSpace
from flexarm_core.reaction_null_space.reactionless.conditioning_map import (
    ConditioningMap,
    ConditioningMapConfig,
    map_conditioning,
)
from flexarm_core.reaction_null_space.reactionless.integrability import Integrability, integrability, trace_surface
from flexarm_core.reaction_null_space.reactionless.map import PathPicture, draw, map_reactionless_paths
from flexarm_core.reaction_null_space.vibration.base_selection import ALL, AUTO, BaseSelection
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_tools.report.reactionless_map_plot import map_svg

LISTED = 5  # number of best postures in the summary
FAMILY = 16  # number of postures through which paths are traced
SPACING = 0.04  # [rad] distance between drawn points of a path


def map_workspace(
    robot: Path,
    selection: Sequence[str] = (AUTO,),
    tool_frame: str = "",
    arguments: dict[str, str] | None = None,
    postures: int = 20_000,
    at: Sequence[float] | None = None,
    picture: Path | None = None,
    data: Path | None = None,
) -> str:
    """Map the workspace of an arm on an elastic base.

    Args:
        robot: ``.urdf`` or ``.xacro`` file.
        selection: base motions not to be excited: ``all``, ``auto`` (soft modes), or names of elastic joints.
        tool_frame: tool link, empty for the default.
        arguments: xacro arguments.
        postures: number of postures to evaluate.
        at: (3,) point in the base link's frame through which the slices are taken [m]; None: the best position.
        picture: SVG file to write.
        data: NPZ file to write, with the fields of :class:`ConditioningMap` and the name of the robot; also ``surface``
            and ``surface_tool`` through the best posture, where reactionless motions have one.

    Returns:
        Summary as text.

    Raises:
        FlexarmError: the robot or the selection cannot be used.
    """
    model = ArmModel(load_robot_description(robot, arguments), tool_frame)
    if model.m == 0:
        raise ConfigError(f"robot '{model.description.name}' has no elastic joint: its base cannot be shaken")
    if at is not None and (len(at) != 3 or not np.isfinite(at).all()):
        raise InputError(f"the slices go through {list(at)}: give three finite numbers [m]")
    chosen = BaseSelection(model, tuple(selection))
    found = map_conditioning(model, chosen, ConditioningMapConfig(postures))
    space, best = ReactionNullSpace(model, tuple(selection)), found.posture[0]
    motions = integrability(space, best)
    if picture is not None:
        place = found.tool_position[0] if at is None else np.array(at, dtype=float)
        title = f"{model.description.name}: {model.tool_frame} with {_quiet(found)} of the base at rest"
        picture.write_text(map_svg(found, place, title, _family(model, chosen, found, selection)), encoding="utf-8")
    if data is not None:
        rows: dict[str, Any] = {field.name: getattr(found, field.name) for field in fields(ConditioningMap)}
        if motions.integrable and motions.growth[0] == 2:
            surface = trace_surface(space, best)
            rows |= {"surface": surface.position, "surface_tool": surface.tool_position}
        np.savez_compressed(data, robot=np.array(model.description.name), **rows)
    return _text(model, found, postures, motions)


def _family(
    model: ArmModel, chosen: BaseSelection, found: ConditioningMap, selection: Sequence[str]
) -> tuple[PathPicture, ...]:
    """Return reactionless paths for start postures along the first joint, of a planar arm with one free direction."""
    if found.freedom > 1 or model.n - chosen.count != 1 or np.ptp(found.index, axis=0).all():
        return ()
    names = tuple(selection)
    if names == (AUTO,):
        if chosen.count < model.m:
            return ()
        names = (ALL,)
    low, high = np.maximum(model.lower, -np.pi), np.minimum(model.upper, np.pi)
    seeds = np.tile(0.5 * (low + high), (FAMILY, 1))
    seeds[:, 0] = low[0] + (high[0] - low[0]) * (np.arange(FAMILY) + 0.5) / FAMILY
    paths = map_reactionless_paths(model, seeds, names).paths
    return tuple(draw(path, SPACING) for path in paths)


def _quiet(found: ConditioningMap) -> str:
    return ", ".join(found.selection)


def _text(model: ArmModel, found: ConditioningMap, postures: int, motions: Integrability) -> str:
    speeds = found.least_speed[found.regular]
    axes = "".join(name for name, axis in zip("xyz", found.axes, strict=True) if axis)
    lines = [
        f"{model.description.name}: motion of '{model.tool_frame}' that leaves {_quiet(found)} of the base at rest",
        f"  free directions   {found.freedom} of {axes}",
        f"  joint motions     {motions}",
        f"  places            {len(found.index)} cubes of {found.voxel:g} m, {len(speeds)} well conditioned"
        f" (of {postures} postures)",
        f"  slowest speed     {found.median:.3g} m/s at joint speed 1 in the median posture,"
        f" {np.median(speeds) if len(speeds) else 0.0:.3g} in the median place,"
        f" {speeds.max(initial=0.0):.3g} in the best",
        "  best places       slowest .. fastest speed, conditioning; then the joints",
    ]
    for place in found.best(LISTED):
        tool = ", ".join(f"{value:7.3f}" for value in found.tool_position[place] + 0.0)
        joints = ", ".join(f"{value:.3f}" for value in found.posture[place] + 0.0)
        lines.append(
            f"    [{tool}] m   {found.least_speed[place]:.3f} .. {found.largest_speed[place]:.3f}"
            f"   {found.conditioning[place]:.3f}"
        )
        lines.append(f"      [{joints}]")
    return "\n".join(lines)
