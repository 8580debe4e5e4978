"""Scenario: data classes of one run: robot, plant, nodes, pushes, events and figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from flexarm_core.robot.description import RobotDescription
from flexarm_tools.metrics.figures import FigureSpec
from flexarm_tools.scenario.expected import Expected
from flexarm_tools.yaml_file.document import ParameterValue
from flexarm_tools.yaml_file.section import Vector

PLANT = "simulated_plant"


@dataclass(frozen=True, slots=True)
class RobotSpec:
    """The robot of a scenario."""

    path: Path  # URDF or xacro file
    arguments: dict[str, str]  # xacro arguments
    tool_frame: str  # tool link
    description: RobotDescription  # content of the expanded file, within the limits; `description.text` is the URDF
    held: dict[str, float] = field(default_factory=dict)  # positions of joints that the file moves and the run does not
    joint_limits: Path | None = None  # file of limits that narrow those of the description
    springs: dict[str, tuple[float, float]] = field(default_factory=dict)  # stiffness and damping of joints, by name


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """A node to start."""

    package: str  # ROS package of the executable
    executable: str  # program to start
    name: str  # node name, unique in the run
    parameters: dict[str, ParameterValue]  # by name; names of nested parameters are joined with dots
    remappings: dict[str, str]  # ROS names, mapped from original to new name


@dataclass(frozen=True, slots=True)
class PushSpec:
    """An external force on a link, applied at the link origin, in axes of the root link."""

    link: str  # pushed link
    start: float  # start time [s]
    duration: float  # duration [s]
    force: Vector  # (3,) peak force [N]
    torque: Vector  # (3,) peak torque [N*m]
    shape: str  # time profile, `rectangle` or `half_sine`


@dataclass(frozen=True, slots=True)
class EventSpec:
    """A change during the run, in lockstep between two ticks. Exactly one of the three actions is given."""

    at: float  # simulation time, on a tick [s]
    node: str  # name of a node of the run
    parameters: dict[str, ParameterValue]  # parameters to set; empty for another action
    transition: str  # lifecycle transition; empty for another action
    kill: bool  # whether to kill the process


@dataclass(frozen=True, slots=True)
class Phase:
    """A named part of the run, which lasts until the next one begins."""

    name: str  # shown in the plots
    start: float  # start time [s]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run."""

    path: Path  # scenario file
    source: str  # text of the file; for a file with a base, the merged YAML
    title: str  # heading of the report
    description: str  # paragraph of the report
    robot: RobotSpec  # robot as described to every node
    plant_robot: RobotSpec | None  # robot that the plant simulates if it differs from `robot`, else None
    gravity: Vector  # (3,) in axes of the root link [m/s^2]
    mode: str  # `lockstep` or `real_time`
    composed: bool  # whether all stages run in one process
    rate: float  # control rate [Hz]
    duration: float  # length of the run, a whole number of ticks [s]
    plant: dict[str, ParameterValue]  # parameters of `simulated_plant`
    nodes: tuple[NodeSpec, ...]  # in order of bring-up
    pushes: tuple[PushSpec, ...]  # external forces
    events: tuple[EventSpec, ...]  # in order of time
    expected: Expected  # events that do not make the run a failure
    figures: tuple[FigureSpec, ...]  # figures to compute from the recording
    phases: tuple[Phase, ...] = ()  # in order of time

    @property
    def true_robot(self) -> RobotSpec:
        """Robot that the plant simulates."""
        return self.plant_robot or self.robot

    @property
    def ticks(self) -> int:
        """Number of control periods."""
        return round(self.duration * self.rate)
