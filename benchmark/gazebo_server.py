"""Scenarios under a whole Gazebo beside the same scenarios in the simulated plant, each started by its launch file.

``python benchmark/gazebo_server.py [CASE ...] [--speed X]`` where launch_ros, Gazebo and gz_ros2_control are installed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "support"))

import table
from gazebo_runs import CASES, Case, observe

from flexarm_tools.metrics.figures import Figure, parse_goal


def compared(case: Case, speed: float) -> Iterator[Figure]:
    """A case in both worlds."""
    plant, gazebo = observe(case, False, speed), observe(case, True, speed)
    beside, found = case.judge(plant), case.judge(gazebo)
    states = len(list(gazebo.rows()))
    for name, value in found.items():
        yield Figure(
            f"{case.name}_{name}", value, "", parse_goal(f"<= {case.goals[name]}"), "in Gazebo",
            details={"in the simulated plant": beside[name]},
        )  # fmt: skip
    commands = sum(len(found) for topic, found in gazebo.messages.items() if topic.endswith("/commands"))
    yield Figure(
        f"{case.name}_stops", gazebo.stops(), "1", parse_goal("== 0"), "times that the gate stopped the arm",
        details={"in the simulated plant": plant.stops(), "joint states": float(states), "commands": float(commands)},
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=", ".join(case.name for case in CASES))
    parser.add_argument("--speed", type=float, default=0.3, help="real_time_factor of Gazebo")
    arguments = parser.parse_args()
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    if unknown := set(arguments.cases) - {case.name for case in CASES}:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    chosen = [case for case in CASES if not arguments.cases or case.name in arguments.cases]
    sys.exit(table.run("gazebo_server", [partial(compared, case, arguments.speed) for case in chosen]))
