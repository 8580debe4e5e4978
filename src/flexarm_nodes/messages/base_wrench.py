"""Conversion between the BaseWrenchEstimate record and its message."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Vector3, Wrench

from flexarm.msg import BaseWrenchEstimate as BaseWrenchEstimateMessage
from flexarm_core.errors import InputError
from flexarm_core.types import Array, BaseWrenchEstimate
from flexarm_nodes.messages.conversions import doubles, nanoseconds_to_stamp, stamp_to_nanoseconds

VECTORS = ("torque", "friction", "gravity", "model_torque")
WRENCHES = ("wrench", "gravity_wrench", "residual_wrench", "bias")


def base_wrench_estimate_to_message(
    estimate: BaseWrenchEstimate, names: Sequence[str], sensor_frame: str, correction_weight: float
) -> BaseWrenchEstimateMessage:
    """Convert a BaseWrenchEstimate record to a message.

    Args:
        estimate: estimate of one stamp.
        names: (n) names of the actuated joints.
        sensor_frame: link in whose frame the sensor measures.
        correction_weight: weight of the torque loop's correction that is applied.
    """
    message = BaseWrenchEstimateMessage(
        names=list(names),
        valid=estimate.valid,
        contact=estimate.contact,
        correction_weight=correction_weight,
        left_out=list(estimate.left_out),
    )
    message.header.stamp, message.header.frame_id = nanoseconds_to_stamp(estimate.stamp), sensor_frame
    for field in VECTORS:
        setattr(message, field, doubles(getattr(estimate, field)))
    for field in WRENCHES:
        setattr(message, field, _to_wrench(getattr(estimate, field)))
    return message


def base_wrench_estimate_from_message(message: BaseWrenchEstimateMessage, names: Sequence[str]) -> BaseWrenchEstimate:
    """Convert a BaseWrenchEstimate message to a record with the joints in the order of ``names``.

    Raises:
        InputError: the names differ, or an array does not have one value per name.
    """
    given = list(message.names)
    if sorted(given) != sorted(names):
        raise InputError(f"base wrench estimate names {', '.join(given) or 'no joint'}; expected {', '.join(names)}")
    order = [given.index(name) for name in names]
    vectors = {}
    for field in VECTORS:
        value = np.array(getattr(message, field))
        if value.size != len(given):
            raise InputError(f"base wrench estimate has {len(given)} names and {value.size} {field} values")
        vectors[field] = value[order]
    return BaseWrenchEstimate(
        stamp=stamp_to_nanoseconds(message.header.stamp),
        **vectors,
        **{field: _from_wrench(getattr(message, field)) for field in WRENCHES},
        contact=message.contact,
        left_out=tuple(message.left_out),
    )


def _to_wrench(wrench: Array) -> Wrench:
    fx, fy, fz, nx, ny, nz = (float(part) for part in wrench)
    return Wrench(force=Vector3(x=fx, y=fy, z=fz), torque=Vector3(x=nx, y=ny, z=nz))


def _from_wrench(wrench: Wrench) -> Array:
    f, n = wrench.force, wrench.torque
    return np.array([f.x, f.y, f.z, n.x, n.y, n.z])
