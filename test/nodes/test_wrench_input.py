"""WrenchInput: which reading counts for a stamp, and the weight that is taken off where the base is tilted."""

from __future__ import annotations

import re

import numpy as np
import pytest
import robots
from geometry_msgs.msg import WrenchStamped
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.wrench.tool_wrench import ToolWrench
from flexarm_core.errors import InputError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_nodes.messages.conversions import wrench_to_message
from flexarm_nodes.node.wrench_input import WrenchInput

SENSOR, LINK, GRAVITY = "tool_ft_sensor", "tool_sensor_link", np.array([0.0, 0.0, -9.81])
TILT = (0.4, -0.7, 1.1)
POSITION = np.array([0.1, 0.5, 0.1, -1.6, 0.2, 1.0, 0.3])
NONE = np.zeros(0)


def made(text: str) -> WrenchInput:
    description = parse_robot_description(text)
    chain = build_chain(description, "tool0")
    wrenches = WrenchInput(SENSOR, ToolWrench(description, chain, SENSOR), ArmModel(description, "tool0"), GRAVITY)
    wrenches.timeout = 0.05
    return wrenches


@pytest.fixture
def wrenches() -> WrenchInput:
    return made(robots.find("arm_7r")[0])


def reading(stamp: int, force=(0.0, 0.0, 0.0), frame=LINK) -> WrenchStamped:
    return wrench_to_message(stamp, frame, np.array([*force, 0.0, 0.0, 0.0]))


def test_the_weight_is_taken_off_where_the_base_link_is_tilted():
    text, count = re.subn(
        r'(<parent link="world"/>)',
        rf'\1<origin xyz="0 0 0" rpy="{TILT[0]} {TILT[1]} {TILT[2]}"/>',
        robots.find("arm_7r")[0],
    )
    assert count == 1
    tilted = made(text)
    _, R = robots.chain("arm_7r").pose(POSITION)
    weight = 0.4 * (Rotation.from_euler("xyz", TILT).as_matrix() @ R).T @ GRAVITY
    message = wrench_to_message(7, LINK, np.concatenate((weight, np.cross([0.0, 0.0, 0.06], weight))))
    tilted.take_message(message)
    assert np.allclose(tilted.external(7, POSITION, NONE), 0.0, atol=1e-9)
    upright = made(robots.find("arm_7r")[0])
    upright.take_message(message)
    assert np.abs(upright.external(7, POSITION, NONE)).max() > 1.0


def test_the_reading_of_a_stamp_counts_else_the_newest_before_it_while_it_is_young_enough(wrenches):
    assert wrenches.external(0, POSITION, NONE) is None
    forces = {}
    for stamp in (10_000_000, 20_000_000, 30_000_000):
        wrenches.take_message(reading(stamp, (stamp * 1e-6, 0.0, 0.0)))
        forces[stamp] = wrenches.external(stamp, POSITION, NONE)
    assert len({tuple(force) for force in forces.values()}) == 3
    for asked, used in ((20_000_000, 20_000_000), (29_000_000, 20_000_000), (80_000_000, 30_000_000), (1, 10_000_000)):
        assert np.array_equal(wrenches.external(asked, POSITION, NONE), forces[used])
    assert wrenches.external(80_000_001, POSITION, NONE) is None


def test_from_a_reading_that_was_refused_there_is_none_until_a_good_one_comes(wrenches):
    wrenches.take_message(reading(1))
    for bad, reason in (
        (
            reading(2, frame="tool0"),
            "wrench is in frame 'tool0', sensor 'tool_ft_sensor' measures in 'tool_sensor_link'",
        ),
        (reading(3, (np.nan, 0.0, 0.0)), "is not finite"),
        (reading(4, (np.inf, 0.0, 0.0)), "is not finite"),
    ):
        with pytest.raises(InputError, match=reason):
            wrenches.take_message(bad)
        assert wrenches.external(10, POSITION, NONE) is None
    wrenches.take_message(reading(5))
    assert wrenches.external(10, POSITION, NONE) is not None
