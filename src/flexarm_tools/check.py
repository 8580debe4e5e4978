"""`flexarm check`: what a robot description or a modal data file holds, and what is missing for which ability."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.linalg

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.flexible_dynamics.modal_data import ModalData, load_modal_data
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState, Array
from flexarm_sim.backends import BACKENDS, make_backend


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
        flexible = load_flexible_links(description)
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
    lines += _flexible_lines(description, flexible)
    sensors = [f"{sensor.name} at {sensor.frame}" for sensor in description.force_torque_sensors.values()]
    lines.append(f"  force/torque sensors: {', '.join(sensors) or 'none'}")
    imus = [f"{sensor.name} at {sensor.frame}" for sensor in description.imus.values()]
    lines += [f"  IMUs: {', '.join(imus)}"] if imus else []
    usable, findings = _findings(model)
    return "\n".join([*lines, *findings]), usable


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


def natural_frequencies(data: ModalData) -> tuple[Array, bool]:
    """Natural frequencies (k,) of a link alone, clamped inboard and free outboard [Hz].

    Returns:
        ``sqrt(diag K) / 2 pi`` where the modes are mass-normalised and uncoupled, else those of
        ``K phi = omega^2 (sum_j Pi_j^T M_j Pi_j) phi``; and whether each belongs to the mode of its place.
    """
    k = len(data.modes)
    scale = np.sqrt(np.outer(np.diag(data.stiffness), np.diag(data.stiffness)))
    coupled = np.abs(data.stiffness - np.diag(np.diag(data.stiffness))).max(initial=0.0) > 1e-3 * scale.max(initial=0.0)
    if not coupled and np.abs(data.modal_mass - np.eye(k)).max(initial=0.0) < 1e-2:
        return np.sqrt(np.diag(data.stiffness)) / (2.0 * np.pi), True
    squares = scipy.linalg.eigh(data.stiffness, data.modal_mass, eigvals_only=True)
    return np.sqrt(squares) / (2.0 * np.pi), False


def _mode_lines(data: ModalData) -> list[str]:
    frequencies, paired = natural_frequencies(data)
    if paired:
        return ["  modes", *(f"    {mode:<16} {f:.4g} Hz" for mode, f in zip(data.modes, frequencies, strict=True))]
    return [
        f"  modes        {', '.join(data.modes)} (not mass-normalised on the link alone)",
        f"  frequencies  {', '.join(f'{f:.4g}' for f in frequencies)} Hz, clamped, without what hangs outboard",
    ]


def _flexible_lines(description: RobotDescription, flexible: dict[str, ModalData]) -> list[str]:
    """Flexible links with their modes; nothing for an arm of rigid links."""
    if not flexible:
        return []
    lines = ["  flexible links, each clamped at its hinge"]
    for name, data in flexible.items():
        beam = description.flexible_links[name].beam
        if beam is not None:  # solved with its load, to which its stiffness belongs
            frequencies, paired = np.sqrt(np.diag(data.stiffness)) / (2.0 * np.pi), True
            what = (
                "beam, with what hangs outboard"
                if beam.tip_mass is None
                else f"beam, with {beam.tip_mass:g} kg at its tip"
            )
        else:
            frequencies, paired = natural_frequencies(data)
            what = "modal data, without what hangs outboard"
        shown = [f"{f:.4g} Hz" for f in frequencies]
        if paired:
            shown = [f"{mode} {text}" for mode, text in zip(data.modes, shown, strict=True)]
        lines.append(f"    {name:<16} {what}: {', '.join(shown)}")
    gauges = [f"{gauge.name} on {gauge.link}" for gauge in description.strain_gauges.values()]
    return [*lines, f"  strain gauges: {', '.join(gauges) or 'none'}"]


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
    if joint.armature > 0.0:
        text += f", armature {joint.armature:.4g} {'kg' if unit == 'm' else 'kg*m^2'}"
    return text


def _mass(model: ArmModel) -> float:
    links = model.description.links
    return sum(link.mass for name, link in links.items() if name != model.world_frame)


def _findings(model: ArmModel) -> tuple[bool, list[str]]:
    """What can run, and what is missing."""
    lines = []
    for name, value in (("velocity", model.velocity_limit), ("effort", model.effort_limit)):
        lacking = [joint for joint, limit in zip(model.joint_names, value, strict=True) if not np.isfinite(limit)]
        if lacking:
            lines.append(
                f'  warning: no <limit {name}="..."> for {", ".join(lacking)}: hardware_gate cannot enforce it'
            )
    runs = [_try_plant(name, model) for name in (BACKENDS if model.description.flexible_links else BACKENDS[:1])]
    lines += [line for line, _ in runs]
    usable = any(runs_here for _, runs_here in runs)
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


def _try_plant(backend: str, model: ArmModel) -> tuple[str, bool]:
    """Whether the plant can run on a backend, in words."""
    label = f"  simulated_plant ({backend}): "
    try:
        make_backend(backend, model.description, tool_frame=model.tool_frame)
    except ConfigError as error:  # what bends may be stiff: the robot is good, the settings are not
        return f"{label}can run with other settings: {error}", True
    except FlexarmError as error:
        return f"{label}cannot run: {error}", False
    return f"{label}can run", True
