"""Xacro arguments, ``NAME:=VALUE``, which a command passes on to the robot description that it reads."""

from __future__ import annotations

import argparse

from flexarm_tools.commands.once import NamedOnce


def add_xacro_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare them as the last positional arguments; they are stored in ``options.arguments``."""
    parser.add_argument(
        "arguments", nargs="*", action=NamedOnce, type=_assignment, metavar="NAME:=VALUE", help="xacro arguments"
    )


def _assignment(text: str) -> tuple[str, str]:
    name, sign, value = text.partition(":=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form NAME:=VALUE")
    return name, value
