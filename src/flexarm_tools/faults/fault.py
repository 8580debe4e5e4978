"""What a fault is: a man in the middle between plant, source of references, gate and drive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm_core.types import ArmState, Array, JointReference

MODES = ("effort", "velocity", "position")
NODE, LOOP = "hardware_gate", "control_loop"
LAYOUTS = (NODE, LOOP)
FOREVER = 1e9
NOTICED = 0.1  # [s] from which on a lasting fault must have begun a stop


@dataclass(frozen=True, slots=True)
class Unnamed:
    """A joint state that lacks the names of the arm's joints."""

    stamp: int


State = ArmState | Unnamed
Late = tuple[float, State]  # delay [s] and what is delivered


class Fault:
    """Passes everything on; a kind of fault overrides what it does to it.

    Class attributes:
        name: of the kind.
        what: in words, for the table.
        blind: whether the gate has no believable measurement while it lasts.
        late: whether commands or measurements come so late that effort mode has the bar of blindness.
        cause: pattern of what names it in the gate's reason.
        must: whether it must begin a stop, where it lasts.
        may_resume: whether the gate may run again while it lasts, as with a clock that has stepped for good.
        modes: command modes in which it can occur.
        layouts: where it can occur: references of a control loop never leave its process.
        core: whether it can be tried on the core; else only on nodes.
        nodes: whether it can be tried on real nodes.

    Attributes:
        start: when it begins [s].
        end: when it ends [s].
        unreached: time from the start in which nothing that the gate does reaches the drives [s].
        both: whether the source of references gets the same states as the gate; else the gate alone is deceived.
    """

    name = ""
    what = ""
    blind = False
    late = False
    cause = ""
    must = False
    may_resume = False
    modes: tuple[str, ...] = MODES
    layouts: tuple[str, ...] = LAYOUTS
    core = True
    nodes = True
    rates: tuple[int, ...] = (250, 250, 500, 1000)
    lasting = (0.02, 1.0)  # [s] shortest and longest, of those that end

    def __init__(self, rng: np.random.Generator, start: float) -> None:
        """Draw its size and duration; ``rng`` serves it while it lasts, too."""
        self.rng, self.start = rng, start
        self.end = FOREVER if rng.random() < 0.3 else start + log_uniform(rng, *self.lasting)
        self.both = rng.random() < 0.5
        self.size = self.unreached = 0.0
        self.draw()

    def draw(self) -> None:
        """Draw what else there is to draw."""

    @property
    def duration(self) -> float:
        """How long it lasts [s]."""
        return self.end - self.start

    @property
    def stops(self) -> bool:
        """Whether it must begin a stop within NOTICED."""
        return self.must and self.duration > 0.15

    @property
    def harmless(self) -> bool:
        """Whether no stop may come of it."""
        return False

    def on(self, now: float) -> bool:
        """Whether it is in force."""
        return self.start <= now < self.end

    def state(self, state: State, now: float) -> Sequence[tuple[float, State]]:
        """What becomes of a measured state: deliveries, each with its delay [s]."""
        return ((0.0, state),)

    def reference(self, reference: JointReference, now: float) -> Sequence[tuple[float, JointReference]]:
        """What becomes of a reference."""
        return ((0.0, reference),)

    def command(self, command: Array, now: float) -> Sequence[tuple[float, Array]]:
        """What becomes of a command."""
        return ((0.0, command),)

    def clock(self, now: float) -> float:
        """What the ROS clock says beyond the monotonic one [s]."""
        return 0.0

    def told_rate(self, rate: int) -> float:
        """What the gate is told of the rate of states [Hz]."""
        return float(rate)

    def stuck(self, now: float) -> bool:
        """Whether brakes hold the arm."""
        return False

    def ends_control(self, now: float) -> bool:
        """Whether the gate has been asked to end."""
        return False

    def said(self) -> str:
        """Its figures, for the list of cases."""
        lasts = "on" if self.end == FOREVER else f"{self.duration:.3f} s"
        return f"{self.name} at {self.start:.3f} s, {lasts}, size {self.size:.3g}"


def log_uniform(rng: np.random.Generator, lowest: float, highest: float) -> float:
    """A random number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(lowest), np.log(highest))))
