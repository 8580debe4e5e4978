"""What every node of one stage does, whatever the stage is; the rules for its inputs: ``test_input_rules.py``."""

from __future__ import annotations

import pytest
from planar_messages import START, joint_state
from sensor_msgs.msg import JointState

from flexarm.msg import JointReference
from flexarm_nodes.node import topics


def test_a_motion_begins_anew_where_the_arm_is_after_the_clock_was_set_back(live, shared):
    live.start("reference_generator", {**shared, "space": "joints", "joint_displacement": [0.5, 0.0, 0.0]})
    live.listen(topics.DESIRED_JOINT_REFERENCE, JointReference)
    states, received = live.publisher(topics.JOINT_STATES, JointState), live.received[topics.DESIRED_JOINT_REFERENCE]
    live.until(lambda: live.node.count_publishers(topics.DESIRED_JOINT_REFERENCE) > 0, "desired_joint_reference")
    live.settle()
    for count, (tick, position) in enumerate(((1000, START), (9000, START), (2000, START - 0.3))):
        states.publish(joint_state(tick, position=position))
        live.until(lambda count=count: len(received) > count, "a reference")
    assert received[1].position[0] == pytest.approx(START[0] + 0.5)
    assert received[2].position == pytest.approx((START - 0.3).tolist())
