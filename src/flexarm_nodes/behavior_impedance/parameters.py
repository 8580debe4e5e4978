"""Parameters of behavior_impedance_controller and of its behaviors, and the objects built from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from flexarm_core.behavior_impedance.behavior import Behavior, BehaviorSpec
from flexarm_core.behavior_impedance.config import FRAMES, VARIANTS, ImpedanceConfig
from flexarm_core.behavior_impedance.registry import known_behaviors
from flexarm_core.behavior_impedance.wrench.tool_wrench import CONVENTIONS, ToolWrench, tool_sensors
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.config import GIVEN_UP, METHODS, RedundancyConfig
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.node.parameters import Parameter, ParameterTable
from flexarm_nodes.node.stage_table import StageTable

OUTPUTS = ("joints", "tool")
NO_SENSOR = "none"
MAPPING = ("weights", "priority", "length_scale", "threshold", "band", "given_up", "corrections", "method")
LAW, MAP = ImpedanceConfig(), RedundancyConfig()
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def _live(
    name: str,
    kind: str,
    default: Any,
    description: str,
    unit: str = "",
    lower: float | None = None,
    upper: float | None = None,
    choices: tuple[str, ...] = (),
) -> Parameter:
    return Parameter(name, kind, default, description, unit, lower, upper, choices, live=True)


BEHAVIOR_PARAMETERS = (
    _live("behaviors", "string[]", [],
        "names of the active behaviors, whose effects add up; kind and settings of each are parameters under its name"),
    Parameter("standby", "string[]", [],
        "names of further behaviors that are configured but act only once they are added to the active behaviors"),
    Parameter("output", "string", "joints",
        "published references: joint and Cartesian references (joints), or Cartesian references only (tool)",
        choices=OUTPUTS),
    # the law
    _live("inertia", "double[]", list(LAW.inertia),
        "desired inertia M of the tool impedance: diagonal, or full matrix row by row; unused in variant velocity",
        "kg, kg*m, kg*m^2"),
    _live("damping", "double[]", list(LAW.damping),
        "desired damping B of the tool impedance: diagonal, or full matrix row by row", "N*s/m, N*s, N*m*s/rad"),
    _live("stiffness", "double[]", list(LAW.stiffness),
        "desired stiffness K between tool and set-point: diagonal, or full matrix row by row", "N/m, N, N*m/rad"),
    _live("frame", "string", LAW.frame,
        "axes of the matrices of the tool impedance: those of the base link, or of the set-point of the tool",
        choices=FRAMES),
    _live("variant", "string", LAW.variant,
        "impedance law: computes the tool acceleration first, or directly the velocity, without inertia",
        choices=VARIANTS),
    _live("joint_inertia", "double[]", list(LAW.joint_inertia),
        "desired inertia of the redundant joint motion: one value for all joints, diagonal, or full matrix",
        "kg*m^2 | kg"),
    _live("joint_damping", "double[]", list(LAW.joint_damping),
        "desired damping of the redundant joint motion: one value for all joints, diagonal, or full matrix",
        "N*m*s/rad | N*s/m"),
    _live("axes", "bool[]", list(LAW.axes),
        "tool axes x y z rx ry rz in the base link that are controlled; axes set to false are free for the joints"),
    _live("transition_acceleration", "double[]", list(LAW.transition_acceleration),
        "largest step of commanded acceleration when behaviors change: tool linear, tool angular, redundant joints",
        "m/s^2, rad/s^2, rad/s^2 | m/s^2"),
    _live("mapping_damping", "double", LAW.mapping_damping,
        "damping of the inverse Jacobian through which joint efforts of behaviors act on the tool", "m", 1e-9),
    # the mapping to the joints
    _live("weights", "double[]", list(MAP.weights),
        "weights of the joint motions in the redundancy resolution; one for all joints or one per joint of the"
        " chain; 0: moves at no cost"),
    _live("priority", "string[]", list(MAP.priority),
        "priority levels of the tool axes, highest first; near singularities the last level is given up first"),
    Parameter("length_scale", "double", MAP.length_scale,
        "characteristic length that converts rotations into displacements, so that both can be weighed together",
        "m/rad", 1e-6),
    _live("threshold", "double", MAP.threshold,
        "norm of a tool axis's Jacobian row, after the rows before it are projected out, below which the axis is"
        " dropped", "m", 0.0),
    _live("band", "double", MAP.band,
        "width of the range above threshold in which a tool axis is given up gradually; 0: abruptly", "m", 0.0),
    _live("given_up", "string", MAP.given_up,
        "joint motion in a tool direction that is given up: held still, or free for secondary motion",
        choices=GIVEN_UP),
    _live("corrections", "int", MAP.corrections,
        "number of corrections of the linearization error of the inverse kinematics per sample; 0: none", "", 0, 10),
    _live("method", "string", MAP.method,
        "method of the inverse kinematics step: orthogonalization by priority, or damped least squares",
        choices=METHODS),
    Parameter("max_acceleration", "double[]", [10.0],
        "largest acceleration of the joints; one for all joints or one per joint of the chain", "rad/s^2 | m/s^2"),
    Parameter("velocity_scale", "double", 1.0,
        "fraction of the velocity limits of the joints that may be used", "", 1e-3, 1.0),
    Parameter("link_radius", "double", 0.06,
        "radius of the collision capsules of links whose geometry is given by meshes only", "m", 1e-4),
    # the wrench
    Parameter("wrench_sensor", "string", "",
        "force/torque sensor of the tool wrench; empty: the only sensor fixed to the tool; none: no wrench is"
        " measured"),
    Parameter("wrench_convention", "string", CONVENTIONS[0],
        "sign convention of the measured tool wrench: exerted by the outboard (tool) side on the inboard side, or"
        " the reverse", choices=CONVENTIONS),
    Parameter("wrench_bias", "double[]", [0.0] * 6,
        "reading of the tool force/torque sensor without load (force, torque), in the axes of the sensor", "N, N*m"),
    Parameter("tool_mass", "double", -1.0,
        "mass outboard of the tool force/torque sensor; negative: taken from the robot description", "kg"),
    Parameter("tool_center_of_mass", "double[]", [],
        "center of the mass outboard of the tool force/torque sensor, in its frame; empty: from the robot description",
        "m"),
    _live("wrench_timeout", "double", 0.05, "age at which a measured tool wrench is no longer used", "s", 1e-4),
    Parameter("sensor_wait", "double", 0.005,
        "longest wall time that a joint state waits for the wrench and path reference of its stamp; 0: no wait",
        "s", 0.0),
    # what is measured
    Parameter("state_timeout", "double", 0.08,
        "gap between joint states after which the controller restarts from where the arm is", "s", 1e-4),
    _live("deviation_tolerance", "double", 0.1,
        "deviation of a measured joint from its commanded position at which the arm is held", "rad | m", 1e-6),
    # what is shown
    _live("status_rate", "double", 50.0, "publishing rate of the behavior_status topic; 0: not published", "Hz", 0.0),
    _live("marker_rate", "double", 10.0, "publishing rate of the RViz markers; 0: not published", "Hz", 0.0),
    _live("marker_force_scale", "double", 0.01, "length of RViz force arrows per unit of force", "m/N", 1e-9),
    _live("marker_capsules", "bool", False,
        "show in RViz the collision capsules of the arm that are used to avoid obstacles"),
)  # fmt: skip


def impedance_config(values: dict[str, Any]) -> ImpedanceConfig:
    """Return the settings of the impedance law.

    Raises:
        ConfigError: an invalid value.
    """
    return ImpedanceConfig(**_settings(values, [field.name for field in fields(ImpedanceConfig)]))


def mapping_config(values: dict[str, Any]) -> RedundancyConfig:
    """Return the settings of the mapping to the joints; the null-space objective is left to the behaviors.

    Raises:
        ConfigError: an invalid value.
    """
    return RedundancyConfig(objective_time_constant=0.0, **_settings(values, MAPPING))


def _settings(values: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return values by name, with lists as tuples."""
    return {name: tuple(values[name]) if isinstance(values[name], list) else values[name] for name in names}


def tool_wrench(values: dict[str, Any], description: RobotDescription, chain: Chain) -> tuple[str, ToolWrench | None]:
    """Return the sensor's name and the conversion of its readings to external wrenches; empty and None without sensor.

    Raises:
        RobotDescriptionError: there is no such sensor, or it is not fixed to the tool.
        ConfigError: there are several sensors and none is selected, or a setting is invalid.
    """
    sensor = values["wrench_sensor"]
    if sensor == NO_SENSOR:
        return "", None
    if not sensor:
        found = tool_sensors(description, chain)
        if len(found) > 1:
            raise ConfigError(f"several sensors are fixed to the tool: name one as wrench_sensor: {', '.join(found)}")
        if not found:
            return "", None
        sensor = found[0]
    mass, center = values["tool_mass"], values["tool_center_of_mass"]
    bias = np.array(values["wrench_bias"], dtype=float)
    if bias.shape != (6,) or not np.isfinite(bias).all():
        raise ConfigError(f"wrench_bias must be six finite numbers, got {bias.tolist()}")
    tool = ToolWrench(
        description, chain, sensor, values["wrench_convention"], mass if mass >= 0.0 else None, center or None
    )
    tool.bias = bias
    return sensor, tool


# Behaviors ------------------------------------------------------------------------------------------------------------


def declare_behaviors(table: ParameterTable | StageTable, values: Mapping[str, Any]) -> None:
    """Declare ``<name>.kind`` for every behavior name, and ``<name>.<setting>`` for the settings of its kind.

    Args:
        table: parameter table in which the rows are declared.
        values: present values; ``behaviors`` and ``standby`` list the names.

    Raises:
        ConfigError: an invalid name or an unknown kind.
    """
    names = list(dict.fromkeys((*values["behaviors"], *values["standby"])))
    for name in names:
        if not NAME.fullmatch(name):
            raise ConfigError(f"behaviors: '{name}' is no name for parameters: letters, digits and _ from a letter on")
    table.declare([kind_row(name) for name in names])
    kinds = known_behaviors()
    for name in names:
        kind, valid = table.values()[f"{name}.kind"], ", ".join(kinds)
        if kind not in kinds:
            raise ConfigError(f"behavior '{name}': {name}.kind is '{kind}'; valid: {valid}")
        rows = setting_rows(name, kinds[kind])
        earlier = [row for row in table.rows if row.name.startswith(f"{name}.") and row.name != f"{name}.kind"]
        table.remove([row.name for row in earlier if row not in rows])  # settings of the kind that the name had earlier
        table.declare(rows)


def kind_row(name: str) -> Parameter:
    """Parameter that says what a behavior is."""
    return Parameter(
        f"{name}.kind",
        "string",
        "",
        "kind of the behavior, such as path, force, spring or obstacles; it determines the other settings",
    )


def setting_rows(name: str, kind: type[Behavior]) -> tuple[Parameter, ...]:
    """Return the parameters for the settings of a behavior."""
    return tuple(
        _live(f"{name}.{row.name}", row.kind, row.default, row.description, row.unit, row.lower, row.upper, row.choices)
        for row in kind.SETTINGS
    )


def declared_specs(values: dict[str, Any], names: Iterable[str]) -> dict[str, BehaviorSpec]:
    """Return the behaviors that the parameters specify, by name.

    Raises:
        ConfigError: a name has no declared kind; names have to be listed when the node is configured.
    """
    specs = {}
    for name in names:
        if f"{name}.kind" not in values:
            raise ConfigError(
                f"behaviors: '{name}' was not there when the node was configured; add it by a set, or configure anew"
            )
        prefix = f"{name}."
        settings = {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}
        specs[name] = BehaviorSpec(name, settings.pop("kind"), settings)
    return specs
