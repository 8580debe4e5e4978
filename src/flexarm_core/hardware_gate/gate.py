"""HardwareGate: keeps the commands to the hardware within limits, and stops safely when the input is unusable.

Each input is judged, and gives reasons to run, stop or trip (:mod:`~flexarm_core.hardware_gate.state_machine`).

In effort mode the arm model converts a command to the acceleration that it causes. This acceleration is limited, and
the effort is recomputed only if the acceleration had to change. The joint friction effort ``f`` given in the reference
does not act on the links: ``qdd = FD(q, qd, effort - f)`` and ``effort = ID(q, qd, qdd) + f``.

A stop decelerates every joint at its limit and then holds it. The gate only acts on believable states and answers each
state with one command. Without a believable state, effort mode continues on a prediction. The status requests a
fallback as soon as the prediction is unreliable, or after ``blind_time``; from then on the effort only compensates
gravity. During a stop ``f`` is not compensated, so friction only adds to the deceleration.

Measured positions of endless joints are made continuous, and references are taken in the turn that is nearest to the
measured one.

In lockstep every state is answered by exactly one command, computed from the reference that carries the same stamp as
the state, and only stamps count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.commands import Commands
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.effort_direction import EffortDirection
from flexarm_core.hardware_gate.lateness import RECENT
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.references import References
from flexarm_core.hardware_gate.sensor_trust import SensorTrust
from flexarm_core.hardware_gate.softness import softness
from flexarm_core.hardware_gate.speed_watch import SpeedWatch
from flexarm_core.hardware_gate.state_machine import NOT_LED, GateState, GateStatus, StateMachine
from flexarm_core.hardware_gate.supervisor import Supervisor
from flexarm_core.hardware_gate.timing import Timing
from flexarm_core.hardware_gate.velocities.swings import Swings
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.drive_terms import DriveTerms, FirstEfforts
from flexarm_core.turns import TurnCount
from flexarm_core.types import ArmState, Array, JointReference

OVERDUE = 2.0  # periods without a state after which a position drive gets the next set point
ESCAPES = 0.1  # fraction of the velocity limits: a joint that escapes by more is given away while efforts may be late
MOMENT = 0.05  # [s] for half of which, or by more than is bearable, the process was late: when efforts acted is unknown


class HardwareGate:
    """Turns joint references into commands that respect every limit, or into a controlled stop.

    Attributes:
        drives: efforts that the drives add to effort commands by themselves.
    """

    def __init__(
        self,
        model: ArmModel,
        limits: JointLimits,
        config: HardwareGateConfig,
        clock: Callable[[], float] = time.monotonic,
        drives: DriveTerms | None = None,
    ) -> None:
        """Bind the gate to an arm.

        Args:
            model: arm model.
            limits: joint limits.
            config: settings.
            clock: time for all timeouts [s]; must be monotonic.
            drives: what the drives add to effort commands; None: as the robot description says.
        """
        self.model, self.limits, self.config = model, limits, config
        self.drives = drives or DriveTerms(model, model.description.drive_adds)
        self._first = FirstEfforts(self.drives, model)
        self._patience = config.patience(limits)
        soft = softness(model, limits.velocity, limits.acceleration, config.period)
        self._count = TurnCount(model.turns, model.fastest)
        self._timing = Timing(model, limits, config, clock)
        self._trust = SensorTrust(model, limits, lockstep=config.lockstep)
        self._references = References(model.n, config.reference_timeout)
        self._direction = EffortDirection(limits)
        self._swings = Swings(limits)
        self._commands = Commands(model, limits, config, self._timing, soft, self.drives, self._direction.share)
        self._speed = SpeedWatch(limits, model.joint_names, soft)
        self._supervisor = Supervisor(model, limits, config.supervisor)
        self._machine = StateMachine(self._supervisor, self._timing, self._begin_braking)
        self.reset()

    def reset(self) -> None:
        """Forget everything except the settings."""
        self._doubt, self._commands.drives = "", self.drives
        self._direction.reset()
        self._swings.reset()
        for part in (self._first, self._machine, self._supervisor, self._count, self._trust, self._timing.lateness):
            part.reset()
        self._forget_time()
        self._commands.reset()

    def _begin_braking(self) -> None:
        self._commands.law.begin_stop()
        self._speed.begin_stop()

    def _forget_time(self) -> None:
        """Start a new time base, without a measurement."""
        self._trust.forget()
        self._timing.forget()
        self._references.reset(self._timing.now())
        self._commands.forget()
        self._speed.reset()

    def _restart_time(self, newest: ArmState, stamp: int) -> None:
        """Start a new time base at a stamp [ns]: the arm does not jump with the clock.

        It is braked from the newest believed state, with its stamp in the new time base, until new ones are confirmed.
        """
        if self._machine.state is not GateState.WAITING:
            back = (newest.stamp - stamp) * 1e-9
            late = "" if back > self.config.blind_time else ", or joint states are late and out of order"
            self._machine.stop(f"time went back by {back:.3f} s{late}")
        self._trust.unsettle()
        if self.config.lockstep:
            self._forget_time()
            return
        self._trust.state = replace(newest, stamp=self._timing.restart(stamp))
        self._references.reset(self._timing.now())
        self._commands.restart()
        self._speed.reset()

    @property
    def status(self) -> GateStatus:
        """Status of the gate for diagnostics."""
        machine, commands = self._machine, self._commands
        return GateStatus(
            machine.state, machine.reason, commands.law.limited, machine.stops, machine.trips, commands.blind,
            machine.fallback,
        )  # fmt: skip

    @property
    def at_rest(self) -> bool:
        """Whether the arm is known to be at rest, or nothing more can be done to stop it: commands may end."""
        return self._trust.state is None or self._commands.is_at_rest(self._trust.state)

    def lag(self, delay: float) -> None:
        """Count that measured velocities are older than their states by ``delay`` [s]: stops act more gently."""
        self._timing.told = delay

    def is_overtaken(self, stamp: int) -> bool:
        """Return whether a state with this stamp [ns] is repeated or out of order: see :meth:`Timing.is_overtaken`."""
        return self._timing.is_overtaken(stamp)

    def check_age(self, age: float | None) -> None:
        """Raise InputError if the age [s] shows that a state is too old or is stamped in the future."""
        self._timing.check_age(age)

    # Input ------------------------------------------------------------------------------------------------------------

    def on_state(self, state: ArmState, age: float | None = None) -> Array | None:
        """Process a measured state; return the command (n,) that answers it, or None to wait for a reference.

        Args:
            state: received state.
            age: age of the state on arrival, by the clock that set its stamp [s]; None: unknown.

        Raises:
            InputError: the state is not usable; call :meth:`on_unusable_state` with the message.
        """
        trust, timing, machine, commands = self._trust, self._timing, self._machine, self._commands
        self.model.check_state(state)
        state = self._count.state(state)
        timing.check_age(age)
        if timing.is_overtaken(state.stamp):
            return None  # the newer state has been answered
        if trust.state is not None and state.stamp <= trust.state.stamp:
            self._restart_time(trust.state, state.stamp)
        before = trust.state
        gap = 0.0 if before is None else (state.stamp - before.stamp) * 1e-9
        if not machine.interrupted:
            self._look_for_gap(gap)
        measured = state
        if not timing.told:
            state, timing.shown = trust.rates.mended(state), trust.rates.delay
        if not self._believes(state, measured):
            return None
        timing.came(age)
        self._see(state)
        blind = commands.unobserved or timing.response.hinted or timing.too_late
        commands.unobserved = machine.fallback and self.config.fallback and blind
        applied = not (commands.silent or commands.unobserved)
        commands.law.observe(state, timing.possible_age, applied=applied, given_up=machine.fallback)
        if timing.recovers(state, gap):
            machine.recover()
        if before is None and machine.stopped and commands.law.command is None:
            commands.law.restart(state)  # resumed without a measurement
        lost = timing.arrivals.lost(gap)
        if machine.interrupted:
            return self._brake(state) if machine.stopped and not commands.silent else None
        self._look(state, gap, lost)
        self._look_for_response(state)
        early = self._references.take(state.stamp)
        if early is not None:
            return self._use(*early, state)
        if machine.stopped:
            return self._brake(state)
        if machine.state is GateState.RUNNING and not self.config.lockstep:
            filled = commands.fill(state, before)
            if filled is not None:
                return filled
            held = commands.law.judge_held(state, timing.age)  # no answer to the state: its reference may still arrive
            return None if held is None else commands.give(held, self.config.period)
        return None

    @property
    def weighs_efforts(self) -> bool:
        """Whether measured efforts are of use: before the first reference and at the first commands, in effort mode."""
        return self._commands.law.mode == "effort" and (self._machine.state is GateState.WAITING or self._first.open)

    def on_effort(self, state: ArmState, effort: Array) -> None:
        """Compare measured efforts (n,) with the efforts that the drives should add; trip if these are disproved."""
        if not self.weighs_efforts:
            return
        if self._machine.state is GateState.WAITING:
            self._doubt = self.drives.doubt(state.position, state.velocity, effort)
            return
        self._first.observe(state, effort, self._commands.sent)
        self._doubt = self._first.doubt
        if self._first.certain:
            self._machine.trip(self._first.doubt)
            self._commands.drives = self._first.seen  # or the stop would go on to move the arm
            if self._trust.state is not None:
                self._commands.law.restart(self._trust.state)

    @property
    def doubt(self) -> str:
        """Problems for the user: implausible states, efforts that do not fit the drives, late velocities."""
        if self._trust.unbelieved:
            return f"no joint state is believed: {self._trust.unbelieved}; does something else publish these joints?"
        if self._trust.rates.matters and not self._timing.told:
            late = 1e3 * self._trust.rates.measured
            return f"measured velocities are {late:.0f} ms older than the positions beside them: is a filter at work?"
        return self._doubt if self._commands.law.mode == "effort" else ""

    def on_unusable_state(self, stamp: int, reason: str) -> Array | None:
        """Process an unusable state: stop without measurements, and return the command that answers it."""
        commands = self._commands
        self._machine.stop(reason)
        if self._trust.state is None or commands.silent:
            return None  # nothing has been commanded and no state is known: the drives keep their last input
        commands.blind = True
        if self.config.lockstep and stamp == commands.answered:
            return None
        commands.answered = stamp
        return self._unseen(self._trust.state, brakes=True)

    def was_late(self, late: float) -> None:
        """Take note that the gate's process has been late by ``late`` [s] until now: it waited for a processor."""
        if not self.config.lockstep:
            self._timing.lateness.note(self._timing.now(), late)

    def on_tick(self) -> Array | None:
        """Check the timeouts, at least every ``patience``; return a command (n,) if input is missing."""
        state, machine, commands = self._trust.state, self._machine, self._commands
        if state is None or commands.silent or self.config.lockstep or machine.state is GateState.WAITING:
            return None
        silence, unled = self._timing.silence, self._timing.now() - self._references.led_at
        if silence > self.config.state_timeout:
            machine.stop(f"no joint state for {silence:.3f} s", timing=True)
            commands.blind = True
        elif machine.state is GateState.RUNNING and unled > self.config.reference_timeout:
            machine.stop(reason := f"no joint reference for {unled:.3f} s", timing=True)
            command = self._brake_unled(reason)
            if command is not None or silence <= self._patience:
                return command
        elif not self._is_overdue(silence):
            return None
        return self._unseen(state, brakes=machine.state is not GateState.RUNNING)

    def on_reference(self, reference: JointReference) -> Array | None:
        """Process a reference; return the command (n,), or None if this reference requires none.

        A stop answers states, not references. In effort mode its newest command is returned again, the same array: a
        caller that uses only the commands for references would otherwise keep the effort before the stop.

        Raises:
            InputError: the reference is not usable; call :meth:`on_unusable_reference` with the message.
        """
        state = self._trust.state
        if not self._machine.interrupted:  # otherwise it may be for the command mode before or after
            self._references.check(reference, self._commands.law.mode)
        if state is None or reference.stamp > state.stamp:
            self._references.keep(reference, None if state is None else state.stamp, self._timing.now())
            return None
        return self._or_again(self._use(reference, self._timing.now(), state))

    def on_unusable_reference(self, reason: str) -> Array | None:
        """Process an unusable reference: brake; return the command (n,), in a stop as :meth:`on_reference` does."""
        stopped = self._machine.stopped  # before: the newest state has been answered by an effort of the stop
        command = self._brake_unled(reason)
        return self._or_again(command) if stopped else command

    def on_base(self, deflection: Array, rate: Array) -> None:
        """Check the deflection (m,) of a base that is not part of the effort model; trip if it is beyond its limits."""
        if self._trust.state is not None and self._machine.state is not GateState.WAITING:
            beyond = self._supervisor.on_base(deflection, rate)
            if beyond:
                self._machine.trip(beyond)

    # External control -------------------------------------------------------------------------------------------------

    def interrupt(self, reason: str, *, silent: bool) -> None:
        """Begin a stop that good input does not end; a gate in WAITING, before its first reference, stays in WAITING.

        Args:
            reason: text for the status.
            silent: True: send no commands meanwhile, as no drive accepts them; False: brake and hold the arm.
        """
        machine = self._machine
        if machine.state is not GateState.WAITING:
            machine.stop(reason)
        if machine.state is not GateState.TRIPPED:
            machine.reason = reason
        machine.interrupted, self._commands.silent = True, silent

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
        commands, machine = self._commands, self._machine
        commands.set_mode(self.config.command_mode)
        commands.silent = machine.interrupted = False
        machine.good = 0
        self._timing.response.reset()
        self._references.wait(self._timing.now())
        if self._timing.silence > self.config.state_timeout or not self._trust.belief.sure:
            self._forget_time()  # the arm may have been moved since
        if self._trust.state is None:
            return None  # states will be answered once they agree with each other
        commands.law.restart(self._trust.state)
        return commands.give(commands.brake(self._trust.state), self.config.period)

    def contest(self, reason: str) -> None:
        """Stop because the source of commands is ambiguous, until this is called with an empty reason."""
        self._machine.contested = reason
        if reason:
            self._machine.stop(reason)

    def give_up(self, reason: str) -> None:
        """Trip and request the fallback, because the drives do not get the gate's commands alone."""
        self._machine.trip(reason, fallback=True)

    def end(self, reason: str) -> None:
        """Brake and hold the arm, regardless of references, until :meth:`reset`; see :attr:`at_rest`."""
        if self._machine.state is not GateState.WAITING or self._commands.law.command is not None:
            self._machine.stop(reason)
        self._machine.ending = True

    def acknowledge(self) -> None:
        """Acknowledge a trip: good references can end the stop again.

        Raises:
            InputError: the fallback has the drives, and no usable state is known from which control could continue; or
                a joint's effort acts the wrong way, which only a new begin (:meth:`reset`) forgets.
        """
        if self._direction.reversed:
            raise InputError(f"{self._machine.reason} Mend that, then deactivate and activate the gate")
        timing, law, fallback = self._timing, self._commands.law, self._machine.fallback
        silence, timeout = timing.silence, self.config.state_timeout
        if self._trust.distrusted:
            self._see(state := self._trust.trust_again(law, timing.now(), timeout))
            law.restart(state)
        elif fallback and silence > timeout:
            raise InputError(f"no usable joint state for {silence:.3f} s: the drives cannot be taken over")
        self._supervisor.reset()
        timing.response.acknowledge(timing.bearable if fallback and self._commands.unobserved else 0.0)
        timing.lateness.reset()
        self._commands.rebased = False
        replaced = fallback and (self.config.fallback or law.mode == "effort")
        if replaced and self._trust.state is not None:
            law.restart(self._trust.state, bears=True)  # others had the drives: the last command is not in force
        self._machine.acknowledge()

    def rest_command(self) -> Array | None:
        """Return the last command before control ends: gravity effort at the last posture, zero velocity, or None."""
        return None if self._trust.state is None else self._commands.rest(self._trust.state)

    # Judging ----------------------------------------------------------------------------------------------------------

    def _see(self, state: ArmState) -> None:
        self._timing.see(state.stamp)
        self._commands.see(state, self._count.reported)

    def _believes(self, state: ArmState, measured: ArmState) -> bool:
        """Return whether a state is believed; False: not yet, while nothing is commanded. InputError: it is not.

        States that contradict what was believed, or themselves, trip the gate: somebody must look at a sensor. Set
        points then begin anew where the joints say that they are, as the drives use the same sensors.
        """
        law, trusted, effort = self._commands.law, not self._trust.distrusted, self._commands.law.mode == "effort"
        idle, now = self._machine.fallback if effort else not law.rate.any(), self._timing.now()
        try:
            return self._trust.believes(state, measured, law, now, idle=idle, silent=self._commands.silent)
        finally:
            if trusted and self._trust.distrusted:
                self._machine.trip(self._trust.distrusted, fallback=effort)

    def _look_for_gap(self, gap: float) -> None:
        """Stop if no state came for too long, or the stamps jumped ahead."""
        if gap > self.config.state_timeout:
            jumped = not self.config.lockstep and self._timing.silence < 0.5 * gap
            lost = f"time jumped ahead by {gap:.3f} s" if jumped else f"no joint state for {gap:.3f} s"
            if jumped and (age := self._timing.arrivals.age) > 0.5 * gap:
                lost = f"joint states were {age:.3f} s late, and are not any more: those of {gap:.3f} s are missing"
            self._machine.stop(lost, timing=not jumped)

    def _look(self, state: ArmState, gap: float, lost: str) -> None:
        """Stop or trip if a state gives a reason to."""
        machine, timing, law = self._machine, self._timing, self._commands.law
        effort = law.mode == "effort"
        missing = self._references.missing(state.stamp)
        if missing:
            machine.stop(missing, counted=missing != NOT_LED, timing=True)
        if lost and effort:
            machine.stop(lost, timing=True)
        was_late = timing.late
        late = timing.lateness_of(gap, effort=effort)
        if late:
            machine.stop(late, timing=True)
            if timing.hopeless or not (was_late or self._commands.is_predictable(state, 2.0 * timing.age)):
                machine.give_up(late, excused=timing.busy)
        astray = law.following_error(state, gap)
        if astray and machine.state is not GateState.WAITING:
            if self._commands.rebased:  # to begin anew again and again would move an arm whose encoder is wrong
                machine.trip(f"{astray} does not follow its commands, nor those that began anew where it reads")
            else:
                machine.stop(f"{astray} does not follow its commands")
                self._commands.rebase = True
        beyond = self._supervisor.on_state(state) if machine.state is not GateState.WAITING else ""
        if beyond:
            machine.trip(beyond)
        fast = self._speed.overspeed(state)
        if fast and machine.state is GateState.RUNNING:
            machine.stop(fast)
            if timing.response.hinted:  # a stop by this gate may come too late
                machine.trip(fast, fallback=True)
        if effort and law.cautious and not machine.fallback:
            self._watch_new_begin(law.observed.excess)
        if machine.stopped and effort:
            self._watch_stop(state)

    def _watch_new_begin(self, excess: Array) -> None:
        """Give the drives away again if a joint escapes before the motion has shown that commands act in time."""
        beyond = np.abs(excess) - ESCAPES * self.limits.velocity
        if (beyond > 0.0).any():
            name = self.model.joint_names[int(np.argmax(beyond))]
            self._machine.trip(
                f"{name} gets faster than commands allow, before they are seen to act in time", fallback=True
            )

    def _watch_stop(self, state: ArmState) -> None:
        """If a stop does not slow the arm, halve the servo gain and request the fallback."""
        timing, now = self._timing, self._timing.now()
        now -= timing.lateness.within(now, RECENT)  # it could not brake meanwhile
        name = self._speed.failing_stop(state, now, late=timing.too_late)
        if name:
            if timing.too_late:
                self._commands.law.braking.gain *= 0.5
            reason = f"the stop does not slow {name}: its commands do not reach the drive, or come too late"
            self._machine.give_up(reason, excused=timing.busy)

    def _look_for_response(self, state: ArmState) -> None:
        """Estimate from the motion how late and in which direction commands act; others have the drives in fallback."""
        law, timing = self._commands.law, self._timing
        response = timing.response
        if law.mode != "effort" or law.command is None:
            return
        if timing.lateness.within(timing.now(), MOMENT) > min(timing.bearable, 0.5 * MOMENT):
            self._direction.pause()
        joint = self._direction.find(state, law.command, law.observed.excess, law.observed.inertia(state))
        if joint is not None:
            name, late = self.model.joint_names[joint], ", or do commands act late" if response.hinted else ""
            self._machine.trip(
                f"efforts accelerate {name} the wrong way: is its motor, its encoder or its axis reversed{late}?",
                fallback=True,
            )
        swings = self._swings.find(state, law.observed.excess)
        if swings is not None:
            name = self.model.joint_names[swings]
            self._machine.trip(f"efforts make {name} swing more and more: do commands act late?", fallback=True)
            if self.config.fallback:
                self._commands.release(state.stamp, bears=True)
        if self._direction.in_vain and self.config.fallback and not timing.busy:
            self._machine.trip(
                f"{self._speed.speed(state)}, and efforts do not slow it: are motors swapped or dead, are commands "
                "late, does the arm touch something?",
                fallback=True,
            )
            if not law.braking.bends:  # what links have stored moves joints, too: to let go would add to it
                self._commands.release(state.stamp, bears=not self._direction.surely)
        if not (self._machine.fallback or self.config.lockstep):
            response.on_state(state, law.command - law.friction, law.observed.load)
            law.cautious = response.suspected > 0.0 or self._trust.probation.active

    # Acting -----------------------------------------------------------------------------------------------------------

    def _use(self, reference: JointReference, came: float, state: ArmState) -> Array | None:
        """Return the command (n,) to a usable reference that came at a time [s], or None if it requires none."""
        machine, commands, law = self._machine, self._commands, self._commands.law
        if machine.interrupted:
            return None
        reference = self.model.turns.reference_near(reference, state.position)
        self._references.use(reference, state.stamp, came)
        effort, answered = law.mode == "effort", commands.answered == state.stamp
        if machine.ending or machine.state is GateState.TRIPPED:
            return None if answered else self._brake(state)
        if machine.state is GateState.STOPPING:
            machine.good += 1
        if effort and self._timing.stale and machine.state is GateState.RUNNING:
            return None  # its answer would arrive too late: the next state may be younger
        waits = machine.state is GateState.STOPPING and not self._may_run(state)
        if answered or (self.config.lockstep and reference.stamp != state.stamp):
            if machine.state is GateState.STOPPING and not waits:
                self._run()
            return None
        if waits:
            return self._brake(state)
        command = commands.follow(reference, state)
        if machine.state is not GateState.RUNNING:
            self._run()
        if effort:
            failed = self._supervisor.on_command(state, command, reference, commands.since(state))
            if failed:
                machine.trip(failed)
                command = commands.brake(state)
        return commands.answer(state, command)

    def _may_run(self, state: ArmState) -> bool:
        """Return whether a stop may end: it has been seen to slow the arm, and enough good references have arrived.

        After a stop because a joint did not follow its commands, the set points must first restart from the measured
        position (position mode).
        """
        machine, commands = self._machine, self._commands
        rebases = commands.rebase and commands.law.mode == "position"
        waits = bool(machine.contested) or self._timing.late or self._timing.lateness.suspended or rebases
        enough = machine.good >= self.config.recovery_samples
        return enough and not waits and machine.seen and commands.is_slow(state)

    def _run(self) -> None:
        self._machine.run()
        self._commands.rebase = self._commands.rebased = False

    def _or_again(self, command: Array | None) -> Array | None:
        commands = self._commands
        again = commands.law.mode == "effort" and self._machine.stopped and not commands.silent
        return commands.sent if command is None and again else command

    def _brake_unled(self, reason: str) -> Array | None:
        state, commands = self._trust.state, self._commands
        self._machine.stop(reason)
        if state is None or commands.blind or commands.answered == state.stamp:
            return None  # the next state or on_tick causes the next command
        return self._brake(state)

    def _brake(self, state: ArmState) -> Array | None:
        return self._commands.answer(state, self._commands.brake(state))

    def _is_overdue(self, silence: float) -> bool:
        """Return whether a command is due without a state: a drive keeps a velocity, but halts at its last position."""
        mode = self._commands.law.mode
        return mode != "velocity" and silence > (self._patience if mode == "effort" else OVERDUE * self.config.period)

    def _unseen(self, state: ArmState, *, brakes: bool) -> Array | None:
        """Return the command (n,) after the newest believed state: predict the motion, or bring set points to rest."""
        timing, machine, effort = self._timing, self._machine, self._commands.law.mode == "effort"
        silence = timing.silence
        missed = silence - timing.lateness.within(timing.now(), silence)  # [s] not explained by a late gate
        blind = silence > self.config.blind_time
        lost = effort and not blind and self._commands.is_lost(state, silence)
        if lost or (effort and blind):
            why = "its motion cannot be predicted" if lost else machine.reason
            longest = timing.arrivals.longest if lost else self.config.state_timeout
            fallback = machine.fallback or lost or missed > longest
            excused = not fallback or (missed < RECENT and timing.busy)
            machine.give_up(f"no usable joint state for {silence:.3f} s: {why}", excused=excused, fallback=fallback)
            self._commands.unobserved = machine.fallback
        bearing = self._trust.bearing
        bears = blind or bearing is not None
        return self._commands.bridge(bearing or state, brakes=brakes or lost or blind, bears=bears)
