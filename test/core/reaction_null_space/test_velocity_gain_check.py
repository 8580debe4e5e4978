"""Gains that the sampled loop cannot bear are refused, at whichever posture it is, and the limit is said."""

from __future__ import annotations

import re

import numpy as np
import pytest

from flexarm_core.errors import ConfigError, GainError
from flexarm_core.reaction_null_space.reactionless.velocity_law import VelocityLawConfig
from flexarm_core.reaction_null_space.stability.velocity_law_poles import check_velocity_gains, velocity_law_poles

SAMPLED = {"drive_bandwidth": 200.0, "period": 0.004, "delay": 2}
POSTURES = [np.array([0.5 * np.pi, 0.0]), np.array([0.3, 0.4]), np.array([1.2, 2.0])]


def largest_said(model, postures):
    with pytest.raises(GainError, match="the largest stable one is") as refused:
        check_velocity_gains(model, postures, VelocityLawConfig(5000.0), **SAMPLED)
    error, said = refused.value, float(re.search(r"largest stable one is (\S+) 1/s", str(refused.value))[1])
    assert (error.setting, error.value) == ("vibration_gain", 5000.0)
    assert error.largest == pytest.approx(said, rel=1e-3)
    return said


def test_the_limit_that_is_said_is_stable_and_a_little_more_is_not(trep):
    limit = largest_said(trep, POSTURES)
    check_velocity_gains(trep, POSTURES, VelocityLawConfig(0.999 * limit), **SAMPLED)
    with pytest.raises(ConfigError, match="250 Hz with a delay of 0.008 s, drives of 200 rad/s, momentum_gain 5"):
        check_velocity_gains(trep, POSTURES, VelocityLawConfig(1.01 * limit), **SAMPLED)
    worst = max(velocity_law_poles(trep, each, VelocityLawConfig(1.01 * limit), **SAMPLED)[0][0] for each in POSTURES)
    assert worst > 1.0


def test_the_worst_of_several_postures_decides(trep):
    each = [largest_said(trep, [posture]) for posture in POSTURES]
    assert largest_said(trep, POSTURES) == min(each)


def test_where_no_gain_helps_it_says_what_does(trep):
    with pytest.raises(ConfigError, match=r"no vibration_gain is stable .* lower momentum_gain or path_gain"):
        check_velocity_gains(trep, POSTURES, VelocityLawConfig(24.0, 500.0), **SAMPLED)


def test_an_arm_that_gives_no_momentum_back_is_not_called_unstable(trep):
    check_velocity_gains(trep, POSTURES, VelocityLawConfig(0.0, 0.0, 0.0), **SAMPLED)
