"""The shortest way between two positions of an endless joint."""

from __future__ import annotations

import math

from flexarm_core.compiled import kernel

TURN = 2.0 * math.pi  # [rad]
LARGEST = 1e9  # [rad] position beyond which the place within a turn is not resolved: it is left as it is


@kernel
def shortest_way(way: float, endless: bool) -> float:
    """Return the shortest way between two positions of a joint whose difference is ``way`` [rad | m]."""
    if not endless or not 0.5 * TURN < abs(way) < LARGEST:
        return way
    return way - TURN * round(way / TURN)
