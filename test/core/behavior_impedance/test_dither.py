"""Dither: an oscillation of the set-point whose rates are those of its positions."""

from __future__ import annotations

import numpy as np
import pytest
from behaviors import READY, Driven, arm_of, asked, made, sample_at
from scipy.spatial.transform import Rotation

from flexarm_core.behavior_impedance.behavior import BehaviorSpec

AMPLITUDE = [1e-3, 2e-3, 3e-3, 0.01, 0.0, 0.02]


def over_time(behavior, samples, dt, **settings):
    arm = arm_of("panda")
    at = sample_at(arm, READY["panda"], dt=dt, **settings)
    rows = []
    for _ in range(samples):
        out = asked(arm, behavior, at)
        rows.append(np.concatenate((out.offset, out.twist, out.acceleration, out.measure)))
    table = np.array(rows)
    return table[:, :6], table[:, 6:12], table[:, 12:18], table[:, 18]


@pytest.mark.parametrize("frequency", (0.0, 3.0, 40.0))
def test_offset_twist_and_acceleration_are_each_other_s_derivatives(frequency):
    dt = 5e-5
    behavior = made(arm_of("panda"), "dither", amplitude=AMPLITUDE, frequency=frequency, rise_time=0.1)
    x, v, a, _ = over_time(behavior, 3000, dt)
    for value, rate in ((x, v), (v, a)):
        scale = max(np.abs(rate).max(), 1e-12)
        assert np.diff(value, axis=0) / dt == pytest.approx(0.5 * (rate[1:] + rate[:-1]), abs=1e-4 * scale)


def test_it_rises_from_rest_to_its_amplitude_and_no_further():
    behavior = made(arm_of("panda"), "dither", amplitude=AMPLITUDE, frequency=5.0, rise_time=0.5)
    x, v, a, r = over_time(behavior, 2000, 1e-3)
    assert np.abs(x[0]).max() < 1e-8 and np.abs(v[0]).max() < 1e-5 and np.abs(a[0]).max() < 0.05
    assert (np.diff(r) >= 0.0).all() and (r[499:] == 1.0).all()
    assert np.abs(x).max(axis=0) == pytest.approx(AMPLITUDE, rel=1e-3)
    w = 2.0 * np.pi * 5.0
    assert a[600:] == pytest.approx(-(w**2) * x[600:], abs=1e-9)


def test_it_moves_along_the_axes_of_its_frame():
    rpy = [0.4, -0.7, 1.1]
    at = sample_at(arm_of("panda"), READY["panda"])
    for frame, R in (("base", np.eye(3)), ("tool", at.tool_rotation)):
        behavior = made(arm_of("panda"), "dither", amplitude=AMPLITUDE, frame=frame, rpy=rpy)
        x, *_ = over_time(behavior, 735, 1e-3)
        along = np.kron(np.eye(2), R @ Rotation.from_euler("xyz", rpy).as_matrix()) @ AMPLITUDE
        size = x[-1] @ along / (along @ along)
        assert 0.1 < abs(size) <= 1.0 and x[-1] == pytest.approx(size * along, abs=1e-12)


def test_with_other_settings_it_goes_on_in_the_same_phase():
    arm = arm_of("panda")
    old = made(arm, "dither", amplitude=AMPLITUDE, frequency=5.0)
    twin = made(arm, "dither", amplitude=AMPLITUDE, frequency=5.0)
    over_time(old, 777, 1e-3), over_time(twin, 777, 1e-3)
    new = made(arm, "dither", amplitude=(2.0 * np.array(AMPLITUDE)).tolist(), frequency=5.0)
    new.take_over(old)
    assert over_time(new, 50, 1e-3)[0] == pytest.approx(2.0 * over_time(twin, 50, 1e-3)[0], abs=1e-12)


def test_the_commanded_tool_swings_by_the_amplitude_once_the_arm_follows():
    driven = Driven("panda")
    start = driven.controller.output.position
    driven.ask(BehaviorSpec("d", "dither", {"amplitude": [0.0, 2e-3, 0.0, 0.0, 0.0, 0.0], "frequency": 2.0}))
    driven.run(1000)
    swing = driven.run(1000).of("position") - start
    assert swing[:, 1].max() == pytest.approx(2e-3, rel=1e-2) and swing[:, 1].min() == pytest.approx(-2e-3, rel=1e-2)
    assert np.abs(swing[:, [0, 2]]).max() < 1e-8


def test_the_phase_keeps_its_precision_over_a_day():
    behavior = made(arm_of("panda"), "dither", amplitude=AMPLITUDE, frequency=5.0)
    over_time(behavior, 1, 86400.0)
    x, *_ = over_time(behavior, 400, 1e-3)
    assert np.abs(x).max(axis=0) == pytest.approx(AMPLITUDE, rel=1e-3)


def test_in_the_axes_of_a_turning_tool_the_rates_hold_that_turning_too():
    arm, dt, w = arm_of("panda"), 1e-4, np.array([0.5, -0.3, 1.0])
    behavior = made(arm, "dither", amplitude=AMPLITUDE, frequency=3.0, rise_time=0.29, frame="tool")
    R0, rows = sample_at(arm, READY["panda"]).tool_rotation, []
    for k in range(1, 3000):
        rotation = Rotation.from_rotvec(w * k * dt).as_matrix() @ R0
        at = sample_at(arm, READY["panda"], dt=dt, tool_rotation=rotation, tool_twist=np.concatenate((np.zeros(3), w)))
        out = asked(arm, behavior, at)
        rows.append((out.offset.copy(), out.twist.copy(), out.acceleration.copy()))
    x, v, a = (np.array(part) for part in zip(*rows, strict=True))
    for value, rate in ((x, v), (v, a)):
        scale = np.abs(rate).max()
        assert (value[2:] - value[:-2]) / (2.0 * dt) == pytest.approx(rate[1:-1], abs=1e-3 * scale)
