"""Accuracy and speed of the flexible dynamics: ``setup/run python benchmark/flexible_dynamics.py``.

Prints a table, writes build/benchmark/flexible_dynamics.json, and ends with status 0 only if every goal holds.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read at NumPy's import: everything is compared on one core

import accuracy
import speed
import start

from flexarm_tools.figures import write_figures

OUTPUT = Path(__file__).resolve().parents[1] / "build" / "benchmark" / "flexible_dynamics.json"
MEASURES = (
    accuracy.dense_error,
    accuracy.rigid_error,
    accuracy.energy_drift,
    accuracy.frequency_error,
    accuracy.exudyn_tip_error,
    accuracy.mujoco_tip_error,
    speed.aba_ratios,
    speed.dense_ratios,
    speed.growth_exponent,
    speed.exudyn_speed_ratio,
    start.cold_start,
)


def main() -> int:
    """Measure everything."""
    figures = []
    for measure in MEASURES:
        began = time.perf_counter()
        for figure in measure():
            goal = figure.goal.text if figure.goal else ""
            mark = "" if figure.goal is None else "holds" if figure.holds else "FAILS"
            print(f"{figure.name:24} {figure.value:12.4g} {figure.unit:3} {goal:10} {mark:6} {figure.meaning}")
            for name, value in figure.details.items():
                print(f"    {name} = {value:.4g}" if isinstance(value, float) else f"    {name} = {value}")
            figures.append(figure)
        print(f"    ({time.perf_counter() - began:.1f} s)", flush=True)
    good = write_figures(OUTPUT, figures)
    print(f"written to {OUTPUT}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
