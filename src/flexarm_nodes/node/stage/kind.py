"""StageKind: a stage as its node, the control loop, the wiring check and the documentation know it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flexarm_core.errors import ConfigError
from flexarm_core.pipeline.stage import Stage
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import BuiltStage, Values
from flexarm_nodes.node.input.readings import READERS
from flexarm_nodes.node.input.references import STREAMS
from flexarm_nodes.node.parameters import ARM_PARAMETERS, Parameter, ParameterTable, described_arm, row_values
from flexarm_nodes.node.ports import JOINTS, STATES, TOOL, Input, Output, Ports, Role, Use
from flexarm_nodes.node.prefixed_table import PrefixedTable


def no_later_rows(table: ParameterTable | PrefixedTable, values: Values) -> None:
    """Declare nothing: no parameter depends on another."""


@dataclass(frozen=True, slots=True)
class StageKind:
    """A kind of stage.

    Attributes:
        name: name of the stage, of its node and of its executable.
        package: ROS package of the executable.
        parameters: its parameters; those of every node (robot_description, gravity ...) are added.
        build: builds the stage from parameter values for an arm; raises FlexarmError to reject them.
        reads: references that the stage may need or await: ``tool``, ``joints`` or ``flexible``.
        gives: fields that the stage adds to the joint reference that it receives, such as ``effort``.
        topics: their topics by these names, where they are not the usual ones.
        ports_of: returns the topics that the stage uses with parameters, for a robot and its tool link (empty: usual);
            None: those of the built stage.
        later_rows: declares the parameters that depend on other parameters, from the present values.
        massless: whether a robot without masses is accepted: kinematics need no masses.
    """

    name: str
    package: str
    parameters: tuple[Parameter, ...]
    build: Callable[[Values, ArmModel], BuiltStage]
    reads: tuple[str, ...] = ("joints",)
    gives: frozenset[str] = frozenset()
    topics: Mapping[str, str] = field(default_factory=dict)
    ports_of: Callable[[Values, RobotDescription, str], Ports] | None = None
    later_rows: Callable[[ParameterTable | PrefixedTable, Values], None] = no_later_rows
    massless: bool = False

    @property
    def hears(self) -> dict[str, str]:
        """Topics of the references that the stage may need or await, by their names."""
        return {name: STREAMS[name][1] for name in self.reads} | dict(self.topics)

    def built(self, values: Values, model: ArmModel) -> BuiltStage:
        """Build the stage.

        Raises:
            FlexarmError: the parameters are rejected, the stage is no Stage, or it needs a reference that the kind does
                not read.
        """
        built = self.build(values, model)
        if not isinstance(built.stage, Stage):
            raise ConfigError(f"stage '{self.name}' is not derived from flexarm_core.pipeline.stage.Stage")
        known = {*self.reads, *(["flexible"] if built.stage.source == topics.FLEXIBLE_STATE else [])}
        if missing := built.stage.needs - known:
            raise ConfigError(f"stage '{self.name}' needs {', '.join(sorted(missing))}, which its kind does not read")
        return built

    def ports(self, parameters: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the stage uses with these parameters; missing ones have their defaults.

        Raises:
            FlexarmError: as for :meth:`built`.
        """
        if self.ports_of is not None:
            values = {row.name: row.default for row in self.parameters} | dict(parameters)
            return self.ports_of(values, description, tool)
        values = row_values((*ARM_PARAMETERS, *self.parameters), parameters)
        built = self.built(values, described_arm(values | {"tool_frame": tool}, description))
        names = [name for name in self.reads if name in built.stage.needs]
        if built.stage.source == topics.FLEXIBLE_STATE and "flexible" not in self.reads:
            names.append("flexible")
        inputs = [STATES, *(Input(STREAMS[name][1], STREAMS[name][0].__name__) for name in names)]
        for sensor, name in built.sensors:
            message, topic = READERS[sensor].kind, READERS[sensor].topic
            inputs.append(Input(topic(name), message.__name__))
        if built.before:
            inputs.append(Input(topics.JOINT_REFERENCE, JOINTS, Use.FEEDBACK))
        outputs = []
        for out in built.outputs:
            kind = out.kind.__name__
            role = Role.LEADS if kind in (JOINTS, TOOL) else Role.REPORTS
            outputs.append(Output(out.topic, kind, role, self.gives, passes=kind == JOINTS))
        return Ports(tuple(inputs), tuple(outputs))
