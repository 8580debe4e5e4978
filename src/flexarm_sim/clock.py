"""Times of configurations, in seconds, on the plant's clock of integer nanoseconds."""

from __future__ import annotations

from flexarm_core.errors import ConfigError

Interval = tuple[float, float]
StampInterval = tuple[int, int]


def to_stamp(time: float) -> int:
    """Nearest integer nanosecond of a time [s]; infinities become stamps beyond any run."""
    return round(max(-9.2e9, min(9.2e9, time)) * 1e9)


def to_stamps(intervals: tuple[Interval, ...]) -> tuple[StampInterval, ...]:
    """Intervals [s] in integer nanoseconds."""
    return tuple((to_stamp(start), to_stamp(end)) for start, end in intervals)


def is_inside(intervals: tuple[StampInterval, ...], stamp: int) -> bool:
    """Whether a stamp [ns] lies in one of the intervals; their starts belong to them, their ends do not."""
    return any(start <= stamp < end for start, end in intervals)


def check_interval(what: str, interval: Interval) -> None:
    """Refuse what is not ``(start, end)`` in seconds with its start before its end; the end may be infinite.

    Args:
        what: whose interval it is, for the message.
        interval: the value to check.

    Raises:
        ConfigError: it is none.
    """
    bounds = tuple(interval) if isinstance(interval, (tuple, list)) else ()
    if len(bounds) == 2 and all(isinstance(bound, (int, float)) for bound in bounds) and bounds[0] < bounds[1]:
        return
    raise ConfigError(f"{what}: {interval} is no interval, expected (start, end) in seconds with start before end")
