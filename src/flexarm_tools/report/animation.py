"""Data of the report's animation: the robot as a tree of frames with shapes, and its motion as 16-bit frames."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flexarm_core.robot.description import RobotDescription
from flexarm_core.types import Array
from flexarm_tools.recording.recording import Recording
from flexarm_tools.report.plots import dominant_mode
from flexarm_tools.report.solids import Solid
from flexarm_tools.report.svg_plot import decimate, within_reason
from flexarm_tools.scenario.scenario import Scenario

FRAME_RATE = 60.0  # [Hz] largest frame rate
MAX_FRAMES = 2400
HOLE = 65535  # 16-bit code of an unknown value
TIMELINE_COLUMNS = 700
GRAIN = 1e-4  # [m] resolution of meshes


def robot_data(
    description: RobotDescription, tool_frame: str, solids: Mapping[str, Sequence[Solid]] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the tree of the robot for JSON: links by number, joints with parents before children, and shapes.

    ``solids``: visible solids of the links in addition to their primitive shapes.
    """
    number = {name: i for i, name in enumerate(description.links)}
    elastic = tuple(joint.name for joint in description.elastic)
    variables = {name: i for i, name in enumerate((*description.actuated, *elastic))}
    return {
        "links": len(number),
        "root": number[description.root],
        "base": number[description.base_frame],
        "tool": number[tool_frame],
        "joints": [
            {
                "parent": number[joint.parent],
                "child": number[joint.child],
                "origin": _rounded(joint.transform_child_to_parent[:3]),
                "axis": _rounded(joint.axis),
                "slides": joint.kind == "prismatic",
                "variable": variables.get(joint.driver, -1),
                "ratio": joint.multiplier,
                "elastic": joint.name in elastic,
            }
            for joint in description.joints.values()
        ],
        "shapes": [
            {
                "link": number[link.name],
                "kind": shape.kind,
                "size": _rounded(np.array(shape.size)),
                "origin": _rounded(shape.transform_shape_to_link[:3]),
                "color": [round(channel * 255) for channel in shape.rgba[:3]],
            }
            for link in description.links.values()
            for shape in link.shapes
        ]
        + [_mesh_data(number[name], solid) for name, found in solids.items() for solid in found],
    }


def _mesh_data(link: int, solid: Solid) -> dict[str, Any]:
    """Return a mesh for JSON: points are in steps of GRAIN about the middle of its bounding box."""
    low, high = solid.vertices.min(axis=0), solid.vertices.max(axis=0)
    origin = np.eye(4)[:3]
    origin[:, 3] = (low + high) / 2
    return {
        "link": link,
        "kind": "mesh",
        "size": _rounded(high - low),
        "origin": _rounded(origin),
        "color": [round(channel * 255) for channel in solid.color],
        "grain": GRAIN,
        "points": np.rint((solid.vertices - origin[:, 3]) / GRAIN).astype(int).ravel().tolist(),
        "faces": solid.faces.ravel().tolist(),
    }


def push_data(scenario: Scenario) -> list[dict[str, Any]]:
    """Return the pushes of a run for JSON: number of the link, start and end [s], force [N]."""
    number = {name: i for i, name in enumerate(scenario.true_robot.description.links)}
    return [
        {"link": number[push.link], "begin": push.start, "end": push.start + push.duration, "force": push.force}
        for push in scenario.pushes
    ]


def motion_data(recording: Recording) -> dict[str, Any]:
    """Return the motion of a run for JSON: 16-bit channels, frame by frame, and a curve for the timeline.

    Channels: actuated joints, elastic joints, x y z of the reference, tracking error.
    """
    frames = frame_indices(recording.time)
    error = np.where(recording.has_reference, recording.tracking_error, np.nan)
    known = np.where(recording.has_reference[:, None], recording.reference_position, np.nan)
    channels = within_reason(np.column_stack((recording.position, recording.deflection, known, error)))[frames]
    codes, low, step = quantise(channels)
    label, unit, curve = _timeline(recording)
    time, shown = decimate(recording.time, within_reason(curve), TIMELINE_COLUMNS)
    return {
        "begin": float(recording.time[0]),
        "end": float(recording.time[-1]),
        "joints": len(recording.joint_names),
        "elastic": len(recording.elastic_names),
        "low": low.tolist(),
        "step": step.tolist(),
        "frames": base64.b64encode(codes.astype("<u2").tobytes()).decode("ascii"),
        "in_root": recording.reference_frame == recording.root_frame,
        "units": list(recording.elastic_units),
        "timeline_of": label,
        "timeline_unit": unit,
        "timeline": [
            [round(float(t), 4) for t in time],
            [float(f"{value:.5g}") for value in np.nan_to_num(shown)],
        ],
    }


def _timeline(recording: Recording) -> tuple[str, str, Array]:
    """Return label, unit and curve of the timeline: the base deflection, only the prismatic joints if there are any.

    With a rigid base: the dominant mode, or the velocity of the fastest joint.
    """
    if not recording.elastic_names and np.isfinite(recording.modal_position).any():
        mode = dominant_mode([recording])
        return f"Mode {mode}", "m·√kg", recording.modal_position[:, recording.modes.index(mode)]
    if not recording.elastic_names and np.isfinite(recording.reference_velocity).any():
        units = " and ".join(f"{unit}/s" for unit in dict.fromkeys(recording.joint_units))
        return "Fastest joint", units, np.max(np.abs(recording.reference_velocity), axis=1)
    unit = "m" if "m" in recording.elastic_units or not recording.elastic_units else recording.elastic_units[0]
    those = recording.deflection[:, [each == unit for each in recording.elastic_units]]
    with np.errstate(over="ignore"):  # a run that diverged
        curve = those[:, 0] if those.shape[1] == 1 else np.linalg.norm(those, axis=1)
    return "Base deflection", unit, curve


def frame_indices(time: Array) -> NDArray[np.intp]:
    """Return the ticks (F,) of the frames: evenly spaced, at most FRAME_RATE per second and MAX_FRAMES in total."""
    length = float(time[-1] - time[0])
    count = max(2, min(len(time), MAX_FRAMES, int(length * FRAME_RATE) + 1))
    wanted = np.linspace(float(time[0]), float(time[-1]), count)
    right = np.clip(np.searchsorted(time, wanted), 1, len(time) - 1)
    nearer_left = wanted - time[right - 1] < time[right] - wanted
    indices: NDArray[np.intp] = np.where(nearer_left, right - 1, right)
    return indices


def quantise(channels: Array) -> tuple[NDArray[np.uint16], Array, Array]:
    """Convert channels (F, C) to 16-bit codes, each channel over its own range.

    Returns:
        codes (F, C), HOLE where a value is not finite, and low (C,) and step (C,): ``value = low + step * code``.
    """
    finite = np.isfinite(channels)
    low = np.where(finite, channels, np.inf).min(axis=0)
    high = np.where(finite, channels, -np.inf).max(axis=0)
    empty = ~finite.any(axis=0)
    low, high = np.where(empty, 0.0, low), np.where(empty, 0.0, high)
    step = (high - low) / (HOLE - 1)
    scaled = (np.where(finite, channels, low) - low) / np.where(step > 0.0, step, 1.0)
    codes: NDArray[np.uint16] = np.where(finite, np.rint(scaled), HOLE).astype(np.uint16)
    return codes, low, step


def _rounded(array: Array) -> list[float]:
    return [round(float(value), 7) + 0.0 for value in np.ravel(array)]
