"""Expected: what may happen in a run without its being a failure, and what happened beyond it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flexarm_tools.metrics.figures import Goal
from flexarm_tools.recording.recording import Recording, RunEvent

NONE = Goal("==", 0.0, "== 0")
STOPPED = ("controlled stop", "tripped")  # how the gate's messages of stops begin, which are judged by their number


@dataclass(frozen=True, slots=True)
class Expected:
    """What a scenario expects.

    Attributes:
        counts: by name, see COUNTS, how often something may happen; not at all where it is not given.
        errors: nodes that may report errors.
    """

    counts: Mapping[str, Goal] = field(default_factory=dict)
    errors: tuple[str, ...] = ()

    def beyond(self, recording: Recording) -> tuple[str, ...]:
        """What happened in a run that was not expected, one short text each; nothing where all is well."""
        texts = [f"the run ended early: {recording.ended_early}"] if recording.ended_early else []
        if recording.node_deaths:
            texts.append(f"died: {', '.join(recording.node_deaths)}")
        for name, count in counts(recording).items():
            goal = self.counts.get(name, NONE)
            if not goal.holds(float(count)):
                texts.append(f"{WORDS[name]}: {count}, expected {goal.text}")
        blamed = dict.fromkeys(event.source for event in errors(recording) if event.source not in self.errors)
        if blamed:
            texts.append(f"errors of {', '.join(blamed)}")
        return tuple(texts)


WORDS = {
    "stops": "controlled stops of the gate",
    "trips": "trips of the gate",
    "unanswered": "states that no command answered",
    "lost_samples": "samples that were sent and not recorded",
}


def counts(recording: Recording) -> dict[str, int]:
    """How often each of WORDS happened."""
    return {
        "stops": recording.watchdog_stops,
        "trips": recording.trips,
        "unanswered": recording.lockstep_timeouts,
        "lost_samples": recording.lost_samples,
    }


def errors(recording: Recording) -> list[RunEvent]:
    """Errors of nodes, but for the gate's stops, which are counted."""
    return [
        event
        for event in recording.events
        if event.level == "error" and event.source != "runner" and not event.message.startswith(STOPPED)
    ]


def first_words(recording: Recording, most: int = 3) -> list[str]:
    """The first errors of each node, and its first warnings where it reported no errors, as lines to print."""
    lines = []
    events = [event for event in recording.events if event.message != recording.ended_early]
    for source in dict.fromkeys(event.source for event in events if event.level in ("error", "warn")):
        said = [event for event in events if event.source == source]
        for level in ("error", "warn"):
            chosen = [event for event in said if event.level == level]
            if chosen:
                lines += [f"{level.upper():<5} {e.time:8.3f} s  {source}: {e.message}" for e in chosen[:most]]
                if len(chosen) > most:
                    lines.append(f"{'':<5} {'':>8}    {source}: {len(chosen) - most} more like these in the report")
                break
    return lines
