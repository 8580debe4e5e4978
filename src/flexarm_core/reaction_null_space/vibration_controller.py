"""Laws of the reaction null space with end-effector control (Nenchev et al. 1999, equations 12, 15, 16, 24).

::

    qdd   = qdd_p + Jbar^+ [ xdd_d + G_d ed + G_p e - dJ v - J qdd_p - J_b xdd_b ] + N w
    qdd_p = H_bm^+ (H_b G_b xd_b - dH_bm qd) - G_m qd                         Jbar = J P_RNS

With a base at rest and G_m = 0 this is (24) literally. The last two terms extend it: the tool is also kept from feeling
the damping motion (J qdd_p), and, where the reference is given in the inertial frame, from feeling the base's own
motion (J_b xdd_b). They cost nothing because ``H_bm P_RNS = 0``: the base's acceleration depends on qdd_p alone. Of
H_bm only the selected rows count (see ``base_selection``).

What base and tool leave free, ``N = P_RNS - Jbar^+ Jbar``, is damped by G_m alone, so a hit on the base moves the arm
along it for good. With a ``posture_gain`` k there is a third task: the joints go to a posture as far as they may::

    N qdd = N [ qdd_r + 2 sqrt(k) (qd_r - qd) + k (q_r - q) ]

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

import math
from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.ik_redundancy.chain import pose_error
from flexarm_core.reaction_null_space.base_selection import BaseSelection
from flexarm_core.reaction_null_space.motion_guard import TURN, MotionGuard
from flexarm_core.reaction_null_space.vibration_law import FREE_GOAL, NO_GOAL, TOOL_GOAL, sample
from flexarm_core.reaction_null_space.vibration_task import carry_on, pull, tool_task
from flexarm_core.robot.arm_model import ArmModel, DynamicsBlocks, ToolKinematics
from flexarm_core.types import ArmState, Array, BaseReaction, CartesianReference, JointReference, all_finite

LAWS = ("reactionless", "torque", "resolved_acceleration")
TASKS = ("tool_path", "joint_path", "hold", "none")
REALISATIONS = ("computed_torque", "joint_servo")
Goal = CartesianReference | JointReference | None
LEASH = 0.5  # [rad | m] between joints and their led reference beyond which it is not that of this arm
BRAKING = 4.0  # [1/s] at which joints are brought to rest, all in proportion
REST_BANDWIDTH = 2.0  # [rad/s] at which an arm that was brought to rest finds what load it carries
LONGEST_GAP = 0.1  # [s] between two samples over which a joint reference is carried on


@dataclass(frozen=True, slots=True)
class VibrationControllerConfig:
    """Settings of the controller; every one may change between two samples.

    Attributes:
        law: ``reactionless`` (12, 15), ``torque`` (16) or ``resolved_acceleration`` (the plain law, for comparison).
        task: ``tool_path`` follows a CartesianReference, ``joint_path`` a JointReference as far as the base lets it,
            ``hold`` goes back to the first posture so far, ``none`` leaves u = 0.
        realisation: how the accelerations are made to happen: ``computed_torque`` or ``joint_servo``.
        position_gain: G_p, of the tool, the joint reference or the held posture [1/s^2].
        velocity_gain: G_d [1/s].
        posture_gain: ``tool_path``: of the joints along what base and tool leave free, to a JointReference where one is
            given, else to the first posture [1/s^2]; 0: there they are only damped.
        servo_position_gain: of each joint's servo [1/s^2].
        servo_velocity_gain: of each joint's servo [1/s].
        vibration_damping: whether the base feedback G_b is in force.
        damping_ratio: zeta from which G_b is chosen at every sample.
        vibration_gain: literal g_b [1/s], of ``torque`` [N*s/m | N*m*s/rad]; 0 = by damping_ratio.
        joint_damping: G_m [1/s].
        coupling_threshold: singular value of H_bm, relative to ``sqrt(tr H_b tr H_m)``, below which it is damped.
        tool_threshold: singular value of Jbar, relative to the norm of J, below which it is damped.
        load_bandwidth: at which an unknown constant load is found and carried [rad/s]; 0: it is not. Used with limits.
        longest_wait: by which the path may be late before the law gives up [s]. Used with limits.
        largest_error: of the tool, at which the law gives up [m], 3 rad of orientation counting as 1 m. Used with
            limits.
    """

    law: str = "reactionless"
    task: str = "tool_path"
    realisation: str = "computed_torque"
    position_gain: float = 400.0
    velocity_gain: float = 200.0
    posture_gain: float = 0.0
    servo_position_gain: float = 900.0
    servo_velocity_gain: float = 60.0
    vibration_damping: bool = True
    damping_ratio: float = 0.7
    vibration_gain: float = 0.0
    joint_damping: float = 1.0
    coupling_threshold: float = 0.01
    tool_threshold: float = 0.02
    load_bandwidth: float = 0.0
    longest_wait: float = 2.0
    largest_error: float = 0.2

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        if self.law not in LAWS:
            raise ConfigError(f"law '{self.law}' is unknown; valid: {', '.join(LAWS)}")
        if self.task not in TASKS:
            raise ConfigError(f"task '{self.task}' is unknown; valid: {', '.join(TASKS)}")
        if self.realisation not in REALISATIONS:
            raise ConfigError(f"realisation '{self.realisation}' is unknown; valid: {', '.join(REALISATIONS)}")
        gains = ("position_gain", "velocity_gain", "posture_gain", "servo_position_gain", "servo_velocity_gain")
        for name in (*gains, "damping_ratio", "vibration_gain", "joint_damping", "load_bandwidth", "longest_wait"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) >= 0.0):
                raise ConfigError(f"{name} must be a number >= 0, got {getattr(self, name)}")
        if not self.largest_error > 0.0:
            raise ConfigError(f"largest_error must be positive, got {self.largest_error}")
        for name in ("coupling_threshold", "tool_threshold"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise ConfigError(f"{name} must lie in (0, 1), got {getattr(self, name)}")


class VibrationController:
    """Joint accelerations that move the tool without shaking the base and that damp a base that shakes.

    Attributes:
        selection: motions of the base that count.
        guard: keeps the motion within limits; None: it is not bounded.
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
            model: of the arm.
            config: settings.
            selection: of what the base does; None for all of its directions.
            limits: (4, n) lower and upper position, velocity, effort, see ``motion_guard``; None: the law alone, which
                knows of none.

        Raises:
            ConfigError: the arm has no elastic joints, or not more joints than selected motions.
        """
        if model.m == 0:
            raise ConfigError("the robot has no elastic joint: name at least one in <flexibility>")
        self.model = model
        self.selection = BaseSelection(model) if selection is None else selection
        lying = model.blocks(ArmState(0, np.full(model.n, 0.3), *np.zeros((2, model.n))[:1], *np.zeros((2, model.m))))
        weighs = bool(np.abs(lying.c_m).max() > 1e-9 or np.abs(lying.c_b).max() > 1e-9)
        self.guard = None if limits is None else MotionGuard(limits, config.longest_wait, weighs)
        self.config = config
        self._unbounded, self._untimed = np.empty((4, 0)), np.zeros(7)
        self._none, self._still = np.zeros(model.m), np.zeros(model.n)
        self._nothing = np.zeros(0)
        self._no_axes = np.zeros((0, model.n)), np.zeros((0, model.m))
        self._nothing_to_do = (NO_GOAL, self._still, True, False, *self._no_axes)
        self._gives = np.zeros((model.n, model.m))  # joint velocities that a base's rate brings about in the reference
        # loads the compiled code that the first sample does not need
        carry_on(self._still, self._still, self._still, 0.0, *np.empty((2, model.n)))
        self.reset()

    @property
    def config(self) -> VibrationControllerConfig:
        """Settings; those given take effect with the next sample."""
        return self._config

    @config.setter
    def config(self, config: VibrationControllerConfig) -> None:
        self._config = config
        self._gains = np.array(
            [
                config.damping_ratio,
                config.vibration_gain,
                config.joint_damping,
                config.coupling_threshold,
                config.tool_threshold,
                config.position_gain,
                config.velocity_gain,
            ]
        )
        self._resting_gains = self._gains.copy()
        self._resting_gains[2] = BRAKING
        if self.guard is not None:
            self.guard.clock.longest = config.longest_wait

    def reset(self) -> None:
        """Forget the held posture and the joint reference: both begin at the next sample."""
        self._posture: Array | None = None
        self._led: tuple[ArmState, Array] | None = None  # joint reference of the servos, and its acceleration
        self._rate = self._none  # of the base when it was led
        self._rests = False
        if self.guard is not None:
            self.guard.reset()

    def update(
        self, state: ArmState, reference: CartesianReference | None = None, joints: JointReference | None = None
    ) -> tuple[JointReference, BaseReaction]:
        """Compute one sample.

        Args:
            state: measured state of arm and base.
            reference: tool reference of the same stamp; needed for task ``tool_path``.
            joints: joint reference of the same stamp; needed, with a position, for task ``joint_path``, and used by
                ``tool_path`` where there is a ``posture_gain``. A velocity or acceleration that it lacks counts as 0.

        Returns:
            Joint reference with acceleration and the effort that realises it, with ``joint_servo`` also position and
            velocity; base reaction.

        Raises:
            InputError: wrong shapes, numbers that are not finite, a missing reference, an unknown frame.
        """
        config, model, guard = self.config, self.model, self.guard
        model.check_state(state)
        self._goal(reference, joints)
        if self._posture is None:
            self._posture = state.position.copy()
        if guard is not None:
            guard.begin(state.stamp)
            reference, joints = guard.clock.take(state.stamp, reference, joints)
        rests = guard is not None and bool(guard.reason)
        if rests and not self._rests:  # from the motion that there is, servos take over
            self._led = None
        self._rests = rests
        led = rests or config.realisation == "joint_servo"
        at = self._lead(state) if led else state
        blocks = model.blocks(at)
        n, m = model.n, model.m
        values, out = np.empty(min(self.selection.count, n)), np.empty((5, max(n, m)))
        task = self._nothing_to_do if rests else self._task(at, state, self._goal(reference, joints))
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
            at.position,
            state.velocity,
            self._unbounded if guard is None else guard.limits,
            self._still if guard is None or led or config.load_bandwidth > 0.0 else guard.lacking,
            self._untimed if guard is None else guard.timing,
            out,
            self._gives,
            values,
        )
        acceleration, effort, base, reaction, momentum = out[0, :n], out[1, :n], out[2, :m], out[3, :m], out[4, :m]
        if guard is not None:
            guard.end(acceleration, state.position, state.velocity, led or config.load_bandwidth > 0.0, lost)
        answer = JointReference(stamp=state.stamp, acceleration=acceleration, effort=effort)
        if led:
            self._led, self._rate = (at, acceleration), state.deflection_rate
            answer = JointReference(state.stamp, at.position, at.velocity, acceleration, effort)
        else:
            self._led = None
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

    def _goal(self, reference: CartesianReference | None, joints: JointReference | None) -> Goal:
        """The reference that the task follows, checked."""
        if self.config.task == "tool_path":
            if reference is None:
                raise InputError("task 'tool_path' needs a CartesianReference")
            values = (reference.position, reference.rotation.ravel(), reference.velocity, reference.acceleration)
            if not all_finite(*values):
                raise InputError("CartesianReference is not finite")
        elif self.config.task == "joint_path" and (joints is None or joints.position is None):
            raise InputError("task 'joint_path' needs a JointReference with a position")
        for name in ("position", "velocity", "acceleration") if joints is not None else ():
            value = getattr(joints, name)
            if value is not None and not (value.shape == (self.model.n,) and all_finite(value)):
                raise InputError(f"JointReference {name} is {value}, expected {self.model.n} finite numbers")
        return {"tool_path": reference, "joint_path": joints}.get(self.config.task)

    def _servo(self, at: ArmState, state: ArmState, led: bool, blocks: DynamicsBlocks) -> Array:
        """Accelerations (n,) that the joints' servos ask for, and those that carry an unknown load."""
        config, guard = self.config, self.guard
        if not led:
            if guard is None:
                return self._still
            return guard.find_load(state.position, state.velocity, config.load_bandwidth, np.diag(blocks.H_m))
        asked = np.empty(self.model.n)
        pull(
            config.servo_position_gain, config.servo_velocity_gain, at.position, at.velocity, self._still,
            state.position, state.velocity, asked,
        )  # fmt: skip
        if guard is not None and (config.load_bandwidth > 0.0 or self._rests):
            # within Routh's bound, k_i < k_p k_d, by a factor of ten, for loads that the model does not know
            bandwidth = min(config.load_bandwidth or REST_BANDWIDTH, 0.1 * config.servo_velocity_gain)
            gain = bandwidth * config.servo_position_gain
            asked += guard.integrate(at.position - state.position, gain, np.diag(blocks.H_m))
        return asked

    def _heading(self, tool: CartesianReference | None, joints: JointReference | None, count: int) -> Array:
        """Velocity of the path that the task follows, of the tool's tracked axes or of the joints, at rate 1."""
        if self.config.task == "tool_path" and tool is not None:
            return np.ascontiguousarray(tool.velocity[tool.axes])
        if self.config.task == "joint_path" and joints is not None and joints.velocity is not None:
            return np.ascontiguousarray(joints.velocity)
        return np.zeros(count)

    def _lead(self, state: ArmState) -> ArmState:
        """The joint reference at a sample, over an undeflected base: where its last acceleration has led it since."""
        if self._led is not None:
            led, acceleration = self._led
            dt = (state.stamp - led.stamp) * 1e-9
            if 0.0 <= dt <= LONGEST_GAP:
                position, velocity = np.empty(self.model.n), np.empty(self.model.n)
                carry_on(led.position, led.velocity, acceleration, dt, position, velocity)
                if not np.abs(position - state.position).max() <= LEASH:
                    self._led = None
                    if self._rests:
                        return ArmState(state.stamp, state.position, state.velocity, self._none, self._none)
                    raise InputError(
                        f"the reference of the joint servos has left the joints by more than {LEASH:g} rad or m, which"
                        " are stuck, or pushed, or sampled too slowly for the gains; it sets out anew from them"
                    )
                if self.config.law == "torque":
                    velocity = velocity + self._gives @ (state.deflection_rate - self._rate)
                return ArmState(state.stamp, position, velocity, self._none, self._none)
        velocity = state.velocity if self._rests else self._still
        return ArmState(state.stamp, state.position, velocity, self._none, self._none)

    def _task(self, at: ArmState, measured: ArmState, goal: Goal) -> tuple[int, Array, bool, bool, Array, Array]:
        """What the task asks for at a state of the joints: goal, wish, projected, absolute, J_m, J_b of ``sample``."""
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
            self._watch(goal, kinematics)
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

    def _watch(self, goal: CartesianReference, tool: ToolKinematics) -> None:
        """Give up where the tool is too far from its path."""
        if self.guard is None:
            return
        away = np.empty(6)
        pose_error(goal.position, np.ascontiguousarray(goal.rotation), tool.position, tool.rotation, away)
        away[3:] /= TURN
        distance = float(np.linalg.norm(away[goal.axes]))
        if distance > self.config.largest_error:
            self.guard.give_up(f"the tool is {distance:.3g} m from its path, at most {self.config.largest_error:g} m")

    def _free_motion(self, at: ArmState, joints: JointReference | None) -> Array:
        """Accelerations (n,) along what base and tool leave free; empty: there the joints are only damped."""
        gain = self.config.posture_gain
        if gain == 0.0 or self.config.task != "tool_path":
            return self._nothing
        if joints is None or joints.position is None:
            joints = JointReference(at.stamp, self._posture)
        return self._towards(joints, at, gain, 2.0 * math.sqrt(gain))

    def _towards(self, goal: JointReference, at: ArmState, position_gain: float, velocity_gain: float) -> Array:
        """Accelerations (n,) that lead joints to a reference that has a position."""
        assert goal.position is not None
        velocity = self._still if goal.velocity is None else goal.velocity
        acceleration = self._still if goal.acceleration is None else goal.acceleration
        if self.guard is not None and self.guard.clock.rate != 1.0:
            rate = self.guard.clock.rate
            velocity, acceleration = rate * velocity, rate * rate * acceleration
        wish = np.empty(self.model.n)
        pull(position_gain, velocity_gain, goal.position, velocity, acceleration, at.position, at.velocity, wish)
        return wish
