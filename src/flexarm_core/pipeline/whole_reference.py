"""whole_reference: a reference of all joints of an arm, from that of its chain."""

from __future__ import annotations

import numpy as np

from flexarm_core.types import Array, JointReference


def whole_reference(
    stamp: int, held: Array, place: Array, position: Array, velocity: Array, acceleration: Array
) -> JointReference:
    """Reference of all joints of an arm, of those of its chain; the others stay.

    Args:
        stamp: of the sample [ns].
        held: (n,) where the others stay [rad | m].
        place: (c,) of the chain's joints in the arm.
        position: (c,) [rad | m].
        velocity: (c,) [rad/s | m/s].
        acceleration: (c,) [rad/s^2 | m/s^2].
    """
    still = np.zeros(len(held))
    wholes = held.copy(), still.copy(), still
    for whole, part in zip(wholes, (position, velocity, acceleration), strict=True):
        whole[place] = part
    return JointReference(stamp, *wholes)
