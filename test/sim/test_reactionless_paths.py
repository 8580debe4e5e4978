"""Reactionless paths in MuJoCo: joints that follow them exactly leave the base at rest, at any speed law."""

from __future__ import annotations

import numpy as np
import pytest
from elastic_base_arms import WEIGHTLESS, elastic_base_arm
from ideal_joints import IdealJoints

from flexarm_core.path.line import fifth_order
from flexarm_core.reaction_null_space.reactionless.path import JointMotion, ReactionlessPath
from flexarm_core.reaction_null_space.reactionless.trace import trace
from flexarm_core.robot.arm_model import ArmModel

DURATION = 1.0  # [s]


def cases(trep_text):
    return {
        "trep": (trep_text, np.array([0.5 * np.pi, 0.0])),
        "planar 4R on x, y and yaw": (elastic_base_arm(("x", "y", "rz"), 4), np.array([0.3, 0.9, -0.5, 1.1])),
        "spatial 4R on z, roll and pitch": (elastic_base_arm(("z", "rx", "ry"), 4, 3), np.array([0.2, 0.6, -0.8, 1.0])),
    }


NAMES = ("trep", "planar 4R on x, y and yaw", "spatial 4R on z, roll and pitch")


def traced(text, start) -> ReactionlessPath:
    return trace(ArmModel(text, gravity=WEIGHTLESS), start, length=8.0)


@pytest.mark.parametrize("name", NAMES)
def test_the_base_rests_on_the_path_and_shakes_on_the_straight_line_between_its_ends(trep_text, name):
    text, start = cases(trep_text)[name]
    path, robot = traced(text, start), IdealJoints(text)
    begin, end = (0.0, 2.0) if path.closed else (path.start, path.end)
    first, last = path.position(begin), path.position(end)

    def on_path(time: float) -> JointMotion:
        s, rate, acceleration = (end - begin) * np.array(fifth_order(time, DURATION))
        return path.sample(begin + s, rate, acceleration)

    def straight(time: float) -> JointMotion:
        law = fifth_order(time, DURATION)
        return JointMotion(first + law[0] * (last - first), law[1] * (last - first), law[2] * (last - first))

    quiet = np.abs(robot.deflection(on_path, 1.2 * DURATION)).max()
    shaken = np.abs(robot.deflection(straight, 1.2 * DURATION)).max()
    assert quiet < 1e-6
    assert shaken > 1000.0 * quiet and shaken > 1e-4


@pytest.mark.parametrize("name", NAMES)
def test_mujoco_sees_no_reaction_at_any_speed(trep_text, name):
    text, start = cases(trep_text)[name]
    path, robot, rng = traced(text, start), IdealJoints(text), np.random.default_rng(0)
    for _ in range(100):
        motion = path.sample(rng.uniform(path.start, path.end), *rng.uniform(-5.0, 5.0, 2))
        assert np.abs(robot.reaction(motion)).max() < 1e-9


def test_running_to_and_fro_and_round_and_round_leaves_the_base_at_rest(trep_text):
    """A speed law with turns and constant speed, beyond one round of the closed path."""
    path, robot = traced(trep_text, np.array([0.5 * np.pi, 0.0])), IdealJoints(trep_text)
    assert path.closed

    def motion(time: float) -> JointMotion:
        w, size = 2.0, 0.7 * path.length
        return path.sample(size * (1.0 - np.cos(w * time)), size * w * np.sin(w * time), size * w**2 * np.cos(w * time))

    # the law starts with an acceleration, which is reactionless too
    assert np.abs(robot.deflection(motion, 2.0)).max() < 1e-6
