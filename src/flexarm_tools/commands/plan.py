"""`flexarm plan`: plan a motion that does not excite the base."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from flexarm_tools.commands.xacro_arguments import add_xacro_arguments
from flexarm_tools.process.exit_status import EXIT_FAILED

HELP = "plan a motion between two tool positions that leaves the base quiet"


def add_arguments(plan: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    place: dict[str, Any] = {"nargs": 3, "type": float, "metavar": ("X", "Y", "Z")}
    plan.add_argument("file", metavar="ROBOT.urdf|.xacro|SCENARIO.yaml", help="of a scenario robot and gravity count")
    plan.add_argument("--start", **place, help="tool position in the base link's frame [m]; default: the posture's")
    plan.add_argument("--goal", **place, required=True, help="tool position [m]")
    plan.add_argument("--duration", type=float, required=True, metavar="S", help="of the motion [s]")
    plan.add_argument("--out", required=True, metavar="FILE.npz", help="plan that is written")
    plan.add_argument("--posture", nargs="+", type=float, metavar="Q", help="joint positions at the start")
    plan.add_argument("--straight", action="store_true", help="lead the tool along the straight line")
    plan.add_argument(
        "--select",
        nargs="+",
        default=["auto"],
        metavar="NAME",
        help="motions of the base that a straight line keeps quiet, and a free path above all: auto, all, names",
    )
    plan.add_argument("--axes", default="xyz", help="tracked axes of the tool position (default: %(default)s)")
    plan.add_argument(
        "--gravity", **place, help="[m/s^2] in axes of the root link; default: the scenario's, or 0 0 -9.81"
    )
    plan.add_argument("--tool-frame", default="", metavar="LINK")
    plan.add_argument("--samples", type=int, default=300, metavar="N", help="postures at each place (%(default)s)")
    plan.add_argument(
        "--rounds",
        type=int,
        default=3,
        metavar="N",
        help="of further search while --good-ratio is not reached (%(default)s)",
    )
    plan.add_argument(
        "--good-ratio", type=float, default=0.008, metavar="R",
        help="of the energy root to resolved acceleration's: nothing better is looked for (%(default)s)",
    )  # fmt: skip
    plan.add_argument("--largest-ratio", type=float, default=0.05, metavar="R", help="allowed (%(default)s)")
    plan.add_argument(
        "--acceleration-limit",
        type=float,
        default=10.0,
        metavar="A",
        help="of every joint [rad/s^2 | m/s^2] (%(default)s)",
    )
    plan.add_argument(
        "--least-conditioning", type=float, default=0.0, metavar="C",
        help="of the soft motions' coupling at the start, where 0.03 makes the base easy to damp (%(default)s)",
    )  # fmt: skip
    plan.add_argument("--seed", type=int, default=0, metavar="N", help="of the random numbers")
    add_xacro_arguments(plan)


def run(options: argparse.Namespace) -> int:
    """Plan the motion and write it to a file."""
    from flexarm_core.reaction_null_space.planning.planner import NoQuietMotionError, ReactionPlannerConfig
    from flexarm_tools.motion.plan import PlanRequest, plan_motion

    request = PlanRequest(
        start=options.start,
        goal=options.goal,
        duration=options.duration,
        posture=options.posture,
        straight=options.straight,
        selection=tuple(options.select),
        axes=options.axes,
        gravity=None if options.gravity is None else tuple(options.gravity),
        tool_frame=options.tool_frame,
        arguments=dict(options.arguments),
        planner=ReactionPlannerConfig(
            samples=options.samples,
            rounds=options.rounds,
            good_ratio=options.good_ratio,
            largest_ratio=options.largest_ratio,
            least_conditioning=options.least_conditioning,
            acceleration_limit=options.acceleration_limit,
            seed=options.seed,
        ),
    )
    try:
        print(plan_motion(Path(options.file), request, Path(options.out)))
    except NoQuietMotionError as error:
        print(f"flexarm: {error}", file=sys.stderr)
        return EXIT_FAILED
    return 0
