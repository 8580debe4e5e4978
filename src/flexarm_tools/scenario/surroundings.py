"""Environment of a robot as shapes: surfaces of the simulated plant, and obstacles of the behaviors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from flexarm_core.behavior_impedance.avoidance.obstacles import KINDS, Obstacle, obstacles_from_lists
from flexarm_core.errors import ConfigError
from flexarm_core.robot.description import RobotDescription, Shape
from flexarm_core.robot.transforms import roll_pitch_yaw_to_rotation
from flexarm_core.types import Array
from flexarm_tools.scenario.scenario import Scenario

SURFACE, OBSTACLE = (0.72, 0.68, 0.60, 1.0), (0.75, 0.35, 0.30, 1.0)
PLATE = (0.5, 0.5, 0.01)  # [m] size of the box that is drawn just below a plane
BEHAVIORS = "behavior_impedance_controller"
OBSTACLES = ("names", "kinds", "positions", "rpys", "sizes")


def surrounded(scenario: Scenario) -> RobotDescription:
    """Return the simulated robot with the environment added as shapes of its root link and its base link."""
    description = scenario.true_robot.description
    links = dict(description.links)
    for link, shapes in (
        (description.root, tuple(surface_shapes(scenario.plant))),
        (
            description.base_frame,
            tuple(shape for node in scenario.nodes for shape in obstacle_shapes(node.parameters)),
        ),
    ):
        links[link] = replace(links[link], shapes=links[link].shapes + shapes)
    return replace(description, links=links)


def surface_shapes(plant: Mapping[str, Any]) -> Iterator[Shape]:
    """Yield the surfaces of the simulated plant in the frame of the root link, from the plant's parameters."""
    kinds, count = plant.get("surfaces.kinds") or (), len(plant.get("surfaces.names") or ())
    positions, rpys, halves = (
        np.reshape(plant.get(f"surfaces.{name}") or np.zeros(3 * count), (-1, 3))
        for name in ("positions", "rpys", "half_extents")
    )
    for kind, position, rpy, half in zip(kinds, positions, rpys, halves, strict=True):
        rotation = roll_pitch_yaw_to_rotation(*rpy)
        if kind == "plane":
            yield _box(PLATE, position - 0.5 * PLATE[2] * rotation[:, 2], rotation, SURFACE)
        else:
            yield _box(tuple(2.0 * half), position, rotation, SURFACE)


def obstacle_shapes(parameters: Mapping[str, Any]) -> Iterator[Shape]:
    """Yield the obstacles of a node's behaviors in the frame of the base link; the node may be a control loop."""
    for before in ("", f"{BEHAVIORS}."):
        for name in parameters.get(f"{before}behaviors") or ():
            if parameters.get(f"{before}{name}.kind") == "obstacles":
                lists: list[Any] = [parameters.get(f"{before}{name}.{what}") or [] for what in OBSTACLES]
                try:
                    yield from (_shape(obstacle) for obstacle in obstacles_from_lists(*lists))
                except ConfigError:  # the node itself reports the error in more detail
                    continue


def _shape(obstacle: Obstacle) -> Shape:
    assert obstacle.kind in KINDS
    if obstacle.kind == "sphere":
        return Shape("sphere", obstacle.size, _transform(obstacle.position, np.eye(3)), OBSTACLE)
    if obstacle.kind == "box":
        return _box(tuple(2.0 * half for half in obstacle.size), obstacle.position, obstacle.rotation, OBSTACLE)
    below = obstacle.position - 0.5 * PLATE[2] * obstacle.rotation[:, 2]
    return _box(PLATE, below, obstacle.rotation, OBSTACLE)


def _box(size: tuple[float, ...], position: Array, rotation: Array, rgba: tuple[float, float, float, float]) -> Shape:
    return Shape("box", tuple(float(length) for length in size), _transform(position, rotation), rgba)


def _transform(position: Array, rotation: Array) -> Array:
    transform = np.eye(4)
    transform[:3, :3], transform[:3, 3] = rotation, position
    return transform
