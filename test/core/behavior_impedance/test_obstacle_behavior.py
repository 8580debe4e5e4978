"""Obstacles as a behavior: links give way, the tool too where it must, and no path leads nearer than the margin."""

from __future__ import annotations

import numpy as np
import pytest
from behaviors import READY, Driven, arm_of, asked, assert_within_limits, made, sample_at
from collision import CoalArm
from robots import PALLETIZER, find
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape
from flexarm_core.behavior_impedance.avoidance.obstacles import Obstacle
from flexarm_core.behavior_impedance.behavior import Arm, BehaviorSpec
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.robot.urdf_reader import parse_robot_description

DT = 2e-3


def spheres(*rows, **more):
    """Settings of spheres x y z radius."""
    names = [f"ball_{k}" for k in range(len(rows))]
    return {
        "names": names, "kinds": ["sphere"] * len(rows), "positions": [x for row in rows for x in row[:3]],
        "sizes": [x for row in rows for x in (row[3], 0.0, 0.0)], **more,
    }  # fmt: skip


def judged(name, arm, settings, joints):
    """Least distance over a motion, by coal."""
    places, sizes = np.reshape(settings["positions"], (-1, 3)), np.reshape(settings["sizes"], (-1, 3))
    names = settings["names"]
    obstacles = [Obstacle(names[k], "sphere", places[k], np.eye(3), (sizes[k, 0],)) for k in range(len(names))]
    judge = CoalArm(find(name)[0], arm.chain, arm.shape, obstacles)
    return min(judge.least(q) for q in joints)


def tool_of(name):
    return sample_at(arm_of(name), READY[name]).tool_position


def test_far_from_everything_nothing_acts_and_near_it_the_effort_is_away_from_it():
    arm, at = arm_of("panda"), sample_at(arm_of("panda"), READY["panda"])
    far = asked(arm, behavior := made(arm, "obstacles", **spheres((3.0, 0.0, 0.0, 0.1))), at)
    assert not far.effort.any() and not far.yielding.any() and behavior.note() == "nothing near"
    assert far.measure[0] > 1.0
    place = at.tool_position + 0.15 * at.tool_rotation[:, 2]
    behavior = made(arm, "obstacles", **spheres((*place, 0.05), range=0.2, tool_range=0.15))
    near, h = asked(arm, behavior, at), 1e-6
    assert near.measure[0] < 0.12 and "ball_0" in behavior.note()
    for effort in (near.effort, near.yielding):
        step = h * effort / np.linalg.norm(effort)
        ahead = asked(arm, behavior, sample_at(arm, at.position + step)).measure[0]
        assert ahead > near.measure[0]
    assert near.effort_stiffness == pytest.approx(near.effort_stiffness.T, abs=1e-9)
    assert np.linalg.eigvalsh(near.effort_stiffness)[0] > -1e-9


def test_the_tool_yields_from_its_own_range_on():
    arm, at = arm_of("panda"), sample_at(arm_of("panda"), READY["panda"])
    place = at.tool_position + 0.2 * at.tool_rotation[:, 2]
    distance = asked(arm, made(arm, "obstacles", **spheres((*place, 0.05))), at).measure[0]
    for tool_range, yields in ((0.0, False), (0.99 * distance, False), (1.1 * distance, True)):
        out = asked(
            arm, made(arm, "obstacles", **spheres((*place, 0.05), range=1.2 * distance, tool_range=tool_range)), at
        )
        assert out.effort.any() and out.yielding.any() == yields


def test_links_that_may_touch_do_not_count():
    arm, at = arm_of("panda"), sample_at(arm_of("panda"), READY["panda"])
    place = (*(at.tool_position + 0.05 * at.tool_rotation[:, 2]), 0.02)
    near = asked(arm, made(arm, "obstacles", **spheres(place)), at).measure[0]
    last = arm.shape.links[-1]
    ignoring = made(arm, "obstacles", **spheres(place, ignored_links=[last]))
    assert asked(arm, ignoring, at).measure[0] > near
    with pytest.raises(ConfigError, match=f"ignored link 'nobody' is none of those that move: .*{last}"):
        made(arm, "obstacles", ignored_links=["nobody"])


@pytest.mark.parametrize(
    ("settings", "why"),
    (
        ({"names": ["a"]}, "behavior 'it'"),
        (spheres((0.5, 0.0, 0.5, -0.1)), "behavior 'it'.*"),
        ({**spheres((0.5, 0.0, 0.5, 0.1)), "kinds": ["cone"]}, "cone"),
        (spheres((0.5, 0.0, 0.5, 0.1), margin=0.2), "margin 0.2 m must lie below range and tool_range"),
        (spheres((0.5, 0.0, 0.5, 0.1), margin=0.1, tool_range=0.08), "margin 0.1 m must lie below"),
        ({**spheres((0.5, 0.0, 0.5, 0.1), (0.5, 0.0, 0.9, 0.1)), "names": ["a", "a"]}, "behavior 'it'.*a"),
    ),
)
def test_obstacles_that_are_none_are_refused_by_name(settings, why):
    with pytest.raises(ConfigError, match=why):
        made(arm_of("panda"), "obstacles", **settings)


def test_without_obstacles_it_admits_everything_and_gives_nothing():
    arm, at = arm_of("panda"), sample_at(arm_of("panda"), READY["panda"])
    behavior = made(arm, "obstacles")
    out = asked(arm, behavior, at)
    assert not out.effort.any() and out.measure[0] == 1e9 and behavior.note() == "nothing near"
    assert behavior.admits(at.position, np.full(7, 100.0), DT)


@pytest.mark.parametrize("name", ("panda", "arm_6r"))
@pytest.mark.parametrize("force", (0.0, 20.0))
def test_a_path_straight_through_an_obstacle_stops_before_its_margin_and_says_why(name, force):
    tool, way = tool_of(name), np.array([0.0, -0.3, 0.0])
    settings = spheres((*(tool + way), 0.1), margin=0.02, force=force)
    driven = Driven(name)
    driven.ask(
        BehaviorSpec("p", "path", {"positions": way.tolist(), "relative": True}),
        BehaviorSpec("wall", "obstacles", settings),
    )
    run = driven.run(5000)
    assert judged(name, driven.arm, settings, run.joints[::10]) >= 0.02 - 1e-6
    last = run.outputs[-1]
    assert np.linalg.norm(last.error[:3]) > 0.05
    assert last.stalled and "wall" in last.hindered_by
    assert any("wall" in output.held for output in run.outputs) == (force == 0.0)
    assert_within_limits(driven.arm, np.array(READY[name]), run.joints, DT)


def test_the_elbow_goes_round_an_obstacle_while_the_tool_stays():
    name = "panda"
    arm, at = arm_of(name), sample_at(arm_of(name), READY[name])
    elbow = at.frames[3, 9:]
    settings = spheres((*(elbow + [0.0, 0.19, 0.0]), 0.05), range=0.15, tool_range=0.0, margin=0.01, force=5.0)
    driven = Driven(name)
    driven.ask(BehaviorSpec("o", "obstacles", settings))
    driven.run(1)
    before = driven.controller.behaviors[0].out.measure[0]
    run = driven.run(3000)
    assert driven.controller.behaviors[0].out.measure[0] > before + 0.01
    assert np.abs(run.of("position") - at.tool_position).max() < 1e-8
    assert arm is driven.arm


def test_pushed_by_hand_into_an_obstacle_the_arm_stops_before_the_margin():
    name = "panda"
    tool = tool_of(name)
    settings = spheres((*(tool + [0.0, -0.25, 0.0]), 0.06), margin=0.02, force=0.0)
    driven = Driven(name, stiffness=(0.0,) * 3 + (100.0,) * 3)
    driven.ask(BehaviorSpec("o", "obstacles", settings))
    run = driven.run(2500, np.array([0.0, -40.0, 0.0, 0.0, 0.0, 0.0]))
    assert judged(name, driven.arm, settings, run.joints[::5]) >= 0.02 - 1e-6
    assert any(output.held for output in run.outputs)
    assert run.outputs[-1].position[1] < tool[1] - 0.02
    back = driven.run(500, np.array([0.0, 20.0, 0.0, 0.0, 0.0, 0.0]))
    assert back.outputs[-1].position[1] > run.outputs[-1].position[1] + 0.02


def test_spring_path_and_obstacle_against_each_other_keep_the_margin_and_the_limits():
    name = "panda"
    tool = tool_of(name)
    settings = spheres((*(tool + [0.2, 0.0, 0.0]), 0.05), (*(tool + [0.0, 0.3, 0.0]), 0.05), margin=0.01)
    driven = Driven(name)
    driven.ask(
        BehaviorSpec("p", "path", {"positions": [0.2, 0.0, 0.0, 0.0, 0.2, 0.0], "relative": True, "repeats": True}),
        BehaviorSpec(
            "s", "spring", {"position": (tool + [0.0, -0.3, 0.2]).tolist(), "stiffness": [800.0] * 3 + [0.0] * 3}
        ),
        BehaviorSpec("o", "obstacles", settings),
    )
    run = driven.run(4000)
    assert judged(name, driven.arm, settings, run.joints[::10]) >= 0.01 - 1e-6
    assert_within_limits(driven.arm, np.array(READY[name]), run.joints, DT)
    assert not any(active.failure for active in driven.controller.behaviors)


def test_an_obstacle_that_appears_around_a_moving_arm_lets_it_move_out():
    name = "panda"
    tool = tool_of(name)
    driven = Driven(name)
    path = BehaviorSpec("p", "path", {"positions": [0.0, 0.15, 0.15], "relative": True})
    driven.ask(path)
    driven.run(300)
    now = driven.controller.output.position
    settings = spheres((*(now + [0.0, -0.08, -0.08]), 0.08), margin=0.05)
    driven.ask(path, BehaviorSpec("o", "obstacles", settings))
    run = driven.run(4000)
    assert np.isfinite(run.joints).all()
    assert run.outputs[-1].position == pytest.approx(tool + [0.0, 0.15, 0.15], abs=5e-3)
    assert Rotation.from_matrix(run.outputs[-1].rotation).magnitude() >= 0.0


def test_an_arm_with_joints_that_follow_others_keeps_away_with_its_driven_ones():
    description = parse_robot_description(PALLETIZER, massless=True)
    chain = build_chain(description)
    n, spread = chain.n, chain.spread
    arm = Arm(chain, build_arm_shape(description, chain), MotionLimits.of(chain, 6.0))
    at = sample_at(arm, np.array([0.3, -0.4, 0.2]))
    place = at.tool_position + 0.16 * at.tool_rotation[:, 2]
    behavior = made(arm, "obstacles", **spheres((*place, 0.05), range=0.2, margin=0.02))
    near = asked(arm, behavior, at)
    assert near.effort.shape == (n,) and near.effort.any() and spread.shape == (5, 3)
    ahead = asked(arm, behavior, sample_at(arm, at.position + 1e-6 * near.effort / np.linalg.norm(near.effort)))
    assert ahead.measure[0] > near.measure[0]
    towards = -2.0 * near.effort / np.abs(near.effort).max()
    assert behavior.admits(at.position, 0.0 * towards, DT) and not behavior.admits(at.position, towards, DT)
