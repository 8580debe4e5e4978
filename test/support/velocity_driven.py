"""A simulated arm with velocity drives under the velocity law, in one process: for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from flexarm_core.reaction_null_space.reactionless.velocity_law import Along, VelocityLaw
from flexarm_core.types import ArmState, Array
from flexarm_sim.measurement import Measurement
from flexarm_sim.plant import Plant


@dataclass(slots=True)
class VelocityRun:
    """What happened, one row a sample.

    Attributes:
        time: (T,) [s].
        position: (T, n) true joint positions [rad | m].
        velocity: (T, n) [rad/s | m/s].
        reference: (T, n) [rad | m].
        deflection: (T, m) true [m | rad].
    """

    time: Array = field(default_factory=lambda: np.zeros(0))
    position: Array = field(default_factory=lambda: np.zeros(0))
    velocity: Array = field(default_factory=lambda: np.zeros(0))
    reference: Array = field(default_factory=lambda: np.zeros(0))
    deflection: Array = field(default_factory=lambda: np.zeros(0))


def measured(sample: Measurement) -> ArmState:
    """The state that the sensors show."""
    assert sample.joints is not None and sample.elastic is not None
    joints, elastic = sample.joints, sample.elastic
    return ArmState(sample.stamp, joints.position, joints.velocity, elastic.position, elastic.velocity)


def run_velocity_law(
    plant: Plant, law: VelocityLaw, duration: float, along: Callable[[float], Along] | None = None
) -> VelocityRun:
    """Close the loop for a time: measure, compute, command, every tick of the plant.

    Args:
        plant: in velocity mode, at any stamp.
        law: set to hold or to follow.
        duration: [s].
        along: where on the path the reference is, at a time since now [s]; None: a posture is held.
    """
    rows: list[tuple[float, Array, Array, Array, Array]] = []
    start, sample = plant.stamp, plant.measure()
    while plant.stamp - start < round(duration * 1e9):
        time = (plant.stamp - start) * 1e-9
        reference = law.update(measured(sample), None if along is None else along(time))
        assert reference.position is not None and reference.velocity is not None
        truth = plant.state()
        rows.append((time, truth.position, truth.velocity, reference.position, truth.deflection))
        sample = plant.advance(reference.velocity)
    return VelocityRun(*(np.array(column) for column in zip(*rows, strict=True)))


def decay_rate(time: Array, deflection: Array, floor: float = 0.0) -> tuple[float, float]:
    """Rate and frequency of a damped oscillation about 0, from its extremes.

    Args:
        time: (T,) [s].
        deflection: (T,) [m].
        floor: extremes below it do not count [m].

    Returns:
        Decay rate [1/s] and damped frequency [rad/s]; the damping ratio is ``rate / hypot(rate, frequency)``.
    """
    size = np.abs(deflection)
    inner = np.flatnonzero((size[1:-1] >= size[:-2]) & (size[1:-1] > size[2:]) & (size[1:-1] > floor)) + 1
    moments, peaks = [], []
    for i in inner:  # the extreme between samples, by the parabola through three
        a, b, c = size[i - 1], size[i], size[i + 1]
        shift = 0.5 * (a - c) / (a - 2.0 * b + c)
        moments.append(time[i] + shift * (time[i + 1] - time[i]))
        peaks.append(b - 0.25 * (a - c) * shift)
    slope = np.polyfit(moments, np.log(peaks), 1)[0]
    return float(-slope), float(np.pi * (len(moments) - 1) / (moments[-1] - moments[0]))
