"""joint_limits.yaml: limits of joints in the file that MoveIt and ros2_control share, beside the robot description.

::

    joint_limits:
      joint1: {has_velocity_limits: true, max_velocity: 2.0, has_jerk_limits: true, max_jerk: 300.0}

A limit counts where its ``has_..._limits`` is true. It only narrows: the smaller of it and that of the description
holds. Deceleration may have either sign, as Pilz writes it negative, and counts as a limit of the acceleration. All
readers of the narrowed description keep the limits; no other code reads the file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from flexarm_core.errors import ConfigError, quoted
from flexarm_core.robot.description import Joint, RobotDescription
from flexarm_core.strict_yaml import load_strictly
from flexarm_core.text_file import read_text
from flexarm_core.yaml_bounds import MOST_BYTES, excess

VALUES = {
    "position": ("min_position", "max_position"),
    "velocity": ("max_velocity",),
    "acceleration": ("max_acceleration",),
    "deceleration": ("max_deceleration",),
    "jerk": ("max_jerk",),
    "effort": ("max_effort",),
}  # by what is limited
SOFT = ("k_position", "k_velocity", "soft_lower_limit", "soft_upper_limit")  # of ros2_control; nothing here keeps them
SCALING = ("default_velocity_scaling_factor", "default_acceleration_scaling_factor")  # of plans: no limits
KEYS = (
    *(key for what, values in VALUES.items() for key in (f"has_{what}_limits", *values)),
    *("angle_wraparound", "has_soft_limits", *SOFT),
)
EXPONENT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+")  # a number for ROS, a text for YAML 1.1


def within_joint_limits(description: RobotDescription, path: str | Path) -> RobotDescription:
    """Return a robot whose actuated joints keep the limits of a file, too; it may hold those of other joints.

    Args:
        description: the robot.
        path: the file; its limits stand at the top, or in the parameters of a node.

    Raises:
        ConfigError: the file cannot be read, names a joint or key that does not exist, gives a value that is none,
            leaves no range of positions, or limits a joint that follows another.
    """
    text = read_text(path, "file of joint limits", MOST_BYTES)
    if too_much := excess(text):
        raise ConfigError(f"file of joint limits '{path}' {too_much}")
    root = _limits_in(path, load_strictly(path, text))
    joints = dict(description.joints)
    for name, entry in root.items():
        where = f"'{path}': joint {quoted(name)}"
        if name not in joints:
            raise ConfigError(f"{where} is unknown; joints of the arm: {', '.join(description.actuated)}")
        given, joint = _entry(where, entry), joints[name]
        if joint.endless and "position" in given:
            raise ConfigError(f"{where} turns without limits in the robot description: it has no position limits")
        if entry.get("angle_wraparound", False) is not False and not joint.endless:
            raise ConfigError(f"{where}: angle_wraparound is for joints that turn without limits")
        if given and joint.mimic:
            raise ConfigError(f"{where} follows '{joint.mimic}' (<mimic>): limit that one")
        if name in description.actuated:
            joints[name] = _narrowed(where, joint, given)
    return replace(description, joints=joints)


def _limits_in(path: str | Path, root: Any) -> Mapping[str, Any]:
    """Return the mapping of joints."""
    if isinstance(root, Mapping) and len(root) == 1:  # of a node: NODE: {ros__parameters: ...}
        inner = next(iter(root.values()))
        if isinstance(inner, Mapping) and set(inner) == {"ros__parameters"}:
            root = inner["ros__parameters"]
    if isinstance(root, Mapping) and set(root) == {"robot_description_planning"}:
        root = root["robot_description_planning"]
    if not isinstance(root, Mapping) or not isinstance(root.get("joint_limits"), Mapping):
        raise ConfigError(f"'{path}' has no joint_limits: expected a mapping 'joint_limits' of joints")
    for key in root:
        if key in SCALING:
            _number(f"'{path}'", key, root[key])
        elif key != "joint_limits":
            raise ConfigError(f"'{path}': key {quoted(key)} is unknown; expected joint_limits, {', '.join(SCALING)}")
    limits: Mapping[str, Any] = root["joint_limits"]
    return limits


def _entry(where: str, entry: Any) -> dict[str, tuple[float, ...]]:
    """Return the limits of a joint that count, by what is limited."""
    if not isinstance(entry, Mapping):
        raise ConfigError(f"{where}: expected a mapping of {', '.join(KEYS)}")
    for key, value in entry.items():
        if key not in KEYS:
            raise ConfigError(f"{where}: key {quoted(key)} is unknown; known are {', '.join(KEYS)}")
        if key.startswith("has_") or key == "angle_wraparound":
            if not isinstance(value, bool):
                raise ConfigError(f"{where}: {key} must be true or false")
        else:
            _number(where, key, value)
    if entry.get("has_soft_limits", False):
        raise ConfigError(f"{where}: soft limits are not kept: set has_soft_limits to false")
    given = {}
    for what, keys in VALUES.items():
        has, there = f"has_{what}_limits", [key for key in keys if key in entry]
        if has not in entry and there:
            raise ConfigError(f"{where}: {there[0]} without {has}: true (it counts) or false (it does not)")
        if entry.get(has, False):
            if len(there) < len(keys):
                raise ConfigError(f"{where}: {has} is true, without {' and '.join(set(keys) - set(there))}")
            given[what] = tuple(_number(where, key, entry[key]) for key in keys)
    return given


def _number(where: str, key: str, value: Any) -> float:
    if isinstance(value, str) and EXPONENT.fullmatch(value):
        value = float(value)
    try:
        number = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:  # an integer with hundreds of digits
        number = math.inf
    if not math.isfinite(number):
        raise ConfigError(f"{where}: {key} must be a finite number")
    return number


def _narrowed(where: str, joint: Joint, given: dict[str, tuple[float, ...]]) -> Joint:
    """Return a joint within given limits, by what is limited."""
    limits: dict[str, Any] = {}
    for what, values in given.items():
        if what == "position":
            limits["lower"], limits["upper"] = max(values[0], joint.lower), min(values[1], joint.upper)
            if not limits["lower"] < limits["upper"]:
                raise ConfigError(
                    f"{where}: min_position {values[0]:g} and max_position {values[1]:g} leave nothing of the range of"
                    f" the robot description, {joint.lower:g} to {joint.upper:g}"
                )
            continue
        value = abs(values[0]) if what == "deceleration" else values[0]
        if not value > 0.0:
            raise ConfigError(f"{where}: max_{what} must be > 0, got {value:g}")
        name = f"{'acceleration' if what == 'deceleration' else what}_limit"
        limits[name] = min(limits.get(name, getattr(joint, name)), value)
    return replace(joint, **limits, described_velocity=joint.fastest)
