r"""Extended Kalman filter of the coordinates without encoders: elastic joints of the base and modes of flexible links.

State ``[y; yd; w]``, ``y`` = [elastic joints (m); modes (K)], ``w`` lasting loads on the base (see ``disturbances``).
The actuated joints are measured and are inputs.

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
recomputed with a sudden change of the loads among the disturbances. If whitened innovations of base sensors, averaged
over ``filter.SHIFT_TIME``, exceed as many standard deviations of this average, loads may change by a push, until
``filter.PUSH_TIME`` has passed without such an average.

Correction: all channels of a sample at once, by the noise that prediction and readings share (see ``covariance``). A
channel is rejected if it has no reading, if it repeats a reading although the strain must have changed, or if its
innovation exceeds ``gate`` standard deviations. After ``gate_patience`` consecutive rejections by the gate the channel
is accepted again, because the estimate may be wrong. An estimate that is no number, or beyond ``FARTHEST`` times the
deflection or rate of :func:`largest_energy`, has diverged: it starts over, undeflected.

Only what depends on the sample is done when it comes (``filter.correct``). Transition, derivatives of the readings,
gain and corrected covariance are prepared before (``filter.prepare``), for a sample that comes after the same time as
the last one and has readings of the same sensors. If it comes after another time, by more than ``STEP_CHANGE``, they
are prepared again with the true one. The estimate is the same whether they are prepared early, by
:meth:`FlexibleEstimator.prepare`, or when the sample is there.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from flexarm_core.compiled import allocate, pack
from flexarm_core.entrance import numbers
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.estimation.disturbances import loads_on
from flexarm_core.flexible_dynamics.estimation.filter import (
    DIVERGED,
    LEFT_OUT,
    REFUSED,
    REPEATS,
    TOUCH_UNREADABLE,
    correct,
    prepare,
)
from flexarm_core.flexible_dynamics.estimation.measurements import Measurements, contact_body
from flexarm_core.flexible_dynamics.estimation.memory import (
    Filter,
    Inputs,
    Plan,
    Settings,
    view_ahead,
    view_constants,
    view_filter,
    view_inputs,
    view_kept,
    view_outputs,
)
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import static_deflection
from flexarm_core.types import Array, FlexibleSample, FlexibleState

EFFORT_SHARE = 0.02
WEIGHT_ERROR = 0.2
LEAST_ENERGY = 1e-6  # [J]
UNKNOWN_ENERGY = 1.0  # [J] used if effort limits are unknown
UNKNOWN_ACCELERATION = 10.0  # [m/s^2] of all masses, used if effort limits are unknown
FARTHEST = 30.0  # times the deflection and rate of the largest energy: an estimate beyond them has diverged
FROZEN_TRAVEL = 3.0  # expected change, in standard deviations of the noise, above which a repeated reading is frozen
STEP_CHANGE = 0.05  # share by which a sampling period may differ from the one that gain and covariance are prepared for

SIX = (6,)  # shape of a reading of a force/torque sensor or an IMU


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


def largest_energy(model: FlexibleModel, M: Array, push: float) -> float:
    """Bound the energy that efforts at their limits, weight and a push [N] give a coordinate [J].

    It is the largest ``f^2 / (2 K)`` of all coordinates, at least ``UNKNOWN_ENERGY``. As ``M_ij^2 <= M_ii M_jj`` in any
    posture, and likewise for forces on masses ``m``::

        f_i <= sqrt(M_ii) (sum_j T_j / sqrt(M_jj) + g sqrt(sum m) + F / sqrt(sum m))

    Only the diagonal depends on the posture: ``M`` at zero stands for all of them, which ``FARTHEST`` has room for.
    ``push`` is a force on the base.
    """
    free, joints, inertia = model.unmeasured, model.actuated, np.diag(M)
    limits = np.array([model.description.joints[name].effort_limit for name in model.description.actuated])
    known = np.isfinite(limits) & (limits > 0.0)
    mass = sum(link.mass for link in model.description.links.values())
    field = float(np.linalg.norm(model.tree.root)) + (0.0 if known.all() else UNKNOWN_ACCELERATION)
    strength = float((limits[known] / np.sqrt(inertia[joints][known])).sum())
    strength += (field * mass + push) / math.sqrt(mass)
    energy = 0.5 * strength**2 * inertia[free] / np.diag(model.stiffness_matrix())[free]
    return max(UNKNOWN_ENERGY, float(energy.max(initial=0.0)))


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
        model.description.require_springs("the estimator of the flexible state")
        self._model, self._config = model, config or EstimatorConfig()
        free, c = model.unmeasured, self._config
        if not len(free):
            raise ConfigError("the robot has neither elastic joints nor flexible links: there is nothing to estimate")
        self._m, self._n, self._N = len(model.elastic), len(model.actuated), len(free)
        self._elastic = (self._m,)  # shape
        self._touched = contact_body(model, c.contact_sensor) if c.contact_sensor else -1
        self._measurements = Measurements(model, c)
        self._own = {*model.description.force_torque_sensors, *model.description.imus}
        self._shape()
        self.reset()

    def _shape(self) -> None:
        """Allocate and fill the memory of the kernels."""
        model, c, measured = self._model, self._config, self._measurements
        free, N, n, size, rows = model.unmeasured, self._N, self._n, model.tree.hinges + len(model.modal), measured.rows
        body, felt, frame, influence = measured.motion_sensors()
        loads = loads_on(model, c)
        p, k, q = len(loads.push), influence.shape[2], len(measured.channels)
        sizes = (N, n, size, measured.gauges, measured.linear, len(body), rows, q, p, k, self._touched)
        free_in_tree, actuated = model.place[free], model.place[model.actuated]
        plan = pack(Plan(*sizes, free_in_tree, actuated, body, felt, measured.first, measured.of_base), np.int64)
        constants, fixed = allocate(view_constants, N, n, len(body), rows, p, k)
        M = model.mass_matrix(np.zeros(model.size))
        fixed.K[:] = model.stiffness_matrix()[np.ix_(free, free)]
        fixed.C[:] = model.damping_matrix()[np.ix_(free, free)]
        fixed.density[:] = np.repeat((c.effort_noise, c.base_noise, c.modal_noise), (n, self._m, N - self._m)) ** 2
        fixed.onto[:], fixed.push[:], fixed.drift[:], fixed.fading[:] = (
            loads.onto,
            loads.push,
            loads.drift,
            loads.fading,
        )
        for channel, row in zip(measured.channels, measured.first, strict=False):
            fixed.noise[row : row + len(channel.noise)] = channel.noise
            if channel.name in loads.through and len(channel.noise) == 6:
                fixed.through[:, row : row + 6] = loads.through[channel.name].T
        of_energy = 2.0 / np.concatenate((np.diag(fixed.K), M[free, free]))
        fixed.initial[: 2 * N] = (c.initial_energy or usual_energy(model, M)) * of_energy
        fixed.initial[2 * N :] = loads.initial
        largest = max(c.initial_energy, largest_energy(model, M, c.push_force))
        fixed.farthest[:] = FARTHEST * np.sqrt(largest * of_energy)
        fixed.frame[:], fixed.influence[:] = frame, influence
        settings = pack(Settings(
            c.strain_error, c.gate, c.push_gate, c.gate_patience, c.frozen_samples, FROZEN_TRAVEL * c.strain_noise,
        ))  # fmt: skip
        kept = np.zeros(view_kept.size(N, size, measured.gauges, rows, q, p))
        ahead = np.zeros(view_ahead.size(N, n, size, len(body), rows, p, k))
        tree, fixed_tree, workspace = model.arrays
        self._arrays = (
            np.concatenate((plan, tree)),
            np.concatenate((fixed_tree, constants, settings, kept, ahead, workspace, workspace)),
        )
        self._filter: Filter = view_filter(*self._arrays)
        self._inputs, self._given = allocate(view_inputs, n, rows)
        out, results = allocate(view_outputs, N, rows, q)
        m, at = self._m, np.cumsum([0, *(part.size for part in results)]).tolist()
        self._results, self._parts = out.size, tuple(slice(i + a, i + b) for i in at[:3] for a, b in ((0, m), (m, N)))
        self._parts += tuple(slice(i, j) for i, j in pairwise(at[3:]))

    def reset(self) -> None:
        """Reset the estimate: the next sample starts from static deflection under gravity and initial covariance."""
        self._stamp: int | None = None
        self._step = 0.0  # newest sampling period, 0: none
        self._ahead: float | None = None  # step that is prepared
        kept = self._filter.kept
        for part in kept:
            part[:] = 0.0
        if kept.watch.size:
            kept.watch[0] = np.nan
        kept.shown[: 2 * self._N], kept.used[:] = self._measurements.shown(), 1.0
        kept.R[:] = self._filter.constants.noise

    def prepare(self) -> None:
        """Prepare for the next sample, when the last estimate has been used; else the next :meth:`update` does it."""
        if self._ahead is None and self._step > 0.0:
            self._prepare(self._step)

    def _prepare(self, step: float) -> None:
        prepare(*self._arrays, step)
        self._ahead = step

    def update(self, sample: FlexibleSample, effort: Array | None = None) -> FlexibleState:
        """Predict to the stamp of the sample, then correct by the measurements of the sample.

        Args:
            sample: the measurements.
            effort: (n,) efforts to use in place of those of the sample, e.g. without friction; None: those.

        Raises:
            InputError: a joint value is not finite, an array has the wrong length, or the stamp is not later than the
                last stamp; the estimate does not change then.
        """
        effort = sample.effort if effort is None else effort
        self._check(sample, effort)
        given, measured = self._given, self._measurements
        given.position[:], given.velocity[:], given.effort[:] = sample.position, sample.velocity, effort
        given.touch[:] = sample.wrenches.get(self._config.contact_sensor, np.nan)
        measured.read(sample, given.readings)
        left_out: tuple[str, ...] = ()
        period = 0.0 if self._stamp is None else (sample.stamp - self._stamp) * 1e-9
        if self._stamp is None or period > self._config.max_gap:
            self._start(sample, given)
            if self._stamp is not None:
                left_out = (f"prediction: no sample for {period:.3g} s",)
            period = step = 0.0
        else:
            step = self._step if abs(period - self._step) <= STEP_CHANGE * self._step else period
        if self._ahead != step:
            self._prepare(step)
        given.step[0], self._ahead = period, None  # whatever happens: what is prepared is used up
        out = np.empty(self._results)
        status = correct(*self._arrays, self._inputs, out)
        if status == REFUSED:
            raise self._not_finite(given)
        self._stamp, self._step = sample.stamp, period or self._step
        parts = self._parts
        innovation, variance, names = out[parts[7]], out[parts[8]], measured.labels
        if status:
            codes = out[parts[9]]
            if status & TOUCH_UNREADABLE:
                missing = sample.wrenches.get(self._config.contact_sensor) is None
                text = f"{self._config.contact_sensor}: {'missing' if missing else 'not finite'}"
                left_out = (text, *left_out)
            if status & LEFT_OUT:
                left_out = (*left_out, *measured.reasons(codes, sample))
                used = measured.used(codes)
                innovation, variance = innovation[used], variance[used]
                names = tuple(name for name, one in zip(names, used, strict=True) if one)
            if status & DIVERGED:
                left_out = (*left_out, "estimate: diverged, starts over")
        return FlexibleState(
            sample.stamp, out[parts[0]], out[parts[2]], out[parts[4]], out[parts[1]], out[parts[3]], out[parts[5]],
            innovation, names, variance, out[parts[6]], left_out,
        )  # fmt: skip

    def _start(self, sample: FlexibleSample, given: Inputs) -> None:
        """Start from the initial covariance, and before any sample from static deflection."""
        if not all(np.isfinite(part).all() for part in (given.position, given.velocity, given.effort)):
            raise self._not_finite(given)
        model, kept = self._model, self._filter.kept
        x, v = kept.x[model.place], kept.v[model.place]
        if self._stamp is None:
            x[model.unmeasured] = static_deflection(model, given.position)
        x[model.actuated], v[model.actuated] = given.position, given.velocity
        kept.x[:], kept.v[:] = model.of_tree(x), model.of_tree(v)
        kept.hinge[model.place[model.actuated]] = given.effort
        kept.P[:] = np.diag(self._filter.constants.initial)
        kept.turn[2], self._ahead = REPEATS, None

    def _not_finite(self, given: Inputs) -> InputError:
        """Say which joints are not finite."""
        joints = self._model.description.actuated
        for name in ("position", "velocity", "effort"):
            bad = [joint for joint, value in zip(joints, getattr(given, name), strict=True) if not math.isfinite(value)]
            if bad:
                break
        return InputError(f"{name} of {', '.join(bad)} is not finite")

    def _check(self, sample: FlexibleSample, effort: Array) -> None:
        """Check shapes and stamp; whether joints are finite is seen by the kernel."""
        for name, value in (("position", sample.position), ("velocity", sample.velocity), ("effort", effort)):
            numbers(name, value, self._n)
        if sample.deflection is not None:
            _expect_shape("deflection", sample.deflection, self._elastic)
        if sample.deflection_rate is not None:
            _expect_shape("deflection_rate", sample.deflection_rate, self._elastic)
        for readings in (sample.wrenches, sample.imus):
            for name, value in readings.items():
                if name in self._own:
                    _expect_shape(name, value, SIX)
        if self._stamp is not None and sample.stamp <= self._stamp:
            raise InputError(
                f"sample at {sample.stamp * 1e-9:.6f} s is not later than the last one at {self._stamp * 1e-9:.6f} s;"
                " reset the estimator where time starts over"
            )


def _expect_shape(name: str, value: Array, shape: tuple[int, ...]) -> None:
    found = value.shape if type(value) is np.ndarray else np.shape(value)
    if found != shape:
        what = f"reading of {name}" if shape is SIX else name
        raise InputError(f"{what} has shape {found}, expected ({shape[0]},)")
