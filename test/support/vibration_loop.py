"""The vibration controller on an arm in MuJoCo, with the delays of a case, in one process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from stability_cases import StabilityCase

from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, CartesianReference, JointReference
from flexarm_sim.backend import PlantDivergedError, PlantState
from flexarm_sim.backends import make_backend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.pushes import Push
from flexarm_sim.sensors import SensorConfig, SensorSuiteConfig

LARGEST_PHASE = 0.6  # [rad] of the stiffest direction in a step of the simulation, which hardly damps it then
References = Callable[[int], tuple[CartesianReference | None, JointReference | None]]


@dataclass(frozen=True, slots=True)
class Motion:
    """True motion of a simulated arm, a row a sample, as far as it went.

    Attributes:
        position: (T, n) [rad].
        velocity: (T, n) [rad/s].
        deflection: (T, m) [m | rad].
        rate: (T, m) [m/s | rad/s].
        tool_in_base: (T, 3) origin of the tool frame in the link that carries the arm [m].
        tool_in_world: (T, 3) the same in the root link [m].
        damping: (T,) of the controller's inverses, 0 = exact.
    """

    position: Array
    velocity: Array
    deflection: Array
    rate: Array
    tool_in_base: Array
    tool_in_world: Array
    damping: Array


def make_plant(
    case: StabilityCase,
    real: ArmModel,
    rest: Array,
    highest: float,
    rate: Array | None = None,
    pushes: tuple[Push, ...] = (),
) -> Plant:
    """The arm at rest at the posture of a case, effort drives.

    Args:
        case: posture, sampling, gravity.
        real: arm that is really there.
        rest: (m,) what gravity deflects [m | rad].
        highest: frequency of the base's modes [rad/s].
        rate: (m,) of the base, which was just hit; None: it was not [m/s | rad/s].
        pushes: later ones.
    """
    backend = make_backend(
        "mujoco", real.description, tool_frame=real.tool_frame, gravity=case.gravity,
        max_step=min(5e-4, LARGEST_PHASE / highest),
    )  # fmt: skip
    sampling = case.sampling
    of_joints, of_base = (
        SensorConfig(delay=late * sampling.period) for late in (sampling.joint_samples, sampling.base_samples)
    )
    config = PlantConfig(
        round(sampling.period * 1e9), tuple(case.posture), initial_deflection=tuple(rest),
        initial_deflection_rate=None if rate is None else tuple(rate), pushes=pushes,
        sensors=SensorSuiteConfig(
            joint_position=of_joints, joint_velocity=of_joints, deflection=of_base, deflection_rate=of_base
        ),
    )  # fmt: skip
    return Plant(real.description, backend, config)


def control(
    case: StabilityCase,
    plant: Plant,
    references: References,
    duration: float,
    within: Callable[[PlantState], bool] = lambda _: True,
) -> Motion:
    """Let the controller of a case drive a plant, which before was at rest.

    Args:
        case: whose controller.
        plant: at its start.
        references: of a stamp [ns].
        duration: [s].
        within: bounds; the run ends where the state is not within them.
    """
    controller = VibrationController(case.model, case.config, case.selection)
    sample, none, rows = plant.measure(), np.zeros(case.model.m), []
    for k in range(round(duration / case.sampling.period)):
        state = plant.state()
        if not within(state):
            break
        assert sample.joints is not None and sample.elastic is not None
        moving, bent = sample.joints, sample.elastic
        # what a late sensor shows at first is from before the plant's clock began, when the base was not yet hit
        rate = bent.velocity if k >= case.sampling.base_samples else none
        measured = ArmState(sample.stamp, moving.position, moving.velocity, bent.position, rate)
        command, reaction = controller.update(measured, *references(sample.stamp))
        rows.append(
            (
                state.position, state.velocity, state.deflection, state.deflection_rate,
                state.tool_position_in_base, state.tool_position_in_world, reaction.damping,
            )
        )  # fmt: skip
        try:
            sample = plant.advance(command.effort)
        except PlantDivergedError:
            break
    return Motion(*(np.array(column) for column in zip(*rows, strict=True)))
