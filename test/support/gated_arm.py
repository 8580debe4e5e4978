"""The planar arm behind a gate: enough to see the gate act."""

from __future__ import annotations

import time

import numpy as np

from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.supervisor import SupervisorConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, JointReference

PERIOD = 0.001
LENIENT = SupervisorConfig(max_saturation_time=1e6, max_tracking_time=1e6, max_stops=1000)
ACCELERATION, VELOCITY = 2.0, 1.0  # what 500 N*m can give the stretched arm with its Coriolis torques


def make_gate(model: ArmModel, effort_rate: float = np.inf, clock=time.monotonic, **config) -> HardwareGate:
    """A gate with the arm's own limits."""
    limits = JointLimits(
        lower=model.lower,
        upper=model.upper,
        velocity=np.full(model.n, VELOCITY),
        acceleration=np.full(model.n, ACCELERATION),
        effort=model.effort_limit,
        effort_rate=np.full(model.n, effort_rate),
        friction=np.full(model.n, np.inf),
    )
    settings = {"lockstep": True, "supervisor": LENIENT, **config}
    return HardwareGate(model, limits, HardwareGateConfig(period=PERIOD, **settings), clock)


class Arm:
    """The planar arm under accelerations held for a period: enough to see the gate act."""

    def __init__(self, model: ArmModel, velocity=(0.0, 0.0, 0.0)) -> None:
        self.model = model
        self.state = ArmState(
            0, np.radians([60.0, -60.0, -60.0]), np.array(velocity, dtype=float), np.zeros(model.m), np.zeros(model.m)
        )

    def step(self, effort: np.ndarray) -> None:
        state, blocks = self.state, self.model.blocks(self.state)
        acceleration = self.model.forward_dynamics(state, effort)
        base = self.model.base_acceleration(blocks, state, acceleration)
        velocity, rate = state.velocity + PERIOD * acceleration, state.deflection_rate + PERIOD * base
        self.state = ArmState(
            state.stamp + 1_000_000,
            state.position + PERIOD * (state.velocity + velocity) / 2,
            velocity,
            state.deflection + PERIOD * (state.deflection_rate + rate) / 2,
            rate,
        )


def effort_for(model: ArmModel, state: ArmState, acceleration) -> JointReference:
    """Reference whose effort causes this acceleration."""
    effort = model.inverse_dynamics(model.blocks(state), state, np.asarray(acceleration, dtype=float))
    return JointReference(stamp=state.stamp, effort=effort)
