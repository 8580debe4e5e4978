"""Variable: a key of the scenario that differs from run to run, and how its values are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import yaml
from scipy.special import ndtri

from flexarm_tools.yaml_file.document import Scalar
from flexarm_tools.yaml_file.section import Section

DRAWN = ("uniform", "log", "normal", "choice")
GRID = "grid"
OUTERMOST = 2.0**-33  # probability beyond which a normal distribution is cut off


@dataclass(frozen=True, slots=True)
class Variable:
    """What varies."""

    name: str  # name of the column
    key: str  # path of the key in the scenario
    kind: str  # one of DRAWN, or GRID
    values: tuple[Scalar, ...]  # limits, mean and deviation, or the values to choose from
    node: yaml.Node  # where it stands in the file

    def at(self, quantile: float) -> Scalar:
        """Return the value at a quantile of the distribution, 0 to 1."""
        if self.kind in ("choice", GRID):
            return self.values[min(int(quantile * len(self.values)), len(self.values) - 1)]
        first, second = (float(value) for value in self.values)
        if self.kind == "uniform":
            return first + quantile * (second - first)
        if self.kind == "log":
            return first * (second / first) ** quantile
        return first + second * float(ndtri(min(max(quantile, OUTERMOST), 1.0 - OUTERMOST)))

    def extremes(self) -> tuple[Scalar, ...]:
        """Return values with which the scenario must be valid for the sweep to make sense."""
        if self.kind in ("choice", GRID):
            return self.values
        return (self.at(0.5),) if self.kind == "normal" else (self.at(0.0), self.at(1.0))


def read_variable(name: str, section: Section) -> Variable | None:
    """Return a variable of a file; None if there are problems, which are stored in the document."""
    kinds = [kind for kind in (*DRAWN, GRID) if kind in section.keys]
    given = [kind for kind in kinds if kind in section]
    key = section.text("key")
    if len(given) != 1:
        section.problem("", f"expected exactly one of {', '.join(kinds)}; it has: {', '.join(given) or 'none'}")
        return None
    kind = given[0]
    values = section.values(kind)
    if not values or not key:
        return None
    wrong = ""
    if kind in ("uniform", "log", "normal"):
        if len(values) != 2:
            wrong = f"expected two numbers, got {len(values)}"
        elif kind == "normal" and not values[1] > 0.0:
            wrong = f"the standard deviation must be > 0, got {values[1]:g}"
        elif kind != "normal" and not values[0] < values[1]:
            wrong = f"the first number must be the smaller one, got {values[0]:g} and {values[1]:g}"
        elif kind == "log" and not values[0] > 0.0:
            wrong = f"a logarithm needs numbers > 0, got {values[0]:g}"
    elif len(set(values)) < len(values):
        wrong = "a value is given twice"
    elif any(isinstance(value, float) and not math.isfinite(value) for value in values):
        wrong = "expected finite numbers"
    if wrong:
        section.problem(kind, wrong)
        return None
    return Variable(name, key, kind, tuple(values), section.node)
