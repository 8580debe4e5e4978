"""Acceleration law of the reaction null space with end-effector control (Nenchev et al. 1999, equations 12, 15, 24).

::

    qdd   = qdd_p + Jbar^+ [ xdd_d + G_d ed + G_p e - dJ v - J qdd_p - J_b xdd_b ]
    qdd_p = H_bm^+ (H_b G_b xd_b - dH_bm qd) - G_m qd                         Jbar = J P_RNS

With a base at rest and G_m = 0 this is (24) literally. The last two terms extend it: the tool is also kept from feeling
the damping motion (J qdd_p), and, where the reference is given in the inertial frame, from feeling the base's own
motion (J_b xdd_b). They cost nothing because ``H_bm P_RNS = 0``: the base's acceleration depends on qdd_p alone.

=================  ==================================================================
symbol             meaning
=================  ==================================================================
H_b, H_bm, H_m     base inertia, inertia coupling, arm inertia
G_b, G_m           gain of base feedback [1/s], joint damping [1/s]
G_p, G_d           tool gains [1/s^2], [1/s]
P_RNS              projector onto the null space of H_bm
J, J_b             tool Jacobian of the arm, of the base
=================  ==================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.null_space import DampedInverse, damped_inverse
from flexarm_core.reaction_null_space.vibration_gain import vibration_gain
from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks, ToolKinematics
from flexarm_core.types import ArmState, Array, BaseReaction, CartesianReference, JointReference

LAWS = ("reactionless", "resolved_acceleration")
TASKS = ("tool_path", "none")


@dataclass(frozen=True, slots=True)
class VibrationControllerConfig:
    """Settings of the controller; every one may change between two samples.

    Attributes:
        law: ``reactionless`` (12, 15) or ``resolved_acceleration`` (the plain law, for comparison).
        task: ``tool_path`` follows a CartesianReference, ``none`` leaves u = 0.
        position_gain: G_p [1/s^2].
        velocity_gain: G_d [1/s].
        vibration_damping: whether the base feedback G_b is in force.
        damping_ratio: zeta from which G_b is chosen at every sample.
        vibration_gain: literal g_b [1/s]; 0 = by damping_ratio.
        joint_damping: G_m [1/s].
        coupling_threshold: singular value of H_bm, relative to ``sqrt(tr H_b tr H_m)``, below which it is damped.
        tool_threshold: singular value of Jbar, relative to the norm of J, below which it is damped.
    """

    law: str = "reactionless"
    task: str = "tool_path"
    position_gain: float = 400.0
    velocity_gain: float = 200.0
    vibration_damping: bool = True
    damping_ratio: float = 0.7
    vibration_gain: float = 0.0
    joint_damping: float = 1.0
    coupling_threshold: float = 0.01
    tool_threshold: float = 0.02

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        if self.law not in LAWS:
            raise ConfigError(f"law '{self.law}' is unknown; valid: {', '.join(LAWS)}")
        if self.task not in TASKS:
            raise ConfigError(f"task '{self.task}' is unknown; valid: {', '.join(TASKS)}")
        for name in ("position_gain", "velocity_gain", "damping_ratio", "vibration_gain", "joint_damping"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0.0):
                raise ConfigError(f"{name} must be a number >= 0, got {getattr(self, name)}")
        for name in ("coupling_threshold", "tool_threshold"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ConfigError(f"{name} must lie in (0, 1), got {getattr(self, name)}")


class VibrationController:
    """Joint accelerations that move the tool without shaking the base and that damp a base that shakes."""

    def __init__(self, model: ArmModel, config: VibrationControllerConfig) -> None:
        """Bind the controller to an arm.

        Raises:
            ConfigError: the arm has no elastic joints, or not more joints than elastic directions.
        """
        if model.m == 0:
            raise ConfigError("the robot has no elastic joint: name at least one in <flexibility>")
        if model.n <= model.m:
            raise ConfigError(
                "the reaction null space needs more actuated joints than elastic directions;"
                f" n = {model.n}, m = {model.m}"
            )
        self.model = model
        self.config = config

    def reset(self) -> None:
        """Nothing is carried from sample to sample: the law is static in the measured state."""

    def update(
        self, state: ArmState, reference: CartesianReference | None = None
    ) -> tuple[JointReference, BaseReaction]:
        """Compute one sample.

        Args:
            state: measured state of arm and base.
            reference: tool reference of the same stamp; needed for task ``tool_path``.

        Returns:
            Joint reference with acceleration and the effort that realises it on the elastic base; base reaction.

        Raises:
            InputError: wrong shapes, numbers that are not finite, a missing reference, an unknown frame.
        """
        self.model.check_state(state)
        config, blocks = self.config, self.model.blocks(state)
        scale = np.sqrt(np.trace(blocks.H_b) * np.trace(blocks.H_m))
        threshold = config.coupling_threshold * scale
        coupling = damped_inverse(blocks.H_bm, threshold, threshold)
        particular = self._particular_acceleration(state, blocks, coupling)
        tool: DampedInverse | None = None
        acceleration = particular
        if config.task == "tool_path":
            if reference is None:
                raise InputError("task 'tool_path' needs a CartesianReference")
            acceleration, tool = self._tool_acceleration(state, blocks, coupling, particular, reference)
        effort = self.model.inverse_dynamics(blocks, state, acceleration)
        reaction = self._reaction(state, blocks, coupling, tool, acceleration)
        return JointReference(stamp=state.stamp, acceleration=acceleration, effort=effort), reaction

    def _particular_acceleration(self, state: ArmState, blocks: DynamicsBlocks, coupling: DampedInverse) -> Array:
        config = self.config
        damping = -config.joint_damping * state.velocity
        if config.law == "resolved_acceleration":
            return damping
        wanted = -blocks.dH_bm_qd
        if config.vibration_damping:
            wanted = wanted + blocks.H_b @ (self._gain(blocks) @ state.deflection_rate)
        return coupling.inverse @ wanted + damping

    def _gain(self, blocks: DynamicsBlocks) -> Array:
        if self.config.vibration_gain > 0.0:
            return self.config.vibration_gain * np.eye(self.model.m)
        return vibration_gain(blocks.H_b, self.model.K_b, self.config.damping_ratio)

    def _tool_acceleration(
        self,
        state: ArmState,
        blocks: DynamicsBlocks,
        coupling: DampedInverse,
        particular: Array,
        reference: CartesianReference,
    ) -> tuple[Array, DampedInverse]:
        kinematics = self.model.tool_kinematics(state, reference.frame)
        axes = reference.axes
        wanted = self._tool_command(kinematics, reference) - kinematics.dJ_v - kinematics.J_m @ particular
        if reference.frame == self.model.world_frame:
            wanted -= kinematics.J_b @ self.model.base_acceleration(blocks, state, particular)
        J = kinematics.J_m[axes]
        if self.config.law == "reactionless":
            J = J @ coupling.null_projector()
        threshold = self.config.tool_threshold * float(np.linalg.norm(kinematics.J_m[axes]))
        tool = damped_inverse(J, threshold, threshold)
        return particular + tool.inverse @ wanted[axes], tool

    def _tool_command(self, kinematics: ToolKinematics, reference: CartesianReference) -> Array:
        values = (reference.position, reference.rotation, reference.velocity, reference.acceleration)
        if not all(np.isfinite(value).all() for value in values):
            raise InputError("CartesianReference is not finite")
        error = np.empty(6)
        error[:3] = reference.position - kinematics.position
        error[3:] = kinematics.rotation @ pin.log3(kinematics.rotation.T @ reference.rotation)
        rate = reference.velocity - kinematics.velocity
        return reference.acceleration + self.config.velocity_gain * rate + self.config.position_gain * error

    def _reaction(
        self,
        state: ArmState,
        blocks: DynamicsBlocks,
        coupling: DampedInverse,
        tool: DampedInverse | None,
        acceleration: Array,
    ) -> BaseReaction:
        base = self.model.base_acceleration(blocks, state, acceleration)
        restricted = 0.0
        if tool is not None:
            # Of the tracked axes at most n - rank(H_bm) can be served; the rest is singular by count, not by posture.
            free = self.model.n - (coupling.rank if self.config.law == "reactionless" else 0)
            restricted = float(tool.singular_values[: max(free, 1)].min(initial=np.inf))
            restricted = restricted if np.isfinite(restricted) else 0.0
        return BaseReaction(
            stamp=state.stamp,
            wrench_on_base_in_base=self.model.wrench_on_base(state, acceleration, base),
            reaction=-(blocks.H_bm @ acceleration + blocks.dH_bm_qd),
            coupling_momentum=blocks.H_bm @ state.velocity,
            rank=coupling.rank,
            coupling_singular_values=coupling.singular_values,
            smallest_restricted_singular_value=restricted,
            damping=max(coupling.damping, tool.damping if tool is not None else 0.0),
            vibration_damping=self.config.vibration_damping and self.config.law == "reactionless",
        )
