"""The tool wrench of a sample: which reading counts for its stamp, and what weighs on a tilted base."""

from __future__ import annotations

import re

import numpy as np
import pytest
import robots
from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import serialize_message
from scipy.spatial.transform import Rotation
from sensed_arm import wrench_message
from sensor_msgs.msg import JointState

from flexarm_core.errors import InputError
from flexarm_core.pipeline.tick import Tick
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import Array
from flexarm_nodes.behavior_impedance.parameters import BEHAVIOR_PARAMETERS
from flexarm_nodes.behavior_impedance.stage import built_behaviors
from flexarm_nodes.messages.conversions import doubles, nanoseconds_to_stamp
from flexarm_nodes.node.input.readings import Readings
from flexarm_nodes.node.parameters import ARM_PARAMETERS, row_values

SENSOR, LINK, GRAVITY = ("wrench", "tool_ft_sensor"), "tool_sensor_link", np.array([0.0, 0.0, -9.81])
TILT = (0.4, -0.7, 1.1)
POSITION = np.array([0.1, 0.5, 0.1, -1.6, 0.2, 1.0, 0.3])


class Felt:
    """The stage of the behaviors and the readings that reach it, as in a node."""

    def __init__(self, text: str) -> None:
        model = ArmModel(parse_robot_description(text), "tool0")
        built = built_behaviors(row_values((*ARM_PARAMETERS, *BEHAVIOR_PARAMETERS), {"wrench_timeout": 0.05}), model)
        assert built.sensors == (SENSOR,)
        self.stage, self.names, self.readings = built.stage, model.joint_names, Readings(model, built.sensors)

    def take(self, message: WrenchStamped) -> None:
        self.readings.take(SENSOR, message)

    def at(self, stamp: int) -> tuple[Array | None, str]:
        """The external wrench of a sample with this stamp, and what was refused."""
        state = JointState(name=list(self.names), position=doubles(POSITION), velocity=doubles(0.0 * POSITION))
        state.header.stamp = nanoseconds_to_stamp(stamp)
        tick = Tick(self.readings.sample(self.readings.joints(serialize_message(state))), 0)
        self.stage.reset()
        self.stage.update(tick)
        return self.stage.external, tick.refused.get(self.stage.name, "")


@pytest.fixture
def felt() -> Felt:
    return Felt(robots.find("arm_7r")[0])


def reading(stamp: int, force=(0.0, 0.0, 0.0), frame=LINK) -> WrenchStamped:
    return wrench_message(stamp, frame, np.array([*force, 0.0, 0.0, 0.0]))


def test_the_weight_is_taken_off_where_the_base_link_is_tilted(felt):
    text, count = re.subn(
        r'(<parent link="world"/>)',
        rf'\1<origin xyz="0 0 0" rpy="{TILT[0]} {TILT[1]} {TILT[2]}"/>',
        robots.find("arm_7r")[0],
    )
    assert count == 1
    tilted = Felt(text)
    _, R = robots.chain("arm_7r").pose(POSITION)
    weight = 0.4 * (Rotation.from_euler("xyz", TILT).as_matrix() @ R).T @ GRAVITY
    message = wrench_message(7, LINK, np.concatenate((weight, np.cross([0.0, 0.0, 0.06], weight))))
    tilted.take(message)
    assert np.allclose(tilted.at(7)[0], 0.0, atol=1e-9)
    felt.take(message)
    assert np.abs(felt.at(7)[0]).max() > 1.0


def test_the_reading_within_half_a_period_counts_else_the_newest_before_while_it_is_young_enough(felt):
    assert felt.at(0) == (None, "")
    forces = {}
    for stamp in (10_000_000, 20_000_000, 30_000_000):
        felt.take(reading(stamp, (stamp * 1e-6, 0.0, 0.0)))
        forces[stamp], _ = felt.at(stamp)
    assert len({tuple(force) for force in forces.values()}) == 3
    asked_for = {20_000_000: 20_000_000, 25_000_000: 20_000_000, 29_000_000: 30_000_000, 80_000_000: 30_000_000}
    for asked, used in (*asked_for.items(), (1, 10_000_000)):
        assert np.array_equal(felt.at(asked)[0], forces[used])
    assert felt.at(80_000_001) == (None, "")


def test_from_a_reading_that_was_refused_there_is_none_until_a_good_one_comes(felt):
    felt.take(reading(1))
    with pytest.raises(
        InputError, match="wrench is in frame 'elsewhere', sensor 'tool_ft_sensor' measures in 'tool_sensor_link'"
    ):
        felt.take(reading(2, frame="elsewhere"))
    assert felt.at(10) == (None, "")
    for bad in (reading(3, (np.nan, 0.0, 0.0)), reading(4, (np.inf, 0.0, 0.0))):
        felt.take(bad)
        external, refused = felt.at(10)
        assert external is None
        assert "is not finite" in refused
    felt.take(reading(5))
    external, refused = felt.at(10)
    assert external is not None
    assert not refused
