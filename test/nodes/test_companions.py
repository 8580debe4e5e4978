"""Companions: a joint state waits for what comes with its stamp, but not for ever."""

from __future__ import annotations

from flexarm_nodes.node.input.companions import LOST_AFTER, Companions


def test_all_of_a_stamp_are_waited_for_in_any_order():
    companions = Companions(lambda: ("wrench", "path"))
    companions.came("path", 7)
    assert not companions.complete(7)
    companions.came("wrench", 6)
    assert not companions.complete(7)
    companions.came("wrench", 7)
    assert companions.complete(7) and not companions.complete(8)
    assert Companions(lambda: ()).complete(7)


def test_what_has_been_lost_is_not_waited_for_until_it_comes_with_the_stamp_of_a_joint_state():
    companions = Companions(lambda: ("wrench",))
    for stamp in range(1, LOST_AFTER + 1):
        assert not companions.complete(stamp)
        companions.answer(stamp)
    assert companions.complete(100)
    companions.answer(100)
    companions.came("wrench", 99)  # of no joint state that is answered now
    assert companions.complete(101)
    companions.answer(101)
    companions.came("wrench", 101)  # too late for it, but here again
    assert not companions.complete(102)
    companions.reset()
    assert not companions.complete(1)


def test_stamps_beside_those_of_joint_states_count_within_the_tolerance_once_they_were_seen():
    companions = Companions(lambda: ("wrench",))
    companions.tolerance = 4
    companions.came("wrench", 7)
    assert not companions.complete(10)  # perhaps the one of this stamp comes
    companions.answer(10)
    companions.came("wrench", 17)
    assert companions.complete(20)
    companions.answer(20)
    assert not companions.complete(30)
