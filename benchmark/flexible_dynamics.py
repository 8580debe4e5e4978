"""Accuracy and speed of the flexible dynamics: ``setup/run python benchmark/flexible_dynamics.py``.

Prints a table, writes build/benchmark/flexible_dynamics.json, and ends with status 0 only if every goal holds.
"""

from __future__ import annotations

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read at NumPy's import: everything is compared on one core

import accuracy
import speed
import start
import table

MEASURES = (
    accuracy.dense_error,
    accuracy.rigid_error,
    accuracy.energy_drift,
    accuracy.frequency_error,
    accuracy.mounted_mode_error,
    accuracy.gravity_frequency_error,
    accuracy.modal_discrepancy_ratio,
    accuracy.exudyn_tip_error,
    accuracy.mujoco_tip_error,
    speed.aba_ratios,
    speed.dense_ratios,
    speed.growth_exponent,
    speed.carried_over,
    speed.exudyn_speed_ratio,
    start.cold_start,
    start.node_start,
)

if __name__ == "__main__":
    sys.exit(table.run("flexible_dynamics", MEASURES))
