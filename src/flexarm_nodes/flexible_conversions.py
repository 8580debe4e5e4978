"""Messages of what bends, from records: strain gauges, IMUs, and the true state of springs and modes."""

from __future__ import annotations

from collections.abc import Sequence

from geometry_msgs.msg import Vector3
from sensor_msgs.msg import Imu

from flexarm.msg import FlexibleState, StrainState
from flexarm_core.types import Array
from flexarm_nodes.conversions import doubles, nanoseconds_to_stamp
from flexarm_sim.backend import PlantState
from flexarm_sim.strain import StrainReading


def strain_to_message(stamp: int, reading: StrainReading) -> StrainState:
    """StrainState of the gauges that are reported."""
    message = StrainState(names=list(reading.names), strain=doubles(reading.strain))
    message.header.stamp = nanoseconds_to_stamp(stamp)
    return message


def imu_to_message(stamp: int, frame: str, reading: Array) -> Imu:
    """Imu of ``[specific force; angular velocity]`` (6,) in a frame; its orientation is said to be unknown (-1)."""
    message = Imu()
    message.header.stamp, message.header.frame_id = nanoseconds_to_stamp(stamp), frame
    fx, fy, fz, wx, wy, wz = (float(value) for value in reading)
    message.linear_acceleration = Vector3(x=fx, y=fy, z=fz)
    message.angular_velocity = Vector3(x=wx, y=wy, z=wz)
    message.orientation_covariance[0] = -1.0  # as sensor_msgs/Imu asks for where there is no estimate
    return message


def true_flexible_state_to_message(
    stamp: int, elastic_joints: Sequence[str], modes: Sequence[str], state: PlantState
) -> FlexibleState:
    """FlexibleState of the ground truth, without accelerations."""
    message = FlexibleState(elastic_joints=list(elastic_joints), modes=list(modes))
    message.header.stamp = nanoseconds_to_stamp(stamp)
    message.deflection, message.deflection_rate = doubles(state.deflection), doubles(state.deflection_rate)
    message.modal_position, message.modal_rate = doubles(state.modal_position), doubles(state.modal_rate)
    return message
