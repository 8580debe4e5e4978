"""Recorded runs on disk, and the robots of these runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.description import RobotDescription, Shape
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.text_file import read_text
from flexarm_core.yaml_bounds import MOST_BYTES, excess
from flexarm_tools.recording.recording import load_recording
from flexarm_tools.scenario.scenario import PLANT
from flexarm_tools.scenario.surroundings import obstacle_shapes, surface_shapes

MALFORMED = (yaml.YAMLError, LookupError, TypeError, AttributeError, ValueError)  # ConfigError is a ValueError


def find_runs(path: Path) -> dict[str, Path]:
    """Find recordings by name: a single file, or those in a report folder.

    Raises:
        InputError: there are none, or the single file is not a recording.
    """
    if path.is_dir():
        found = sorted(path.glob("recordings/*.npz")) or sorted(path.glob("*.npz"))
    else:
        found = [path] if path.suffix == ".npz" and path.is_file() else []
        for file in found:
            load_recording(file)  # report at once if a single file is damaged
    if not found:
        raise InputError(f"'{path}' is no recording RUN.npz, and no folder that `flexarm run --report` wrote")
    return {file.stem: file for file in found}


def run_robot(file: Path, robot: Path | None, arguments: Mapping[str, str]) -> tuple[RobotDescription, str]:
    """Return the robot of a run and its tool frame (empty: the default of the description).

    Args:
        file: recording.
        robot: URDF or xacro file; None: the plant's parameter file beside the recording is used.
        arguments: xacro arguments.

    Raises:
        InputError: the parameter file does not exist or does not contain the robot.
        RobotDescriptionError: the description cannot be used.
    """
    if robot is not None:
        return parse_robot_description(load_robot_description(robot, dict(arguments))), ""
    kept = _kept(file) / f"{PLANT}.yaml"
    try:
        values = _parameters(kept)
        text = values.get("plant_description") or values["robot_description"]
    except (OSError, *MALFORMED) as error:
        raise InputError(f"'{kept}' does not say what robot moved in '{file}': give it with --robot") from error
    return parse_robot_description(text), str(values.get("tool_frame", ""))


def run_surroundings(file: Path, description: RobotDescription) -> dict[str, list[Shape]]:
    """Return surfaces and obstacles by link, from the parameter files kept beside a recording, if there are any."""
    surfaces: list[Shape] = []
    obstacles: list[Shape] = []
    for kept in sorted(_kept(file).glob("*.yaml")):
        try:
            values = _parameters(kept)
            surfaces += surface_shapes(values)
            obstacles += obstacle_shapes(values)
        except (OSError, *MALFORMED):  # not a parameter file with surfaces or obstacles
            continue
    return {description.root: surfaces, description.base_frame: obstacles}


def _kept(file: Path) -> Path:
    """Return the folder of the parameter files of a run's nodes."""
    return file.parent.parent / "logs" / file.stem


def _parameters(file: Path) -> dict[str, Any]:
    """Return the parameters of the node in a parameter file."""
    text = read_text(file, "parameter file", MOST_BYTES)
    if too_much := excess(text):
        raise ConfigError(f"parameter file '{file}' {too_much}")
    (node,) = yaml.safe_load(text).values()
    values = node["ros__parameters"]
    if not isinstance(values, dict):
        raise TypeError("ros__parameters is no mapping")
    return values
