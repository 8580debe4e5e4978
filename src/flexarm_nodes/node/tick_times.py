"""TickTimes: a histogram of tick durations; adding a tick costs the same however many were counted."""

from __future__ import annotations

import math

import numpy as np

FIRST, RATIO, BINS = 1e-5, 1.02, 600  # [s] first bin's upper edge, ratio of successive edges, bin count: up to 1.4 s


class TickTimes:
    """Counts tick durations in bins whose edges grow by 2 %.

    Attributes:
        count: number of ticks.
    """

    def __init__(self) -> None:
        """Start with an empty histogram."""
        self.reset()

    def reset(self) -> None:
        """Empty the histogram."""
        self._counts = np.zeros(BINS, dtype=np.int64)
        self.count = 0
        self._longest = 0.0

    def add(self, duration: float) -> None:
        """Count a tick of this duration [s]."""
        place = math.ceil(math.log(duration / FIRST) / math.log(RATIO)) if duration > FIRST else 0
        self._counts[min(place, BINS - 1)] += 1
        self.count += 1
        self._longest = max(self._longest, duration)

    def percentile(self, percent: float) -> float:
        """Return the duration [s] that ``percent`` % of the ticks did not exceed, at most 2 % too long, or NaN."""
        total = np.cumsum(self._counts)
        if not total[-1]:
            return math.nan
        return min(float(FIRST * RATIO ** np.searchsorted(total, percent / 100.0 * total[-1])), self._longest)

    def values(self) -> dict[str, str]:
        """Return count, median, 99th percentile and maximum [ms], for diagnostics."""
        p50, p99 = self.percentile(50.0), self.percentile(99.0)
        return {
            "ticks": str(self.count),
            "tick_p50_ms": f"{1e3 * p50:.3f}",
            "tick_p99_ms": f"{1e3 * p99:.3f}",
            "tick_max_ms": f"{1e3 * self._longest:.3f}",
        }

    def summary(self) -> str:
        """Return the same numbers as a sentence."""
        p50, p99 = (1e3 * self.percentile(percent) for percent in (50.0, 99.0))
        return f"{self.count} ticks: median {p50:.3f}, 99 % within {p99:.3f}, longest {1e3 * self._longest:.3f} ms"
