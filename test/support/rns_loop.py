"""A controller of the reaction null space and the simulated robot, in one process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from rns_cases import WEIGHTLESS, Case
from velocity_driven import measured

from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.types import Array, BaseReaction, CartesianReference, JointReference
from flexarm_sim.backend import PlantState
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig


@dataclass(slots=True)
class Run:
    """What happened, one entry a sample.

    Attributes:
        time: (T,) [s].
        truth: of the plant.
        reactions: as reported.
        efforts: (T, n).
    """

    time: Array = field(default_factory=lambda: np.zeros(0))
    truth: list[PlantState] = field(default_factory=list)
    reactions: list[BaseReaction] = field(default_factory=list)
    efforts: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def deflection(self) -> Array:
        """(T, m) true [m | rad]."""
        return np.array([truth.deflection for truth in self.truth])

    @property
    def velocity(self) -> Array:
        """(T, n) [rad/s | m/s]."""
        return np.array([truth.velocity for truth in self.truth])


def close_loop(
    case: Case,
    config: VibrationControllerConfig,
    position: Array,
    duration: float,
    *,
    deflection: Array | None = None,
    goal: Callable[[float, int], CartesianReference | JointReference] | None = None,
    gravity: tuple[float, float, float] = WEIGHTLESS,
    period: float = 0.002,
) -> Run:
    """Let the controller drive the plant from rest.

    Args:
        case: the robot.
        config: of its controller.
        position: (n,) at the start [rad | m].
        duration: [s].
        deflection: (m,) at the start, None for none [m | rad].
        goal: reference at a time [s] and stamp [ns].
        gravity: (3,) [m/s^2].
        period: of the controller [s].
    """
    model = case.model
    start = tuple(np.zeros(model.m) if deflection is None else deflection)
    backend = MujocoBackend(model.description, tool_frame=model.tool_frame, gravity=gravity)
    plant = Plant(
        model.description,
        backend,
        PlantConfig(period_ns=round(period * 1e9), initial_position=tuple(position), initial_deflection=start),
    )
    controller = VibrationController(model, config, case.selection)
    sample, times, run, efforts = plant.measure(), [], Run(), []
    while plant.stamp < round(duration * 1e9):
        state, time = measured(sample), plant.stamp * 1e-9
        wanted = goal(time, state.stamp) if goal else None
        tool = wanted if isinstance(wanted, CartesianReference) else None
        joints = wanted if isinstance(wanted, JointReference) else None
        command, reaction = controller.update(state, tool, joints)
        assert command.effort is not None
        times.append(time)
        run.truth.append(plant.state())
        run.reactions.append(reaction)
        efforts.append(command.effort)
        sample = plant.advance(command.effort)
    run.time, run.efforts = np.array(times), np.array(efforts)
    return run
