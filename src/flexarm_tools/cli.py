"""The `flexarm` command."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable

import flexarm_core
from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.robot.xacro_switch import NO_XACRO
from flexarm_tools.commands import (
    calibrate,
    check,
    demo,
    faults,
    map,
    modes,
    plan,
    record,
    replay,
    run,
    schema,
    sweep,
    view,
)
from flexarm_tools.commands.once import Once
from flexarm_tools.process.end_request import InterruptedRunError
from flexarm_tools.process.exit_status import EXIT_ERROR, EXIT_INTERRUPTED

COMMANDS = {
    "run": run,
    "sweep": sweep,
    "demo": demo,
    "check": check,
    "schema": schema,
    "plan": plan,
    "map": map,
    "modes": modes,
    "view": view,
    "record": record,
    "replay": replay,
    "calibrate": calibrate,
    "faults": faults,
}
READS_ROBOTS = ("run", "sweep", "demo", "check", "plan", "map", "view", "calibrate")


def main() -> None:
    """Run the command line; exit with 0 = all expectations hold, 1 = one fails or a node died, 2 = could not run."""
    # Read at NumPy's import. Matrices of an arm are too small to be shared between threads, which then wait for each
    # other; and more of them add in another order, which changes last bits. Nodes do the same.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        sys.exit(run_command(sys.argv[1:]))
    except FlexarmError as error:
        print(f"flexarm: {error}", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED if isinstance(error, InterruptedRunError) else EXIT_ERROR)
    except BrokenPipeError:  # `flexarm ... | head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # of what is flushed at the end
        sys.exit(EXIT_ERROR)
    except OSError as error:  # a file or folder of an argument that cannot be read or written
        print(f"flexarm: {error}", file=sys.stderr)
        sys.exit(EXIT_ERROR)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _meant(wrong: str, valid: Iterable[str]) -> str:
    from flexarm_tools.yaml_file.document import nearest  # imported only where something is wrong

    return nearest(wrong, valid)


def run_command(arguments: list[str]) -> int:
    """Run one command line; return its exit status."""
    parser = argparse.ArgumentParser(prog="flexarm", description="Robot arms that bend and arms on things that bend.")
    parser.add_argument("--version", action="version", version=f"flexarm {flexarm_core.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        sub = commands.add_parser(name, help=command.HELP)
        sub.register("action", None, Once)
        command.add_arguments(sub)
        if name in READS_ROBOTS:
            sub.add_argument(
                "--no-xacro", action="store_true", help="refuse xacro files: they are programs; plain URDF needs none"
            )
    if "_ARGCOMPLETE" in os.environ:  # set by the shell that asks what may follow
        import argcomplete

        argcomplete.autocomplete(parser)
    if not arguments:
        parser.print_help()
        return 0
    if not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        raise ConfigError(f"there is no command '{arguments[0]}'; {_meant(arguments[0], COMMANDS)}see flexarm --help")
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        shown = commands.choices[options.command].format_usage()
        meant = _meant(unknown[0], re.findall(r"--[\w-]+", shown))
        raise ConfigError(
            f"{options.command} does not know '{unknown[0]}'; {meant}see flexarm {options.command} --help"
        )
    if getattr(options, "no_xacro", False):
        os.environ[NO_XACRO] = "1"  # the child processes inherit it
    return COMMANDS[options.command].run(options)


if __name__ == "__main__":
    main()
