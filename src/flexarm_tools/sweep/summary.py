"""Summary of a sweep in text: shares, goals, quantiles, worst cases, and what the figures depend on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from scipy.stats import rankdata

from flexarm_core.types import Array
from flexarm_tools.metrics.figures import FigureSpec
from flexarm_tools.sweep.optimization import SHOWN, Optimization
from flexarm_tools.sweep.row import HOLDS, OUTCOMES, Row
from flexarm_tools.sweep.shares import share_figures
from flexarm_tools.sweep.sweep import Sweep

QUANTILES = (0.05, 0.5, 0.95)
WORST = 3  # runs shown of each figure, and of each reason
FEWEST = 8  # runs for which a correlation is shown
RELATED = 0.3  # absolute rank correlation from which an input is shown
Z = 1.96  # of a confidence of 95 %


def summary(sweep: Sweep, rows: Mapping[int, Row]) -> list[str]:
    """Return the lines to print."""
    rows = dict(sorted(rows.items()))  # they came in any order
    lines = [f"{sweep.title}: {len(rows)} of {sweep.count} runs"]
    if not rows:
        return lines
    for outcome, count, low, high in outcome_shares(list(rows.values())):
        lines.append(f"  {outcome:<8} {count:>7}  {count / len(rows):.4f}  (95 %: {low:.4f} to {high:.4f})")
    for figure in share_figures(sweep, rows):
        mark = "ok  " if figure.holds else "FAIL"
        goal = figure.goal.text if figure.goal else ""
        lines.append(f"  {mark} {figure.name}  {figure.value:.4g}  goal {goal}  {figure.meaning}")
    if isinstance(sweep, Optimization):
        lines += _trial_lines(sweep, rows)
    return [*lines, *_figure_lines(sweep, rows), *_reason_lines(list(rows.values()))]


def outcome_shares(rows: Collection[Row]) -> list[tuple[str, int, float, float]]:
    """Return each outcome that there was, its number of runs, and the confidence interval (95 %) of its share."""
    found = Counter(row.outcome for row in rows)
    return [(outcome, found[outcome], *_interval(found[outcome], len(rows))) for outcome in OUTCOMES if found[outcome]]


def _trial_lines(sweep: Optimization, rows: Mapping[int, Row]) -> list[str]:
    objective, best = sweep.objective, sweep.best(rows)
    what = f"{'smallest' if objective.least else 'largest'} {objective.figure}"
    what += f", {objective.take} of {sweep.runs} runs each" if sweep.runs > 1 else ""
    lines = [f"  best of {len(best)} trials ({what})"]
    for trial in best[:SHOWN]:
        values = ", ".join(f"{k} = {v:.6g}" if isinstance(v, float) else f"{k} = {v}" for k, v in trial.values.items())
        missed = "  misses goals" if trial.shortfall else ""
        lines.append(f"    {trial.value:>11.4g}  {values}  (run {trial.number * sweep.runs}){missed}")
    return lines


def _figure_lines(sweep: Sweep, rows: Mapping[int, Row]) -> list[str]:
    if not sweep.figures:
        return []
    width = max(len(spec.name) for spec in sweep.figures)
    head = "".join(f"{f'{100 * q:g} %':>11}" for q in QUANTILES)
    lines = [f"  {'figure':<{width}}{head}      worst  of run"]
    for spec in sweep.figures:
        values = np.array([row.figures[spec.name] for row in rows.values()])
        known = values[np.isfinite(values)]
        if not known.size:
            lines.append(f"  {spec.name:<{width}}  no run gave a value")
            continue
        shown = "".join(f"{value:>11.4g}" for value in np.quantile(known, QUANTILES))
        worst = worst_runs(spec, list(rows.values()))
        runs = ", ".join(str(row.run) for row in worst)
        related = _related(sweep, rows, spec.name)
        lines.append(f"  {spec.name:<{width}}{shown}{worst[0].figures[spec.name]:>11.4g}  {runs}{related}")
    return lines


def worst_runs(spec: FigureSpec, rows: Collection[Row]) -> Sequence[Row]:
    """Return the runs that are farthest on the wrong side of the goal; without a goal, the largest."""
    known = [row for row in rows if math.isfinite(row.figures[spec.name])]
    wanted = spec.goal.comparison if spec.goal else "<="

    def badness(row: Row) -> float:
        value = row.figures[spec.name]
        if wanted == "==" and spec.goal:
            return -abs(value - spec.goal.bound)
        return value if wanted.startswith(">") else -value

    return sorted(known, key=lambda row: (badness(row), row.run))[:WORST]


def _related(sweep: Sweep, rows: Mapping[int, Row], figure: str) -> str:
    """Describe the two inputs on which a figure depends most."""
    known = [row for row in rows.values() if math.isfinite(row.figures[figure])]
    found = correlations(sweep, known, figure) if len(known) >= FEWEST else []
    words = ", ".join(f"{name} {rho:+.2f}" for name, rho in found[:2] if abs(rho) >= RELATED)
    return f"  depends on {words}" if words else ""


def correlations(sweep: Sweep, rows: Collection[Row], figure: str) -> list[tuple[str, float]]:
    """Return Spearman's rank correlation of a figure with each input that has an order, the largest first."""
    outputs, found = np.array([row.figures[figure] for row in rows]), []
    for variable in sweep.variables:
        values = [row.inputs[variable.name] for row in rows]
        if not any(isinstance(value, str) for value in values):
            found.append((variable.name, rank_correlation(np.array(values, dtype=float), outputs)))
    return sorted(found, key=lambda one: -abs(one[1]))


def rank_correlation(first: Array, second: Array) -> float:
    """Return Spearman's rank correlation of two series; 0 if one is constant."""
    if np.ptp(first) == 0.0 or np.ptp(second) == 0.0:
        return 0.0
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


def _reason_lines(rows: Collection[Row]) -> list[str]:
    lines = []
    for reason, of in reasons(rows)[:5]:
        runs = ", ".join(str(row.run) for row in of[:WORST])
        lines.append(f"    {len(of):>5}  {reason}  (run {runs}{', ...' * (len(of) > WORST)})")
    return ["  why runs do not hold", *lines] if lines else []


def reasons(rows: Collection[Row]) -> list[tuple[str, list[Row]]]:
    """Return why runs do not hold, without their numbers if there are several, the most frequent reason first."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.outcome != HOLDS:
            found.setdefault(_without_value(row.reason), []).append(row)
    most = sorted(found.items(), key=lambda one: -len(one[1]))
    return [(of[0].reason if len(of) == 1 else reason, of) for reason, of in most]


def _without_value(reason: str) -> str:
    return "; ".join(part.partition(" = ")[0] if ", goal " in part else part for part in reason.split("; "))


def _interval(count: int, total: int) -> tuple[float, float]:
    """Return the confidence interval of a share (Wilson 1927)."""
    share, spread = count / total, Z**2 / total
    middle = (share + spread / 2.0) / (1.0 + spread)
    half = Z * math.sqrt(share * (1.0 - share) / total + Z**2 / (4.0 * total**2)) / (1.0 + spread)
    return max(middle - half, 0.0), min(middle + half, 1.0)
