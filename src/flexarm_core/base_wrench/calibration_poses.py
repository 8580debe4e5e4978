r"""Static poses that determine bias and gravity parameters best: greedy D-optimal selection from random safe poses.

With the rows ``A_i = N^-1 [Y_i S T, 1]`` of pose ``i`` (see :mod:`gravity_parameters`) and the information matrix ``M``
of the poses selected so far, the next pose maximizes ``det(M + A_i^T A_i) / det(M) = det(1 + A_i M^-1 A_i^T)``.
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
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array

IsSafe = Callable[[Array], bool]
NOTHING_KNOWN = 1e-6  # initial information of the selection, relative to the mean information of a pose
ROUNDS = 20  # number of attempts, in each of which poses that no safe move reaches are replaced


@dataclass(frozen=True, slots=True)
class CalibrationPosesConfig(Settings):
    """Settings of the selection of poses."""

    # fmt: off
    count: int = setting(24, "number of poses", "", 2)
    margin: float = setting(0.1, "fraction of each joint's range that is not used at either end", "", 0.0, 0.499)
    max_displacement: float = setting(math.inf,
        "largest displacement of each joint from its current position", "rad | m", 1e-9)
    max_condition: float = setting(100.0,
        "largest condition number of the gravity parameters over the poses", "", 1.0 + 1e-9)
    step: float = setting(0.05,
        "largest joint displacement between two positions at which a move is checked", "rad | m", 1e-9)
    candidates: int = setting(400, "number of random safe poses from which the poses are selected")
    seed: int = setting(0, "seed of the random poses")
    # fmt: on

    def check(self) -> None:
        """Raise ConfigError for fewer candidates than poses."""
        if self.candidates < self.count:
            raise ConfigError(f"candidates must be at least count = {self.count}, got {self.candidates}")


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
    """Return poses (k, n) in the order of the run, which starts and ends at ``begin``, with straight joint-space moves.

    Joints that the sensor does not carry keep their positions.

    Args:
        bodies: bodies above the sensor.
        begin: (n,) current joint positions [rad | m].
        lower: (n,) lower position limits, -inf for joints without a limit [rad | m].
        upper: (n,) upper position limits, inf for joints without a limit [rad | m].
        is_safe: function of joint positions (n,), such as :class:`LinkHeights`; evaluated along all moves.
        config: selection settings.
        gravity: (3,) gravity vector in the root link frame [m/s^2].
        noise: standard deviations of force and torque samples [N, N*m].

    Raises:
        ConfigError: the limits do not fit the robot.
        InputError: the current position is not safe, there are too few safe poses, or the safe poses do not determine
            the gravity parameters well enough; the message states the remedy.
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
    """Straight moves between poses; each result is cached."""

    def __init__(self, begin: Array, is_safe: IsSafe, step: float) -> None:
        self.begin, self._is_safe, self._step = begin, is_safe, step
        self._known: dict[tuple[int, int], bool] = {}

    def is_safe(self, position: Array, other: Array) -> bool:
        """Return whether both ends of a move and the positions in between are safe."""
        pieces = max(1, math.ceil(float(np.abs(other - position).max()) / self._step))
        return all(self._is_safe(position + (other - position) * i / pieces) for i in range(pieces + 1))

    def between(self, candidates: Array, i: int, j: int) -> bool:
        """Return whether the move between two candidates is safe."""
        key = (min(i, j), max(i, j))
        if key not in self._known:
            self._known[key] = self.is_safe(candidates[i], candidates[j])
        return self._known[key]


def _box(
    bodies: SensedBodies, begin: Array, lower: Array, upper: Array, config: CalibrationPosesConfig
) -> tuple[Array, Array]:
    """Return the lower and upper ends (n,) of the range in which each joint is moved [rad | m]."""
    low, high = position_ranges(bodies, lower, upper)
    free = config.margin * (high - low)
    endless = ~np.isfinite(np.asarray(lower)) & ~np.isfinite(np.asarray(upper))
    middle = np.where(endless, begin, 0.0)  # the range of a joint without limits is centered at its position
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
    """Return random poses (c, n) that have a safe move from and to the first position."""
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
    """Select ``count`` usable candidates by greedy D-optimality, from their rows (c, 6, r)."""
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
    """Return the selected poses in an order that needs safe moves only, and the poses that do not fit into it.

    The order is built by nearest neighbor. At a dead end, each remaining pose is inserted before an earlier pose if the
    moves to and from it are safe. Moves from and to the first position are safe for all poses.
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
