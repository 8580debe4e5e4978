"""Errors carry what a caller may branch on, keep it when they are pickled, and print their message alone."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from flexarm_core import (
    ConfigError,
    FlexarmError,
    GainError,
    InputError,
    JointLimitError,
    MotionLimits,
    PathError,
    PathPlanner,
    RedundancyConfig,
    RobotDescriptionError,
    build_chain,
    parse_robot_description,
)
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.pose_path import PosePath


@pytest.mark.parametrize(
    "error",
    [
        FlexarmError("text"),
        RobotDescriptionError("text", joint="joint1", link="link1"),
        InputError("text"),
        JointLimitError("text", "joint1", 2.0, -1.0, 1.0),
        ConfigError("text", setting="velocity", value=0.0),
        GainError("text", "vibration_gain", 30.0, 20.0),
        PathError("text", 0.5),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_that_comes_from_another_process_is_the_same(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error) == "text"
    assert vars(copy) == vars(error)


@pytest.mark.parametrize(
    ("old", "new", "attribute", "name"),
    [
        ('stiffness="', 'stiffness="-', "joint", "base_x"),
        ('<mass value="10.0"/>', '<mass value="-3"/>', "link", "link1"),
    ],
)
def test_a_wrong_description_says_which_joint_or_link_it_is(planar_3r_text, old, new, attribute, name):
    assert old in planar_3r_text
    with pytest.raises(RobotDescriptionError) as refused:
        parse_robot_description(planar_3r_text.replace(old, new, 1))
    assert getattr(refused.value, attribute) == name
    assert {refused.value.joint, refused.value.link} == {name, ""}


def test_an_unknown_tool_frame_is_the_link_of_the_error(planar_3r_text):
    with pytest.raises(RobotDescriptionError) as refused:
        build_chain(parse_robot_description(planar_3r_text), "gripper")
    assert refused.value.link == "gripper"


def test_a_setting_out_of_bounds_is_named_with_its_value():
    with pytest.raises(ConfigError) as refused:
        RedundancyConfig(threshold=-1.0)
    assert (refused.value.setting, refused.value.value) == ("threshold", -1.0)


def test_limits_that_allow_nothing_are_named_with_their_values():
    one = np.ones(2)
    with pytest.raises(ConfigError) as refused:
        MotionLimits(-one, one, 0.0 * one, one)
    assert refused.value.setting == "velocity"
    assert (refused.value.value == 0.0).all()


def test_a_path_from_beyond_a_limit_names_the_joint_its_position_and_its_limits(planar_3r_text):
    chain = build_chain(parse_robot_description(planar_3r_text), "tool0")
    limits = MotionLimits(-np.ones(3), np.array([1.0, 2.0, 1.0]), np.ones(3), np.ones(3))
    start = np.array([0.2, 2.5, 0.3])
    with pytest.raises(JointLimitError) as refused:
        path = PosePath(*chain.pose(start))
        PathPlanner(chain, limits, RedundancyConfig()).plan(path, start, PathLimits())
    error = refused.value
    assert (error.joint, error.value, error.lower, error.upper) == (chain.joint_names[1], 2.5, -1.0, 2.0)
