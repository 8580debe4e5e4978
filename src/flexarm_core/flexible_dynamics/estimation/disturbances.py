r"""Forces that the model of an arm does not know of: white, constant over a tick.

Unit disturbances ``d`` = [efforts of the actuated joints (n); accelerations of the unmeasured coordinates (N); wrench
on the link that carries the arm (6)]. As forces on all coordinates, with the mobility ``L`` of the unmeasured ones::

    T = G d,    G = [e_actuated,  e_unmeasured L^-1,  J^T]

What accelerates the state is at the same time in the reading of every sensor that feels accelerations. An estimator
that is told of the one and not of the other takes a push for an outlier.
"""

from __future__ import annotations

import numpy as np

from flexarm_core.flexible_dynamics.estimation.covariance import show_disturbances
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.types import Array

PLACE = 1e-6  # [m | rad] influence of the unmeasured coordinates on the base link below which it counts as fixed


class Disturbances:
    """Unknown forces on an arm.

    Attributes:
        size: d, their number.
        onto: (N, p) forces on the unmeasured coordinates per unit of the pushes, the last of the disturbances.
    """

    def __init__(self, model: FlexibleModel, density: Array, push: tuple[float, float], inboard: bool) -> None:
        """Know the arm.

        Args:
            model: of it.
            density: (n + N,) spectral densities of efforts and of accelerations [unit of each over sqrt(Hz)].
            push: deviations of force [N] and torque [N*m] of a push; 0: there are none.
            inboard: pushes may also act inboard of the sensors under the arm; these alone cannot tell.
        """
        self._model, self._density = model, density
        self._n, self._N = len(model.actuated), len(model.unmeasured)
        still = np.zeros(model.size)
        base = model.description.base_frame
        onto = np.zeros((self._N, 6))  # J^T at the undeflected base: deflections are small
        for row, coordinate in enumerate(model.unmeasured):
            rate = np.zeros(model.size)
            rate[coordinate] = 1.0
            onto[row] = model.frame_motion(base, still, rate).velocity
        carried = bool(np.abs(onto).max() > PLACE) and any(push)
        sides = 0 if not carried else 2 if inboard else 1
        self.onto = np.tile(onto, sides)
        self._push = np.tile(np.repeat(push, 3), sides)
        self._direct = self._through_sensors(base) if carried else {}
        self.size = self._n + self._N + 6 * sides

    def shown(self, by_forces: Array, mobility: Array) -> Array:
        """What readings show of a unit disturbance, (c, d), through the accelerations that it causes.

        Args:
            by_forces: (c, h + K) by how much they change with a unit force on each coordinate.
            mobility: (N, N) ``L`` of the unmeasured coordinates over the tick.
        """
        model, shown = self._model, np.empty((len(by_forces), self.size))
        show_disturbances(by_forces, model.unmeasured, model.actuated, self.onto, mobility, shown)
        return shown

    def variance(self, t: float, pushed: bool) -> Array:
        """(d,) of each, its mean over a tick of ``t`` seconds: white noise of density q has variance q^2 / t."""
        return np.concatenate((self._density**2 / t, self._push**2 if pushed else np.zeros(len(self._push))))

    def through(self, sensor: str) -> Array:
        """(6, d) what a force/torque sensor reads of them beside what comes of accelerations: a push outboard of it."""
        direct = np.zeros((6, self.size))
        if sensor in self._direct:
            first = self._n + self._N
            direct[:, first : first + 6] = self._direct[sensor]
        return direct

    def _through_sensors(self, base: str) -> dict[str, Array]:
        """(6, 6) of each sensor per unit wrench on the base link, in axes of the root link."""
        model, still = self._model, np.zeros(self._model.size)
        unmoved = model.sensor_wrenches(still, still, still)
        through = {name: np.zeros((6, 6)) for name in unmoved}
        for axis, wrench in enumerate(np.eye(6)):
            for name, reading in model.sensor_wrenches(still, still, still, {base: wrench}).items():
                through[name][:, axis] = reading - unmoved[name]
        return through
