"""ReactionlessMap: the family of reactionless paths in an arm's workspace (Nenchev et al. 1999, figure 8).

Through every regular posture of an arm with ``n - rank(S H_bm) = 1`` runs exactly one path, so a family of seeds covers
the workspace: each seed that lies on no path yet is traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.coupling.null_direction import ALL
from flexarm_core.reaction_null_space.reactionless.path import ReactionlessPath
from flexarm_core.reaction_null_space.reactionless.trace import trace
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array

LARGEST_GRID = 100_000
ON_PATH = 1e-6  # [rad | m]: a seed this near to a path lies on it


@dataclass(frozen=True, slots=True)
class PathPicture:
    """What is drawn of one path: points at equal steps of s.

    Attributes:
        s: (P,) path coordinate [rad | m].
        position: (P, n) joint positions [rad | m].
        tool_position: (P, 3) in the base link's frame [m].
        sigma_min: (P,) smallest singular value of ``S H_bm``.
        conditioning: (P,) the same relative to ``sqrt(tr(S H_b S^T) tr H_m)``.
        closed: whether the path comes back to its start.
        ends: reasons at its least and its greatest s.
    """

    s: Array
    position: Array
    tool_position: Array
    sigma_min: Array
    conditioning: Array
    closed: bool
    ends: tuple[str, str]


@dataclass(frozen=True, slots=True)
class ReactionlessMap:
    """A family of paths.

    Attributes:
        seeds: (N, n) postures [rad | m].
        paths: every different path through them.
        path_of_seed: (N,) index of the path through each seed, -1 where there is none.
        refused: by seed index, why there is none.
    """

    seeds: Array
    paths: tuple[ReactionlessPath, ...]
    path_of_seed: NDArray[np.int64]
    refused: dict[int, str]


def seed_grid(lower: Array, upper: Array, counts: Sequence[int]) -> Array:
    """Postures (N, n) on a grid, the last joint changing first.

    Args:
        lower: (n,) first value of each joint [rad | m].
        upper: (n,) last value of each joint [rad | m].
        counts: (n) values of each joint; 1: the lower one only.

    Raises:
        ConfigError: shapes that do not fit, not finite, a count below 1 or more than 100,000 postures.
    """
    low, high = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    fits = low.shape == high.shape == (len(counts),) and np.isfinite(low).all() and np.isfinite(high).all()
    if not fits or min(counts, default=0) < 1 or np.prod(counts) > LARGEST_GRID:
        raise ConfigError(
            f"grid from {low} to {high} by {tuple(counts)}: give a finite lower and upper value and a count of at least"
            f" 1 for every joint, at most {LARGEST_GRID} postures in all"
        )
    axes = [np.linspace(a, b, count) for a, b, count in zip(low, high, counts, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(counts))


def map_reactionless_paths(
    model: ArmModel, seeds: Array, selection: Sequence[str] = (ALL,), **options: Any
) -> ReactionlessMap:
    """Trace the paths through seeds; a seed without a path is recorded, not an error.

    Args:
        model: the arm.
        seeds: (N, n) postures [rad | m].
        selection: elastic joints that must not be excited, or ``("all",)``.
        options: of :func:`trace`: limits, length, singular_threshold.

    Raises:
        ConfigError: the arm, the selection or an option do not fit.
    """
    postures = np.atleast_2d(np.asarray(seeds, dtype=float))
    paths: list[ReactionlessPath] = []
    of_seed, refused = np.full(len(postures), -1, dtype=np.int64), {}
    for index, seed in enumerate(postures):
        known = next((i for i, path in enumerate(paths) if path.nearest(seed)[1] < ON_PATH), None)
        if known is None:
            try:
                paths.append(trace(model, seed, selection, **options))
            except InputError as reason:
                refused[index] = str(reason)
                continue
            known = len(paths) - 1
        of_seed[index] = known
    return ReactionlessMap(postures, tuple(paths), of_seed, refused)


def draw(path: ReactionlessPath, spacing: float = 0.05) -> PathPicture:
    """Points of a path at equal steps of s.

    Args:
        path: the path.
        spacing: largest step [rad | m].

    Raises:
        ConfigError: the spacing is not positive.
    """
    if not spacing > 0.0:
        raise ConfigError(f"spacing is {spacing}, expected a positive number")
    s = np.linspace(path.start, path.end, max(2, int(np.ceil(path.length / spacing)) + 1))
    positions = np.array([path.position(each) for each in s])
    if path.closed:
        positions[-1] = positions[0] + path.turns
    vectors = [path.field.at(position) for position in positions]
    return PathPicture(
        s=s,
        position=positions,
        tool_position=np.array([path.field.tool_position(position) for position in positions]),
        sigma_min=np.array([vector.sigma_min for vector in vectors]),
        conditioning=np.array([vector.conditioning for vector in vectors]),
        closed=path.closed,
        ends=(path.backward_end.reason, path.forward_end.reason),
    )
