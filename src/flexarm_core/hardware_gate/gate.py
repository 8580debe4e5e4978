r"""HardwareGate: keeps the commands to the hardware within limits, and stops safely when the input is unusable.

State machine::

    WAITING --good reference--> RUNNING --no usable input--> STOPPING --good input again, recovery_samples--> RUNNING
       \------no reference within reference_timeout--------->/

    RUNNING, STOPPING --the supervisor trips--> TRIPPED --acknowledge--> STOPPING

In effort mode the arm model converts a command to the acceleration that it causes. This acceleration is limited, and
the effort is recomputed only if the acceleration had to change. The joint friction effort ``f`` given in the reference
does not act on the links: ``qdd = FD(q, qd, effort - f)`` and ``effort = ID(q, qd, qdd) + f``.

A stop decelerates every joint at its limit and then holds it. The gate only acts on believable states and answers each
state with one command. Without a believable state, effort mode continues with the state that the model predicts from
the last believable one: first it keeps the current velocity, because the states may only be late, then it brakes. The
status requests a fallback as soon as the prediction is unreliable, or after ``blind_time``; from then on the effort
only compensates gravity. During a stop ``f`` is not compensated, so friction only adds to the deceleration.

Measured positions of endless joints are made continuous, and references are taken in the turn that is nearest to the
measured one. A position command is in the turn in which the encoder reported the newest believed state.
A stop that only the lateness of the gate's own process explains is no trip: it ends by itself once the arm has come to
rest and the machine is punctual (:class:`~flexarm_core.hardware_gate.lateness.Lateness`).

All timeouts use the gate's own monotonic clock. Stamps only match references to states. If the stamps go back or jump
ahead, the gate stops and starts a new time base.

If no drive receives the commands, or the drives are to switch to another command mode, :meth:`HardwareGate.interrupt`
begins a stop that good input does not end; :meth:`HardwareGate.resume` continues from the current state of the arm.

In lockstep every state is answered by exactly one command, computed from the reference that carries the same stamp as
the state, and only stamps count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.arrivals import Arrivals
from flexarm_core.hardware_gate.belief import WAITS, believe
from flexarm_core.hardware_gate.command_law import CommandLaw
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.lateness import AT_REST, RECENT, Lateness
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.prediction import Prediction
from flexarm_core.hardware_gate.probation import Probation
from flexarm_core.hardware_gate.response import Response
from flexarm_core.hardware_gate.softness import softness
from flexarm_core.hardware_gate.speed_watch import CREEPING, SpeedWatch
from flexarm_core.hardware_gate.status import NOT_LED, STOPPED, GateState, GateStatus
from flexarm_core.hardware_gate.supervisor import Supervisor
from flexarm_core.hardware_gate.velocity_check import VelocityCheck
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.turns import TurnCount
from flexarm_core.types import ArmState, Array, JointReference, all_finite

FIELDS = ("position", "velocity", "acceleration", "effort", "friction")  # fields of a joint reference
RELIEVED = 0.5  # fraction of the maximum age below which a stop caused by old states may end
HOPELESS = 2.0  # multiple of the maximum age at which the fallback is requested at once; below it, after blind_time
CLOCK_HINT = "; is use_sim_time set as it should be?"


class HardwareGate:
    """Turns joint references into commands that respect every limit, or into a controlled stop."""

    def __init__(
        self,
        model: ArmModel,
        limits: JointLimits,
        config: HardwareGateConfig,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Bind the gate to an arm.

        Args:
            model: arm model.
            limits: joint limits.
            config: settings.
            clock: time for all timeouts [s]; must be monotonic.
        """
        self.model, self.limits, self.config, self._clock = model, limits, config, clock
        self._patience = config.patience(limits)
        own = np.where(np.isfinite(model.velocity_limit), model.velocity_limit, limits.velocity)
        believed = replace(limits, velocity=np.maximum(limits.velocity, own))
        self._belief = believe(model, believed, lockstep=config.lockstep)
        self._velocity = VelocityCheck(believed)
        self._probation = Probation(limits.velocity)
        self._supervisor = Supervisor(model, limits, config.supervisor)
        self._bearable = config.bearable_age(elastic_base=model.m > 0)
        self._arrivals = Arrivals(self._patience, config.period)
        self._lateness = Lateness(limits.velocity, self._bearable, config.blind_time)
        self._prediction = Prediction(model, limits.velocity)
        self._response = Response(
            model, limits.effort, limits.velocity, self._bearable, base_measured=config.base_measured
        )
        self._soft = softness(model, limits.velocity, limits.acceleration, config.period)
        self._speed = SpeedWatch(limits, model.joint_names, self._soft)
        self._make_law(config.command_mode)
        self._measured: ArmState | None = None
        self._count = TurnCount(model.turns, model.velocity_limit)
        self._turned: Array | None = None  # whole turns by which the encoders report another position than _measured
        self.reset()

    def _now(self) -> float:
        """Return the time for all timeouts [s]; in lockstep this is the stamp of the measured state."""
        if not self.config.lockstep:
            return self._clock()
        return 0.0 if self._measured is None else self._measured.stamp * 1e-9

    def _make_law(self, mode: str) -> None:
        config = self.config
        self._law = CommandLaw(
            self.model, self.limits, mode, config.period, config.horizon(), config.hold_frequency, self._soft
        )

    def reset(self) -> None:
        """Forget everything except the settings."""
        self._state = GateState.WAITING
        self._reason = ""
        self._interrupted = self._silent = self._ending = False
        self._contested = ""  # why it is not known who leads the arm
        self._stops = self._trips = 0
        self._good = 0
        self._fallback = False
        self._belief.reset()
        self._probation.end()
        self._distrusted = ""  # why a sensor is not trusted any more
        self._forget_time()
        self._commanded_at = self._led_at = self._now()
        self._count.reset()
        self._turned = None
        self._law.reset()
        self._supervisor.reset()
        self._lateness.reset()
        self._begin_braking()

    def _forget_time(self) -> None:
        """Start a new time base, without a measurement."""
        self._measured = None
        self._arrived_at = self._now()  # arrival time of the newest believed state
        self._blind = False
        self._offered: ArmState | None = None  # newest state since a sensor is distrusted, if it agrees with the others
        self._offered_at = 0.0
        self._prediction.reset()
        self._begin_time()

    def _restart_time(self, stamp: int) -> ArmState | None:
        """Start a new time base at a stamp [ns]; return the newest measurement with its stamp in this time base.

        The arm does not jump with the clock: it is braked from what was measured until new states are confirmed.
        """
        before = self._measured
        self._belief.unsettle()
        if before is None or self.config.lockstep:
            self._forget_time()
            return None
        since = max(round((self._now() - self._arrived_at) * 1e9), 1)
        self._begin_time()
        self._measured = replace(before, stamp=stamp - since)
        return self._measured

    def _begin_time(self) -> None:
        self._rebase = False
        self._looked_ahead = False  # whether it was checked that the motion can be predicted while states are missing
        self._stale = False  # the newest state was too old on arrival
        self._late_for = 0.0  # [s] for which states or commands have been too late
        self._late = False  # they were too late, and their age has not dropped below RELIEVED yet
        self._first_stamp: int | None = None
        self._reference_stamp: int | None = None
        self._answered: int | None = None
        self._early: JointReference | None = None
        self._early_at = 0.0  # arrival time of _early
        self._sound: JointReference | None = None  # newest reference that was found usable
        self._velocity.reset()
        self._arrivals.reset()
        self._response.reset()
        self._speed.reset()

    @property
    def status(self) -> GateStatus:
        """Status of the gate for diagnostics."""
        return GateStatus(
            self._state, self._reason, self._law.limited, self._stops, self._trips, self._blind, self._fallback
        )

    @property
    def at_rest(self) -> bool:
        """Whether the arm is known to be at rest, or nothing more can be done to stop it: commands may end."""
        if self._measured is None or self._silent or self._law.command is None:
            return True
        if self._law.mode != "effort":
            return not self._law.rate.any()
        if self._blind:
            return self._now() - self._arrived_at > self.config.blind_time
        return bool((np.abs(self._measured.velocity) <= AT_REST * self.limits.velocity).all())

    @property
    def _idle(self) -> bool:
        """Whether no command moves the arm: the set points rest, or (effort mode) the fallback was requested."""
        return self._fallback if self._law.mode == "effort" else not self._law.rate.any()

    def is_overtaken(self, stamp: int) -> bool:
        """Return whether a state with this stamp [ns] is repeated or out of order; False if new, or after a clock step.

        Call it only once for each arriving state.
        """
        if self._measured is None or stamp > self._measured.stamp:
            return False
        back = (self._measured.stamp - stamp) * 1e-9
        since = self._now() - self._arrived_at
        return not self._arrivals.is_step_back(stamp, back, since, self.config.reference_timeout)

    def check_age(self, age: float | None) -> None:
        """Raise InputError if the age shows that a state is too old or is stamped in the future."""
        if age is None:
            return
        if age > self.config.blind_time:
            raise InputError(f"joint state is {age:.3f} s old when it arrives{CLOCK_HINT if age > 3600.0 else ''}")
        if age < -self.config.reference_timeout:
            raise InputError(f"joint state is stamped {-age:.3f} s ahead of the clock{CLOCK_HINT}")

    # Input ------------------------------------------------------------------------------------------------------------

    def on_state(self, state: ArmState, age: float | None = None) -> Array | None:
        """Process a measured state; return the command (n,) that answers it, or None to wait for a reference.

        Args:
            state: received state.
            age: age of the state on arrival, by the clock that set its stamp [s]; None: unknown.

        Raises:
            InputError: the state is not usable; call :meth:`on_unusable_state` with the message.
        """
        self.model.check_state(state)
        state = self._count.state(state)
        self.check_age(age)
        if self.is_overtaken(state.stamp):
            return None  # the newer state has been answered
        before = self._measured
        if before is not None and state.stamp <= before.stamp:
            if self._state is not GateState.WAITING:
                back = (before.stamp - state.stamp) * 1e-9
                late = "" if back > self.config.reference_timeout else ", or joint states are late and out of order"
                self._stop(f"time went back by {back:.3f} s{late}")
            before = self._restart_time(state.stamp)
        gap = 0.0 if before is None else (state.stamp - before.stamp) * 1e-9
        if not self._interrupted:
            self._look_for_gap(gap)
        if not self._believes(state, before, gap):
            return None
        self._arrivals.came(age)
        self._stale = self._law.mode == "effort" and (age or 0.0) >= self._bearable
        self._see(state)
        given = self._fallback and self.config.fallback  # others have the drives
        self._law.observe(state, self._age, applied=not (self._silent or given))
        if self._lateness.suspended:
            self._recover(state, gap)
        if before is None and self._state in STOPPED and self._law.command is None:
            self._law.restart(state)  # resumed without a measurement
        if self._first_stamp is None:
            self._first_stamp = state.stamp
        unborne = self._arrivals.lost(gap)
        if self._interrupted:
            brakes = self._state in STOPPED and not self._silent
            return self._answer(state.stamp, self._brake(state)) if brakes else None
        self._look(state, gap, unborne)
        command = None if self._fallback else self._law.command  # in fallback another controller has the drives
        if self._law.mode == "effort" and command is not None and not self.config.lockstep:
            self._response.on_state(state, command - self._law.friction)
            self._law.cautious = self._response.suspected > 0.0 or self._probation.active
        early, self._early = self._early, None
        if early is not None and early.stamp > state.stamp:
            self._early = early
        elif early is not None and (state.stamp - early.stamp) * 1e-9 <= self.config.reference_timeout:
            return self._use(early, state, self._early_at)
        if self._state in STOPPED:
            return self._answer(state.stamp, self._brake(state))
        if self._state is GateState.RUNNING and not self.config.lockstep:
            held = self._law.judge_held(state, self._age)  # no answer to the state: its reference may still arrive
            return None if held is None else self._remember(held, self.config.period)
        return None

    def on_unusable_state(self, stamp: int, reason: str) -> Array | None:
        """Process an unusable state: stop without measurements, and return the command that answers it."""
        self._stop(reason)
        if self._measured is None or self._silent:
            return None  # nothing has been commanded and no state is known: the drives keep their last input
        self._blind = True
        if self.config.lockstep and stamp == self._answered:
            return None
        self._answered = stamp
        return self._unseen(brakes=True)

    def was_late(self, late: float) -> None:
        """Take note that the gate's process has been late by ``late`` [s] until now: it waited for a processor."""
        if not self.config.lockstep:
            self._lateness.note(self._now(), late)

    def on_tick(self) -> Array | None:
        """Check the timeouts, at least every ``patience``; return a command (n,) if input is missing."""
        if self._measured is None or self._silent or self.config.lockstep:
            return None
        if self._state is GateState.WAITING:
            return None  # nothing has been commanded yet
        now = self._now()
        silence, unled = now - self._arrived_at, now - self._led_at
        if silence > self.config.state_timeout:
            self._stop(f"no joint state for {silence:.3f} s", timing=True)
            self._blind = True
        elif self._state is GateState.RUNNING and unled > self.config.reference_timeout:
            self._stop(reason := f"no joint reference for {unled:.3f} s", timing=True)
            command = self.on_unusable_reference(reason)
            if command is not None or silence <= self._patience:
                return command
        elif silence <= self._patience or self._law.mode != "effort":
            return None
        return self._unseen(brakes=self._state is not GateState.RUNNING)

    def on_reference(self, reference: JointReference) -> Array | None:
        """Process a reference; return the command (n,), or None if this reference requires none.

        Raises:
            InputError: the reference is not usable; call :meth:`on_unusable_reference` with the message.
        """
        if not self._interrupted:  # otherwise it may be for the command mode before or after
            self._check(reference)
        if self._measured is None or reference.stamp > self._measured.stamp:
            ahead = 0.0 if self._measured is None else (reference.stamp - self._measured.stamp) * 1e-9
            if ahead > self.config.reference_timeout:
                raise InputError(f"joint reference is stamped {ahead:.3f} s ahead of the newest joint state")
            self._early = reference  # topics are not ordered among each other: its state is still on its way
            self._early_at = self._now()
            return None
        return self._use(reference, self._measured)

    def on_unusable_reference(self, reason: str) -> Array | None:
        """Process an unusable reference: brake, and return the command that answers the newest state."""
        self._stop(reason)
        state = self._measured
        if state is None or self._blind or self._answered == state.stamp:
            return None  # the next state or on_tick causes the next command
        return self._answer(state.stamp, self._brake(state))

    def on_base(self, deflection: Array, rate: Array) -> None:
        """Check a base (m,) whose motion the effort limits ignore; the gate trips if it is beyond its limits."""
        if self._measured is not None and self._state is not GateState.WAITING:
            beyond = self._supervisor.on_base(deflection, rate)
            if beyond:
                self._trip(beyond)

    # External control -------------------------------------------------------------------------------------------------

    def interrupt(self, reason: str, *, silent: bool) -> None:
        """Begin a stop that good input does not end; a gate in WAITING, before its first reference, stays in WAITING.

        Args:
            reason: text for the status.
            silent: True: send no commands meanwhile, as no drive accepts them; False: brake and hold the arm.
        """
        if self._state is not GateState.WAITING:
            self._stop(reason)
        if self._state is not GateState.TRIPPED:
            self._reason = reason
        self._interrupted, self._silent = True, silent

    def resume(self, command_mode: str = "") -> Array | None:
        """End an interruption; the stop itself ends as usual, after enough good references.

        Earlier commands are forgotten: set points continue from the measured position and velocity, efforts from the
        effort that brakes the arm and compensates gravity. So no command jumps, even if the arm was moved meanwhile.

        Args:
            command_mode: mode of the commands from now on; empty: unchanged.

        Returns:
            The command (n,) that brakes and holds the arm, or None if there is no recent measurement.

        Raises:
            ConfigError: the mode is unknown.
        """
        self.config = replace(self.config, command_mode=command_mode or self.config.command_mode)
        self._make_law(self.config.command_mode)
        self._interrupted = self._silent = False
        self._response.reset()
        self._early = self._sound = self._answered = self._first_stamp = None
        self._good = 0
        self._led_at = self._now()
        if self._now() - self._arrived_at > self.config.state_timeout or not self._belief.sure:
            self._forget_time()  # the arm may have been moved since
        if self._measured is None:
            return None  # states will be answered once they agree with each other
        self._law.restart(self._measured)
        return self._remember(self._brake(self._measured), self.config.period)

    def contest(self, reason: str) -> None:
        """Stop because it is not known who leads the arm; the stop lasts until this is called with an empty reason."""
        self._contested = reason
        if reason:
            self._stop(reason)

    def give_up(self, reason: str) -> None:
        """Trip and request the fallback, because the drives do not get the gate's commands alone."""
        self._trip(reason)
        self._fallback = True

    def end(self, reason: str) -> None:
        """Brake and hold the arm, regardless of references, until :meth:`reset`; see :attr:`at_rest`."""
        if self._state is not GateState.WAITING or self._law.command is not None:
            self._stop(reason)
        self._ending = True

    def acknowledge(self) -> None:
        """Acknowledge a trip: good references can end the stop again.

        Raises:
            InputError: the fallback has the drives, and no usable state is known from which control could continue.
        """
        silence = self._now() - self._arrived_at
        if self._distrusted:
            self._trust_again()
        elif self._fallback and silence > self.config.state_timeout:
            raise InputError(f"no usable joint state for {silence:.3f} s: the drives cannot be taken over")
        self._supervisor.reset()
        self._response.acknowledge(self._bearable if self._fallback and self._law.mode == "effort" else 0.0)
        self._lateness.reset()
        if self._fallback:
            self._law.observed.reset()  # others had the drives
        self._fallback = False
        if self._state is GateState.TRIPPED:
            self._state, self._reason, self._good = GateState.STOPPING, "reset, waiting for good references", 0
            self._begin_braking()

    def rest_command(self) -> Array | None:
        """Return the last command before control ends: gravity effort at the last posture, zero velocity, or None."""
        if self._measured is None or self._silent or self._law.mode == "position":
            return None
        if self._law.mode == "velocity":
            return np.zeros(self.model.n)
        return self.model.gravity_effort(self._prediction.rest() or self._measured) + self._law.load(self._measured)

    # Judging ----------------------------------------------------------------------------------------------------------

    def _see(self, state: ArmState) -> None:
        """Store a believed state and discard the prediction."""
        self._measured, self._turned = state, self._count.reported
        self._arrived_at = self._now()
        if self._blind:
            self._blind = False
            self._law.braking.see(state.position)
        self._prediction.reset()
        self._looked_ahead = False

    def _believes(self, state: ArmState, before: ArmState | None, gap: float) -> bool:
        """Return whether a state is believed; False: it is not, or not yet, while nothing is commanded.

        States that contradict what was believed, or themselves, trip the gate: somebody must look at a sensor. Set
        points then begin anew where the joints say that they are, as the drives use the same sensors.

        Raises:
            InputError: the state is not believable.
        """
        if self._distrusted:
            self._consider(state)
            raise InputError(self._distrusted)
        effort, uncommanded = self._law.mode == "effort", self._law.command is None
        known, free = self._belief.sure, self._silent or uncommanded
        doubt = self._belief.doubt(
            state, before, gap, self._law.caused, idle=self._idle, coasts=effort, free=free
        )  # fmt: skip
        if not doubt and known and before is not None:
            lies = self._lies(before, state, gap)
            if lies and not self._silent:
                self._measured = replace(before, velocity=self._velocity.velocity(state))  # the motion to brake
                self._distrust(lies)
                raise InputError(lies)
            return True
        self._velocity.reset()
        if effort and known and before is not None and (hidden := self._belief.hidden) is not None:
            self._measured = replace(before, velocity=hidden)
        if self._belief.contradiction and not free:
            self._distrust(self._belief.contradiction)
        if doubt and not (self._silent or (doubt is WAITS and uncommanded)):
            raise InputError(doubt)
        return not doubt

    def _distrust(self, reason: str) -> None:
        """Trip because of a sensor, and believe no state until :meth:`acknowledge`; the fallback gets the efforts."""
        self._distrusted, self._offered = reason, None
        self._belief.unsettle()
        self._velocity.reset()
        self._trip(reason)
        self._fallback = self._fallback or self._law.mode == "effort"

    def _consider(self, state: ArmState) -> None:
        """Look whether states agree with each other again, so that somebody may acknowledge them."""
        before = self._offered
        gap = 0.0 if before is None else (state.stamp - before.stamp) * 1e-9
        doubt = self._belief.doubt(state, before, gap, self._law.caused, idle=True, free=True)
        if doubt or (before is not None and self._velocity.on_state(before, state, gap) >= 0):
            self._offered = None
            self._velocity.reset()
        else:
            self._offered, self._offered_at = state, self._now()

    def _trust_again(self) -> None:
        """Believe the newest states again, as somebody has looked at the sensor.

        Raises:
            InputError: they do not agree with each other, or with the position that is commanded.
        """
        law, state = self._law, self._offered
        if state is None or self._now() - self._offered_at > self.config.state_timeout:
            raise InputError(f"joint states do not agree with each other: {self._distrusted}")
        if law.mode == "position" and law.command is not None:
            off = np.abs(law.command - state.position) > self.limits.following_error
            if off.any():
                name = self.model.joint_names[int(np.argmax(off))]
                raise InputError(f"{name} is not where it is commanded to be; activate the gate again to begin there")
        self._see(state)
        self._distrusted, self._offered = "", None
        law.restart(state)
        self._probation.begin()

    def _lies(self, before: ArmState, state: ArmState, dt: float) -> str:
        """Return how a joint contradicts itself or its command over many states, empty if none does."""
        names = self.model.joint_names
        joint = self._velocity.on_state(before, state, dt)
        if joint >= 0:
            return f"position and velocity of {names[joint]} contradict each other"
        if self._probation.active and self._law.mode == "effort" and self._law.command is not None:
            joint = self._probation.on_motion(self._law.caused(state)[1], state.velocity - before.velocity, dt)
            if joint >= 0:
                return f"{names[joint]} does not move as commanded since the last reset"
        return ""

    def _look_for_gap(self, gap: float) -> None:
        """Stop if no state came for too long, or the stamps jumped ahead."""
        if gap > self.config.state_timeout:
            jumped = not self.config.lockstep and self._now() - self._arrived_at < 0.5 * gap
            lost = f"time jumped ahead by {gap:.3f} s" if jumped else f"no joint state for {gap:.3f} s"
            self._stop(lost, timing=not jumped)

    def _look(self, state: ArmState, gap: float, unborne: str) -> None:
        """Stop or trip if a state gives a reason to."""
        led = self._reference_stamp is not None
        newest = self._reference_stamp if led else self._first_stamp
        assert newest is not None
        age = (state.stamp - newest) * 1e-9
        if age > self.config.reference_timeout:
            self._stop(f"no joint reference for {age:.3f} s" if led else NOT_LED, counted=led, timing=True)
        if unborne and self._law.mode == "effort":
            self._stop(unborne, timing=True)
        if self._law.mode == "effort" and self._age >= self._bearable:
            self._late_for += gap
            self._stop_late(state)
        else:
            self._late_for = 0.0
            self._late = self._late and self._age > RELIEVED * self._bearable
        late = self._law.following_error(state, gap)
        if late and self._state is not GateState.WAITING:
            self._stop(f"{late} does not follow its commands")
            self._rebase = True
        beyond = self._supervisor.on_state(state) if self._state is not GateState.WAITING else ""
        if beyond:
            self._trip(beyond)
        fast = self._speed.overspeed(state)
        if fast and self._state is GateState.RUNNING:
            self._stop(fast)
            if self._response.hinted:  # a stop by this gate may come too late
                self._trip(fast)
                self._fallback = True
        if self._state in STOPPED and self._law.mode == "effort":
            self._watch_stop(state)

    def _stop_late(self, state: ArmState) -> None:
        """Stop because of late states or commands; request the fallback if they are much too late, or for too long."""
        states = self._arrivals.age >= self._response.age
        what = "joint states are {:.3f} s old when they arrive" if states else "commands act {:.3f} s late"
        late = f"{what.format(self._age)}, effort mode bears {self._bearable:.3f} s"
        self._stop(late, timing=True)
        lasts = self._late_for > self.config.blind_time and (states or not self._lateness.suspended)
        hopeless = lasts or self._age >= HOPELESS * self._bearable
        if hopeless or not (self._late or self._is_predictable(state, 2.0 * self._age)):
            self._give_up(late, latched=not self._lateness.is_busy(self._now()))
            self._fallback = True
        self._late = True

    def _give_up(self, reason: str, *, latched: bool) -> None:
        """Trip, or stop until the arm rests and the machine is punctual again if only the machine was late."""
        if latched:
            self._trip(reason)
        elif self._state is not GateState.TRIPPED and not self._lateness.suspended:
            self._stop(reason, timing=True)
            self._reason = f"{reason}, as the machine is late"
            self._lateness.suspend()

    def _recover(self, state: ArmState, gap: float) -> None:
        """End a suspended stop once that is possible; good references then lead on, as after a reset.

        How late commands act is not seen at rest: as after a reset, they are suspected until the arm moves.
        """
        on_time = self._arrivals.age <= RELIEVED * self._bearable and gap <= self._arrivals.longest
        if self._lateness.recovers(state, self._now(), on_time=on_time):
            self._response.acknowledge()
            self._fallback, self._good = False, 0

    def _is_predictable(self, state: ArmState, ahead: float) -> bool:
        """Return whether the motion after a state can be predicted so far ahead [s] with the effort in force.

        Commands are likely to be as late as states, so the effort in force acts for twice the age of the newest state.
        """
        if self._law.command is None:
            return True
        return self._prediction.holds(state, self._law.command - self._law.friction - self._law.load(state), ahead)

    def _watch_stop(self, state: ArmState) -> None:
        """If a stop does not slow the arm, halve the servo gain and request the fallback."""
        now = self._now()
        now -= self._lateness.within(now, RECENT)  # it could not brake meanwhile
        name = self._speed.failing_stop(state, now, late=self._age >= self._bearable)
        if name:
            if self._age >= self._bearable:
                self._law.braking.gain *= 0.5
            reason = f"the stop does not slow {name}: its commands do not reach the drive, or come too late"
            self._give_up(reason, latched=not self._lateness.is_busy(self._now()))
            self._fallback = True

    def _use(self, reference: JointReference, state: ArmState, came: float | None = None) -> Array | None:
        if self._interrupted:
            return None
        reference = self.model.turns.reference_near(reference, state.position)
        age = (state.stamp - reference.stamp) * 1e-9
        if age > self.config.reference_timeout:
            raise InputError(f"joint reference is {age:.3f} s older than the newest joint state")
        self._reference_stamp, self._led_at = reference.stamp, self._now() if came is None else came
        if self._ending or self._state is GateState.TRIPPED:
            return None if self._answered == state.stamp else self._answer(state.stamp, self._brake(state))
        if self._state is GateState.STOPPING:
            self._good += 1
        if self._stale and self._state is GateState.RUNNING:
            return None  # its answer would arrive too late: the next state may be younger
        if self._answered == state.stamp or (self.config.lockstep and reference.stamp != state.stamp):
            if self._state is GateState.STOPPING and self._may_run(state):
                self._run()
            return None
        if self._state is GateState.STOPPING and not self._may_run(state):
            return self._answer(state.stamp, self._brake(state))
        if reference is not self._sound:
            self._check(reference)
        wanted = getattr(reference, self._law.mode)
        command = self._law.follow(wanted, reference.friction, state, self._age)
        if self._state is not GateState.RUNNING:
            self._run()
        if self._law.mode == "effort":
            failed = self._supervisor.on_command(state, command, reference, self._since(state))
            if failed:
                self._trip(failed)
                command = self._brake(state)
        return self._answer(state.stamp, command)

    def _may_run(self, state: ArmState) -> bool:
        """Return whether a stop may end: it has slowed the arm, and enough good references have arrived.

        After a stop because a joint did not follow its commands, the set points must first restart from the measured
        position (position mode).
        """
        waits = self._contested or self._late or self._lateness.suspended
        if waits or (self._rebase and self._law.mode == "position"):
            return False
        speed = np.abs(state.velocity)
        if self._law.mode != "effort":  # drives may still pull joints to set points that rest
            speed = np.maximum(speed, np.abs(self._law.rate))
        slow = (speed <= CREEPING * self.limits.velocity).all()
        return self._good >= self.config.recovery_samples and bool(slow)

    @property
    def _age(self) -> float:
        """Age of a state when the command that answers it acts, beyond one period [s]."""
        return max(self._arrivals.age, self._response.age)

    def _since(self, state: ArmState) -> float:
        """Return the time since the previously answered state [s], at most 1 s."""
        if self._answered is None:
            return self.config.period
        return min(max((state.stamp - self._answered) * 1e-9, 0.0), 1.0)

    def _check(self, reference: JointReference) -> None:
        """Raise InputError unless a reference has the commanded quantity, the shape (n,), and finite values."""
        mode, shape, fits = self._law.mode, (self.model.n,), getattr(reference, self._law.mode) is not None
        for value in (
            reference.position, reference.velocity, reference.acceleration, reference.effort, reference.friction
        ):  # fmt: skip
            if value is not None:
                fits = fits and value.shape == shape and all_finite(value)
        if fits:
            self._sound = reference
            return
        given = [name for name in FIELDS if getattr(reference, name) is not None]
        if mode not in given:
            raise InputError(
                f"command mode '{mode}' needs {mode} in the joint reference; given: {', '.join(given) or 'nothing'}"
            )
        for name in given:
            value = getattr(reference, name)
            if value.shape != (self.model.n,):
                raise InputError(f"joint reference {name} has shape {value.shape}, expected ({self.model.n},)")
            if not all_finite(value):
                raise InputError(f"joint reference {name} is not finite: {value}")
        self._sound = reference

    # Acting -----------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        self._state, self._reason, self._good = GateState.RUNNING, "", 0
        self._rebase = False

    def _stop(self, reason: str, *, counted: bool = True, timing: bool = False) -> None:
        """Begin a stop; one for a matter of timing does not count to ``max_stops`` on a busy machine."""
        self._good = 0
        if self._state in STOPPED:
            if self._state is GateState.STOPPING and self._reason == NOT_LED != reason:
                self._reason = reason
                self._stops += counted
            return
        led = self._state is GateState.RUNNING
        self._state, self._reason = GateState.STOPPING, reason
        self._begin_braking()
        self._stops += counted
        excused = timing and self._lateness.is_busy(self._now())
        failed = self._supervisor.on_stop(self._now()) if led and not (self._ending or excused) else ""
        if failed:
            self._trip(f"{failed}, the last one: {reason}")

    def _trip(self, reason: str) -> None:
        if self._state is GateState.TRIPPED:
            return
        if self._state is not GateState.STOPPING:
            self._stops += 1
            self._begin_braking()
        self._trips += 1
        self._state, self._reason = GateState.TRIPPED, reason

    def _begin_braking(self) -> None:
        self._law.begin_stop()
        self._speed.begin_stop()

    def _brake(self, state: ArmState) -> Array:
        """Return the braking command (n,) for a state; restart set points there if the arm did not follow them."""
        law = self._law
        if self._rebase and law.mode == "position" and not law.rate.any():
            slow = np.abs(state.velocity) <= AT_REST * self.limits.velocity
            if slow.all():
                self._rebase = False
                law.restart(state)
                law.rate = np.zeros(self.model.n)
                return state.position.copy()
        late = self._age >= self._bearable or self._response.suspected > 0.0
        return law.brake(state, self.config.period, max(self._age, self._response.suspected), late=late)

    def _unseen(self, *, brakes: bool) -> Array | None:
        """Return the command (n,) without a believable state: use the prediction, or bring set points to rest."""
        assert self._measured is not None
        now, law = self._now(), self._law
        dt = self.config.period
        if not self.config.lockstep:
            dt = min(max(now - self._commanded_at, 1e-4), self.config.state_timeout)
        if law.mode != "effort":
            return self._remember(law.brake(self._measured, dt), dt)
        silence = now - self._arrived_at
        missed = silence - self._lateness.within(now, silence)  # [s] for which states are missing in spite of the gate
        load, doubted, blind = law.load(self._measured), False, silence > self.config.blind_time
        if self._arrivals.longest < silence and not blind:
            doubted = not self._prediction.is_believable
            if not self._looked_ahead and silence < self.config.state_timeout:
                ahead = min(2.0 * silence, self.config.state_timeout)
                self._looked_ahead, doubted = True, doubted or not self._is_predictable(self._measured, ahead)
        if doubted or blind:
            why = "its motion cannot be predicted" if doubted else self._reason
            if missed > (self._arrivals.longest if doubted else self.config.state_timeout):
                self._fallback = True
            excused = not self._fallback or (missed < RECENT and self._lateness.is_busy(now))
            self._give_up(f"no usable joint state for {silence:.3f} s: {why}", latched=not excused)
            brakes = True
        if blind or (self._distrusted and self._probation.active):
            return self._remember(law.bear(self._prediction.rest() or self._measured, dt), dt)
        effort = law.command if law.command is not None else self.model.gravity_effort(self._measured)
        predicted = self._prediction.advance(self._measured, effort - law.friction - load, dt)
        command = law.brake(predicted, dt, predicted=True) if brakes else law.coast(predicted, dt)
        return self._remember(command, dt)

    def _answer(self, stamp: int, command: Array) -> Array | None:
        self._answered = stamp
        return self._remember(command, self.config.period)

    def _remember(self, command: Array, dt: float) -> Array | None:
        if self._silent:
            return None
        self._commanded_at = self._now()
        command = self._law.remember(command, dt)
        return command if self._turned is None or self._law.mode != "position" else command + self._turned
