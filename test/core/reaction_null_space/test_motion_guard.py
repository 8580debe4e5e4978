"""A bounded law: joints stay within limits, the path slows or waits, the law gives up with a reason, the arm rests."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from degradation import LinePath, LinePathConfig, joint_limits, plain, random_case, run
from rns_cases import case
from rns_loop import measured

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.pipeline.tick import Tick
from flexarm_core.pipeline.vibration_stage import INTERVALS, VibrationStage
from flexarm_core.reaction_null_space.stability.linear_law import ToolTask
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.reaction_null_space.vibration.motion_bounds import (
    KINDS,
    NO_LIMIT,
    LimitedJoints,
    acceleration_box,
    bound_motion,
)
from flexarm_core.reaction_null_space.vibration.motion_guard import MotionGuard
from flexarm_core.reaction_null_space.vibration.path_clock import PathClock
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.types import CartesianReference, FlexibleSample
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.pushes import Push

PLANE = (True, True, False, False, False, False)
START = np.radians([60.0, -60.0, -60.0])
FLOOR = 1e-3  # [J]


def test_random_arms_stay_within_limits_shake_less_than_under_the_plain_law_and_come_to_rest():
    rng = np.random.default_rng(3)
    for _ in range(2):
        drawn = random_case(rng)
        ours, other = run(drawn), run(plain(drawn), bounded=False, after=0.5)
        assert ours.within_limits and ours.rests, (drawn, ours)
        assert ours.energy <= max(other.energy, FLOOR), (drawn, ours, other)
        assert ours.reason or ours.reached < drawn.config.largest_error


def planar(push: float, bounded: bool = True, seconds: float = 5.0):
    """The planar arm on its path, its base pushed for 0.1 s [N]: largest deflection [m], last speed, controller."""
    model = case("planar_3r").model
    limits = joint_limits(model.lower, model.upper, model.velocity_limit, model.effort_limit)
    config = VibrationControllerConfig(joint_damping=0.4)
    controller = VibrationController(model, config, limits=limits if bounded else None)
    backend = MujocoBackend(model.description, tool_frame=model.tool_frame, gravity=(0.0, 0.0, 0.0), max_step=1e-3)
    pushes = (Push("base_link", 0.5, 0.1, force=(push, 0.0, 0.0)),)
    plant = Plant(model.description, backend, PlantConfig(initial_position=tuple(START), pushes=pushes))
    path = LinePath(LinePathConfig("world", (-0.3, 0.0, 0.0), 0.0, 4.0, PLANE))
    sample, efforts, deflections = plant.measure(), [], []
    tool = model.tool_kinematics(measured(sample), "world")
    path.begin(0, tool.position, tool.rotation)
    for _ in range(round(seconds * 1e3)):
        state = measured(sample)
        command, _ = controller.update(state, path.update(state.stamp))
        deflections.append(abs(state.deflection[0]))
        efforts.append(command.effort)
        sample = plant.advance(np.clip(command.effort, -500.0, 500.0))
    return np.array(deflections), measured(sample), np.array(efforts), controller


def test_a_push_that_is_far_too_hard_ends_at_rest_within_the_limits():
    deflections, last, efforts, controller = planar(200.0, seconds=5.0)
    assert deflections.max() < 0.45  # of 0.5 m
    assert np.abs(efforts).max() <= 500.0
    assert controller.guard.reason
    assert np.abs(last.velocity).max() < 0.4 and deflections[-500:].max() < deflections.max()


def test_limits_that_are_not_met_change_nothing():
    free, bounded = planar(5.0, bounded=False, seconds=1.5), planar(5.0, seconds=1.5)
    assert np.array_equal(free[0], bounded[0]) and bounded[3].guard.remark == ""
    assert np.allclose(free[2], bounded[2], rtol=0.0, atol=1e-12)


def test_a_late_clock_stays_on_the_path_and_catches_up():
    path, clock = LinePath(LinePathConfig("world", (0.4, 0.0, 0.2), 0.0, 2.0)), PathClock(5.0)
    path.begin(0, np.zeros(3), np.eye(3))
    before, lags = None, []
    for k in range(5000):
        stamp, dt = k * 1_000_000, 1e-3
        tool, _ = clock.take(stamp, path.update(stamp), None)
        assert np.linalg.norm(np.cross(tool.position, (0.4, 0.0, 0.2))) < 1e-12
        if before is not None:
            assert np.linalg.norm(tool.position - before - dt * clock.rate * tool.velocity[:3]) < 2e-6
        allowed = 0.1 if 300 < k < 900 else np.inf
        wanted, least, most = clock.bounds(dt, allowed)
        assert least <= wanted <= most
        clock.advance(wanted, dt)
        before, lags = tool.position, [*lags, clock.lag]
    assert max(lags) > 0.4 and lags[-1] < 0.02 and abs(clock.rate - 1.0) < 0.05
    assert np.allclose(before, (0.4, 0.0, 0.2), atol=1e-6)


def test_bounded_accelerations_are_within_the_box_and_the_efforts_within_the_motors():
    rng, n = np.random.default_rng(1), 5
    scaled = 0
    for _ in range(500):
        A = rng.normal(size=(n, n))
        E, e = A @ A.T + np.eye(n), rng.normal(size=n)
        limits = np.vstack((np.full(n, -2.0), np.full(n, 2.0), np.full(n, 1.5), np.full(n, 60.0)))
        q, v = rng.uniform(-1.5, 1.5, n), rng.uniform(-1.0, 1.0, n)
        law, along, feedback = rng.normal(size=(3, n)) * 10.0 ** rng.uniform(-1.0, 2.0)
        a, low, high = law.copy(), np.empty(n), np.empty(n)
        joints = LimitedJoints(q, v, limits, E, e, np.zeros(n), 0.1)
        rate, share, mixed, _ = bound_motion(a, along, feedback, np.zeros(n), joints, np.array((0.0, -8.0, 2.0)))
        acceleration_box(joints, low, high)
        assert np.all(np.abs(E @ a + e) <= 60.0 + 1e-6)
        assert -8.0 <= rate <= 2.0 and 0.0 <= share <= 1.0 and 0.0 <= mixed <= 1.0
        if mixed > 0.0:
            assert np.all(a >= low - 1e-6) and np.all(a <= high + 1e-6)
        scaled += share < 1.0
    assert 50 < scaled < 450


def test_the_limit_that_is_named_is_the_one_that_holds_a_motion_back():
    """Without it the same motion is another one; where none is named, no limit matters."""
    rng, n = np.random.default_rng(8), 4
    named, zero = np.zeros((len(KINDS), n), dtype=int), np.zeros(n)
    for _ in range(2000):
        A = rng.normal(size=(n, n))
        E, e = A @ A.T + np.eye(n), rng.normal(size=n)
        limits = np.vstack((np.full(n, -2.0), np.full(n, 2.0), np.full(n, 1.5), np.full(n, 10.0 ** rng.uniform(1, 3))))
        q, v = rng.uniform(-2.0, 2.0, n), rng.uniform(-1.6, 1.6, n)
        law, along, feedback = rng.normal(size=(3, n)) * 10.0 ** rng.uniform(-1.0, 1.0)

        def bounded(limits, a=law, rest=(along, feedback, zero), joints=(E, e, zero, 0.1), motion=(q, v)):
            a = a.copy()
            result = bound_motion(a, *rest, LimitedJoints(*motion, limits, *joints), np.array((0.5, -8.0, 2.0)))
            return np.array([*a, *result[:3]]), int(result[3])

        moved, held = bounded(limits)
        if held == NO_LIMIT:
            assert np.array_equal(moved, bounded(np.array([-1e9, 1e9, 1e9, 1e9])[:, None] * np.ones(n))[0])
            continue
        kind, joint = divmod(held, n)
        named[kind, joint] += 1
        without = limits.copy()
        rows = {"position": [0, 1], "velocity": [2], "effort": [3]}[KINDS[kind]]
        # effort and velocity limits decide how a joint brakes, too: they become only a little wider
        without[rows, joint] *= 100.0 if kind == 0 else 1.5
        if KINDS[kind] == "velocity" and abs(v[joint]) > 1.4:
            without[:2, joint] *= 100.0  # too fast already: it may be too near to a position limit besides
        assert not np.allclose(moved, bounded(without)[0], rtol=1e-6, atol=1e-6), (KINDS[kind], joint)
    assert named.sum(axis=1).min() > 50, named


NARROW = {  # limits (4, n) of the planar arm, and the words that are due
    "velocity limit of joint": ((-9.0,) * 3, (9.0,) * 3, (0.05, 9.0, 9.0), (500.0,) * 3),
    "effort limit of joint": ((-9.0,) * 3, (9.0,) * 3, (9.0,) * 3, (0.3, 0.3, 0.3)),
    "position limit of joint": (tuple(START - 0.05), tuple(START + 0.05), (9.0,) * 3, (500.0,) * 3),
    "singularity": ((-1e4,) * 3, (1e4,) * 3, (1e4,) * 3, (1e8,) * 3),
}


@pytest.mark.parametrize("words", NARROW)
def test_a_path_that_waits_says_what_for_and_the_law_why_it_gave_up(words):
    model = case("planar_3r").model
    config = VibrationControllerConfig(joint_damping=0.4, longest_wait=0.5, largest_error=10.0, base_bandwidth=0.0)
    controller = VibrationController(model, config, limits=np.array(NARROW[words]))
    backend = MujocoBackend(model.description, tool_frame=model.tool_frame, gravity=(0.0, 0.0, 0.0), max_step=1e-3)
    plant = Plant(model.description, backend, PlantConfig(initial_position=tuple(START)))
    way = (3.0, 0.0, 0.0) if words == "singularity" else (-0.4, 0.0, 0.0)
    path = LinePath(LinePathConfig("world", way, 0.0, 10.0 if words == "singularity" else 2.0, PLANE))
    sample, said = plant.measure(), []
    tool = model.tool_kinematics(measured(sample), "world")
    path.begin(0, tool.position, tool.rotation)
    while measured(sample).stamp < 12_000_000_000 and not controller.guard.reason:
        state = measured(sample)
        command, _ = controller.update(state, path.update(state.stamp))
        said.append(controller.guard.remark)
        sample = plant.advance(np.clip(command.effort, -500.0, 500.0))
    causes = Counter(text.split(": the path is ")[0] for text in said if " s late and runs at " in text)
    right = sum(count for cause, count in causes.items() if words in cause)
    assert causes and right > 0.75 * causes.total(), causes  # near a singularity any limit may hold for a moment
    assert words in controller.guard.reason


def stage(axes: tuple[bool, ...] | None, **said) -> VibrationStage:
    """The planar arm's, rate 1000 Hz unless said."""
    found = case("planar_3r")
    controller = VibrationController(found.model, VibrationControllerConfig(joint_damping=0.4), found.selection)
    return VibrationStage(controller, Sampling(0.001), task=None if axes is None else ToolTask("", axes), **said)


def reference(stamp: int, axes: tuple[bool, ...]) -> CartesianReference:
    """Where the planar arm's tool is."""
    found = case("planar_3r")
    tool = found.model.tool_kinematics(found.at(START), found.model.base_frame)
    none = np.zeros(6)
    return CartesianReference(stamp, found.model.base_frame, tool.position, tool.rotation, none, none, np.array(axes))


def follow(stage: VibrationStage, position: np.ndarray, tool: CartesianReference) -> None:
    """Give the stage a sample of the resting arm with a tool reference."""
    still, base = np.zeros(position.size), np.zeros(1)
    sample = FlexibleSample(tool.stamp, position, still, still, base, base)
    stage.update(Tick(sample, base.size, tool=tool))


def test_more_axes_than_free_motions_are_refused_when_configured_and_when_a_reference_has_them():
    three = (True, True, False, False, False, True)
    with pytest.raises(ConfigError, match="3 axes of the tool are tracked where 2 motions are free"):
        stage(three)
    late = stage(None)
    with pytest.raises(InputError, match="3 axes of the tool are tracked where 2 motions are free"):
        follow(late, START, reference(0, three))


def test_gains_that_hold_where_the_arm_starts_are_not_looked_at_again(monkeypatch):
    ready, looks = stage(PLANE, start=START), []
    monkeypatch.setattr("flexarm_core.pipeline.vibration_stage.check_gains", lambda *_: looks.append(1))
    follow(ready, START, reference(0, PLANE))
    assert not looks
    ready.reset()
    follow(ready, START + 0.3, reference(1_000_000, PLANE))
    assert looks


def test_gains_that_do_not_hold_where_the_arm_starts_are_refused_when_configured():
    found = case("planar_3r")
    config = VibrationControllerConfig(joint_damping=0.4, position_gain=4e4, velocity_gain=4e3)
    controller = VibrationController(found.model, config, found.selection)
    with pytest.raises(ConfigError, match="at 100 Hz"):
        VibrationStage(controller, Sampling(0.01), task=ToolTask("", PLANE), start=START)


def test_samples_slower_than_the_rate_for_which_gains_were_checked_are_refused():
    slow = stage(PLANE, start=START)
    with pytest.raises(InputError, match="samples come at 100 Hz, gains were checked for 1000 Hz: set rate"):
        for k in range(INTERVALS + 2):
            follow(slow, START, reference(k * 10_000_000, PLANE))


def test_a_load_bandwidth_that_the_rate_does_not_bear_is_refused_with_the_largest_that_it_does():
    found = case("planar_3r")
    config = VibrationControllerConfig(joint_damping=0.4, position_gain=25.0, velocity_gain=10.0, load_bandwidth=40.0)
    controller = VibrationController(found.model, config, found.selection)
    with pytest.raises(ConfigError, match="load_bandwidth is 40 rad/s, at most 20 rad/s with a delay of 0 ms at 100"):
        VibrationStage(controller, Sampling(0.01), task=ToolTask("", PLANE), start=START)


def test_an_arm_does_not_drop_a_load_that_nobody_told_it_of():
    rng = np.random.default_rng(0)
    for _ in range(9):
        drawn = random_case(rng)
    assert drawn.arm.payload > 1.5 and drawn.arm.gravity[2] < 0.0
    found, other = run(drawn), run(plain(drawn), bounded=False, after=0.5)
    assert not found.reason and found.reached < 0.1  # as far as the feedback of the tool lets it sag
    assert found.speed < 0.3 and found.energy < 0.01 * other.energy


@pytest.mark.parametrize("realization", ["computed_torque", "joint_servo"])
def test_an_unknown_load_is_carried_without_sag(realization):
    rng, heavy = np.random.default_rng(5), 0
    while heavy < 1:
        drawn = random_case(rng)
        if drawn.arm.name == "random" or drawn.arm.gravity[2] == 0.0 or not 2.0 <= drawn.arm.payload <= 3.0:
            continue
        heavy += 1
        hold = replace(drawn.path, displacement=(0.0, 0.0, 1e-9), start=0.0, duration=3.0)
        config = replace(drawn.config, load_bandwidth=40.0, realization=realization)
        found = run(replace(drawn, path=hold, config=config), after=0.5)
        assert not found.reason and found.reached < 2e-3, (drawn, found)


def test_a_tool_far_from_its_path_is_said_and_one_that_is_too_far_ends_the_law():
    guard = MotionGuard(joint_limits(*(np.array([value]) for value in (-1.0, 1.0, 2.0, 50.0))), 1.0)
    guard.keep_near(0.004, 0.05)
    assert guard.remark == ""
    guard.keep_near(0.04, 0.05)
    assert guard.remark == "the tool is 0.04 m from its path" and not guard.reason
    guard.keep_near(0.06, 0.05)
    guard.keep_near(0.0, 0.05)
    assert "gave up" in guard.reason and "0.06 m from its path, at most 0.05 m" in guard.remark
