"""Results of the campaign by kind of fault, and the bars that were missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from flexarm_tools.faults.outcome import BLIND_BAR, SPEED_BAR, STOP_BAR, Outcome

LISTED = 100  # largest number of missed cases in the report
BARS = {
    "runaways": 0,
    "bad_commands": 0,
    "silent_periods": 0,
    "worst_speed_ratio": SPEED_BAR,
    "worst_stop_delay": STOP_BAR,
    "unexplained_stops": 0,
    "unnamed_stops": 0,
    "mislabeled_stops": 0,
    "unlatched_trips": 0,
    "worst_blind_ratio": BLIND_BAR,
    "late_fallbacks": 0,
    "position_violations": 0,
    "acceleration_violations": 0,
    "base_violations": 0,
    "bad_starts": 0,
    "early_resumes": 0,
    "missing_resumes": 0,
}
LEAST = {"valid_cases_share": 0.8}  # bars that are least values


def tally(outcomes: Sequence[Outcome], what: dict[str, str]) -> dict[str, Any]:
    """Compute the results of a campaign.

    Args:
        outcomes: one outcome per case.
        what: description of each kind.

    Returns:
        Data for JSON: the results, a row for each kind, and the cases that missed a bar.
    """
    kinds = sorted({_kind(one) for one in outcomes}, key=lambda kind: [*what, kind].index(kind))
    missed = [one for one in outcomes if one.missed and not one.late_machine]
    return {
        **_figures(outcomes),
        "core_cases": sum(one.where == "core" for one in outcomes),
        "node_cases": sum(one.where == "node" for one in outcomes),
        "valid_cases_share": _valid_share(outcomes),
        "kinds": [
            {"kind": kind, "what": what.get(kind, ""), **_figures(some), "named": _named(some), **_recovery(some)}
            for kind in kinds
            for some in [[one for one in outcomes if _kind(one) == kind]]
        ],
        "missed": [one.line() for one in missed[:LISTED]],
        "missed_cases": len(missed),
    }


def failures(found: dict[str, Any]) -> list[str]:
    """Describe the bars that a campaign missed, in words."""
    missed = [f"{name} is {found[name]:g}, allowed {bar:g}" for name, bar in BARS.items() if not found[name] <= bar]
    missed += [f"{name} is {found[name]:g}, needed {bar:g}" for name, bar in LEAST.items() if not found[name] >= bar]
    return missed + ([f"{found['missed_cases']} cases missed a bar"] if found["missed_cases"] and not missed else [])


def _valid_share(outcomes: Sequence[Outcome]) -> float:
    """Return the fraction of cases that say something: of those on the core or of those on nodes, whichever is less."""
    late = [[one.late_machine for one in outcomes if one.where == where] for where in ("core", "node")]
    return min((1.0 - sum(some) / len(some) for some in late if some), default=0.0)


def _kind(outcome: Outcome) -> str:
    return "pair" if "+" in outcome.kind else outcome.kind


def _figures(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    tried = [one for one in outcomes if not one.late_machine]
    delays = [np.inf if one.stop_delay is None else one.stop_delay for one in tried if one.must_stop]
    return {
        "faults_tried": len(tried),
        "runaways": sum(one.runs_away for one in tried),
        "bad_commands": sum(one.bad_commands for one in tried),
        "silent_periods": sum(one.silences for one in tried),
        "worst_speed_ratio": max((one.speed_ratio for one in tried if not one.blind), default=0.0),
        "worst_blind_ratio": max((one.speed_ratio for one in tried if one.blind), default=0.0),
        "worst_stop_delay": max(delays, default=0.0),
        "late_fallbacks": sum(one.late_fallback for one in tried),
        "unexplained_stops": sum(one.unexplained for one in tried),
        "unnamed_stops": sum(one.named is False for one in tried),
        "mislabeled_stops": sum(one.mislabeled for one in tried),
        "unlatched_trips": sum(one.unlatched for one in tried),
        "position_violations": sum(one.leaves_limits for one in tried),
        "worst_position_excess": max((one.position_excess for one in tried), default=0.0),
        "acceleration_violations": sum(one.too_hard for one in tried),
        "worst_acceleration_ratio": max((one.acceleration_ratio for one in tried), default=0.0),
        "base_violations": sum(one.base_ignored for one in tried),
        "worst_base_ratio": max((one.base_ratio for one in tried), default=0.0),
        "worst_sag": max((one.sag for one in tried), default=0.0),
        "bad_starts": sum(one.bad_start for one in tried),
        "early_resumes": sum(one.resumed_early for one in tried),
        "missing_resumes": sum(one.not_resumed for one in tried),
    }


def _named(outcomes: Sequence[Outcome]) -> dict[str, int]:
    named = [one.named for one in outcomes if one.named is not None]
    return {"yes": sum(named), "of": len(named)}


def _recovery(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {"recovery": dict(Counter(one.recovery for one in outcomes).most_common())}
