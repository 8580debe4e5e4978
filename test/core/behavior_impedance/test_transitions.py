"""Behaviors and matrices change at any sample; the commanded acceleration does not jump."""

from __future__ import annotations

import numpy as np
import pytest
from law_cases import MIDDLE, arm, controller

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.behavior_impedance.config import ImpedanceConfig

TICK = 0.002
STEPS = (0.5, 2.0, 2.0)  # [m/s^2, rad/s^2, rad/s^2] bound of ImpedanceConfig
STILL = np.zeros(6)


def steps_of(made, ticks, wrench=STILL, first=0):
    """Largest steps of acceleration from sample to sample: linear, angular, and of the redundant joints' part."""
    largest, before, joints = np.zeros(3), made.output.acceleration, made._state.joint_acceleration.copy()
    for tick in range(first, first + ticks):
        out = made.update(tick * 2_000_000, TICK, wrench)
        assert not out.held
        change, now = out.acceleration - before, made._state.joint_acceleration.copy()
        steps = np.linalg.norm(change[:3]), np.linalg.norm(change[3:]), np.abs(now - joints).max()
        largest, before, joints = np.maximum(largest, steps), out.acceleration, now
    return largest


BALL = {"names": ["a"], "kinds": ["sphere"], "positions": [0.2, 0.2, 0.6], "sizes": [0.05, 0.0, 0.0]}
CHANGES = {
    "a wide jump of the spring's end": [
        BehaviorSpec("s", "spring", {"position": [0.4, 0.4, 0.6], "stiffness": [1000.0] * 3 + [0.0] * 3})
    ],
    "a force": [BehaviorSpec("f", "force", {"wrench": [0.0, 0.0, -20.0, 0.0, 0.0, 0.0]})],
    "a posture far away": [BehaviorSpec("p", "posture", {"position": [0.5] * 3 + [-1.0] + [0.5] * 3})],
    "an obstacle beside a link": [BehaviorSpec("o", "obstacles", BALL)],
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_makes_no_step_beyond_the_bound(what):
    made = controller(arm("panda"), MIDDLE["panda"], ImpedanceConfig(transition_acceleration=STEPS))
    steps_of(made, 5)
    made.set_behaviors(CHANGES[what])
    joined = steps_of(made, 400, first=5)
    made.set_behaviors([])
    left = steps_of(made, 400, first=405)
    assert (joined <= STEPS).all() and (left <= STEPS).all()
    assert joined.max() > 0.01  # it did something


def test_a_change_of_the_matrices_makes_no_step_beyond_the_bound():
    made = controller(arm("panda"), MIDDLE["panda"], ImpedanceConfig(transition_acceleration=STEPS))
    wrench = np.array([8.0, 0.0, -5.0, 0.0, 0.3, 0.0])
    for tick in range(10):
        made.update(tick, TICK, np.zeros(6))
    for tick in range(1500):  # to rest under the wrench, which comes slowly
        made.update(tick, TICK, wrench * min(tick / 500, 1.0))
    made.set_config(
        ImpedanceConfig(inertia=(1.0,) * 3 + (0.05,) * 3, stiffness=(50.0,) * 6, transition_acceleration=STEPS)
    )
    assert (steps_of(made, 300, wrench) <= STEPS).all()


def test_what_leaves_while_the_tool_is_moving_brings_it_to_rest_without_a_step():
    made = controller(arm("panda"), MIDDLE["panda"], ImpedanceConfig(transition_acceleration=STEPS))
    goal = {"positions": [0.0, 0.3, 0.0], "relative": True, "max_linear_velocity": 0.3}
    made.set_behaviors([BehaviorSpec("path", "path", goal)])
    steps_of(made, 400)
    assert np.linalg.norm(made.output.twist[:3]) > 0.2
    made.set_behaviors([])
    assert (steps_of(made, 1500, first=400) <= STEPS).all()
    assert np.linalg.norm(made.output.twist) < 1e-3


def random_specs(rng, n):
    """Some behaviors with random settings; most keep their names, so that they are retuned."""
    rolls = {
        "spring": lambda: {
            "position": list(np.array([0.55, 0.0, 0.4]) + 0.1 * rng.normal(size=3)),
            "stiffness": [*rng.uniform(0, 400, 3), *rng.uniform(0, 20, 3)],
        },
        "posture": lambda: {"position": list(np.array(MIDDLE["panda"]) + 0.3 * rng.normal(size=n))},
        "force": lambda: {"wrench": [0.0, 0.0, float(rng.uniform(-5, 5)), 0.0, 0.0, 0.0], "frame": "tool"},
        "dither": lambda: {"amplitude": [0.0005, 0.0, 0.0, 0.0, 0.0, 0.002], "frequency": float(rng.uniform(0.5, 2.0))},
        "joint_limits": lambda: {"range": float(rng.uniform(0.2, 0.6)), "tool_range": 0.1},
        "singularity": lambda: {"range": float(rng.uniform(0.05, 0.2))},
        "teleoperation": lambda: {"max_lag": float(rng.uniform(0.02, 0.1))},
        "path": lambda: {"positions": list(0.1 * rng.normal(size=3)), "relative": True},
    }
    return [BehaviorSpec(kind, kind, make()) for kind, make in rolls.items() if rng.uniform() < 0.6]


def test_two_hundred_changes_at_random_samples_make_no_step_beyond_the_bound():
    rng = np.random.default_rng(1)
    made = controller(arm("panda", 100.0, None), MIDDLE["panda"], ImpedanceConfig(transition_acceleration=STEPS))
    tick, largest = 0, np.zeros(3)
    for _ in range(200):
        made.set_behaviors(random_specs(rng, 7))
        ticks = int(rng.integers(1, 60))
        largest = np.maximum(largest, steps_of(made, ticks, first=tick))
        tick += ticks
    assert (largest <= STEPS).all(), largest
    assert all(not one.failure for one in made.behaviors)
