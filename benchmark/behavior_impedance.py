"""The behavior impedance controller: ``setup/run python benchmark/behavior_impedance.py``.

Law, contact, changes now and then and at every sample, worlds, a peer, times. Names of measures run those alone:
``setup/run python benchmark/behavior_impedance.py reprogramming``.

Prints a table, writes build/benchmark/behavior_impedance.json, and ends with status 0 only if every goal holds.
"""

from __future__ import annotations

import os
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read at NumPy's import: everything is compared on one core

import behavior_changes
import behavior_law
import behavior_peer
import behavior_reprogramming
import behavior_times
import behavior_wipe
import behavior_worlds
import table

MEASURES = (
    behavior_law.oscillator,
    behavior_law.passivity,
    behavior_wipe.wipe,
    behavior_changes.changes,
    behavior_reprogramming.reprogramming,
    behavior_worlds.worlds,
    behavior_peer.tracking,
    behavior_peer.contact,
    behavior_peer.limits,
    behavior_times.update_times,
    behavior_times.stage_time,
)

if __name__ == "__main__":
    chosen = [measure for measure in MEASURES if measure.__name__ in sys.argv[1:]]
    name = "_".join(["behavior_impedance", *sys.argv[1:]])
    if len(chosen) < len(sys.argv[1:]):
        sys.exit(f"measures are: {', '.join(measure.__name__ for measure in MEASURES)}")
    sys.exit(table.run(name, chosen or MEASURES))
