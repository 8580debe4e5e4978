"""CPU time of the parts of a tick, hot, by the thread's clock: ``setup/run python benchmark/tick_times.py``.

The flagship's stages and its plant run in this process; what other processes take of the machine does not count.
"""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path

import numpy as np
from in_process import InProcess

from flexarm_core.pipeline.flexible_stages import FlexibleEstimatorStage
from flexarm_tools.metrics.figures import Figure, parse_goal
from flexarm_tools.scenario.file import load_scenario

FLAGSHIP = Path(__file__).resolve().parents[1] / "config" / "boom_7r" / "scenarios" / "inspect_and_wipe.yaml"
TICKS = 1500
SAMPLES = 100  # that come before those whose times count


def estimator() -> list[Figure]:
    """State to estimate, and what the estimator prepares when the command is out."""
    run = InProcess(load_scenario(FLAGSHIP))
    stage = next(stage for stage in run.pipeline.stages if isinstance(stage, FlexibleEstimatorStage))
    given, update = [], stage.estimator.update

    def noted(*arguments):  # type: ignore[no-untyped-def]
        given.append(arguments)
        return update(*arguments)

    stage.estimator.update = noted  # type: ignore[method-assign]
    for _ in range(TICKS):
        run.tick()
    stage.estimator.reset()
    clock, updates, preparations = time.thread_time_ns, [], []
    gc.disable()
    for arguments in given:
        began = clock()
        update(*arguments)
        known = clock()
        stage.estimator.prepare()
        updates.append(known - began)
        preparations.append(clock() - known)
    gc.enable()
    took = [1e-3 * np.array(each[SAMPLES:]) for each in (updates, preparations)]
    details = [{"p99": float(np.percentile(each, 99)), "mean": float(each.mean())} for each in took]
    return [
        Figure(
            "estimator_us", float(np.median(took[0])), "us", parse_goal("<= 60"),
            "flagship: joint state taken to flexible state known, CPU time, median", details=details[0],
        ),
        Figure(
            "prepare_us", float(np.median(took[1])), "us", None,
            "flagship: what the estimator prepares when the command is out, CPU time, median", details=details[1],
        ),
    ]  # fmt: skip


MEASURES = (estimator,)

if __name__ == "__main__":
    from table import run as measure

    sys.exit(measure("tick_times", MEASURES))
