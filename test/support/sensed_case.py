"""A robot on a sensor, its truth by Pinocchio, and estimators for it."""

from __future__ import annotations

import numpy as np
import sensed_robots
from sensed_robots import Reference, Truth

from flexarm_core.base_wrench.estimator import BaseWrenchEstimator, BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.gravity_table import GravityTable
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array, BaseWrenchSample

STEP = 2_000_000  # [ns]
# what is measured is taken as it is, and joint accelerations are left out
EXACT = BaseWrenchEstimatorConfig(velocity_bandwidth=0.0, joint_acceleration="none")
TOOLS = {"raft": "c", "two_arms": "a3"}


class Case:
    """A robot of ``sensed_robots`` by the name of the function that writes it."""

    def __init__(self, name: str) -> None:
        self.text = getattr(sensed_robots, name)()
        self.reference, self.rng = Reference(self.text), np.random.default_rng(3)
        self.model = ArmModel(self.text, tool_frame=TOOLS.get(name, ""))
        self.n, self.bodies = self.model.n, build_sensed_bodies(self.model.description)
        self.sensed = self.bodies.sensed

    def estimator(
        self, config: BaseWrenchEstimatorConfig = EXACT, table: GravityTable | None = None
    ) -> BaseWrenchEstimator:
        """Estimator, by default one that takes what is measured as it is."""
        return BaseWrenchEstimator(self.model, SensorDynamics(self.bodies), config, table)

    def sample(
        self, truth: Truth, stamp: int = 0, effort: Array | None = None, wrench: Array | None = None
    ) -> BaseWrenchSample:
        """Sample of a truth [ns], with other efforts or another reading where they are given."""
        n = self.n
        return BaseWrenchSample(
            stamp,
            truth.position[:n],
            truth.velocity[:n],
            truth.effort[:n] if effort is None else effort,
            truth.wrench if wrench is None else wrench,
            truth.position[n:],
            truth.velocity[n:],
            truth.acceleration[n:],
        )

    def rest(self, scale: float = 1.0) -> Truth:
        """Truth of a pose at rest."""
        still = np.zeros(len(self.reference.names))
        return self.reference.at(scale * np.linspace(0.2, 0.8, len(still)), still, still)
