"""Steps 5 to 7 of `flexarm check`: extensions of URDF: flexibility, sensors and command interfaces."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np

from flexarm_core.errors import FlexarmError
from flexarm_core.flexible_dynamics.flexible_links import DEFLECTION
from flexarm_core.flexible_dynamics.modal_data import ModalData
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.dynamics_check import massless_joints
from flexarm_core.robot.extensions_reader import sensors_without_frame
from flexarm_core.robot.spring_bounds import stiffness_errors
from flexarm_tools.check.description import state_at
from flexarm_tools.check.step import CheckStep, Finding
from flexarm_tools.gazebo.model import gazebo_losses, gazebo_model
from flexarm_tools.metrics.modal_frequencies import modal_frequencies

GAZEBO_STEP = 0.0005  # [s] of config/gazebo/flexarm.sdf
SENSOR = (
    '<sensor name="{name}">',
    '  <state_interface name="force.x"/>  <!-- and force.y, force.z, torque.x, torque.y, torque.z -->',
    '  <param name="frame_id">{frame}</param>',
    "</sensor>",
)


def extension_steps(model: ArmModel, flexible: dict[str, ModalData]) -> list[CheckStep]:
    """Check flexibility, sensors and command interfaces.

    Args:
        model: model of the robot.
        flexible: modal data of its flexible links, by name.
    """
    commands, (line, findings) = _commands(model), _gazebo(model)
    commands = replace(commands, lines=(*commands.lines, line), findings=(*commands.findings, *findings))
    return [_flexibility(model, flexible), _sensors(model), commands]


def _flexibility(model: ArmModel, flexible: dict[str, ModalData]) -> CheckStep:
    description = model.description
    lines = ["elastic joints" if model.m else "elastic joints: none (rigid base)"]
    for elastic in description.elastic:
        unit = "N/m" if description.joints[elastic.name].kind == "prismatic" else "N*m/rad"
        lines.append(f"  {elastic.name:<16} stiffness {elastic.stiffness:g} {unit}, damping {elastic.damping:g}")
    findings = []
    if model.m and not massless_joints(description):
        zero = state_at(model, np.zeros(model.n))
        frequencies = model.natural_frequencies(zero) / (2.0 * np.pi)
        lines.append(f"base at {', '.join(f'{f:.3g}' for f in frequencies)} Hz with joints locked at zero")
        free = description.free
        if free:
            findings.append(
                Finding(
                    f"{', '.join(free)}: stiffness 0, a base that floats freely, for use without gravity; or one on"
                    " wheels, whose pose and twist somebody measures: base_odometry tells them to the stages, see"
                    " docs/hardware.md"
                )
            )
        elif frequencies[0] == 0.0:
            findings.append(Finding("warning: the base falls over under its weight: its springs are too soft"))
        findings += [] if free else _sag(model)
    findings += [
        Finding(
            f"warning: {name} carries no joint of the arm: what swings there counts as a direction of its base, to be"
            f" measured and kept at rest as the others; if nothing does, hold it (--hold {name}:=0) and give no spring"
        )
        for name in description.beside_arm
    ]
    findings += [Finding(f"error: {error}") for error in stiffness_errors(description)]
    undamped = [elastic.name for elastic in description.elastic if elastic.damping == 0.0 < elastic.stiffness]
    if undamped:
        findings.append(Finding(f"warning: no damping of {', '.join(undamped)}: what swings there swings for ever"))
    lines += _flexible_lines(model, flexible)
    if not model.m and not flexible:
        findings.append(
            Finding(
                "if its base gives way: a joint under the base link for each direction, and",
                ('<elastic_joint name="JOINT" stiffness="[N/m or N*m/rad]" damping="[N*s/m or N*m*s/rad]"/>',),
                "<flexibility> in <robot>",
            )
        )
    return CheckStep("Elastic parts", tuple(lines), tuple(findings))


def _sag(model: ArmModel) -> list[Finding]:
    """Report elastic joints that the weight alone deflects beyond their limits."""
    rest = -model.weight(state_at(model, np.zeros(model.n))) / np.diag(model.K_b)
    found = []
    for name, bent in zip(model.elastic_joint_names, rest, strict=True):
        joint = model.description.joints[name]
        if not joint.lower <= bent <= joint.upper:
            unit = "m" if joint.kind == "prismatic" else "rad"
            found.append(
                Finding(
                    f"warning: under gravity along -z of the root link '{name}' rests at {bent:.4g} {unit}, outside"
                    f" [{joint.lower:.4g}, {joint.upper:.4g}]: too soft, or made for use without gravity"
                )
            )
    return found


def _flexible_lines(model: ArmModel, flexible: dict[str, ModalData]) -> list[str]:
    """List the elastic drives, and the flexible links with their modes; empty for an arm without both."""
    drives, lines = model.description.elastic_drives, []
    for name, drive in drives.items():
        unit = "N/m" if drive.slides else "N*m/rad"
        rotor = model.description.joints[drive.joint].armature
        locked = _locked_frequency(model, name) / (2.0 * np.pi)
        lines.append(
            f"  {drive.joint:<16} stiffness {drive.stiffness:g} {unit}, damping {drive.damping:g}, rotor {rotor:g}:"
            f" {locked:.4g} Hz at zero with the motor locked"
        )
    lines = ["elastic drives, a spring between motor and link", *lines] if drives else []
    flexible = {name: data for name, data in flexible.items() if name not in drives}
    lines += ["flexible links, each clamped at its hinge"] if flexible else []
    for name, data in flexible.items():
        beam = model.description.flexible_links[name].beam
        if beam is not None:  # its modes include the load
            frequencies, paired = np.sqrt(np.diag(data.stiffness)) / (2.0 * np.pi), True
            load = "what hangs outboard" if beam.tip_mass is None else f"{beam.tip_mass:g} kg at its tip"
            what = f"beam, with {load}"
        else:
            frequencies, paired = modal_frequencies(data)
            what = "modal data, without what hangs outboard"
        shown = [f"{f:.4g} Hz" for f in frequencies]
        if paired:
            shown = [f"{mode} {text}" for mode, text in zip(data.modes, shown, strict=True)]
        lines.append(f"  {name:<16} {what}: {', '.join(shown)}")
    return lines


def _locked_frequency(model: ArmModel, link: str) -> float:
    """Return the frequency of an elastic drive with all joints locked at zero and all else rigid [rad/s]."""
    flexible = FlexibleModel(model.description, model.tool_frame)
    place = flexible.modal[flexible.mode_names.index(f"{link}/{DEFLECTION}")]
    squares = np.diag(flexible.stiffness_matrix()) / np.diag(flexible.mass_matrix(np.zeros(flexible.size)))
    return float(np.sqrt(squares[place]))


def _sensors(model: ArmModel) -> CheckStep:
    description = model.description
    sensors = [f"{sensor.name} at {sensor.frame}" for sensor in description.force_torque_sensors.values()]
    lines = [f"force/torque sensors: {', '.join(sensors) or 'none'}"]
    findings = []
    if description.flexible_links:
        gauges = [f"{gauge.name} on {gauge.link}" for gauge in description.strain_gauges.values()]
        lines.append(f"strain gauges: {', '.join(gauges) or 'none'}")
        gauged = {gauge.link for gauge in description.strain_gauges.values()}
        bare = [name for name in description.flexible_links if name not in {*gauged, *description.elastic_drives}]
        if bare:
            findings.append(
                Finding(
                    f"warning: no strain gauge on {', '.join(bare)}: its modes are seen only through other sensors",
                    (f'<strain_gauge name="{bare[0]}_root" x="0.05" y="0.01"/>  <!-- [m] in the beam\'s frame -->',),
                    f'<flexible_link name="{bare[0]}">',
                )
            )
    unplaced = sensors_without_frame(ElementTree.fromstring(description.text))
    if unplaced:
        findings.append(
            Finding(
                f"warning: {', '.join(unplaced)} left out: <ros2_control> does not say on which link",
                (f'<param name="frame_id">{model.tool_frame}</param>  <!-- or where it is -->',),
                f'<sensor name="{unplaced[0]}">',
            )
        )
    elif not sensors:
        findings.append(
            Finding(
                "warning: no force/torque sensor in <ros2_control>: no base wrench will be measured",
                tuple(line.format(name="base_ft_sensor", frame=model.base_frame) for line in SENSOR),
                "<ros2_control>; for contact another one, tool_ft_sensor, behind the tool",
            )
        )
    imus = [f"{sensor.name} at {sensor.frame}" for sensor in description.imus.values()]
    lines += [f"IMUs: {', '.join(imus)}"] if imus else []
    measured = _interfaces(description.text, "state_interface")
    unmeasured = [name for name in model.elastic_joint_names if measured and name not in measured]
    if unmeasured:
        findings.append(
            Finding(
                f"warning: {', '.join(unmeasured)} not measured on a real arm: flexible_dynamics_estimator must tell",
                (
                    f'<joint name="{unmeasured[0]}">'
                    '<state_interface name="position"/><state_interface name="velocity"/></joint>',
                ),
                "<ros2_control>, where there is such a sensor",
            )
        )
    return CheckStep("Sensors", tuple(lines), tuple(findings))


def _commands(model: ArmModel) -> CheckStep:
    commands = _interfaces(model.description.text, "command_interface")
    if not commands:
        first = model.joint_names[0]
        return CheckStep(
            "Commands",
            (
                "no <ros2_control>: every joint that moves and is not elastic is driven:"
                f" {', '.join(model.joint_names)}",
            ),
            (
                Finding(
                    "warning: enough to simulate; a real arm is driven through ros2_control",
                    (
                        '<ros2_control name="arm" type="system">',
                        "  <hardware><plugin>DRIVER_OF_THE_ARM</plugin></hardware>",
                        f'  <joint name="{first}">  <!-- and the others -->',
                        '    <command_interface name="effort"/>',
                        '    <state_interface name="position"/><state_interface name="velocity"/>',
                        '    <state_interface name="effort"/>',
                        "  </joint>",
                        "</ros2_control>",
                    ),
                    "<robot>",
                ),
            ),
        )
    common = sorted(set.intersection(*(commands[name] for name in model.joint_names)))
    modes = [mode for mode in ("effort", "velocity", "position") if mode in common]
    findings = []
    if not modes:
        findings.append(Finding("missing: no command interface that all joints share: effort, velocity or position"))
    if model.description.force_torque_sensors and not model.armature.any() and "effort" in modes:
        findings.append(
            Finding(
                "warning: no joint has an armature: what turns the rotors of geared motors counts as friction",
                ('<param name="armature">[kg*m^2]</param>',),
                "each <joint> of <ros2_control>",
            )
        )
    return CheckStep("Commands", (f"command_mode of hardware_gate: {', '.join(modes) or 'none'}",), tuple(findings))


def _gazebo(model: ArmModel) -> tuple[str, list[Finding]]:
    """Return what gets into Gazebo in words, and why nothing does if that is so."""
    try:
        gazebo_model(model.description, GAZEBO_STEP, tool_frame=model.tool_frame)
    except FlexarmError as error:
        return "Gazebo       cannot have this robot", [Finding(f"warning: gazebo.launch.py refuses it: {error}")]
    lost = "; ".join(gazebo_losses(model.description))
    joints = sum(joint.kind != "fixed" for joint in model.description.joints.values())
    return f"Gazebo       gets all {joints} joints that move; it lacks: {lost or 'nothing'}", []


def _interfaces(text: str, kind: str) -> dict[str, set[str]]:
    """Return the interfaces of a kind by joint of `<ros2_control>`, for joints that have any."""
    found: dict[str, set[str]] = {}
    for joint in ElementTree.fromstring(text).findall("./ros2_control/joint"):
        names = {tag.get("name", "") for tag in joint.findall(kind)}
        if names:
            found.setdefault(joint.get("name", ""), set()).update(names)
    return found
