"""Gazebo's world: its step and gravity, and the surfaces that a tool can touch."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.robot.transforms import roll_pitch_yaw_to_rotation
from flexarm_sim.surfaces import Surface
from flexarm_tools.gazebo.xml_parts import add, inertial, numbers, pose, shape_tag

DEFAULT_STEP, DEFAULT_GRAVITY = 0.001, (0.0, 0.0, -9.8)  # of SDF
SURROUNDINGS = "surroundings"
BODY_MASS = 0.1  # [kg] least mass of a surface on its springs
BETWEEN = 0.1  # of that mass: of each body between two springs
SLAB = (2.0, 2.0, 0.2)  # [m] that stands for a plane: one that moves cannot be without end


@dataclass(frozen=True, slots=True)
class GazeboWorld:
    """Properties of the world on which a model depends.

    Attributes:
        name: name of the world.
        step: integration step [s].
        gravity: (3,) gravity [m/s^2].
    """

    name: str
    step: float
    gravity: tuple[float, float, float]


def read_world(text: str) -> GazeboWorld:
    """Return name, step and gravity of a world.

    Raises:
        ConfigError: the text is not an SDF file with one world.
    """
    world = _world(_parsed(text))
    step = world.findtext("physics/max_step_size")
    gravity = (world.findtext("gravity") or "").split()
    try:
        x, y, z = map(float, gravity or DEFAULT_GRAVITY)
        return GazeboWorld(world.get("name", ""), float(step or DEFAULT_STEP), (x, y, z))
    except ValueError as error:
        raise ConfigError(f"the world's max_step_size '{step}' or gravity '{' '.join(gravity)}' is wrong") from error


def steps_in_period(rate: float, step: float) -> int:
    """Return how many steps of a world make a period of the controller manager.

    Raises:
        ConfigError: no whole number; Gazebo's controller manager would run at another rate than the nodes.
    """
    steps = round(1.0 / (rate * step))
    if steps < 1 or abs(steps * rate * step - 1.0) > 1e-6:
        below = int(1.0 / (rate * step))
        near = sorted({1.0 / (step * max(1, count)) for count in (below, below + 1)} if below else {1.0 / step})
        rates = " or ".join(f"{one:.6g}" for one in near)
        raise ConfigError(
            f"a rate of {rate:g} Hz does not go with the world's step of {step:g} s: its period is no whole number of "
            f"steps; use {rates} Hz, or a world with another max_step_size"
        )
    return steps


def world_with(text: str, gravity: Sequence[float] | None = None, real_time_factor: float | None = None) -> str:
    """Return a world with another gravity (3,) [m/s^2] or another speed, as a fraction of real time.

    Raises:
        ConfigError: the text is not an SDF file with one world.
    """
    sdf = _parsed(text)
    world = _world(sdf)
    if gravity is not None:
        _only(world, "gravity", numbers(*gravity))
    if real_time_factor is not None:
        for physics in world.findall("physics") or [ElementTree.SubElement(world, "physics", {"type": "ignored"})]:
            _only(physics, "real_time_factor", numbers(real_time_factor))
            for tag in physics.findall("real_time_update_rate"):
                physics.remove(tag)
    return ElementTree.tostring(sdf, encoding="unicode")


def _only(parent: ElementTree.Element, name: str, text: str) -> None:
    for tag in parent.findall(name):
        parent.remove(tag)
    add(parent, name, text)


def surroundings_model(surfaces: Sequence[Surface], step: float = DEFAULT_STEP, name: str = SURROUNDINGS) -> str:
    """Return surfaces as an SDF model, with the root link's frame as its own.

    DART knows no stiffness of a contact. Therefore the body of a surface is light and stands on springs of its
    stiffness: a plane, here a slab, gives way along its normal, a box in all three directions. Friction is the
    surface's. DART takes forces of springs and dampers as those at the end of a step ``h``, as if ``m`` were
    ``m + h D + h^2 K``, but not those of contacts: for a stiffness ``k`` and damping ``d`` that a tool feels::

        K = s k,   D = s max(0, d - h k),   s = 1 / (1 - h max(d, h k) / m)

    Args:
        surfaces: surfaces that the tool can touch.
        step: integration step of the world [s].
        name: name of the model.
    """
    sdf = ElementTree.Element("sdf", {"version": "1.9"})
    model = ElementTree.SubElement(sdf, "model", {"name": name})
    for surface in surfaces:
        transform = np.eye(4)
        transform[:3, :3], transform[:3, 3] = roll_pitch_yaw_to_rotation(*surface.rpy), surface.position
        parent = "world"
        directions = "z" if surface.kind == "plane" else "xyz"
        slow = step * max(surface.damping, step * surface.stiffness)  # [kg]
        mass = max(BODY_MASS, 4.0 * slow)
        for axis in directions:
            last = axis == directions[-1]
            link = f"{surface.name}{'' if last else f'__{axis}'}"
            tag = ElementTree.SubElement(model, "link", {"name": link})
            pose(tag, transform)
            add(tag, "gravity", "false")
            own = mass if last else BETWEEN * mass
            inertial(tag, own, np.zeros(3), own * np.eye(3))
            carried = mass * (1.0 + BETWEEN * (len(directions) - 1 - directions.index(axis)))
            scale = 1.0 / (1.0 - slow / carried)
            if last:
                _touchable(tag, surface)
            joint = ElementTree.SubElement(
                model, "joint", {"name": f"{surface.name}__{axis}_spring", "type": "prismatic"}
            )
            add(joint, "parent", parent)
            add(joint, "child", link)
            along = ElementTree.SubElement(joint, "axis")
            add(along, "xyz", numbers(*(float(axis == one) for one in "xyz")))
            dynamics = ElementTree.SubElement(along, "dynamics")
            add(dynamics, "spring_reference", "0")
            add(dynamics, "spring_stiffness", numbers(scale * surface.stiffness))
            add(dynamics, "damping", numbers(scale * max(0.0, surface.damping - step * surface.stiffness)))
            ElementTree.SubElement(along, "limit")
            parent = link
    ElementTree.indent(sdf)
    return ElementTree.tostring(sdf, encoding="unicode")


def _touchable(link: ElementTree.Element, surface: Surface) -> None:
    for kind in ("collision", "visual"):
        tag = ElementTree.SubElement(link, kind, {"name": kind})
        if surface.kind == "box":
            shape_tag(tag, "box", [2.0 * half for half in surface.half_extents])
        else:
            below = np.eye(4)
            below[2, 3] = -0.5 * SLAB[2]
            pose(tag, below)
            shape_tag(tag, "box", SLAB)
        if kind == "collision":
            friction = ElementTree.SubElement(ElementTree.SubElement(tag, "surface"), "friction")
            ode = ElementTree.SubElement(friction, "ode")
            add(ode, "mu", numbers(surface.friction))
            add(ode, "mu2", numbers(surface.friction))


def _parsed(text: str) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ConfigError(f"the world is not an SDF file: {error}") from error


def _world(sdf: ElementTree.Element) -> ElementTree.Element:
    worlds = sdf.findall("world")
    if len(worlds) != 1:
        raise ConfigError(f"the world's file has {len(worlds)} worlds, expected one")
    return worlds[0]
