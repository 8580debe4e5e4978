"""Recorded runs on disk, and the robots that they are of."""

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
    """Recordings by name: the one file, or those of a report's folder.

    Raises:
        InputError: there are none, or the one file is no recording.
    """
    if path.is_dir():
        found = sorted(path.glob("recordings/*.npz")) or sorted(path.glob("*.npz"))
    else:
        found = [path] if path.suffix == ".npz" and path.is_file() else []
        for file in found:
            load_recording(file)  # whoever names one file wants to know at once that it is damaged
    if not found:
        raise InputError(f"'{path}' is no recording RUN.npz, and no folder that `flexarm run --report` wrote")
    return {file.stem: file for file in found}


def run_robot(file: Path, robot: Path | None, arguments: Mapping[str, str]) -> tuple[RobotDescription, str]:
    """Robot that moved in a run, and its tool frame (empty: the description's own).

    Args:
        file: the recording.
        robot: its URDF or xacro file, None: what the plant's parameter file beside the recording says.
        arguments: for xacro.

    Raises:
        InputError: no such parameter file.
        RobotDescriptionError: a description that is not usable.
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
    """Surfaces and obstacles by link, as the parameter files say that are kept beside a recording; else none."""
    surfaces: list[Shape] = []
    obstacles: list[Shape] = []
    for kept in sorted(_kept(file).glob("*.yaml")):
        try:
            values = _parameters(kept)
            surfaces += surface_shapes(values)
            obstacles += obstacle_shapes(values)
        except (OSError, *MALFORMED):  # whoever it is, it stands around no robot
            continue
    return {description.root: surfaces, description.base_frame: obstacles}


def _kept(file: Path) -> Path:
    """Folder of the parameter files of a run's nodes."""
    return file.parent.parent / "logs" / file.stem


def _parameters(file: Path) -> dict[str, Any]:
    """Parameters of the node that a parameter file is for."""
    text = read_text(file, "parameter file", MOST_BYTES)
    if too_much := excess(text):
        raise ConfigError(f"parameter file '{file}' {too_much}")
    (node,) = yaml.safe_load(text).values()
    values = node["ros__parameters"]
    if not isinstance(values, dict):
        raise TypeError("ros__parameters is no mapping")
    return values
