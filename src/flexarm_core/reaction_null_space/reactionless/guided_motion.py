r"""Step-by-step motion along a tool path, with joint velocities that leave the selected base motions at rest.

In the path coordinate s, from 0 to 1, with the reactionless motions N of a posture and a joint path ``q_r`` nearby::

    q' = N y,   y = y_r + (J N)^+ [ p_r' + K (p_r - p) - J N y_r ],   y_r = N^T [ q_r' + K (q_r - q) ]

Without a joint path ``y_r = 0``. With a joint path the pseudo-inverse is damped near singularities of ``J N``, so a
path that needs no motion in the singular direction can pass them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flexarm_core.reaction_null_space.coupling.null_space import damped_inverse
from flexarm_core.reaction_null_space.reactionless.motions import ReactionlessMotions
from flexarm_core.types import Array

FEEDBACK = 8.0  # K, per unit of the path coordinate
DAMPED_BELOW = 0.01  # [m] singular value of J N below which its inverse is damped

Guide = Callable[[float], tuple[Array, Array]]  # path coordinate -> value and its derivative


@dataclass(frozen=True, slots=True)
class ToolLine:
    """A straight tool path, ``p = begin + s line``.

    Attributes:
        begin: (a,) first tool position [m].
        line: (a,) displacement from begin to end [m].
    """

    begin: Array
    line: Array

    def at(self, s: float) -> tuple[Array, Array]:
        """Return the position (a,) and its derivative (a,) at a path coordinate from 0 to 1."""
        return self.begin + s * self.line, self.line

    def reversed(self) -> ToolLine:
        """Return the same path in the opposite direction."""
        return ToolLine(self.begin + self.line, -self.line)


@dataclass(frozen=True, slots=True)
class LineAttempt:
    """Result of following a tool path as far as possible.

    Attributes:
        path: tool path.
        fraction: share of the path that was completed.
        positions: (g, n) joint positions at equally spaced path coordinates of the completed part.
        reason: why the attempt ended: ``done``, ``singular``, ``limit`` or ``fast``.
        joint: index of the joint that would exceed its position or velocity limit, -1 for none.
        speed: largest derivative of a joint position by the path coordinate, relative to its limit.
        load: largest arm momentum per unit of the path coordinate, weighted with ``K_b^-1/2`` [sqrt(J) s^2].
    """

    path: ToolLine
    fraction: float
    positions: Array
    reason: str
    joint: int
    speed: float
    load: float


def follow_line(
    motions: ReactionlessMotions,
    start: Array,
    path: ToolLine,
    bounds: tuple[Array, Array],
    fastest: Array,
    least_sigma: float,
    steps: int = 20,
) -> LineAttempt:
    """Follow a tool path from a posture at its start, with coarse steps (midpoint method).

    Args:
        motions: reactionless motions of the arm.
        start: (n,) joint positions.
        path: tool path.
        bounds: (n,), (n,) lower and upper position limits.
        fastest: (n,) largest ``|dq/ds|``.
        least_sigma: singular value of ``J N`` below which the attempt ends [m].
        steps: number of steps.
    """
    step, positions, speed = 1.0 / steps, [start], 0.0
    load = 0.0

    def rate(q: Array, s: float) -> tuple[Array, float] | None:
        space = motions.at(q)
        if space.tool_sigma[-1] < least_sigma:
            return None
        place, way = path.at(s)
        wanted = way + FEEDBACK * (place - space.tool)
        restricted = space.restricted
        found = space.null @ (restricted.T @ np.linalg.solve(restricted @ restricted.T, wanted))
        return found, float(np.linalg.norm(space.whole_coupling @ found))

    def ended(reason: str, joint: int = -1) -> LineAttempt:
        done = len(positions) - 1
        return LineAttempt(path, done * step, np.array(positions), reason, joint, speed, load)

    for i in range(steps):
        first = rate(positions[-1], i * step)
        if first is None:
            return ended("singular")
        middle = rate(positions[-1] + 0.5 * step * first[0], (i + 0.5) * step)
        if middle is None:
            return ended("singular")
        ratios = np.abs(middle[0]) / fastest
        if ratios.max() > 1.0:
            return ended("fast", int(ratios.argmax()))
        position = positions[-1] + step * middle[0]
        beyond = np.maximum(bounds[0] - position, position - bounds[1])
        if beyond.max() > 0.0:
            return ended("limit", int(beyond.argmax()))
        speed, load = max(speed, float(ratios.max())), max(load, middle[1])
        positions.append(position)
    return ended("done")


def follow_guides(motions: ReactionlessMotions, start: Array, tool: Guide, joints: Guide, steps: int = 100) -> Array:
    """Return joint positions (steps + 1, n) at equally spaced path coordinates along a tool path, near a joint path.

    The motion is integrated by the fourth-order Runge-Kutta method from joint positions ``start`` (n,).
    """
    step, positions = 1.0 / steps, [start]

    def rate(q: Array, s: float) -> Array:
        space = motions.at(q)
        (p_r, dp_r), (q_r, dq_r) = tool(s), joints(s)
        y = space.null.T @ (dq_r + FEEDBACK * (q_r - q))
        missing = dp_r + FEEDBACK * (p_r - space.tool) - space.restricted @ y
        y = y + damped_inverse(space.restricted, DAMPED_BELOW, DAMPED_BELOW).inverse @ missing
        return np.asarray(space.null @ y)

    for i in range(steps):
        q = positions[-1]
        a = rate(q, i * step)
        b = rate(q + 0.5 * step * a, (i + 0.5) * step)
        c = rate(q + 0.5 * step * b, (i + 0.5) * step)
        d = rate(q + step * c, (i + 1) * step)
        positions.append(q + step / 6.0 * (a + 2.0 * b + 2.0 * c + d))
    return np.array(positions)
