"""Faults of time: future stamps, clocks that jump or stop, and delays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flexarm_core.types import Array, JointReference
from flexarm_tools.faults.fault import FOREVER, LAYOUTS, NODE, Fault, State, log_uniform


def shifted(stamp: int, seconds: float) -> int:
    """Return a stamp [ns] shifted by some seconds."""
    return stamp + round(seconds * 1e9)


class StateAhead(Fault):
    """Joint states have future stamps: one, or all during the fault."""

    name, what = "state_ahead", "joint states stamped 0.05 to 10 s ahead, one or many"
    cause = r"ahead|time went back|between the stamps"
    must = True

    def draw(self) -> None:
        self.size = log_uniform(self.rng, 0.05, 10.0)
        self.once = self.rng.random() < 0.5
        self._done = False

    @property
    def stops(self) -> bool:
        return not self.once and self.duration > 0.15 and self.size > 0.1

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        if not self.on(now) or (self.once and self._done):
            return ((0.0, state),)
        self._done = True
        ahead = replace(state, stamp=shifted(state.stamp, self.size))
        return ((0.0, state), (0.0, ahead)) if self.once else ((0.0, ahead),)


class ClockBack(Fault):
    """The clock of all stamps steps back permanently."""

    name, what = "clock_back", "clock of all stamps steps back by 0.05 to 10 s"
    cause = r"stamp|clock|time (went back|jumped)"
    may_resume = True
    must = True
    sign = -1.0

    def draw(self) -> None:
        self.end = FOREVER
        self.size = log_uniform(self.rng, 0.05, 10.0)

    @property
    def stops(self) -> bool:
        return self.size > 0.2

    def clock(self, now: float) -> float:
        return self.sign * self.size if self.on(now) else 0.0


class ClockForward(ClockBack):
    """The clock of all stamps steps forward permanently."""

    name, what = "clock_forward", "clock of all stamps steps forward by 0.05 to 10 s"
    sign = 1.0


class ReferencesAhead(Fault):
    """References have stamps ahead of the states; or one is far ahead, and no more follow."""

    name, what = "references_ahead", "references stamped 0.05 to 1000 s ahead of the states, or one and then none"
    cause = r"reference"
    must = True
    layouts = (NODE,)

    def draw(self) -> None:
        self.last = self.rng.random() < 0.3
        self.size = log_uniform(self.rng, 0.05, 1000.0)
        self.cause = r"stamped .* ahead" if self.size > 0.1 else r"reference"
        self._done = False

    @property
    def stops(self) -> bool:
        return self.duration > 0.15 and (self.last or self.size > 0.1)

    def reference(self, reference: JointReference, now: float) -> Sequence[tuple[float, JointReference]]:
        if not self.on(now):
            return ((0.0, reference),)
        if self.last and self._done:
            return ()
        self._done = True
        return ((0.0, replace(reference, stamp=shifted(reference.stamp, self.size))),)


class ClockBackAsInputEnds(Fault):
    """The clock steps back at the moment at which the joint states end."""

    name, what = "clock_back_as_states_end", "system clock set back by 1 to 10 s as joint states end"
    cause = r"state|clock|time"
    must = True
    blind = True

    def draw(self) -> None:
        self.size = log_uniform(self.rng, 1.0, 10.0)

    def clock(self, now: float) -> float:
        return -self.size if now >= self.start else 0.0

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        return () if self.on(now) else ((0.0, state),)


class ClockStopped(Fault):
    """The ROS clock stops and the joint states end: /clock with use_sim_time."""

    name, what = "clock_stopped", "clock stops (use_sim_time, /clock ends) when joint states end"
    cause = r"state|clock|time"
    must = True
    blind = True

    def clock(self, now: float) -> float:
        return min(0.0, self.start - now) if now < self.end else self.start - self.end

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        return () if self.on(now) else ((0.0, state),)


class Delays(Fault):
    """Joint states and commands are delayed."""

    name, what = "delays", "joint states and commands 10 to 100 ms late each way"
    cause = r"late|delay|old|state|command|reference|track|follow|limit|satur"
    lasting = (0.2, 1.5)
    late = True

    def draw(self) -> None:
        self.size = log_uniform(self.rng, 0.01, 0.1)
        self.ways = [(True, False), (False, True), (True, True)][int(self.rng.integers(3))]
        self.jitter = float(self.rng.choice([0.0, 0.3]))
        self.unreached = self.size * (1.0 + self.jitter) if self.ways[1] else 0.0

    def _late(self) -> float:
        return self.size * float(1.0 + self.jitter * self.rng.uniform(-1.0, 1.0))

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        return ((self._late() if self.ways[0] and self.on(now) else 0.0, state),)

    def command(self, command: Array, now: float) -> Sequence[tuple[float, Array]]:
        return ((self._late() if self.ways[1] and self.on(now) else 0.0, command),)


class MachineLate(Fault):
    """The process of the gate gets no processor, once or again and again; messages wait, and replace each other."""

    name, what = "machine_late", "the gate gets no processor for 0.01 to 0.6 s, once or again and again"
    cause = r"late|state|reference|time"
    lasting = (0.05, 2.0)
    late = True
    must_not_trip = True
    nodes = False

    def draw(self) -> None:
        if self.end == FOREVER:
            self.end = self.start + self.lasting[1]
        self.size = log_uniform(self.rng, 0.01, 0.6)
        self._halts, begin = [], self.start
        while begin < self.end:
            halt = min(self.size * float(self.rng.uniform(0.3, 1.0)), self.end - begin)
            self._halts.append((begin, begin + halt))
            begin += halt + log_uniform(self.rng, 0.005, 0.5)

    def halts(self, now: float) -> bool:
        return any(begin <= now < end for begin, end in self._halts)


class WrongRate(Fault):
    """The rate parameter of the gate differs from the actual rate of the states."""

    name, what = "wrong_rate", "states arrive at 1/4 to 4 times the configured rate"
    cause = r"rate|often"

    def draw(self) -> None:
        self.size = log_uniform(self.rng, 0.25, 4.0)
        self.quicker = max(self.size, 1.0)

    def configured_rate(self, rate: int) -> float:
        return rate / self.size


class Jitter(Fault):
    """Messages are up to 3 ms late or duplicated, and thus out of order, as in a normal network."""

    name, what = "jitter", "messages 0 to 3 ms late, some twice, some out of order"
    layouts = LAYOUTS

    def draw(self) -> None:
        self.size = float(self.rng.uniform(0.0005, 0.003))

    @property
    def harmless(self) -> bool:
        return True

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        return [(delay, state) for delay in self._delays(now)]

    def reference(self, reference: JointReference, now: float) -> Sequence[tuple[float, JointReference]]:
        return [(delay, reference) for delay in self._delays(now)]

    def _delays(self, now: float) -> list[float]:
        if not self.on(now):
            return [0.0]
        return [float(self.rng.uniform(0.0, self.size)) for _ in range(1 + (self.rng.random() < 0.1))]


TIME_FAULTS = (
    StateAhead, ClockBack, ClockForward, ReferencesAhead, ClockBackAsInputEnds, ClockStopped, Delays, Jitter, WrongRate,
    MachineLate,
)  # fmt: skip
