"""A pipeline that drives a simulated arm in this process, and stages for the planar arm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from flexarm_core.hardware_gate.config import HardwareGateConfig
from flexarm_core.hardware_gate.gate import HardwareGate
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.pipeline.gate_stage import GateStage
from flexarm_core.pipeline.pipeline import Pipeline
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array, FlexibleSample
from flexarm_sim.measurement import Measurement
from flexarm_sim.plant import Plant


def sample_of(said: Measurement) -> FlexibleSample:
    """What a plant's sensors say, as a pipeline takes it."""
    joints, elastic, strain = said.joints, said.elastic, said.strain
    return FlexibleSample(
        said.stamp,
        joints.position,
        joints.velocity,
        joints.effort,
        None if elastic is None else elastic.position,
        None if elastic is None else elastic.velocity,
        {} if strain is None else dict(zip(strain.names, strain.strain, strict=True)),
        {name: wrench for name, wrench in said.wrenches.items() if wrench is not None},
        {name: reading for name, reading in said.imus.items() if reading is not None},
    )


@dataclass(frozen=True, slots=True)
class Run:
    """A run, a row a tick.

    Attributes:
        position: (T, n) measured joints.
        deflection: (T, m) true.
        command: (T, n), NaN where there was none.
        ticks: (T) what each stage made of it.
    """

    position: Array
    deflection: Array
    command: Array
    ticks: list[Tick]


def drive(
    pipeline: Pipeline, plant: Plant, count: int, spoil: Callable[[FlexibleSample], FlexibleSample] | None = None
) -> Run:
    """Run a plant under a pipeline; ``spoil`` changes what is measured."""
    ticks, deflections = [], []
    for _ in range(count):
        sample = sample_of(plant.measure())
        deflections.append(plant.state().deflection)
        tick = pipeline.tick(sample if spoil is None else spoil(sample))
        ticks.append(tick)
        plant.advance(tick.command)
    missing = np.full(len(plant.joint_names), np.nan)
    return Run(
        np.array([tick.sample.position for tick in ticks]),
        np.array(deflections),
        np.array([missing if tick.command is None else tick.command for tick in ticks]),
        ticks,
    )


def gate_stage(
    model: ArmModel, acceleration: float = 20.0, source: str = "joint_states", **config: object
) -> GateStage:
    """A gate with the arm's own limits, in lockstep."""
    limits = JointLimits(
        model.lower,
        model.upper,
        model.velocity_limit,
        np.full(model.n, acceleration),
        model.effort_limit,
        np.full(model.n, np.inf),
    )
    settings = {"lockstep": True, **config}
    return GateStage(HardwareGate(model, limits, HardwareGateConfig(**settings)), source)  # type: ignore[arg-type]
