r"""The sampled loop of arm, estimator and controller about a posture, where the arm is not as it is told.

The arm rests at a posture, its links with more modes than the controller knows. Commands are held over a period, which
is discretised exactly, and act ``d`` periods late. With the estimate ``y`` of what no encoder sees, one tick is ::

    e  = y + L (z - H y)                        Kalman gain L of the estimator that has settled
    u  = -f (G_q q + G_v qd + G_y e)            gains of the law, f: a factor on them
    y' = F e + E u_d             s' = Phi s + Gamma u_d         F, E: of the arm that is told; Phi, Gamma: of the true

It is stable where no eigenvalue of this map lies outside the unit circle. Gravity and speed are left out, as they are
where the gains are designed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from flexarm_core.entrance import number
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.types import Array

MORE_MODES = 4  # of every kind that a beam has, beyond those that the controller knows
LASTING = 12  # doublings of a tick: 4096 of them are long beside what noise excites


@dataclass(frozen=True, slots=True)
class Error:
    """How an arm differs from what is told; factors.

    Attributes:
        stiffness: of links and base.
        mass: of all bodies.
        feedback: on the gains; below 1 where the demand is limited.
    """

    stiffness: float = 1.0
    mass: float = 1.0
    feedback: float = 1.0

    def __str__(self) -> str:
        """For people: ``with stiffness times 0.8 and masses times 1.1``."""
        parts = (("stiffness", self.stiffness), ("masses", self.mass), ("gains", self.feedback))
        wrong = [f"{name} times {value:.3g}" for name, value in parts if value != 1.0]
        return f"with {' and '.join(wrong)}" if wrong else "with the arm as it is told"


def richer_model(model: FlexibleModel) -> FlexibleModel:
    """The same arm with more modes of every beam; links from files of modes keep theirs."""
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
    return FlexibleModel(replace(model.description, flexible_links=links), model.tool_frame)


class Estimate:
    """The estimator about a posture, when it has settled.

    Attributes:
        F: (2N, 2N) prediction.
        E: (2N, n) of efforts.
        L: (2N, r) Kalman gain.
        H: (r, 2N) readings: strain gauges, elastic joints and their rates.
    """

    def __init__(
        self, model: FlexibleModel, x: Array, config: EstimatorConfig, period: float, bent: float = 0.0
    ) -> None:
        """Settle.

        Args:
            model: that is told.
            x: (h + K,) posture.
            config: of the estimator.
            period: [s].
            bent: strain of every gauge, of which ``strain_error`` is a part.
        """
        t = number("period", period, 1e-9)
        free, N, m, n = model.unmeasured, len(model.unmeasured), len(model.elastic), len(model.actuated)
        M, K, C = model.mass_matrix(x), model.stiffness_matrix(), model.damping_matrix()
        mobility = np.linalg.inv(M + 0.5 * t * C + 0.25 * t * t * K)
        own, K, C = mobility[np.ix_(free, free)], K[np.ix_(free, free)], C[np.ix_(free, free)]
        one, by_y, by_yd = np.eye(N), -own @ K, -own @ (0.5 * t * K + C)
        self.F = np.block([[one + 0.5 * t * t * by_y, t * (one + 0.5 * t * by_yd)], [t * by_y, one + t * by_yd]])
        columns = np.hstack((mobility[np.ix_(free, model.actuated)], one))
        influence = np.vstack((0.5 * t * t * columns, t * columns))
        self.E = influence[:, :n]
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
        """(r, 2 (h + K)) what the sensors read of another arm's state."""
        gauges, bases = self._gauges, self._bases
        seen = np.zeros((len(self.H), 2 * true.size))
        seen[:gauges, true.modal] = true.strain_map[:gauges]
        seen[gauges + np.arange(bases), true.elastic[:bases]] = 1.0
        seen[gauges + bases + np.arange(bases), true.size + true.elastic[:bases]] = 1.0
        return seen


def kalman_gain(F: Array, H: Array, Q: Array, R: Array) -> Array:
    """Gain of a filter that has settled, by doubling: from a covariance that is large to one that no tick changes."""
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
    """The true arm over a tick.

    Attributes:
        model: with its modes.
        Phi: (2 (h + K),) squared, of its state ``[x; xd]``.
        Gamma: (2 (h + K), n) of efforts that are held.
    """

    model: FlexibleModel
    Phi: Array
    Gamma: Array


def sampled_arm(model: FlexibleModel, joints: Array, period: float, error: Error) -> SampledArm:
    """The arm at rest at a posture (n,), as different from the model as the error says."""
    size, x = model.size, np.zeros(model.size)
    x[model.actuated] = joints
    inverse = np.linalg.inv(error.mass * model.mass_matrix(x))
    flow = np.zeros((2 * size + len(joints),) * 2)
    flow[:size, size : 2 * size] = np.eye(size)
    flow[size : 2 * size, :size] = -error.stiffness * inverse @ model.stiffness_matrix()
    flow[size : 2 * size, size : 2 * size] = -inverse @ model.damping_matrix()
    flow[size : 2 * size, 2 * size :] = inverse[:, model.actuated]
    sampled = scipy.linalg.expm(flow * period)
    return SampledArm(model, sampled[: 2 * size, : 2 * size], sampled[: 2 * size, 2 * size :])


@dataclass(frozen=True, slots=True)
class SampledLoop:
    """The closed loop of a tick, ``w' = A w + B n`` and ``u = U w + D n`` with the noise ``n`` of the joints' velocity.

    Attributes:
        A: (s, s).
        B: (s, n).
        U: (n, s) efforts that the law asks for.
        D: (n, n).
    """

    A: Array
    B: Array
    U: Array
    D: Array

    @property
    def spectral_radius(self) -> float:
        """Of ``A``; inf where it cannot be computed."""
        return float(np.abs(np.linalg.eigvals(self.A)).max()) if np.isfinite(self.A).all() else float("inf")

    @property
    def rest_effort(self) -> Array:
        """(n,) root of the mean square of the efforts at rest, per unit of white noise on each joint's velocity."""
        if not np.isfinite(self.A).all():
            return np.full(len(self.D), np.inf)
        step, spread = self.A, self.B @ self.B.T
        for _ in range(LASTING):  # covariance of twice as many ticks: the sum over them grows where nothing decays
            spread = spread + step @ spread @ step.T
            step = step @ step
        power = np.einsum("ij,jk,ik->i", self.U, spread, self.U) + (self.D**2).sum(axis=1)
        rest: Array = np.sqrt(np.maximum(np.nan_to_num(power, nan=np.inf), 0.0))
        return rest


def sampled_loop(
    told: FlexibleModel, arm: SampledArm, gains: Array, estimate: Estimate | None, late: int, feedback: float = 1.0
) -> SampledLoop:
    """The closed loop of a tick.

    Args:
        told: model of estimator and controller.
        arm: that is there.
        gains: (n, 2 (h + K)) of the law on ``[dx; dxd]`` of the model that is told.
        estimate: None where the law needs none.
        late: periods after which a command acts.
        feedback: factor on the gains.
    """
    n, states = len(told.actuated), 2 * arm.model.size
    encoders = np.concatenate((told.actuated, told.size + told.actuated))
    pick = np.zeros((2 * n, states))
    pick[np.arange(n), arm.model.actuated] = 1.0
    pick[np.arange(n, 2 * n), arm.model.size + arm.model.actuated] = 1.0
    by_state = -feedback * gains[:, encoders] @ pick
    hidden = 0 if estimate is None else 2 * len(told.unmeasured)
    total = states + hidden + n * late
    matrix, command = np.zeros((total, total)), np.zeros((n, total))
    noise, direct = np.zeros((total, n)), -feedback * gains[:, told.size + told.actuated]
    seen, bent = slice(0, states), slice(states, states + hidden)
    if estimate is not None:
        G = -feedback * gains[:, np.concatenate((told.unmeasured, told.size + told.unmeasured))]
        correcting, keeping = estimate.L @ estimate.readings(arm.model), np.eye(hidden) - estimate.L @ estimate.H
        by_state = by_state + G @ correcting
        command[:, bent] = G @ keeping
        matrix[bent, seen], matrix[bent, bent] = estimate.F @ correcting, estimate.F @ keeping
    command[:, seen] = by_state
    acting, noisy = command, direct
    if late:  # commands on their way, the oldest first
        first = states + hidden
        acting, noisy = np.eye(n, total, first), np.zeros((n, n))
        matrix[first : total - n, first + n :] = np.eye(n * (late - 1))
        matrix[total - n :], noise[total - n :] = command, direct
    matrix[seen, seen] = arm.Phi
    matrix[seen] += arm.Gamma @ acting
    noise[seen] = arm.Gamma @ noisy
    if estimate is not None:
        matrix[bent] += estimate.E @ acting
        noise[bent] = estimate.E @ noisy
    return SampledLoop(matrix, noise, command, direct)
