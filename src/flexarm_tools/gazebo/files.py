"""Files that a launch of Gazebo needs: world, models, and the URDF with the start, for a scenario."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flexarm_core.errors import ConfigError
from flexarm_core.text_file import read_text
from flexarm_core.yaml_bounds import MOST_BYTES
from flexarm_nodes.plant.parameters import PLANT_PARAMETERS, plant_surfaces
from flexarm_tools.gazebo.model import gazebo_model, with_start
from flexarm_tools.gazebo.names import GazeboNames
from flexarm_tools.gazebo.start import gazebo_start
from flexarm_tools.gazebo.world import (
    SURROUNDINGS,
    read_world,
    steps_in_period,
    surroundings_model,
    world_with,
)
from flexarm_tools.scenario.scenario import Scenario


@dataclass(frozen=True, slots=True)
class GazeboFiles:
    """What was written.

    Attributes:
        world: SDF file of the world.
        models: SDF files of the models that are put into it, by model name, the robot first.
        description: URDF file for robot_state_publisher, from which gz_ros2_control reads where joints begin.
    """

    world: Path
    models: dict[str, Path]
    description: Path


def write_gazebo_files(
    scenario: Scenario,
    world: Path,
    own_world: bool,
    controllers_file: str,
    folder: Path,
    names: GazeboNames | None = None,
    rate: float | None = None,
    real_time_factor: float | None = None,
    clock: bool = True,
) -> GazeboFiles:
    """Write the files of a scenario.

    Args:
        scenario: robot, start, gravity and surfaces.
        world: SDF file of the world.
        own_world: whether the world is the user's, which keeps its gravity; flexarm's gets that of the scenario.
        controllers_file: parameter file of the controllers.
        folder: where to write.
        names: of model, topics, frames and controller manager; by default those of an arm in the root namespace.
        rate: of the controller manager, the clock and the sensors [Hz]; by default that of the scenario.
        real_time_factor: speed of the world as a fraction of real time; by default that of the world.
        clock: whether the robot brings ``/clock`` along; one of a world does.

    Raises:
        ConfigError: the world is not usable or has no step that fits the rate, or parameters of the plant are invalid.
        RobotDescriptionError: the robot cannot be put into Gazebo; the message says why.
    """
    text = read_text(world, "world", MOST_BYTES)
    if not own_world or real_time_factor is not None:
        text = world_with(text, None if own_world else scenario.gravity, real_time_factor)
    found, robot = read_world(text), scenario.true_robot
    rate = rate or scenario.rate
    steps_in_period(rate, found.step)
    start = gazebo_start(robot.description, found.gravity, scenario.plant)
    values = {parameter.name: parameter.default for parameter in PLANT_PARAMETERS} | scenario.plant
    surfaces, names = plant_surfaces(values), names or GazeboNames()
    model, around = names.model(robot.description.name), names.model(SURROUNDINGS)
    if surfaces and model == around:
        raise ConfigError(f"a robot beside surfaces cannot have the name '{SURROUNDINGS}' in Gazebo: it is theirs")
    models = {
        model: gazebo_model(
            robot.description,
            found.step,
            start,
            tool_frame=robot.tool_frame,
            tip_radius=values["tip_radius"],
            controller_files=(controllers_file, str(_written(folder / "manager.yaml", names.manager_parameters(rate)))),
            rate=rate,
            drive_bandwidth=values["drive_bandwidth"],
            clock=clock,
            names=names,
        )
    }
    if surfaces:
        models[around] = surroundings_model(surfaces, found.step, around)
    paths = {name: _written(folder / f"model_{i}.sdf", sdf) for i, (name, sdf) in enumerate(models.items())}
    description = _written(folder / "robot.urdf", with_start(scenario.robot.description, start))
    return GazeboFiles(_written(folder / "world.sdf", text), paths, description)


def gazebo_paths(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the folders in which Gazebo searches systems and meshes: configured ones, libraries, all packages."""
    systems = [environment.get("GZ_SIM_SYSTEM_PLUGIN_PATH", ""), environment.get("LD_LIBRARY_PATH", "")]
    shares = [f"{prefix}/share" for prefix in environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if prefix]
    resources = [environment.get("GZ_SIM_RESOURCE_PATH", ""), *shares]
    return {
        "GZ_SIM_SYSTEM_PLUGIN_PATH": os.pathsep.join(filter(None, systems)),
        "GZ_SIM_RESOURCE_PATH": os.pathsep.join(filter(None, resources)),
    }


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
