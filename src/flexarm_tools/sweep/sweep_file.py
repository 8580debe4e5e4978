"""Sweep: a scenario, what varies in it and what shares of the runs have to hold, defined in a YAML file."""

from __future__ import annotations

import copy
import functools
import hashlib
import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import yaml
from scipy.stats import qmc

import flexarm_core
from flexarm_core.errors import ConfigError
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array
from flexarm_tools.graph.packages import AmentPackages, Packages
from flexarm_tools.metrics.figures import FigureSpec, Goal
from flexarm_tools.scenario.file import describe_robot, read_goal, read_scenario
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.scenario.tables import SWEEP
from flexarm_tools.sweep.key_path import scalar_node, with_value
from flexarm_tools.sweep.variable import GRID, Variable, read_variable
from flexarm_tools.yaml_file.document import Document, Problem, Scalar, raise_problems
from flexarm_tools.yaml_file.section import Section

SEED_KEY = "plant.seed"
COLUMNS = ("run", "outcome", "reason", "seed", "version")  # of the table, beside inputs and figures
MOST_RUNS = 10_000_000
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
        self.variables, self.goals = variables, goals
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
            for one, value in zip(self.variables, self._points[point], strict=True)
        }

    def seed(self, number: int) -> int:
        """Return the seed of the noise of a run; a sample has the same one at each point of the grid."""
        words = np.random.SeedSequence((self._seed, number % len(self._quantiles))).generate_state(1)
        return int(words[0] >> 1)

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
        varied = _varied(self._document, values, seed)
        if source:
            text = yaml.serialize(varied.root, Dumper=yaml.SafeDumper, width=120, allow_unicode=True)
            varied.text = f"# a run of {self.path.name}\n{text}"
        scenario = read_scenario(varied, self._packages, _known_robot)
        raise_problems(varied.problems, "run")
        assert scenario is not None  # None only if there are problems
        return replace(scenario, mode="lockstep")


def load_sweep(path: str | Path, packages: Packages | None = None) -> Sweep:
    """Read and check a sweep file and its scenario, also with the outermost values of all that varies.

    Args:
        path: the file.
        packages: locates ROS packages; by default in the sourced ROS 2 environment.

    Raises:
        ConfigError: a file has problems; the message lists all of them, each with file, line and key.
    """
    packages = packages or AmentPackages()
    document = Document(Path(path), "sweep")
    if document.root is None:
        raise_problems(document.problems, "sweep")
    assert document.root is not None  # without a root there is a problem
    root = Section(document, document.root, SWEEP, "")
    sections = root.named_sections("vary")
    read = [read_variable(name, section) for name, section in sections.items()]
    variables = tuple(one for one in read if one is not None)
    if "vary" in root and not sections:
        root.problem("vary", "a sweep needs at least one key that varies")
    samples, seed = (_whole(root, name, otherwise) for name, otherwise in (("samples", 1), ("seed", 0)))
    if samples > 1 and variables and all(one.kind == GRID for one in variables) and len(read) == len(variables):
        root.problem("samples", "nothing is drawn: all that varies is a grid; leave samples out")
    method, goals = root.text("method", "latin_hypercube"), root.named_sections("goals")
    varied = copy.copy(document)  # the sweep as a scenario over another one
    varied.problems = []
    scenario = None
    if "scenario" in root and isinstance(document.root, yaml.MappingNode):
        varied.root = _overlay(document.root)
        scenario = read_scenario(varied, packages, _known_robot)
    for one in varied.problems:
        own = (one.key, one.path) == ("base", document.path)
        document.problems.append(replace(one, key="scenario") if own else one)
    varied.problems = []
    taken = {*COLUMNS, *(figure.name for figure in scenario.figures)} if scenario else set(COLUMNS)
    for variable in variables:
        if variable.name in taken:
            document.problem(
                variable.node, f"vary.{variable.name}", "the table has another column of this name: rename it"
            )
        if scenario is not None:
            document.problems += _check(varied, variable, packages)
    shares = tuple(_read_share(name, section, scenario) for name, section in goals.items())
    raise_problems(document.problems, "sweep")
    assert scenario is not None  # None only if there are problems
    drawn = sum(one.kind != GRID for one in variables)
    sweep = Sweep(varied, packages, scenario, variables, shares, _quantiles(method, drawn, samples, seed), seed)
    if sweep.count > MOST_RUNS:
        raise ConfigError(f"{document.path}: {sweep.count} runs are more than {MOST_RUNS}")
    return sweep


def _overlay(root: yaml.MappingNode) -> yaml.MappingNode:
    """Return the sweep as a scenario that varies another one."""
    pairs = []
    for key, value in root.value:
        if key.value in ("title", "description", "figures"):
            pairs.append((key, value))
        elif key.value == "scenario":
            pairs.append((yaml.ScalarNode(key.tag, "base", key.start_mark, key.end_mark), value))
    return yaml.MappingNode(root.tag, pairs, root.start_mark, root.end_mark)


def _whole(root: Section, name: str, otherwise: int) -> int:
    value = root.number(name, float(otherwise))
    if value == value and (value != int(value) or value > MOST_RUNS):
        root.problem(name, f"expected a whole number up to {MOST_RUNS}, got {value:g}")
        return otherwise
    return int(value) if value == value else otherwise


def _read_share(name: str, section: Section, scenario: Scenario | None) -> ShareGoal:
    figure, goal, share = section.text("figure"), read_goal(section), section.number("share")
    if share > 1.0:
        section.problem("share", f"expected a share of all runs, 0 to 1, got {share:g}")
    specs = {spec.name: spec for spec in scenario.figures} if scenario else {}
    if scenario is not None:
        section.refuse_unknown("figure", figure, specs, f"the scenario has no figure '{figure}'")
    if "goal" in section and not figure:
        section.problem("goal", "whose goal? name a 'figure' beside it")
    if figure in specs and goal is None:
        goal = specs[figure].goal
        if goal is None and "goal" not in section:
            section.problem("figure", f"'{figure}' has no goal in the scenario: give one beside it")
    return ShareGoal(name, share, figure, goal)


def _check(document: Document, variable: Variable, packages: Packages) -> list[Problem]:
    """Return problems of the scenario with the outermost values of a variable, at the line of the variable."""
    path, line, key = document.path, variable.node.start_mark.line + 1, f"vary.{variable.name}"
    for value in variable.extremes():
        try:
            varied = _varied(document, {variable: value}, None)
        except ConfigError as error:
            return [Problem(path, line, f"{key}.key", str(error))]
        read_scenario(varied, packages, _known_robot)
        if varied.problems:
            return [Problem(path, line, key, f"with {value}: {one.key}: {one.message}") for one in varied.problems]
    return []


def _varied(document: Document, values: Mapping[Variable, Scalar], seed: int | None) -> Document:
    """Return a document in which keys have other values."""
    varied = copy.copy(document)
    assert document.root is not None  # checked by the reader
    varied.problems, varied.root = [], document.root
    if seed is not None and all(one.key != SEED_KEY for one in values):
        varied.root = with_value(varied.root, SEED_KEY, scalar_node(seed, document.root))
    for variable, value in values.items():
        varied.root = with_value(varied.root, variable.key, scalar_node(value, variable.node))
    return varied


def _known_robot(path: Path, arguments: Mapping[str, str], held: Mapping[str, float]) -> RobotDescription:
    return _cached_robot(path, tuple(sorted(arguments.items())), tuple(sorted(held.items())))


@functools.lru_cache(maxsize=4)
def _cached_robot(
    path: Path, arguments: tuple[tuple[str, str], ...], held: tuple[tuple[str, float], ...]
) -> RobotDescription:
    """Read a robot once: expanding its xacro file takes as long as some runs."""
    return describe_robot(path, dict(arguments), dict(held))


def _quantiles(method: str, drawn: int, samples: int, seed: int) -> Array:
    """Draw the quantiles (samples, drawn) of all inputs that are not on the grid."""
    if not drawn:
        return np.zeros((samples, 0))
    random = np.random.default_rng(seed)
    if method == "random":
        return random.random((samples, drawn))
    if method == "sobol":
        whole = 1 << max(samples - 1, 0).bit_length()  # Sobol sequences are balanced for powers of two
        found: Array = qmc.Sobol(drawn, seed=random).random(whole)[:samples]
        return found
    cube: Array = qmc.LatinHypercube(drawn, seed=random).random(samples)
    return cube
