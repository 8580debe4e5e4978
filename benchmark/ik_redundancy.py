"""The redundancy resolution: exactness, speed, paths and poses: ``setup/run python benchmark/ik_redundancy.py``.

Prints a table, writes build/benchmark/ik_redundancy.json, and ends with status 0 only if every goal holds.
"""

from __future__ import annotations

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read at NumPy's import: everything is compared on one core

import ik_paths
import ik_singular
import ik_solve
import ik_step
import table

MEASURES = (
    ik_step.kkt_error,
    ik_step.operation_count,
    ik_step.cyclic_drift_growth,
    ik_step.step_times,
    ik_step.stage_time,
    ik_singular.singular,
    lambda: ik_solve.measure(),
    ik_paths.path_success,
)

if __name__ == "__main__":
    sys.exit(table.run("ik_redundancy", MEASURES))
