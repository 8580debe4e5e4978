"""Steps 1 to 4 of `flexarm check`: requirements of every arm: frames, tool, masses and limits of a description."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import Link
from flexarm_core.robot.dynamics_check import impossible_inertia, massless_joints
from flexarm_core.robot.limits_not_kept import limits_not_kept
from flexarm_core.types import ArmState, Array
from flexarm_tools.check.arm import Arm
from flexarm_tools.check.step import CheckStep, Finding

POSTURES = 200  # number of random postures in which the gravity effort is checked
LONGEST = 100.0  # [m] length of an arm, or limit of a slide, beyond which lengths may be in millimeters
MOST_TURNED, FASTEST = 30.0, 30.0  # [rad], and [rad/s | m/s], beyond which limits may be in degrees or millimeters
MOST_ORIGIN = 6.3  # [rad] of an origin: more than a turn
NO_LIMIT = 1e4  # from which on limits mean that there is none
FASTEST_DAMPING = 1e-4  # [s] time constant below which damping is no physical one
MOST_ACCELERATION = 1e6  # [rad/s^2 | m/s^2] beyond which a joint has no inertia for its effort
DENSEST = 500.0  # [kg/m^3] moving mass beside the cube of the length of all links, for arms of SMALL or more
SMALL = 0.3  # [m]
WEIGHT = 9.81  # [m/s^2]
STRONGEST = 300.0  # multiple of the weight of all that moves, at the length of all links, that no motor of an arm bears
UNLIMITED = 1e8  # [N*m] from which on effort limits mean that there is none
DIGITS = (10.0, 100.0, 1000.0)  # factors of a decimal point that was lost
WIDE = 2.0  # multiple of the length of all links that no radius of gyration and no center of mass has
SMALLEST = 0.05  # [m] shorter arms count as so long
INERTIAL = (
    "<inertial>",
    '  <origin xyz="X Y Z"/>  <mass value="KG"/>',
    '  <inertia ixx="" ixy="0" ixz="0" iyy="" iyz="0" izz=""/>',
    "</inertial>",
)


def description_steps(model: ArmModel, arm: Arm) -> list[CheckStep]:
    """Check frames, tool, masses and limits.

    Args:
        model: model of the robot; joints that move no mass are allowed here, and are reported.
        arm: joints and tool that are assumed to be the arm.
    """
    return [_frames(model), _tool(model, arm), _masses(model), _limits(model)]


def random_postures(model: ArmModel, count: int) -> Array:
    """Return random postures (count, n) within the position limits, with a fixed seed; see :func:`usual_range`."""
    postures: Array = np.random.default_rng(0).uniform(*usual_range(model), (count, model.n))
    return postures


def usual_range(model: ArmModel) -> tuple[Array, Array]:
    """Return the part (n,), (n,) of the position limits within pi of the position that is nearest to zero."""
    near = np.clip(0.0, model.lower, model.upper)
    return np.maximum(model.lower, near - np.pi), np.minimum(model.upper, near + np.pi)


def state_at(model: ArmModel, position: Array) -> ArmState:
    """Return the arm at rest in a posture (n,), with an undeflected base."""
    return ArmState(0, position, np.zeros(model.n), np.zeros(model.m), np.zeros(model.m))


def _frames(model: ArmModel) -> CheckStep:
    return CheckStep(
        "Frames", (f"root link    {model.world_frame}", f"base link    {model.base_frame} (carries the arm)")
    )


def _tool(model: ArmModel, arm: Arm) -> CheckStep:
    tips = ", ".join(model.description.tip_links())
    lines = [f"tool frame   {model.tool_frame}", f"tips         {tips}"]
    held = arm.held | model.description.outside
    lines += [f"not of the arm, read as fixed: {_positions(held)}"] if held else []
    findings = []
    if arm.guessed:
        findings.append(Finding(f"warning: '{model.tool_frame}' is a guess: choose another link with --tool-frame"))
    if arm.held:
        findings.append(
            Finding("warning: are these joints where they are held? choose with --hold JOINT:=POSITION, for each one")
        )
    return CheckStep("Tool", tuple(lines), tuple(findings))


def _positions(held: dict[str, float]) -> str:
    """Describe held joints in words, those at the same position together."""
    together: dict[float, list[str]] = {}
    for name, position in held.items():
        together.setdefault(position, []).append(name)
    return "; ".join(f"at {position:g} {', '.join(names)}" for position, names in together.items())


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
    reach = _reach(model)
    if reach > LONGEST:
        findings.append(Finding(f"warning: the links are {reach:.4g} m long together: are lengths in millimeters?"))
    for link in links.values():
        if link.mass > 0.0 and (wrong := _wrong_inertia(link, reach)):
            findings.append(Finding(f"{wrong[0]}: link '{link.name}': {wrong[1]}"))
    total = sum(link.mass for name, link in links.items() if name in _moving(model))
    if total > DENSEST * max(reach, SMALL) ** 3:
        why = f"warning: {total:.4g} kg move, and the links are {reach:.4g} m long together: are masses in grams?"
        findings.append(Finding(why))
    for name, angle in _turned_too_far(model):
        findings.append(
            Finding(f"warning: {name}: <origin rpy> has an angle of {angle:.4g} rad: is it in degrees, or meant as pi?")
        )
    return CheckStep("Masses and inertias", (f"mass         {total:.6g} kg moving",), tuple(findings))


def _moving(model: ArmModel) -> set[str]:
    """Return the names of the links that joints move."""
    found: set[str] = set()
    for joint in model.description.joints.values():  # parents first
        if joint.kind != "fixed" or joint.parent in found:
            found.add(joint.child)
    return found


def _turned_too_far(model: ArmModel) -> list[tuple[str, float]]:
    """Return joints and links whose origins turn by more than a turn, with that angle, as it stands in the file."""
    found = []
    for tag in ElementTree.fromstring(model.description.text):
        origin = (
            tag.find("origin") if tag.tag == "joint" else tag.find("inertial/origin") if tag.tag == "link" else None
        )
        angles = [abs(float(word)) for word in (origin.get("rpy", "") if origin is not None else "").split()]
        if max(angles, default=0.0) > MOST_ORIGIN:
            found.append((f"{tag.tag} '{tag.get('name', '')}'", max(angles)))
    return found


def _reach(model: ArmModel) -> float:
    """Return the length of the longest chain of links, without the ranges of prismatic joints [m]."""
    ends = {model.world_frame: 0.0}
    for joint in model.description.joints.values():  # parents first
        ends[joint.child] = ends[joint.parent] + float(np.linalg.norm(joint.transform_child_to_parent[:3, 3]))
    return max(ends.values())


def _wrong_inertia(link: Link, reach: float) -> tuple[str, str] | None:
    """Return how bad the inertia of a link is (`error` or `warning`), and why; None if it may be right."""
    largest = float(np.linalg.eigvalsh(link.inertia)[-1])
    if largest <= 0.0:
        return "warning", f"{link.mass:g} kg without a moment of inertia: a point mass; MuJoCo is given some"
    if wrong := impossible_inertia(link.inertia):
        return "error", f"{wrong}; `flexarm check ROBOT --repair COPY.urdf` writes the nearest one that is"
    room = WIDE * max(reach, SMALLEST)
    if (gyration := np.sqrt(largest / link.mass)) > room:
        why = f"are of a body {2.0 * gyration:.4g} m wide, the links are {reach:.4g} m long together"
        return "warning", f"{link.mass:g} kg and {largest:.4g} kg*m^2 {why}: is the inertia in kg*m^2?"
    if (away := float(np.linalg.norm(link.center_of_mass))) > room:
        return "warning", f"its center of mass is {away:.4g} m from its frame: are lengths in meters?"
    return None


def _limits(model: ArmModel) -> CheckStep:
    findings = []
    if strong := _strong(model):
        why = f"warning: effort limits are out of proportion to the weight of the arm: {', '.join(strong)}"
        findings.append(Finding(f"{why}: are they in N*mm, or placeholders?"))
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
    findings += _odd_units(model) + _narrowed(model)
    findings += [Finding(said) for said in limits_not_kept(model)]
    findings += [
        Finding(
            f"missing: <limit effort> of '{name}' is 0: the motor gives nothing",
            (f'effort="..."  <!-- {_units(model, name).split(", ")[-1]} of the data sheet -->',),
            f'<limit> in <joint name="{name}">',
        )
        for name, limit in zip(model.joint_names, model.effort_limit, strict=True)
        if limit == 0.0
    ]
    if not massless_joints(model.description):
        blocks = [model.blocks(state_at(model, q)) for q in random_postures(model, POSTURES)]
        weight = np.max([np.abs(block.c_m) for block in blocks], axis=0)
        moved = np.min([np.diag(block.H_m) for block in blocks], axis=0)
        effort = np.where(np.isfinite(model.effort_limit), model.effort_limit, 1.0)
        findings += [
            Finding(
                f"warning: '{model.joint_names[i]}' moves next to no inertia, {moved[i]:.2g} kg*m^2: what it carries"
                " needs a moment of inertia (a point mass on the axis has none), or the joint an armature"
            )
            for i in np.flatnonzero(effort > MOST_ACCELERATION * moved)
        ]
        findings += [
            Finding(
                f"warning: <dynamics damping> of '{model.joint_names[i]}' ends a motion of {moved[i]:.2g} {unit} within"
                f" {moved[i] / model.D_m[i]:.2g} s, faster than the plant's steps: decimal point?"
            )
            for i in np.flatnonzero(model.D_m * FASTEST_DAMPING > moved)
            for unit in ("kg" if model.description.joints[model.joint_names[i]].kind == "prismatic" else "kg*m^2",)
        ]
        for i in np.flatnonzero((weight > model.effort_limit) & (model.effort_limit > 0.0)):
            findings.append(
                Finding(
                    f"warning: '{model.joint_names[i]}' carries up to {weight[i]:.4g} N*m of weight and can give"
                    f" {model.effort_limit[i]:.4g}: masses or effort limit are wrong, or it cannot hold every posture"
                )
            )
    lines = [_joint_line(model, i) for i in range(model.n)]
    lines += [
        f"{joint.name:<16} {joint.kind:<11} follows {joint.mimic}, times {joint.multiplier:.4g}"
        for joint in model.description.coupled
    ]
    return CheckStep("Limits of the joints", tuple(lines), tuple(findings))


def _narrowed(model: ArmModel) -> list[Finding]:
    """Warn of joints whose followers have limits that leave them less than their own: often they are placeholders."""
    found = []
    for tag in ElementTree.fromstring(model.description.text).findall("joint"):
        name, limit = tag.get("name", ""), tag.find("limit")
        followers = [f"'{joint.name}'" for joint in model.description.coupled if joint.mimic == name]
        if not followers or limit is None or not {"lower", "upper"} <= {*limit.keys()}:
            continue
        joint, lower, upper = model.description.joints[name], float(limit.attrib["lower"]), float(limit.attrib["upper"])
        if joint.described_velocity is not None:  # what a file narrows is meant
            continue
        if joint.lower > lower or joint.upper < upper:
            found.append(
                Finding(
                    f"warning: the limits of {', '.join(followers)} leave the driver '{name}' [{joint.lower:.4g},"
                    f" {joint.upper:.4g}] of its [{lower:.4g}, {upper:.4g}]: are they meant?"
                )
            )
    return found


def _odd_units(model: ArmModel) -> list[Finding]:
    """Warn of limits that seem to be in degrees or millimeters."""
    found = []
    for name in model.joint_names:
        joint = model.description.joints[name]
        slides = joint.kind == "prismatic"
        unit, other = ("m", "millimeters") if slides else ("rad", "degrees")
        farthest = max(abs(joint.lower), abs(joint.upper))
        if (LONGEST if slides else MOST_TURNED) < farthest < NO_LIMIT:
            what = f"warning: '{name}' moves up to {farthest:.4g} {unit}: is it in {other}{_meant(farthest, slides)}?"
            found.append(Finding(what))
        if FASTEST < joint.velocity_limit < NO_LIMIT and not joint.endless:  # a wheel may turn faster
            text = f"warning: '{name}' has a velocity limit of {joint.velocity_limit:.4g} {unit}/s: is it in {other}?"
            found.append(Finding(text))
    return found


def _strong(model: ArmModel) -> list[str]:
    """Return the joints whose effort limits are out of proportion to the weight of the arm, in words."""
    links = (link.mass for name, link in model.description.links.items() if name in _moving(model))
    weight = WEIGHT * sum(links) * _reach(model)
    return [
        f"'{name}' {limit:g} N*m"
        for name, limit in zip(model.joint_names, model.effort_limit, strict=True)
        if weight > 0.0
        and model.description.joints[name].kind != "prismatic"
        and STRONGEST * weight < limit < UNLIMITED
    ]


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
    for name, limit in (("2", joint.acceleration_limit), ("3", joint.jerk_limit)):
        if np.isfinite(limit):
            text += f", {limit:.4g} {unit}/s^{name}"
    if joint.armature > 0.0:
        text += f", armature {joint.armature:.4g} {'kg' if unit == 'm' else 'kg*m^2'}"
    return text


def _meant(value: float, slides: bool) -> str:
    """Say what else a limit may mean: half a turn or a turn whose decimal point was lost."""
    for turn, name in ((np.pi, "pi"), (2.0 * np.pi, "2 pi")) if not slides else ():
        if any(abs(value / factor / turn - 1.0) < 0.01 for factor in DIGITS):
            return f", or is {name} meant, with another decimal point"
    return ""
