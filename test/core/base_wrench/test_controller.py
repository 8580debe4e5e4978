"""Position loop and torque loop together: friction vanishes, in closed form and on the plant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import robots
import sensed_robots
from sensed_robots import SENSOR

from flexarm_core.base_wrench.controller import LONGEST_GAP, BaseWrenchController, BaseWrenchControllerConfig
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator, BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.position_loop import PositionLoopConfig
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.base_wrench.torque_loop import TorqueLoopConfig
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState, BaseWrenchEstimate, BaseWrenchSample, JointReference
from flexarm_sim.backends import make_backend
from flexarm_sim.drives import DriveConfig
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.sensors import SensorConfig, SensorSuiteConfig

STEP = 2_000_000  # [ns]
DT = STEP * 1e-9
FRICTION = np.array([9.0, -6.0, 4.0, 2.0])


@pytest.fixture(scope="module")
def slider() -> ArmModel:
    return ArmModel(sensed_robots.slider_arm())


def still(model: ArmModel, stamp: int) -> ArmState:
    return ArmState(stamp, np.full(model.n, 0.1), np.zeros(model.n), np.zeros(model.m), np.zeros(model.m))


def estimate(stamp: int, friction, left_out: tuple[str, ...] = ()) -> BaseWrenchEstimate:
    n, unknown = len(friction), np.full(6, np.nan)
    friction = np.full(n, np.nan) if left_out else np.asarray(friction, dtype=float)
    return BaseWrenchEstimate(
        stamp, friction, friction, friction, friction, *(unknown,) * 3, np.zeros(6), False, left_out
    )


def faded_in(model: ArmModel, config: BaseWrenchControllerConfig | None = None) -> tuple[BaseWrenchController, int]:
    """A controller that has made up for ``FRICTION`` for a second, and the stamp of its last sample."""
    controller = BaseWrenchController(model, config or BaseWrenchControllerConfig())
    for k in range(500):
        stamp = k * STEP
        controller.update(still(model, stamp), JointReference(stamp, np.full(4, 0.1)), estimate(stamp, FRICTION))
    assert controller.weight == 1.0
    return controller, stamp


def test_friction_vanishes_from_the_motion_of_an_arm_in_closed_loop(slider):
    """Articulated-body algorithm, friction that opposes nothing but stays: the same arm without it is the judge."""
    ends = {}
    for name, friction, enabled in (("none", 0.0, False), ("loop", 1.0, True), ("no loop", 1.0, False)):
        config = BaseWrenchControllerConfig(torque_loop=TorqueLoopConfig(torque_loop=enabled))
        controller, q, v = BaseWrenchController(slider, config), np.full(4, 0.1), np.zeros(4)
        for k in range(1000):
            state = ArmState(k * STEP, q, v, np.zeros(0), np.zeros(0))
            wanted = JointReference(k * STEP, np.full(4, 0.3))
            answer = controller.update(state, wanted, estimate(k * STEP, friction * FRICTION))
            v = v + DT * slider.forward_dynamics(state, answer.effort - friction * FRICTION)
            q = q + DT * v
        ends[name] = q - 0.3
    assert np.abs(ends["none"]).max() < 1e-6
    assert np.abs(ends["loop"]).max() < 1e-6
    assert np.abs(ends["no loop"]).min() > 1e-4


def test_effort_less_friction_is_what_was_desired_and_the_reference_is_handed_through(slider):
    controller, stamp = faded_in(slider)
    state = still(slider, stamp + STEP)
    asked = JointReference(state.stamp, np.ones(4), np.full(4, 2.0), np.full(4, 3.0), np.array([1.0, -2.0, 3.0, -4.0]))
    answer = controller.update(state, asked, estimate(state.stamp, FRICTION))
    assert answer.stamp == state.stamp
    for name in ("position", "velocity", "acceleration"):
        assert np.array_equal(getattr(answer, name), getattr(asked, name))
    assert np.allclose(answer.effort - answer.friction, asked.effort, atol=1e-12)
    assert np.allclose(answer.friction, FRICTION, atol=1e-9)


def test_damping_that_the_model_has_is_paid_once():
    text = robots.find("arm_7r")[0].replace('axis xyz="0 0 1"/>', 'axis xyz="0 0 1"/><dynamics damping="3"/>')
    model = ArmModel(text)
    assert model.D_m.max() == 3.0
    controller = BaseWrenchController(model, BaseWrenchControllerConfig(torque_loop=TorqueLoopConfig(fade_time=0.0)))
    velocity = np.full(7, 0.5)
    for k in range(300):
        state = ArmState(k * STEP, np.zeros(7), velocity, np.zeros(0), np.zeros(0))
        reference = JointReference(k * STEP, np.zeros(7), velocity)
        answer = controller.update(state, reference, estimate(k * STEP, model.D_m * velocity + 1.0))
    assert np.allclose(answer.friction, 1.0, atol=1e-9)
    assert np.allclose(model.forward_dynamics(state, answer.effort - answer.friction), 0.0, atol=1e-9)


def test_gravity_by_a_calibration_is_added_to_the_position_loop_and_not_to_a_given_effort(slider):
    change, zero = np.array([1.0, 2.0, 3.0, 4.0]), np.zeros(4)
    state, blind = still(slider, 0), estimate(0, zero, ("x: missing",))
    follow, given = JointReference(0, zero), JointReference(0, zero, effort=np.full(4, 0.5))
    for reference, expected in ((follow, change), (given, zero)):
        plain, changed = (
            BaseWrenchController(slider, BaseWrenchControllerConfig()).update(state, reference, blind, gravity)
            for gravity in (None, change)
        )
        assert np.allclose(changed.effort - plain.effort, expected, atol=1e-12)


@pytest.mark.parametrize("how", ["missing", "unknown"])
def test_without_an_estimate_it_fades_to_plain_feed_forward_and_comes_back_without_a_bump(slider, how):
    controller, stamp = faded_in(slider)
    asked, efforts = np.array([1.0, -2.0, 3.0, -4.0]), [np.array([1.0, -2.0, 3.0, -4.0]) + FRICTION]
    for k in range(1, 501):
        now, lost = stamp + k * STEP, k <= 250
        seen = estimate(now, FRICTION, ("x: missing",)) if how == "missing" else estimate(now, np.full(4, np.nan))
        answer = controller.update(
            still(slider, now),
            JointReference(now, None, None, None, asked),
            seen if lost else estimate(now, FRICTION),
        )
        efforts.append(answer.effort)
        if k == 250:
            assert controller.weight == 0.0
            assert np.array_equal(answer.effort, asked)
            assert not answer.friction.any()
    assert np.allclose(efforts[-1], asked + FRICTION, atol=1e-9)
    fade = controller.config.torque_loop.fade_time
    assert np.abs(np.diff(efforts, axis=0)).max() <= np.abs(FRICTION).max() * DT / fade + 1e-9


def test_a_gap_begins_the_torque_loop_anew(slider):
    controller, stamp = faded_in(slider)
    now = stamp + round(1.01e9 * LONGEST_GAP)
    controller.update(still(slider, now), JointReference(now, np.zeros(4)), estimate(now, FRICTION))
    assert controller.weight == pytest.approx(DT / controller.config.torque_loop.fade_time)


def test_other_settings_take_effect_without_a_bump(slider):
    controller, stamp = faded_in(slider)
    off = replace(controller.config, torque_loop=replace(controller.config.torque_loop, torque_loop=False))
    controller.config = off
    assert controller.config == off
    now = stamp + STEP
    asked = JointReference(now, None, None, None, np.zeros(4))
    answer = controller.update(still(slider, now), asked, estimate(now, FRICTION))
    assert np.allclose(answer.effort, (1.0 - DT / 0.2) * FRICTION, atol=1e-9)


def test_inputs_that_do_not_fit_are_refused_and_change_nothing(slider):
    config = BaseWrenchControllerConfig(PositionLoopConfig(integral_gain=1000.0))
    (controller, stamp), (twin, _) = faded_in(slider, config), faded_in(slider, config)
    now = stamp + STEP
    state, good, seen = still(slider, now), JointReference(now, np.zeros(4)), estimate(now, FRICTION)
    for arguments, said in (
        ((state, replace(good, stamp=stamp), seen), "reference is of"),
        ((state, good, replace(seen, stamp=stamp)), "estimate is of"),
        ((replace(state, position=np.zeros(3)), good, seen), "position"),
        ((replace(state, velocity=np.full(4, np.nan)), good, seen), "velocity"),
        ((state, JointReference(now), seen), "neither effort nor position"),
        ((state, replace(good, effort=np.zeros(3)), seen), "effort"),
        ((state, replace(good, effort=np.full(4, np.nan)), seen), "effort"),
        ((state, good, estimate(now, FRICTION[:3])), "friction"),
    ):
        with pytest.raises(InputError, match=said):
            controller.update(*arguments)
    assert np.array_equal(controller.update(state, good, seen).effort, twin.update(state, good, seen).effort)


def test_after_a_reset_it_answers_as_new(slider):
    controller, _ = faded_in(slider)
    controller.reset()
    new = BaseWrenchController(slider, BaseWrenchControllerConfig())
    answers = [
        part.update(still(slider, 0), JointReference(0, np.zeros(4)), estimate(0, FRICTION))
        for part in (controller, new)
    ]
    assert np.array_equal(answers[0].effort, answers[1].effort)
    assert controller.weight == new.weight < 1.0


LIMIT = np.array([200.0, 200.0, 120.0, 120.0, 60.0, 60.0, 30.0])
START = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 1.04, 0.0])


def slow_turn(t: float):
    """One degree there at one degree a second, and back, with ramps of 0.1 s."""
    speed, ramp = np.deg2rad(1.0), 0.1
    corners = ((0.2, 1.0), (1.2, -2.0), (2.2, 1.0))  # times and changes of velocity in speeds
    position = velocity = acceleration = 0.0
    for begin, change in corners:
        into = min(max(t - begin, 0.0), ramp)
        velocity += change * speed * into / ramp
        position += change * speed * (0.5 * into * into / ramp + max(t - begin - ramp, 0.0))
        acceleration += change * speed / ramp * (begin < t < begin + ramp)
    return START + position, np.full(7, velocity), np.full(7, acceleration)


def even_turn(t: float):
    """All joints at 0.3 rad/s, from rest in 0.2 s."""
    speed, ramp, into = 0.3, 0.2, max(t - 0.1, 0.0)
    share = min(into / ramp, 1.0)
    travel = speed * (0.5 * ramp * share**2 + max(into - ramp, 0.0))
    return START + travel, np.full(7, speed * share), np.full(7, speed / ramp * (0.0 < into < ramp))


def run(motion, samples: int, enabled: bool = True):
    """Errors of position and velocity (samples, 7) on the plant, friction 30 % of the limits, sensors as real."""
    description = ArmModel(load_robot_description(robots.URDF / "arm_7r.urdf.xacro", {"armature": "true"})).description
    friction = JointFriction(tuple(0.225 * LIMIT), tuple(0.3 * LIMIT), stribeck_velocity=(0.05,))
    count = 2.0 * np.pi / 2**20
    suite = SensorSuiteConfig(
        joint_position=SensorConfig(resolution=count),
        joint_velocity=SensorConfig(resolution=count / DT),
        wrenches={SENSOR: SensorConfig(noise=(0.1,) * 3 + (0.01,) * 3)},
    )
    plant = Plant(
        description,
        make_backend("mujoco", description, max_step=5e-4, friction=friction),
        PlantConfig(STEP, tuple(START), drive=DriveConfig("effort"), sensors=suite, seed=1),
    )
    model = ArmModel(description)
    estimator = BaseWrenchEstimator(
        model, SensorDynamics(build_sensed_bodies(description)), BaseWrenchEstimatorConfig()
    )
    config = BaseWrenchControllerConfig(torque_loop=TorqueLoopConfig(torque_loop=enabled))
    controller, errors = BaseWrenchController(model, config), []
    for k in range(samples):
        measured, wanted = plant.measure(), motion(k * DT)
        joints, stamp = measured.joints, measured.stamp
        sample = BaseWrenchSample(stamp, joints.position, joints.velocity, joints.effort, measured.wrenches[SENSOR])
        seen = estimator.update(sample)
        state = ArmState(stamp, joints.position, estimator.velocity, np.zeros(0), np.zeros(0))
        answer = controller.update(state, JointReference(stamp, *wanted), seen)
        truth = plant.state()
        errors.append((wanted[0] - truth.position, wanted[1] - truth.velocity))
        plant.advance(np.clip(answer.effort, -LIMIT, LIMIT))
    return np.swapaxes(errors, 0, 1)


def rms(errors) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))


def test_slow_fine_motion_with_a_reversal_is_ten_times_as_exact_with_the_torque_loop():
    without, with_it = (rms(run(slow_turn, 1150, enabled)[0][100:]) for enabled in (False, True))
    assert without > np.deg2rad(0.1)
    assert with_it < 0.1 * without


def test_a_geared_arm_that_turns_evenly_does_not_hum():
    """Up to 99.8 % of a joint's inertia is its rotor's: taken for friction, it would feed back with the wrong sign."""
    _, velocity = run(even_turn, 500)
    assert rms(velocity[350:]) < 0.01 * 0.3
