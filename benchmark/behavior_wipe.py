"""Wiping a wall with eight behaviors at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from behavior_arms import DT, find
from behavior_station import (
    ARM,
    ELBOW_OBSTACLE,
    FORCE,
    OBSTACLES,
    POSTURE,
    SETTLING,
    Station,
    along_wall,
    begin_controller,
    eight_behaviors,
)
from collision import CoalArm

from flexarm_core.behavior_impedance.avoidance.obstacles import obstacles_from_lists
from flexarm_tools.metrics.figures import Figure, parse_goal

DURATION = 14.0  # [s]
JUDGED = 5  # samples between two looks at the distance


def wipe() -> Iterator[Figure]:
    """A square of 0.1 m on the wall."""
    station, controller = Station(), begin_controller(eight_behaviors())
    judge = CoalArm(find("arm_7r")[0], ARM.chain, ARM.shape, _elbow_obstacle())
    force, away, distance, positions, effort, held = [], [], [], [], 0.0, 0
    for _ in range(round(DURATION / DT)):
        now = station.read()
        # the pose that leads at the begin of this sample is that of the last one's end
        leading = controller.behaviors[0].out.lead_position.copy() if force else now.position
        output = controller.update(now.stamp + round(DT * 1e9), DT, now.wrench)
        station.advance(controller.solver.position)
        force.append(now.force)
        away.append(np.linalg.norm(along_wall(now.position - leading)))
        real = station.backend.state().position
        if len(positions) % JUDGED == 0:
            distance.append(min(judge.least(q) for q in (real, controller.solver.position)))
        positions.append(controller.solver.position)
        effort = max(effort, float(np.abs(controller.behaviors[5].out.effort).max()))
        held += bool(output.held)
    F, q = np.array(force), np.array(positions)
    touched = int(np.argmax(F > 0.0))
    late = F[touched + round(SETTLING / DT) :]
    velocity = np.diff(q, axis=0) / DT
    within = bool(((q >= ARM.limits.lower) & (q <= ARM.limits.upper)).all())
    within &= bool((np.abs(velocity) <= ARM.limits.velocity).all())
    within &= bool((np.abs(np.diff(velocity, axis=0)) / DT <= ARM.limits.acceleration * (1.0 + 1e-9)).all())
    yield Figure(
        "force_error", float(np.abs(late - FORCE).mean() / FORCE), "1", parse_goal("<= 0.01"),
        f"mean |force - {FORCE:g} N| by {FORCE:g} N, wiping a wall of 5e4 N/m with friction 0.3, eight behaviors",
        details={"largest_N": float(np.abs(late - FORCE).max()), "peak_of_touch_N": float(F.max())},
    )  # fmt: skip
    losses = int(np.sum((late[:-1] > 0.0) & (late[1:] <= 0.0)) + (late[0] <= 0.0))
    yield Figure("contact_losses", float(losses), "1", parse_goal("== 0"), "from 0.3 s after the first touch on")
    yield Figure(
        "min_obstacle_margin", float(min(distance)) - OBSTACLES["margin"], "m", parse_goal(">= 0"),
        "least distance, by coal, of any link, commanded and real, from the obstacle at the elbow, less the margin",
        details={"largest_avoidance_effort_Nm": effort, "distance_at_begin_m": distance[0],
                 "distance_of_wanted_posture_m": judge.least(np.array(POSTURE))},
    )  # fmt: skip
    yield Figure(
        "path_error_free", float(max(away)), "m", parse_goal("<= 0.002"),
        "largest distance of the real tool from the leading pose along the wall: lag, friction and dither included",
    )  # fmt: skip
    yield Figure("joints_outside_limits", float(not within), "1", parse_goal("== 0"), "of the same wipe")
    yield Figure("wipe_stops", float(held), "1", parse_goal("== 0"), "samples at which the law was held")


def _elbow_obstacle():
    o = ELBOW_OBSTACLE
    return obstacles_from_lists(o["names"], o["kinds"], o["positions"], [], o["sizes"])
