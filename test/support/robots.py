"""Robots of tests and benchmarks: descriptions of other packages, found where they are installed, and our own."""

from __future__ import annotations

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
    """The same kinematics by Pinocchio, all joints off the chain at their neutral position."""

    def __init__(self, text: str, chain: Chain) -> None:
        model = pinocchio.buildModelFromXML(text)
        missing = [name for name in chain.joint_names if not model.existJointName(name)]
        assert not missing, missing
        others = [i for i, name in enumerate(model.names) if i > 0 and name not in chain.joint_names]
        self.model = pinocchio.buildReducedModel(model, others, pinocchio.neutral(model))
        self.data = self.model.createData()
        self.base = self.model.getFrameId(chain.base_frame)
        self.tool = self.model.getFrameId(chain.tool_frame)
        self.joints = [self.model.joints[self.model.getJointId(name)] for name in chain.joint_names]

    def configuration(self, position: Array) -> Array:
        """Pinocchio's configuration of joint positions (n,): continuous joints are cosine and sine there."""
        q = pinocchio.neutral(self.model)
        for joint, value in zip(self.joints, position, strict=True):
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
        return np.asarray(turn @ J[:, [joint.idx_v for joint in self.joints]])


def pinocchio_chain(name: str) -> PinocchioChain:
    """Pinocchio's kinematics of a robot.

    Raises:
        FileNotFoundError: its package is not installed.
    """
    return PinocchioChain(find(name)[0], chain(name))
