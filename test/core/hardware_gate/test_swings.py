"""Joints that efforts drive to and fro more and more are noticed; those that swing evenly or escape once are not."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.velocities.swings import LARGE, LASTS, Swings
from flexarm_core.types import ArmState

N, FASTEST = 3, 2.0  # joints; velocity limits [rad/s]
NONE = np.zeros(0)


def swings() -> Swings:
    one = np.ones(N)
    return Swings(JointLimits(-9 * one, 9 * one, FASTEST * one, 20 * one, 20 * one, np.inf * one))


def found(peaks, half: float = 0.02, watch: Swings | None = None, period: float = 0.001) -> tuple[int | None, float]:
    """The joint found, and the excess then [velocity limits], as that of joint 1 has these peaks, ``half`` [s] each."""
    watch, stamp = watch or swings(), 0
    for peak in peaks:
        for k in range(round(half / period)):
            stamp += round(period * 1e9)
            excess = np.zeros(N)
            excess[1] = peak * np.sin(np.pi * k * period / half)
            joint = watch.find(ArmState(stamp, np.zeros(N), np.zeros(N), NONE, NONE), FASTEST * excess)
            if joint is not None:
                return joint, excess[1]
    return None, 0.0


@pytest.mark.parametrize("half", (0.005, 0.02, 0.2))
def test_swings_that_grow_twice_in_a_row_are_noticed_before_the_last_one_is_over(half):
    joint, excess = found((0.05, -0.1, 0.2, -0.4, 0.8), half)
    assert joint == 1 and LARGE < excess <= 0.2


@pytest.mark.parametrize(
    "peaks",
    [
        (0.5, -0.5) * 10,  # steady
        (1.0, -0.5, 0.25, -0.12),  # they decay
        (0.03, 0.1, 0.3, 0.9),  # one direction only: a load falls
        (0.1, -0.3, 0.1, -0.3, 0.1, -0.3),  # never twice in a row
        (0.025, -0.04, 0.06, -0.09),  # noise
    ],
)
def test_swings_that_do_not_grow_are_not(peaks):
    assert found(peaks) == (None, 0.0)


def test_swings_far_apart_in_time_have_nothing_to_do_with_each_other():
    assert found((0.05, 0.0, 0.0, 0.0, -0.1, 0.0, 0.0, 0.0, 0.2), LASTS / 2)[0] is None


def test_a_joint_that_was_driven_so_once_needs_one_growing_swing_only_until_the_gate_begins_anew():
    watch = swings()
    assert found((0.05, -0.1, 0.2), watch=watch)[0] == 1
    assert found((0.05, -0.15), watch=watch)[0] == 1
    watch.reset()
    assert found((0.05, -0.15), watch=watch)[0] is None


def test_an_excess_that_is_not_finite_is_an_error():
    watch, state = swings(), ArmState(1_000_000, np.zeros(N), np.zeros(N), NONE, NONE)
    with pytest.raises(InputError, match="excess"):
        watch.find(state, np.full(N, np.nan))
