"""CommandLaw: the commands of one mode, within every limit: what follows a reference, what brakes, what holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from flexarm_core.entrance import number
from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.braking import Braking
from flexarm_core.hardware_gate.joint_dynamics import JointDynamics
from flexarm_core.hardware_gate.limits import (
    JointLimits,
    acceleration_bounds,
    believe_friction,
    bound_effort,
    hardest_braking,
    is_allowed,
)
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, all_finite

NOTHING = np.zeros(0)
RUN_AWAY = 0.05  # share by which a joint is too fast for its friction to be compensated
SPEED_SHARE = 0.93  # of the velocity limit that efforts lead to, less what is UNFORESEEN: the drives are late
UNFORESEEN = 0.5  # share of the acceleration limits by which the model may err until the next command
PUSHED = 0.05  # share of its velocity limit by which a base may push a joint until the next command: more is not undone
NEVER = 1e9  # [s] of what is not known
LEAST = 0.2  # share of a braking below which it is not scaled
CAUTION = 0.25  # share of the acceleration limits where commands may come late
FORGOTTEN = 0.5  # [s] after which a velocity that was not followed no longer counts


class CommandLaw:
    """Remembers the command in force, so that the next one leads on from it.

    Attributes:
        mode: ``effort``, ``velocity`` or ``position``.
        command: (n,) in force, None before the first.
        friction: (n,) part of an effort in force that friction takes.
        rate: (n,) of the set point.
        limited: names of joints whose command had to change, with the limit that did it.
        braking: of the stop.
        cautious: whether efforts may come late, so that they accelerate by CAUTION of the limits.
    """

    def __init__(
        self, model: ArmModel, limits: JointLimits, mode: str, period: float, horizon: float, hold_frequency: float
    ) -> None:
        """Command an arm.

        Args:
            model: of the arm.
            limits: of its joints.
            mode: ``effort``, ``velocity`` or ``position``.
            period: between two commands [s].
            horizon: time that an effort may stay in force, for which it is judged [s].
            hold_frequency: bandwidth of the servo that brakes and holds [rad/s].
        """
        self._model, self._limits, self.mode = model, limits, mode
        self._dynamics, self._pushed = JointDynamics(model), PUSHED * limits.velocity / horizon
        self._period, self._horizon = number("period", period, 0.0), number("horizon", horizon, 0.0)
        exact = mode != "effort" or horizon <= period
        unforeseen = np.minimum(UNFORESEEN * limits.acceleration * horizon / limits.velocity, SPEED_SHARE / 2)
        self._bounds = limits if exact else replace(limits, velocity=(SPEED_SHARE - unforeseen) * limits.velocity)
        self.braking = Braking(limits.acceleration, hold_frequency, period)
        self._careful = replace(self._bounds, acceleration=CAUTION * limits.acceleration)
        self.cautious, self._share = False, 1.0
        self._no_friction = np.zeros(model.n)
        self.reset()
        self._load_compiled()

    def _load_compiled(self) -> None:
        """Call once what judges an effort, so that the first that counts is not late."""
        none, base, table = np.zeros(self._model.n), np.zeros(self._model.m), self._limits.table
        self._model.forward_dynamics(ArmState(0, none, none, base, base), none)
        is_allowed(self._limits, none, none, none, self._period)
        believe_friction(table, RUN_AWAY, none, none, none, np.empty_like(none))
        bound_effort(table, none, none, self._period, np.empty_like(none))

    def reset(self) -> None:
        """Forget the command in force."""
        self.command: Array | None = None
        self.friction = self._no_friction
        self.rate = np.zeros(self._model.n)
        self.limited: tuple[str, ...] = ()
        self._lag = np.zeros(self._model.n)
        self._advanced = False
        self.braking.reset()

    def restart(self, state: ArmState) -> None:
        """Lead on from a measured state, whatever was commanded before."""
        self.reset()
        self.rate = state.velocity.copy()

    def remember(self, command: Array, dt: float) -> Array:
        """This command (n,) is in force now, ``dt`` [s] after the last one."""
        if self.mode == "position" and self.command is not None:
            self.rate = (command - self.command) / dt
        elif self.mode == "velocity":
            self.rate = command
        self.command, self._advanced = command, True
        return command

    def caused(self, state: ArmState) -> tuple[Array, Array]:
        """Velocity and acceleration (n,), beyond any friction, that the command in force should cause at a state."""
        none = self._no_friction
        if self.mode == "position":  # moves only with a new command
            advanced, self._advanced = self._advanced, False
            return (self.rate if advanced else none), none
        if self.command is None:
            return none, none
        if self.mode == "velocity":
            return self.rate, none
        surplus = self.command - self._model.gravity_effort(state)
        most = np.minimum(self._limits.friction, self._limits.effort)
        effort = self.command - np.clip(surplus, -most, most)
        moving = np.abs(surplus) > most
        return state.velocity, np.where(moving, self._model.forward_dynamics(state, effort), 0.0)

    def following_error(self, state: ArmState, dt: float) -> str:
        """Name of a joint that does not follow the set point, empty where all do; ``dt``: since the last state [s]."""
        if self.mode == "effort" or self.command is None:
            return ""
        dt = min(dt, 2.0 * self._period)  # the rate of a longer gap is not known
        if self.mode == "position":
            error = self.command - state.position
        else:
            self._lag = self._lag * (1.0 - min(dt / FORGOTTEN, 1.0)) + (self.rate - state.velocity) * dt
            error = self._lag
        late = np.abs(error) > self._limits.following_error
        return self._model.joint_names[int(np.argmax(late))] if late.any() else ""

    # Following a reference --------------------------------------------------------------------------------------------

    def follow(self, wanted: Array, friction: Array | None, state: ArmState, age: float = 0.0) -> Array:
        """Command (n,) nearest to a wanted one that respects every limit; ``age``: as in :meth:`brake`.

        Raises:
            InputError: no acceleration can be told for the wanted effort, it is too large.
        """
        if self.mode == "effort":
            return self._follow_effort(wanted, self._no_friction if friction is None else friction, state, age)
        dt = self._period
        start = self.command if self.command is not None else state.position
        if self.mode == "velocity":
            asked, position = (wanted - self.rate) / dt, state.position
        else:
            asked, position = (wanted - start - self.rate * dt) / dt**2, start
        if not all_finite(asked):
            raise InputError(f"joint reference {self.mode} is beyond all measure: {wanted}")
        acceleration = self._bounded(asked, position, self.rate, dt, tolerance=1e-9 + 1e-12 / dt**2)
        rate = self.rate + acceleration * dt
        limited = rate if self.mode == "velocity" else start + rate * dt
        return np.where(acceleration == asked, wanted, limited)

    def _follow_effort(self, effort: Array, friction: Array, state: ArmState, age: float) -> Array:
        taken = np.empty(self._model.n)
        doubted = believe_friction(self._limits.table, RUN_AWAY, friction, state.position, state.velocity, taken)
        wanted = self._model.forward_dynamics(state, effort - taken)
        if not all_finite(wanted):
            raise InputError(f"joint reference effort is beyond all measure: {effort}")
        if taken.any():
            # If there were no such friction, this is what it would do to the joints until the next command.
            change = (self._model.forward_dynamics(state, effort) - wanted) * self._horizon
            room = (1.0 + RUN_AWAY) * self._limits.velocity - np.sign(change) * state.velocity
            harmless = np.clip(room / np.maximum(np.abs(change), 1e-12), 0.0, 1.0)
            if (harmless < 1.0).any():
                taken, doubted = harmless * taken, True
                wanted = self._model.forward_dynamics(state, effort - taken)
        self.limited = ()
        if not is_allowed(self._limits_in_force, state.position, state.velocity, wanted, self._horizon):
            asked = self._dynamics.acceleration(state, effort - taken)
            answered, push = self._push(state, age)
            asked = asked + answered
            allowed = self._bounded(asked, state.position, state.velocity, self._horizon, tolerance=1e-9, push=push)
            if not np.array_equal(allowed, asked):
                effort = effort + self._dynamics.terms(state)[0] @ (allowed - asked)
        if doubted:
            self._report_limited(taken != friction, "friction")
        self.friction = taken
        return self._bounded_effort(self._feasible(effort, state, taken, age), self._period)

    @property
    def _limits_in_force(self) -> JointLimits:
        return self._careful if self.cautious else self._bounds

    def judge_held(self, state: ArmState, age: float) -> Array | None:
        """The effort in force, judged anew at a state that nobody has answered: a command (n,) if it has to change."""
        if self.mode != "effort" or self.command is None:
            return None
        acceleration = self._model.forward_dynamics(state, self.command - self.friction)
        if is_allowed(self._limits_in_force, state.position, state.velocity, acceleration, self._horizon):
            return None
        command = self._follow_effort(self.command, self.friction, state, age)
        return None if np.array_equal(command, self.command) else command

    def _push(self, state: ArmState, age: float) -> tuple[Array, Array]:
        """Accelerations (n,) by an elastic base: those that are made up for, and of the others what has room."""
        if not self._model.m:
            return self._no_friction, self._no_friction
        answered, rest = self._dynamics.push(state, self._period + age)
        return answered, np.clip(rest, -self._pushed, self._pushed)

    def _feasible(self, effort: Array, state: ArmState, friction: Array, age: float) -> Array:
        """Effort (n,) that all motors can give: where one cannot, the accelerations of all joints become smaller alike.

        ``bias + s (effort - bias)`` causes ``s`` times the acceleration; ``bias`` keeps the velocity, but for what
        the base does by itself. To cut one effort alone would accelerate the other joints as nobody asked for.
        """
        most, self._share = self._limits.effort, 1.0
        if (np.abs(effort) <= most).all():
            return effort
        bias = self._dynamics.effort(state, -self._push(state, age)[0]) + friction
        if not (np.abs(bias) < most).all():  # a base that pushes harder than the motors is left alone
            bias = self._dynamics.effort(state, self._no_friction) + friction
        if not (np.abs(bias) < most).all():
            return effort  # the motors cannot even keep the velocity: each gives what it can
        change = effort - bias
        room = np.where(change > 0.0, most - bias, most + bias)
        share = float((room / np.maximum(np.abs(change), 1e-300)).min())
        self._report_limited(np.abs(effort) > most, "effort")
        self._share = min(share, 1.0)
        return bias + self._share * change

    def _bounded(
        self, wanted: Array, position: Array, velocity: Array, dt: float, tolerance: float, push: Array | None = None
    ) -> Array:
        """Accelerations (n,) within the limits; ``push`` (n,): what else accelerates the joints.

        Limits of position and velocity are for the sum, that of acceleration for what is commanded.
        """
        self.limited, limits = (), self._limits_in_force
        if push is None and is_allowed(limits, position, velocity, wanted, dt):
            return wanted
        braking = None if push is None else hardest_braking(self._limits, velocity)
        lowest, highest = acceleration_bounds(limits, position, velocity, dt, braking)
        if push is not None:
            most = limits.acceleration
            held_up, held_down = lowest > -most, highest < most  # by position or velocity
            lowest = np.where(held_up, lowest - push, -most - np.maximum(push, 0.0))
            highest = np.where(held_down, highest - push, most - np.minimum(push, 0.0))
            lowest = np.where(held_up, lowest, np.minimum(lowest, highest))
            highest = np.where(held_down, highest, np.maximum(lowest, highest))
        outside = (wanted < lowest - tolerance) | (wanted > highest + tolerance)
        self._report_limited(outside, "position, velocity or acceleration")
        return np.where(outside, np.clip(wanted, lowest, highest), wanted)

    def _bounded_effort(self, effort: Array, dt: float) -> Array:
        bounded, before = np.empty(self._model.n), NOTHING if self.command is None else self.command
        if bound_effort(self._limits.table, effort, before, number("dt", dt), bounded):
            self._report_limited(bounded != effort, "effort")
        return bounded

    def _report_limited(self, beyond: NDArray[np.bool_], limit: str) -> None:
        if beyond.any():
            names = (f"{name}: {limit}" for name, b in zip(self._model.joint_names, beyond, strict=True) if b)
            self.limited = (*self.limited, *names)

    # Stopping ---------------------------------------------------------------------------------------------------------

    def begin_stop(self) -> None:
        """Brake from now on."""
        self.braking.reset()
        self._lag[:] = 0.0

    def brake(self, state: ArmState, dt: float, age: float = 0.0, *, predicted: bool = False) -> Array:
        """Command (n,) that decelerates at the limit, then holds where the joints came to rest.

        Args:
            state: measured, or predicted.
            dt: since the last command [s].
            age: of the state when its command arrives, beyond a period [s].
            predicted: whether it is predicted: what an elastic base does is not known then.
        """
        self.limited = ()
        if self.mode != "effort":
            rate = self.braking.rate(self.rate, dt)
            if self.mode == "velocity":
                return np.clip(rate, -self._limits.velocity, self._limits.velocity)
            return (self.command if self.command is not None else state.position) + rate * dt
        self.friction = self._no_friction
        none = self._no_friction
        answered, push = (none, none) if predicted else self._push(state, age)
        wanted = self.braking.acceleration(state, hardest_braking(self._limits, state.velocity), push, age)
        effort = self._dynamics.effort(state, wanted - answered)
        effort = self._feasible(effort, state, none, NEVER if predicted else age)
        if (np.abs(effort) > self._limits.effort).any() or self._share < LEAST:
            effort = self._braking_effort(wanted - answered, state)
        return self._bounded_effort(effort, dt)

    def _braking_effort(self, wanted: Array, state: ArmState) -> Array:
        """Effort (n,) where one motor can hardly bear its weight, so that to scale all alike would brake none.

        Motors that cannot give enough give what they can, the others brake: of the joints ``k`` at their limits
        ``H_kk qdd_k = tau_k - b_k - H_ko qdd_o``, and the other ones are given what they need beside that.
        """
        (inertia, bias), most = self._dynamics.terms(state), self._limits.effort
        effort, held = inertia @ wanted + bias, np.zeros(most.size, dtype=bool)
        for _ in range(most.size):
            beyond = (np.abs(effort) > most) & ~held
            if not beyond.any():
                break
            given = np.clip(effort, -most, most)
            held |= beyond
            free = ~held
            acceleration = wanted.copy()
            left = given[held] - bias[held] - inertia[np.ix_(held, free)] @ wanted[free]
            acceleration[held] = np.linalg.solve(inertia[np.ix_(held, held)], left)
            effort = np.where(held, given, inertia @ acceleration + bias)
        self.limited = ()
        self._report_limited(held, "effort")
        return effort

    def coast(self, state: ArmState, dt: float) -> Array:
        """Effort (n,) that keeps the velocity of a predicted state."""
        self.limited = ()
        return self._bounded_effort(self._dynamics.effort(state, np.zeros(self._model.n)) + self.friction, dt)

    def bear(self, state: ArmState, dt: float) -> Array:
        """Effort (n,) that bears the arm at rest."""
        self.limited = ()
        self.friction = self._no_friction
        return self._bounded_effort(self._model.gravity_effort(state), dt)
