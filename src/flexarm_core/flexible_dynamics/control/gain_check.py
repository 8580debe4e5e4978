"""Gains of the controller of a flexible arm: derived from the model if none are given, and checked.

Gains pass the check if, at every test posture, the sampled loop of arm, estimator and control law is stable for the
nominal arm and for arms that differ by the margins, with more modes than in the controller's model; see
``sampled_loop``. The noise must also be small: at rest, noise of the measured velocities must not cause efforts above
``QUIET`` of any effort limit. And the servos must hold the weight: the stiffness ``I k_p`` of each must be at least
that of its weight (``weight_moment``). Softer ones let an error of the weight move a joint as far as it likes. ``I`` is
the inertia that a gain stands for: the diagonal ``H_d`` of the mass matrix, or, with the law ``accelerations``, what a
joint accelerates before links deflect.

Test postures: the zero posture, the start posture if it is known, some random postures within the joint limits, and,
out of many more random ones, those with the fastest servos: ``(M^-1)_qq diag(H_d)`` has the largest eigenvalues.

Derived servo gains of each joint: ``k_p = max(min(400 1/s^2, k_d^2 / 2), w)`` and ``k_d = min(max(40 1/s, sqrt(2 w)),
D / (t (1 + 2 d) I))``, reduced until the check passes; ``w`` holds the weight also if the demand is saturated (smallest
factor of ``FEEDBACK``). ``D`` is the inertia that a joint accelerates instantaneously, before the links deflect. ``D /
H_d`` is small if a light hub carries a long link. A damper ``H_d k_d`` is unstable beyond ``2 D / t`` if sampled with
period ``t``, and earlier with a delay of ``d`` periods. Derived ``effort_weight``: 3 times the smallest value that
passes, searched in steps of 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.control.modal_target import modal_target
from flexarm_core.flexible_dynamics.control.sampled_loop import (
    Error,
    Estimate,
    SampledArm,
    richer_model,
    sampled_arm,
    sampled_loop,
)
from flexarm_core.flexible_dynamics.control.weight import weight_gains, weight_moment
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import (
    VibrationDampingConfig,
    damping_gains,
    servo_gains,
    servo_inertia,
)
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array

STIFFEST = (400.0, 40.0)  # [1/s^2], [1/s] largest derived servo gains
FEEDBACK = (0.3, 1.25)  # factors on the gains that must also be stable: saturated demand, efforts above nominal
GROWTH = 1e-6  # tolerance of the spectral radius above 1: rest states are multiple eigenvalues 1
QUIET = 0.01  # largest root mean square noise as a share of an effort limit: five standard deviations are 5 %
POSTURES = 5  # number of random test postures
QUICKEST = 3  # number of test postures with the fastest servos
DRAWN = 200  # number of random postures in total
BENT = 1e-3  # strain at which the estimator is checked, in addition to the undeflected arm
STEP = 3.0  # ratio of consecutive effort weights in the search
WEIGHTS = (1e-3, 1e9)  # [s^2] range of effort weights in the search
WEIGHTLESS = 1e-9  # [1/s^2] position gain below which none is needed against the weight
FIRMER = (1.0, 2.0, 4.0)  # multiples of the position gains that the weight needs, until an effort weight is found
DIGITS = 0.02  # relative accuracy of the largest stable gains
LEAST = 1e-3  # smallest factor on the requested gains in the search


@dataclass(frozen=True, slots=True)
class LoopConditions(Settings):
    """Conditions under which gains must be stable."""

    # fmt: off
    period: float = setting(0.001, "sampling period", "s", 1e-9)
    delay: float = setting(0.0,
        "delay from sensors to motors, rounded up to whole periods; 0 only if efforts act at the instant of sampling",
        "s", 0.0)
    stiffness_margin: float = setting(0.2,
        "relative error of the modeled stiffness, softer or stiffer, that gains must tolerate", "", 0.0, 0.9)
    mass_margin: float = setting(0.1,
        "relative error of the modeled masses, lighter or heavier, that gains must tolerate", "", 0.0, 0.9)
    velocity_noise: float = setting(1e-3,
        "standard deviation of measured joint velocities; gains may turn it into at most 1 % of the effort limits",
        "rad/s | m/s", 0.0)
    # fmt: on

    def check(self) -> None:
        """Raise ConfigError for a delay of too many periods."""
        if self.delay > 100.0 * self.period:
            raise ConfigError(f"delay must lie in 0 to 100 periods, got {self.delay} s at {1.0 / self.period:g} Hz")

    @property
    def late(self) -> int:
        """Delay in periods."""
        return math.ceil(self.delay / self.period - 1e-6)

    def errors(self) -> Iterator[Error]:
        """Yield the deviations of the arm from the model that must be stable, the nominal arm first."""
        soft, stiff = 1.0 - self.stiffness_margin, 1.0 + self.stiffness_margin
        light, heavy = 1.0 - self.mass_margin, 1.0 + self.mass_margin
        corners = ((1.0, 1.0), (soft, 1.0), (stiff, 1.0), (soft, heavy), (stiff, light), (1.0, light), (1.0, heavy))
        yield from (Error(stiffness, mass) for stiffness, mass in dict.fromkeys(corners))
        yield from (Error(feedback=feedback) for feedback in FEEDBACK)

    def __str__(self) -> str:
        """Describe the conditions for messages, e.g. ``a delay of 2 ms at 500 Hz``."""
        return f"a delay of {1e3 * self.delay:.3g} ms at {1.0 / self.period:.4g} Hz"


class GainCheck:
    """Checks gains of one arm under one set of conditions."""

    def __init__(
        self,
        model: FlexibleModel,
        conditions: LoopConditions,
        estimator: EstimatorConfig | None = None,
        postures: Array | None = None,
    ) -> None:
        """Prepare the check of an arm.

        Args:
            model: nominal model of the controller.
            conditions: conditions under which gains must be stable.
            estimator: settings of the estimator; None: defaults.
            postures: (count, n) test postures; None: postures distributed over the workspace.
        """
        self._nominal, self._true, self._conditions = model, richer_model(model), conditions
        self._estimator = EstimatorConfig() if estimator is None else estimator
        self._limit = effort_limits(model)
        self._postures = workspace_postures(model) if postures is None else postures
        self._arms: dict[tuple[int, float, float], SampledArm] = {}
        self._estimates: dict[int, tuple[Estimate, ...]] = {}
        self._weights: dict[tuple[str, int], Array] = {}  # gains with which a law holds the weight at a posture
        self._designed: tuple[object, Array] = (None, np.zeros(0))  # the last computed gains, with their key first

    def settled(self, law: str, motion: VibrationDampingConfig) -> VibrationDampingConfig:
        """Return gains of a law that pass the check; gains of 0 are derived.

        Raises:
            ConfigError: given gains fail the check; the message names the largest gains that pass.
        """
        servo_law = "joint_pd" if law == "vibration_damping" else law  # its servos alone must also be stable
        derived = not (np.any(motion.position_gain) or np.any(motion.velocity_gain))
        if derived and law == "vibration_damping" and motion.effort_weight == 0.0:
            for firmness in FIRMER[:-1]:  # joints that share a weight need more than each alone
                try:
                    return self._damped(self._derived_servos(servo_law, motion, firmness))
                except ConfigError:
                    continue
            return self._damped(self._derived_servos(servo_law, motion, FIRMER[-1]))
        if np.any(motion.position_gain) or np.any(motion.velocity_gain):
            if sinking := self._sinking(servo_law, motion):
                raise ConfigError(sinking)
            if fault := self.fault(servo_law, motion):
                raise ConfigError(self._refused_servos(servo_law, motion, fault))
        else:
            motion = self._derived_servos(servo_law, motion)
        if law != "vibration_damping":
            return motion
        if motion.effort_weight == 0.0:
            return self._damped(motion)
        if fault := self.fault(law, motion):
            least = self._least_weight(motion, 1.0 + DIGITS)
            raise ConfigError(
                f"effort_weight {motion.effort_weight:g} does not hold {fault}: the smallest that does is {least:.3g};"
                " 0 chooses one"
            )
        return motion

    def _damped(self, motion: VibrationDampingConfig) -> VibrationDampingConfig:
        least = self._least_weight(replace(motion, effort_weight=WEIGHTS[0]), STEP)
        return replace(motion, effort_weight=min(STEP * least, WEIGHTS[1]))

    def fault(self, law: str, motion: VibrationDampingConfig) -> str:
        """Describe where gains fail the check, for messages; empty: they pass everywhere."""
        for number, posture in enumerate(self._postures):
            for error in self._conditions.errors():
                if fault := self._fault_at(law, motion, number, error):
                    return f"{fault}, at joint positions {np.round(posture, 2).tolist()}"
        return ""

    def _fault_at(self, law: str, motion: VibrationDampingConfig, number: int, error: Error) -> str:
        nominal, conditions = self._nominal, self._conditions
        unstable = f"{error}, {conditions}"
        x = np.zeros(nominal.size)
        x[nominal.actuated] = self._postures[number]
        if self._designed[0] != (law, motion, number):
            try:
                self._designed = ((law, motion, number), law_gains(nominal, x, law, motion, conditions.period))
            except ValueError:  # no solution, or none that can be computed
                return unstable
        if (law, number) not in self._weights:
            self._weights[law, number] = weight_gains(nominal, self._postures[number], law, conditions.period)
        gains = error.feedback * self._designed[1] - self._weights[law, number]
        key = (number, error.stiffness, error.mass)
        if key not in self._arms:
            self._arms[key] = sampled_arm(self._true, self._postures[number], conditions.period, error)
        for estimate in self._estimates_at(law, number, x):
            loop = sampled_loop(nominal, self._arms[key], gains, estimate, conditions.late)
            if loop.spectral_radius > 1.0 + GROWTH:
                return unstable
            if error == Error() and conditions.velocity_noise > 0.0:
                share = float((loop.rest_effort * conditions.velocity_noise / self._limit).max())
                if share > QUIET:
                    return (
                        f"at rest, where noise of {conditions.velocity_noise:g} rad/s asks for {100.0 * share:.2g} % of"
                        f" an effort limit (root mean square; {100.0 * QUIET:g} % is the most)"
                    )
        return ""

    def _estimates_at(self, law: str, number: int, x: Array) -> tuple[Estimate | None, ...]:
        if law == "joint_pd":
            return (None,)
        if number not in self._estimates:
            nominal, config, period = self._nominal, self._estimator, self._conditions.period
            self._estimates[number] = tuple(Estimate(nominal, x, config, period, bent) for bent in (0.0, BENT))
        return self._estimates[number]

    def _derived_servos(
        self, law: str, motion: VibrationDampingConfig, firmness: float = 1.0
    ) -> VibrationDampingConfig:
        true, conditions = self._true, self._conditions
        light = np.full(len(true.actuated), np.inf)
        for posture in self._postures:
            light = np.minimum(light, _at_once(true, posture, 0.0) / self._inertia(law, posture))
        damping = light / (conditions.period * (1.0 + 2.0 * conditions.late))
        least = firmness * self._least_position_gain(law) / min(FEEDBACK)
        quickest = np.maximum(STIFFEST[1], np.sqrt(2.0 * least))
        for _ in range(20):
            k_d = np.minimum(quickest, damping)
            k_p = np.maximum(np.minimum(STIFFEST[0], 0.5 * k_d**2), least)
            motion = replace(motion, position_gain=tuple(map(float, k_p)), velocity_gain=tuple(map(float, k_d)))
            if not (fault := self.fault(law, motion)):
                return motion
            damping = k_d / 1.5
        weight = f" with the position_gain {_said(least)} that the weight needs" if least.any() else ""
        raise ConfigError(
            f"law {law}: no gains{weight} hold {fault}; take another law, a shorter delay, a higher rate or smaller"
            " margins"
        )

    def _inertia(self, law: str, posture: Array) -> Array:
        """Return the inertia (n,) that the gains of a law stand for at a posture (n,)."""
        if law == "accelerations":
            return _at_once(self._nominal, posture, self._conditions.period)
        x = np.zeros(self._nominal.size)
        x[self._nominal.actuated] = posture
        return servo_inertia(self._nominal, x)

    def _least_position_gain(self, law: str) -> Array:
        """Return the position gains (n,) of a law whose servos hold the weight at every posture [1/s^2]."""
        needed = [weight_moment(self._nominal, posture) / self._inertia(law, posture) for posture in self._postures]
        least = np.max(needed, axis=0)
        return np.where(least > WEIGHTLESS, least, 0.0)

    def _sinking(self, law: str, motion: VibrationDampingConfig) -> str:
        """Describe why servos do not hold the weight, with the smallest position gains that do; empty: they do."""
        least = self._least_position_gain(law)
        if not (np.asarray(motion.position_gain) < least * (1.0 - DIGITS)).any():
            return ""
        return (
            f"law {law}: position_gain {_said(motion.position_gain)} does not hold the weight: the smallest that does"
            f" is {_said(least)}; 0 and 0 choose some"
        )

    def _least_weight(self, motion: VibrationDampingConfig, step: float) -> float:
        """Find the smallest effort weight that passes at every posture, in steps from the given weight.

        Raises:
            ConfigError: no weight passes.
        """
        weight = motion.effort_weight
        for number in range(len(self._postures)):
            for error in self._conditions.errors():
                below = weight
                while self._fault_at("vibration_damping", replace(motion, effort_weight=weight), number, error):
                    below, weight = weight, STEP * weight
                    if weight > WEIGHTS[1]:
                        raise ConfigError(
                            f"no effort_weight holds {error}, {self._conditions}: give smaller margins, or other servo"
                            " gains; 0 and 0 choose some"
                        )
                while weight > step * below:
                    middle = math.sqrt(below * weight)
                    if self._fault_at("vibration_damping", replace(motion, effort_weight=middle), number, error):
                        below = middle
                    else:
                        weight = middle
        return weight

    def _refused_servos(self, law: str, motion: VibrationDampingConfig, fault: str) -> str:
        """Describe why given gains fail, with the largest gains of the same damping ratio that pass."""
        position, least = np.asarray(motion.position_gain), self._least_position_gain(law)
        good, bad = max(LEAST, float(np.sqrt(np.max(least / np.maximum(position, 1e-12))))), 1.0  # holds the weight
        given = f"position_gain {_said(motion.position_gain)} and velocity_gain {_said(motion.velocity_gain)}"
        asked = f"{given} do not hold {fault}"
        if self.fault(law, _slower(motion, good)):
            return f"law {law}: {asked}, nor do smaller ones that hold the weight; give smaller margins, or another law"
        while bad > (1.0 + DIGITS) * good:
            middle = math.sqrt(good * bad)
            good, bad = (good, middle) if self.fault(law, _slower(motion, middle)) else (middle, bad)
        most = _slower(motion, good)
        named = f"{_said(most.position_gain)} and {_said(most.velocity_gain)}"
        return f"{asked}: the largest that do are {named}; 0 and 0 choose some"


def law_gains(model: FlexibleModel, x: Array, law: str, motion: VibrationDampingConfig, period: float) -> Array:
    """Compute the gains (n, 2 (h + K)) of a law on ``[dx; dxd]``, linearized about a posture.

    Raises:
        ValueError: the gains cannot be computed.
    """
    if law == "joint_pd":
        return servo_gains(model, x, motion)
    if law == "vibration_damping":
        return damping_gains(model, x, motion, period)
    K, C, joints, t = model.stiffness_matrix(), model.damping_matrix(), model.actuated, period
    response = np.linalg.inv(model.mass_matrix(x) + 0.5 * t * C + 0.25 * t * t * K)[joints]
    rows, wanted = np.arange(len(joints)), -np.hstack((response @ K, response @ (0.5 * t * K + C)))
    wanted[rows, joints] += motion.position_gain
    wanted[rows, model.size + joints] += motion.velocity_gain
    forces = np.zeros((len(joints), 2 * model.size))
    if motion.mode_damping:
        target, bent, rates = modal_target(model, x, motion, t), model.unmeasured, model.size + model.unmeasured
        wanted[:, bent] -= target.servo_position
        wanted[:, rates] -= target.servo_rate
        forces[:, rates] = target.forces @ target.damping
    gains: Array = np.linalg.solve(response[:, joints], wanted) + forces
    return gains


def _at_once(model: FlexibleModel, posture: Array, t: float) -> Array:
    """Return the inertia (n,) that each joint accelerates within a time t [s], before the links deflect further."""
    x = np.zeros(model.size)
    x[model.actuated] = posture
    M = model.mass_matrix(x) + 0.5 * t * model.damping_matrix() + 0.25 * t * t * model.stiffness_matrix()
    inertia: Array = 1.0 / np.diag(np.linalg.inv(M))[model.actuated]
    return inertia


def _slower(motion: VibrationDampingConfig, factor: float) -> VibrationDampingConfig:
    """Scale the servo bandwidth by a factor, at the same damping ratio; rounded to the digits shown in messages."""
    position, velocity = (
        tuple(float(f"{part * gain:.4g}") for gain in np.atleast_1d(gains))
        for part, gains in ((factor**2, motion.position_gain), (factor, motion.velocity_gain))
    )
    return replace(motion, position_gain=position, velocity_gain=velocity)


def _said(gains: float | tuple[float, ...] | Array) -> str:
    """Format gains for messages; a single number if all joints have the same gain."""
    texts = list(dict.fromkeys(f"{gain:.4g}" for gain in np.atleast_1d(gains)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(f'{gain:.4g}' for gain in np.atleast_1d(gains))}]"


def effort_limits(model: FlexibleModel) -> Array:
    """Return the effort limits (n,) of the actuated joints; inf for joints without limit [N*m | N]."""
    limits = [model.description.joints[name].effort_limit for name in model.description.actuated]
    return np.array([limit if limit > 0.0 else np.inf for limit in limits])


def workspace_postures(model: FlexibleModel) -> Array:
    """Return representative postures (count, n) within the joint limits; the result is deterministic."""
    joints = [model.description.joints[name] for name in model.description.actuated]
    lower, upper = (
        np.clip(np.nan_to_num([getattr(joint, side) for joint in joints], posinf=np.pi, neginf=-np.pi), -np.pi, np.pi)
        for side in ("lower", "upper")
    )
    drawn = np.random.default_rng(0).uniform(lower, upper, (DRAWN, len(joints)))
    quickness = [_quickness(model, posture) for posture in drawn[POSTURES:]]
    quickest = drawn[POSTURES:][np.argsort(quickness)[-QUICKEST:]]
    return np.vstack((np.clip(0.0, lower, upper), drawn[:POSTURES], quickest))


def _quickness(model: FlexibleModel, posture: Array) -> float:
    """Return the largest eigenvalue of ``(M^-1)_qq diag(H_d)``: the fastest servo's speed relative to its design."""
    x, joints = np.zeros(model.size), model.actuated
    x[joints] = posture
    M = model.mass_matrix(x)
    return float(np.abs(np.linalg.eigvals(np.linalg.inv(M)[np.ix_(joints, joints)] * np.diag(M)[joints])).max())
