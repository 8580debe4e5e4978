"""Scenarios on bases that are otherwise than told: softer or stiffer, lighter or heavier, less or more damped.

The stages of a scenario, the gate and the plant run in one process, without ROS. The same push on the same plant with
an arm that exerts no effort says how far the base would move without control.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from pipeline_run import sample_of
from scenario_pipeline import built_plant, changeable_pipeline

from flexarm_core.errors import ConfigError
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.reaction_null_space.stability.linear_law import ToolTask
from flexarm_core.reaction_null_space.stability.sampled_model import SampledModel
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array
from flexarm_sim.backend import PlantDivergedError
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.robot_changes import RobotChanges
from flexarm_tools.scenario.scenario import PushSpec, Scenario

CONFIG = Path(__file__).resolve().parents[2] / "config"
LAW = "rns_vibration_controller"
WRONG = 0.4  # largest error of stiffness, mass and damping of the base, share
THROWN = 2.0  # times the motion of the base without control from which on it counts as thrown
BASES = {"boom_7r": "boom_tip"}  # links that the springs carry, if not the base link
PUSHES = {  # of the base: largest force [N] and torque [N*m]
    "planar_3r": ((8.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    "trep": ((8.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    "dual_arm_trep": ((3.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
    "wheel_3r": ((30.0, 0.0, 0.0), (0.0, 0.0, 15.0)),
    "boom_7r": ((0.0, 100.0, 100.0), (0.0, 0.0, 0.0)),
}
SCENARIOS = {  # runs, and how far their arms may start from where they do [rad]
    "planar_3r/push_damped": 0.6,
    "planar_3r/push_paper": 0.6,
    "planar_3r/torque_law": 0.1,
    "planar_3r/reactionless": 0.1,
    "planar_3r/combined": 0.1,
    "trep/acceleration_law": 0.6,
    "dual_arm_trep/reactionless": 0.1,
    "wheel_3r/reactionless": 0.1,
    "boom_7r/push_damped": 0.1,
}
END = 6.0  # [s]
DRIFTED = 0.4  # [rad]
PLANE = (True, True, False, False, False, False)


@dataclass(frozen=True, slots=True)
class WrongBase:
    """A run on a base that is otherwise than told.

    Attributes:
        run: robot and scenario.
        stiffness: of each elastic joint, times.
        damping: of each elastic joint, times.
        mass: of the base link, times.
        position: at which the arm starts [rad].
        push: of the base.
    """

    run: str
    stiffness: tuple[float, ...]
    damping: tuple[float, ...]
    mass: float
    position: tuple[float, ...]
    push: PushSpec

    def scenario(self, parameters: dict[str, bool | float]) -> Scenario:
        """The scenario, with other parameters of the controller."""
        told = _load(self.run)
        names = (joint.name for joint in told.robot.description.elastic)
        changes = RobotChanges(
            {BASES.get(self.run.split("/")[0], "base_link"): self.mass},
            dict(zip(names, self.stiffness, strict=True)),
            0.0,
        )
        root = ElementTree.fromstring(changes.apply(told.robot.description, "").text)
        for spring, factor in zip(root.findall("./flexibility/elastic_joint"), self.damping, strict=True):
            spring.set("damping", repr(factor * float(spring.attrib["damping"])))
        real = parse_robot_description(ElementTree.tostring(root, encoding="unicode"))
        nodes = tuple(
            replace(node, parameters=node.parameters | parameters) if node.name == LAW else node for node in told.nodes
        )
        plant = told.plant | {"initial_position": list(self.position)}
        return replace(
            told, plant=plant, plant_robot=replace(told.robot, description=real), nodes=nodes, pushes=(self.push,)
        )


def _load(run: str) -> Scenario:
    robot, name = run.split("/")
    return load_scenario(CONFIG / robot / "scenarios" / f"{name}.yaml")


def drawn(run: str, rng: np.random.Generator, wrong: float = WRONG) -> WrongBase:
    """A random one."""
    told = _load(run)
    directions = len(told.robot.description.elastic)
    factors = rng.uniform(1.0 - wrong, 1.0 + wrong, 2 * directions + 1).tolist()
    away = rng.uniform(-SCENARIOS[run], SCENARIOS[run], len(told.plant["initial_position"]))
    position = tuple((np.array(told.plant["initial_position"]) + away).tolist())
    force, torque = (tuple((rng.uniform(-1.0, 1.0, 3) * most).tolist()) for most in PUSHES[run.split("/")[0]])
    push = PushSpec("base_link", round(rng.uniform(0.2, 1.5), 2), 0.1, force, torque, "rectangle")
    return WrongBase(run, tuple(factors[:directions]), tuple(factors[directions:-1]), factors[-1], position, push)


@dataclass(frozen=True, slots=True)
class Motion:
    """What became of a base.

    Attributes:
        time: (T,) [s].
        size: (T,) root of the elastic energy of the base [sqrt(J)].
        said: why the gate stopped the arm; empty: it did not.
    """

    time: Array
    size: Array
    said: str

    def thrown(self, passive: float) -> bool:
        """Whether the base was thrown, that would have moved by ``passive`` without control."""
        return bool(self.said) or float(self.size.max()) > THROWN * passive


def moved(one: WrongBase, end: float = END, **parameters: bool | float) -> Motion:
    """Run a scenario; ``parameters`` of its controller.

    Raises:
        ConfigError: the gains are refused.
    """
    scenario = one.scenario(parameters)
    pipeline, built, model = changeable_pipeline(scenario)
    plant = built_plant(scenario, model.description)
    springs = np.array([joint.stiffness for joint in scenario.true_robot.description.elastic])
    sizes, said, events = [], "", sorted(scenario.events, key=lambda event: event.at)
    with np.errstate(all="ignore"):
        for _ in range(round(end * scenario.rate)):
            while events and events[0].at <= plant.stamp * 1e-9 + 1e-9:
                event = events.pop(0)
                stage, table = built[event.node]
                stage.change(table.give(event.parameters))
            tick = pipeline.tick(sample_of(plant.measure()))
            pipeline.after()
            refused = tick.refused.get(LAW, "")
            if refused and not sizes:
                raise ConfigError(refused)
            status = pipeline.gate.gate.status
            if status.state is not GateState.RUNNING and status.reason:
                said = status.reason
            sizes.append(np.sqrt(0.5 * springs @ plant.state().deflection ** 2))
            if said:
                break
            try:
                plant.advance(tick.command)
            except PlantDivergedError as error:
                said = str(error)
                break
    return Motion(np.arange(len(sizes)) / scenario.rate, np.array(sizes), said)


def growth(one: WrongBase, rng: np.random.Generator, **parameters: bool | float) -> float:
    """Growth rate of the linear sampled loop at a posture to which the arm has drifted [1/s].

    Args:
        one: run and base.
        rng: draws how far the arm has drifted, up to ``DRIFTED``.
        parameters: of the controller, if they are not as in the scenario.
    """
    scenario = one.scenario(parameters)
    (node,) = (node for node in scenario.nodes if node.name == LAW)
    names = {field.name for field in fields(VibrationControllerConfig)}
    config = VibrationControllerConfig(**{key: value for key, value in node.parameters.items() if key in names})
    gravity = tuple(scenario.gravity)
    told = ArmModel(scenario.robot.description, scenario.robot.tool_frame, gravity)
    real = ArmModel(scenario.true_robot.description, scenario.robot.tool_frame, gravity)
    posture = np.array(one.position) + rng.uniform(-DRIFTED, DRIFTED, told.n)
    loop = SampledModel(
        real, posture, config, BaseSelection(told, tuple(node.parameters.get("selection", ("all",)))),
        Sampling(1.0 / scenario.rate), ToolTask("", PLANE), controller_model=told,
    )  # fmt: skip
    return loop.growth(float(config.vibration_damping))


def passive(one: WrongBase, end: float = END) -> float:
    """How far the base goes without control, the root of its elastic energy [sqrt(J)]."""
    scenario = one.scenario({})
    plant = built_plant(scenario, scenario.robot.description)
    springs = np.array([joint.stiffness for joint in scenario.true_robot.description.elastic])
    most, none = 0.0, np.zeros(len(one.position))
    for _ in range(round(end * scenario.rate)):
        plant.advance(none)
        most = max(most, float(np.sqrt(0.5 * springs @ plant.state().deflection ** 2)))
    return most
