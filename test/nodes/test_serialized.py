"""Messages read from their bytes say what the messages say."""

from __future__ import annotations

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import serialize_message
from sensor_msgs.msg import Imu, JointState

from flexarm.msg import StrainState
from flexarm_core.errors import InputError
from flexarm_nodes.conversions import nanoseconds_to_stamp
from flexarm_nodes.serialized import JointsReader, read_imu, read_strain, read_wrench

STAMP = 12_345_678_901
FRAMES = ("", "a", "base", "tool_ft_sensor")  # every alignment of what follows


def stamped(message, frame=""):
    message.header.stamp, message.header.frame_id = nanoseconds_to_stamp(STAMP), frame
    return message


@pytest.mark.parametrize("frame", FRAMES)
def test_wrenches_and_imus(frame):
    wrench, imu = stamped(WrenchStamped(), frame), stamped(Imu(), frame)
    for k, part in enumerate("xyz"):
        setattr(wrench.wrench.force, part, 1.5 + k)
        setattr(wrench.wrench.torque, part, -4.5 + k)
        setattr(imu.linear_acceleration, part, 9.0 + k)
        setattr(imu.angular_velocity, part, -0.5 + k)
    imu.orientation_covariance[0] = imu.angular_velocity_covariance[8] = imu.linear_acceleration_covariance[4] = 77.0
    for read, message, values in (
        (read_wrench, wrench, [1.5, 2.5, 3.5, -4.5, -3.5, -2.5]),
        (read_imu, imu, [9.0, 10.0, 11.0, -0.5, 0.5, 1.5]),
    ):
        reading = read(serialize_message(message))
        assert (reading.stamp, reading.frame, reading.values.tolist()) == (STAMP, frame, values)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("names", [[], ["a"], ["one", "another"], ["one", "three", "fifteen"]])
def test_strain_and_joint_states(frame, names):
    numbers = [0.25 * k for k in range(len(names))]
    strain = read_strain(serialize_message(stamped(StrainState(names=names, strain=numbers), frame)))
    assert (strain.stamp, strain.frame, strain.values) == (STAMP, frame, dict(zip(names, numbers, strict=True)))
    read = JointsReader()
    for velocity in (numbers, [], numbers):
        message = stamped(JointState(name=names, position=numbers, velocity=velocity, effort=[float("nan")]), frame)
        for _ in range(2):  # names that are known, and names that are not
            joints = read(serialize_message(message))
            assert (joints.stamp, joints.names) == (STAMP, names)
            assert (joints.position.tolist(), joints.velocity.tolist()) == (numbers, velocity)
            assert np.isnan(joints.effort).tolist() == [True]


def test_other_names_are_read_anew():
    read = JointsReader()
    for names in (["a", "b"], ["b", "a"], ["a", "b", "c"], ["a"]):
        assert read(serialize_message(JointState(name=names, position=[1.0] * len(names)))).names == names


def test_bytes_of_another_order_or_cut_short_or_two_of_one_name():
    wrench = serialize_message(stamped(WrenchStamped(), "base"))
    with pytest.raises(InputError, match="WrenchStamped cannot be read"):
        read_wrench(wrench[:40])
    with pytest.raises(InputError, match="joint state cannot be read"):
        JointsReader()(serialize_message(JointState(name=["a"], position=[1.0]))[:20])
    with pytest.raises(InputError, match="names a, a"):
        read_strain(serialize_message(StrainState(names=["a", "a"], strain=[1.0, 2.0])))
    big = b"\x00\x00\x00\x00" + (12).to_bytes(4, "big") + (345_678_901).to_bytes(4, "big")
    big += (1).to_bytes(4, "big") + b"\x00" + b"\x00" * 3 + np.array([1.0, 2, 3, 4, 5, 6], ">f8").tobytes()
    reading = read_wrench(big)
    assert (reading.stamp, reading.frame, reading.values.tolist()) == (STAMP, "", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
