r"""Static poses that tell bias and gravity parameters best: greedy D-optimal choice among random safe ones.

With ``A_i = N^-1 [Y_i S T, 1]`` the rows of pose ``i`` (see :mod:`gravity_parameters`) and ``M`` the information of the
poses chosen so far, the next one has the largest ``det(M + A_i^T A_i) / det(M) = det(1 + A_i M^-1 A_i^T)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flexarm_core.base_wrench.calibration import fewest_poses
from flexarm_core.base_wrench.gravity_parameters import IdentifiableGravity, position_ranges
from flexarm_core.base_wrench.sensed_bodies import SensedBodies
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.types import Array

IsSafe = Callable[[Array], bool]
NOTHING_KNOWN = 1e-6  # information with which the choice begins, as a share of that of a pose
ROUNDS = 20  # in which poses that no safe move reaches are replaced


@dataclass(frozen=True, slots=True)
class CalibrationPosesConfig:
    """Settings of the choice of poses.

    Attributes:
        count: number of poses.
        margin: share of each joint's range that is left free at both ends.
        max_displacement: of each joint from where it stands [rad | m].
        max_condition: largest condition number of the gravity parameters over the poses.
        step: largest way of a joint between two positions at which a move is checked [rad | m].
        candidates: number of random safe poses among which is chosen.
        seed: of the random poses.
    """

    count: int = 24
    margin: float = 0.1
    max_displacement: float = math.inf
    max_condition: float = 100.0
    step: float = 0.05
    candidates: int = 400
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        if self.count < 2:
            raise ConfigError(f"count must be at least 2, got {self.count}")
        if self.candidates < self.count:
            raise ConfigError(f"candidates must be at least count = {self.count}, got {self.candidates}")
        if not 0.0 <= self.margin < 0.5:
            raise ConfigError(f"margin must be in [0, 0.5), got {self.margin}")
        for name in ("max_displacement", "step"):
            if not getattr(self, name) > 0.0:
                raise ConfigError(f"{name} must be > 0 rad or m, got {getattr(self, name)}")
        if not (math.isfinite(self.max_condition) and self.max_condition > 1.0):
            raise ConfigError(f"max_condition must be finite and > 1, got {self.max_condition}")


def choose_calibration_poses(
    bodies: SensedBodies,
    begin: Array,
    lower: Array,
    upper: Array,
    is_safe: IsSafe,
    config: CalibrationPosesConfig,
    *,
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
    noise: tuple[float, float] = (0.1, 0.01),
) -> Array:
    """Poses (k, n) in the order in which they are visited, from ``begin`` on and back to it by straight joint moves.

    Joints that the sensor does not carry stay where they are.

    Args:
        bodies: above the sensor.
        begin: (n,) where the joints stand [rad | m].
        lower: (n,) position limits [rad | m], infinite where there are none.
        upper: (n,)
        is_safe: of joint positions (n,), such as :class:`LinkHeights`; asked along all moves.
        config: settings.
        gravity: (3,) in axes of the root link [m/s^2].
        noise: of forces and torques [N, N*m].

    Raises:
        ConfigError: limits that do not fit the robot.
        InputError: the arm stands unsafe, there are too few safe poses, or those that there are tell too little; the
            message says what to do.
    """
    begin = np.asarray(begin, dtype=float)
    if begin.shape != (bodies.n,) or not np.isfinite(begin).all():
        raise InputError(f"the arm must stand at {bodies.n} finite joint positions, got {begin}")
    if not is_safe(begin):
        raise InputError(f"where the arm stands is not safe: move it first, it is at {begin.tolist()}")
    identifiable = IdentifiableGravity(
        bodies, gravity, lower=lower, upper=upper, noise=noise, limit=config.max_condition
    )
    if config.count < fewest_poses(identifiable):
        raise InputError(
            f"{config.count} poses are too few for {identifiable.rank} gravity parameters: ask for at least"
            f" {fewest_poses(identifiable)}"
        )
    moves = _Moves(begin, is_safe, config.step)
    candidates = _candidates(bodies, begin, _box(bodies, begin, lower, upper, config), moves, config)
    still = np.zeros((len(candidates), len(bodies.coordinates) - bodies.n))
    positions = np.hstack((candidates, still))
    rows = identifiable.rows(positions)
    usable = np.ones(len(candidates), dtype=bool)
    for _ in range(ROUNDS):
        chosen = _most_informative(rows, usable, config.count)
        information = identifiable.information(positions[chosen])
        if information.condition_number > config.max_condition:
            raise InputError(
                f"safe poses within reach tell too little apart: condition number {information.condition_number:.3g},"
                f" allowed are {config.max_condition:g}, least of all the {information.weakest}; let the arm move"
                " farther (max_displacement, margin), from elsewhere, or calibrate the bias alone"
            )
        order, lost = _short_tour(candidates, chosen, moves)
        if not lost:
            return np.array(candidates[order])
        most, least = (order, lost) if len(order) >= len(lost) else (lost, order)
        usable[least] = False
        for i in np.flatnonzero(usable).tolist():
            usable[i] = any(moves.between(candidates, i, j) for j in most)
        if np.count_nonzero(usable) < config.count:
            break
    raise InputError(
        f"no {config.count} poses are reached one from the other by safe straight moves: let the arm begin elsewhere,"
        " or ask for fewer poses"
    )


class _Moves:
    """Straight moves between poses, checked once each."""

    def __init__(self, begin: Array, is_safe: IsSafe, step: float) -> None:
        self.begin, self._is_safe, self._step = begin, is_safe, step
        self._known: dict[tuple[int, int], bool] = {}

    def is_safe(self, position: Array, other: Array) -> bool:
        """Whether both ends and what lies between are safe."""
        pieces = max(1, math.ceil(float(np.abs(other - position).max()) / self._step))
        return all(self._is_safe(position + (other - position) * i / pieces) for i in range(pieces + 1))

    def between(self, candidates: Array, i: int, j: int) -> bool:
        """Whether the move between two candidates is safe."""
        key = (min(i, j), max(i, j))
        if key not in self._known:
            self._known[key] = self.is_safe(candidates[i], candidates[j])
        return self._known[key]


def _box(
    bodies: SensedBodies, begin: Array, lower: Array, upper: Array, config: CalibrationPosesConfig
) -> tuple[Array, Array]:
    """Range (n,) in which each joint is moved."""
    low, high = position_ranges(bodies, lower, upper)
    free = config.margin * (high - low)
    endless = ~np.isfinite(np.asarray(lower)) & ~np.isfinite(np.asarray(upper))
    middle = np.where(endless, begin, 0.0)  # a joint without limits moves about where it stands
    low = np.maximum(low + free + middle, begin - config.max_displacement)
    high = np.minimum(high - free + middle, begin + config.max_displacement)
    for i in np.flatnonzero(bodies.sensed & ~(low < high)):
        raise InputError(
            f"joint '{bodies.coordinates[i]}' stands at {begin[i]:.6g} and comes with max_displacement"
            f" {config.max_displacement:g} not inside its limits less the margin: move it first"
        )
    return np.where(bodies.sensed, low, begin), np.where(bodies.sensed, high, begin)


def _candidates(
    bodies: SensedBodies, begin: Array, box: tuple[Array, Array], moves: _Moves, config: CalibrationPosesConfig
) -> Array:
    """Random poses (c, n) that are reached from the first position and left for it by a safe move."""
    rng = np.random.default_rng(config.seed)
    found: list[Array] = []
    for _ in range(10 * config.candidates):
        position = rng.uniform(*box)
        if moves.is_safe(position, begin):
            found.append(position)
        if len(found) == config.candidates:
            break
    if len(found) < config.count:
        raise InputError(
            f"of {10 * config.candidates} random poses only {len(found)} are safe to reach, {config.count} are needed:"
            " let the arm begin elsewhere, move less far (max_displacement), or allow more"
        )
    return np.array(found)


def _most_informative(rows: Array, usable: NDArray[np.bool_], count: int) -> list[int]:
    """Greedy D-optimal choice among rows (c, 6, r)."""
    A = np.concatenate((rows, np.broadcast_to(np.eye(6), (len(rows), 6, 6))), axis=2)
    size = np.square(A).sum(axis=(1, 2)).mean() / A.shape[2]
    M = NOTHING_KNOWN * size * np.eye(A.shape[2])
    free, chosen = usable.copy(), []
    for _ in range(count):
        gain = np.linalg.slogdet(np.eye(6) + np.einsum("kij,jl,kml->kim", A, np.linalg.inv(M), A, optimize=True))[1]
        best = int(np.argmax(np.where(free, gain, -np.inf)))
        M += A[best].T @ A[best]
        free[best] = False
        chosen.append(best)
    return chosen


def _short_tour(candidates: Array, chosen: list[int], moves: _Moves) -> tuple[list[int], list[int]]:
    """Chosen poses in an order of safe moves, each the nearest to the one before, and those that none reaches.

    Where the nearest ones lead into a dead end, what is left is put in between. The first position reaches all.
    """
    order: list[int] = []
    here, left = moves.begin, list(chosen)
    while left:
        left.sort(key=lambda i: float(np.abs(candidates[i] - here).max()))
        nearest = next((i for i in left if not order or moves.between(candidates, order[-1], i)), None)
        if nearest is None:
            break
        order.append(nearest)
        left.remove(nearest)
        here = candidates[nearest]
    for i in list(left):
        for place in range(len(order)):
            before_is_safe = place == 0 or moves.between(candidates, order[place - 1], i)
            if before_is_safe and moves.between(candidates, i, order[place]):
                order.insert(place, i)
                left.remove(i)
                break
    return order, left
