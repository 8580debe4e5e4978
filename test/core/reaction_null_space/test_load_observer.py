"""The load observer: what it finds, how much at most, and that its loop is stable as fast as is said."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.compiled import kernel
from flexarm_core.reaction_null_space.vibration import load_observer
from flexarm_core.reaction_null_space.vibration.law_memory import Observed
from flexarm_core.reaction_null_space.vibration.load_observer import BEGINS, fastest
from flexarm_core.reaction_null_space.vibration.sampling import Sampling

NO_BOUND = np.full(2, np.inf)


@kernel
def find(load, measured, measured_velocity, bandwidth, most):
    load_observer.find(load, measured, measured_velocity, bandwidth, most)


@kernel
def begin_gently(load, bandwidth, dt):
    load_observer.begin_gently(load, bandwidth, dt)


@kernel
def advance(load, going, dt):
    load_observer.advance(load, going, dt)


class LoadObserver:
    """The compiled observer of some coordinates, with its memory."""

    def __init__(self, count: int, period: float, gently: bool = False) -> None:
        self._load, self._period, self._gently = Observed(np.zeros(1), *np.zeros((3, count))), period, gently

    @property
    def lacking(self) -> np.ndarray:
        return self._load.lacking.copy()

    def find(self, position, velocity, bandwidth, most) -> np.ndarray:
        find(self._load, position, velocity, bandwidth, most)
        if self._gently:
            begin_gently(self._load, bandwidth, self._period)
        return self.lacking

    def advance(self, going) -> None:
        advance(self._load, going, self._period)


def move(bandwidth: float, load: np.ndarray, period: float, late: int, gain: float, most=NO_BOUND, damping=1.0):
    """Two joints that are told to brake, and what was found, under a load [rad/s^2] for 4 s: velocities, found."""
    observer, q, v = LoadObserver(2, period), np.zeros(2), np.zeros(2)
    waiting, velocities = [np.zeros(2)] * late, []
    for _ in range(round(4.0 / period)):
        found = observer.find(q, v, bandwidth, most)
        told = -damping * v
        observer.advance(told)
        waiting.append(told + found)
        real = gain * waiting.pop(0) - load
        q, v = q + (v + 0.5 * real * period) * period, v + real * period
        velocities.append(v)
    return np.array(velocities), observer.lacking


def test_a_constant_load_is_found_and_the_joints_rest():
    load = np.array([3.0, -8.0])
    velocities, found = move(40.0, load, 0.002, 0, 1.0)
    assert found == pytest.approx(load, rel=1e-3)
    assert np.abs(velocities[-1]).max() < 1e-2 and np.abs(velocities).max() < 0.2


def test_no_more_is_found_than_is_allowed_and_it_is_left_as_soon_as_the_load_is():
    most = np.array([2.0, 20.0])
    velocities, found = move(40.0, np.array([3.0, -8.0]), 0.002, 0, 1.0, most)
    assert found == pytest.approx([2.0, -8.0], rel=1e-2)
    assert velocities[-1, 0] < -0.5  # the rest of the load moves the first joint
    observer, still = LoadObserver(2, 0.002), np.zeros(2)
    observer.find(still, still, 40.0, most)
    for _ in range(500):  # held fast, told to go
        observer.find(still, still, 40.0, most)
        observer.advance(np.array([50.0, 0.0]))
    assert observer.lacking[0] == pytest.approx(2.0)
    assert abs(observer.find(still, np.array([0.2, 0.0]), 40.0, most)[0]) <= 2.0


@pytest.mark.parametrize("period, late", [(0.001, 0), (0.002, 2), (0.004, 1), (0.01, 0), (0.01, 2)])
@pytest.mark.parametrize("gain", [0.7, 1.0, 1.4])
def test_the_fastest_observer_is_stable_where_the_joints_are_lighter_or_heavier_than_told(period, late, gain):
    bandwidth = fastest(Sampling(period, late * period))
    velocities, _ = move(bandwidth, np.array([1.0, 1.0]), period, late, gain)
    tail = len(velocities) // 4
    assert np.abs(velocities[-tail:]).max() < 0.2 * np.abs(velocities[:tail]).max()


@pytest.mark.parametrize("period", [0.002, 0.01])
def test_one_that_is_much_faster_is_not(period):
    bandwidth = 6.0 * fastest(Sampling(period, 2.0 * period))
    velocities, _ = move(bandwidth, np.array([1.0, 1.0]), period, 2, 1.4)
    assert not np.abs(velocities[-10:]).max() < 1.0


@pytest.mark.parametrize("period", [0.001, 0.004, 0.0125])
def test_a_wrong_first_velocity_moves_nothing_where_the_estimate_begins_gently(period):
    """A coordinate at rest, whose first velocity is read as 1; what is compensated moves it."""
    moved = {}
    for gently in (False, True):
        observer, q, v = LoadObserver(1, period, gently), np.zeros(1), np.zeros(1)
        for tick in range(round(0.5 / period)):
            found = observer.find(q, v + (tick == 0), 40.0, np.full(1, np.inf))
            observer.advance(np.zeros(1))
            q, v = q + (v + 0.5 * found * period) * period, v + found * period
        moved[gently] = abs(v[0])
    assert moved[False] == pytest.approx(1.0, abs=1e-3) and moved[True] < 0.07


def test_an_estimate_that_begins_gently_finds_a_constant_load_too():
    observer, q, v, load = LoadObserver(2, 0.002, gently=True), np.zeros(2), np.zeros(2), np.array([3.0, -8.0])
    for _ in range(500):
        found = observer.find(q, v, 40.0, NO_BOUND)
        observer.advance(np.zeros(2))
        real = found - load
        q, v = q + (v + 0.5 * real * 0.002) * 0.002, v + real * 0.002
    assert found == pytest.approx(load, rel=1e-3)
    assert np.abs(v).max() < BEGINS / (2.0 * 40.0) * 8.0
