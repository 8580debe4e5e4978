"""The arm and its sensor on a base that swings on springs: torques with and without the base's acceleration."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import numpy as np
from base_wrench_station import BEGIN, COUNT, NOISE, SENSOR, friction, urdf

from flexarm_core.base_wrench.controller import BaseWrenchController, BaseWrenchControllerConfig
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator, BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.motion_filter import MotionFilter
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState, Array, BaseWrenchSample, FlexibleSample, JointReference
from flexarm_sim.backends import make_backend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.sensors import SensorConfig, SensorSuiteConfig
from flexarm_tools.metrics.figures import Figure, parse_goal

FREQUENCY, AMPLITUDE, DAMPING_RATIO = 3.0, 0.01, 0.003  # [Hz], [m], of critical
PLATE, INERTIA = 50.0, 2.0  # of each slide [kg], [kg*m^2]
STEP_NS, DURATION, SETTLING = 2_000_000, 2.5, 0.5  # [ns], [s], [s]
RATE, SWEEP = 0.5, 0.25  # of the arm's own motion [Hz], [rad]
DEFLECTION_NOISE, RATE_NOISE = 1e-5, 1e-3  # of the base's sensors [m], [m/s]
RATE_BANDWIDTHS = {"differences": 100.0, "faster_differences": 300.0}  # of the base's acceleration [rad/s]
SLIDES = (("base_x", "1 0 0"), ("base_y", "0 1 0"))


def swinging_description() -> RobotDescription:
    """The arm on a plate that two springs hold, the sensor between the two."""
    robot = ElementTree.fromstring(urdf())
    arm_mass = sum(float(mass.get("value")) for mass in robot.iter("mass"))
    parent, springs, control = "world", "", robot.find("ros2_control")
    for i, (name, axis) in enumerate(SLIDES):
        carried = arm_mass + PLATE * (len(SLIDES) - i)
        stiffness = (2.0 * np.pi * FREQUENCY) ** 2 * carried
        damping = 2.0 * DAMPING_RATIO * np.sqrt(stiffness * carried)
        inertia = f'<inertia ixx="{INERTIA}" iyy="{INERTIA}" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/>'
        inertial = f'<inertial><mass value="{PLATE}"/>{inertia}</inertial>'
        robot.append(ElementTree.fromstring(f'<link name="{name}_plate">{inertial}</link>'))
        robot.append(
            ElementTree.fromstring(
                f'<joint name="{name}" type="prismatic"><parent link="{parent}"/><child link="{name}_plate"/>'
                f'<axis xyz="{axis}"/><limit lower="-0.1" upper="0.1" effort="10000" velocity="5"/></joint>'
            )
        )
        springs += f'<elastic_joint name="{name}" stiffness="{stiffness:.17g}" damping="{damping:.17g}"/>'
        states = '<state_interface name="position"/><state_interface name="velocity"/>'
        control.append(ElementTree.fromstring(f'<joint name="{name}">{states}</joint>'))
        parent = f"{name}_plate"
    base = next(joint for joint in robot.findall("joint") if joint.get("name") == "base_joint")
    base.find("parent").set("link", parent)
    robot.append(ElementTree.fromstring(f"<flexibility>{springs}</flexibility>"))
    return parse_robot_description(ElementTree.tostring(robot, encoding="unicode"))


def moving_base() -> Iterator[Figure]:
    """The arm moves under its own loop, which knows the base; errors against the plant's own torques."""
    errors, swing = _run(AMPLITUDE)
    still, _ = _run(0.0)
    without = errors["without"]
    details: dict[str, bool | float | str] = {
        "error_without_Nm": without,
        "error_with_Nm": errors["estimator"],
        "error_on_a_base_at_rest_Nm": still["without"],
        "by_true_acceleration": errors["true"] / without,
        "by_estimator_told_motor_effort": errors["estimator_motor_effort"] / without,
        "by_differences_of_rates": errors["differences"] / without,
        "by_faster_differences_of_rates": errors["faster_differences"] / without,
        "largest_deflection_m": swing,
    }
    yield Figure(
        "moving_base_ratio", errors["estimator"] / without, "1", parse_goal("<= 0.1"),
        "RMS torque error on a base that swings at 3 Hz by 1 cm, with the base's estimated acceleration over without",
        details=details,
    )  # fmt: skip


def _run(amplitude: float) -> tuple[dict[str, float], float]:
    """RMS errors of the torque by source of the base's acceleration [N*m], and the largest deflection [m].

    The flexible estimator is told what reached the links, by the estimate of the sample before, and to compare, what
    the motors gave.
    """
    description = swinging_description()
    model = ArmModel(description)
    n, m = model.n, model.m
    backend = make_backend("mujoco", description, friction=friction(model))
    sensors = SensorSuiteConfig(
        joint_position=SensorConfig(resolution=COUNT),
        joint_velocity=SensorConfig(resolution=COUNT / (STEP_NS * 1e-9)),
        deflection=SensorConfig(noise=DEFLECTION_NOISE),
        deflection_rate=SensorConfig(noise=RATE_NOISE),
        wrenches={SENSOR: SensorConfig(noise=NOISE)},
    )
    initial = (amplitude, -amplitude * 0.5) if amplitude else (0.0, 0.0)
    plant = Plant(
        description,
        backend,
        PlantConfig(
            period_ns=STEP_NS, initial_position=tuple(BEGIN), initial_deflection=initial, sensors=sensors, seed=4
        ),
    )
    names = ("without", "true", "estimator", "estimator_motor_effort", *RATE_BANDWIDTHS)
    dynamics = build_sensed_bodies(description)
    estimators = {
        name: BaseWrenchEstimator(model, SensorDynamics(dynamics), BaseWrenchEstimatorConfig()) for name in names
    }
    flexible = {name: FlexibleEstimator(FlexibleModel(description)) for name in names if name.startswith("estimator")}
    differences = {name: MotionFilter([False] * m, 0.0, width) for name, width in RATE_BANDWIDTHS.items()}
    controller = BaseWrenchController(model, BaseWrenchControllerConfig())
    measured, off, largest, taken = plant.measure(), {name: [] for name in names}, 0.0, np.zeros(n)
    for step in range(round(DURATION / (STEP_NS * 1e-9))):
        t, true, stamp = step * STEP_NS * 1e-9, plant.state(), measured.stamp
        joints, elastic = measured.joints, measured.elastic
        base = {"without": np.zeros(m), "true": true.deflection_acceleration}
        for name, filtered in differences.items():
            base[name] = filtered.update(stamp, elastic.position, elastic.velocity)[1]
        for name, filtered in flexible.items():
            effort = joints.effort - taken if name == "estimator" else joints.effort
            sample = FlexibleSample(stamp, joints.position, joints.velocity, effort, elastic.position, elastic.velocity)
            base[name] = filtered.update(sample).deflection_acceleration
        reached = true.effort - true.friction - model.armature * true.acceleration
        state = ArmState(stamp, true.position, true.velocity, true.deflection, true.deflection_rate)
        reached = reached - model.gravity_effort(state)
        estimates = {}
        for name, estimator in estimators.items():
            sample = BaseWrenchSample(
                stamp, joints.position, joints.velocity, joints.effort, measured.wrenches[SENSOR],
                elastic.position, elastic.velocity, base[name],
            )  # fmt: skip
            estimates[name] = estimator.update(sample)
            if t >= SETTLING:
                off[name].append(estimates[name].torque - reached)
        taken = estimates["estimator"].friction
        state = ArmState(stamp, joints.position, estimators["estimator"].velocity, elastic.position, elastic.velocity)
        wanted = JointReference(stamp, *_motion(t))
        answer = controller.update(state, wanted, estimates["estimator"])
        measured = plant.advance(np.clip(answer.effort, -model.effort_limit, model.effort_limit))
        largest = max(largest, float(np.linalg.norm(true.deflection)))
    return {name: float(np.sqrt(np.square(rows).mean())) for name, rows in off.items()}, largest


def _motion(t: float) -> tuple[Array, Array, Array]:
    """All joints to and fro, begun at rest."""
    w, n = 2.0 * np.pi * RATE, len(BEGIN)
    s, v, a = SWEEP * 0.5 * (1.0 - np.cos(w * t)), SWEEP * 0.5 * w * np.sin(w * t), SWEEP * 0.5 * w * w * np.cos(w * t)
    return BEGIN + s * np.ones(n), v * np.ones(n), a * np.ones(n)
