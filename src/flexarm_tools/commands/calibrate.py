"""`flexarm calibrate`: estimate bias and gravity load of the force/torque sensor under the base from a recorded run."""

from __future__ import annotations

import argparse
from pathlib import Path

from flexarm_tools.commands.xacro_arguments import add_xacro_arguments

HELP = "calibrate the force/torque sensor under the base from the rests of a recorded run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("recording", metavar="RECORDING.npz")
    parser.add_argument("--robot", required=True, metavar="ROBOT.urdf|.xacro", help="that was recorded")
    parser.add_argument("--output", required=True, metavar="FILE.yaml", help="parameter file that is written")
    parser.add_argument("--model", default="bias_and_gravity", choices=("bias_and_gravity", "bias"))
    parser.add_argument(
        "--gravity", nargs=3, type=float, default=(0.0, 0.0, -9.81), metavar=("X", "Y", "Z"), help="[m/s^2]"
    )
    add_xacro_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Calibrate, and print the result."""
    from flexarm_tools.motion.calibrate import calibrate_recording

    files = (Path(options.recording), Path(options.robot), Path(options.output))
    print(calibrate_recording(*files, options.model, tuple(options.gravity), dict(options.arguments)))
    return 0
