"""Robots of tests and benchmarks: descriptions of other packages, found where they are installed, and our own."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pinocchio
import pytest

from flexarm_core.ik_redundancy.chain import Chain, build_chain
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array

URDF = Path(__file__).resolve().parents[2] / "urdf"
EXAMPLE_ROBOTS = "cmeel.prefix/share/example-robot-data/robots"
# name: (package of PyPI, file under site-packages, tool frame)
INSTALLED = {
    "panda": ("example-robot-data", f"{EXAMPLE_ROBOTS}/panda_description/urdf/panda.urdf", "panda_hand_tcp"),
    "ur5": ("example-robot-data", f"{EXAMPLE_ROBOTS}/ur_description/urdf/ur5_robot.urdf", "tool0"),
    "iiwa": ("rtb-data", "rtbdata/xacro/kuka_description/kuka_lbr_iiwa/urdf/lbr_iiwa_14_r820.urdf", "tool0"),
}
OWN = {
    "planar_4r": (URDF / "planar_4r.urdf.xacro", "tool0"),
    "arm_6r": (URDF / "arm_6r.urdf.xacro", "tool0"),
    "arm_7r": (URDF / "arm_7r.urdf.xacro", "tool0"),
}
NAMES = (*INSTALLED, *OWN)


@cache
def find(name: str) -> tuple[str, str]:
    """URDF text and tool frame of a robot.

    Raises:
        FileNotFoundError: its package is not installed.
    """
    if name in OWN:
        path, tool = OWN[name]
        return load_robot_description(path), tool
    package, file, tool = INSTALLED[name]
    for folder in _site_packages():
        if (folder / file).is_file():
            return (folder / file).read_text(encoding="utf-8"), tool
    raise FileNotFoundError(f"the robot '{name}' comes with the package {package}: pip install {package}")


def _site_packages() -> list[Path]:
    """Folders in which packages lie: of Pinocchio and of rtb-data, which need not be one."""
    specs = [find_spec(name) for name in ("numpy", "pinocchio", "rtbdata")]
    places = [Path(spec.origin).resolve() for spec in specs if spec is not None and spec.origin is not None]
    return [parent for place in places for parent in place.parents]


@cache
def chain(name: str) -> Chain:
    """Chain from the base link to the tool of a robot.

    Raises:
        FileNotFoundError: its package is not installed.
    """
    text, tool = find(name)
    return build_chain(parse_robot_description(text, massless=True), tool)


def chain_or_skip(name: str) -> Chain:
    """The chain; the test is skipped, visibly, where the robot's package is not installed."""
    try:
        return chain(name)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


class PinocchioChain:
    """The same kinematics by Pinocchio, all joints off the chain at their neutral position.

    Joints that follow others are free in Pinocchio, and set to ``a q + b`` of their ``<mimic>``.
    """

    def __init__(self, text: str, chain: Chain) -> None:
        model = pinocchio.buildModelFromXML(text)
        missing = [name for name in chain.moving if not model.existJointName(name)]
        assert not missing, missing
        others = [i for i, name in enumerate(model.names) if i > 0 and name not in chain.moving]
        self.model = pinocchio.buildReducedModel(model, others, pinocchio.neutral(model))
        self.data = self.model.createData()
        self.base = self.model.getFrameId(chain.base_frame)
        self.tool = self.model.getFrameId(chain.tool_frame)
        self.joints = [self.model.joints[self.model.getJointId(name)] for name in chain.moving]
        self.spread, self.offset = np.zeros((len(self.joints), chain.n)), np.zeros(len(self.joints))
        for i, name in enumerate(chain.moving):
            mimic = ElementTree.fromstring(text).find(f"./joint[@name='{name}']/mimic")
            follows = {} if mimic is None else mimic.attrib
            self.spread[i, chain.joint_names.index(follows.get("joint", name))] = follows.get("multiplier", 1.0)
            self.offset[i] = follows.get("offset", 0.0)

    def configuration(self, position: Array) -> Array:
        """Pinocchio's configuration of joint positions (n,): continuous joints are cosine and sine there."""
        q = pinocchio.neutral(self.model)
        for joint, value in zip(self.joints, self.spread @ position + self.offset, strict=True):
            q[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
        return q

    def pose(self, position: Array) -> tuple[Array, Array]:
        """Position (3,) and rotation (3, 3) of the tool in the base link's frame."""
        pinocchio.framesForwardKinematics(self.model, self.data, self.configuration(position))
        tool = self.data.oMf[self.base].actInv(self.data.oMf[self.tool])
        return tool.translation.copy(), tool.rotation.copy()

    def jacobian(self, position: Array) -> Array:
        """Jacobian (6, n), rows ``[v; w]``, axes of the base link, columns in the order of the chain."""
        q = self.configuration(position)
        J = pinocchio.computeFrameJacobian(
            self.model, self.data, q, self.tool, pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        pinocchio.updateFramePlacements(self.model, self.data)
        turn = np.kron(np.eye(2), self.data.oMf[self.base].rotation.T)
        return np.asarray(turn @ J[:, [joint.idx_v for joint in self.joints]] @ self.spread)


def pinocchio_chain(name: str) -> PinocchioChain:
    """Pinocchio's kinematics of a robot.

    Raises:
        FileNotFoundError: its package is not installed.
    """
    return PinocchioChain(find(name)[0], chain(name))


PALLETIZER = """<robot name="palletizer"><link name="base"/>
  <joint name="turn" type="revolute"><parent link="base"/><child link="column"/><origin xyz="0 0 0.3"/>
    <axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/></joint><link name="column"/>
  <joint name="lift" type="revolute"><parent link="column"/><child link="lower"/><origin xyz="0.1 0 0"/>
    <axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" effort="1" velocity="1"/></joint>
  <link name="lower"><visual><origin xyz="0 0 0.2"/><geometry><box size="0.06 0.06 0.4"/></geometry></visual></link>
  <joint name="level" type="revolute"><parent link="lower"/><child link="upper"/><origin xyz="0 0 0.4"/>
    <axis xyz="0 1 0"/>
    <limit lower="-4" upper="4" effort="1" velocity="2"/><mimic joint="lift" multiplier="-1.3" offset="0.4"/></joint>
  <link name="upper"><visual><origin xyz="0.2 0 0"/><geometry>
    <cylinder radius="0.04" length="0.3"/></geometry></visual></link>
  <joint name="out" type="prismatic"><parent link="upper"/><child link="slide"/><origin xyz="0.3 0 0"/>
    <axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="turn" multiplier="0.1" offset="0.05"/></joint>
  <link name="slide"><visual><origin xyz="0.1 0 0"/><geometry><box size="0.2 0.04 0.04"/></geometry></visual></link>
  <joint name="tip" type="revolute"><parent link="slide"/><child link="hand"/><origin xyz="0.2 0 0"/>
    <axis xyz="0 1 0.2"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <link name="hand"><visual><origin xyz="0.1 0 0"/><geometry><sphere radius="0.05"/></geometry></visual></link>
  <joint name="end" type="fixed"><parent link="hand"/><child link="tool0"/><origin xyz="0.15 0 0"/></joint>
  <link name="tool0"/><ros2_control name="all" type="system">
    <joint name="turn"><command_interface name="effort"/></joint><joint name="lift"><command_interface name="effort"/>
    </joint><joint name="tip"><command_interface name="effort"/></joint></ros2_control></robot>"""
