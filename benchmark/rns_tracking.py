"""Suppression and tracking at once (the paper's third subtask): random tool paths during which the base is hit.

A path is refused where the analysis refuses the gains, and where a preview of it over a base at rest comes to a posture
at which an inverse of the law is damped: there the law does not promise both tasks any longer. It is refused too where
a hit moves the arm to such a posture, along what the path leaves free. All reasons are counted.
What is accepted is simulated on MuJoCo under the real controller, every other with +-10 % of error in the inertia of
every link. It counts as unstable where something grows, and where the base does not come to rest or the tool not
back to its path. Some of the paths that are refused because the two tasks fight are simulated too.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "support"))

import table
from elastic_robots import with_wrong_inertia
from tracked_hits import follow, is_unstable, undamped
from tracking_cases import FIGHT, TrackingCase, random_tracking_cases

from flexarm_core.errors import ConfigError
from flexarm_tools.metrics.figures import Figure, parse_goal

ACCEPTED = {"arm_7r": 58, "panda": 58, "boom_7r": 58, "planar_3r": 13, "wheel_3r": 13}
COMPARED = 7  # every so many-th is simulated without base feedback too
FIGHTS = 2  # a robot, that are simulated though refused
REASONS = {
    FIGHT: "the_two_tasks_fight",
    "the arm has no grip": "no_grip_on_the_base",
    "the tool cannot move": "tool_singular",
    "the path leads beyond": "joint_limit",
    "the base has": "too_many_soft_modes",
    "the reaction null space needs": "too_many_soft_modes",
    "even without vibration damping the loop is unstable": "servos_unstable",
    "even without vibration damping the loop is stable": "servos_without_margin",
    "damping_ratio": "damping_ratio_too_large",
    "the loop is unstable on the way": "unstable_on_the_way",
    "a hit": "thrown_off_by_a_hit",
    "the tool sags": "sag_under_gravity",
}


def tracking(accepted: dict[str, int] = ACCEPTED, seed: int = 0) -> Iterator[Figure]:
    """Random paths of each robot until so many are accepted."""
    rng = np.random.default_rng(seed)
    reasons: Counter[str] = Counter()
    errors, final, sags, decays, unstable, left = [], [], [], [], 0, 0
    fights: list[tuple[bool, float]] = []
    for name, wanted in accepted.items():
        found = fought = 0
        for each in random_tracking_cases(name, rng):
            try:
                path = checked(each)
            except ConfigError as error:
                reasons[reason(str(error))] += 1
                if isinstance(each, TrackingCase) and str(error).startswith(FIGHT) and fought < FIGHTS:
                    fought += simulate_fight(each, fights)
                continue
            wrong = with_wrong_inertia(path.case.text, rng) if found % 2 else None
            run = follow(path, found, wrong)
            unstable += is_unstable(path, run, found, wrong)
            left += run.is_damped
            errors.append(run.error.max())
            final.append(run.error[-1])
            sags.append(np.linalg.norm(run.sag))
            if found % COMPARED == 0:
                decays.append(follow(undamped(path), found, wrong).lifetime(path.hit_at) / run.lifetime(path.hit_at))
            found += 1
            if found == wanted:
                break
    yield Figure(
        "tracking_unstable_cases", float(unstable), "1", parse_goal("== 0"),
        f"of {len(errors)} accepted random paths, the base hit on the way",
        details={**accepted, "refused": reasons.total(), **dict(reasons.most_common())},
    )  # fmt: skip
    yield Figure(
        "tracking_error", float(np.median(errors)), "m", None, "largest distance from the path, hit included, median",
        details={
            "worst": float(np.max(errors)), "at_the_end": float(np.median(final)),
            "at_the_end_worst": float(np.max(final)), "sag_under_gravity_worst": float(np.max(sags)),
            "singular_after_the_hit": left,
        },
    )  # fmt: skip
    yield Figure(
        "tracking_decay", float(np.median(decays)), "1", parse_goal(">= 2"),
        "mean time for which the selected motions keep the hit's energy, without over with base feedback, median",
        details={"compared": len(decays), "worst": float(np.min(decays)), "best": float(np.max(decays))},
    )  # fmt: skip
    yield Figure(
        "fighting_unstable_cases", float(sum(bad for bad, _ in fights)), "1", None,
        f"of {len(fights)} paths, refused because the two tasks fight, though their gains are stable at the start",
        details={"largest_distance_from_the_path": float(np.max([far for _, far in fights], initial=0.0))},
    )  # fmt: skip


def checked(path: TrackingCase | ConfigError) -> TrackingCase:
    """The path; raises ConfigError where there is none or it is refused."""
    if isinstance(path, ConfigError):
        raise path
    path.check()
    return path


def simulate_fight(path: TrackingCase, fights: list[tuple[bool, float]]) -> bool:
    """Whether the gains are good at the start; then adds whether the path is unstable, and how far the tool is off."""
    try:
        path.case.check()
    except ConfigError:
        return False
    run = follow(path, len(fights))
    fights.append((is_unstable(path, run, len(fights)), float(run.error.max())))
    return True


def reason(text: str) -> str:
    """Short name of why a path is refused; the text itself where there is none."""
    return next((name for begin, name in REASONS.items() if text.startswith(begin)), text)


if __name__ == "__main__":
    sys.exit(table.run("rns_tracking", (tracking,)))
