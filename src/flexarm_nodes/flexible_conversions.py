"""Messages of what bends and back: strain gauges, IMUs, and the true and estimated state of springs and modes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Vector3, WrenchStamped
from sensor_msgs.msg import Imu, JointState

from flexarm.msg import FlexibleState, StrainState
from flexarm_core.errors import InputError
from flexarm_core.types import Array, FlexibleSample
from flexarm_core.types import FlexibleState as FlexibleStateRecord
from flexarm_nodes.conversions import JointStateSelector, doubles, nanoseconds_to_stamp, stamp_to_nanoseconds
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


def flexible_state_from_message(
    message: FlexibleState, elastic_joints: Sequence[str], modes: Sequence[str]
) -> FlexibleStateRecord:
    """FlexibleState message to record, joints and modes in the order asked for; of accelerations, what is given.

    Raises:
        InputError: a joint or mode is missing, an array has another length than its names, a number is not finite.
    """
    parts = []
    for names, given, fields in (
        (elastic_joints, list(message.elastic_joints), ("deflection", "deflection_rate", "deflection_acceleration")),
        (modes, list(message.modes), ("modal_position", "modal_rate", "modal_acceleration")),
    ):
        missing = [name for name in names if name not in given]
        if missing:
            raise InputError(f"flexible state lacks {', '.join(missing)}; it has {', '.join(given) or 'nothing'}")
        order = [given.index(name) for name in names]
        for field in fields:
            value = np.array(getattr(message, field))
            if value.size == 0 and field.endswith("acceleration"):
                value = np.zeros(len(given))
            if value.size != len(given) or not np.isfinite(value).all():
                raise InputError(f"flexible state: {field} is {value}, expected {len(given)} finite numbers")
            parts.append(value[order])
    deflection, deflection_rate, deflection_acceleration, modal_position, modal_rate, modal_acceleration = parts
    return FlexibleStateRecord(
        stamp_to_nanoseconds(message.header.stamp),
        deflection,
        deflection_rate,
        deflection_acceleration,
        modal_position,
        modal_rate,
        modal_acceleration,
    )


def strain_from_message(message: StrainState) -> dict[str, float]:
    """Strain by gauge, as it is read: NaN stays NaN.

    Raises:
        InputError: names and strains differ in number, or a gauge is named twice.
    """
    if len(message.names) != len(message.strain):
        raise InputError(f"strain state has {len(message.names)} names and {len(message.strain)} strains")
    strain = dict(zip(message.names, message.strain, strict=True))
    if len(strain) != len(message.names):
        raise InputError(f"strain state names a gauge twice: {', '.join(message.names)}")
    return strain


def imu_from_message(message: Imu) -> Array:
    """``[specific force; angular velocity]`` (6,) of an Imu."""
    f, w = message.linear_acceleration, message.angular_velocity
    return np.array([f.x, f.y, f.z, w.x, w.y, w.z])


def wrench_from_message(message: WrenchStamped) -> Array:
    """``[f; n]`` (6,) of a WrenchStamped."""
    f, n = message.wrench.force, message.wrench.torque
    return np.array([f.x, f.y, f.z, n.x, n.y, n.z])


class FlexibleSampleReader:
    """A joint state as a FlexibleSample without other sensors."""

    def __init__(self, joints: Sequence[str], elastic_joints: Sequence[str]) -> None:
        """Read these actuated joints and, where they are reported, these elastic joints."""
        self._joints, self._elastic = tuple(joints), tuple(elastic_joints)
        self._select = JointStateSelector(self._joints)

    def __call__(self, message: JointState) -> FlexibleSample:
        """The sample; elastic joints that are not reported read NaN, and None where none is.

        Raises:
            InputError: an actuated joint is missing, or its position, velocity or effort is, or is not finite.
        """
        position, velocity = self._select(message)
        place = {name: i for i, name in enumerate(message.name)}
        if len(message.effort) != len(place):
            raise InputError(
                f"joint state has {len(place)} names and {len(message.effort)} effort values; the estimate needs the"
                " effort that acted: let the joint state broadcaster report effort"
            )
        effort = np.array([message.effort[place[name]] for name in self._joints])
        if not np.isfinite(effort).all():
            bad = [name for name, value in zip(self._joints, effort, strict=True) if not np.isfinite(value)]
            raise InputError(f"joint state effort of {', '.join(bad)} is not finite")
        deflection = deflection_rate = None
        if any(name in place for name in self._elastic):
            deflection = np.array([message.position[place[j]] if j in place else np.nan for j in self._elastic])
            deflection_rate = np.array([message.velocity[place[j]] if j in place else np.nan for j in self._elastic])
        stamp = stamp_to_nanoseconds(message.header.stamp)
        return FlexibleSample(stamp, position, velocity, effort, deflection, deflection_rate)


def flexible_state_to_message(
    state: FlexibleStateRecord, elastic_joints: Sequence[str], modes: Sequence[str]
) -> FlexibleState:
    """FlexibleState record to message."""
    message = FlexibleState(elastic_joints=list(elastic_joints), modes=list(modes))
    message.header.stamp = nanoseconds_to_stamp(state.stamp)
    for field in (
        "deflection", "deflection_rate", "deflection_acceleration", "modal_position", "modal_rate",
        "modal_acceleration", "innovation", "covariance_diagonal",
    ):  # fmt: skip
        setattr(message, field, doubles(getattr(state, field)))
    return message
