"""Sensors of the estimator: which there are, their rows in the memory of the filter, and why readings are left out.

The estimated state is ``[y; yd]`` (2N,), ``y`` = [elastic joints of the base; modes of the links]. Strain and
deflection are linear in the state; readings of force/torque sensors and IMUs depend on accelerations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.bodies import make_bodies
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.estimation.memory import FROZEN, OUTLIER
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.tree import Index
from flexarm_core.types import Array, FlexibleSample

WRENCH = ("fx", "fy", "fz", "nx", "ny", "nz")
IMU = ("ax", "ay", "az", "wx", "wy", "wz")
# fields of a sample
STRAINS, DEFLECTIONS, RATES, WRENCHES, IMUS = "strain", "deflection", "deflection_rate", "wrenches", "imus"


@dataclass(frozen=True, slots=True)
class Channel:
    """Reading of one sensor in one sample; it is used or left out as a whole.

    Attributes:
        kind: field of the sample that has it.
        name: name of the sensor.
        components: names of the components of the reading.
        noise: (components) variances of the noise; of a gauge, without the part that is relative to the reading.
    """

    kind: str
    name: str
    components: tuple[str, ...]
    noise: tuple[float, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the components, including the name of the sensor."""
        return tuple(f"{self.name} {component}".strip() for component in self.components)

    def _reason(self, code: float, sample: FlexibleSample) -> str:
        """Say why the reading is left out."""
        if code in (FROZEN, OUTLIER):
            return f"{self.name}: {'frozen' if code == FROZEN else 'outlier'}"
        given = getattr(sample, self.kind)
        of_joint = self.kind in (DEFLECTIONS, RATES)
        missing = given is None or (not of_joint and given.get(self.name) is None)
        return f"{self.name}{' ' * of_joint}{self.kind * of_joint}: {'missing' if missing else 'not finite'}"


class Measurements:
    """All channels of an estimator.

    Attributes:
        channels: strain gauges, deflections of the elastic joints, their rates, force/torque sensors, IMUs.
        gauges: number of strain gauges.
        linear: number of rows whose readings are linear in the state.
        rows: number of rows.
    """

    def __init__(self, model: FlexibleModel, config: EstimatorConfig) -> None:
        """Find the sensors that correct the estimate."""
        c, robot = config, model.description
        on = c.correct
        gauges = tuple(robot.strain_gauges) if on and c.use_strain else ()
        joints = tuple(joint.name for joint in robot.elastic) if on and c.use_deflection else ()
        wrenches = sorted(set(c.wrench_sensors(robot.force_torque_sensors)) - {c.contact_sensor})
        imus = tuple(robot.imus) if on and c.use_imu else ()
        wrench_noise = (c.force_noise**2,) * 3 + (c.torque_noise**2,) * 3
        imu_noise = (c.acceleration_noise**2,) * 3 + (c.gyro_noise**2,) * 3
        self.channels = (
            *(Channel(STRAINS, name, ("",), (c.strain_noise**2,)) for name in gauges),
            *(Channel(DEFLECTIONS, name, (DEFLECTIONS,), (c.deflection_noise**2,)) for name in joints),
            *(Channel(RATES, name, (RATES,), (c.deflection_rate_noise**2,)) for name in joints),
            *(Channel(WRENCHES, name, WRENCH, wrench_noise) for name in wrenches),
            *(Channel(IMUS, name, IMU, imu_noise) for name in imus),
        )
        self._model, self._names = model, (gauges, tuple(wrenches), imus)
        self.gauges, self._joints = len(gauges), len(joints)
        self.linear = len(gauges) + 2 * len(joints)
        self.rows = self.linear + 6 * (len(wrenches) + len(imus))
        self.first = np.concatenate(([0], np.cumsum([len(channel.components) for channel in self.channels], dtype=int)))
        self.labels = tuple(chain.from_iterable(channel.labels for channel in self.channels))
        sixes = range(self.linear, self.rows, 6)
        self._wrenches = tuple((name, slice(row, row + 6)) for name, row in zip(wrenches, sixes, strict=False))
        self._imus = tuple((name, slice(row, row + 6)) for name, row in zip(imus, sixes[len(wrenches) :], strict=True))

    @cached_property
    def of_base(self) -> Index:
        """1 for each channel that shows the motion of the base, and therefore pushes on it, else 0."""
        return np.array([channel.kind != STRAINS for channel in self.channels], dtype=np.int64)

    def shown(self) -> Array:
        """Derivative (2N, rows) of the readings with respect to ``[y; yd]``; 0 where it is not constant."""
        N, modes, g, m = len(self._model.unmeasured), len(self._model.modal), self.gauges, self._joints
        shown = np.zeros((2 * N, self.rows))
        shown[N - modes : N, :g] = self._model.strain_map[:g].T
        for i in range(m):
            shown[i, g + i] = shown[N + i, g + m + i] = 1.0
        return shown

    def motion_sensors(self) -> tuple[Index, Index, Array, Array]:
        """Body, whether it is a force/torque sensor, frame (c, 5, 3) and influence (c, 6, k) of each motion sensor."""
        model, (_, wrenches, imus) = self._model, self._names
        places = make_bodies(model.description, model.modal_data)[1]
        sensors = [model.body_of(model.description.force_torque_sensors[name].frame) for name in wrenches]
        mounts = [places[model.description.imus[name].frame] for name in imus]
        count, most = len(sensors) + len(mounts), max((mount.rotation.shape[1] for mount in mounts), default=0)
        frame, influence = np.zeros((count, 5, 3)), np.zeros((count, 6, most))
        for i, mount in enumerate(mounts, len(sensors)):
            frame[i] = np.vstack((mount.node, mount.offset, mount.turn))
            influence[i, :, : mount.rotation.shape[1]] = np.vstack((mount.translation, mount.rotation))
        bodies = np.array([*sensors, *(mount.body for mount in mounts)], dtype=np.int64)
        return bodies, (np.arange(count) < len(sensors)).astype(np.int64), frame, influence

    def read(self, sample: FlexibleSample, readings: Array) -> None:
        """Write the readings (rows,) of a sample, NaN where there is none."""
        g, m = self.gauges, self._joints
        if g:
            get = sample.strain.get
            readings[:g] = [get(name, np.nan) for name in self._names[0]]
        if m:
            readings[g : g + m] = np.nan if sample.deflection is None else sample.deflection
            readings[g + m : g + 2 * m] = np.nan if sample.deflection_rate is None else sample.deflection_rate
        for name, place in self._wrenches:
            readings[place] = sample.wrenches.get(name, np.nan)
        for name, place in self._imus:
            readings[place] = sample.imus.get(name, np.nan)

    def used(self, codes: Array) -> Any:
        """Mask (rows,) of the rows of the channels that are used, from their codes."""
        return np.repeat(codes == 0, np.diff(self.first))

    def reasons(self, codes: Array, sample: FlexibleSample) -> list[str]:
        """Why channels are left out: those without a usable reading, then outliers."""
        found = [(code, channel) for code, channel in zip(codes, self.channels, strict=True) if code]
        return [
            channel._reason(code, sample)
            for outliers in (False, True)
            for code, channel in found
            if (code == OUTLIER) == outliers
        ]


def contact_body(model: FlexibleModel, sensor: str) -> int:
    """Return the body that carries a force/torque sensor whose reading is an input of the model and is not compared.

    A sensor behind the tool measures the wrench of its outboard side on its inboard side, in the sensor frame,
    ``w = w_c - w_m``: the contact wrench on the tool minus the wrench that accelerates and supports the mass beyond the
    sensor. The model computes ``w_m``, which gives ``w_c``. A filter without this input attributes the contact to a
    deflection of the arm, and under lasting contact estimates rates that do not exist.

    Raises:
        ConfigError: there is no such sensor.
    """
    sensors = model.description.force_torque_sensors
    if sensor not in sensors:
        raise ConfigError(f"contact_sensor '{sensor}' does not exist; force/torque sensors: {', '.join(sensors)}")
    return model.body_of(sensors[sensor].frame)
