"""Commands as joint_state_topic_hardware_interface sends them."""

from __future__ import annotations

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from flexarm_core.errors import InputError
from flexarm_nodes.node.input.joint_commands import JointCommandReader

NAN = float("nan")


def read(mode="effort", **message):
    return JointCommandReader(("a", "b", "c"), mode)(JointState(**message))


def test_values_go_to_the_joints_that_are_named_in_whatever_order():
    assert list(read(name=["c", "a", "b"], effort=[3.0, 1.0, 2.0])) == [1.0, 2.0, 3.0]


def test_joints_that_are_only_measured_have_a_name_and_no_value():
    assert list(read(name=["c", "spring", "a", "b"], effort=[3.0, 1.0, 2.0])) == [1.0, 2.0, 3.0]
    assert list(read(name=["c", "spring", "a", "b"], effort=[3.0, 0.0, 1.0, 2.0])) == [1.0, 2.0, 3.0]


def test_of_all_interfaces_that_of_the_mode_is_read():
    message = {"name": ["a", "b", "c"], "position": [1.0] * 3, "velocity": [2.0] * 3, "effort": [NAN] * 3}
    assert np.array_equal(read("position", **message), [1.0] * 3)
    assert np.array_equal(read("velocity", **message), [2.0] * 3)
    assert read("effort", **message) is None


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"name": ["a", "b"], "effort": [1.0, 2.0]}, "joint command names a, b of a, b, c"),
        ({"name": [], "effort": []}, "joint command names none of a, b, c"),
        ({"name": ["a", "b", "c", "c"], "effort": [1.0] * 4}, "joint command names a, b, c, c of a, b, c"),
        ({"name": ["a", "b", "c"], "effort": [1.0]}, "joint command has 1 effort values for 3 driven joints"),
        ({"name": ["a", "b", "c"], "effort": [1.0, NAN, 2.0]}, "joint command effort is not finite"),
    ],
)
def test_what_does_not_fit_the_arm_is_refused(message, said):
    with pytest.raises(InputError, match=said):
        read(**message)
