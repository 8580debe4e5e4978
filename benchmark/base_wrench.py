"""The base-wrench torque estimator and its torque loop: ``setup/run python benchmark/base_wrench.py``.

Exactness, slow motion against friction beside other ways round it, sensitivity, calibration, a base that swings, times.

Prints a table, writes build/benchmark/base_wrench.json, and ends with status 0 only if every goal holds.
"""

from __future__ import annotations

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read at NumPy's import: everything is compared on one core

import base_wrench_calibration
import base_wrench_exact
import base_wrench_sensitivity
import base_wrench_swing
import base_wrench_times
import base_wrench_tracking
import table

MEASURES = (
    base_wrench_exact.rnea_error,
    base_wrench_exact.look_up_table,
    base_wrench_tracking.tracking,
    base_wrench_tracking.peers,
    base_wrench_tracking.pushed,
    base_wrench_sensitivity.sensitivity,
    base_wrench_calibration.calibration,
    base_wrench_swing.moving_base,
    base_wrench_times.update_times,
)

if __name__ == "__main__":
    sys.exit(table.run("base_wrench", MEASURES))
