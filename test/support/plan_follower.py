"""Joint motions followed by joint servos in MuJoCo: inverse dynamics of the arm on a firm base, a servo a joint."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from flexarm_core.path.joint_trajectory import JointTrajectory
from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.reactionless.motions import ReactionlessMotions
from flexarm_core.reaction_null_space.reactionless.resolved_line import resolved_line
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState, Array
from flexarm_sim.drives import DriveConfig
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig

STIFFNESS, DAMPING = 900.0, 60.0  # of each joint's servo [1/s^2], [1/s]
PERIOD = 0.002  # [s]
FIRST, REST = 0.1, 1.0  # [s] at rest before and after the motion


def scaled(description: RobotDescription, factors: Callable[[int], float]) -> RobotDescription:
    """The same robot with mass and inertia of each link times a factor of its number in the text."""
    numbers = iter(range(1000))

    def link(match: re.Match[str]) -> str:
        factor = factors(next(numbers))
        text = re.sub(
            r'<mass value="([^"]+)"', lambda mass: f'<mass value="{float(mass.group(1)) * factor!r}"', match.group(0)
        )
        return re.sub(
            r'(i[xyz][xyz])="([^"]+)"', lambda each: f'{each.group(1)}="{float(each.group(2)) * factor!r}"', text
        )

    return parse_robot_description(re.sub(r"<inertial>.*?</inertial>", link, description.text, flags=re.DOTALL))


def resolved_trajectory(
    motions: ReactionlessMotions, start: Array, displacement: Array, duration: float
) -> JointTrajectory:
    """The straight line of the tool by resolved acceleration."""
    path = resolved_line(motions, start, displacement)
    first, second = path.derivative(), path.derivative(2)
    times = np.linspace(0.0, duration, 301)
    law = np.array([fifth_order(time, duration) for time in times])
    q, dq, ddq = path(law[:, 0]), first(law[:, 0]), second(law[:, 0])
    return JointTrajectory(start, times.tolist(), q, dq * law[:, 1:2], dq * law[:, 2:3] + ddq * law[:, 1:2] ** 2)


def follow(
    model: ArmModel, trajectory: JointTrajectory, duration: float, true_robot: RobotDescription | None = None
) -> tuple[float, Array]:
    """Follow a trajectory without gravity.

    Args:
        model: what the servos know of the arm.
        trajectory: of the joints.
        duration: of it [s].
        true_robot: what MuJoCo simulates, None for the same.

    Returns:
        Largest elastic energy of the base [J], and the tool position at the end as seen from the base (3,) [m].
    """
    description, n = true_robot or model.description, model.n
    backend = MujocoBackend(description, gravity=(0.0, 0.0, 0.0), hard_stops=False, max_step=5e-4)
    start = trajectory.sample(0, 0.0).position
    assert start is not None
    config = PlantConfig(
        period_ns=round(PERIOD * 1e9), initial_position=tuple(start.tolist()), drive=DriveConfig("effort")
    )
    plant = Plant(description, backend, config)
    measured, still, energy = plant.measure(), np.zeros(model.m), 0.0
    for tick in range(round((FIRST + duration + REST) / PERIOD)):
        deflection = plant.state().deflection
        energy = max(energy, 0.5 * float(deflection @ model.K_b @ deflection))
        wanted = trajectory.sample(0, tick * PERIOD - FIRST)
        assert wanted.position is not None and wanted.velocity is not None and wanted.acceleration is not None
        if tick * PERIOD < FIRST:
            wanted = type(wanted)(0, wanted.position, np.zeros(n), np.zeros(n))
        blocks = model.blocks(ArmState(0, wanted.position, wanted.velocity, still, still))
        servo = STIFFNESS * (wanted.position - measured.joints.position)
        servo += DAMPING * (wanted.velocity - measured.joints.velocity)
        measured = plant.advance(blocks.H_m @ (wanted.acceleration + servo) + blocks.c_m + model.D_m * wanted.velocity)
    return energy, plant.state().tool_position_in_base
