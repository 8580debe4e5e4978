"""JointCommandReader: reads commands from the JointState messages of joint_state_topic_hardware_interface."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

from flexarm_core.errors import InputError
from flexarm_core.types import Array


class JointCommandReader:
    """Selects the commands of one command mode, independent of the order of the joints.

    The hardware interface names all its joints and gives one value for each joint that has a command interface; joints
    that are only measured have a name but no value. A command interface that no controller has claimed is NaN.
    """

    def __init__(self, joints: Sequence[str], mode: str) -> None:
        """Read one command mode.

        Args:
            joints: (n) names of the actuated joints.
            mode: ``effort``, ``velocity`` or ``position``.
        """
        self._joints, self._mode = tuple(joints), mode

    def __call__(self, message: JointState) -> Array | None:
        """Return the command (n,) in the order of the joints, or None if no controller commands in this mode.

        Raises:
            InputError: a joint is missing or named twice, the number of values does not match, or only some are finite.
        """
        driven = [name for name in message.name if name in self._joints]
        if sorted(driven) != sorted(self._joints):
            raise InputError(f"joint command names {', '.join(driven) or 'none'} of {', '.join(self._joints)}")
        given = np.array(getattr(message, self._mode), dtype=float)
        if given.size == len(message.name):
            given = given[[message.name.index(name) for name in driven]]
        if given.size != len(driven):
            raise InputError(f"joint command has {given.size} {self._mode} values for {len(driven)} driven joints")
        if np.isnan(given).all():
            return None
        if not np.isfinite(given).all():
            raise InputError(f"joint command {self._mode} is not finite: {given}")
        return given[[driven.index(name) for name in self._joints]]
