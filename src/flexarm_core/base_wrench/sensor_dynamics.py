"""SensorDynamics: compute all joint torques from the wrench of a force/torque sensor under the base."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.base_wrench.newton_euler import (
    GRAVITY_TORQUE,
    GRAVITY_WRENCH,
    MODEL_TORQUE,
    RESIDUAL_WRENCH,
    ROWS,
    STATE,
    TORQUE,
    WIDTH,
    WRENCHES,
    newton_euler,
)
from flexarm_core.base_wrench.sensed_bodies import SensedBodies
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
        count, size = len(bodies.links), len(bodies.coordinates)
        self._sensor = sensor_row(bodies)
        self._motion = np.zeros((3, size))
        self._given = np.zeros(16)
        self._given[:3] = finite("gravity", gravity, 3)
        self._work = np.zeros((count, STATE))
        self._out = np.zeros((ROWS, max(size, WIDTH)))
        self._out[:WRENCHES, : bodies.n][:, ~bodies.sensed] = np.nan  # never written

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
        motion, given, out, n = self._motion, self._given, self._out, self.bodies.n
        size = motion.shape[1]
        motion[0] = finite("position", position, size)
        motion[1], motion[2] = finite("velocity", velocity, size), finite("acceleration", acceleration, size)
        given[3:9] = finite("wrench", wrench, 6)
        given[9] = gravity_wrench is not None
        if gravity_wrench is not None:
            given[10:] = finite("gravity_wrench", gravity_wrench, 6)
        newton_euler(self.bodies.links, self.bodies.structure, self._sensor, motion, given, self._work, out)
        out = out.copy()
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
