"""Limits that a description has and nothing here keeps: soft limits, limits of continuous joints and of interfaces."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from flexarm_core.robot.arm_model import ArmModel

ROUNDED = 1e-3  # share by which limits that are written twice may differ


def limits_not_kept(model: ArmModel) -> list[str]:
    """Return which limits of driven joints are not kept, each kind in one line with what to do if they must be."""
    robot, soft, endless = ElementTree.fromstring(model.description.text), [], []
    for tag in robot.findall("joint"):
        name, limit, safety = tag.get("name", ""), tag.find("limit"), tag.find("safety_controller")
        if name not in model.joint_names:
            continue
        joint = model.description.joints[name]
        ends = _ends(safety, "soft_lower_limit", "soft_upper_limit")
        if ends and ends[0] < ends[1] and (ends[0] > joint.lower or ends[1] < joint.upper):
            soft.append(f"'{name}' [{ends[0]:.4g}, {ends[1]:.4g}]")
        ends = _ends(limit, "lower", "upper")
        if joint.endless and ends and ends[0] < ends[1]:
            endless.append(f"'{name}' [{ends[0]:.4g}, {ends[1]:.4g}]")
    said = (
        (soft, "soft limits (<safety_controller>) are not kept", "narrow <limit>"),
        (
            endless,
            "position limits of continuous joints mean nothing in URDF, and are not kept",
            'write type="revolute"',
        ),
        (
            _narrower_interfaces(robot, model),
            "<param> min and max of a <command_interface> are not kept",
            "narrow <limit>",
        ),
    )
    return [f"{what}: {', '.join(joints)}; if they must be, {remedy}" for joints, what, remedy in said if joints]


def _narrower_interfaces(robot: ElementTree.Element, model: ArmModel) -> list[str]:
    """Return the command interfaces that are given less than the limits of their joint."""
    found = []
    for tag in robot.findall("./ros2_control/joint"):
        joint = model.description.joints[tag.get("name", "")]
        limits = {
            "position": (joint.lower, joint.upper),
            "velocity": (-joint.velocity_limit, joint.velocity_limit),
            "effort": (-joint.effort_limit, joint.effort_limit),
        }
        for interface in tag.findall("command_interface"):
            kind = interface.get("name", "")
            if joint.name not in model.joint_names or kind not in limits:
                continue
            given = {one.get("name"): one.text for one in interface.findall("param")}
            lower, upper = _number(given.get("min"), -np.inf), _number(given.get("max"), np.inf)
            ends = max(lower, limits[kind][0]), min(upper, limits[kind][1])
            if lower < upper and not np.allclose(ends, limits[kind], rtol=ROUNDED, atol=0.0):
                found.append(f"'{joint.name}' {kind} [{ends[0]:.4g}, {ends[1]:.4g}]")
    return found


def _number(text: str | None, missing: float) -> float:
    """Return the number of a text; ``missing`` if there is none."""
    try:
        return float(text or "")
    except ValueError:
        return missing


def _ends(tag: ElementTree.Element | None, lower: str, upper: str) -> tuple[float, float] | None:
    """Return two limits of a tag, 0 where one is missing; None if it has neither, or they are no numbers."""
    if tag is None or not {lower, upper} & {*tag.keys()}:
        return None
    try:
        return float(tag.get(lower, "0")), float(tag.get(upper, "0"))
    except ValueError:
        return None
