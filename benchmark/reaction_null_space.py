"""The reaction null space: ``setup/run python benchmark/reaction_null_space.py``.

Identities, the experiments of the paper on TREP, paths of least reaction, stability of what is accepted, suppression
and tracking at once, times.

Prints a table, writes build/benchmark/reaction_null_space.json, and ends with status 0 only if every goal holds.
"""

from __future__ import annotations

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read at NumPy's import: everything is compared on one core

import reactionless_paths
import rns_exact
import rns_planner
import rns_stability
import rns_times
import rns_tracking
import table

MEASURES = (
    rns_exact.identities,
    reactionless_paths.suppression,
    reactionless_paths.speeds,
    reactionless_paths.cyclic,
    rns_times.update_times,
    rns_planner.planner,
    rns_stability.stability,
    rns_tracking.tracking,
)

if __name__ == "__main__":
    sys.exit(table.run("reaction_null_space", MEASURES))
