"""Sensors that were found to be wrong, and when they are trusted again."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.errors import InputError
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.types import ArmState, JointReference

PERIOD, TICK = 0.002, 2_000_000  # [s], [ns]
START = np.radians([60.0, -60.0, -60.0])


def make(model) -> HardwareGate:
    wide, one = np.full(model.n, np.inf), np.ones(model.n)
    limits = JointLimits(model.lower, model.upper, one, 4.0 * one, model.effort_limit, wide)
    return HardwareGate(model, limits, HardwareGateConfig(command_mode="velocity", period=PERIOD, lockstep=True))


class Led:
    """An arm under velocity commands whose readings have noise, or not; one encoder can be frozen."""

    def __init__(self, model, noise):
        self.gate = make(model)
        self._rng, self._noise, self._position, self._tick = np.random.default_rng(3), noise, START.copy(), 0
        self._velocity, self.frozen, self.shift = np.zeros(3), None, 0.0

    def run(self, ticks, speed=0.3):
        for _ in range(ticks):
            read = ArmState(
                self._tick * TICK,
                self._position + self._noise * self._rng.standard_normal(3),
                self._velocity + self._noise * self._rng.standard_normal(3),
                np.zeros(1),
                np.zeros(1),
            )
            read.position[0] += self.shift
            if self.frozen is not None:
                read.position[0], read.velocity[0] = self.frozen
            self._last = read
            wanted = JointReference(read.stamp, velocity=np.full(3, speed))
            try:
                answers = [self.gate.on_state(read), self.gate.on_reference(wanted)]
            except InputError as error:
                answers = [self.gate.on_unusable_state(read.stamp, str(error))]
            self._velocity = next((answer for answer in answers if answer is not None), self._velocity)
            self._position = self._position + self._velocity * PERIOD
            self._tick += 1

    def freeze(self):
        self.frozen = self._last.position[0], self._last.velocity[0]


@pytest.mark.parametrize("noise", [1e-6, 0.0], ids=["noise", "none"])
def test_an_encoder_that_is_still_frozen_is_not_reset_while_others_go_on(planar_3r, noise):
    """Where no reading has noise, a frozen one of an arm at rest is as good as any."""
    arm = Led(planar_3r, noise)
    arm.run(100)
    assert arm.gate.status.state is GateState.RUNNING
    arm.freeze()
    arm.run(300)
    assert arm.gate.status.state is GateState.TRIPPED and arm.gate.at_rest
    if noise:
        assert arm.gate.status.reason == "the readings of joint1 are frozen, those of others are not"
        with pytest.raises(InputError, match="and still are: let the joint move, or activate the gate again"):
            arm.gate.acknowledge()
        assert arm.gate.status.state is GateState.TRIPPED
        arm.frozen = None
        arm.run(20)
    arm.gate.acknowledge()
    assert arm.gate.status.state is GateState.STOPPING
    if noise:
        arm.run(100)
        assert arm.gate.status.state is GateState.RUNNING


@pytest.mark.parametrize("ticks", [1, 20], ids=["spike", "stays"])
def test_readings_that_seemed_impossible_and_stay_are_on_probation(planar_3r, ticks):
    """A small jump may be an impact, or two joints whose readings were swapped where they were nearly equal."""
    arm = Led(planar_3r, 1e-6)
    arm.run(100)
    arm.shift = 0.008
    arm.run(ticks)
    arm.shift *= ticks > 1
    arm.run(100)
    assert arm.gate.status.state is GateState.RUNNING and arm.gate.status.stops == 1
    assert arm.gate._trust.probation.active is (ticks > 1)


@pytest.mark.parametrize("read", [0.0, 1e200])
def test_an_arm_whose_position_and_velocity_contradict_each_other_is_braked_from_its_motion(planar_3r, read):
    """By effort at 100 Hz, each state alone is not believable; after 0.04 s of them the positions tell the speed."""
    model, wide, two = planar_3r, np.full(3, np.inf), 2.0 * np.ones(3)
    limits = JointLimits(model.lower, model.upper, two, 8.0 * np.ones(3), model.effort_limit, wide)
    gate = HardwareGate(model, limits, HardwareGateConfig(command_mode="effort", period=0.01, lockstep=True))
    none, moves, found = np.zeros(1), np.array([0.0, 0.0, 1.8]), None
    for tick in range(30):
        state = ArmState(tick * 10_000_000, START + moves * 0.01 * tick, moves.copy(), none, none)
        effort = model.gravity_effort(state)
        if tick >= 20:
            state.velocity[2] = read
        try:
            command = gate.on_state(state)
            answer = gate.on_reference(JointReference(state.stamp, effort=effort))
            command = answer if command is None else command
        except InputError as error:
            command = gate.on_unusable_state(state.stamp, str(error))
        if gate.status.state is GateState.TRIPPED:
            found = tick
            break
    assert found is not None and found <= 20 + 6, gate.status.reason
    assert "position and velocity of" in gate.status.reason
    true = ArmState(state.stamp, state.position, moves, none, none)
    assert -40.0 < model.forward_dynamics(true, command)[2] < -1.0  # it brakes, at about the acceleration limit


def test_another_publisher_of_the_same_joints_is_told_though_nothing_is_commanded_yet(planar_3r):
    """No state is believed, so no reference is followed."""
    wide, one, rest, now = np.full(3, np.inf), np.ones(3), np.zeros(3), [0.0]
    limits = JointLimits(planar_3r.lower, planar_3r.upper, one, 4.0 * one, planar_3r.effort_limit, wide)
    config = HardwareGateConfig(command_mode="velocity", period=PERIOD)
    gate = HardwareGate(planar_3r, limits, config, lambda: now[0])
    for tick in range(1000):
        now[0] = tick * PERIOD
        position = START if tick % 2 else rest
        try:
            gate.on_state(ArmState(tick * TICK, position.copy(), rest.copy(), np.zeros(1), np.zeros(1)))
        except InputError as error:
            gate.on_unusable_state(tick * TICK, str(error))
        if tick == 500:
            assert not gate.doubt  # joint states may have yet to agree
    assert "does something else publish these joints?" in gate.doubt
    for tick in range(1000, 1010):
        now[0] = tick * PERIOD
        gate.on_state(ArmState(tick * TICK, START.copy(), rest.copy(), np.zeros(1), np.zeros(1)))
    assert not gate.doubt
