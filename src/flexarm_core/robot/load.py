"""Read a robot description from a file: URDF as it is, xacro expanded by ROS's own xacro library.

Xacro is a program: whoever wrote the file decides what reading it does. Where the environment variable of
:data:`NO_XACRO` is set (``flexarm ... --no-xacro``), it is refused, in this process and in those that it starts.
"""

from __future__ import annotations

import os
from pathlib import Path

import xacro

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.xacro_switch import NO_XACRO
from flexarm_core.robot.xml_reader import MOST_CHARACTERS
from flexarm_core.text_file import read_text


def load_robot_description(path: str | Path, arguments: dict[str, str] | None = None) -> str:
    """Return the URDF text of a ``.urdf`` or ``.xacro`` file.

    Args:
        path: file to read; names that end in ``.xacro`` are expanded.
        arguments: xacro arguments, name to value.

    Raises:
        RobotDescriptionError: no such file, no text, too large, xacro that is refused, or that xacro cannot expand.
    """
    path = Path(path)
    if not path.is_file():
        raise RobotDescriptionError(f"robot description '{path}' does not exist")
    text = read_text(path, "robot description", MOST_CHARACTERS, RobotDescriptionError)
    if path.suffix != ".xacro":
        if arguments:
            raise RobotDescriptionError(f"'{path.name}' is no .xacro file: it takes no arguments {sorted(arguments)}")
        return text
    if os.environ.get(NO_XACRO):
        raise RobotDescriptionError(
            f"'{path}' is xacro, a program that would run here, and --no-xacro refuses it: ask for the plain URDF"
        )
    try:
        document = xacro.process_file(str(path), mappings={k: str(v) for k, v in (arguments or {}).items()})
        expanded: str = document.toprettyxml(indent="  ")
    except Exception as error:  # xacro raises its own, expat's and ament_index's errors; all mean the same here
        raise RobotDescriptionError(f"xacro cannot expand '{path}': {' '.join(str(error).split())}") from error
    return expanded
