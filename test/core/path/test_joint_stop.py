"""A stop of joints: no kink in the velocity, at rest at its end, within the acceleration that it is given."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.errors import ConfigError
from flexarm_core.path.joint_stop import JointStop
from flexarm_core.types import JointReference

BEGUN = JointReference(5_000_000_000, np.array([0.1, -1.0]), np.array([1.5, -0.2]), np.array([0.0, 3.0]))
LIMIT = np.array([2.0, 8.0])


def samples(stop: JointStop, step: int = 100_000):
    stamps = range(BEGUN.stamp, BEGUN.stamp + round(stop.duration * 1e9) + 10 * step, step)
    found = [stop.update(stamp) for stamp in stamps]
    return tuple(np.array([getattr(r, name) for r in found]) for name in ("position", "velocity", "acceleration"))


def test_a_stop_sets_out_from_the_reference_and_ends_at_rest():
    stop = JointStop(BEGUN, LIMIT)
    begin, last = stop.update(BEGUN.stamp), BEGUN.stamp + round(stop.duration * 1e9)
    for name in ("position", "velocity", "acceleration"):
        assert np.allclose(getattr(begin, name), getattr(BEGUN, name), rtol=0.0, atol=1e-14)
    end = stop.update(last)
    assert np.allclose(end.velocity, 0.0, atol=1e-9) and np.allclose(end.acceleration, 0.0, atol=1e-6)
    assert not stop.done(last - 1_000_000) and stop.done(last + 1)
    later = stop.update(last + 1_000_000_000)
    assert np.allclose(later.position, end.position, atol=1e-9) and not later.velocity.any()
    assert not later.acceleration.any()


def test_rates_are_the_derivatives_of_what_they_belong_to():
    position, velocity, acceleration = samples(JointStop(BEGUN, LIMIT))
    for value, rate in ((position, velocity), (velocity, acceleration)):
        assert np.allclose(np.diff(value, axis=0) / 1e-4, 0.5 * (rate[1:] + rate[:-1]), rtol=0.0, atol=1e-5)


def test_joints_that_run_evenly_are_braked_with_no_more_than_is_allowed():
    even = JointReference(BEGUN.stamp, BEGUN.position, BEGUN.velocity, np.zeros(2))
    stop = JointStop(even, LIMIT)
    acceleration = np.abs(samples(stop)[2])
    assert acceleration[:, 0].max() == pytest.approx(LIMIT[0], rel=1e-6)  # this one decides
    assert acceleration[:, 1].max() < LIMIT[1]


def test_a_reference_that_lacks_something_and_a_senseless_acceleration_are_refused():
    with pytest.raises(ConfigError, match="begins with position, velocity and acceleration"):
        JointStop(JointReference(0, np.zeros(2), np.zeros(2)), LIMIT)
    with pytest.raises(ConfigError, match="must be > 0 for every joint"):
        JointStop(BEGUN, np.array([1.0, 0.0]))
