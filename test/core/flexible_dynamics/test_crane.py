"""A crane of 20 m with 200 kg at its tip, on a light hub: servos hold the weight; gains that do not are refused."""

from __future__ import annotations

import numpy as np
import pytest
from crane import crane_urdf
from flexible_loop import run_flexible

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.control.gain_check import LoopConditions
from flexarm_core.flexible_dynamics.control.sampled_loop import richer_model
from flexarm_core.flexible_dynamics.control.weight import weight_moment, weight_stiffness
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.robot.urdf_reader import parse_robot_description

WEIGHT = (0.0, 0.0, -9.81)
TOLD = parse_robot_description(crane_urdf())


def servos(position: float, velocity: float, *, checked: bool = True) -> FlexibleControllerConfig:
    motion = VibrationDampingConfig((position, position), (velocity, velocity))
    return FlexibleControllerConfig(law="joint_pd", motion=motion, check_gains=checked)


@pytest.mark.parametrize("luff", [-0.3, 0.0, 0.7, 1.3])
def test_the_stiffness_of_the_weight_is_that_of_a_pendulum_at_any_angle(luff):
    rigid = FlexibleModel(parse_robot_description(crane_urdf(frequency=60.0)), gravity=WEIGHT)
    slew, held = weight_moment(rigid, np.array([0.4, luff]))
    assert held == pytest.approx(9.81 * (200.0 * 20.0 + 721.0 * 10.0), rel=2e-3)
    assert slew == pytest.approx(0.0, abs=1e-3 * held)


def test_what_is_not_pulled_down_needs_no_stiffness():
    weightless = FlexibleModel(TOLD, gravity=(0.0, 0.0, 0.0))
    FlexibleController(weightless, servos(1e-2, 0.05))
    rich = richer_model(weightless)
    assert rich.size > weightless.size and not weight_stiffness(rich, np.full(rich.size, 0.1)).round(3).any()


def test_gains_softer_than_the_weight_are_refused_with_the_smallest_that_hold_it():
    model = FlexibleModel(TOLD, gravity=WEIGHT)
    config = servos(1e-4, 0.014)
    with pytest.raises(ConfigError, match="does not hold the weight: the smallest that does is") as refused:
        FlexibleController(model, config)
    named = float(str(refused.value).split("the smallest that does is [0, ")[1].split("]")[0])
    FlexibleController(model, servos(named, 0.3))
    with pytest.raises(ConfigError, match="does not hold the weight"):
        FlexibleController(model, servos(0.9 * named, 0.3))


def test_a_law_that_cannot_hold_the_weight_says_so():
    """It commands accelerations of a hub of 60 kg*m^2, under a moment of 110 kN*m."""
    with pytest.raises(ConfigError, match=r"no gains with the position_gain \[0, .*\] that the weight needs hold"):
        FlexibleController(FlexibleModel(TOLD, gravity=WEIGHT), FlexibleControllerConfig(law="accelerations"))


@pytest.mark.parametrize("delay", [pytest.param(0, marks=pytest.mark.long), 2])
def test_derived_gains_hold_a_load_that_is_a_tenth_heavier_where_softer_ones_drift_off(delay):
    still, start = np.zeros(2), np.array([0.0, 0.3])
    heavier = parse_robot_description(crane_urdf(220.0))
    derived = FlexibleControllerConfig(law="joint_pd", conditions=LoopConditions(delay=1e-3 * delay))
    held, drifting = (
        run_flexible(TOLD, heavier, start, still, 1.0, config, gravity=WEIGHT, time=6.0, delay=delay, segments=6)
        for config in (derived, servos(1e-4, 0.014, checked=False))
    )
    assert np.abs(held.position - start).max() < 0.03 and held.saturated == 0.0
    assert np.abs(drifting.position - start).max() > 0.1
