"""Robots on a force/torque sensor, and what the sensor truly says at rest: by Pinocchio's center of mass."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from functools import cache

import numpy as np
import pinocchio
import robots

from flexarm_core.base_wrench.sensed_bodies import SensedBodies, build_sensed_bodies
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array

GRAVITY = np.array([0.0, 0.0, -9.81])
SENSOR = "base_ft_sensor"
NAMES = ("arm_7r", "panda", "vertical_3r")
INERTIAL = (
    '<inertial><origin xyz="{} 0 {}"/><mass value="{}"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial>'
)


@cache
def urdf(name: str) -> str:
    """URDF text of a robot that stands on a sensor.

    Raises:
        FileNotFoundError: its package is not installed.
    """
    if name == "vertical_3r":
        return _planar(("revolute",) * 3)
    if name == "slider":
        return _planar(("prismatic", "revolute", "revolute"))
    if name == "tilting_3r":
        return _planar(("revolute",) * 3, tilts=True)
    if name == "long_13r":
        return _planar(("revolute",) * 13)
    text, _ = robots.find(name)
    robot = ElementTree.fromstring(text)
    if robot.find("ros2_control") is not None:
        return text
    children = {joint.find("child").get("link") for joint in robot.iter("joint") if joint.find("child") is not None}
    root = next(link.get("name") for link in robot.findall("link") if link.get("name") not in children)
    robot.append(ElementTree.fromstring('<link name="floor"/>'))
    fixed = f'<joint name="on_floor" type="fixed"><parent link="floor"/><child link="{root}"/></joint>'
    robot.append(ElementTree.fromstring(fixed))
    robot.append(_control(root))
    return ElementTree.tostring(robot, encoding="unicode")


def _control(frame: str) -> ElementTree.Element:
    sensor = f'<sensor name="{SENSOR}"><param name="frame_id">{frame}</param>'
    sensor += "".join(f'<state_interface name="{k}.{a}"/>' for k in ("force", "torque") for a in "xyz")
    return ElementTree.fromstring(f'<ros2_control name="x" type="system">{sensor}</sensor></ros2_control>')


def _planar(kinds: tuple[str, ...], tilts: bool = False) -> str:
    """Arm in the vertical x-z plane, its sensor turned and off the first axis; the base may tilt under the sensor."""
    parts = ['<link name="floor"/>']
    if tilts:
        parts.append(
            '<joint name="tilt" type="revolute"><parent link="floor"/><child link="plate"/><axis xyz="0 1 0"/>'
            '<limit lower="-0.5" upper="0.5" effort="1000" velocity="10"/></joint>'
            f'<link name="plate">{INERTIAL.format(0.0, 0.0, 2.0)}</link>'
        )
    parts.append(
        f'<joint name="on_floor" type="fixed"><parent link="{"plate" if tilts else "floor"}"/><child link="sensor"/>'
        '<origin xyz="0.05 0.02 0.1" rpy="0.3 -0.4 0.7"/></joint><link name="sensor"/>'
        '<joint name="stand" type="fixed"><parent link="sensor"/><child link="base_link"/>'
        f'<origin xyz="{_text(_back() @ np.array([0.07, -0.03, 0.12]))}" rpy="{_rpy(_back())}"/></joint>'
    )
    parts.append(f'<link name="base_link">{INERTIAL.format(0.0, 0.0, 3.0)}</link>')
    parent = "base_link"
    for i, kind in enumerate(kinds, 1):
        axis, at = ("0 1 0", 0.4 if i > 1 else 0.0) if kind == "revolute" else ("1 0 0", 0.0)
        parts.append(
            f'<joint name="joint{i}" type="{kind}"><parent link="{parent}"/><child link="link{i}"/>'
            f'<origin xyz="{at} 0 0"/><axis xyz="{axis}"/>'
            f'<limit lower="{-2.5 if kind == "revolute" else -0.3}" upper="{2.5 if kind == "revolute" else 0.4}"'
            ' effort="100" velocity="2"/></joint>'
            f'<link name="link{i}">{INERTIAL.format(0.2, 0.01, max(6.0 - i, 0.5))}</link>'
        )
        parent = f"link{i}"
    robot = ElementTree.fromstring(f'<robot name="planar">{"".join(parts)}</robot>')
    if tilts:
        spring = '<flexibility><elastic_joint name="tilt" stiffness="2000" damping="10"/></flexibility>'
        robot.append(ElementTree.fromstring(spring))
    robot.append(_control("sensor"))
    return ElementTree.tostring(robot, encoding="unicode")


def _back() -> Array:
    return pinocchio.rpy.rpyToMatrix(0.3, -0.4, 0.7).T


def _rpy(rotation: Array) -> str:
    return _text(pinocchio.rpy.matrixToRpy(rotation))


def _text(numbers: Array) -> str:
    return " ".join(f"{value:.17g}" for value in numbers)


@cache
def description(name: str) -> RobotDescription:
    """Description of a robot on a sensor."""
    return parse_robot_description(urdf(name))


@cache
def bodies(name: str) -> SensedBodies:
    """What the sensor carries, as described."""
    return build_sensed_bodies(description(name), SENSOR)


def limits(name: str) -> tuple[Array, Array]:
    """Position limits (n,)."""
    joints = [description(name).joints[joint] for joint in description(name).actuated]
    return np.array([joint.lower for joint in joints]), np.array([joint.upper for joint in joints])


def altered(name: str, seed: int, share: float = 0.1) -> str:
    """URDF whose moving links have other masses and centers, each within a share, and the same mass in all.

    Centers are shifted in the plane in which a planar arm moves: across it a shift is a constant moment, a bias.
    """
    rng, robot = np.random.default_rng(seed), ElementTree.fromstring(urdf(name))
    moving = _moving(name)
    links = [link for link in robot.findall("link") if link.get("name") in moving and link.find("inertial") is not None]
    masses = np.array([float(link.find("inertial/mass").get("value")) for link in links])
    change = rng.uniform(-share, share, len(links)) * masses
    change -= masses * change.sum() / masses.sum()
    across = np.array([1.0, 0.0, 1.0]) if description(name).name == "planar" else np.ones(3)
    for link, mass in zip(links, masses + change, strict=True):
        link.find("inertial/mass").set("value", f"{mass:.17g}")
        origin = link.find("inertial/origin")
        center = np.array([float(value) for value in (origin.get("xyz") or "0 0 0").split()])
        shift = share * rng.uniform(-1.0, 1.0, 3) * (np.abs(center) + 0.05)
        origin.set("xyz", _text(center + shift * across))
    return ElementTree.tostring(robot, encoding="unicode")


def _moving(name: str) -> set[str]:
    moved: set[str] = set()
    actuated = description(name).actuated
    for joint in description(name).joints.values():  # parents before children
        if joint.name in actuated or joint.parent in moved:
            moved.add(joint.child)
    return moved


class Weighed:
    """What the sensor of a robot says at rest, by Pinocchio: weight at the center of mass of what it carries."""

    def __init__(self, text: str, name: str) -> None:
        self.model = pinocchio.buildModelFromXML(text)
        self.data = self.model.createData()
        self.frame = self.model.getFrameId(description(name).force_torque_sensors[SENSOR].frame)
        self.joints = [self.model.joints[self.model.getJointId(joint)] for joint in bodies(name).coordinates]
        self.foot = self.model.frames[self.frame].parentJoint
        # of the body that holds the sensor, what is fixed above it; in these robots all but a plate under it
        self.held = self.model.inertias[self.foot].copy()
        if self.model.existFrame("plate"):
            self.held -= pinocchio.Inertia(2.0, np.zeros(3), np.diag([0.02, 0.03, 0.03]))

    def wrench(self, position: Array) -> Array:
        """Wrench (6,) of the robot on the base, in the sensor's frame, at positions (N,) of all joints."""
        q = pinocchio.neutral(self.model)
        for joint, value in zip(self.joints, position, strict=True):
            q[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
        pinocchio.centerOfMass(self.model, self.data, q)
        pinocchio.updateFramePlacements(self.model, self.data)
        place, parent = self.data.oMf[self.frame], self.data.oMi[self.foot]
        mass = self.held.mass
        moment = mass * (parent.act(self.held.lever) - place.translation)
        for k in range(1, self.model.njoints):
            if self.model.parents[k] == self.foot:  # the arm, below the sensor there is none
                mass += self.data.mass[k]
                moment += self.data.mass[k] * (self.data.oMi[k].act(self.data.com[k]) - place.translation)
        rest = place.rotation.T
        return np.concatenate((rest @ (mass * GRAVITY), rest @ np.cross(moment, GRAVITY)))
