"""Fault: intercepts messages between plant, source of references, gate and drive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm_core.types import ArmState, Array, JointReference
from flexarm_tools.faults.arms import RANDOM, Arm
from flexarm_tools.faults.source import MOVES, Source

MODES = ("effort", "velocity", "position")
NODE, LOOP = "hardware_gate", "control_loop"
LAYOUTS = (NODE, LOOP)
FOREVER = 1e9
NOTICED = 0.1  # [s] time within which a lasting fault must cause a stop


@dataclass(frozen=True, slots=True)
class Unnamed:
    """A joint state without the names of the arm's joints."""

    stamp: int


State = ArmState | Unnamed
Late = tuple[float, State]  # delay [s] and delivered state


class Fault:
    """Passes everything on unchanged; each kind of fault overrides some of the methods.

    Class attributes:
        name: name of the kind.
        what: description for the table.
        blind: whether the gate has no plausible measurement during the fault.
        late: whether commands or measurements are so late that in effort mode the bar for blind cases applies.
        drops: whether messages to or from the gate get lost, or nothing but it moves the arm.
        cause: pattern that the gate's reason must match to name the cause.
        must: whether a lasting fault must cause a stop.
        must_not_trip: whether the gate must continue by itself.
        may_resume: whether the gate may resume during the fault, as after a permanent step of the clock.
        moving: whether it can be detected only while the arm moves: after a reset the gate may run until then.
        displaced: whether positions read wrong for good: after a reset, limits hold for what is read.
        modes: command modes in which it can occur.
        layouts: layouts in which it can occur: references of a control loop never leave its process.
        random_arms: names of the random arms to choose from.
        bends: whether it can occur on an arm whose links bend.
        pairs: whether it can occur together with another one.
        law: law of the source of references; except for MOVES, references always come from the campaign.
        core: whether it can be tried on the core gate; else only on nodes.
        drawn: whether a campaign of all kinds draws it; else only one that names it.
        nodes: whether it can be tried on real nodes.
        rates: rates of joint states to choose from [Hz].
        lasting: shortest and longest duration of a temporary fault [s].

    Attributes:
        start: start of the fault [s].
        end: end of the fault [s].
        unreached: time from the start in which commands of the gate do not reach the drives [s].
        quicker: ratio of the real rate of states to the configured rate: set points accelerate faster by this ratio.
        both: whether the source of references receives the same states as the gate; else only the gate is affected.
    """

    name = ""
    what = ""
    blind = False
    late = False
    drops = False
    cause = ""
    must = False
    may_resume = False
    moving = False
    displaced = False
    must_not_trip = False
    modes: tuple[str, ...] = MODES
    layouts: tuple[str, ...] = LAYOUTS
    random_arms: tuple[str, ...] = (RANDOM,)
    bends = True
    pairs = True
    law = MOVES
    core = drawn = True
    nodes = True
    rates: tuple[int, ...] = (250, 250, 500, 1000)
    lasting = (0.02, 1.0)  # [s]

    quicker = 1.0

    def __init__(self, rng: np.random.Generator, start: float) -> None:
        """Draw size and duration; ``rng`` is also used during the fault."""
        self.rng, self.start = rng, start
        self.end = FOREVER if rng.random() < 0.3 else start + log_uniform(rng, *self.lasting)
        self.both = rng.random() < 0.5
        self.size = self.unreached = 0.0
        self.draw()

    def draw(self) -> None:
        """Draw the parameters of the kind of fault."""

    @property
    def duration(self) -> float:
        """Duration [s]."""
        return self.end - self.start

    @property
    def stops(self) -> bool:
        """Whether it must cause a stop within NOTICED."""
        return self.must and self.duration > 0.15

    @property
    def harmless(self) -> bool:
        """Whether it must not cause a stop."""
        return False

    def on(self, now: float) -> bool:
        """Return whether the fault is active."""
        return self.start <= now < self.end

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        """Return the deliveries of a measured state, each with its delay [s]."""
        return ((0.0, state),)

    def reference(self, reference: JointReference, now: float) -> Sequence[tuple[float, JointReference]]:
        """Return the deliveries of a reference, each with its delay [s]."""
        return ((0.0, reference),)

    def command(self, command: Array, now: float) -> Sequence[tuple[float, Array]]:
        """Return the deliveries of a command, each with its delay [s]."""
        return ((0.0, command),)

    def clock(self, now: float) -> float:
        """Return the offset of the ROS clock from the monotonic clock [s]."""
        return 0.0

    def configured_rate(self, rate: int) -> float:
        """Return the rate of states that is configured in the gate [Hz]."""
        return float(rate)

    def halts(self, now: float) -> bool:
        """Return whether the process of the gate gets no processor."""
        return False

    def stuck(self, now: float) -> bool:
        """Return whether brakes hold the arm."""
        return False

    def ends_control(self, now: float) -> bool:
        """Return whether the gate has been asked to end."""
        return False

    def plants(self, text: str, source: Source, arm: Arm) -> tuple[str, str]:
        """Return the robot description of the plant before and after the start of the fault."""
        return text, text

    def describe(self) -> str:
        """Describe the fault for the list of cases."""
        lasts = "on" if self.end == FOREVER else f"{self.duration:.3f} s"
        return f"{self.name} at {self.start:.3f} s, {lasts}, size {self.size:.3g}"


def log_uniform(rng: np.random.Generator, lowest: float, highest: float) -> float:
    """Return a random number whose logarithm is uniformly distributed."""
    return float(np.exp(rng.uniform(np.log(lowest), np.log(highest))))
