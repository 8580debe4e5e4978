"""Robots on a force/torque sensor, and its reading by another way: the robot cut off at the sensor, as a free body."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

import numpy as np
import pinocchio

from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array

SENSOR = "base_ft_sensor"
GRAVITY = (0.0, 0.0, -9.81)


def on_sensor(text: str, xyz: str = "0 0 0", rpy: str = "0 0 0", stand: str = "0 0 0", lean: str = "0 0 0") -> str:
    """URDF text of a robot put on a sensor.

    Args:
        text: URDF text of the robot; sensors that it has are dropped.
        xyz: where the sensor stands on the floor, the new root link [m].
        rpy: how it is turned there [rad].
        stand: where the robot's root link is on the sensor [m].
        lean: how it is turned there [rad].
    """
    robot = ElementTree.fromstring(text)
    for control in robot.findall("ros2_control"):
        for sensor in control.findall("sensor"):
            control.remove(sensor)
    children = {joint.find("child").get("link") for joint in robot.findall("joint")}
    root = next(link.get("name") for link in robot.findall("link") if link.get("name") not in children)
    robot.append(ElementTree.fromstring('<link name="floor"/>'))
    robot.append(ElementTree.fromstring('<link name="sensor"/>'))
    robot.append(_fixed("floor", "sensor", xyz, rpy))
    robot.append(_fixed("sensor", root, stand, lean))
    robot.append(control_block("sensor"))
    return ElementTree.tostring(robot, encoding="unicode")


def control_block(frame: str) -> ElementTree.Element:
    """Tag ``<ros2_control>`` of a sensor that measures in the frame of a link."""
    parts = "".join(f'<state_interface name="{kind}.{axis}"/>' for kind in ("force", "torque") for axis in "xyz")
    sensor = f'<sensor name="{SENSOR}"><param name="frame_id">{frame}</param>{parts}</sensor>'
    return ElementTree.fromstring(f'<ros2_control name="sensors" type="sensor">{sensor}</ros2_control>')


def _fixed(parent: str, child: str, xyz: str, rpy: str) -> ElementTree.Element:
    return ElementTree.fromstring(
        f'<joint name="{parent}_{child}" type="fixed"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/></joint>'
    )


class Builder:
    """Writes robots of random bodies and random joints, any of them named."""

    def __init__(self, seed: int) -> None:
        """Begin with a root link ``floor`` without mass."""
        self._rng, self._parts = np.random.default_rng(seed), ['<link name="floor"/>']

    def joint(self, kind: str, parent: str, child: str, mass: float = 1.0) -> Builder:
        """Add a joint somewhere on a link, and the link it moves, of a mass of up to this [kg]."""
        rng = self._rng
        limits = '<limit lower="-3" upper="3" effort="100" velocity="3"/>' if kind != "fixed" else ""
        self._parts.append(
            f'<joint name="{child}_joint" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{_text(0.4 * rng.standard_normal(3))}" rpy="{_text(rng.uniform(-3, 3, 3))}"/>'
            f'<axis xyz="{_text(rng.standard_normal(3))}"/>{limits}</joint>'
        )
        sides = rng.uniform(0.1, 0.4, 3)
        m = mass * rng.uniform(0.5, 1.0)
        xx, yy, zz = m * (np.sum(sides**2) - sides**2) / 12.0
        inertial = (
            f'<inertial><origin xyz="{_text(0.2 * rng.standard_normal(3))}" rpy="{_text(rng.uniform(-3, 3, 3))}"/>'
            f'<mass value="{m}"/><inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/></inertial>'
        )
        self._parts.append(f'<link name="{child}">{inertial if mass else ""}</link>')
        return self

    def text(self, frame: str, elastic: tuple[str, ...] = ()) -> str:
        """URDF text with a sensor in the frame of a link and springs in the joints that move these links."""
        springs = "".join(f'<elastic_joint name="{name}_joint" stiffness="900" damping="1"/>' for name in elastic)
        robot = ElementTree.fromstring(f'<robot name="random">{"".join(self._parts)}</robot>')
        if springs:
            robot.append(ElementTree.fromstring(f"<flexibility>{springs}</flexibility>"))
        robot.append(control_block(frame))
        return ElementTree.tostring(robot, encoding="unicode")


def slider_arm() -> str:
    """Arm with prismatic joints, P-R-P-R, tilted, its sensor off the first axis."""
    build = Builder(1).joint("fixed", "floor", "sensor", mass=0.0).joint("fixed", "sensor", "stand", mass=5.0)
    build.joint("prismatic", "stand", "a").joint("revolute", "a", "b").joint("prismatic", "b", "c")
    return build.joint("revolute", "c", "d").text("sensor")


def two_arms() -> str:
    """Tree: two arms on one base, with joints that turn without end."""
    build = Builder(2).joint("fixed", "floor", "sensor", mass=0.5).joint("fixed", "sensor", "stand", mass=5.0)
    build.joint("continuous", "stand", "a1").joint("prismatic", "a1", "a2").joint("revolute", "a2", "a3")
    build.joint("fixed", "a2", "a2_box").joint("revolute", "stand", "b1").joint("continuous", "b1", "b2")
    return build.joint("prismatic", "b2", "b3").text("sensor")


def raft() -> str:
    """Arm on a sensor in the middle of a swinging base, masses below and above it; another arm stands below."""
    build = Builder(3).joint("prismatic", "floor", "raft", mass=3.0).joint("revolute", "raft", "deck", mass=4.0)
    build.joint("fixed", "deck", "sensor", mass=1.0).joint("fixed", "sensor", "stand", mass=2.0)
    build.joint("revolute", "stand", "a").joint("prismatic", "a", "b").joint("revolute", "b", "c")
    return build.joint("revolute", "deck", "crane").text("sensor", elastic=("raft", "deck"))


def sensor_above_the_first_joint() -> str:
    """Arm whose sensor lies between its first and its second joint."""
    build = Builder(4).joint("revolute", "floor", "a", mass=3.0).joint("fixed", "a", "sensor", mass=0.3)
    return build.joint("revolute", "sensor", "b").joint("revolute", "b", "c").text("sensor")


def with_payload(text: str, link: str, mass: float) -> str:
    """The same robot with an unknown box in its hand: fixed to a link, off its origin [kg]."""
    robot = ElementTree.fromstring(text)
    robot.append(_fixed(link, "payload", "0.1 -0.05 0.15", "0.3 0.2 0.1"))
    robot.append(
        ElementTree.fromstring(
            f'<link name="payload"><inertial><origin xyz="0.02 0.01 0.03"/><mass value="{mass}"/>'
            '<inertia ixx="0.02" iyy="0.028" izz="0.012" ixy="0.001" ixz="0" iyz="0"/></inertial></link>'
        )
    )
    return ElementTree.tostring(robot, encoding="unicode")


def with_masses(text: str, links: tuple[str, ...], factor: float) -> str:
    """The same robot with other masses of some links."""
    robot = ElementTree.fromstring(text)
    for link in robot.findall("link"):
        if link.get("name") in links:
            mass = link.find("inertial/mass")
            mass.set("value", str(factor * float(mass.get("value"))))
    return ElementTree.tostring(robot, encoding="unicode")


def _text(numbers: Array) -> str:
    return " ".join(f"{value:.17g}" for value in numbers)


@dataclass(frozen=True, slots=True)
class Truth:
    """What holds at one state by Pinocchio; coordinates are the actuated joints, then the elastic ones."""

    position: Array
    velocity: Array
    acceleration: Array
    effort: Array
    gravity: Array
    wrench: Array
    gravity_wrench: Array


class Reference:
    """Joint efforts by RNEA of the whole robot, the sensor's wrench by RNEA of what it carries as a free body."""

    def __init__(self, text: str, gravity: tuple[float, float, float] = GRAVITY) -> None:
        """Build both models of a robot under gravity in axes of its root link [m/s^2]."""
        self.description = parse_robot_description(text)
        self.frame = self.description.force_torque_sensors[SENSOR].frame
        self.names = (*self.description.actuated, *(joint.name for joint in self.description.elastic))
        self._whole = pinocchio.buildModelFromXML(text)
        self._cut = pinocchio.buildModelFromXML(cut_off(self.description, self.frame), pinocchio.JointModelFreeFlyer())
        for model in (self._whole, self._cut):
            model.gravity.linear = np.array(gravity)
            model.armature[:] = 0.0
        self._data, self._cut_data = self._whole.createData(), self._cut.createData()
        self._sensor = self._whole.getFrameId(self.frame)

    def random(self, rng: np.random.Generator, still: bool = False) -> Truth:
        """Truth at a random state; still: without accelerations of the joints."""
        size, n = len(self.names), len(self.description.actuated)
        acceleration = 5.0 * rng.standard_normal(size)
        if still:
            acceleration[:n] = 0.0
        return self.at(rng.uniform(-3.0, 3.0, size), rng.uniform(-2.0, 2.0, size), acceleration)

    def at(self, position: Array, velocity: Array, acceleration: Array) -> Truth:
        """Truth at one state (N,)."""
        q, v, a = self._vectors(self._whole, position, velocity, acceleration)
        places = [self._whole.joints[self._whole.getJointId(name)].idx_v for name in self.names]
        effort = pinocchio.rnea(self._whole, self._data, q, v, a)[places]
        gravity = pinocchio.computeGeneralizedGravity(self._whole, self._data, q)[places]
        pinocchio.forwardKinematics(self._whole, self._data, q, v, a)
        pinocchio.updateFramePlacements(self._whole, self._data)
        twist = pinocchio.getFrameVelocity(self._whole, self._data, self._sensor)
        rate = pinocchio.getFrameAcceleration(self._whole, self._data, self._sensor)
        q, v, a = self._vectors(self._cut, position, velocity, acceleration)
        q[:7] = pinocchio.SE3ToXYZQUAT(self._data.oMf[self._sensor])
        weight = -pinocchio.computeGeneralizedGravity(self._cut, self._cut_data, q)[:6].copy()
        v[:6], a[:6] = twist.vector, rate.vector
        wrench = -pinocchio.rnea(self._cut, self._cut_data, q, v, a)[:6].copy()  # the robot pushes back on its base
        return Truth(position, velocity, acceleration, effort, gravity, wrench, weight)

    def _vectors(self, model: pinocchio.Model, *given: Array) -> tuple[Array, Array, Array]:
        q, rates = pinocchio.neutral(model), np.zeros((2, model.nv))
        for k, name in enumerate(self.names):
            if not model.existJointName(name):
                continue
            joint, angle = model.joints[model.getJointId(name)], given[0][k]
            q[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
            rates[:, joint.idx_v] = given[1][k], given[2][k]
        return q, rates[0], rates[1]


def cut_off(description: RobotDescription, frame: str) -> str:
    """URDF text of what hangs on a link, that link its root."""
    robot, kept = ElementTree.fromstring(description.text), {frame}
    for joint in description.joints.values():  # parents before children
        if joint.parent in kept:
            kept.add(joint.child)
    for link in robot.findall("link"):
        if link.get("name") not in kept:
            robot.remove(link)
    for joint in robot.findall("joint"):
        if joint.find("parent").get("link") not in kept:
            robot.remove(joint)
    return ElementTree.tostring(robot, encoding="unicode")
