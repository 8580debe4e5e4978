"""Faults of message contents: lost, wrong and implausible states, references and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flexarm_core.types import ArmState, Array, JointReference
from flexarm_tools.faults.fault import MODES, NODE, Fault, State, Unnamed, log_uniform
from flexarm_tools.faults.source import BEYOND

FIELDS = (*MODES, "acceleration", "friction")  # of a reference
ABSURD = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e160, -1e160, 1e6, 100.0, -100.0, 0.0)


class StatesLost(Fault):
    """No joint states arrive."""

    name, what = "states_lost", "no joint states for 0.02 s or longer"
    cause = r"state"
    must = True
    blind = True

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        return () if self.on(now) else ((0.0, state),)


class StatesNotNumbers(Fault):
    """Joint states contain NaN or infinity."""

    name, what = "states_not_numbers", "joint states that hold NaN or infinity"
    cause = r"state|finite"
    must = True
    blind = True

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        if not self.on(now) or not isinstance(state, ArmState):
            return ((0.0, state),)
        bad = state.position.copy()
        bad[self.rng.integers(bad.size)] = self.rng.choice([np.nan, np.inf])
        return ((0.0, replace(state, position=bad) if self.rng.random() < 0.5 else replace(state, velocity=bad)),)


class StatesUnnamed(Fault):
    """Joint states do not contain joint names."""

    name, what = "states_unnamed", "joint states without names"
    cause = r"state|lack"
    must = True
    blind = True

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        return ((0.0, Unnamed(state.stamp) if self.on(now) else state),)


class StatesLostBadReferences(StatesLost):
    """No joint states arrive, while unusable references continue."""

    name, what = "states_lost_bad_references", "no joint states while unusable references continue"
    cause = r"state|reference|finite"
    must = True
    layouts = (NODE,)

    def draw(self) -> None:
        self.both = False  # otherwise there would be no references

    def reference(self, reference: JointReference, now: float) -> Sequence[tuple[float, JointReference]]:
        return ((0.0, spoiled(reference, np.nan) if self.on(now) else reference),)


class StatesFrozen(Fault):
    """The measured values are frozen while the stamps advance."""

    name, what = "states_frozen", "frozen values with fresh stamps"
    cause = r"fro[sz]en|believ|stand|move|state|measur"
    must = True
    blind = True
    _kept: ArmState | None = None

    def draw(self) -> None:
        self.both = True  # a fault of the sensor, not of the network

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        if not self.on(now) or not isinstance(state, ArmState):
            return ((0.0, state),)
        self._kept = self._kept or state
        return ((0.0, replace(self._kept, stamp=state.stamp)),)


class Spike(Fault):
    """One to three implausible readings."""

    name, what = "reading_spike", "one to three velocity or position readings that cannot be (up to 1e160)"
    cause = r"state|position|velocity|reading|believ|faster|jump"

    def draw(self) -> None:
        self.left = int(self.rng.integers(1, 4))
        self.size = log_uniform(self.rng, 5.0, 1e160 if self.rng.random() < 0.3 else 1e3) * self.rng.choice([-1, 1])
        self.field = "velocity" if self.rng.random() < 0.7 else "position"
        self.every = self.rng.random() < 0.3

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        if not self.on(now) or self.left == 0 or not isinstance(state, ArmState):
            return ((0.0, state),)
        self.left -= 1
        values = getattr(state, self.field).copy()
        values[slice(None) if self.every else self.rng.integers(values.size)] += self.size
        return ((0.0, replace(state, **{self.field: values})),)


class Absurd(Fault):
    """A fraction of the states contains a random wrong number at a random position."""

    name, what = "states_corrupted", "2 to 30 % of the joint states hold an absurd number somewhere"
    cause = r"state|position|velocity|reading|believ|finite|jump"

    def draw(self) -> None:
        self.size = log_uniform(self.rng, 0.02, 0.3)

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        if not self.on(now) or self.rng.random() > self.size or not isinstance(state, ArmState):
            return ((0.0, state),)
        name = "velocity" if self.rng.random() < 0.5 else "position"
        values = getattr(state, name).copy()
        values[self.rng.integers(values.size)] = self.rng.choice(ABSURD)
        return ((0.0, replace(state, **{name: values})),)


class ReferencesLost(Fault):
    """No references arrive."""

    name, what = "references_lost", "no references for 0.02 s or longer"
    cause = r"reference"
    must = True

    def reference(self, reference: JointReference, now: float) -> Sequence[tuple[float, JointReference]]:
        return () if self.on(now) else ((0.0, reference),)


class ReferencesUnusable(Fault):
    """References contain NaN or infinity."""

    name, what = "references_not_numbers", "references that hold NaN or infinity"
    cause = r"finite"
    must = True

    def draw(self) -> None:
        self.fields = (str(self.rng.choice(FIELDS)),) if self.rng.random() < 0.5 else MODES

    def reference(self, reference: JointReference, now: float) -> Sequence[tuple[float, JointReference]]:
        value = self.rng.choice([np.nan, np.inf])
        return ((0.0, spoiled(reference, value, self.fields) if self.on(now) else reference),)


class ReferencesHuge(Fault):
    """References are extremely large: one, or all during the fault."""

    name, what = "references_huge", "references of up to 1e308, one or many"
    cause = r"reference|effort|position|velocity|satur|limit"

    def draw(self) -> None:
        self.size = log_uniform(self.rng, 1e2, 1e308) * self.rng.choice([-1, 1])
        self.once = self.rng.random() < 0.5

    def reference(self, reference: JointReference, now: float) -> Sequence[tuple[float, JointReference]]:
        if not self.on(now):
            return ((0.0, reference),)
        if self.once:
            self.end = now
        return ((0.0, filled(reference, self.size)),)


class WildSource(Fault):
    """A faulty source: references far beyond the limits, in changing directions."""

    name, what = "wild_source", "references far beyond the limits, in changing directions"
    cause = r"reference|effort|satur|limit|track|follow"
    lasting = (0.1, 1.0)

    def draw(self) -> None:
        self.size = log_uniform(self.rng, 1.0, 1e3)
        self.change = float(self.rng.uniform(0.02, 0.5))
        self._until, self._signs = 0.0, np.zeros(0)

    def reference(self, reference: JointReference, now: float) -> Sequence[tuple[float, JointReference]]:
        if not self.on(now):
            return ((0.0, reference),)
        assert reference.position is not None
        if now >= self._until:
            self._until, self._signs = now + self.change, self.rng.choice([-1.0, 1.0], reference.position.size)
        return ((0.0, filled(reference, self.size * self._signs)),)


class LedBeyondLimits(Fault):
    """The path of the source leads beyond position limits."""

    name, what = (
        "led_beyond_limits",
        "a path beyond the position limits of joints",
    )
    cause = r"away from its reference|limit|effort|follow"
    law = BEYOND
    pairs = False

    def draw(self) -> None:
        self.end = self.start + 1.0


class WrongFriction(Fault):
    """The source specifies a wrong friction effort."""

    name, what = "wrong_friction", "a wrong friction in the reference, one or many"
    cause = r"friction|away from its reference|limit|believ|velocity"
    modes = ("effort",)

    def draw(self) -> None:
        self.size = log_uniform(self.rng, 5.0, 1e3) * self.rng.choice([-1, 1])
        self.once = self.rng.random() < 0.3

    def reference(self, reference: JointReference, now: float) -> Sequence[tuple[float, JointReference]]:
        if not self.on(now):
            return ((0.0, reference),)
        if self.once:
            self.end = now
        assert reference.effort is not None
        wrong = np.full_like(reference.effort, self.size)
        return ((0.0, replace(reference, effort=reference.effort + wrong, friction=wrong)),)


class TwoSources(Fault):
    """A second source sends contradicting references."""

    name, what = "two_sources", "two publishers of references that contradict each other"
    cause = r"reference|second|writer|track|limit|satur"
    layouts = (NODE,)

    def reference(self, reference: JointReference, now: float) -> Sequence[tuple[float, JointReference]]:
        if not self.on(now):
            return ((0.0, reference),)
        assert reference.position is not None and reference.velocity is not None and reference.effort is not None
        other = replace(
            reference, position=-reference.position, velocity=-2.0 * reference.velocity, effort=-reference.effort
        )
        return ((0.0, reference), (0.0, other))


class Loss(Fault):
    """A fraction of all messages is lost."""

    name, what = "loss", "5 to 30 % of states, references and commands lost, 50 to 1000 Hz"
    cause = r"state|reference|command|lost|loss|late|track"
    drops = True
    rates = (50, 100, 250, 500, 1000)
    lasting = (0.3, 1.5)

    def draw(self) -> None:
        self.size = float(self.rng.uniform(0.05, 0.3))

    def _kept(self, now: float) -> bool:
        return not self.on(now) or self.rng.random() > self.size

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        return ((0.0, state),) if self._kept(now) else ()

    def reference(self, reference: JointReference, now: float) -> Sequence[tuple[float, JointReference]]:
        return ((0.0, reference),) if self._kept(now) else ()

    def command(self, command: Array, now: float) -> Sequence[tuple[float, Array]]:
        return ((0.0, command),) if self._kept(now) else ()


class SingleLoss(Fault):
    """One message in fifty is lost, as in a normal network."""

    name, what = "single_loss", "one message in fifty lost"

    @property
    def harmless(self) -> bool:
        return True

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        return () if self.on(now) and self.rng.random() < 0.02 else ((0.0, state),)


def spoiled(reference: JointReference, value: float, fields: Sequence[str] = MODES) -> JointReference:
    """Return the reference with one number of some fields replaced; a friction that is not given becomes one."""
    changed: dict[str, Any] = {}
    for name in fields:
        given = getattr(reference, name)
        values = np.zeros_like(reference.position) if given is None else given.copy()
        values[0] = value
        changed[name] = values
    return replace(reference, **changed)


def filled(reference: JointReference, value: float | Array) -> JointReference:
    """Return the reference with all numbers of every commandable field (MODES) replaced."""
    return replace(reference, **{name: np.zeros_like(getattr(reference, name)) + value for name in MODES})


DATA_FAULTS = (
    StatesLost, StatesNotNumbers, StatesUnnamed, StatesLostBadReferences, StatesFrozen, Spike, Absurd, ReferencesLost,
    ReferencesUnusable, ReferencesHuge, WildSource, LedBeyondLimits, WrongFriction, TwoSources, Loss, SingleLoss,
)  # fmt: skip
