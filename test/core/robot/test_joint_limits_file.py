"""joint_limits.yaml as MoveIt and ros2_control have it: read in full, or refused with what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
import yaml
from coupled_arms import coupled_arm

from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.joint_limits_file import KEYS, within_joint_limits

WHOLE = """
# as MoveIt's assistant writes it
default_velocity_scaling_factor: 0.1
default_acceleration_scaling_factor: 1e-1
joint_limits:
  joint2:
    has_position_limits: true
    min_position: !degrees -30
    max_position: 1
    has_velocity_limits: true
    max_velocity: 1.5
    has_acceleration_limits: true
    max_acceleration: 3.75
    has_deceleration_limits: true
    max_deceleration: -2.5
    has_jerk_limits: true
    max_jerk: 3e2
    has_effort_limits: true
    max_effort: 2.0
  joint1:
    angle_wraparound: false
    has_velocity_limits: true
    max_velocity: 99.0
    has_acceleration_limits: false
    max_acceleration: 0
    has_jerk_limits: false
    has_soft_limits: false
    k_position: 10.0
"""


@pytest.fixture(scope="module")
def model(planar_3r_text) -> ArmModel:
    return ArmModel(planar_3r_text)


def read(tmp_path, model, text):
    path = tmp_path / "joint_limits.yaml"
    path.write_text(text if isinstance(text, str) else yaml.safe_dump(text), encoding="utf-8")
    return ArmModel(within_joint_limits(model.description, path))


def test_every_limit_that_counts_is_read_and_no_other(tmp_path, model):
    found, inf, second = read(tmp_path, model, WHOLE), np.inf, np.array([False, True, False])
    assert (model.velocity_limit < 99.0).all() and (model.effort_limit > 2.0).all() and (model.upper > 1.0).all()
    np.testing.assert_allclose(found.lower, np.where(second, -np.radians(30.0), model.lower))
    np.testing.assert_allclose(found.upper, np.where(second, 1.0, model.upper))
    np.testing.assert_allclose(found.velocity_limit, np.where(second, 1.5, model.velocity_limit))
    np.testing.assert_allclose(found.acceleration_limit, [inf, 2.5, inf])  # that of the gate is its deceleration, too
    np.testing.assert_allclose(found.jerk_limit, [inf, 300.0, inf])
    np.testing.assert_allclose(found.effort_limit, np.where(second, 2.0, model.effort_limit))
    np.testing.assert_array_equal(found.fastest, model.velocity_limit)  # what drives can do does not depend on the file


def test_every_model_of_the_narrowed_robot_keeps_the_limits(tmp_path, model):
    """The chain of inverse kinematics and a second file on top of the first; the description of before is as it was."""
    found, text = read(tmp_path, model, WHOLE), model.description.text
    chain = build_chain(found.description)
    for one in ("lower", "upper", "velocity_limit", "acceleration_limit"):
        np.testing.assert_array_equal(getattr(chain, one), getattr(found, one))
    assert found.description.text == text and np.isinf(model.acceleration_limit).all()
    again = read(tmp_path, found, {"joint_limits": {"joint2": {"has_velocity_limits": True, "max_velocity": 1.0}}})
    np.testing.assert_array_equal(again.upper, found.upper)
    assert again.velocity_limit[1] == 1.0 and again.fastest[1] == model.velocity_limit[1]


def test_a_joint_that_follows_another_is_limited_by_that_one(tmp_path):
    arm = ArmModel(coupled_arm(1).text)
    follower = next(iter(arm.description.coupled))
    entry = {follower.name: {"has_velocity_limits": True, "max_velocity": 0.1}}
    with pytest.raises(ConfigError, match=f"follows '{follower.mimic}'"):
        read(tmp_path, arm, {"joint_limits": entry})
    read(tmp_path, arm, {"joint_limits": {follower.name: {"has_velocity_limits": False, "max_velocity": 0.1}}})


@pytest.mark.parametrize(("speed_up", "slow_down"), ((2.0, 3.0), (3.0, 2.0), (3.0, -2.0)))
def test_the_smaller_of_acceleration_and_deceleration_is_the_limit_of_both(tmp_path, model, speed_up, slow_down):
    entry = {"has_acceleration_limits": True, "max_acceleration": speed_up}
    entry |= {"has_deceleration_limits": True, "max_deceleration": slow_down}
    assert read(tmp_path, model, {"joint_limits": {"joint1": entry}}).acceleration_limit[0] == 2.0


@pytest.mark.parametrize(
    "around",
    (
        lambda limits: {"/**": {"ros__parameters": limits}},
        lambda limits: {"robot_description_planning": limits},
        lambda limits: {"move_group": {"ros__parameters": {"robot_description_planning": limits}}},
    ),
)
def test_limits_may_be_parameters_of_a_node(tmp_path, model, around):
    limits = {"joint_limits": {"joint3": {"has_jerk_limits": True, "max_jerk": 50}}}
    np.testing.assert_allclose(read(tmp_path, model, around(limits)).jerk_limit, [np.inf, np.inf, 50.0])


@pytest.mark.parametrize(
    ("entry", "said"),
    (
        ("joint9: {has_velocity_limits: true, max_velocity: 1}", "joint 'joint9' is unknown"),
        ("joint1: {has_velocity_limits: true}", "has_velocity_limits is true, without max_velocity"),
        ("joint1: {has_position_limits: true, min_position: 0}", "without max_position"),
        ("joint1: {max_jerk: 3.0}", "max_jerk without has_jerk_limits"),
        ("joint1: {has_jerk_limits: true, max_jerk: -3.0}", "max_jerk must be > 0, got -3"),
        ("joint1: {has_effort_limits: true, max_effort: 0}", "max_effort must be > 0, got 0"),
        ("joint1: {has_acceleration_limits: true, max_acceleration: .nan}", "max_acceleration must be a finite"),
        ("joint1: {has_velocity_limits: false, max_velocity: .inf}", "max_velocity must be a finite number"),
        ("joint1: {has_velocity_limits: true, max_velocity: fast}", "max_velocity must be a finite number"),
        ("joint1: {has_velocity_limits: true, max_velocity: true}", "max_velocity must be a finite number"),
        (f"joint1: {{has_jerk_limits: true, max_jerk: {10**400}}}", "max_jerk must be a finite number"),
        ("joint1: {has_jerk_limits: true, max_jerk: 1e999}", "max_jerk must be a finite number"),
        ("joint1: {has_velocity_limits: 1, max_velocity: 1}", "has_velocity_limits must be true or false"),
        ("1: {}", "joint '1' is unknown"),
        ("joint1: {has_velocity_limit: true, max_velocity: 1}", "key 'has_velocity_limit' is unknown"),
        ("joint1: {has_soft_limits: true}", "soft limits are not kept"),
        ("joint1: {angle_wraparound: true}", "angle_wraparound is for joints that turn without limits"),
        ("joint1: {has_position_limits: true, min_position: 1, max_position: 1}", "leave nothing of the range"),
        ("joint1: {has_position_limits: true, min_position: 50, max_position: 51}", "leave nothing of the range"),
        ("joint1: 3", "expected a mapping of has_position_limits"),
        ("joint1: {has_jerk_limits: true, max_jerk: 1, max_jerk: 2}", "a key stands twice"),
        ("joint1: {has_jerk_limits: true, max_jerk: 1}\ncartesian_limits: {}", "key 'cartesian_limits' is unknown"),
        ("joint1: {has_jerk_limits: true, max_jerk: 1}\ndefault_velocity_scaling_factor: x", "must be a finite"),
    ),
)
def test_what_is_wrong_is_refused_and_named(tmp_path, model, entry, said):
    with pytest.raises(ConfigError, match=said):
        read(tmp_path, model, f"joint_limits:\n  {entry}\n")


@pytest.mark.parametrize("text", ("", "[]", "joint_limits: 3", "joint1: {max_jerk: 1}", "a: [", "joint_limits: *x"))
def test_a_file_of_something_else_is_refused(tmp_path, model, text):
    with pytest.raises(ConfigError, match="joint_limits"):
        read(tmp_path, model, text)


def test_a_file_that_is_not_there_is_refused(tmp_path, model):
    with pytest.raises(ConfigError, match="cannot be read"):
        within_joint_limits(model.description, tmp_path / "none.yaml")


def test_no_key_is_taken_without_effect_or_refusal(tmp_path, model):
    """Each key alone, true or 1, changes a limit, is refused, or says that something does not count."""
    nothing = read(tmp_path, model, {"joint_limits": {"joint1": {}}})
    for key in KEYS:
        value = True if key.startswith("has_") or key == "angle_wraparound" else 1.0
        entry = {key: value}
        if key in ("k_position", "k_velocity", "soft_lower_limit", "soft_upper_limit"):
            entry["has_soft_limits"] = True
        with pytest.raises(ConfigError):
            read(tmp_path, model, {"joint_limits": {"joint1": entry}})
    assert np.isinf(nothing.jerk_limit).all()


def test_position_limits_of_a_joint_that_turns_without_limits_are_refused(tmp_path, planar_3r_text):
    text = planar_3r_text.replace('name="joint1" type="revolute"', 'name="joint1" type="continuous"')
    endless = ArmModel(text)
    assert endless.turns.endless[0]
    with pytest.raises(ConfigError, match="turns without limits"):
        read(
            tmp_path,
            endless,
            "joint_limits: {joint1: {has_position_limits: true, min_position: 0, max_position: 1}}",
        )
    read(tmp_path, endless, "joint_limits: {joint1: {angle_wraparound: true}}")
