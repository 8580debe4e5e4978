r"""SampledLoop: arm, estimator and controller about a posture, as they are sampled, where the arm is not as it is told.

The arm rests at a posture, its links with more modes than the controller knows. Commands are held over a period, which
is discretised exactly, and act ``d`` periods late. With the estimate ``y`` of what no encoder sees, one tick is ::

    e  = y + L (z - H y)                        Kalman gain L of the estimator that has settled
    u  = -f (G_q q + G_v qd + G_y e)            gains of the law, f: a factor on them
    y' = F y- + E u_d            s' = Phi s + Gamma u_d          F, E: of the arm that is told; Phi, Gamma: of the true one

It is stable where no eigenvalue of this map lies outside the unit circle. Gravity and speed are left out, as they are
where the gains are designed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from flexarm_core.flexible_dynamics.estimator_config import EstimatorConfig
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.types import Array

MORE_MODES = 2  # of every kind that a beam has, beyond those that the controller knows
GROWTH = 1e-6  # a tick, below which an eigenvalue counts as one that stands still


@dataclass(frozen=True, slots=True)
class Error:
    """How an arm differs from what is told; factors.

    Attributes:
        stiffness: of links and base.
        mass: of all bodies.
        feedback: on the gains: below 1 where efforts are at their limits.
    """

    stiffness: float = 1.0
    mass: float = 1.0
    feedback: float = 1.0

    def __str__(self) -> str:
        """For people: ``stiffness 0.8, mass 1.1``."""
        parts = (("stiffness", self.stiffness), ("mass", self.mass), ("feedback", self.feedback))
        return ", ".join(f"{name} {value:.3g}" for name, value in parts if value != 1.0) or "the arm as it is told"


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

    def __init__(self, model: FlexibleModel, x: Array, config: EstimatorConfig, period: float) -> None:
        """Settle.

        Args:
            model: that is told.
            x: (h + K,) posture.
            config: of the estimator.
            period: [s].
        """
        free, N, m, n, t = model.unmeasured, len(model.unmeasured), len(model.elastic), len(model.actuated), period
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
        if config.correct and len(self.H):
            noise = np.repeat(
                (config.strain_noise, config.deflection_noise, config.deflection_rate_noise), (gauges, bases, bases)
            )
            Q = influence @ np.diag(density**2 / t) @ influence.T
            self.L = kalman_gain(self.F, self.H, Q, np.diag(noise**2))


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
    gain: Array = np.linalg.solve(H @ P @ H.T + R, H @ P).T
    return gain


class SampledLoop:
    """The map of a tick about a posture, for one arm that could be there."""

    def __init__(
        self,
        told: FlexibleModel,
        true: FlexibleModel,
        joints: Array,
        gains: Array,
        estimate: Estimate | None,
        period: float,
        late: int,
        error: Error,
    ) -> None:
        """Close the loop.

        Args:
            told: model of estimator and controller.
            true: the arm, with the same joints, before the error.
            joints: (n,) posture.
            gains: (n, 2 (h + K)) of the law on ``[dx; dxd]`` of the model that is told.
            estimate: None where the law needs none.
            period: [s].
            late: periods after which a command acts.
            error: of the arm.
        """
        n, size = len(true.actuated), true.size
        Phi, Gamma = _plant(true, joints, period, error)
        pick = np.zeros((2 * n, 2 * size))  # what encoders read
        pick[np.arange(n), true.actuated] = 1.0
        pick[np.arange(n, 2 * n), size + true.actuated] = 1.0
        measured = np.concatenate((told.actuated, told.size + told.actuated))
        onto_state = -error.feedback * gains[:, measured] @ pick
        N = len(told.unmeasured) if estimate is not None else 0
        onto_estimate = np.zeros((n, 2 * N))
        if estimate is not None:
            hidden = np.concatenate((told.unmeasured, told.size + told.unmeasured))
            G_y = -error.feedback * gains[:, hidden]
            correcting = estimate.L @ _readings(true, len(estimate.H), estimate)
            keeping = np.eye(2 * N) - estimate.L @ estimate.H
            onto_state = onto_state + G_y @ correcting
            onto_estimate = G_y @ keeping
        states, total = 2 * size, 2 * size + 2 * N + n * late
        command = np.zeros((n, total))
        command[:, :states], command[:, states : states + 2 * N] = onto_state, onto_estimate
        acting = command
        matrix = np.zeros((total, total))
        if late:  # pending commands, oldest first
            first = states + 2 * N
            acting = np.zeros((n, total))
            acting[:, first : first + n] = np.eye(n)
            for i in range(late - 1):
                matrix[first + i * n : first + (i + 1) * n, first + (i + 1) * n : first + (i + 2) * n] = np.eye(n)
            matrix[total - n :] = command
        matrix[:states, :states] = Phi
        matrix[:states] += Gamma @ acting
        if estimate is not None:
            rows = slice(states, states + 2 * N)
            matrix[rows, :states] += estimate.F @ correcting
            matrix[rows, rows] += estimate.F @ keeping
            matrix[rows] += estimate.E @ acting
        self.matrix = matrix

    @property
    def radius(self) -> float:
        """Spectral radius."""
        return float(np.abs(np.linalg.eigvals(self.matrix)).max())

    @property
    def is_stable(self) -> bool:
        """Whether nothing grows."""
        return bool(np.isfinite(self.matrix).all()) and self.radius <= 1.0 + GROWTH


def _plant(model: FlexibleModel, joints: Array, period: float, error: Error) -> tuple[Array, Array]:
    """State [x; xd] a tick later, by itself and by efforts held over it."""
    size, x = model.size, np.zeros(model.size)
    x[model.actuated] = joints
    inverse = np.linalg.inv(error.mass * model.mass_matrix(x))
    flow = np.zeros((2 * size + len(joints),) * 2)
    flow[:size, size : 2 * size] = np.eye(size)
    flow[size : 2 * size, :size] = -error.stiffness * inverse @ model.stiffness_matrix()
    flow[size : 2 * size, size : 2 * size] = -inverse @ model.damping_matrix()
    flow[size : 2 * size, 2 * size :] = inverse[:, model.actuated]
    sampled = scipy.linalg.expm(flow * period)
    return sampled[: 2 * size, : 2 * size], sampled[: 2 * size, 2 * size :]


def _readings(true: FlexibleModel, count: int, estimate: Estimate) -> Array:
    """(r, 2 (h + K)) what the estimator's sensors read of the true arm."""
    gauges = count - 2 * len(true.elastic) if _reads_base(true, count) else count
    readings = np.zeros((count, 2 * true.size))
    readings[:gauges, true.modal] = true.strain_map[:gauges]
    if gauges < count:
        m = len(true.elastic)
        readings[gauges + np.arange(m), true.elastic] = 1.0
        readings[gauges + m + np.arange(m), true.size + true.elastic] = 1.0
    return readings


def _reads_base(true: FlexibleModel, count: int) -> bool:
    return count in (len(true.strain_map) + 2 * len(true.elastic), 2 * len(true.elastic)) and bool(len(true.elastic))
