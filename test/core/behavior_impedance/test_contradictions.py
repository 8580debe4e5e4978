"""Behaviors against each other and against the joints: nothing leaves its limits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from behaviors import READY, Driven, arm_of, assert_within_limits, random_position
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_behaviors import steps_of_acceleration

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.ik_redundancy.limits import MotionLimits

DT = 2e-3
NAMES = ("panda", "arm_6r", "planar_4r")


def random_specs(rng, chain):
    """A set of behaviors that may contradict each other in every way."""
    turn = rng.uniform(-0.4, 0.4, 3)
    pool = [
        BehaviorSpec("p", "path", {"positions": rng.uniform(-0.4, 0.4, 6).tolist(), "relative": True, "repeats": True,
                                   "max_linear_velocity": 0.5, "max_linear_acceleration": 5.0}),
        BehaviorSpec("s", "spring", {"position": rng.uniform(-1.0, 1.0, 3).tolist(), "max_force": 500.0,
                                     "stiffness": [2000.0] * 3 + [50.0] * 3}),
        BehaviorSpec("l", "joint_limits", {"range": 0.5, "tool_range": float(rng.choice([0.0, 0.3])), "effort": 30.0}),
        BehaviorSpec("g", "singularity", {"range": 0.2, "tool_range": float(rng.choice([0.0, 0.1])),
                                          "axes": [True, True, False, False, False, True]}),
        BehaviorSpec("o", "obstacles", {"names": ["a"], "kinds": ["sphere"],
                                        "positions": rng.uniform(-0.8, 0.8, 3).tolist(), "sizes": [0.1, 0.0, 0.0]}),
        BehaviorSpec("po", "posture", {"position": rng.uniform(-2.0, 2.0, chain.n).tolist(), "stiffness": [200.0]}),
        BehaviorSpec("d", "dither", {"amplitude": [0.05, 0.0, 0.02, 0.1, 0.0, 0.0], "frequency": 4.0,
                                     "rise_time": 0.01}),
        BehaviorSpec("f", "force", {"wrench": [0.0, 0.0, -80.0, 0.0, 0.0, 0.0], "rpy": turn.tolist(),
                                    "damping": [50.0, 1.0]}),
    ]  # fmt: skip
    return [spec for spec in pool if rng.random() < 0.6]


@settings(max_examples=12, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**31), name=st.sampled_from(NAMES), variant=st.sampled_from(("acceleration", "velocity")))
def test_whatever_the_behaviors_want_the_joints_stay_within_every_limit(seed, name, variant):
    rng = np.random.default_rng(seed)
    arm = arm_of(name, 6.0)
    start = np.clip(random_position(arm, rng), arm.limits.lower + 0.05, arm.limits.upper - 0.05)
    driven, joints = Driven(name, start, arm=arm, variant=variant), []
    for _ in range(6):
        driven.ask(*random_specs(rng, arm.chain))
        wrench = rng.standard_normal(6) * [40.0, 40.0, 40.0, 4.0, 4.0, 4.0]
        joints.extend(driven.run(100, wrench).joints)
        assert not any(active.failure for active in driven.controller.behaviors)
    assert_within_limits(arm, start, np.array(joints), DT)


def test_a_force_against_a_joint_s_end_stops_there_and_says_what_is_in_the_way():
    arm = arm_of("arm_6r")
    upper, lower = arm.chain.upper.copy(), arm.chain.lower.copy()
    upper[1] = READY["arm_6r"][1] + 0.1
    limits = MotionLimits(lower, upper, arm.limits.velocity, arm.limits.acceleration)
    driven = Driven("arm_6r", arm=dataclasses.replace(arm, limits=limits))
    axes = [False, False, True, False, False, False]
    force = {"wrench": [0.0, 0.0, -30.0, 0.0, 0.0, 0.0], "axes": axes, "damping": [100.0, 10.0]}
    driven.ask(BehaviorSpec("f", "force", force))
    run = driven.run(3000)
    assert run.joints[:, 1].max() <= upper[1]
    assert upper[1] - run.joints[-1, 1] < 1e-4
    assert_within_limits(driven.arm, np.array(READY["arm_6r"]), run.joints, DT)


def test_pulled_two_ways_the_tool_settles_where_the_pulls_are_even():
    driven = Driven("panda")
    start = driven.controller.output.position
    pull = {"position": (start + [0.1, 0.0, 0.0]).tolist(), "stiffness": [2000.0] + [0.0] * 5, "max_force": 1e4}
    driven.ask(
        BehaviorSpec("s", "spring", pull), BehaviorSpec("p", "path", {"positions": [-0.1, 0.0, 0.0], "relative": True})
    )
    run = driven.run(3000)
    assert run.outputs[-1].position == pytest.approx(start, abs=1e-5)
    assert run.outputs[-1].stalled and run.outputs[-1].hindered_by == ("s",)


def test_removing_all_of_what_pulled_the_tool_lets_it_come_back_to_where_it_was_held():
    driven = Driven("panda")
    start = driven.controller.output.position
    driven.ask(BehaviorSpec("s", "spring", {"position": (start + 0.1).tolist(), "stiffness": [1000.0] * 3 + [0.0] * 3}))
    driven.run(1500)
    assert np.linalg.norm(driven.controller.output.position - start) > 0.03
    driven.ask()
    run = driven.run(2500)
    assert run.outputs[-1].position == pytest.approx(start, abs=1e-6)
    assert steps_of_acceleration(run).max() <= 0.5
