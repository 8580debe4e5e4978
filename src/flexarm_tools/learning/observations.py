"""Observations: sensor readings of a run, with noise and losses as nodes get them; never the plant's true state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array
from flexarm_sim.measurement import Measurement
from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.yaml_file.document import nearest

USUAL = ("position", "velocity", "deflection", "deflection_rate", "tool_position")
Read = Callable[[Measurement], Array | None]


class Observations:
    """Reads some signals of each measurement into one vector; a signal that is lost keeps its last value.

    Before its first value it is zero.

    Attributes:
        names: (o) names of the numbers, as ``position/joint1``.
    """

    def __init__(self, run: ProcessRun, signals: Sequence[str]) -> None:
        """Choose the signals by their names.

        Raises:
            ConfigError: the robot has no such signal, or one is named twice.
        """
        known = _signals(run)
        for name in signals:
            if name not in known:
                raise ConfigError(f"there is no signal '{name}'; {nearest(name, known)}valid: {', '.join(known)}")
        if len(set(signals)) < len(signals):
            raise ConfigError(f"a signal is named twice: {', '.join(signals)}")
        self._signals = [(name, *known[name]) for name in signals]
        self.names = tuple(f"{name}/{part}" for name, parts, _ in self._signals for part in parts)
        self._last: dict[str, Array] = {name: np.zeros(len(parts)) for name, parts, _ in self._signals}

    def read(self, said: Measurement) -> Array:
        """Return the signals of a measurement, in one vector (o,)."""
        for name, _, read in self._signals:
            value = read(said)
            if value is not None:
                self._last[name] = np.array(value, dtype=float)
        return np.concatenate([np.zeros(0), *self._last.values()])


def _signals(run: ProcessRun) -> dict[str, tuple[Sequence[str], Read]]:
    """Return the names of the numbers of each signal, and how it is read."""
    model = run.model
    joints, elastic = model.joint_names, model.elastic_joint_names
    found: dict[str, tuple[Sequence[str], Read]] = {
        "position": (joints, partial(_part, "joints", "position")),
        "velocity": (joints, partial(_part, "joints", "velocity")),
        "effort": (joints, partial(_part, "joints", "effort")),
        "deflection": (elastic, partial(_part, "elastic", "position")),
        "deflection_rate": (elastic, partial(_part, "elastic", "velocity")),
        "tool_position": ("xyz", partial(_tool, model)),
    }
    wrench, imu = ("fx", "fy", "fz", "nx", "ny", "nz"), ("ax", "ay", "az", "wx", "wy", "wz")
    for name in model.description.force_torque_sensors:
        found[name] = wrench, partial(_of, "wrenches", name)
    for name in model.description.imus:
        found[name] = imu, partial(_of, "imus", name)
    if model.description.strain_gauges:
        found["strain"] = tuple(model.description.strain_gauges), partial(_part, "strain", "strain")
    return found


def _part(of: str, name: str, said: Measurement) -> Array | None:
    reading = getattr(said, of)
    found: Array | None = None if reading is None else getattr(reading, name)
    return found


def _of(kind: str, name: str, said: Measurement) -> Array | None:
    readings: dict[str, Array | None] = getattr(said, kind)
    return readings.get(name)


def _tool(model: ArmModel, said: Measurement) -> Array | None:
    if said.joints is None or not np.isfinite(said.joints.position).all():
        return None
    return tool_position(model, said.stamp, said.joints.position)


def tool_position(model: ArmModel, stamp: int, position: Array) -> Array:
    """Return the tool's place (3,) in the base link's frame for joint positions (n,) [m]."""
    still, none = np.zeros(model.n), np.zeros(model.m)
    return model.tool_kinematics(ArmState(stamp, position, still, none, none), model.base_frame).position
