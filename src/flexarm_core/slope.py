"""Slope: velocities from positions, by the least-squares line through those of a window, over their stamps as they are.

It is the velocity in the middle of the window, so it is late by half of it.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from flexarm_core.entrance import ANY, flags, number
from flexarm_core.turns import Turns
from flexarm_core.types import Array

LEAST_SPAN = 500_000  # [ns] between the first and the last sample of a slope
MOST = 64  # samples in a window
INTERVALS = 8  # between samples, of which the shortest is their period
GAP_WINDOWS, GAP_PERIODS = 4, 3  # a longer gap than both begins a new window
FIRST_GAP = 250_000_000  # [ns] the same while the period is not known
QUARTER = 0.5 * math.pi  # [rad] that an endless joint moves at most between two samples, at its velocity limit
GROWN = 1.25  # factor by which the delay of velocities must have grown to be counted anew: gains are checked for it
REORDERED = 20_000_000  # [ns] a sample that is older by less came out of order: it has no part in a slope


def counted(delay: float, before: float) -> float:
    """Return the delay to count [s], given the previous one: it changes only if it has grown, see GROWN."""
    return delay if delay > GROWN * before else before


class Slope:
    """Slope of the positions of some joints over a window.

    Attributes:
        begins: whether the newest sample is one of the first of a window, which cover too short a time.
    """

    def __init__(self, window: float, endless: Array, speed: float) -> None:
        """Differentiate positions of some joints.

        Args:
            window: window [s].
            endless: (k,) bool, joints of which the difference of two samples is the shortest way.
            speed: largest velocity of these [rad/s].

        Raises:
            InputError: a value has the wrong type or shape, or is not finite.
        """
        self._window = round(number("window", window, 0.0) * 1e9)
        self._turns, speed = Turns(flags("endless", endless, ANY).tolist()), number("speed", speed, 0.0)
        self._longest = 1e9 * QUARTER / speed if speed > 0.0 else math.inf  # [ns] then the shortest way may be wrong
        self._samples: deque[tuple[int, Array]] = deque(maxlen=MOST)
        self._intervals: deque[int] = deque(maxlen=INTERVALS)
        self._newest: Array | None = None
        self.begins = False

    @property
    def period(self) -> int:
        """Shortest of the last intervals between samples [ns]; 0: not known yet."""
        return min(self._intervals, default=0)

    def counted_delay(self, before: float) -> float:
        """Return the delay of the velocities to count [s], given the one counted before; 0: none was."""
        return counted(0.5 * max(self._window, self.period) * 1e-9, before)

    def add(self, stamp: int, position: Array) -> Array | None:
        """Return the velocity (k,) with the positions (k,) of a stamp [ns]; None: there is none yet, or none for it."""
        samples, self.begins = self._samples, False
        if samples and stamp == samples[-1][0]:
            return self._newest  # repeated
        if samples and stamp < samples[-1][0]:
            if samples[-1][0] - stamp > REORDERED:  # the clock was set back
                self._begin()
                self._intervals.clear()
                samples.append((stamp, position))
            return None
        if samples:
            interval = stamp - samples[-1][0]
            usual = GAP_PERIODS * self.period if self._intervals else FIRST_GAP
            if interval > min(max(GAP_WINDOWS * self._window, usual), self._longest):
                self._begin()
            else:
                position = samples[-1][1] + self._turns.difference(position, samples[-1][1])
            self._intervals.append(interval)
        samples.append((stamp, position))
        while len(samples) > 2 and self._is_spare(stamp):
            samples.popleft()
        self._newest = self._slope(stamp)
        return self._newest

    def _begin(self) -> None:
        self._samples.clear()
        self._newest = None

    def _is_spare(self, stamp: int) -> bool:
        """Return whether the oldest sample is out of the window, and the others span half of it."""
        oldest, second = self._samples[0][0], self._samples[1][0]
        return stamp - oldest > 1.1 * self._window and 2 * (stamp - second) >= self._window

    def _slope(self, stamp: int) -> Array | None:
        self.begins = stamp - self._samples[0][0] < LEAST_SPAN
        if self.begins:
            return None
        at = np.array([(one - stamp) * 1e-9 for one, _ in self._samples])
        at -= at.mean()
        slope: Array = at @ np.array([position for _, position in self._samples]) / (at @ at)
        return slope
