"""Posture: pulls the joints to a given posture in the null space, without moving the tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexarm_core.behavior_impedance.behavior import Arm, Behavior, Contribution, MotionSample
from flexarm_core.errors import ConfigError
from flexarm_core.settings import Setting


class Posture(Behavior):
    """Joint springs ``tau = K (q_0 - q)``, which act in the redundant (null) space only.

    The springs of endless joints pull the short way.
    """

    KIND = "posture"
    SETTINGS = (
        Setting("position", "double[]", [],
            "desired posture of the redundant joints, one position per joint; empty: posture when the behavior starts",
            "rad | m"),
        Setting("stiffness", "double[]", [10.0],
            "stiffness of the redundant joints toward the desired posture; one for all joints or one per joint",
            "N*m/rad | N/m", 0.0),
    )  # fmt: skip

    def __init__(self, arm: Arm, settings: Mapping[str, Any]) -> None:
        """Prepare; see :class:`Behavior`."""
        n, given, stiffness = arm.chain.n, settings["position"], settings["stiffness"]
        if len(given) not in (0, n):
            names = ", ".join(arm.chain.joint_names)
            raise ConfigError(f"position needs {n} numbers, for {names}, or none; got {len(given)}")
        if len(stiffness) not in (1, n):
            raise ConfigError(f"stiffness needs 1 or {n} numbers, got {len(stiffness)}")
        self._origin, self._turns = np.array(given) if given else None, arm.chain.turns
        self._stiffness = np.broadcast_to(np.array(stiffness), (n,))

    def begin(self, sample: MotionSample) -> None:
        """Use the present joint positions as the posture if none is given."""
        if self._origin is None:
            self._origin = sample.position.copy()

    def take_over(self, old: Behavior) -> None:
        """Keep the posture of the old instance if none is given."""
        assert isinstance(old, Posture)
        self._origin = old._origin if self._origin is None else self._origin

    def update(self, sample: MotionSample, out: Contribution) -> None:
        """Write the efforts on the joints."""
        assert self._origin is not None
        away = self._turns.difference(self._origin, sample.position)
        out.effort[:] = self._stiffness * away
        np.fill_diagonal(out.effort_stiffness, self._stiffness)
        out.measure[0] = np.abs(away).max()
