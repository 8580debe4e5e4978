r"""Extended Kalman filter of what no encoder sees: elastic joints of the base and modes of flexible links.

State ``[y; yd]``, ``y`` = [elastic joints (m); modes (K)]. The actuated joints are measured and enter as inputs.

Prediction over a tick ``t``: mean acceleration ``a`` of the recursion with springs and dampers by the trapezoidal rule,
stable for any stiffness, under the effort ``T`` that acted::

    a  = (M + t/2 C + t^2/4 K)^-1 (T - bias - K (y + t/2 yd) - C yd)
    y+ = y + t yd + t^2/2 a         yd+ = yd + t a
    F  = [[1 - t^2/2 L K,  t (1 - t/2 L (t/2 K + C))],     L = ((M + t/2 C + t^2/4 K)^-1)_yy
          [-t L K,         1 - t L (t/2 K + C)]]

``F`` is the derivative of that map over ``[y; yd]`` but for the change of the inertia with ``y``; on an oscillator it
is the Cayley transform ``(1 - t/2 A)^-1 (1 + t/2 A)``, ``A = [[0, 1], [-M^-1 K, -M^-1 C]]``. Process noise is white:
unknown hinge efforts, through the columns of the inverse mass matrix, and accelerations of the coordinates themselves.
Both are spectral densities, so that the rate of the ticks does not change their meaning.

Correction: all channels of a tick at once, ``G = P H^T S^-1``, ``S = H P H^T + R``, covariance in Joseph's form. A
channel is left out where it has no reading, repeats one while the strain must have changed, or lies ``gate`` standard
deviations off; after ``gate_patience`` such ticks in a row it is believed again: the estimate may be what is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.flexible_dynamics.measurements import (
    Channel,
    FrozenWatch,
    MotionSensors,
    deflection_channels,
    strain_channels,
)
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.types import Array, FlexibleSample, FlexibleState


@dataclass(frozen=True, slots=True)
class EstimatorConfig:
    """What corrects the estimate, and how much is known of what.

    Attributes:
        correct: False: open loop, readings are not looked at.
        use_strain: correct by the strain gauges.
        use_deflection: correct by measured elastic joints of the base.
        use_wrench: correct by force/torque sensors.
        use_imu: correct by IMUs.
        effort_noise: spectral density of unknown hinge efforts [N*m/sqrt(Hz) | N/sqrt(Hz)].
        modal_noise: that of modal accelerations [sqrt(kg)*m/s^2/sqrt(Hz)].
        base_noise: that of accelerations of elastic joints [rad/s^2/sqrt(Hz) | m/s^2/sqrt(Hz)].
        strain_noise: standard deviation of a strain gauge [1].
        strain_error: relative one, of its calibration and of what the modes leave out of the strain [1].
        deflection_noise: of an elastic joint's position [rad | m].
        deflection_rate_noise: of its rate [rad/s | m/s].
        force_noise: of a force, what the modes leave out included [N].
        torque_noise: of a torque [N*m].
        acceleration_noise: of a specific force, what the modes leave out included [m/s^2].
        gyro_noise: of an angular velocity [rad/s].
        initial_energy: that every coordinate may hold at first, as strain and as motion, at one standard deviation [J].
        gate: innovation at which a channel is left out, in standard deviations.
        gate_patience: ticks in a row after which it is believed again.
        frozen_samples: equal readings in a row after which a gauge may be frozen.
        max_gap: time between samples after which the estimate starts over with its initial covariance [s].
    """

    correct: bool = True
    use_strain: bool = True
    use_deflection: bool = True
    use_wrench: bool = False
    use_imu: bool = False
    effort_noise: float = 0.1
    modal_noise: float = 0.2
    base_noise: float = 0.05
    strain_noise: float = 2e-6
    strain_error: float = 0.03
    deflection_noise: float = 1e-5
    deflection_rate_noise: float = 1e-3
    force_noise: float = 2.0
    torque_noise: float = 1.0
    acceleration_noise: float = 0.5
    gyro_noise: float = 0.03
    initial_energy: float = 1.0
    gate: float = 6.0
    gate_patience: int = 50
    frozen_samples: int = 20
    max_gap: float = 0.1

    def __post_init__(self) -> None:
        positive = (
            "strain_noise", "deflection_noise", "deflection_rate_noise", "force_noise", "torque_noise",
            "acceleration_noise", "gyro_noise", "initial_energy", "gate", "max_gap",
        )  # fmt: skip
        for name in positive:
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise ConfigError(f"{name} is {getattr(self, name)}, expected a positive number")
        for name in ("effort_noise", "modal_noise", "base_noise", "strain_error"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0.0):
                raise ConfigError(f"{name} is {getattr(self, name)}, expected a number of at least 0")
        for name in ("gate_patience", "frozen_samples"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}, expected at least 1")


class FlexibleEstimator:
    """Samples in, state of all that bends out."""

    def __init__(self, model: FlexibleModel, config: EstimatorConfig | None = None) -> None:
        """Prepare the filter.

        Args:
            model: the robot; the estimator needs it for itself, since a model keeps the state of its last call.
            config: what to use.
        """
        self._model, self._config = model, config or EstimatorConfig()
        free = model.unmeasured
        self._K = model.stiffness_matrix()[np.ix_(free, free)]
        self._C = model.damping_matrix()[np.ix_(free, free)]
        inertia = model.mass_matrix(np.zeros(model.size))[free, free]
        self._hardness = np.concatenate((np.diag(self._K), inertia))
        self._m, self._n = len(model.elastic), len(model.actuated)
        self._N = len(free)
        self._elastic_names = tuple(joint.name for joint in model.description.elastic)
        c = self._config
        self._own_noise = np.repeat((c.base_noise**2, c.modal_noise**2), (self._m, self._N - self._m))
        self._motion_sensors = MotionSensors(model, c.use_wrench, c.use_imu)
        self._variances = (
            np.repeat((c.force_noise**2, c.torque_noise**2), 3),
            np.repeat((c.acceleration_noise**2, c.gyro_noise**2), 3),
        )
        self.reset()

    def reset(self) -> None:
        """Forget all samples: nothing is bent, nothing of that is certain."""
        self._stamp: int | None = None
        self._x, self._v = np.zeros(self._model.size), np.zeros(self._model.size)
        self._P = self._initial_covariance()
        self._rejected: dict[str, int] = {}
        self._watch = FrozenWatch(
            len(self._model.description.strain_gauges), self._config.frozen_samples, self._config.strain_noise
        )

    def update(self, sample: FlexibleSample) -> FlexibleState:
        """Predict to the sample's stamp, then correct by what it holds.

        Raises:
            InputError: a joint value is not finite, an array has the wrong length, or the stamp is not later than the
                last one; the estimate is then as it was.
        """
        self._check(sample)
        model, free = self._model, self._model.unmeasured
        effort = np.zeros(len(model.hinge_names))
        effort[model.actuated] = sample.effort
        before = self._x[free]
        state, P, left_out = np.concatenate((before, self._v[free])), self._P, []
        if self._stamp is not None:
            step = (sample.stamp - self._stamp) * 1e-9
            if step > self._config.max_gap:
                P = self._initial_covariance()
                left_out.append(f"prediction: no sample for {step:.3g} s")
            else:
                state, P = self._predict(P, effort, step)
        x, v = np.zeros(model.size), np.zeros(model.size)
        x[model.actuated], v[model.actuated] = sample.position, sample.velocity
        x[free], v[free] = np.split(state, 2)
        innovation, variance = np.zeros(0), np.zeros(0)
        names: tuple[str, ...] = ()
        if self._config.correct:
            channels, reasons = self._channels(sample, x, v, effort, x[free] - before)
            channels = self._gated(channels, P, reasons)
            left_out += reasons
            if channels:
                state, P, innovation, variance = _correct(state, P, channels)
                x[free], v[free] = np.split(state, 2)
                names = tuple(" ".join((c.name, part)).strip() for c in channels for part in c.components)
        if not (np.isfinite(x).all() and np.isfinite(v).all() and np.isfinite(P).all()):
            x[free], v[free], P = 0.0, 0.0, self._initial_covariance()
            left_out.append("estimate: diverged, starts over")
        acceleration = model.forward_dynamics(x, v, effort)
        self._stamp, self._x, self._v, self._P = sample.stamp, x, v, P
        return FlexibleState(
            stamp=sample.stamp,
            deflection=x[model.elastic],
            deflection_rate=v[model.elastic],
            deflection_acceleration=acceleration[model.elastic],
            modal_position=x[model.modal],
            modal_rate=v[model.modal],
            modal_acceleration=acceleration[model.modal],
            innovation=innovation,
            innovation_names=names,
            innovation_variance=variance,
            covariance_diagonal=np.diag(P).copy(),
            left_out=tuple(left_out),
        )

    def _initial_covariance(self) -> Array:
        return np.diag(2.0 * self._config.initial_energy / self._hardness)

    def _predict(self, P: Array, effort: Array, t: float) -> tuple[Array, Array]:
        """State and covariance a tick of ``t`` seconds after the last estimate."""
        model, free, N = self._model, self._model.unmeasured, self._N
        model.articulate(self._x, self._v, step=t)
        a = model.accelerate(effort)[free]
        columns = model.response(np.concatenate((free, model.actuated)))[free]
        L, B = columns[:, :N], columns[:, N:]
        y, yd = self._x[free], self._v[free]
        state = np.concatenate((y + t * yd + 0.5 * t * t * a, yd + t * a))
        by_y, by_yd = -L @ self._K, -L @ (0.5 * t * self._K + self._C)
        F = np.eye(2 * N)
        F[:N, :N] += 0.5 * t * t * by_y
        F[:N, N:] += t * np.eye(N) + 0.5 * t * t * by_yd
        F[N:, :N] += t * by_y
        F[N:, N:] += t * by_yd
        # white acceleration of density q over a tick: mean acceleration of variance q / t
        W = (self._config.effort_noise**2 * (B @ B.T) + np.diag(self._own_noise)) / t
        Q = np.kron(np.array([[0.25 * t**4, 0.5 * t**3], [0.5 * t**3, t * t]]), W)
        return state, F @ P @ F.T + Q

    def _channels(
        self, sample: FlexibleSample, x: Array, v: Array, effort: Array, step: Array
    ) -> tuple[list[Channel], list[str]]:
        """Everything that the sample offers, and what is left out of it."""
        c, model, free = self._config, self._model, self._model.unmeasured
        channels: list[Channel] = []
        left_out: list[str] = []
        if c.use_strain and model.description.strain_gauges:
            strain = np.array([sample.strain.get(name, np.nan) for name in model.description.strain_gauges])
            frozen = self._watch.update(strain, model.strain_map @ step[self._m :])
            found, reasons = strain_channels(model, sample.strain, frozen, x[free], (c.strain_noise, c.strain_error))
            channels, left_out = channels + found, left_out + reasons
        if c.use_deflection and self._m:
            found, reasons = deflection_channels(
                self._elastic_names,
                (sample.deflection, sample.deflection_rate),
                x[free],
                v[free],
                (c.deflection_noise, c.deflection_rate_noise),
            )
            channels, left_out = channels + found, left_out + reasons
        if c.use_wrench or c.use_imu:
            found, reasons = self._motion_sensors.channels(
                (sample.wrenches, sample.imus), x, v, effort, self._variances
            )
            channels, left_out = channels + found, left_out + reasons
        return channels, left_out

    def _gated(self, channels: list[Channel], P: Array, left_out: list[str]) -> list[Channel]:
        """The channels whose innovation is credible, or has been incredible for too long."""
        kept, rejected = [], {}
        for channel in channels:
            name = f"{channel.name} {channel.components[0]}".strip()
            variance = np.einsum("ij,jk,ik->i", channel.jacobian, P, channel.jacobian) + channel.variance
            if (np.abs(channel.innovation) > self._config.gate * np.sqrt(variance)).any():
                rejected[name] = self._rejected.get(name, 0) + 1
                if rejected[name] <= self._config.gate_patience:
                    left_out.append(f"{channel.name}: outlier")
                    continue
            kept.append(channel)
        self._rejected = rejected
        return kept

    def _check(self, sample: FlexibleSample) -> None:
        for name in ("position", "velocity", "effort"):
            value = getattr(sample, name)
            if np.shape(value) != (self._n,):
                raise InputError(f"{name} has shape {np.shape(value)}, expected ({self._n},)")
            if not np.isfinite(value).all():
                joints = zip(self._model.description.actuated, np.isfinite(value), strict=True)
                bad = [joint for joint, good in joints if not good]
                raise InputError(f"{name} of {', '.join(bad)} is not finite")
        for name in ("deflection", "deflection_rate"):
            value = getattr(sample, name)
            if value is not None and np.shape(value) != (self._m,):
                raise InputError(f"{name} has shape {np.shape(value)}, expected ({self._m},)")
        for name, value in (*sample.wrenches.items(), *sample.imus.items()):
            if np.shape(value) != (6,):
                raise InputError(f"reading of {name} has shape {np.shape(value)}, expected (6,)")
        if self._stamp is not None and sample.stamp <= self._stamp:
            raise InputError(
                f"sample at {sample.stamp * 1e-9:.6f} s is not later than the last one at {self._stamp * 1e-9:.6f} s;"
                " reset the estimator where time starts over"
            )


def _correct(state: Array, P: Array, channels: list[Channel]) -> tuple[Array, Array, Array, Array]:
    """Corrected state and covariance, innovation and its variance."""
    H = np.vstack([channel.jacobian for channel in channels])
    innovation = np.concatenate([channel.innovation for channel in channels])
    R = np.concatenate([channel.variance for channel in channels])
    S = H @ P @ H.T + np.diag(R)
    gain = np.linalg.solve(S, H @ P).T
    rest = np.eye(len(state)) - gain @ H
    P = rest @ P @ rest.T + (gain * R) @ gain.T
    return state + gain @ innovation, 0.5 * (P + P.T), innovation, np.diag(S).copy()
