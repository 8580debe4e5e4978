r"""Joint path of least reaction between two tool positions; the tool may leave the line between them.

The joint path q(s) is a quintic B-spline with a fifth-order time law s(t) of given duration. The Levenberg-Marquardt
method finds the coefficients that minimize

    mean |W (d/dt(H_bm(q) qd) + g_b(q) - g_b(q(0)))|^2 / R^2  +  |p(q(0)) - p_0|^2 / P^2  +  |p(q(1)) - p_1|^2 / P^2
        +  (violation of position, velocity and acceleration limits, and shortfall of the conditioning)^2
        +  a small weight times  integral |q''|^2 ds

with the momentum and the gravity load of :class:`CouplingMomentum`, in all directions of the base, which starts in
equilibrium. R [sqrt(J)] and P [m] are the reaction and the tool error that give a term of 1. Reactions are differences
of the momentum at equally spaced times, so second derivatives of the dynamics are not needed. The conditioning is that
of the selected coupling at the start. Far from the solution, small R and P hardly let the path move, so they are
reduced in :data:`STAGES`.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline, make_lsq_spline
from scipy.linalg import cho_factor, cho_solve

from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.coupling.coupling_momentum import CouplingMomentum
from flexarm_core.reaction_null_space.reactionless.motions import ReactionlessMotions
from flexarm_core.reaction_null_space.vibration.motion_limits import MotionBounds, MotionLimits
from flexarm_core.types import Array

DEGREE = 5
PIECES = 13  # number of spline pieces
TIMES = 37  # number of times at which the momentum is evaluated
MISS = 1e-5  # P [m]
EXCESS = 1e-3  # violation that gives a term of 1: position [rad | m], share of other limits, shortfall of conditioning
BENDING = 1e-2  # weight of q''
# R relative to the scale, and a factor on MISS and EXCESS, for each stage
STAGES = ((0.3, 30.0), (0.1, 5.0), (0.03, 1.0), (0.01, 1.0))
STEPS = 30  # largest number of steps in a stage
LEAST_GAIN = 0.01  # share by which a step must reduce the sum; otherwise it counts as slow
TRIES = 8  # largest number of tries for a step, each with more damping
ROUNDS = 4  # largest number of rounds in which limits that a step would violate are added to its model
PATIENCE = 3  # number of consecutive slow steps after which the stage ends
DIFFERENCE = 1e-6  # [rad | m] step of the finite difference of the conditioning
LONGEST_STEP = 0.5  # [rad | m] largest change of a coefficient in a step


class LeastReaction:
    """Optimization for one arm, one pair of tool positions and one duration."""

    def __init__(
        self,
        motions: ReactionlessMotions,
        momentum: CouplingMomentum,
        ends: tuple[Array, Array],
        duration: float,
        bounds: MotionBounds,
        fixed: bool,
        least_conditioning: float = 0.0,
    ) -> None:
        """Set up.

        Args:
            motions: reactionless motions of the arm.
            momentum: coupling momentum of the arm.
            ends: (a,), (a,) tool positions at the start and at the end [m].
            duration: duration of the motion [s].
            bounds: bounds of the joint motion.
            fixed: whether the start posture is kept; otherwise it may be any posture at that tool position.
            least_conditioning: least ``sigma_min / sigma_max`` of the selected coupling at the start.
        """
        self._motions, self._momentum, self._fixed = motions, momentum, fixed
        self._ends, self._least_conditioning = ends, least_conditioning
        self._conditioned = least_conditioning > 0.0 and not fixed
        self._knots = np.r_[[0.0] * DEGREE, np.linspace(0.0, 1.0, PIECES + 1), [1.0] * DEGREE]
        law = np.array([fifth_order(time, duration) for time in np.linspace(0.0, duration, TIMES)])
        s, rate, second_rate = law[:, 0], law[:, 1:2], law[:, 2:3]
        self._interval = duration / (TIMES - 1)
        basis = BSpline(self._knots, np.eye(PIECES + DEGREE), DEGREE)
        # coefficients -> positions, velocities and accelerations at those times
        self._position, first, second = (np.asarray(basis(s, order)) for order in (0, 1, 2))
        self._velocity = first * rate
        self._acceleration = first * second_rate + second * rate**2
        self._limits = MotionLimits(bounds, self._position, self._velocity, self._acceleration)
        even = np.asarray(basis(np.linspace(0.0, 1.0, 2 * PIECES), 2))
        bending = BENDING / np.sqrt(len(even)) * even
        self._bending, self._bending_slopes = bending, np.kron(bending, np.eye(motions.model.n))

    def begin(self, guess: Array) -> Array:
        """Return coefficients (c, n) of a path near joint positions (g, n) at equally spaced path coordinates."""
        s, fine = np.linspace(0.0, 1.0, len(guess)), np.linspace(0.0, 1.0, 3 * PIECES)
        coefficients = make_lsq_spline(fine, make_interp_spline(s, guess, k=1)(fine), self._knots, DEGREE).c
        coefficients[0] = guess[0]
        return np.asarray(coefficients)

    def path(self, coefficients: Array) -> BSpline:
        """Return the joint positions as a function of the path coordinate from 0 to 1."""
        return BSpline(self._knots, coefficients, DEGREE)

    def peak_reaction(self, coefficients: Array) -> float:
        """Return the largest norm of the reaction along the path [sqrt(J)].

        Half its square is the elastic energy if the motion is slow.
        """
        return float(np.linalg.norm(self._reactions(coefficients), axis=1).max())

    def improve(self, coefficients: Array, scale: float, stage: tuple[float, float], emphasis: float = 1.0) -> Array:
        """Return coefficients (c, n) of a local minimum of the sum of squares.

        Args:
            coefficients: (c, n) initial coefficients.
            scale: a large reaction, to which R is relative [sqrt(J)].
            stage: one of :data:`STAGES`.
            emphasis: additional weight factor on reactions on the selected motions.
        """
        self._emphasis = np.eye(len(self._motions.selected_loads)) + (emphasis - 1.0) * self._motions.selected_loads
        self._share = 1.0 / (scale * stage[0] * np.sqrt(TIMES - 1))  # the sum of squares is the mean divided by R^2
        self._unit = stage[1]
        value, (damping, slow) = self._value(coefficients), (1e-3, 0)
        for _ in range(STEPS):
            model = self._model(coefficients)
            for _ in range(TRIES):
                step = self._step(coefficients, damping, *model)
                step *= min(1.0, LONGEST_STEP / max(np.abs(step).max(), 1e-12))
                trial = self._value(coefficients + step)
                if trial < value:
                    break
                damping *= 6.0
            else:
                break
            slow = slow + 1 if trial > (1.0 - LEAST_GAIN) * value else 0
            coefficients, value, damping = coefficients + step, trial, max(damping / 8.0, 1e-9)
            if slow == PATIENCE:
                break
        return coefficients

    def _step(self, coefficients: Array, damping: float, square: Array, gradient: Array, lack: Array) -> Array:
        """Return the step (c, n) to the minimum of the quadratic model, including limits violated by the step."""
        count, n = coefficients.shape
        size, unit = count * n, EXCESS * self._unit
        counted, short = self._limits.passed(coefficients), lack[0] > 0.0
        for _ in range(ROUNDS):
            whole, slope = square.reshape(count, n, count, n).copy(), gradient.reshape(count, n).copy()
            self._limits.add(coefficients, counted, unit, whole, slope)
            if short:
                whole[0, :, 0, :] += np.outer(lack[1:], lack[1:])
                slope[0] += lack[0] * lack[1:]
            if self._fixed:  # the first coefficient is the start posture
                whole[0], whole[:, :, 0], slope[0] = 0.0, 0.0, 0.0
            flat = whole.reshape(size, size)
            diagonal = flat.diagonal() + 1e-9 * flat.diagonal().max()
            factor = cho_factor(flat + np.diag(damping * diagonal), overwrite_a=True)
            step = np.asarray(-cho_solve(factor, slope.ravel())).reshape(count, n)
            passed, lacks = self._limits.passed(coefficients + step), lack[0] + lack[1:] @ step[0] > 0.0
            if not (passed & ~counted).any() and (short or not lacks):
                break
            counted, short = counted | passed, bool(short or lacks)
        return step

    def _reactions(self, coefficients: Array) -> Array:
        """Return the reactions (t - 1, m) between the times."""
        q = self._position @ coefficients
        found = np.diff(self._momentum.at(q, self._velocity @ coefficients), axis=0) / self._interval
        if self._momentum.weighs:
            weights = self._momentum.weights(q)
            found += 0.5 * (weights[1:] + weights[:-1]) - weights[0]
        return found

    def _reaction_slopes(self, coefficients: Array) -> tuple[Array, Array]:
        """Return the reactions and their derivative (t - 1, m, c, n) with respect to the coefficients."""
        q = self._position @ coefficients
        momenta, turning, coupling = self._momentum.derivatives(q, self._velocity @ coefficients)
        slope = turning[:, :, None, :] * self._position[:, None, :, None]
        slope += coupling[:, :, None, :] * self._velocity[:, None, :, None]
        found, slopes = np.diff(momenta, axis=0) / self._interval, np.diff(slope, axis=0) / self._interval
        if self._momentum.weighs:
            weights, by = self._momentum.weight_derivatives(q)
            found += 0.5 * (weights[1:] + weights[:-1]) - weights[0]
            slope = by[:, :, None, :] * self._position[:, None, :, None]
            slopes += 0.5 * (slope[1:] + slope[:-1]) - slope[0]
        return found, slopes

    def _value(self, coefficients: Array) -> float:
        """Return the sum of squares."""
        parts = [self._share * self._reactions(coefficients) @ self._emphasis, self._bending @ coefficients]
        parts += [
            (self._motions.tool(position)[0] - wanted) / (MISS * self._unit)
            for _, position, wanted in self._places(coefficients)
        ]
        parts.append(np.array(max(0.0, self._lack(coefficients[0]))))
        return sum(float((part**2).sum()) for part in parts) + self._limits.penalty(coefficients, EXCESS * self._unit)

    def _model(self, coefficients: Array) -> tuple[Array, Array, Array]:
        """Return the quadratic model without limits: half its Hessian (c n, c n) and half its gradient (c n,).

        Also return the shortfall of conditioning with its derivative by the start posture, (1 + n,).
        """
        count, n = coefficients.shape
        reactions, by_coefficients = self._reaction_slopes(coefficients)
        rows = [(self._share * reactions @ self._emphasis).ravel(), (self._bending @ coefficients).ravel()]
        emphasized = self._emphasis @ by_coefficients.reshape(len(reactions), -1, count * n)
        slopes = [self._share * emphasized.reshape(-1, count * n), self._bending_slopes]
        for row, position, wanted in self._places(coefficients):
            tool, jacobian = self._motions.tool(position)
            rows.append((tool - wanted) / (MISS * self._unit))
            by = jacobian[:, None, :] * self._position[row][None, :, None]
            slopes.append(by.reshape(len(tool), -1) / (MISS * self._unit))
        lack = np.zeros(1 + n)
        if self._conditioned:
            lack[0] = self._lack(coefficients[0])
            moved = [self._lack(coefficients[0] + DIFFERENCE * unit) for unit in np.eye(n)]
            lack[1:] = (np.array(moved) - lack[0]) / DIFFERENCE
        whole, derivative = np.concatenate(rows), np.concatenate(slopes)
        return derivative.T @ derivative, derivative.T @ whole, lack

    def _places(self, coefficients: Array) -> list[tuple[int, Array, Array]]:
        """Return the row among the times, the joint positions (n,) there, and the wanted tool position (a,)."""
        start, end = (0, coefficients[0], self._ends[0]), (-1, coefficients[-1], self._ends[1])
        return [end] if self._fixed else [start, end]

    def _lack(self, position: Array) -> float:
        """Return the scaled shortfall of the conditioning at a start posture (n,), negative if it is sufficient."""
        if not self._conditioned:
            return 0.0
        values = np.linalg.svd(self._motions.coupling(position), compute_uv=False)
        return (self._least_conditioning - float(values[-1] / values[0])) / (EXCESS * self._unit)
