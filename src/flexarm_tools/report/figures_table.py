"""Figures in the report: a table with goals, and a badge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

import numpy as np

from flexarm_tools.metrics.figures import Figure
from flexarm_tools.report.svg_plot import engineering, superscript

UNFOLDED = 8  # largest number of figures without a goal that are shown unfolded


def verdict(figures: Sequence[Figure], unexpected: int = 0) -> str:
    """Return a badge with the number of goals met, or that unexpected events make them void; empty without goals."""
    if unexpected:
        things = "1 thing was" if unexpected == 1 else f"{unexpected} things were"
        return f'<span class="verdict bad">void: {things} not expected</span>'
    goals = [figure for figure in figures if _judged(figure)]
    failed = sum(not figure.holds for figure in goals)
    if not goals:
        return ""
    if failed:
        word = "fails" if failed == 1 else "fail"
        return f'<span class="verdict bad">{failed} of {len(goals)} goals {word}</span>'
    text = "the goal holds" if len(goals) == 1 else f"all {len(goals)} goals hold"
    return f'<span class="verdict good">{text}</span>'


def figures_section(figures: Sequence[Figure], void: bool = False) -> list[str]:
    """Return heading and table of figures; empty without figures. ``void``: unexpected events make them void."""
    return ['<h2 id="figures">Figures</h2>', figures_table(figures, void)] if figures else []


def figures_table(figures: Sequence[Figure], void: bool = False) -> str:
    """Return the figures with goals and results, then those without a goal: folded if there are many.

    Goals of zero that are met by zero are folded, too. ``void``: unexpected events make the figures void.
    """
    if not figures:
        return ""
    zeros = [figure for figure in figures if _zero(figure)]
    goals = [figure for figure in figures if _judged(figure) and not _zero(figure)]
    others = [figure for figure in figures if not _judged(figure)]
    parts = []
    if not goals or len(others) <= UNFOLDED:
        goals, others = [*goals, *others], []
    if goals:
        parts.append(_table(goals, void))
    if zeros:
        words = "figure that had to be 0 and is" if len(zeros) == 1 else "figures that had to be 0 and are"
        parts.append(_folded(f"{len(zeros)} {words}", zeros, void))
    if others:
        parts.append(_folded(f"{len(others)} more figures, measured without a goal", others, void))
    return f'<div class="card figures">{"".join(parts)}</div>'


def _folded(summary: str, figures: Sequence[Figure], void: bool) -> str:
    return f'<details class="more"><summary>{summary}</summary>{_table(figures, void)}</details>'


def _judged(figure: Figure) -> bool:
    return figure.goal is not None or not figure.holds


def _zero(figure: Figure) -> bool:
    """Return whether a goal of zero is met by zero, which a reader need not be told row by row."""
    return figure.goal is not None and figure.goal.bound == figure.value == 0.0 and figure.holds


def _table(figures: Sequence[Figure], void: bool) -> str:
    rows = []
    for figure in figures:
        mark = '<span class="none">measured</span>'
        if _judged(figure):
            word, kind = ("fails", "bad") if not figure.holds else ("void", "bad") if void else ("holds", "good")
            mark = f'<span class="mark {kind}">{word}</span>'
        what = f'<span class="name">{escape(figure.name)}</span><span class="meaning">{inline(figure.meaning)}</span>'
        rows.append(
            f'<tr><td class="what">{what}</td><td class="value">{_value(figure)}</td>'
            f'<td class="goal">{_goal(figure)}</td><td class="holds">{mark}</td></tr>'
        )
    head = "<thead><tr><th>Figure</th><th>Measured</th><th>Goal</th><th></th></tr></thead>"
    return f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"


def _value(figure: Figure) -> str:
    if not np.isfinite(figure.value):
        reason = str(figure.details.get("reason", ""))
        return f'not measured <span class="none">{inline(reason)}</span>'.strip()
    bound = f"{figure.bound.replace('_', ' ')} " if figure.bound else ""
    note = ' <span class="none">not settled</span>' if figure.details.get("settled") is False else ""
    return f"{bound}{format_number(figure.value, figure.unit)}{note}"


def _goal(figure: Figure) -> str:
    if figure.goal is None:
        return ""
    sign = {"<=": "≤", ">=": "≥", "==": "=", "<": "&lt;", ">": "&gt;"}[figure.goal.comparison]
    return f"{sign} {format_number(figure.goal.bound, figure.unit)}"


def format_number(value: float, unit: str) -> str:
    """Format a number with three digits and an SI prefix, or a power of ten without unit: ``4.3 µm``, ``9.2·10⁻⁵``."""
    factor, shown = engineering(abs(value), unit)
    scaled = value * factor
    digits = f"{scaled:.2e}" if unit == "1" and 0.0 < abs(scaled) < 0.01 else f"{scaled:.3g}"
    if "e" in digits:
        mantissa, exponent = digits.split("e")
        power = f"10{superscript(int(exponent))}"
        digits = power if float(mantissa) == 1.0 else f"{mantissa}·{power}"
    return f"{digits.replace('-', '−')}\u00a0{escape(shown)}".strip()


def inline(text: str) -> str:
    """Convert text with `code` in backquotes to HTML."""
    parts = re.sub(r"(\d) (?=\w\b)", "\\1\u00a0", escape(text)).split("`")  # 5 s stays on one line
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
