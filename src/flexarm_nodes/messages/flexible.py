"""Conversion of messages about flexibility: strain gauges, IMUs, true and estimated state of elastic joints, modes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import Imu

from flexarm.msg import FlexibleState, StrainState
from flexarm_core.errors import InputError
from flexarm_core.types import Array
from flexarm_core.types import FlexibleState as FlexibleStateRecord
from flexarm_nodes.messages.conversions import (
    doubles,
    stamp_to_nanoseconds,
    write_header,
    write_vectors,
)
from flexarm_sim.backend import PlantState
from flexarm_sim.strain import StrainReading


def write_strain(message: StrainState, reading: StrainReading) -> None:
    """Write the reported gauges into a StrainState."""
    message.names, message.strain = list(reading.names), doubles(reading.strain)


def new_imu(frame: str) -> Imu:
    """Return an Imu in a frame, with its orientation marked as unknown (-1)."""
    message = Imu()
    message.header.frame_id = frame
    message.orientation_covariance[0] = -1.0  # as sensor_msgs/Imu requires if there is no orientation estimate
    return message


def write_imu(message: Imu, reading: Array) -> None:
    """Write ``[specific force; angular velocity]`` (6,) into an Imu."""
    write_vectors(message.linear_acceleration, message.angular_velocity, reading)


def write_true_flexible_state(message: FlexibleState, state: PlantState) -> None:
    """Write the ground truth into a FlexibleState, without accelerations."""
    message.deflection, message.deflection_rate = doubles(state.deflection), doubles(state.deflection_rate)
    message.modal_position, message.modal_rate = doubles(state.modal_position), doubles(state.modal_rate)


def flexible_state_from_message(
    message: FlexibleState, elastic_joints: Sequence[str], modes: Sequence[str]
) -> FlexibleStateRecord:
    """Convert a FlexibleState message to a record in the requested order; missing accelerations are zero.

    Raises:
        InputError: a joint or mode is missing, an array does not match its names, or a number is not finite.
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


def moving_base_from_message(message: FlexibleState, elastic_joints: Sequence[str]) -> FlexibleStateRecord:
    """Convert a FlexibleState message of the motion of the base, with its acceleration but without modes.

    Raises:
        InputError: as for :func:`flexible_state_from_message`, or there is no acceleration.
    """
    if not len(message.deflection_acceleration):
        raise InputError(
            "flexible_state has no deflection_acceleration, which base_motion 'flexible_state' needs: let"
            " flexible_dynamics_estimator publish it, or set base_motion to 'joint_states'"
        )
    return flexible_state_from_message(message, elastic_joints, ())


def strain_from_message(message: StrainState) -> dict[str, float]:
    """Return the strain of each gauge by name; NaN stays NaN.

    Raises:
        InputError: the numbers of names and strains differ, or a gauge is named twice.
    """
    if len(message.names) != len(message.strain):
        raise InputError(f"strain state has {len(message.names)} names and {len(message.strain)} strains")
    strain = dict(zip(message.names, message.strain, strict=True))
    if len(strain) != len(message.names):
        raise InputError(f"strain state names a gauge twice: {', '.join(message.names)}")
    return strain


def imu_from_message(message: Imu) -> Array:
    """Return ``[specific force; angular velocity]`` (6,) of an Imu."""
    f, w = message.linear_acceleration, message.angular_velocity
    return np.array([f.x, f.y, f.z, w.x, w.y, w.z])


def wrench_from_message(message: WrenchStamped) -> Array:
    """Return ``[f; n]`` (6,) of a WrenchStamped."""
    f, n = message.wrench.force, message.wrench.torque
    return np.array([f.x, f.y, f.z, n.x, n.y, n.z])


def flexible_state_to_message(
    state: FlexibleStateRecord, elastic_joints: Sequence[str], modes: Sequence[str]
) -> FlexibleState:
    """Convert a FlexibleState record to a message."""
    message = FlexibleState(elastic_joints=list(elastic_joints), modes=list(modes))
    write_header(message, state.stamp)
    for field in (
        "deflection", "deflection_rate", "deflection_acceleration", "modal_position", "modal_rate",
        "modal_acceleration", "innovation", "covariance_diagonal",
    ):  # fmt: skip
        setattr(message, field, doubles(getattr(state, field)))
    return message
