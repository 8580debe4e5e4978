"""Which bodies a sensor carries, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import robots
import sensed_robots
from sensed_robots import SENSOR, Builder, on_sensor

from flexarm_core.base_wrench.sensed_bodies import ABOVE, MASS, SENSED, WEIGHT, build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.errors import ConfigError, RobotDescriptionError
from flexarm_core.robot.urdf_reader import parse_robot_description


def bodies_of(text: str):
    return build_sensed_bodies(parse_robot_description(text))


def test_all_masses_above_the_sensor_count_and_none_below():
    text = sensed_robots.raft()
    links = parse_robot_description(text).links
    bodies = bodies_of(text)
    carried = sum(links[name].mass for name in ("sensor", "stand", "a", "b", "c"))
    assert np.isclose(bodies.links[:, MASS].sum(), carried)
    assert np.isclose(bodies.links[:, WEIGHT].sum(), carried)
    named = dict(zip(bodies.names, bodies.links[:, MASS], strict=True))
    assert np.isclose(named["deck"], links["sensor"].mass + links["stand"].mass)  # what is fixed to it above the sensor
    assert named["raft"] == named["crane"] == named["floor"] == 0.0
    assert [name for name, row in zip(bodies.names, bodies.structure, strict=True) if row[ABOVE]] == [
        *("deck", "a", "b", "c")
    ]
    assert [name for name, row in zip(bodies.names, bodies.structure, strict=True) if row[SENSED]] == ["a", "b", "c"]


def test_coordinates_are_the_actuated_joints_then_the_elastic_ones():
    bodies = bodies_of(sensed_robots.raft())
    assert bodies.coordinates[bodies.n :] == ("raft_joint", "deck_joint")
    assert set(bodies.coordinates[: bodies.n]) == {"a_joint", "b_joint", "c_joint", "crane_joint"}


def test_parents_come_before_children():
    structure = bodies_of(sensed_robots.two_arms()).structure
    assert all(parent < k for k, parent in enumerate(structure[:, 0]))


def test_a_payload_that_is_fixed_to_a_link_is_part_of_its_body():
    text = on_sensor(robots.find("arm_7r")[0])
    plain, loaded = bodies_of(text), bodies_of(sensed_robots.with_payload(text, "tool0", 2.5))
    change = loaded.links[:, MASS] - plain.links[:, MASS]
    assert np.count_nonzero(change) == 1
    assert np.isclose(change[-1], 2.5)


def test_other_gravity_parameters_change_gravity_and_leave_inertial_terms_alone():
    bodies = bodies_of(sensed_robots.slider_arm())
    parameters = 1.5 * bodies.gravity_parameters()
    parameters[:, 1:] += 0.1
    changed, before = bodies.with_gravity_parameters(parameters), bodies.links.copy()
    assert np.array_equal(changed.gravity_parameters(), parameters)
    assert np.array_equal(bodies.links, before)
    assert np.array_equal(changed.links[:, :WEIGHT], before[:, :WEIGHT])
    rng = np.random.default_rng(1)
    state, wrench = rng.standard_normal((3, 4)), rng.standard_normal(6)
    with_them, without = SensorDynamics(changed).torques(*state, wrench), SensorDynamics(bodies).torques(*state, wrench)
    assert np.array_equal(with_them.model_torque, without.model_torque)
    assert not np.allclose(with_them.gravity, without.gravity, atol=0.1)


@pytest.mark.parametrize("shape", [(3, 4), (5, 3)])
def test_gravity_parameters_of_another_shape_or_not_finite_are_refused(shape):
    bodies = bodies_of(sensed_robots.slider_arm())
    with pytest.raises(ConfigError, match="gravity parameters"):
        bodies.with_gravity_parameters(np.zeros(shape))
    with pytest.raises(ConfigError, match="finite"):
        bodies.with_gravity_parameters(np.full((5, 4), np.nan))


def test_a_sensor_that_is_not_there_or_carries_no_joint_is_refused():
    description = parse_robot_description(sensed_robots.slider_arm())
    with pytest.raises(ConfigError, match=f"no force/torque sensor 'other'; it has: {SENSOR}"):
        build_sensed_bodies(description, "other")
    build = Builder(5).joint("fixed", "floor", "stand", mass=1.0).joint("revolute", "stand", "a")
    with pytest.raises(ConfigError, match="carries no actuated joint"):
        bodies_of(build.joint("fixed", "a", "wrist").text("wrist"))
    with pytest.raises(RobotDescriptionError, match="root link 'floor'"):
        bodies_of(Builder(6).joint("revolute", "floor", "a").text("floor"))


def test_a_sensor_in_the_first_link_carries_the_joints_behind_it_and_not_the_one_before():
    bodies = bodies_of(Builder(7).joint("revolute", "floor", "a").joint("revolute", "a", "b").text("a"))
    assert bodies.sensed.tolist() == [False, True]
    assert bodies.weighing == (1, 2)
