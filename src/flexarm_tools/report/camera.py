"""View of the report's animation: a direction that shows the tool, and a width that contains all drawn parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array
from flexarm_tools.recording.recording import Recording
from flexarm_tools.report.forward_kinematics import link_transforms
from flexarm_tools.report.solids import Solid
from flexarm_tools.report.svg_plot import within_reason

SIGHTED_FRAMES = 80  # frames of each run that are used to choose the view
AZIMUTH, ELEVATION = 0.6, 0.5  # [rad] the usual view of a motion in space
AZIMUTHS = 24  # number of azimuths that are tried
# Cost of an azimuth: frames in which walls hide the tool count 1; the arm may shine through, and the other two decide
# between equally good ones.
HIDDEN_BY_ARM, FORESHORTENED, TURNED = 0.6, 0.5, 0.3
TOUCH = 0.03  # [m] what is closer to the tool does not hide it: the wall that it touches
SIGNS = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T


@dataclass(frozen=True, slots=True)
class View:
    """Direction of view of a robot, in parallel projection."""

    azimuth: float  # rotation of the picture's horizontal about the root link's z axis [rad]
    elevation: float  # elevation of the eye above the root link's x-y plane [rad]
    center: Array  # (3,) center of everything that is drawn [m]
    size: Array  # (2,) width and height of everything that is drawn, in this view [m]
    radius: float  # radius of a sphere around everything [m]
    floor: float  # lowest z of everything [m]

    @property
    def axes(self) -> Array:
        """(3, 3) columns: right, up, towards the eye, in axes of the root link."""
        ca, sa, ce, se = np.cos(self.azimuth), np.sin(self.azimuth), np.cos(self.elevation), np.sin(self.elevation)
        return np.array([[ca, -sa * se, sa * ce], [sa, ca * se, -ca * ce], [0.0, ce, se]])


def choose_view(
    description: RobotDescription,
    recordings: Sequence[Recording],
    solids: Mapping[str, Sequence[Solid]] = MappingProxyType({}),
    tool_frame: str = "",
    exaggeration: float = 1.0,
) -> View:
    """Choose an oblique view of a robot, nearly perpendicular to its plane of motion if there is one, and its size.

    Of a motion in space it is the view in which walls and the arm itself hide the tool least.

    Args:
        description: the robot with its surroundings.
        recordings: recordings of the runs.
        solids: visible solids of the links in addition to their primitive shapes.
        tool_frame: tool link; empty: it may be hidden.
        exaggeration: factor by which the base motion is drawn.
    """
    boxes, origins = _drawn_boxes(description, recordings, solids, exaggeration)
    corners = np.concatenate([*(box.corners.reshape(-1, 3) for box in boxes), origins.reshape(-1, 3)])
    travel = np.ptp(origins, axis=0).max(axis=0)
    azimuth, elevation = AZIMUTH, ELEVATION
    if travel.min() < 0.02 * travel.max():
        across = int(np.argmin(travel))
        azimuth, elevation = ((np.pi / 2 + 0.3, 0.3), (0.3, 0.3), (-0.3, 0.95))[across]
    elif tool_frame:
        azimuth = _open_azimuth(description, boxes, origins[:, list(description.links).index(tool_frame)], tool_frame)
    view = View(azimuth, elevation, np.zeros(3), np.zeros(2), 0.0, float(corners[:, 2].min()))
    seen = corners @ view.axes
    middle = view.axes @ (seen.min(axis=0) + seen.max(axis=0)) / 2
    radius = float(np.linalg.norm(corners - middle, axis=1).max())
    return replace(view, center=middle, size=np.ptp(seen[:, :2], axis=0), radius=radius)


@dataclass(frozen=True, slots=True)
class _Box:
    """Bounding box of what is drawn of a link, in F frames."""

    link: str  # name of the link
    pose: Array  # (F, 4, 4) of its center
    size: Array  # (3,) lengths of its edges [m]

    @property
    def corners(self) -> Array:
        """(F, 8, 3) corners [m]."""
        corners: Array = (SIGNS * self.size / 2) @ self.pose[:, :3, :3].swapaxes(1, 2) + self.pose[:, None, :3, 3]
        return corners

    def hides(self, points: Array, direction: Array) -> NDArray[np.bool_]:
        """Return in which frames (F,) it lies between points (F, 3) and an eye far away in a direction (3,)."""
        rotation = self.pose[:, :3, :3]
        begin = np.einsum("fji,fj->fi", rotation, points - self.pose[:, :3, 3])
        along = np.einsum("fji,j->fi", rotation, direction)
        along = np.where(np.abs(along) < 1e-9, 1e-9, along)
        sides = np.stack([(sign * self.size / 2 - begin) / along for sign in (-1.0, 1.0)])
        entry, leave = sides.min(axis=0).max(axis=1), sides.max(axis=0).min(axis=1)
        hidden: NDArray[np.bool_] = (entry < leave) & (leave > TOUCH)
        return hidden


def _open_azimuth(description: RobotDescription, boxes: Sequence[_Box], tool: Array, tool_frame: str) -> float:
    """Return the azimuth from which the tool (F, 3) is seen best: hidden in few frames, its path not foreshortened."""
    own = {tool_frame}  # the tool, and what is fixed to it
    for joint in reversed(description.joints.values()):
        if joint.child in own and joint.kind == "fixed":
            own.add(joint.parent)
    others = [box for box in boxes if box.link not in own]
    extent = float(np.linalg.norm(np.ptp(tool, axis=0))) or 1.0
    best, chosen = np.inf, AZIMUTH
    for step in sorted(range(AZIMUTHS), key=lambda step: min(step, AZIMUTHS - step)):  # the usual one first
        azimuth = AZIMUTH + 2.0 * np.pi * step / AZIMUTHS
        axes = View(azimuth, ELEVATION, np.zeros(3), np.zeros(2), 0.0, 0.0).axes
        hidden = np.zeros(len(tool))
        for box in others:
            weight = HIDDEN_BY_ARM if box.link not in (description.root, description.base_frame) else 1.0
            hidden = np.maximum(hidden, weight * box.hides(tool, axes[:, 2]))
        foreshortened = 1.0 - float(np.linalg.norm(np.ptp(tool @ axes[:, :2], axis=0))) / extent
        cost = float(hidden.mean()) + FORESHORTENED * foreshortened + TURNED * min(step, AZIMUTHS - step) / AZIMUTHS
        if cost < best - 1e-9:
            best, chosen = cost, azimuth
    return float((chosen + np.pi) % (2.0 * np.pi) - np.pi)


def _drawn_boxes(
    description: RobotDescription,
    recordings: Sequence[Recording],
    solids: Mapping[str, Sequence[Solid]],
    exaggeration: float,
) -> tuple[list[_Box], Array]:
    """Return the bounding boxes of all shapes in some frames of the runs, and the origins (F, links, 3) of links."""
    values = np.concatenate([_some_frames(recording, exaggeration) for recording in recordings])
    names = (*recordings[0].joint_names, *recordings[0].elastic_names)
    poses = link_transforms(description, dict(zip(names, values.T, strict=True)))
    poses = {name: np.broadcast_to(poses[name], (len(values), 4, 4)) for name in description.links}
    boxes = []
    for name, link in description.links.items():
        for shape in link.shapes:
            size = np.array(_box_size(shape.kind, shape.size))
            boxes.append(_Box(name, poses[name] @ shape.transform_shape_to_link, size))
        for solid in solids.get(name, ()):
            low, high = solid.vertices.min(axis=0), solid.vertices.max(axis=0)
            middle = np.eye(4)
            middle[:3, 3] = (low + high) / 2
            boxes.append(_Box(name, poses[name] @ middle, high - low))
    return boxes, np.stack([pose[:, :3, 3] for pose in poses.values()], axis=1)


def _some_frames(recording: Recording, exaggeration: float) -> Array:
    """Return the positions of actuated and elastic joints, the latter exaggerated, in some frames of a run."""
    ticks = np.unique(np.linspace(0, recording.ticks - 1, SIGHTED_FRAMES).astype(int))
    largest = np.argmax(np.nan_to_num(recording.base_motion)) if recording.elastic_names else 0
    ticks = np.union1d(ticks, [largest])
    measured = np.hstack((recording.position[ticks], exaggeration * recording.deflection[ticks]))
    return np.nan_to_num(within_reason(measured))


def _box_size(kind: str, size: tuple[float, ...]) -> tuple[float, ...]:
    """Return the edges of the bounding box of a shape."""
    if kind == "box":
        return size
    return (2.0 * size[0], 2.0 * size[0], size[1] if kind == "cylinder" else 2.0 * size[0])
