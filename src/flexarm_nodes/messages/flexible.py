"""Conversion of messages about flexibility: strain gauges, IMUs, true and estimated state of elastic joints, modes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import Imu, JointState

from flexarm.msg import FlexibleState, StrainState
from flexarm_core.errors import InputError
from flexarm_core.types import Array, FlexibleSample
from flexarm_core.types import FlexibleState as FlexibleStateRecord
from flexarm_nodes.messages.conversions import (
    JointStateSelector,
    check_finite,
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


class FlexibleSampleReader:
    """Converts a joint state to a FlexibleSample without the other sensors."""

    def __init__(self, joints: Sequence[str], elastic_joints: Sequence[str]) -> None:
        """Read these actuated joints and, if they are reported, these elastic joints."""
        self._joints, self._elastic = tuple(joints), tuple(elastic_joints)
        self._select = JointStateSelector(self._joints)
        self._seen: list[str] | None = None

    def __call__(self, message: JointState) -> FlexibleSample:
        """Return the sample; unreported elastic joints are NaN, and the deflection is None if none is reported.

        Raises:
            InputError: an actuated joint is missing, or its position, velocity or effort is missing or not finite.
        """
        position, velocity = self._select(message)
        if len(message.effort) != len(message.name):
            raise InputError(
                f"joint state has {len(message.name)} names and {len(message.effort)} effort values; the estimate needs"
                " the effort that acted: let the joint state broadcaster report effort"
            )
        if message.name != self._seen:
            self._learn(message.name)
        effort = np.array(message.effort)[self._index]
        check_finite("effort", effort, self._joints)
        deflection = deflection_rate = None
        if self._reported.any():
            deflection = np.where(self._reported, np.array(message.position)[self._elastic_index], np.nan)
            deflection_rate = np.where(self._reported, np.array(message.velocity)[self._elastic_index], np.nan)
        stamp = stamp_to_nanoseconds(message.header.stamp)
        return FlexibleSample(stamp, position, velocity, effort, deflection, deflection_rate)

    def _learn(self, names: Sequence[str]) -> None:
        """Store the indices of the joints in messages with these names; 0 for elastic joints that are not reported."""
        place = {name: i for i, name in enumerate(names)}
        self._index = np.array([place[name] for name in self._joints], dtype=int)
        self._reported = np.array([name in place for name in self._elastic], dtype=bool)
        self._elastic_index = np.array([place.get(name, 0) for name in self._elastic], dtype=int)
        self._seen = list(names)


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
