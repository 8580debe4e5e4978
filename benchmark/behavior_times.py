"""Time of one update over the number of behaviors."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from behavior_arms import DT, STEP_NS
from behavior_station import begin_controller, eight_behaviors

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_tools.metrics.figures import Figure, parse_goal

COUNTS = (1, 4, 8, 16)
ROUNDS, CALLS = 30, 200


def update_times() -> Iterator[Figure]:
    """In turns, each call timed alone; a turn begins with a twentieth untimed, and the first turn warms up."""
    eight = eight_behaviors(start=0.0, repeats=True)
    again = [replace(spec, name=f"{spec.name}_again") for spec in eight[1:]]
    # one path at most can lead
    all_of_them = [*eight, *again, BehaviorSpec("spring", "spring", {"stiffness": [10.0] * 6})]
    controllers = {count: begin_controller(all_of_them[:count]) for count in COUNTS}
    times: dict[int, list[int]] = {count: [] for count in COUNTS}
    clock, wrench, stamp = time.perf_counter_ns, np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0]), 0
    gc.disable()
    nothing = float(np.median([-clock() + clock() for _ in range(2000)]))
    for turn in range(ROUNDS):
        for count, controller in controllers.items():
            row = []
            for call in range(CALLS + CALLS // 20):
                stamp += STEP_NS
                began = clock()
                controller.update(stamp, DT, wrench)
                if call >= CALLS // 20:
                    row.append(clock() - began)
            if turn:
                times[count] += row
        gc.collect()
    gc.enable()
    median = {}
    for count in COUNTS:
        row = (np.array(times[count]) - nothing) * 1e-3
        median[count] = float(np.median(row))
        goal = parse_goal("<= 60") if count == 8 else None
        details = {"p99_us": float(np.percentile(row, 99)), "least_us": float(row.min())}
        yield Figure(
            f"update_time_{count}",
            median[count],
            "us",
            goal,
            f"median of an update, {count} behaviors",
            details=details,
        )
    first, second = (median[8] - median[1]) / 7.0, (median[16] - median[8]) / 8.0
    yield Figure(
        "update_growth", second / first, "1", parse_goal("<= 1.3"),
        "time of a further behavior from 8 to 16 by that from 1 to 8", details={"further_behavior_us": first},
    )  # fmt: skip
