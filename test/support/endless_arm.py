"""Scenarios whose joints are endless, and encoders that report these modulo a turn, or count from another turn."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
from pipeline_run import sample_of
from rclpy.serialization import serialize_message
from scenario_pipeline import built_pipeline, built_plant
from sensor_msgs.msg import JointState

from flexarm_core.errors import InputError
from flexarm_core.pipeline.pipeline import Pipeline
from flexarm_core.pipeline.stage import advance, finish
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.turns import TURN
from flexarm_core.types import Array, FlexibleSample, JointReference
from flexarm_nodes.messages.conversions import (
    doubles,
    joint_reference_form,
    joint_reference_from_message,
    nanoseconds_to_stamp,
)
from flexarm_nodes.node.input.readings import Readings
from flexarm_tools.scenario.file import load_scenario
from flexarm_tools.scenario.scenario import Scenario


def endless(text: str, names: tuple[str, ...]) -> str:
    """A robot description whose revolute joints of these names turn without limits."""
    for name in names:
        pattern = rf'(<joint name="{name}" type=")revolute(".*?</joint>)'
        found = re.search(pattern, text, re.DOTALL)
        if found is not None:
            freed = re.sub(r'\s(lower|upper)="[^"]*"', "", found[0].replace('"revolute"', '"continuous"'))
            text = text.replace(found[0], freed)
    return text


def endless_scenario(path: Any) -> Scenario:
    """A scenario of a suite's robot, whose revolute joints have become endless."""
    scenario = load_scenario(path)
    known = scenario.robot.description
    freed = parse_robot_description(endless(known.text, known.actuated))
    return replace(scenario, robot=replace(scenario.robot, description=freed))


class Encoders:
    """Reports positions of endless joints in [seam - turn, seam), or, without seams, ``turns`` turns away."""

    def __init__(self, turning: Array, turns: Array, seams: Array | None = None) -> None:
        self._turning, self._turns, self._seams = turning, turns, seams

    def __call__(self, position: Array) -> Array:
        moved = position + TURN * self._turns
        if self._seams is not None:
            moved = moved - TURN * (np.floor((moved - self._seams) / TURN) + 1.0)
        return np.where(self._turning, moved, position)


class Door:
    """The door of a node: what the encoders report, as message, becomes the sample of its stage."""

    def __init__(self, model: Any) -> None:
        self._names, self._readings = model.joint_names, Readings(model, [])

    def __call__(self, sample: FlexibleSample, reported: Array) -> FlexibleSample:
        message = JointState(name=list(self._names), position=doubles(reported), velocity=doubles(sample.velocity))
        message.header.stamp = nanoseconds_to_stamp(sample.stamp)
        heard = self._readings.joints(serialize_message(message))
        return replace(sample, position=heard.position, turned=heard.turned)


class Apart:
    """Stages as nodes of their own: each has its own door, began in its own turn, and hears messages of the others."""

    def __init__(self, pipeline: Pipeline, model: Any, rng: np.random.Generator) -> None:
        self._stages, self._gate, self._model = pipeline.stages, pipeline.gate, model
        self._doors = [Door(model) for _ in self._stages]
        # each has counted turns before the others began
        self._counted = [rng.integers(-3, 4, model.n) for _ in self._stages]
        self._before: JointReference | None = None

    def tick(self, sample: FlexibleSample, reported: Array) -> tuple[Tick, list[str]]:
        """Return the tick of the gate, and what the stages refused."""
        tool = joints = flexible = None
        refused: list[str] = []
        for stage, door, counted in zip(self._stages, self._doors, self._counted, strict=True):
            own = door(sample, reported)
            shift = np.where(self._model.turns.endless, TURN * counted, 0.0)
            own = replace(own, position=own.position + shift)
            heard = None if joints is None else self._sent(joints)
            tick = Tick(own, self._gate.elastic, None, self._before, flexible, tool, heard)
            tick.bring_near(self._model.turns)
            try:
                advance(stage, tick)
            except InputError as error:
                refused.append(f"{stage.name}: {error}")
                joints = None
                continue
            refused += tick.refused.values()
            tool, joints, flexible = tick.tool, tick.joints, tick.flexible
        last = Tick(replace(sample, position=reported), self._gate.elastic, None, None, flexible)
        last.joints = None if joints is None else self._sent(joints)
        self._gate.update(last)
        self._before = joints
        refused += last.refused.values()
        refused += finish(self._stages).values()
        return last, refused

    def _sent(self, reference: JointReference) -> JointReference:
        names = self._model.joint_names
        return joint_reference_from_message(joint_reference_form(reference, names).message(), names)


def run(
    scenario: Scenario, ticks: int, encoders: Encoders | None = None, apart: np.random.Generator | None = None
) -> dict[str, Array]:
    """What a scenario does: true positions (T, n), commands (T, n), and what was refused.

    Without ``encoders``, they count. With ``apart`` every stage is a node of its own, else all share a process.
    """
    pipeline, _, model = built_pipeline(scenario)
    plant = built_plant(scenario, model.description)
    nodes, door = None if apart is None else Apart(pipeline, model, apart), Door(model)
    rows: dict[str, list[Any]] = {"position": [], "command": [], "refused": []}
    for _ in range(ticks):
        sample = sample_of(plant.measure())
        reported = sample.position if encoders is None else encoders(sample.position)
        if nodes is None:
            tick = pipeline.tick(sample if encoders is None else door(sample, reported))
            refused = [*tick.refused.values(), *pipeline.after().values()]
        else:
            tick, refused = nodes.tick(sample, reported)
        command = tick.command
        if command is not None and pipeline.gate.gate.config.command_mode == "position":
            assert np.abs(command - reported).max() < 1.0, "the drive would be sent a turn"
            command = command + (sample.position - reported)
        rows["position"].append(sample.position)
        rows["command"].append(np.full(model.n, np.nan) if command is None else command)
        rows["refused"] += refused
        plant.advance(command)
    return {name: np.array(row) for name, row in rows.items()}
