"""StageKind: a stage as its node, the control loop, the wiring check and the documentation know it.

A package adds a stage with an entry point of the group ``flexarm.stages``. The name of the entry point is that of the
stage and of its executable, and its object is the StageKind::

    [options.entry_points]
    flexarm.stages =
        notch_filter = my_package.notch_filter:NOTCH_FILTER
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

from flexarm_core.errors import ConfigError
from flexarm_core.pipeline.stage import Stage
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import run
from flexarm_nodes.node.built_stage import BuiltStage, Values
from flexarm_nodes.node.input.readings import READERS
from flexarm_nodes.node.input.references import STREAMS
from flexarm_nodes.node.parameters import ARM_PARAMETERS, Parameter, row_values
from flexarm_nodes.node.ports import JOINTS, STATES, TOOL, Input, Output, Ports, Role, Use
from flexarm_nodes.node.stage.node import StageNode
from flexarm_nodes.registry import NODES

GROUP = "flexarm.stages"


@dataclass(frozen=True, slots=True)
class StageKind:
    """A kind of stage.

    Attributes:
        name: name of the stage, of its node and of its executable.
        package: ROS package of the executable.
        parameters: its parameters; those of every node (robot_description, gravity ...) are added.
        build: builds the stage from parameter values for an arm; raises FlexarmError to reject them.
        reads: references that the stage may need: ``tool``, ``joints`` or ``flexible``.
        gives: fields that the stage adds to the joint reference that it receives, such as ``effort``.
    """

    name: str
    package: str
    parameters: tuple[Parameter, ...]
    build: Callable[[Values, ArmModel], BuiltStage]
    reads: tuple[str, ...] = ("joints",)
    gives: frozenset[str] = frozenset()

    def built(self, values: Values, model: ArmModel) -> BuiltStage:
        """Build the stage.

        Raises:
            FlexarmError: the parameters are rejected, the stage is no Stage, or it needs a reference that the kind does
                not read.
        """
        built = self.build(values, model)
        if not isinstance(built.stage, Stage):
            raise ConfigError(f"stage '{self.name}' is not derived from flexarm_core.pipeline.stage.Stage")
        if missing := built.stage.needs - set(self.reads):
            raise ConfigError(f"stage '{self.name}' needs {', '.join(sorted(missing))}, which its kind does not read")
        return built

    def ports(self, parameters: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters, as the built stage declares them.

        Raises:
            FlexarmError: as for :meth:`built`.
        """
        values = row_values((*ARM_PARAMETERS, *self.parameters), parameters)
        built = self.built(values, ArmModel(description, tool, tuple(values["gravity"])))
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

    def node(self) -> StageNode:
        """Create the node that runs only this stage."""
        kind = self

        class KindNode(StageNode):
            NAME, HEARS, PARAMETERS = kind.name, kind.reads, kind.parameters

            build_stage = staticmethod(kind.built)

        return KindNode()

    def main(self) -> None:
        """Run the node: entry point of the executable."""
        run(self.node)


@dataclass(frozen=True, slots=True)
class AddedStages:
    """Stages of other packages.

    Attributes:
        kinds: by name.
        faults: entry points that cannot be used, with the reasons.
    """

    kinds: dict[str, StageKind]
    faults: tuple[str, ...]


@cache
def added_stages() -> AddedStages:
    """Return the stages that other packages add by entry points; one that cannot be loaded does not harm the others."""
    kinds: dict[str, StageKind] = {}
    faults = []
    for point in entry_points(group=GROUP):
        where = f"stage '{point.name}' of {point.value}"
        try:
            loaded = point.load()
            if isinstance(loaded, StageKind):
                row_values(loaded.parameters, {})  # invalid defaults would keep every control_loop from starting
        except Exception as error:  # importing an external module may raise anything
            faults.append(f"{where} cannot be loaded: {type(error).__name__}: {error}")
            continue
        if not isinstance(loaded, StageKind):
            faults.append(f"{where} is no flexarm StageKind")
        elif point.name in NODES:
            faults.append(f"{where} has the name of a node of flexarm")
        elif loaded.name != point.name:
            faults.append(f"{where} is named '{loaded.name}'")
        elif kinds.setdefault(point.name, loaded) is not loaded:
            faults.append(f"{where} has the name of another one")
    return AddedStages(kinds, tuple(faults))
