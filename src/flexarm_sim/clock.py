"""Conversion of times in seconds to the plant's clock of integer nanoseconds."""

from __future__ import annotations

from flexarm_core.errors import ConfigError

Interval = tuple[float, float]
StampInterval = tuple[int, int]


def to_stamp(time: float) -> int:
    """Return a time [s] as the nearest integer nanosecond; infinities become stamps beyond any run."""
    return round(max(-9.2e9, min(9.2e9, time)) * 1e9)


def to_stamps(intervals: tuple[Interval, ...]) -> tuple[StampInterval, ...]:
    """Return intervals [s] in integer nanoseconds."""
    return tuple((to_stamp(start), to_stamp(end)) for start, end in intervals)


def is_inside(intervals: tuple[StampInterval, ...], stamp: int) -> bool:
    """Return whether a stamp [ns] lies in one of the half-open intervals [start, end)."""
    return any(start <= stamp < end for start, end in intervals)


def check_interval(what: str, interval: Interval) -> None:
    """Check that a value is ``(start, end)`` in seconds with start before end; the end may be infinite.

    Args:
        what: name of the interval, for the message.
        interval: value to check.

    Raises:
        ConfigError: the value is not such an interval.
    """
    bounds = tuple(interval) if isinstance(interval, (tuple, list)) else ()
    if len(bounds) == 2 and all(isinstance(bound, (int, float)) for bound in bounds) and bounds[0] < bounds[1]:
        return
    raise ConfigError(f"{what}: {interval} is no interval, expected (start, end) in seconds with start before end")
