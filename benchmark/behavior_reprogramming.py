"""Programs of behaviors that change at every sample, against the same that change at every tenth."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import behavior_arms  # noqa: F401  (tells Python where the tests' support lies)
import numpy as np
from reprogramming import FORMS, NOISE, ROBOTS, TASKS, differences, draw, run, violations

from flexarm_tools.figures import Figure, parse_goal

PROGRAMS = 1000
SAMPLES = 700
SELDOM = 10
PROCESSES = 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one program.

    Attributes:
        seed: of it.
        group: its task and form.
        kinds: of its behaviors.
        error: by how much the results with changes at every sample differ from those with seldom ones, by their size.
        hindered: whether a singularity or a limit kept the joints from what the law asked for.
        broken: limits of joints that were left, samples at which the law was held, behaviors that failed.
    """

    seed: int
    group: str
    kinds: tuple[str, ...]
    error: float
    hindered: bool
    broken: tuple[str, ...]


def judge(seed: int) -> Outcome:
    """Run one program twice."""
    program = draw(seed)
    often, seldom = run(program, 1, SAMPLES), run(program, SELDOM, SAMPLES)
    broken = [*violations(program, often), *often.failures]
    if often.held > seldom.held:
        broken.append(f"held at {often.held - seldom.held} samples more")
    return Outcome(
        seed, f"{program.task}_{program.form}", tuple(kind for _, kind, _ in program.behaviors),
        max(differences(program, often, seldom).values()), often.hindered + seldom.hindered > 0, tuple(broken),
    )  # fmt: skip


def reprogramming() -> Iterator[Figure]:
    """Random programs of every kind of behavior, on arms of the suite, of others, and drawn at random."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        outcomes = list(pool.map(judge, range(PROGRAMS), chunksize=5))
    followed = [outcome for outcome in outcomes if not outcome.hindered]
    worst = max(followed, key=lambda outcome: outcome.error)
    groups = {f"{task}_{form}": [] for task in TASKS for form in FORMS}
    kinds: dict[str, list[float]] = {}
    for outcome in followed:
        groups[outcome.group].append(outcome.error)
        for kind in outcome.kinds:
            kinds.setdefault(kind, []).append(outcome.error)
    yield Figure(
        "reprogramming_error", worst.error, "1", parse_goal("<= 0.05"),
        f"changed at every sample against every {SELDOM}th: way of tool and joints, force; worst of {len(followed)} "
        f"random programs, {', '.join(ROBOTS)}, every setting with {NOISE:.0%} of noise",
        details={"median": float(np.median([outcome.error for outcome in followed])), "worst_seed": float(worst.seed)}
        | {name: max(errors) for name, errors in groups.items()}
        | {f"with_{name}": max(errors) for name, errors in sorted(kinds.items())},
    )  # fmt: skip
    broken = [outcome for outcome in outcomes if outcome.broken]
    yield Figure(
        "reprogramming_violations", float(len(broken)), "1", parse_goal("== 0"),
        f"of {PROGRAMS} programs, changed at every sample: limits of joints, of position, velocity and acceleration, "
        "that are left at any sample, stops, behaviors that fail",
        details={str(outcome.seed): ", ".join(outcome.broken) for outcome in broken},
    )  # fmt: skip
    hindered = [outcome for outcome in outcomes if outcome.hindered]
    large = [outcome for outcome in hindered if outcome.error > 0.05]
    yield Figure(
        "reprogramming_hindered", float(len(hindered)), "1", None,
        "programs that lead to a singularity or a joint's limit, where the joints cannot do what the law asks for",
        details={"of_these_beyond_5_percent": float(len(large)),
                 "largest_error": max((outcome.error for outcome in hindered), default=0.0)},
    )  # fmt: skip
