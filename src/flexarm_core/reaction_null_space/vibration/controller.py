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

On a free-flying base (directions without a spring) the directions that are not selected give way, under
``resolved_acceleration`` all of them, and a tool goal in the inertial frame uses the generalized Jacobian instead of J:
see ``posture_terms``. So the attitude of the base is kept, or left to itself.

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
from flexarm_core.entrance import FLOAT, finite
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.vibration.arm_dynamics import pack_arm
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.law import NO_FRAME, NOT_FINITE, TOO_FAR, step
from flexarm_core.reaction_null_space.vibration.law_memory import (
    UNKNOWN,
    Inputs,
    Outputs,
    State,
    are_finite,
    pack_constants,
    pack_settings,
    view_inputs,
    view_sample,
    view_state,
)
from flexarm_core.reaction_null_space.vibration.led_joints import LEASH
from flexarm_core.reaction_null_space.vibration.motion_guard import LATEST, MotionGuard
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, BaseReaction, CartesianReference, JointReference, all_finite

PATHS = ("tool_path", "joint_path")  # tasks that follow references
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
        self.guard = None if limits is None else MotionGuard(limits, config.longest_wait, model.joint_names)
        self.config = config
        weighs = bool(np.abs(lying.c_m).max() > 1e-9 or np.abs(lying.c_b).max() > 1e-9)
        bounds = None if self.guard is None else self.guard.limits
        self._constants = pack_constants(model, self.selection, bounds, weighs)
        self._arm, self._frames = pack_arm(model), {model.base_frame: 0.0, model.world_frame: 1.0}
        n, m, k = model.n, model.m, self.selection.count
        self._x: Inputs
        self._out: Outputs
        self._kept: State
        self._sample, (self._x, self._out) = allocate(view_sample, n, m, k)
        self._inputs = self._sample[: view_inputs.size(n, m)]
        self._state, self._kept = allocate(view_state, n, m)
        self._clear()
        self.reset()

    @property
    def config(self) -> VibrationControllerConfig:
        """Settings; new settings take effect with the next sample."""
        return self._config

    @config.setter
    def config(self, config: VibrationControllerConfig) -> None:
        if config.law == "torque":
            self.model.description.require_springs("law torque")
        self._config = config
        self._settings, self._resting = pack_settings(config, rests=False), pack_settings(config, rests=True)
        if self.guard is not None:
            self.guard.clock.longest, self.guard.follows = config.longest_wait, config.task in PATHS

    def reset(self) -> None:
        """Forget the held posture and the joint reference; both start again at the next sample."""
        self._posture: Array | None = None
        self._state[:] = 0.0
        self._stamp: int | None = None  # of the last sample [ns]
        self._led: int | None = None  # stamp at which the reference of the joint servos was integrated [ns]
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
        config, guard, x, out = self._config, self.guard, self._x, self._out
        self._take(state, reference, joints)
        if self._posture is None:
            self._posture = state.position.copy()
        x.since_last[0] = 0.0 if self._stamp is None else (state.stamp - self._stamp) * 1e-9
        if x.since_last[0] > LATEST:
            x.since_last[0] = 0.0
        if guard is not None:
            guard.begin(state.stamp, state.velocity)
            late = guard.clock.take(state.stamp, reference, joints)
            if late[0] is not reference or late[1] is not joints:
                reference, joints = late
                self._take_references(reference, joints, self._posture)
            self._take_guard(guard)
        rests = guard is not None and bool(guard.reason)
        if rests and not self._rests:  # from now on servos bring the arm to rest, starting at the measured motion
            self._kept.led[0] = 0.0
        self._rests = rests
        x.since_led[0] = -1.0 if self._led is None else (state.stamp - self._led) * 1e-9
        settings = self._resting if rests else self._settings
        status = step(*self._arm, self._constants, settings, self._state, self._sample)
        if status == TOO_FAR:
            raise InputError(
                f"the reference of the joint servos has left the joints by more than {LEASH:g} rad or m, which"
                " are stuck, or pushed, or sampled too slowly for the gains; it sets out anew from them"
            )
        if status == NO_FRAME and reference is not None:
            self.model.tool_kinematics(state, reference.frame)  # raises InputError
        if status == NOT_FINITE:
            self._clear()
            for name in ("acceleration", "effort", "base"):
                finite(name, getattr(out, name), *getattr(out, name).shape)
        self._led = self._stamp = state.stamp
        if guard is not None:
            if not rests and config.task == "tool_path":
                guard.keep_near(out.distance.item(), config.largest_error)
            change, _, mixed, held = out.bounding.tolist()
            guard.end(out.lost.item(), change, mixed, int(held))
        led = rests or config.realization == "joint_servo"
        answer = JointReference(
            state.stamp,
            out.position.copy() if led else None,
            out.velocity.copy() if led else None,
            out.acceleration.copy(),
            out.effort.copy(),
        )
        return answer, BaseReaction(
            stamp=state.stamp,
            wrench_on_base_in_base=out.wrench.copy(),
            reaction=out.reaction.copy(),
            coupling_momentum=out.momentum.copy(),
            rank=int(out.rank.item()),
            coupling_singular_values=out.singular_values.copy(),
            smallest_restricted_singular_value=out.restricted.item(),
            damping=out.damping.item(),
            vibration_damping=config.vibration_damping and config.law != "resolved_acceleration",
        )

    def _clear(self) -> None:
        """Set the inputs to zeros, and what a guard would set to an unbounded motion."""
        self._inputs[:] = 0.0
        self._x.damps[0] = self._x.rate[0] = 1.0

    def _take(self, state: ArmState, reference: CartesianReference | None, joints: JointReference | None) -> None:
        """Write state and references to the inputs.

        Raises:
            InputError: as :meth:`update`.
        """
        x, model = self._x, self.model
        if type(state) is not ArmState:
            model.check_state(state)
        for value, place in (
            (state.position, x.measured_position),
            (state.velocity, x.measured_velocity),
            (state.deflection, x.deflection),
            (state.deflection_rate, x.deflection_rate),
        ):
            if type(value) is not np.ndarray or value.dtype != FLOAT or value.shape != place.shape:
                model.check_state(state)
            place[:] = value
        try:
            self._take_references(reference, joints, state.position if self._posture is None else self._posture)
        except Exception:  # nothing of a rejected reference may remain
            self._clear()
            raise
        if not are_finite(self._inputs, model.n, model.m):
            self._clear()
            model.check_state(state)
            goal_of(self._config.task, reference, joints, model.n)
            raise InputError("an input is not finite")

    def _take_references(
        self, reference: CartesianReference | None, joints: JointReference | None, posture: Array
    ) -> None:
        """Write the references to the inputs; the joints keep a posture (n,) if they have no reference."""
        x, task, n = self._x, self._config.task, self.model.n
        x.absolute[0] = task == "joint_path"
        if task == "tool_path" and reference is not None:
            x.goal_position[:], x.goal_rotation[:], x.axes[:] = reference.position, reference.rotation, reference.axes
            x.goal_velocity[:], x.goal_acceleration[:] = reference.velocity, reference.acceleration
            x.absolute[0] = self._frames.get(reference.frame, UNKNOWN)
        held = joints is None or joints.position is None or task == "hold"
        if held or (task == "tool_path" and reference is None):
            goal_of(task, reference, joints, n)
        if held or joints is None:
            x.joint_position[:], x.joint_velocity[:], x.joint_acceleration[:] = posture, 0.0, 0.0
            return
        for value, place in (
            (joints.position, x.joint_position),
            (joints.velocity, x.joint_velocity),
            (joints.acceleration, x.joint_acceleration),
        ):
            if value is not None and value.shape != place.shape:
                goal_of(task, reference, joints, n)
            place[:] = 0.0 if value is None else value

    def _take_guard(self, guard: MotionGuard) -> None:
        """Write the path clock, how limits are approached, and how load is estimated."""
        x = self._x
        x.rate_change[:] = guard.rate_change
        x.rate[0], x.approach_time[0], x.damps[0] = guard.clock.rate, guard.approach_time, guard.damps
        x.since_last[0], x.forgets[0], x.watched[0] = guard.dt, guard.forgets, guard.watched
