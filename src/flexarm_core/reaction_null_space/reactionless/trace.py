"""Trace the reactionless path through a posture in both directions, until one of several end conditions is met.

The end conditions are a joint limit, a singularity, the return to the start, and a given length. ``dq/ds = n(q)`` is
integrated by the Runge-Kutta method DOP853 of order 8 with an error far below 1e-10 per unit of s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.integrate import DOP853
from scipy.interpolate import BPoly
from scipy.optimize import brentq

from flexarm_core.errors import ConfigError, InputError, JointLimitError
from flexarm_core.reaction_null_space.coupling.null_direction import ALL, NullDirection
from flexarm_core.reaction_null_space.reactionless.path import PathEnd, PathKnots, ReactionlessPath
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array

TOLERANCE = 1e-12  # integration tolerance per step
KNOT_ERROR = 1e-11  # largest difference between the polynomials between knots and the integrator
LONGEST_STEP = 0.1  # [rad | m] short enough to detect every limit crossing and every return to the start
CLOSING = 1e-7  # largest distance from the start at which a path that returns to its start counts as closed

Curve = Callable[[float], Array]


def trace(
    model: ArmModel,
    position: Array,
    selection: Sequence[str] = (ALL,),
    *,
    lower: Array | None = None,
    upper: Array | None = None,
    length: float = 50.0,
    singular_threshold: float = 1e-4,
) -> ReactionlessPath:
    """Trace the reactionless path through a posture.

    The base is assumed to be at rest without deflection. Under gravity, the weight of the arm must not load the
    selected directions, or must load them equally in every posture.

    Args:
        model: the arm, with ``n - rank(S H_bm) = 1``.
        position: (n,) joint positions at s = 0; s increases in the direction in which the largest component of n is
            positive.
        selection: elastic joints that must not be excited, or ``("all",)``.
        lower: (n,) position limits; None: those of the robot description.
        upper: (n,) position limits; None: those of the robot description.
        length: path length at which tracing ends, in each direction [rad | m].
        singular_threshold: smallest singular value of ``S H_bm``, relative to ``sqrt(tr(S H_b S^T) tr H_m)``, at which
            tracing ends.

    Raises:
        ConfigError: the arm and the selection do not fit, or a parameter is invalid.
        InputError: the posture exceeds a limit, is singular, or does not have exactly one reactionless direction.
    """
    field = NullDirection(model, selection)
    if not (length > 0.0 and np.isfinite(length) and 0.0 < singular_threshold < 1.0):
        raise ConfigError(f"length {length} must be positive and singular_threshold {singular_threshold} in (0, 1)")
    start = field.check_position(position)
    bounds = _bounds(model, lower, upper)
    for joint, name in enumerate(model.joint_names):
        if not bounds[0][joint] <= start[joint] <= bounds[1][joint]:
            raise JointLimitError(
                f"joint '{name}' at {start[joint]:.6g} is beyond its limits"
                f" [{bounds[0][joint]:.6g}, {bounds[1][joint]:.6g}]",
                name,
                float(start[joint]),
                float(bounds[0][joint]),
                float(bounds[1][joint]),
            )
    vector = field.at(start)
    if vector.conditioning <= singular_threshold:
        raise InputError(
            f"no reactionless path through {start}: the rank of the coupling to {', '.join(field.selection)} is not"
            f" {model.n - 1} there (relative singular value {vector.conditioning:.3g})"
        )
    tangent = vector.tangent * np.sign(vector.tangent[np.abs(vector.tangent).argmax()])
    tracer = _Tracer(field, start, bounds, length, singular_threshold)
    forward = tracer.run(tangent)
    if forward.end.reason == "closed":
        knots = _knots(field, start, tangent, forward.parts)
        knots.position[-1] = field.model.turns.near(start, knots.position[-1])
        return ReactionlessPath(field, knots, forward.end, forward.end, forward.miss)
    backward = tracer.run(-tangent)
    if not (forward.parts or backward.parts):
        raise InputError(f"no reactionless path through {start}: it leaves the joint limits either way")
    ahead = _knots(field, start, tangent, forward.parts)
    behind = _knots(field, start, -tangent, backward.parts)
    return ReactionlessPath(field, _joined(behind, ahead), backward.end, forward.end)


def _bounds(model: ArmModel, lower: Array | None, upper: Array | None) -> tuple[Array, Array]:
    """Return the position limits (n,) that apply."""
    low = model.lower if lower is None else np.array(lower, dtype=float)
    high = model.upper if upper is None else np.array(upper, dtype=float)
    if not (low.shape == high.shape == (model.n,) and (low < high).all()):  # also false for NaN
        raise ConfigError(f"limits from {low} to {high}: give {model.n} numbers each, the lower below the upper")
    return low, high


class _Way:
    """Path in one direction from the start: parts ``(begin, end, curve)`` in the order of s, and the end reason."""

    def __init__(self) -> None:
        self.parts: list[tuple[float, float, Curve]] = []
        self.end = PathEnd("length")
        self.miss = 0.0


class _Tracer:
    """Integrates from the start, in one direction at a time."""

    def __init__(
        self, field: NullDirection, start: Array, bounds: tuple[Array, Array], length: float, threshold: float
    ) -> None:
        self._field, self._start, self._bounds = field, start, bounds
        self._length, self._threshold = length, threshold

    def run(self, tangent: Array) -> _Way:
        way, heading, first = _Way(), tangent, tangent

        def direction(_: float, position: Array) -> Array:
            found = self._field.at(position).tangent
            return found if found @ heading > 0.0 else -found

        solver = DOP853(
            direction, 0.0, self._start, self._length, rtol=TOLERANCE, atol=TOLERANCE, max_step=LONGEST_STEP
        )
        while solver.status == "running":
            failure = solver.step()
            if failure:  # the step size has become too small: such a sharp turn is a singularity
                way.end = PathEnd("singular_coupling")
                return way
            curve, begin = solver.dense_output(), float(solver.t_old)
            end, reason = self._first_end(curve, begin, float(solver.t), first)
            if end > begin:
                way.parts.append((begin, end, curve))
            if reason is not None:
                way.end = reason
                if reason.reason == "closed":
                    way.miss = float(np.linalg.norm(self._field.difference(curve(end), self._start)))
                return way
            heading = direction(0.0, solver.y)
        return way

    def _first_end(self, curve: Curve, begin: float, end: float, first: Array) -> tuple[float, PathEnd | None]:
        """Return where in a step the path ends, and why; the end of the step and None if it continues."""
        found: list[tuple[float, PathEnd]] = []
        marks = np.linspace(begin, end, 5)
        limit = self._limit(curve, marks)
        if limit is not None:
            found.append(limit)
        singular = self._singular(curve, begin, end)
        if singular is not None:
            found.append((singular, PathEnd("singular_coupling")))
        closing = self._closing(curve, marks, first)
        if closing is not None:
            found.append((closing, PathEnd("closed")))
        return min(found, key=lambda each: each[0]) if found else (end, None)

    def _limit(self, curve: Curve, marks: Array) -> tuple[float, PathEnd] | None:
        lower, upper = self._bounds

        def room(s: float) -> Array:
            position = curve(s)
            return np.minimum(position - lower, upper - position)

        rooms = np.array([room(s) for s in marks])
        for index in range(len(marks) - 1):
            beyond = np.flatnonzero(rooms[index + 1] < 0.0)
            roots = [
                brentq(lambda s, j=joint: room(s)[j], marks[index], marks[index + 1], xtol=1e-14)
                if rooms[index, joint] > 0.0
                else marks[index]
                for joint in beyond
            ]
            if roots:
                name = self._field.model.joint_names[beyond[int(np.argmin(roots))]]
                # slightly before the limit, so that the joint is not found beyond it
                return max(float(marks[index]), float(min(roots)) - 1e-12), PathEnd("joint_limit", name)
        return None

    def _singular(self, curve: Curve, begin: float, end: float) -> float | None:
        """Return the first s at which the coupling is singular, None if there is none.

        Singular values change by at most as much as the matrix does. An interval is therefore taken as free of
        singularities if twice the matrix change between its ends is at most the sum of the smallest singular values
        there; other intervals are halved. This also stops a path that runs straight through a singular posture, where
        the direction stays smooth.
        """

        def look(s: float) -> tuple[float, float, float, Array]:
            position = curve(s)
            vector = self._field.at(position)
            return s, vector.conditioning - self._threshold, vector.sigma_min, self._field.coupling(position)

        def search(a: tuple[float, float, float, Array], b: tuple[float, float, float, Array]) -> float | None:
            if b[1] <= 0.0:
                return float(brentq(lambda s: look(s)[1], a[0], b[0], xtol=1e-12)) if a[1] > 0.0 else a[0]
            if a[2] + b[2] > 2.0 * float(np.linalg.norm(b[3] - a[3], 2)) or b[0] - a[0] < 1e-9:
                return None
            middle = look(0.5 * (a[0] + b[0]))
            before = search(a, middle)
            return before if before is not None else search(middle, b)

        return search(look(begin), look(end))

    def _closing(self, curve: Curve, marks: Array, first: Array) -> float | None:
        """Return where the path passes its start, if it passes close enough to count as closed, otherwise None."""
        gaps = [self._field.difference(curve(s), self._start) for s in marks]
        sides = [float(gap @ first) for gap in gaps]
        for a, b, gap, before, after in zip(marks, marks[1:], gaps, sides, sides[1:], strict=False):
            if before < 0.0 <= after and float(np.linalg.norm(gap)) < LONGEST_STEP:
                s = brentq(lambda t: self._field.difference(curve(t), self._start) @ first, a, b, xtol=1e-14)
                gap = self._field.difference(curve(s), self._start)
                bounded = np.isfinite(self._bounds[0]) | np.isfinite(self._bounds[1])
                turned = np.abs(curve(s) - self._start - gap) > 1.0  # whole turns are impossible for joints with limits
                if float(np.linalg.norm(gap)) < CLOSING and not (bounded & turned).any():
                    return float(s)
        return None


def _knots(field: NullDirection, start: Array, tangent: Array, parts: list[tuple[float, float, Curve]]) -> PathKnots:
    """Return the knots of one direction, so dense that the polynomials between them agree with the integrator."""

    def knot(s: float, position: Array, heading: Array) -> tuple[float, Array, Array, Array, float, Array]:
        vector = field.at(position)
        n = vector.tangent if vector.tangent @ heading > 0.0 else -vector.tangent
        return s, position, n, field.turn(position, vector, n), vector.sigma_min, field.tool_position(position)

    found = [knot(0.0, start, tangent)]

    def fill(end: float, curve: Curve) -> None:
        last, middle = found[-1], 0.5 * (found[-1][0] + end)
        new = knot(end, curve(end), last[2])
        between = BPoly.from_derivatives([last[0], end], [list(last[1:4]), list(new[1:4])])
        if end - last[0] > 1e-6 and np.abs(between(middle) - curve(middle)).max() > KNOT_ERROR:
            fill(middle, curve)
            fill(end, curve)
        else:
            found.append(new)

    for _, end, curve in parts:
        fill(end, curve)
    return PathKnots(*(np.array(column) for column in zip(*found, strict=True)))


def _joined(behind: PathKnots, ahead: PathKnots) -> PathKnots:
    """Join both directions into one path: the backward part is reversed; the curvature keeps its sign."""

    def join(a: Array, b: Array, sign: float = 1.0) -> Array:
        return np.concatenate((sign * a[:0:-1], b))

    return PathKnots(
        join(behind.s, ahead.s, -1.0),
        join(behind.position, ahead.position),
        join(behind.tangent, ahead.tangent, -1.0),
        join(behind.curvature, ahead.curvature),
        join(behind.sigma_min, ahead.sigma_min),
        join(behind.tool_position, ahead.tool_position),
    )
