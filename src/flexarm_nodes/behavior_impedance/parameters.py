"""Parameters of behavior_impedance_controller and of its behaviors, and the objects built from them."""

from __future__ import annotations

import re
from collections.abc import Iterable
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
    _live("behaviors", "string[]", [], "names of those that take part; of each, kind and settings are parameters too"),
    Parameter("standby", "string[]", [], "names of those that take part only once they are added to behaviors"),
    Parameter("output", "string", "joints", "joint and Cartesian references, or the tool's alone", choices=OUTPUTS),
    # impedance law
    _live("inertia", "double[]", list(LAW.inertia), "M, diagonal or row by row", "kg, kg*m, kg*m^2"),
    _live("damping", "double[]", list(LAW.damping), "B, diagonal or row by row", "N*s/m, N*s, N*m*s/rad"),
    _live("stiffness", "double[]", list(LAW.stiffness), "K, diagonal or row by row", "N/m, N, N*m/rad"),
    _live("frame", "string", LAW.frame, "whose axes M, B and K are in", choices=FRAMES),
    _live("variant", "string", LAW.variant, "what is computed first; velocity: without inertia", choices=VARIANTS),
    _live("joint_inertia", "double[]", list(LAW.joint_inertia), "of the redundant joints' space", "kg*m^2 | kg"),
    _live("joint_damping", "double[]", list(LAW.joint_damping), "of the redundant joints' space", "N*m*s/rad | N*s/m"),
    _live("axes", "bool[]", list(LAW.axes), "which of x y z rx ry rz of the base link the tool holds"),
    _live(
        "transition_acceleration",
        "double[]",
        list(LAW.transition_acceleration),
        "largest step of acceleration that a change causes: tool, its turning, redundant joints",
        "m/s^2, rad/s^2, rad/s^2 | m/s^2",
    ),
    _live("mapping_damping", "double", LAW.mapping_damping, "of the map of joint efforts to the tool", "m", 1e-9),
    # mapping to the joints
    _live("weights", "double[]", list(MAP.weights), "of joint motions, one for all or one a joint of the chain"),
    _live("priority", "string[]", list(MAP.priority), "levels of rows, the last to be given up first"),
    Parameter("length_scale", "double", MAP.length_scale, "what a radian counts", "m/rad", 1e-6),
    _live("threshold", "double", MAP.threshold, "remaining norm at which a row is dropped", "m", 0.0),
    _live("band", "double", MAP.band, "above the threshold, in which a row is damped", "m", 0.0),
    _live("given_up", "string", MAP.given_up, "joints in a direction given up", choices=GIVEN_UP),
    _live("corrections", "int", MAP.corrections, "of the curvature at every sample", "", 0, 10),
    _live("method", "string", MAP.method, "how the step is solved", choices=METHODS),
    Parameter(
        "max_acceleration", "double[]", [10.0], "of joints, one for all or one a joint of the chain", "rad/s^2 | m/s^2"
    ),
    Parameter("velocity_scale", "double", 1.0, "part of the joints' velocity limits in use", "", 1e-3, 1.0),
    Parameter("link_radius", "double", 0.06, "of links that have no shape but meshes", "m", 1e-4),
    # external wrench
    Parameter("wrench_sensor", "string", "", "empty: the only one that is fixed to the tool; none: no wrench"),
    Parameter("wrench_convention", "string", CONVENTIONS[0], "what it measures", choices=CONVENTIONS),
    Parameter("wrench_bias", "double[]", [0.0] * 6, "reading without load, sensor's axes", "N, N*m"),
    Parameter("tool_mass", "double", -1.0, "of what hangs outboard of the sensor; below 0: the description's", "kg"),
    Parameter("tool_center_of_mass", "double[]", [], "of it, sensor's frame; empty: the description's", "m"),
    _live("wrench_timeout", "double", 0.05, "age at which a wrench is none", "s", 1e-4),
    Parameter("sensor_wait", "double", 0.005, "longest wait for what has a joint state's stamp (wall time)", "s", 0.0),
    # measured joint states
    Parameter("state_timeout", "double", 0.08, "gap of joint states after which it sets out anew", "s", 1e-4),
    _live("deviation_tolerance", "double", 0.1, "of measured from commanded joints, then it holds", "rad | m", 1e-6),
    # status and markers
    _live("status_rate", "double", 50.0, "of behavior_status; 0: none", "Hz", 0.0),
    _live("marker_rate", "double", 10.0, "of the markers; 0: none", "Hz", 0.0),
    _live("marker_force_scale", "double", 0.01, "length of an arrow", "m/N", 1e-9),
    _live("marker_capsules", "bool", False, "show the shape of the arm that keeps away from obstacles"),
)


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


def declare_behaviors(table: ParameterTable | StageTable, values: dict[str, Any]) -> None:
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
            raise ConfigError(f"behaviour '{name}': {name}.kind is '{kind}'; valid: {valid}")
        rows = setting_rows(name, kinds[kind])
        earlier = [row for row in table.rows if row.name.startswith(f"{name}.") and row.name != f"{name}.kind"]
        table.remove([row.name for row in earlier if row not in rows])  # settings of the kind that the name had earlier
        table.declare(rows)


def kind_row(name: str) -> Parameter:
    """Return the parameter that holds the kind of a behavior."""
    return Parameter(f"{name}.kind", "string", "", "what the behaviour is")


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
