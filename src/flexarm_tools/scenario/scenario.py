"""Scenario: data classes of one run: robot, plant, nodes, pushes, events and figures."""

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
        tool_frame: tool link.
        description: content of the expanded file; ``description.text`` is the URDF.
    """

    path: Path
    arguments: dict[str, str]
    tool_frame: str
    description: RobotDescription


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node to start.

    Attributes:
        package: ROS package of the executable.
        executable: program to start.
        name: node name, unique in the run.
        parameters: by name; names of nested parameters are joined with dots.
        remappings: ROS names, mapped from original to new name.
    """

    package: str
    executable: str
    name: str
    parameters: dict[str, ParameterValue]
    remappings: dict[str, str]


@dataclass(frozen=True, slots=True)
class PushSpec:
    """An external force on a link, applied at the link origin, in axes of the root link.

    Attributes:
        link: pushed link.
        start: start time [s].
        duration: duration [s].
        force: (3,) peak force [N].
        torque: (3,) peak torque [N*m].
        shape: time profile, ``rectangle`` or ``half_sine``.
    """

    link: str
    start: float
    duration: float
    force: Vector
    torque: Vector
    shape: str


@dataclass(frozen=True, slots=True)
class EventSpec:
    """A change during the run, in lockstep between two ticks. Exactly one of the three actions is given.

    Attributes:
        at: simulation time, on a tick [s].
        node: name of a node of the run.
        parameters: parameters to set; empty for another action.
        transition: lifecycle transition; empty for another action.
        kill: whether to kill the process.
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
        path: scenario file.
        source: text of the file; for a file with a base, the merged YAML.
        title: heading of the report.
        description: paragraph of the report.
        robot: robot as described to every node.
        plant_robot: robot that the plant simulates if it differs from ``robot``, else None.
        gravity: (3,) in axes of the root link [m/s^2].
        mode: ``lockstep`` or ``real_time``.
        composed: whether all stages run in one process.
        rate: control rate [Hz].
        duration: length of the run, a whole number of ticks [s].
        plant: parameters of ``simulated_plant``.
        nodes: in order of bring-up.
        pushes: external forces.
        events: in order of time.
        expected: events that do not make the run a failure.
        figures: figures to compute from the recording.
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
        """Robot that the plant simulates."""
        return self.plant_robot or self.robot

    @property
    def ticks(self) -> int:
        """Number of control periods."""
        return round(self.duration * self.rate)
