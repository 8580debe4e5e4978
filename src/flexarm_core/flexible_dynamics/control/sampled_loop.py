r"""Sampled closed loop of arm, estimator and controller about a posture, for an arm that deviates from its model.

The arm is at rest at a posture, and its links have more modes than the controller's model. Commands are held over a
period, discretized exactly, and act with a delay of ``d`` periods. With the estimate ``y`` of the unmeasured
coordinates, one period is ::

    e  = y + L (z - H y)                        L: steady-state Kalman gain of the estimator
    u  = -(G_q q + G_v qd + G_y e)              gains of the law
    y' = F e + P q + E u_d       s' = Phi s + Gamma u_d         F, P, E: nominal arm; Phi, Gamma: true arm

The loop is stable if no eigenvalue of this map is outside the unit circle. Weight acts as a spring (``weight``); terms
of second order in the velocities are neglected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from flexarm_core.entrance import number
from flexarm_core.flexible_dynamics.control.weight import resting, weight_stiffness
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.types import Array

MORE_MODES = 4  # additional modes of every kind of a beam, beyond those of the controller's model
LASTING = 12  # doublings of the period: 4096 periods are long compared with the motion that noise excites


@dataclass(frozen=True, slots=True)
class Error:
    """Factors by which an arm deviates from its model.

    Attributes:
        stiffness: factor on the stiffness of links and base.
        mass: factor on the mass of all bodies.
        feedback: factor on the gains; below 1 if the demand is saturated.
    """

    stiffness: float = 1.0
    mass: float = 1.0
    feedback: float = 1.0

    def __str__(self) -> str:
        """Describe the deviation for messages, e.g. ``with stiffness times 0.8 and masses times 1.1``."""
        parts = (("stiffness", self.stiffness), ("masses", self.mass), ("gains", self.feedback))
        wrong = [f"{name} times {value:.3g}" for name, value in parts if value != 1.0]
        return f"with {' and '.join(wrong)}" if wrong else "with the arm as modeled"


def richer_model(model: FlexibleModel) -> FlexibleModel:
    """Build a model of the same arm with more modes per beam; links with modal data files keep their modes."""
    links = {}
    for name, link in model.description.flexible_links.items():
        beam = link.beam
        if beam is not None:
            most = beam.elements // 2
            counts = {
                kind: min(count + MORE_MODES, most)
                for kind in ("modes_y", "modes_z", "modes_torsion", "modes_axial")
                if (count := getattr(beam, kind))
            }
            link = replace(link, beam=replace(beam, **counts))
        links[name] = link
    return FlexibleModel(replace(model.description, flexible_links=links), model.tool_frame, -model.tree.root)


class Estimate:
    """Steady-state estimator, linearized about a posture.

    Attributes:
        F: (2N, 2N) state transition matrix.
        E: (2N, n) influence of the efforts on the predicted state.
        P: (2N, n) influence of the joint positions, by which the weight bends the arm differently.
        L: (2N, r) Kalman gain.
        H: (r, 2N) measurement matrix: strain gauges, elastic joints and their rates.
    """

    def __init__(
        self, model: FlexibleModel, x: Array, config: EstimatorConfig, period: float, bent: float = 0.0
    ) -> None:
        """Compute the steady state.

        Args:
            model: nominal model.
            x: (h + K,) coordinates of the posture.
            config: settings of the estimator.
            period: sampling period [s].
            bent: strain of every gauge, to which the relative error ``strain_error`` applies.
        """
        t = number("period", period, 1e-9)
        free, N, m, n = model.unmeasured, len(model.unmeasured), len(model.elastic), len(model.actuated)
        M, K, C = model.mass_matrix(x), model.stiffness_matrix(), model.damping_matrix()
        mobility = np.linalg.inv(M + 0.5 * t * C + 0.25 * t * t * K)
        G = weight_stiffness(model, resting(model, x[model.actuated]))
        by, turned = -mobility[free] @ (K + G), -mobility[free] @ G[:, model.actuated]
        one, by_y = np.eye(N), by[:, free]
        by_yd = 0.5 * t * by_y - mobility[np.ix_(free, free)] @ C[np.ix_(free, free)]
        self.F = np.block([[one + 0.5 * t * t * by_y, t * (one + 0.5 * t * by_yd)], [t * by_y, one + t * by_yd]])
        columns = np.hstack((mobility[np.ix_(free, model.actuated)], one))
        influence = np.vstack((0.5 * t * t * columns, t * columns))
        self.E, self.P = influence[:, :n], np.vstack((0.5 * t * t * turned, t * turned))
        density = np.repeat((config.effort_noise, config.base_noise, config.modal_noise), (n, m, N - m))
        gauges = len(model.strain_map) if config.use_strain else 0
        bases = m if config.use_deflection else 0
        self.H = np.zeros((gauges + 2 * bases, 2 * N))
        self.H[:gauges, m:N] = model.strain_map[:gauges]
        self.H[gauges : gauges + bases, :bases] = np.eye(bases)
        self.H[gauges + bases :, N : N + bases] = np.eye(bases)
        self.L = np.zeros((2 * N, len(self.H)))
        self._gauges, self._bases = gauges, bases
        if config.correct and len(self.H):
            strain = np.hypot(config.strain_noise, config.strain_error * bent)
            noise = np.repeat((strain, config.deflection_noise, config.deflection_rate_noise), (gauges, bases, bases))
            Q = influence @ np.diag(density**2 / t) @ influence.T
            self.L = kalman_gain(self.F, self.H, Q, np.diag(noise**2))

    def readings(self, true: FlexibleModel) -> Array:
        """Return the measurement matrix (r, 2 (h + K)) of these sensors for the state of the true arm."""
        gauges, bases = self._gauges, self._bases
        seen = np.zeros((len(self.H), 2 * true.size))
        seen[:gauges, true.modal] = true.strain_map[:gauges]
        seen[gauges + np.arange(bases), true.elastic[:bases]] = 1.0
        seen[gauges + bases + np.arange(bases), true.size + true.elastic[:bases]] = 1.0
        return seen


def kalman_gain(F: Array, H: Array, Q: Array, R: Array) -> Array:
    """Compute the steady-state Kalman gain, by the doubling algorithm for the Riccati equation."""
    A, G, P = F.T.copy(), H.T @ np.linalg.solve(R, H), Q.copy()
    one = np.eye(len(F))
    for _ in range(60):
        W = np.linalg.inv(one + G @ P)
        step = A.T @ P @ W @ A
        G, A, P = G + A @ W @ G @ A.T, A @ W @ A, P + 0.5 * (step + step.T)
        if np.abs(step).max() <= 1e-10 * np.abs(P).max():
            break
    gain: Array = np.asarray(np.linalg.solve(H @ P @ H.T + R, H @ P).T, dtype=np.float64)
    return gain


@dataclass(frozen=True, slots=True)
class SampledArm:
    """Discrete-time model of the true arm over one period.

    Attributes:
        model: model with all modes of the true arm.
        Phi: (2 (h + K), 2 (h + K)) state transition matrix of ``[x; xd]``.
        Gamma: (2 (h + K), n) influence of efforts held over the period.
    """

    model: FlexibleModel
    Phi: Array
    Gamma: Array


def sampled_arm(model: FlexibleModel, joints: Array, period: float, error: Error) -> SampledArm:
    """Discretize the arm at rest at a posture (n,), with the given deviation from the model."""
    size, x = model.size, np.zeros(model.size)
    x[model.actuated] = joints
    inverse = np.linalg.inv(error.mass * model.mass_matrix(x))
    flow = np.zeros((2 * size + len(joints),) * 2)
    flow[:size, size : 2 * size] = np.eye(size)
    weight = error.mass * weight_stiffness(model, resting(model, joints))
    flow[size : 2 * size, :size] = -inverse @ (error.stiffness * model.stiffness_matrix() + weight)
    flow[size : 2 * size, size : 2 * size] = -inverse @ model.damping_matrix()
    flow[size : 2 * size, 2 * size :] = inverse[:, model.actuated]
    sampled = scipy.linalg.expm(flow * period)
    return SampledArm(model, sampled[: 2 * size, : 2 * size], sampled[: 2 * size, 2 * size :])


@dataclass(frozen=True, slots=True)
class SampledLoop:
    """Closed loop over one period: ``w' = A w + B n`` and ``u = U w + D n``, with joint velocity noise ``n``.

    Attributes:
        A: (s, s) state transition matrix.
        B: (s, n) influence of the noise on the state.
        U: (n, s) commanded efforts per unit of the state.
        D: (n, n) commanded efforts per unit of the noise.
    """

    A: Array
    B: Array
    U: Array
    D: Array

    @property
    def spectral_radius(self) -> float:
        """Spectral radius of ``A``; inf if it cannot be computed."""
        return float(np.abs(np.linalg.eigvals(self.A)).max()) if np.isfinite(self.A).all() else float("inf")

    @property
    def rest_effort(self) -> Array:
        """Root mean square (n,) of the efforts at rest, per unit of white noise on each joint velocity."""
        if not np.isfinite(self.A).all():
            return np.full(len(self.D), np.inf)
        step, spread = self.A, self.B @ self.B.T
        for _ in range(LASTING):  # covariance over twice as many periods: the sum grows if the loop does not decay
            spread = spread + step @ spread @ step.T
            step = step @ step
        power = np.einsum("ij,jk,ik->i", self.U, spread, self.U) + (self.D**2).sum(axis=1)
        rest: Array = np.sqrt(np.maximum(np.nan_to_num(power, nan=np.inf), 0.0))
        return rest


def sampled_loop(
    nominal: FlexibleModel, arm: SampledArm, gains: Array, estimate: Estimate | None, late: int
) -> SampledLoop:
    """Assemble the closed loop over one period.

    Args:
        nominal: model of estimator and controller.
        arm: true arm.
        gains: (n, 2 (h + K)) gains of the law on ``[dx; dxd]`` of the nominal model.
        estimate: steady-state estimator; None if the law does not use it.
        late: delay of the commands in periods.
    """
    n, states = len(nominal.actuated), 2 * arm.model.size
    encoders = np.concatenate((nominal.actuated, nominal.size + nominal.actuated))
    pick = np.zeros((2 * n, states))
    pick[np.arange(n), arm.model.actuated] = 1.0
    pick[np.arange(n, 2 * n), arm.model.size + arm.model.actuated] = 1.0
    by_state = -gains[:, encoders] @ pick
    hidden = 0 if estimate is None else 2 * len(nominal.unmeasured)
    total = states + hidden + n * late
    matrix, command = np.zeros((total, total)), np.zeros((n, total))
    noise, direct = np.zeros((total, n)), -gains[:, nominal.size + nominal.actuated]
    seen, bent = slice(0, states), slice(states, states + hidden)
    if estimate is not None:
        G = -gains[:, np.concatenate((nominal.unmeasured, nominal.size + nominal.unmeasured))]
        correcting, keeping = estimate.L @ estimate.readings(arm.model), np.eye(hidden) - estimate.L @ estimate.H
        by_state = by_state + G @ correcting
        command[:, bent] = G @ keeping
        matrix[bent, seen], matrix[bent, bent] = estimate.F @ correcting, estimate.F @ keeping
    command[:, seen] = by_state
    acting, noisy = command, direct
    if late:  # delayed commands, the oldest first
        first = states + hidden
        acting, noisy = np.eye(n, total, first), np.zeros((n, n))
        matrix[first : total - n, first + n :] = np.eye(n * (late - 1))
        matrix[total - n :], noise[total - n :] = command, direct
    matrix[seen, seen] = arm.Phi
    matrix[seen] += arm.Gamma @ acting
    noise[seen] = arm.Gamma @ noisy
    if estimate is not None:
        matrix[bent] += estimate.E @ acting
        matrix[bent, seen] += estimate.P @ pick[:n]
        noise[bent] = estimate.E @ noisy
    return SampledLoop(matrix, noise, command, direct)
