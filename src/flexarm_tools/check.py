"""`flexarm check`: what a robot description or a modal data file holds, and what is missing for which ability."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flexarm_core.errors import FlexarmError
from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.flexible_dynamics.modal_data import ModalData, load_modal_data
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_tools.check_description import description_steps
from flexarm_tools.check_extensions import extension_steps
from flexarm_tools.check_stages import stage_step
from flexarm_tools.check_start import start_steps
from flexarm_tools.modal_frequencies import modal_frequencies


def check_robot(path: Path, tool_frame: str = "", arguments: dict[str, str] | None = None) -> tuple[str, bool]:
    """Read a description as every part of the suite would, and lead through the ten steps of docs/own_robot.md.

    Args:
        path: ``.urdf`` or ``.xacro`` file.
        tool_frame: link used as tool, empty for the default.
        arguments: xacro arguments.

    Returns:
        A text for people, and whether the description can be used.
    """
    try:
        description = parse_robot_description(load_robot_description(path, arguments), massless=True)
        flexible = load_flexible_links(description)
    except FlexarmError as error:
        return f"{path.name}: cannot be used\n  error: {error}", False
    try:
        model = ArmModel(description, tool_frame)
    except FlexarmError as error:
        tip = description.tip_links()[0]
        return (
            f"{path.name}: cannot be used\n  error: {error}\n"
            f"  for example: flexarm check {path.name} --tool-frame {tip}; in a scenario robot: {{tool_frame: {tip}}}"
        ), False
    stages, usable = stage_step(model)
    steps = [*description_steps(model), *extension_steps(model, flexible), stages]
    if usable:
        steps += start_steps(model, flexible, path, arguments or {})
    lines = [f"{path.name}: robot '{description.name}'" + ("" if usable else ": cannot be used for dynamics yet")]
    for number, step in enumerate(steps, start=1):
        lines += step.text(number)
    return "\n".join(lines), usable


def check_modal_data(path: Path) -> tuple[str, bool]:
    """Read a modal data file as the dynamics would.

    Args:
        path: ``.npz`` file.

    Returns:
        A text for people, and whether the file can be used.
    """
    try:
        data = load_modal_data(path)
    except FlexarmError as error:
        return f"{path.name}: cannot be used\n  error: {error}", False
    reach = np.linalg.norm(data.position, axis=1).max()
    lines = [f"{path.name}: modal data of a flexible link"]
    lines += [f"  nodes        {len(data.mass)}, the farthest {reach:.6g} m from the clamped one"]
    lines += [f"  total mass   {data.mass.sum():.6g} kg", *_mode_lines(data)]
    lines.append(f"  strain gauges: {', '.join(data.strain) or 'none'}")
    if not data.damping.any():
        lines.append("  warning: the modes have no damping: they swing for ever")
    return "\n".join(lines), True


def _mode_lines(data: ModalData) -> list[str]:
    frequencies, paired = modal_frequencies(data)
    if paired:
        return ["  modes", *(f"    {mode:<16} {f:.4g} Hz" for mode, f in zip(data.modes, frequencies, strict=True))]
    return [
        f"  modes        {', '.join(data.modes)} (not mass-normalised on the link alone)",
        f"  frequencies  {', '.join(f'{f:.4g}' for f in frequencies)} Hz, clamped, without what hangs outboard",
    ]
