"""Conversion of messages about tool paths, joint trajectories and redundancy resolution."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage
from trajectory_msgs.msg import JointTrajectoryPoint

from flexarm.action import FollowCartesianPath
from flexarm.msg import PathSegment, RedundancyState
from flexarm_core.errors import InputError
from flexarm_core.file_folder import FileFolder
from flexarm_core.ik_redundancy.planned_path import PlannedPath
from flexarm_core.ik_redundancy.solver import RedundancyStatus
from flexarm_core.path.joint_trajectory import JointTrajectory
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.path.pose_path import PosePath
from flexarm_core.path.waypoint_file import load_waypoint_file
from flexarm_core.robot.base_link import BaseLink
from flexarm_core.turns import Turns
from flexarm_core.types import Array
from flexarm_nodes.messages.conversions import doubles, nanoseconds_to_stamp, quaternion_to_rotation
from flexarm_nodes.messages.form import Form, Numbers

KINDS = {PathSegment.LINE: "LINE", PathSegment.ARC: "ARC", PathSegment.SPLINE: "SPLINE"}
POSES = {PathSegment.LINE: 1, PathSegment.ARC: 2}
LIMITS = ("linear_velocity", "linear_acceleration", "angular_velocity", "angular_acceleration")
TOLERANCES = ("position_tolerance", "orientation_tolerance")


def pose_from_message(pose: Pose) -> tuple[Array, Array]:
    """Return position (3,) and rotation (3, 3) of a pose.

    Raises:
        InputError: a number is not finite, or the orientation is no unit quaternion.
    """
    return position_from_message(pose), quaternion_to_rotation(pose.orientation)


def position_from_message(pose: Pose) -> Array:
    """Return the position (3,) of a pose whose orientation is ignored.

    Raises:
        InputError: a number is not finite.
    """
    position = np.array([pose.position.x, pose.position.y, pose.position.z])
    if not np.isfinite(position).all():
        raise InputError(f"position {position} is not finite")
    return position


def check_goal(goal: FollowCartesianPath.Goal, base: BaseLink) -> None:
    """Raise InputError if a goal is invalid in itself, independent of the arm."""
    base.is_base(goal.header.frame_id)
    if bool(goal.segments) == bool(goal.waypoint_file):
        raise InputError("a goal needs either segments or a waypoint_file")
    for number, segment in enumerate(goal.segments, 1):
        if segment.kind not in KINDS:
            raise InputError(f"segment {number}: kind {segment.kind} is unknown; valid: 0 LINE, 1 ARC, 2 SPLINE")
        given, wanted = len(segment.poses), POSES.get(segment.kind)
        if given != wanted if wanted else not given:
            raise InputError(f"segment {number}: {KINDS[segment.kind]} needs {wanted or 'some'} poses, got {given}")
        for place, pose in enumerate(segment.poses):
            try:
                via = segment.kind == PathSegment.ARC and place == 0
                (position_from_message if via else pose_from_message)(pose)
            except InputError as error:
                raise InputError(f"segment {number}: {error}") from error
    for name in (*(f"max_{limit}" for limit in LIMITS), *TOLERANCES):
        if not 0.0 <= getattr(goal, name) < np.inf:
            raise InputError(f"{name} must be finite and >= 0, got {getattr(goal, name)}")
    if not any(goal.axes):
        raise InputError("axes: at least one must be tracked")


def path_from_goal(
    goal: FollowCartesianPath.Goal, base: BaseLink, files: FileFolder, position: Array, rotation: Array
) -> PosePath:
    """Return the path of a checked goal in the base link's frame.

    Args:
        goal: goal; its header or its waypoint file names the frame.
        base: base link of the arm.
        files: folder of the waypoint files that a goal may name.
        position: (3,) tool position at the start of the path, base link's frame [m].
        rotation: (3, 3) tool rotation at the start of the path.

    Raises:
        FlexarmError: the waypoint file is invalid, or the goal gives no valid path.
    """
    frame = goal.header.frame_id
    if goal.waypoint_file:
        spec = load_waypoint_file(goal.waypoint_file, files)
        if frame and spec.frame and frame != spec.frame:
            raise InputError(f"header.frame_id is '{frame}', the waypoint file says another frame: leave one empty")
        frame = spec.frame or frame
        try:
            base.is_base(frame)
        except InputError:  # whose message quotes the file
            raise InputError(
                "the waypoint file is in a frame that is neither the base link nor the root link"
            ) from None
        return base.path(frame, spec.build(*base.pose_in(frame, position, rotation)))
    path = PosePath(*base.pose_in(frame, position, rotation))
    for segment in goal.segments:
        end = pose_from_message(segment.poses[-1])
        if segment.kind == PathSegment.LINE:
            path = path.line(*end)
        elif segment.kind == PathSegment.ARC:
            path = path.arc(position_from_message(segment.poses[0]), *end)
        else:
            positions, rotations = zip(*map(pose_from_message, segment.poses), strict=True)
            path = path.spline(np.array(positions), np.array(rotations))
    return base.path(frame, path)


def path_limits(goal: FollowCartesianPath.Goal, values: Mapping[str, Any]) -> PathLimits:
    """Return the tool's limits along the path: the goal's value if it is not zero, else the parameter's."""
    return PathLimits(**{limit: getattr(goal, f"max_{limit}") or values[f"max_{limit}"] for limit in LIMITS})


def tolerances(goal: FollowCartesianPath.Goal, values: Mapping[str, Any]) -> tuple[float, float]:
    """Return position [m] and orientation [rad] tolerance: the goal's value if it is not zero, else the parameter's."""
    position, orientation = (getattr(goal, name) or values[name] for name in TOLERANCES)
    return position, orientation


def redundancy_state_form(
    stamp: int, frame: str, activity: int, fraction: float, status: RedundancyStatus | None
) -> Form:
    """Return the RedundancyState of a sample.

    Args:
        stamp: stamp of the sample [ns].
        frame: base link.
        activity: activity of the node, a constant of RedundancyState.
        fraction: completed fraction of the path, 0 to 1.
        status: status of the redundancy resolution, or None if no pose is requested.
    """
    numbers: dict[str, Numbers] = {"activity": (activity,), "fraction": (fraction,)}
    words: dict[str, Any] = {"header.frame_id": frame}
    if status is not None:
        condition = status.condition_number
        numbers |= {
            "position_error": status.position_error,
            "orientation_error": status.rotation_error,
            "condition_number": (0.0 if math.isnan(condition) else condition,),
        }
        words |= deviations(status)
    return Form(RedundancyState, numbers, words, stamp)


def deviations(status: RedundancyStatus) -> dict[str, tuple[str, ...]]:
    """Return which task rows and joints deviate from the request, by field of a message."""
    return {
        "dropped_rows": status.dropped,
        "damped_rows": status.damped,
        "cut_rows": status.cut,
        "limited_joints": status.limited,
    }


def joint_trajectory_to_message(
    path: PlannedPath, names: Sequence[str], begun: int, rate: float, start: float = 0.0
) -> JointTrajectoryMessage:
    """Return a planned path, from time ``start`` on, as points for a joint trajectory controller.

    Args:
        path: planned joint path.
        names: (n) joint names.
        begun: stamp at which the path begins [ns].
        rate: rate of the points [Hz].
        start: path time of the first point [s].
    """
    message = JointTrajectoryMessage(joint_names=list(names))
    message.header.stamp = nanoseconds_to_stamp(begun)
    count = max(int(np.ceil((path.duration - start) * rate - 1e-6)), 0)
    for time in (*(start + np.arange(count) / rate), max(path.duration, start)):
        position, velocity, acceleration = (doubles(part) for part in path.sample(float(time)))
        point = JointTrajectoryPoint(positions=position, velocities=velocity, accelerations=acceleration)
        seconds, rest = divmod(round(time * 1e9), 1_000_000_000)
        point.time_from_start.sec, point.time_from_start.nanosec = seconds, rest
        message.points.append(point)
    return message


def joint_trajectory_from_message(
    message: JointTrajectoryMessage, names: Sequence[str], start: Array, turns: Turns
) -> JointTrajectory:
    """Return the trajectory with joints in the order of ``names``, beginning at the positions ``start`` (n,).

    Endless joints take the short way to the first point; the others follow it as they are given.

    Raises:
        InputError: the joint names differ, or the points are inconsistent.
    """
    given = list(message.joint_names)
    if sorted(given) != sorted(names):
        raise InputError(f"trajectory names {', '.join(given) or 'no joint'}; expected {', '.join(names)}")
    order = [given.index(name) for name in names]

    def rows(field: str) -> Array | None:
        listed = [getattr(point, field) for point in message.points]
        if not any(len(row) for row in listed):
            return None
        if any(len(row) != len(given) for row in listed):
            raise InputError(f"trajectory: every point needs {len(given)} {field}, or none may have any")
        return np.array(listed, dtype=float)[:, order]

    positions = rows("positions")
    if positions is None:
        raise InputError("trajectory has no points with positions")
    times = [point.time_from_start.sec + point.time_from_start.nanosec * 1e-9 for point in message.points]
    positions = positions + (turns.near(positions[0], start) - positions[0])
    return JointTrajectory(start, times, positions, rows("velocities"), rows("accelerations"))
