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

import math

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import pose_error
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import LAWS, VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.law import FREE_GOAL, NO_GOAL, TOOL_GOAL, sample
from flexarm_core.reaction_null_space.vibration.led_joints import LedJoints
from flexarm_core.reaction_null_space.vibration.motion_guard import TURN, MotionGuard
from flexarm_core.reaction_null_space.vibration.task import Goal, goal_of, pull, tool_task
from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks, ToolKinematics
from flexarm_core.types import ArmState, Array, BaseReaction, CartesianReference, JointReference

BRAKING = 4.0  # [1/s] rate at which joints are brought to rest, each in proportion to its velocity
REST_BANDWIDTH = 2.0  # [rad/s] bandwidth of load estimation when the arm is held at rest and no bandwidth is configured


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
        self._weighs = bool(np.abs(lying.c_m).max() > 1e-9 or np.abs(lying.c_b).max() > 1e-9)
        self.guard = None if limits is None else MotionGuard(limits, config.longest_wait, model.m)
        self.config = config
        self._unbounded, self._untimed = np.empty((4, 0)), np.zeros(7)
        self._none, self._still = np.zeros(model.m), np.zeros(model.n)
        self._nothing = np.zeros(0)
        self._no_axes = np.zeros((0, model.n)), np.zeros((0, model.m))
        self._nothing_to_do = (NO_GOAL, self._still, True, False, *self._no_axes)
        self._joints = LedJoints(model)
        self.reset()

    @property
    def config(self) -> VibrationControllerConfig:
        """Settings; new settings take effect with the next sample."""
        return self._config

    @config.setter
    def config(self, config: VibrationControllerConfig) -> None:
        self._config = config
        self._gains = config.gains(config.joint_damping)
        self._resting_gains = config.gains(BRAKING)
        if self.guard is not None:
            self.guard.clock.longest = config.longest_wait

    def reset(self) -> None:
        """Forget the held posture and the joint reference; both start again at the next sample."""
        self._posture: Array | None = None
        self._joints.let_go()
        self._rests, self._correction = False, self._nothing
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
        blocks = model.blocks(at)
        n, m = model.n, model.m
        values, out = np.empty(min(self.selection.count, n)), np.empty((6, max(n, m)))
        task = self._nothing_to_do if rests else self._task(at, state, goal_of(config.task, reference, joints, model.n))
        rank, damping, restricted, lost = sample(
            blocks.H_b,
            blocks.H_bm,
            blocks.H_m,
            blocks.c_b,
            blocks.c_m,
            blocks.dH_bm_qd,
            model.weight(at) if config.law == "torque" else self._none,
            model.K_b,
            model.D_b,
            model.D_m,
            self.selection.rows,
            self.selection.soft,
            LAWS.index("reactionless" if rests and config.law == "torque" else config.law),
            led,
            config.vibration_damping and (guard is None or guard.damps),
            self._resting_gains if rests else self._gains,
            at.velocity,
            state.deflection,
            state.deflection_rate,
            self._servo(at, state, led, blocks),
            *task,
            self._nothing if rests else self._free_motion(at, joints),
            self._nothing if rests else self._heading(reference, joints, len(task[1])),
            self._correction,
            at.position,
            state.velocity,
            self._unbounded if guard is None else guard.limits,
            *self._lacking(state, led, blocks),
            self._weighs,
            config.load_bandwidth > 0.0,
            self._untimed if guard is None else guard.timing,
            out,
            self._joints.gives,
            values,
        )
        acceleration, effort, base, reaction, momentum = out[0, :n], out[1, :n], out[2, :m], out[3, :m], out[4, :m]
        if guard is not None:
            guard.end(acceleration - out[5, :n], base, lost)
        answer = JointReference(stamp=state.stamp, acceleration=acceleration, effort=effort)
        if led:
            self._joints.take(at, acceleration, state.deflection_rate)
            answer = JointReference(state.stamp, at.position, at.velocity, acceleration, effort)
        else:
            self._joints.let_go()
        return answer, BaseReaction(
            stamp=state.stamp,
            wrench_on_base_in_base=model.wrench_on_base(state, acceleration, base),
            reaction=reaction,
            coupling_momentum=momentum,
            rank=rank,
            coupling_singular_values=values,
            smallest_restricted_singular_value=restricted,
            damping=damping,
            vibration_damping=config.vibration_damping and config.law != "resolved_acceleration",
        )

    def _servo(self, at: ArmState, state: ArmState, led: bool, blocks: DynamicsBlocks) -> Array:
        """Return the accelerations (n,) that the joint servos request, including those that carry an unknown load."""
        config, guard = self.config, self.guard
        if not led:
            return self._still
        asked = np.empty(self.model.n)
        pull(
            config.servo_position_gain, config.servo_velocity_gain, at.position, at.velocity, self._still,
            state.position, state.velocity, asked,
        )  # fmt: skip
        if guard is not None and (config.load_bandwidth > 0.0 or self._rests):
            # a tenth of Routh's stability bound k_i < k_p k_d, because the model does not include the unknown load
            bandwidth = min(config.load_bandwidth or REST_BANDWIDTH, 0.1 * config.servo_velocity_gain)
            gain = bandwidth * config.servo_position_gain
            asked += guard.integrate(at.position - state.position, gain, np.diag(blocks.H_m))
        return asked

    def _lacking(self, state: ArmState, led: bool, blocks: DynamicsBlocks) -> tuple[Array, Array]:
        """Return acceleration deficits due to an unknown load: of joints without servos (n,), and of the base (m,)."""
        guard, bandwidth = self.guard, self.config.load_bandwidth
        joints, base = self._still, self._none
        if guard is not None and not led:
            joints = guard.find_load(state.position, state.velocity, bandwidth or guard.watched, np.diag(blocks.H_m))
        if guard is not None and bandwidth > 0.0:
            base = guard.base.find(state.deflection, state.deflection_rate, bandwidth, np.full(self.model.m, np.inf))
        return joints, base

    def _heading(self, tool: CartesianReference | None, joints: JointReference | None, count: int) -> Array:
        """Return the path velocity of the task at clock rate 1: of the tracked tool axes, or of the joints."""
        if self.config.task == "tool_path" and tool is not None:
            return np.ascontiguousarray(tool.velocity[tool.axes])
        if self.config.task == "joint_path" and joints is not None and joints.velocity is not None:
            return np.ascontiguousarray(joints.velocity)
        return np.zeros(count)

    def _task(self, at: ArmState, measured: ArmState, goal: Goal) -> tuple[int, Array, bool, bool, Array, Array]:
        """Return goal, wish, projected, absolute, J_m and J_b of ``sample`` for the task at a joint state."""
        config, projected = self.config, self.config.law != "resolved_acceleration"
        if isinstance(goal, CartesianReference):
            swung = ArmState(at.stamp, at.position, at.velocity, measured.deflection, measured.deflection_rate)
            kinematics, wish = self.model.tool_kinematics(swung, goal.frame), np.empty(6)
            J_m, J_b = kinematics.J_m, kinematics.J_b
            rate = 1.0 if self.guard is None else self.guard.clock.rate
            count = tool_task(
                kinematics.position,
                kinematics.rotation,
                kinematics.velocity,
                kinematics.dJ_v,
                goal.position,
                np.ascontiguousarray(goal.rotation),
                goal.velocity if rate == 1.0 else rate * goal.velocity,
                goal.acceleration if rate == 1.0 else rate * rate * goal.acceleration,
                self._gains,
                goal.axes,
                wish,
                J_m,
                J_b,
            )
            self._correction = self._watch(goal, kinematics)
            absolute = goal.frame == self.model.world_frame
            return TOOL_GOAL, wish[:count], projected, absolute, J_m[:count], J_b[:count]
        if isinstance(goal, JointReference):
            wish = self._towards(goal, at, config.position_gain, config.velocity_gain)
            return FREE_GOAL, wish, projected, True, *self._no_axes
        if config.task == "hold" and self._posture is not None:
            still = JointReference(at.stamp, self._posture)
            wish = self._towards(still, at, config.position_gain, config.velocity_gain)
            return FREE_GOAL, wish, True, False, *self._no_axes
        return NO_GOAL, self._still, projected, False, *self._no_axes

    def _watch(self, goal: CartesianReference, tool: ToolKinematics) -> Array:
        """Return the correction velocity of the tracked tool axes; give up if the tool error is too large."""
        if self.guard is None:
            return self._nothing
        config, away = self.config, np.empty(6)
        pose_error(goal.position, np.ascontiguousarray(goal.rotation), tool.position, tool.rotation, away)
        correction: Array = away[goal.axes] * (config.position_gain / max(config.velocity_gain, 1.0))
        away[3:] /= TURN
        self.guard.keep_near(float(np.linalg.norm(away[goal.axes])), config.largest_error)
        return correction

    def _free_motion(self, at: ArmState, joints: JointReference | None) -> Array:
        """Return accelerations (n,) for the directions that base and tool leave free; empty: damping only."""
        gain = self.config.posture_gain
        if gain == 0.0 or self.config.task != "tool_path":
            return self._nothing
        if joints is None or joints.position is None:
            joints = JointReference(at.stamp, self._posture)
        return self._towards(joints, at, gain, 2.0 * math.sqrt(gain))

    def _towards(self, goal: JointReference, at: ArmState, position_gain: float, velocity_gain: float) -> Array:
        """Return accelerations (n,) that drive the joints to a reference that has a position."""
        assert goal.position is not None
        velocity = self._still if goal.velocity is None else goal.velocity
        acceleration = self._still if goal.acceleration is None else goal.acceleration
        if self.guard is not None and self.guard.clock.rate != 1.0:
            rate = self.guard.clock.rate
            velocity, acceleration = rate * velocity, rate * rate * acceleration
        wish = np.empty(self.model.n)
        pull(position_gain, velocity_gain, goal.position, velocity, acceleration, at.position, at.velocity, wish)
        return wish
