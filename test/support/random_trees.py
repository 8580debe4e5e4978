"""Random robots with branches, all kinds of joints, links that bend in random ways, and elastic joints."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from flexarm_core.flexible_dynamics.modal_data import ModalData, save_modal_data
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.types import Array


@dataclass(frozen=True, slots=True)
class Case:
    """A robot in a random state: URDF text, coordinates, rates, hinge efforts, external wrenches."""

    model: FlexibleModel
    x: Array
    v: Array
    effort: Array
    wrenches: dict[str | tuple[str, int], Array]


def random_case(rng: np.random.Generator, folder: Path, links: int, flexible: float = 0.5) -> Case:
    """A random robot of so many links in a random state under gravity along a random direction.

    Args:
        rng: source.
        folder: for the modal data files.
        links: number of links that may move.
        flexible: part of them that bends.
    """
    text = random_robot(rng, folder, links, flexible)
    model = FlexibleModel(text, tool_frame="link_0", gravity=tuple(5.0 * rng.standard_normal(3)))
    hinges = len(model.hinge_names)
    x, v = rng.uniform(-1.5, 1.5, model.size), rng.standard_normal(model.size)
    x[hinges:] *= 0.1
    wrenches: dict[str | tuple[str, int], Array] = {f"link_{rng.integers(links)}": rng.standard_normal(6)}
    for name, data in model.modal_data.items():
        wrenches[name, int(rng.integers(len(data.mass)))] = rng.standard_normal(6)
    return Case(model, x, v, 3.0 * rng.standard_normal(hinges), wrenches)


def random_robot(rng: np.random.Generator, folder: Path, links: int, flexible: float) -> str:
    """URDF text; modal data goes into files."""
    parts, bends, data = [], [], {}
    springy = {"world"}  # only the base is elastic: no elastic joint outboard of an actuated one
    for i in range(links):
        name, parent = f"link_{i}", f"link_{rng.integers(max(0, i - 3), i)}" if i and rng.random() < 0.9 else "world"
        kinds = ["revolute", "prismatic", "fixed"] if i else ["revolute"]
        kind = kinds[rng.choice(len(kinds), p=[0.6, 0.2, 0.2] if i else [1.0])]
        origin = 0.3 * rng.standard_normal(3)
        if parent in data:
            # on a node, with an offset from it
            nodes = data[parent].position
            origin = nodes[rng.integers(len(nodes))] + 0.02 * rng.standard_normal(3)
        if kind != "fixed" and i and parent in springy and rng.random() < 0.7:
            spring = f'stiffness="{rng.uniform(20, 200)}" damping="{rng.uniform(0, 2)}"'
            bends.append(f'<elastic_joint name="joint_{i}" {spring}/>')
            springy.add(name)
        axis = rng.standard_normal(3)
        parts.append(
            f'<joint name="joint_{i}" type="{kind}"><parent link="{parent}"/><child link="{name}"/>'
            f'<origin xyz="{_words(origin)}" rpy="{_words(rng.uniform(-2, 2, 3))}"/>'
            f'<axis xyz="{_words(axis / np.linalg.norm(axis))}"/>'
            f'<limit lower="-3" upper="3" effort="100" velocity="10"/>'
            f'<dynamics damping="{rng.uniform(0, 1)}" friction="{rng.uniform(0, 1)}"/></joint>'
        )
        mass, center, inertia = rng.uniform(0.5, 2.0), 0.2 * rng.standard_normal(3), random_inertia(rng, 0.1)
        if rng.random() < flexible:
            data[name] = random_modal_data(rng)
            save_modal_data(folder / f"{name}.npz", data[name])
            uri = (folder / f"{name}.npz").as_uri()
            bends.append(f'<flexible_link name="{name}"><modal_data uri="{uri}"/></flexible_link>')
            mass, center, inertia = add_nodes(mass, center, inertia, data[name])
        parts.append(_link(name, mass, center, inertia))
    body = f'<link name="world"/>{"".join(parts)}<flexibility>{"".join(bends)}</flexibility>'
    return f'<robot name="random">{body}</robot>'


def random_inertia(rng: np.random.Generator, size: float) -> Array:
    """Moments of inertia (3, 3) of eight random points, so that they can exist."""
    points = np.sqrt(size) * rng.standard_normal((8, 3))
    return np.einsum("ja,ja,bc->bc", points, points, np.eye(3)) / 8.0 - points.T @ points / 8.0


def random_modal_data(rng: np.random.Generator) -> ModalData:
    """Five nodes on a crooked line, one to four modes that move and turn them in all directions."""
    nodes, k = 5, int(rng.integers(1, 5))
    position = np.cumsum(0.15 * rng.standard_normal((nodes, 3)) + [0.1, 0.0, 0.0], axis=0)
    position[0] = 0.0
    growth = np.linspace(0.0, 1.0, nodes)[:, None, None] ** 2
    root, lossy = rng.standard_normal((2, k, k))
    return ModalData(
        modes=tuple(f"mode_{i}" for i in range(k)),
        position=position,
        mass=rng.uniform(0.1, 0.4, nodes),
        inertia=np.array([random_inertia(rng, 0.01) for _ in range(nodes)]),
        translation=growth * rng.standard_normal((nodes, 3, k)),
        rotation=growth * rng.standard_normal((nodes, 3, k)),
        stiffness=np.diag(rng.uniform(50.0, 2000.0, k)) + root @ root.T,
        damping=lossy @ lossy.T,
    )


def add_nodes(mass: float, center: Array, inertia: Array, data: ModalData) -> tuple[float, Array, Array]:
    """Mass, center and inertia of the whole link: a hub and the undeformed nodes."""
    total = mass + data.mass.sum()
    middle = (mass * center + data.mass @ data.position) / total
    whole = inertia + _steiner(mass, center - middle) + data.inertia.sum(axis=0)
    for m, r in zip(data.mass, data.position, strict=True):
        whole = whole + _steiner(m, r - middle)
    return total, middle, whole


def _steiner(mass: float, c: Array) -> Array:
    return mass * (c @ c * np.eye(3) - np.outer(c, c))


def _words(values: Array) -> str:
    return " ".join(repr(float(value)) for value in values)


def _link(name: str, mass: float, center: Array, inertia: Array) -> str:
    moments = " ".join(
        f'i{a}{b}="{float(inertia["xyz".index(a), "xyz".index(b)])!r}"' for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")
    )
    return (
        f'<link name="{name}"><inertial><origin xyz="{_words(center)}"/><mass value="{float(mass)!r}"/>'
        f"<inertia {moments}/></inertial></link>"
    )
