"""Random arms on random elastic bases under random settings of the vibration controller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import robots
from elastic_robots import ELASTIC, WEIGHTLESS, on_elastic_base

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.stability.linear_law import ToolTask
from flexarm_core.reaction_null_space.stability.sampled_model import SampledModel
from flexarm_core.reaction_null_space.stability.stability import StabilityLimit, check_gains, postures_after_hits
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import TASKS, VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array

LOCKED = {"panda": ("panda_finger_joint1", "panda_finger_joint2")}
PERIODS = (0.001, 0.002, 0.003, 0.004)  # [s]
POSITION_AXES = (True, True, True, False, False, False)


@dataclass(frozen=True, slots=True)
class StabilityCase:
    """One arm, posture and set of settings.

    Attributes:
        text: URDF.
        model: of it, the controller's.
        gravity: (3,) [m/s^2].
        selection: of the base's motions.
        posture: (n,) [rad].
        config: of the controller.
        sampling: period and delays.
        tool: for task ``tool_path``.
    """

    text: str
    model: ArmModel
    gravity: tuple[float, float, float]
    selection: BaseSelection
    posture: Array
    config: VibrationControllerConfig
    sampling: Sampling
    tool: ToolTask

    def real(self, plant_text: str | None = None) -> ArmModel:
        """Model of the arm that is really there: another one, or None for that of the controller."""
        if plant_text is None:
            return self.model
        return ArmModel(plant_text, self.model.tool_frame, self.gravity)

    def loop(self, plant_text: str | None = None) -> SampledModel:
        """The linear loop, for a controller whose model is exact or not."""
        real, own = self.real(plant_text), self.model
        return SampledModel(
            real, self.posture, self.config, self.selection, self.sampling, self.tool, controller_model=own
        )

    def check(self) -> StabilityLimit | None:
        """Raises ConfigError where the analysis refuses the gains, at the posture or where a hit moves the arm to."""
        settings = self.config, self.selection, self.sampling, self.tool
        return check_gains(self.model, postures_after_hits(self.model, self.posture, *settings), *settings)


def still(model: ArmModel, posture: Array) -> ArmState:
    """The arm at rest over an undeflected base."""
    return ArmState(0, posture, np.zeros(model.n), np.zeros(model.m), np.zeros(model.m))


def elastic_case(
    name: str, posture: Array, frequencies: Array, damping_ratio: float, mass: float = 15.0, inertia: float = 0.5
) -> tuple[str, str]:
    """URDF text and tool frame of a robot whose elastic directions, each alone, have given frequencies [Hz].

    Args:
        name: of the robot (see ``robots``).
        posture: (n,) at which they have them [rad].
        frequencies: (6,) [Hz].
        damping_ratio: of each.
        mass: of the platform [kg].
        inertia: of it [kg*m^2].
    """
    text, tool = robots.find(name)
    arm = _massless_platform(name)
    moved = np.diag(arm.blocks(still(arm, posture)).H_b) + np.repeat((mass, inertia), 3)
    w = 2.0 * np.pi * np.asarray(frequencies)
    return on_elastic_base(
        text, moved * w**2, 2.0 * damping_ratio * moved * w, mass, inertia, LOCKED.get(name, ())
    ), tool


@cache
def _massless_platform(name: str) -> ArmModel:
    text, tool = robots.find(name)
    return ArmModel(on_elastic_base(text, mass=1e-6, inertia=1e-6, locked=LOCKED.get(name, ())), tool, WEIGHTLESS)


def random_base(name: str, rng: np.random.Generator) -> tuple[str, str, Array, tuple[str, ...]]:
    """URDF text, tool frame, posture (n,) and soft directions of a robot on a random base.

    One to three soft directions have 1.5 to 6 Hz, the stiff ones are 1 to 1e4 as stiff.
    """
    arm = _massless_platform(name)
    posture = rng.uniform(np.maximum(arm.lower, -2.5), np.minimum(arm.upper, 2.5))
    soft = rng.permutation(6)[: rng.integers(1, 4)]
    frequencies = np.full(6, np.sqrt(10.0 ** rng.uniform(0.0, 4.0)))
    frequencies[soft] = 1.0
    frequencies *= rng.uniform(1.5, 3.0) * rng.uniform(1.0, 2.0, 6)
    text, tool = elastic_case(
        name, posture, frequencies, rng.uniform(0.003, 0.02), rng.uniform(15.0, 50.0), rng.uniform(0.5, 3.0)
    )
    return text, tool, posture, tuple(ELASTIC[i] for i in sorted(soft))


def random_cases(rng: np.random.Generator) -> Iterator[StabilityCase]:
    """Arms on random bases under random settings, without end."""
    while True:
        name = ("arm_7r", "panda")[rng.integers(2)]
        text, tool, posture, soft = random_base(name, rng)
        gravity = WEIGHTLESS if rng.random() < 0.7 else (0.0, 0.0, -9.81)
        sampling = Sampling(float(rng.choice(PERIODS)), rng.uniform(0.0, 0.006))
        bandwidth = rng.uniform(8.0, 30.0)
        config = VibrationControllerConfig(
            task=str(rng.choice(TASKS)),
            realization="joint_servo" if rng.random() < 0.9 else "computed_torque",
            position_gain=100.0,
            velocity_gain=20.0,
            servo_position_gain=bandwidth**2,
            servo_velocity_gain=2.0 * bandwidth,
            damping_ratio=10.0 ** rng.uniform(-1.0, 0.0),
        )
        names = soft if rng.random() < 0.5 else ("auto",)
        tool_task = ToolTask(("", "elastic_root")[rng.integers(2)], POSITION_AXES)
        model = ArmModel(text, tool, gravity)
        try:
            selection = BaseSelection(model, names)
        except ConfigError:
            continue  # more soft modes than joints to keep them quiet
        yield StabilityCase(text, model, gravity, selection, posture, config, sampling, tool_task)
