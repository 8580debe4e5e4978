"""Limits that a description has and nothing here keeps: soft limits, and position limits of continuous joints."""

from __future__ import annotations

from xml.etree import ElementTree

from flexarm_core.robot.arm_model import ArmModel


def limits_not_kept(model: ArmModel) -> list[str]:
    """Return which limits of driven joints are not kept, each kind in one line with what to do if they must be."""
    soft, endless = [], []
    for tag in ElementTree.fromstring(model.description.text).findall("joint"):
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
    )
    return [f"{what}: {', '.join(joints)}; if they must be, {remedy}" for joints, what, remedy in said if joints]


def _ends(tag: ElementTree.Element | None, lower: str, upper: str) -> tuple[float, float] | None:
    """Return two limits of a tag, 0 where one is missing; None if it has neither, or they are no numbers."""
    if tag is None or not {lower, upper} & {*tag.keys()}:
        return None
    try:
        return float(tag.get(lower, "0")), float(tag.get(upper, "0"))
    except ValueError:
        return None
