"""RedundancyStage: converts a stream of tool references to joint references with the redundancy solver."""

from __future__ import annotations

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.ik_redundancy.solver import RedundancySolver, RedundancyStatus
from flexarm_core.pipeline.tick import Tick
from flexarm_core.pipeline.whole_reference import load_compiled, whole_reference
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.base_link import BaseLink
from flexarm_core.types import Array, all_finite


class RedundancyStage:
    """Follows the stream of tool references; brakes and holds while a reference is unusable or missing.

    Attributes:
        solver: redundancy solver of the arm's chain.
    """

    name = "ik_redundancy_solver"

    def __init__(self, model: ArmModel, solver: RedundancySolver, *, state_timeout: float = 0.08) -> None:
        """Bind the stage to a solver.

        Args:
            model: arm model.
            solver: redundancy solver of the arm's chain.
            state_timeout: gap between samples after which the motion restarts from the measured state [s].
        """
        self.solver = solver
        self._base, self._gap, self._elastic = BaseLink(model), state_timeout, model.m
        self._place = np.array([model.joint_names.index(name) for name in solver.chain.joint_names])
        load_compiled()
        self.reset()

    def reset(self) -> None:
        """Wait for the first sample."""
        self.solver.reset()
        self._followed = False  # whether the last sample followed a pose
        self._time: int | None = None  # stamp of the solver's state [ns]
        self._held: Array | None = None  # positions of joints that are not in the chain

    @property
    def needs(self) -> frozenset[str]:
        """The tool reference that is followed."""
        return frozenset({"tool"})

    @property
    def status(self) -> RedundancyStatus | None:
        """Solver status of the last sample; None: there was no pose to follow, or it was unusable."""
        return self.solver.status() if self._followed else None

    def update(self, tick: Tick) -> None:
        """Process one sample.

        Raises:
            InputError: a joint position or velocity is not finite.
        """
        tick.take_joints()
        sample, solver = tick.sample, self.solver
        if self._time is None or (tick.stamp - self._time) * 1e-9 > self._gap:
            solver.begin(sample.position[self._place], sample.velocity[self._place])
            self._held, self._time = sample.position, tick.stamp
        dt, self._time, self._followed = (tick.stamp - self._time) * 1e-9, tick.stamp, False
        if dt > 0.0:
            self._step(tick, dt)
        assert self._held is not None
        parts = solver.position, solver.velocity, solver.acceleration
        tick.give_joints(self.name, whole_reference(tick.stamp, self._held, self._place, *parts))

    def _step(self, tick: Tick, dt: float) -> None:
        """Follow the reference of this sample, or brake."""
        if tick.tool is not None:
            measured = tick.sample.deflection
            known = measured is not None and all_finite(measured)
            deflection = measured if measured is not None and known else np.zeros(self._elastic)
            try:
                self.solver.follow(*self._base.reference(tick.tool, deflection), dt)
                self._followed = True
                return
            except InputError as error:
                tick.refused[self.name] = str(error)
        self.solver.stop(dt)
