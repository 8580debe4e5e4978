"""ControlLoopBehaviors: topics and services of the behavior stage in a control loop, as in the stage's own node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flexarm_core.pipeline.behavior_stage import BehaviorStage
from flexarm_nodes.behavior_impedance.report import BehaviorReport
from flexarm_nodes.behavior_impedance.requests import BehaviorRequests
from flexarm_nodes.behavior_impedance.setup import BehaviorSetup
from flexarm_nodes.node.arm_node import ArmNode

NAME = BehaviorStage.name


class ControlLoopBehaviors:
    """Publishes status, set-point and markers on the topics of a node; the services are ``~/STAGE/set_behaviors``."""

    def __init__(
        self,
        node: ArmNode,
        setup: BehaviorSetup,
        values: dict[str, Any],
        refuse: Callable[[int, str], None],
        newest: Callable[[], int | None],
    ) -> None:
        """Create the topics and services of the behaviors.

        Args:
            node: the control loop.
            setup: setup of the behaviors.
            values: the stage's parameters.
            refuse: called with the stamp [ns] and the reason when a message is rejected.
            newest: returns the stamp of the newest joint state [ns], None before the first.
        """
        self._node, self._stage = node, setup.stage
        self._report = BehaviorReport(node, f"{NAME}/markers")
        self._report.bind(setup.stage)
        self._report.change(values)
        self._requests = BehaviorRequests(node, refuse, newest, lambda topic: topic.replace("~/", f"~/{NAME}/"))
        self._requests.setup = setup

    def close(self) -> None:
        """Destroy publishers, subscriptions and services."""
        self._report.close()
        self._requests.close()

    def reset(self) -> None:
        """Discard the state of earlier samples."""
        self._report.reset()

    def change(self, values: dict[str, Any]) -> None:
        """Apply the stage's changed parameters."""
        self._report.change(values)

    def publish(self) -> tuple[bytes, str]:
        """Publish the report on the newest sample; return the diagnostic level and text."""
        if self._stage.defect:
            self._node.get_logger().error(self._stage.defect)
        self._report.publish()
        return self._report.judge()
