"""FlexibleController: joint reference and estimated state -> efforts of an arm that bends."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.flexible_dynamics.force_correction import INFLUENCES, correct_forces
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import (
    VibrationDampingConfig,
    damping_gains,
    flexible_reference,
    servo_inertia,
)
from flexarm_core.types import ArmState, Array, FlexibleState, JointReference

LAWS = ("vibration_damping", "accelerations", "joint_pd")


@dataclass(frozen=True, slots=True)
class FlexibleControllerConfig:
    """Settings of the controller.

    Attributes:
        law: ``vibration_damping``: the reference is followed and what swings is damped; ``accelerations``: the joint
            accelerations of the reference, plus servo where it has positions, happen exactly; ``joint_pd``: a servo a
            joint with the rigid arm's weight, for comparison.
        motion: gains, and what the damping strives for.
        influence: how forces are corrected, see ``force_correction``.
        tolerance: of the corrected accelerations, relative.
        iterations: largest number of corrections a tick.
        period: control period [s].
    """

    law: str = "vibration_damping"
    motion: VibrationDampingConfig = field(default_factory=VibrationDampingConfig)
    influence: str = "exact"
    tolerance: float = 1e-9
    iterations: int = 10
    period: float = 0.001

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        if self.law not in LAWS:
            raise ConfigError(f"law '{self.law}' is unknown; valid: {', '.join(LAWS)}")
        if self.influence not in INFLUENCES:
            raise ConfigError(f"influence '{self.influence}' is unknown; valid: {', '.join(INFLUENCES)}")
        if not (np.isfinite(self.period) and self.period > 0.0 and self.tolerance > 0.0 and self.iterations >= 1):
            raise ConfigError("period and tolerance must be > 0, iterations at least 1")


class FlexibleController:
    """One sample: reference, joints, modes -> joint reference with efforts."""

    def __init__(self, model: FlexibleModel, config: FlexibleControllerConfig) -> None:
        """Bind the controller to an arm."""
        self.model, self.config = model, config
        self.reset()

    def reset(self) -> None:
        """Forget earlier samples."""
        self._references: list[Array] = []
        self._stamp: int | None = None
        self._gains: Array | None = None
        self._designed = 0
        self.iterations, self.discrepancy = 0, 0.0

    def update(self, joints: ArmState, flexible: FlexibleState | None, reference: JointReference) -> JointReference:
        """Efforts that answer one sample.

        Args:
            joints: measured joints; deflections of the base come from ``flexible`` where that has them.
            flexible: estimate with the same stamp; not needed by ``joint_pd``.
            reference: with position, velocity and acceleration, or for the law ``accelerations`` at least the last.

        Raises:
            InputError: missing or wrong input; nothing has changed then.
        """
        x, v = self._state(joints, flexible)
        z, zd, zdd = self._wanted(reference, joints)
        law = {"vibration_damping": self._damp, "accelerations": self._accelerate, "joint_pd": self._servo}
        effort = law[self.config.law](joints, x, v, z, zd, zdd)
        self._stamp = joints.stamp
        return JointReference(joints.stamp, z, zd, zdd, effort)

    def _damp(self, joints: ArmState, x: Array, v: Array, z: Array, zd: Array, zdd: Array) -> Array:
        model, config = self.model, self.config
        period = config.period if self._stamp is None else (joints.stamp - self._stamp) * 1e-9
        if self._stamp is not None and not 0.0 < period <= 10.0 * config.period:
            self._references, self._gains = [], None  # differences over a gap mean nothing
            period = config.period
        newest = flexible_reference(model, z, zd, zdd)
        self._references = [*(self._references or [newest, newest]), newest][-3:]
        before, last, x_r = self._references
        v_r, a_r = (x_r - last) / period, (x_r - 2.0 * last + before) / period**2
        if self._gains is None or (joints.stamp - self._designed) * 1e-9 >= config.motion.gain_period:
            self._gains, self._designed = damping_gains(model, x, config.motion, config.period), joints.stamp
        specified = model.inverse_dynamics(x_r, v_r, a_r)
        dx, dv = x - x_r, v - v_r
        feedback = self._gains @ np.concatenate((dx, dv))
        efforts = np.zeros(len(model.hinge_names))
        efforts[model.actuated] = specified[model.actuated]
        meant = model.forward_dynamics(x_r, v_r, efforts)[model.actuated]
        model.articulate(x, v)
        response = model.response(np.arange(model.size))[model.actuated]
        restoring = model.stiffness_matrix() @ dx + model.damping_matrix() @ dv
        restoring[model.actuated] += feedback
        return self._correct(specified[model.actuated], meant - response @ restoring)

    def _accelerate(self, joints: ArmState, x: Array, v: Array, z: Array, zd: Array, zdd: Array) -> Array:
        motion = self.config.motion
        wanted = zdd + motion.position_gain * (z - joints.position) + motion.velocity_gain * (zd - joints.velocity)
        self.model.articulate(x, v, step=self.config.period)
        return self._correct(np.zeros(len(wanted)), wanted)

    def _servo(self, joints: ArmState, x: Array, v: Array, z: Array, zd: Array, zdd: Array) -> Array:
        model, motion = self.model, self.config.motion
        at = np.zeros(model.size)
        at[model.actuated] = joints.position
        weight = model.inverse_dynamics(at, np.zeros(model.size), np.zeros(model.size))[model.actuated]
        demand = zdd + motion.position_gain * (z - joints.position) + motion.velocity_gain * (zd - joints.velocity)
        total: Array = weight + servo_inertia(model, at) * demand
        return total

    def _correct(self, specified: Array, wanted: Array) -> Array:
        config = self.config
        result = correct_forces(
            self.model,
            specified,
            wanted,
            influence=config.influence,
            tolerance=config.tolerance,
            iterations=config.iterations,
        )
        self.iterations, self.discrepancy = result.iterations, result.discrepancy
        return result.effort

    def _state(self, joints: ArmState, flexible: FlexibleState | None) -> tuple[Array, Array]:
        model = self.model
        x, v = np.zeros(model.size), np.zeros(model.size)
        x[model.actuated], v[model.actuated] = joints.position, joints.velocity
        if flexible is None:
            if self.config.law != "joint_pd":
                raise InputError(f"law '{self.config.law}' needs the flexible state")
        elif flexible.stamp != joints.stamp:
            raise InputError("joints and flexible state are of different stamps")
        else:
            x[model.elastic], v[model.elastic] = flexible.deflection, flexible.deflection_rate
            x[model.modal], v[model.modal] = flexible.modal_position, flexible.modal_rate
        if not (np.isfinite(x).all() and np.isfinite(v).all()):
            raise InputError("joint or flexible state is not finite")
        return x, v

    def _wanted(self, reference: JointReference, joints: ArmState) -> tuple[Array, Array, Array]:
        n = len(self.model.actuated)
        given = {"position": reference.position, "velocity": reference.velocity, "acceleration": reference.acceleration}
        if self.config.law == "accelerations":  # what is not given is not held
            given = {
                "position": joints.position if reference.position is None else reference.position,
                "velocity": joints.velocity if reference.velocity is None else reference.velocity,
                "acceleration": reference.acceleration,
            }
        for name, value in given.items():
            if value is None:
                raise InputError(f"joint reference has no {name}, which law '{self.config.law}' needs")
            if value.shape != (n,) or not np.isfinite(value).all():
                raise InputError(f"joint reference: {name} is {value}, expected {n} finite numbers")
        position, velocity, acceleration = given.values()
        assert position is not None and velocity is not None and acceleration is not None
        return position, velocity, acceleration
