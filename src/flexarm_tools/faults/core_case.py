"""Case: plant, drive, source and gate with faults between them; here with the core gate, in simulation time."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.types import ArmState, Array, JointReference
from flexarm_sim.backend import PlantDivergedError
from flexarm_tools.faults.arms import Arm, draw_arm, promised_acceleration
from flexarm_tools.faults.drive import Drive
from flexarm_tools.faults.fault import LOOP, Fault
from flexarm_tools.faults.gate_under_test import TICK, GateUnderTest
from flexarm_tools.faults.judge import WILD, Judge
from flexarm_tools.faults.outcome import REST, SILENCE, Outcome, names_cause
from flexarm_tools.faults.source import HOLDS, MOVES, Source

LONGEST_STEP = 0.004  # [s] of the simulation loop
AFTER = 1.1  # [s] simulated time after the end of a fault, or after 0.3 s of a permanent one
BRAKING = 0.6  # [s] after which a stop must have come to rest
RESET_TIME = 0.6  # [s] simulated time after a reset
LOUDEST = 4.0  # times its standard deviation: largest noise of a velocity
TRAVEL = 0.0005  # [s] transport time of a message without delay


@dataclass(frozen=True, slots=True)
class Setting:
    """Setting in which a fault is tried."""

    seed: int  # seed of all random numbers
    arm: str  # name of the arm
    mode: str  # command mode
    layout: str  # separate gate node, or control loop
    rate: int  # rate of joint states [Hz]


class Case:
    """One case; here with the core gate: deterministic, about 0.3 s of computation.

    Attributes:
        where: ``core`` or ``node``.
        epoch: ROS time at the start [s].
        gate: gate under test.
    """

    where = "core"
    epoch = 1_000.0  # [s] ROS time at the start

    def __init__(self, setting: Setting, faults: Sequence[Fault]) -> None:
        """Draw arm, motion, plant and drive from the seed of the setting."""
        rng = np.random.default_rng([setting.seed, 1])
        self.setting, self.faults, self._rng = setting, tuple(faults), rng
        self.arm: Arm = draw_arm(rng, setting.arm, setting.mode)
        model = self.arm.model
        law = next((fault.law for fault in faults if fault.law != MOVES), MOVES)
        self._source = Source(rng, model, setting.rate, law=law)
        self._noise = 0.001 * rng.uniform(0.0, 1.0) * np.minimum(model.velocity_limit, 4.0)
        light = model.m > 0 or bool(model.description.flexible_links)  # drives push what moves at once
        step = 0.00025 if light else 0.001
        text, self._changes = self.arm.plant_text, []
        for fault in faults:
            text, changed = fault.plants(text, self._source, self.arm)
            if changed != text:
                self._changes.append((fault.start, self.arm.backend(changed, step)))
        self.backend: Any = self.arm.backend(text, step)
        self.backend.reset(position=self._source.start)
        self._drive = Drive(
            setting.mode, self.backend, model.effort_limit, model.velocity_limit,
            promised_acceleration(model.velocity_limit), float(rng.uniform(40.0, 150.0)), step,
        )  # fmt: skip
        cut = any(fault.name == "commands_cut" for fault in faults)
        self._watchdog = float(rng.uniform(0.02, 0.05)) if cut or rng.random() < 0.3 else np.inf
        self._switch_time = float(rng.uniform(0.02, 0.05))
        self.gate = self._make_gate()
        self._queue: list[tuple[float, int, str, Any]] = []
        self._order = count()
        self._now = 0.0

    def _make_gate(self) -> Any:
        setting = self.setting
        rate = self.faults[0].configured_rate(setting.rate)
        return GateUnderTest(self.arm.model, setting.mode, rate, setting.layout, self._loop_answer)

    def _pace(self, step: float, end: float) -> Iterator[tuple[float, float]]:
        """Yield the times of the loop's iterations and how far to advance the plant at each [s]."""
        return ((k * step, step) for k in range(int(end / step)))

    # Time and channels ------------------------------------------------------------------------------------------------

    def _clock(self) -> float:
        return self.epoch + self._now + sum(fault.clock(self._now) for fault in self.faults)

    def _through(self, channel: str, message: Any) -> list[tuple[float, Any]]:
        """Pass a message through all faults in order; return the deliveries, each with its delay [s]."""
        deliveries: list[tuple[float, Any]] = [(0.0, message)]
        for fault in self.faults:
            passed: list[tuple[float, Any]] = []
            for delay, one in deliveries:
                passed += [(delay + more, other) for more, other in getattr(fault, channel)(one, self._now)]
            deliveries = passed
        return deliveries

    def _send(self, to: str, deliveries: Iterable[tuple[float, Any]], travel: float = TRAVEL) -> None:
        for delay, message in deliveries:
            heapq.heappush(self._queue, (self._now + delay + travel, next(self._order), to, message))

    def _loop_answer(self, state: ArmState) -> JointReference | None:
        """Compute the reference as a stage of a control loop: the last delivery counts, and the tick waits for it."""
        reference = self._source.answer(state, self._now)
        if reference is None:
            raise InputError("joint state is not finite")
        given = sorted(self._through("reference", reference), key=lambda delivery: delivery[0])
        if not given:
            return None
        late, last = given[-1]
        self._busy = max(self._busy, self._now) + late
        self.gate.wait(late)
        return last

    def _measure(self) -> ArmState:
        sensed = self.backend.sensed()
        velocity = sensed.velocity + self._noise * self._rng.standard_normal(sensed.velocity.size)
        stuck = any(fault.stuck(self._now) for fault in self.faults)
        return ArmState(
            round(self._clock() * 1e9), sensed.position.copy(), 0.0 * velocity if stuck else velocity,
            sensed.deflection.copy(), sensed.deflection_rate.copy(),
        )  # fmt: skip

    # The run ----------------------------------------------------------------------------------------------------------

    def run(self) -> Outcome:
        """Run the case and judge it."""
        setting, faults = self.setting, self.faults
        start = min(fault.start for fault in faults)
        last = max(fault.end if fault.end < 1e6 else fault.start + 0.3 for fault in faults)
        end = last + AFTER
        period = 1.0 / setting.rate
        step = period / int(np.ceil(period / LONGEST_STEP))
        limit = self.arm.model.velocity_limit
        outcome = Outcome(
            setting.seed, "+".join(fault.name for fault in faults), self.where, setting.arm, setting.mode,
            setting.layout, setting.rate, "; ".join(fault.describe() for fault in faults),
        )  # fmt: skip
        outcome.blind = setting.mode == "effort" and any(fault.blind or fault.late for fault in faults)
        next_state, next_tick = 0.0, 0.0
        asked_to_end, asked_to_reset, wished = False, False, None
        stops_before, stopped_at, ran = 0, None, False
        self._newest_command, was_silent = 0.0, False
        held = self._source.start if any(fault.law == HOLDS for fault in faults) else None
        self._outcome, self._judge = outcome, Judge(outcome, faults, self.arm, held)
        ended_at: float | None = None
        for now, duration in self._pace(step, end + RESET_TIME):
            self._now = now
            # The plant moves up to now
            while self._changes and now >= self._changes[0][0]:
                self._change_plant(self._changes.pop(0)[1])
            stuck = any(fault.stuck(now) for fault in faults)
            if stuck:
                sensed = self.backend.sensed()
                self.backend.reset(position=sensed.position, deflection=sensed.deflection)
            else:
                try:
                    self._drive.advance(duration)
                except PlantDivergedError:
                    outcome.speed_ratio = WILD
                    break
            led = self._commanded and not (stuck or self._drive.braking or self._halted_since is not None)
            if not self._judge.see_motion(now, self.backend.sensed(), led=led, halted=self._halted_since is not None):
                break
            if now > end and (self.gate.seen.state != "tripped" or asked_to_end) and outcome.recovery == "":
                break
            if now > end and outcome.recovery == "":
                outcome.recovery, self._tripped_for = "latched", self.gate.seen.reason
                self._judge_rest(outcome, limit)
                asked_to_reset = True
                self.gate.reset(now)
            if any(fault.ends_control(now) for fault in faults) and not asked_to_end:
                asked_to_end = True
                self.take(self.gate.end("deactivated", now))
            if now >= next_state - 1e-9:
                next_state += period
                self._sense()
            tick_first = self._halt() and faults[0].rng.random() < 0.5  # the watchdog's thread runs before the other
            if not tick_first:
                self._deliver(asked_to_end)
            if now >= next_tick - 1e-9 and not self._is_busy():
                next_tick += TICK
                if not (asked_to_end and self.gate.ended):
                    self.take(self.gate.on_tick(now, self._clock()))
            if tick_first:
                self._deliver(asked_to_end)
            seen = self.gate.seen
            # Status of the gate
            if now < start:
                if seen.stops > stops_before:
                    outcome.notes.append(f"before it at {now:.3f} s: {seen.reason}")
                stops_before = seen.stops
            elif stopped_at is None and (seen.stops > stops_before or seen.state in ("stopping", "tripped")):
                stopped_at, outcome.reason = now, seen.reason
                outcome.stop_delay = now - start
            if not asked_to_end:
                self._judge.see_status(now, seen, reset=asked_to_reset, stopped=stopped_at is not None)
            if seen.fallback and wished is None:
                wished = now
                if outcome.fallback_delay is None:
                    outcome.fallback_delay = now - start
            elif not seen.fallback:
                wished = None
            expired = now - self._arrived > self._watchdog if self._arrived else False
            over = ended_at is not None and now - ended_at > self._switch_time  # then the drives hold the arm
            given_up = over or (wished is not None and now - wished > self._switch_time)
            self._drive.braking = given_up or expired
            outcome.ahead = max(outcome.ahead, self._drive.ahead)
            if seen.state == "running":
                self._led_until, ran = now, True
            heard, halted = max(self._newest_command, self._awake_since), self._halted_since is not None
            watched = self._commanded and not halted and seen.state in ("running", "stopping")
            silent = watched and now - heard > SILENCE
            if silent and not was_silent and not given_up and not asked_to_end:
                outcome.silences += 1
            was_silent = silent
            if asked_to_end and ended_at is None and self._is_over():
                ended_at = now
                # A blind or late arm is braked along a prediction: its rest is not observable.
                self._left_moving = setting.mode == "effort" and not outcome.blind and not self._rested
        outcome.not_resumed = not ran
        return self._conclude(outcome, start, last, stops_before, asked_to_end)

    _busy = 0.0  # time until which a tick of a control loop lasts
    _unread: Any = None  # newest state that came during this tick
    _unread_reference: Any = None  # newest reference that came while the gate got no processor
    _halted_since: float | None = None  # when the gate lost its processor [s]
    _awake_since = 0.0  # when it got the processor back [s]
    _tripped_for = ""  # reason of a trip that was reset
    _arrived = 0.0
    _commanded = False  # whether the gate has given a command
    _left_moving = False  # whether a gate asked to end left the arm moving
    _rested = True  # whether the arm was at rest at the last command
    _led_until = 0.0  # last time at which the gate was running

    def _change_plant(self, backend: Any) -> None:
        """Go on with another plant, from the state of the present one."""
        sensed = self.backend.sensed()
        backend.reset(sensed.position, sensed.velocity, sensed.deflection, sensed.deflection_rate)
        self.backend = backend
        self._drive.drive(backend)

    def _sense(self) -> None:
        true = self._measure()
        deceived = self._through("state", true)
        self._send("gate", deceived)
        if self.setting.layout != LOOP:
            both = all(fault.both for fault in self.faults)
            self._send("source", deceived if both else [(0.0, true)])

    def _halt(self) -> bool:
        """Let the gate lose its processor, or get it back; return whether it has just got it back."""
        if any(fault.halts(self._now) for fault in self.faults):
            self._halted_since = self._now if self._halted_since is None else self._halted_since
            return False
        since, self._halted_since = self._halted_since, None
        if since is None:
            return False
        self._awake_since = self._now
        self.gate.was_late(self._now - since, self._now)
        return True

    def _is_busy(self) -> bool:
        """Return whether a tick still lasts, as one process does nothing else meanwhile, or there is no processor."""
        return self._halted_since is not None or self._busy > self._now + 1e-9 + TRAVEL

    def _take_state(self, state: Any) -> None:
        """Hand a state to the gate; a state that comes during a tick waits, and only the newest is kept."""
        if self._is_busy():
            self._unread = state
            return
        command = self.gate.on_state(state, self._now, self._clock())
        self.take(command, max(self._busy - self._now, 0.0))

    def _deliver(self, asked_to_end: bool) -> None:
        if self._unread is not None and not self._is_busy():
            unread, self._unread = self._unread, None
            if not (asked_to_end and self.gate.ended):
                self._take_state(unread)
        if self._unread_reference is not None and self._halted_since is None:
            unread, self._unread_reference = self._unread_reference, None
            self.take(self.gate.on_reference(unread, self._now))
        while self._queue and self._queue[0][0] <= self._now + 1e-9 + TRAVEL:
            _, _, to, message = heapq.heappop(self._queue)
            if to == "drive":
                self._drive.take(message)
                self._arrived = self._now
            elif to == "source":
                if isinstance(message, ArmState):
                    reference = self._source.answer(message, self._now)
                    if reference is not None:
                        self._send("reference", self._through("reference", reference))
            elif asked_to_end and self.gate.ended:
                continue
            elif to == "gate":
                self._take_state(message)
            elif self._halted_since is not None:
                self._unread_reference = message
            else:
                self.take(self.gate.on_reference(message, self._now))

    def take(self, command: Array | None, late: float = 0.0) -> None:
        """Check a command of the gate and send it to the drive after this time [s]."""
        if command is None:
            return
        if not self._commanded:
            self._commanded = True
            asked = self._source.asked(self.backend.sensed(), LOUDEST * self._noise, self._now)
            self._judge.see_first(command, self.backend.sensed(), self.backend.joint_dynamics()[1], asked)
        self._newest_command, self._rested = self._now, self._rests(self.arm.model.velocity_limit)
        bad = not np.isfinite(command).all()
        if self.setting.mode == "effort":
            bad = bad or bool(np.any(np.abs(command) > self.arm.model.effort_limit * (1.0 + 1e-9)))
        self._outcome.bad_commands += bad
        self._send("drive", self._through("command", command), TRAVEL + late)

    # The judge --------------------------------------------------------------------------------------------------------

    def _is_over(self) -> bool:
        """Return whether a gate that was asked to end has stopped commanding: the drives then hold the arm."""
        return bool(self.gate.ended)

    def _rests(self, limit: Array) -> bool:
        return bool(np.max(np.abs(self.backend.sensed().velocity) / limit) <= REST)

    def _judge_rest(self, outcome: Outcome, limit: Array) -> None:
        if self._now - self._led_until < BRAKING:
            return  # the stop has only just begun
        outcome.at_rest = self._rests(limit)

    def _conclude(self, outcome: Outcome, start: float, last: float, stops_before: int, asked_to_end: bool) -> Outcome:
        faults, seen, limit = self.faults, self.gate.seen, self.arm.model.velocity_limit
        lasting = any(fault.end > 1e6 and fault.must and not fault.may_resume for fault in faults)
        outcome.must_stop = any(fault.stops for fault in faults) and len(faults) == 1
        outcome.unexplained = stops_before
        if all(fault.harmless for fault in faults):
            outcome.unexplained += seen.stops - stops_before
        goes_on = all(fault.must_not_trip for fault in faults) and not self._judge.thrown
        if outcome.recovery == "latched" and goes_on:  # an arm that was thrown needs somebody to look at it
            # A reference that goes on while the arm stands is the law's affair.
            outcome.unexplained += "from its reference" not in self._tripped_for
            outcome.notes.append(f"tripped: {self._tripped_for}")
        if outcome.stop_delay is not None and not all(fault.harmless for fault in faults):
            outcome.named = names_cause([fault.cause for fault in faults], outcome.reason)
        if outcome.recovery == "latched":
            if seen.state == "running":
                outcome.recovery = "latched, resumes after reset"
        elif asked_to_end:
            outcome.recovery = "ended"
            self._judge_rest(outcome, limit)
            if self._left_moving:
                outcome.at_rest = False
                outcome.notes.append("commands ended while it moved")
        elif seen.state in ("stopping", "tripped") or self._drive.braking:
            outcome.recovery = "stopped"
            self._judge_rest(outcome, limit)
            passed = all(fault.end < 1e6 or fault.may_resume or fault.harmless for fault in faults)
            outcome.not_resumed |= passed and seen.state != "tripped"
        elif seen.state == "waiting":
            outcome.recovery, outcome.not_resumed = "waits", True
        else:
            outcome.recovery = "runs on" if outcome.stop_delay is None else "resumes"
            if any(fault.law == HOLDS for fault in faults):
                outcome.at_rest = self._rests(limit)
            if outcome.must_stop and lasting:
                outcome.at_rest = False
        if outcome.must_stop and outcome.stop_delay is None:
            outcome.stop_delay = self._now - start  # no stop: use the whole observed time
        blind_for = max((min(fault.end, last) - fault.start for fault in faults if fault.blind), default=0.0)
        blind_for = max(blind_for, max((1e9 for fault in faults if fault.blind and fault.end > 1e6), default=0.0))
        outcome.needs_fallback = (
            outcome.blind and any(fault.blind for fault in faults) and len(faults) == 1 and blind_for > 0.5
        )
        return outcome
