"""CommandLaw: computes the commands of one command mode within all limits: following, braking, holding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from flexarm_core.compiled import allocate
from flexarm_core.entrance import number
from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.braking import Braking
from flexarm_core.hardware_gate.effort_step import (
    BOUNDLESS,
    FOLLOWS,
    FORBIDDEN,
    LESS_FRICTION,
    examine,
    is_still_allowed,
    trust,
    view_inputs,
)
from flexarm_core.hardware_gate.jerk import TO_POSITION, TO_VELOCITY, Memory, SmoothSetPoints
from flexarm_core.hardware_gate.joint_dynamics import JointDynamics
from flexarm_core.hardware_gate.limits import (
    JointLimits,
    acceleration_bounds,
    bound_effort,
    hardest_braking,
    is_allowed,
)
from flexarm_core.hardware_gate.observed_dynamics import ObservedDynamics
from flexarm_core.hardware_gate.softness import Softness, needed_deceleration
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, all_finite

NOTHING = np.zeros(0)
SPEED_SHARE = 0.93  # fraction of the velocity limit for efforts, before UNFORESEEN is subtracted: drives are late
UNFORESEEN = 0.5  # fraction of the acceleration limits by which the model may err until the next command
FASTER = 1.1  # factor on all velocities at which the motors must still be able to keep them
LEAST = 0.2  # smallest factor by which the decelerations of all joints in a stop are scaled
CAUTION = 0.25  # factor on the acceleration limits if commands may be late
MORE = 0.05  # fraction of the effort limits by which limited accelerations may need more effort than was asked
FORGOTTEN = 0.5  # [s] time constant with which the velocity tracking error is forgotten


class CommandLaw:
    """Computes each command from the one in force.

    Attributes:
        mode: ``effort``, ``velocity`` or ``position``.
        command: (n,) command in force, None before the first.
        friction: (n,) friction that the effort in force compensates.
        rate: (n,) rate of the set point.
        limited: joints whose command was changed, each with the limit that required it.
        braking: control law of a stop.
        observed: what efforts do, as observed.
        cautious: whether efforts may be late, so that they accelerate with CAUTION times the limits.
        share: (n,) share of its effort that each joint is given; one that is given nothing is not braked either.
    """

    def __init__(
        self, model: ArmModel, limits: JointLimits, mode: str, period: float, horizon: float, hold_frequency: float,
        soft: Softness | None = None,
    ) -> None:  # fmt: skip
        """Set up the law for an arm.

        Args:
            model: arm model.
            limits: joint limits.
            mode: ``effort``, ``velocity`` or ``position``.
            period: nominal time between two commands [s].
            horizon: time that an effort may stay in force, for which the limits are checked [s].
            hold_frequency: bandwidth of the servo that brakes and holds [rad/s].
            soft: bounds of a stop of an arm that bends; None: it does not.
        """
        self._model, self.mode, self.share = model, mode, np.ones(model.n)
        self._dynamics = JointDynamics(model)
        slowest = 0.0 if soft is None else soft.slowest
        self.observed = ObservedDynamics(self._dynamics, limits, period, slowest)
        self._period, self._horizon = number("period", period, 0.0), number("horizon", horizon, 0.0)
        if soft is not None and mode == "effort":
            limits = replace(limits, deceleration=soft.acceleration)
        self._limits = limits
        exact = mode != "effort" or horizon <= period
        unforeseen = np.minimum(UNFORESEEN * limits.acceleration * horizon / limits.velocity, SPEED_SHARE / 2)
        self._bounds = limits if exact else replace(limits, velocity=(SPEED_SHARE - unforeseen) * limits.velocity)
        self.braking = Braking(limits.acceleration, hold_frequency, period, soft)
        self._careful = replace(self._bounds, acceleration=CAUTION * limits.acceleration)
        self.cautious = False
        self._smooth: SmoothSetPoints | None = None
        jerky = mode != "effort" and bool(np.isfinite(limits.jerk).any())
        if jerky or mode == "position":
            self._smooth = SmoothSetPoints(limits, TO_VELOCITY if mode == "velocity" else TO_POSITION)
        self._ramp = self._smooth if jerky else None  # of stops
        self._no_friction = np.zeros(model.n)
        self._inputs, self._examined = allocate(view_inputs, model.n)
        self._examined.horizon[:], self._examined.period[:] = self._horizon, self._period
        self._asked = self._inputs[-5 * model.n :]  # the effort, and what else is known before the motion it causes
        self._loads = np.empty((2, model.n))
        self.reset()
        self._load_compiled()

    def _load_compiled(self) -> None:
        """Call the compiled functions once, so that the first real command is not delayed."""
        none, base, table = np.zeros(self._model.n), np.zeros(self._model.m), self._limits.table
        self._model.forward_dynamics(ArmState(0, none, none, base, base), none)
        is_allowed(self._limits, none, none, none, self._period)
        bound_effort(table, none, none, self._period, np.empty_like(none))
        loads = np.zeros((2, none.size))
        trust(table, self._inputs, none.copy(), loads)
        examine(table, table, self._inputs, loads, none.copy(), none.copy())
        is_still_allowed(table, self._inputs, none.copy())

    def reset(self, *, bears: bool = False) -> None:
        """Forget the command in force; ``bears``: but for the effort beyond the model's that has borne the arm."""
        self.command: Array | None = None
        self.observed.reset(self.observed.lasting if bears else 0.0)
        self._load, self._loaded_at = self._no_friction, -1
        self.friction = self._no_friction
        self.rate = np.zeros(self._model.n)
        self.limited: tuple[str, ...] = ()
        self._lag = np.zeros(self._model.n)
        self._advanced = False
        self._before: tuple[Array | None, Array] = (None, self.rate)  # command and rate before the newest ones
        self._goals: tuple[Array, Memory] | None = None  # acceleration and goals of set points before they were filled
        self._start: Array | None = None  # position from which the first set point moves on
        if self._smooth is not None:
            self._smooth.reset()
        self.braking.reset()

    def restart(self, state: ArmState, *, bears: bool = False) -> None:
        """Continue from a measured state, independent of earlier commands; ``bears``: see :meth:`reset`."""
        self.reset(bears=bears)
        self.rate = state.velocity.copy()
        if self._ramp is not None:
            self.rate = np.clip(self.rate, -self._limits.velocity, self._limits.velocity)

    def observe(self, state: ArmState, age: float, *, applied: bool, given_up: bool = False) -> None:
        """Process a believed state.

        Args:
            state: the state.
            age: age of the state when the command that answers it acts, beyond one period [s].
            applied: whether the command in force reached the drives until then.
            given_up: whether others may have the drives.
        """
        if self.mode == "effort":
            known = None if self.command is None or not applied else self.command - self.friction
            self.observed.observe(state, known, age, doubted=self.cautious, given_up=given_up)

    def remember(self, command: Array, dt: float) -> Array:
        """Store a command (n,) that is now in force, ``dt`` [s] after the last one, and return it."""
        rate, self._before = self.rate, (self.command, self.rate)
        if self.mode == "position":
            before = self._start if self.command is None else self.command
            if before is not None:
                self.rate = (command - before) / dt
        elif self.mode == "velocity":
            self.rate = command
        if self._ramp is not None:
            self._ramp.acceleration = (self.rate - rate) / dt
        self.command, self._advanced = command, True
        return command

    def take_back(self) -> None:
        """Discard the newest command, because another one replaces it in the same period."""
        self.command, self.rate = self._before
        if self._smooth is not None and self._goals is not None:
            self._smooth.acceleration, self._smooth.memory = self._goals

    def fill(self, state: ArmState, dt: float) -> Array:
        """Return the set point (n,) that decelerates at the limit and replaces an overdue one; goals still count."""
        smooth = self._smooth
        self._goals = None if smooth is None else (smooth.acceleration, smooth.memory)
        command = self.brake(state, dt)
        if smooth is not None and self._goals is not None:
            smooth.memory = self._goals[1]
            smooth.miss()
        return command

    def caused(self, state: ArmState) -> tuple[Array, Array]:
        """Return velocity and acceleration (n,) that the command in force should cause despite friction."""
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
        """Return the name of a joint that does not follow the set point, or empty; ``dt``: since the last state [s]."""
        if self.mode == "effort" or self.command is None:
            return ""
        dt = min(dt, 2.0 * self._period)  # the rate during a longer gap is not known
        if self.mode == "position":
            error = self.command - state.position
        else:
            self._lag = self._lag * (1.0 - min(dt / FORGOTTEN, 1.0)) + (self.rate - state.velocity) * dt
            error = self._lag
        late = np.abs(error) > self._limits.following_error
        return self._model.joint_names[int(np.argmax(late))] if late.any() else ""

    # Following a reference --------------------------------------------------------------------------------------------

    def follow(self, wanted: Array, friction: Array | None, state: ArmState, age: float = 0.0) -> Array:
        """Return the command (n,) nearest to a wanted one that respects every limit; ``age``: as in :meth:`brake`.

        Raises:
            InputError: the wanted command is so large that its acceleration is not finite.
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
        tolerance = 1e-9 + 1e-12 / dt**2
        if self._smooth is None:
            acceleration = self._bounded(asked, position, self.rate, dt, tolerance)
        else:
            self._start = start if self._ramp is not None else None
            acceleration = self._smooth.follow(wanted, asked, position, self.rate, dt)
            self.limited = ()
            if acceleration is asked:  # far from every limit
                return wanted
            what = " or acceleration" if self._ramp is None else ", acceleration or jerk"
            self._report_limited(np.abs(acceleration - asked) > tolerance, f"position, velocity{what}")
        rate = self.rate + acceleration * dt
        limited = rate if self.mode == "velocity" else start + rate * dt
        return np.where(acceleration == asked, wanted, limited)

    def _follow_effort(self, effort: Array, friction: Array, state: ArmState, age: float) -> Array:
        table, bounds, inputs = self._limits.table, self._limits_in_force.table, self._inputs
        self._ask(effort, friction, state)
        taken, bounded = np.empty((2, self._model.n))
        doubted, some = trust(table, inputs, taken, self._loads)
        found = self.observed.acceleration(state, self._loads if some else self._loads[:1])
        self._take_motion()
        result = examine(table, bounds, inputs, found, taken, bounded)
        if result == LESS_FRICTION:
            doubted = True
            found = self.observed.acceleration(state, (effort - taken)[None])
            result = examine(table, bounds, inputs, found, taken, bounded)
        if result == BOUNDLESS:
            raise InputError(f"joint reference effort is beyond all measure: {effort}")
        self.limited = ()
        self.observed.expect(found[0])
        if result == FOLLOWS and not doubted:
            self.friction = taken
            return bounded
        if result == FORBIDDEN:
            asked = found[0]
            allowed = self._allowed(asked, state)
            if not np.array_equal(allowed, asked):
                wanted, effort = effort, self.observed.effort(state, allowed) + taken
                if self._model.m and (np.abs(effort) > np.abs(wanted) + MORE * self._limits.effort).any():
                    named = self.limited
                    allowed = self._allowed(self._in_proportion(asked), state)
                    self.limited = named
                    effort = self.observed.effort(state, allowed) + taken
                self.observed.expect(allowed)
        if doubted:
            self._report_limited(taken != friction, "friction")
        self.friction = taken
        return self._bounded_effort(self._feasible(effort, state, taken), self._period)

    @property
    def _limits_in_force(self) -> JointLimits:
        return self._careful if self.cautious else self._bounds

    def _ask(self, effort: Array, friction: Array, state: ArmState) -> None:
        """Write the inputs of the compiled checks, but for what is observed of the motion."""
        before = effort if self.command is None else self.command
        np.concatenate((effort, friction, state.position, state.velocity, before), out=self._asked)

    def _take_motion(self) -> None:
        """Write what is observed of the motion; an acceleration was asked for before, so there is an observation."""
        self._examined.settling[0], self._examined.excess[:] = self.observed.settling, self.observed.excess

    def judge_held(self, state: ArmState, age: float) -> Array | None:
        """Check the effort in force at an unanswered state; return a new command (n,) only if it must change."""
        if self.mode != "effort" or self.command is None:
            return None
        acceleration = self.observed.acceleration(state, (self.command - self.friction)[None])[0]
        self._ask(self.command, self.friction, state)
        self._take_motion()
        if is_still_allowed(self._limits_in_force.table, self._inputs, acceleration):
            return None
        command = self._follow_effort(self.command, self.friction, state, age)
        return None if np.array_equal(command, self.command) else command

    def _in_proportion(self, asked: Array) -> Array:
        """Return accelerations (n,) that respect their limits and have the direction of those asked.

        Over an elastic base one joint that is limited alone changes the direction of the motion. What was asked may
        spare the base; the rest of it may push the base, with more effort than was asked.
        """
        share = float((self._limits.acceleration / np.maximum(np.abs(asked), 1e-300)).min())
        return min(share, 1.0) * asked

    def _allowed(self, asked: Array, state: ArmState) -> Array:
        """Return the accelerations (n,) nearest to those asked that respect the limits of the motion.

        A command is only reduced where that makes the joint slower. Braking may be as hard as a servo with the settling
        time of the observed dynamics makes it, the less so the harder the joint is measured to slow already; a payload
        looks like braking, but slows nothing. Beyond ``|v|`` over that time it would throw a joint back. A joint that
        became faster than its acceleration limit allows is braked by the same servo, and position limits are approached
        as slowly as it acts.
        """
        limits, v, settling = self._limits_in_force, state.velocity, self.observed.settling
        lowest, highest = acceleration_bounds(
            limits, state.position, v, self._horizon, hardest_braking(self._limits, v), settling
        )
        excess = self.observed.excess
        servo = np.abs(v)
        if not self._model.m:  # over an elastic base, joints also slow as the base swings
            too_fast = np.abs(excess) + np.maximum(servo - limits.velocity, 0.0)
            slows = np.clip(-np.sign(v) * self.observed.mean / limits.acceleration, 0.0, 1.0)
            servo = np.minimum(servo, np.maximum(too_fast, (1.0 - slows) * servo))
        hardest = np.minimum(limits.acceleration + servo / settling, np.abs(v) / settling)
        highest = np.minimum(highest, (limits.velocity - v - np.maximum(excess, 0.0)) / settling)
        lowest = np.maximum(lowest, (-limits.velocity - v - np.minimum(excess, 0.0)) / settling)
        highest = np.where(v < 0.0, np.maximum(highest, hardest), np.maximum(highest, np.minimum(lowest, 0.0)))
        lowest = np.where(v > 0.0, np.minimum(lowest, -hardest), np.minimum(lowest, np.maximum(highest, 0.0)))
        outside = (asked < lowest - 1e-9) | (asked > highest + 1e-9)
        self._report_limited(outside, "position, velocity or acceleration")
        return np.where(outside, np.clip(asked, lowest, highest), asked)

    def _feasible(
        self, effort: Array, state: ArmState, friction: Array, *, braking: bool = False, told: bool = False
    ) -> Array:  # fmt: skip
        """Return an effort (n,) within all effort limits; if a motor saturates, scale the accelerations of all joints.

        ``bias + s (effort - bias)`` causes ``s`` times the acceleration; ``bias`` is the effort at zero acceleration.
        Limiting only one effort would cause unwanted accelerations of the other joints. If a motor cannot even keep the
        velocity of its joint, because of gravity or because the arm moves so fast, or could not if it moved FASTER,
        every joint brakes, as far as its motor can; so it does in a stop that scaling would leave less than LEAST of
        its decelerations. ``told``: by the told dynamics, not the observed ones.
        """
        most = self._limits.effort
        if (np.abs(effort) <= most).all():
            return effort
        self.observed.expect(None)
        inertia, model_bias = self._dynamics.terms(state)
        still = np.zeros(most.size)
        bias = (model_bias + self._load if told else self.observed.effort(state, still)) + friction
        faster = bias
        if not braking:
            faster = bias + (FASTER**2 - 1.0) * (model_bias - self._model.gravity_effort(state))
        overloaded = not ((np.abs(bias) < most) & (np.abs(faster) < most)).all()
        change = effort - bias
        room = np.where(change > 0.0, most - bias, most + bias)
        share = float((room / np.maximum(np.abs(change), 1e-300)).min())
        if overloaded and not braking:
            hardest = hardest_braking(self._limits, state.velocity)
            slower = np.clip(-state.velocity / self._horizon, -hardest, hardest)
            effort = self.observed.effort(state, slower) + friction
        if overloaded or (braking and share < LEAST):
            return self._saturated(effort, bias, inertia if told else self.observed.inertia(state))
        self._report_limited(np.abs(effort) > most, "effort")
        return bias + min(share, 1.0) * change

    def _saturated(self, effort: Array, bias: Array, inertia: Array) -> Array:
        """Return an effort (n,) within its limits if a motor can hardly bear the arm: scaling would brake no joint.

        The joints ``k`` that saturate give their limits, and the others ``o`` keep the accelerations of ``effort``:
        ``H_kk qdd_k = tau_k - b_k - H_ko qdd_o``; the others get the effort that they need with this motion.
        """
        most = self._limits.effort
        wanted = np.linalg.solve(inertia, effort - bias)
        held = np.zeros(most.size, dtype=bool)
        for _ in range(most.size):
            beyond = np.where(held, 0.0, np.abs(effort) / most)
            if not beyond.max() > 1.0:
                break
            held[np.argmax(beyond)] = True  # the others need less, or more, once it gives less
            given = np.clip(effort, -most, most)
            free = ~held
            acceleration = wanted.copy()
            left = given[held] - bias[held] - inertia[np.ix_(held, free)] @ wanted[free]
            acceleration[held] = np.linalg.solve(inertia[np.ix_(held, held)], left)
            effort = np.where(held, given, inertia @ acceleration + bias)
        self._report_limited(held, "effort")
        return effort

    def _bounded(self, wanted: Array, position: Array, velocity: Array, dt: float, tolerance: float) -> Array:
        """Return accelerations (n,) of set points within the limits."""
        self.limited, limits = (), self._limits_in_force
        if is_allowed(limits, position, velocity, wanted, dt):
            return wanted
        lowest, highest = acceleration_bounds(limits, position, velocity, dt)
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

    def brake(
        self, state: ArmState, dt: float, age: float = 0.0, *, predicted: bool = False, late: bool = False
    ) -> Array:  # fmt: skip
        """Return the command (n,) that decelerates at the limit and then holds the joints at their positions of rest.

        Args:
            state: measured or predicted state.
            dt: time since the last command [s].
            age: age of the state when its command arrives, beyond one period [s].
            predicted: whether the state is predicted: the motion of an elastic base is unknown then.
            late: whether what commands do is not known, as when they act too late: the model and the lasting load
                decide.
        """
        self.limited = ()
        if self.mode != "effort":
            start = state.position if self.command is None or self.mode == "velocity" else self.command
            needed = self._needed(replace(state, velocity=self.rate))
            if self._smooth is not None:
                self._smooth.leave()
            if self._ramp is None:
                rate = self.braking.rate(self.rate, dt, needed)
            else:
                self._start = start
                braking = self.braking.deceleration(self._limits.acceleration, needed, dt)
                rate = self._ramp.stop(start, self.rate, braking, dt)
            if self.mode == "velocity":
                return np.clip(rate, -self._limits.velocity, self._limits.velocity)
            return start + rate * dt
        self.friction = self._no_friction
        hardest = hardest_braking(self._limits, state.velocity)
        most = self.braking.deceleration(hardest, hardest if predicted else self._needed(state), dt)
        wanted = np.ceil(self.share) * self.braking.acceleration(state, most, age)
        if predicted or late or self.braking.bends:
            if self.braking.bends:  # so slow a servo does not let an elastic base give way
                blocks = self._dynamics.blocks(state)
                effort = blocks.H_m @ wanted + blocks.c_m
            else:
                effort = self._dynamics.effort(state, wanted)
            effort = effort + (self._load if predicted else self.load(state))
            if not (predicted or late):
                self.observed.expect(wanted)
            return self._bounded_effort(self._feasible(effort, state, self._no_friction, braking=True, told=True), dt)
        wanted = wanted - self.observed.excess / self.observed.settling
        effort = self.observed.effort(state, wanted)
        self.observed.expect(wanted)
        return self._bounded_effort(self._feasible(effort, state, self._no_friction, braking=True), dt)

    def load(self, measured: ArmState) -> Array:
        """Return the effort (n,), beyond the model's and without friction, that has supported the arm for a long time.

        Predictions without measurements use it, because the newest measurements may be the wrong ones.
        """
        if measured.stamp != self._loaded_at:
            self._loaded_at, load = measured.stamp, self.observed.lasting
            along = load * np.sign(measured.velocity)
            self._load = load - np.sign(measured.velocity) * np.clip(along, 0.0, self._limits.friction)
        return self._load

    def _needed(self, state: ArmState) -> Array:
        limits = self._limits
        most = hardest_braking(limits, state.velocity)
        return needed_deceleration(state, limits.lower, limits.upper, limits.velocity, most)

    def coast(self, state: ArmState, dt: float) -> Array:
        """Return the effort (n,) that keeps the velocity of a predicted state."""
        self.limited = ()
        effort = self._dynamics.effort(state, np.zeros(self._model.n)) + self.friction + self._load
        return self._bounded_effort(effort, dt)

    def bear(self, state: ArmState, dt: float, *, told: bool = False) -> Array:
        """Return the effort (n,) that compensates gravity with the arm at rest; ``told``: without the lasting load."""
        self.limited = ()
        self.friction = self._no_friction
        return self._bounded_effort(self._model.gravity_effort(state) + (0.0 if told else self._load), dt)
