"""Optimization: a sweep whose runs are trials of an optimizer, each with other values of the chosen variables.

Optuna proposes the values of some trials at once, and gets the results of their runs, always in the order of the
trials. So equal seeds give equal trials for any number of workers, and a command that continues a sweep passes the
existing rows to Optuna.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.types import Array
from flexarm_tools.graph.packages import Packages
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.sweep.row import Row
from flexarm_tools.sweep.shares import shortfall
from flexarm_tools.sweep.sweep import ShareGoal, Sweep
from flexarm_tools.sweep.variable import Variable, read_variable
from flexarm_tools.yaml_file.document import Document, Scalar
from flexarm_tools.yaml_file.section import Section

MEAN, MEDIAN, WORST = "mean", "median", "worst"
SHOWN = 3  # best trials


@dataclass(frozen=True, slots=True)
class Objective:
    """What is optimized."""

    chosen: tuple[Variable, ...]  # what is chosen, within its bounds
    figure: str  # figure of the scenario
    least: bool  # whether it is to be small
    take: str  # what is taken of the runs of a trial: MEAN, MEDIAN or WORST
    trials: int  # number of trials
    parallel: int  # trials that are proposed at once


@dataclass(frozen=True, slots=True)
class Trial:
    """Results of the runs of a trial."""

    number: int  # number of the trial
    values: dict[str, Scalar]  # values of what is chosen
    value: float  # the objective; infinite if a run gave none
    shortfall: float  # by how much the goals of the study are missed, 0: they are met


class Optimization(Sweep):
    """A sweep of trials; the runs of each are those of the sweep with the values that are chosen for it.

    Attributes:
        objective: figure that is optimized.
        runs: number of runs of a trial.
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
        objective: Objective,
    ) -> None:
        """Take what was read from a file; for the arguments but the last see :class:`Sweep`."""
        super().__init__(document, packages, scenario, variables, goals, quantiles, seed)
        self.objective, self.runs = objective, self.count
        self.count *= objective.trials
        self.variables = (*objective.chosen, *variables)
        self._sampled, self._values = seed, list[dict[str, Scalar]]()  # values of the trials that are known
        chosen = [(one.name, one.key, one.kind, one.values) for one in objective.chosen]
        judged = objective.figure, objective.least, objective.take, objective.parallel
        parts = [self.identity, _optuna().__version__, chosen, judged]  # trials may be added
        self.identity = hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def inputs(self, number: int) -> dict[str, Scalar]:
        """Return the values of a run by name of the variable.

        Raises:
            ConfigError: there is no such run, or the values of its trial are not known yet.
        """
        trial, sample = divmod(number, self.runs)
        inputs = super().inputs(number if trial >= self.objective.trials else sample)
        if trial >= len(self._values):
            raise ConfigError(f"what run {number} is, the trials before it say: flexarm sweep {self.path}")
        return self._values[trial] | inputs

    def fits(self, row: Row) -> bool:
        """Return whether a row may belong to this sweep; :meth:`batches` compares the chosen values."""
        if not 0 <= row.run < self.count:
            return False
        inputs = super().inputs(row.run % self.runs)
        return row.seed == self.seed(row.run) and all(row.inputs.get(name) == inputs[name] for name in inputs)

    def recall(self, rows: Mapping[int, Row]) -> None:
        """Take the values of trials from rows, as far as they reach."""
        names = [one.name for one in self.objective.chosen]
        while (row := rows.get(len(self._values) * self.runs)) is not None:
            self._values.append({name: row.inputs[name] for name in names})

    def batches(self, rows: Mapping[int, Row]) -> Iterator[list[int]]:
        """Yield the numbers of the runs to run next, after those before have been added to the rows.

        Raises:
            ConfigError: rows are of trials with other values.
        """
        optuna, objective = _optuna(), self.objective
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        bounds = {one.name: _distribution(optuna, one) for one in objective.chosen}
        sampler = optuna.samplers.TPESampler(seed=self._sampled, multivariate=True, constant_liar=True)
        study = optuna.create_study(direction="minimize" if objective.least else "maximize", sampler=sampler)
        self._values = []
        for first in range(0, objective.trials, objective.parallel):
            asked = [study.ask(bounds) for _ in range(min(objective.parallel, objective.trials - first))]
            self._values += [dict(one.params) for one in asked]
            numbers = range(first * self.runs, len(self._values) * self.runs)
            if any(number in rows and rows[number].inputs != self.inputs(number) for number in numbers):
                raise ConfigError("there are results of trials with other values: --fresh deletes them")
            if left := [number for number in numbers if number not in rows]:
                yield left
            if any(number not in rows for number in numbers):
                return  # interrupted
            for number, one in enumerate(asked, first):
                found = self._trial(number, rows)
                one.set_constraint("goals", found.shortfall)
                study.tell(one, found.value)

    def best(self, rows: Mapping[int, Row]) -> list[Trial]:
        """Return the trials all of whose runs are known, best first: those that meet the goals before the others."""
        whole = [
            number for number in range(self.objective.trials) if self._of(number, rows).keys() == {*self._runs(number)}
        ]
        sign = 1.0 if self.objective.least else -1.0
        return sorted(
            (self._trial(number, rows) for number in whole),
            key=lambda one: (one.shortfall, sign * one.value, one.number),
        )

    def judged(self, rows: Mapping[int, Row]) -> dict[int, Row]:
        """Return the rows for which the goals are meant: those of the best trial."""
        best = self.best(rows)
        return self._of(best[0].number, rows) if best else {}

    def _runs(self, trial: int) -> range:
        return range(trial * self.runs, (trial + 1) * self.runs)

    def _of(self, trial: int, rows: Mapping[int, Row]) -> dict[int, Row]:
        return {number: rows[number] for number in self._runs(trial) if number in rows}

    def _trial(self, number: int, rows: Mapping[int, Row]) -> Trial:
        of = list(self._of(number, rows).values())
        objective = self.objective
        figures = np.array([row.figures[objective.figure] for row in of])
        worst = math.inf if objective.least else -math.inf
        if not np.isfinite(figures).all():
            value = worst
        elif objective.take == WORST:
            value = float(figures.max() if objective.least else figures.min())
        else:
            value = float(np.median(figures) if objective.take == MEDIAN else figures.mean())
        names = [one.name for one in objective.chosen]
        missed = sum(shortfall(goal, of) for goal in self.goals) + (value == worst)
        return Trial(number, {name: of[0].inputs[name] for name in names}, value, missed)


def read_optimization(section: Section, figures: Sequence[str] | None) -> Objective | None:
    """Return the objective of a file; None if there are problems, which are stored in the document.

    Args:
        section: section ``optimize`` of the file.
        figures: figures of the scenario; None: it has problems.
    """
    before = len(section.document.problems)
    sections = section.named_sections("choose")
    if "choose" in section and not sections:
        section.problem("choose", "an optimizer needs at least one key that it chooses")
    chosen = []
    for name, one in sections.items():
        if (found := read_variable(name, one)) is not None:
            chosen.append(found)
    given = [name for name in ("minimize", "maximize") if name in section]
    if len(given) != 1:
        section.problem("", f"expected exactly one of minimize, maximize; it has: {', '.join(given) or 'none'}")
    figure = section.text(given[0]) if given else ""
    for name in given:
        if figures is not None:
            figure = section.text(name)
            section.refuse_unknown(name, figure, figures, f"the scenario has no figure '{figure}'")
    take, counts = section.text("take", MEAN), []
    for name, otherwise in (("trials", 50.0), ("parallel", 4.0)):
        counts.append(section.number(name, otherwise))
        if math.isfinite(counts[-1]) and counts[-1] != int(counts[-1]):
            section.problem(name, f"expected a whole number, got {counts[-1]:g}")
    if len(section.document.problems) > before:
        return None
    return Objective(tuple(chosen), figure, given == ["minimize"], take, int(counts[0]), int(counts[1]))


def _distribution(optuna: ModuleType, variable: Variable) -> Any:
    if variable.kind == "choice":
        return optuna.distributions.CategoricalDistribution(variable.values)
    low, high = (float(value) for value in variable.values)
    return optuna.distributions.FloatDistribution(low, high, log=variable.kind == "log")


def _optuna() -> ModuleType:
    try:
        import optuna
    except ImportError as error:
        raise ConfigError("`optimize` needs Optuna: python3 -m pip install optuna") from error
    return optuna
