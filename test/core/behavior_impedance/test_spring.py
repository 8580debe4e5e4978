"""Spring: the gradient of a potential, no stronger than its limit."""

from __future__ import annotations

import numpy as np
import pytest
from behaviors import READY, Driven, arm_of, asked, begun, made, sample_at, tool_sample
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import BehaviorSpec
from flexarm_core.errors import ConfigError

K, B = [300.0, 500.0, 700.0, 11.0, 13.0, 17.0], [30.0, 50.0, 70.0, 1.1, 1.3, 1.7]
RPY = [0.4, -0.7, 1.1]
ARM = "panda"


def spring(arm, at, **settings):
    return begun(arm, "spring", at, **{"stiffness": K, "damping": B, "max_force": 1e6, "max_torque": 1e6, **settings})


def energy(behavior, sample, stiffness, target):
    """``e K e / 2`` with the translation and the rotation vector of the way to the target, axes of the base."""
    p, R = target
    e = np.concatenate((p - sample.tool_position, Rotation.from_matrix(R @ sample.tool_rotation.T).as_rotvec()))
    return 0.5 * e @ stiffness @ e


def test_where_the_tool_begins_it_does_not_pull():
    arm = arm_of(ARM)
    at = sample_at(arm, READY[ARM])
    out = asked(arm, spring(arm, at), at)
    assert not out.force.any() and out.measure[0] == 0.0


def test_the_force_is_minus_the_gradient_of_its_energy_and_the_stiffness_its_derivative():
    arm = arm_of(ARM)
    at = sample_at(arm, READY[ARM])
    behavior, target, h = spring(arm, at, rpy=RPY), (at.tool_position, at.tool_rotation), 1e-5
    R = np.kron(np.eye(2), Rotation.from_euler("xyz", RPY).as_matrix())
    whole = R @ np.diag(K) @ R.T
    away = tool_sample(arm, np.array([0.05, -0.02, 0.1]), np.zeros(3), at)
    out = asked(arm, behavior, away)
    assert out.stiffness == pytest.approx(whole, abs=1e-9)
    assert out.measure[0] == pytest.approx(np.linalg.norm([0.05, -0.02, 0.1]))
    for i in range(6):
        step = h * np.eye(6)[i]
        ends = [tool_sample(arm, s * step[:3], s * step[3:], away) for s in (1.0, -1.0)]
        gradient = (energy(behavior, ends[0], whole, target) - energy(behavior, ends[1], whole, target)) / (2.0 * h)
        assert out.force[i] == pytest.approx(-gradient, abs=1e-5)
        forces = [asked(arm, behavior, end).force for end in ends]
        assert (forces[0] - forces[1]) / (2.0 * h) == pytest.approx(-out.stiffness[:, i], abs=1e-3)


@pytest.mark.parametrize("angle", (0.1, 1.0, 2.5, 3.1))
def test_a_turned_tool_is_turned_back_about_the_axis_of_the_shortest_way(angle):
    arm = arm_of(ARM)
    at, axis = sample_at(arm, READY[ARM]), np.array([2.0, -1.0, 2.0]) / 3.0
    behavior = spring(arm, at, stiffness=[0.0] * 3 + [8.0] * 3)
    out = asked(arm, behavior, tool_sample(arm, np.zeros(3), angle * axis, at))
    assert out.force[3:] == pytest.approx(-8.0 * angle * axis, abs=1e-9)


def test_damping_brakes_the_tool_in_the_axes_of_the_frame():
    arm, twist = arm_of(ARM), np.array([0.1, -0.2, 0.3, 0.4, 0.5, -0.6])
    at = sample_at(arm, READY[ARM], tool_twist=twist)
    out = asked(arm, spring(arm, at, frame="tool", rpy=RPY), at)
    R = np.kron(np.eye(2), at.tool_rotation @ Rotation.from_euler("xyz", RPY).as_matrix())
    assert out.damping == pytest.approx(R @ np.diag(B) @ R.T, abs=1e-9)
    assert out.force == pytest.approx(-out.damping @ twist, abs=1e-9)
    assert out.force @ twist < 0.0


@pytest.mark.parametrize("part", (0, 1))
def test_the_pull_grows_to_its_limit_and_stays_there_without_a_step(part):
    arm = arm_of(ARM)
    at, limit = sample_at(arm, READY[ARM]), (40.0, 2.0)[part]
    settings = {"stiffness": [400.0] * 3 + [4.0] * 3, "max_force": 40.0, "max_torque": 2.0, "damping": [0.0] * 6}
    behavior, edge = spring(arm, at, **settings), limit / (400.0, 4.0)[part]
    direction = np.array([2.0, -1.0, 2.0]) / 3.0
    sizes = []
    for distance in (0.5 * edge, edge - 1e-9, edge + 1e-9, 2.0 * edge, 5.0 * edge):
        ways = [np.zeros(3), np.zeros(3)]
        ways[part] = distance * direction
        out = asked(arm, behavior, tool_sample(arm, *ways, at))
        force = out.force[3 * part : 3 * part + 3]
        assert np.cross(force, direction) == pytest.approx(np.zeros(3), abs=1e-9) and force @ direction < 0.0
        assert out.stiffness == pytest.approx(out.stiffness.T) and np.linalg.eigvalsh(out.stiffness)[0] >= -1e-9
        assert out.stiffness[3 * part :, 3 * part :].any() == (distance < edge or part == 0)
        sizes.append(np.linalg.norm(force))
    assert sizes == pytest.approx([0.5 * limit, limit, limit, limit, limit], rel=1e-6)


def test_a_given_pose_is_where_it_pulls_to_and_what_is_not_given_is_where_the_tool_began():
    arm = arm_of(ARM)
    at = sample_at(arm, READY[ARM])
    goal = at.tool_position + [0.1, 0.0, 0.0]
    out = asked(arm, spring(arm, at, position=goal.tolist()), at)
    assert out.force == pytest.approx([30.0, 0.0, 0.0, 0.0, 0.0, 0.0], abs=1e-9)
    turn = Rotation.from_rotvec([0.0, 0.0, 0.2])
    rpy = (turn * Rotation.from_matrix(at.tool_rotation)).as_euler("xyz").tolist()
    out = asked(arm, spring(arm, at, orientation=rpy), at)
    assert out.force == pytest.approx([0.0, 0.0, 0.0, 0.0, 0.0, 0.2 * 17.0], abs=1e-9)


def test_with_other_settings_it_goes_on_pulling_to_the_same_pose():
    arm = arm_of(ARM)
    at = sample_at(arm, READY[ARM])
    old, new = spring(arm, at), made(arm, "spring", stiffness=[10.0] * 6, orientation=[2.0, 0.3, -0.4])
    new.take_over(old)
    out = asked(arm, new, tool_sample(arm, np.array([0.01, 0.0, 0.0]), np.zeros(3), at))
    assert out.force[:3] == pytest.approx([-0.1, 0.0, 0.0], abs=1e-9)
    goal = Rotation.from_euler("xyz", [2.0, 0.3, -0.4])
    wanted = 10.0 * (goal * Rotation.from_matrix(at.tool_rotation).inv()).as_rotvec()
    assert out.force[3:] == pytest.approx(wanted * min(1.0, 20.0 / np.linalg.norm(wanted)), abs=1e-6)


@pytest.mark.parametrize("name", ("position", "orientation"))
def test_a_pose_of_another_size_is_refused_by_name(name):
    with pytest.raises(ConfigError, match=f"{name} needs three numbers"):
        made(arm_of(ARM), "spring", **{name: [1.0, 2.0]})


def test_in_the_law_it_moves_the_tool_as_far_as_its_stiffness_outweighs_that_of_the_law():
    driven = Driven(ARM)
    start = driven.controller.output.position
    goal = (start + [0.0, 0.06, 0.0]).tolist()
    driven.ask(BehaviorSpec("s", "spring", {"position": goal, "stiffness": [1000.0] * 3 + [0.0] * 3}))
    driven.run(2000)
    assert driven.controller.output.position == pytest.approx(start + [0.0, 0.02, 0.0], abs=1e-6)
