"""What trips the gate: each by a motion that shows it, and named so that one can act on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.supervisor import Supervisor, SupervisorConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState, JointReference

POSITION = np.radians([60.0, -60.0, -60.0])
EFFORT = np.array([100.0, 60.0, 20.0])


@pytest.fixture
def arm(planar_3r_text) -> ArmModel:
    return ArmModel(planar_3r_text, gravity=(0.0, 0.0, 0.0))


def supervisor(arm: ArmModel, **config) -> Supervisor:
    one = np.ones(3)
    limits = JointLimits(
        lower=-3.0 * one, upper=3.0 * one, velocity=2.0 * one, acceleration=20.0 * one, effort=EFFORT,
        effort_rate=np.inf * one, friction=10.0 * one,
    )  # fmt: skip
    return Supervisor(arm, limits, SupervisorConfig(**config))


def state(deflection: float = 0.0, rate: float = 0.0) -> ArmState:
    return ArmState(0, POSITION, np.zeros(3), np.array([deflection]), np.array([rate]))


def reference(error: float, friction: float | None) -> JointReference:
    claimed = None if friction is None else np.array([0.0, friction, 0.0])
    return JointReference(0, POSITION + [0.0, error, 0.0], effort=np.zeros(3), friction=claimed)


@pytest.mark.parametrize(("friction", "said"), [(None, ""), (0.0, ""), (7.5, "7.5 of its effort")])
def test_a_joint_far_from_its_reference_is_named_with_the_friction_that_drives_it(arm, friction, said):
    watch = supervisor(arm)
    assert watch.on_command(state(), np.zeros(3), reference(0.05, friction), 0.001) == ""
    text = watch.on_command(state(), np.zeros(3), reference(-2.5, friction), 0.001)
    assert text.startswith("joint2 is -2.5 away from its reference") and text.endswith(said or "reference")


def test_an_effort_that_stays_at_its_limit_trips_after_the_time_for_it_and_not_before(arm):
    watch = supervisor(arm, max_saturation_time=0.2)
    times = [i * 0.01 for i in range(60)]
    told = [watch.on_command(state(), EFFORT * [0.0, 1.0, 0.0], None, 0.01) for _ in times]
    first = next(time for time, text in zip(times, told, strict=True) if text)
    assert 0.18 <= first <= 0.3 and told[-1] == "the effort of joint2 stays at its limit"


def test_an_effort_that_is_often_at_its_limit_and_lets_go_does_not_trip(arm):
    watch = supervisor(arm, max_saturation_time=0.5)
    for i in range(2000):
        at_limit = i % 10 < 3
        assert watch.on_command(state(), EFFORT * (1.0 if at_limit else 0.5), None, 0.01) == ""


def test_a_base_beyond_its_limits_is_named(arm):
    watch = supervisor(arm)
    assert watch.on_state(state(0.4)) == ""
    assert watch.on_state(state(-0.51)) == "deflection -0.51 of base_x is beyond its limit"
    assert "deflection rate 11 of base_x" in watch.on_state(state(0.0, 11.0))


def test_a_base_that_gains_energy_from_efforts_at_their_limits_trips(arm):
    def run(growth: float, effort: float) -> str:
        watch = supervisor(arm, max_saturation_time=1e6)
        for i in range(400):
            swing = 0.02 * np.exp(growth * i * 0.01)
            phase = 20.0 * i * 0.01
            seen = replace(state(), deflection=np.array([swing * np.cos(phase)]))
            text = watch.on_command(seen, effort * EFFORT, None, 0.01)
            if text:
                return text
        return ""

    assert "the base gains energy" in run(1.0, 1.0)
    assert run(1.0, 0.5) == run(-1.0, 1.0) == ""


def test_stops_in_a_short_time_trip_and_those_of_a_day_do_not(arm):
    often, seldom = supervisor(arm, max_stops=3, stop_window=10.0), supervisor(arm, max_stops=3, stop_window=10.0)
    assert [bool(often.on_stop(time)) for time in (1.0, 2.0, 3.0)] == [False, False, True]
    assert not any(seldom.on_stop(time) for time in (1.0, 100.0, 200.0, 300.0))
