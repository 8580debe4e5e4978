"""ReactionlessMap: the family of reactionless paths in an arm's workspace (Nenchev et al. 1999, figure 8).

Exactly one path runs through every regular posture of an arm with ``n - rank(S H_bm) = 1``, so a family of seed
postures covers the workspace. Each seed that does not lie on a known path is traced.
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

ON_PATH = 1e-6  # [rad | m] distance below which a seed lies on a path


@dataclass(frozen=True, slots=True)
class PathPicture:
    """Points of one path at equal steps of s, for drawing.

    Attributes:
        s: (P,) path coordinate [rad | m].
        position: (P, n) joint positions [rad | m].
        tool_position: (P, 3) tool positions in the base link frame [m].
        sigma_min: (P,) smallest singular value of ``S H_bm``.
        conditioning: (P,) ``sigma_min`` relative to ``sqrt(tr(S H_b S^T) tr H_m)``.
        closed: whether the path returns to its start.
        ends: end reasons at the smallest and at the largest s.
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
        seeds: (N, n) seed postures [rad | m].
        paths: all different paths through the seeds.
        path_of_seed: (N,) index of the path through each seed, -1 if there is none.
        refused: reason why there is no path, by seed index.
    """

    seeds: Array
    paths: tuple[ReactionlessPath, ...]
    path_of_seed: NDArray[np.int64]
    refused: dict[int, str]


def map_reactionless_paths(
    model: ArmModel, seeds: Array, selection: Sequence[str] = (ALL,), **options: Any
) -> ReactionlessMap:
    """Trace the paths through seed postures; a seed without a path is recorded and is not an error.

    Args:
        model: the arm.
        seeds: (N, n) seed postures [rad | m].
        selection: elastic joints that must not be excited, or ``("all",)``.
        options: keyword arguments of :func:`trace`: limits, length, singular_threshold.

    Raises:
        ConfigError: the arm, the selection or an option does not fit.
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
    """Return points of a path at equal steps of s.

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
