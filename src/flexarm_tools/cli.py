"""The `flexarm` command."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from flexarm_core.errors import FlexarmError

EXIT_FAILED, EXIT_ERROR, EXIT_INTERRUPTED = 1, 2, 130


def main() -> None:
    """Entry point: exit status 0 = every expectation holds, 1 = one does not or a node died, 2 = could not be run."""
    try:
        sys.exit(run_command(sys.argv[1:]))
    except FlexarmError as error:
        from flexarm_tools.runner import InterruptedRunError

        print(f"flexarm: {error}", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED if isinstance(error, InterruptedRunError) else EXIT_ERROR)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def run_command(arguments: list[str]) -> int:
    """Run one command line; return its exit status."""
    options = _parser().parse_args(arguments)
    if options.command == "check":
        from flexarm_tools.check import check_modal_data, check_robot

        path = Path(options.file)
        if path.suffix == ".npz":
            text, usable = check_modal_data(path)
        else:
            text, usable = check_robot(path, options.tool_frame, dict(options.arguments))
        print(text)
        return 0 if usable else EXIT_FAILED
    if options.command == "calibrate":
        from flexarm_tools.calibrate import calibrate_recording

        files = (Path(options.recording), Path(options.robot), Path(options.output))
        print(calibrate_recording(*files, options.model, tuple(options.gravity), dict(options.arguments)))
        return 0
    from flexarm_tools.session import demo_file, list_demos, run_file

    if options.command == "demo" and options.list:
        print("\n".join(list_demos()))
        return 0
    path = demo_file(options.name) if options.command == "demo" else Path(options.scenario)
    holds = run_file(path, options.mode, Path(options.report) if options.report else None)
    return 0 if holds else EXIT_FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="flexarm", description="Robot arms that bend and arms on things that bend.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="run a scenario or study file and report on it")
    run.add_argument("scenario", metavar="SCENARIO.yaml")
    demo = commands.add_parser("demo", help="run one of the suite's own studies")
    demo.add_argument("name", nargs="?", default="planar", metavar="NAME")
    demo.add_argument("--list", action="store_true", help="list the names and end")
    for command in (run, demo):
        command.add_argument(
            "--report", metavar="DIR", help="where metrics.json and report.html go (default: flexarm_report/NAME)"
        )
        mode = command.add_mutually_exclusive_group()
        mode.add_argument(
            "--lockstep", dest="mode", action="store_const", const="lockstep", help="override the file's mode"
        )
        mode.add_argument(
            "--real-time", dest="mode", action="store_const", const="real_time", help="override the file's mode"
        )
        command.set_defaults(mode="")
    check = commands.add_parser("check", help="say what a robot description or modal data file holds and what it lacks")
    check.add_argument("file", metavar="ROBOT.urdf|.xacro|MODES.npz")
    check.add_argument("--tool-frame", default="", metavar="LINK")
    calibrate = commands.add_parser(
        "calibrate", help="calibrate the force/torque sensor under the base from the rests of a recorded run"
    )
    calibrate.add_argument("recording", metavar="RECORDING.npz")
    calibrate.add_argument("--robot", required=True, metavar="ROBOT.urdf|.xacro", help="that was recorded")
    calibrate.add_argument("--output", required=True, metavar="FILE.yaml", help="parameter file that is written")
    calibrate.add_argument("--model", default="bias_and_gravity", choices=("bias_and_gravity", "bias"))
    calibrate.add_argument(
        "--gravity", nargs=3, type=float, default=(0.0, 0.0, -9.81), metavar=("X", "Y", "Z"), help="[m/s^2]"
    )
    for command in (check, calibrate):
        command.add_argument("arguments", nargs="*", type=_assignment, metavar="NAME:=VALUE", help="xacro arguments")
    return parser


def _assignment(text: str) -> tuple[str, str]:
    name, sign, value = text.partition(":=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form NAME:=VALUE")
    return name, value


if __name__ == "__main__":
    main()
