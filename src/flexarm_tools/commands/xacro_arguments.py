"""Xacro arguments, ``NAME:=VALUE``, that a command hands on to the robot that it reads."""

from __future__ import annotations

import argparse


def add_xacro_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare them, as the last positional arguments, ``options.arguments``."""
    parser.add_argument("arguments", nargs="*", type=_assignment, metavar="NAME:=VALUE", help="xacro arguments")


def _assignment(text: str) -> tuple[str, str]:
    name, sign, value = text.partition(":=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form NAME:=VALUE")
    return name, value
