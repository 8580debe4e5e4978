r"""Proximity: what of the arm is near which obstacle, and the joint efforts that keep it away.

Every capsule near an obstacle, within the range of the force, makes a contact: distance d, unit direction u from the
obstacle to the arm, point p on the capsule's axis; a half-space makes two, one at either end. With ``J_p`` the Jacobian
of the point and ``g = J_p^T u``, which is the derivative of d by the joints,

    effort = sum g (f(d) + c s max(0, -g^T qd)),    stiffness = sum -df/dd g g^T   (Gauss-Newton: >= 0),

with the force f and the nearness s of :mod:`avoidance_force` and the damping c while the arm approaches. All contacts
count, and the point on an axis parallel to a box is held back from jumping (see :mod:`distances`), so that the effort
has no jumps either, as long as no axis enters an obstacle.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from flexarm_core.behavior_impedance.avoidance.arm_shape import ArmShape, place_capsules
from flexarm_core.behavior_impedance.avoidance.avoidance_force import avoidance_force
from flexarm_core.behavior_impedance.avoidance.distances import segment_distance
from flexarm_core.behavior_impedance.avoidance.obstacles import HALF_SPACE, WIDTH, Obstacle, pack
from flexarm_core.compiled import kernel, view
from flexarm_core.entrance import finite, output
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.robot.kinematic_chain import PRISMATIC
from flexarm_core.types import Array

STEADINESS = 1e-2  # lets the point of an axis cross over within about 1 degree, 0.2 m away
HEAD = 8  # numbers before the tables: range, margin, force, damping; least distance, its capsule and obstacle; contacts
CONTACT = 9  # capsule, obstacle, distance, direction (3), point (3)
FORCE_UNITS = {"range": "m", "margin": "m", "force": "N", "damping": "N*s/m"}


class Proximity:
    """Contacts between the capsules of an arm and obstacles."""

    def __init__(
        self,
        shape: ArmShape,
        chain: Chain,
        obstacles: Sequence[Obstacle],
        influence: float,
        margin: float,
        force: float = 0.0,
        damping: float = 0.0,
    ) -> None:
        """Set up the memory.

        Args:
            shape: of the arm.
            chain: of the arm.
            obstacles: in the base frame.
            influence: range of the force [m].
            margin: distance that is not to be reached [m], >= 0 and below the range.
            force: at half the way from the range to the margin [N], >= 0.
            damping: c, while approaching [N*s/m], >= 0.

        Raises:
            ConfigError: numbers out of these bounds, obstacles of the same name.
        """
        values = dict(zip(FORCE_UNITS, (influence, margin, force, damping), strict=True))
        for name, value in values.items():
            if not 0.0 <= value < math.inf:
                raise ConfigError(f"avoidance {name} must be >= 0 {FORCE_UNITS[name]} and finite, got {value}")
        if not margin < influence:
            raise ConfigError(f"the avoidance margin must lie below the range, got {margin} m and {influence} m")
        self.links = shape.links
        self._shape, self._values = shape, tuple(values.values())
        self._kinds = chain.links[: chain.n, 12]
        self.set_obstacles(obstacles)

    def set_obstacles(self, obstacles: Sequence[Obstacle]) -> None:
        """Replace the obstacles, between two samples.

        Raises:
            ConfigError: two of the same name.
        """
        table = pack(obstacles)
        self.obstacles = tuple(obstacle.name for obstacle in obstacles)
        capsules = self._shape.capsules
        lengths = np.linalg.norm(capsules[:, 4:7] - capsules[:, 1:4], axis=1)
        # Within this of the middle of an axis, or of the position of a sphere or box, lies all of it.
        extents = (0.5 * lengths + capsules[:, 7], np.linalg.norm(table[:, 13:], axis=1))
        parts = (self._values, np.zeros(HEAD - 4), self._kinds, capsules.ravel(), table.ravel(), *extents)
        work = np.zeros(6 * len(capsules) + 2 * CONTACT * len(capsules) * len(table) + len(self._kinds))
        self._memory = np.concatenate((*parts, work))

    def update(self, frames: Array) -> float:
        """Find the contacts.

        Args:
            frames: (n + 1, 12) poses in the base frame: of the chain's frames and the tool, rotation row by row (9),
                origin (3) [m].

        Returns:
            Least distance of all capsules and obstacles [m], also beyond the range; infinite without obstacles.
        """
        frames = finite("frames", frames, len(self._kinds) + 1, 12)
        return float(find_contacts(frames, self._memory, len(self._kinds), len(self.links), len(self.obstacles)))

    def avoid(self, frames: Array, velocity: Array, effort: Array, stiffness: Array) -> float:
        """Find the contacts, and the efforts that keep the arm away.

        Args:
            frames: as in :meth:`update`.
            velocity: (n,) of the joints [rad/s | m/s].
            effort: (n,) gets the effort [N*m | N].
            stiffness: (n, n) gets the stiffness, symmetric, >= 0.

        Returns:
            Least distance of all capsules and obstacles [m], infinite without obstacles.
        """
        n = len(self._kinds)
        frames, velocity = finite("frames", frames, n + 1, 12), finite("velocity", velocity, n)
        effort, stiffness = output("effort", effort, n), output("stiffness", stiffness, n, n)
        return float(avoid(frames, velocity, self._memory, len(self.links), len(self.obstacles), effort, stiffness))

    @property
    def nearest(self) -> tuple[str, str]:
        """Link and obstacle that were nearest to each other; empty without obstacles."""
        if not self.obstacles or not self.links:
            return "", ""
        return self.links[int(self._memory[5])], self.obstacles[int(self._memory[6])]

    @property
    def contacts(self) -> Array:
        """(contacts, 9) last found: index of the capsule, of the obstacle, distance [m], direction (3), point (3) [m].

        Direction and point in the base frame, the direction from the obstacle to the arm, the point on the axis.
        """
        start = _contacts_begin(len(self._kinds), len(self.links), len(self.obstacles))
        count = int(self._memory[7])
        return self._memory[start : start + CONTACT * count].reshape(count, CONTACT).copy()


@kernel
def _contacts_begin(n: int, c: int, m: int) -> int:
    """Where the contacts lie in the memory."""
    return HEAD + n + 8 * c + WIDTH * m + c + m + 6 * c


@kernel
def find_contacts(frames: Array, memory: Array, n: int, c: int, m: int) -> float:
    """Contacts of c capsules on n joints with m obstacles, into the memory of :class:`Proximity`; least distance."""
    begin = HEAD + n
    capsules, obstacles = view(memory, begin, (c, 8)), view(memory, begin + 8 * c, (m, WIDTH))
    begin += 8 * c + WIDTH * m
    extents, sizes, placed = (
        view(memory, begin, (c,)),
        view(memory, begin + c, (m,)),
        view(memory, begin + c + m, (c, 6)),
    )
    contacts = view(memory, begin + 7 * c + m, (2 * c * m, CONTACT))
    place_capsules(capsules, frames, placed)
    influence, least, count = memory[0], math.inf, 0
    for i in range(c):
        radius = capsules[i, 7]
        mx, my, mz = placed[i, 0] + placed[i, 3], placed[i, 1] + placed[i, 4], placed[i, 2] + placed[i, 5]
        for k in range(m):
            flat = obstacles[k, 0] == HALF_SPACE
            if not flat:
                x, y, z = 0.5 * mx - obstacles[k, 1], 0.5 * my - obstacles[k, 2], 0.5 * mz - obstacles[k, 3]
                near = max(influence, least) + extents[i] + sizes[k]
                if x * x + y * y + z * z > near * near:
                    continue
            axis, ux, uy, uz, t = segment_distance(placed, i, obstacles, k, STEADINESS)
            distance = axis - radius
            if distance < least:
                least, memory[5], memory[6] = distance, i, k
            if distance >= influence:
                continue
            for end in range(2 if flat else 1):
                if flat:
                    t = float(end)
                    distance = -radius
                    for j in range(3):
                        distance += obstacles[k, 6 + 3 * j] * (placed[i, 3 * end + j] - obstacles[k, 1 + j])
                if distance < influence:
                    contact = contacts[count]
                    contact[0], contact[1], contact[2] = i, k, distance
                    contact[3], contact[4], contact[5] = ux, uy, uz
                    for j in range(3):
                        contact[6 + j] = placed[i, j] + t * (placed[i, 3 + j] - placed[i, j])
                    count += 1
    memory[4], memory[7] = least, count
    return least


@kernel
def avoid(frames: Array, velocity: Array, memory: Array, c: int, m: int, effort: Array, stiffness: Array) -> float:
    """Effort (n,) and stiffness (n, n) of c capsules near m obstacles; least distance. See :class:`Proximity`."""
    n = velocity.shape[0]
    least = find_contacts(frames, memory, n, c, m)
    begin = _contacts_begin(n, c, m)
    kinds, capsules = view(memory, HEAD, (n,)), view(memory, HEAD + n, (c, 8))
    contacts, g = view(memory, begin, (2 * c * m, CONTACT)), view(memory, begin + 2 * c * m * CONTACT, (n,))
    for i in range(n):
        effort[i] = 0.0
        for j in range(n):
            stiffness[i, j] = 0.0
    for row in range(int(memory[7])):
        joints = int(capsules[int(contacts[row, 0]), 0]) + 1
        f, slope, s = avoidance_force(contacts[row, 2], memory[0], memory[1], memory[2])
        ux, uy, uz = contacts[row, 3], contacts[row, 4], contacts[row, 5]
        rate = 0.0
        for i in range(joints):
            zx, zy, zz = frames[i, 2], frames[i, 5], frames[i, 8]
            if kinds[i] == PRISMATIC:
                g[i] = zx * ux + zy * uy + zz * uz
            else:
                x, y = contacts[row, 6] - frames[i, 9], contacts[row, 7] - frames[i, 10]
                z = contacts[row, 8] - frames[i, 11]
                g[i] = zx * (y * uz - z * uy) + zy * (z * ux - x * uz) + zz * (x * uy - y * ux)
            rate += g[i] * velocity[i]
        f += memory[3] * s * max(0.0, -rate)
        for i in range(joints):
            effort[i] += f * g[i]
            for j in range(i + 1):
                stiffness[i, j] += slope * g[i] * g[j]
    for i in range(n):
        for j in range(i):
            stiffness[j, i] = stiffness[i, j]
    return least
