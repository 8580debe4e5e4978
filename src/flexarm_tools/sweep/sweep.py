"""Sweep: a scenario, the values with which it is run, and what shares of the runs have to hold."""

from __future__ import annotations

import copy
import functools
import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import yaml

import flexarm_core
from flexarm_core.errors import ConfigError
from flexarm_core.robot.added_springs import Springs
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array
from flexarm_tools.graph.packages import Packages
from flexarm_tools.metrics.figures import FigureSpec, Goal
from flexarm_tools.scenario.file import describe_robot, read_scenario
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.sweep.key_path import scalar_node, with_value
from flexarm_tools.sweep.variable import GRID, Variable
from flexarm_tools.yaml_file.document import Document, Scalar, raise_problems

if TYPE_CHECKING:
    from flexarm_tools.sweep.row import Row

SEED_KEY = "plant.seed"
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)  # xacro writes the path of its file into one


@dataclass(frozen=True, slots=True)
class ShareGoal:
    """A share of all runs in which something has to hold."""

    name: str  # name in the file
    share: float  # smallest share, 0 to 1
    figure: str  # figure of the scenario; empty: the whole run holds
    goal: Goal | None  # what the figure has to meet; None for the whole run


class Sweep:
    """A scenario and the values with which it is run.

    Attributes:
        path: sweep file.
        title: heading.
        variables: what varies, one column of inputs each.
        figures: figures of each run.
        goals: goals over all runs.
        count: number of runs, which are numbered from 0.
        identity: digest of scenario, robot and version: runs of equal identity and inputs have equal results.
    """

    def __init__(
        self,
        document: Document,
        packages: Packages,
        scenario: Scenario,
        variables: tuple[Variable, ...],
        goals: tuple[ShareGoal, ...],
        quantiles: Array,
        seed: int,
    ) -> None:
        """Take what was read from a file; ``quantiles`` has a row for each sample and a column for each drawn input."""
        self.path, self.title = document.path, scenario.title
        self.variables, self._varied, self.goals = variables, variables, goals
        self.figures: tuple[FigureSpec, ...] = scenario.figures
        self._document, self._packages, self._quantiles, self._seed = document, packages, quantiles, seed
        grids = [one.values if one.kind == GRID else (None,) for one in variables]
        self._points = list(itertools.product(*grids))
        self.count = len(self._points) * len(quantiles)
        robots = [_COMMENT.sub("", robot.description.text) for robot in (scenario.robot, scenario.true_robot)]
        parts = [flexarm_core.__version__, document.text, *robots, [(one.name, one.key) for one in variables]]
        self.identity = hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def inputs(self, number: int) -> dict[str, Scalar]:
        """Return the values of a run by name of the variable.

        Raises:
            ConfigError: there is no such run.
        """
        if not 0 <= number < self.count:
            raise ConfigError(f"there is no run {number} in {self.path.name}: it has runs 0 to {self.count - 1}")
        point, sample = divmod(number, len(self._quantiles))
        drawn = iter(self._quantiles[sample])
        return {
            one.name: one.at(float(next(drawn))) if value is None else value
            for one, value in zip(self._varied, self._points[point], strict=True)
        }

    def seed(self, number: int) -> int:
        """Return the seed of the noise of a run; a sample has the same one at each point of the grid."""
        words = np.random.SeedSequence((self._seed, number % len(self._quantiles))).generate_state(1)
        return int(words[0] >> 1)

    def fits(self, row: Row) -> bool:
        """Return whether a row may be of this sweep."""
        known = row.run < self.count and row.inputs == self.inputs(row.run)
        return known and row.seed == self.seed(row.run)

    def batches(self, rows: Mapping[int, Row]) -> Iterator[list[int]]:
        """Yield the numbers of the runs to run next, after those before have been added to the rows."""
        yield [number for number in range(self.count) if number not in rows]

    def judged(self, rows: Mapping[int, Row]) -> dict[int, Row]:
        """Return the rows for which the goals are meant: all of them."""
        return dict(rows)

    def scenario(self, number: int, source: bool = False) -> Scenario:
        """Return the scenario of a run, in lockstep.

        Args:
            number: number of the run.
            source: whether the scenario has the text of its file.

        Raises:
            ConfigError: there is no such run, or its scenario is not valid.
        """
        return self.scenario_with(self.inputs(number), self.seed(number), source)

    def scenario_with(self, inputs: Mapping[str, Scalar], seed: int = 0, source: bool = False) -> Scenario:
        """Return the scenario with these inputs, and otherwise as it is."""
        values = {one: inputs[one.name] for one in self.variables if one.name in inputs}
        varied = with_values(self._document, values, seed)
        if source:
            text = yaml.serialize(varied.root, Dumper=yaml.SafeDumper, width=120, allow_unicode=True)
            varied.text = f"# a run of {self.path.name}\n{text}"
        scenario = read_scenario(varied, self._packages, known_robot)
        raise_problems(varied.problems, "run")
        assert scenario is not None  # None only if there are problems
        return replace(scenario, mode="lockstep")


def with_values(document: Document, values: Mapping[Variable, Scalar], seed: int | None) -> Document:
    """Return a document in which keys have other values."""
    varied = copy.copy(document)
    assert document.root is not None  # checked by the reader
    varied.problems, varied.root = [], document.root
    if seed is not None and all(one.key != SEED_KEY for one in values):
        varied.root = with_value(varied.root, SEED_KEY, scalar_node(seed, document.root))
    for variable, value in values.items():
        varied.root = with_value(varied.root, variable.key, scalar_node(value, variable.node))
    return varied


def known_robot(
    path: Path, arguments: Mapping[str, str], held: Mapping[str, float], springs: Springs
) -> RobotDescription:
    """Return a robot description, which is read once."""
    return _cached_robot(path, *(tuple(sorted(given.items())) for given in (arguments, held, springs)))


@functools.lru_cache(maxsize=4)
def _cached_robot(
    path: Path,
    arguments: tuple[tuple[str, str], ...],
    held: tuple[tuple[str, float], ...],
    springs: tuple[tuple[str, tuple[float, float]], ...],
) -> RobotDescription:
    """Read a robot once: expanding its xacro file takes as long as some runs."""
    return describe_robot(path, dict(arguments), dict(held), dict(springs))
