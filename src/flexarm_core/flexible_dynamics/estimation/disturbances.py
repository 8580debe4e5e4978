r"""Disturbance forces that the model of an arm does not include: white, constant over a sampling period.

Unit disturbances ``d`` = [efforts of the actuated joints (n); accelerations of the unmeasured coordinates (N); wrench
on the link that carries the arm (6)]. As forces on all coordinates, with the mobility ``L`` of the unmeasured
coordinates::

    T = G d,    G = [e_actuated,  e_unmeasured L^-1,  J^T]

A disturbance that accelerates the state also changes the reading of every sensor that depends on accelerations. An
estimator that models only the first effect rejects the readings during a push as outliers.
"""

from __future__ import annotations

import numpy as np

from flexarm_core.flexible_dynamics.estimation.covariance import show_disturbances
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.types import Array

PLACE = 1e-6  # [m | rad] influence of the unmeasured coordinates on the base link below which the link is fixed


class Disturbances:
    """Unknown forces on an arm.

    Attributes:
        size: number d of disturbances.
        onto: (N, p) forces on the unmeasured coordinates per unit of each push; pushes are the last disturbances.
    """

    def __init__(self, model: FlexibleModel, density: Array, push: tuple[float, float], inboard: bool) -> None:
        """Set up the disturbances of an arm.

        Args:
            model: model of the arm.
            density: (n + N,) spectral densities of efforts and of accelerations [unit of each over sqrt(Hz)].
            push: standard deviations of force [N] and torque [N*m] of a push; 0: no pushes.
            inboard: whether pushes inboard of the sensors under the arm are also considered; force/torque sensors alone
                cannot distinguish them.
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
        """Compute the change (c, d) of readings per unit disturbance, due to the accelerations that it causes.

        Args:
            by_forces: (c, h + K) change of the readings per unit force on each coordinate.
            mobility: (N, N) ``L`` of the unmeasured coordinates over the sampling period.
        """
        model, shown = self._model, np.empty((len(by_forces), self.size))
        show_disturbances(by_forces, model.unmeasured, model.actuated, self.onto, mobility, shown)
        return shown

    def variance(self, t: float, pushed: bool) -> Array:
        """Compute the variances (d,) of the means over ``t`` seconds: white noise of density q has variance q^2 / t."""
        return np.concatenate((self._density**2 / t, self._push**2 if pushed else np.zeros(len(self._push))))

    def through(self, sensor: str) -> Array:
        """Return the direct feedthrough (6, d), without accelerations, of outboard pushes to a force/torque sensor."""
        direct = np.zeros((6, self.size))
        if sensor in self._direct:
            first = self._n + self._N
            direct[:, first : first + 6] = self._direct[sensor]
        return direct

    def _through_sensors(self, base: str) -> dict[str, Array]:
        """Compute the reading (6, 6) of each sensor per unit wrench on the base link, in axes of the root link."""
        model, still = self._model, np.zeros(self._model.size)
        unmoved = model.sensor_wrenches(still, still, still)
        through = {name: np.zeros((6, 6)) for name in unmoved}
        for axis, wrench in enumerate(np.eye(6)):
            for name, reading in model.sensor_wrenches(still, still, still, {base: wrench}).items():
                through[name][:, axis] = reading - unmoved[name]
        return through
