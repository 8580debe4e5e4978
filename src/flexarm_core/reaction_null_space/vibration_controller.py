"""Laws of the reaction null space with end-effector control (Nenchev et al. 1999, equations 12, 15, 16, 24).

::

    qdd   = qdd_p + Jbar^+ [ xdd_d + G_d ed + G_p e - dJ v - J qdd_p - J_b xdd_b ]
    qdd_p = H_bm^+ (H_b G_b xd_b - dH_bm qd) - G_m qd                         Jbar = J P_RNS

With a base at rest and G_m = 0 this is (24) literally. The last two terms extend it: the tool is also kept from feeling
the damping motion (J qdd_p), and, where the reference is given in the inertial frame, from feeling the base's own
motion (J_b xdd_b). They cost nothing because ``H_bm P_RNS = 0``: the base's acceleration depends on qdd_p alone. Of
H_bm only the selected rows count (see ``base_selection``).

Two realisations. ``computed_torque`` evaluates the law at the measured state and inverts the dynamics of the arm on its
elastic base; where stiff directions are left out of the selection it excites them (spillover). ``joint_servo``
integrates the law's acceleration to a joint reference, evaluates it there, and closes a servo a joint on that: the only
way from the base back to the arm is then the selected, damped motion. Law (16), ``torque`` (see ``torque_law``), says
efforts and not accelerations, so it is its own realisation.

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
from flexarm_core.reaction_null_space.base_selection import BaseSelection, SelectedCoupling, servo_inertia
from flexarm_core.reaction_null_space.null_space import DampedInverse, damped_inverse
from flexarm_core.reaction_null_space.torque_law import torque_law, torque_law_gain
from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks, ToolKinematics
from flexarm_core.types import ArmState, Array, BaseReaction, CartesianReference, JointReference

LAWS = ("reactionless", "torque", "resolved_acceleration")
TASKS = ("tool_path", "joint_path", "hold", "none")
REALISATIONS = ("computed_torque", "joint_servo")
Goal = CartesianReference | JointReference | None
LONGEST_GAP = 0.1  # [s] between two samples over which a joint reference is carried on


@dataclass(frozen=True, slots=True)
class VibrationControllerConfig:
    """Settings of the controller; every one may change between two samples.

    Attributes:
        law: ``reactionless`` (12, 15), ``torque`` (16) or ``resolved_acceleration`` (the plain law, for comparison).
        task: ``tool_path`` follows a CartesianReference, ``joint_path`` a JointReference as far as the base lets it,
            ``hold`` goes back to the first posture so far, ``none`` leaves u = 0.
        realisation: how the accelerations are made to happen: ``computed_torque`` or ``joint_servo``; ``torque`` takes
            the first only.
        position_gain: G_p, of the tool, the joint reference or the held posture [1/s^2].
        velocity_gain: G_d [1/s].
        servo_position_gain: of each joint's servo [1/s^2].
        servo_velocity_gain: of each joint's servo [1/s].
        vibration_damping: whether the base feedback G_b is in force.
        damping_ratio: zeta from which G_b is chosen at every sample.
        vibration_gain: literal g_b [1/s], of ``torque`` [N*s/m | N*m*s/rad]; 0 = by damping_ratio.
        joint_damping: G_m [1/s].
        coupling_threshold: singular value of H_bm, relative to ``sqrt(tr H_b tr H_m)``, below which it is damped.
        tool_threshold: singular value of Jbar, relative to the norm of J, below which it is damped.
    """

    law: str = "reactionless"
    task: str = "tool_path"
    realisation: str = "computed_torque"
    position_gain: float = 400.0
    velocity_gain: float = 200.0
    servo_position_gain: float = 900.0
    servo_velocity_gain: float = 60.0
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
        if self.realisation not in REALISATIONS:
            raise ConfigError(f"realisation '{self.realisation}' is unknown; valid: {', '.join(REALISATIONS)}")
        if self.law == "torque" and self.realisation != "computed_torque":
            raise ConfigError("law 'torque' says efforts, no accelerations for a servo: realise it by computed_torque")
        gains = ("position_gain", "velocity_gain", "servo_position_gain", "servo_velocity_gain")
        for name in (*gains, "damping_ratio", "vibration_gain", "joint_damping"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0.0):
                raise ConfigError(f"{name} must be a number >= 0, got {getattr(self, name)}")
        for name in ("coupling_threshold", "tool_threshold"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ConfigError(f"{name} must lie in (0, 1), got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class _Command:
    """What the law says: accelerations (n,), those without the task, selected rows, the inverses behind them."""

    acceleration: Array
    particular: Array
    rows: Array
    coupling: DampedInverse
    tool: DampedInverse | None = None


class VibrationController:
    """Joint accelerations that move the tool without shaking the base and that damp a base that shakes.

    Attributes:
        selection: motions of the base that count.
    """

    def __init__(
        self, model: ArmModel, config: VibrationControllerConfig, selection: BaseSelection | None = None
    ) -> None:
        """Bind the controller to an arm.

        Args:
            model: of the arm.
            config: settings.
            selection: of what the base does; None for all of its directions.

        Raises:
            ConfigError: the arm has no elastic joints, or not more joints than selected motions.
        """
        if model.m == 0:
            raise ConfigError("the robot has no elastic joint: name at least one in <flexibility>")
        self.model = model
        self.selection = BaseSelection(model) if selection is None else selection
        self.config = config
        self._none, self._still = np.zeros(model.m), np.zeros(model.n)
        self.reset()

    def reset(self) -> None:
        """Forget the held posture and the joint reference: both begin at the next sample."""
        self._posture: Array | None = None
        self._led: tuple[ArmState, Array] | None = None  # joint reference of the servos, and its acceleration

    def update(
        self, state: ArmState, reference: CartesianReference | None = None, joints: JointReference | None = None
    ) -> tuple[JointReference, BaseReaction]:
        """Compute one sample.

        Args:
            state: measured state of arm and base.
            reference: tool reference of the same stamp; needed for task ``tool_path``.
            joints: joint reference of the same stamp; needed, with a position, for task ``joint_path``. A velocity or
                acceleration that it does not give counts as 0.

        Returns:
            Joint reference with acceleration and the effort that realises it, with ``joint_servo`` also position and
            velocity; base reaction.

        Raises:
            InputError: wrong shapes, numbers that are not finite, a missing reference, an unknown frame.
        """
        self.model.check_state(state)
        goal = self._goal(reference, joints)
        if self._posture is None:
            self._posture = state.position.copy()
        if self.config.realisation == "joint_servo":
            return self._servo(state, goal)
        self._led = None
        model, blocks = self.model, self.model.blocks(state)
        command = self._law(state, blocks, state, goal)
        acceleration = command.acceleration
        if self.config.law == "torque":
            effort = model.inverse_dynamics(blocks, state, command.particular)
            effort = effort + blocks.H_m @ (acceleration - command.particular)
            acceleration = model.forward_dynamics(state, effort)  # unselected directions take part in it
        else:
            effort = model.inverse_dynamics(blocks, state, acceleration)
        reaction = self._reaction(state, blocks, command, acceleration)
        return JointReference(stamp=state.stamp, acceleration=acceleration, effort=effort), reaction

    def _goal(self, reference: CartesianReference | None, joints: JointReference | None) -> Goal:
        """The reference that the task follows, checked."""
        if self.config.task == "tool_path":
            if reference is None:
                raise InputError("task 'tool_path' needs a CartesianReference")
            values = (reference.position, reference.rotation, reference.velocity, reference.acceleration)
            if not all(np.isfinite(value).all() for value in values):
                raise InputError("CartesianReference is not finite")
            return reference
        if self.config.task == "joint_path":
            if joints is None or joints.position is None:
                raise InputError("task 'joint_path' needs a JointReference with a position")
            for name in ("position", "velocity", "acceleration"):
                value = getattr(joints, name)
                if value is not None and not (value.shape == (self.model.n,) and np.isfinite(value).all()):
                    raise InputError(f"JointReference {name} is {value}, expected {self.model.n} finite numbers")
            return joints
        return None

    def _servo(self, state: ArmState, goal: Goal) -> tuple[JointReference, BaseReaction]:
        """The law on a joint reference of its own, and a servo a joint that follows it."""
        config, model = self.config, self.model
        led = self._lead(state)
        blocks = model.blocks(led)
        command = self._law(led, blocks, state, goal)
        servo = config.servo_position_gain * (led.position - state.position)
        servo += config.servo_velocity_gain * (led.velocity - state.velocity)
        effort = blocks.H_m @ command.acceleration + blocks.c_m + model.D_m * led.velocity
        effort = effort + servo_inertia(blocks, command.rows) @ servo
        self._led = (led, command.acceleration)
        reaction = self._reaction(state, blocks, command, command.acceleration)
        return JointReference(state.stamp, led.position, led.velocity, command.acceleration, effort), reaction

    def _lead(self, state: ArmState) -> ArmState:
        """The joint reference at a sample, over an undeflected base: where its last acceleration has led it since."""
        if self._led is not None:
            led, acceleration = self._led
            dt = (state.stamp - led.stamp) * 1e-9
            if 0.0 <= dt <= LONGEST_GAP:
                position = led.position + (led.velocity + 0.5 * acceleration * dt) * dt
                return ArmState(state.stamp, position, led.velocity + acceleration * dt, self._none, self._none)
        return ArmState(state.stamp, state.position, self._still, self._none, self._none)

    def _law(self, at: ArmState, blocks: DynamicsBlocks, measured: ArmState, goal: Goal) -> _Command:
        """What the law says at a state of the joints, for what is measured of the base."""
        config = self.config
        selected = self.selection.at(blocks, config.damping_ratio, config.vibration_gain)
        scale = np.sqrt(np.trace(selected.rows @ blocks.H_b @ selected.rows.T) * np.trace(blocks.H_m))
        threshold = config.coupling_threshold * float(scale)
        coupling = damped_inverse(selected.coupling, threshold, threshold)
        particular = self._particular(at, blocks, measured.deflection_rate, selected, coupling)
        if isinstance(goal, CartesianReference):
            return self._tool_command(at, blocks, measured, selected.rows, coupling, particular, goal)
        if isinstance(goal, JointReference) and goal.position is not None:
            rate = (0.0 if goal.velocity is None else goal.velocity) - at.velocity
            wanted = config.velocity_gain * rate + config.position_gain * (goal.position - at.position) - particular
            wanted = wanted if goal.acceleration is None else wanted + goal.acceleration
        elif config.task == "hold" and self._posture is not None:
            wanted = config.position_gain * (self._posture - at.position) - config.velocity_gain * at.velocity
        else:
            return _Command(particular, particular, selected.rows, coupling)
        if config.law != "resolved_acceleration" or config.task == "hold":
            wanted = coupling.null_projector() @ wanted
        return _Command(particular + wanted, particular, selected.rows, coupling)

    def _particular(
        self, at: ArmState, blocks: DynamicsBlocks, rate: Array, selected: SelectedCoupling, coupling: DampedInverse
    ) -> Array:
        """Accelerations (n,) for u = 0, the base moving at a measured rate (m,)."""
        config = self.config
        if config.law == "torque":
            gain = np.zeros_like(selected.damping)
            if config.vibration_damping:
                design = (config.damping_ratio, config.vibration_gain)
                gain = torque_law_gain(blocks, self.model.K_b, selected.rows, *design)
            effort = torque_law(self.model, at, blocks, selected, coupling, gain, config.joint_damping)
            return self.model.forward_dynamics(at, effort)
        particular = -config.joint_damping * at.velocity
        if config.law == "reactionless":
            wanted = -selected.bias
            if config.vibration_damping:
                wanted = wanted + selected.damping @ rate
            particular = particular + coupling.inverse @ wanted
        return particular

    def _tool_command(
        self,
        at: ArmState,
        blocks: DynamicsBlocks,
        measured: ArmState,
        rows: Array,
        coupling: DampedInverse,
        particular: Array,
        reference: CartesianReference,
    ) -> _Command:
        swung = ArmState(at.stamp, at.position, at.velocity, measured.deflection, measured.deflection_rate)
        kinematics = self.model.tool_kinematics(swung, reference.frame)
        axes = reference.axes
        wanted = self._tool_acceleration(kinematics, reference) - kinematics.dJ_v - kinematics.J_m @ particular
        if reference.frame == self.model.world_frame:
            wanted -= kinematics.J_b @ self.model.base_acceleration(blocks, swung, particular)
        J = kinematics.J_m[axes]
        if self.config.law != "resolved_acceleration":
            J = J @ coupling.null_projector()
        threshold = self.config.tool_threshold * float(np.linalg.norm(kinematics.J_m[axes]))
        tool = damped_inverse(J, threshold, threshold)
        return _Command(particular + tool.inverse @ wanted[axes], particular, rows, coupling, tool)

    def _tool_acceleration(self, kinematics: ToolKinematics, reference: CartesianReference) -> Array:
        error = np.empty(6)
        error[:3] = reference.position - kinematics.position
        error[3:] = kinematics.rotation @ pin.log3(kinematics.rotation.T @ reference.rotation)
        rate = reference.velocity - kinematics.velocity
        return reference.acceleration + self.config.velocity_gain * rate + self.config.position_gain * error

    def _reaction(
        self, state: ArmState, blocks: DynamicsBlocks, command: _Command, acceleration: Array
    ) -> BaseReaction:
        coupling, tool = command.coupling, command.tool
        base = self.model.base_acceleration(blocks, state, acceleration)
        restricted = 0.0
        if tool is not None:
            # Of the tracked axes at most n - rank(H_bm) can be served; the rest is singular by count, not by posture.
            free = self.model.n - (0 if self.config.law == "resolved_acceleration" else coupling.rank)
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
            vibration_damping=self.config.vibration_damping and self.config.law != "resolved_acceleration",
        )
