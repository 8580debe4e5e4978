"""Faults of the drives: a motor that acts the wrong way."""

from __future__ import annotations

from collections.abc import Sequence

from flexarm_core.types import Array
from flexarm_tools.faults.fault import FOREVER, Fault


class ReversedMotor(Fault):
    """The effort of one joint acts backward from the beginning, as if a motor, an encoder or an axis were reversed.

    Tried only where it is asked for by name: a gate cannot keep every such arm within the bars, see docs/safety.md.
    """

    name, what = "motor_reversed", "the effort of one joint acts backward from the start"
    cause = r"wrong way|velocity limit|slow|away from its reference"
    modes = ("effort",)
    pairs = nodes = drawn = False
    late = True  # nothing is seen of it before the arm moves

    def draw(self) -> None:
        self.start, self.end = 0.0, FOREVER
        self.joint = int(self.rng.integers(1000))

    def command(self, command: Array, now: float) -> Sequence[tuple[float, Array]]:
        acting = command.copy()
        acting[self.joint % acting.size] *= -1.0
        return ((0.0, acting),)


DRIVE_FAULTS = (ReversedMotor,)
