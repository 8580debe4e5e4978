"""Faults of the drives: motors that act backward, not at all, or on another joint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from flexarm_core.types import Array
from flexarm_tools.faults.fault import FOREVER, Fault


class DriveFault(Fault, ABC):
    """The efforts that act are others than those commanded, from the beginning unless the kind says otherwise.

    Tried only where it is asked for by name: a gate cannot keep every such arm within the bars, see docs/safety.md.
    """

    cause = r"wrong way|velocity limit|slow|away from its reference"
    modes = ("effort",)
    pairs = nodes = drawn = False
    late = True  # nothing is seen of it before the arm moves

    def draw(self) -> None:
        self.start, self.end = 0.0, FOREVER
        self.joint = int(self.rng.integers(1000))

    def command(self, command: Array, now: float) -> Sequence[tuple[float, Array]]:
        acting = command.copy()
        if self.on(now):
            self.change(acting, self.joint % acting.size)
        return ((0.0, acting),)

    @abstractmethod
    def change(self, effort: Array, joint: int) -> None:
        """Change what acts (n,); ``joint``: the one with the defect."""


class ReversedMotor(DriveFault):
    """The effort of one joint acts backward, as if a motor, an encoder or an axis were reversed."""

    name, what = "motor_reversed", "the effort of one joint acts backward from the start"

    def change(self, effort: Array, joint: int) -> None:
        effort[joint] *= -1.0


class DeadMotor(DriveFault):
    """One motor gives no effort, from the beginning or while the arm moves: a fuse, a cable, a drive that is off."""

    name, what = "motor_dead", "one motor gives no effort, from the start or during the run"

    def draw(self) -> None:
        begins = self.start
        super().draw()
        self.start = begins if self.rng.random() < 0.5 else 0.0

    def change(self, effort: Array, joint: int) -> None:
        effort[joint] = 0.0


class SwappedMotors(DriveFault):
    """The efforts of two joints act on each other, as if their cables or channels were exchanged."""

    name, what = "motors_swapped", "the motors of two joints swapped from the start"

    def draw(self) -> None:
        super().draw()
        self.other = int(self.rng.integers(1000))

    def change(self, effort: Array, joint: int) -> None:
        other = (joint + 1 + self.other % (effort.size - 1)) % effort.size
        effort[joint], effort[other] = effort[other], effort[joint]


DRIVE_FAULTS = (ReversedMotor, DeadMotor, SwappedMotors)
