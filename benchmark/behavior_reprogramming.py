"""Programs of behaviors that change at every sample, against the same that change at every tenth."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import behavior_arms  # noqa: F401  (tells Python where the tests' support lies)
import numpy as np
from reprogramming import FORMS, NOISE, ROBOTS, TASKS, differences, draw, run, violations

from flexarm_tools.metrics.figures import Figure, parse_goal

PROGRAMS = 1000
SAMPLES = 700
SELDOM = 10
WITHIN = 0.05
DRAWS = 10  # of the noise, of a program changed seldom
PROCESSES = 2


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one program.

    Attributes:
        seed: of it.
        group: its task and form.
        kinds: of its behaviors.
        error: by how much the results with changes at every sample differ from those with seldom ones, by their size:
            with seldom ones and the same noise, or, where that is more than 5 %, with seldom ones and some noise.
        same_noise: by how much with the same noise.
        own: by how much results with seldom changes and other noise differ from those; 0 where it was not asked.
        hindered: whether a singularity or a limit kept the joints from what the law asked for.
        harder: by how much the greatest force with changes at every sample is above that with seldom ones, or above
            the wanted one where that is greater, by its size.
        broken: limits of joints that were left, samples at which the law was held, behaviors that failed.
    """

    seed: int
    group: str
    kinds: tuple[str, ...]
    error: float
    same_noise: float
    own: float
    hindered: bool
    harder: float
    broken: tuple[str, ...]


def judge(seed: int) -> Outcome:
    """Run one program twice, and where the results differ by much, look whether the program itself says what they are.

    At a singularity or a limit an arm can go one way or another, and a percent of noise decides which. Of such a
    program seldom changes have not one result but several; changes at every sample must have one of them.
    """
    program = draw(seed)
    often, seldom = run(program, 1, SAMPLES), run(program, SELDOM, SAMPLES)
    broken = [*violations(program, often), *often.failures]
    if often.held > seldom.held:
        broken.append(f"held at {often.held - seldom.held} samples more")
    error = same_noise = max(differences(program, often, seldom).values())
    own, force = 0.0, max(seldom.force.max(), seldom.wanted.max())
    for drawn in range(1, DRAWS):
        if error <= WITHIN:
            break
        other = run(program, SELDOM, SAMPLES, noise_seed=seed + drawn * PROGRAMS)
        error = min(error, max(differences(program, often, other).values()))
        force = max(force, other.force.max())
        own = max(own, max(differences(program, other, seldom).values()))
    return Outcome(
        seed, f"{program.task}_{program.form}", tuple(kind for _, kind, _ in program.behaviors), error, same_noise, own,
        often.hindered + seldom.hindered > 0, float(often.force.max() / force - 1.0) if force > 0.0 else 0.0,
        tuple(broken),
    )  # fmt: skip


def _spread(errors: list[float], name: str = "") -> dict[str, float]:
    """How errors are distributed."""
    found = np.percentile(errors, (50, 99, 100)) if errors else np.zeros(3)
    return {f"{name}{part}": float(value) for part, value in zip(("median", "p99", "worst"), found, strict=True)}


def reprogramming() -> Iterator[Figure]:
    """Random programs of every kind of behavior, on arms of the suite, of others, and drawn at random."""
    with ProcessPoolExecutor(PROCESSES) as pool:
        outcomes = list(pool.map(judge, range(PROGRAMS), chunksize=5))
    worst = max(outcomes, key=lambda outcome: outcome.error)
    groups = {f"{task}_{form}": [] for task in TASKS for form in FORMS}
    kinds: dict[str, list[float]] = {}
    for outcome in outcomes:
        groups[outcome.group].append(outcome.error)
        for kind in outcome.kinds:
            kinds.setdefault(kind, []).append(outcome.error)
    hindered = [outcome for outcome in outcomes if outcome.hindered]
    yield Figure(
        "reprogramming_error", worst.error, "1", parse_goal(f"<= {WITHIN}"),
        f"changed at every sample against every {SELDOM}th: way of tool and joints, force; worst of {PROGRAMS} "
        f"random programs, {', '.join(ROBOTS)}, every setting with {NOISE:.0%} of noise",
        details=_spread([outcome.error for outcome in outcomes]) | {"worst_seed": float(worst.seed)}
        | {"hindered": float(len(hindered))} | _spread([outcome.error for outcome in hindered], "hindered_")
        | _spread([outcome.error for outcome in outcomes if not outcome.hindered], "unhindered_")
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
    hardest = max(outcomes, key=lambda outcome: outcome.harder)
    yield Figure(
        "reprogramming_excess_force", hardest.harder, "1", parse_goal(f"<= {WITHIN}"),
        "by how much more the tool presses at most when changed at every sample, of the greatest force when changed "
        f"at every {SELDOM}th, or of the wanted one where that is greater",
        details={"worst_seed": float(hardest.seed)},
    )  # fmt: skip
    several = [outcome for outcome in outcomes if outcome.same_noise > WITHIN]
    yield Figure(
        "reprogramming_ambiguous", float(len(several)), "1", None,
        f"programs whose own results, changed at every {SELDOM}th sample, depend on the noise so that those with the "
        f"same noise differ by more than {WITHIN:.0%}; they count by the nearest of {DRAWS} draws",
        details={f"program_{o.seed}": f"same noise {o.same_noise:.3f}, every {SELDOM}th with other noise {o.own:.3f}, "
                 f"nearest {o.error:.3f}{', hindered' if o.hindered else ''}" for o in several},
    )  # fmt: skip
