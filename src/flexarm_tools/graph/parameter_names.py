"""Which parameters the nodes of the suite have: ROS silently ignores others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flexarm_core.behavior_impedance.registry import known_behaviors
from flexarm_nodes.behavior_impedance.parameters import kind_row, setting_rows
from flexarm_nodes.node.parameters import ARM_PARAMETERS
from flexarm_nodes.registry import CONTROL_LOOP, parameters_of

OF_ROS = ("use_sim_time", "start_type_description_service")  # every node has them


def parameter_names(executable: str, given: Mapping[str, Any]) -> set[str]:
    """Return the names of the parameters that a node of the suite has; none if the suite does not know the node.

    Args:
        executable: the node.
        given: parameters by name, on which others depend; names of nested parameters are joined with dots.
    """
    rows = parameters_of(executable)
    of_nodes = {row.name for row in ARM_PARAMETERS} | set(OF_ROS)
    known = {row.name for row in rows} | of_nodes if rows else set()
    if executable == CONTROL_LOOP:
        for stage in given.get("stages", ()):
            start = f"{stage}."
            own = {name.removeprefix(start): value for name, value in given.items() if name.startswith(start)}
            known |= {f"{stage}.{name}" for name in (parameter_names(stage, own) - of_nodes) or own}
    if "behaviors" in known:
        kinds = known_behaviors()
        named = {name.removesuffix(".kind") for name in given if name.endswith(".kind")}
        for name in {*named, *given.get("behaviors", ()), *given.get("standby", ())}:
            known.add(kind_row(name).name)
            kind = given.get(f"{name}.kind")
            known |= {row.name for row in setting_rows(name, kinds[kind])} if kind in kinds else set()
    return known
