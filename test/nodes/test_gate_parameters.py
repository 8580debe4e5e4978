"""What the gate takes for limits where its parameters say nothing."""

from __future__ import annotations

import numpy as np

from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.hardware_gate.gate import HardwareGateNode
from flexarm_nodes.hardware_gate.parameters import hardware_gate, usual_acceleration


def test_a_slow_joint_accelerates_slowly_unless_told_otherwise(planar_3r_text):
    slow = ArmModel(planar_3r_text.replace('velocity="4"', 'velocity="0.5"'))
    assert np.allclose(usual_acceleration(slow), 5.0)
    assert np.allclose(usual_acceleration(ArmModel(planar_3r_text)), 20.0)
    values = {row.name: row.default for row in HardwareGateNode.PARAMETERS}
    assert np.array_equal(hardware_gate(values, slow).limits.acceleration, usual_acceleration(slow))
    told = hardware_gate(values | {"max_acceleration": [7.0]}, slow)
    assert np.array_equal(told.limits.acceleration, np.full(slow.n, 7.0))
