"""Triangle meshes of a robot's links: visual geometry, else collision geometry, else rods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import trimesh
from numpy.typing import NDArray

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.description import RobotDescription, Shape
from flexarm_core.types import Array
from flexarm_core.uri import find_mesh

ROD_RADIUS = 0.02  # radius of the rods for links without geometry, relative to the longest rod
THICK = 0.06  # [m] radius of links without geometry, for what they touch
PIECES = 24  # number of pieces of a flexible link along its length
FINEST, COARSER = 200.0, 1.15  # cells along the longest mesh in the first grid, and growth of the cells of the next
Color = tuple[float, float, float]  # red, green, blue, 0 to 1
GRAY: Color = (0.6, 0.6, 0.65)
DARKEST = 0.3  # brightness with which black parts still have a shape, also on a dark page


@dataclass(frozen=True, slots=True)
class Solid:
    """Triangle mesh in the frame of a link."""

    vertices: Array  # (N, 3) [m]
    faces: NDArray[np.int64]  # (M, 3) indices of vertices
    color: Color


def link_solids(description: RobotDescription, complain: Callable[[str], None]) -> dict[str, list[Solid]]:
    """Return the solids of every visible link.

    Args:
        description: the robot.
        complain: called with a message for every mesh that cannot be loaded.
    """
    solids = {name: [shape_solid(shape) for shape in link.shapes] for name, link in description.links.items()}
    for name, found in further_solids(description, complain).items():
        solids[name] += found
    for name in description.flexible_links:
        solids[name] = [_divided(solid) for solid in solids[name]]
    return {name: found for name, found in solids.items() if found}


def further_solids(
    description: RobotDescription, complain: Callable[[str], None], file: Path | None = None
) -> dict[str, list[Solid]]:
    """Return the visible solids of the links in addition to their primitive shapes: meshes, collision geometry, rods.

    Args:
        description: the robot.
        complain: called with a message for every mesh that cannot be loaded.
        file: file of the description; packages that are not in the environment are searched in the folders above it,
            with any names, and relative paths beside it.
    """
    found: dict[str, list[Solid]] = {}
    robot = ElementTree.fromstring(description.text)
    named = {material.get("name", ""): color for material in robot.findall("material") if (color := _color(material))}
    for element in robot.findall("link"):
        name = element.get("name", "")
        own = _meshes(element, "visual", named, complain, file)
        if not own and not description.links[name].shapes:
            own = _collision_primitives(element) + _meshes(element, "collision", named, complain, file)
        if own:
            found[name] = own
    seen = {name for name, link in description.links.items() if link.shapes or name in found}
    for name, rods in _rods(description, seen).items():
        found.setdefault(name, []).extend(rods)
    return found


def solids_to_touch(description: RobotDescription) -> dict[str, list[Solid]]:
    """Return the contact geometry of the links: collision geometry, else visual geometry, else thick rods."""
    found: dict[str, list[Solid]] = {}
    missing: list[str] = []  # the report says which
    for element in ElementTree.fromstring(description.text).findall("link"):
        name = element.get("name", "")
        own = _collision_primitives(element) + _meshes(element, "collision", {}, missing.append)
        if not own:
            own = [shape_solid(shape) for shape in description.links[name].shapes]
            own += _meshes(element, "visual", {}, missing.append)
        if own:
            found[name] = own
    return found | _rods(description, set(found), THICK)


def simplified(solids: Mapping[str, Sequence[Solid]], most: int) -> dict[str, list[Solid]]:
    """Return solids with at most this many triangles together: vertices in one cell of a grid become one, their mean.

    The grid is as fine as the number allows, and the same for all links.
    """
    every = [solid for found in solids.values() for solid in found]
    cell = max((float(np.ptp(solid.vertices, axis=0).max()) for solid in every), default=0.0) / FINEST
    kept = {name: list(found) for name, found in solids.items()}
    while cell > 0.0 and (count := sum(len(solid.faces) for found in kept.values() for solid in found)) > most:
        kept = {name: [_clustered(solid, cell) for solid in found] for name, found in solids.items()}
        cell *= max(COARSER, (count / most) ** 0.25)  # the number falls with the square of the size, or more slowly
    return {name: [solid for solid in found if len(solid.faces)] for name, found in kept.items()}


def _clustered(solid: Solid, cell: float) -> Solid:
    places, where = np.unique(np.floor(solid.vertices / cell).astype(np.int64), axis=0, return_inverse=True)
    where = where.reshape(-1)
    count = np.bincount(where, minlength=len(places))
    mean = np.stack([np.bincount(where, solid.vertices[:, i], len(places)) / count for i in range(3)], axis=1)
    faces = where[solid.faces]
    sound = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
    faces = faces[sound]
    _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    faces = faces[np.sort(first)]
    used, numbers = np.unique(faces, return_inverse=True)
    return Solid(mean[used], numbers.reshape(faces.shape), solid.color)


def _primitive(kind: str, size: tuple[float, ...]) -> trimesh.Trimesh:
    if kind == "box":
        return trimesh.creation.box(extents=size)
    if kind == "cylinder":
        return trimesh.creation.cylinder(radius=size[0], height=size[1], sections=32)
    ball = trimesh.creation.icosphere(subdivisions=2)  # of radius 0 its points are not numbers
    return ball.apply_scale(size[0])


def shape_solid(shape: Shape) -> Solid:
    """Return the triangle mesh of a primitive shape."""
    mesh = _primitive(shape.kind, shape.size)
    mesh.apply_transform(shape.transform_shape_to_link)
    red, green, blue, _ = shape.rgba
    return Solid(np.array(mesh.vertices), np.array(mesh.faces), (red, green, blue))


def _meshes(
    link: ElementTree.Element,
    kind: str,
    named: Mapping[str, Color],
    complain: Callable[[str], None],
    file: Path | None = None,
) -> list[Solid]:
    """Return the meshes of a ``<link>``, without those that cannot be loaded, in their own colors as in RViz."""
    found = []
    for element in link.findall(kind):
        mesh = element.find("geometry/mesh")
        if mesh is None:
            continue
        uri = mesh.get("filename", "")
        try:
            parts = _by_color(find_mesh(uri, file))
        except (RobotDescriptionError, OSError, ValueError, ImportError, KeyError) as error:
            reason = str(error).partition(f"'{uri}': ")[2] or str(error)
            complain(f"mesh {Path(uri).name} of link '{link.get('name')}' is not shown: {reason}")
            continue
        material = element.find("material")
        described = None if material is None else _color(material) or named.get(material.get("name", ""))
        scale, origin = _numbers(mesh.get("scale"), (1.0, 1.0, 1.0)), _origin(element)
        for color, part in parts.items():
            part.apply_scale(scale)
            part.apply_transform(origin)
            red, green, blue = color or described or GRAY
            more = max(DARKEST - max(red, green, blue), 0.0)
            shown = (red + more, green + more, blue + more)
            found.append(Solid(np.array(part.vertices), np.array(part.faces), shown))
    return found


def _by_color(file: Path) -> dict[Color | None, trimesh.Trimesh]:
    """Return the triangles of a mesh file in meters, by their color; those without one at ``None``.

    Raises:
        ValueError: the file has no triangles.
    """
    loaded = trimesh.load(str(file))
    pieces = loaded.dump() if isinstance(loaded, trimesh.Scene) else [loaded]
    factor = trimesh.units.unit_conversion(loaded.units or "meters", "meters") if file.suffix.lower() == ".dae" else 1.0
    parts: dict[Color | None, list[trimesh.Trimesh]] = {}
    for piece in pieces:
        if isinstance(piece, trimesh.Trimesh) and len(piece.faces):
            main = getattr(getattr(piece.visual, "material", None), "main_color", trimesh.visual.color.DEFAULT_COLOR)
            red, green, blue = (float(value) / 255.0 for value in main[:3])
            color = None if np.array_equal(main, trimesh.visual.color.DEFAULT_COLOR) else (red, green, blue)
            parts.setdefault(color, []).append(trimesh.Trimesh(piece.vertices * factor, piece.faces))
    if not parts:
        raise ValueError("no triangles in it")
    return {color: trimesh.util.concatenate(every) for color, every in parts.items()}


def _color(material: ElementTree.Element) -> Color | None:
    """Return the color of a ``<material>``; none if it only names one."""
    color = material.find("color")
    if color is None:
        return None
    red, green, blue, *_ = _numbers(color.get("rgba"), (*GRAY, 1.0))
    return red, green, blue


def _collision_primitives(link: ElementTree.Element) -> list[Solid]:
    found = []
    for element in link.findall("collision"):
        for kind, names in (("box", ("size",)), ("cylinder", ("radius", "length")), ("sphere", ("radius",))):
            shape = element.find(f"geometry/{kind}")
            if shape is not None:
                size = tuple(value for name in names for value in _numbers(shape.get(name), ()))
                found.append(shape_solid(Shape(kind, size, _origin(element), (*GRAY, 1.0))))
    return found


def _rods(description: RobotDescription, seen: set[str], radius: float = 0.0) -> dict[str, list[Solid]]:
    """Return a rod to each joint of every link without geometry, unless a child fixed to the link has geometry.

    Without a radius [m], the rods are thin beside their length.
    """
    fixed = {joint.parent for joint in description.joints.values() if joint.kind == "fixed" and joint.child in seen}
    ends = [
        (joint.parent, joint.transform_child_to_parent[:3, 3])
        for joint in description.joints.values()
        if joint.parent not in seen | fixed and np.linalg.norm(joint.transform_child_to_parent[:3, 3]) > 1e-6
    ]
    longest = max((float(np.linalg.norm(end)) for _, end in ends), default=0.0)
    rods: dict[str, list[Solid]] = {}
    for name, end in ends:
        rod = trimesh.creation.cylinder(radius=radius or ROD_RADIUS * longest, segment=(np.zeros(3), end), sections=16)
        rods.setdefault(name, []).append(Solid(np.array(rod.vertices), np.array(rod.faces), GRAY))
    return rods


def _divided(solid: Solid) -> Solid:
    """Return the solid with triangles small enough to be deformed."""
    size = float(np.ptp(solid.vertices, axis=0).max()) / PIECES
    vertices, faces = trimesh.remesh.subdivide_to_size(solid.vertices, solid.faces, max_edge=2.0 * size)
    return Solid(np.asarray(vertices), np.asarray(faces), solid.color)


def _origin(element: ElementTree.Element) -> Array:
    origin = element.find("origin")
    if origin is None:
        return np.eye(4)
    transform: Array = trimesh.transformations.euler_matrix(*_numbers(origin.get("rpy"), (0.0, 0.0, 0.0)), axes="sxyz")
    transform[:3, 3] = _numbers(origin.get("xyz"), (0.0, 0.0, 0.0))
    return transform


def _numbers(text: str | None, default: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(float(word) for word in text.split()) if text else default
