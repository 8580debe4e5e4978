"""SensorDynamics: compute all joint torques from the wrench of a force/torque sensor under the base."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.base_wrench.newton_euler import (
    GRAVITY_TORQUE,
    GRAVITY_WRENCH,
    MODEL_TORQUE,
    RESIDUAL_WRENCH,
    TORQUE,
    WIDTH,
    WRENCHES,
    newton_euler_at,
    view_sensing,
)
from flexarm_core.base_wrench.sensed_bodies import SensedBodies
from flexarm_core.compiled import allocate
from flexarm_core.entrance import finite
from flexarm_core.types import Array

NO_WRENCH = np.zeros(6)


@dataclass(frozen=True, slots=True)
class JointTorques:
    """Result of the Newton-Euler relations at one state; (n,) arrays are NaN for joints that the sensor does not carry.

    Attributes:
        torque: (n,) torque that acts on the links at each joint, without the gravity torque [N*m | N].
        gravity: (n,) gravity torque: the torque at each joint that holds the arm at rest [N*m | N].
        model_torque: (n,) value of ``torque`` that the model predicts for these accelerations [N*m | N].
        gravity_wrench: (6,) gravity part of the sensor wrench, of the robot on its base in the sensor frame [N, N*m].
        residual_wrench: (6,) measured minus modeled wrench, of the robot on its base in the sensor frame [N, N*m].
    """

    torque: Array
    gravity: Array
    model_torque: Array
    gravity_wrench: Array
    residual_wrench: Array


def sensor_row(bodies: SensedBodies) -> Array:
    """Return body, rotation and translation (13,) of the sensor for :func:`newton_euler`."""
    placed = bodies.transform_sensor_to_body
    return np.concatenate(([float(bodies.sensor_body)], placed[:3, :3].ravel(), placed[:3, 3]))


class SensorDynamics:
    """Newton-Euler relations of the bodies above a sensor (equations: docs/base_wrench.md).

    Attributes:
        bodies: bodies above the sensor.
        gravity: (3,) gravity vector in the root link frame [m/s^2].
    """

    def __init__(self, bodies: SensedBodies, gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)) -> None:
        """Set the bodies above the sensor and the gravity vector (3,) in the root link frame [m/s^2]."""
        self.bodies, self.gravity = bodies, gravity
        self._size = len(bodies.coordinates)
        self._memory, self._sensing = allocate(view_sensing, self._size, len(bodies.links))
        self._sensing.sensor[:] = sensor_row(bodies)
        self._sensing.given[:3] = finite("gravity", gravity, 3)
        self._sensing.out[:WRENCHES, : bodies.n][:, ~bodies.sensed] = np.nan  # never written

    def torques(
        self,
        position: Array,
        velocity: Array,
        acceleration: Array,
        wrench: Array,
        gravity_wrench: Array | None = None,
    ) -> JointTorques:
        """Compute the joint torques from a wrench.

        Args:
            position: (N,) coordinates: actuated joints, then elastic joints [rad | m].
            velocity: (N,) velocities of the coordinates [rad/s | m/s].
            acceleration: (N,) accelerations of the coordinates [rad/s^2 | m/s^2]; zero omits the acceleration terms.
            wrench: (6,) ``[f; n]`` of the robot on its base, in the sensor frame [N, N*m].
            gravity_wrench: (6,) gravity part of ``wrench`` to use instead of the modeled one [N, N*m].
        """
        motion, given, size, n = self._sensing.motion, self._sensing.given, self._size, self.bodies.n
        motion[0] = finite("position", position, size)
        motion[1], motion[2] = finite("velocity", velocity, size), finite("acceleration", acceleration, size)
        given[3:9] = finite("wrench", wrench, 6)
        given[9] = gravity_wrench is not None
        if gravity_wrench is not None:
            given[10:] = finite("gravity_wrench", gravity_wrench, 6)
        newton_euler_at(self.bodies.links, self.bodies.structure, self._memory, size)
        out = self._sensing.out.copy()
        return JointTorques(
            torque=out[TORQUE, :n],
            gravity=out[GRAVITY_TORQUE, :n],
            model_torque=out[MODEL_TORQUE, :n],
            gravity_wrench=out[WRENCHES, GRAVITY_WRENCH : GRAVITY_WRENCH + 6],
            residual_wrench=out[WRENCHES, RESIDUAL_WRENCH:WIDTH],
        )

    def gravity_wrench(self, position: Array) -> Array:
        """Return the gravity part (6,) of the sensor wrench at a position (N,) at rest [N, N*m]."""
        still = np.zeros(len(self.bodies.coordinates))
        return self.torques(position, still, still, NO_WRENCH).gravity_wrench
