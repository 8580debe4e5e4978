r"""The joint path of least reaction between two tool positions: the tool may leave the line between them.

The joints' path q(s) is a quintic B-spline, moved along by a law s(t) of the fifth order in a given time. Its
coefficients minimise by the method of Levenberg and Marquardt

    integral |d/dt (A(q) qd)|^2 dt / R^2  +  |p(q(0)) - p_0|^2 / P^2  +  |p(q(1)) - p_1|^2 / P^2
        +  (what goes beyond position, velocity and acceleration limits)^2  +  a little of  integral |q''|^2 ds

with A of :class:`ReactionlessMotions`: R [sqrt(J)] is the reaction that counts as one, a thousandth of a given scale,
and P [m] the miss that does. The
integral of the reaction is formed of differences of the momentum ``A qd`` at even times, so it needs no second
derivatives of the dynamics; derivatives of A are differences, one joint at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline, make_lsq_spline

from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.reactionless_motions import ReactionlessMotions
from flexarm_core.types import Array

DEGREE = 5
PIECES = 13  # of the spline
TIMES = 37  # at which the momentum is taken
REACTION = 1e-3  # R relative to the scale
MISS = 1e-5  # P [m]
EXCESS = 1e-3  # [rad | m] beyond a position limit that counts as one; and share of a velocity or acceleration limit
BENDING = 3e-3  # weight of q''
LOOSER = (30.0, 5.0, 1.0)  # factors of the three above, in turn: from afar, tight ones hold a path where it is
DIFFERENCE = 1e-6  # [rad | m]
STEPS = 40
LEAST_GAIN = 0.01  # share by which the sum must fall in a step
PATIENCE = 3  # steps in succession that may gain less
GOOD = 1.0  # sum of squares of reactions and misses at which it is good enough
LONGEST_STEP = 0.5  # [rad | m] of a coefficient in a step


@dataclass(frozen=True, slots=True)
class MotionBounds:
    """What the joints' motion must keep.

    Attributes:
        lower, upper: (n,) positions.
        velocity, acceleration: (n,) magnitudes.
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array


class LeastReaction:
    """The minimisation for one arm, pair of tool positions and duration."""

    def __init__(
        self,
        motions: ReactionlessMotions,
        ends: tuple[Array, Array],
        duration: float,
        bounds: MotionBounds,
        scale: float,
        fixed: bool,
    ) -> None:
        """Set up.

        Args:
            motions: of the arm.
            ends: (a,), (a,) tool positions at the start and at the end [m].
            duration: of the motion [s].
            bounds: of the joints.
            scale: reaction that would be large [sqrt(J)].
            fixed: whether the joints start where the guess does, or anywhere at that tool position.
        """
        self._motions, self._ends, self._bounds, self._fixed = motions, ends, bounds, fixed
        self._scale = scale * REACTION
        self._knots = np.r_[[0.0] * DEGREE, np.linspace(0.0, 1.0, PIECES + 1), [1.0] * DEGREE]
        law = np.array([fifth_order(time, duration) for time in np.linspace(0.0, duration, TIMES)])
        s, self._rate, self._second_rate = law.T
        self._interval = duration / (TIMES - 1)
        count = PIECES + DEGREE
        basis = BSpline(self._knots, np.eye(count), DEGREE)
        self._basis, self._first, self._second = (np.asarray(basis(s, order)) for order in (0, 1, 2))
        even = np.asarray(basis(np.linspace(0.0, 1.0, 2 * PIECES), 2))
        self._bending = BENDING / np.sqrt(len(even)) * even

    def solve(self, guess: Array) -> tuple[BSpline, float]:
        """Minimise from joint positions (g, n) at even path coordinates, g at least the number of coefficients.

        Returns:
            The path, and the square root of the integral of the squared reaction, relative to R.
        """
        s = np.linspace(0.0, 1.0, len(guess))
        coefficients = make_lsq_spline(s, guess, self._knots, DEGREE).c
        coefficients[0] = guess[0]
        for self._unit in LOOSER:
            coefficients, reaction = self._minimise(coefficients)
        return BSpline(self._knots, coefficients, DEGREE), reaction

    def _minimise(self, coefficients: Array) -> tuple[Array, float]:
        """Coefficients of the least sum of squares near some, and the part of the reaction."""
        value, rows, slopes, reaction = self._expand(coefficients)
        damping, slow = 1e-3, 0
        for _ in range(STEPS):
            square, gradient = slopes.T @ slopes, slopes.T @ rows
            diagonal = np.diag(square).copy() + 1e-9 * square.diagonal().max()
            for _ in range(8):
                step = -np.linalg.solve(square + np.diag(damping * diagonal), gradient)
                step *= min(1.0, LONGEST_STEP / np.abs(step).max())
                tried = coefficients + step.reshape(coefficients.shape)
                trial = self._expand(tried, False)[0]
                if trial < value:
                    break
                damping *= 6.0
            else:
                break
            slow = slow + 1 if trial > (1.0 - LEAST_GAIN) * value else 0
            coefficients, damping = tried, max(damping / 8.0, 1e-9)
            value, rows, slopes, reaction = self._expand(coefficients)
            if slow == PATIENCE or value < GOOD:
                break
        return coefficients, reaction

    def _expand(self, coefficients: Array, derive: bool = True) -> tuple[float, Array, Array, float]:
        """Sum of squares, what is squared, its derivative by the coefficients, and the part of the reaction."""
        count, n = coefficients.shape
        q, first, second = self._basis @ coefficients, self._first @ coefficients, self._second @ coefficients
        velocity = first * self._rate[:, None]
        acceleration = first * self._second_rate[:, None] + second * self._rate[:, None] ** 2
        parts: list[tuple[Array, Array]] = []
        momentum, slope = self._momentum(q, velocity, derive)
        # rate of the momentum over an interval, times the root of the interval: the squares sum to the integral
        scale = 1.0 / (np.sqrt(self._interval) * self._scale * self._unit)
        reaction = scale * np.diff(momentum, axis=0)
        parts.append((reaction.ravel(), scale * np.diff(slope, axis=0).reshape(-1, count * n)))
        for row, wanted in ((-1, self._ends[1]),) if self._fixed else ((0, self._ends[0]), (-1, self._ends[1])):
            tool, jacobian = self._motions.tool(q[row])
            by = np.einsum("an,c->acn", jacobian, self._basis[row]).reshape(len(tool), -1)
            parts.append(((tool - wanted) / (MISS * self._unit), by / (MISS * self._unit)))
        accelerating = self._first * self._second_rate[:, None] + self._second * self._rate[:, None] ** 2
        bounds = self._bounds
        for values, low, high, unit, by in (
            (q, bounds.lower, bounds.upper, np.ones(n), self._basis),
            (velocity, -bounds.velocity, bounds.velocity, bounds.velocity, self._first * self._rate[:, None]),
            (acceleration, -bounds.acceleration, bounds.acceleration, bounds.acceleration, accelerating),
        ):
            parts.append(_excess(values, low, high, EXCESS * self._unit * unit, by))
        parts.append(((self._bending @ coefficients).ravel(), np.kron(self._bending, np.eye(n))))
        rows = np.concatenate([part[0] for part in parts])
        value = float(rows @ rows)
        size = float(np.linalg.norm(parts[0][0]))
        if not derive:
            return value, rows, np.zeros((0, 0)), size
        slopes = np.concatenate([part[1] for part in parts])
        if self._fixed:
            slopes[:, :n] = 0.0  # the first coefficient is the start
        return value, rows, slopes, size

    def _momentum(self, q: Array, velocity: Array, derive: bool) -> tuple[Array, Array]:
        """(t, k) momenta ``A qd``, and their derivatives (t, k, c, n) by the coefficients."""
        motions, n, count = self._motions, q.shape[1], self._basis.shape[1]
        k = motions.selection.count
        momentum, slope = np.zeros((TIMES, k)), np.zeros((TIMES, k, count, n) if derive else (TIMES, k, 0))
        for i in range(1, TIMES - 1):  # at rest at both ends
            A = motions.coupling(q[i])
            momentum[i] = A @ velocity[i]
            if not derive:
                continue
            turned = np.array([motions.coupling(q[i] + DIFFERENCE * unit) @ velocity[i] for unit in np.eye(n)]).T
            by_position = (turned - momentum[i][:, None]) / DIFFERENCE
            slope[i] = np.einsum("kn,c->kcn", by_position, self._basis[i])
            slope[i] += np.einsum("kn,c->kcn", A * self._rate[i], self._first[i])
        return momentum, slope


def _excess(values: Array, low: Array, high: Array, unit: Array, basis: Array) -> tuple[Array, Array]:
    """What goes beyond limits (t, n), flat, and its derivative by the coefficients."""
    beyond = np.maximum(values - high, 0.0) - np.maximum(low - values, 0.0)
    at, joint = np.nonzero(beyond)
    slopes = np.zeros((len(at), basis.shape[1], values.shape[1]))
    slopes[np.arange(len(at)), :, joint] = basis[at] / unit[joint, None]
    return beyond[at, joint] / unit[joint], slopes.reshape(len(at), basis.shape[1] * values.shape[1])
