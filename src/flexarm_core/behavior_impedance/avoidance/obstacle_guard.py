r"""ObstacleGuard: checks whether an arm with a commanded motion can still brake to rest before it reaches a margin.

The checked motion starts one sample before the commanded position and continues with every joint braking at its
acceleration limit. ``x`` is the time in samples; the joint velocities are constant within a sample.

Pairs of capsule and obstacle that are further apart than the capsule can travel during the whole motion are excluded
(:mod:`braking` bounds the travel). For the other pairs the motion is divided into steps, as long as can be proved to be
safe. At the beginning of a step, a plane is placed through the nearest point of the obstacle, normal to the shortest
connection, so that the whole obstacle lies behind it. Both end points of the capsule's axis must stay in front of the
plane by at least radius plus margin. Along a step their height h over the plane deviates from the straight line between
its end values by at most ``4 e s (1 - s)``, 0 <= s <= 1, with ``e`` an eighth of the bound on ``|d^2 h / ds^2|``. This
proves that the motion within the step is clear as well. A step that cannot be proved to be safe is halved; if it is
only one millimeter long, the motion is rejected.

A capsule that is already closer to an obstacle than the margin may move as long as it does not come closer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.behavior_impedance.avoidance.arm_shape import ArmShape, place_capsules
from flexarm_core.behavior_impedance.avoidance.distances import segment_distance
from flexarm_core.behavior_impedance.avoidance.obstacles import HALF_SPACE, WIDTH, Obstacle, pack
from flexarm_core.behavior_impedance.braking import (
    MOTION,
    Braking,
    begin_braking,
    braking_position,
    build_levers,
    step_bounds,
    step_end,
    whole_reach,
)
from flexarm_core.behavior_impedance.motion_space import arm_kinematics
from flexarm_core.compiled import inlined_kernel, kernel, views
from flexarm_core.entrance import finite, number
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.robot.kinematic_chain import COLUMNS, PLACE, RATIO
from flexarm_core.types import Array

RESOLUTION = 1e-3  # [m] length below which a step is not halved
ROUNDING = 1e-10  # [m] tolerance for rounding errors
# Row of a pair: capsule, obstacle, direction (3), position along this direction of the plane shifted by radius and
# margin [m], clearance that must be kept [m], sine of the angle between the direction and the axis of the first joint.
PAIR = 8


class ObstacleGuard:
    """Rejects commanded joint motions from which the arm could not stop before it reaches an obstacle."""

    def __init__(
        self,
        shape: ArmShape,
        chain: Chain,
        limits: MotionLimits,
        obstacles: Sequence[Obstacle] = (),
        margin: float | Sequence[float] = 0.0,
    ) -> None:
        """Allocate the work memory.

        Args:
            shape: capsules of the arm.
            chain: kinematic chain of the arm.
            limits: motion limits of the joints; only the acceleration limits are used.
            obstacles: obstacles in the base frame.
            margin: distance that is always kept [m], >= 0; one for all obstacles, or one per obstacle.

        Raises:
            ConfigError: the limits have the wrong number of joints, two obstacles have the same name, or a margin is
                not valid.
        """
        capsules, self._chain = shape.capsules, chain
        middles = 0.5 * np.linalg.norm(capsules[:, 4:7] - capsules[:, 1:4], axis=1)
        # Joints that follow others brake as hard as their drivers, times the ratio: each is a joint of its own.
        self._spread = None if chain.moving == chain.joint_names else chain.spread
        self._links = chain.links if self._spread is None else chain.free_links
        self._levers, self._names = build_levers(capsules, self._links), shape.links
        self._limits: Array | None = None  # in the memory
        self._capsules = np.column_stack((capsules, middles + capsules[:, 7]))
        self.set_limits(limits)
        self.set_obstacles(obstacles, margin)

    def set_limits(self, limits: MotionLimits) -> None:
        """Change the limits between two samples.

        Raises:
            ConfigError: the limits have the wrong number of joints.
        """
        n = self._chain.n
        if len(limits.acceleration) != n:
            raise ConfigError(f"limits are of {len(limits.acceleration)} joints, the chain has {n}")
        acceleration = np.array(limits.acceleration, dtype=float)
        if self._spread is not None:
            acceleration = acceleration[self._chain.links[:-1, PLACE].astype(int)]
            ratio = np.abs(self._chain.links[:-1, RATIO])
            acceleration = np.where(ratio > 0.0, ratio, 1.0) * acceleration
        self._acceleration = acceleration
        if self._limits is not None:
            self._limits[:] = acceleration

    def set_obstacles(self, obstacles: Sequence[Obstacle], margin: float | Sequence[float] = 0.0) -> None:
        """Replace the obstacles between two samples.

        Raises:
            ConfigError: two obstacles have the same name, a margin is negative or not finite, or the number of margins
                is wrong.
        """
        table, margins = pack(obstacles), np.array(margin, dtype=float)
        margins = np.full(len(table), margins) if margins.ndim == 0 else margins
        if margins.shape != (len(table),) or not ((margins >= 0.0) & np.isfinite(margins)).all():
            raise ConfigError(f"margins must be >= 0 m and finite, one or {len(table)} of them, got {margin}")
        self._obstacles = tuple(obstacle.name for obstacle in obstacles)
        rows = np.column_stack((table, margins, np.linalg.norm(table[:, 13:], axis=1)))
        n, c, m = len(self._links) - 1, len(self._capsules), len(table)
        self._memory = np.zeros(view_guard.size(n, c, m))
        self._memory[:3] = n, c, m
        guard: Guard = view_guard(self._memory)
        guard.acceleration[:], guard.links[:], guard.levers[:] = self._acceleration, self._links, self._levers
        guard.capsules[:], guard.obstacles[:] = self._capsules, rows
        self._limits = guard.acceleration

    def admits(self, position: Array, velocity: Array, dt: float) -> bool:
        """Return whether the arm reaches a commanded state, and can brake from it, without getting too close.

        Args:
            position: (n,) joint positions commanded for the end of a sample [rad | m].
            velocity: (n,) joint velocities during the sample, from which the joints then brake [rad/s | m/s].
            dt: sampling period [s].

        Returns:
            The result is conservative: never true if a capsule would come closer than the margin (or closer than at the
            beginning of the sample, if that was less); it may be false if a capsule would pass within about a
            millimeter of that limit.
        """
        n = self._chain.n
        position, velocity = finite("position", position, n), finite("velocity", velocity, n)
        if not self._obstacles:
            return True
        return bool(_admits(self._moving(position), self._moving(velocity), number("dt", dt), self._memory))

    def _moving(self, driven: Array) -> Array:
        """Return positions or velocities of all moving joints (k,) for those of the driven ones (n,)."""
        moving: Array = driven if self._spread is None else self._spread @ driven
        return moving

    def least_distance(self, position: Array) -> tuple[float, str, str]:
        """Return the smallest distance [m] of the arm to an obstacle at joint positions (n,), with link and obstacle.

        Without obstacles the distance is infinite and the names are empty.
        """
        q = self._moving(finite("position", position, self._chain.n))
        if not self._obstacles or not self._names:
            return math.inf, "", ""
        distance, row, k = _least_distance(q, self._memory)
        return float(distance), self._names[row], self._obstacles[k]


class Guard(NamedTuple):
    """What is checked, and work memory."""

    n: int  # number of moving joints
    c: int  # number of capsules
    m: int  # number of obstacles
    acceleration: Annotated[Array, "n"]  # acceleration limits
    links: Annotated[Array, "n + 1", COLUMNS]  # of the chain
    levers: Annotated[Array, "c", "n"]  # see build_levers
    # capsules, and radius of the bounding sphere of a capsule, about the middle of its axis
    capsules: Annotated[Array, "c", 9]
    # obstacles, their margins, and radius of the bounding sphere of a sphere or box, about its position
    obstacles: Annotated[Array, "m", WIDTH + 2]
    q: Annotated[Array, "n"]
    motion: Annotated[Array, "n", MOTION]  # see begin_braking
    frames: Annotated[Array, "n + 1", 12]  # see arm_kinematics
    J: Annotated[Array, 6, "n"]
    here: Annotated[Array, "c", 6]  # end points of the capsules at the beginning of a step [m]
    there: Annotated[Array, "c", 6]  # and at its end
    pairs: Annotated[Array, "c * m", PAIR]


view_guard = views(Guard)


@inlined_kernel
def _place(g: Guard, q: Array, placed: Array) -> None:
    """Write the end points of the capsules at joint positions ``q`` (n,) into ``placed`` (c, 6) [m]."""
    arm_kinematics(g.links, q, g.frames, g.J)
    place_capsules(g.capsules, g.frames, placed)


@kernel
def _least_distance(q: Array, memory: Array) -> tuple[float, int, int]:
    """Return the smallest distance [m] and the indices of its capsule and obstacle; ``memory``: see :class:`Guard`."""
    g = view_guard(memory)
    c, placed, capsules, obstacles = g.c, g.here, g.capsules, g.obstacles
    _place(g, q, placed)
    least, row, nearest = math.inf, 0, 0
    for i in range(c):
        for k in range(obstacles.shape[0]):
            distance = segment_distance(placed, i, obstacles, k, 0.0)[0] - capsules[i, 7]
            if distance < least:
                least, row, nearest = distance, i, k
    return least, row, nearest


@kernel
def _set_plane(placed: Array, capsules: Array, obstacles: Array, links: Array, pair: Array) -> float:
    """Write the plane of a pair, shifted by radius and margin, into ``pair`` (8,); return the clearance [m].

    The clearance is the distance of the capsule from the obstacle minus the margin.
    """
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
def _near_pairs(placed: Array, capsules: Array, obstacles: Array, arm: Braking, pairs: Array) -> int:
    """Write the pairs that could come closer than the margin during the motion into ``pairs``; return their number."""
    count = 0
    for i in range(capsules.shape[0]):
        reach = whole_reach(arm, i, int(capsules[i, 0]))
        for k in range(obstacles.shape[0]):
            if obstacles[k, 0] != HALF_SPACE:
                near, square = capsules[i, 8] + obstacles[k, WIDTH + 1] + obstacles[k, WIDTH] + reach, 0.0
                for j in range(3):
                    square += (0.5 * (placed[i, j] + placed[i, 3 + j]) - obstacles[k, 1 + j]) ** 2
                if square > near * near:
                    continue
            pairs[count, 0], pairs[count, 1] = i, k
            clearance = _set_plane(placed, capsules, obstacles, arm.links, pairs[count])
            if clearance <= reach:
                pairs[count, 6] = min(clearance, 0.0) - ROUNDING
                count += 1
    return count


@kernel
def _lowest(pair: Array, here: Array, there: Array, bend: float) -> float:
    """Return a lower bound on the clearance of a capsule from a pair's plane, from ``here`` to ``there`` (c, 6) [m]."""
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
def _admits(position: Array, velocity: Array, dt: float, memory: Array) -> bool:
    """See :meth:`ObstacleGuard.admits`; ``memory``: see :class:`Guard`."""
    g = view_guard(memory)
    q, motion, links, capsules, obstacles, pairs = g.q, g.motion, g.links, g.capsules, g.obstacles, g.pairs
    here, there, arm = g.here, g.there, Braking(links, g.levers, motion)
    end = begin_braking(position, velocity, g.acceleration, links, dt, motion)
    if end == 0.0:
        return True
    braking_position(motion, 0.0, q)
    _place(g, q, here)
    count, x, length = _near_pairs(here, capsules, obstacles, arm, pairs), 0.0, end
    while count > 0 and x < end:
        y = step_end(x, length, end)
        braking_position(motion, y, q)
        _place(g, q, there)
        clear = True
        for row in range(count):
            i = int(pairs[row, 0])
            way, bend = step_bounds(arm, i, int(capsules[i, 0]), x, y, pairs[row, 7])
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
