"""`flexarm plan`: plan and store a motion between two tool positions that does not excite the base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.planning.plan import ReactionPlan
from flexarm_core.reaction_null_space.planning.plan_file import save_plan
from flexarm_core.reaction_null_space.planning.planner import ReactionPlanner, ReactionPlannerConfig
from flexarm_core.reaction_null_space.reactionless.motions import ReactionlessMotions
from flexarm_core.reaction_null_space.vibration.base_selection import AUTO, BaseSelection
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState, Array
from flexarm_tools.scenario.file import STANDARD_GRAVITY, load_scenario

AXES = "xyz"
Vector = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Request for a plan."""

    # (3,) tool position at the start, in the base link's frame [m]; None: that of the posture
    start: Sequence[float] | None
    goal: Sequence[float]  # (3,) tool position at the end, in the base link's frame [m]
    duration: float  # duration of the motion [s]
    posture: Sequence[float] | None = None  # (n,) joint positions at the start [rad | m]; None lets the planner choose
    straight: bool = False  # whether the tool follows the straight line
    # base motions not to be excited on the straight line: `all`, `auto` (soft modes), or names of elastic joints
    selection: tuple[str, ...] = (AUTO,)
    axes: str = AXES  # tracked axes of the tool position, some of `xyz`
    # (3,) in axes of the root link [m/s^2]; None: that of the scenario, or standard gravity
    gravity: Vector | None = None
    tool_frame: str = ""  # tool link, empty for the default
    arguments: dict[str, str] | None = None  # xacro arguments
    planner: ReactionPlannerConfig | None = None  # planner settings; None: default


def plan_motion(file: Path, request: PlanRequest, output: Path) -> str:
    """Plan a motion and write the plan.

    Args:
        file: robot (``.urdf`` or ``.xacro``), or scenario (``.yaml``), from which only robot and gravity are used.
        request: requested motion.
        output: NPZ file to write, for the parameter ``plan_file`` of ``reference_generator``.

    Returns:
        Summary as text.

    Raises:
        NoQuietMotionError: every motion found excites the base too much.
        FlexarmError: the robot, scenario or request cannot be used.
    """
    if output.suffix != ".npz" or not output.absolute().parent.is_dir():
        raise ConfigError(f"output '{output}' must be an .npz file in a folder that is there")
    if request.axes != "".join(axis for axis in AXES if axis in request.axes) or not request.axes:
        raise ConfigError(f"axes '{request.axes}' must be some of '{AXES}', in this order")
    model = _model(file, request)
    if model.m == 0:
        raise ConfigError(f"robot '{model.description.name}' has no elastic joint: its base cannot be shaken")
    selection = BaseSelection(model, request.selection, spare=len(request.axes))
    tracked = ("x" in request.axes, "y" in request.axes, "z" in request.axes)
    planner = ReactionPlanner(ReactionlessMotions(model, selection, tracked), request.planner)
    posture = None if request.posture is None else np.array(request.posture, dtype=float)
    start = _start(model, request, posture)
    plan = planner.plan(start, np.array(request.goal), request.duration, posture, request.straight)
    save_plan(plan, output, model.description.name)
    return "\n".join([*_lines(model, plan, planner.config), f"  {output}"])


def _model(file: Path, request: PlanRequest) -> ArmModel:
    """Return the model of the arm, from a robot file or a scenario."""
    if file.suffix not in (".yaml", ".yml"):
        description = load_robot_description(file, request.arguments)
        return ArmModel(description, request.tool_frame, request.gravity or STANDARD_GRAVITY)
    scenario = load_scenario(file)
    if request.arguments:
        raise ConfigError(f"xacro arguments go with a robot's file; those of '{file}' stand in it")
    robot = scenario.robot
    return ArmModel(robot.description, request.tool_frame or robot.tool_frame, request.gravity or scenario.gravity)


def _start(model: ArmModel, request: PlanRequest, posture: Array | None) -> Array:
    """Return the tool position (3,) at the start [m]."""
    if request.start is not None:
        return np.array(request.start)
    if posture is None or posture.shape != (model.n,) or not np.isfinite(posture).all():
        raise ConfigError(f"give a start position or a posture of {model.n} finite numbers, for {_named(model)}")
    state = ArmState(0, posture, np.zeros(model.n), np.zeros(model.m), np.zeros(model.m))
    return model.tool_kinematics(state, model.base_frame).position


def _lines(model: ArmModel, plan: ReactionPlan, config: ReactionPlannerConfig) -> list[str]:
    """Describe the plan in words."""
    begin, end = plan.tool_positions[[0, -1]]
    way = (end - begin) / np.linalg.norm(end - begin)
    beside = plan.tool_positions - begin
    aside = float(np.linalg.norm(beside - np.outer(beside @ way, way), axis=1).max())
    speed = np.abs(plan.velocities).max(axis=0) / model.velocity_limit
    room = np.minimum(plan.positions - model.lower, model.upper - plan.positions).min(axis=0)
    fastest, nearest = int(speed.argmax()), int(room.argmin())
    names, hardest = plan.joint_names, np.abs(plan.accelerations).max(axis=0)
    straight, root = np.sqrt(plan.straight_energy), np.sqrt(plan.peak_energy)
    return [
        f"{model.description.name}: {model.tool_frame} from {_place(begin)} to {_place(end)} m in {plan.duration:g} s",
        f"  kind               {plan.kind}: the tool leaves the straight line by {aside:.3g} m at most",
        f"  energy root        {root:.3g} sqrt(J) predicted, {plan.deflection_ratio:.3g} of resolved acceleration's"
        f" {straight:.3g} along the straight line",
        f"  smallest Jbar      {plan.tool_sigma.min():.3g} m, of the tool beside the soft motions of the base",
        f"  conditioning       {plan.coupling_conditioning[0]:.2g} at the start, of the soft motions' coupling;"
        f" {plan.coupling_conditioning.min():.2g} at least",
        f"  fastest joint      {names[fastest]}, {speed[fastest]:.0%} of its limit",
        f"  position limits    {names[nearest]} comes within {room[nearest]:.3g} rad | m of its own",
        f"  accelerations      {hardest.max():.3g} rad/s^2 | m/s^2 ({names[int(hardest.argmax())]}), allowed are"
        f" {config.acceleration_limit:g}",
        f"  start posture      {_numbers(plan.positions[0])}",
        f"  goal posture       {_numbers(plan.positions[-1])}",
    ]


def _named(model: ArmModel) -> str:
    return ", ".join(model.joint_names)


def _place(position: Array) -> str:
    return f"({', '.join(f'{value:.4g}' for value in np.round(position, 9) + 0.0)})"


def _numbers(values: Array) -> str:
    return f"[{', '.join(f'{value:.4f}' for value in values)}]"
