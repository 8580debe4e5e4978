"""Scenario from the arguments of a launch file: either a scenario file, or a robot and a list of stages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flexarm_core.errors import ConfigError
from flexarm_core.robot.joint_limits_file import within_joint_limits
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_tools.graph.packages import AmentPackages, Packages, resolve
from flexarm_tools.run.composition import command_mode, in_one_process, select_stages, stage_nodes
from flexarm_tools.run.parameter_file import read_parameter_file
from flexarm_tools.scenario.expected import Expected
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import PLANT, RobotSpec, Scenario
from flexarm_tools.wiring.table import stage_packages

ENDLESS = 1.0e9  # [s]


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """Arguments of a launch file.

    Attributes:
        scenario: scenario file; empty: use ``robot`` and ``stages``.
        robot: robot of flexarm by name, a path or ``package://PACKAGE/PATH``; ignored if a scenario is given.
        robot_arguments: xacro arguments, ``NAME:=VALUE`` separated by spaces; added to those of a scenario.
        tool_frame: tool link; empty: ``tool0``, or else the only tip link.
        stages: names separated by spaces or commas; empty: those of the scenario.
        parameters_file: ROS 2 parameter file; empty: none.
        rate: control rate [Hz]; empty or 0: that of the scenario, or 500.
        mode: ``lockstep`` or ``real_time``; empty: that of the scenario, or real time.
        gravity: three numbers separated by spaces [m/s^2]; empty: that of the scenario, or 9.81 downwards.
        namespace: namespace of the nodes; empty: the root.
    """

    scenario: str = ""
    robot: str = ""
    robot_arguments: str = ""
    tool_frame: str = ""
    stages: str = ""
    parameters_file: str = ""
    rate: str = ""
    mode: str = ""
    gravity: str = ""
    namespace: str = ""


def requested_scenario(request: LaunchRequest, packages: Packages | None = None) -> Scenario:
    """Return the requested scenario.

    Values of a parameter file override those of a scenario file.

    Args:
        request: arguments of the launch file.
        packages: locates ROS packages; by default in the sourced ROS 2 environment.

    Raises:
        ConfigError: the arguments contradict each other, or a file is invalid; the message states what is valid.
        RobotDescriptionError: the robot description is invalid.
    """
    packages = packages or AmentPackages()
    names = request.stages.replace(",", " ").split()
    if request.scenario:
        scenario = load_scenario(request.scenario, packages)
        if names:
            scenario = select_stages(scenario, names)
        if request.robot_arguments or request.tool_frame:
            scenario = replace(scenario, robot=requested_robot(request, packages))
    else:
        scenario = _by_name(request, names, packages)
    if request.parameters_file:
        scenario = _with_parameter_file(scenario, Path(request.parameters_file), request.namespace)
    if not request.scenario:
        scenario = replace(scenario, plant={"command_mode": command_mode(scenario)} | scenario.plant)
    if rate := _rate(request.rate):
        scenario = replace(scenario, rate=rate)
    if request.gravity:
        x, y, z = _three(request.gravity)
        scenario = replace(scenario, gravity=(x, y, z))
    scenario = replace(scenario, mode=request.mode or scenario.mode)
    return in_one_process(scenario) if scenario.composed else scenario


def requested_robot(request: LaunchRequest, packages: Packages | None = None) -> RobotSpec:
    """Return only the robot of the requested scenario.

    Raises:
        ConfigError: a file is invalid, or the robot does not exist.
        RobotDescriptionError: the robot description is invalid.
    """
    packages = packages or AmentPackages()
    arguments, tool = xacro_arguments(request.robot_arguments), request.tool_frame
    if not request.scenario:
        return read_robot(robot_file(request.robot, packages), arguments, tool)
    robot = load_scenario(request.scenario, packages).robot
    tool = tool or robot.tool_frame
    return read_robot(robot.path, robot.arguments | arguments, tool, robot.held, robot.joint_limits, robot.springs)


def robot_file(robot: str, packages: Packages | None = None) -> Path:
    """Return the file of a robot given by its flexarm name, by a path, or by ``package://PACKAGE/PATH``.

    Raises:
        ConfigError: the file does not exist.
    """
    packages = packages or AmentPackages()
    share = packages.share("flexarm")
    known = sorted(path.name.removesuffix(".urdf.xacro") for path in share.glob("urdf/*.urdf.xacro")) if share else []
    if share is not None and robot in known:
        return share / "urdf" / f"{robot}.urdf.xacro"
    path, wrong = resolve(robot, Path.cwd(), packages)
    if wrong or not robot:
        hint = f"robots of flexarm: {', '.join(known)}; others by path or package://PACKAGE/PATH"
        raise ConfigError(f"robot '{robot}': {wrong or 'no name'}; {hint}")
    return path


def own_controllers_file(robot: Path) -> Path:
    """Return where the controllers of a robot of a package are: ``config/ROBOT/controllers.yaml`` beside ``urdf``."""
    name = robot.name.removesuffix(".xacro").removesuffix(".urdf")
    return robot.parents[1] / "config" / name / "controllers.yaml"


def xacro_arguments(text: str) -> dict[str, str]:
    """Parse ``NAME:=VALUE NAME:=VALUE`` into a mapping.

    Raises:
        ConfigError: the text does not have that form.
    """
    pairs = [word.partition(":=") for word in text.split()]
    wrong = ["".join(pair) for pair in pairs if not pair[0] or not pair[1]]
    if wrong:
        raise ConfigError(f"robot_arguments: '{wrong[0]}' is not of the form NAME:=VALUE")
    return {name: value for name, _, value in pairs}


def read_robot(
    path: Path,
    arguments: dict[str, str],
    tool_frame: str = "",
    held: dict[str, float] | None = None,
    joint_limits: Path | None = None,
    springs: dict[str, tuple[float, float]] | None = None,
) -> RobotSpec:
    """Read the robot of a URDF or xacro file, within the limits of a file.

    Raises:
        ConfigError: the file of limits cannot be used.
        RobotDescriptionError: the file is invalid, or does not have the tool link.
    """
    description = parse_robot_description(load_robot_description(path, arguments), held=held, added_springs=springs)
    if joint_limits is not None:
        description = within_joint_limits(description, joint_limits)
    return RobotSpec(
        path, arguments, description.tool_frame(tool_frame), description, held or {}, joint_limits, springs or {}
    )


def _by_name(request: LaunchRequest, names: Sequence[str], packages: Packages) -> Scenario:
    if not names:
        stages = ", ".join(stage_packages())
        raise ConfigError(f"give a scenario file, or a robot and its stages in order; stages: {stages}")
    robot = requested_robot(request, packages)
    return Scenario(
        path=robot.path,
        source="",
        title="",
        description="",
        robot=robot,
        plant_robot=None,
        gravity=(0.0, 0.0, -9.81),
        mode="real_time",
        composed=False,
        rate=500.0,
        duration=ENDLESS,
        plant={},
        nodes=stage_nodes(names),
        pushes=(),
        events=(),
        expected=Expected(),
        figures=(),
    )


def _with_parameter_file(scenario: Scenario, path: Path, namespace: str) -> Scenario:
    found = read_parameter_file(path, (PLANT, *(node.name for node in scenario.nodes)), namespace)
    nodes = tuple(replace(node, parameters=node.parameters | found[node.name]) for node in scenario.nodes)
    plant = scenario.plant | found[PLANT]
    return replace(scenario, nodes=nodes, plant=plant)


def _rate(text: str) -> float:
    try:
        rate = float(text or 0.0)
    except ValueError:
        rate = -1.0
    if not 0.0 <= rate < float("inf"):
        raise ConfigError(f"rate: '{text}' is not a frequency [Hz]")
    return rate


def _three(text: str) -> list[float]:
    try:
        values = [float(word) for word in text.replace(",", " ").split()]
    except ValueError:
        values = []
    if len(values) != 3 or not all(map(math.isfinite, values)):
        raise ConfigError(f"gravity: '{text}' is not three numbers [m/s^2], all finite")
    return values
