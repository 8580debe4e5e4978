"""How old states are on arrival, and whether too many are lost."""

from __future__ import annotations

import itertools

import pytest

from flexarm_core.hardware_gate.arrivals import Arrivals


@pytest.mark.parametrize("ages", itertools.permutations([0.001, 0.03, 0.2]))
def test_the_age_is_the_median_of_three_in_any_order(ages):
    arrivals = Arrivals(0.01, 0.004)
    for age in ages[:2]:
        arrivals.came(age)
        assert arrivals.age == 0.0  # too few to tell
    arrivals.came(ages[2])
    assert arrivals.age == 0.03


def test_one_late_state_does_not_count_and_two_of_three_do():
    arrivals = Arrivals(0.01, 0.004)
    for age in (0.001, 0.001, 0.05):
        arrivals.came(age)
    assert arrivals.age == 0.001
    arrivals.came(0.04)
    assert arrivals.age == 0.04
    for age in (None, -0.3):  # unknown; stamped ahead of the clock
        arrivals.came(age)
    assert arrivals.age == 0.0


def test_a_lost_state_is_borne_and_many_in_a_second_are_not():
    for between, borne in ((1.0, True), (0.1, False)):
        arrivals = Arrivals(0.01, 0.004)
        reasons = []
        for _ in range(20):
            reasons.append(arrivals.lost(0.012))
            for _ in range(int(between / 0.004)):
                reasons.append(arrivals.lost(0.004))
        assert any(reasons) != borne


@pytest.mark.parametrize("period", [0.001, 0.004, 0.01, 0.02])
def test_a_clock_that_steps_back_is_seen_before_states_count_as_lost(period):
    """Else it would depend on whether a tick or a state comes first, and the tick would name another reason."""
    arrivals = Arrivals(0.025, period)
    back = [arrivals.is_step_back(k, 0.05, (k + 1) * period, 0.08) for k in range(100)]
    assert 2 * period <= (1 + back.index(True)) * period <= arrivals.longest
    arrivals.reset()
    assert not any(arrivals.is_step_back(k, 0.05, 0.4 * arrivals.longest, 0.08) for k in range(100))  # out of order
