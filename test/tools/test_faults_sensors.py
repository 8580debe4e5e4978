"""Sensors that lie do not make an arm run away, and are noticed."""

from __future__ import annotations

import pytest

from flexarm_tools.faults.campaign import run_core_case
from flexarm_tools.faults.sensor_faults import SENSOR_FAULTS


@pytest.mark.parametrize(
    "seed",
    # jumped (position mode, also after a reset), held and half velocities, a position and an encoder stuck, backward
    (7700000, 7700021, 7700038, 7900000, 7900001, 7900002, 7900005, 7900011),
)
def test_a_sensor_that_lies_does_not_make_an_arm_run_away(seed):
    outcome = run_core_case(seed, [kind.name for kind in SENSOR_FAULTS])
    assert not outcome.missed, outcome.line()


@pytest.mark.parametrize("kind", ["encoder_stuck", "encoder_backward", "joints_swapped", "encoder_jumps"])
def test_a_single_encoder_that_lies_is_noticed(kind):
    outcome = run_core_case(510001, [kind])
    assert outcome.named and not outcome.missed, outcome.line()
