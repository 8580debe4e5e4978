"""VectorArrow: a force or torque as an arrow, as long as it is strong beside the strongest so far."""

from __future__ import annotations

import numpy as np
import viser

from flexarm_core.types import Array

LONGEST = 0.35  # of the strongest so far, as a part of the robot's size
THICK, HEAD = 0.006, 2.2  # radius of the shaft as a part of the robot's size, of the head as a multiple of it


class VectorArrow:
    """An arrow that is hidden where its vector is not known or next to nothing."""

    def __init__(self, server: viser.ViserServer, name: str, color: tuple[int, int, int]) -> None:
        """Add it to the scene, hidden.

        Args:
            server: of the page.
            name: in the scene.
            color: red, green, blue, 0 to 255.
        """
        self._arrow = server.scene.add_arrows(f"/vectors/{name}", np.zeros((1, 2, 3)), color, visible=False)
        self._strongest = 0.0

    def show(self, begin: Array, vector: Array, size: float, wanted: bool) -> None:
        """Draw a vector.

        Args:
            begin: (3,) in the root link [m].
            vector: (3,) in axes of the root link [N | N*m].
            size: of the robot [m].
            wanted: whether it is to be seen.
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
