"""The plan of a step: its settings and its work array as one flat array, the cheapest argument of a kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from flexarm_core.compiled import allocate, views
from flexarm_core.entrance import ANY, finite, integers
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.ik_redundancy.box import Box
from flexarm_core.types import Array


class Plan(NamedTuple):
    """Settings of the step, and its work array; unless stated otherwise, one row per row of the plan."""

    rows: int  # number of rows
    threshold: float  # [m]
    band: float  # [m]
    hold: float  # 1 if joints hold still in the direction of a dropped row
    free: Annotated[Array, 1]  # 1 if there are joints without cost
    row: Annotated[Array, 6]  # row of the Jacobian
    level: Annotated[Array, 6]
    scale: Annotated[Array, 6]
    weights: Annotated[Array, "n"]  # K^-1/2; negative for a joint without cost
    # the work array of the step
    share: Annotated[Array, 6]  # realized share of each row of the Jacobian
    A: Annotated[Array, 6, "n"]  # rows of J K^-1/2, made orthonormal
    b: Annotated[Array, 6]  # demands of these rows
    label: Annotated[Array, 6]  # place of a row in the plan, as rows are reordered
    square: Annotated[Array, 6]  # squared norms of what remains of the rows
    remaining: Annotated[Array, 6]  # norms of the rows after orthogonalization [m]
    takes: Annotated[Array, 6]  # share of the row's direction that is not left to the objective
    y: Annotated[Array, "n"]  # weighted distance to the minimizer of the objective
    theirs: Annotated[Array, 6]  # 1: the row is assigned to the joints without cost
    value: Annotated[Array, 6]  # demand of such a row
    F: Annotated[Array, 6, "n"]  # such rows, for the joints without cost
    others: Annotated[Array, 6, "n"]  # such rows, for the other joints
    wanted: Annotated[Array, 6]  # motion of each row of the Jacobian without limits
    active: Annotated[Array, "n"]  # K^-1/2 while limits are active
    pull: Annotated[Array, "n"]  # weighted distance to the minimizer of the objective
    near: Annotated[Array, "n"]  # point to stay near to
    box: Box  # the problem within the bounds, weighted


view_plan = views(Plan, "n")


def make_plan(
    weights: Sequence[float] | Array,
    levels: Sequence[Sequence[int]],
    length_scale: float = 1.0,
    threshold: float = 1e-3,
    band: float = 0.0,
    hold: bool = False,
) -> Array:
    """Make the settings of the step as one flat array, the cheapest argument for a compiled function.

    Args:
        weights: (n,) k_i >= 0; only their ratios matter.
        levels: rows of the Jacobian by priority, highest first; rows of one level have equal priority; rows that are
            not listed are free.
        length_scale: factor on rows 3 to 5, to make them comparable to rows 0 to 2 [m/rad].
        threshold: norm of a row of A after orthogonalization below which the row is dropped, for a largest k of 1 [m].
        band: width of the band above the threshold in which a row is damped; 0 = none [m].
        hold: whether joints hold still in the direction of a dropped row; otherwise they are free for the objective.

    Raises:
        ConfigError: weights are negative or all zero, rows are out of range or repeated, or threshold, band or length
            scale are invalid.
    """
    try:
        k = finite("weights", weights, ANY)
        levels = [integers("levels", level, 6, ANY).tolist() for level in levels]
    except (InputError, TypeError) as error:
        raise ConfigError(str(error)) from error
    if k.ndim != 1 or not np.isfinite(k).all() or (k < 0.0).any() or not (k > 0.0).any():
        raise ConfigError(f"weights must be finite, >= 0 and not all zero, got {weights}")
    rows = [int(row) for level in levels for row in level]
    if len(set(rows)) != len(rows) or not set(rows) <= set(range(6)):
        raise ConfigError(f"levels must name rows 0 to 5, each once at most, got {levels}")
    for name, value in (("threshold", threshold), ("band", band)):
        if not (math.isfinite(value) and value >= 0.0):
            raise ConfigError(f"{name} must be >= 0 m, got {value}")
    if not (math.isfinite(length_scale) and length_scale > 0.0):
        raise ConfigError(f"length_scale must be > 0 m/rad, got {length_scale}")
    plan, parts = allocate(view_plan, len(k))
    plan[:4] = len(rows), threshold, band, hold  # the numbers
    parts.free[:], parts.weights[:] = (k == 0.0).any(), weight_roots(k)
    parts.row[: len(rows)], parts.scale[: len(rows)] = rows, np.where(np.array(rows) >= 3, length_scale, 1.0)
    parts.level[: len(rows)] = [rank for rank, level in enumerate(levels) for _ in level]
    return plan


def weight_roots(weights: Array) -> Array:
    """Compute ``K^-1/2`` (n,) of weights (n,) scaled to a largest weight of 1; negative for a joint without cost."""
    weights = finite("weights", weights, ANY)
    if not weights.size:
        raise InputError("weights are empty: one a joint is needed")
    k = weights / weights.max()
    return np.where(k > 0.0, 1.0 / np.sqrt(np.where(k > 0.0, k, 1.0)), -1.0)
