"""The plan of a step: its settings and its work array as one flat array, the cheapest argument of a kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from flexarm_core.compiled import kernel, view
from flexarm_core.entrance import ANY, finite, integers
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.types import Array

# Layout of a plan: settings, rows, (n,) K^-1/2, then the work array of the step.
ROWS, THRESHOLD, BAND, HOLD, FREE = 0, 1, 2, 3, 4
ROW, LEVEL, SCALE = 8, 14, 20
WEIGHTS = 26


class StepMemory(NamedTuple):
    """Work array of the step; unless stated otherwise, arrays (6,) and (6, n) have one row per row of the plan."""

    share: Array  # (6,) realized share of each row of the Jacobian
    A: Array  # (6, n) rows of J K^-1/2, made orthonormal
    b: Array  # (6,) demands of these rows
    label: Array  # (6,) place of a row in the plan, as rows are reordered
    square: Array  # (6,) squared norms of what remains of the rows
    remaining: Array  # (6,) norms of the rows after orthogonalization [m]
    takes: Array  # (6,) share of the row's direction that is not left to the objective
    y: Array  # (n,) weighted distance to the minimizer of the objective
    theirs: Array  # (6,) 1: the row is assigned to the joints without cost
    value: Array  # (6,) demand of such a row
    F: Array  # (6, n) such rows, for the joints without cost
    others: Array  # (6, n) such rows, for the other joints
    wanted: Array  # (6,) motion of each row of the Jacobian without limits
    active: Array  # (n,) K^-1/2 while limits are active
    low: Array  # (n,) lower bounds, weighted
    high: Array  # (n,) upper bounds, weighted
    u: Array  # (n,) solution within the bounds, weighted
    G: Array  # (6, n) rows of the problem within the bounds
    goal: Array  # (6,) demands of these rows
    pull: Array  # (n,) weighted distance to the minimizer of the objective
    near: Array  # (n,) point to stay near to
    box: Array  # (72 + 2 n,) work array of nearest_in_box


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
    plan = np.zeros(WEIGHTS + len(k) + memory_size(len(k)))
    plan[[ROWS, THRESHOLD, BAND, HOLD, FREE]] = len(rows), threshold, band, hold, (k == 0.0).any()
    ranks = [rank for rank, level in enumerate(levels) for _ in level]
    for place, (row, rank) in enumerate(zip(rows, ranks, strict=True)):
        plan[[ROW + place, LEVEL + place]] = row, rank
        plan[SCALE + place] = length_scale if row >= 3 else 1.0
    plan[WEIGHTS : WEIGHTS + len(k)] = weight_roots(k)
    return plan


def weight_roots(weights: Array) -> Array:
    """Compute ``K^-1/2`` (n,) of weights (n,) scaled to a largest weight of 1; negative for a joint without cost."""
    weights = finite("weights", weights, ANY)
    if not weights.size:
        raise InputError("weights are empty: one a joint is needed")
    k = weights / weights.max()
    return np.where(k > 0.0, 1.0 / np.sqrt(np.where(k > 0.0, k, 1.0)), -1.0)


@kernel
def memory_size(n: int) -> int:
    """Return the size of the work array of the step, with or without limits, for ``n`` joints."""
    return 132 + 33 * n


@kernel
def view_weights(plan: Array, n: int) -> Array:
    """Return K^-1/2 (n,) of a plan."""
    return view(plan, WEIGHTS, (n,))


@kernel
def view_memory(plan: Array, n: int) -> StepMemory:
    """View the end of a plan as the work array of the step."""
    share, i = view(plan, WEIGHTS + n, (6,)), WEIGHTS + n + 6
    A, i = view(plan, i, (6, n)), i + 6 * n
    b, i = view(plan, i, (6,)), i + 6
    label, i = view(plan, i, (6,)), i + 6
    square, i = view(plan, i, (6,)), i + 6
    remaining, i = view(plan, i, (6,)), i + 6
    takes, i = view(plan, i, (6,)), i + 6
    y, i = view(plan, i, (n,)), i + n
    theirs, i = view(plan, i, (6,)), i + 6
    value, i = view(plan, i, (6,)), i + 6
    F, i = view(plan, i, (6, n)), i + 6 * n
    others, i = view(plan, i, (6, n)), i + 6 * n
    wanted, i = view(plan, i, (6,)), i + 6
    active, i = view(plan, i, (n,)), i + n
    low, i = view(plan, i, (n,)), i + n
    high, i = view(plan, i, (n,)), i + n
    u, i = view(plan, i, (n,)), i + n
    G, i = view(plan, i, (6, n)), i + 6 * n
    goal, i = view(plan, i, (6,)), i + 6
    pull, i = view(plan, i, (n,)), i + n
    near, i = view(plan, i, (n,)), i + n
    box = view(plan, i, (72 + 2 * n,))
    return StepMemory(
        share, A, b, label, square, remaining, takes, y, theirs, value, F, others, wanted, active, low, high, u, G,
        goal, pull, near, box,
    )  # fmt: skip
