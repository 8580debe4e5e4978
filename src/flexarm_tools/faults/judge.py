"""Judge: watches the plant and the status of the gate during a case, by limits that no code of the gate computed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from flexarm_core.hardware_gate.state_machine import NOT_LED
from flexarm_core.types import ArmState, Array
from flexarm_tools.faults.arms import Arm, promised_acceleration
from flexarm_tools.faults.fault import Fault
from flexarm_tools.faults.gate_under_test import Seen
from flexarm_tools.faults.outcome import BLIND_TIME, SPEED_BAR, STOP_BAR, Outcome
from flexarm_tools.faults.source import FIRM, HOLDS

WILD = 1e4  # times the speed limit: the case is ended
WINDOW = 0.02  # [s] over which accelerations are measured
NEAR = 0.05  # [s] at the speed limit, and fraction of the effort limit: how near the first command is to what holds
SLOW = 0.3  # of the speed limit: fastest that an arm may move when a stop ends
BRIEF = 0.05  # [s] a status may lag behind, on its way through a node's diagnostics


class Judge:
    """Judges the motion of the plant and the gate's status in every iteration of a case.

    - Speed: before the fault the limits apply; after it a joint may be as fast as it was, or as it became before any
      command could reach the drives.
    - Position: a joint may go as far beyond a limit as it must from where it was at the latest when the gate could
      react, with the deceleration that the gate promises. This is not judged after the reset of a gate that reads
      positions from elsewhere for good.
    - Acceleration: the mean over WINDOW, while the gate has timely measurements, its commands reach the drives, nothing
      else moves or holds the arm, and the arm carries the described load; links that bend store and return motion. Over
      an elastic base a law may brake a joint harder than that, so there only what makes a joint faster is judged.
    - Rest: a law that holds a posture, and holds it without a gate, holds it with one.
    - Base: a deflection beyond the limit of an elastic joint must trip a gate that can see it.
    """

    def __init__(self, outcome: Outcome, faults: Sequence[Fault], arm: Arm, held: Array | None) -> None:
        """Judge a case; the results go into its outcome. ``held`` (n,): posture that a law holds, None if it moves."""
        self._held = held
        self._outcome, self._faults = outcome, tuple(faults)
        self._model = model = arm.model
        self._speed, self._lower, self._upper = model.velocity_limit, model.lower, model.upper
        self._acceleration = promised_acceleration(model.velocity_limit)
        elastic = [model.description.joints[name] for name in model.elastic_joint_names]
        self._base = np.array([min(-joint.lower, joint.upper) for joint in elastic])
        self._bends = bool(model.description.flexible_links)
        self._start = min(fault.start for fault in faults)
        self._reached = max(fault.start + fault.unreached for fault in faults)
        self._reacts = self._reached + STOP_BAR + (BLIND_TIME if any(f.blind or f.late for f in faults) else 0.0)
        self._at_fault, self._unavoidable = np.zeros(model.n), np.zeros(model.n)
        self._velocities: deque[tuple[float, Array]] = deque()
        self._tripped, self._trips, self._stopping, self._reset = False, 0, False, False
        self._lag = BRIEF if outcome.where == "node" else 0.0
        self._moving: deque[tuple[float, float]] = deque([(0.0, 0.0)])  # time [s] and motion relative to the limits
        self._early_since: float | None = None
        self._wrong_since: float | None = None
        self._swings_since: float | None = None

    @property
    def thrown(self) -> bool:
        """Whether a joint was faster than its limit before a command could react to the fault."""
        return bool((self._at_fault > SPEED_BAR * self._speed).any())

    # Motion -----------------------------------------------------------------------------------------------------------

    def see_motion(self, now: float, sensed: Any, *, led: bool, halted: bool = False) -> bool:
        """Judge the state of the plant.

        Args:
            now: time [s].
            sensed: state of the plant.
            led: whether nothing but the gate's commands moves the arm.
            halted: whether the gate gets no processor.

        Returns:
            Whether the case goes on: the arm is not faster than WILD.
        """
        outcome, speed = self._outcome, np.abs(sensed.velocity)
        self._moving.append((now, float(np.max(speed / self._speed))))
        while self._moving[0][0] < now - self._lag:
            self._moving.popleft()
        if self._start <= now < self._reached or halted:
            self._at_fault = np.maximum(self._at_fault, speed)
        if halted:
            self._reacts = max(self._reacts, now + STOP_BAR)
        allowed = self._speed if now < self._start else np.maximum(self._speed, self._at_fault)
        if now < self._start:
            self._at_fault = speed
        ratio = float(np.max(speed / allowed))
        outcome.speed_ratio = max(outcome.speed_ratio, min(ratio, WILD)) if np.isfinite(ratio) else WILD
        if not outcome.speed_ratio < WILD:
            return False
        if self._held is not None:
            moved = np.abs(sensed.position - self._held) / self._speed
            outcome.sag = max(outcome.sag, float(np.max(moved)))
        if not (self._reset and any(fault.displaced for fault in self._faults)):
            self._see_position(now, sensed)
        known = not (self._bends or any(fault.law in (FIRM, HOLDS) for fault in self._faults))
        self._see_acceleration(now, sensed.velocity, led=led and known and not self._misled(now))
        if self._base.size:
            share = float(np.max(np.abs(sensed.deflection) / self._base))
            outcome.base_ratio = max(outcome.base_ratio, share)
            seen = self._tripped or self._misled(now)
            self._swings_since = (self._swings_since or now) if share > 1.02 and not seen else None
            outcome.base_ignored |= now - (self._swings_since or now) > STOP_BAR
        return True

    def _see_position(self, now: float, sensed: Any) -> None:
        q, v = sensed.position, sensed.velocity
        if now < self._reacts:
            rests = q + v * np.abs(v) / (2.0 * self._acceleration)
            self._unavoidable = np.maximum(self._unavoidable, np.maximum(rests - self._upper, self._lower - rests))
        beyond = np.maximum(q - self._upper, self._lower - q) - self._unavoidable
        self._outcome.position_excess = max(self._outcome.position_excess, float(np.max(beyond / self._speed)))

    def _see_acceleration(self, now: float, velocity: Array, *, led: bool) -> None:
        """Compare the velocity with the one WINDOW ago; ``led``: as in :meth:`see_motion`."""
        past = self._velocities
        if not led:
            past.clear()
            return
        past.append((now, velocity.copy()))
        while len(past) > 1 and now - past[1][0] >= WINDOW - 1e-9:
            past.popleft()
        duration = now - past[0][0]
        if duration >= WINDOW - 1e-9:
            before = past[0][1]
            change = np.abs(velocity - before)
            if self._base.size:
                change = np.where(velocity * before > 0.0, np.abs(velocity) - np.abs(before), np.abs(velocity))
            mean = np.maximum(change, 0.0) / duration
            ratio = float(np.max(mean / self._acceleration)) / max(fault.quicker for fault in self._faults)
            self._outcome.acceleration_ratio = max(self._outcome.acceleration_ratio, ratio)

    def _misled(self, now: float) -> bool:
        """Return whether measurements or commands are missing, wrong or late."""
        return any(fault.start <= now and (fault.blind or fault.late or fault.drops) for fault in self._faults)

    # Commands and status ----------------------------------------------------------------------------------------------

    def see_first(self, command: Array, sensed: Any, weight: Array, asked: Array) -> None:
        """Judge the first command (n,) against what holds the arm: its position, no velocity, or its weight.

        ``weight`` (n,): the true one; an effort may lie anywhere between that and the described one. ``asked`` (n,):
        the effort beyond the weight that the law may request of this arm; the gate passes it on.
        """
        mode, model = self._outcome.mode, self._model
        if mode == "effort":
            state = ArmState(0, sensed.position, sensed.velocity, sensed.deflection, sensed.deflection_rate)
            told, most = model.gravity_effort(state), NEAR * model.effort_limit + asked
            off = command - np.clip(command, np.minimum(told, weight), np.maximum(told, weight))
        else:
            off, most = command - (sensed.position if mode == "position" else 0.0), NEAR * self._speed
        self._outcome.bad_start = not bool((np.abs(off) <= most).all())

    def see_status(self, now: float, seen: Seen, *, reset: bool, stopped: bool) -> None:
        """Judge the status.

        Args:
            now: time [s].
            seen: status.
            reset: whether a trip has been reset.
            stopped: whether the gate has stopped since the fault.
        """
        outcome, self._reset = self._outcome, reset
        if self._tripped and (seen.state != "tripped" or seen.trips > self._trips) and not reset:
            outcome.unlatched += 1
        self._tripped, self._trips = seen.state == "tripped", seen.trips
        halted = seen.state in ("stopping", "tripped") and seen.reason != NOT_LED and not reset
        wrong = (halted and not seen.error) or (seen.error and all(fault.harmless for fault in self._faults))
        outcome.mislabeled += self._wrong_since is None and wrong
        self._wrong_since = (self._wrong_since or now) if wrong else None
        early = stopped and seen.state == "running" and self._must_rest(now, reset=reset)
        self._early_since = (self._early_since or now) if early else None
        outcome.resumed_early |= early and now - (self._early_since or now) > BRIEF
        if self._stopping and seen.state == "running":
            outcome.resumed_early |= min(share for _, share in self._moving) > SLOW  # whenever it began to run
        self._stopping = seen.state == "stopping"

    def _must_rest(self, now: float, *, reset: bool) -> bool:
        """Return whether a fault lasts during which the gate must not run."""
        return len(self._faults) == 1 and any(
            fault.stops and not fault.may_resume and fault.start + STOP_BAR < now < fault.end
            for fault in self._faults
            if not (reset and fault.moving)
        )
