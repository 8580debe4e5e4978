"""Sweep: a scenario, what varies in it and what shares of the runs have to hold, defined in a YAML file."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import yaml
from scipy.stats import qmc

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.types import Array
from flexarm_nodes.registry import parameters_of
from flexarm_tools.graph.packages import AmentPackages, Packages
from flexarm_tools.run.composition import compose_simulation
from flexarm_tools.run.parameter_file import plain_value
from flexarm_tools.scenario.file import read_goal, read_scenario
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.scenario.tables import SWEEP
from flexarm_tools.sweep.optimization import Optimization, read_optimization
from flexarm_tools.sweep.sweep import ShareGoal, Sweep, known_robot, with_values
from flexarm_tools.sweep.variable import GRID, Variable, read_variable
from flexarm_tools.yaml_file.document import Document, Problem, raise_problems
from flexarm_tools.yaml_file.section import Section

COLUMNS = ("run", "outcome", "reason", "seed", "version")  # of the table, beside inputs and figures
MOST_RUNS = 10_000_000


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
    if "vary" not in root and "optimize" not in root:
        root.problem("vary", f"is missing: expected {root.keys['vary'].expected}, or `optimize`")
    samples, seed = (_whole(root, name, otherwise) for name, otherwise in (("samples", 1), ("seed", 0)))
    if samples > 1 and variables and all(one.kind == GRID for one in variables) and len(read) == len(variables):
        root.problem("samples", "nothing is drawn: all that varies is a grid; leave samples out")
    method, goals = root.text("method", "latin_hypercube"), root.named_sections("goals")
    varied = copy.copy(document)  # the sweep as a scenario over another one
    varied.problems = []
    scenario = None
    if "scenario" in root and isinstance(document.root, yaml.MappingNode):
        varied.root = _overlay(document.root)
        scenario = read_scenario(varied, packages, known_robot)
    for one in varied.problems:
        own = (one.key, one.path) == ("base", document.path)
        document.problems.append(replace(one, key="scenario") if own else one)
    varied.problems = []
    figures = [figure.name for figure in scenario.figures] if scenario else None
    section = root.section("optimize")
    objective = read_optimization(section, figures) if section else None
    taken = {*COLUMNS, *(figures or ())}
    keys = [(f"vary.{one.name}", one) for one in variables]
    keys += [(f"optimize.choose.{one.name}", one) for one in (objective.chosen if objective else ())]
    places: dict[str, str] = {}  # of the keys that vary
    for key, variable in keys:
        if (other := places.setdefault(variable.key, key)) != key:
            document.problem(variable.node, f"{key}.key", f"{other} has this key already: one value would be lost")
        if variable.key == "mode":
            document.problem(variable.node, f"{key}.key", "every run of a sweep is in lockstep")
        if variable.name in taken:
            document.problem(variable.node, key, "the table has another column of this name: rename it")
        taken.add(variable.name)
        if scenario is not None:
            document.problems += _check(varied, variable, packages, key)
    if scenario is not None and not document.problems:
        document.problems += _lost(varied, dict(keys))
    shares = tuple(_read_share(name, section, scenario) for name, section in goals.items())
    raise_problems(document.problems, "sweep")
    assert scenario is not None  # None only if there are problems
    drawn = sum(one.kind != GRID for one in variables)
    quantiles = _quantiles(method, drawn, samples, seed)
    sweep = Sweep(varied, packages, scenario, variables, shares, quantiles, seed)
    if objective is not None:
        sweep = Optimization(varied, packages, scenario, variables, shares, quantiles, seed, objective)
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


def _check(document: Document, variable: Variable, packages: Packages, key: str) -> list[Problem]:
    """Return problems of the scenario with the outermost values of a variable, at the line of the variable."""
    path, line = document.path, variable.node.start_mark.line + 1
    for value in variable.extremes():
        try:
            varied = with_values(document, {variable: value}, None)
        except ConfigError as error:
            return [Problem(path, line, f"{key}.key", str(error))]
        scenario = read_scenario(varied, packages, known_robot)
        if varied.problems:
            return [Problem(path, line, key, f"with {value}: {one.key}: {one.message}") for one in varied.problems]
        if scenario is not None and (refused := _refused(scenario)):
            return [Problem(path, line, key, f"with {value}: {refused}")]
    return []


def _lost(document: Document, variables: Mapping[str, Variable]) -> list[Problem]:
    """Return problems of variables that change nothing, as another one sets the same by a key that is written so."""
    usual, problems = {variable: variable.at(0.0) for variable in variables.values()}, []
    for place, variable in variables.items():
        values = {variable.at(0.0), variable.at(1.0)}
        trees = {yaml.serialize(with_values(document, usual | {variable: value}, None).root) for value in values}
        if len(trees) < len(values):
            text = "its values are lost: another variable sets the same"
            problems.append(Problem(document.path, variable.node.start_mark.line + 1, f"{place}.key", text))
    return problems


def _refused(scenario: Scenario) -> str:
    """Return why the nodes of a scenario would not start, as far as their tables of parameters tell; empty: they do."""
    try:
        for node in compose_simulation(scenario).nodes:
            rows = {row.name: row for row in parameters_of(node.executable)}
            for name, value in node.parameters.items():
                if name in rows:
                    rows[name].checked(plain_value(value))
    except FlexarmError as error:
        return str(error).replace("\n", ";")
    return ""


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
