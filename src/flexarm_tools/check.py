"""`flexarm check`: what a robot description holds, and what is missing for which ability."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flexarm_core.errors import FlexarmError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState
from flexarm_sim.mujoco_backend import MujocoBackend


def check_robot(path: Path, tool_frame: str = "", arguments: dict[str, str] | None = None) -> tuple[str, bool]:
    """Read a description as every part of the suite would.

    Args:
        path: ``.urdf`` or ``.xacro`` file.
        tool_frame: link used as tool, empty for the default.
        arguments: xacro arguments.

    Returns:
        A text for people, and whether the description can be used.
    """
    try:
        description = parse_robot_description(load_robot_description(path, arguments))
        model = ArmModel(description, tool_frame)
    except FlexarmError as error:
        return f"{path.name}: cannot be used\n  error: {error}", False
    lines = [f"{path.name}: robot '{description.name}'"]
    lines += [f"  root link    {model.world_frame}", f"  base link    {model.base_frame} (carries the arm)"]
    lines += [f"  tool frame   {model.tool_frame}", f"  mass         {_mass(model):.6g} kg moving", "  actuated joints"]
    lines += [f"    {_joint_line(model, i)}" for i in range(model.n)]
    lines += ["  elastic joints" if model.m else "  elastic joints: none (rigid base)"]
    for elastic in description.elastic:
        unit = "N/m" if description.joints[elastic.name].kind == "prismatic" else "N*m/rad"
        lines.append(f"    {elastic.name:<16} stiffness {elastic.stiffness:g} {unit}, damping {elastic.damping:g}")
    sensors = [f"{sensor.name} at {sensor.frame}" for sensor in description.force_torque_sensors.values()]
    lines.append(f"  force/torque sensors: {', '.join(sensors) or 'none'}")
    usable, findings = _findings(model)
    return "\n".join([*lines, *findings]), usable


def _joint_line(model: ArmModel, i: int) -> str:
    joint = model.description.joints[model.joint_names[i]]
    unit = "m" if joint.kind == "prismatic" else "rad"
    text = f"{joint.name:<16} {joint.kind:<11}"
    if np.isfinite(joint.lower):
        text += f" [{joint.lower:.4g}, {joint.upper:.4g}] {unit}"
    if np.isfinite(joint.velocity_limit):
        text += f", {joint.velocity_limit:.4g} {unit}/s"
    if np.isfinite(joint.effort_limit):
        text += f", {joint.effort_limit:.4g} {'N' if unit == 'm' else 'N*m'}"
    return text


def _mass(model: ArmModel) -> float:
    links = model.description.links
    return sum(link.mass for name, link in links.items() if name != model.world_frame)


def _findings(model: ArmModel) -> tuple[bool, list[str]]:
    """What can run, and what is missing."""
    lines, usable = [], True
    for name, value in (("velocity", model.velocity_limit), ("effort", model.effort_limit)):
        lacking = [joint for joint, limit in zip(model.joint_names, value, strict=True) if not np.isfinite(limit)]
        if lacking:
            lines.append(
                f'  warning: no <limit {name}="..."> for {", ".join(lacking)}: hardware_gate cannot enforce it'
            )
    try:
        MujocoBackend(model.description, tool_frame=model.tool_frame)
        lines.append("  simulated_plant (MuJoCo): can run")
    except FlexarmError as error:
        lines.append(f"  simulated_plant (MuJoCo): cannot run: {error}")
        usable = False
    if not model.m:
        lines.append("  rns_vibration_controller: needs an <elastic_joint> in <flexibility>")
    elif model.n <= model.m:
        lines.append(
            f"  rns_vibration_controller: needs more actuated joints ({model.n}) than elastic directions ({model.m})"
        )
    else:
        zero = ArmState(0, np.zeros(model.n), np.zeros(model.n), np.zeros(model.m), np.zeros(model.m))
        frequencies = model.natural_frequencies(zero) / (2.0 * np.pi)
        lines.append(
            f"  rns_vibration_controller: can run; reaction null space of dimension {model.n - model.m};"
            f" base at {', '.join(f'{f:.3g}' for f in frequencies)} Hz with joints locked at zero"
        )
    if not model.description.force_torque_sensors:
        lines.append("  warning: no force/torque sensor in <ros2_control>: no base wrench will be measured")
    return usable, lines
