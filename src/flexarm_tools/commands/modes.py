"""`flexarm modes`: modal data of a flexible link from the matrices of a finite-element program."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "make the modes of a flexible link from a finite-element model (CalculiX, Abaqus, Nastran)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("model", metavar="MODEL.inp|.bdf|.op2", help="nodes; matrices beside it or in it, or --matrix")
    parser.add_argument("--matrix", action="append", default=[], metavar="FILE", help="of the program; again for more")
    parser.add_argument("--units", choices=("m", "mm"), default="m", help="N, m, kg, s (default) or N, mm, t, s")
    parser.add_argument(
        "--inboard", required=True, metavar="NODES", help="at the hinge: a node set, or numbers separated by commas"
    )
    parser.add_argument(
        "--outboard", action="append", default=[], metavar="NODES", help="where something is mounted; again for more"
    )
    parser.add_argument("--modes", type=int, default=6, metavar="COUNT", help="normal modes (default: 6)")
    parser.add_argument(
        "--interfaces",
        choices=("fixed", "free"),
        default="fixed",
        help="fixed: normal modes with outboard nodes at rest, and their static shapes (default); free: normal modes",
    )
    parser.add_argument("--highest", type=float, default=float("inf"), metavar="HZ", help="leave out what is above")
    parser.add_argument("--damping-ratio", type=float, default=0.0, metavar="RATIO", help="of every mode")
    parser.add_argument("--origin", nargs=3, type=float, metavar=("X", "Y", "Z"), help="of the link in the model [m]")
    parser.add_argument(
        "--rpy", nargs=3, type=float, default=(0.0, 0.0, 0.0), metavar=("R", "P", "Y"), help="of the link [rad]"
    )
    parser.add_argument("--out", default="modes.npz", metavar="FILE.npz")


def run(options: argparse.Namespace) -> int:
    """Read the model, write its modes, and describe them."""
    from flexarm_core.errors import InputError
    from flexarm_core.flexible_dynamics.finite_elements.files import read_finite_elements
    from flexarm_core.flexible_dynamics.finite_elements.reduction import reduced_body
    from flexarm_core.flexible_dynamics.modal_data import save_modal_data
    from flexarm_core.robot.transforms import roll_pitch_yaw_to_rotation
    from flexarm_tools.check.check import check_modal_data

    out = Path(options.out)
    if out.suffix != ".npz" or not out.parent.is_dir():
        raise InputError(f"--out '{out}': give a .npz file in a folder that exists")
    data = reduced_body(
        read_finite_elements(options.model, options.matrix, options.units),
        options.inboard.upper(),
        [name.upper() for name in options.outboard],
        options.modes,
        options.interfaces,
        origin=options.origin,
        rotation=roll_pitch_yaw_to_rotation(*options.rpy).T,
        damping_ratio=options.damping_ratio,
        highest=options.highest,
    )
    save_modal_data(out, data)
    text, usable = check_modal_data(out)
    print(text)
    for name, place in zip(options.outboard, data.position[1:].tolist(), strict=False):
        print(f"'{name}' is at {' '.join(f'{x:.6g}' for x in place)}: <origin xyz> of what is mounted there")
    return 0 if usable else 1
