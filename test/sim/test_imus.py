"""Inertial measurement units of the simulated robots: specific force and angular velocity at their frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_sim.mujoco.backend import MujocoBackend

WEIGHTLESS = (0.0, 0.0, 0.0)


def turntable(rpy: str = "0 0 0") -> RobotDescription:
    """A disc of 2 kg*m^2 about z, with an IMU at 0.4 m along x and 0.3 m up."""
    return parse_robot_description(f"""
<robot name="turntable">
  <link name="ground"/>
  <joint name="turn" type="continuous"><parent link="ground"/><child link="disc"/><axis xyz="0 0 1"/></joint>
  <link name="disc">
    <inertial><mass value="1"/><inertia ixx="2" ixy="0" ixz="0" iyy="2" iyz="0" izz="2"/></inertial>
  </link>
  <joint name="mount" type="fixed">
    <parent link="disc"/><child link="box"/><origin xyz="0.4 0 0.3" rpy="{rpy}"/>
  </joint>
  <link name="box"/>
  <ros2_control name="turntable" type="system">
    <joint name="turn"><command_interface name="effort"/></joint>
    <sensor name="imu">
      <state_interface name="angular_velocity.z"/><state_interface name="linear_acceleration.z"/>
      <param name="frame_id">box</param>
    </sensor>
  </ros2_control>
</robot>""")


def test_at_rest_an_imu_reads_the_weight_upwards() -> None:
    assert np.allclose(MujocoBackend(turntable()).state().imus["imu"], [0, 0, 9.81, 0, 0, 0], atol=1e-12)
    # turned by a quarter about x: what is up in the world is y there
    turned = MujocoBackend(turntable("1.5707963267948966 0 0")).state().imus["imu"]
    assert np.allclose(turned, [0, 9.81, 0, 0, 0, 0], atol=1e-12)


@pytest.mark.parametrize("position", [0.0, 2.0])
def test_on_a_turntable_an_imu_reads_centripetal_and_tangential_acceleration(position: float) -> None:
    """``[-w^2 r, alpha r, g]`` and ``[0, 0, w]``, wherever the table stands."""
    backend = MujocoBackend(turntable())
    backend.reset([position], [3.0], effort=[5.0])
    assert np.allclose(backend.state().imus["imu"], [-9.0 * 0.4, 2.5 * 0.4, 9.81, 0, 0, 3.0], atol=1e-9)


def test_the_root_link_may_carry_an_imu(beam_robot: Any) -> None:
    state = MujocoBackend(beam_robot(), max_step=1e-4).state()
    assert np.allclose(state.imus["ground_imu"], [0, 0, 9.81, 0, 0, 0], atol=1e-12)


def test_at_the_tip_of_a_sagging_beam_an_imu_reads_the_slope(beam_robot: Any) -> None:
    """A tip weight turns the tip down by ``m g L^2 / 2 EI``, the beam's own by ``rho g L^3 / 6 EI``."""
    beam = 'EIy="400" EIz="400" modes_z="2" modes_y="1" damping_ratio="0.7"'
    backend = MujocoBackend(beam_robot(beam=beam, tip=0.5), max_step=4e-5, segments=10)
    backend.step([0.0], 0.6)
    slope = 9.81 * (0.5 / 800.0 + 1.0 / 2400.0)
    reading = backend.state().imus["tip_imu"]
    assert reading[0] == pytest.approx(-9.81 * slope, rel=0.01)
    assert reading[2] == pytest.approx(9.81 * np.cos(slope), rel=1e-4)
    assert np.abs(reading[3:]).max() < 1e-4


def test_an_imu_on_a_moving_beam_reads_the_derivatives_of_its_pose(repository_robot: Any) -> None:
    backend = MujocoBackend(repository_robot("flexible_3r"), segments=6, max_step=1e-4)
    backend.reset([0.3, -0.8, 1.1], [2.0, -3.0, 4.0])
    backend.step([5.0, -20.0, 10.0], 0.05)
    h, states = 1e-5, []
    for _ in range(3):
        states.append(backend.state())
        backend.step([5.0, -20.0, 10.0], h)
    rotation = states[1].tool_rotation_in_world
    acceleration = (states[2].tool_twist_in_world[:3] - states[0].tool_twist_in_world[:3]) / (2 * h)
    force, spin = np.split(states[1].imus["tool_imu"], 2)
    assert np.allclose(rotation @ force, acceleration + [0, 0, 9.81], rtol=1e-4, atol=1e-3 * np.abs(force).max())
    assert np.allclose(rotation @ spin, states[1].tool_twist_in_world[3:], atol=1e-10)
