"""A scenario in this process, without messages: its stages as a pipeline, and its plant."""

from __future__ import annotations

from typing import Any

from flexarm_core.pipeline.pipeline import Pipeline
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import FlexibleSample
from flexarm_nodes.behavior_impedance.parameters import known_behaviors, setting_rows
from flexarm_nodes.control_loop.loop import GATE, _of
from flexarm_nodes.control_loop.stage_builders import GATE_PARAMETERS, build_gate, builders
from flexarm_nodes.node.parameters import ARM_PARAMETERS
from flexarm_nodes.plant.parameters import (
    PLANT_PARAMETERS,
    plant_config,
    plant_description,
    plant_friction,
    plant_surfaces,
)
from flexarm_sim.backends import make_backend
from flexarm_sim.measurement import Measurement
from flexarm_sim.plant import Plant
from flexarm_tools.run.composition import compose_simulation, in_one_process
from flexarm_tools.scenario.scenario import Scenario

BEHAVIORS = "behavior_impedance_controller"
SAME = ("tool_frame", "gravity", "max_step", "hard_stops", "segments", "tip_radius")  # parameters and arguments


class InProcess:
    """Pipeline and plant of a scenario; events of the scenario do not happen.

    Attributes:
        pipeline: the stages.
        plant: the arm.
    """

    def __init__(self, scenario: Scenario) -> None:
        """Build both from the parameters that the nodes would get."""
        plant, *nodes = compose_simulation(in_one_process(scenario)).nodes
        given = dict(next(node for node in nodes if node.name == "control_loop").parameters)
        known = builders()
        values: dict[str, Any] = {row.name: row.default for row in ARM_PARAMETERS}
        for stage, rows in (*((name, one.parameters) for name, one in known.items()), (GATE, GATE_PARAMETERS)):
            values |= {f"{stage}.{row.name}": row.default for row in rows}
        for name in (*given.get(f"{BEHAVIORS}.behaviors", ()), *given.get(f"{BEHAVIORS}.standby", ())):
            rows = setting_rows(name, known_behaviors()[given[f"{BEHAVIORS}.{name}.kind"]])
            values |= {f"{BEHAVIORS}.{row.name}": row.default for row in rows}
        values = _lists(values | given)
        model = ArmModel(
            parse_robot_description(scenario.robot.description.text), values["tool_frame"], tuple(values["gravity"])
        )
        stages = [known[name].build(_of(name, values), model).stage for name in values["stages"] if name != GATE]
        self.pipeline = Pipeline(stages, build_gate(_of(GATE, values), model))
        own = _lists({row.name: row.default for row in (*ARM_PARAMETERS, *PLANT_PARAMETERS)} | dict(plant.parameters))
        robot = plant_description(own, model.description)
        backend = make_backend(
            own["backend"], robot, surfaces=plant_surfaces(own), friction=plant_friction(own, len(robot.actuated)),
            **{name: own[name] for name in SAME},
        )  # fmt: skip
        self.plant = Plant(robot, backend, plant_config(own, robot))
        self.plant.reset()
        self.pipeline.tick(sample_of(self.plant.measure()))  # loads the compiled code
        self.pipeline.reset()

    def tick(self) -> Tick:
        """Answer one sample, and move the arm until the next one."""
        tick = self.pipeline.tick(sample_of(self.plant.measure()))
        self.pipeline.after()
        self.plant.advance(tick.command)
        return tick


def sample_of(said: Measurement) -> FlexibleSample:
    """What the sensors of a plant say, as a pipeline takes it."""
    joints, elastic, strain = said.joints, said.elastic, said.strain
    assert joints is not None and joints.effort is not None
    return FlexibleSample(
        said.stamp,
        joints.position,
        joints.velocity,
        joints.effort,
        None if elastic is None else elastic.position,
        None if elastic is None else elastic.velocity,
        {} if strain is None else dict(zip(strain.names, strain.strain, strict=True)),
        {name: wrench for name, wrench in said.wrenches.items() if wrench is not None},
        {name: reading for name, reading in said.imus.items() if reading is not None},
    )


def _lists(values: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
