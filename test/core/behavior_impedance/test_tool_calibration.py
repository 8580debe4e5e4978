"""The calibration of a tool's sensor, against a load that is known."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.behavior_impedance.wrench.tool_calibration import (
    ToolWeighing,
    ToolWeighingConfig,
    calibrate_tool,
)
from flexarm_core.errors import InputError

BIAS, MASS, CENTER = np.array([4.0, -2.0, 9.0, 0.3, -0.1, 0.2]), 1.7, np.array([0.02, -0.01, 0.08])


def poses(rng: np.random.Generator, count: int = 8) -> np.ndarray:
    down = rng.normal(size=(count, 3))
    return 9.81 * down / np.linalg.norm(down, axis=1)[:, None]


def readings(gravity: np.ndarray, sign: float = 1.0, mass: float = MASS) -> np.ndarray:
    weight = mass * gravity
    return BIAS + sign * np.hstack((weight, np.cross(CENTER, weight)))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_bias_mass_and_center_are_found_in_either_convention(sign):
    gravity = poses(np.random.default_rng(0))
    found = calibrate_tool(gravity, readings(gravity, sign), sign)
    assert np.allclose(found.bias, BIAS, atol=1e-10) and found.mass == pytest.approx(MASS, abs=1e-10)
    assert np.allclose(found.center_of_mass, CENTER, atol=1e-10)
    assert found.poses == 8 and found.residual_force < 1e-10 and found.residual_torque < 1e-10


def test_noise_is_averaged_and_told():
    rng = np.random.default_rng(1)
    gravity = poses(rng, 20)
    found = calibrate_tool(gravity, readings(gravity) + rng.normal(scale=0.02, size=(20, 6)))
    assert found.mass == pytest.approx(MASS, abs=0.003) and np.allclose(found.center_of_mass, CENTER, atol=2e-3)
    assert 0.02 < found.residual_force < 0.05


def test_a_sensor_without_a_load_gets_its_bias_alone():
    gravity = poses(np.random.default_rng(2))
    found = calibrate_tool(gravity, readings(gravity, mass=0.0))
    assert np.allclose(found.bias, BIAS) and found.mass < 1e-9 and not found.center_of_mass.any()


def test_what_does_not_fit_is_said():
    gravity = poses(np.random.default_rng(3))
    good = readings(gravity)
    touched = good.copy()
    touched[4, 0] += 12.0
    swapped = good[:, [1, 0, 2, 4, 3, 5]]
    for pulls, wrench, said in (
        (gravity, readings(gravity, -1.0), "wrench_convention has the wrong sign"),
        (gravity, touched, "pose 5 leaves a residual of"),
        (gravity, swapped, "axes of the sensor are not those of its frame"),
        (gravity[:3], good[:3], "3 poses are too few"),
        (np.tile(gravity[:1], (8, 1)), np.tile(good[:1], (8, 1)), "too alike"),
        (0.0 * gravity, good, "there is no gravity"),
        (gravity, good[:, :5], "wrench"),
    ):
        with pytest.raises(InputError, match=said):
            calibrate_tool(pulls, wrench)


def test_the_tool_is_weighed_once_in_each_new_orientation_and_only_at_rest():
    weighing = ToolWeighing(ToolWeighingConfig(pose_count=4, samples=3, settle_time=0.02, min_angle=0.5))
    gravity = 9.81 * np.array([[0.0, 0.0, -1.0], [0.0, 0.1, -1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    stamp, phases = 0, []
    for pull in gravity:
        for step in range(12):
            stamp += 10_000_000
            moving = 0.1 if step == 2 else 0.0
            weighing.take(stamp, pull, readings(pull[None])[0], moving)
            phases.append(weighing.phase)
    assert weighing.done and len(weighing.gravity) == 4
    assert phases[:12] == ["settling"] * 2 + ["move"] + ["settling"] * 2 + ["measuring"] * 2 + ["move"] * 5
    assert phases[12:24] == ["move"] * 12  # as good as the first
    found = calibrate_tool(np.array(weighing.gravity), np.array(weighing.wrench))
    assert found.mass == pytest.approx(MASS)
