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
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.messages.form import Form, Numbers
from flexarm_sim.backend import PlantState
from flexarm_sim.strain import StrainReading

NO_ORIENTATION = (-1.0, *[0.0] * 8)  # as sensor_msgs/Imu requires if there is no orientation estimate
LONGEST_DELAY = 5.0  # [s] half of the longest twist_window
FLEXIBLE_FIELDS = (
    "deflection", "deflection_rate", "deflection_acceleration", "modal_position", "modal_rate", "modal_acceleration",
    "innovation", "covariance_diagonal",
)  # fmt: skip


def strain_form(stamp: int, reading: StrainReading) -> Form:
    """Return the StrainState of the reported gauges."""
    return Form(StrainState, {"strain": reading.strain}, {"names": tuple(reading.names)}, stamp)


def imu_form(stamp: int, frame: str, reading: Array) -> Form:
    """Return the Imu of ``[specific force; angular velocity]`` (6,), with its orientation marked as unknown (-1)."""
    numbers = {"linear_acceleration": reading[:3], "angular_velocity": reading[3:]}
    words = {"header.frame_id": frame, "orientation_covariance": NO_ORIENTATION}
    return Form(Imu, numbers, words, stamp)


def true_flexible_state_form(
    stamp: int, state: PlantState, elastic_joints: tuple[str, ...], modes: tuple[str, ...]
) -> Form:
    """Return the FlexibleState of the ground truth, without accelerations."""
    numbers = {name: getattr(state, name) for name in ("deflection", "deflection_rate", "modal_position", "modal_rate")}
    return Form(FlexibleState, numbers, {"elastic_joints": elastic_joints, "modes": modes}, stamp)


def flexible_state_from_message(
    message: FlexibleState, elastic_joints: Sequence[str], modes: Sequence[str]
) -> FlexibleStateRecord:
    """Convert a FlexibleState message to a record in the requested order; missing accelerations are zero.

    Raises:
        InputError: a joint or mode is missing, an array does not match its names, a number is not finite, or the rates
            are older than LONGEST_DELAY.
    """
    if not 0.0 <= message.rate_delay <= LONGEST_DELAY:
        raise InputError(f"flexible state: rate_delay is {message.rate_delay:g} s, expected 0 to {LONGEST_DELAY:g} s")
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
        rate_delay=message.rate_delay,
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


def measured_base_form(state: FlexibleStateRecord, elastic_joints: Sequence[str]) -> Form:
    """Return the FlexibleState of a base whose position and rates are measured, and nothing else."""
    numbers: dict[str, Numbers] = {
        "deflection": state.deflection,
        "deflection_rate": state.deflection_rate,
        "rate_delay": [state.rate_delay],
    }
    return Form(FlexibleState, numbers, {"elastic_joints": tuple(elastic_joints), "modes": ()}, state.stamp)


def flexible_state_form(state: FlexibleStateRecord, elastic_joints: Sequence[str], modes: Sequence[str]) -> Form:
    """Return the message of a FlexibleState record."""
    numbers: dict[str, Numbers] = {name: getattr(state, name) for name in FLEXIBLE_FIELDS}
    numbers["rate_delay"] = [state.rate_delay]
    return Form(FlexibleState, numbers, {"elastic_joints": tuple(elastic_joints), "modes": tuple(modes)}, state.stamp)
