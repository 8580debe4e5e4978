"""Progress: whether the tool gets on towards where it should be, and what keeps it from there."""

from __future__ import annotations

import math

from flexarm_core.behavior_impedance.behavior import ActiveBehavior
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
        if not _within(set_twist, STILL) or _within(error, AWAY):
            self._time, self._least = 0.0, math.inf
            return False
        size = math.hypot(*error[:3] / AWAY[0], *error[3:] / AWAY[1])
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


def _within(spatial: Array, bounds: tuple[float, float]) -> bool:
    v, w = spatial[:3], spatial[3:]
    return bool(v.dot(v) <= bounds[0] ** 2 and w.dot(w) <= bounds[1] ** 2)
