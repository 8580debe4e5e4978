"""A crane on MuJoCo behind the gate, which loses its references on the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from crane import crane_urdf
from flexible_loop import plant_of
from pipeline_run import sample_of

from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.path.joint_move import JointMove, JointMoveConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState, Array

GRAVITY = (0.0, 0.0, -9.81)
PERIOD = 1e-3  # [s]
DECELERATION = 3.0  # [rad/s^2] from the velocity limit to rest in 0.1 s, as the gate does by default


@dataclass(frozen=True, slots=True)
class StoppedCrane:
    """What happened after the references ended.

    Attributes:
        speed: largest joint speed over its limit.
        effort: largest effort beyond that of the weight, over its limit.
        step: largest step of an effort between two samples, over its limit.
        last_speed: largest in the last second, over its limit.
        reason: of the gate.
        trips: of the gate.
    """

    speed: float
    effort: float
    step: float
    last_speed: float
    reason: str
    trips: int


def stopped_crane(load: float, stop: float = 2.0, seconds: float = 6.0) -> StoppedCrane:
    """Slew and luff a crane that is told of a load of 200 kg, with another one [kg]; references end at a time [s]."""
    told = parse_robot_description(crane_urdf())
    plant, backend = plant_of(parse_robot_description(crane_urdf(load)), np.array([0.0, 0.3]), GRAVITY, 1.0 / PERIOD, 6)
    controller = FlexibleController(FlexibleModel(told, gravity=GRAVITY), FlexibleControllerConfig(law="joint_pd"))
    model = ArmModel(told, "tool0", GRAVITY)
    limits = JointLimits(
        model.lower, model.upper, model.velocity_limit, np.full(2, DECELERATION), model.effort_limit, np.full(2, np.inf)
    )
    gate = HardwareGate(model, limits, HardwareGateConfig(period=PERIOD, lockstep=True))
    move, none = JointMove(JointMoveConfig((0.3, 0.25), 0.2, 4.0, time_law="seventh_order")), np.zeros(0)
    rows: list[Array] = []
    for _ in range(round(seconds / PERIOD)):
        sample = sample_of(plant.measure())
        state = ArmState(sample.stamp, sample.position, sample.velocity, none, none)
        if not move.begun:
            move.begin(sample.stamp, sample.position)
        wanted = move.update(sample.stamp)
        try:
            command = gate.on_state(state)
        except InputError as error:
            command = gate.on_unusable_state(state.stamp, str(error))
        if command is None and sample.stamp * 1e-9 < stop:
            command = gate.on_reference(controller.update(state, None, wanted))
        elif command is None:
            command = gate.on_unusable_reference("no reference")
        weight = backend.gravity_effort()
        command = weight if command is None else command
        rows.append(np.concatenate((plant.state().velocity, command, command - weight)))
        plant.advance(command)
    after = np.array(rows)[round(stop / PERIOD) - 1 :]
    speed, _, beyond = np.split(np.abs(after), 3, axis=1)
    speed /= limits.velocity
    return StoppedCrane(
        float(speed.max()),
        float((beyond / limits.effort).max()),
        float((np.abs(np.diff(after[:, 2:4], axis=0)) / limits.effort).max()),
        float(speed[-round(1.0 / PERIOD) :].max()),
        gate.status.reason,
        gate.status.trips,
    )
