r"""ObstacleGuard: whether an arm that is commanded so can still brake to rest before it comes too near an obstacle.

The motion that is looked at begins one sample back, where the command came from, and goes on as every joint brakes at
its acceleration limit. ``x`` counts its samples; the joints move evenly within each.

Pairs of capsule and obstacle that are farther apart than the capsule can get on the whole way are out of question
(:mod:`braking` bounds the way). For the others the motion is walked in steps, as long ones as can be proved to be
safe: where a step begins, the plane through the obstacle's nearest point, across the shortest connection, has all of
the obstacle behind it. Both end points of the axis have to stay in front of it, by radius and margin. Along a step
their height h over the plane leaves the straight line between its ends by at most ``4 e s (1 - s)``, 0 <= s <= 1, with
``e`` an eighth of the bound on ``|d^2 h / ds^2|``; what is between the ends is so known to be clear. A step that cannot
be proved is halved; where it is a millimetre long and cannot be proved, the motion is refused.

Where a capsule is nearer to an obstacle than the margin already, it may move on as long as it comes no nearer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from flexarm_core.behavior_impedance.avoidance.arm_shape import ArmShape, place_capsules
from flexarm_core.behavior_impedance.avoidance.distances import segment_distance
from flexarm_core.behavior_impedance.avoidance.obstacles import HALF_SPACE, WIDTH, Obstacle, pack
from flexarm_core.behavior_impedance.braking import (
    MOTION,
    begin_braking,
    braking_position,
    build_levers,
    step_bounds,
    step_end,
    whole_reach,
)
from flexarm_core.behavior_impedance.motion_space import arm_kinematics
from flexarm_core.compiled import kernel, view
from flexarm_core.entrance import finite, number
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.types import Array

RESOLUTION = 1e-3  # [m] length of a step that need not be halved
ROUNDING = 1e-10  # [m]
# Of a pair: capsule, obstacle, direction (3), where along it radius and margin begin [m], clearance that has to be kept
# [m], sine of the angle between the direction and the axis of the first joint.
PAIR = 8


class ObstacleGuard:
    """Keeps the commanded joints from where the arm could not stop before an obstacle."""

    def __init__(
        self,
        shape: ArmShape,
        chain: Chain,
        limits: MotionLimits,
        obstacles: Sequence[Obstacle] = (),
        margin: float | Sequence[float] = 0.0,
    ) -> None:
        """Set up the memory.

        Args:
            shape: of the arm.
            chain: of the arm.
            limits: of its joints, of which the accelerations count.
            obstacles: in the base frame.
            margin: distance that is always kept [m], >= 0; of all obstacles, or of each.

        Raises:
            ConfigError: limits of another number of joints, two obstacles of the same name, a margin that is none.
        """
        capsules = shape.capsules
        middles = 0.5 * np.linalg.norm(capsules[:, 4:7] - capsules[:, 1:4], axis=1)
        self._links, self._levers, self._names = chain.links, build_levers(capsules, chain.links), shape.links
        # The last column: within this of the middle of its axis lies all of a capsule.
        self._capsules = np.column_stack((capsules, middles + capsules[:, 7]))
        self.set_limits(limits)
        self.set_obstacles(obstacles, margin)

    def set_limits(self, limits: MotionLimits) -> None:
        """Change the limits between two samples.

        Raises:
            ConfigError: they are of another number of joints.
        """
        n = len(self._links) - 1
        if len(limits.acceleration) != n:
            raise ConfigError(f"limits are of {len(limits.acceleration)} joints, the chain has {n}")
        self._acceleration = np.array(limits.acceleration, dtype=float)

    def set_obstacles(self, obstacles: Sequence[Obstacle], margin: float | Sequence[float] = 0.0) -> None:
        """Replace the obstacles between two samples.

        Raises:
            ConfigError: two of the same name, a margin that is not >= 0 and finite, another number of margins.
        """
        table, margins = pack(obstacles), np.array(margin, dtype=float)
        margins = np.full(len(table), margins) if margins.ndim == 0 else margins
        if margins.shape != (len(table),) or not ((margins >= 0.0) & np.isfinite(margins)).all():
            raise ConfigError(f"margins must be >= 0 m and finite, one or {len(table)} of them, got {margin}")
        self._obstacles = tuple(obstacle.name for obstacle in obstacles)
        # The last column: within this of its position lies all of a sphere or box.
        self._table = np.column_stack((table, margins, np.linalg.norm(table[:, 13:], axis=1)))
        n, c = len(self._links) - 1, len(self._capsules)
        self._work = np.zeros((1 + MOTION + 12 + 6) * n + 12 + 12 * c + PAIR * c * len(table))

    def admits(self, position: Array, velocity: Array, dt: float) -> bool:
        """Whether the arm came here, and can brake from here, without coming too near an obstacle.

        Args:
            position: (n,) commanded at the end of a sample [rad | m].
            velocity: (n,) at which it was reached during the sample, and from which the joints brake [rad/s | m/s].
            dt: sample time [s].

        Returns:
            Never true where a capsule would come nearer than the margin, or nearer than it was at the begin of the
            sample, where that was less; false sometimes where it would pass within about a millimetre.
        """
        n = len(self._acceleration)
        position, velocity = finite("position", position, n), finite("velocity", velocity, n)
        if not self._obstacles:
            return True
        return bool(
            _admits(
                position,
                velocity,
                self._acceleration,
                self._links,
                self._capsules,
                self._table,
                self._levers,
                self._work,
                number("dt", dt),
            )
        )

    def least_distance(self, position: Array) -> tuple[float, str, str]:
        """Least distance [m] of the arm at joint positions (n,) to an obstacle, and of which link to which obstacle.

        Infinite, and empty names, without obstacles.
        """
        q = finite("position", position, len(self._acceleration))
        if not self._obstacles or not self._names:
            return math.inf, "", ""
        distance, row, k = _least_distance(q, self._links, self._capsules, self._table, self._work)
        return float(distance), self._names[row], self._obstacles[k]


@kernel
def _place(q: Array, links: Array, capsules: Array, work: Array, placed: Array) -> None:
    """End points of the capsules at joint positions ``q`` (n,) into ``placed`` (c, 6) [m]."""
    n = q.shape[0]
    begin = (1 + MOTION) * n
    frames = view(work, begin, (n + 1, 12))
    arm_kinematics(links, q, frames, view(work, begin + 12 * (n + 1), (6, n)))
    place_capsules(capsules, frames, placed)


@kernel
def _least_distance(q: Array, links: Array, capsules: Array, obstacles: Array, work: Array) -> tuple[float, int, int]:
    """Least distance [m], its capsule and its obstacle."""
    n, c = q.shape[0], capsules.shape[0]
    placed = view(work, (MOTION + 19) * n + 12, (c, 6))
    _place(q, links, capsules, work, placed)
    least, row, nearest = math.inf, 0, 0
    for i in range(c):
        for k in range(obstacles.shape[0]):
            distance = segment_distance(placed, i, obstacles, k, 0.0)[0] - capsules[i, 7]
            if distance < least:
                least, row, nearest = distance, i, k
    return least, row, nearest


@kernel
def _set_plane(placed: Array, capsules: Array, obstacles: Array, links: Array, pair: Array) -> float:
    """Plane of a pair, by radius and margin before its obstacle, into ``pair`` (8,); distance beyond the margin [m]."""
    i, k = int(pair[0]), int(pair[1])
    distance, ux, uy, uz, t = segment_distance(placed, i, obstacles, k, 0.0)
    clearance = distance - capsules[i, 7] - obstacles[k, WIDTH]
    height = ux * (placed[i, 0] + t * (placed[i, 3] - placed[i, 0]))
    height += uy * (placed[i, 1] + t * (placed[i, 4] - placed[i, 1]))
    height += uz * (placed[i, 2] + t * (placed[i, 5] - placed[i, 2]))
    pair[2], pair[3], pair[4], pair[5] = ux, uy, uz, height - clearance
    x, y, z = links[0, 2], links[0, 5], links[0, 8]
    pair[7] = math.sqrt((uy * z - uz * y) ** 2 + (uz * x - ux * z) ** 2 + (ux * y - uy * x) ** 2)
    return clearance


@kernel
def _near_pairs(
    placed: Array, capsules: Array, obstacles: Array, levers: Array, links: Array, motion: Array, pairs: Array
) -> int:
    """Pairs that could touch on the way, into ``pairs``; how many."""
    count = 0
    for i in range(capsules.shape[0]):
        reach = whole_reach(levers, i, int(capsules[i, 0]), links, motion)
        for k in range(obstacles.shape[0]):
            if obstacles[k, 0] != HALF_SPACE:
                near, square = capsules[i, 8] + obstacles[k, WIDTH + 1] + obstacles[k, WIDTH] + reach, 0.0
                for j in range(3):
                    square += (0.5 * (placed[i, j] + placed[i, 3 + j]) - obstacles[k, 1 + j]) ** 2
                if square > near * near:
                    continue
            pairs[count, 0], pairs[count, 1] = i, k
            clearance = _set_plane(placed, capsules, obstacles, links, pairs[count])
            if clearance <= reach:
                pairs[count, 6] = min(clearance, 0.0) - ROUNDING
                count += 1
    return count


@kernel
def _lowest(pair: Array, here: Array, there: Array, bend: float) -> float:
    """Bound on the clearance of a capsule's axis from the plane of a pair, from ``here`` to ``there`` (c, 6) [m]."""
    i, lowest = int(pair[0]), math.inf
    for end in range(0, 6, 3):
        h, g = -pair[5], -pair[5]
        for j in range(3):
            h += pair[2 + j] * here[i, end + j]
            g += pair[2 + j] * there[i, end + j]
        # lowest of h + s (g - h) - bend s (1 - s) / 2
        fall, lowest = 0.5 * bend - (g - h), min(lowest, h, g)
        if bend > 0.0 and 0.0 < fall < bend:
            lowest = min(lowest, h - 0.5 * fall * fall / bend)
    return lowest


@kernel
def _admits(
    position: Array, velocity: Array, acceleration: Array, links: Array, capsules: Array, obstacles: Array, levers:
        Array,
    work: Array, dt: float,
) -> bool:  # fmt: skip
    """See :meth:`ObstacleGuard.admits`."""
    n, c = position.shape[0], capsules.shape[0]
    q, motion, begin = view(work, 0, (n,)), view(work, n, (n, MOTION)), (MOTION + 19) * n + 12
    here, there = view(work, begin, (c, 6)), view(work, begin + 6 * c, (c, 6))
    pairs = view(work, begin + 12 * c, (c * obstacles.shape[0], PAIR))
    end = begin_braking(position, velocity, acceleration, links, dt, motion)
    if end == 0.0:
        return True
    braking_position(motion, 0.0, q)
    _place(q, links, capsules, work, here)
    count, x, length = _near_pairs(here, capsules, obstacles, levers, links, motion, pairs), 0.0, end
    while count > 0 and x < end:
        y = step_end(x, length, end)
        braking_position(motion, y, q)
        _place(q, links, capsules, work, there)
        clear = True
        for row in range(count):
            i = int(pairs[row, 0])
            way, bend = step_bounds(levers, i, int(capsules[i, 0]), links, motion, x, y, pairs[row, 7])
            if _lowest(pairs[row], here, there, bend) < pairs[row, 6]:
                if way <= RESOLUTION:
                    return False
                clear = False
                break
        if not clear:
            length = 0.5 * (y - x)
            continue
        x, length = y, 2.0 * (y - x)
        here, there = there, here
        for row in range(count):
            _set_plane(here, capsules, obstacles, links, pairs[row])
    return True
