"""FrameTree: chains of transforms at their latest common time, as Pinocchio puts them together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio
import pytest
from geometry_msgs.msg import TransformStamped

from flexarm_core.errors import InputError
from flexarm_nodes.messages.conversions import nanoseconds_to_stamp
from flexarm_nodes.node.input.frame_tree import KEPT, FrameTree

MS = 1_000_000


@dataclass
class Told:
    """Transforms, as a message has them."""

    transforms: list[TransformStamped]


def told(parent: str, child: str, stamp: int, pose: pinocchio.SE3) -> Told:
    one = TransformStamped(child_frame_id=child)
    one.header.frame_id, one.header.stamp = parent, nanoseconds_to_stamp(stamp)
    shift, turn = one.transform.translation, one.transform.rotation
    shift.x, shift.y, shift.z = pose.translation
    turn.x, turn.y, turn.z, turn.w = pinocchio.Quaternion(pose.rotation).coeffs()
    return Told([one])


def between(before: pinocchio.SE3, after: pinocchio.SE3, share: float) -> pinocchio.SE3:
    turn = pinocchio.log3(before.rotation.T @ after.rotation)
    return pinocchio.SE3(
        before.rotation @ pinocchio.exp3(share * turn),
        before.translation + share * (after.translation - before.translation),
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_chain_of_fixed_and_moving_parts_in_any_direction_is_told_at_its_latest_common_time(seed):
    """Parts of other periods and phases, told in any order, in a random tree; poses between are interpolated."""
    rng, tree = np.random.default_rng(seed), FrameTree()
    pinocchio.seed(seed)
    names = [f"f{i}" for i in range(8)]
    parents = {name: names[rng.integers(i)] for i, name in enumerate(names) if i}
    fixed = {name: bool(rng.random() < 0.4) for name in parents}
    stamps = {name: np.arange(rng.integers(50), 500, rng.integers(7, 60)) * MS for name in parents}
    poses = {name: [pinocchio.SE3.Random() for _ in stamps[name]] for name in parents}
    home, frame = rng.choice(names, 2, replace=False)
    messages = [
        (int(stamp), name, pose)
        for name in parents
        for stamp, pose in zip(stamps[name], poses[name], strict=True)
        if not fixed[name]
    ]
    for name in parents:
        if fixed[name]:
            tree.take(told(parents[name], name, 7, poses[name][0]), fixed=True)

    def at(name: str, stamp: int) -> pinocchio.SE3:
        """Pose of a frame in the root."""
        if name not in parents:
            return pinocchio.SE3.Identity()
        if fixed[name]:
            return at(parents[name], stamp) * poses[name][0]
        i = min(max(int(np.searchsorted(stamps[name], stamp, "right")) - 1, 0), len(stamps[name]) - 2)
        share = (stamp - stamps[name][i]) / (stamps[name][i + 1] - stamps[name][i])
        return at(parents[name], stamp) * between(poses[name][i], poses[name][i + 1], share)

    found, newest = 0, dict[str, int]()
    for sent, name, pose in sorted(messages, key=lambda one: one[0]):
        tree.take(told(parents[name], name, sent, pose), fixed=False)
        newest[name] = sent
        try:
            chain = tree.chain(home, frame)
            stamp = tree.common(chain)
        except InputError:
            continue
        moving = tree.moving(chain)
        assert set(moving) == {one for one in (*chain.up, *chain.down) if not fixed[one]}
        if moving:
            assert stamp == min(newest[one] for one in moving)
        expected = at(home, stamp).inverse() * at(frame, stamp)
        assert np.allclose(tree.pose(chain, stamp), expected.homogeneous, atol=1e-9)
        found += 1
    assert found


def test_what_is_not_connected_in_a_ring_or_told_at_other_times_is_said():
    tree, pose = FrameTree("left/"), pinocchio.SE3.Identity()
    tree.take(told("map", "odom", 0, pose), fixed=False)
    tree.take(told("/left/earth", "left/base", 0, pose), fixed=False)
    with pytest.raises(InputError, match="no transforms connect 'base' with 'map': they lead from 'base' to 'earth', "):
        tree.chain("map", "base")
    tree.take(told("odom", "earth", 10 * MS, pose), fixed=False)
    with pytest.raises(InputError, match="no common time: 'base' in 'earth' ends 0.010 s before the others begin"):
        tree.common(tree.chain("map", "base"))
    tree.take(told("map", "odom", 20 * MS, pose), fixed=False)
    tree.take(told("left/earth", "left/base", 15 * MS, pose), fixed=False)
    chain = tree.chain("map", "base")
    assert tree.common(chain) == 10 * MS and tree.slowest(chain) == "'earth' in 'odom'"
    with pytest.raises(InputError, match="/tf: 'odom' from 'map' to 'base' was moved; a frame has one parent"):
        tree.take(told("base", "odom", 30 * MS, pose), fixed=False)
    with pytest.raises(InputError, match="make a ring: 'base' in 'earth' in 'odom' in 'base'"):
        tree.chain("map", "base")


def test_memory_is_bounded_and_a_clock_that_is_set_back_begins_anew():
    tree, pose, shifted = FrameTree(), pinocchio.SE3.Identity(), pinocchio.SE3(np.eye(3), np.ones(3))
    for stamp in range(3 * KEPT):
        tree.take(told("map", "odom", stamp * MS, pose), fixed=False)
        tree.take(told("map", "other", stamp * MS, pose), fixed=False)
        tree.common(tree.chain("map", "odom"))
    assert len(tree._parts["odom"].told) == KEPT and len(tree._parts["other"].told) == 1
    tree.take(told("map", "odom", 5 * MS, shifted), fixed=False)
    chain = tree.chain("map", "odom")
    assert tree.common(chain) == 5 * MS and np.allclose(tree.pose(chain, 5 * MS), shifted.homogeneous)


def test_a_transform_that_another_one_has_overtaken_is_left_out():
    tree, poses = FrameTree(), [pinocchio.SE3(np.eye(3), np.full(3, x)) for x in (0.0, 2.0, 9.0)]
    tree.take(told("map", "odom", 0, poses[0]), fixed=False)
    chain = tree.chain("map", "odom")
    tree.common(chain)  # from now on all are kept
    for stamp, pose in ((20, poses[1]), (10, poses[2]), (20, poses[2])):
        tree.take(told("map", "odom", stamp * MS, pose), fixed=False)
    assert tree.common(chain) == 20 * MS
    for stamp, x in ((20, 2.0), (10, 1.0)):
        assert np.allclose(tree.pose(chain, stamp * MS)[:3, 3], x)


def test_the_frame_over_fixed_parts_is_meant_though_another_one_is_nearer():
    """A camera hangs on a gripper that moves on link l2, and, over more parts, firmly on link l1."""
    tree, pose = FrameTree(), pinocchio.SE3.Identity()
    for parent, child, fixed in (("l2", "gripper", False), ("gripper", "camera", True), ("bracket", "l1", True)):
        tree.take(told(parent, child, 0, pose), fixed=fixed)
    assert tree.nearest("camera", {"l1", "l2"}) == "l2"  # over a moving part, where there is no other way
    tree.take(told("camera", "stand", 0, pose), fixed=True)
    tree.take(told("stand", "bracket", 0, pose), fixed=True)
    assert tree.nearest("camera", {"l1", "l2"}) == "l1"
    assert tree.nearest("camera", {"l2"}) == "l2" and tree.nearest("camera", {"nowhere"}) is None
