"""VectorArrow: a force or torque as an arrow, scaled relative to the largest magnitude so far."""

from __future__ import annotations

import numpy as np
import viser

from flexarm_core.types import Array

LONGEST = 0.35  # length of the largest vector so far, relative to the robot's size
THICK, HEAD = 0.006, 2.2  # radius of the shaft relative to the robot's size, and of the head relative to the shaft


class VectorArrow:
    """An arrow that is hidden if its vector is unknown or negligible."""

    def __init__(self, server: viser.ViserServer, name: str, color: tuple[int, int, int]) -> None:
        """Add the arrow to the scene, hidden.

        Args:
            server: server of the page.
            name: name in the scene.
            color: red, green, blue, 0 to 255.
        """
        self._arrow = server.scene.add_arrows(f"/vectors/{name}", np.zeros((1, 2, 3)), color, visible=False)
        self._strongest = 0.0

    def show(self, begin: Array, vector: Array, size: float, wanted: bool) -> None:
        """Draw a vector.

        Args:
            begin: (3,) start point in the root link [m].
            vector: (3,) in axes of the root link [N | N*m].
            size: size of the robot [m].
            wanted: whether the arrow may be visible.
        """
        strength = float(np.linalg.norm(vector))
        if np.isfinite(strength):
            self._strongest = max(self._strongest, strength)
        seen = wanted and np.isfinite(strength) and strength > 3e-3 * self._strongest
        if seen:
            way = LONGEST * size / self._strongest * vector
            radius = THICK * size
            self._arrow.points = np.array([[begin, begin + way]], dtype=np.float32)
            self._arrow.shaft_radius, self._arrow.head_radius = radius, HEAD * radius
            self._arrow.head_length = min(6.0 * radius, float(np.linalg.norm(way)))
        if self._arrow.visible != seen:
            self._arrow.visible = seen
