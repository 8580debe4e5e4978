"""Steps 1 to 4 of `flexarm check`: requirements of every arm: frames, tool, masses and limits of a description."""

from __future__ import annotations

import numpy as np

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import Link
from flexarm_core.robot.dynamics_check import impossible_inertia, massless_joints
from flexarm_core.types import ArmState, Array
from flexarm_tools.check.step import CheckStep, Finding

POSTURES = 200  # number of random postures in which the gravity effort is checked
INERTIAL = (
    "<inertial>",
    '  <origin xyz="X Y Z"/>  <mass value="KG"/>',
    '  <inertia ixx="" ixy="0" ixz="0" iyy="" iyz="0" izz=""/>',
    "</inertial>",
)


def description_steps(model: ArmModel) -> list[CheckStep]:
    """Check frames, tool, masses and limits.

    Args:
        model: model of the robot; joints that move no mass are allowed here, and are reported.
    """
    return [_frames(model), _tool(model), _masses(model), _limits(model)]


def random_postures(model: ArmModel, count: int) -> Array:
    """Return random postures (count, n) within the position limits, with a fixed seed; continuous joints within pi."""
    lower, upper = np.maximum(model.lower, -np.pi), np.minimum(model.upper, np.pi)
    postures: Array = np.random.default_rng(0).uniform(lower, upper, (count, model.n))
    return postures


def state_at(model: ArmModel, position: Array) -> ArmState:
    """Return the arm at rest in a posture (n,), with an undeflected base."""
    return ArmState(0, position, np.zeros(model.n), np.zeros(model.m), np.zeros(model.m))


def _frames(model: ArmModel) -> CheckStep:
    return CheckStep(
        "Frames", (f"root link    {model.world_frame}", f"base link    {model.base_frame} (carries the arm)")
    )


def _tool(model: ArmModel) -> CheckStep:
    tips = ", ".join(model.description.tip_links())
    return CheckStep("Tool", (f"tool frame   {model.tool_frame}", f"tips         {tips}"))


def _masses(model: ArmModel) -> CheckStep:
    links = {name: link for name, link in model.description.links.items() if name != model.world_frame}
    findings = [
        Finding(
            f"missing: joint '{joint.name}' moves link '{joint.child}', which has no <inertial> with a mass",
            INERTIAL,
            f'<link name="{joint.child}">',
        )
        for joint in massless_joints(model.description)
    ]
    findings += [
        Finding(f"missing: joint '{joint.name}' mimics '{joint.mimic}': make it fixed, or give it a motor of its own")
        for joint in model.description.joints.values()
        if joint.mimic
    ]
    for link in links.values():
        wrong = _wrong_inertia(link)
        if wrong:
            findings.append(Finding(f"error: link '{link.name}': {wrong}"))
    total = sum(link.mass for link in links.values())
    return CheckStep("Masses and inertias", (f"mass         {total:.6g} kg moving",), tuple(findings))


def _wrong_inertia(link: Link) -> str:
    """Return why the inertia of a link is physically impossible, in words; empty if it is possible."""
    if not link.mass > 0.0:
        return ""
    if np.linalg.eigvalsh(link.inertia)[-1] <= 0.0:
        return f"{link.mass:g} kg without a moment of inertia: a point mass; MuJoCo needs some"
    return impossible_inertia(link)


def _limits(model: ArmModel) -> CheckStep:
    findings = []
    for name, value in (("velocity", model.velocity_limit), ("effort", model.effort_limit)):
        lacking = [joint for joint, limit in zip(model.joint_names, value, strict=True) if not np.isfinite(limit)]
        if lacking:
            findings.append(
                Finding(
                    f'warning: no <limit {name}="..."> for {", ".join(lacking)}: hardware_gate cannot enforce it',
                    (f'<limit lower="" upper="" velocity="" effort=""/>  <!-- {_units(model, lacking[0])} -->',),
                    f'<joint name="{lacking[0]}">{" and the others" if len(lacking) > 1 else ""}',
                )
            )
    findings += [
        Finding(f"missing: <limit effort> of '{name}' is 0: the motor gives nothing")
        for name, limit in zip(model.joint_names, model.effort_limit, strict=True)
        if limit == 0.0
    ]
    if not massless_joints(model.description):
        weight = np.max(
            [np.abs(model.blocks(state_at(model, q)).c_m) for q in random_postures(model, POSTURES)], axis=0
        )
        for i in np.flatnonzero((weight > model.effort_limit) & (model.effort_limit > 0.0)):
            findings.append(
                Finding(
                    f"warning: '{model.joint_names[i]}' carries up to {weight[i]:.4g} N*m of weight and can give"
                    f" {model.effort_limit[i]:.4g}: masses or effort limit are wrong, or it cannot hold every posture"
                )
            )
    return CheckStep("Limits of the joints", tuple(_joint_line(model, i) for i in range(model.n)), tuple(findings))


def _units(model: ArmModel, name: str) -> str:
    prismatic = model.description.joints[name].kind == "prismatic"
    return "[m], [m/s], [N]" if prismatic else "[rad], [rad/s], [N*m]"


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
