"""The chain's pose, Jacobian and rotation error against Pinocchio."""

from __future__ import annotations

import math

import numpy as np
import pinocchio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from robots import NAMES, PinocchioChain, chain_or_skip, find

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.kernels.rotations import rotation_error
from flexarm_core.robot.urdf_reader import parse_robot_description

KINDS = ("revolute", "prismatic", "continuous", "fixed")


def words(values) -> str:
    return " ".join(repr(float(value)) for value in values)


def random_urdf(rng, joints: int) -> str:
    """A line of joints of all kinds about random axes, and a branch at every link."""
    parts = ['<link name="world"/><link name="stand"/>']
    parts.append(
        '<joint name="mount" type="fixed"><parent link="world"/><child link="stand"/>'
        f'<origin xyz="{words(rng.normal(size=3))}" rpy="{words(rng.uniform(-3, 3, 3))}"/></joint>'
    )
    parent = "stand"
    for i in range(joints):
        kinds = [KINDS[rng.integers(4)] if 0 < i < joints - 1 else "revolute", "revolute"]
        for name, kind in zip((f"link_{i}", f"branch_{i}"), kinds, strict=True):
            parts.append(
                f'<link name="{name}"/><joint name="{name}_joint" type="{kind}"><parent link="{parent}"/>'
                f'<child link="{name}"/><axis xyz="{words(rng.normal(size=3))}"/>'
                f'<origin xyz="{words(rng.normal(size=3))}" rpy="{words(rng.uniform(-3, 3, 3))}"/>'
                '<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>'
            )
        parent = f"link_{i}"
    parts.append(
        f'<link name="tool0"/><joint name="tool_joint" type="fixed"><parent link="{parent}"/><child link="tool0"/>'
        f'<origin xyz="{words(rng.normal(size=3))}" rpy="{words(rng.uniform(-3, 3, 3))}"/></joint>'
    )
    return f'<robot name="random">{"".join(parts)}</robot>'


def largest_difference(chain, text, rng, trials: int) -> float:
    """Over random positions: of the pose and of the Jacobian."""
    other, worst = PinocchioChain(text, chain), 0.0
    for _ in range(trials):
        q = rng.uniform(np.maximum(chain.lower, -7.0), np.minimum(chain.upper, 7.0))
        p, R, J = chain.kinematics(q)
        p_other, R_other = other.pose(q)
        worst = max(worst, abs(p - p_other).max(), abs(R - R_other).max(), abs(J - other.jacobian(q)).max())
    return worst


@pytest.mark.parametrize("name", NAMES)
def test_pose_and_jacobian_equal_pinocchio(name):
    assert largest_difference(chain_or_skip(name), find(name)[0], np.random.default_rng(1), 100) < 1e-12


def test_pose_and_jacobian_equal_pinocchio_on_random_chains_of_all_joints():
    rng, kinds = np.random.default_rng(2), set()
    for _ in range(40):
        text = random_urdf(rng, int(rng.integers(2, 9)))
        chain = build_chain(parse_robot_description(text, massless=True), "tool0")
        kinds |= {*zip(chain.links[:-1, 12], chain.turns.endless.tolist(), strict=True)}
        assert largest_difference(chain, text, rng, 5) < 1e-12
    assert kinds == {(0.0, False), (0.0, True), (1.0, False)}


def test_joints_off_the_chain_are_left_out():
    chain = chain_or_skip("panda")
    assert chain.joint_names == tuple(f"panda_joint{i}" for i in range(1, 8))
    assert (chain.base_frame, chain.tool_frame) == ("panda_link0", "panda_hand_tcp")


def test_limits_are_those_of_the_description():
    chain = chain_or_skip("ur5")
    turn = 2.0 * math.pi
    assert np.allclose(chain.upper, [turn, turn, math.pi, turn, turn, turn])
    assert np.allclose(chain.lower, -chain.upper)
    assert np.allclose(chain.velocity_limit, [3.15, 3.15, 3.15, 3.2, 3.2, 3.2])


def test_a_tool_in_the_middle_has_only_the_joints_before_it():
    chain_or_skip("panda")
    description = parse_robot_description(find("panda")[0])
    assert build_chain(description, "panda_link4").joint_names == tuple(f"panda_joint{i}" for i in range(1, 5))


@pytest.mark.parametrize("tool", ["base_link", "world"])
def test_a_tool_that_no_joint_carries_is_refused(tool):
    with pytest.raises(RobotDescriptionError, match=f"no actuated joint .* tool frame '{tool}'"):
        build_chain(parse_robot_description(find("planar_4r")[0]), tool)


FINGERS = """<link name="f1"/><link name="f2"/>
  <joint name="finger1" type="prismatic"><parent link="tool0"/><child link="f1"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.1" effort="1" velocity="1"/></joint>
  <joint name="finger2" type="prismatic"><parent link="tool0"/><child link="f2"/><axis xyz="-1 0 0"/>
    <limit lower="0" upper="0.1" effort="1" velocity="1"/><mimic joint="finger1"/></joint>"""


def commanded(text: str, *names: str) -> str:
    tags = "".join(f'<joint name="{name}"><command_interface name="position"/></joint>' for name in names)
    return text.replace("</robot>", f'{FINGERS}<ros2_control name="all" type="system">{tags}</ros2_control></robot>')


def test_fingers_that_nobody_of_the_arm_moves_are_not_of_the_chain():
    text = random_urdf(np.random.default_rng(2), 6)
    moving = [
        name for name, joint in parse_robot_description(text, massless=True).joints.items() if joint.kind != "fixed"
    ]
    alone = build_chain(parse_robot_description(text, massless=True), "tool0").joint_names
    for names in ([*moving, "finger1"], moving, [*moving, "finger1", "finger2"]):
        description = parse_robot_description(commanded(text, *names), massless=True)
        assert build_chain(description, "tool0").joint_names == alone and tuple(description.outside) == (
            "finger1",
            "finger2",
        )


def test_a_chain_with_a_joint_that_follows_another_has_the_coordinate_of_that_one():
    text = random_urdf(np.random.default_rng(2), 6).replace("</robot>", f"{FINGERS}</robot>")
    with pytest.raises(RobotDescriptionError, match="'f1' is moved by joints outside of the arm .finger1, finger2"):
        build_chain(parse_robot_description(text, massless=True), "f1")
    last = """<link name="f3"/><joint name="twist" type="continuous"><parent link="f2"/><child link="f3"/></joint>"""
    description = parse_robot_description(text.replace("</robot>", f"{last}</robot>"), massless=True)
    coupled = build_chain(description, "f3")
    assert "finger2" in coupled.moving and "finger2" not in coupled.joint_names and "finger1" in coupled.joint_names
    held = parse_robot_description(description.text, massless=True, held={"finger1": 0.02})
    assert "twist" in build_chain(held, "f3").joint_names and "finger1" not in build_chain(held, "f3").joint_names


def error_of(wanted, present):
    out = np.empty(3)
    rotation_error(np.ascontiguousarray(wanted), np.ascontiguousarray(present), out)
    return out


def random_rotation(rng):
    return pinocchio.Quaternion(rng.normal(size=4)).normalized().matrix()


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-9, 1e-7, 1e-6, 2e-6, 1e-3, 1.0, 3.0, math.pi - 1e-3, math.pi - 1e-5])
def test_rotation_error_is_the_angle_about_the_axis(angle):
    rng = np.random.default_rng(3)
    for _ in range(50):
        axis = rng.normal(size=3)
        vector, present = angle * axis / np.linalg.norm(axis), random_rotation(rng)
        found = error_of(pinocchio.exp3(vector) @ present, present)
        # near half a turn the sine, which gives the axis, is small: its rounding is divided by it
        assert abs(found - vector).max() < 1e-15 + 2e-15 / max(math.pi - angle, 1e-6) * angle


def test_rotation_error_equals_pinocchio_log3():
    rng = np.random.default_rng(4)
    for _ in range(500):
        wanted, present = random_rotation(rng), random_rotation(rng)
        assert abs(error_of(wanted, present) - pinocchio.log3(wanted @ present.T)).max() < 1e-9


@pytest.mark.parametrize("short", [0.0, 1e-15, 1e-12, 1e-9, 1e-7, 9e-7, 1.1e-6])
def test_rotation_error_at_half_a_turn_turns_the_present_into_the_wanted(short):
    rng = np.random.default_rng(5)
    axes = [*np.eye(3), *-np.eye(3), [1.0, 1.0, 0.0], [0.0, 1.0, -1.0], [1.0, 1e-9, 0.0], *rng.normal(size=(40, 3))]
    for axis in axes:
        vector = (math.pi - short) * np.asarray(axis) / np.linalg.norm(axis)
        present = random_rotation(rng)
        wanted = pinocchio.exp3(vector) @ present
        found = error_of(wanted, present)
        assert math.isclose(np.linalg.norm(found), math.pi - short, abs_tol=1e-7)
        assert abs(pinocchio.exp3(found) @ present - wanted).max() < 2e-6


@given(st.tuples(*[st.floats(-2.0, 2.0)] * 3), st.tuples(*[st.floats(-4.0, 4.0)] * 4))
def test_rotation_error_turns_the_present_into_the_wanted_and_is_never_longer_than_half_a_turn(vector, quaternion):
    present = pinocchio.Quaternion(np.array(quaternion) + [0.0, 0.0, 0.0, 9.0]).normalized().matrix()
    wanted = pinocchio.exp3(np.array(vector)) @ present
    found = error_of(wanted, present)
    assert np.linalg.norm(found) <= math.pi + 1e-15
    assert abs(pinocchio.exp3(found) @ present - wanted).max() < 2e-6
