r"""Extended Kalman filter of the coordinates without encoders: elastic joints of the base and modes of flexible links.

State ``[y; yd]``, ``y`` = [elastic joints (m); modes (K)]. The actuated joints are measured and are inputs.

Prediction over a sampling period ``t``: mean acceleration ``a`` of the recursion with springs and dampers integrated by
the trapezoidal rule, stable for any stiffness, under the applied effort ``T``::

    a  = (M + t/2 C + t^2/4 K)^-1 (T - bias - K (y + t/2 yd) - C yd)
    y+ = y + t yd + t^2/2 a         yd+ = yd + t a
    F  = [[1 - t^2/2 L K,  t (1 - t/2 L (t/2 K + C))],     L = ((M + t/2 C + t^2/4 K)^-1)_yy
          [-t L K,         1 - t L (t/2 K + C)]]

``F`` is the derivative of this map with respect to ``[y; yd]``, neglecting the change of inertia with ``y``. For an
oscillator it is the Cayley transform ``(1 - t/2 A)^-1 (1 + t/2 A)``, ``A = [[0, 1], [-M^-1 K, -M^-1 C]]``. The process
noise is white: unknown hinge efforts, which act through the columns of the inverse mass matrix, and accelerations of
the coordinates. Both are given as spectral densities, so their meaning does not depend on the sampling rate. If the
innovation of a base sensor exceeds ``push_gate`` standard deviations, the covariance of this sampling period is
recomputed with a push on the base among the disturbances.

Correction: all channels of a sample at once, over the state and the disturbances of the sampling period (see
``correction``). A channel is rejected if it has no reading, if it repeats a reading although the strain must have
changed, or if its innovation exceeds ``gate`` standard deviations. After ``gate_patience`` consecutive rejections by
the gate the channel is accepted again, because the estimate may be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.estimation.correction import Correction
from flexarm_core.flexible_dynamics.estimation.covariance import join, propagate
from flexarm_core.flexible_dynamics.estimation.disturbances import Disturbances
from flexarm_core.flexible_dynamics.estimation.measurements import (
    Channel,
    ContactInput,
    FrozenWatch,
    MotionSensors,
    deflection_channels,
    strain_channels,
)
from flexarm_core.flexible_dynamics.model import BodyWrench, FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import static_deflection
from flexarm_core.types import Array, FlexibleSample, FlexibleState

EFFORT_SHARE = 0.02
WEIGHT_ERROR = 0.2
LEAST_ENERGY = 1e-6  # [J]
UNKNOWN_ENERGY = 1.0  # [J] used if effort limits are unknown


@dataclass(frozen=True, slots=True)
class _Prediction:
    """Prediction one sampling period after the last estimate.

    Attributes:
        state: (2N,) ``[y; yd]``.
        P: (2N, 2N) covariance of the state without the disturbances of the sampling period.
        mobility: (N, N) ``L``.
        influence: (2N, d) influence of the disturbances on the state.
        step: length of the sampling period [s].
    """

    state: Array
    P: Array
    mobility: Array
    influence: Array
    step: float


def usual_energy(model: FlexibleModel, M: Array) -> float:
    """Estimate the initial energy in the softest coordinate of an arm at rest with model errors [J].

    The energy is the largest ``f^2 / (2 K)``, where ``f`` is the force on a coordinate if ``EFFORT_SHARE`` of the
    effort limits accelerates the joints and the weight has a relative error ``WEIGHT_ERROR``.
    """
    free, joints, still = model.unmeasured, model.actuated, np.zeros(model.size)
    limits = np.array([model.description.joints[name].effort_limit for name in model.description.actuated])
    if not (np.isfinite(limits) & (limits > 0.0)).all():
        return UNKNOWN_ENERGY
    force = np.abs(M[np.ix_(free, joints)]) @ (EFFORT_SHARE * limits / np.diag(M)[joints])
    force += WEIGHT_ERROR * np.abs(model.inverse_dynamics(still, still, still)[free])
    energy = 0.5 * force**2 / np.diag(model.stiffness_matrix())[free]
    return max(LEAST_ENERGY, float(energy.max(initial=0.0)))


class FlexibleEstimator:
    """Estimates the flexible state (base deflection and modes) from samples."""

    def __init__(self, model: FlexibleModel, config: EstimatorConfig | None = None) -> None:
        """Prepare the filter.

        Args:
            model: the robot; the instance must not be shared, because a model keeps the state of its last call.
            config: settings; None: defaults.

        Raises:
            ConfigError: the robot has neither elastic joints nor flexible links.
        """
        self._model, self._config = model, config or EstimatorConfig()
        free = model.unmeasured
        if not len(free):
            raise ConfigError("the robot has neither elastic joints nor flexible links: there is nothing to estimate")
        self._K = model.stiffness_matrix()[np.ix_(free, free)]
        self._C = model.damping_matrix()[np.ix_(free, free)]
        M = model.mass_matrix(np.zeros(model.size))
        self._hardness = np.concatenate((np.diag(self._K), M[free, free]))
        self._m, self._n = len(model.elastic), len(model.actuated)
        self._N = len(free)
        self._elastic_names = tuple(joint.name for joint in model.description.elastic)
        c = self._config
        self._initial_energy = c.initial_energy or usual_energy(model, M)
        density = np.repeat((c.effort_noise, c.base_noise, c.modal_noise), (self._n, self._m, self._N - self._m))
        self._disturbances = Disturbances(model, density, (c.push_force, c.push_torque), c.use_imu)
        self._contact = ContactInput(model, c.contact_sensor) if c.contact_sensor else None
        compared = set(c.wrench_sensors(model.description.force_torque_sensors)) - {c.contact_sensor}
        self._motion_sensors = MotionSensors(model, sorted(compared), c.use_imu)
        self._variances = (
            np.repeat((c.force_noise**2, c.torque_noise**2), 3),
            np.repeat((c.acceleration_noise**2, c.gyro_noise**2), 3),
        )
        self.reset()

    def reset(self) -> None:
        """Reset the estimate: the next sample starts from static deflection under gravity and initial covariance."""
        self._stamp: int | None = None
        self._x, self._v, self._a = np.zeros((3, self._model.size))
        self._P = self._initial_covariance()
        self._rejected: dict[str, int] = {}
        self._watch = FrozenWatch(
            len(self._model.description.strain_gauges), self._config.frozen_samples, self._config.strain_noise
        )

    def update(self, sample: FlexibleSample) -> FlexibleState:
        """Predict to the stamp of the sample, then correct by the measurements of the sample.

        Raises:
            InputError: a joint value is not finite, an array has the wrong length, or the stamp is not later than the
                last stamp; the estimate does not change then.
        """
        self._check(sample)
        model, free = self._model, self._model.unmeasured
        effort = np.zeros(len(model.hinge_names))
        effort[model.actuated] = sample.effort
        if self._stamp is None:
            self._x[free] = static_deflection(model, sample.position)
        before = self._x[free]
        state, P = np.concatenate((before, self._v[free])), self._P
        left_out: list[str] = []
        contact = self._touched(sample, left_out)
        prediction: _Prediction | None = None
        if self._stamp is not None:
            step = (sample.stamp - self._stamp) * 1e-9
            if step > self._config.max_gap:
                P = self._initial_covariance()
                left_out.append(f"prediction: no sample for {step:.3g} s")
            else:
                prediction = self._predict(P, effort, contact, step)
                state, P = prediction.state, self._covariance(prediction)
        x, v = np.zeros(model.size), np.zeros(model.size)
        x[model.actuated], v[model.actuated] = sample.position, sample.velocity
        x[free], v[free] = state[: self._N], state[self._N :]
        innovation, variance = np.zeros(0), np.zeros(0)
        names: tuple[str, ...] = ()
        if self._config.correct:
            mobility = prediction.mobility if prediction else None
            channels, reasons = self._channels(sample, x, v, effort, contact, x[free] - before, mobility)
            if channels:
                correction = Correction(channels, len(P))
                deviations = correction.deviations(P)
                if prediction and self._pushed(channels, deviations):
                    P = self._covariance(prediction, pushed=True)
                    deviations = correction.deviations(P)
                kept = self._gated(channels, deviations, reasons)
                if not all(kept):
                    correction.keep(kept)
                if any(kept):
                    state, P, variance = correction.correct(state)
                    x[free], v[free] = state[: self._N], state[self._N :]
                    innovation = correction.innovation
                    names = tuple(chain.from_iterable(c.labels for c, keep in zip(channels, kept, strict=True) if keep))
            left_out += reasons
        P = np.ascontiguousarray(P[: 2 * self._N, : 2 * self._N])  # one type for the compiled code
        if not (np.isfinite(x).all() and np.isfinite(v).all() and np.isfinite(P).all()):
            x[free], v[free], P = 0.0, 0.0, self._initial_covariance()
            left_out.append("estimate: diverged, starts over")
        acceleration = model.forward_dynamics(x, v, effort, contact)
        self._stamp, self._x, self._v, self._a, self._P = sample.stamp, x, v, acceleration, P
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
        return np.diag(2.0 * self._initial_energy / self._hardness)

    def _touched(self, sample: FlexibleSample, left_out: list[str]) -> BodyWrench | None:
        """Return the contact wrench if it is known; otherwise add the reason to ``left_out``."""
        if self._contact is None:
            return None
        name = self._config.contact_sensor
        reading = sample.wrenches.get(name)
        if reading is None or not np.isfinite(reading).all():
            left_out.append(f"{name}: {'missing' if reading is None else 'not finite'}")
            return None
        x, v = self._x.copy(), self._v.copy()
        x[self._model.actuated], v[self._model.actuated] = sample.position, sample.velocity
        return self._contact.wrench(reading, x, v, self._a)

    def _predict(self, P: Array, effort: Array, contact: BodyWrench | None, t: float) -> _Prediction:
        """Predict state and covariance ``t`` seconds after the last estimate."""
        model, free, N = self._model, self._model.unmeasured, self._N
        model.set_wrenches(self._x, self._v, contact, t)
        state, moved, mobility = np.empty(2 * N), np.empty((2 * N, 2 * N)), np.empty((N, N))
        influence = np.empty((2 * N, self._disturbances.size))
        propagate(
            *model.arrays, self._x, self._v, effort, free, model.actuated, self._K, self._C, self._disturbances.onto, P,
            state, moved, mobility, influence,
        )  # fmt: skip
        return _Prediction(state, moved, mobility, influence, t)

    def _covariance(self, prediction: _Prediction, pushed: bool = False) -> Array:
        """Compute the covariance (2N + d, 2N + d) of ``[y; yd; d]`` at the end of the sampling period."""
        W = self._disturbances.variance(prediction.step, pushed)
        P = np.empty((2 * self._N + len(W), 2 * self._N + len(W)))
        join(prediction.P, prediction.influence, W, P)
        return P

    def _channels(
        self,
        sample: FlexibleSample,
        x: Array,
        v: Array,
        effort: Array,
        contact: BodyWrench | None,
        step: Array,
        mobility: Array | None,
    ) -> tuple[list[Channel], list[str]]:
        """Return the usable channels of the sample, and the reasons why others are left out."""
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
                (sample.wrenches, sample.imus), x, v, effort, self._variances, self._disturbances, mobility, contact
            )
            channels, left_out = channels + found, left_out + reasons
        return channels, left_out

    def _pushed(self, channels: list[Channel], deviations: Array) -> bool:
        """Return whether the innovation of a base sensor exceeds the push gate."""
        gate = self._config.push_gate
        return any(c.of_base and deviation > gate for c, deviation in zip(channels, deviations, strict=True))

    def _gated(self, channels: list[Channel], deviations: Array, left_out: list[str]) -> list[bool]:
        """Return which channels pass the gate, or are accepted again after too many consecutive rejections."""
        kept: list[bool] = []
        rejected: dict[str, int] = {}
        for channel, deviation in zip(channels, deviations, strict=True):
            kept.append(True)
            if deviation > self._config.gate:
                name = channel.labels[0]
                rejected[name] = self._rejected.get(name, 0) + 1
                kept[-1] = rejected[name] > self._config.gate_patience
                if not kept[-1]:
                    left_out.append(f"{channel.name}: outlier")
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
