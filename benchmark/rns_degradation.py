"""The vibration controller at singularities, limits and under unknown loads: random arms, bases, paths and payloads.

Arms like a UR10 and a Panda and random ones, on bases of one to three directions, half of them with gravity, payloads
that the controller does not know up to a fifth of the arm's mass. Each is led along a path of its tool in MuJoCo by the
default realization, by the plain law that knows of no limits, and by the plain law within the same limits.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test" / "support"))

import table
from degradation import FAST, Case, Outcome, plain, random_case, run

from flexarm_core.reaction_null_space.vibration.config import REALIZATIONS
from flexarm_tools.metrics.figures import Figure, parse_goal

CASES = 300
LOADS, BANDWIDTH = 10, 40.0  # arms that hold a load, [rad/s]
FLOOR = 1e-3  # [J] of the base's energy below which nobody would say that it shakes


@dataclass(frozen=True, slots=True)
class Compared:
    """A case under three laws.

    Attributes:
        number: in the draw.
        case: what was drawn.
        ours: the default realization, within limits.
        plain: the plain law, which knows of no limits.
        limited: the plain law within the same limits.
    """

    number: int
    case: Case
    ours: Outcome
    plain: Outcome
    limited: Outcome

    @property
    def bad(self) -> str:
        """What must not be: E more energy than under the plain law, L beyond limits, R no rest, U gone unsaid."""
        ours = self.ours
        unsaid = not ours.reason and ours.reached > self.case.config.largest_error
        wrong = {"E": self.above(self.plain), "L": not ours.within_limits, "R": not ours.rests, "U": unsaid}
        return "".join(mark for mark, is_so in wrong.items() if is_so)

    def above(self, other: Outcome) -> bool:
        """Whether the base had more energy than in another outcome."""
        return self.ours.energy > max(other.energy, FLOOR)

    def __str__(self) -> str:
        """A line."""
        a, ours, other = self.case.arm, self.ours, self.plain
        return (
            f"{self.number:3} {self.bad:3} {a.name:6} n={len(a.posture)} load={a.payload:5.2f} g={a.gravity[2]:5.2f}"
            f" E={ours.energy:8.2g}/{other.energy:8.2g}/{self.limited.energy:8.2g}"
            f" v={ours.speed:5.2f}/{other.speed:6.2g} over={ours.beyond:7.3f} tau={ours.effort:5.2f}"
            f" end={ours.last_speed:6.3f} off={ours.reached:6.3f}/{other.reached:6.3f} lag={ours.lag:5.2f}"
            f" {ours.reason[51:90]}"
        )


def compare(numbered: tuple[int, Case]) -> Compared:
    """Run a case under each law."""
    number, case = numbered
    return Compared(number, case, run(case), run(plain(case), bounded=False, after=1.0), run(plain(case), after=1.0))


def drawn(seed: int, only: Sequence[int], load_bandwidth: float) -> Iterator[tuple[int, Case]]:
    """Those cases of a seed."""
    rng = np.random.default_rng(seed)
    for number in range(max(only, default=-1) + 1):
        case = random_case(rng)
        if number in only:
            yield number, replace(case, config=replace(case.config, load_bandwidth=load_bandwidth))


def degradation(
    only: Sequence[int], seed: int = 0, verbose: bool = False, load_bandwidth: float = 0.0, processes: int = 1
) -> Iterator[Figure]:
    """Cases of a seed, each under every law."""
    found = []
    with ProcessPoolExecutor(processes) as pool:
        for one in pool.map(compare, drawn(seed, only, load_bandwidth)):
            found.append(one)
            if verbose:
                print(one, flush=True)
    reasons = Counter(
        one.ours.reason.split(":")[1].strip().split(" is ")[0] if one.ours.reason else "followed" for one in found
    )
    ratios = [one.ours.energy / max(one.plain.energy, FLOOR) for one in found]
    limited = [one.ours.energy / max(one.limited.energy, FLOOR) for one in found]
    bad = "".join(one.bad for one in found)
    yield Figure("degradation_cases", float(len(found)), "1", None, "random arms, bases, paths and payloads",
                 details=dict(reasons.most_common()))  # fmt: skip
    yield Figure("energy_above_plain", float(bad.count("E")), "1", parse_goal("== 0"),
                 "cases in which the base had more energy than under the plain law",
                 details={"median_ratio": float(np.median(ratios)), "worst_ratio": float(np.max(ratios)),
                          "cases": [one.number for one in found if "E" in one.bad]})  # fmt: skip
    yield Figure("energy_above_limited_plain", float(sum(one.above(one.limited) for one in found)), "1", None,
                 "the same, with the plain law within the same limits",
                 details={"median_ratio": float(np.median(limited)), "worst_ratio": float(np.max(limited)),
                          "cases": [one.number for one in found if one.above(one.limited)]})  # fmt: skip
    yield Figure("limit_violations", float(bad.count("L")), "1", parse_goal("== 0"),
                 f"cases with a joint beyond its position limit, or faster than {FAST} times its limit",
                 details={"under_the_plain_law": sum(not one.plain.within_limits for one in found)})  # fmt: skip
    yield Figure("never_at_rest", float(bad.count("R")), "1", parse_goal("== 0"),
                 "cases in which the arm did not come to rest",
                 details={"late_at_the_end": sum(not one.ours.reason and one.ours.lag > 0.0 for one in found),
                          "cases": [one.number for one in found if "R" in one.bad]})  # fmt: skip
    yield Figure("left_without_a_reason", float(bad.count("U")), "1", parse_goal("== 0"),
                 "cases in which the tool is not at its goal and nobody said so")  # fmt: skip


def constant_loads(cases: int = LOADS) -> Iterator[Figure]:
    """UR10s and Pandas that hold a weight of 2 to 3 kg which the controller does not know, in both realizations."""
    rng, sags = np.random.default_rng(5), []
    while len(sags) < 2 * cases:
        case = random_case(rng)
        if case.arm.name == "random" or case.arm.gravity[2] == 0.0 or not 2.0 <= case.arm.payload <= 3.0:
            continue
        hold = replace(case.path, displacement=(0.0, 0.0, 1e-9), start=0.0, duration=3.0)
        for realization in REALIZATIONS:
            config = replace(case.config, load_bandwidth=BANDWIDTH, realization=realization)
            sags.append(run(replace(case, path=hold, config=config), after=0.5).reached)
    yield Figure("largest_sag", max(sags), "m", parse_goal("<= 2e-3"),
                 f"of tools that hold 2 to 3 kg for 3 s, with a load_bandwidth of {BANDWIDTH:g} rad/s",
                 details={"runs": len(sags), "median": float(np.median(sags))})  # fmt: skip


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("cases", nargs="?", type=int, default=CASES)
    asked.add_argument("--only", type=int, nargs="+", help="numbers of the cases to run")
    asked.add_argument("--seed", type=int, default=0, help="of the draw")
    asked.add_argument("--load-bandwidth", type=float, default=0.0, help="of the controller [rad/s]")
    asked.add_argument("--processes", type=int, default=1)
    asked.add_argument("--verbose", action="store_true", help="a line a case")
    asked.add_argument("--json", action="store_true", help="print the file that is written anyway")
    said = asked.parse_args()
    chosen = said.only or range(said.cases)
    status = table.run(
        "rns_degradation",
        (
            lambda: degradation(chosen, said.seed, said.verbose, said.load_bandwidth, said.processes),
            *(() if said.only else (constant_loads,)),
        ),
    )
    if said.json:
        print((table.FOLDER / "rns_degradation.json").read_text(encoding="utf-8"))
    sys.exit(status)
