r"""GravityRegressor: linear map from masses and first moments of the bodies above the sensor to the gravity wrench.

With gravity ``g``, the pose ``R_j, P_j`` of body ``j`` and the pose ``R_s, S`` of the sensor, all in the root link
frame::

    R_s F = sum_j m_j g
    R_s M = sum_j (P_j - S) x m_j g  -  [g x] R_j (m_j c_j)

so ``wrench = Y(q) phi`` with the stacked parameters ``phi`` of all bodies, ``[m, m cx, m cy, m cz]`` each (US
5,767,648, claims 3, 4).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexarm_core.base_wrench.newton_euler import STATE, P, R, place
from flexarm_core.base_wrench.sensed_bodies import ABOVE, SensedBodies
from flexarm_core.compiled import allocating_kernel
from flexarm_core.entrance import ANY, finite
from flexarm_core.types import Array


class GravityRegressor:
    """Regressor matrix of the gravity wrench for the parameters of ``bodies.weighing``."""

    def __init__(self, bodies: SensedBodies, gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)) -> None:
        """Set bodies and gravity vector (3,) in the root link frame [m/s^2]."""
        self.bodies = bodies
        self.gravity = gravity
        placed = bodies.transform_sensor_to_body
        self._fixed = np.concatenate(
            (finite("gravity", gravity, 3), [float(bodies.sensor_body)], placed[:3, :3].ravel(), placed[:3, 3])
        )

    @property
    def size(self) -> int:
        """Number of parameters, 4 per body above the sensor."""
        return 4 * len(self.bodies.weighing)

    def matrices(self, positions: Array) -> Array:
        """Return ``Y`` (k, 6, 4 w) at coordinates (k, N) [rad | m], actuated joints before elastic joints.

        ``Y phi`` is the wrench (6,) of the robot on the base at rest, in the sensor frame [N, N*m].
        """
        positions = finite("positions", positions, ANY, len(self.bodies.coordinates))
        out = np.zeros((len(positions), 6, self.size))
        fill_regressors(self.bodies.links, self.bodies.structure, self._fixed, positions, out)
        return out


@allocating_kernel
def fill_regressors(links: Array, structure: NDArray, fixed: Array, positions: Array, out: Array) -> None:
    """Write the regressors at all positions (k, N) to ``out`` (k, 6, 4 w).

    ``fixed`` (16,) contains gravity (3), the index of the body that holds the sensor (1), and rotation (9) and
    translation (3) of the sensor frame in this body.
    """
    gx, gy, gz = fixed[0], fixed[1], fixed[2]
    turn, motion, work = np.empty((3, 3)), np.zeros((3, positions.shape[1])), np.empty((len(links), STATE))
    for at in range(len(positions)):
        motion[0] = positions[at]
        place(links, structure, motion, work)
        whole, here = work[int(fixed[3])], out[at]
        sx = whole[P] + whole[R] * fixed[13] + whole[R + 1] * fixed[14] + whole[R + 2] * fixed[15]
        sy = whole[P + 1] + whole[R + 3] * fixed[13] + whole[R + 4] * fixed[14] + whole[R + 5] * fixed[15]
        sz = whole[P + 2] + whole[R + 6] * fixed[13] + whole[R + 7] * fixed[14] + whole[R + 8] * fixed[15]
        for r in range(3):
            for c in range(3):
                turn[r, c] = (
                    whole[R + 3 * r] * fixed[4 + c]
                    + whole[R + 3 * r + 1] * fixed[7 + c]
                    + whole[R + 3 * r + 2] * fixed[10 + c]
                )
        column = 0
        for k in range(len(links)):
            if not structure[k, ABOVE]:
                continue
            body = work[k]
            dx, dy, dz = body[P] - sx, body[P + 1] - sy, body[P + 2] - sz
            # moments due to a unit mass at the body origin and due to unit first moments along the body axes
            for c in range(4):
                if c > 0:
                    dx, dy, dz = body[R + c - 1], body[R + 2 + c], body[R + 5 + c]
                mx, my, mz = dy * gz - dz * gy, dz * gx - dx * gz, dx * gy - dy * gx
                for r in range(3):
                    force = turn[0, r] * gx + turn[1, r] * gy + turn[2, r] * gz
                    here[r, column + c] = force if c == 0 else 0.0
                    here[3 + r, column + c] = turn[0, r] * mx + turn[1, r] * my + turn[2, r] * mz
            column += 4
