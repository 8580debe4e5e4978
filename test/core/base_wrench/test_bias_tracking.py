"""A drift is learned at rest, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.base_wrench.bias_tracking import BiasSettings, BiasState, BiasTrackingConfig, track_bias
from flexarm_core.errors import ConfigError

DT = 0.002
DRIFT = np.array([0.5, -0.3, 0.8, 0.02, 0.05, -0.04])
CONFIG = BiasTrackingConfig(time_constant=2.0, rest_time=1.0)
STILL = np.zeros(3)


class Tracking:
    """The compiled tracking with its memory."""

    def __init__(self, config: BiasTrackingConfig) -> None:
        c = config
        self._settings = BiasSettings(c.time_constant, c.rest_velocity, c.rest_time, c.max_force, c.max_torque)
        self._state = BiasState(np.zeros(1), np.zeros(6))
        self.drift = self._state.drift

    def interrupt(self) -> None:
        self._state.rested[0] = 0.0

    def update(self, residual, velocity, dt: float) -> bool:
        return track_bias(self._settings, self._state, residual, velocity, dt)


def run(tracking: Tracking, drift, velocity, duration: float) -> int:
    """Number of samples that were learned from."""
    return sum(tracking.update(drift - tracking.drift, velocity, DT) for _ in range(round(duration / DT)))


def test_a_drift_is_learned_at_rest_with_its_time_constant():
    tracking = Tracking(CONFIG)
    assert run(tracking, DRIFT, STILL, 0.99) == 0  # first it must have been at rest
    assert not tracking.drift.any()
    run(tracking, DRIFT, STILL, 0.01 + 2.0)
    assert np.allclose(tracking.drift, (1.0 - np.exp(-1.0)) * DRIFT, rtol=2e-3)
    run(tracking, DRIFT, STILL, 20.0)
    assert np.allclose(tracking.drift, DRIFT, rtol=1e-3)


def test_nothing_is_learned_while_a_joint_moves_and_rest_begins_anew_after_it():
    tracking = Tracking(CONFIG)
    run(tracking, DRIFT, STILL, 0.9)
    assert run(tracking, DRIFT, np.array([0.0, 0.0, -0.006]), 5.0) == 0
    assert run(tracking, DRIFT, STILL, 0.98) == 0
    assert run(tracking, DRIFT, STILL, 0.1) > 0


def test_an_interruption_makes_it_wait_for_a_new_rest():
    tracking = Tracking(CONFIG)
    run(tracking, DRIFT, STILL, 2.0)
    learned = tracking.drift.copy()
    tracking.interrupt()
    assert run(tracking, DRIFT, STILL, 0.98) == 0
    assert np.array_equal(tracking.drift, learned)


@pytest.mark.parametrize("load", [np.array([0.0, 0.0, -2.1, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, 0.0, 0.51, 0.0])])
def test_more_than_the_largest_drift_is_a_load(load):
    tracking = Tracking(CONFIG)
    assert run(tracking, load, STILL, 10.0) == 0
    assert not tracking.drift.any()


def test_the_drift_never_passes_its_largest_however_often_a_load_grows():
    tracking = Tracking(BiasTrackingConfig(time_constant=0.1, rest_time=0.0))
    for force in np.linspace(0.0, 10.0, 500):
        run(tracking, np.array([force, 0.0, 0.0, 0.0, 0.0, 0.0]), STILL, 0.05)
    assert np.linalg.norm(tracking.drift[:3]) <= 2.0


def test_without_a_time_constant_nothing_is_ever_learned():
    tracking = Tracking(BiasTrackingConfig(rest_time=0.0))
    assert run(tracking, DRIFT, STILL, 5.0) == 0


@pytest.mark.parametrize("name", ["time_constant", "rest_velocity", "rest_time", "max_force", "max_torque"])
def test_settings_without_meaning_are_refused_by_name(name):
    for value in (-1.0, np.nan, np.inf):
        with pytest.raises(ConfigError, match=name):
            BiasTrackingConfig(**{name: value})
