"""`flexarm check`: report what a robot description or a modal data file lacks, or whether gains of a scenario hold."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from flexarm_core.errors import ConfigError
from flexarm_tools.commands.once import NamedOnce
from flexarm_tools.commands.xacro_arguments import add_xacro_arguments
from flexarm_tools.process.exit_status import EXIT_FAILED

HELP = "say what a robot description or modal data file lacks, or whether the gains of a scenario are stable"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("file", metavar="ROBOT.urdf|.xacro|MODES.npz|SCENARIO.yaml")
    parser.add_argument("--tool-frame", default="", metavar="LINK")
    parser.add_argument(
        "--hold",
        action=NamedOnce,
        default=[],
        type=_position,
        metavar="JOINT:=POSITION",
        help="joint that is not of the arm, and where it stays [rad | m]",
    )
    parser.add_argument(
        "--elastic",
        action=NamedOnce,
        default=[],
        type=_spring,
        metavar="JOINT:=STIFFNESS[,DAMPING]",
        help="joint under the base, or JOINT_x to JOINT_rz of a floating or planar one, and its spring [N/m | N*m/rad]",
    )
    parser.add_argument(
        "--write",
        default=None,
        metavar="FIRST.yaml",
        help="of a robot: write the first run that it proposes, and a completed copy if the description needs one",
    )
    parser.add_argument(
        "--repair",
        default=None,
        metavar="COPY.urdf",
        help="of a robot: write a copy with the nearest physical inertias",
    )
    parser.add_argument(
        "--joint-limits",
        default=None,
        metavar="joint_limits.yaml",
        help="of a robot: limits of MoveIt or ros2_control, which narrow those of the description",
    )
    add_xacro_arguments(parser)


def _position(text: str) -> tuple[str, float]:
    name, position = _named(text, "POSITION", 1)
    return name, position[0]


def _spring(text: str) -> tuple[str, tuple[float, float]]:
    name, (stiffness, *damping) = _named(text, "STIFFNESS[,DAMPING]", 2)
    return name, (stiffness, damping[0] if damping else 0.0)


def _named(text: str, form: str, most: int) -> tuple[str, list[float]]:
    """Return the name of a joint, and up to so many numbers behind it."""
    name, _, words = text.partition(":=")
    try:
        values = [float(word) for word in words.split(",")]
    except ValueError:
        values = []
    if not name or not 1 <= len(values) <= most or not all(map(math.isfinite, values)):
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form JOINT:={form}")
    return name, values


def run(options: argparse.Namespace) -> int:
    """Check the file, and print the findings."""
    path = Path(options.file)
    robots_only = ("tool_frame", "hold", "elastic", "write", "repair", "joint_limits", "arguments")
    if path.suffix in (".yaml", ".yml", ".npz") and (given := [name for name in robots_only if getattr(options, name)]):
        said = "NAME:=VALUE" if given[0] == "arguments" else f"--{given[0].replace('_', '-')}"
        raise ConfigError(f"{said} is for robot descriptions, and '{path}' is none")
    if path.suffix in (".yaml", ".yml"):
        from flexarm_tools.check.chain_gains import check_file

        text, usable = check_file(path, lambda line: print(line, file=sys.stderr, flush=True))
        print(text)
        return 0 if usable else EXIT_FAILED
    from flexarm_tools.check.check import check_modal_data, check_robot
    from flexarm_tools.check.repair import repair

    if path.suffix == ".npz":
        text, usable = check_modal_data(path)
    else:
        if path.suffix == ".xacro" and not options.no_xacro:
            print(
                f"note: '{path.name}' is xacro, a program that runs as it is read: --no-xacro refuses it; URDF is none",
                file=sys.stderr,
                flush=True,
            )
        if options.repair is not None:
            print(repair(path, Path(options.repair), dict(options.arguments)))
            return 0
        write, limits = (None if one is None else Path(one) for one in (options.write, options.joint_limits))
        text, usable = check_robot(
            path, options.tool_frame, dict(options.arguments), write, held=dict(options.hold),
            say=lambda line: print(line, file=sys.stderr), joint_limits=limits, springs=dict(options.elastic),
        )  # fmt: skip
    print(text)
    return 0 if usable else EXIT_FAILED
