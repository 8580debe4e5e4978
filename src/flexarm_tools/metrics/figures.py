"""Figures: measured numbers with their goals, in the JSON format common to all runs and benchmarks."""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from flexarm_core.errors import ConfigError
from flexarm_tools.metrics.all import METRICS, MetricOptions
from flexarm_tools.recording.recording import Recording

OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
}
GOAL = r"(<=|>=|==|<|>)\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)"  # comparison and number


@dataclass(frozen=True, slots=True)
class Goal:
    """Required range of a figure."""

    comparison: str  # one of `<= < >= > ==`
    bound: float  # number on the right of the comparison, in the unit of the figure
    text: str  # the goal as written

    def holds(self, value: float, at_least: bool = False, at_most: bool = False) -> bool:
        """Return whether a value meets the goal; a value that is not finite never does.

        Args:
            value: measured value.
            at_least: the value is a lower bound of the true value, which can only prove that a goal with ``>`` is met.
            at_most: the value is an upper bound of the true value, which can only prove that a goal with ``<`` is met.
        """
        if not math.isfinite(value):
            return False
        if (at_least and not self.comparison.startswith(">")) or (at_most and not self.comparison.startswith("<")):
            return False
        return bool(OPERATORS[self.comparison](value, self.bound))


def parse_goal(text: str) -> Goal:
    """Parse a goal such as ``<= 1e-5``.

    Raises:
        ConfigError: the text is not a comparison and a finite number.
    """
    match = re.fullmatch(GOAL, text.strip())
    bound = float(match[2]) if match else math.nan
    if match is None or not math.isfinite(bound):
        raise ConfigError(f"goal '{text}' is not a comparison and a number, such as '<= 1e-5'; {', '.join(OPERATORS)}")
    return Goal(match[1], bound, text.strip())


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """A figure that a scenario requests."""

    name: str  # name in the output
    metric: str  # name of a registered metric
    options: MetricOptions  # options of the metric
    goal: Goal | None  # goal, None if the figure is only reported


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured number."""

    name: str  # unique in its file
    value: float  # measured value, NaN if it could not be measured
    unit: str  # SI unit, `1` if it has none
    goal: Goal | None = None  # goal, None if the figure is only reported
    meaning: str = ""  # one sentence for the report
    at_least: bool = False  # whether the value is a lower bound
    at_most: bool = False  # whether the value is an upper bound
    # additional information, written beside the value
    details: dict[str, bool | float | str] = field(default_factory=dict)
    judged: bool = True  # False: of a run in real time for which the machine was too busy; it has no goal then

    @property
    def holds(self) -> bool:
        """Whether the goal is met; without a goal, whether the value is finite. A figure that is not judged holds."""
        if not self.judged:
            return True
        if self.goal is None:
            return math.isfinite(self.value)
        return self.goal.holds(self.value, self.at_least, self.at_most)

    @property
    def shown(self) -> str:
        """Value with its unit, or why it could not be measured, for a line of text."""
        if not math.isfinite(self.value):
            return f"not measured: {self.details.get('reason', 'it is not finite')}"
        sign = ">= " if self.at_least else "<= " if self.at_most else ""
        return f"{sign}{self.value:.4g} {self.unit}"

    @property
    def bound(self) -> str:
        """``at_least`` or ``at_most`` if the value is only a bound, else empty."""
        return "at_least" if self.at_least else "at_most" if self.at_most else ""

    def to_json(self) -> dict[str, Any]:
        """Return the entry of the JSON file; null represents a number that is not finite."""
        entry = {
            "value": _finite(self.value),
            "unit": self.unit,
            "goal": self.goal.text if self.goal else None,
            "holds": self.holds,
        }
        details = {key: _finite(value) for key, value in self.details.items()}
        return entry | ({"bound": self.bound} if self.bound else {}) | details


def _finite(value: bool | float | str) -> bool | float | str | None:
    """Return the value in a form that JSON can represent."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def compute_figures(specs: Iterable[FigureSpec], recording: Recording) -> tuple[Figure, ...]:
    """Compute the figures of a recording."""
    figures = []
    for spec in specs:
        metric = METRICS[spec.metric]
        result = metric.measure(recording, spec.options)
        unit = metric.unit_for(recording, spec.options)
        meaning = ", ".join([metric.meaning, *_options(spec)])
        figures.append(
            Figure(spec.name, float(result.value), unit, spec.goal, meaning, result.at_least, details=result.details)
        )
    return tuple(figures)


def _options(spec: FigureSpec) -> list[str]:
    """Describe the options in words: ``since 3 s``."""
    known = {key.name: key for key in METRICS[spec.metric].options}
    given = {name: getattr(spec.options, name) for name in known}
    default = MetricOptions()
    words = []
    for name, value in given.items():
        if value != getattr(default, name):
            items = value if isinstance(value, tuple) else (value,)
            text = ", ".join(item if isinstance(item, str) else f"{item:g}" for item in items)
            unit = known[name].unit.removeprefix("1")
            words.append(f"{name} {text} {unit}".strip())
    return words


def ratio(name: str, numerator: Figure, denominator: Figure, goal: Goal | None = None) -> Figure:
    """Return the ratio of two figures.

    If one of them is a bound, so is the ratio: a lower bound if the numerator is a lower bound or the denominator an
    upper bound, and vice versa. The ratio is NaN if the denominator is zero, if two bounds act in opposite directions,
    or if a value is negative while one is a bound, which would reverse the bound.
    """
    at_least, at_most = numerator.at_least or denominator.at_most, numerator.at_most or denominator.at_least
    turned = (at_least or at_most) and min(numerator.value, denominator.value) < 0.0
    usable = denominator.value != 0.0 and not (at_least and at_most) and not turned
    value = numerator.value / denominator.value if usable else math.nan
    unit = "1" if numerator.unit == denominator.unit else f"({numerator.unit})/({denominator.unit})"
    meaning = f"{numerator.name} / {denominator.name}"
    judged = numerator.judged and denominator.judged
    details: dict[str, bool | float | str] = {}
    if not math.isfinite(value):
        details["reason"] = _why_no_ratio(numerator, denominator)
    goal = goal if judged else None
    return Figure(name, value, unit, goal, meaning, usable and at_least, usable and at_most, details, judged)


def _why_no_ratio(numerator: Figure, denominator: Figure) -> str:
    for figure in (numerator, denominator):
        if not math.isfinite(figure.value):
            return f"{figure.name} is {figure.shown}"
    return f"{denominator.name} is 0" if denominator.value == 0.0 else "bounds do not tell it"


def write_figures(
    path: Path,
    figures: Iterable[Figure],
    unexpected: Iterable[str] = (),
    provenance: Mapping[str, str] = MappingProxyType({}),
) -> bool:
    """Write figures as JSON; return whether all goals are met, for the exit status.

    Args:
        path: output file.
        figures: measured figures.
        unexpected: descriptions of unexpected events, which make the figures void: none of them holds.
        provenance: where the figures come from, by name.

    Raises:
        ConfigError: two figures have the same name.
    """
    figures = list(figures)
    entries = {figure.name: figure.to_json() for figure in figures}
    if len(entries) < len(figures):
        names = [figure.name for figure in figures]
        raise ConfigError(f"figure names must be unique: {', '.join(sorted({n for n in names if names.count(n) > 1}))}")
    path.parent.mkdir(parents=True, exist_ok=True)
    content: dict[str, Any] = {"figures": entries}
    if events := list(unexpected):
        content = {"figures": {name: entry | {"holds": False} for name, entry in entries.items()}, "unexpected": events}
    if provenance:
        content["provenance"] = dict(provenance)
    path.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return all(figure.holds for figure in figures)
