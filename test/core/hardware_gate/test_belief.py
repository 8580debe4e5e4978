"""What is not believed, however often it is said, and what is believed again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flexarm_core.hardware_gate.belief import StateBelief, believe
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.types import ArmState

ONE = np.ones(1)


def of_one_joint(lower: float, upper: float) -> StateBelief:
    limits = JointLimits(
        lower=lower * ONE, upper=upper * ONE, velocity=2.0 * ONE, acceleration=20.0 * ONE, effort=10.0 * ONE,
        effort_rate=np.inf * ONE,
    )  # fmt: skip
    return StateBelief(limits, ["joint1"], first=1)


def state(tick: int, position: float) -> ArmState:
    return ArmState(tick * 4_000_000, np.array([position]), np.array([0.1 + 1e-4 * tick]), np.zeros(0), np.zeros(0))


@pytest.mark.parametrize(
    ("lower", "upper", "position", "believed"),
    [(-1.0, 1.0, 0.9, True), (-1.0, 1.0, 1.2, True), (-1.0, 1.0, -1.6e79, False), (-1.0, 1.0, 3.5, False),
     (-np.inf, np.inf, 40.0, True), (-np.inf, np.inf, 1e79, False)],
)  # fmt: skip
def test_a_joint_that_is_said_to_be_where_none_can_be_is_not_believed_though_states_agree(
    lower, upper, position, believed
):
    belief = of_one_joint(lower, upper)
    before = state(0, 0.0)
    assert belief.doubt(before, None, 0.0, lambda _: (ONE, ONE)) == ""
    for free in (False, True):  # in 28 ms the joint moves by no more than 0.1
        doubts = [
            belief.doubt(state(k, position), before, 0.004 * k, lambda _: (ONE, ONE), free=free) for k in range(1, 8)
        ]
        assert doubts[0] and ("" in doubts) == (believed and free)


def still(tick: int, velocity: float) -> ArmState:
    return ArmState(tick * 4_000_000, np.array([0.2]), np.array([velocity]), np.zeros(0), np.zeros(0))


def first_doubt(belief: StateBelief, velocity: float, commanded: float) -> int:
    """Ticks of 4 ms until a state that stands still, newest of them believed so far, is doubted; 300 where none is."""
    before = still(0, velocity)
    belief.doubt(before, None, 0.0, lambda _: (ONE, ONE))
    for tick in range(1, 300):
        now = still(tick, velocity)
        if belief.doubt(now, before, 0.004, lambda _: (commanded * ONE, 0.0 * ONE)):
            return tick
        before = now
    return 300


def test_a_fast_state_that_is_repeated_is_not_believed_however_long_it_is():
    """In 0.14 s the arm could have moved and returned: such a state was believed again and braked from."""
    belief, before = of_one_joint(-1.0, 1.0), still(0, 1.9)
    belief.doubt(before, None, 0.0, lambda _: (ONE, ONE))
    assert all([belief.doubt(still(k, 1.9), before, 0.004 * k, lambda _: (ONE, ONE)) for k in range(1, 300)])
    others = [replace(still(300 + k, 0.0), position=np.array([0.21 + 1e-6 * k])) for k in range(3)]
    doubts = [belief.doubt(one, before, one.stamp * 1e-9, lambda _: (ONE, ONE)) for one in others]
    assert doubts[-1] == "" and all(doubts[:-1])


def test_a_state_that_stands_still_and_says_that_it_moves_is_frozen_as_soon_as_that_would_show():
    assert first_doubt(of_one_joint(-1.0, 1.0), 0.1, 0.0) * 0.004 == pytest.approx(0.052, abs=0.005)  # 5 mrad
    assert first_doubt(of_one_joint(-1.0, 1.0), 0.0, 0.4) * 0.004 == pytest.approx(0.052, abs=0.005)  # 20 mrad asked
    assert first_doubt(of_one_joint(-1.0, 1.0), 0.0, 0.0) == 300


@pytest.mark.parametrize(("velocity", "idle", "again"), [(0.0, True, 1.0), (0.0, False, None), (0.1, True, None)])
def test_a_joint_that_stood_still_is_believed_again_at_rest_while_nothing_moves_it(velocity, idle, again):
    belief = of_one_joint(-1.0, 1.0)
    newest = still(first_doubt(belief, velocity, 1.0), velocity)
    seen = None
    for tick in range(1, 500):
        doubt = belief.doubt(replace(newest, stamp=newest.stamp + tick * 4_000_000), newest, tick * 0.004,
                             lambda _: (0.0 * ONE, 0.0 * ONE), idle=idle)  # fmt: skip
        if not doubt:
            seen = tick * 0.004
            break
    assert seen == (None if again is None else pytest.approx(again, abs=0.005))


@pytest.mark.parametrize(
    ("velocity", "jump", "shown", "believed"),
    [
        (0.0, 1.5, 0.0, True),
        (0.0, 2.2, 0.0, False),
        (0.0, 2.2, 0.9, True),
        (3.9, 1.5, 0.0, False),
        (3.9, 1.5, 1.0, True),
    ],
)
def test_a_velocity_that_jumps_too_far_is_believed_only_if_the_position_shows_it(velocity, jump, shown, believed):
    """Half the limit of 2 rad/s and ten times its acceleration, 1.8 rad/s in 4 ms; twice the limit."""
    belief, none = of_one_joint(-1.0, 1.0), np.zeros(0)
    before = ArmState(0, 0.0 * ONE, velocity * ONE, none, none)
    belief.doubt(before, None, 0.0, lambda _: (ONE, ONE))
    moved = (velocity + 0.5 * shown * jump) * 0.004
    after = ArmState(4_000_000, moved * ONE, (velocity + jump) * ONE, none, none)
    assert (belief.doubt(after, before, 0.004, lambda _: (ONE, ONE)) == "") is believed


@pytest.mark.parametrize(("moves", "believed"), [(0.0, False), (1.0, True)])
def test_velocities_that_agree_with_each_other_are_believed_only_if_the_joint_moved_so(moves, believed):
    """At 1 kHz a single sample does not show it."""
    belief, none = of_one_joint(-1.0, 1.0), np.zeros(0)
    newest = ArmState(0, 0.0 * ONE, 0.0 * ONE, none, none)
    belief.doubt(newest, None, 0.0, lambda _: (ONE, ONE))
    doubts = []
    for tick in range(1, 9):
        state = ArmState(tick * 1_000_000, moves * 3.9e-3 * tick * ONE, (3.9 + 1e-6 * tick) * ONE, none, none)
        doubts.append(belief.doubt(state, newest, (state.stamp - newest.stamp) * 1e-9, lambda _: (ONE, ONE)))
        newest = newest if doubts[-1] else state
    assert ("" in doubts) is believed and doubts[0]


@pytest.mark.parametrize(("moved", "believed"), [(0.0, True), (-1.0, False)])
def test_a_velocity_that_reverses_is_a_motion_if_the_position_does_not_move_meanwhile(moved, believed):
    """An encoder that begins to count backward goes back by as much as it went on before."""
    belief, none, dt = of_one_joint(-1.0, 1.0), np.zeros(0), 0.001
    newest = ArmState(0, 0.0 * ONE, 1.0 * ONE, none, none)
    belief.doubt(newest, None, 0.0, lambda _: (ONE, ONE))
    for tick in range(1, 4):
        state = ArmState(tick * 1_000_000, tick * dt * ONE, (1.0 + 1e-6 * tick) * ONE, none, none)
        assert belief.doubt(state, newest, dt, lambda _: (ONE, ONE)) == ""
        newest = state
    back = ArmState(4_000_000, newest.position + moved * dt, -0.95 * ONE, none, none)
    assert (belief.doubt(back, newest, dt, lambda _: (ONE, ONE)) == "") is believed


def on_a_base(deflection: float, rate: float, tick: int) -> ArmState:
    return ArmState(tick * 4_000_000, 0.0 * ONE, 1e-6 * tick * ONE, deflection * ONE, rate * ONE)


@pytest.mark.parametrize(
    ("deflection", "rate", "believed"),
    [(0.05, 0.3, True), (-0.05, -0.3, True), (0.2, 0.0, False), (-0.2, 0.0, False), (0.0, 0.6, False)],
)
def test_a_base_that_jumps_by_more_than_springs_and_blows_allow_is_not_believed(deflection, rate, believed):
    """At rest by a tenth of its range, 1 m, and by 0.05 m/s and 100 m/s^2."""
    limits = JointLimits(
        lower=-ONE, upper=ONE, velocity=2.0 * ONE, acceleration=20.0 * ONE, effort=10.0 * ONE, effort_rate=np.inf * ONE
    )
    belief = StateBelief(limits, ["joint1", "boom"], base=np.array([1.0, 30.0**2]), first=1)
    before = on_a_base(0.0, 0.0, 0)
    belief.doubt(before, None, 0.0, lambda _: (ONE, ONE))
    doubt = belief.doubt(on_a_base(deflection, rate, 1), before, 0.004, lambda _: (ONE, ONE))
    assert (doubt == "") is believed and (believed or "the deflection of boom jumped" in doubt)
    for tick in range(2, 4):  # said again and again it is believed: something hit the base
        doubt = belief.doubt(on_a_base(deflection, rate, tick), before, 0.004 * tick, lambda _: (ONE, ONE))
    assert (doubt == "") or believed


@pytest.mark.parametrize("thrown", [True, False])
def test_a_base_that_jumps_is_believed_if_the_joints_threw_it(planar_3r, thrown):
    """Drives jerk the joints, as after commands that did not reach them: the momentum goes to the base."""
    n, none = planar_3r.n, np.zeros(planar_3r.n)
    wide = np.full(n, np.inf)
    limits = JointLimits(
        lower=-wide, upper=wide, velocity=4.0 + none, acceleration=20.0 + none, effort=wide, effort_rate=wide
    )
    belief = believe(planar_3r, limits, lockstep=True)
    before = ArmState(0, np.array([0.8, 0.2, 0.3]), none, np.zeros(1), np.zeros(1))
    jump = np.array([0.4, 0.5, -0.4])
    blocks = planar_3r.blocks(before)
    rate = -np.linalg.solve(blocks.H_b, blocks.H_bm @ jump)
    assert abs(rate[0]) > 0.3 and belief.doubt(before, None, 0.0, lambda _: (none, none)) == ""
    velocity = jump if thrown else none
    after = ArmState(1_000_000, before.position + 0.0005 * velocity, velocity, 0.0005 * rate, rate)
    assert (belief.doubt(after, before, 0.001, lambda _: (none, none)) == "") is thrown


def test_a_base_that_swings_is_believed():
    limits = JointLimits(
        lower=-ONE, upper=ONE, velocity=2.0 * ONE, acceleration=20.0 * ONE, effort=10.0 * ONE, effort_rate=np.inf * ONE
    )
    belief = StateBelief(limits, ["joint1", "boom"], base=np.array([1.0, 30.0**2]), first=1)
    before = on_a_base(0.0, 0.0, 0)
    belief.doubt(before, None, 0.0, lambda _: (ONE, ONE))
    for tick in range(1, 500):
        phase = 30.0 * 0.004 * tick
        now = on_a_base(
            0.2 * min(tick / 100.0, 1.0) * np.sin(phase), 6.0 * min(tick / 100.0, 1.0) * np.cos(phase), tick
        )
        assert belief.doubt(now, before, 0.004, lambda _: (ONE, ONE)) == ""
        before = now


@pytest.mark.parametrize(
    ("alone", "said"), [(True, "the readings of joint1 are frozen, those of others are not"), (False, "")]
)
def test_readings_of_one_joint_that_freeze_contradict_what_was_believed_and_those_of_all_may_be_late(alone, said):
    """One encoder hangs: somebody must look at it. All readings: a driver repeats itself, and will go on."""
    two, none = np.ones(2), np.zeros(0)
    limits = JointLimits(
        lower=-two, upper=two, velocity=2.0 * two, acceleration=20.0 * two, effort=10.0 * two, effort_rate=np.inf * two
    )
    belief, before = StateBelief(limits, ["joint1", "joint2"], first=1), None
    for tick in range(100):
        moving = 0.4 + 1e-6 * tick
        velocity = np.array([moving if tick < 20 else 0.4, moving if tick < 20 or alone else 0.4])
        position = 0.4 * 0.004 * np.array([min(tick, 20), tick if alone else min(tick, 20)])
        now = ArmState(tick * 4_000_000, position, velocity, none, none)
        doubt = belief.doubt(now, before, 0.004, lambda _: (0.4 * two, 0.0 * two), coasts=True)
        if doubt:
            break
        before = now
    assert "joint states do not change though the command moves joint1" in doubt and belief.contradiction == said


@pytest.mark.parametrize("quiet", [False, True])
def test_a_fast_joint_that_reads_no_motion_at_once_and_never_changes_is_frozen_unless_it_is_known_to_be_quiet(quiet):
    """The command brakes, so it does not tell the two apart: a joint that always had noise, or one that hit a stop."""
    rng, two, none = np.random.default_rng(0), np.ones(2), np.zeros(0)
    limits = JointLimits(
        lower=-2 * two, upper=2 * two, velocity=two, acceleration=two, effort=two, effort_rate=np.inf * two
    )
    belief, before, said = StateBelief(limits, ["joint1", "joint2"], first=1), None, []
    noise, rest = 0.0 if quiet else 1e-5, 20 if quiet else 0
    for tick in range(80):
        moving, stuck = tick >= rest, tick >= 60
        velocity = np.array([0.9 * moving * (not stuck), 0.5 * moving]) + noise * rng.normal(size=2)
        position = 0.004 * np.array([0.9 * max(min(tick, 60) - rest, 0), 0.5 * max(tick - rest, 0)])
        position += noise * rng.normal(size=2)
        if stuck:
            velocity[0], position[0] = 0.0, 0.9 * 0.004 * (60 - rest)
        now = ArmState(tick * 4_000_000, position, velocity, none, none)
        doubt = belief.doubt(now, before, 0.004, lambda _: (0 * two, 0 * two), coasts=True, free=not moving)
        if not doubt:
            before = now
        said.append(belief.contradiction)
    assert not any(said[:60])
    assert before.stamp == (79 if quiet else 59) * 4_000_000
    assert quiet or said[62] == "the readings of joint1 are frozen, those of others are not"


def test_a_joint_that_becomes_ever_faster_is_believed_beyond_what_one_reading_may_say():
    belief, limit = of_one_joint(-np.inf, np.inf), 2.0
    before = ArmState(0, np.zeros(1), np.zeros(1), np.zeros(0), np.zeros(0))
    belief.doubt(before, None, 0.0, lambda _: (ONE, ONE))
    for tick in range(1, 40):
        velocity = before.velocity + 0.1 * limit
        position = before.position + 0.004 * 0.5 * (before.velocity + velocity)
        now = ArmState(tick * 4_000_000, position, velocity, np.zeros(0), np.zeros(0))
        assert belief.doubt(now, before, 0.004, lambda _: (ONE, ONE), coasts=True) == ""
        before = now
    assert before.velocity[0] > 3.0 * limit


def test_velocities_that_read_too_little_are_torn_from_the_positions_though_two_states_in_a_row_agree():
    """A joint of 2.6 rad/s that slows down: at 4 ms, two states soon differ by less than what is allowed."""
    belief, torn, position, believed = of_one_joint(-np.inf, np.inf), [], 0.0, 0
    before = ArmState(0, np.zeros(1), 2.6 * ONE, np.zeros(0), np.zeros(0))
    belief.doubt(before, None, 0.0, lambda _: (ONE, ONE))
    for tick in range(1, 40):
        speed = max(2.6 - 0.05 * tick, 2.0)
        position += 0.004 * speed
        now = ArmState(tick * 4_000_000, position * ONE, 0.225 * speed * ONE, np.zeros(0), np.zeros(0))
        doubt = belief.doubt(now, before, (now.stamp - before.stamp) * 1e-9, lambda _: (ONE, ONE), coasts=True)
        torn.append(belief.torn)
        if not doubt:
            before, believed = now, believed + 1
    assert believed < 5 and torn[-1] >= 0.1
