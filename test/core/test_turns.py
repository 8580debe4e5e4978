"""Positions of endless joints: the shortest way, and readings that stay continuous whatever an encoder does."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.kernels.shortest_way import TURN, shortest_way
from flexarm_core.turns import TurnCount, Turns
from flexarm_core.types import JointReference

ENDLESS = (True, False, True)


def modulo(position, seam):
    """Positions in [seam - turn, seam)."""
    return position - TURN * (np.floor((position - seam) / TURN) + 1.0)


def test_the_difference_is_the_shortest_way_of_endless_joints_alone():
    rng, turns = np.random.default_rng(1), Turns(ENDLESS)
    for _ in range(200):
        other, way = rng.uniform(-30.0, 30.0, 3), rng.uniform(-3.1, 3.1, 3)
        away = TURN * rng.integers(-5, 6, 3)
        expected = way + np.where(ENDLESS, 0.0, away)
        assert np.allclose(turns.difference(other + way + away, other), expected, atol=1e-12)
        assert np.allclose(turns.near(other + way + away, other), other + expected, atol=1e-12)
        each = [shortest_way(d, e) for d, e in zip(way + away, ENDLESS, strict=True)]
        assert np.allclose(each, expected, atol=1e-12)


def test_what_is_in_its_turn_stays_itself_to_the_last_bit():
    turns, position = Turns(ENDLESS), np.array([3.0, 9.0, -3.0])
    assert turns.near(position, position + 0.1) is position
    reference = JointReference(0, position)
    assert turns.reference_near(reference, position) is reference
    assert turns.reference_near(JointReference(0, np.zeros(2)), position).position.shape == (2,)  # refused later
    assert turns.reference_near(JointReference(0), position).position is None
    count = TurnCount(turns, np.ones(3))
    assert count.measured(0, position) is position and count.measured(1, position) is position
    assert count.reported is None


def test_numbers_beyond_all_measure_are_no_turns():
    turns = Turns((True,))
    for wild in (1e12, -1e200, np.nan, np.inf):
        assert np.array_equal(turns.near(np.array([wild]), np.zeros(1)), [wild], equal_nan=True)
        assert np.array_equal(shortest_way(wild, True), wild, equal_nan=True)


@pytest.mark.parametrize("seed", range(8))
def test_a_reading_modulo_a_turn_becomes_what_an_encoder_that_counts_says(seed):
    rng = np.random.default_rng(seed)
    limit, dt = rng.uniform(0.5, 10.0, 3), rng.uniform(0.001, 0.02)
    seam, position, velocity = rng.uniform(-7.0, 7.0, 3), rng.uniform(-9.0, 9.0, 3), np.zeros(3)
    count = TurnCount(Turns(ENDLESS), limit)
    begun = None
    for tick in range(4000):
        velocity = np.clip(velocity + rng.normal(0.0, 5.0, 3) * limit * np.sqrt(dt), -limit, limit)
        position = position + velocity * dt
        reported = np.where(ENDLESS, modulo(position, seam), position)
        found = count.measured(tick * round(dt * 1e9), reported)
        begun = found - position if begun is None else begun
        assert np.allclose(found - position, begun, atol=1e-9)
        assert np.allclose(found + (0.0 if count.reported is None else count.reported), reported, atol=1e-9)
    assert np.ptp(position) > 0.0


@pytest.mark.parametrize("seed", range(40))
def test_wrong_readings_do_not_change_the_turn_of_those_that_follow(seed):
    """Garbage, or zeros of a broadcaster that begins: a count that believed each of them would slip by a turn."""
    rng = np.random.default_rng(seed)
    count, position = TurnCount(Turns((True,)), np.array([2.0])), rng.uniform(-9.0, 9.0, 1)
    begun = count.measured(0, position) - position
    for tick in range(1, 300):
        position = position + 0.002
        if tick % 60 < rng.integers(0, 12):
            count.measured(tick * 2_000_000, rng.uniform(-10.0, 10.0, 1))
        else:
            assert np.allclose(count.measured(tick * 2_000_000, position) - position, begun, atol=1e-9)


def test_after_a_long_silence_the_nearest_turn_counts_and_the_encoders_own_is_known():
    count = TurnCount(Turns((True,)), np.array([2.0]))
    count.measured(0, np.array([0.5]))
    found = count.measured(60_000_000_000, np.array([0.7 + 3.0 * TURN]))  # turned by hand meanwhile
    assert np.allclose(found, 0.7)
    assert np.allclose(count.reported, 3.0 * TURN)


def test_recorded_positions_lose_their_jumps():
    true = np.linspace([0.0, 0.0, 5.0], [20.0, 1.0, -9.0], 400)
    kept = Turns(ENDLESS).continuous(np.where(ENDLESS, modulo(true, np.pi), true))
    assert np.allclose(np.diff(kept, axis=0), np.diff(true, axis=0), atol=1e-9)
