"""Parameters of the simulated plant, and the PlantConfig built from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import DRIVE_TERMS, RobotDescription
from flexarm_core.robot.drive_terms import NO_TERM, DriveTerms, drive_terms, effort_lack
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_nodes.node.parameters import Parameter, record_of, rows
from flexarm_sim.backends import BACKENDS, make_backend
from flexarm_sim.drives import MODES, DriveConfig
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.measurement import JointListFault
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.pushes import Push
from flexarm_sim.sensors import SensorConfig, SensorSuiteConfig
from flexarm_sim.strain import FAULTS, StrainFault
from flexarm_sim.surfaces import KINDS, Surface

SIGNALS = (
    ("joint_position", "joint position encoders", "rad | m"),
    ("joint_velocity", "joint velocity signals", "rad/s | m/s"),
    ("joint_effort", "motor effort signals", "N*m | N"),
    ("deflection", "base deflection sensors", "m | rad"),
    ("deflection_rate", "base deflection rate signals", "m/s | rad/s"),
    ("wrench", "force/torque sensors", "N, N*m"),
    ("strain", "strain gauges", ""),
    ("imu", "inertial measurement units", "m/s^2, rad/s"),
)
COMMANDS, JOINT_COMMANDS = "commands", "joint_commands"  # values of parameter command_source
INITIAL = tuple(
    f"initial_{name}"
    for name in ("position", "velocity", "deflection", "deflection_rate", "modal_position", "modal_rate")
)


def _sensor_parameters() -> tuple[Parameter, ...]:
    made = []
    for signal, what, unit in SIGNALS:
        prefix = f"sensors.{signal}"
        made += [
            Parameter(f"{prefix}.noise", "double[]", [0.0],
                f"standard deviation of the white noise of the {what}; one for all channels or one per channel", unit),
            Parameter(f"{prefix}.resolution", "double", 0.0, f"quantization step of the {what}; 0: none", unit, 0.0),
            Parameter(f"{prefix}.delay", "double", 0.0,
                f"delay of the {what}, a whole number of control periods; 0: none", "s", 0.0),
            Parameter(f"{prefix}.dropout", "double", 0.0,
                f"probability that a sample of the {what} is lost", "", 0.0, 1.0),
        ]  # fmt: skip
        for fault, meaning in (
            ("dropout_intervals", f"the {what} give no sample"),
            ("frozen_intervals", f"the {what} repeat their last reading"),
            ("nan_intervals", f"the {what} read NaN"),
        ):
            times = f"intervals in which {meaning}, as pairs of start and end time; empty: never"
            made.append(Parameter(f"{prefix}.{fault}", "double[]", [], times, "s"))
    return tuple(made)


PLANT_PARAMETERS = (
    Parameter("backend", "string", "mujoco",
        "physics engine: mujoco (flexible links as rigid segments) or flexible_dynamics (flexible links as modes)",
        choices=BACKENDS),
    Parameter("plant_description", "string", "",
        "URDF text of the robot that is simulated; empty: the robot given by robot_description"),
    Parameter("rate", "double", 1000.0,
        "control rate, at which joint states are published and commands applied, in simulation time", "Hz", 1.0, 1e5),
    Parameter("lockstep", "bool", True,
        "wait for a command after each joint state; false: run in real time by the wall clock"),
    Parameter("lockstep_timeout", "double", 0.0,
        "wall time without a command after which a plant in lockstep continues by the wall clock; 0: only the go_on"
        " service ends the wait", "s", 0.0),
    Parameter("clock_rate", "double", 100.0, "rate at which /clock is published, in simulation time", "Hz", 1.0),
    Parameter("max_step", "double", 0.00025, "largest integration step of the physics engine", "s", 1e-6, 0.1),
    Parameter("hard_stops", "bool", False, "mujoco only: joints are stopped mechanically at their position limits"),
    Parameter("segments", "int", 20,
        "mujoco only: number of rigid segments of each flexible link; more segments require a smaller max_step",
        "", 2, 200),
    Parameter("command_mode", "string", "effort",
        "type of command that the joint drives take: effort, velocity or position", choices=MODES),
    Parameter("command_source", "string", COMMANDS,
        "topic that commands are taken from: that of the ros2_control command controller (commands), or that of"
        " joint_state_topic_hardware_interface (joint_commands)", choices=(COMMANDS, JOINT_COMMANDS)),
    Parameter("run_until", "double", 0.0,
        "simulation time up to which the plant runs after activation; the advance service moves it further", "s", 0.0),
    Parameter("drive_bandwidth", "double", 200.0,
        "bandwidth of the inner servo of the drives, used in velocity and position mode and for braking",
        "rad/s", 1e-3),
    Parameter("clip_effort", "bool", True, "drives keep the effort and velocity limits of the robot description"),
    Parameter("drive_adds", "string[]", [""],
        "what the drives add to effort commands by themselves: gravity, coriolis, friction, or none; empty: as the"
        " robot description says", choices=("", NO_TERM, *DRIVE_TERMS)),
    Parameter("command_timeout", "double", 0.1,
        "simulation time without a command after which the drives brake and hold until the next command; 0: never",
        "s", 0.0),
    Parameter("initial_position", "double[]", [],
        "initial positions of the actuated joints; empty: all zero", "rad | m"),
    Parameter("initial_velocity", "double[]", [],
        "initial velocities of the actuated joints; empty: all zero", "rad/s | m/s"),
    Parameter("initial_deflection", "double[]", [],
        "initial positions of the elastic joints; empty: equilibrium, or zero if start_in_equilibrium is false",
        "m | rad"),
    Parameter("initial_deflection_rate", "double[]", [],
        "initial velocities of the elastic joints; empty: all zero", "m/s | rad/s"),
    Parameter("initial_modal_position", "double[]", [],
        "initial modal coordinates of the flexible links; empty: equilibrium, or zero if start_in_equilibrium is false",
        "sqrt(kg)*m"),
    Parameter("initial_modal_rate", "double[]", [],
        "initial modal velocities of the flexible links; empty: all zero", "sqrt(kg)*m/s"),
    Parameter("start_in_equilibrium", "bool", True,
        "elastic joints and flexible links start in static equilibrium under gravity, actuated joints held; false:"
        " undeflected"),
    Parameter("seed", "int", 0, "seed of all random number generators of the simulation", "", 0),
    *_sensor_parameters(),
    Parameter("sensors.joint_velocity.reported", "bool", True,
        "whether joint states have velocities; many drivers report none"),
    Parameter("pushes.links", "string[]", [],
        "links on which external pushes act, one entry per push; empty: no pushes"),
    Parameter("pushes.starts", "double[]", [], "start time of each external push, in the order of pushes.links", "s"),
    Parameter("pushes.durations", "double[]", [], "duration of each external push, in the order of pushes.links", "s"),
    Parameter("pushes.forces", "double[]", [],
        "peak force of each external push at the origin of its link, x y z in the axes of the root link", "N"),
    Parameter("pushes.torques", "double[]", [],
        "peak torque of each external push, x y z in the axes of the root link", "N*m"),
    Parameter("pushes.shapes", "string[]", [], "time profile of each external push: rectangle or half_sine"),
    Parameter("surfaces.names", "string[]", [],
        "names of the contact surfaces that the tip of the tool can touch (mujoco only); empty: none"),
    Parameter("surfaces.kinds", "string[]", [], "shape of each contact surface: plane or box", choices=KINDS),
    Parameter("surfaces.positions", "double[]", [],
        "position of each contact surface in the root link, x y z: a point of the plane, or the center of the box",
        "m"),
    Parameter("surfaces.rpys", "double[]", [],
        "orientation of each contact surface in the root link as roll, pitch, yaw; a plane's normal is its z axis",
        "rad"),
    Parameter("surfaces.half_extents", "double[]", [],
        "half side lengths x y z of each contact surface of shape box, zeros for a plane; empty: zeros for all", "m"),
    Parameter("surfaces.stiffnesses", "double[]", [],
        "normal stiffness of each contact surface: force per penetration depth", "N/m", 0.0, live=True),
    Parameter("surfaces.dampings", "double[]", [],
        "normal damping of each contact surface: force per penetration velocity", "N*s/m", 0.0, live=True),
    Parameter("surfaces.frictions", "double[]", [],
        "Coulomb friction coefficient of each contact surface", "", 0.0, live=True),
    *rows(JointFriction, prefix="friction.", live=True),
    Parameter("tip_radius", "double", 0.015,
        "radius of the spherical tip of the tool, centered at the origin of the tool frame, that touches surfaces",
        "m", 1e-6),
    Parameter("joint_list_fault.names", "string[]", [],
        "only joints that /joint_states lists, in this order, during a simulated message fault; empty: no fault"),
    Parameter("joint_list_fault.interval", "double[]", [0.0, 1e9],
        "start and end time of the fault in which /joint_states lists only the joints of joint_list_fault.names", "s"),
    Parameter("strain_fault.names", "string[]", [], "strain gauges that fail individually; empty: none"),
    Parameter("strain_fault.kind", "string", "frozen",
        "how strain gauges fail: last reading repeated (frozen), left out of the message (missing), or NaN (nan)",
        choices=FAULTS),
    Parameter("strain_fault.interval", "double[]", [0.0, 1e9],
        "start and end time of the failure of individual strain gauges", "s"),
)  # fmt: skip


def build_plant(values: dict[str, Any], known: RobotDescription) -> Plant:
    """Build the plant from its parameters; the controllers use other engines.

    Args:
        values: parameters of the node.
        known: the robot as the controllers know it.
    """
    description = plant_description(values, known)
    backend = make_backend(
        values["backend"],
        description,
        tool_frame=values["tool_frame"],
        gravity=values["gravity"],
        max_step=values["max_step"],
        hard_stops=values["hard_stops"],
        segments=values["segments"],
        surfaces=plant_surfaces(values),
        tip_radius=values["tip_radius"],
        friction=plant_friction(values, len(description.actuated)),
    )
    return Plant(description, backend, plant_config(values, description), *plant_drives(values, description))


def plant_description(values: dict[str, Any], known: RobotDescription) -> RobotDescription:
    """Return the simulated robot, whose masses and flexibility may differ from those that the controllers assume.

    Args:
        values: parameter values.
        known: robot description that the controllers use.

    Raises:
        ConfigError: its joints are not those of the controllers' robot.
        RobotDescriptionError: ``plant_description`` is no usable robot description.
    """
    if not values["plant_description"]:
        return known
    description = parse_robot_description(values["plant_description"])
    for what, given, wanted in (
        ("actuated joints", description.actuated, known.actuated),
        ("elastic joints", *(tuple(joint.name for joint in robot.elastic) for robot in (description, known))),
    ):
        if given != wanted:
            raise ConfigError(
                f"plant_description has the {what} {', '.join(given) or 'none'}, robot_description has"
                f" {', '.join(wanted) or 'none'}: they must be the same, in the same order"
            )
    return description


def plant_drives(values: dict[str, Any], description: RobotDescription) -> tuple[DriveTerms | None, DriveTerms | None]:
    """Return what simulated drives add to effort commands, and what measured efforts lack; None if that is nothing."""
    if not (any(values["drive_adds"]) or description.drive_adds or description.efforts_lack):
        return None, None
    model = ArmModel(description, values["tool_frame"], values["gravity"])
    return drive_terms(model, values["drive_adds"]), effort_lack(model)


def plant_config(values: dict[str, Any], description: RobotDescription) -> PlantConfig:
    """Return the PlantConfig built from parameter values.

    Raises:
        ConfigError: the values are inconsistent.
    """
    period = 1e9 / values["rate"]
    if abs(period - round(period)) > 1e-3:
        raise ConfigError(f"rate {values['rate']} Hz has no whole number of nanoseconds a period")
    sensors = {signal: _sensor(values, signal) for signal, _, _ in SIGNALS}
    names, gauges = tuple(values["joint_list_fault.names"]), tuple(values["strain_fault.names"])
    initial: dict[str, Any] = {name: tuple(values[name]) or None for name in INITIAL}
    return PlantConfig(
        period_ns=round(period),
        drive=DriveConfig(
            values["command_mode"],
            values["drive_bandwidth"],
            values["clip_effort"],
            command_timeout=values["command_timeout"],
        ),
        sensors=SensorSuiteConfig(
            joint_position=sensors["joint_position"],
            joint_velocity=sensors["joint_velocity"],
            joint_effort=sensors["joint_effort"],
            deflection=sensors["deflection"],
            deflection_rate=sensors["deflection_rate"],
            wrenches=dict.fromkeys(description.force_torque_sensors, sensors["wrench"]),
            strain=sensors["strain"],
            imus=dict.fromkeys(description.imus, sensors["imu"]),
        ),
        pushes=_pushes(values),
        joint_list_faults=(JointListFault(names, *_interval(values, "joint_list_fault")),) if names else (),
        strain_faults=(
            (StrainFault(gauges, values["strain_fault.kind"], *_interval(values, "strain_fault")),) if gauges else ()
        ),
        seed=values["seed"],
        start_in_equilibrium=values["start_in_equilibrium"],
        **initial,
    )


def _sensor(values: dict[str, Any], signal: str) -> SensorConfig:
    given = {name: values[f"sensors.{signal}.{name}"] for name in ("resolution", "delay", "dropout")}
    noise = values[f"sensors.{signal}.noise"]
    for name in ("dropout_intervals", "frozen_intervals", "nan_intervals"):
        given[name] = _intervals(f"sensors.{signal}.{name}", values[f"sensors.{signal}.{name}"])
    return SensorConfig(noise=noise[0] if len(noise) == 1 else tuple(noise), **given)


def _interval(values: dict[str, Any], fault: str) -> tuple[float, float]:
    pair = values[f"{fault}.interval"]
    if len(pair) != 2:
        raise ConfigError(f"{fault}.interval needs two times [s], got {pair}")
    return pair[0], pair[1]


def _intervals(name: str, flat: list[float]) -> tuple[tuple[float, float], ...]:
    if len(flat) % 2:
        raise ConfigError(f"{name} needs pairs of times [s], got {len(flat)} numbers")
    return tuple(zip(flat[::2], flat[1::2], strict=True))


def plant_surfaces(values: dict[str, Any]) -> tuple[Surface, ...]:
    """Return the surfaces built from parameter values.

    Raises:
        ConfigError: the lists are inconsistent, or a value is invalid for a surface.
    """
    names, lists = values["surfaces.names"], (("kinds", 1), ("stiffnesses", 1), ("dampings", 1), ("frictions", 1))
    if not values["surfaces.half_extents"]:
        values = values | {"surfaces.half_extents": [0.0] * (3 * len(names))}
    _check_lists(values, "surfaces", "names", (*lists, ("positions", 3), ("rpys", 3), ("half_extents", 3)))
    given = {name: values[f"surfaces.{name}"] for name, _ in lists}
    places = {
        name: [tuple(triple) for triple in np.reshape(values[f"surfaces.{name}"], (-1, 3)).tolist()]
        for name in ("positions", "rpys", "half_extents")
    }
    return tuple(
        Surface(
            name,
            given["kinds"][i],
            places["positions"][i],
            places["rpys"][i],
            given["stiffnesses"][i],
            given["dampings"][i],
            given["frictions"][i],
            places["half_extents"][i],
        )
        for i, name in enumerate(names)
    )


def plant_friction(values: dict[str, Any], joints: int) -> JointFriction | None:
    """Return the joint friction built from parameter values, or None if no friction parameter is set.

    Args:
        values: parameter values.
        joints: number of actuated joints.

    Raises:
        ConfigError: the values do not fit the joints or are inconsistent.
    """
    friction = record_of(JointFriction, values, "friction.")
    if friction == JointFriction():
        return None
    friction.table(joints)
    return friction


def _check_lists(values: dict[str, Any], group: str, key: str, widths: Iterable[tuple[str, int]]) -> None:
    count = len(values[f"{group}.{key}"])
    for name, width in widths:
        if len(values[f"{group}.{name}"]) != width * count:
            raise ConfigError(f"{group}.{name} needs {width * count} values for {count} {key}")


def _pushes(values: dict[str, Any]) -> tuple[Push, ...]:
    links = values["pushes.links"]
    widths = (("starts", 1), ("durations", 1), ("forces", 3), ("torques", 3), ("shapes", 1))
    _check_lists(values, "pushes", "links", widths)
    forces, torques = (np.reshape(values[f"pushes.{name}"], (-1, 3)) for name in ("forces", "torques"))
    return tuple(
        Push(
            link,
            values["pushes.starts"][i],
            values["pushes.durations"][i],
            tuple(forces[i]),
            tuple(torques[i]),
            values["pushes.shapes"][i],
        )
        for i, link in enumerate(links)
    )
