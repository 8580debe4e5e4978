"""ControlLoopBehaviors: what behaviours in a control loop say and are told, as in a node of their own."""

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
    """Status, set-point and markers on the topics of a node; services as ``~/STAGE/set_behaviors``."""

    def __init__(
        self,
        node: ArmNode,
        setup: BehaviorSetup,
        values: dict[str, Any],
        refuse: Callable[[int, str], None],
        newest: Callable[[], int | None],
    ) -> None:
        """Serve the behaviours of a node.

        Args:
            node: the control loop.
            setup: of the behaviours.
            values: the stage's parameters.
            refuse: takes the stamp [ns] and the reason why a message was refused.
            newest: stamp of the newest joint state [ns], None before any.
        """
        self._node, self._stage = node, setup.stage
        self._report = BehaviorReport(node, f"{NAME}/markers")
        self._report.bind(setup.stage)
        self._report.change(values)
        self._requests = BehaviorRequests(node, refuse, newest, lambda topic: topic.replace("~/", f"~/{NAME}/"))
        self._requests.setup = setup

    def close(self) -> None:
        """Take publishers, subscriptions and services away."""
        self._report.close()
        self._requests.close()

    def reset(self) -> None:
        """Forget what was shown."""
        self._report.reset()

    def change(self, values: dict[str, Any]) -> None:
        """Take the stage's changed parameters."""
        self._report.change(values)

    def publish(self) -> tuple[bytes, str]:
        """Report on the newest sample; level and words of what there is to say of it."""
        if self._stage.defect:
            self._node.get_logger().error(self._stage.defect)
        self._report.publish()
        return self._report.judge()
