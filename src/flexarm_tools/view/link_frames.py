"""LinkFrames: frames in the 3D view that move with the drawn links, for objects attached to a link."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import viser
from scipy.spatial.transform import Rotation

from flexarm_core.types import Array


class LinkFrames:
    """One frame per link, created on first use."""

    def __init__(self, server: viser.ViserServer) -> None:
        """Start without frames."""
        self._server = server
        self._placed: Mapping[str, Array] = {}
        self._frames: dict[str, viser.FrameHandle] = {}

    def path(self, link: str) -> str:
        """Return the scene name of a link's frame."""
        name = f"/attached/{link}"
        if link not in self._frames:
            self._frames[link] = self._server.scene.add_frame(name, show_axes=False)
            if link in self._placed:
                move_frame(self._frames[link], self._placed[link])
        return name

    def has(self, link: str) -> bool:
        """Return whether the link exists."""
        return link in self._placed

    def move(self, placed: Mapping[str, Array]) -> None:
        """Set the poses (4, 4) of all links in the root link."""
        self._placed = placed
        for link, frame in self._frames.items():
            move_frame(frame, placed[link])


def move_frame(frame: viser.FrameHandle, pose: Array) -> None:
    """Move a frame to a pose (4, 4)."""
    x, y, z, w = Rotation.from_matrix(pose[:3, :3]).as_quat()
    frame.position, frame.wxyz = pose[:3, 3], np.array([w, x, y, z])
