"""The torque loop is feed-forward plus integral action, and friction disappears with its bandwidth."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from flexarm_core.base_wrench.torque_loop import TorqueLoop, TorqueLoopConfig
from flexarm_core.errors import ConfigError

DT = 0.002
WIDE = np.full(1, np.inf)
CONFIG = TorqueLoopConfig(torque_bandwidth=50.0, fade_time=0.0)


def started(limit, config: TorqueLoopConfig) -> TorqueLoop:
    """A loop that is fully in and has seen no friction yet."""
    loop = TorqueLoop(limit, config)
    for _ in range(1000):
        loop.update(np.zeros(len(limit)), DT)
    assert loop.weight == 1.0
    return loop


def test_the_correction_is_the_integral_of_desired_less_estimated_torque():
    """tau_motor = tau_des + w int (tau_des - tau_est) dt, against friction that varies."""
    w, dt = 50.0, 1e-4

    def desired(t: float) -> float:
        return 3.0 * math.sin(4.0 * t) + 1.0

    def reached(t: float, motor: float) -> float:
        return 0.8 * motor - 2.0 * math.tanh(3.0 * motor) * (1.0 + 0.3 * math.sin(9.0 * t))

    def integral(t, x):
        tau = desired(t)
        return [w * (tau - reached(t, tau + x[0]))]

    times = np.arange(0.0, 2.0, dt)
    expected = solve_ivp(integral, (0.0, 2.0), [0.0], t_eval=times, rtol=1e-9, atol=1e-9).y[0]
    loop, correction, found = started(WIDE, replace(CONFIG, torque_bandwidth=w)), 0.0, []
    for t in times:
        motor = desired(t) + correction
        found.append(correction)
        correction = float(loop.update(np.array([motor - reached(t, motor)]), dt)[0])
    assert np.abs(found).max() > 2.0
    assert np.abs(found - expected).max() < 0.01 * np.abs(expected).max()


@pytest.mark.parametrize("dt", [0.0005, 0.002, 0.01])
def test_a_step_of_friction_disappears_with_the_bandwidth_at_any_sample_time(dt):
    loop = started(WIDE, CONFIG)
    for k in range(1, 100):
        left = 8.0 - loop.update(np.array([8.0]), dt)[0]
        assert abs(left - 8.0 * math.exp(-50.0 * k * dt)) < 1e-9


def test_a_joint_that_sticks_is_pushed_by_the_integral_of_what_is_desired():
    """Stuck, nothing reaches the link: friction takes the motor's whole effort."""
    loop, correction = started(WIDE, CONFIG), 0.0
    for k in range(1, 501):
        correction = float(loop.update(np.array([0.3 + correction]), 1e-4)[0])
        assert abs(correction - 0.3 * 50.0 * 1e-4 * k) < 0.005 * 0.3 * 50.0 * 1e-4 * k


def test_a_motor_at_its_limit_winds_nothing_up():
    """An integral of the torque error would grow by w times the missing torque; this one knows what really acted."""
    loop, friction, limit = started(np.array([20.0]), CONFIG), 5.0, 20.0
    correction, wound = 0.0, 0.0
    for _ in range(1000):
        motor = min(30.0 + correction, limit)
        reaches = motor - friction
        correction = float(loop.update(np.array([motor - reaches]), DT)[0])
        wound += 50.0 * (30.0 - reaches) * DT
    assert abs(correction - friction) < 1e-9
    assert wound > 1000.0
    for _ in range(5):  # released: what is desired arrives at once
        motor = min(10.0 + correction, limit)
        assert abs(motor - friction - 10.0) < 1e-9
        correction = float(loop.update(np.array([friction]), DT)[0])


@pytest.mark.parametrize("how", ["disabled", "stale"])
def test_the_loop_comes_and_goes_without_a_jump_beyond_its_fade(how):
    config = TorqueLoopConfig(torque_bandwidth=200.0, fade_time=0.2)
    loop, friction, found = TorqueLoop(WIDE, config), np.array([10.0]), []
    for k in range(1000):
        on = (k // 70) % 2 == 0 or k > 800  # off before it is fully in, and on before it is fully out
        loop.config = config if on or how == "stale" else replace(config, torque_loop=False)
        found.append(loop.update(friction if on or how == "disabled" else None, DT)[0])
    steps = np.diff([0.0, *found])
    assert np.abs(steps).max() <= 10.0 * DT / 0.2 + 1e-9
    assert max(found) == pytest.approx(10.0)
    assert found[139] < 0.1 * max(found[:140])


def test_what_was_learned_is_forgotten_once_the_loop_is_out():
    loop = started(WIDE, TorqueLoopConfig(torque_bandwidth=1.0, fade_time=0.01))
    for _ in range(5000):
        loop.update(np.array([10.0]), DT)
    for _ in range(6):
        out = loop.update(None, DT)
    assert out[0] == 0.0
    assert abs(loop.update(np.array([-4.0]), DT)[0] + 4.0 * 0.2) < 1e-9  # begins with what is measured now


def test_joints_of_which_nothing_is_known_get_nothing():
    loop = started(np.full(3, 100.0), CONFIG)
    for _ in range(200):
        correction = loop.update(np.array([4.0, np.nan, -3.0]), DT)
    assert np.allclose(correction, [4.0, 0.0, -3.0], atol=1e-6)
    for _ in range(200):  # one that is lost fades with the bandwidth
        correction = loop.update(np.array([np.nan, np.nan, -3.0]), DT)
    assert np.allclose(correction, [0.0, 0.0, -3.0], atol=1e-6)


def test_the_correction_stays_below_its_share_of_the_effort_limit():
    loop = started(np.array([10.0, np.inf]), replace(CONFIG, max_friction=0.5))
    for _ in range(1000):
        correction = loop.update(np.array([-100.0, -100.0]), DT)
    assert np.allclose(correction, [-5.0, -100.0])
    none = started(np.array([10.0, np.inf]), replace(CONFIG, max_friction=0.0))
    assert np.array_equal(none.update(np.array([3.0, 3.0]), DT), [0.0, 0.0])


def test_the_bandwidth_follows_from_all_that_delays_the_loop():
    assert TorqueLoopConfig(torque_bandwidth=70.0).resolved_bandwidth() == 70.0
    assert TorqueLoopConfig(period=0.002).resolved_bandwidth() == pytest.approx(1.0 / 0.006)
    assert TorqueLoopConfig(period=0.002, wrench_delay=0.004).resolved_bandwidth() == pytest.approx(1.0 / 0.012)
    slow = TorqueLoopConfig(period=0.002, wrench_delay=0.004, sensor_bandwidth=250.0)
    assert slow.resolved_bandwidth() == pytest.approx(1.0 / 0.024)


@pytest.mark.parametrize("sensor_bandwidth", [0.0, 60.0, 100.0, 200.0])
@pytest.mark.parametrize("delay", [0, 2, 10])
def test_by_its_own_bandwidth_the_loop_does_not_overshoot(delay, sensor_bandwidth):
    """Friction of 1 sets in: a first-order sensor and a delay lie between what the links get and the loop."""
    loop = TorqueLoop(
        WIDE, TorqueLoopConfig(fade_time=0.0, period=DT, wrench_delay=delay * DT, sensor_bandwidth=sensor_bandwidth)
    )
    felt, efforts, readings, largest = 0.0, [0.0] * (delay + 1), [0.0] * (delay + 1), 0.0
    share = 1.0 - math.exp(-sensor_bandwidth * DT) if sensor_bandwidth else 1.0
    loop.update(np.zeros(1), DT)
    for _ in range(2000):
        felt += share * ((efforts[-1] - 1.0) - felt)
        readings.append(felt)
        correction = loop.update(np.array([efforts[-1 - delay] - readings[-1 - delay]]), DT)[0]
        efforts.append(correction)
        largest = max(largest, correction)
    assert correction == pytest.approx(1.0, abs=1e-6) and largest < 1.001


@pytest.mark.parametrize(
    "wrong",
    [
        {"torque_bandwidth": -1.0},
        {"sensor_bandwidth": np.inf},
        {"wrench_delay": np.nan},
        {"period": 0.0},
        {"fade_time": -1.0},
    ],
)
def test_settings_without_meaning_are_refused_by_name(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        TorqueLoopConfig(**wrong)


def dry(v: float) -> float:
    """Coulomb friction of 15 N*m, 20 N*m near rest."""
    return (15.0 + 5.0 * math.exp(-((v / 0.05) ** 2))) * math.tanh(v / 1e-3)


def slow_swing(delay: float, told: bool, enabled: bool = True):
    """Tracking error [rad] and correction [N*m] of one joint of 1 kg*m^2 on a slow swing, position loop of 8 Hz."""
    config = TorqueLoopConfig(torque_loop=enabled, wrench_delay=delay if told else 0.0, period=DT)
    loop, sub = TorqueLoop(np.array([200.0]), config), 40
    h, lag = DT / sub, round(delay / DT * sub)
    q = v = motor = 0.0
    past: list[tuple[float, float]] = []  # motor effort and torque that reached the link, at each substep
    errors, corrections = [], []
    for k in range(1500):
        t = k * DT
        reference, rate, growth = 0.1 * math.sin(t), 0.1 * math.cos(t), -0.1 * math.sin(t)
        correction = 0.0
        if past:
            reached = past[max(0, len(past) - 1 - lag)][1]
            then = past[max(0, len(past) - 1 - lag)][0] if told else past[-1][0]
            correction = float(loop.update(np.array([then - reached]), DT)[0])
        motor = growth + 2500.0 * (reference - q) + 100.0 * (rate - v) + correction
        errors.append(reference - q)
        corrections.append(correction)
        for _ in range(sub):
            torque = motor - dry(v)
            past.append((motor, torque))
            v += h * torque
            q += h * v
    return np.array(errors), np.array(corrections)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("delay", [0.0, 0.001, 0.002, 0.003, 0.004])
def test_the_sampled_loop_is_stable_with_every_delay_of_the_wrench(delay, told):
    without, _ = slow_swing(0.0, True, enabled=False)
    errors, corrections = slow_swing(delay, told)
    late = slice(1000, None)  # one swing has one reversal in there
    assert np.sqrt(np.mean(errors[late] ** 2)) < 0.15 * np.sqrt(np.mean(without[late] ** 2))
    calm = slice(600, 700)  # between reversals: a loop that rings would do it here
    assert np.ptp(corrections[calm] - np.linspace(corrections[600], corrections[699], 100)) < 0.5
