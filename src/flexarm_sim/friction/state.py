"""Friction of one plant from step to step: which joints stick, and where."""

from __future__ import annotations

import numpy as np

from flexarm_core.types import Array
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.friction.kernel import Index, friction_step

INSTANT = 1e-9  # [s] a step in which no speed changes


class FrictionState:
    """Friction effort of the joints over one step after the other, and which of them stick.

    A joint sticks at a place, to which it goes back by a third of what is missing in every step: what the integrator
    errs by while all else moves does not add up to creep. All else is Coulomb's law at the end of each step, see
    ``friction_kernel``: the effort brakes or holds, and never drives.
    """

    def __init__(self, friction: JointFriction, joints: Index) -> None:
        """Begin with every joint free to slide.

        Args:
            friction: of the joints.
            joints: (n,) the coordinates of the robot, of which there are c, that are joints which rub.

        Raises:
            ConfigError: values that do not fit.
        """
        n = len(joints)
        self._joints = joints
        self.change(friction)
        self._motion, self._trial, self._work = np.zeros((7, n)), np.zeros((7, n)), np.zeros((2 * n + 8, n))

    def change(self, friction: JointFriction) -> None:
        """Take other values; what sticks may slide now.

        Raises:
            ConfigError: values that do not fit; nothing is changed then.
        """
        self._table = friction.table(len(self._joints))

    def reset(self) -> None:
        """Forget what stuck."""
        self._motion[:] = 0.0

    def step(self, position: Array, velocity: Array, acceleration: Array, response: Array, h: float) -> Array:
        """Friction over the step that is made now.

        Args:
            position: (c,) of all coordinates at its begin [rad | m].
            velocity: (c,) [rad/s | m/s].
            acceleration: (c,) that they have without this friction [rad/s^2 | m/s^2].
            response: (n, c) acceleration per effort on each joint, all else free [1/(kg*m^2) | 1/kg].
            h: its length [s].

        Returns:
            (n,) effort on the joints [N*m | N], valid until the next call; against the motion.
        """
        motion = self._motion
        friction_step(
            self._joints, self._table, response, position, velocity, acceleration, motion, self._work, h, False
        )
        return motion[6]

    def look(self, position: Array, velocity: Array, acceleration: Array, response: Array) -> Array:
        """Friction at this very instant; nothing sticks or slides by it. Arguments and result as of :meth:`step`."""
        trial = self._trial
        trial[:] = self._motion
        friction_step(
            self._joints, self._table, response, position, velocity, acceleration, trial, self._work, INSTANT, True
        )
        return trial[6]
