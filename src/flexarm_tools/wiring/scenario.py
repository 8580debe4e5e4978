"""Wiring of a scenario: its nodes are chained in the order of the file, and checked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from flexarm_core.errors import ConfigError
from flexarm_tools.scenario.scenario import PLANT, NodeSpec, Scenario
from flexarm_tools.wiring.chain import chained
from flexarm_tools.wiring.table import node_ports
from flexarm_tools.wiring.wiring import check_wiring


def wired_nodes(scenario: Scenario) -> tuple[NodeSpec, ...]:
    """Return the nodes of a scenario with the remappings that chain them.

    Raises:
        ConfigError: the nodes cannot control the arm; the message names every fault.
        RobotDescriptionError: the robot does not have the tool link.
    """
    robot, true = scenario.robot, scenario.true_robot
    nodes = chained(scenario.nodes, robot.description, robot.tool_frame)
    plant = node_ports(PLANT, scenario.plant, true.description, true.tool_frame)
    assert plant is not None  # the table contains the plant
    changes: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for event in scenario.events:
        changes[event.node].append(event.parameters)
    faults = check_wiring(nodes, robot.description, robot.tool_frame, changes=changes, around={PLANT: plant})
    if faults:
        listed = "".join(f"\n  {fault}" for fault in faults)
        raise ConfigError(f"{scenario.path}: wiring of the nodes has {len(faults)} fault(s){listed}")
    return nodes
