"""A node that answers joint states more slowly than they come, as a process of its own."""

from __future__ import annotations

import time
from typing import Any

from sensor_msgs.msg import JointState

from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode, run

TAKES = 0.008  # [s] for each joint state
DEFECT = "defect"  # frame of a joint state that the node fails at


class SlowNode(ArmNode):
    """Publishes how often it has answered, as joint commands."""

    def __init__(self) -> None:
        super().__init__("slow_node")
        self._answers = self.create_publisher(JointState, topics.JOINT_COMMANDS, topics.CONTROL)
        self.hear(JointState, topics.JOINT_STATES, self._on_joint_state)

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """There is nothing to build."""

    def _on_joint_state(self, message: JointState) -> None:
        if message.header.frame_id == DEFECT:
            raise ZeroDivisionError("a defect")
        time.sleep(TAKES)
        self._answers.publish(message)


if __name__ == "__main__":
    run(SlowNode)
