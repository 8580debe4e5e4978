"""States that confirm a first one: a gate believes no single state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flexarm_core.hardware_gate.belief import CONFIRMED
from flexarm_core.types import ArmState, Array


def meet(gate: Any, state: ArmState, age: float | None = None) -> Array | None:
    """Let the gate hear states that lead to this one, and this one; return what it answers to the last."""
    period = round(gate.config.period * 1e9)
    for k in range(CONFIRMED - 1, 0, -1):
        before = state.position - k * gate.config.period * state.velocity
        assert gate.on_state(replace(state, stamp=state.stamp - k * period, position=before), age) is None
    return gate.on_state(state, age)
