"""Start of a robot in Gazebo: the pose of a scenario, and the static equilibrium of springs and flexible links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import ArmState
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_tools.gazebo.model import SEGMENTS, GazeboStart, bendable

FINE_STEP = 1e-6  # [s] the backend refuses longer steps for stiff beams; here nothing is integrated


def gazebo_start(
    description: RobotDescription, gravity: Sequence[float], plant: Mapping[str, Any], segments: int = SEGMENTS
) -> GazeboStart:
    """Return the start that parameters of the simulated plant ask for.

    Without ``initial_position`` every joint begins at zero or, if that is beyond its limits, at the nearest limit.

    Args:
        description: the robot that is simulated.
        gravity: (3,) gravity of Gazebo's world in axes of the root link [m/s^2].
        plant: parameters of the simulated plant, those of a scenario.
        segments: rigid segments of a flexible link.

    Raises:
        ConfigError: ``initial_position`` or ``initial_deflection`` has a wrong length.
        RobotDescriptionError: springs or links cannot carry the arm, or the robot cannot be simulated.
    """
    joints = [description.joints[name] for name in description.actuated]
    zero = [float(np.clip(0.0, joint.lower, joint.upper)) for joint in joints]
    position = _given(plant, "initial_position", len(joints)) or zero
    deflection = _given(plant, "initial_deflection", len(description.elastic))
    rests = bool(plant.get("start_in_equilibrium", True))
    bent: dict[str, float] = {}
    description = description.with_rigid_drives()
    if description.elastic or description.flexible_links:
        chains = bendable(description, segments)
        if not chains:
            description = replace(description, flexible_links={}, strain_gauges={})
        backend = MujocoBackend(
            description,
            tool_frame=description.tip_links()[0],
            gravity=gravity,
            max_step=FINE_STEP,
            segments=max((len(chain.pieces) - 1 for chain in chains.values()), default=segments),
        )
        backend.reset(position, deflection=deflection, at_rest=rests)
        deflection, bent = list(backend.state().deflection), backend.hinges()
    values = deflection or [0.0] * len(description.elastic)
    x, y, z = gravity
    model = ArmModel(description.text, tool_frame=description.tip_links()[0], gravity=(x, y, z))
    still = np.zeros(model.n), np.zeros(model.m)
    efforts = model.gravity_effort(ArmState(0, np.array(position), still[0], np.array(values), still[1]))
    names = (*description.actuated, *(elastic.name for elastic in description.elastic))
    begins = dict(zip(names, map(float, [*position, *values]), strict=True))
    return GazeboStart(begins, bent, dict(zip(description.actuated, map(float, efforts), strict=True)))


def _given(plant: Mapping[str, Any], name: str, count: int) -> list[float] | None:
    values = [float(value) for value in plant.get(name) or ()]
    if values and len(values) != count:
        raise ConfigError(f"{name} has {len(values)} values, but the robot has {count} such joints")
    return values or None
