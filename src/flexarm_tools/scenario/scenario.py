"""Scenario: one run, in records: robot, plant, nodes, pushes, events and what is measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flexarm_core.robot.description import RobotDescription
from flexarm_tools.metrics.figures import FigureSpec
from flexarm_tools.scenario.expected import Expected
from flexarm_tools.yaml_file.document import ParameterValue
from flexarm_tools.yaml_file.section import Vector

PLANT = "simulated_plant"


@dataclass(frozen=True, slots=True)
class RobotSpec:
    """The robot of a scenario.

    Attributes:
        path: URDF or xacro file.
        arguments: xacro arguments.
        tool_frame: link that is the tool.
        description: what the expanded file says; ``description.text`` is the URDF.
    """

    path: Path
    arguments: dict[str, str]
    tool_frame: str
    description: RobotDescription


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node to start.

    Attributes:
        package: that has the executable.
        executable: to start.
        name: of the node, unique in the run.
        parameters: by name; nested ones with dots.
        remappings: ROS names, from: to.
    """

    package: str
    executable: str
    name: str
    parameters: dict[str, ParameterValue]
    remappings: dict[str, str]


@dataclass(frozen=True, slots=True)
class PushSpec:
    """An external force on a link, at its origin, in axes of the root link.

    Attributes:
        link: that is pushed.
        start: [s].
        duration: [s].
        force: (3,) largest force [N].
        torque: (3,) largest torque [N*m].
        shape: ``rectangle`` or ``half_sine``.
    """

    link: str
    start: float
    duration: float
    force: Vector
    torque: Vector
    shape: str


@dataclass(frozen=True, slots=True)
class EventSpec:
    """A change during the run, in lockstep between two ticks. Exactly one of its actions is given.

    Attributes:
        at: simulation time, on a tick [s].
        node: name of a node of the run.
        parameters: to set; empty where the event does something else.
        transition: lifecycle transition, empty where the event does something else.
        kill: end the process abruptly.
    """

    at: float
    node: str
    parameters: dict[str, ParameterValue]
    transition: str
    kill: bool


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run.

    Attributes:
        path: the file.
        source: its text; of a file with a base the whole as YAML that has none.
        title: heading of the report.
        description: paragraph of the report.
        robot: the robot, as every node is told.
        plant_robot: what the plant is instead, None where it is that robot.
        gravity: (3,) in axes of the root link [m/s^2].
        mode: ``lockstep`` or ``real_time``.
        composed: whether all stages run in one process.
        rate: control rate [Hz].
        duration: a whole number of ticks [s].
        plant: parameters of ``simulated_plant``.
        nodes: in order of bring-up.
        pushes: external forces.
        events: in order of time.
        expected: what may happen without the run being a failure.
        figures: what is measured.
    """

    path: Path
    source: str
    title: str
    description: str
    robot: RobotSpec
    plant_robot: RobotSpec | None
    gravity: Vector
    mode: str
    composed: bool
    rate: float
    duration: float
    plant: dict[str, ParameterValue]
    nodes: tuple[NodeSpec, ...]
    pushes: tuple[PushSpec, ...]
    events: tuple[EventSpec, ...]
    expected: Expected
    figures: tuple[FigureSpec, ...]

    @property
    def true_robot(self) -> RobotSpec:
        """The robot that moves: the plant's."""
        return self.plant_robot or self.robot

    @property
    def ticks(self) -> int:
        """Number of control periods."""
        return round(self.duration * self.rate)
