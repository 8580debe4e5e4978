"""whole_reference: extends a reference of the chain's joints to all joints of an arm."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import kernel
from flexarm_core.types import Array, JointReference


def whole_reference(
    stamp: int, held: Array, place: NDArray[np.int64], position: Array, velocity: Array, acceleration: Array
) -> JointReference:
    """Return a reference of all joints; joints that are not in the chain hold their positions.

    Args:
        stamp: stamp of the sample [ns].
        held: (n,) positions that the other joints hold [rad | m].
        place: (c,) indices of the chain's joints in the arm.
        position: (c,) positions of the chain's joints [rad | m].
        velocity: (c,) velocities of the chain's joints [rad/s | m/s].
        acceleration: (c,) accelerations of the chain's joints [rad/s^2 | m/s^2].
    """
    whole = np.empty((3, len(held)))
    _spread(held, place, position, velocity, acceleration, whole)
    return JointReference(stamp, whole[0], whole[1], whole[2])  # iterating would take longer


def load_compiled() -> None:
    """Build one reference, so that the first real one is not delayed by compilation."""
    one = np.zeros(1)
    whole_reference(0, one, np.zeros(1, dtype=np.int64), one, one, one)


@kernel
def _spread(held: Array, place: NDArray[np.int64], q: Array, v: Array, a: Array, whole: Array) -> None:
    """Write the motion (3, n) of an arm, whose chain has positions, velocities and accelerations (c,)."""
    for i in range(held.shape[0]):
        whole[0, i], whole[1, i], whole[2, i] = held[i], 0.0, 0.0
    for i in range(place.shape[0]):
        whole[0, place[i]], whole[1, place[i]], whole[2, place[i]] = q[i], v[i], a[i]
