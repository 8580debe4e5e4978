"""Velocities that are not the rates of their positions are found; those of honest sensors are not, however long."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.hardware_gate.belief import StateBelief
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.velocities.velocity_check import VelocityCheck
from flexarm_core.types import ArmState

NONE, DT = np.zeros(0), 0.004
LIMIT, FASTEST = np.array([2.0, 5.0]), 20.0


def check() -> VelocityCheck:
    many = np.ones(2)
    return VelocityCheck(
        JointLimits(
            lower=-9.0 * many,
            upper=9.0 * many,
            velocity=LIMIT,
            acceleration=FASTEST * many,
            effort=many,
            effort_rate=np.inf * many,
        )
    )


def state(tick: int, position, velocity) -> ArmState:
    return ArmState(round(tick * DT * 1e9), np.array(position), np.array(velocity), NONE, NONE)


def moving(tick: int) -> tuple[np.ndarray, np.ndarray]:
    """Both joints swing, at up to 0.8 of their velocity limits and half their acceleration limits."""
    speed = 0.8 * LIMIT
    w = 0.5 * FASTEST / speed
    return speed / w * (1.0 - np.cos(w * tick * DT)), speed * np.sin(w * tick * DT)


@pytest.mark.parametrize(("scale", "late"), [(1.0, 0.0), (1.0, 0.0015), (0.8, 0.0), (1.2, 0.0)])
@pytest.mark.parametrize("seed", range(3))
def test_an_honest_sensor_is_believed(scale, late, seed):
    """With noise, a wrong scale, a delay as of a filter, and a bias that would add up."""
    rng, checked, before = np.random.default_rng(seed), check(), None
    for tick in range(5000):
        now = state(
            tick,
            moving(tick)[0] + 1e-4 * rng.normal(size=2),
            scale * moving(tick - late / DT)[1] + 0.005 * rng.normal(size=2) + 0.005,
        )
        if before is not None:
            assert checked.on_state(before, now, DT) < 0, tick
            assert checked.velocity(now) is not None and np.abs(checked.velocity(now) - now.velocity).max() < 0.05
        before = now


@pytest.mark.parametrize("period", [0.05, 0.1])
def test_a_sensor_that_reads_zero_is_found_at_a_slow_rate(period):
    checked, found = check(), -1
    for tick in range(1, 8):
        before, now = (state(k, [1.5 * k * period, 0.0], [0.0, 0.0]) for k in (tick - 1, tick))
        found = max(found, checked.on_state(before, now, period * (1.01 if tick % 2 else 0.99)))
    assert found == 0


@pytest.mark.parametrize("period", [0.02, 0.01])
@pytest.mark.parametrize("bandwidth", [20.0, 40.0, 60.0])
def test_a_drive_that_steps_to_each_set_point_is_neither_doubted_nor_disbelieved_at_a_slow_rate(period, bandwidth):
    """A drive ``v = w (c - q)`` is slowest when the next set point comes, which is when its velocity is measured."""
    checked, before, position = check(), None, np.zeros(2)
    limits = JointLimits(
        lower=-9.0 * np.ones(2), upper=9.0 * np.ones(2), velocity=LIMIT, acceleration=FASTEST * np.ones(2),
        effort=np.ones(2), effort_rate=np.inf * np.ones(2),
    )  # fmt: skip
    belief = StateBelief(limits, ["a", "b"], first=1)
    for tick in range(500):
        way = moving(tick * period / DT)[0] - position
        position, velocity = (
            position + way * (1.0 - np.exp(-bandwidth * period)),
            bandwidth * way * np.exp(-bandwidth * period),
        )
        now = ArmState(round(tick * period * 1e9), position, velocity, NONE, NONE)
        assert belief.doubt(now, before, period, lambda _: (LIMIT, LIMIT)) == "", tick
        assert before is None or checked.on_state(before, now, period) < 0, tick
        before = now


@pytest.mark.parametrize("jump", [0.055, 0.075])
def test_stamps_that_jump_ahead_once_are_not_taken_for_a_sensor_that_lies(jump):
    checked, before = check(), None
    for tick in range(500):
        now = state(tick, *moving(tick))
        assert before is None or checked.on_state(before, now, DT + jump * (tick % 100 == 40)) < 0, tick
        before = now


def test_a_bias_of_the_velocity_at_rest_does_not_add_up():
    checked = check()
    for tick in range(1, 10_000):
        assert (
            checked.on_state(state(tick - 1, [1.0, 2.0], [0.006, 0.0]), state(tick, [1.0, 2.0], [0.006, 0.0]), DT) < 0
        )


LIES = {  # and the time within which it shows [s]
    "reads 0": (lambda v, held: 0.0 * v, 0.1),
    "reads half": (lambda v, held: 0.5 * v, 0.2),
    "counts backward": (lambda v, held: -v, 0.06),
    "stands still": (lambda v, held: held, 0.6),  # which is seen only as the joint changes its speed
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("joint", [0, 1])
def test_a_velocity_that_lies_is_found_in_time_and_the_arm_braked_from_the_true_one(lie, joint):
    change, within = LIES[lie]
    for begin in (20, 45, 130):  # ticks: while it becomes faster, and slower
        checked, before, held = check(), None, moving(begin)[1]
        for tick in range(begin + 400):
            position, true = moving(tick)
            told = true.copy()
            if tick >= begin:
                told[joint] = change(true, held)[joint]
            now = state(tick, position, told)
            found = -1 if before is None else checked.on_state(before, now, DT)
            before = now
            if found >= 0:
                break
        assert found == joint and tick >= begin
        assert (tick - begin) * DT <= within
        assert checked.velocity(now)[1 - joint] == true[1 - joint]
        if lie in ("reads 0", "reads half"):
            rate = checked.velocity(now)[joint]  # a mean over some hundredths of a second
            assert abs(rate) > abs(told[joint]) and abs(rate - true[joint]) < 0.03 * FASTEST


@pytest.mark.parametrize("joint", [0, 1])
def test_a_velocity_that_reads_0_shows_soon_on_a_fast_joint_however_far_it_moved_before(joint):
    speed, checked = 0.8 * LIMIT, check()
    for tick in range(1, 400):
        told = speed.copy()
        if tick > 300:
            told[joint] = 0.0
        before = told if tick != 301 else speed
        states = state(tick - 1, speed * (tick - 1) * DT, before), state(tick, speed * tick * DT, told)
        if checked.on_state(*states, DT) >= 0:
            break
    assert 300 < tick <= 300 + 0.03 / DT


def test_absurd_readings_are_no_velocity_to_brake_from():
    """They made a velocity infinite, and the gate raised an error for a state."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        checked, before, absurd = check(), state(0, (0.0, 0.0), (0.1, 0.1)), 10.0 ** rng.uniform(3.0, 308.0)
        for tick in range(1, 12):
            position, velocity = np.where(rng.random(2) < 0.3, absurd * rng.choice((-1.0, 1.0), 2), 0.1)
            now = state(tick, (position, 0.1), (velocity, 0.1))
            with np.errstate(all="ignore"):
                checked.on_state(before, now, DT)
            before = now
        with np.errstate(all="ignore"):
            told = checked.velocity(state(12, (0.1, 0.1), (0.1, 0.1)))
        assert (np.abs(told) <= 20.0 * LIMIT).all()
