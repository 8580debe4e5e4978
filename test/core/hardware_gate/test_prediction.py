"""A prediction is believed only where arms that are a little lighter, or heavier, would move alike."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.hardware_gate.prediction import Prediction
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState

PERIOD = 0.002


def time_believed(model: ArmModel, position: np.ndarray) -> float:
    """How long a prediction of an arm at rest, whose weight is borne, is believed, 0.5 s at most [s]."""
    base = np.zeros(model.m)
    state = ArmState(0, position, np.zeros(model.n), base, base)
    prediction, effort = Prediction(model, model.velocity_limit), model.gravity_effort(state)
    for tick in range(250):
        prediction.advance(state, effort, PERIOD)
        if not prediction.is_believable:
            return tick * PERIOD
    return 0.5


def test_without_weight_an_arm_at_rest_stays_where_it_is(planar_3r_text):
    assert time_believed(ArmModel(planar_3r_text, gravity=(0.0, 0.0, 0.0)), np.array([0.3, -0.4, 0.5])) == 0.5


@pytest.mark.parametrize("weight", [2.0, 9.81])
def test_an_arm_that_hangs_is_believed_for_longer_than_one_that_is_held_out(planar_3r_text, weight):
    arm = ArmModel(planar_3r_text, gravity=(weight, 0.0, 0.0))  # along the stretched arm
    hanging, held = np.array([0.02, 0.0, 0.0]), np.array([np.pi / 2, 0.0, 0.0])
    assert time_believed(arm, hanging) > time_believed(arm, held)
    assert time_believed(arm, held) < 0.3


def test_a_light_wrist_is_not_believed_where_an_arm_that_is_lighter_as_a_whole_would_move_alike():
    """All links of an arm that falls freely fall alike; a hand that is lighter than told does not."""
    text = """<robot name="r"><link name="world"/><link name="arm"><inertial><mass value="20"/><origin xyz="0 0 0"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="hand"><inertial>
    <mass value="0.5"/><origin xyz="0.05 0 0"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j1" type="revolute"><parent link="world"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="2" effort="100"/></joint>
    <joint name="j2" type="revolute"><parent link="arm"/><child link="hand"/><axis xyz="0 0 1"/><origin xyz="0 0 0"/>
    <limit lower="-3" upper="3" velocity="2" effort="10"/></joint></robot>"""
    arm = ArmModel(text, gravity=(0.0, -9.81, 0.0))
    assert time_believed(arm, np.zeros(2)) < 0.15
    weightless = ArmModel(text, gravity=(0.0, 0.0, 0.0))
    assert time_believed(weightless, np.zeros(2)) == 0.5


def test_once_taken_to_rest_a_prediction_says_nothing_until_measurements_are_there(planar_3r_text):
    model = ArmModel(planar_3r_text, gravity=(0.0, 0.0, 0.0))
    prediction, base = Prediction(model, model.velocity_limit), np.zeros(model.m)
    state = ArmState(0, np.zeros(3), np.full(3, 0.1), base, base)
    prediction.advance(state, np.zeros(3), PERIOD)
    assert prediction.is_believable and not prediction.rest().velocity.any()
    assert not prediction.is_believable
    prediction.reset()
    assert prediction.is_believable


@pytest.mark.parametrize("seed", range(20))
def test_looking_ahead_answers_as_predicting_step_by_step_and_changes_nothing(planar_3r_text, seed):
    """``holds`` is what the same prediction says after the same time, and a prediction under way goes on as it was."""
    rng = np.random.default_rng(seed)
    arm, ahead = ArmModel(planar_3r_text, gravity=(9.81, 0.0, 0.0)), float(rng.uniform(0.01, 0.4))
    base = np.zeros(arm.m)
    state = ArmState(0, rng.uniform(-2.0, 2.0, arm.n), rng.uniform(-1.0, 1.0, arm.n) * arm.velocity_limit, base, base)
    effort = arm.gravity_effort(state) + rng.uniform(-0.2, 0.2, arm.n) * arm.effort_limit
    fresh, looking, plain = (Prediction(arm, arm.velocity_limit) for _ in range(3))
    fresh.advance(state, effort, ahead)
    for prediction in (looking, plain):
        prediction.advance(state, effort, 0.01)
    assert looking.holds(state, effort, ahead) == fresh.is_believable
    after, unlooked = looking.advance(state, effort, 0.01), plain.advance(state, effort, 0.01)
    np.testing.assert_array_equal(after.position, unlooked.position)
    assert looking.is_believable == plain.is_believable


def test_a_motion_is_predictable_for_a_while_and_not_for_ever(planar_3r_text):
    arm = ArmModel(planar_3r_text, gravity=(9.81, 0.0, 0.0))
    base = np.zeros(arm.m)
    state = ArmState(0, np.array([np.pi, 0.0, 0.0]), 0.5 * arm.velocity_limit, base, base)
    prediction = Prediction(arm, arm.velocity_limit)
    assert prediction.holds(state, arm.gravity_effort(state), 0.02)
    assert not prediction.holds(state, arm.gravity_effort(state), 1.0)
