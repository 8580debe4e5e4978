"""ReactionPlanner: joint motions between two tool positions that leave the selected motions of the base at rest.

1. The straight line of the tool, from the start posture that serves it best, by the reactionless law
   (``qd = Jbar^+ v``): no reaction at all, up to the accuracy of the model.
2. Where no posture can do that: a tool path that is bowed to one side, alike.
3. Where that fails, too: the joint path of least reaction, with the tool free between start and goal
   (:class:`~flexarm_core.reaction_null_space.least_reaction.LeastReaction`), begun at the lines that came nearest. If
   the reactionless law can follow what is found, it does; otherwise the path is taken as it is, with its residual.

The arm moves from rest to rest in a given time. Weight is left out of account: it loads the base whatever the law.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline, make_interp_spline

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.reaction_null_space.guided_motion import LineAttempt, ToolBow, follow_guides, follow_line
from flexarm_core.reaction_null_space.least_reaction import LeastReaction, MotionBounds
from flexarm_core.reaction_null_space.line_search import FASTEST_RATE, LineSearch
from flexarm_core.reaction_null_space.reaction_plan import ReactionPlan, plan_along
from flexarm_core.reaction_null_space.reactionless_motions import ReactionlessMotions
from flexarm_core.reaction_null_space.resolved_line import resolved_line
from flexarm_core.reaction_null_space.tool_postures import ToolPostures
from flexarm_core.types import Array

MARGIN = 0.02  # share of velocity and acceleration limits that the search keeps off
SLACK = 1e-6  # by which a finished path keeps off the position limits themselves [rad | m]
WILDEST = 100.0  # [rad | m] of dq/ds: beyond it a path is not worth a look
LINES = 3  # straight lines of which the one is taken that loads the other directions least


@dataclass(frozen=True, slots=True)
class ReactionPlannerConfig:
    """Settings of the planner.

    Attributes:
        samples: random postures tried for a straight line, where the start posture is free.
        variations: of the best of them, in each of up to nine rounds.
        free_attempts: minimisations where no straight line is found.
        least_sigma: smallest singular value of ``Jbar`` that a straight line may meet [m].
        inset: by which motions keep off the position limits [rad | m].
        acceleration_limit: of every joint [rad/s^2 | m/s^2].
        largest_ratio: root of the predicted peak elastic energy, relative to resolved acceleration along the line, up
            to which a plan is worth having.
        good_ratio: peak reaction of the selected motions, relative to what resolved acceleration's peak energy stands
            for, at which nothing better is looked for. What is left of the energy is then in the other directions.
        tool_tolerance: by which the tool may miss start and goal [m].
        seed: of the random numbers.
    """

    samples: int = 300
    variations: int = 60
    free_attempts: int = 6
    least_sigma: float = 0.02
    inset: float = 0.02
    acceleration_limit: float = 10.0
    largest_ratio: float = 0.05
    good_ratio: float = 0.003
    tool_tolerance: float = 1e-4
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise ConfigError for values that have no meaning."""
        for name in ("samples", "variations", "free_attempts"):
            if getattr(self, name) < (2 if name == "samples" else 0):
                raise ConfigError(f"{name} is {getattr(self, name)}: too few")
        for name in ("least_sigma", "acceleration_limit", "largest_ratio", "good_ratio", "tool_tolerance"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0.0):
                raise ConfigError(f"{name} must be a number > 0, got {getattr(self, name)}")
        if not (np.isfinite(self.inset) and self.inset >= 0.0):
            raise ConfigError(f"inset must be a number >= 0, got {self.inset}")


class ReactionPlanner:
    """Plans of one arm.

    Attributes:
        motions: reactionless motions of the arm.
        config: settings.
    """

    def __init__(self, motions: ReactionlessMotions, config: ReactionPlannerConfig | None = None) -> None:
        """Bind the planner to an arm."""
        self.motions, self.config = motions, config or ReactionPlannerConfig()
        model, inset = motions.model, self.config.inset
        share = 1.0 - MARGIN
        acceleration = np.full(model.n, self.config.acceleration_limit)
        self._bounds = MotionBounds(
            model.lower + inset, model.upper - inset, share * model.velocity_limit, share * acceleration
        )

    def plan(self, start: Array, goal: Array, duration: float, posture: Array | None = None) -> ReactionPlan:
        """Plan a motion of least reaction.

        Args:
            start: (3,) tool position in the base link's frame [m].
            goal: (3,) tool position [m].
            duration: of the motion [s].
            posture: (n,) joint positions at the start; None lets the planner choose.

        Raises:
            InputError: a position is out of reach or not finite, the posture does not fit it, or no motion leaves the
                base quiet enough; the message says what is in the way.
        """
        begin, end = self.motions.check_tool("start", start), self.motions.check_tool("goal", goal)
        if not (np.isfinite(duration) and duration > 0.0):
            raise InputError(f"duration is {duration}: give a number > 0 [s]")
        if np.array_equal(begin, end):
            raise InputError("start and goal are the same tool position: there is nothing to plan")
        fixed = None if posture is None else self._check_posture(posture, begin)
        attempts = self._attempts((begin, end), duration, fixed)
        best: ReactionPlan | None = None
        for plan in self._plans(attempts, begin, end, duration, fixed is not None):
            if best is None or plan.peak_energy < best.peak_energy:
                best = plan
        if best is None or best.deflection_ratio > self.config.largest_ratio:
            raise InputError(self._refusal(attempts, best, duration, fixed is not None))
        return best

    def _attempts(self, ends: tuple[Array, Array], duration: float, fixed: Array | None) -> list[LineAttempt]:
        """Straight lines, best first."""
        config, bounds = self.config, self._bounds
        if fixed is not None:
            fastest = bounds.velocity * duration / FASTEST_RATE
            limits = (bounds.lower, bounds.upper)
            straight = ToolBow(ends[0], ends[1] - ends[0], np.zeros_like(ends[0]))
            return [follow_line(self.motions, fixed, straight, limits, fastest, config.least_sigma)]
        search = LineSearch(config.samples, config.variations, config.least_sigma, config.inset)
        attempts = search.run(self.motions, ends, duration, bounds, np.random.default_rng(config.seed))
        if not attempts:
            raise InputError(
                f"no posture within the joint limits reaches {np.round(ends[0], 4)} or {np.round(ends[1], 4)} m from"
                f" any of {config.samples} random ones: they are out of reach, or nearly so"
            )
        return attempts

    def _plans(
        self, attempts: list[LineAttempt], begin: Array, end: Array, duration: float, fixed: bool
    ) -> Iterator[ReactionPlan]:
        """Plans within all limits: first straight ones, then free ones."""
        found = False
        for attempt in _different([each for each in attempts if each.reason == "done"])[:LINES]:
            s = np.linspace(0.0, 1.0, len(attempt.positions))
            plan = self._exact(make_interp_spline(s, attempt.positions, k=5), attempt.path, duration)
            if plan is not None:
                found = found or self._good(plan)
                yield plan
        if found:
            return
        for attempt in _different(attempts)[: self.config.free_attempts]:
            scale = float(np.sqrt(2.0 * self._resolved_energy(attempt.positions[0], end - begin, duration)))
            minimum = LeastReaction(self.motions, (begin, end), duration, self._bounds, scale, fixed)
            path, _ = minimum.solve(attempt.positions)
            for plan in (self._followed(path, begin, end, duration), self._judged("free", path, begin, end, duration)):
                if plan is not None:
                    yield plan
                    if self._good(plan):
                        return

    def _good(self, plan: ReactionPlan) -> bool:
        """Whether the selected motions are as good as quiet, and the whole base quiet enough."""
        quiet = plan.peak_reaction <= self.config.good_ratio * np.sqrt(2.0 * plan.straight_energy)
        return bool(quiet and plan.deflection_ratio <= self.config.largest_ratio)

    def _exact(self, near: BSpline, path: ToolBow, duration: float) -> ReactionPlan | None:
        """A tool path, exactly, near a joint path."""
        rate = near.derivative()
        start = ToolPostures(self.motions, path.begin, self.config.inset).near(near(0.0))
        if start is None:
            return None
        positions = follow_guides(self.motions, start, path.at, lambda s: (near(s), rate(s)))
        kind = "free" if path.bow.any() else "line"
        return self._judged(kind, _through(positions), path.begin, path.begin + path.line, duration)

    def _followed(self, near: BSpline, begin: Array, end: Array, duration: float) -> ReactionPlan | None:
        """A joint path and its tool path as far as the reactionless law can keep to them."""
        rate = near.derivative()

        def tool(s: float) -> tuple[Array, Array]:
            position, jacobian = self.motions.tool(near(s))
            return position, jacobian @ rate(s)

        positions = follow_guides(self.motions, near(0.0), tool, lambda s: (near(s), rate(s)))
        return self._judged("free", _through(positions), begin, end, duration)

    def _judged(self, kind: str, path: BSpline, begin: Array, end: Array, duration: float) -> ReactionPlan | None:
        """The plan along a joint path, None where it misses the tool positions or passes a limit."""
        for s, wanted in ((0.0, begin), (1.0, end)):
            if np.linalg.norm(self.motions.tool(path(s))[0] - wanted) > self.config.tool_tolerance:
                return None
        first, second = path.derivative(), path.derivative(2)
        coordinates = np.linspace(0.0, 1.0, 201)
        positions, model = path(coordinates), self.motions.model
        beyond = np.maximum(model.lower + SLACK - positions, positions - model.upper + SLACK)
        if beyond.max() > 0.0 or np.abs(first(coordinates)).max() > WILDEST:
            return None
        straight = self._resolved_energy(path(0.0), end - begin, duration)
        plan = plan_along(self.motions, kind, lambda s: (path(s), first(s), second(s)), duration, straight)
        slow = (np.abs(plan.velocities) <= model.velocity_limit).all()
        return plan if slow and np.abs(plan.accelerations).max() <= self.config.acceleration_limit else None

    def _resolved_energy(self, start: Array, line: Array, duration: float) -> float:
        """Predicted peak elastic energy if the tool is led straight by resolved acceleration [J]."""
        path = resolved_line(self.motions, start, line)
        first, second = path.derivative(), path.derivative(2)
        plan = plan_along(self.motions, "line", lambda s: (path(s), first(s), second(s)), duration, 0.0)
        return plan.peak_energy

    def _check_posture(self, posture: Array, begin: Array) -> Array:
        model = self.motions.model
        checked = np.array(posture, dtype=float)
        if checked.shape != (model.n,) or not np.isfinite(checked).all():
            raise InputError(f"start posture is {posture}, expected {model.n} finite numbers")
        for joint, name in enumerate(model.joint_names):
            low, high = self._bounds.lower[joint], self._bounds.upper[joint]
            if not low <= checked[joint] <= high:
                raise InputError(
                    f"joint '{name}' of the start posture is at {checked[joint]:.4g}, beyond its limits less"
                    f" {self.config.inset:g}: [{low:.4g}, {high:.4g}]"
                )
        miss = float(np.linalg.norm(self.motions.tool(checked)[0] - begin))
        if miss > self.config.tool_tolerance:
            raise InputError(f"the start posture has the tool {miss:.4g} m away from the start position")
        return checked

    def _refusal(self, attempts: list[LineAttempt], best: ReactionPlan | None, duration: float, fixed: bool) -> str:
        """What is in the way."""
        names = self.motions.model.joint_names
        counts = Counter(each.reason for each in attempts)
        joints = Counter(names[each.joint] for each in attempts if each.reason in ("limit", "fast"))
        said = [
            f"{counts[reason]} {text}"
            for reason, text in (
                ("singular", f"came to where the tool cannot move quietly (Jbar below {self.config.least_sigma:g} m)"),
                ("limit", "came to a joint's position limit"),
                ("fast", f"would need a joint faster than its limit in {duration:g} s"),
                ("done", "were done, but not within all limits or not quietly enough"),
            )
            if counts[reason]
        ]
        often = f" (most often '{joints.most_common(1)[0][0]}')" if joints else ""
        free = (
            "no joint path of least reaction keeps the limits"
            if best is None
            else f"the joint path of least reaction leaves {best.deflection_ratio:.2g} of resolved acceleration's"
            f" deflection, allowed is {self.config.largest_ratio:g}"
        )
        advice = "another start posture, " if fixed else "more samples, "
        return (
            f"no motion between the tool positions leaves the base quiet: of {len(attempts)} tool paths"
            f" {'; '.join(said)}{often}; {attempts[0].fraction:.0%} was done at best; {free}. Try a longer duration,"
            f" {advice}or a goal that is nearer"
        )


def _through(positions: Array) -> BSpline:
    """Quintic spline through joint positions (g, n) at even path coordinates."""
    return make_interp_spline(np.linspace(0.0, 1.0, len(positions)), positions, k=5)


def _different(attempts: list[LineAttempt], apart: float = 0.4) -> list[LineAttempt]:
    """Attempts that begin or end apart from all better ones, best first."""
    kept: list[LineAttempt] = []
    for attempt in attempts:
        ends = attempt.positions[[0, -1]]
        if all(np.abs(ends - other.positions[[0, -1]]).max() > apart for other in kept):
            kept.append(attempt)
    return kept
