"""How fast the stages of a scenario answer in real time: in one process, and as processes of their own.

``python benchmark/control_loop.py [SCENARIO] [--duration SECONDS] [--priority N]``; the machine should have nothing
else to do. With a priority, stages, plant and listener ask for real-time scheduling, as controller_manager does.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from flexarm_nodes.node.real_time import ask_for_priority
from flexarm_nodes.registry import NODES
from flexarm_tools.metrics.figures import Figure, parse_goal
from flexarm_tools.metrics.registry import MetricOptions
from flexarm_tools.metrics.run import tick_latency_max, tick_latency_p50, tick_latency_p99
from flexarm_tools.process.progress import Progress
from flexarm_tools.recording.recording import Recording
from flexarm_tools.run.composition import in_one_process
from flexarm_tools.run.runner import run_scenario
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import Scenario
from flexarm_tools.wiring.table import GATE

ROOT = Path(__file__).resolve().parents[1]
BEHAVIORS = "behavior_impedance_controller"
DEFAULT = ROOT / "config" / "boom_7r" / "scenarios" / "inspect_and_wipe.yaml"
COMPOSED, SEPARATE = 500.0, 250.0  # [Hz]
SAID = re.compile(r"(\d+) ticks: median ([\d.]+), 99 % within ([\d.]+), longest ([\d.]+) ms")
CORES = os.cpu_count() or 1
# gains of the flagship hold at 500 Hz and a sample of delay; at 250 Hz they need these
SOFTER = {"torque_bandwidth": 40.0, "servo_position_gain": 400.0, "servo_velocity_gain": 40.0}
STILL = 3.0  # [s] in which processes come up and look at gains: nothing moves before, as on a robot
AHEAD = 10  # the plant, which stands for hardware, goes before them, and whoever looks at the clock before both


def in_real_time(scenario: Scenario, rate: float, duration: float) -> Scenario:
    """The scenario against the wall clock: stages are told its rate, and have gains that hold at it."""
    nodes = []
    for node in scenario.nodes:
        softer = SOFTER if rate < scenario.rate else {}
        parameters = {name: softer.get(name, value) for name, value in node.parameters.items()}
        if node.executable in NODES and any(row.name == "rate" for row in NODES[node.executable].PARAMETERS):
            parameters["rate"] = rate
        if node.executable == BEHAVIORS:
            parameters |= {name: value + STILL for name, value in parameters.items() if name.endswith(".start")}
        nodes.append(replace(node, parameters=parameters))
    events = (replace(event, at=event.at + STILL) for event in scenario.events)
    pushes = (replace(push, start=push.start + STILL) for push in scenario.pushes)
    events = tuple(event for event in events if event.at < duration)
    pushes = tuple(push for push in pushes if push.start < duration)
    return replace(
        scenario, mode="real_time", rate=rate, duration=duration, nodes=tuple(nodes), events=events, pushes=pushes,
        figures=(),
    )  # fmt: skip


def with_priority(scenario: Scenario, priority: int) -> Scenario:
    """The scenario whose nodes ask for priority, the gate for more, the plant for still more."""
    asked = {
        node.name: priority + (AHEAD // 2 if node.executable == GATE and priority else 0) for node in scenario.nodes
    }
    nodes = (
        replace(node, parameters=node.parameters | {"thread_priority": asked[node.name]}) for node in scenario.nodes
    )
    plant = scenario.plant | {"thread_priority": priority + AHEAD if priority else 0}
    return replace(scenario, nodes=tuple(nodes), plant=plant)


class Watch(Progress):
    """How fast simulation time passes, and what part of the machine each process of the run takes meanwhile."""

    def __init__(self, title: str, priority: int) -> None:
        """Begin to look, at this priority from the first tick on."""
        super().__init__(title)
        self.priority, self.refused = priority, ""
        self._times: list[tuple[float, float]] = []
        self._shares: list[tuple[float, dict[str, float]]] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def show(self, now: float, end: float) -> None:
        """Simulation time ``now`` of ``end`` [s]."""
        if not self._times:
            self.refused = ask_for_priority(self.priority)
        super().show(now, end)
        self._times.append((time.monotonic(), now))

    @property
    def pace(self) -> float:
        """Simulation time over wall time."""
        (began, first), (ended, last) = self._times[0], self._times[-1]
        return (last - first) / (ended - began)

    def shares(self) -> dict[str, float]:
        """CPU time over wall time of each process, 1 for a core, over the second half of the run."""
        self._over.set()
        self._thread.join()
        ended = self._times[-1][0]
        middle = 0.5 * (self._times[0][0] + ended)
        (begin, before), *_, (end, after) = [sample for sample in self._shares if middle <= sample[0] <= ended]
        return {name: (used - before[name]) / (end - begin) for name, used in after.items() if name in before}

    def _look(self) -> None:
        while not self._over.wait(0.5):
            self._shares.append((time.monotonic(), cpu_times()))


def cpu_times() -> dict[str, float]:
    """CPU time [s] that each child of this process has taken, by the name of its executable, and this process."""
    times, tick = {"runner": time.process_time()}, os.sysconf("SC_CLK_TCK")
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            after_name = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(after_name[1]) == os.getpid():
                words = (folder / "cmdline").read_text().split("\0")
                name = next((Path(word).name for word in words if "/lib/flexarm/" in word), words[0])
                times[name] = (int(after_name[11]) + int(after_name[12])) / tick
        except (OSError, IndexError):  # it has ended meanwhile
            continue
    return times


@dataclass(frozen=True, slots=True)
class Measured:
    """A run, and what was seen of it: ``said`` are lines of the control loop's log."""

    recording: Recording
    watch: Watch
    said: str

    def details(self) -> dict[str, bool | float | str]:
        """What stands beside a figure."""
        shares, options = self.watch.shares(), MetricOptions()
        busy = ", ".join(f"{name} {100.0 * share:.0f} %" for name, share in sorted(shares.items()))
        return {
            "pace": self.watch.pace,  # 1: real time was held
            "cpu_share": f"{100.0 * sum(shares.values()) / CORES:.0f} % of {CORES} cores: {busy}",
            "end_to_end_p50": tick_latency_p50(self.recording, options).value,
            "end_to_end_p99": tick_latency_p99(self.recording, options).value,
            "end_to_end_max": tick_latency_max(self.recording, options).value,
            "lost_samples": str(self.recording.lost_samples),
            "priority": self.watch.refused or "SCHED_FIFO" if self.watch.priority else "ordinary",
            "commands_missed": str(int((~(self.recording.tick_latency > 0.0)).sum())),
        }


def measured(scenario: Scenario, title: str, priority: int) -> Measured:
    """Run it."""
    watch = Watch(title, priority + 2 * AHEAD if priority else 0)
    with tempfile.TemporaryDirectory() as folder:
        recording = run_scenario(scenario, watch, Path(folder), only_times=True)
        watch.end("done")
        log = Path(folder) / "control_loop.log"
        return Measured(recording, watch, log.read_text() if log.is_file() else "")


def composed(scenario: Scenario, duration: float, priority: int, stops: dict[str, int], rate: float) -> list[Figure]:
    """All stages in one process: its own clock says how long a tick takes."""
    scenario = with_priority(in_one_process(in_real_time(scenario, rate, duration)), priority)
    run = measured(scenario, f"control_loop, {rate:g} Hz", priority)
    stops[f"composed_{rate:g}"] = run.recording.watchdog_stops
    ticks, median, p99, longest = (float(value) for value in SAID.findall(run.said)[-1])
    details = run.details() | {"ticks": f"{ticks:.0f}", "median": 1e-3 * median, "longest": 1e-3 * longest}
    name = "loop_p99_composed" if rate == COMPOSED else f"loop_p99_composed_{rate:g}"
    goal = parse_goal("<= 1.5e-3") if rate == COMPOSED else None
    meaning = f"control_loop at {rate:g} Hz: joint state taken to command sent, 99th percentile"
    return [Figure(name, 1e-3 * p99, "s", goal, meaning, details=details)]


def separate(scenario: Scenario, duration: float, priority: int, stops: dict[str, int]) -> list[Figure]:
    """A process a stage: the recorder's clock says when a joint state and its command went by."""
    scenario = with_priority(in_real_time(scenario, SEPARATE, duration), priority)
    run = measured(scenario, f"a process a stage, {SEPARATE:g} Hz", priority)
    stops[f"separate_{SEPARATE:g}"] = run.recording.watchdog_stops
    details = run.details()
    p99 = details["end_to_end_p99"]
    assert isinstance(p99, float)
    meaning = "a process a stage at 250 Hz: joint state sent to its command sent, as seen from outside, 99th percentile"
    return [Figure("loop_p99_separate", p99, "s", parse_goal("<= 4e-3"), meaning, details=details)]


def watchdog(stops: dict[str, int]) -> list[Figure]:
    """Stops of the gate in all runs."""
    meaning, details = "times that the gate stopped the arm, all runs", {key: float(n) for key, n in stops.items()}
    return [Figure("watchdog_stops", float(sum(stops.values())), "1", parse_goal("== 0"), meaning, details=details)]


if __name__ == "__main__":
    from table import run

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", type=Path, nargs="?", default=DEFAULT)
    parser.add_argument("--duration", type=float, default=60.0)
    parser.add_argument("--priority", type=int, default=0, help="SCHED_FIFO priority of the stages, 0: ordinary")
    arguments = parser.parse_args()
    scenario, stops = load_scenario(arguments.scenario), {}
    asked = scenario, arguments.duration, arguments.priority, stops
    runs = (partial(composed, *asked, COMPOSED), partial(composed, *asked, SEPARATE), partial(separate, *asked))
    sys.exit(run("control_loop", (*runs, partial(watchdog, stops))))
