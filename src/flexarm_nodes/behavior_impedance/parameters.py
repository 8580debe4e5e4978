"""Parameters of behavior_impedance_controller and of its behaviors, and the objects built from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from flexarm_core.behavior_impedance.behavior import Arm, Behavior, BehaviorSpec
from flexarm_core.behavior_impedance.config import ImpedanceConfig
from flexarm_core.behavior_impedance.measured_map import MeasuredMap, MeasuredMapConfig
from flexarm_core.behavior_impedance.registry import known_behaviors
from flexarm_core.behavior_impedance.wrench.tool_wrench import CONVENTIONS, ToolWrench, tool_sensors
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.node.parameters import FILE_FOLDER, Parameter, ParameterTable, record_of, rows
from flexarm_nodes.node.prefixed_table import PrefixedTable

OUTPUTS = ("joints", "tool")
NO_SENSOR = "none"
MOST_BEHAVIORS = 50  # largest number of behaviors that take part, or are declared
# of RedundancyConfig
UNUSED = ("origin", "fixed_origin", "objective", "objective_weight", "objective_time_constant", "damping")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


_live = partial(Parameter, live=True)

BEHAVIOR_PARAMETERS = (
    _live("behaviors", "string[]", [],
        "names of the active behaviors, whose effects add up; kind and settings of each are parameters under its name"),
    Parameter("standby", "string[]", [],
        "names of further behaviors that are configured but act only once they are added to the active behaviors"),
    Parameter("output", "string", "joints",
        "published references: joint and Cartesian references (joints), or Cartesian references only (tool)",
        choices=OUTPUTS),
    # the law
    *rows(ImpedanceConfig, live=True),
    # the mapping to the joints
    *rows(RedundancyConfig, live=True, but=("length_scale",), without=UNUSED),
    Parameter("max_acceleration", "double[]", [10.0],
        "largest acceleration of the joints; one for all joints or one per joint of the chain", "rad/s^2 | m/s^2"),
    Parameter("velocity_scale", "double", 1.0,
        "fraction of the velocity limits of the joints that may be used", "", 1e-3, 1.0),
    *rows(MeasuredMapConfig),
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
    FILE_FOLDER,
)  # fmt: skip


def mapping_config(values: dict[str, Any]) -> RedundancyConfig:
    """Return the settings of the mapping to the joints; the null-space objective is left to the behaviors.

    Raises:
        ConfigError: an invalid value.
    """
    own = {name: value for name, value in values.items() if name != "damping"}  # which is that of the impedance
    return record_of(RedundancyConfig, own, objective_time_constant=0.0)


def measured_map(values: Mapping[str, Any], arm: Arm) -> MeasuredMap | None:
    """Return the map at measured joint positions; None: commanded ones are used.

    Raises:
        ConfigError: the gain is not stable with the lag of the drives and the delay.
    """
    config = record_of(MeasuredMapConfig, values)
    return MeasuredMap(arm.chain, arm.limits, arm.length_scale, config) if config.map == "measured" else None


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


def declare_behaviors(table: ParameterTable | PrefixedTable, values: Mapping[str, Any]) -> None:
    """Declare ``<name>.kind`` for every behavior name, and ``<name>.<setting>`` for the settings of its kind.

    Args:
        table: parameter table in which the rows are declared.
        values: present values; ``behaviors`` and ``standby`` list the names.

    Raises:
        ConfigError: an invalid name, an unknown kind, or too many.
    """
    names = list(dict.fromkeys((*values["behaviors"], *values["standby"])))
    if len(names) > MOST_BEHAVIORS:
        raise ConfigError(f"{len(names)} behaviors are too many: at most {MOST_BEHAVIORS} are declared")
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
    """Parameter with the kind of a behavior."""
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
