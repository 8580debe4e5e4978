"""The MuJoCo model holds the robot that the description describes."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexarm_core.errors import ConfigError, RobotDescriptionError
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.mujoco.model import build_model, link_body, wrench_body

angles = st.floats(-3.2, 3.2, allow_subnormal=False)


def pendulum(inertia: str, mass: float = 2.0, rpy: str = "0 0 0", ground: str = "ground", link: str = "link") -> Any:
    return parse_robot_description(f"""
<robot name="pendulum">
  <link name="{ground}"/>
  <joint name="joint" type="continuous"><parent link="{ground}"/><child link="{link}"/><axis xyz="0 1 0"/></joint>
  <link name="{link}">
    <inertial><origin xyz="0.3 0 0" rpy="{rpy}"/><mass value="{mass}"/><inertia {inertia}/></inertial>
  </link>
</robot>""")


def principal(x: float, y: float, z: float) -> str:
    return f'ixx="{x!r}" ixy="0" ixz="0" iyy="{y!r}" iyz="0" izz="{z!r}"'


def test_masses_inertias_and_frames_are_those_of_the_description(spatial_tree: Any) -> None:
    description = spatial_tree(7)
    model = build_model(description)
    for name, link in description.links.items():
        body = model.body(link_body(description, name))
        if name == description.root:
            continue
        assert body.mass[0] == link.mass
        if link.mass == 0.0:
            continue
        assert np.array_equal(body.ipos, link.center_of_mass)
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, body.iquat)
        axes = rotation.reshape(3, 3)
        assert np.allclose(axes @ np.diag(body.inertia) @ axes.T, link.inertia, rtol=0.0, atol=1e-14)


def test_wrenches_act_where_the_center_of_mass_is_the_link_origin(spatial_tree: Any) -> None:
    description = spatial_tree(7)
    model = build_model(description)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for name in description.links:
        point = data.body(wrench_body(description, name)).xipos
        assert np.allclose(point, data.body(link_body(description, name)).xpos, atol=1e-15)


def test_point_masses_without_inertia_are_accepted() -> None:
    state = MujocoBackend(pendulum(principal(0.0, 0.0, 0.0))).state()
    assert state.acceleration[0] == pytest.approx(9.81 / 0.3, rel=1e-9)


@given(roll=angles, pitch=angles, yaw=angles, width=st.one_of(st.just(0.0), st.floats(0.01, 10.0)))
@settings(max_examples=50, deadline=None)
def test_rods_and_plates_in_any_orientation_are_accepted(roll: float, pitch: float, yaw: float, width: float) -> None:
    """Thin bodies lie on the bound of the triangle inequality, where round-off puts them on either side."""
    x, y = 2.0 * width**2 / 12, 2.0 * 0.7**2 / 12
    description = pendulum(principal(x, y, x + y), rpy=f"{roll!r} {pitch!r} {yaw!r}")
    inertia = description.links["link"].inertia
    expected = 2.0 * 9.81 * 0.3 / (2.0 * 0.3**2 + inertia[1, 1])
    assert MujocoBackend(description).state().acceleration[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("turn", ["0 0 0", "3.141592653589793 0 0", "0 3.141592653589793 0", "0 0 3.141592653589793"])
def test_half_turns_keep_their_axis(turn: str) -> None:
    """A quaternion from a half turn has no real part: the case that simple formulas divide by zero in."""
    description = parse_robot_description(f"""
<robot name="turned">
  <link name="ground"/>
  <joint name="joint" type="continuous">
    <parent link="ground"/><child link="link"/><origin xyz="0.1 0.2 0.3" rpy="{turn}"/><axis xyz="0.6 0 0.8"/>
  </joint>
  <link name="link"><inertial><mass value="1"/><inertia {principal(1.0, 1.0, 1.0)}/></inertial></link>
</robot>""")
    backend = MujocoBackend(description)
    backend.reset(velocity=[1.0])
    axis = description.joints["joint"].transform_child_to_parent[:3, :3] @ [0.6, 0.0, 0.8]
    assert np.allclose(backend.state().tool_twist_in_world[3:], axis, atol=1e-14)


@pytest.mark.parametrize("lacking", [1e-5, 3e-4, 9e-4])
def test_an_inertia_that_the_reader_bears_as_rounded_has_a_plant(lacking: float) -> None:
    """Makers write three or four digits; the plant alone refused what model and check had taken."""
    description = pendulum(principal(0.01, 0.03 * (1.0 + lacking), 0.02))
    expected = 2.0 * 9.81 * 0.3 / (2.0 * 0.3**2 + 0.03)
    assert MujocoBackend(description).state().acceleration[0] == pytest.approx(expected, rel=lacking)


def test_an_impossible_inertia_names_its_link() -> None:
    with pytest.raises(RobotDescriptionError, match="link 'link': principal inertias 1, 1, 3 .* are of no body"):
        build_model(pendulum(principal(1.0, 1.0, 3.0)))


def test_a_vanishing_mass_is_a_clear_error() -> None:
    with pytest.raises(RobotDescriptionError, match="MuJoCo cannot simulate robot 'pendulum'"):
        MujocoBackend(pendulum(principal(0.0, 0.0, 0.0), mass=1e-20))


def test_link_names_that_mean_something_to_mujoco_are_harmless() -> None:
    description = pendulum(principal(1.0, 1.0, 1.0), ground="map", link="world")
    assert MujocoBackend(description).state().acceleration[0] > 0.0


def test_a_sensor_on_the_root_link_is_refused(repository_robot: Any) -> None:
    description = repository_robot("planar_3r", {">base_ft</param>": ">world</param>"})
    with pytest.raises(RobotDescriptionError, match="'base_ft_sensor' sits on the root link 'world'"):
        build_model(description)


def test_elastic_joints_take_their_damping_from_the_flexibility_tag(repository_robot: Any) -> None:
    axis = '<axis xyz="1 0 0"/>'
    description = repository_robot("trep", {axis: f'{axis}<dynamics damping="7" friction="0"/>'})
    joint = build_model(description).joint("base_x")
    assert joint.damping[0] == 0.05
    assert joint.stiffness[0] == 77.9218


def test_numbers_keep_every_digit() -> None:
    mass = 0.1 + 0.2  # 0.30000000000000004
    description = pendulum(principal(1.0, 1.0, 1.0), mass=mass)
    assert build_model(description).body("link/link").mass[0] == mass


def test_without_surfaces_there_are_neither_geometry_nor_contacts(repository_robot: Any) -> None:
    model = build_model(repository_robot("trep"))
    assert model.ngeom == 0
    assert model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT


@pytest.mark.parametrize("timestep", [0.0, -1.0, float("inf")])
def test_a_timestep_must_be_positive(repository_robot: Any, timestep: float) -> None:
    with pytest.raises(ConfigError, match="timestep is"):
        build_model(repository_robot("trep"), timestep=timestep)
