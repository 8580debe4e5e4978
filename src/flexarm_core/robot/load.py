"""Load a robot description from a file: plain URDF, or xacro expanded by the xacro library of ROS.

A xacro file can execute code when it is expanded. If the environment variable named by :data:`NO_XACRO` is set
(``flexarm ... --no-xacro``), xacro files are rejected, in this process and in its child processes.
"""

from __future__ import annotations

import os
from pathlib import Path

import xacro

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.robot.xacro_switch import NO_XACRO
from flexarm_core.robot.xml_reader import MOST_CHARACTERS, with_prefixes
from flexarm_core.text_file import read_text
from flexarm_core.uri import with_own_meshes


def load_robot(path: str | Path, arguments: dict[str, str] | None = None) -> RobotDescription:
    """Read and check a ``.urdf`` or ``.xacro`` file; joints that move no mass are allowed, for kinematics.

    Args:
        path: file to read; files with the suffix ``.xacro`` are expanded.
        arguments: xacro arguments, name to value.

    Raises:
        RobotDescriptionError: the file cannot be read, or the robot is not usable; the message names joint or link.
    """
    return parse_robot_description(load_robot_description(path, arguments), massless=True)


def load_robot_description(path: str | Path, arguments: dict[str, str] | None = None) -> str:
    """Return the URDF text of a ``.urdf`` or ``.xacro`` file.

    Meshes that are found only from its folder are named by their paths, so that views and recordings find them too.

    Args:
        path: file to read; files with the suffix ``.xacro`` are expanded.
        arguments: xacro arguments, name to value.

    Raises:
        RobotDescriptionError: the file does not exist, is not text, is too large, is a rejected xacro file, or cannot
            be expanded.
    """
    path = Path(path)
    if not path.is_file():
        raise RobotDescriptionError(
            f"robot description '{path}' {'is a folder or a device, not a file' if path.exists() else 'does not exist'}"
        )
    text = read_text(path, "robot description", MOST_CHARACTERS, RobotDescriptionError)
    if path.suffix != ".xacro":
        if arguments:
            raise RobotDescriptionError(f"'{path.name}' is no .xacro file: it takes no arguments {sorted(arguments)}")
        return with_own_meshes(with_prefixes(text), path)
    if os.environ.get(NO_XACRO):
        raise RobotDescriptionError(
            f"'{path}' is xacro, a program that would run here, and --no-xacro refuses it: ask for the plain URDF"
        )
    try:
        document = xacro.process_file(str(path), mappings={k: str(v) for k, v in (arguments or {}).items()})
        expanded: str = document.toprettyxml(indent="  ")
    except Exception as error:  # xacro, expat and ament_index raise different types
        raise RobotDescriptionError(f"xacro cannot expand '{path}': {' '.join(str(error).split())}") from error
    return with_own_meshes(with_prefixes(expanded), path)
