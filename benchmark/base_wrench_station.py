"""An arm with stiff gears on a force/torque sensor, its friction, and one run of a loop on it, all in one process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol
from xml.etree import ElementTree

sys.path.append(str(Path(__file__).resolve().parents[1] / "test" / "support"))

import numpy as np

from flexarm_core.base_wrench.controller import BaseWrenchController, BaseWrenchControllerConfig
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator, BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.base_wrench.torque_loop import TorqueLoopConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState, Array, BaseWrenchSample, JointReference
from flexarm_sim.backends import make_backend
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.measurement import Measurement
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.pushes import Push
from flexarm_sim.sensors import SensorConfig, SensorSuiteConfig

URDF = Path(__file__).resolve().parents[1] / "urdf" / "arm_7r.urdf.xacro"
SENSOR = "base_ft_sensor"
COUNT = 2.0 * np.pi / 2**20  # [rad] encoders of 20 bit
NOISE = (0.1, 0.1, 0.1, 0.01, 0.01, 0.01)  # of the sensor [N, N*m]
BEGIN = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 1.04, 0.0])
STICTION, STRIBECK_DROP, STRIBECK_VELOCITY = 0.3, 0.25, 0.05  # [effort limits], [stiction], [rad/s]
VISCOUS = 1.0  # [N*m*s/rad]
RIPPLE, RIPPLE_PERIOD = 0.03, 0.05  # part that depends on the position [effort limits], [rad]
NONE = np.zeros(0)


@cache
def urdf() -> str:
    """URDF of the arm, rotors included."""
    return load_robot_description(URDF, {"armature": "true"})


@cache
def description() -> RobotDescription:
    """Description of the arm, rotors included."""
    return parse_robot_description(urdf())


def heavier(scale: float = 1.0, payload: float = 0.0) -> RobotDescription:
    """The arm with all masses and inertias scaled, and a load in the tool frame.

    Args:
        scale: of masses and inertias.
        payload: [kg], a ball of 5 cm radius.
    """
    robot = ElementTree.fromstring(urdf())
    for part in (*robot.iter("mass"), *robot.iter("inertia")):
        for key, value in part.attrib.items():
            part.set(key, f"{float(value) * scale:.17g}")
    if payload:
        tool = next(link for link in robot.findall("link") if link.get("name") == "tool0")
        about = 0.4 * payload * 0.05**2
        tool.append(
            ElementTree.fromstring(
                f'<inertial><mass value="{payload}"/><inertia ixx="{about}" iyy="{about}" izz="{about}"'
                ' ixy="0" ixz="0" iyz="0"/></inertial>'
            )
        )
    return parse_robot_description(ElementTree.tostring(robot, encoding="unicode"))


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a run is done under.

    Attributes:
        period: of the samples [s].
        noise: of the wrench, in that of the sensor.
        delay: of the wrench [s].
        bias: of the wrench, unknown [N]; a tenth of it in N*m.
        stribeck_velocity: [rad/s].
        scale: of masses and inertias of the plant.
        payload: of the plant [kg].
        duration: [s].
        seed: of the noise.
        pushes: on the arm.
    """

    period: float = 0.002
    noise: float = 1.0
    delay: float = 0.0
    bias: float = 0.0
    stribeck_velocity: float = STRIBECK_VELOCITY
    scale: float = 1.0
    payload: float = 0.0
    duration: float = 8.0
    seed: int = 1
    pushes: tuple[Push, ...] = ()


def friction(model: ArmModel, stribeck_velocity: float = STRIBECK_VELOCITY) -> JointFriction:
    """Friction of the plant; no controller but the friction model's knows it."""
    limit = model.effort_limit
    return JointFriction(
        coulomb=tuple(limit * STICTION * (1.0 - STRIBECK_DROP)),
        stiction=tuple(limit * STICTION),
        stribeck_velocity=(stribeck_velocity,),
        viscous=(VISCOUS,),
        position_amplitude=tuple(limit * RIPPLE),
        position_period=(RIPPLE_PERIOD,),
    )


def make_plant(conditions: Conditions, model: ArmModel) -> Plant:
    """The arm with friction, encoders and sensor."""
    robot = heavier(conditions.scale, conditions.payload)
    backend = make_backend("mujoco", robot, friction=friction(model, conditions.stribeck_velocity))
    wrench = SensorConfig(noise=tuple(conditions.noise * part for part in NOISE), delay=conditions.delay)
    sensors = SensorSuiteConfig(
        joint_position=SensorConfig(resolution=COUNT),
        joint_velocity=SensorConfig(resolution=COUNT / conditions.period),
        wrenches={SENSOR: wrench},
    )
    config = PlantConfig(
        period_ns=round(conditions.period * 1e9),
        initial_position=tuple(BEGIN),
        sensors=sensors,
        pushes=conditions.pushes,
        seed=conditions.seed,
    )
    return Plant(robot, backend, config)


SPEED, WAY, BLEND, START, CYCLES = np.deg2rad(1.0), np.deg2rad(1.0), 0.1, 0.2, 2
TURN = WAY / SPEED + BLEND  # [s] of one way
END = START + (2 * CYCLES + 1) * TURN  # [s] from which on the reference rests


def reference(t: float, n: int = 7) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration of all joints: to and fro by 1 degree at 1 deg/s, then rest."""
    turn, u = divmod(t - START, TURN)
    if turn < 0.0:
        s, v, a = 0.0, 0.0, 0.0
    elif turn > 2 * CYCLES:
        s, v, a = WAY, 0.0, 0.0
    else:
        ramp = SPEED / BLEND
        if u < BLEND:
            s, v, a = 0.5 * ramp * u * u, ramp * u, ramp
        elif u < TURN - BLEND:
            s, v, a = SPEED * (u - 0.5 * BLEND), SPEED, 0.0
        else:
            s, v, a = WAY - 0.5 * ramp * (TURN - u) ** 2, ramp * (TURN - u), -ramp
        if turn % 2:
            s, v, a = WAY - s, -v, -a
    ones = np.ones(n)
    return BEGIN + s * ones, v * ones, a * ones


class Loop(Protocol):
    """What is compared: samples and reference in, motor efforts out."""

    def update(self, measured: Measurement, wrench: Array, effort: Array, wanted: JointReference) -> Array:
        """Motor efforts (n,) for the next period.

        Args:
            measured: joints.
            wrench: (6,) of the sensor.
            effort: (n,) that acted until now.
            wanted: reference of the same stamp.
        """
        ...


class BaseWrenchLoop:
    """Estimator and controller under test."""

    def __init__(
        self,
        model: ArmModel,
        estimator: BaseWrenchEstimatorConfig | None = None,
        controller: BaseWrenchControllerConfig | None = None,
    ) -> None:
        dynamics = SensorDynamics(build_sensed_bodies(model.description))
        self.estimator = BaseWrenchEstimator(model, dynamics, estimator or BaseWrenchEstimatorConfig())
        self.controller = BaseWrenchController(model, controller or BaseWrenchControllerConfig())
        self.friction = np.zeros(model.n)

    def update(self, measured: Measurement, wrench: Array, effort: Array, wanted: JointReference) -> Array:
        """See :class:`Loop`."""
        joints = measured.joints
        sample = BaseWrenchSample(measured.stamp, joints.position, joints.velocity, effort, wrench)
        estimate = self.estimator.update(sample)
        self.friction = estimate.friction
        state = ArmState(measured.stamp, joints.position, self.estimator.velocity, NONE, NONE)
        return self.controller.update(state, wanted, estimate, self.estimator.gravity_change).effort


def told(period: float = 0.002, delay: float = 0.0, **settings: float) -> Callable[[ArmModel], Loop]:
    """Loop under test that knows its period and a delay of the wrench; ``settings`` of the torque loop."""

    def make(model: ArmModel) -> Loop:
        torque = TorqueLoopConfig(period=period, wrench_delay=delay, **settings)
        return BaseWrenchLoop(
            model,
            BaseWrenchEstimatorConfig(wrench_delay=delay),
            BaseWrenchControllerConfig(torque_loop=torque),
        )

    return make


@dataclass(frozen=True, slots=True)
class Trace:
    """One run, a row a sample.

    Attributes:
        time: (k,) [s].
        error: (k, n) reference less true position [rad].
        velocity: (k, n) true [rad/s].
        desired: (k, n) position of the reference [rad].
        friction: (k, n) true [N*m].
        estimated: (k, n) friction as the loop saw it, 0 where it sees none [N*m].
    """

    time: Array
    error: Array
    velocity: Array
    desired: Array
    friction: Array
    estimated: Array


@cache
def arm_model() -> ArmModel:
    """Model of the arm as described, which is all that a controller knows."""
    return ArmModel(description())


def run(
    make: Callable[[ArmModel], Loop],
    conditions: Conditions | None = None,
    motion: Callable[[float], tuple[Array, Array, Array]] = reference,
) -> Trace:
    """One run from rest."""
    conditions, model = conditions or Conditions(), arm_model()
    loop, plant = make(model), make_plant(conditions, model)
    bias = conditions.bias * np.repeat((1.0, 0.1), 3)
    effort = model.gravity_effort(ArmState(0, BEGIN, np.zeros(model.n), NONE, NONE))
    measured, rows = plant.measure(), []
    for step in range(round(conditions.duration / conditions.period)):
        position, velocity, acceleration = motion(step * conditions.period)
        true = plant.state()
        wanted = JointReference(measured.stamp, position, velocity, acceleration)
        acted = effort if step == 0 else measured.joints.effort
        effort = loop.update(measured, measured.wrenches[SENSOR] + bias, acted, wanted)
        effort = np.clip(effort, -model.effort_limit, model.effort_limit)
        seen = getattr(loop, "friction", np.zeros(model.n))
        rows.append((position - true.position, true.velocity, position, true.friction, seen))
        measured = plant.advance(effort)
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Trace(np.arange(len(rows)) * conditions.period, *columns)
