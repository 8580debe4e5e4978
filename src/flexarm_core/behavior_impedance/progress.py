"""Progress: detects whether the tool approaches its set-point, and what prevents it from getting there."""

from __future__ import annotations

import math

from flexarm_core.behavior_impedance.behavior import ActiveBehavior
from flexarm_core.compiled import kernel
from flexarm_core.ik_redundancy.solver import RedundancySolver
from flexarm_core.types import Array

STILL = (1e-3, 5e-3)  # [m/s, rad/s] speed below which a set-point counts as at rest
AWAY = (2e-3, 1e-2)  # [m, rad] error above which the tool counts as away from the set-point
NEARER = 0.02  # fraction by which the error must decrease to count as progress
PATIENCE = 0.5  # [s] time within which it must do so


class Progress:
    """Detects a stalled tool from the smallest error so far, so that an oscillation does not count as progress."""

    def __init__(self) -> None:
        """Start without a history."""
        self._time, self._least = 0.0, math.inf

    def update(self, dt: float, size: float) -> bool:
        """Return whether the tool is stalled after a sample of dt [s]; ``size`` is its :func:`distance`."""
        if size < 0.0:
            self._time, self._least = 0.0, math.inf
            return False
        if size < (1.0 - NEARER) * self._least:
            self._time, self._least = 0.0, size
        self._time += dt
        return self._time > PATIENCE


def hindrances(active: list[ActiveBehavior], wrench: Array, solver: RedundancySolver) -> tuple[str, ...]:
    """Return what pushes the tool or joints away from their set-points: behaviors, wrench, singularities, limits."""
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
def distance(set_twist: Array, error: Array) -> float:
    """Return the norm of an error in units of :data:`AWAY`; -1 if it is below them or the set-point moves.

    Args:
        set_twist: (6,) twist of the set-point [m/s, rad/s].
        error: (6,) error of the tool in the directions that are considered [m, rad].
    """
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
