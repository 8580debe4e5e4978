"""ReactionPlanner: joint motions between two tool positions that leave the base at rest in all its directions.

The tool is either free between start and goal
(:class:`~flexarm_core.reaction_null_space.reactionless.free_search.FreeSearch`), or moves along the straight line
between them by the reactionless law (``qd = Jbar^+ v``), from the most suitable start posture. On the straight line,
the selected base motions stay at rest, and the other motions take up the momentum.

The arm moves from rest to rest in a given time. Under gravity the base starts in equilibrium, and only the change of
the gravity load during the motion counts; the straight-line search ignores this change until a line is evaluated.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from flexarm_core.errors import InputError, JointLimitError
from flexarm_core.reaction_null_space.coupling.coupling_momentum import CouplingMomentum
from flexarm_core.reaction_null_space.planning.plan import ReactionPlan, loads_along, plan_along
from flexarm_core.reaction_null_space.reactionless.free_search import FreeSearch
from flexarm_core.reaction_null_space.reactionless.guided_motion import (
    LineAttempt,
    ToolLine,
    follow_guides,
    follow_line,
)
from flexarm_core.reaction_null_space.reactionless.motions import ReactionlessMotions
from flexarm_core.reaction_null_space.reactionless.resolved_line import resolved_line
from flexarm_core.reaction_null_space.reactionless.start_search import FASTEST_RATE, StartSearch
from flexarm_core.reaction_null_space.reactionless.tool_postures import ToolPostures
from flexarm_core.reaction_null_space.vibration.motion_limits import MotionBounds
from flexarm_core.settings import Settings, setting
from flexarm_core.types import Array

MARGIN = 0.02  # share by which the search stays below velocity and acceleration limits and may miss the conditioning
SLACK = 1e-6  # least distance of a finished path from the position limits [rad | m]
WILDEST = 100.0  # [rad | m] of dq/ds: a path beyond it is discarded
JUDGED = 3  # number of best paths within all limits, or best straight lines, for which the base response is predicted
BESIDE = 0.6  # [rad | m] standard deviation about a given start posture in which goal postures are searched


class NoQuietMotionError(InputError):
    """No motion was found that keeps the base excitation low enough; the request itself is valid."""


@dataclass(frozen=True, slots=True)
class ReactionPlannerConfig(Settings):
    """Settings of the planner."""

    # fmt: off
    samples: int = setting(300, "number of random postures tried at each tool position", "", 2)
    pairs: int = setting(4000, "pairs of a start and a goal posture that are evaluated for a free path", "", 1)
    starts: int = setting(24, "optimizations that start from the best pairs", "", 1)
    bends: int = setting(8,
        "optimizations in each further round, which start from random variations of the best paths", "", 1)
    rounds: int = setting(3, "largest number of further rounds; more rounds give better plans but take longer", "", 0)
    least_conditioning: float = setting(0.0,
        "least ratio of the smallest to the largest singular value of the selected coupling at the start of a free"
        " path: the larger, the better the arm can damp the base there; 0: any. A given start posture is kept in any"
        " case", "", 0.0)
    variations: int = setting(60, "variations of the best postures for a straight line, in each of five rounds", "", 0)
    least_sigma: float = setting(0.02, "least singular value of ``Jbar`` allowed on a straight line", "m", 1e-9)
    inset: float = setting(0.02, "distance of motions from the position limits", "rad | m", 0.0)
    acceleration_limit: float = setting(10.0, "limit for every joint", "rad/s^2 | m/s^2", 1e-9)
    largest_ratio: float = setting(0.05,
        "largest accepted square root of the predicted peak elastic energy, relative to resolved acceleration along"
        " the line", "", 1e-9)
    good_ratio: float = setting(0.008, "ratio at which the search stops", "", 1e-9)
    tool_tolerance: float = setting(1e-4, "tolerance on the tool position at start and goal", "m", 1e-9)
    seed: int = setting(0, "seed of the random numbers")
    # fmt: on


class ReactionPlanner:
    """Planner for one arm.

    Attributes:
        motions: reactionless motions of the arm.
        config: settings.
    """

    def __init__(self, motions: ReactionlessMotions, config: ReactionPlannerConfig | None = None) -> None:
        """Bind the planner to an arm."""
        self.motions, self.config = motions, config or ReactionPlannerConfig()
        self._momentum = CouplingMomentum(motions.model)
        model, inset = motions.model, self.config.inset
        share = 1.0 - MARGIN
        self._acceleration = np.minimum(model.acceleration_limit, self.config.acceleration_limit)
        self._bounds = MotionBounds(
            model.lower + inset, model.upper - inset, share * model.velocity_limit, share * self._acceleration
        )

    def plan(
        self, start: Array, goal: Array, duration: float, posture: Array | None = None, straight: bool = False
    ) -> ReactionPlan:
        """Plan a motion of least reaction.

        Args:
            start: (3,) tool position in the base link frame [m].
            goal: (3,) tool position in the base link frame [m].
            duration: duration of the motion [s].
            posture: (n,) joint positions at the start; None: the planner chooses.
            straight: whether the tool moves along the straight line; otherwise it is free between start and goal.

        Raises:
            InputError: a position is out of reach or not finite, or the posture does not fit the start position.
            NoQuietMotionError: no motion keeps the base excitation low enough; the message gives the reason.
        """
        begin, end = self.motions.check_tool("start", start), self.motions.check_tool("goal", goal)
        if not (np.isfinite(duration) and duration > 0.0):
            raise InputError(f"duration is {duration}: give a number > 0 [s]")
        if np.array_equal(begin, end):
            raise InputError("start and goal are the same tool position: there is nothing to plan")
        fixed = None if posture is None else self._check_posture(posture, begin)
        plan = self._straight if straight else self._free
        best, refusal = plan((begin, end), duration, fixed)
        if best is not None and best.deflection_ratio <= self.config.largest_ratio:
            return best
        advice = "another start posture" if fixed is not None else "more samples"
        raise NoQuietMotionError(
            f"no motion between the tool positions leaves the base quiet: {refusal}. Try a longer duration, {advice},"
            " or a goal that is nearer"
        )

    def _free(self, ends: tuple[Array, Array], duration: float, fixed: Array | None) -> tuple[ReactionPlan | None, str]:
        """Return the best plan with a free tool, and the reason why there is no better one."""
        config, generator = self.config, np.random.default_rng(self.config.seed)
        search = FreeSearch(
            config.pairs, config.starts, config.bends, config.rounds, config.good_ratio, config.least_conditioning
        )
        starts = self._postures(ends[0], generator, None) if fixed is None else fixed[None]
        goals = self._postures(ends[1], generator, fixed)
        found = search.run(self.motions, self._momentum, ends, (starts, goals), duration, self._bounds, generator)
        if not found:
            ways = (np.abs(goals[None] - starts[:, None]) / self._bounds.velocity).max(axis=(0, 1))
            slowest = self.motions.model.joint_names[int(ways.argmax())]
            return None, (
                f"every pair of postures would need a joint faster than its limit in {duration:g} s, most '{slowest}'"
            )
        least = 0.0 if fixed is not None else (1.0 - MARGIN) * config.least_conditioning
        good = [each for each in found if self.motions.at(each.path(0.0)).coupling_conditioning >= least]
        if not good:
            return None, f"no joint path of least reaction starts with a conditioning of {config.least_conditioning:g}"
        plans = (self._judged("free", each.path, ends, duration) for each in good)
        kept = list(islice((plan for plan in plans if plan is not None), JUDGED))
        if not kept:
            return None, self._beyond(good[0].path, duration)
        # As in the search: a very poor straight line must not improve the score of a plan.
        typical = float(np.median([plan.straight_energy for plan in kept]))
        best = min(kept, key=lambda plan: plan.peak_energy / min(plan.straight_energy, typical))
        return best, self._too_much(best)

    def _straight(
        self, ends: tuple[Array, Array], duration: float, fixed: Array | None
    ) -> tuple[ReactionPlan | None, str]:
        """Return the best plan with a straight tool path, and the reason why there is no better one."""
        config, bounds = self.config, self._bounds
        if fixed is None:
            search = StartSearch(config.samples, config.variations, config.least_sigma, config.inset)
            attempts = search.run(self.motions, ends, duration, bounds, np.random.default_rng(config.seed))
            if not attempts:
                raise InputError(self._out_of_reach(ends))
        else:
            line, fastest = ToolLine(ends[0], ends[1] - ends[0]), bounds.velocity * duration / FASTEST_RATE
            limits = (bounds.lower, bounds.upper)
            attempts = [follow_line(self.motions, fixed, line, limits, fastest, config.least_sigma)]
        done = [each for each in attempts if each.reason == "done"]
        plans = [self._exact(each, duration) for each in done[:JUDGED]]
        kept = [plan for plan in plans if plan is not None]
        best = min(kept, key=lambda plan: plan.peak_energy) if kept else None
        summary = self._attempts_in_words(attempts, duration)
        return best, summary if best is None else f"{summary}; {self._too_much(best)}"

    def _postures(self, place: Array, generator: np.random.Generator, beside: Array | None) -> Array:
        """Return (p, n) postures for a tool position; if a posture is given, half of them are near this posture."""
        places, count = ToolPostures(self.motions, place, self.config.inset), self.config.samples
        found = places.random(generator, count if beside is None else count // 2)
        if beside is not None:
            starts = beside + BESIDE * generator.standard_normal((count - count // 2, len(beside)))
            found += [posture for start in starts if (posture := places.near(start)) is not None]
        if not found:
            raise InputError(self._out_of_reach((place,)))
        return np.array(found)

    def _exact(self, attempt: LineAttempt, duration: float) -> ReactionPlan | None:
        """Refine a coarse attempt into an exact straight line."""
        near, line = (
            make_interp_spline(np.linspace(0.0, 1.0, len(attempt.positions)), attempt.positions, k=5),
            attempt.path,
        )
        rate = near.derivative()
        start = ToolPostures(self.motions, line.begin, self.config.inset).near(near(0.0))
        if start is None:
            return None
        positions = follow_guides(self.motions, start, line.at, lambda s: (near(s), rate(s)))
        path = make_interp_spline(np.linspace(0.0, 1.0, len(positions)), positions, k=5)
        return self._judged("line", path, (line.begin, line.begin + line.line), duration)

    def _judged(self, kind: str, path: BSpline, ends: tuple[Array, Array], duration: float) -> ReactionPlan | None:
        """Return the plan along a joint path, None if it misses the tool positions or violates a limit."""
        for s, wanted in zip((0.0, 1.0), ends, strict=True):
            if np.linalg.norm(self.motions.tool(path(s))[0] - wanted) > self.config.tool_tolerance:
                return None
        coordinates = np.linspace(0.0, 1.0, 201)
        positions, model = path(coordinates), self.motions.model
        beyond = np.maximum(model.lower + SLACK - positions, positions - model.upper + SLACK)
        if beyond.max() > 0.0 or np.abs(path(coordinates, 1)).max() > WILDEST:
            return None
        straight = loads_along(model, resolved_line(self.motions, path(0.0), ends[1] - ends[0]), duration)
        plan = plan_along(self.motions, kind, path, duration, straight.peak_energy)
        slow = (np.abs(plan.velocities) <= model.velocity_limit).all()
        return plan if slow and (np.abs(plan.accelerations) <= self._acceleration).all() else None

    def _check_posture(self, posture: Array, begin: Array) -> Array:
        model = self.motions.model
        checked = np.array(posture, dtype=float)
        if checked.shape != (model.n,) or not np.isfinite(checked).all():
            raise InputError(f"start posture is {posture}, expected {model.n} finite numbers")
        for joint, name in enumerate(model.joint_names):
            low, high = self._bounds.lower[joint], self._bounds.upper[joint]
            if not low <= checked[joint] <= high:
                raise JointLimitError(
                    f"joint '{name}' of the start posture is at {checked[joint]:.4g}, beyond its limits less"
                    f" {self.config.inset:g}: [{low:.4g}, {high:.4g}]",
                    name,
                    float(checked[joint]),
                    float(low),
                    float(high),
                )
        miss = float(np.linalg.norm(self.motions.tool(checked)[0] - begin))
        if miss > self.config.tool_tolerance:
            raise InputError(f"the start posture has the tool {miss:.4g} m away from the start position")
        return checked

    def _out_of_reach(self, places: tuple[Array, ...]) -> str:
        listed = " or ".join(str(np.round(place, 4)) for place in places)
        return (
            f"no posture within the joint limits reaches {listed} m from any of {self.config.samples} random ones: out"
            " of reach, or nearly so"
        )

    def _beyond(self, path: BSpline, duration: float) -> str:
        """Return which limit a joint path violates."""
        model, names = self.motions.model, self.motions.model.joint_names
        moved = loads_along(model, path, duration)
        speed = np.abs(moved.velocities).max(axis=0) / model.velocity_limit
        hardest = np.abs(moved.accelerations).max(axis=0)
        best = "the joint path of least reaction"
        if speed.max() > 1.0:
            return f"{best} would need joint '{names[int(speed.argmax())]}' faster than its limit in {duration:g} s"
        if (hardest > self._acceleration).any():
            i = int((hardest / self._acceleration).argmax())
            allowed = self._acceleration[i]
            return f"{best} would accelerate joint '{names[i]}' by {hardest[i]:.3g}, allowed is {allowed:g}"
        return f"{best} passes a joint's position limit or misses a tool position"

    def _too_much(self, plan: ReactionPlan) -> str:
        return (
            f"the best one leaves {plan.deflection_ratio:.2g} of resolved acceleration's deflection, allowed is"
            f" {self.config.largest_ratio:g}"
        )

    def _attempts_in_words(self, attempts: list[LineAttempt], duration: float) -> str:
        """Summarize the results of the straight-line attempts for a message."""
        counts = Counter(each.reason for each in attempts)
        names = self.motions.model.joint_names
        joints = Counter(names[each.joint] for each in attempts if each.reason in ("limit", "fast"))
        parts = [
            f"{counts[reason]} {text}"
            for reason, text in (
                ("singular", f"came to a singular posture (Jbar below {self.config.least_sigma:g} m)"),
                ("limit", "came to a joint's position limit"),
                ("fast", f"would need a joint faster than its limit in {duration:g} s"),
                ("done", "were done, but not within all limits or not quietly enough"),
            )
            if counts[reason]
        ]
        often = f" (most often '{joints.most_common(1)[0][0]}')" if joints else ""
        return (
            f"of {len(attempts)} straight lines {'; '.join(parts)}{often}; {attempts[0].fraction:.0%} was done at best"
        )
