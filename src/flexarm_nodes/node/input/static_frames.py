"""StaticFrames: frames that are fixed to links of the robot, as /tf_static tells them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.types import Array
from flexarm_nodes.messages.conversions import quaternion_to_rotation

MOST = 10_000  # transforms that are kept


class StaticFrames:
    """Finds the link that a frame is fixed to, over any number of static transforms."""

    def __init__(self, links: Collection[str], prefix: str = "") -> None:
        """Know the links of a robot; in TF their names have this prefix."""
        self._links, self._prefix = frozenset(links), prefix
        self._parents: dict[str, str] = {}
        self._near: dict[str, dict[str, Array]] = {}  # by frame and frame: pose (4, 4) of the second in the first

    def take(self, message: Any) -> None:
        """Take transforms (tf2_msgs/TFMessage); later ones replace those of the same frame, which has one parent.

        Raises:
            InputError: some are no poses; the others are taken.
        """
        wrong = []
        for one in message.transforms:
            parent, child = (name.lstrip("/") for name in (one.header.frame_id, one.child_frame_id))
            parent, child = parent.removeprefix(self._prefix), child.removeprefix(self._prefix)
            shift, pose = one.transform.translation, np.eye(4)
            try:
                pose[:3, :3] = quaternion_to_rotation(one.transform.rotation)
            except InputError:
                pose[:] = np.nan
            pose[:3, 3] = shift.x, shift.y, shift.z
            if not np.isfinite(pose).all():
                wrong.append(f"'{child}' in '{parent}'")
                continue
            if len(self._near) >= MOST and not {parent, child} <= self._near.keys():
                continue
            before = self._parents.get(child)
            if before is not None and before != parent:  # it has been moved to another frame
                del self._near[before][child], self._near[child][before]
            self._parents[child] = parent
            inverse = np.eye(4)
            inverse[:3, :3], inverse[:3, 3] = pose[:3, :3].T, -pose[:3, :3].T @ pose[:3, 3]
            self._near.setdefault(parent, {})[child] = pose
            self._near.setdefault(child, {})[parent] = inverse
        if wrong:
            raise InputError(f"/tf_static: {', '.join(wrong)} is no pose: ignored")

    def find(self, frame: str) -> tuple[str, Array] | None:
        """Return a link that a frame is fixed to, and the pose (4, 4) of the frame in it; None: no transforms tell."""
        seen, waiting = {frame}, [(frame, np.eye(4))]  # pose of the frame in the one that is looked at
        while waiting:
            at, pose = waiting.pop(0)
            if at in self._links:
                return at, pose
            for near, placed in self._near.get(at, {}).items():  # of the near one in this one
                if near not in seen:
                    seen.add(near)
                    waiting.append((near, np.linalg.inv(placed) @ pose))
        return None
