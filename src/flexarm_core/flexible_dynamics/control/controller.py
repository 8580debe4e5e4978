"""FlexibleController: joint reference and estimated state -> joint efforts of a flexible arm."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from flexarm_core.entrance import finite
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.flexible_dynamics.control.carried_over import ENOUGH, CarriedOver, articulate, correct_carried_over
from flexarm_core.flexible_dynamics.control.force_correction import INFLUENCES, correct_forces
from flexarm_core.flexible_dynamics.control.gain_check import (
    GainCheck,
    LoopConditions,
    effort_limits,
    workspace_postures,
)
from flexarm_core.flexible_dynamics.control.modal_target import ModalTarget, modal_target
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import (
    VibrationDampingConfig,
    damping_gains,
    flexible_reference,
    servo_gains,
    servo_inertia,
)
from flexarm_core.settings import Settings, setting
from flexarm_core.types import ArmState, Array, FlexibleState, JointReference

LAWS = ("vibration_damping", "accelerations", "joint_pd")
FADE_IN = 0.1  # [s] over which vibration damping is faded in on top of the servos, while the estimate converges
NEAR = 0.02  # [rad | m] distance from the posture of the last gain check below which no new check is needed
BEYOND = "efforts are not finite: the flexible state or the reference is beyond what can be computed"
ERROR_SHARE = 0.5  # share of the effort limits that position errors may use: the rest is reserved for braking


@dataclass(frozen=True, slots=True)
class FlexibleControllerConfig(Settings):
    """Settings of the controller.

    Law ``accelerations`` adds a servo on positions and velocities of the reference if it has them.

    Attributes:
        motion: gains and weights of the desired motion.
        conditions: conditions under which the gains must be stable: control period, delay, margins.
    """

    # fmt: off
    law: str = setting("vibration_damping",
        "control law: tracking with vibration damping, exact joint accelerations (accelerations), or a PD servo with"
        " gravity compensation (joint_pd)", choices=LAWS)
    motion: VibrationDampingConfig = field(default_factory=VibrationDampingConfig)
    influence: str = setting("exact",
        "influence of efforts on accelerations in the force correction: exact, or diagonal approximation",
        choices=INFLUENCES)
    tolerance: float = setting(1e-9,
        "relative tolerance of the accelerations at which the force correction ends", "", 1e-15, 1.0)
    iterations: int = setting(10, "largest number of iterations of the force correction per sample", "", 1, 1000)
    carry_over: float = setting(0.0,
        "time for which law accelerations uses articulated-body inertias and influence of an earlier sample, corrected"
        " to tolerance; 0: computed at each sample", "s", 0.0, 1.0)
    conditions: LoopConditions = field(default_factory=LoopConditions)
    check_gains: bool = setting(True,
        "reject gains that are unstable within the stiffness and mass margins, or that amplify noise too much")
    # fmt: on

    def check(self) -> None:
        """Raise ConfigError for a law that carries nothing over."""
        if self.carry_over > 0.0 and (self.law != "accelerations" or self.motion.mode_damping > 0.0):
            raise ConfigError("carry_over needs law 'accelerations' with mode_damping 0; set it to 0 for other laws")


@dataclass(slots=True)
class _Memory:
    """What the controller keeps from earlier samples; a rejected sample leaves it unchanged.

    Attributes:
        references: the newest at most 3 reference coordinates (h + K,).
        stamp: stamp of the last sample [ns]; None before the first.
        begun: stamp at which vibration damping began [ns].
        gains: gains of the vibration damping in use; None: none designed yet.
        designed: stamp of the sample for which the gains were designed [ns].
        iterations: number of force corrections of the last sample.
        discrepancy: remaining difference of desired and computed acceleration [rad/s^2 | m/s^2].
        limited: factor by which the effort limits scaled the demand of the last sample.
        target: desired motion of elastic joints and modes; None: none designed yet.
        missed: (N,) desired minus computed accelerations of elastic joints and modes; empty: not compared.
        carried: quantities that the next sample uses again; None: none.
    """

    references: tuple[Array, ...] = ()
    stamp: int | None = None
    begun: int = 0
    gains: Array | None = None
    designed: int = 0
    iterations: int = 0
    discrepancy: float = 0.0
    limited: float = 1.0
    target: ModalTarget | None = None
    missed: Array = field(default_factory=lambda: np.zeros(0))
    carried: CarriedOver | None = None


class FlexibleController:
    """Computes joint efforts from reference, joint state and flexible state, once per sample."""

    def __init__(
        self, model: FlexibleModel, config: FlexibleControllerConfig, estimator: EstimatorConfig | None = None
    ) -> None:
        """Bind the controller to an arm.

        Args:
            model: the arm.
            config: settings; gains of 0 are derived from the model.
            estimator: settings of the estimator that provides the flexible state, for the check of the gains; None:
                default settings.

        Raises:
            ConfigError: the gains fail the check; the message names the largest gains that pass.
        """
        model.description.require_springs("the controller of flexible links")
        self.model, self._estimator, self._limit = model, estimator, effort_limits(model)
        self._postures, self._start = workspace_postures(model), np.zeros((0, len(model.actuated)))
        self._memory = _Memory()
        self._settle(config)

    def configure(self, config: FlexibleControllerConfig) -> None:
        """Change the settings from the next sample on; takes about a second if gains are derived or checked.

        Raises:
            ConfigError: the gains fail the check; the old settings stay in force.
        """
        if config != self._asked:
            self._settle(config)

    @property
    def asked(self) -> FlexibleControllerConfig:
        """Settings as they were given: gains of 0 are derived."""
        return self._asked

    def prepare(self, position: Array) -> None:
        """Check the gains also at the current posture of the arm; derived gains may become smaller.

        Args:
            position: (n,) joint positions [rad | m].

        Raises:
            ConfigError: configured gains fail the check at this posture; nothing changes then.
        """
        start, asked, before = finite("position", position, len(self.model.actuated))[None], self._asked, self._start
        if before.size and np.abs(start - before).max() <= NEAR:
            return
        self._start = start
        if not _looks(asked):
            return
        try:
            GainCheck(self.model, asked.conditions, self._estimator, start).settled(asked.law, self.config.motion)
        except ConfigError:
            try:
                self._settle(asked)
            except ConfigError:
                self._start = before
                raise

    def _settle(self, config: FlexibleControllerConfig) -> None:
        motion = config.motion
        if _looks(config):
            check = GainCheck(self.model, config.conditions, self._estimator, np.vstack((self._start, self._postures)))
            motion = check.settled(config.law, motion)
        self.config, self._asked = replace(config, motion=motion), config
        self._memory.gains, self._memory.target, self._memory.carried = None, None, None

    def reset(self) -> None:
        """Forget earlier samples."""
        self._memory = _Memory()

    @property
    def iterations(self) -> int:
        """Number of force corrections of the last sample."""
        return self._memory.iterations

    @property
    def discrepancy(self) -> float:
        """Difference of desired and computed acceleration that the force correction left [rad/s^2 | m/s^2]."""
        return self._memory.discrepancy

    @property
    def missed(self) -> Array:
        """Desired minus computed accelerations (N,) of elastic joints and modes; empty: they are not compared."""
        return self._memory.missed

    @property
    def carried_over_error(self) -> float:
        """Bound of the error of the accelerations of the last sample due to what was carried over [rad/s^2 | m/s^2]."""
        return self._memory.carried.error if self._memory.carried is not None else 0.0

    @property
    def limited(self) -> float:
        """Factor by which the effort limits scaled the demand of the last sample."""
        return self._memory.limited

    def update(self, joints: ArmState, flexible: FlexibleState | None, reference: JointReference) -> JointReference:
        """Compute the joint efforts for one sample.

        Args:
            joints: measured joint state.
            flexible: estimated flexible state (base deflection and modes) with the same stamp; not needed by
                ``joint_pd``.
            reference: position, velocity and acceleration; the law ``accelerations`` needs at least the acceleration.

        Raises:
            InputError: missing or invalid input; the controller then is as if the sample had not come.
        """
        x, v = self._state(joints, flexible)
        z, zd, zdd = self._wanted(reference, joints)
        law = {"vibration_damping": self._damp, "accelerations": self._accelerate, "joint_pd": self._servo}
        memory = replace(self._memory)  # kept only if the efforts can be computed
        if memory.stamp is None:
            memory.begun = joints.stamp
        try:
            demand = law[self.config.law](memory, joints, x, v, z, zd, zdd)
        except np.linalg.LinAlgError as error:
            raise InputError(BEYOND) from error
        effort = self._within_limits(memory, joints, demand)
        memory.stamp = joints.stamp
        self._memory = memory
        return JointReference(joints.stamp, z, zd, zdd, effort)

    def _damp(self, memory: _Memory, joints: ArmState, x: Array, v: Array, z: Array, zd: Array, zdd: Array) -> Array:
        model, config = self.model, self.config
        x_r, v_r, a_r = self._bent_reference(memory, joints, z, zd, zdd)
        if memory.gains is None or (joints.stamp - memory.designed) * 1e-9 >= config.motion.gain_period:
            memory.gains, memory.designed = self._design(x, memory.gains), joints.stamp
        specified = model.inverse_dynamics(x_r, v_r, a_r)
        dx, dv = x - x_r, v - v_r
        dx[model.actuated] *= self._near(servo_inertia(model, x), dx[model.actuated])
        gains, force = memory.gains, (joints.stamp - memory.begun) * 1e-9 / FADE_IN
        if force < 1.0:
            servo = servo_gains(model, x, config.motion)
            gains = servo + force * (gains - servo)
        feedback = gains @ np.concatenate((dx, dv))
        efforts = np.zeros(len(model.hinge_names))
        efforts[model.actuated] = specified[model.actuated]
        meant = model.forward_dynamics(x_r, v_r, efforts)[model.actuated]
        model.articulate(x, v)
        response = model.response(np.arange(model.size))[model.actuated]
        restoring = model.stiffness_matrix() @ dx + model.damping_matrix() @ dv
        restoring[model.actuated] += feedback
        return self._correct(memory, specified[model.actuated], meant - response @ restoring)

    def _bent_reference(
        self, memory: _Memory, joints: ArmState, z: Array, zd: Array, zdd: Array
    ) -> tuple[Array, Array, Array]:
        """Return reference coordinates, rates and accelerations (h + K,), rates by differences over the samples."""
        nominal = self.config.conditions.period
        period = nominal if memory.stamp is None else (joints.stamp - memory.stamp) * 1e-9
        if memory.stamp is not None and not 0.0 < period <= 10.0 * nominal:
            memory.references, memory.gains = (), None  # finite differences over a gap are meaningless
            period, memory.begun = nominal, joints.stamp
        newest = flexible_reference(self.model, z, zd, zdd)
        before, last, x_r = memory.references = (*(memory.references or (newest, newest)), newest)[-3:]
        return x_r, (x_r - last) / period, (x_r - 2.0 * last + before) / period**2

    def _design(self, x: Array, last: Array | None) -> Array:
        """Compute the gains for a posture; if that fails, return the last gains, or those of the servos alone."""
        try:
            return damping_gains(self.model, x, self.config.motion, self.config.conditions.period)
        except ValueError:  # no solution, or none that can be computed
            return servo_gains(self.model, x, self.config.motion) if last is None else last

    def _near(self, inertia: Array, error: Array) -> float:
        """Return the factor (0..1] that limits position errors (n,), so that effort for braking remains available."""
        asked = np.abs(self.config.motion.position_gain * inertia * error)
        return float(min(1.0, (ERROR_SHARE * self._limit / np.maximum(asked, 1e-12)).min()))

    def _accelerate(
        self, memory: _Memory, joints: ArmState, x: Array, v: Array, z: Array, zd: Array, zdd: Array
    ) -> Array:
        model, motion, period = self.model, self.config.motion, self.config.conditions.period
        memory.missed = np.zeros(0)
        if self.config.carry_over > 0.0:
            return self._carry(memory, joints, x, v, z, zd, zdd)
        wanted, bent = zdd + self._servo_demand(joints, servo_inertia(model, x), z, zd), model.unmeasured
        if not motion.mode_damping:
            model.articulate(x, v, step=period)
            return self._correct(memory, np.zeros(len(wanted)), wanted)
        x_r, v_r, _ = self._bent_reference(memory, joints, z, zd, zdd)
        if memory.target is None or (joints.stamp - memory.designed) * 1e-9 >= motion.gain_period:
            memory.target, memory.designed = modal_target(model, x, motion, period), joints.stamp
        target, dy, dyd = memory.target, (x - x_r)[bent], (v - v_r)[bent]
        wanted = wanted + target.servo_position @ dy + target.servo_rate @ dyd
        model.articulate(x, v, step=period)
        alone = self._correct(memory, np.zeros(len(wanted)), wanted)
        efforts = np.zeros(len(model.hinge_names))
        efforts[model.actuated] = alone
        desired = model.accelerate(efforts)
        desired[bent] -= target.damping @ dyd
        first = memory.iterations
        effort = self._correct(memory, alone, desired, target.weight)
        memory.iterations += first
        return effort

    def _carry(self, memory: _Memory, joints: ArmState, x: Array, v: Array, z: Array, zd: Array, zdd: Array) -> Array:
        """Correct the forces with recent quantities of an earlier sample, or with those of this one."""
        model, config, before = self.model, self.config, memory.carried
        period = config.conditions.period
        memory.carried = None
        if before is not None and before.passes < ENOUGH and 0 < joints.stamp - before.stamp <= config.carry_over * 1e9:
            wanted = zdd + self._servo_demand(joints, before.inertia, z, zd)
            memory.carried = correct_carried_over(model, before, x, v, period, wanted, config.tolerance)
        if memory.carried is None:
            fresh = articulate(model, joints.stamp, x, v, period, before)
            wanted = zdd + self._servo_demand(joints, fresh.inertia, z, zd)
            memory.carried = correct_carried_over(model, fresh, x, v, period, wanted, config.tolerance)
        if memory.carried is None:
            raise InputError(BEYOND)
        memory.iterations, memory.discrepancy = memory.carried.passes, memory.carried.error
        return memory.carried.effort[model.actuated]

    def _servo(self, memory: _Memory, joints: ArmState, x: Array, v: Array, z: Array, zd: Array, zdd: Array) -> Array:
        model, at = self.model, self._unbent(joints)
        inertia = servo_inertia(model, at)
        total: Array = self._weight(joints) + inertia * (zdd + self._servo_demand(joints, inertia, z, zd))
        return total

    def _servo_demand(self, joints: ArmState, inertia: Array, z: Array, zd: Array) -> Array:
        motion, error = self.config.motion, z - joints.position
        near = self._near(inertia, error)
        demand: Array = np.asarray(motion.position_gain) * near * error + np.asarray(motion.velocity_gain) * (
            zd - joints.velocity
        )
        return demand

    def _unbent(self, joints: ArmState) -> Array:
        at = np.zeros(self.model.size)
        at[self.model.actuated] = joints.position
        return at

    def _weight(self, joints: ArmState) -> Array:
        """Compute the efforts (n,) that compensate gravity of the undeflected arm."""
        model, still = self.model, np.zeros(self.model.size)
        weight: Array = model.inverse_dynamics(self._unbent(joints), still, still)[model.actuated]
        return weight

    def _within_limits(self, memory: _Memory, joints: ArmState, effort: Array) -> Array:
        """Scale the demand beyond gravity compensation, by one factor for all joints, to meet the effort limits.

        Clipping single efforts would change the direction of the demand, and therefore the motion of the arm.

        Raises:
            InputError: an effort is not finite.
        """
        if not np.isfinite(effort).all():
            raise InputError(BEYOND)
        memory.limited = 1.0
        if (np.abs(effort) <= self._limit).all():
            return effort
        weight = np.clip(self._weight(joints), -self._limit, self._limit)
        demand = effort - weight
        room = np.where(demand > 0.0, self._limit - weight, self._limit + weight)
        memory.limited = float(min(1.0, (room / np.maximum(np.abs(demand), 1e-12)).min()))
        return weight + memory.limited * demand

    def _correct(self, memory: _Memory, specified: Array, wanted: Array, weight: Array | None = None) -> Array:
        config = self.config
        result = correct_forces(
            self.model,
            specified,
            wanted,
            weight=weight,
            influence=config.influence,
            tolerance=config.tolerance,
            iterations=config.iterations,
        )
        memory.iterations, memory.discrepancy = result.iterations, result.discrepancy
        if weight is not None:
            memory.missed = result.missed[self.model.unmeasured]
        return result.effort

    def _state(self, joints: ArmState, flexible: FlexibleState | None) -> tuple[Array, Array]:
        model = self.model
        x, v = np.zeros(model.size), np.zeros(model.size)
        n, m, modes = len(model.actuated), len(model.elastic), len(model.modal)
        x[model.actuated] = finite("joint position", joints.position, n)
        v[model.actuated] = finite("joint velocity", joints.velocity, n)
        if flexible is None:
            if self.config.law != "joint_pd":
                raise InputError(f"law '{self.config.law}' needs the flexible state")
        elif flexible.stamp != joints.stamp:
            raise InputError("joints and flexible state are of different stamps")
        else:
            x[model.elastic] = finite("deflection", flexible.deflection, m)
            v[model.elastic] = finite("deflection_rate", flexible.deflection_rate, m)
            x[model.modal] = finite("modal_position", flexible.modal_position, modes)
            v[model.modal] = finite("modal_rate", flexible.modal_rate, modes)
        return x, v

    def _wanted(self, reference: JointReference, joints: ArmState) -> tuple[Array, Array, Array]:
        n = len(self.model.actuated)
        given = {"position": reference.position, "velocity": reference.velocity, "acceleration": reference.acceleration}
        if self.config.law == "accelerations":  # a position or velocity that is not given is not controlled
            given = {
                "position": joints.position if reference.position is None else reference.position,
                "velocity": joints.velocity if reference.velocity is None else reference.velocity,
                "acceleration": reference.acceleration,
            }
        found = []
        for name, value in given.items():
            if value is None:
                raise InputError(f"joint reference has no {name}, which law '{self.config.law}' needs")
            try:
                found.append(finite(name, value, n))
            except InputError as error:
                raise InputError(f"joint reference: {name} is {value}, expected {n} finite numbers") from error
        position, velocity, acceleration = found
        return position, velocity, acceleration


def _looks(config: FlexibleControllerConfig) -> bool:
    """Return whether the gains have to be checked or derived from the model."""
    motion = config.motion
    given = np.any(motion.position_gain) or np.any(motion.velocity_gain)
    whole = given and (motion.effort_weight > 0.0 or config.law != "vibration_damping")
    return config.check_gains or not whole
