"""TickTimes: how long ticks took, as a histogram: a tick costs the same however many there were."""

from __future__ import annotations

import math

import numpy as np

FIRST, RATIO, BINS = 1e-5, 1.02, 600  # [s] upper edge of the first bin, of each to the next: up to 1.4 s


class TickTimes:
    """Counts durations in bins that grow by 2 %.

    Attributes:
        count: number of ticks.
    """

    def __init__(self) -> None:
        """Nothing has been counted."""
        self.reset()

    def reset(self) -> None:
        """Forget what was counted."""
        self._counts = np.zeros(BINS, dtype=np.int64)
        self.count = 0
        self._longest = 0.0

    def add(self, duration: float) -> None:
        """Count a tick [s]."""
        place = math.ceil(math.log(duration / FIRST) / math.log(RATIO)) if duration > FIRST else 0
        self._counts[min(place, BINS - 1)] += 1
        self.count += 1
        self._longest = max(self._longest, duration)

    def percentile(self, percent: float) -> float:
        """Duration [s] that this part of the ticks did not exceed, at most 2 % too long; NaN where there are none."""
        total = np.cumsum(self._counts)
        if not total[-1]:
            return math.nan
        return min(float(FIRST * RATIO ** np.searchsorted(total, percent / 100.0 * total[-1])), self._longest)

    def values(self) -> dict[str, str]:
        """Median, 99th percentile and longest [ms], for diagnostics."""
        p50, p99 = self.percentile(50.0), self.percentile(99.0)
        return {
            "ticks": str(self.count),
            "tick_p50_ms": f"{1e3 * p50:.3f}",
            "tick_p99_ms": f"{1e3 * p99:.3f}",
            "tick_max_ms": f"{1e3 * self._longest:.3f}",
        }

    def said(self) -> str:
        """The same in words."""
        p50, p99 = (1e3 * self.percentile(percent) for percent in (50.0, 99.0))
        return f"{self.count} ticks: median {p50:.3f}, 99 % within {p99:.3f}, longest {1e3 * self._longest:.3f} ms"
