r"""Integrability of reactionless motions: do they stay on a surface of joint space?

The columns of the projector P(q) to the reaction null space span a distribution (Nenchev et al. 1999, definition 3). By
Frobenius' theorem, surfaces exist that contain all reactionless motions from a posture if and only if the Lie brackets
of the columns lie in the distribution::

    [P_i, P_j] = (dP_j/dq) P_i - (dP_i/dq) P_j

Momentum along an axis is the rate of the first moment of the masses: if only translations of the base are to stay
quiet, the motions stay on the surface on which the center of mass keeps its place. Angular momentum has no such
integral: loops of reactionless motions end at other postures, as a falling cat turns. If brackets of brackets span all
joint velocities, reactionless motions lead to every posture near by (Chow's theorem).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from flexarm_core.entrance import finite, number
from flexarm_core.errors import InputError
from flexarm_core.reaction_null_space.reaction_null_space import ReactionNullSpace
from flexarm_core.types import Array

STEP = 1e-3  # [rad | m] of the differences of fourth order
INSIDE = 1e-6  # size of a singular value below which a unit bracket lies in the distribution
ORDER = 3  # largest order of brackets
STENCIL = ((-2.0, 1.0 / 12.0), (-1.0, -2.0 / 3.0), (1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))

Field = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Integrability:
    """Directions of reactionless motions at a posture, and of what combinations of them reach.

    Attributes:
        growth: numbers of independent directions: of the motions, then with brackets of order 2, 3, as long as they
            grow.
        joints: number n of joints.
        curvature: norm of the largest part of a bracket of two columns of P that is outside of the distribution [1/rad
            | 1/m].
    """

    growth: tuple[int, ...]
    joints: int
    curvature: float

    @property
    def integrable(self) -> bool:
        """Whether the motions stay on a surface with as many dimensions."""
        return len(self.growth) == 1

    def __str__(self) -> str:
        """Return what it means for a user."""
        first, last, n = self.growth[0], self.growth[-1], self.joints
        if first == 1:
            return f"1 of {n}, integrable: a path"
        if self.integrable:
            return f"{first} of {n}, integrable: they stay on a surface of {first} dimensions"
        return f"{first} of {n}, not integrable: loops of them end at other postures, in {last} of {n} directions"


def integrability(space: ReactionNullSpace, position: Array) -> Integrability:
    """Return ranks of the distribution of reactionless motions and of its brackets at joint positions (n,).

    Raises:
        InputError: the position is not n finite numbers.
    """
    q = finite("position", position, space.model.n)
    fields: Field = space.projector
    span, curvature = fields(q), 0.0
    growth: list[int] = []
    for order in range(1, ORDER + 1):
        rank = int(np.linalg.matrix_rank(span, INSIDE))
        if growth and rank == growth[-1]:
            break
        growth.append(rank)
        if rank in (1, space.model.n) or order == ORDER:
            break
        fields = _brackets(space.projector, fields)
        found = fields(q)
        if order == 1:
            curvature = float(np.linalg.norm(found - span @ found, axis=0).max())
        span = np.hstack((span, found))
    return Integrability(tuple(growth), space.model.n, curvature)


def _brackets(projector: Field, other: Field) -> Field:
    """Return the field of all brackets of columns of P (n, n) with columns of another field (n, c), (n, n c)."""

    def brackets(q: Array) -> Array:
        P, V, n = projector(q), other(q), len(q)
        dP, dV = _derivative(projector, q), _derivative(other, q)  # (n, columns, n): last index is that of q
        into = np.einsum("abk,kc->acb", dV, P) - np.einsum("ack,kb->acb", dP, V)
        flat: Array = into.reshape(n, -1)
        return flat

    return brackets


def _derivative(field: Field, q: Array) -> Array:
    steps = STEP * np.eye(len(q))
    return np.stack([sum(w / STEP * field(q + a * step) for a, w in STENCIL) for step in steps], axis=-1)


@dataclass(frozen=True, slots=True)
class ReactionlessSurface:
    """Postures that an arm with two integrable reactionless directions reaches from one without reaction.

    Attributes:
        basis: (n, 2) orthonormal directions at the start.
        position: (a, a, n) joint positions; NaN beyond a limit. The start is in the middle.
        tool_position: (a, a, 3) tool positions there, frame of the base link [m].
    """

    basis: Array
    position: Array
    tool_position: Array


def trace_surface(
    space: ReactionNullSpace,
    position: Array,
    *,
    extent: float = 1.0,
    half: int = 5,
    lower: Array | None = None,
    upper: Array | None = None,
) -> ReactionlessSurface:
    """Trace the surface of reactionless motions through a posture.

    From the start along the first direction, and from each point of this line along the second one: the integral curves
    of ``dq/ds = P(q) e`` with a fixed direction e.

    Args:
        space: arm and base motions that are to stay quiet.
        position: (n,) joint positions of the start [rad | m].
        extent: length of the lines to either side [rad | m].
        half: number of points of a line to either side.
        lower: (n,) position limits; None: those of the robot description.
        upper: (n,) position limits; None: those of the robot description.

    Raises:
        InputError: there are not exactly two directions, or they are not integrable; the message says which.
    """
    q = finite("position", position, space.model.n)
    extent, half = number("extent", extent, 0.0), int(number("half", half, 1.0))
    found = integrability(space, q)
    if found.growth[0] != 2 or not found.integrable:
        raise InputError(f"no reactionless surface through {q}: reactionless directions are {found}")
    low = space.model.lower if lower is None else finite("lower", lower, space.model.n)
    high = space.model.upper if upper is None else finite("upper", upper, space.model.n)
    basis = np.linalg.svd(space.projector(q))[0][:, :2]
    first = _line(space, q, basis[:, 0], extent, half, (low, high))
    postures = np.stack([_line(space, start, basis[:, 1], extent, half, (low, high)) for start in first])
    tools = np.full((*postures.shape[:2], 3), np.nan)
    for i, j in zip(*np.nonzero(np.isfinite(postures).all(axis=2)), strict=True):
        tools[i, j] = space.tool_position(postures[i, j])
    return ReactionlessSurface(basis, postures, tools)


def _line(
    space: ReactionNullSpace, start: Array, e: Array, extent: float, half: int, bounds: tuple[Array, Array]
) -> Array:
    """Return joint positions (2 half + 1, n) along ``dq/ds = P(q) e`` to either side, NaN where it ends."""
    points = np.full((2 * half + 1, len(start)), np.nan)
    if not np.isfinite(start).all():
        return points
    points[half] = start

    def within(_: float, q: Array) -> float:
        return float(np.minimum(q - bounds[0], bounds[1] - q).min())

    within.terminal = True  # type: ignore[attr-defined]
    for sign in (1, -1):
        s = extent * np.arange(1, half + 1) / half
        way = solve_ivp(
            lambda _, q, sign=sign: sign * (space.projector(q) @ e),
            (0.0, extent),
            start,
            "DOP853",
            s,
            events=within,
            rtol=1e-10,
            atol=1e-10,
        )
        for k, q in enumerate(np.asarray(way.y).T):
            points[half + sign * (k + 1)] = q
    return points
