"""Rows of the table of a sweep: one for each run."""

from __future__ import annotations

import math
import traceback
from dataclasses import dataclass, replace

import numpy as np

import flexarm_core
from flexarm_core.errors import FlexarmError
from flexarm_tools.metrics.figures import compute_figures
from flexarm_tools.run.composition import in_one_process
from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.sweep.sweep import Sweep
from flexarm_tools.yaml_file.document import Scalar

# every goal holds and nothing unexpected happened; not so; the run could not be run; its process ended
HOLDS, FAILS, ERROR, CRASHED = OUTCOMES = ("holds", "fails", "error", "crashed")


@dataclass(frozen=True, slots=True)
class Row:
    """Result of a run."""

    run: int  # number of the run
    inputs: dict[str, Scalar]  # values of what varies
    figures: dict[str, float]  # NaN where the run gave none
    outcome: str  # one of OUTCOMES
    reason: str  # why it does not hold, in one line
    seed: int  # seed of its noise
    version: str  # of flexarm
    log: str = ""  # what a run that does not hold told

    @property
    def cells(self) -> dict[str, Scalar]:
        """Return the row of the table by column."""
        ends: dict[str, Scalar] = {
            "outcome": self.outcome,
            "reason": self.reason,
            "seed": self.seed,
            "version": self.version,
        }
        return {"run": self.run} | self.inputs | self.figures | ends


@dataclass(frozen=True, slots=True)
class Planned:
    """A run with all that it needs, apart from files that parameters of its nodes name."""

    row: Row  # the row as far as it is known: of a run that cannot be run
    scenario: Scenario | None  # None if it is not valid, which the row says


def plan_run(sweep: Sweep, number: int) -> Planned:
    """Read the scenario of a run."""
    figures = dict.fromkeys((spec.name for spec in sweep.figures), math.nan)
    row = Row(number, sweep.inputs(number), figures, ERROR, "", sweep.seed(number), flexarm_core.__version__)
    try:
        return Planned(row, sweep.scenario(number))
    except Exception as error:
        return Planned(_failed(row, error), None)


def run_planned(planned: Planned) -> Row:
    """Run a run in this process; also one that cannot be run gives a row."""
    scenario, row = planned.scenario, planned.row
    if scenario is None:
        return row
    try:
        with np.errstate(all="ignore"):  # a run that diverges
            recording = ProcessRun(scenario).run(lambda _: "")
            found = compute_figures(scenario.figures, recording)
    except Exception as error:
        return _failed(row, error)
    row = replace(row, figures=row.figures | {figure.name: figure.value for figure in found})
    unexpected = in_one_process(scenario).expected.beyond(recording)
    missed = [f"{one.name}: {one.shown}, goal {one.goal.text}" for one in found if one.goal and not one.holds]
    reason = "; ".join([*unexpected, *missed])
    if not reason:
        return replace(row, outcome=HOLDS)
    log = [f"{event.time:9.4f} s  {event.level:<5} {event.source}: {event.message}" for event in recording.events]
    return _with_reason(row, FAILS, reason, log)


def run_row(sweep: Sweep, number: int) -> Row:
    """Run a run of a sweep in this process."""
    return run_planned(plan_run(sweep, number))


def crashed_row(row: Row, reason: str) -> Row:
    """Return the row of a run whose process ended each time that it was run."""
    return _with_reason(row, CRASHED, reason, [])


def _failed(row: Row, error: Exception) -> Row:
    if isinstance(error, FlexarmError):
        return _with_reason(row, ERROR, str(error), [str(error)])
    return _with_reason(row, ERROR, f"{type(error).__name__}: {error}", [traceback.format_exc()])


def _with_reason(row: Row, outcome: str, reason: str, log: list[str]) -> Row:
    line = " ".join(reason.split())
    text = "\n".join([f"run {row.run} {outcome}: {line}", *log, ""])
    return replace(row, outcome=outcome, reason=line, log=text)
