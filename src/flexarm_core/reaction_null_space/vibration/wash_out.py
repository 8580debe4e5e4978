r"""WashOut: takes out of an estimated rate of the base what lasts.

A base on springs has no lasting rate: an estimated rate at frequencies far below its softest mode is an error of
weight, friction or a sensor's bias. Fed back, it would move the arm on and on along what its task leaves free. With the
softest natural frequency ``w`` of the base and ``c = CORNER w``::

    swing = rate - slow,      d slow / dt = c (rate - slow)            transfer function  s / (s + c)

The gain at standstill is 0; at the softest mode the phase leads by ``atan(CORNER)`` = 6 degrees, and the gain is 0.995.
"""

from __future__ import annotations

import math

import numpy as np

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState

CORNER = 0.1  # share of the softest natural frequency
LATEST = 0.1  # [s] longest time between two samples; after a longer gap the rate is taken as it is


class WashOut:
    """High-pass of first order for the rate of the base."""

    def __init__(self, model: ArmModel) -> None:
        """Bind it to an arm on an elastic base."""
        self._model = model
        self.reset()

    def reset(self) -> None:
        """Forget earlier samples; the next rate is taken as it is."""
        self._stamp: int | None = None
        self._slow = np.zeros(self._model.m)
        self._corner = 0.0  # [rad/s]

    def clean(self, state: ArmState) -> ArmState:
        """Return the state with a base rate from which the lasting part is taken.

        Args:
            state: finite state of arm and base, later than the last one.
        """
        elapsed = None if self._stamp is None else (state.stamp - self._stamp) * 1e-9
        if elapsed is None or not 0.0 <= elapsed <= LATEST:
            self.reset()
            self._corner, elapsed = CORNER * float(self._model.natural_frequencies(state)[0]), 0.0
        self._stamp = state.stamp
        self._slow += -math.expm1(-self._corner * elapsed) * (state.deflection_rate - self._slow)
        rate = state.deflection_rate - self._slow
        return ArmState(state.stamp, state.position, state.velocity, state.deflection, rate)
