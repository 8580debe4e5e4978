"""Progress: whether the tool gets on towards where it should be, and what keeps it from there."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from flexarm_core.behavior_impedance.behavior import ActiveBehavior
from flexarm_core.behavior_impedance.layout import FREED
from flexarm_core.compiled import kernel
from flexarm_core.entrance import finite
from flexarm_core.ik_redundancy.solver import RedundancySolver
from flexarm_core.types import Array

STILL = (1e-3, 5e-3)  # [m/s, rad/s] below which a set-point counts as at rest
AWAY = (2e-3, 1e-2)  # [m, rad] from which on the tool counts as away
NEARER = 0.02  # part of the error by which the tool must come nearer to count as under way
PATIENCE = 0.5  # [s] in which it must do so


class Progress:
    """Watches the tool against its set-point: one that hunts about a place does not get on either."""

    def __init__(self) -> None:
        """Begin anew."""
        self._time, self._least = 0.0, math.inf

    def update(self, dt: float, set_twist: Array, error: Array) -> bool:
        """Whether the tool is stalled, after a sample.

        Args:
            dt: sample time [s].
            set_twist: (6,) of the set-point [m/s, rad/s].
            error: (6,) of the tool from the set-point, of the directions in which it counts [m, rad].
        """
        size = _distance(finite("set_twist", set_twist, 6), finite("error", error, 6))
        if size < 0.0:
            self._time, self._least = 0.0, math.inf
            return False
        if size < (1.0 - NEARER) * self._least:
            self._time, self._least = 0.0, size
        self._time += dt
        return self._time > PATIENCE


def hindrances(active: list[ActiveBehavior], wrench: Array, solver: RedundancySolver) -> tuple[str, ...]:
    """What pushes the tool or the joints away from where they should be."""
    found = []
    for one in active:
        pushes = one.out.force.any() or one.out.yielding.any() or one.out.effort.any()
        if pushes and not one.behavior.LEADS:
            found.append(one.spec.name)
    if wrench.any():
        found.append("external wrench")
    status = solver.status()
    found += [f"singularity ({axis})" for axis in (*status.dropped, *status.damped)]
    found += [f"limit of {joint}" for joint in status.limited]
    return tuple(found)


@kernel
def counted_error(axes: NDArray[np.bool_], total: Array, error: Array, out: Array) -> None:
    """Part of the error (6,) along wanted axes that the contributions ``total`` do not free, into ``out`` (6,)."""
    for i in range(6):
        out[i] = error[i] if axes[i] else 0.0
        for j in range(6):
            out[i] -= total[FREED + 6 * i + j] * error[j] if axes[i] else 0.0


@kernel
def _distance(set_twist: Array, error: Array) -> float:
    """Size of an error in units of :data:`AWAY`; -1 where it is within them or its set-point moves."""
    square, resting, near = 0.0, True, True
    for part in range(2):
        speed = length = 0.0
        for i in range(3 * part, 3 * part + 3):
            speed += set_twist[i] ** 2
            length += error[i] ** 2
        resting = resting and speed <= STILL[part] ** 2
        near = near and length <= AWAY[part] ** 2
        square += length / AWAY[part] ** 2
    return math.sqrt(square) if resting and not near else -1.0
