"""Conversion between the BaseWrenchEstimate record and its message."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from geometry_msgs.msg import Wrench

from flexarm.msg import BaseWrenchEstimate as BaseWrenchEstimateMessage
from flexarm_core.errors import InputError
from flexarm_core.types import Array, BaseWrenchEstimate
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.messages.form import Form

VECTORS = ("torque", "friction", "gravity", "model_torque")
WRENCHES = ("wrench", "gravity_wrench", "residual_wrench", "bias")


def base_wrench_estimate_form(
    estimate: BaseWrenchEstimate, names: Sequence[str], sensor_frame: str, correction_weight: float
) -> Form:
    """Return the message of a BaseWrenchEstimate record.

    Args:
        estimate: estimate of one stamp.
        names: (n) names of the actuated joints.
        sensor_frame: link in whose frame the sensor measures.
        correction_weight: weight of the torque loop's correction that is applied.
    """
    numbers = {name: getattr(estimate, name) for name in (*VECTORS, *WRENCHES)}
    numbers |= {"valid": (estimate.valid,), "contact": (estimate.contact,), "correction_weight": (correction_weight,)}
    words = {"header.frame_id": sensor_frame, "names": tuple(names), "left_out": tuple(estimate.left_out)}
    return Form(BaseWrenchEstimateMessage, numbers, words, estimate.stamp)


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


def _from_wrench(wrench: Wrench) -> Array:
    f, n = wrench.force, wrench.torque
    return np.array([f.x, f.y, f.z, n.x, n.y, n.z])
