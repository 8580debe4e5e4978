"""Arms of revolute joints on elastic bases, as URDF text: planar and random ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array

AXES = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}
WEIGHTLESS = (0.0, 0.0, 0.0)


def elastic_base_arm(directions: Sequence[str], joints: int, seed: int | None = None, limit: float = 2.8) -> str:
    """URDF text of a serial arm.

    Args:
        directions: elastic ones in the order of the chain: ``x y z`` translations, ``rx ry rz`` rotations.
        joints: revolute joints of the arm.
        seed: of random axes, offsets and masses; None: a planar arm about z, links of 0.4 m and 2 kg.
        limit: position limit of every joint [rad]; inf: joints turn without end.
    """
    rng = np.random.default_rng(seed)
    parts, parent = [f'<robot name="arm_{joints}r"><link name="world"/>'], "world"
    for direction in directions:
        kind = "revolute" if direction.startswith("r") else "prismatic"
        parts.append(_joint(f"base_{direction}", kind, parent, f"base_{direction}_link", AXES[direction[-1]], 0.5))
        parts.append(_link(f"base_{direction}_link", 1.0, np.zeros(3), 0.05))
        parent = f"base_{direction}_link"
    offset = np.zeros(3)
    for index in range(1, joints + 1):
        if seed is None:
            axis, mass, reach = np.array([0.0, 0.0, 1.0]), 2.0, np.array([0.4, 0.0, 0.0])
        else:
            axis = rng.normal(size=3)
            axis /= np.linalg.norm(axis)
            mass, reach = rng.uniform(1.0, 4.0), rng.uniform(0.1, 0.4, 3)
        kind = "revolute" if np.isfinite(limit) else "continuous"
        parts.append(_joint(f"joint{index}", kind, parent, f"link{index}", _text(axis), limit, offset))
        parts.append(_link(f"link{index}", mass, 0.5 * reach, 0.02))
        parent, offset = f"link{index}", reach
    parts.append(f'<joint name="tool0_joint" type="fixed"><parent link="{parent}"/><child link="tool0"/>')
    parts.append(f'<origin xyz="{_text(offset)}"/></joint><link name="tool0"/><flexibility>')
    parts += [f'<elastic_joint name="base_{each}" stiffness="400" damping="0.5"/>' for each in directions]
    return "".join(parts) + "</flexibility></robot>"


def elastic_base_model(directions: Sequence[str], joints: int, seed: int | None = None, limit: float = 2.8) -> ArmModel:
    """The model of :func:`elastic_base_arm` without gravity."""
    return ArmModel(elastic_base_arm(directions, joints, seed, limit), gravity=WEIGHTLESS)


def _text(vector: Array) -> str:
    return " ".join(repr(float(value)) for value in vector)


def _joint(name: str, kind: str, parent: str, child: str, axis: str, limit: float, offset: Array | None = None) -> str:
    bounds = "" if kind == "continuous" else f'lower="{-limit}" upper="{limit}"'
    origin = _text(np.zeros(3) if offset is None else offset)
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{origin}"/><axis xyz="{axis}"/><limit {bounds} effort="500" velocity="10"/></joint>'
    )


def _link(name: str, mass: float, center: Array, inertia: float) -> str:
    return (
        f'<link name="{name}"><inertial><origin xyz="{_text(center)}"/><mass value="{mass}"/>'
        f'<inertia ixx="{inertia}" ixy="0" ixz="0" iyy="{inertia}" iyz="0" izz="{inertia}"/></inertial></link>'
    )
