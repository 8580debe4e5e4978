"""whole_reference: a reference of all joints of an arm, from that of its chain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import kernel
from flexarm_core.types import Array, JointReference


def whole_reference(
    stamp: int, held: Array, place: NDArray[np.int64], position: Array, velocity: Array, acceleration: Array
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
    n = len(held)
    wholes = held.copy(), np.zeros(n), np.zeros(n)
    _spread(place, position, velocity, acceleration, *wholes)
    return JointReference(stamp, *wholes)


def load_compiled() -> None:
    """Make one, so that the first that counts is not late."""
    one = np.zeros(1)
    whole_reference(0, one, np.zeros(1, dtype=np.int64), one, one, one)


@kernel
def _spread(
    place: NDArray[np.int64], q: Array, v: Array, a: Array, position: Array, velocity: Array, acceleration: Array
) -> None:
    """Put motions of a chain's joints (c,) where they belong in those of an arm (n,)."""
    for i in range(place.shape[0]):
        position[place[i]], velocity[place[i]], acceleration[place[i]] = q[i], v[i], a[i]
