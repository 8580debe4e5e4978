"""What a node of stages reads: samples of one stamp each, with what has come for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from flexarm.msg import FlexibleState
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState, JointReference
from flexarm_nodes.messages.conversions import nanoseconds_to_stamp
from flexarm_nodes.node.input.readings import FLEXIBLE, Readings

URDF = Path(__file__).resolve().parents[2] / "urdf"
SENSOR = ("wrench", "base_ft_sensor")
NAMES = ["base_x", "joint1", "joint2", "joint3"]


def joint_state(stamp, names=NAMES, effort=True):
    """The bytes of a joint state whose joint k is at k."""
    message = JointState(name=names, position=[float(k) for k in range(len(names))], velocity=[0.5] * len(names))
    if effort:
        message.effort = [float("nan") if name == "base_x" else 2.0 for name in names]
    message.header.stamp = nanoseconds_to_stamp(stamp)
    return serialize_message(message)


def wrench(stamp, frame="base_ft", force=1.0):
    """A reading of the sensor, as it is sent."""
    message = WrenchStamped()
    message.header.stamp, message.header.frame_id = nanoseconds_to_stamp(stamp), frame
    message.wrench.force.x = force
    return message


@pytest.fixture
def inputs(planar_3r) -> Readings:
    return Readings(planar_3r, [SENSOR, SENSOR])


def test_joints_are_told_from_elastic_ones_and_what_is_not_said_is_not_a_number(inputs):
    sample = inputs.joints(joint_state(7))
    assert (sample.stamp, sample.position.tolist(), sample.effort.tolist()) == (7, [1.0, 2.0, 3.0], [2.0] * 3)
    assert (sample.deflection.tolist(), sample.deflection_rate.tolist()) == ([0.0], [0.5])
    bare = inputs.joints(joint_state(8, NAMES[1:], effort=False))
    assert bare.deflection is None
    assert np.isnan(bare.effort).all()
    with pytest.raises(InputError, match="joint3"):
        inputs.joints(joint_state(9, NAMES[:3]))


def test_measured_efforts_get_what_the_description_says_they_lack():
    text = load_robot_description(URDF / "arm_7r.urdf.xacro")
    whole = ArmModel(text)
    lacking = ArmModel(text.replace("<hardware>", '<hardware><param name="efforts_lack">gravity</param>'))
    assert lacking.description.efforts_lack == ("gravity",)
    state = joint_state(7, [*whole.joint_names])
    given, made = (Readings(model, []).joints(state).effort for model in (whole, lacking))
    still = np.zeros(7), np.zeros(0), np.zeros(0)
    weight = whole.gravity_effort(ArmState(0, np.arange(7.0), *still))
    assert np.abs(weight).max() > 10.0 and np.allclose(made, given + weight)
    assert np.isnan(Readings(lacking, []).joints(joint_state(8, [*whole.joint_names], effort=False)).effort).all()
    broken = JointState(name=[*whole.joint_names], position=[float("nan")] * 7, velocity=[0.0] * 7, effort=[0.0] * 7)
    with pytest.raises(InputError, match="position of .* is not finite"):
        Readings(lacking, []).joints(serialize_message(broken))


def test_the_second_sample_waits_for_the_reference_of_the_first_and_later_ones_only_if_any_has_come(planar_3r):
    def answered(inputs, *stamps):
        for stamp in stamps:
            inputs.sample(inputs.joints(joint_state(stamp)))
        return inputs

    silent = Readings(planar_3r, [], before=True)
    assert silent.complete(1)
    assert not answered(silent, 1).complete(2)
    assert answered(silent, 2).complete(3)  # nobody sends references
    silent.reset()
    assert silent.complete(1) and not answered(silent, 1).complete(2)

    led = answered(Readings(planar_3r, [], before=True), 1)
    led.take_reference(JointReference(1, *[np.zeros(3)] * 3))
    assert led.complete(2) and led.before(2).stamp == 1
    assert not answered(led, 2).complete(3) and not answered(led, 3).complete(4)


def test_a_sample_waits_for_the_reading_of_its_stamp_whichever_comes_first(inputs):
    assert not inputs.complete(5)
    inputs.take(SENSOR, wrench(5, force=3.0))
    inputs.take(SENSOR, wrench(6, force=4.0))
    assert inputs.complete(5)
    sample = inputs.sample(inputs.joints(joint_state(5)))
    assert sample.wrenches["base_ft_sensor"].tolist() == [3.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert inputs.sample(inputs.joints(joint_state(7))).wrenches == {}


def test_readings_with_stamps_of_their_own_belong_to_the_joint_state_within_half_a_period(inputs):
    period, forces = 2_000_000, []
    for tick in range(4):  # until the period is known, only equal stamps belong together
        inputs.take(SENSOR, wrench((tick + 1) * period + 1))
        assert inputs.sample(inputs.joints(joint_state((tick + 1) * period))).wrenches == {} or tick == 3
    beside = [0, 0, 999_999, -999_999, 300_000, -1_000_000, 0, 1_000_000]  # [ns] of the readings, late or early
    for tick, offset in enumerate(beside):
        inputs.take(SENSOR, wrench((tick + 5) * period + offset, force=float(tick)))
        sample = inputs.sample(inputs.joints(joint_state((tick + 5) * period)))
        forces.append(sample.wrenches["base_ft_sensor"][0] if sample.wrenches else None)
    assert forces == [0.0, 1.0, 2.0, 3.0, 4.0, None, 6.0, None]


def test_one_lost_or_early_joint_state_does_not_change_what_belongs_to_the_next(inputs):
    def force(stamp, reading):
        inputs.take(SENSOR, wrench(reading))
        return inputs.sample(inputs.joints(joint_state(stamp))).wrenches

    for stamp in (100, 200, 300, 400, 500):
        force(stamp, stamp)
    assert force(700, 640) == {}, "600 was lost"
    assert force(710, 705) != {} and force(800, 830) != {} and force(900, 940) != {}
    force(900, 990)  # repeated
    assert force(1000, 1040) != {}


def test_a_reading_of_another_frame_is_refused_and_no_longer_waited_for(inputs):
    with pytest.raises(InputError, match="measures in 'base_ft'"):
        inputs.take(SENSOR, wrench(5, frame="elsewhere"))
    assert inputs.complete(5)
    sample = inputs.sample(inputs.joints(joint_state(5)))
    assert sample.wrenches == {} and sample.rejected == {"base_ft_sensor": "in frame 'elsewhere'"}
    assert inputs.sample(inputs.joints(joint_state(6))).rejected == {}


def test_a_flexible_state_is_waited_for_like_a_sensor_and_needs_accelerations(planar_3r):
    inputs = Readings(planar_3r, [FLEXIBLE])
    for stamp, acceleration in ((5, [3.0]), (6, [])):
        assert not inputs.complete(stamp)
        message = FlexibleState(
            elastic_joints=["base_x"], deflection=[1.0], deflection_rate=[2.0], deflection_acceleration=acceleration
        )
        message.header.stamp = nanoseconds_to_stamp(stamp)
        if acceleration:
            inputs.take(FLEXIBLE, message)
        else:
            with pytest.raises(InputError, match="flexible_state has no deflection_acceleration"):
                inputs.take(FLEXIBLE, message)
        assert inputs.complete(stamp)
    assert inputs.flexible(5).deflection_acceleration.tolist() == [3.0]
    assert inputs.flexible(6) is None and inputs.flexible(7) is None
    assert inputs.sample(inputs.joints(joint_state(6))).rejected == {"flexible_state": "not usable"}


def test_a_sensor_that_is_lost_is_not_waited_for_until_it_comes_back(inputs):
    for stamp in range(1, 12):
        inputs.sample(inputs.joints(joint_state(stamp)))
    assert inputs.complete(12)
    inputs.take(SENSOR, wrench(12))
    inputs.sample(inputs.joints(joint_state(12)))
    assert not inputs.complete(13)
