"""Friction of one plant from step to step: which joints stick, and where."""

from __future__ import annotations

import numpy as np

from flexarm_core.types import Array
from flexarm_sim.friction import JointFriction
from flexarm_sim.friction_kernel import friction_step

INSTANT = 1e-9  # [s] a step in which no speed changes


class FrictionState:
    """Friction effort of the joints over one step after the other, and which of them stick.

    A joint sticks at a place, to which it goes back by a third of what is missing in every step: what the integrator
    errs by while all else moves does not add up to creep. All else is Coulomb's law at the end of each step, see
    ``friction_kernel``: the effort brakes or holds, and never drives.
    """

    def __init__(self, friction: JointFriction, joints: int) -> None:
        """Begin with every joint free to slide.

        Args:
            friction: of the joints.
            joints: how many there are, n.

        Raises:
            ConfigError: values that do not fit.
        """
        self._joints = joints
        self.change(friction)
        self._motion, self._trial = np.zeros((7, joints)), np.zeros((7, joints))
        self._work, self._mobility = np.zeros((joints + 8, joints)), np.zeros((joints, joints))

    def change(self, friction: JointFriction) -> None:
        """Take other values; what sticks may slide now.

        Raises:
            ConfigError: values that do not fit; nothing is changed then.
        """
        self._table = friction.table(self._joints)

    def reset(self) -> None:
        """Forget what stuck."""
        self._motion[:] = 0.0

    def step(self, position: Array, velocity: Array, acceleration: Array, mobility: Array, h: float) -> Array:
        """Friction over the step that is made now.

        Args:
            position: (n,) at its begin [rad | m].
            velocity: (n,) [rad/s | m/s].
            acceleration: (n,) that the joints have without this friction [rad/s^2 | m/s^2].
            mobility: (n, n) acceleration per effort on the joints, all else free [1/(kg*m^2) | 1/kg].
            h: its length [s].

        Returns:
            (n,) effort on the joints [N*m | N], valid until the next call; against the motion.
        """
        return self._solve(self._motion, position, velocity, acceleration, mobility, h)

    def look(self, position: Array, velocity: Array, acceleration: Array, mobility: Array) -> Array:
        """Friction at this very instant; nothing sticks or slides by it. Arguments and result as of :meth:`step`."""
        self._trial[:] = self._motion
        sticks = self._motion[4] > 0.0
        position, velocity = np.where(sticks, self._motion[3], position), np.where(sticks, 0.0, velocity)
        return self._solve(self._trial, position, velocity, acceleration, mobility, INSTANT)

    def _solve(
        self, motion: Array, position: Array, velocity: Array, acceleration: Array, mobility: Array, h: float
    ) -> Array:
        motion[0], motion[1], motion[2] = position, velocity, acceleration
        self._mobility[:] = mobility
        friction_step(self._table, self._mobility, motion, self._work, h)
        return motion[6]
