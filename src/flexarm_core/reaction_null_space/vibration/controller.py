"""Reaction null space control laws with end-effector control (Nenchev et al. 1999, equations 12, 15, 16, 24).

::

    qdd   = qdd_p + Jbar^+ [ xdd_d + G_d ed + G_p e - dJ v - J qdd_p - J_b xdd_b ] + N w
    qdd_p = H_bm^+ (H_b G_b xd_b - dH_bm qd) - G_m qd                         Jbar = J P_RNS

With a base at rest and G_m = 0 this is (24) literally. The last two terms extend it: the tool task also compensates the
damping motion (J qdd_p) and, if the reference is given in the inertial frame, the base motion (J_b xdd_b). Both terms
leave the base unaffected because ``H_bm P_RNS = 0``: the base acceleration depends on qdd_p alone. Only the selected
rows of H_bm enter (see ``base_selection``).

The remaining free directions, ``N = P_RNS - Jbar^+ Jbar``, are damped only by G_m, so an impact on the base displaces
the arm along them permanently. With a ``posture_gain`` k there is a third task, which moves the joints towards a
posture within these free directions::

    N qdd = N [ qdd_r + 2 sqrt(k) (qd_r - qd) + k (q_r - q) ]

There are two realizations. ``computed_torque`` evaluates the law at the measured state and inverts the dynamics of the
arm on its elastic base; it excites stiff directions that are not in the selection (spillover). ``joint_servo``
integrates the acceleration of the law to a joint reference, evaluates the law at this reference, and closes one servo
loop per joint around it; the base then acts back on the arm only through the selected, damped motion. Law (16),
``torque`` (see ``torque_law``), defines efforts and not accelerations: ``computed_torque`` commands these efforts, and
``joint_servo`` adds to the reference the joint velocity that the base motion would cause in joints without effort.

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

import numpy as np

from flexarm_core.compiled import allocate
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.law import step
from flexarm_core.reaction_null_space.vibration.law_memory import (
    Inputs,
    Outputs,
    pack_constants,
    pack_settings,
    view_inputs,
    view_outputs,
)
from flexarm_core.reaction_null_space.vibration.led_joints import LedJoints
from flexarm_core.reaction_null_space.vibration.motion_guard import MotionGuard
from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks
from flexarm_core.types import ArmState, Array, BaseReaction, CartesianReference, JointReference, all_finite

REST_BANDWIDTH = 2.0  # [rad/s] bandwidth of load estimation when the arm is held at rest and no bandwidth is configured

Goal = CartesianReference | JointReference | None


def goal_of(task: str, reference: CartesianReference | None, joints: JointReference | None, n: int) -> Goal:
    """Return the reference that a task follows for an arm with n joints.

    Raises:
        InputError: the reference is missing, or a reference has a wrong shape or non-finite numbers.
    """
    if task == "tool_path":
        if reference is None:
            raise InputError("task 'tool_path' needs a CartesianReference")
        values = (reference.position, reference.rotation.ravel(), reference.velocity, reference.acceleration)
        if not all_finite(*values):
            raise InputError("CartesianReference is not finite")
    elif task == "joint_path" and (joints is None or joints.position is None):
        raise InputError("task 'joint_path' needs a JointReference with a position")
    for name in ("position", "velocity", "acceleration") if joints is not None else ():
        value = getattr(joints, name)
        if value is not None and not (value.shape == (n,) and all_finite(value)):
            raise InputError(f"JointReference {name} is {value}, expected {n} finite numbers")
    return {"tool_path": reference, "joint_path": joints}.get(task)


class VibrationController:
    """Joint accelerations that move the tool without exciting the base and that damp base vibrations.

    Attributes:
        selection: selected base motions.
        guard: keeps the motion within limits; None: the motion is not bounded.
    """

    def __init__(
        self,
        model: ArmModel,
        config: VibrationControllerConfig,
        selection: BaseSelection | None = None,
        limits: Array | None = None,
    ) -> None:
        """Bind the controller to an arm.

        Args:
            model: the arm.
            config: settings.
            selection: selected base motions; None: all base directions.
            limits: (4, n) lower and upper position, velocity, effort, see ``motion_guard``; None: the law is not
                bounded.

        Raises:
            ConfigError: the arm has no elastic joints, or not more actuated joints than selected motions.
        """
        if model.m == 0:
            raise ConfigError("the robot has no elastic joint: name at least one in <flexibility>")
        self.model = model
        self.selection = BaseSelection(model) if selection is None else selection
        lying = model.blocks(ArmState(0, np.full(model.n, 0.3), *np.zeros((2, model.n))[:1], *np.zeros((2, model.m))))
        self.guard = None if limits is None else MotionGuard(limits, config.longest_wait, model.m)
        self.config = config
        weighs = bool(np.abs(lying.c_m).max() > 1e-9 or np.abs(lying.c_b).max() > 1e-9)
        bounds = None if self.guard is None else self.guard.limits
        self._constants = pack_constants(model, self.selection, bounds, weighs)
        n, m, k = model.n, model.m, self.selection.count
        self._x: Inputs
        self._out: Outputs
        self._inputs, self._x = allocate(view_inputs, n, m)
        self._outputs, self._out = allocate(view_outputs, n, m, k)
        x = self._x
        self._blocks = DynamicsBlocks(x.H_b, x.H_bm, x.H_m, x.c_b, x.c_m, x.dH_bm_qd)
        x.damps[0] = x.rate[0] = 1.0
        self._joints = LedJoints(model)
        self.reset()

    @property
    def config(self) -> VibrationControllerConfig:
        """Settings; new settings take effect with the next sample."""
        return self._config

    @config.setter
    def config(self, config: VibrationControllerConfig) -> None:
        self._config = config
        self._settings, self._resting = pack_settings(config, rests=False), pack_settings(config, rests=True)
        if self.guard is not None:
            self.guard.clock.longest = config.longest_wait

    def reset(self) -> None:
        """Forget the held posture and the joint reference; both start again at the next sample."""
        self._posture: Array | None = None
        self._joints.let_go()
        self._rests = False
        if self.guard is not None:
            self.guard.reset()

    def update(
        self, state: ArmState, reference: CartesianReference | None = None, joints: JointReference | None = None
    ) -> tuple[JointReference, BaseReaction]:
        """Compute one sample.

        Args:
            state: measured state of arm and base.
            reference: tool reference with the same stamp; required by task ``tool_path``.
            joints: joint reference with the same stamp; task ``joint_path`` requires one with positions, and
                ``tool_path`` uses it with a ``posture_gain``. A missing velocity or acceleration counts as 0.

        Returns:
            Joint reference with acceleration and the effort that realizes it, and with ``joint_servo`` also position
            and velocity; base reaction.

        Raises:
            InputError: wrong shapes, non-finite numbers, a missing reference, an unknown frame.
        """
        config, model, guard = self.config, self.model, self.guard
        model.check_state(state)
        goal_of(config.task, reference, joints, model.n)
        if self._posture is None:
            self._posture = state.position.copy()
        if guard is not None:
            guard.begin(state.stamp, state.velocity)
            reference, joints = guard.clock.take(state.stamp, reference, joints)
        rests = guard is not None and bool(guard.reason)
        if rests and not self._rests:  # from now on servos bring the arm to rest, starting at the measured motion
            self._joints.let_go()
        self._rests = rests
        led = rests or config.realization == "joint_servo"
        at = self._joints.at(state, rests, config.law == "torque") if led else state
        self._give_state(at, state)
        model.blocks(at, self._blocks)
        if config.law == "torque":
            self._x.weight[:] = model.weight(at)
        if not rests:
            self._give_goal(at, state, goal_of(config.task, reference, joints, model.n))
            if config.task == "tool_path" and config.posture_gain > 0.0:
                self._give_joints(joints)
        if guard is not None:
            self._give_clock(guard)
            self._give_load(at, state, led, guard)
        rank = step(self._constants, self._resting if rests else self._settings, self._inputs, self._outputs)
        out = self._out
        acceleration, effort = out.acceleration.copy(), out.effort.copy()
        if guard is not None:
            if not rests and config.task == "tool_path":
                guard.keep_near(float(out.distance[0]), config.largest_error)
            guard.end(acceleration - out.uncompensated, out.base, float(out.lost[0]), out.bounding)
        answer = JointReference(stamp=state.stamp, acceleration=acceleration, effort=effort)
        if led:
            self._joints.gives[:] = out.gives
            self._joints.take(at, acceleration, state.deflection_rate)
            answer = JointReference(state.stamp, at.position, at.velocity, acceleration, effort)
        else:
            self._joints.let_go()
        return answer, BaseReaction(
            stamp=state.stamp,
            wrench_on_base_in_base=model.wrench_on_base(state, acceleration, out.base),
            reaction=out.reaction.copy(),
            coupling_momentum=out.momentum.copy(),
            rank=rank,
            coupling_singular_values=out.singular_values.copy(),
            smallest_restricted_singular_value=float(out.restricted[0]),
            damping=float(out.damping[0]),
            vibration_damping=config.vibration_damping and config.law != "resolved_acceleration",
        )

    def _give_state(self, at: ArmState, state: ArmState) -> None:
        """Write the state at which the law is evaluated and the measured state."""
        x = self._x
        x.position[:], x.velocity[:] = at.position, at.velocity
        x.measured_position[:], x.measured_velocity[:] = state.position, state.velocity
        x.deflection[:], x.deflection_rate[:] = state.deflection, state.deflection_rate

    def _give_clock(self, guard: MotionGuard) -> None:
        """Write the path clock and how limits are approached."""
        x = self._x
        x.rate_change[0], x.rate_change[1], x.rate_change[2] = guard.rate_change
        x.rate[0], x.approach_time[0], x.damps[0] = guard.clock.rate, guard.approach_time, guard.damps

    def _give_load(self, at: ArmState, state: ArmState, led: bool, guard: MotionGuard) -> None:
        """Write what is known of an unknown load: what joint servos must add, and the deficits of joints and base."""
        x, config = self._x, self.config
        bandwidth, inertia = config.load_bandwidth, np.diag(x.H_m)
        x.carrying[:], x.lacking[:] = 0.0, 0.0
        if not led:
            x.lacking[:] = guard.find_load(state.position, state.velocity, bandwidth or guard.watched, inertia)
        elif bandwidth > 0.0 or self._rests:
            # a tenth of Routh's stability bound k_i < k_p k_d, because the model does not include the unknown load
            bound = min(bandwidth or REST_BANDWIDTH, 0.1 * config.servo_velocity_gain)
            gain = bound * config.servo_position_gain
            x.carrying[:] = guard.integrate(at.position - state.position, gain, inertia)
        if bandwidth > 0.0:
            unlimited = np.full(self.model.m, np.inf)
            x.base_lacking[:] = guard.base.find(state.deflection, state.deflection_rate, bandwidth, unlimited)
        else:
            x.base_lacking[:] = 0.0

    def _give_goal(self, at: ArmState, measured: ArmState, goal: Goal) -> None:
        """Write the goal of the task."""
        x = self._x
        if isinstance(goal, CartesianReference):
            swung = ArmState(at.stamp, at.position, at.velocity, measured.deflection, measured.deflection_rate)
            tool = self.model.tool_kinematics(swung, goal.frame)
            x.tool_position[:], x.tool_rotation[:], x.tool_velocity[:] = tool.position, tool.rotation, tool.velocity
            x.dJ_v[:], x.J_m[:], x.J_b[:] = tool.dJ_v, tool.J_m, tool.J_b
            x.goal_position[:], x.goal_rotation[:], x.axes[:] = goal.position, goal.rotation, goal.axes
            x.goal_velocity[:], x.goal_acceleration[:] = goal.velocity, goal.acceleration
            x.absolute[0] = goal.frame == self.model.world_frame
        elif isinstance(goal, JointReference):
            self._give_joints(goal)
            x.absolute[0] = True
        elif self.config.task == "hold":
            self._give_joints(None)
            x.absolute[0] = False

    def _give_joints(self, joints: JointReference | None) -> None:
        """Write a joint reference; the posture of the first sample if it is None or without a position."""
        x = self._x
        if joints is None or joints.position is None:
            joints = JointReference(0, self._posture)
        x.joint_position[:] = joints.position
        x.joint_velocity[:] = 0.0 if joints.velocity is None else joints.velocity
        x.joint_acceleration[:] = 0.0 if joints.acceleration is None else joints.acceleration
