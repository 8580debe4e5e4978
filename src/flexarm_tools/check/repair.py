"""`flexarm check --repair`: a copy of a description in which every inertia is that of a body."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from flexarm_core.errors import ConfigError
from flexarm_core.robot.dynamics_check import impossible_inertia
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.xml_reader import read_robot_xml
from flexarm_core.types import Array

ENTRIES = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}


def repair(path: Path, output: Path, arguments: dict[str, str] | None = None) -> str:
    """Write a copy of a description with the nearest physical inertias, and return what was changed, in words.

    Args:
        path: ``.urdf`` or ``.xacro`` file.
        output: URDF file to write.
        arguments: xacro arguments.

    Raises:
        RobotDescriptionError: the description is not the XML of a robot.
        ConfigError: the output cannot be written, or already exists.
    """
    element = read_robot_xml(load_robot_description(path, arguments))
    changes = []
    for link in element.findall("link"):
        for tag in link.findall("./inertial/inertia"):
            if wrong := impossible_inertia(inertia_of(tag)):
                changes.append(f"link '{link.get('name')}': {wrong}; changed by {set_nearest_inertia(tag):.2g} %")
    if not changes:
        return f"{path.name}: every inertia is that of a body; nothing was written"
    element.insert(0, ElementTree.Comment(f" inertias that flexarm check has repaired: {'; '.join(changes)} "))
    write_new(output, ElementTree.tostring(element, encoding="unicode") + "\n")
    return "\n".join([f"{path.name}: {len(changes)} inertias changed", *(f"  {one}" for one in changes), f"  {output}"])


def write_new(path: Path, text: str) -> None:
    """Write a file that does not exist yet.

    Raises:
        ConfigError: the file cannot be written, or already exists.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise ConfigError(f"'{path}' exists and stays as it is: choose another name, or remove it") from error
    except OSError as error:
        raise ConfigError(f"'{path}' cannot be written: {error.strerror}") from error


def set_nearest_inertia(tag: ElementTree.Element) -> float:
    """Write the nearest physical inertia to an ``<inertia>``, and return by how much it changed [%]."""
    given = inertia_of(tag)
    nearest = nearest_inertia(given)
    for name, (i, j) in ENTRIES.items():
        tag.set(name, repr(float(nearest[i, j])))
    return float(100.0 * np.linalg.norm(nearest - given) / np.linalg.norm(given))


def inertia_of(tag: ElementTree.Element) -> Array:
    """Return the matrix (3, 3) of an ``<inertia>`` [kg*m^2]."""
    given = np.zeros((3, 3))
    for name, (i, j) in ENTRIES.items():
        given[i, j] = given[j, i] = float(tag.get(name, 0.0))
    return given


def nearest_inertia(inertia: Array) -> Array:
    """Return the physical inertia (3, 3) that is nearest to a matrix (3, 3), in the Frobenius norm [kg*m^2].

    The principal axes stay. The principal inertias of a body are sums of two second moments ``s >= 0`` of its mass,
    ``(s_2 + s_3, s_3 + s_1, s_1 + s_2)``: the nearest ones are a least-squares problem in ``s``.
    """
    values, axes = np.linalg.eigh(inertia)
    sums = 1.0 - np.eye(3)
    nearest: Array = axes @ np.diag(sums @ nnls(sums, values)[0]) @ axes.T
    return nearest
