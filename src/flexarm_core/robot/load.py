"""Read a robot description from a file: URDF as it is, xacro expanded by ROS's own xacro library."""

from __future__ import annotations

from pathlib import Path

import xacro

from flexarm_core.errors import RobotDescriptionError


def load_robot_description(path: str | Path, arguments: dict[str, str] | None = None) -> str:
    """Return the URDF text of a ``.urdf`` or ``.xacro`` file.

    Args:
        path: file to read; names that end in ``.xacro`` are expanded.
        arguments: xacro arguments, name to value.

    Raises:
        RobotDescriptionError: no such file, or xacro cannot expand it.
    """
    path = Path(path)
    if not path.is_file():
        raise RobotDescriptionError(f"robot description '{path}' does not exist")
    if path.suffix != ".xacro":
        if arguments:
            raise RobotDescriptionError(f"'{path.name}' is no .xacro file: it takes no arguments {sorted(arguments)}")
        return path.read_text(encoding="utf-8")
    try:
        document = xacro.process_file(str(path), mappings={k: str(v) for k, v in (arguments or {}).items()})
    except Exception as error:  # xacro raises its own, expat's and ament_index's errors; all mean the same here
        raise RobotDescriptionError(f"xacro cannot expand '{path}': {error}") from error
    return document.toprettyxml(indent="  ")
