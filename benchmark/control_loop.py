"""How fast the stages of a scenario answer in real time: in one process, and as processes of their own.

``python benchmark/control_loop.py [SCENARIO] [--duration SECONDS] [--quick] [--priority N]``; the machine should have
nothing else to do. With a priority, stages, plant and listener ask for real-time scheduling, as controller_manager
does. ``*_us`` are CPU times, which a loaded machine makes less wrong than what the clock says.
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
from flexarm_nodes.registry import GATE, NODES, parameters_of
from flexarm_tools.metrics.figures import Figure, parse_goal
from flexarm_tools.metrics.registry import MetricOptions
from flexarm_tools.metrics.run import tick_latency_max, tick_latency_p50, tick_latency_p99
from flexarm_tools.process.progress import Progress
from flexarm_tools.recording.recording import Recording
from flexarm_tools.run.composition import in_one_process
from flexarm_tools.run.runner import run_scenario
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import NodeSpec, Scenario

ROOT = Path(__file__).resolve().parents[1]
BEHAVIORS = "behavior_impedance_controller"
DEFAULT = ROOT / "config" / "boom_7r" / "scenarios" / "inspect_and_wipe.yaml"
PLANAR = ROOT / "config" / "planar_3r" / "scenarios" / "real_time.yaml"
BOOM = ROOT / "config" / "boom_7r" / "scenarios" / "reactionless.yaml"
COMPOSED, SEPARATE, FAST = 500.0, 250.0, 1000.0  # [Hz]
TORQUE_LOOP = NodeSpec(
    "flexarm",
    "base_wrench_torque_estimator",
    "base_wrench_torque_estimator",
    {"base_motion": "joint_states", "torque_bandwidth": 40.0},
    {},
)
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
        if node.executable in NODES and any(row.name == "rate" for row in parameters_of(node.executable)):
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


def per_tick(run: Measured, rate: float, process: str) -> float:
    """CPU time of a process in one tick of the plant [us]: all its threads, those of the middleware too."""
    return 1e6 * run.watch.shares()[process] / (rate * run.watch.pace)


def composed(scenario: Scenario, duration: float, priority: int, stops: dict[str, int], rate: float) -> list[Figure]:
    """All stages in one process: its own clock says how long a tick takes."""
    scenario = with_priority(in_one_process(in_real_time(scenario, rate, duration)), priority)
    run = measured(scenario, f"control_loop, {rate:g} Hz", priority)
    stops[f"composed_{rate:g}"] = run.recording.watchdog_stops
    ticks, median, p99, longest = (float(value) for value in SAID.findall(run.said)[-1])
    details = run.details() | {"ticks": f"{ticks:.0f}", "longest": 1e-3 * longest}
    slow = "" if rate == COMPOSED else f"_{rate:g}"
    goals = ("<= 1.0e-3", "<= 0.6e-3", "<= 1000", "<= 600") if rate == COMPOSED else ("",) * 4
    end, part = f"control_loop at {rate:g} Hz: joint state taken to command sent", "CPU time in a tick, all threads"
    rows: tuple[tuple[str, float, str, str], ...] = (
        ("loop_p99_composed", 1e-3 * p99, "s", f"{end}, 99th percentile"),
        ("loop_p50_composed", 1e-3 * median, "s", f"{end}, median"),
        ("loop_cpu_us", per_tick(run, rate, "control_loop"), "us", f"process of the control loop: {part}"),
        ("plant_us", per_tick(run, rate, "simulated_plant"), "us", f"process of the plant: {part}"),
    )
    return [
        Figure(f"{name}{slow}", value, unit, parse_goal(goal) if goal else None, meaning, details=more)
        for (name, value, unit, meaning), goal, more in zip(rows, goals, (details, {}, {}, {}), strict=True)
    ]


def fast(duration: float, priority: int, stops: dict[str, int]) -> list[Figure]:
    """Vibration control and gate at 1 kHz in one process, for two arms; the slower one counts."""
    found: dict[str, float] = {}
    details: dict[str, bool | float | str] = {}
    for name, path in (("planar_3r", PLANAR), ("boom_7r", BOOM)):
        scenario = with_priority(in_one_process(in_real_time(load_scenario(path), FAST, duration)), priority)
        run = measured(scenario, f"{name}, {FAST:g} Hz", priority)
        stops[f"{name}_{FAST:g}"] = run.recording.watchdog_stops
        _, median, p99, longest = (float(value) for value in SAID.findall(run.said)[-1])
        found[name] = 1e-3 * p99
        said = run.details() | {"p50": 1e-3 * median, "p99": 1e-3 * p99, "longest": 1e-3 * longest}
        details |= {f"{name}_{key}": value for key, value in said.items()}
    meaning = "generator, vibration control and gate of planar_3r and boom_7r at 1 kHz, one process: 99th percentile"
    return [Figure("loop_p99_1khz", max(found.values()), "s", parse_goal("<= 0.7e-3"), meaning, details=details)]


def separate(
    scenario: Scenario, duration: float, priority: int, stops: dict[str, int], name: str, goal: str
) -> list[Figure]:
    """A process a stage: the recorder's clock says when a joint state and its command went by."""
    scenario = with_priority(in_real_time(scenario, SEPARATE, duration), priority)
    run = measured(scenario, f"a process a stage, {SEPARATE:g} Hz", priority)
    if goal:  # else it is known not to hold, and why: see docs/control_loop.md
        stops[name] = run.recording.watchdog_stops
    details = run.details() | {"stops": str(run.recording.watchdog_stops)}
    p99 = details["end_to_end_p99"]
    assert isinstance(p99, float)
    meaning = (
        f"{len(scenario.nodes)} nodes as processes at 250 Hz: joint state sent to its command sent, as seen from"
        " outside, 99th percentile"
    )
    return [Figure(name, p99, "s", parse_goal(goal) if goal else None, meaning, details=details)]


def planar_chain() -> Scenario:
    """Generator, vibration control, torque loop and gate of the planar arm."""
    scenario = load_scenario(PLANAR)
    return replace(scenario, nodes=(*scenario.nodes[:-1], TORQUE_LOOP, scenario.nodes[-1]))


def watchdog(stops: dict[str, int]) -> list[Figure]:
    """Stops of the gate in all runs."""
    meaning, details = "times that the gate stopped the arm, all runs", {key: float(n) for key, n in stops.items()}
    return [Figure("watchdog_stops", float(sum(stops.values())), "1", parse_goal("== 0"), meaning, details=details)]


if __name__ == "__main__":
    from table import run
    from tick_times import pipeline_us

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", type=Path, nargs="?", default=DEFAULT)
    parser.add_argument("--duration", type=float, default=60.0)
    parser.add_argument("--quick", action="store_true", help="10 s a run")
    parser.add_argument("--priority", type=int, default=0, help="SCHED_FIFO priority of the stages, 0: ordinary")
    arguments = parser.parse_args()
    scenario, stops = load_scenario(arguments.scenario), {}
    asked = 10.0 if arguments.quick else arguments.duration, arguments.priority, stops
    runs = (
        lambda: [pipeline_us(scenario)],
        partial(composed, scenario, *asked, COMPOSED),
        partial(composed, scenario, *asked, SEPARATE),
        partial(fast, *asked),
        partial(separate, planar_chain(), *asked, "loop_p99_separate", "<= 4e-3"),
        partial(separate, scenario, *asked, "loop_p99_separate_flagship", ""),
        partial(watchdog, stops),
    )
    sys.exit(run("control_loop", runs))
