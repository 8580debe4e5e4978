"""Table of the campaign: for the terminal, the docs and the report."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from flexarm_core.errors import ConfigError
from flexarm_tools.faults.tally import BARS, LEAST, failures

WIDTH = 100  # of prose in docs
BEGIN, END = "<!-- table of faults: written by `flexarm faults --table` -->", "<!-- end of the table of faults -->"
HEAD = (
    "fault", "cases", "run-aways", "fastest / limit", "fastest blind", "stop begins after", "cause named", "afterwards",
)  # fmt: skip


def rows(found: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the cells of the table, one row per kind of fault."""
    return [
        (
            row["what"] or row["kind"],
            str(row["faults_tried"]),
            str(row["runaways"]),
            _number(row["worst_speed_ratio"]),
            _number(row["worst_blind_ratio"]),
            "" if row["worst_stop_delay"] == 0.0 else f"{_number(row['worst_stop_delay'])} s",
            f"{row['named']['yes']} of {row['named']['of']}" if row["named"]["of"] else "",
            ", ".join(f"{name} {count}" for name, count in row["recovery"].items() if name),
        )
        for row in found["kinds"]
    ]


def summary(found: dict[str, Any]) -> str:
    """Return the results in one sentence."""
    return (
        f"{found['faults_tried']} cases ({found['core_cases']} on the core, {found['node_cases']} on real nodes):"
        f" {found['runaways']} run-aways, {found['bad_commands']} bad commands,"
        f" {found['silent_periods']} silent periods,"
        f" fastest {_number(found['worst_speed_ratio'])} times the limit, blind {_number(found['worst_blind_ratio'])}"
        f" times, a stop begins within {_number(found['worst_stop_delay'])} s,"
        f" {found['unexplained_stops']} unexplained stops, {found['unnamed_stops']} that do not name their cause,"
        f" {found['position_violations']} position limits and {found['acceleration_violations']} acceleration limits"
        f" broken, {found['unlatched_trips']} trips not latched, {100.0 * found['valid_cases_share']:.0f} % of the"
        " cases valid."
    )


def markdown(found: dict[str, Any]) -> str:
    """Return summary, wrapped as the prose of docs, and table in Markdown."""
    lines = [*textwrap.wrap(summary(found), WIDTH), "", f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(cells)} |" for cells in rows(found))])


def write_table(page: Path, found: dict[str, Any]) -> None:
    """Replace the table in a page, between its markers.

    Raises:
        ConfigError: the page does not contain the markers.
    """
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ConfigError(f"'{page}' has no lines '{BEGIN}' and '{END}' between which the table goes")
    page.write_text(f"{before}{BEGIN}\n\n{markdown(found)}\n\n{END}{after}", encoding="utf-8")


def write_report(path: Path, found: dict[str, Any]) -> None:
    """Write the report as one HTML file."""
    from flexarm_tools.report.report import write_page

    missed = len(failures(found))
    badge = _mark("verdict", not missed, f"{missed} bars missed" if missed else "all bars hold")
    most = [(name, f"≤ {bar:g}", found[name] <= bar) for name, bar in BARS.items()]
    least = [(name, f"≥ {bar:g}", found[name] >= bar) for name, bar in LEAST.items()]
    bars = [(name, _number(found[name]), bar, ("fails", "holds")[holds]) for name, bar, holds in most + least]
    body = [
        f'<header><div class="top"><h1>Faults</h1>{badge}</div><p class="lede">{escape(summary(found))}</p></header>',
        '<h2 id="bars">Bars</h2>',
        _card(("figure", "measured", "bar", ""), bars),
        '<h2 id="kinds">Kinds of fault</h2>',
        _card(HEAD, rows(found)),
    ]
    if found["missed"]:
        listed = "".join(f"<li>{escape(line)}</li>" for line in found["missed"])
        body.append(f'<h2 id="missed">Cases that missed a bar</h2><div class="card"><ol>{listed}</ol></div>')
    write_page(path, "Faults", body)


def _card(head: tuple[str, ...], body: Iterable[tuple[str, ...]]) -> str:
    """Return a table in the style of the report; a cell that tells whether a bar holds is highlighted."""
    titles = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join(f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in cells)}</tr>" for cells in body)
    table = f"<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>"
    return f'<div class="card figures">{table}</div>'


def _cell(text: str) -> str:
    return _mark("mark", text == "holds", text) if text in ("holds", "fails") else escape(text)


def _mark(kind: str, good: bool, text: str) -> str:
    return f'<span class="{kind} {"good" if good else "bad"}">{text}</span>'


def _number(value: float) -> str:
    return "none" if not math.isfinite(value) else f"{value:.3g}"
