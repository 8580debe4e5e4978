"""How late commands act is told from the motion alone, with masses and friction that the model does not know."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from flexarm_core.hardware_gate.response import DELAYS, Response
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState

PERIOD = 0.002


def watch(text: str, base_measured: bool = True) -> Response:
    """A response of an arm without gravity."""
    arm = ArmModel(text, gravity=(0.0, 0.0, 0.0))
    return Response(arm, np.array([100.0, 60.0, 20.0]), np.full(3, 2.0), 0.01, base_measured=base_measured)


def greatest_age(
    response: Response, text: str, delay: float, seed: int, base_measured: bool = True, heavier: float = 1.0,
    known: float = 0.0,
) -> float:  # fmt: skip
    """The greatest age that is told of an arm that is swung to and fro for 1 s by commands that act this late [s].

    Where nobody measures the base it swings, and the arm gives way to it, as under a controller that damps it. The last
    link is ``heavier`` than told, and the response is told the ``known`` part of what that adds to the joints.
    """
    rng = np.random.default_rng(seed)
    told = ArmModel(text, gravity=(0.0, 0.0, 0.0))
    other = re.sub(r'<mass value="([^"]*)"', lambda m: f'<mass value="{float(m[1]) * rng.uniform(0.9, 1.1)}"', text)
    last = list(re.finditer(r'<mass value="([^"]*)"', other))[-1]
    other = f'{other[: last.start()]}<mass value="{float(last[1]) * heavier}"{other[last.end() :]}'
    arm = ArmModel(other, gravity=(0.0, 0.0, 0.0))
    rubbing = 0.02 * rng.uniform(0.0, 1.0, 3) * np.array([100.0, 60.0, 20.0])
    frequency, phase = 2.0 * np.pi * rng.uniform(2.0, 6.0, 3), rng.uniform(0.0, 6.0, 3)
    swing, gain = (0.0, 0.0) if base_measured else (0.5, rng.uniform(0.5, 6.0))
    state = ArmState(0, np.radians([60.0, -60.0, -60.0]), np.zeros(3), np.zeros(1), np.array([swing]))
    sent = deque([np.zeros(3)] * (round(delay / PERIOD) + 1), round(delay / PERIOD) + 1)
    most = 0.0
    for tick in range(500):
        still = np.zeros(1)
        unseen = replace(state, deflection=still, deflection_rate=still)
        load = known * (arm.blocks(state).H_m - told.blocks(state).H_m)
        response.on_state(state if base_measured else unseen, sent[-1], load)
        most = max(most, response.age)
        acceleration = 4.0 * np.sin(frequency * tick * PERIOD + phase)
        blocks = told.blocks(state)
        acceleration += gain * np.linalg.pinv(blocks.H_bm) @ blocks.H_b @ state.deflection_rate
        sent.append(told.inverse_dynamics(blocks, state, acceleration) + 5.0 * rng.standard_normal(3) * 0.02)
        friction = rubbing * np.tanh(state.velocity / 0.01)
        happens = arm.forward_dynamics(state, sent[0] - friction)
        base = arm.base_acceleration(arm.blocks(state), state, happens)
        rate, velocity = state.deflection_rate + PERIOD * base, state.velocity + PERIOD * happens
        state = ArmState(
            (tick + 1) * round(PERIOD * 1e9), state.position + PERIOD * velocity, velocity,
            state.deflection + PERIOD * rate, rate,
        )  # fmt: skip
    return most


@pytest.mark.parametrize("base_measured", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_commands_in_time_are_never_taken_to_be_late(planar_3r_text, seed, base_measured):
    response = watch(planar_3r_text, base_measured)
    assert greatest_age(response, planar_3r_text, 0.0, seed, base_measured) == 0.0


@pytest.mark.parametrize("delay", [0.022, 0.04, 0.08])
def test_the_delay_of_commands_is_told_with_a_load(planar_3r_text, delay):
    response = watch(planar_3r_text)
    greatest_age(response, planar_3r_text, delay, round(1e3 * delay), heavier=2.0, known=1.0)
    place = int(np.argmin(np.abs(DELAYS - delay)))
    assert response.age in DELAYS[max(place - 1, 1) : place + 2]


@pytest.mark.parametrize("base_measured", [True, False])
@pytest.mark.parametrize("delay", [0.012, 0.022, 0.04, 0.08])
def test_the_delay_of_commands_is_told(planar_3r_text, delay, base_measured):
    response = watch(planar_3r_text, base_measured)
    greatest_age(response, planar_3r_text, delay, round(1e3 * delay), base_measured)
    place = int(np.argmin(np.abs(DELAYS - delay)))
    assert response.age in DELAYS[max(place - 1, 1) : place + 2]


@pytest.mark.parametrize("seed", range(4))
def test_who_says_that_a_delay_is_mended_is_believed_when_commands_act_in_time(planar_3r_text, seed):
    response = watch(planar_3r_text)
    greatest_age(response, planar_3r_text, 0.04, seed)
    response.acknowledge()
    assert response.age == 0.0 and response.suspected >= 0.03
    greatest_age(response, planar_3r_text, 0.04, seed + 10)
    assert response.age >= 0.03 and response.suspected >= 0.03
    response.acknowledge()
    assert greatest_age(response, planar_3r_text, 0.0, seed + 20) == 0.0
    assert response.suspected == 0.0


def braked_by_its_drives(text: str, response: Response, delay: float = 0.0) -> tuple[float, list[bool]]:
    """When the delay is told of an arm that brakes by itself and then obeys late [s]; of each tick: is it doubted?

    From 0.1 to 0.15 s drives brake at 10 rad/s^2, whatever they are told; from there on commands act late.
    """
    arm = ArmModel(text, gravity=(0.0, 0.0, 0.0))
    base, position, velocity = np.zeros(arm.m), np.radians([60.0, -60.0, -60.0]), np.array([1.6, -1.4, 1.5])
    sent, doubted, known = deque([np.zeros(3)] * (1 + round(delay / PERIOD))), [], np.inf
    for tick in range(250):
        state = ArmState(tick * round(PERIOD * 1e9), position, velocity, base, base)
        response.on_state(state, sent[-1])
        doubted.append(response.doubted)
        if response.age and not np.isfinite(known):
            known = tick * PERIOD
        blocks = arm.blocks(state)
        sent.append(blocks.H_m @ (12.0 * np.sin(0.1 * tick + np.arange(3.0))) + blocks.c_m + arm.D_m * velocity)
        late, brakes = sent[0] if tick > 75 else sent[-1], 50 < tick <= 75
        if len(sent) > 1 + round(delay / PERIOD):
            sent.popleft()
        happens = np.linalg.solve(blocks.H_m, late - blocks.c_m - arm.D_m * velocity)
        velocity = velocity + PERIOD * (-10.0 * np.sign(velocity) if brakes else happens)
        position = position + PERIOD * velocity
    return known, doubted


def on_a_rigid_base(text: str) -> str:
    """The same arm, its base joint fixed."""
    fixed = re.sub(r'(<joint name="base_x" type=)"[a-z]*"', r'\1"fixed"', text)
    fixed = re.sub(r"<elastic_joint[^>]*/>", "", fixed)
    assert ArmModel(fixed).m == 0
    return fixed


def test_a_motion_that_no_command_explains_is_doubted_until_commands_act_in_time(planar_3r_text):
    text = on_a_rigid_base(planar_3r_text)
    known, doubted = braked_by_its_drives(text, watch(text))
    assert known == np.inf
    assert not any(doubted[:52]) and all(doubted[60:80]) and not doubted[-1]


def test_late_commands_are_told_soon_after_drives_braked_by_themselves(planar_3r_text):
    text = on_a_rigid_base(planar_3r_text)
    known, doubted = braked_by_its_drives(text, watch(text), 0.065)
    assert 0.15 < known < 0.15 + 0.065 + 0.06 and all(doubted[60:])


def test_over_an_elastic_base_no_motion_is_doubted(planar_3r_text):
    assert not any(braked_by_its_drives(planar_3r_text, watch(planar_3r_text))[1])


@pytest.mark.parametrize("seed", range(4))
def test_joints_that_stick_where_they_turn_are_not_taken_for_late_commands(planar_3r_text, seed):
    rng = np.random.default_rng(seed)
    arm = ArmModel(planar_3r_text, gravity=(0.0, 0.0, 0.0))
    limit, most = np.array([100.0, 60.0, 20.0]), 0.0
    rubbing, response = 0.05 * limit, Response(arm, limit, np.full(3, 2.0), 0.01)
    start, base = np.radians([60.0, -60.0, -60.0]), np.zeros(1)
    position, velocity, phase = start.copy(), np.zeros(3), rng.uniform(0.0, 6.0, 3)
    w, servo, command = 2.0 * np.pi * rng.uniform(0.5, 1.0, 3), 25.0, np.zeros(3)
    for tick in range(1500):
        state = ArmState(tick * round(PERIOD * 1e9), position, velocity, base, base)
        response.on_state(state, command)
        most = max(most, response.age)
        wanted, rate = start + 0.1 * np.sin(w * tick * PERIOD + phase), 0.1 * w * np.cos(w * tick * PERIOD + phase)
        acceleration = servo**2 * (wanted - position) + 2.0 * servo * (rate - velocity)
        blocks = arm.blocks(state)
        command = blocks.H_m @ np.clip(acceleration, -20.0, 20.0) + blocks.c_m
        for _ in range(20):  # the base stands
            push = command - blocks.c_m - arm.D_m * velocity - rubbing * np.tanh(velocity / 0.005)
            velocity = velocity + PERIOD / 20 * np.linalg.solve(blocks.H_m, push)
            position = position + PERIOD / 20 * velocity
    assert most == 0.0
