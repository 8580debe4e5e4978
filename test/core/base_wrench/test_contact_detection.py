"""Contacts by thresholds with hysteresis, and where a force acts."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.base_wrench.contact_detection import (
    ContactDetectionConfig,
    ContactSettings,
    ContactState,
    detect_contact,
    nearest_point,
)
from flexarm_core.errors import ConfigError


class Detection:
    """The compiled detection with its memory."""

    def __init__(self, config: ContactDetectionConfig) -> None:
        self.config = config
        self._settings = ContactSettings(config.force, config.torque, config.bandwidth)
        self._state = ContactState(np.zeros(6), np.zeros(1))
        self.wrench = self._state.low

    def update(self, residual, dt: float) -> bool:
        found = detect_contact(self._settings, self._state, residual, dt)
        assert found == (self._state.touching[0] > 0.0)
        return found


def push(force: float, torque: float = 0.0):
    return np.array([0.0, force, 0.0, torque, 0.0, 0.0])


@pytest.mark.parametrize("wrench", [push(25.0), push(0.0, 12.5)])
def test_a_contact_begins_at_its_threshold_and_ends_at_half_of_it(wrench):
    detection = Detection(ContactDetectionConfig(force=20.0, torque=10.0))
    share = {}
    for level in (0.79, 0.81, 0.41, 0.39, 0.79):  # times 1.25 thresholds
        share[level] = detection.update(level * wrench, 1.0)  # so late that the low-pass has settled
        assert np.allclose(detection.wrench, level * wrench, rtol=1e-9)
    assert share == {0.79: False, 0.81: True, 0.41: True, 0.39: False}


def test_the_low_pass_keeps_a_short_knock_from_being_a_contact():
    detection = Detection(ContactDetectionConfig(force=20.0, torque=0.0, bandwidth=50.0))
    times = [k for k in range(200) if detection.update(push(40.0), 0.001)]
    assert abs(times[0] * 0.001 - np.log(2.0) / 50.0) < 0.002  # half of the push has come through
    detection = Detection(detection.config)
    assert not any(detection.update(push(40.0 if k < 10 else 0.0), 0.001) for k in range(100))


def test_a_threshold_of_zero_switches_its_part_off():
    detection = Detection(ContactDetectionConfig(force=0.0, torque=10.0))
    assert not detection.update(push(1e6), 1.0)
    assert detection.update(push(1e6, 11.0), 1.0)
    off = Detection(ContactDetectionConfig(force=0.0, torque=0.0))
    assert not off.update(push(1e6, 1e6), 1.0)


def test_a_force_acts_along_the_line_through_its_nearest_point():
    rng = np.random.default_rng(1)
    for _ in range(50):
        point, force = rng.standard_normal(3), rng.standard_normal(3)
        near = nearest_point(np.concatenate((force, np.cross(point, force))))
        assert np.allclose(np.cross(point - near, force), 0.0, atol=1e-12)
        assert abs(near @ force) < 1e-12
    assert np.isnan(nearest_point(np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0]))).all()


@pytest.mark.parametrize("wrong", [{"force": -1.0}, {"torque": np.nan}, {"bandwidth": 0.0}, {"bandwidth": np.inf}])
def test_settings_without_meaning_are_refused_by_name(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        ContactDetectionConfig(**wrong)
