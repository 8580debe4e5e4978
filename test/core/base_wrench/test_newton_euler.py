"""Torques, forces and wrenches against Pinocchio: RNEA of the robot, and of what the sensor carries as a free body."""

from __future__ import annotations

import numpy as np
import pytest
import robots
import sensed_robots
from sensed_robots import SENSOR, Reference, Truth, on_sensor, with_masses, with_payload

from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import JointTorques, SensorDynamics
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_sim.backends import make_backend
from flexarm_sim.friction.friction import JointFriction

TILTED = {"xyz": "0.2 -0.1 0.3", "rpy": "0.4 -0.7 1.1", "stand": "0.05 0.08 -0.1", "lean": "-0.6 0.3 2.0"}
STATES = 1000


def text_of(name: str) -> str:
    own = {
        "slider_arm": sensed_robots.slider_arm,
        "two_arms": sensed_robots.two_arms,
        "raft": sensed_robots.raft,
        "sensor_above_the_first_joint": sensed_robots.sensor_above_the_first_joint,
    }
    if name in own:
        return own[name]()
    try:
        return on_sensor(robots.find(name)[0], **TILTED)
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


def dynamics_of(text: str, gravity=sensed_robots.GRAVITY) -> SensorDynamics:
    return SensorDynamics(build_sensed_bodies(parse_robot_description(text)), gravity)


def torques_at(dynamics: SensorDynamics, truth: Truth) -> JointTorques:
    return dynamics.torques(truth.position, truth.velocity, truth.acceleration, truth.wrench)


def error(found, expected) -> float:
    """Largest error over the largest number, at least 1."""
    return float(np.abs(found - expected).max() / max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize(
    "name", ["planar_4r", "panda", "ur5", "slider_arm", "two_arms", "raft", "sensor_above_the_first_joint"]
)
def test_estimate_equals_inverse_dynamics_at_1000_random_states(name):
    rng, text = np.random.default_rng(7), text_of(name)
    gravity = tuple(9.81 * rng.standard_normal(3))
    reference, dynamics = Reference(text, gravity), dynamics_of(text, gravity)
    sensed, n = dynamics.bodies.sensed, dynamics.bodies.n
    for _ in range(STATES):
        truth = reference.random(rng)
        found = torques_at(dynamics, truth)
        effort, weight = truth.effort[:n][sensed], truth.gravity[:n][sensed]
        # without gravity: RNEA with it, less what gravity takes
        assert error(found.torque[sensed], effort - weight) < 1e-9
        assert error(found.torque[sensed] + found.gravity[sensed], effort) < 1e-9
        assert error(found.model_torque[sensed], effort - weight) < 1e-9
        assert error(found.gravity[sensed], weight) < 1e-9
        assert error(found.gravity_wrench, truth.gravity_wrench) < 1e-9
        assert np.abs(found.residual_wrench).max() < 1e-9 * max(1.0, np.abs(truth.wrench).max())


def test_a_planar_arm_on_its_own_sensor_that_slides_with_its_base(planar_3r_text):
    reference, dynamics = Reference(planar_3r_text), dynamics_of(planar_3r_text)
    rng = np.random.default_rng(8)
    for _ in range(STATES):
        truth = reference.random(rng)
        found = torques_at(dynamics, truth)
        assert error(found.torque + found.gravity, truth.effort[:3]) < 1e-9


def test_joints_are_named_by_what_the_sensor_carries():
    assert dynamics_of(text_of("two_arms")).bodies.sensed.all()
    for name, below in (("sensor_above_the_first_joint", "a_joint"), ("raft", "crane_joint")):
        bodies = dynamics_of(text_of(name)).bodies
        assert [c for c, s in zip(bodies.coordinates, bodies.sensed, strict=False) if not s] == [below]


def test_friction_of_every_joint_needs_no_model_of_a_payload():
    """Torque and gravity of a joint share the errors of all that it carries: their sum, and friction, have none."""
    text = text_of("panda")
    loaded, dynamics = Reference(with_payload(text, "panda_hand", 3.0)), dynamics_of(text)
    rng, n = np.random.default_rng(9), 7  # the joints that carry the hand; its fingers do not
    for _ in range(100):
        truth = loaded.random(rng)
        found = torques_at(dynamics, truth)
        assert error((found.torque + found.gravity)[:n], truth.effort[:n]) < 1e-9
        assert error(found.torque[:n], truth.effort[:n] - truth.gravity[:n]) > 1e-3  # alone it would need one
        weight = found.residual_wrench
        assert np.abs(weight[:3]).max() > 1.0  # and the payload shows in what the model does not explain


def test_of_two_arms_an_unknown_payload_of_one_falsifies_the_torques_of_the_other_alone():
    """Bodies inboard of a joint are all that it does not carry, the other arm included."""
    text = text_of("two_arms")
    loaded, dynamics, rng = Reference(with_payload(text, "b3", 2.0)), dynamics_of(text), np.random.default_rng(12)
    wrong, names = np.zeros(6), dynamics.bodies.coordinates
    for _ in range(100):
        truth = loaded.random(rng)
        found = torques_at(dynamics, truth)
        wrong = np.maximum(wrong, np.abs(found.torque + found.gravity - truth.effort))
    by = dict(zip(names, wrong, strict=True))
    assert max(value for name, value in by.items() if name.startswith("b")) < 1e-9
    assert min(value for name, value in by.items() if name.startswith("a")) > 1.0


def test_torque_about_a_vertical_first_axis_needs_no_model_at_all():
    """Patent 003: nothing is inboard of the first joint, and gravity takes nothing there."""
    text = on_sensor(robots.find("arm_7r")[0], xyz="0.2 0.1 0", stand="0.1 -0.2 0.05", lean="0 0 0.7")
    moved = tuple(link for link, record in parse_robot_description(text).links.items() if record.mass > 0.0)
    dynamics = dynamics_of(with_masses(text, moved, 1.7))
    reference, rng = Reference(with_payload(text, "tool0", 4.0)), np.random.default_rng(10)
    for _ in range(100):
        truth = reference.random(rng)
        found = torques_at(dynamics, truth)
        assert abs(found.torque[0] - truth.effort[0]) < 1e-9 * max(1.0, np.abs(truth.effort).max())


def test_wrong_masses_matter_to_the_joints_outboard_of_them_alone():
    text = on_sensor(robots.find("arm_7r")[0], **TILTED)
    reference, rng = Reference(text), np.random.default_rng(11)
    dynamics = dynamics_of(with_masses(text, ("forearm",), 1.3))  # behind the fourth joint
    wrong = np.zeros(7)
    for _ in range(50):
        truth = reference.random(rng)
        found = torques_at(dynamics, truth)
        wrong = np.maximum(wrong, np.abs(found.torque + found.gravity - truth.effort))
    assert wrong[:4].max() < 1e-9
    assert wrong[5:].min() > 0.1  # the fifth joint turns about the forearm's own axis


def test_a_swinging_base_counts_by_its_acceleration():
    text = text_of("raft")
    reference, dynamics = Reference(text), dynamics_of(text)
    n, sensed, rng = dynamics.bodies.n, dynamics.bodies.sensed, np.random.default_rng(12)
    without = []
    for _ in range(100):
        truth = reference.random(rng)
        known = truth.acceleration.copy()
        known[n:] = 0.0
        found = dynamics.torques(truth.position, truth.velocity, known, truth.wrench)
        without.append(np.abs(found.torque + found.gravity - truth.effort[:n])[sensed].max())
    assert np.median(without) > 1.0  # N*m, where the estimate with it is exact: first test


def test_a_gravity_wrench_that_was_looked_up_takes_the_place_of_the_models():
    text = text_of("slider_arm")
    reference, dynamics, rng = Reference(text), dynamics_of(text), np.random.default_rng(13)
    heavy = dynamics_of(with_masses(text, ("a", "b", "c", "d"), 2.0))
    truth = reference.random(rng)
    looked_up = heavy.gravity_wrench(truth.position)
    found = dynamics.torques(truth.position, truth.velocity, truth.acceleration, truth.wrench, looked_up)
    assert np.allclose(found.gravity_wrench, looked_up, atol=1e-12)
    plain = torques_at(dynamics, truth)
    # a first joint sees the change through the lever from the sensor: residual and torque alike
    assert np.allclose(found.residual_wrench - plain.residual_wrench, plain.gravity_wrench - looked_up, atol=1e-10)
    same = dynamics.torques(truth.position, truth.velocity, truth.acceleration, truth.wrench, truth.gravity_wrench)
    assert error(same.torque, plain.torque) < 1e-12


def test_estimates_do_not_depend_on_what_was_asked_before():
    text = text_of("two_arms")
    reference, dynamics, rng = Reference(text), dynamics_of(text), np.random.default_rng(14)
    truth, other = reference.random(rng), reference.random(rng)
    first = torques_at(dynamics, truth)
    looked_up = dynamics.torques(other.position, other.velocity, other.acceleration, other.wrench, np.ones(6))
    assert not np.array_equal(looked_up.torque, first.torque)
    assert np.array_equal(torques_at(dynamics, truth).torque, first.torque)


@pytest.mark.parametrize(("backend", "armature"), [("mujoco", "true"), ("flexible_dynamics", "false")])
def test_what_is_missing_between_motor_and_link_is_the_plants_friction(backend, armature):
    text = load_robot_description(robots.URDF / "arm_7r.urdf.xacro", {"armature": armature})
    description = parse_robot_description(text)
    friction = JointFriction(coulomb=(9.0,), stiction=(12.0,), stribeck_velocity=(0.1,), viscous=(2.0,))
    plant = make_backend(backend, description, friction=friction)
    dynamics, rng = dynamics_of(text), np.random.default_rng(15)
    rotors = np.array([description.joints[name].armature for name in description.actuated])
    assert bool(rotors.any()) == (armature == "true")
    for _ in range(5):
        position = np.array([0.0, 0.3, 0.0, -1.5, 0.0, 0.8, 0.0]) + rng.uniform(-0.3, 0.3, 7)
        plant.reset(position, rng.uniform(-1.0, 1.0, 7))
        plant.step(20.0 * rng.standard_normal(7), 0.01)
        truth = plant.state()
        found = dynamics.torques(truth.position, truth.velocity, truth.acceleration, truth.wrenches[SENSOR])
        estimated = truth.effort - rotors * truth.acceleration - found.torque - found.gravity
        assert np.abs(truth.friction).min() > 0.1
        assert np.abs(estimated - truth.friction).max() < 1e-6
        assert np.abs(found.residual_wrench).max() < 1e-6
