"""`flexarm schema`: print the JSON Schema of scenario and study files."""

from __future__ import annotations

import argparse
import sys

HELP = "print the JSON Schema of scenario and study files, with which editors check and complete them"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """There are no arguments."""


def run(options: argparse.Namespace) -> int:
    """Print the schema."""
    from flexarm_tools.scenario.json_schema import schema_text

    sys.stdout.write(schema_text())
    return 0
