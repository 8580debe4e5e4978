"""A hardware gate whose executor hangs in a callback when it is told to, as a process of its own."""

from __future__ import annotations

import time

from std_msgs.msg import Float64

from flexarm_nodes.hardware_gate.gate import HardwareGateNode
from flexarm_nodes.node.arm_node import run

HANG = "hang"  # topic: for how long [s]


class HangingGate(HardwareGateNode):
    """Sleeps in a callback of its executor."""

    def __init__(self) -> None:
        super().__init__()
        self._hang = self.create_subscription(Float64, HANG, lambda message: time.sleep(message.data), 10)


if __name__ == "__main__":
    run(HangingGate)
