"""The vibration controller at singularities, limits and under unknown loads: random arms, bases, paths and payloads.

Arms like a UR10 and a Panda and random ones, on bases of one to three directions, half of them with gravity, payloads
that the controller does not know up to a fifth of the arm's mass. Each is led along a path of its tool in MuJoCo by the
default realization, and by the plain law that knows of no limits.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "support"))

import table
from degradation import FAST, plain, random_case, run

from flexarm_tools.figures import Figure, parse_goal

CASES = 300
FLOOR = 1e-3  # [J] of the base's energy below which nobody would say that it shakes


def degradation(
    cases: int = CASES, seed: int = 0, verbose: bool = False, load_bandwidth: float = 0.0
) -> Iterator[Figure]:
    """Random cases, each under both laws."""
    rng = np.random.default_rng(seed)
    above = violations = restless = unsaid = plain_over = 0
    reasons: Counter[str] = Counter()
    ratios, late = [], 0
    for number in range(cases):
        case = random_case(rng)
        case = replace(case, config=replace(case.config, load_bandwidth=load_bandwidth))
        ours, other = run(case), run(plain(case), bounded=False, after=1.0)
        gave_up = bool(ours.reason)
        reasons[ours.reason.split(":")[1].strip().split(" is ")[0] if gave_up else "followed"] += 1
        above += ours.energy > max(other.energy, FLOOR)
        violations += not ours.within_limits
        restless += not ours.rests
        unsaid += not gave_up and ours.reached > case.config.largest_error
        late += not gave_up and ours.lag > 0.0
        plain_over += not other.within_limits
        ratios.append(ours.energy / max(other.energy, FLOOR))
        if verbose:
            bad = "".join(
                mark for mark, is_so in (
                    ("E", ours.energy > max(other.energy, FLOOR)), ("L", not ours.within_limits), ("R", not ours.rests)
                ) if is_so
            )  # fmt: skip
            a = case.arm
            print(
                f"{number:3} {bad:3} {a.name:6} n={len(a.posture)} load={a.payload:5.2f} g={a.gravity[2]:5.2f}"
                f" E={ours.energy:8.2g}/{other.energy:8.2g} v={ours.speed:5.2f}/{other.speed:6.2g}"
                f" over={ours.beyond:7.3f} tau={ours.effort:5.2f} end={ours.last_speed:6.3f}"
                f" off={ours.reached:6.3f}/{other.reached:6.3f} lag={ours.lag:5.2f} {ours.reason[51:90]}",
                flush=True,
            )
    yield Figure("degradation_cases", float(cases), "1", None, "random arms, bases, paths and payloads",
                 details=dict(reasons.most_common()))  # fmt: skip
    yield Figure("energy_above_plain", float(above), "1", parse_goal("== 0"),
                 "cases in which the base had more energy than under the plain law",
                 details={"median_ratio": float(np.median(ratios)), "worst_ratio": float(np.max(ratios))})  # fmt: skip
    yield Figure("limit_violations", float(violations), "1", parse_goal("== 0"),
                 f"cases with a joint beyond its position limit, or faster than {FAST} times its limit",
                 details={"under_the_plain_law": plain_over})  # fmt: skip
    yield Figure("never_at_rest", float(restless), "1", parse_goal("== 0"),
                 "cases in which the arm did not come to rest",
                 details={"late_at_the_end": late})  # fmt: skip
    yield Figure("left_without_a_reason", float(unsaid), "1", parse_goal("== 0"),
                 "cases in which the tool is not at its goal and nobody said so")  # fmt: skip


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("cases", nargs="?", type=int, default=CASES)
    asked.add_argument("--load-bandwidth", type=float, default=0.0, help="of the controller [rad/s]")
    asked.add_argument("--verbose", action="store_true", help="a line a case")
    asked.add_argument("--json", action="store_true", help="print the file that is written anyway")
    said = asked.parse_args()
    status = table.run("rns_degradation", (lambda: degradation(said.cases, 0, said.verbose, said.load_bandwidth),))
    if said.json:
        print((table.FOLDER / "rns_degradation.json").read_text(encoding="utf-8"))
    sys.exit(status)
