"""Registry of metrics: functions of a recording, registered under their names with unit and options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array
from flexarm_tools.recording.recording import Recording
from flexarm_tools.yaml_file.schema import Key, Kind

AFTER = Key("after", Kind.NUMBER, "first time that counts", "s", "begin of the run", minimum=0.0)
BEFORE = Key("before", Kind.NUMBER, "last time that counts", "s", "end of the run", above=0.0)
LAST = Key("last", Kind.NUMBER, "length of the final window", "s", "one natural period of the base", above=0.0)
SINCE = Key("since", Kind.NUMBER, "start of the measured time", "s", "the time of the largest value", minimum=0.0)
THRESHOLD = Key("threshold", Kind.NUMBER, "settled below this fraction of the peak", "1", "0.05", above=0.0, below=1.0)
JOINTS = Key("joints", Kind.TEXTS, "elastic joints that count; all of one unit", default="all")
DIRECTION = Key(
    "direction", Kind.VECTOR, "direction that the metric uses or leaves out, in axes of the root link", "1", "[0, 0, 1]"
)
WANTED = Key("wanted", Kind.NUMBER, "desired force", "N", above=0.0)
RESOLUTION = Key("resolution", Kind.NUMBER, "resolution of the joint encoders", "rad or m", above=0.0)
JOINT = Key("joint", Kind.TEXT, "actuated joint that counts")
POSITION = Key("position", Kind.NUMBER, "desired position of the joint", "rad or m", "0")
OPTIONS = (AFTER, BEFORE, LAST, SINCE, THRESHOLD, JOINTS, DIRECTION, WANTED, RESOLUTION, JOINT, POSITION)
WINDOW = (AFTER, BEFORE)
NO_VALUES = "nothing was recorded of it in the time that counts"
DIVERGED = "it is not finite: the run diverged"
MOMENTA = {"m": "kg*m/s", "rad": "kg*m^2/s"}  # unit of momentum by unit of the elastic joint


@dataclass(frozen=True, slots=True)
class MetricOptions:
    """Options of a metric; each metric uses the options with which it is registered."""

    after: float = 0.0  # start of the evaluated time [s]
    before: float = np.inf  # end of the evaluated time [s]
    last: float | None = None  # length of the final window [s], None = one natural period
    since: float | None = None  # reference time of a settling time [s], None = time of the largest value
    threshold: float = 0.05  # fraction of the peak below which a signal has settled
    joints: tuple[str, ...] = ()  # elastic joints to evaluate, empty = all
    # (3,) direction of a force to evaluate, or of a distance to ignore; any nonzero length
    direction: tuple[float, float, float] = (0.0, 0.0, 1.0)
    wanted: float | None = None  # desired force [N], None = not given
    resolution: float | None = None  # resolution of the joint encoders [rad | m], None = not given
    joint: str = ""  # actuated joint to evaluate, empty = not given
    position: float = 0.0  # desired position of that joint [rad | m]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Result of a metric."""

    value: float  # measured value, NaN if it cannot be measured
    # whether the value is only a lower bound, because the expected event is not in the recording
    at_least: bool = False
    # additional information for the figure, by name; `reason`: why it could not be measured
    details: dict[str, bool | float | str] = field(default_factory=dict)


Function = Callable[[Recording, MetricOptions], Measurement]


@dataclass(frozen=True, slots=True)
class Metric:
    """A registered metric."""

    name: str  # as written in scenario files
    # SI unit, `1` if it has none. `deflection` stands for the unit of the elastic joints, `joint` for that of the
    # actuated joints (`joint/s`, `joint/s^2` for its derivatives), `effort` for that of their efforts, `momentum` for
    # that of the coupling momentum.
    unit: str
    options: tuple[Key, ...]  # valid options
    function: Function  # computes the metric from a recording

    @property
    def meaning(self) -> str:
        """First sentence of the function's docstring."""
        return (self.function.__doc__ or "").split("\n\n")[0].replace("\n    ", " ").strip().rstrip(".")

    def measure(self, recording: Recording, options: MetricOptions) -> Measurement:
        """Compute the metric from a recording; a value that is not finite has a reason."""
        result = self.function(recording, options)
        if np.isfinite(result.value):
            return result
        return replace(result, details={"reason": DIVERGED, **result.details})

    def unit_for(self, recording: Recording, options: MetricOptions) -> str:
        """Return the unit of the value for this robot."""
        if self.unit == "deflection":
            return deflection_unit(recording.elastic_names, recording.elastic_units, options.joints)
        if self.unit == "momentum":
            return " or ".join(sorted({MOMENTA[unit] for unit in recording.elastic_units})) or MOMENTA["m"]
        if self.unit == "effort":
            return " or ".join(sorted({"rad": "N*m", "m": "N"}[unit] for unit in set(recording.joint_units)))
        if self.unit.startswith("joint"):
            suffix = self.unit.removeprefix("joint")
            return " or ".join(f"{unit}{suffix}" for unit in sorted(set(recording.joint_units), reverse=True))
        return self.unit


METRICS: dict[str, Metric] = {}


def metric(unit: str, *options: Key) -> Callable[[Function], Function]:
    """Register a function under its own name."""

    def register(function: Function) -> Function:
        METRICS[function.__name__] = Metric(function.__name__, unit, options, function)
        return function

    return register


def deflection_unit(names: tuple[str, ...], units: tuple[str, ...], joints: tuple[str, ...]) -> str:
    """Return the common unit of elastic joints.

    Raises:
        ConfigError: a joint does not exist, or the joints have different units (m and rad).
    """
    for name in joints:
        if name not in names:
            raise ConfigError(f"elastic joint '{name}' does not exist; elastic joints: {', '.join(names) or 'none'}")
    chosen = {unit for name, unit in zip(names, units, strict=True) if not joints or name in joints}
    if len(chosen) > 1:
        raise ConfigError("some elastic joints deflect in m, others in rad: choose those of one unit with 'joints'")
    return chosen.pop() if chosen else "m"


def window(recording: Recording, options: MetricOptions) -> NDArray[np.bool_]:
    """Return the ticks (T,) between ``after`` and ``before``."""
    mask: NDArray[np.bool_] = (recording.time >= options.after) & (recording.time <= options.before)
    return mask


def final(recording: Recording, options: MetricOptions) -> NDArray[np.bool_]:
    """Return the ticks (T,) of the final window; none if its length is unknown."""
    last = recording.natural_period if options.last is None else options.last
    mask: NDArray[np.bool_] = recording.time >= recording.time[-1] - last  # all false if the period is NaN
    return mask


def known(values: Array) -> NDArray[np.bool_]:
    """Return the ticks (T,) at which the values (T, ...) are known: no node answers a joint state that is lost.

    What never has a value, such as a mode that is not estimated, does not count. Infinity is a value. True states of
    the plant are known at every tick and are not checked: NaN means there that the run diverged.
    """
    told = ~np.isnan(values.reshape(len(values), -1))
    ever = told.any(axis=0)
    if not ever.any():
        return np.zeros(len(values), dtype=np.bool_)
    ticks: NDArray[np.bool_] = np.all(told[:, ever], axis=1)
    return ticks


def unmeasured(reason: str, **details: bool | float | str) -> Measurement:
    """Return NaN, and why it is."""
    return Measurement(np.nan, details={**details, "reason": reason})


def reduced(reduce: Callable[[Array], Any], values: Array) -> Measurement:
    """Return a function of the values; NaN if there are none."""
    return Measurement(float(reduce(values))) if values.size else unmeasured(NO_VALUES)


def peak(values: Array) -> Measurement:
    """Return the largest value; NaN if there are no values."""
    return reduced(np.max, values)


def rms(values: Array) -> Measurement:
    """Return the root mean square; NaN if there are no values."""
    return reduced(lambda given: np.sqrt(np.mean(given**2)), values)


def markdown_metrics() -> str:
    """Return the table of metrics in Markdown, as used in docs/scenario.md."""
    rows = ["| metric | unit | options | what it is |", "|---|---|---|---|"]
    words = {"deflection": "m or rad", "joint": "rad or m", "effort": "N*m or N"}
    words |= {"momentum": " or ".join(MOMENTA.values()), "joint/s": "rad/s or m/s", "joint/s^2": "rad/s^2 or m/s^2"}
    for name, entry in METRICS.items():
        options = ", ".join(f"`{option.name}`" for option in entry.options) or "none"
        rows.append(f"| `{name}` | {words.get(entry.unit, entry.unit)} | {options} | {entry.meaning} |")
    return "\n".join(rows)
