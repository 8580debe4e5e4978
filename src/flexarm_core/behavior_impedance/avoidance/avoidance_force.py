r"""Repulsive force as a function of the distance (compiled).

``f(s) = 2 F s^2 / (1 - s)`` with ``s = (range - d) / (range - margin)``.

The force starts with zero slope at the range, is F halfway between range and margin, and grows progressively toward the
margin. Above s = 0.98, where it is 96 F, the force and its slope are held constant, so that the implicit integration
is not disturbed.
"""

from __future__ import annotations

from flexarm_core.compiled import kernel

LARGEST = 0.98  # s above which the force is constant


@kernel
def avoidance_force(distance: float, influence: float, margin: float, force: float) -> tuple[float, float, float]:
    """Return the force away from an obstacle, its stiffness and the normalized proximity s.

    Args:
        distance: distance d [m].
        influence: range of the force [m].
        margin: smallest permitted distance, less than the range [m].
        force: F, the force halfway between range and margin [N].

    Returns:
        f >= 0 [N]; ``-df/dd`` >= 0 [N/m]; s, at most 0.98, 0 at the range and beyond.
    """
    s = min((influence - distance) / (influence - margin), LARGEST)
    if s <= 0.0:
        return 0.0, 0.0, 0.0
    rest = 1.0 - s
    return 2.0 * force * s * s / rest, 2.0 * force * s * (2.0 - s) / (rest * rest * (influence - margin)), s
