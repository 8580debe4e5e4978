"""Expected: events a scenario declares acceptable, and the events of a run that exceed them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from flexarm_core.hardware_gate.state_machine import MACHINE_LATE
from flexarm_tools.metrics.figures import Goal
from flexarm_tools.recording.recording import Recording, RunEvent

NONE = Goal("==", 0.0, "== 0")
STOPPED = ("controlled stop", "tripped")  # prefixes of the gate's stop messages; stops are judged by their count


@dataclass(frozen=True, slots=True)
class Expected:
    """Events that a scenario expects."""

    # limit on the number of occurrences, by name (see WORDS); an event without a limit must not occur
    counts: Mapping[str, Goal] = field(default_factory=dict)
    errors: tuple[str, ...] = ()  # nodes that may report errors

    def beyond(self, recording: Recording) -> tuple[str, ...]:
        """Describe each unexpected event of a run in one short text; empty if there was none."""
        texts = [f"the run ended early: {recording.ended_early}"] if recording.ended_early else []
        if recording.node_deaths:
            texts.append(f"died: {', '.join(recording.node_deaths)}")
        busy = too_busy(recording)
        for name, count in counts(recording).items():
            if busy and (name in OF_BUSY_MACHINES or (name == "trips" and count <= _late_trips(recording))):
                continue
            goal = self.counts.get(name, NONE)
            if not goal.holds(float(count)):
                texts.append(f"{WORDS[name]}: {count}, expected {goal.text}")
        blamed = dict.fromkeys(event.source for event in errors(recording) if event.source not in self.errors)
        if blamed and not busy:
            texts.append(f"errors of {', '.join(blamed)}")
        return tuple(texts)


OF_BUSY_MACHINES = ("stops", "unanswered", "lost_samples")  # what late commands alone cause
WORDS = {
    "stops": "controlled stops of the gate",
    "trips": "trips of the gate",
    "unanswered": "states that no command answered",
    "lost_samples": "samples that were sent and not recorded",
}


def _late_trips(recording: Recording) -> int:
    """Return how often the gate tripped because the machine was late."""
    return sum(e.message.startswith("tripped") and MACHINE_LATE in e.message for e in recording.events)


def counts(recording: Recording) -> dict[str, int]:
    """Count the occurrences of each event of WORDS."""
    return {
        "stops": recording.watchdog_stops,
        "trips": recording.trips,
        "unanswered": recording.lockstep_timeouts,
        "lost_samples": recording.lost_samples,
    }


def too_busy(recording: Recording) -> str:
    """Return a text if the machine was too busy for a run in real time; empty if it was not, or in lockstep.

    It was if more than one command of a hundred came later than a control period after its joint state, or if the gate
    stopped because the machine was late: a state without a command has no latency.
    """
    latency, period = recording.tick_latency, float(recording.time[1] - recording.time[0])
    known = latency[np.isfinite(latency)]
    if not len(known):
        return ""
    late = float(np.percentile(known, 99.0))
    if late <= period:
        stops = (e.message for e in recording.events if e.message.startswith(STOPPED) and MACHINE_LATE in e.message)
        return next((f"this machine was too busy: {stop}" for stop in stops), "")
    return (
        f"this machine was too busy: p99 {1e3 * late:.3g} ms from state to command, the period is {1e3 * period:.3g} ms"
    )


def errors(recording: Recording) -> list[RunEvent]:
    """Return the errors that nodes reported, except the gate's stops, which are counted separately."""
    return [
        event
        for event in recording.events
        if event.level == "error" and event.source != "runner" and not event.message.startswith(STOPPED)
    ]


def first_words(recording: Recording, expected: tuple[str, ...] = (), most: int = 3) -> list[str]:
    """Format the first errors of each node, or its first warnings if it reported no errors, as lines to print.

    Reports of stages that a ``control_loop`` repeats are omitted.

    Args:
        recording: the run.
        expected: nodes that may report errors; of these, the first one is printed with the number of all.
        most: largest number of lines of a node.
    """
    lines = []
    sources = tuple(f"{source}: " for source in {event.source for event in recording.events})
    told = ("error", "warn")
    events = [
        event
        for event in recording.events
        if event.level in told and event.message != recording.ended_early and not event.message.startswith(sources)
    ]
    for source in dict.fromkeys(event.source for event in events):
        reported = [event for event in events if event.source == source]
        chosen = [event for event in reported if event.level == "error"] or reported
        if source in expected and chosen[0].level == "error":
            first = f"{chosen[0].time:.3f} s: {chosen[0].message}"
            lines.append(f"as expected, {source} reports errors ({len(chosen)}), the first at {first}")
            continue
        lines += [f"{e.level.upper():<5} {e.time:8.3f} s  {source}: {e.message}" for e in chosen[:most]]
        if len(chosen) > most:
            lines.append(f"{'':<5} {'':>8}    {source}: {len(chosen) - most} more like these in the report")
    return lines
