r"""IdentifiableGravity: masses and first moments that static poses can determine in addition to a constant sensor bias.

At rest, the sensor reading is ``W = Y(q) phi + b``. A change of ``phi`` that changes ``W`` equally at all poses cannot
be distinguished from the bias ``b``: on a level base, for example, the total mass and a vertical bias. With the nominal
magnitudes ``S`` of the parameters, the noise ``N`` of the six components, and the mean over many poses removed::

    Y_perp = N^-1 (Y - mean Y) S = U s V^T       [V_r | V_0]: s above and below s_1 / limit

A parameter change is ``delta = S (V_r y + V_0 a)``: ``y`` is determined from poses, while ``a`` selects one of the
parameter sets that the sensor cannot distinguish. It is selected to keep the total mass (if the total mass cannot be
distinguished from the bias), to leave the body fixed to the sensor almost unchanged, and otherwise to be the smallest
scaled change; it is a function of ``y``::

    delta = S T y,      minimum of |D (V_r y + V_0 a)|  with  sum of masses of S (V_r y + V_0 a) = 0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexarm_core.base_wrench.gravity_regressor import GravityRegressor
from flexarm_core.base_wrench.sensed_bodies import (
    AXIS,
    CENTER,
    COORDINATE,
    KIND,
    PRISMATIC,
    TRANSLATION,
    WEIGHT,
    SensedBodies,
)
from flexarm_core.entrance import finite, number
from flexarm_core.errors import ConfigError
from flexarm_core.types import Array

POSES, SEED = 400, 4
EXACT = 1e-9  # relative size below which a singular value counts as zero
RIGID = 1e3  # weight of changes of the body fixed to the sensor, relative to other bodies
ENTRIES = ("mass", "first moment x", "first moment y", "first moment z")


@dataclass(frozen=True, slots=True)
class PoseInformation:
    """How well a set of poses determines the identifiable directions.

    Attributes:
        rank: number of directions that the poses determine.
        condition_number: ratio of largest to smallest singular value; infinite if the rank is deficient, 1 if there are
            no directions.
        weakest: parameter with the largest part in the least determined direction, e.g. ``first moment x of link5``.
    """

    rank: int
    condition_number: float
    weakest: str


class IdentifiableGravity:
    """Directions in the space of masses and first moments that static poses determine.

    Attributes:
        regressor: regressor of the gravity wrench.
        directions: (4 w, r) ``S T``, one column per direction, in units of the parameters [kg, kg*m].
        noise: (6,) standard deviations of the wrench components [N, N*m].
        components: number of independent wrench components that vary with the pose.
        positions: (k, N) random poses over the whole range, from which the directions are computed [rad | m].
    """

    def __init__(
        self,
        bodies: SensedBodies,
        gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
        *,
        lower: Array | None = None,
        upper: Array | None = None,
        deflection: tuple[Array, Array] | None = None,
        noise: tuple[float, float] = (0.1, 0.01),
        limit: float = 100.0,
    ) -> None:
        """Compute the directions from random poses.

        Args:
            bodies: bodies above the sensor, with the nominal parameters.
            gravity: (3,) gravity vector in the root link frame [m/s^2].
            lower: (n,) lower position limits; None or infinite: half a turn or half a meter to either side [rad | m].
            upper: (n,) upper position limits, as ``lower`` [rad | m].
            deflection: lowest and highest positions (m,) of the elastic joints; None: zero [m | rad].
            noise: standard deviations of forces and torques; their ratio weights forces against torques [N, N*m].
            limit: condition number up to which a direction counts as identifiable; others keep their nominal values.

        Raises:
            ConfigError: the limits have a different number of joints or are in wrong order, or noise or limit is out
                of range.
        """
        self.regressor = GravityRegressor(bodies, gravity)
        finite("noise", noise, 2)
        number("limit", limit)
        if not (np.isfinite(noise).all() and min(noise) > 0.0 and limit > 1.0):
            raise ConfigError(f"noise must be > 0 (N, N*m) and limit > 1, got {noise} and {limit}")
        self.noise = np.repeat(noise, 3).astype(float)
        low, high = position_ranges(bodies, lower, upper)
        m = len(bodies.coordinates) - bodies.n
        swing = finite("deflection", np.zeros((2, m)) if deflection is None else deflection, 2, m)
        low, high = np.concatenate((low, swing[0])), np.concatenate((high, swing[1]))
        self.positions = np.random.default_rng(SEED).uniform(low, high, (POSES, len(low)))
        scale = _nominal_sizes(bodies)
        Y = self.regressor.matrices(self.positions)
        varying = (Y - Y.mean(0)) * scale / self.noise[:, None]
        singular, V = np.linalg.svd(varying.reshape(-1, len(scale)), full_matrices=False)[1:]
        size = float(np.abs(Y * scale / self.noise[:, None]).max())
        rank = int(np.count_nonzero(singular > max(singular[0] / limit, EXACT * size)))
        self.directions = scale[:, None] * _smallest_change(bodies, scale, V[:rank].T, V[rank:].T)
        across = varying.transpose(1, 0, 2).reshape(6, -1)
        spread = np.linalg.svd(across, compute_uv=False)
        self.components = int(np.count_nonzero(spread > EXACT * spread[0])) if rank else 0

    @property
    def rank(self) -> int:
        """Number of identifiable directions."""
        return int(self.directions.shape[1])

    def rows(self, positions: Array) -> Array:
        """Return the change of the wrench per direction ``Y S T / noise`` (k, 6, r) at positions (k, N)."""
        return np.asarray(self.regressor.matrices(positions) @ self.directions / self.noise[:, None])

    def information(self, positions: Array) -> PoseInformation:
        """Return how well poses (k, N) determine the directions if a constant bias is estimated too."""
        if not self.rank:
            return PoseInformation(0, 1.0, "")
        rows = self.rows(positions)
        singular, V = np.linalg.svd((rows - rows.mean(0)).reshape(-1, self.rank), full_matrices=False)[1:]
        rank = int(np.count_nonzero(singular > EXACT * max(singular[0], EXACT)))
        bodies = self.regressor.bodies
        change = np.abs(self.directions @ V[-1]) / _nominal_sizes(bodies)
        body, entry = divmod(int(np.argmax(change)), 4)
        weakest = f"{ENTRIES[entry]} of {bodies.names[bodies.weighing[body]]}"
        return PoseInformation(rank, float(singular[0] / singular[-1]) if rank == self.rank else np.inf, weakest)


def position_ranges(bodies: SensedBodies, lower: Array | None, upper: Array | None) -> tuple[Array, Array]:
    """Return finite lower and upper ends (n,) of the ranges of the actuated joints [rad | m].

    A joint without limits has a range of half a turn or half a meter to either side; a single limit is supplemented to
    a range of a full turn or one meter.

    Raises:
        ConfigError: the limits have a different number of joints, or are in wrong order.
    """
    half = np.where(prismatic_joints(bodies), 0.5, np.pi)
    low = -half if lower is None else np.array(lower, dtype=float)
    high = half if upper is None else np.array(upper, dtype=float)
    if low.shape != (bodies.n,) or high.shape != (bodies.n,) or not (low < high).all():
        raise ConfigError(f"position limits must be {bodies.n} numbers, lower below upper; got {lower} and {upper}")
    open_low, open_high = ~np.isfinite(low), ~np.isfinite(high)
    low = np.where(open_low, np.where(open_high, -half, high - 2.0 * half), low)
    return low, np.where(open_high, low + 2.0 * half, high)


def prismatic_joints(bodies: SensedBodies) -> NDArray[np.bool_]:
    """Return which of the actuated joints (n,) are prismatic."""
    slides = np.zeros(bodies.n, dtype=bool)
    for row in bodies.structure:
        if 0 <= row[COORDINATE] < bodies.n:
            slides[row[COORDINATE]] = row[KIND] == PRISMATIC
    return slides


def _nominal_sizes(bodies: SensedBodies) -> Array:
    """Return nominal magnitudes (4 w,) of the parameters: the mean mass of a body, and mass times a typical length."""
    weighing = list(bodies.weighing)
    mass = float(bodies.links[weighing, WEIGHT].mean()) or 1.0
    between = float(np.linalg.norm(bodies.links[1:, TRANSLATION:AXIS], axis=1).mean())
    within = float(np.linalg.norm(bodies.links[weighing, CENTER : CENTER + 3], axis=1).mean())
    length = max(between, within) or 1.0
    return np.tile((mass, mass * length, mass * length, mass * length), len(weighing))


def _smallest_change(bodies: SensedBodies, scale: Array, V_r: Array, V_0: Array) -> Array:
    """Return ``T`` (4 w, r) of the module docstring."""
    dear = np.ones(len(scale))
    for i, body in enumerate(bodies.weighing):
        if body == bodies.sensor_body:
            dear[4 * i : 4 * i + 4] = RIGID
    masses = np.where(np.arange(len(scale)) % 4 == 0, scale, 0.0)
    masses /= np.linalg.norm(masses)
    p = V_0.shape[1]
    free, rest = dear[:, None] * V_0, dear[:, None] * V_r
    system, right = free.T @ free, -free.T @ rest
    seen = masses @ V_0
    if np.linalg.norm(seen) > 0.1:  # total mass and bias are not distinguishable: keep the total mass
        system = np.block([[system, seen[:, None]], [seen[None], np.zeros((1, 1))]])
        right = np.vstack((right, -(masses @ V_r)[None]))
    return np.asarray(V_r + V_0 @ np.linalg.solve(system, right)[:p])
