"""How late commands act is told from the motion alone, with masses and friction that the model does not know."""

from __future__ import annotations

import re
from collections import deque

import numpy as np
import pytest

from flexarm_core.hardware_gate.response import DELAYS, Response
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState

PERIOD = 0.002


def age_of_commands(text: str, delay: float, seed: int) -> float:
    """What is told of an arm that is swung to and fro by commands that act this late [s]."""
    rng = np.random.default_rng(seed)
    told = ArmModel(text, gravity=(0.0, 0.0, 0.0))
    other = re.sub(r'<mass value="([^"]*)"', lambda m: f'<mass value="{float(m[1]) * rng.uniform(0.9, 1.1)}"', text)
    arm = ArmModel(other, gravity=(0.0, 0.0, 0.0))
    rubbing = 0.02 * rng.uniform(0.0, 1.0, 3) * np.array([100.0, 60.0, 20.0])
    response = Response(told, np.array([100.0, 60.0, 20.0]), np.full(3, 2.0))
    frequency, phase = 2.0 * np.pi * rng.uniform(2.0, 6.0, 3), rng.uniform(0.0, 6.0, 3)
    state = ArmState(0, np.radians([60.0, -60.0, -60.0]), np.zeros(3), np.zeros(1), np.zeros(1))
    sent = deque([np.zeros(3)] * (round(delay / PERIOD) + 1), round(delay / PERIOD) + 1)
    most = 0.0
    for tick in range(500):
        response.on_state(state, sent[-1])
        most = max(most, response.age)
        acceleration = 4.0 * np.sin(frequency * tick * PERIOD + phase)
        blocks = told.blocks(state)
        sent.append(told.inverse_dynamics(blocks, state, acceleration) + 5.0 * rng.standard_normal(3) * 0.02)
        friction = rubbing * np.tanh(state.velocity / 0.01)
        happens = arm.forward_dynamics(state, sent[0] - friction)
        base = arm.base_acceleration(arm.blocks(state), state, happens)
        rate, velocity = state.deflection_rate + PERIOD * base, state.velocity + PERIOD * happens
        state = ArmState(
            (tick + 1) * round(PERIOD * 1e9), state.position + PERIOD * velocity, velocity,
            state.deflection + PERIOD * rate, rate,
        )  # fmt: skip
    return most if delay == 0.0 else response.age


@pytest.mark.parametrize("seed", range(4))
def test_commands_in_time_are_never_taken_to_be_late(planar_3r_text, seed):
    assert age_of_commands(planar_3r_text, 0.0, seed) == 0.0


@pytest.mark.parametrize("delay", [0.012, 0.022, 0.04, 0.08])
def test_the_delay_of_commands_is_told(planar_3r_text, delay):
    told = age_of_commands(planar_3r_text, delay, round(1e3 * delay))
    place = int(np.argmin(np.abs(DELAYS - delay)))
    assert told in DELAYS[max(place - 1, 1) : place + 2]
