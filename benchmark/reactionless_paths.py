"""Reactionless paths and the velocity law: identities against MuJoCo, and the paper's experiments on a simulated TREP.

Figures 10, 11 and 12 of Nenchev et al. 1999, once with the paper's literal gains and once with ours: momentum gain
apart from path gain, feed-forward, the drives' lag made up for.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import table

from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.reactionless.path import ReactionlessPath
from flexarm_core.reaction_null_space.reactionless.trace import trace
from flexarm_core.reaction_null_space.reactionless.velocity_law import Along, VelocityLaw, VelocityLawConfig
from flexarm_core.reaction_null_space.stability.velocity_law_poles import largest_stable_gain, velocity_law_poles
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_tools.metrics.figures import Figure, parse_goal

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "support"))
from elastic_base_arms import WEIGHTLESS, elastic_base_arm  # noqa: E402
from ideal_joints import IdealJoints  # noqa: E402
from trep_experiments import (  # noqa: E402
    OURS_PATH,
    PAPER_PATH,
    START,
    figure_10,
    figure_11,
    figure_12,
    link_2_alone,
    trep_model,
    trep_text,
    trep_with_wrong_mass,
)
from velocity_driven import VelocityRun, decay_rate  # noqa: E402

FIRST, SECOND = 0.310 * 0.096 + 0.120 * 0.1, 0.120 * 0.090  # [kg*m] of TREP
HOLD = VelocityLawConfig(24.0, 20.0, 20.0, feed_forward=False)
FREE = VelocityLawConfig(0.0, 50.0, 50.0, drive_lag=OURS_PATH.drive_lag)


def texts() -> dict[str, str]:
    """URDF by robot, all with n - m = 1."""
    return {
        "trep": trep_text(),
        "planar_4r_on_x_y_yaw": elastic_base_arm(("x", "y", "rz"), 4),
        "spatial_4r_on_z_roll_pitch": elastic_base_arm(("z", "rx", "ry"), 4, 3),
        "spatial_7r_on_six": elastic_base_arm(("x", "y", "z", "rx", "ry", "rz"), 7, 5),
    }


def random_paths(text: str, rng: np.random.Generator, count: int) -> Iterator[ReactionlessPath]:
    """Paths of up to 2 rad either way through random postures."""
    model = ArmModel(text, gravity=WEIGHTLESS)
    for _ in range(count):
        yield trace(model, rng.uniform(-1.2, 1.2, model.n), length=2.0)


def identities() -> Iterator[Figure]:
    """1,000 random states on random paths."""
    rng = np.random.default_rng(0)
    momentum, reaction, states = {}, {}, 0
    for name, text in texts().items():
        judge, found = IdealJoints(text), []
        for path in random_paths(text, rng, 5):
            model, still = path.field.model, np.zeros(path.field.model.m)
            for _ in range(50):
                motion = path.sample(rng.uniform(path.start, path.end), *rng.uniform(-3.0, 3.0, 2))
                H_bm = model.blocks(ArmState(0, motion.position, motion.velocity, still, still)).H_bm
                found.append((np.abs(H_bm @ motion.velocity).max(), np.abs(judge.reaction(motion)).max()))
                states += 1
        momentum[name], reaction[name] = (float(value) for value in np.max(found, axis=0))
    yield Figure(
        "momentum_drift", max(momentum.values()), "1", parse_goal("<= 1e-10"),
        f"largest coupling momentum H_bm qd along random paths, {states} states, speeds to 3 rad/s",
        details=dict(momentum),
    )  # fmt: skip
    yield Figure(
        "reaction_residual", max(reaction.values()), "1", parse_goal("<= 1e-9"),
        "largest H_bm qdd + dH_bm qd there, by MuJoCo's mass matrix and forces [N | N*m]", details=dict(reaction),
    )  # fmt: skip


def paths() -> Iterator[Figure]:
    """TREP against the curves on which its center of mass stays in line; a base under joints that move ideally."""
    rng, error = np.random.default_rng(1), 0.0
    for _ in range(10):
        q = rng.uniform(-2.5, 2.5, 2)
        path = trace(trep_model(), q)
        points = np.array([path.position(s) for s in np.linspace(path.start, path.end, 300)])
        moment = FIRST * np.cos(points[:, 0]) + SECOND * np.cos(points.sum(axis=1))
        level = FIRST * np.cos(q[0]) + SECOND * np.cos(q.sum())
        error = max(error, float(np.abs(moment - level).max()) / path.knots.sigma_min.min() / max(path.length, 1.0))
    yield Figure(
        "path_error", error, "rad", parse_goal("<= 1e-10"), "error across 10 paths of TREP per unit of their length"
    )
    details, quiet = {}, 0.0
    for name, text in texts().items():
        model = ArmModel(text, gravity=WEIGHTLESS)
        path = trace(model, START if name == "trep" else np.linspace(0.3, 1.1, model.n), length=2.0)
        law = IdealJoints(text).deflection(
            lambda t, p=path: p.sample(*(np.array((p.start, 0.0, 0.0)) + p.length * np.array(fifth_order(t, 1.0)))), 1.5
        )
        details[name] = float(np.abs(law).max())
        quiet = max(quiet, details[name])
    yield Figure(
        "ideal_joint_deflection", quiet, "1", parse_goal("<= 1e-6"),
        "largest base deflection while ideal joints run a whole path in 1 s [m | rad]", details=dict(details),
    )  # fmt: skip


def damping(run: VelocityRun, start: float) -> tuple[float, float]:
    """Decay rate [1/s] and damping ratio of the base after a time [s]."""
    after = run.time > start
    rate, frequency = decay_rate(run.time[after], run.deflection[after, 0], 1e-5)
    return rate, rate / float(np.hypot(rate, frequency))


def suppression() -> Iterator[Figure]:
    """Figure 10: hold and a hit."""
    model = trep_model()
    passive = damping(figure_10(VelocityLawConfig(0.0, 20.0, 20.0)), 0.16)[1]
    for name, gain in (("paper", 20.0), ("momentum_gain_5", 5.0)):
        config = VelocityLawConfig(24.0, gain, 20.0, feed_forward=False)
        found = damping(figure_10(config), 0.16)[1]
        predicted = velocity_law_poles(model, START, config)[1][0]
        yield Figure(
            f"fig10_damping_ratio_{name}", found, "1", parse_goal(">= 0.07"),
            f"held arm, g_b = 24 1/s, momentum given back at {gain:g} 1/s",
            details={"predicted": float(predicted[1]), "passive": passive, "ratio": found / passive},
        )  # fmt: skip


def limits() -> Iterator[Figure]:
    """Largest stable gain of the vibration feedback by the linear prediction."""
    model = trep_model()
    details: dict[str, bool | float | str] = {}
    for period in (0.001, 0.004):
        for delay in (0, 1, 2, 4):
            for gain in (5.0, 50.0):
                details[f"period_{period:g}_s_delay_{delay * period:g}_s_momentum_gain_{gain:g}"] = largest_stable_gain(
                    model, START, VelocityLawConfig(1.0, gain), period=period, delay=delay
                )
    value = details["period_0.004_s_delay_0.004_s_momentum_gain_5"]
    assert isinstance(value, float)
    meaning = "largest stable g_b of TREP at 250 Hz and 4 ms delay, drives of 200 rad/s"
    yield Figure("largest_vibration_gain", value, "1/s", parse_goal(">= 24"), meaning, details=details)


def speeds() -> Iterator[Figure]:
    """Figure 11: along the path and link 2 alone."""
    details: dict[str, bool | float | str] = {}
    worst = {"paper": np.inf, "ours": np.inf}
    for label, duration in (("fast", 1.0), ("slow", 3.0)):
        alone = float(np.abs(link_2_alone(duration)).max())
        details[f"{label}_link_2_alone_m"] = alone
        for name, config in (("paper", PAPER_PATH), ("ours", OURS_PATH)):
            peak = float(np.abs(figure_11(config, duration).deflection).max())
            details[f"{label}_{name}_m"], details[f"{label}_{name}_ratio"] = peak, alone / peak
            worst[name] = min(worst[name], alone / peak)
    meaning = "peak deflection of link 2 alone by that along the path, equal time, the worse of 1 s and 3 s"
    yield Figure(
        "fig11_ratio", worst["paper"], "1", parse_goal(">= 50"), f"{meaning}; the paper's law", details=details
    )
    yield Figure("fig11_ratio_feed_forward", worst["ours"], "1", parse_goal(">= 50"), f"{meaning}; with feed-forward")
    wrong: dict[str, bool | float | str] = {}
    for label, duration in (("fast", 1.0), ("slow", 3.0)):
        for factor in (0.9, 1.1):
            run = figure_11(OURS_PATH, duration, model=trep_with_wrong_mass(factor))
            alone = details[f"{label}_link_2_alone_m"]
            assert isinstance(alone, float)
            wrong[f"{label}_mass_times_{factor:g}"] = alone / float(np.abs(run.deflection).max())
    least = min(value for value in wrong.values() if isinstance(value, float))
    meaning = "the same, link 2 taken for 10 % too light or too heavy"
    yield Figure("fig11_ratio_wrong_mass", least, "1", None, meaning, details=wrong)


def cyclic() -> Iterator[Figure]:
    """Figure 12: round and round at ubar = 30, hit after 2 s."""
    free = damping(figure_12(FREE)[0], 2.06)[0]
    for name, config, goal in (("", OURS_PATH, ">= 8"), ("_paper_gains", PAPER_PATH, None)):
        run, motion = figure_12(config)
        rate = damping(run, 2.06)[0]
        yield Figure(
            f"fig12_decay_ratio{name}", rate / free, "1", parse_goal(goal) if goal else None,
            f"decay with feedback by that without; momentum gain {config.momentum_gain:g}, path gain"
            f" {config.path_gain:g} 1/s",
            details={
                "decay_1_s": rate, "decay_without_1_s": free,
                "deflection_before_the_hit_m": float(np.abs(run.deflection[run.time < 2.0]).max()),
                "peak_deflection_m": float(np.abs(run.deflection).max()),
                "largest_distance_from_the_path_rad": max(motion.path.nearest(q)[1] for q in run.position[2000::50]),
                "distance_from_the_path_5_s_later_rad": motion.path.nearest(run.position[-1])[1],
            },
        )  # fmt: skip


def gains() -> Iterator[Figure]:
    """Figure 12 with other momentum gains: the slower the momentum is given back, the more damping and the more way."""
    free = damping(figure_12(FREE)[0], 2.06)[0]
    for gain in (1.0, 2.0, 5.0, 10.0, 20.0, 50.0):
        run, motion = figure_12(replace(OURS_PATH, momentum_gain=gain))
        yield Figure(
            f"fig12_decay_ratio_{gain:g}", damping(run, 2.06)[0] / free, "1", None, "decay by that without feedback",
            details={
                "peak_deflection_m": float(np.abs(run.deflection).max()),
                "largest_distance_from_the_path_rad": max(motion.path.nearest(q)[1] for q in run.position[2000::50]),
            },
        )  # fmt: skip


def times() -> Iterator[Figure]:
    """What a sample costs."""
    for name in ("trep", "spatial_7r_on_six"):
        path = next(random_paths(texts()[name], np.random.default_rng(2), 1))
        model, still = path.field.model, np.zeros(path.field.model.m)
        state = ArmState(0, path.position(0.0), np.zeros(model.n), still, still)
        law = VelocityLaw(model, VelocityLawConfig())
        law.follow(path)
        calls: dict[str, Callable[[float], object]] = {
            "sample": lambda s, p=path: p.sample(s, 1.0, 0.0),
            "read": lambda s, p=path: p.read(s, 1.0, 0.0),
            "velocity_law": lambda s, x=law, state=state: x.update(state, Along(s, 1.0)),
        }
        for what, call in calls.items():
            costs = []
            for s in np.linspace(path.start, path.end, 2000):
                began = time.perf_counter()
                call(s)
                costs.append(time.perf_counter() - began)
            yield Figure(f"{what}_time_{name}", float(np.median(costs)), "s", None, "median of one call")


if __name__ == "__main__":
    sys.exit(table.run("reactionless_paths", (identities, paths, suppression, limits, speeds, cyclic, gains, times)))
