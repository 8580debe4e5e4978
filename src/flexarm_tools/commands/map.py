"""`flexarm map`: show where an arm can move its tool without exciting its base."""

from __future__ import annotations

import argparse
from pathlib import Path

from flexarm_tools.commands.xacro_arguments import add_xacro_arguments

HELP = "map where an arm can move its tool without shaking its elastic base"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("robot", metavar="ROBOT.urdf|.xacro")
    parser.add_argument(
        "--selection", default="auto", metavar="NAME[,NAME]", help="all, auto (soft modes) or names of elastic joints"
    )
    parser.add_argument("--tool-frame", default="", metavar="LINK")
    parser.add_argument("--postures", type=int, default=20_000, metavar="COUNT", help="that are tried")
    parser.add_argument(
        "--at",
        nargs=3,
        type=float,
        metavar=("X", "Y", "Z"),
        help="of the slices [m]; default: the best place",
    )
    parser.add_argument("--out", default="", metavar="FILE.svg", help="picture that is written")
    parser.add_argument("--npz", default="", metavar="FILE.npz", help="all places and postures")
    add_xacro_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Compute the map, and print the best postures."""
    from flexarm_tools.motion.reactionless_map import map_workspace

    out, npz = (Path(name) if name else None for name in (options.out, options.npz))
    robot, selection = Path(options.robot), tuple(options.selection.split(","))
    arguments = dict(options.arguments)
    print(map_workspace(robot, selection, options.tool_frame, arguments, options.postures, options.at, out, npz))
    return 0
