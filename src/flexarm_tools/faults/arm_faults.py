"""Faults of the arm and its drives: brakes, lost commands, and end of control during motion."""

from __future__ import annotations

from collections.abc import Sequence

from flexarm_core.types import Array
from flexarm_tools.faults.fault import FOREVER, Fault


class NoFault(Fault):
    """No fault: the gate must not stop the arm."""

    name, what = "none", "no fault"

    @property
    def harmless(self) -> bool:
        return True


class StuckArm(Fault):
    """The brakes hold the arm and release it."""

    name, what = "stuck_arm", "brakes hold the arm for 0.1 s or longer and let go"
    cause = r"follow|stuck|track|frozen|move|command|believ|listen"
    drops = True
    lasting = (0.1, 1.2)

    def draw(self) -> None:
        self.end = min(self.end, self.start + 1.2)

    def stuck(self, now: float) -> bool:
        return self.on(now)


class ControlEnds(Fault):
    """The gate is deactivated while the arm moves."""

    name, what = "deactivated", "deactivated while the arm moves"
    cause = r"deactivat|end|signal|SIG"

    def draw(self) -> None:
        self.end = FOREVER

    def ends_control(self, now: float) -> bool:
        return self.on(now)


class Terminated(ControlEnds):
    """The process receives SIGTERM while the arm moves."""

    name, what = "terminated", "SIGTERM while the arm moves"
    core = False


class CommandsCut(Fault):
    """Commands do not reach the drives, which have a watchdog timeout."""

    name, what = "commands_cut", "commands do not reach the drives (which have a watchdog)"
    cause = r"command|drive|follow|away from its reference|move|listen|frozen"
    drops = True

    def command(self, command: Array, now: float) -> Sequence[tuple[float, Array]]:
        return () if self.on(now) else ((0.0, command),)


ARM_FAULTS = (NoFault, StuckArm, ControlEnds, Terminated, CommandsCut)
