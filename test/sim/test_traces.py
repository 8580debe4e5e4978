"""Traces of the ground truth, which are looked at later, are the states to the bit."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flexarm_core.records import stacked
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_sim.backend import Backend, PlantState
from flexarm_sim.flexible_backend import FlexibleBackend
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.surfaces import Surface

URDF = Path(__file__).resolve().parents[2] / "urdf"


def bits(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: bits(one) for name, one in value.items()}
    return np.shape(value), np.asarray(value).tobytes()


def touching_boom(wide: float = 0.05) -> Backend:
    """A boom with a bending forearm and friction, whose tool is pressed against a wall."""
    robot = load_robot_description(URDF / "boom_7r.urdf.xacro", {"flexible_forearm": "true"})
    position = [0.476, 1.311, -1.378, -1.555, -0.054, -1.214, 1.8]
    free = MujocoBackend(parse_robot_description(robot), gravity=(0.0, 0.0, 0.0), segments=2)
    free.reset(position)
    at = free.state().tool_position_in_world
    wall = Surface("wall", "box", (*(at + [0.0, 0.0, -wide]),), (0.0, 0.0, 0.0), 3e3, half_extents=(wide, wide, wide))
    friction = JointFriction(coulomb=(1.0,), viscous=(0.5,))
    backend = MujocoBackend(
        parse_robot_description(robot), gravity=(0.0, 0.0, 0.0), segments=2, surfaces=[wall], friction=friction
    )
    backend.reset(position, np.full(7, 0.1))
    return backend


def rigid_arm(kind: Any) -> Backend:
    robot = parse_robot_description(load_robot_description(URDF / "planar_3r.urdf.xacro"))
    backend: Backend = kind(robot)
    backend.reset([0.5, -0.7, 0.4], [0.3, 0.1, -0.4], [0.01])
    return backend


def bare_arm(kind: Any) -> Backend:
    """An arm without sensors and elastic joints, as makers describe theirs: many parts of its traces are empty."""
    text = """<robot name="bare"><link name="a"/><link name="b"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute">
      <parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
      <limit lower="-1" upper="1" velocity="1" effort="9"/></joint>
      </robot>"""
    backend: Backend = kind(parse_robot_description(text))
    backend.reset([0.3], [0.1], [])
    return backend


MADE = [
    touching_boom,
    *(
        lambda make=make, kind=kind: make(kind)
        for make in (rigid_arm, bare_arm)
        for kind in (MujocoBackend, FlexibleBackend)
    ),
]


@pytest.mark.parametrize("make", MADE)
def test_many_traces_give_the_states_of_their_times(make: Any) -> None:
    backend, draw = make(), np.random.default_rng(3)
    states: list[PlantState] = []
    traces = []
    for _ in range(40):
        backend.step(draw.normal(size=len(backend.joint_names)), 0.001)
        traces.append(backend.trace())
        states.append(backend.state())
    whole, later = stacked(states), backend.traced(traces)
    for field in fields(PlantState):
        assert bits(getattr(later, field.name)) == bits(getattr(whole, field.name)), field.name
    if make is touching_boom:  # or the test would not have seen what it is about
        assert whole.contacts["wall"].any() and whole.friction.any() and whole.modal_rate.any()
