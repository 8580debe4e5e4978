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
    is_allowed,
)
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, all_finite

NOTHING = np.zeros(0)
RUN_AWAY = 0.05  # share by which a joint is too fast for its friction to be compensated
SPEED_SHARE = 0.93  # of the velocity limit that efforts lead to, less what is UNFORESEEN: the drives are late
UNFORESEEN = 0.3  # share of the acceleration limits by which the model may err until the next command
IN_TIME = 0.003  # [s] age up to which efforts may make up for all that an elastic base does
PUSHED = 2.5  # multiple of the acceleration limits of a base's push that efforts make up for
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
        self._dynamics, self._pushed = JointDynamics(model), PUSHED * limits.acceleration
        self._period, self._horizon = number("period", period, 0.0), number("horizon", horizon, 0.0)
        exact = mode != "effort" or horizon <= period
        unforeseen = np.minimum(UNFORESEEN * limits.acceleration * horizon / limits.velocity, SPEED_SHARE / 2)
        self._bounds = limits if exact else replace(limits, velocity=(SPEED_SHARE - unforeseen) * limits.velocity)
        self.braking = Braking(limits.acceleration, hold_frequency, period)
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
        if not is_allowed(self._bounds, state.position, state.velocity, wanted, self._horizon):
            inertia = None
            if not self._may_answer_base(age):
                wanted, inertia = self._dynamics.pushed(state, effort - taken, self._pushed)
            allowed = self._bounded(wanted, state.position, state.velocity, self._horizon, tolerance=1e-9)
            if inertia is not None:
                effort = effort + inertia @ (allowed - wanted)
            elif not np.array_equal(allowed, wanted):
                effort = self._model.inverse_dynamics(self._model.blocks(state), state, allowed) + taken
        if doubted:
            self._report_limited(taken != friction, "friction")
        self.friction = taken
        return self._bounded_effort(self._feasible(effort, state, taken, self._may_answer_base(age)), self._period)

    def judge_held(self, state: ArmState, age: float) -> Array | None:
        """The effort in force, judged anew at a state that nobody has answered: a command (n,) if it has to change."""
        if self.mode != "effort" or self.command is None:
            return None
        acceleration = self._model.forward_dynamics(state, self.command - self.friction)
        if is_allowed(self._bounds, state.position, state.velocity, acceleration, self._horizon):
            return None
        command = self._follow_effort(self.command, self.friction, state, age)
        return None if np.array_equal(command, self.command) else command

    def _may_answer_base(self, age: float) -> bool:
        """Whether what makes up for all that an elastic base does comes in time."""
        return not self._model.m or age <= max(IN_TIME, 2.0 * self._period)

    def _feasible(self, effort: Array, state: ArmState, friction: Array, in_time: bool) -> Array:
        """Effort (n,) that all motors can give: where one cannot, the accelerations of all joints become smaller alike.

        ``bias + s (effort - bias)`` causes ``s`` times the acceleration, where ``bias`` keeps the velocity. To cut one
        effort alone would accelerate the other joints as nobody asked for.
        """
        most = self._limits.effort
        if (np.abs(effort) <= most).all():
            return effort
        bias = np.full(self._model.n, np.inf)
        if in_time:
            bias = self._model.inverse_dynamics(self._model.blocks(state), state, self._no_friction) + friction
        if self._model.m and not (np.abs(bias) < most).all():  # what the base does by itself is left out
            bias = self._dynamics.effort(state, self._no_friction) + friction
        if not (np.abs(bias) < most).all():
            return effort  # the motors cannot even keep the velocity: each gives what it can
        change = effort - bias
        room = np.where(change > 0.0, most - bias, most + bias)
        share = float((room / np.maximum(np.abs(change), 1e-300)).min())
        self._report_limited(np.abs(effort) > most, "effort")
        return bias + min(share, 1.0) * change

    def _bounded(self, wanted: Array, position: Array, velocity: Array, dt: float, tolerance: float) -> Array:
        self.limited = ()
        if is_allowed(self._bounds, position, velocity, wanted, dt):
            return wanted
        lowest, highest = acceleration_bounds(self._bounds, position, velocity, dt)
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
        wanted = self.braking.acceleration(state, age)
        in_time = self._may_answer_base(age) and not predicted
        if in_time:
            effort = self._model.inverse_dynamics(self._model.blocks(state), state, wanted)
        else:
            effort = self._dynamics.effort(state, wanted)
        return self._bounded_effort(self._feasible(effort, state, self.friction, in_time), dt)

    def coast(self, state: ArmState, dt: float) -> Array:
        """Effort (n,) that keeps the velocity of a predicted state."""
        self.limited = ()
        return self._bounded_effort(self._dynamics.effort(state, np.zeros(self._model.n)) + self.friction, dt)

    def bear(self, state: ArmState, dt: float) -> Array:
        """Effort (n,) that bears the arm at rest."""
        self.limited = ()
        self.friction = self._no_friction
        return self._bounded_effort(self._model.gravity_effort(state), dt)
