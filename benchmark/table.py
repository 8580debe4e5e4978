"""Runs measures, prints what they found, writes it to build/benchmark."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from flexarm_tools.metrics.figures import Figure, write_figures

FOLDER = Path(__file__).resolve().parents[1] / "build" / "benchmark"


def run(name: str, measures: Iterable[Callable[[], Iterable[Figure]]]) -> int:
    """Exit status: 0 only if every goal holds."""
    figures = []
    for measure in measures:
        began = time.perf_counter()
        for figure in measure():
            goal = figure.goal.text if figure.goal else ""
            mark = "" if figure.goal is None else "holds" if figure.holds else "FAILS"
            print(f"{figure.name:26} {figure.value:12.4g} {figure.unit:3} {goal:10} {mark:6} {figure.meaning}")
            for key, value in figure.details.items():
                print(f"    {key} = {value:.4g}" if isinstance(value, float) else f"    {key} = {value}")
            figures.append(figure)
        print(f"    ({time.perf_counter() - began:.1f} s)", flush=True)
    output = FOLDER / f"{name}.json"
    good = write_figures(output, figures)
    print(f"written to {output}")
    return 0 if good else 1
