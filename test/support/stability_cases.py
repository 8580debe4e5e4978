"""Random arms on random elastic bases under random settings of the vibration controller, and what becomes of a hit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import robots
from elastic_robots import ELASTIC, WEIGHTLESS, on_elastic_base

from flexarm_core.errors import ConfigError
from flexarm_core.reaction_null_space.base_modes import base_modes
from flexarm_core.reaction_null_space.base_selection import BaseSelection
from flexarm_core.reaction_null_space.linear_law import ToolTask
from flexarm_core.reaction_null_space.linear_plant import linear_plant
from flexarm_core.reaction_null_space.sampled_model import SampledModel
from flexarm_core.reaction_null_space.sampling import Sampling
from flexarm_core.reaction_null_space.stability import StabilityLimit, check_gains
from flexarm_core.reaction_null_space.vibration_controller import (
    TASKS,
    VibrationController,
    VibrationControllerConfig,
)
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, Array, CartesianReference, JointReference
from flexarm_sim.backend import PlantDivergedError
from flexarm_sim.backends import make_backend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.sensors import SensorConfig, SensorSuiteConfig

LOCKED = {"panda": ("panda_finger_joint1", "panda_finger_joint2")}
PERIODS = (0.001, 0.002, 0.003, 0.004)  # [s]
LARGEST_PHASE = 0.6  # [rad] of the stiffest direction in a step of the simulation, which hardly damps it then
LIMIT_CYCLE = 20.0  # times what the hit gave
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
        """Raises ConfigError where the analysis refuses the gains."""
        return check_gains(self.model, self.posture, self.config, self.selection, self.sampling, self.tool)


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


def random_cases(rng: np.random.Generator) -> Iterator[StabilityCase]:
    """Arms with soft directions of 1.5 to 6 Hz and stiff ones, 1 to 1e4 as stiff, without end."""
    while True:
        name = ("arm_7r", "panda")[rng.integers(2)]
        arm = _massless_platform(name)
        posture = rng.uniform(np.maximum(arm.lower, -2.5), np.minimum(arm.upper, 2.5))
        soft = rng.permutation(6)[: rng.integers(1, 4)]
        frequencies = np.full(6, np.sqrt(10.0 ** rng.uniform(0.0, 4.0)))
        frequencies[soft] = 1.0
        frequencies *= rng.uniform(1.5, 3.0) * rng.uniform(1.0, 2.0, 6)
        text, tool = elastic_case(
            name, posture, frequencies, rng.uniform(0.003, 0.02), rng.uniform(15.0, 50.0), rng.uniform(0.5, 3.0)
        )
        gravity = WEIGHTLESS if rng.random() < 0.7 else (0.0, 0.0, -9.81)
        sampling = Sampling(float(rng.choice(PERIODS)), rng.uniform(0.0, 0.006))
        bandwidth = rng.uniform(8.0, 30.0)
        config = VibrationControllerConfig(
            task=str(rng.choice(TASKS)),
            realisation="joint_servo" if rng.random() < 0.9 else "computed_torque",
            position_gain=100.0,
            velocity_gain=20.0,
            servo_position_gain=bandwidth**2,
            servo_velocity_gain=2.0 * bandwidth,
            damping_ratio=10.0 ** rng.uniform(-1.0, 0.0),
        )
        names = tuple(ELASTIC[i] for i in sorted(soft)) if rng.random() < 0.5 else ("auto",)
        tool_task = ToolTask(("", "elastic_root")[rng.integers(2)], POSITION_AXES)
        model = ArmModel(text, tool, gravity)
        try:
            selection = BaseSelection(model, names)
        except ConfigError:
            continue  # more soft modes than joints to keep them quiet
        yield StabilityCase(text, model, gravity, selection, posture, config, sampling, tool_task)


@dataclass(frozen=True, slots=True)
class HitRun:
    """What became of a hit, a row a sample.

    Attributes:
        time: (T,) [s].
        energy: (T, m + 1) energies of the base's modes, with joints locked at the posture, about where they come to
            stand, and the kinetic one of all; inf from where they left all bounds [J].
        given: what the hit gave a mode [J].
    """

    time: Array
    energy: Array
    given: float

    @property
    def diverged(self) -> bool:
        """Whether it left all bounds."""
        return not np.isfinite(self.energy).all()

    def growth(self) -> Array:
        """Rates (m + 1,) at which amplitudes grow, by the energies' peaks in the second and the last quarter [1/s]."""
        if self.diverged:
            return np.full(self.energy.shape[1], np.inf)
        quarter = len(self.time) // 4
        early, late = self.energy[quarter : 2 * quarter].max(axis=0), self.energy[3 * quarter :].max(axis=0)
        return np.asarray(0.5 * np.log(late / np.maximum(early, 1e-300)) / (self.time[2 * quarter] - self.time[0]))

    def grows(self, least: float = 0.05) -> bool:
        """Whether something that is not small grows by a rate [1/s], or has grown, into a limit cycle perhaps."""
        late = self.energy[3 * len(self.time) // 4 :].max(axis=0)
        if late.max() > LIMIT_CYCLE * self.given:
            return True
        return bool((self.growth()[late > 1e-2 * self.given] > least).any())


def is_unstable(case: StabilityCase, plant_text: str | None = None, duration: float = 2.0) -> bool:
    """Whether the arm goes unstable after a hit: what seems to grow is looked at for a longer time.

    Args:
        case: what is simulated.
        plant_text: URDF of the arm that is really there; None: the controller's model is exact.
        duration: of the first look [s].
    """
    run = hit(case, plant_text, duration)
    return run.diverged or (run.grows() and hit(case, plant_text, 4.0 * duration).grows())


def hit(
    case: StabilityCase, plant_text: str | None = None, duration: float = 2.0, energy: float = 1e-3, seed: int = 0
) -> HitRun:
    """Simulate the controller on the plant after a hit that gives every mode of the base the same energy.

    Args:
        case: what to simulate; effort drives.
        plant_text: URDF of the arm that is really there; None: the controller's model is exact.
        duration: [s].
        energy: of each mode after the hit [J].
        seed: of the hit's signs.
    """
    model, real = case.model, case.real(plant_text)
    linear = linear_plant(real, case.posture, case.sampling)
    blocks, modes = linear.blocks, base_modes(linear.blocks.H_b, real.K_b)
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), model.m)
    plant = _plant(
        case, real, linear.rest, modes.shapes @ (signs * np.sqrt(2.0 * energy)), float(modes.frequencies[-1])
    )
    controller = VibrationController(model, case.config, case.selection)
    tool, joints = _references(case, model, linear.rest)
    count, sample = round(duration / case.sampling.period), plant.measure()
    deflections, rates = np.zeros((count, model.m)), np.zeros((count, model.m))
    velocities = np.zeros((count, model.n))
    end = count
    for k in range(count):
        state = plant.state()
        deflections[k], rates[k], velocities[k] = state.deflection, state.deflection_rate, state.velocity
        swing = modes.momenta @ rates[k]
        if not 0.5 * swing @ swing < 1e3 * model.m * energy:
            end = k
            break
        assert sample.joints is not None and sample.elastic is not None
        moving, bent = sample.joints, sample.elastic
        measured = ArmState(sample.stamp, moving.position, moving.velocity, bent.position, bent.velocity)
        command, _ = controller.update(measured, tool, joints)
        try:
            sample = plant.advance(command.effort)
        except PlantDivergedError:
            end = k
            break
    about = deflections - deflections[end // 2 : end].mean(axis=0) if end > 1 else deflections
    speeds = rates @ modes.momenta.T
    modal = 0.5 * speeds**2 + 0.5 * (about @ modes.momenta.T * modes.frequencies) ** 2
    kinetic = 0.5 * np.einsum("ki,ij,kj->k", velocities, blocks.H_m, velocities)
    energies = np.column_stack((modal, kinetic))
    energies[end:] = np.inf
    return HitRun(np.arange(count) * case.sampling.period, energies, energy)


def _plant(case: StabilityCase, model: ArmModel, rest: Array, rate: Array, highest: float) -> Plant:
    backend = make_backend(
        "mujoco", model.description, tool_frame=model.tool_frame, gravity=case.gravity,
        max_step=min(5e-4, LARGEST_PHASE / highest),
    )  # fmt: skip
    sampling = case.sampling
    of_joints, of_base = (
        SensorConfig(delay=late * sampling.period) for late in (sampling.joint_samples, sampling.base_samples)
    )
    config = PlantConfig(
        round(sampling.period * 1e9), tuple(case.posture),
        initial_deflection=tuple(rest), initial_deflection_rate=tuple(rate),
        sensors=SensorSuiteConfig(
            joint_position=of_joints, joint_velocity=of_joints, deflection=of_base, deflection_rate=of_base
        ),
    )  # fmt: skip
    return Plant(model.description, backend, config)


def _references(
    case: StabilityCase, model: ArmModel, rest: Array
) -> tuple[CartesianReference | None, JointReference | None]:
    """References of a posture that is held."""
    if case.config.task == "joint_path":
        return None, JointReference(0, case.posture, np.zeros(model.n))
    if case.config.task != "tool_path":
        return None, None
    frame, none = case.tool.frame or model.base_frame, np.zeros(model.m)
    at = model.tool_kinematics(ArmState(0, case.posture, np.zeros(model.n), rest, none), frame)
    axes, zero = np.array(case.tool.axes), np.zeros(6)
    return CartesianReference(0, frame, at.position, at.rotation, zero, zero, axes), None
