"""RedundancyStage: the lead's path goes before the stream of tool references, and the joints go on from it smoothly."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.solver import RedundancySolver, RedundancyStatus
from flexarm_core.pipeline.redundancy_stage import FOLLOWING, HOLDING, STREAMING, PathSample, RedundancyStage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.types import CartesianReference, FlexibleSample

START = np.radians([60.0, -60.0, -60.0])
PERIOD = 1_000_000  # [ns]
AXES = np.array([True, True, False, False, False, True])
ACCELERATION = 20.0
STATUS = RedundancyStatus(np.zeros(3), np.zeros(3))


class Steady:
    """A lead whose path moves every joint with the same velocity, from tick ``begin`` up to ``end``."""

    def __init__(self, begin: int, end: int, velocity: float = 1.0) -> None:
        self.begin, self.end, self.velocity = begin * PERIOD, end * PERIOD, velocity
        self.activity, self.rests, self.reasons = HOLDING, [], []

    def sample(self, stamp, measured):
        if not self.begin <= stamp <= self.end:
            return None
        self.activity = HOLDING if stamp == self.end else FOLLOWING
        way = (stamp - self.begin) * 1e-9 * self.velocity
        still = np.zeros(3)
        return PathSample(START + way, still + self.velocity, still, STATUS, 0.5, FOLLOWING)

    def rest(self, stamp, position):
        self.rests.append((stamp, position))

    def interrupt(self, reason):
        self.activity, self.end = HOLDING, -1
        self.reasons.append(reason)


@pytest.fixture
def stage(planar_3r):
    """The stage of the planar arm."""
    chain = build_chain(planar_3r.description, planar_3r.tool_frame)
    limits = MotionLimits(chain.lower, chain.upper, chain.velocity_limit, np.full(3, ACCELERATION))
    return RedundancyStage(planar_3r, RedundancySolver(chain, limits, RedundancyConfig()), streamed=False)


def run(stage, tick, tool=None, position=START, velocity=None):
    """Process one sample; the reference of the joints, and the tick."""
    velocity = np.zeros(3) if velocity is None else velocity
    sample = FlexibleSample(tick * PERIOD, position, velocity, np.full(3, np.nan))
    done = Tick(sample, 1, tool=tool)
    stage.update(done)
    return done.given[stage.name], done


def pose(stage, tick, joints=START):
    position, rotation = stage.solver.chain.pose(joints)
    return CartesianReference(tick * PERIOD, "", position, rotation, np.zeros(6), np.zeros(6), AXES)


def test_a_path_goes_before_the_stream_which_is_refused_with_the_reason(stage):
    stage.lead = Steady(3, 20)
    run(stage, 1)
    run(stage, 2)
    assert stage.activity == HOLDING and stage.hindrance == ""
    for tick in range(3, 20):
        joints, done = run(stage, tick, None if tick == 3 else pose(stage, tick))
        assert np.array_equal(joints.position, START + (tick - 3) * 1e-3) and (joints.velocity == 1.0).all()
        assert (stage.activity, stage.fraction, stage.status) == (FOLLOWING, 0.5, STATUS)
        if tick > 3:
            assert done.remarks[stage.name] == f"Cartesian references are not followed while {FOLLOWING}"
    assert not stage.streams(19 * PERIOD, 19 * PERIOD)
    run(stage, 20)
    held, _ = run(stage, 21)
    assert np.array_equal(held.position, START + 0.017) and not held.velocity.any()
    rests = stage.lead.rests
    assert [stamp // PERIOD for stamp, _ in rests] == [1, 2, 20, 21]
    assert np.array_equal(rests[1][1], START) and np.array_equal(rests[2][1], START + 0.017)


def test_a_path_that_is_given_up_is_left_by_braking_from_its_last_sample(stage):
    stage.lead = Steady(2, 100, velocity=0.1)
    for tick in range(1, 12):
        last, _ = run(stage, tick)
    stage.lead.interrupt("the client wants it")
    braked, _ = run(stage, 12)
    assert np.allclose(braked.velocity, 0.1 - ACCELERATION * 1e-3, atol=1e-6)
    assert np.allclose(braked.position - last.position, braked.velocity * 1e-3, atol=1e-12)
    assert stage.lead.rests[-1][1] is None  # no path begins while the joints move
    for tick in range(13, 20):
        held, _ = run(stage, tick)
    assert not held.velocity.any() and np.array_equal(stage.lead.rests[-1][1], held.position)


def test_a_gap_between_states_ends_the_path_and_the_motion_begins_where_the_arm_is(stage):
    stage.lead = Steady(2, 1000)
    for tick in range(1, 12):
        run(stage, tick)
    joints, done = run(stage, 111, position=START - 0.3)
    assert np.array_equal(joints.position, START - 0.3) and stage.activity == HOLDING
    assert stage.lead.reasons == ["no joint state for 0.100 s"]
    assert done.remarks[stage.name] == "no joint state for 0.100 s: set out anew from where the arm is"


def test_a_stream_is_waited_for_until_its_newest_reference_is_too_old(stage):
    stage.lead = Steady(1000, 1001)
    assert stage.hindrance == "no joint state has come yet" and not stage.streams(PERIOD)
    run(stage, 1)
    assert stage.streams(2 * PERIOD, PERIOD) and not stage.streams(2 * PERIOD)  # announced by its first reference
    run(stage, 2, pose(stage, 2))
    assert stage.activity == STREAMING and stage.hindrance == "a stream of Cartesian references is followed"
    assert stage.streams(82 * PERIOD) and not stage.streams(83 * PERIOD)
    assert not stage.streams(3 * PERIOD, 3000 * PERIOD)  # of another time
    run(stage, 83)
    assert stage.hindrance == ""


def test_a_stream_that_is_expected_is_waited_for_once(planar_3r, stage):
    waits = RedundancyStage(planar_3r, stage.solver, streamed=True)
    assert waits.streams(PERIOD) and waits.streams(81 * PERIOD) and not waits.streams(82 * PERIOD)
    run(waits, 82)
    assert not waits.streams(83 * PERIOD)


def test_an_unusable_reference_is_answered_by_braking_with_the_reason(stage):
    moving = np.array([0.5, -0.5, 0.5])
    run(stage, 1, velocity=moving)
    bad = pose(stage, 2)
    bad.position[0] = np.nan
    joints, done = run(stage, 2, bad)
    assert "position [nan" in done.refused[stage.name] and stage.activity == HOLDING and stage.status is None
    assert np.allclose(np.abs(joints.velocity), 0.5 - ACCELERATION * 1e-3, atol=1e-6)
