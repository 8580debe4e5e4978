"""StateRate: compares the rate of the joint states with the parameter of a node."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from flexarm_core.errors import InputError
from flexarm_nodes.messages.cdr import BODY, LITTLE_ENDIAN

GAPS = 25  # number of times between joint states of which the median counts
FASTER = 1.1  # factor by which the rate may exceed what is told, and joints of a position drive their limits
SLOWER = 3.5  # divisor by which it may be less: timers of software on a busy machine are late
_STAMP = struct.Struct("<iI")


class StateRate:
    """Measures the rate by the stamps.

    A gate keeps limits of velocities and accelerations with the configured period. If joint states come more often, its
    commands exceed the limits; if they come less often, the arm creeps. Gains, too, are checked for a period.

    Median and mean of the times between them must both be wrong: drivers that stamp what comes in bursts have a small
    median, and a pause makes a large mean.

    Attributes:
        measured: lower and higher one of the rates that mean and median say [Hz], 0 if unknown.
    """

    def __init__(self, told: Mapping[str, float], limiting: str = "") -> None:
        """Compare with rates by the names of their parameters [Hz].

        Args:
            told: rates.
            limiting: parameter of the gate that keeps limits by its rate; empty: there is none.
        """
        self._told, self._limiting = dict(told), limiting
        self.clear()

    def clear(self) -> None:
        """Forget what came."""
        self.measured, self._newest, self._gaps = (0.0, 0.0), 0, list[int]()

    def look(self, raw: bytes) -> None:
        """Look at the bytes of a joint state of the arm; a repeated or overtaken one says nothing."""
        if raw[:2] != LITTLE_ENDIAN or len(raw) < BODY + _STAMP.size:
            return
        seconds, rest = _STAMP.unpack_from(raw, BODY)
        stamp = seconds * 1_000_000_000 + rest
        gap, self._newest = stamp - self._newest, stamp
        if gap <= 0 or gap == stamp:
            return
        self._gaps.append(gap)
        if len(self._gaps) == GAPS:
            rates = 1e9 * GAPS / sum(self._gaps), 1e9 / sorted(self._gaps)[GAPS // 2]
            self.measured = min(rates), max(rates)
            self._gaps.clear()

    @property
    def doubt(self) -> str:
        """Configured rates that differ from that of the joint states; empty: none is known."""
        lower, higher = self.measured
        other = [name for name, rate in self._told.items() if higher and not self._is_near(rate)]
        if not other:
            return ""
        told = ", ".join(f"{name} is {self._told[name]:g} Hz" for name in other)
        rate = higher if higher < self._told[other[0]] else lower
        return f"joint states come at {rate:.3g} Hz, but {told}: set it to the rate of the joint states"

    def lead(self) -> None:
        """Let a joint state of the arm pass.

        Raises:
            InputError: it comes so early that a gate would exceed the limits.
        """
        if self._limiting and self.measured[0] > FASTER * self._told[self._limiting]:
            raise InputError(f"{self.doubt}; limits of velocity and acceleration would not hold")

    def _is_near(self, told: float) -> bool:
        return told / SLOWER <= self.measured[1] and self.measured[0] <= FASTER * told
