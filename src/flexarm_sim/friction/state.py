"""FrictionState: friction of the joints from step to step: which joints stick, and at which positions."""

from __future__ import annotations

import numpy as np

from flexarm_core.types import Array
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.friction.kernel import Index, Rubbing, friction_step

INSTANT = 1e-9  # [s] length of a step in which no velocity changes


class FrictionState:
    """Computes the joint friction step by step, and keeps track of the joints that stick.

    A joint sticks at a position; in every step it returns by a third of its distance to it, so that integration errors
    due to the motion of other joints do not accumulate to creep. Otherwise Coulomb's law holds at the end of each step,
    see ``kernel``: the effort brakes or holds, and never drives.

    Attributes:
        memory: joints with friction, for :func:`.friction_step`.
    """

    def __init__(self, friction: JointFriction, joints: Index) -> None:
        """Start with all joints free to slide.

        Args:
            friction: friction of the joints.
            joints: (n,) indices of the joints with friction among the c coordinates of the robot.

        Raises:
            ConfigError: values that do not fit.
        """
        n = len(joints)
        table, work = np.array(friction.table(n)), np.zeros((2 * n + 8, n))
        self._table, self._state, self._trial = table, np.zeros((7, n)), np.zeros((7, n))
        self.memory: Rubbing = joints, table, self._state, work
        self._at_instant: Rubbing = joints, table, self._trial, work

    def at_instant(self) -> Rubbing:
        """Return the memory with a copy of its state: which joints stick does not change."""
        self._trial[:] = self._state
        return self._at_instant

    def change(self, friction: JointFriction) -> None:
        """Change the friction; joints that stick may start to slide.

        Raises:
            ConfigError: values that do not fit; nothing is changed then.
        """
        self._table[:] = friction.table(self._table.shape[1])

    def reset(self) -> None:
        """Forget which joints stick."""
        self._state[:] = 0.0

    def step(
        self, position: Array, velocity: Array, acceleration: Array, response: Array, h: float, effort: Array
    ) -> None:
        """Compute the friction of the step that is integrated next.

        Args:
            position: (c,) all coordinates at the start of the step [rad | m].
            velocity: (c,) their velocities [rad/s | m/s].
            acceleration: (c,) their accelerations without this friction [rad/s^2 | m/s^2].
            response: (n, c) accelerations per effort on each joint, with all coordinates free [1/(kg*m^2) | 1/kg].
            h: length of the step [s].
            effort: (c,) gets the effort on the joints, opposing the motion; others stay as they are [N*m | N].
        """
        friction_step((position, velocity, acceleration), self.memory, response, h, False, effort)

    def look(self, position: Array, velocity: Array, acceleration: Array, response: Array, effort: Array) -> None:
        """Compute the friction at this instant without changing which joints stick; arguments as in :meth:`step`."""
        motion = position, velocity, acceleration
        friction_step(motion, self.at_instant(), response, INSTANT, True, effort)
