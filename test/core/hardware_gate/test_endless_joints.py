"""The gate with endless joints: wrapped or counting encoders, in any turn, and whatever happens, get the same commands.

A position command is in the turn in which the encoder reports: a drive that counts turns, one that takes set points
modulo a turn, and one that compares them with what it reports, move by less than a turn.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.turns import TURN
from flexarm_core.types import ArmState, JointReference

PERIOD, TICKS, N = 0.002, 700, 4
NONE = np.zeros(0)
EVENTS = ("references end", "brakes hold", "states lost", "zeros first", "garbage", "controller off", "clock back")


def arm(rng: np.random.Generator) -> ArmModel:
    """An arm of endless joints, gravity included, in no special order of its axes."""
    parts, parent = ['<robot name="arm"><link name="base"/>'], "base"
    for k in range(N):
        axis, mass = "0 0 1" if k == 0 or rng.random() < 0.4 else "0 1 0", rng.uniform(1.0, 4.0)
        parts.append(
            f'<link name="l{k}"><inertial><origin xyz="0.02 0 {rng.uniform(0.05, 0.2)}"/><mass value="{mass}"/>'
            f'<inertia ixx="0.03" iyy="0.03" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="j{k}" type="continuous"><parent link="{parent}"/><child link="l{k}"/>'
            f'<origin xyz="0 0 0.3"/><axis xyz="{axis}"/>'
            f'<limit velocity="{rng.uniform(1.0, 3.0)}" effort="200"/></joint>'
        )
        parent = f"l{k}"
    parts.append(
        f'<link name="tool0"/><joint name="flange" type="fixed"><parent link="{parent}"/><child link="tool0"/></joint>'
        "</robot>"
    )
    return ArmModel("".join(parts))


def gate_of(model: ArmModel, mode: str) -> tuple[HardwareGate, list[float]]:
    now = [0.0]
    none = np.zeros(model.n)
    limits = JointLimits(
        lower=model.lower, upper=model.upper, velocity=model.velocity_limit, acceleration=none + 20.0,
        effort=model.effort_limit, effort_rate=none + np.inf, friction=none, following_error=none + 0.2,
    )  # fmt: skip
    return HardwareGate(model, limits, HardwareGateConfig(period=PERIOD, command_mode=mode), lambda: now[0]), now


class Encoder:
    """Reports positions as ``kind`` says; ``turns`` (n,) away at first."""

    def __init__(self, kind: str, turns: np.ndarray, seam: np.ndarray) -> None:
        self._kind, self._turns, self._seam = kind, turns, seam

    def __call__(self, position: np.ndarray) -> np.ndarray:
        if self._kind == "counts":
            return position + TURN * self._turns
        return position - TURN * (np.floor((position - self._seam) / TURN) + 1.0)


@dataclass(frozen=True, slots=True)
class Played:
    """A run: true motion and commands (T, n), how far from what is reported drives were sent; the status."""

    way: np.ndarray
    commands: np.ndarray
    refused: int
    reason: str
    farthest: float


def play(model: ArmModel, mode: str, event: str, seed: int, kind: str) -> Played:
    """The same motion and event for each kind of encoder."""
    rng = np.random.default_rng(seed)
    gate, now = gate_of(model, mode)
    start, v, limit = rng.uniform(-3.0, 3.0, N), np.zeros(N), model.velocity_limit
    q, speed = start, rng.uniform(0.2, 0.5, N) * limit * rng.choice((-1.0, 1.0), N)
    encoder = Encoder(kind, rng.integers(-4, 5, N), start + speed * rng.uniform(0.1, 0.9, N))
    begin, lasts, apart = int(rng.integers(150, 350)), int(rng.integers(3, 60)), TURN * rng.integers(-4, 5, N)
    off, hand = range(begin, begin + 6 * lasts) if event == "controller off" else (), rng.uniform(-1.0, 1.0, N) * limit
    garbage, spoiled = rng.uniform(-8.0, 8.0, (TICKS, N)), rng.random(TICKS) < 0.7
    way, commands, jumps, refused, command = [], [], [], 0, None
    for k in range(TICKS):
        time, during = k * PERIOD, begin <= k < begin + lasts
        now[0] = time
        stamp = 5_000_000_000 + round(time * 1e9) - (3_000_000_000 if event == "clock back" and k >= begin else 0)
        true, reported = ArmState(stamp, q, v, NONE, NONE), encoder(q)
        if event == "zeros first" and k < 4:
            reported = np.zeros(N)
        if event == "garbage" and during and spoiled[k]:
            reported = encoder(garbage[k])
        answers, before_it = [], refused
        if off and k == off.start:
            gate.interrupt("controller off", silent=True)
        if off and k == off.stop:
            answers.append(gate.resume())
        if not (event == "states lost" and during):
            try:
                answers.append(gate.on_state(ArmState(stamp, reported, v, NONE, NONE)))
            except InputError as error:
                refused += 1
                answers.append(gate.on_unusable_state(stamp, str(error)))
        if k >= 4 and not (event == "references end" and k >= begin):
            ramp = min(time / 0.3, 1.0)
            goal, rate = start + speed * (time - 0.15 * ramp) * ramp**0.5, speed * ramp
            wish = np.clip(100.0 * (goal - q) + 20.0 * (rate - v), -8.0, 8.0)
            effort = model.inverse_dynamics(model.blocks(true), true, wish)
            elsewhere = goal + apart + TURN * (k // 50 % 3)  # jumps a turn now and then
            try:
                answers.append(gate.on_reference(JointReference(stamp, elsewhere, rate, effort=effort)))
            except InputError as error:
                answers.append(gate.on_unusable_reference(str(error)))
        answers.append(gate.on_tick())
        new = next((answer for answer in reversed(answers) if answer is not None), None)
        if mode == "position" and new is not None:  # where the drive is sent to
            counted = new - (encoder(q) - q)
            if kind == "counts" or not (refused > before_it or (during and event == "states lost")):  # known where
                jumps.append(np.abs(new - encoder(q)).max())
            command = counted if kind == "counts" else q + (counted - q - TURN * np.round((counted - q) / TURN))
        else:
            command = command if new is None else new
        commands.append(np.full(N, np.nan) if command is None else command)
        before = q
        if k in off:
            q, v = q + hand * PERIOD, hand
        elif event == "brakes hold" and during:
            v = np.zeros(N)
        elif command is not None and mode == "position":
            q = q + np.clip(command - q, -limit * PERIOD, limit * PERIOD)
            v = (q - before) / PERIOD
        elif command is not None:
            v = v + model.forward_dynamics(true, command) * PERIOD if mode == "effort" else command
            q = q + v * PERIOD
        way.append(q)
    return Played(np.array(way), np.array(commands), refused, gate.status.reason, max(jumps, default=0.0))


@pytest.mark.parametrize("count", [1, pytest.param(4, marks=pytest.mark.long)])
@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("mode", ["effort", "velocity", "position"])
def test_wrapped_encoders_and_references_in_other_turns_change_nothing(mode, event, count):
    if (mode, event) == ("position", "zeros first"):
        return  # where set points begin if what is heard first is wrong: not a matter of turns
    for seed in np.random.default_rng([*mode.encode(), *event.encode()]).integers(0, 2**31, count).tolist():
        model = arm(np.random.default_rng(seed))
        plain, wrapped = (play(model, mode, event, seed, kind) for kind in ("counts", "wraps"))
        assert np.ptp(plain.way, axis=0).max() > 0.1
        assert np.allclose(plain.way, wrapped.way, rtol=0.0, atol=1e-5)  # set points catch up by rounded numbers
        largest = np.nanmax(np.abs(plain.commands))
        assert np.allclose(plain.commands, wrapped.commands, rtol=0.0, atol=1e-5 * largest, equal_nan=True)
        assert (plain.reason, plain.refused) == (wrapped.reason, wrapped.refused)
        bar = 1.5 if (mode, event) == ("effort", "brakes hold") else 1.1  # frozen readings: blind
        assert (np.abs(np.diff(plain.way, axis=0)).max(axis=0) <= bar * PERIOD * model.velocity_limit).all()
        assert plain.farthest < 0.5 and wrapped.farthest < 0.5
