r"""The repulsive force over the distance (compiled).

``f(s) = 2 F s^2 / (1 - s)`` with ``s = (range - d) / (range - margin)``.

It begins with zero slope at the range, is F at half the way and grows ever more steeply towards the margin. From
s = 0.98 on, where it is 96 F, it stays; its slope stays too, so that what integrates it implicitly is not stirred up.
"""

from __future__ import annotations

from flexarm_core.compiled import kernel

LARGEST = 0.98  # s from which on the force stays


@kernel
def avoidance_force(distance: float, influence: float, margin: float, force: float) -> tuple[float, float, float]:
    """Force away from an obstacle, its stiffness and how near the obstacle is.

    Args:
        distance: d [m].
        influence: range of the force [m].
        margin: distance that is not to be reached [m], below the range.
        force: F, at half the way [N].

    Returns:
        f >= 0 [N]; ``-df/dd`` >= 0 [N/m]; s, at most 0.98, 0 at the range and beyond.
    """
    s = min((influence - distance) / (influence - margin), LARGEST)
    if s <= 0.0:
        return 0.0, 0.0, 0.0
    rest = 1.0 - s
    return 2.0 * force * s * s / rest, 2.0 * force * s * (2.0 - s) / (rest * rest * (influence - margin)), s
