"""Gains that the analysis accepts and refuses, against the simulated arm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from elastic_robots import ELASTIC, WEIGHTLESS, on_elastic_base, with_wrong_inertia
from hits import held_references, is_unstable, leaves
from robots import URDF, find
from stability_cases import POSITION_AXES, StabilityCase, elastic_case, random_cases
from vibration_loop import control, make_plant

from flexarm_core.errors import ConfigError, GainError
from flexarm_core.reaction_null_space.coupling.base_modes import base_modes
from flexarm_core.reaction_null_space.stability.linear_law import ToolTask
from flexarm_core.reaction_null_space.stability.sampled_model import SampledModel
from flexarm_core.reaction_null_space.stability.stability import (
    Margin,
    check_gains,
    largest_stable_damping_ratio,
    postures_after_hits,
    stability_limit,
)
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description

READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
BOOM_POSTURE = np.array([-0.638, 1.929, 1.177, -1.514, -0.918, -1.682, 0.131])
SERVO = VibrationControllerConfig(realization="joint_servo", position_gain=100.0, velocity_gain=20.0)
TOOL = ToolTask("", POSITION_AXES)


@pytest.fixture(scope="module")
def boom():
    model = ArmModel(load_robot_description(URDF / "boom_7r.urdf.xacro"), gravity=WEIGHTLESS)
    return model, BaseSelection(model, ("auto",))


def panda(realization, damping_ratio, sampling, base_damping=0.01):
    """A Panda over a base that is soft along y, z and about x (3 Hz) and stiff otherwise (200 Hz)."""
    try:
        find("panda")
    except FileNotFoundError as missing:
        pytest.skip(str(missing))
    text, tool = elastic_case("panda", READY, np.array([200.0, 3.0, 3.0, 3.0, 200.0, 200.0]), base_damping)
    model = ArmModel(text, tool, WEIGHTLESS)
    selection = BaseSelection(model, ("elastic_y", "elastic_z", "elastic_rx"))
    config = replace(SERVO, realization=realization, damping_ratio=damping_ratio)
    return StabilityCase(text, model, WEIGHTLESS, selection, READY, config, sampling, TOOL)


@pytest.mark.long
def test_no_accepted_random_case_goes_unstable_and_refused_ones_do():
    """A few of them: benchmark/rns_stability.py takes 300."""
    rng = np.random.default_rng(20)
    accepted = refused = shown = 0
    for case in random_cases(rng):
        try:
            case.check()
        except ConfigError:
            if refused < 2 and case.loop().growth() > 5.0:  # slower ones show after more than a second
                refused += 1
                shown += leaves(case, case.loop().growth())
        else:
            if accepted < 4:
                assert not is_unstable(case, with_wrong_inertia(case.text, rng) if accepted % 2 else None, 1.0), case
                accepted += 1
        if (accepted, refused) == (4, 2):
            break
    assert shown == refused


def test_on_a_panda_with_8_ms_of_delay_a_damping_ratio_of_0_3_holds_and_1_3_does_not():
    slow = Sampling(0.004, 0.008)
    for damping_ratio, unstable in ((0.3, False), (1.3, True)):
        case = panda("joint_servo", damping_ratio, slow)
        assert case.loop().is_stable() is not unstable
        assert is_unstable(case) is unstable
        assert leaves(case, 2.0) is unstable
    with pytest.raises(ConfigError, match=r"a delay of 8 ms at 250 Hz"):
        case.check()


def free_arm(posture):
    """A case that is stable and goes far after a hit: what the tool's position leaves free is braked by G_m alone."""
    text, tool = elastic_case("arm_7r", posture, np.array([3.0, 150.0, 4.0, 170.0, 3.5, 190.0]), 0.02)
    model = ArmModel(text, tool, WEIGHTLESS)
    selection = BaseSelection(model, ("elastic_x", "elastic_z", "elastic_ry"))
    config = replace(SERVO, damping_ratio=0.2)
    return StabilityCase(text, model, WEIGHTLESS, selection, posture, config, Sampling(0.002, 0.006), TOOL)


def test_a_hit_moves_an_arm_with_late_sensors_as_far_as_the_linear_loop_says_and_gains_are_looked_at_there():
    """Sensors that showed the hit from before it came, for as long as they are late, would move it ten times as far."""
    posture, energy, duration = np.array([0.3, -0.5, 0.2, -1.5, 0.4, 1.2, 0.6]), 1e-6, 2.0
    case = free_arm(posture)
    loop, plant = case.loop(), case.loop().plant
    modes = base_modes(plant.blocks.H_b, case.model.K_b)
    weights = np.linalg.cholesky(plant.blocks.H_b).T @ modes.shapes @ np.full(6, np.sqrt(2.0 * energy))
    assert 0.5 * weights @ weights == pytest.approx(6.0 * energy)
    rate = modes.shapes @ np.full(6, np.sqrt(2.0 * energy))
    simulated = make_plant(case, case.model, plant.rest, float(modes.frequencies[-1]), rate)
    motion = control(case, simulated, held_references(case, plant.rest), duration + case.sampling.period)
    expected = loop.hit_response(duration) @ weights
    np.testing.assert_allclose(motion.position[-1] - posture, expected, atol=0.05 * np.abs(expected).max())

    left = np.linalg.svd(loop.hit_response(3.0))[0]
    settings = case.model, posture, case.config, case.selection, case.sampling, case.tool
    after = postures_after_hits(*settings, energy=1e-2) - posture
    np.testing.assert_array_equal(after[0], 0.0)
    np.testing.assert_allclose(np.abs(after[3]), np.abs(after[4]))
    np.testing.assert_allclose(2.0 * after[1], after[3])
    assert np.abs(after @ left[:, 0]).max() > 0.99 * np.linalg.norm(after, axis=1).max()
    assert np.abs(postures_after_hits(*settings, energy=1e6) - posture).max() <= 0.5
    hard = replace(case.config, servo_position_gain=4e4, servo_velocity_gain=400.0)
    assert postures_after_hits(case.model, posture, hard, *settings[3:]).shape == (1, 7)


def test_computed_torque_that_leaves_stiff_directions_out_is_unstable_at_every_gain_and_joint_servos_are_not():
    """Spillover: with a few samples of delay it is so even without any base feedback."""
    for realization, stable in (("computed_torque", False), ("joint_servo", True)):
        case = panda(realization, 1.0, Sampling(0.001, 0.004))
        loop = case.loop()
        assert [loop.is_stable(gain) for gain in (0.0, 0.01, 0.1, 0.3, 0.7)] == [stable] * 5
        if not stable:
            assert loop.growth(0.01) > 100.0
    case = panda("computed_torque", 0.01, Sampling(0.001, 0.004))
    assert is_unstable(case, duration=1.0)
    with pytest.raises(ConfigError, match="or realization joint_servo"):
        case.check()


def test_what_is_said_to_be_the_largest_is_accepted_and_what_is_above_is_not(boom):
    model, selection = boom
    sampling = Sampling(0.004, 0.004)
    largest = largest_stable_damping_ratio(model, BOOM_POSTURE, SERVO, selection, sampling, TOOL)
    assert 0.3 < largest < 1.0
    found = check_gains(model, BOOM_POSTURE, replace(SERVO, damping_ratio=0.99 * largest), selection, sampling, TOOL)
    assert found is not None
    with pytest.raises(GainError, match=rf"the largest stable one is {np.floor(100 * largest) / 100:g} ") as refused:
        check_gains(model, BOOM_POSTURE, replace(SERVO, damping_ratio=1.05 * largest), selection, sampling, TOOL)
    error = refused.value
    assert (error.setting, error.value) == ("damping_ratio", 1.05 * largest)
    check_gains(model, BOOM_POSTURE, replace(SERVO, damping_ratio=error.largest), selection, sampling, TOOL)


def test_the_crossing_parts_growth_from_decay_and_lies_a_margin_above_what_is_accepted(boom):
    model, selection = boom
    sampling = Sampling(0.004, 0.004)
    none = Margin(1.0, 1.0, 1.0)
    bare = stability_limit(model, BOOM_POSTURE, SERVO, selection, sampling, TOOL, none)
    assert bare.accepted == bare.crossing
    loop = SampledModel(model, BOOM_POSTURE, replace(SERVO, damping_ratio=1.0), selection, sampling, TOOL)
    assert loop.is_stable(0.999 * bare.crossing)
    assert not loop.is_stable(1.001 * bare.crossing)
    safe = stability_limit(model, BOOM_POSTURE, SERVO, selection, sampling, TOOL)
    assert safe.accepted <= bare.crossing / 1.5 * 1.001


@pytest.mark.parametrize("seed", [311, 955])
def test_what_is_accepted_bears_smaller_efforts_on_a_softer_base(seed):
    """Under gravity both add up: these arms bear each alone up to a damping ratio at which both together diverge."""
    case = next(random_cases(np.random.default_rng(seed)))
    settings = case.config, case.selection, case.sampling, case.tool
    accepted = stability_limit(case.model, case.posture, *settings, largest=1.0).accepted
    unit = replace(case.config, damping_ratio=1.0)
    for effort in (0.8, 1.25):
        for stiffness in (0.8, 1.25):
            wrong = {"authority": effort, "stiffness": stiffness}
            loop = SampledModel(case.model, case.posture, unit, *settings[1:], **wrong)
            assert loop.is_stable(0.999 * accepted)


def test_longer_delays_leave_less(boom):
    model, selection = boom
    largest = [
        stability_limit(
            model, BOOM_POSTURE, SERVO, selection, Sampling(0.004, delay), TOOL, Margin(1.0, 1.0, 1.0)
        ).crossing
        for delay in (0.0, 0.004, 0.008)
    ]
    assert largest[0] > 2.0 * largest[1] > 4.0 * largest[2] > 0.0


def test_a_literal_gain_is_judged_as_one(boom):
    model, selection = boom
    sampling = Sampling(0.004, 0.004)
    with pytest.raises(ConfigError, match=r"vibration_gain 200 is unstable .*: the largest stable one is \d"):
        check_gains(model, BOOM_POSTURE, replace(SERVO, vibration_gain=200.0), selection, sampling, TOOL)
    assert check_gains(model, BOOM_POSTURE, replace(SERVO, vibration_gain=2.0), selection, sampling, TOOL)


def test_servos_that_are_unstable_by_themselves_are_refused_whatever_the_damping(boom):
    model, selection = boom
    hard = replace(SERVO, servo_position_gain=4e4, servo_velocity_gain=400.0)
    for config in (hard, replace(hard, vibration_damping=False), replace(hard, law="resolved_acceleration")):
        with pytest.raises(ConfigError, match=r"even without vibration damping .* choose lower servo gains"):
            check_gains(model, BOOM_POSTURE, config, selection, Sampling(0.004, 0.004), TOOL)
    calm = replace(SERVO, vibration_damping=False)
    assert check_gains(model, BOOM_POSTURE, calm, selection, Sampling(0.002), TOOL) is None


def test_the_worst_of_several_postures_counts_and_is_named(boom):
    model, selection = boom
    sampling = Sampling(0.004)
    steps = np.random.default_rng(0).uniform(-0.3, 0.3, (3, model.n))
    postures = np.vstack((BOOM_POSTURE, np.clip(BOOM_POSTURE + steps, model.lower, model.upper)))
    each = [stability_limit(model, q, SERVO, selection, sampling, TOOL).accepted for q in postures]
    together = stability_limit(model, postures, SERVO, selection, sampling, TOOL)
    assert together.accepted == pytest.approx(min(each), rel=1e-2)
    np.testing.assert_array_equal(together.posture, postures[int(np.argmin(each))])


def test_margins_below_one_and_empty_searches_are_refused(boom):
    model, selection = boom
    with pytest.raises(ConfigError, match="margin effort must be a factor >= 1"):
        Margin(effort=0.9)
    with pytest.raises(ConfigError, match="searched up to a positive one"):
        stability_limit(model, BOOM_POSTURE, SERVO, selection, Sampling(0.002), TOOL, largest=0.0)


def test_the_elastic_base_has_the_directions_and_the_wrong_arm_the_errors_that_were_asked_for():
    text = on_elastic_base(find("arm_7r")[0], mass=20.0)
    model = ArmModel(text, gravity=WEIGHTLESS)
    assert model.elastic_joint_names == ELASTIC
    wrong = ArmModel(with_wrong_inertia(text, np.random.default_rng(1), 0.1), gravity=WEIGHTLESS)
    masses = [
        np.array([link.mass for link in each.description.links.values() if link.mass > 0.0]) for each in (model, wrong)
    ]
    np.testing.assert_allclose(np.abs(masses[1] / masses[0] - 1.0), 0.1, rtol=1e-9)
