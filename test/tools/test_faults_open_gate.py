"""A gate that lets everything pass: what a fault does then, and that it is found out."""

from __future__ import annotations

import pytest
from open_gate import OpenGate

from flexarm_tools.faults import core_case
from flexarm_tools.faults.campaign import run_core_case


@pytest.mark.parametrize("count", [2, pytest.param(6, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", ["payload", "picked_up", "heavy_hand", "light_hand"])
def test_a_load_that_nobody_mentioned_is_one_that_the_arm_bears_without_a_gate(kind, count, monkeypatch):
    """Then whatever goes wrong with it behind the gate is a fault of the gate."""
    monkeypatch.setattr(core_case, "GateUnderTest", OpenGate)
    for seed in range(300, 300 + count):
        outcome = run_core_case(seed, [kind])
        assert outcome.speed_ratio <= 1.0 and not outcome.runs_away, outcome.line()


@pytest.mark.parametrize("count", [1, pytest.param(4, marks=pytest.mark.long)])
def test_a_path_beyond_position_limits_leads_an_arm_beyond_them_without_a_gate_and_not_with_one(count, monkeypatch):
    seeds = range(count)
    assert not any(run_core_case(seed, ["led_beyond_limits"]).missed for seed in seeds)
    monkeypatch.setattr(core_case, "GateUnderTest", OpenGate)
    assert all(run_core_case(seed, ["led_beyond_limits"]).leaves_limits for seed in seeds)


@pytest.mark.parametrize("kind", ["states_lost", "references_huge", "wild_source", "delays", "joints_swapped"])
def test_a_gate_that_lets_everything_pass_is_found_out(kind, monkeypatch):
    monkeypatch.setattr(core_case, "GateUnderTest", OpenGate)
    assert any(run_core_case(seed, [kind]).missed for seed in range(6))
