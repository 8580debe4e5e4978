"""Robots and an independent reference (Pinocchio and Newton-Euler by hand) for the tests of the plant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
import pytest

from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.transforms import roll_pitch_yaw_to_rotation
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array
from flexarm_sim.backend import PlantState
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig

URDF_FOLDER = Path(__file__).resolve().parents[2] / "urdf"
PLANAR_START = (1.0, -1.0, -1.0)


def slider_urdf(mass: float = 2.0, stiffness: float = 50.0, damping: float = 0.3, axis: str = "1 0 0") -> str:
    """A cart on a spring with a centered turntable of 1 kg on it, for closed forms of one oscillator of mass + 1 kg."""
    return f"""
<robot name="slider">
  <link name="ground"/>
  <joint name="spring" type="prismatic">
    <parent link="ground"/><child link="cart"/><axis xyz="{axis}"/><limit lower="-1" upper="1" effort="9" velocity="9"/>
  </joint>
  <link name="cart">
    <inertial><mass value="{mass}"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="turn" type="continuous"><parent link="cart"/><child link="table"/><axis xyz="0 0 1"/></joint>
  <link name="table">
    <inertial><mass value="1.0"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <flexibility><elastic_joint name="spring" stiffness="{stiffness}" damping="{damping}"/></flexibility>
</robot>"""


def arm_urdf(
    kind: str = "revolute", dynamics: str = "", limit: str = 'lower="-1" upper="1" effort="5" velocity="9"'
) -> str:
    """One actuated joint along or about y, 3 kg at 0.5 m, tool at 1 m."""
    return f"""
<robot name="one_joint">
  <link name="ground"/>
  <joint name="joint" type="{kind}">
    <parent link="ground"/><child link="link"/><axis xyz="0 1 0"/><limit {limit}/>{dynamics}
  </joint>
  <link name="link">
    <inertial>
      <origin xyz="0.5 0 0"/><mass value="3"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.02"/>
    </inertial>
  </link>
  <joint name="tool_joint" type="fixed"><parent link="link"/><child link="tip"/><origin xyz="1 0 0"/></joint>
  <link name="tip"/>
</robot>"""


def beam_urdf(
    beam: str = 'EIz="20" modes_y="2"',
    tip: float = 0.0,
    rpy: str = "0 0 0",
    hub: str = "",
    joint: str = "fixed",
    rpy_of_tip: str = "0 0 0",
) -> str:
    """A beam of 1 m and 1 kg from the root link on, clamped or on a hinge about z, with gauges, tip mass and IMU.

    Args:
        beam: attributes of its bending.
        tip: mass at its end [kg].
        rpy: how the beam lies in its link.
        hub: ``<inertial>`` of the whole link, where it has more than the beam.
        joint: that of the link; a wheel of its own keeps a clamped robot actuated.
        rpy_of_tip: of the tip's frame.
    """
    inertia = 1.0 / 12.0
    end = roll_pitch_yaw_to_rotation(*(float(angle) for angle in rpy.split())) @ [1.0, 0.0, 0.0]
    turned = " ".join(repr(float(value)) for value in end)
    half = " ".join(repr(0.5 * float(value)) for value in end)
    moments = f'ixx="0.002" ixy="0" ixz="0" iyy="{inertia}" iyz="0" izz="{inertia}"'
    hub = hub or f'<inertial><origin xyz="{half}" rpy="{rpy}"/><mass value="1"/><inertia {moments}/></inertial>'
    small = f'ixx="{1e-9 * tip}" ixy="0" ixz="0" iyy="{1e-9 * tip}" iyz="0" izz="{1e-9 * tip}"'
    load = f'<inertial><mass value="{tip}"/><inertia {small}/></inertial>' if tip else ""
    return f"""
<robot name="beam">
  <link name="ground"/>
  <joint name="root" type="{joint}"><parent link="ground"/><child link="beam"/><axis xyz="0 0 1"/></joint>
  <link name="beam">{hub}</link>
  <joint name="tip_joint" type="fixed">
    <parent link="beam"/><child link="tool0"/><origin xyz="{turned}" rpy="{rpy_of_tip}"/>
  </joint>
  <link name="tool0">{load}</link>
  <joint name="wheel_joint" type="continuous"><parent link="ground"/><child link="wheel"/><axis xyz="0 0 1"/></joint>
  <link name="wheel">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <flexibility>
    <flexible_link name="beam">
      <beam length="1" rho_A="1" {beam}><origin rpy="{rpy}"/></beam>
      <strain_gauge name="root_y" x="0.05" y="0.01"/>
      <strain_gauge name="root_z" x="0.05" z="0.01"/>
      <strain_gauge name="middle_y" x="0.5" y="0.01"/>
    </flexible_link>
  </flexibility>
  <ros2_control name="beam" type="system">
    <sensor name="tip_imu">
      <state_interface name="angular_velocity.x"/><param name="frame_id">tool0</param>
    </sensor>
    <sensor name="ground_imu">
      <state_interface name="angular_velocity.x"/><param name="frame_id">ground</param>
    </sensor>
  </ros2_control>
</robot>"""


def spatial_tree_urdf(seed: int) -> str:
    """A random tree: elastic base, two branches, every joint kind, fixed links with offset and turned inertias."""
    draw = np.random.default_rng(seed)

    def numbers(values: Array) -> str:
        return " ".join(repr(float(value)) for value in values)

    def origin() -> str:
        return f'<origin xyz="{numbers(draw.uniform(-0.4, 0.4, 3))}" rpy="{numbers(draw.uniform(-3, 3, 3))}"/>'

    def link(name: str, massive: bool = True) -> str:
        if not massive:
            return f'<link name="{name}"/>'
        points = draw.normal(size=(6, 3)) * draw.uniform(0.05, 0.3)
        second = points.T @ points
        inertia = np.trace(second) * np.eye(3) - second
        terms = " ".join(f'i{"xyz"[i]}{"xyz"[j]}="{float(inertia[i, j])!r}"' for i in range(3) for j in range(i, 3))
        return (
            f'<link name="{name}"><inertial>{origin()}<mass value="{draw.uniform(0.5, 4.0)!r}"/>'
            f"<inertia {terms}/></inertial></link>"
        )

    def joint(name: str, kind: str, parent: str, child: str) -> str:
        body = f'<parent link="{parent}"/><child link="{child}"/>{origin()}'
        if kind != "fixed":
            body += (
                f'<axis xyz="{numbers(draw.normal(size=3))}"/><limit lower="-3" upper="3" effort="50" velocity="9"/>'
            )
            body += f'<dynamics damping="{draw.uniform(0.0, 0.5)!r}"/>'
        return f'<joint name="{name}" type="{kind}">{body}</joint>'

    parts = [
        link("ground"),
        joint("soft_slide", "prismatic", "ground", "carriage"),
        link("carriage"),
        joint("soft_turn", "revolute", "carriage", "base"),
        link("base"),
        joint("base_sensor_joint", "fixed", "base", "base_sensor"),
        link("base_sensor"),
        joint("a1", "revolute", "base_sensor", "a1_link"),
        link("a1_link"),
        joint("a1_weld", "fixed", "a1_link", "a1_box"),
        link("a1_box"),
        joint("a2", "prismatic", "a1_box", "a2_link"),
        link("a2_link"),
        joint("a3", "continuous", "a2_link", "a3_link"),
        link("a3_link"),
        joint("wrist_sensor_joint", "fixed", "a3_link", "wrist_sensor"),
        link("wrist_sensor", massive=False),
        joint("a4", "revolute", "wrist_sensor", "a4_link"),
        link("a4_link"),
        joint("tool0_joint", "fixed", "a4_link", "tool0"),
        link("tool0", massive=False),
        joint("b1", "continuous", "base", "b1_link"),
        link("b1_link"),
        joint("b2", "prismatic", "b1_link", "b2_link"),
        link("b2_link"),
    ]
    sensors = "".join(
        f'<sensor name="{name}"><state_interface name="force.x"/><param name="frame_id">{frame}</param></sensor>'
        for name, frame in (
            ("root", "carriage"),
            ("base", "base_sensor"),
            ("wrist", "wrist_sensor"),
            ("elbow", "a2_link"),
        )
    )
    commanded = "".join(
        f'<joint name="{name}"><command_interface name="effort"/></joint>'
        for name in ("a1", "a2", "a3", "a4", "b1", "b2")
    )
    return (
        f'<robot name="tree">{"".join(parts)}<flexibility>'
        '<elastic_joint name="soft_slide" stiffness="300" damping="2"/>'
        '<elastic_joint name="soft_turn" stiffness="80" damping="0.7"/></flexibility>'
        f'<ros2_control name="tree" type="system">{commanded}{sensors}</ros2_control></robot>'
    )


class NewtonEuler:
    """What Pinocchio and Newton's and Euler's laws, link by link, say about a plant state."""

    def __init__(self, description: RobotDescription, gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)) -> None:
        self.description = description
        self.model = pinocchio.buildModelFromXML(description.text)
        self.model.gravity.linear = np.array(gravity)
        self.data = self.model.createData()
        self.elastic_names = tuple(joint.name for joint in description.elastic)

    def coordinates(self, state: PlantState) -> tuple[Array, Array]:
        """Pinocchio's configuration and velocity of a state."""
        q, v = pinocchio.neutral(self.model), np.zeros(self.model.nv)
        for names, positions, velocities in (
            (self.description.actuated, state.position, state.velocity),
            (self.elastic_names, state.deflection, state.deflection_rate),
        ):
            for name, position, velocity in zip(names, positions, velocities, strict=True):
                joint = self.model.joints[self.model.getJointId(name)]
                unbounded = joint.nq == 2
                q[joint.idx_q : joint.idx_q + joint.nq] = (
                    (np.cos(position), np.sin(position)) if unbounded else (position,)
                )
                v[joint.idx_v] = velocity
        return q, v

    def indices(self, names: tuple[str, ...]) -> list[int]:
        """Velocity indices of joints."""
        return [self.model.joints[self.model.getJointId(name)].idx_v for name in names]

    def generalized_acceleration(self, state: PlantState) -> Array:
        """The state's accelerations in Pinocchio's order."""
        a = np.zeros(self.model.nv)
        a[self.indices(self.description.actuated)] = state.acceleration
        a[self.indices(self.elastic_names)] = state.deflection_acceleration
        return a

    def acceleration(self, state: PlantState, wrenches_in_world: Mapping[str, Array]) -> tuple[Array, Array]:
        """Accelerations (n,), (m,) by pinocchio.aba under spring, damper and motor forces and wrenches on links."""
        q, v = self.coordinates(state)
        effort = np.zeros(self.model.nv)
        for name, index, motor, rate in zip(
            self.description.actuated,
            self.indices(self.description.actuated),
            state.effort,
            state.velocity,
            strict=True,
        ):
            effort[index] = motor - self.description.joints[name].damping * rate
        for spring, index, x, rate in zip(
            self.description.elastic,
            self.indices(self.elastic_names),
            state.deflection,
            state.deflection_rate,
            strict=True,
        ):
            effort[index] = -spring.stiffness * x - spring.damping * rate
        pinocchio.framesForwardKinematics(self.model, self.data, q)
        forces = [pinocchio.Force.Zero() for _ in range(self.model.njoints)]
        for link, wrench in wrenches_in_world.items():
            frame = self.model.getFrameId(link)
            placement = self.data.oMf[frame]
            local = np.concatenate([placement.rotation.T @ wrench[:3], placement.rotation.T @ wrench[3:]])
            joint = self.model.frames[frame].parentJoint
            forces[joint] += self.model.frames[frame].placement.act(pinocchio.Force(local))
        a = pinocchio.aba(self.model, self.data, q, v, effort, forces)
        return a[self.indices(self.description.actuated)], a[self.indices(self.elastic_names)]

    def sensor_wrench(self, state: PlantState, frame: str, wrenches_in_world: Mapping[str, Array]) -> Array:
        """Wrench of the links outboard of a frame on what carries it, from their momentum balance; in that frame."""
        q, v = self.coordinates(state)
        pinocchio.forwardKinematics(self.model, self.data, q, v, self.generalized_acceleration(state))
        pinocchio.updateFramePlacements(self.model, self.data)
        placement = self.data.oMf[self.model.getFrameId(frame)]
        outboard = [frame]
        for joint in self.description.joints.values():
            if joint.parent in outboard:
                outboard.append(joint.child)
        force, moment = (
            np.zeros(3),
            np.zeros(3),
        )  # of the carrier on the outboard links, world axes, about the frame origin
        for name in outboard:
            link, index = self.description.links[name], self.model.getFrameId(name)
            arguments = (self.model, self.data, index, pinocchio.LOCAL_WORLD_ALIGNED)
            twist = pinocchio.getFrameVelocity(*arguments)
            acceleration = pinocchio.getFrameClassicalAcceleration(*arguments)
            rotation = self.data.oMf[index].rotation
            lever = rotation @ link.center_of_mass
            inertia = rotation @ link.inertia @ rotation.T
            w, alpha = twist.angular, acceleration.angular
            center = acceleration.linear + np.cross(alpha, lever) + np.cross(w, np.cross(w, lever))
            push = link.mass * (center - self.model.gravity.linear)
            arm = self.data.oMf[index].translation - placement.translation
            force += push
            moment += inertia @ alpha + np.cross(w, inertia @ w) + np.cross(arm + lever, push)
            external = wrenches_in_world.get(name, np.zeros(6))
            force -= external[:3]
            moment -= external[3:] + np.cross(arm, external[:3])
        return -np.concatenate([placement.rotation.T @ force, placement.rotation.T @ moment])

    def energy(self, state: PlantState) -> float:
        """Kinetic, gravitational and spring energy [J]."""
        q, v = self.coordinates(state)
        springs = sum(
            0.5 * spring.stiffness * x**2 for spring, x in zip(self.description.elastic, state.deflection, strict=True)
        )
        kinetic = pinocchio.computeKineticEnergy(self.model, self.data, q, v)
        return float(kinetic + pinocchio.computePotentialEnergy(self.model, self.data, q) + springs)


@pytest.fixture(scope="session")
def repository_robot() -> Callable[..., RobotDescription]:
    """Read a robot of the repository, with text replaced: ``repository_robot("trep", {"0.05": "0"})``."""

    def read(name: str, replace: Mapping[str, str] | None = None) -> RobotDescription:
        text = load_robot_description(URDF_FOLDER / f"{name}.urdf.xacro")
        for old, new in (replace or {}).items():
            assert old in text
            text = text.replace(old, new)
        return parse_robot_description(text)

    return read


@pytest.fixture
def planar(repository_robot: Callable[..., RobotDescription]) -> Callable[..., Plant]:
    """Make a plant of the planar arm at ``PLANAR_START``: ``planar(drive=..., sensors=...)``."""
    robot = repository_robot("planar_3r")

    def make(**options: Any) -> Plant:
        return Plant(robot, MujocoBackend(robot), PlantConfig(**{"initial_position": PLANAR_START, **options}))

    return make


@pytest.fixture(scope="session")
def slider() -> Callable[..., RobotDescription]:
    """A mass on a spring."""
    return lambda **values: parse_robot_description(slider_urdf(**values))


@pytest.fixture(scope="session")
def one_joint() -> Callable[..., RobotDescription]:
    """An arm of one joint."""
    return lambda **values: parse_robot_description(arm_urdf(**values))


@pytest.fixture(scope="session")
def beam_robot() -> Callable[..., RobotDescription]:
    """A beam, clamped or hinged."""
    return lambda **values: parse_robot_description(beam_urdf(**values))


@pytest.fixture(scope="session")
def spatial_tree() -> Callable[[int], RobotDescription]:
    """A random spatial tree by seed."""
    return lambda seed: parse_robot_description(spatial_tree_urdf(seed))


@pytest.fixture(scope="session")
def newton_euler() -> type[NewtonEuler]:
    """The independent reference."""
    return NewtonEuler
