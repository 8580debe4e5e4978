"""Metrics: what can be measured of a recording. One function a metric, registered with its unit and options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array
from flexarm_tools.recording import Recording
from flexarm_tools.schema import Key, Kind

AFTER = Key("after", Kind.NUMBER, "first time that counts", "s", "the begin", minimum=0.0)
BEFORE = Key("before", Kind.NUMBER, "last time that counts", "s", "the end", above=0.0)
LAST = Key("last", Kind.NUMBER, "length of the final window", "s", "one natural period", above=0.0)
SINCE = Key("since", Kind.NUMBER, "when the clock starts", "s", "the time of the largest deflection", minimum=0.0)
THRESHOLD = Key("threshold", Kind.NUMBER, "settled below this part of the peak", "1", "0.05", above=0.0, below=1.0)
JOINTS = Key("joints", Kind.TEXTS, "elastic joints that count; all of one unit", default="all")
OPTIONS = (AFTER, BEFORE, LAST, SINCE, THRESHOLD, JOINTS)
WINDOW = (AFTER, BEFORE)


@dataclass(frozen=True, slots=True)
class MetricOptions:
    """Options of a metric; each metric uses those it is registered with.

    Attributes:
        after: first time that counts [s].
        before: last time that counts [s].
        last: length of the final window [s], None = one natural period.
        since: when the clock starts [s], None = at the largest deflection.
        threshold: settled below this part of the peak.
        joints: elastic joints that count, empty = all.
    """

    after: float = 0.0
    before: float = np.inf
    last: float | None = None
    since: float | None = None
    threshold: float = 0.05
    joints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Measurement:
    """Result of a metric.

    Attributes:
        value: NaN where it cannot be measured.
        at_least: the value is only a lower bound: what was waited for did not happen within the record.
        details: further facts for the figure, by name.
    """

    value: float
    at_least: bool = False
    details: dict[str, bool | float | str] = field(default_factory=dict)


Function = Callable[[Recording, MetricOptions], Measurement]


@dataclass(frozen=True, slots=True)
class Metric:
    """A registered metric.

    Attributes:
        name: as written in scenario files.
        unit: SI unit, ``1`` where it has none; ``deflection`` stands for the unit of the elastic joints.
        options: its options.
        function: measures a recording.
    """

    name: str
    unit: str
    options: tuple[Key, ...]
    function: Function

    @property
    def meaning(self) -> str:
        """First sentence of the function's docstring."""
        return (self.function.__doc__ or "").split("\n\n")[0].replace("\n    ", " ").strip().rstrip(".")

    def measure(self, recording: Recording, options: MetricOptions) -> Measurement:
        """Measure a recording."""
        return self.function(recording, options)

    def unit_for(self, recording: Recording, options: MetricOptions) -> str:
        """Unit of the value for this robot."""
        if self.unit == "deflection":
            return deflection_unit(recording.elastic_names, recording.elastic_units, options.joints)
        if self.unit == "effort":
            return " or ".join(sorted({"rad": "N*m", "m": "N"}[unit] for unit in set(recording.joint_units)))
        return self.unit


METRICS: dict[str, Metric] = {}


def metric(unit: str, *options: Key) -> Callable[[Function], Function]:
    """Register a function under its own name."""

    def register(function: Function) -> Function:
        METRICS[function.__name__] = Metric(function.__name__, unit, options, function)
        return function

    return register


def deflection_unit(names: tuple[str, ...], units: tuple[str, ...], joints: tuple[str, ...]) -> str:
    """Common unit of elastic joints.

    Raises:
        ConfigError: a joint that does not exist, or metres and radians together.
    """
    for name in joints:
        if name not in names:
            raise ConfigError(f"elastic joint '{name}' does not exist; elastic joints: {', '.join(names) or 'none'}")
    chosen = {unit for name, unit in zip(names, units, strict=True) if not joints or name in joints}
    if len(chosen) > 1:
        raise ConfigError("some elastic joints deflect in m, others in rad: choose those of one unit with 'joints'")
    return chosen.pop() if chosen else "m"


def _window(recording: Recording, options: MetricOptions) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = (recording.time >= options.after) & (recording.time <= options.before)
    return mask


def _final(recording: Recording, options: MetricOptions) -> NDArray[np.bool_]:
    last = recording.natural_period if options.last is None else options.last
    mask: NDArray[np.bool_] = recording.time >= recording.time[-1] - last  # all false where the period is NaN
    return mask


def _peak(values: Array) -> Measurement:
    return Measurement(float(np.max(values)) if values.size else np.nan)


def _rms(values: Array) -> Measurement:
    return Measurement(float(np.sqrt(np.mean(values**2))) if values.size else np.nan)


def _deflection(recording: Recording, options: MetricOptions) -> Array:
    """(T,) norm over the chosen elastic joints."""
    chosen = [not options.joints or name in options.joints for name in recording.elastic_names]
    with np.errstate(over="ignore"):  # a run that diverged
        norm: Array = np.linalg.norm(recording.deflection[:, np.array(chosen, dtype=bool)], axis=1)
    return norm


@metric("deflection", *WINDOW, JOINTS)
def peak_base_deflection(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest base deflection, `max ‖x_b(t)‖`, Euclidean norm over the elastic joints."""
    return _peak(_deflection(recording, options)[_window(recording, options)])


@metric("deflection", *WINDOW, JOINTS)
def rms_base_deflection(recording: Recording, options: MetricOptions) -> Measurement:
    """Root mean square of the base deflection, `sqrt(mean ‖x_b(t)‖²)`."""
    return _rms(_deflection(recording, options)[_window(recording, options)])


@metric("deflection", LAST, JOINTS)
def final_base_deflection(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest base deflection in the final window."""
    return _peak(_deflection(recording, options)[_final(recording, options)])


@metric("1", SINCE, THRESHOLD, JOINTS)
def settling_periods(recording: Recording, options: MetricOptions) -> Measurement:
    """Time until the base deflection stays below `threshold` (5 %) of its peak, in natural periods.

    ::

        A = max |x_b(t)|, t <= since            value = max(0, t_s - since) / T_n
        t_s = first tick after the last one with |x_b(t)| >= threshold * A

    Staying below must be seen for at least half a natural period, or a record that ends in a zero crossing would count
    as settled. Otherwise the value is the number of periods recorded since ``since``, a lower bound: ``settled`` is
    then false and a goal with ``<=`` does not hold. NaN where nothing deflected up to ``since``.
    """
    deflection, time, period = _deflection(recording, options), recording.time, recording.natural_period
    since = float(time[np.argmax(deflection)]) if options.since is None else options.since
    before = deflection[time <= since]
    peak = float(np.max(before)) if before.size else 0.0
    if not (peak > 0.0 and np.isfinite(deflection).all() and np.isfinite(period)):
        return Measurement(np.nan, details={"settled": False})
    above = np.flatnonzero(deflection >= options.threshold * peak)
    first = int(above[-1]) + 1 if above.size else 0
    if first >= len(time) or time[-1] - max(float(time[first]), since) < 0.5 * period:
        return Measurement(max(0.0, (time[-1] - since) / period), at_least=True, details={"settled": False})
    return Measurement(max(0.0, (float(time[first]) - since) / period), details={"settled": True})


@metric("m", *WINDOW)
def tracking_error(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance of tool and reference over the tracked x, y, z, in the reference's frame."""
    return _peak(recording.tracking_error[_window(recording, options) & recording.has_reference])


@metric("m", *WINDOW)
def tracking_error_rms(recording: Recording, options: MetricOptions) -> Measurement:
    """Root mean square of the distance of tool and reference."""
    return _rms(recording.tracking_error[_window(recording, options) & recording.has_reference])


@metric("m", LAST)
def final_tracking_error(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance of tool and reference in the final window."""
    return _peak(recording.tracking_error[_final(recording, options) & recording.has_reference])


@metric("effort", *WINDOW)
def peak_effort(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest size of any joint's effort."""
    return _peak(np.abs(recording.effort[_window(recording, options)]))


@metric("N", *WINDOW)
def peak_base_force(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest force of the arm on its base, `max ‖f(t)‖`, weight included where there is gravity."""
    return _peak(np.linalg.norm(recording.base_wrench[_window(recording, options), :3], axis=1))


@metric("m/rad", *WINDOW)
def smallest_restricted_singular_value(recording: Recording, options: MetricOptions) -> Measurement:
    """Smallest `sigma_min(J P_RNS)` while a tool task runs: how near the arm came to an algorithmic singularity."""
    values = recording.smallest_restricted_singular_value[_window(recording, options) & recording.has_reference]
    return Measurement(float(np.min(values)) if values.size else np.nan)


def _latency(recording: Recording, options: MetricOptions, percent: float) -> Measurement:
    values = recording.tick_latency[_window(recording, options)]
    values = values[np.isfinite(values)]
    return Measurement(float(np.percentile(values, percent)) if values.size else np.nan)


@metric("s", *WINDOW)
def tick_latency_p50(recording: Recording, options: MetricOptions) -> Measurement:
    """Median wall time from `/joint_states` to the command that answers it."""
    return _latency(recording, options, 50.0)


@metric("s", *WINDOW)
def tick_latency_p99(recording: Recording, options: MetricOptions) -> Measurement:
    """99th percentile of the wall time from `/joint_states` to the command that answers it."""
    return _latency(recording, options, 99.0)


@metric("s", *WINDOW)
def tick_latency_max(recording: Recording, options: MetricOptions) -> Measurement:
    """Longest wall time from `/joint_states` to the command that answers it."""
    return _latency(recording, options, 100.0)


@metric("1")
def watchdog_stops(recording: Recording, options: MetricOptions) -> Measurement:
    """Times that the hardware gate stopped the arm for want of good input."""
    return Measurement(float(recording.watchdog_stops))


@metric("1")
def lockstep_timeouts(recording: Recording, options: MetricOptions) -> Measurement:
    """Times that no command answered a state in lockstep."""
    return Measurement(float(recording.lockstep_timeouts))


@metric("1")
def lost_samples(recording: Recording, options: MetricOptions) -> Measurement:
    """Ticks of which something was not recorded."""
    return Measurement(float(recording.lost_samples))


@metric("1")
def node_deaths(recording: Recording, options: MetricOptions) -> Measurement:
    """Nodes that ended without being asked to."""
    return Measurement(float(len(recording.node_deaths)))


def markdown_metrics() -> str:
    """Table of metrics as it stands in docs/scenario.md."""
    rows = ["| metric | unit | options | what it is |", "|---|---|---|---|"]
    words = {"deflection": "m or rad", "effort": "N*m or N"}
    for name, entry in METRICS.items():
        options = ", ".join(f"`{option.name}`" for option in entry.options) or "none"
        rows.append(f"| `{name}` | {words.get(entry.unit, entry.unit)} | {options} | {entry.meaning} |")
    return "\n".join(rows)
