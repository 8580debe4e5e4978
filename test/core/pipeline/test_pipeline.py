"""Stages in one process: what each gives reaches the next, and what one refuses stops the arm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numba import njit
from pipeline_run import drive, gate_stage

from flexarm_core.base_wrench.controller import BaseWrenchController, BaseWrenchControllerConfig
from flexarm_core.base_wrench.estimator import BaseWrenchEstimator, BaseWrenchEstimatorConfig
from flexarm_core.base_wrench.position_loop import PositionLoopConfig
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.base_wrench.sensor_dynamics import SensorDynamics
from flexarm_core.base_wrench.torque_loop import TorqueLoopConfig
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.flexible_dynamics.vibration_damping import VibrationDampingConfig
from flexarm_core.hardware_gate.state_machine import GateState
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.ik_redundancy.solver import RedundancySolver
from flexarm_core.path.joint_move import JointMove, JointMoveConfig
from flexarm_core.path.line import LinePath, LinePathConfig
from flexarm_core.pipeline.base_wrench_stage import BaseWrenchStage
from flexarm_core.pipeline.flexible_stages import FlexibleControlStage, FlexibleEstimatorStage, confirmed_friction
from flexarm_core.pipeline.pipeline import Pipeline
from flexarm_core.pipeline.redundancy_stage import RedundancyStage
from flexarm_core.pipeline.reference_stage import ReferenceStage
from flexarm_core.pipeline.stage import Stage
from flexarm_core.pipeline.tick import Tick
from flexarm_core.pipeline.vibration_stage import VibrationStage
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.types import FlexibleSample, JointReference
from flexarm_sim.backends import make_backend
from flexarm_sim.friction.friction import JointFriction
from flexarm_sim.plant import Plant, PlantConfig

START = np.radians([60.0, -60.0, -60.0])
NO_GRAVITY = (0.0, 0.0, 0.0)
AXES = (True, True, False, False, False, False)
MOVE = (0.1, -0.1, 0.1)  # [rad]


def make_plant(model, friction=None, **config):
    """The planar arm at rest, without gravity."""
    backend = make_backend("mujoco", model.description, gravity=NO_GRAVITY, friction=friction)
    return Plant(model.description, backend, PlantConfig(initial_position=tuple(START), **config))


def line(model, duration=0.2):
    """The tool along a line, seen from the base link."""
    path = LinePath(LinePathConfig(model.base_frame, (-0.02, 0.0, 0.0), duration=duration, axes=AXES))
    return ReferenceStage(model, path)


def move(model, duration=0.2, displacement=MOVE):
    """The joints to and fro."""
    return ReferenceStage(model, JointMove(JointMoveConfig(displacement, duration=duration)))


def vibration(model, source="joint_states", sampling=None, **config):
    """The vibration controller."""
    settings = VibrationControllerConfig(**{"vibration_damping": False, **config})
    return VibrationStage(VibrationController(model, settings), sampling, source)


def wrench(model, torque_loop=True, control=True, base_motion="joint_states"):
    """The sensor between base and arm, and the torque loop on it."""
    dynamics = SensorDynamics(build_sensed_bodies(model.description, "base_ft_sensor"), NO_GRAVITY)
    config = BaseWrenchControllerConfig(
        PositionLoopConfig(),
        TorqueLoopConfig(torque_loop=torque_loop, period=1e-3, torque_bandwidth=200.0, fade_time=0.02),
    )
    return BaseWrenchStage(
        BaseWrenchEstimator(model, dynamics, BaseWrenchEstimatorConfig()),
        BaseWrenchController(model, config) if control else None,
        "base_ft_sensor",
        base_motion=base_motion,
        base_bandwidth=500.0,
    )


def estimator(model):
    """The estimator of the base's spring by the joints and their efforts alone."""
    flexible = FlexibleModel(model.description, gravity=NO_GRAVITY)
    return FlexibleEstimatorStage(FlexibleEstimator(flexible))


def test_of_the_friction_in_a_reference_only_what_the_gate_let_pass_is_believed():
    rng = np.random.default_rng(11)
    for _ in range(200):
        links, friction = rng.normal(size=7) * 20.0, rng.normal(size=7) * 30.0
        passed = np.clip(friction, -6.0, 6.0)
        reference = JointReference(0, effort=links + friction, friction=friction)
        assert np.allclose(confirmed_friction(reference, links + passed), passed, rtol=0.0, atol=1e-12)
        other = confirmed_friction(reference, rng.normal(size=7) * 100.0)  # what the effort is in a stop
        assert (other * friction >= 0.0).all() and (np.abs(other) <= np.abs(friction)).all()
    assert np.array_equal(confirmed_friction(JointReference(0, effort=links), links), np.zeros(7))
    assert np.array_equal(confirmed_friction(JointReference(0, friction=friction), links), friction)


def test_a_tool_reference_becomes_a_joint_reference_becomes_a_command(planar_3r):
    run = drive(Pipeline([line(planar_3r), vibration(planar_3r)], gate_stage(planar_3r)), make_plant(planar_3r), 250)
    last = run.ticks[-1]
    assert last.tool.stamp == last.joints.stamp == last.reaction.stamp == last.stamp
    assert last.given == {"rns_vibration_controller": last.joints}
    assert np.abs(run.deflection).max() < 1e-6  # the reaction null space
    moved = planar_3r.tool_kinematics(last.arm_state("joint_states"), planar_3r.base_frame).position
    wanted = last.tool.position
    assert np.abs(moved - wanted)[:2].max() < 1e-4
    assert np.array_equal(run.command, [tick.joints.effort for tick in run.ticks])  # within all limits


def test_a_reset_pipeline_does_the_same_again(planar_3r):
    stages = [estimator(planar_3r), line(planar_3r), vibration(planar_3r), wrench(planar_3r)]
    pipeline, plant = Pipeline(stages, gate_stage(planar_3r)), make_plant(planar_3r)
    first = drive(pipeline, plant, 60)
    pipeline.reset()
    plant.reset()
    assert np.array_equal(drive(pipeline, plant, 60).command, first.command)


def test_without_its_loop_the_base_wrench_stage_lets_efforts_through_and_estimates(planar_3r):
    front = [line(planar_3r), vibration(planar_3r)]
    bare = drive(Pipeline(front, gate_stage(planar_3r)), make_plant(planar_3r), 60)
    stages = [line(planar_3r), vibration(planar_3r), wrench(planar_3r, torque_loop=False)]
    behind = drive(Pipeline(stages, gate_stage(planar_3r)), make_plant(planar_3r), 60)
    assert np.array_equal(behind.command, bare.command)
    assert set(behind.ticks[-1].given) == {"rns_vibration_controller", "base_wrench_torque_estimator"}
    assert behind.ticks[-1].estimate.valid
    observing = [line(planar_3r), wrench(planar_3r, control=False), vibration(planar_3r)]
    seen = drive(Pipeline(observing, gate_stage(planar_3r)), make_plant(planar_3r), 60)
    assert np.array_equal(seen.command, bare.command)
    assert seen.ticks[-1].estimate is not None


def test_a_stage_that_observes_before_its_reference_has_come_answers_as_in_a_pipeline(planar_3r):
    stages = [line(planar_3r), vibration(planar_3r), wrench(planar_3r)]
    run, alone = drive(Pipeline(stages, gate_stage(planar_3r)), make_plant(planar_3r), 60), wrench(planar_3r)
    assert alone.needs == {"joints"}
    with pytest.raises(InputError, match="no estimate"):
        alone.update(Tick(run.ticks[0].sample, 1, joints=run.ticks[0].given["rns_vibration_controller"]))
    for tick in run.ticks:
        observed = Tick(tick.sample, 1)
        alone.observe(observed)
        assert observed.joints is None
        later = Tick(tick.sample, 1, joints=tick.given["rns_vibration_controller"])
        alone.update(later)
        assert np.array_equal(observed.estimate.friction, tick.estimate.friction, equal_nan=True)
        assert np.array_equal(later.joints.effort, tick.joints.effort)
    assert later.joints.friction.any()


def test_behind_the_vibration_controller_the_torque_loop_makes_up_for_friction(planar_3r):
    def off_the_line(*behind):
        friction = JointFriction(coulomb=(1.0,), stribeck_velocity=(0.01,))
        stages = [line(planar_3r, 0.4), vibration(planar_3r, position_gain=25.0, velocity_gain=10.0), *behind]
        run = drive(Pipeline(stages, gate_stage(planar_3r)), make_plant(planar_3r, friction), 400)
        away = [
            tick.tool.position
            - planar_3r.tool_kinematics(tick.arm_state("joint_states"), planar_3r.base_frame).position
            for tick in run.ticks
        ]
        return np.abs(np.array(away)[:, :2]).max()

    assert off_the_line(wrench(planar_3r)) < 0.2 * off_the_line()


def blind(sample: FlexibleSample) -> FlexibleSample:
    """The same without the base's deflection."""
    return replace(sample, deflection=None, deflection_rate=None)


def test_the_flexible_estimate_takes_the_place_of_a_deflection_that_is_not_measured(planar_3r):
    stages = [
        estimator(planar_3r),
        line(planar_3r),
        vibration(planar_3r, "flexible_state", law="resolved_acceleration"),
    ]
    stages[1].source = "flexible_state"
    gate = gate_stage(planar_3r, source="flexible_state")
    run = drive(Pipeline(stages, gate), make_plant(planar_3r), 250, blind)
    assert not any(tick.refused for tick in run.ticks)
    estimate = np.array([tick.flexible.deflection for tick in run.ticks])
    assert np.abs(run.deflection).max() > 1e-3  # which that law does not keep quiet
    assert np.abs(estimate - run.deflection).max() < 0.03 * np.abs(run.deflection).max()
    seen = run.ticks[-1].arm_state("flexible_state")
    assert np.array_equal(seen.deflection, estimate[-1])


def test_a_deflection_that_is_neither_measured_nor_estimated_is_refused(planar_3r):
    run = drive(
        Pipeline([line(planar_3r), vibration(planar_3r)], gate_stage(planar_3r)), make_plant(planar_3r), 2, blind
    )
    assert set(run.ticks[0].refused) == {"reference_generator", "rns_vibration_controller", "hardware_gate"}
    assert all("not known from joint_states" in reason for reason in run.ticks[0].refused.values())


def test_a_flexible_estimate_and_a_joint_reference_become_efforts(planar_3r):
    flexible = FlexibleModel(planar_3r.description, gravity=NO_GRAVITY)
    config = FlexibleControllerConfig(
        law="accelerations", motion=VibrationDampingConfig(400.0, 40.0), check_gains=False
    )
    servo = FlexibleControlStage(FlexibleController(flexible, config))
    stages = [estimator(planar_3r), move(planar_3r), servo]
    run = drive(Pipeline(stages, gate_stage(planar_3r, 50.0)), make_plant(planar_3r), 250)
    assert set(run.ticks[-1].given) == {"reference_generator", "flexible_dynamics_controller"}
    assert np.abs(run.position[-1] - START - MOVE).max() < 0.01
    alone = drive(Pipeline(stages[1:], gate_stage(planar_3r, 50.0)), make_plant(planar_3r), 2)
    assert alone.ticks[-1].joints is None  # the law needs the estimate


def test_a_joint_reference_is_followed_in_the_null_space(planar_3r):
    stages = [move(planar_3r), vibration(planar_3r, task="joint_path")]
    run = drive(Pipeline(stages, gate_stage(planar_3r, 50.0)), make_plant(planar_3r), 200)
    assert np.abs(run.deflection).max() < 1e-5
    assert np.abs(run.position[-1] - START).max() > 0.02


def test_the_solver_turns_a_stream_of_poses_into_joints(planar_3r):
    chain = build_chain(planar_3r.description, planar_3r.tool_frame)
    limits = MotionLimits(chain.lower, chain.upper, chain.velocity_limit, np.full(3, 20.0))
    solver = RedundancyStage(planar_3r, RedundancySolver(chain, limits, RedundancyConfig()))
    servo = wrench(planar_3r, torque_loop=False, base_motion="none")
    run = drive(Pipeline([line(planar_3r), solver, servo], gate_stage(planar_3r, 50.0)), make_plant(planar_3r), 230)
    last = run.ticks[-1]
    assert np.abs(chain.pose(last.given["ik_redundancy_solver"].position)[0] - last.tool.position)[:2].max() < 1e-5
    assert solver.status is not None
    assert np.abs(last.sample.position - last.given["ik_redundancy_solver"].position).max() < 1e-3


def test_what_a_stage_refuses_stops_the_arm_at_once_and_is_said(planar_3r):
    def spoil(sample):
        if 50 <= sample.stamp // 1_000_000 < 60:
            return replace(sample, deflection=np.array([np.nan]))
        return sample

    stages = [line(planar_3r), vibration(planar_3r), wrench(planar_3r, base_motion="none")]
    gate = gate_stage(planar_3r, source="none")
    run = drive(Pipeline(stages, gate), make_plant(planar_3r), 90, spoil)
    assert list(run.ticks[55].refused) == ["rns_vibration_controller"]
    assert run.ticks[55].joints is None  # none of an earlier stage slips through
    assert all(tick.estimate.valid for tick in run.ticks)  # who only observes goes on
    assert gate.gate.status.stops == 1
    assert np.isfinite(run.command).all()
    still = np.abs(np.diff(run.position, axis=0))
    assert still[58].max() < still[49].max()
    assert not run.ticks[-1].refused
    assert np.array_equal(run.command[-1], run.ticks[-1].joints.effort)  # and it recovers


class Defective(Stage):
    """A stage of somebody else behind the vibration controller: for ten samples it fails before it takes its input."""

    name, needs = "defective", frozenset({"joints"})

    def reset(self) -> None:
        pass

    def update(self, tick) -> None:
        if 50 <= tick.stamp // 1_000_000 < 60:
            raise IndexError("list index out of range")


def test_a_stage_that_fails_hides_no_state_from_the_gate_and_lets_nothing_past(planar_3r):
    gate = gate_stage(planar_3r)
    run = drive(Pipeline([line(planar_3r), vibration(planar_3r), Defective()], gate), make_plant(planar_3r), 90)
    assert run.ticks[55].refused == {"defective": "internal error: IndexError: list index out of range"}
    assert run.ticks[55].joints is None and gate.gate.status.stops == 1
    assert np.isfinite(run.command).all() and not run.ticks[-1].refused


def test_a_state_that_the_gate_cannot_use_is_answered_without_measurements(planar_3r):
    gate = gate_stage(planar_3r)
    pipeline = Pipeline([line(planar_3r), vibration(planar_3r)], gate)
    drive(pipeline, make_plant(planar_3r), 5)
    command = pipeline.refuse(5_000_000, "joint state lacks joint2")
    assert np.abs(command).max() < 0.5  # what brakes an arm that hardly moves
    assert gate.gate.status.reason == "joint state lacks joint2"


def test_without_the_reference_that_its_task_needs_a_stage_gives_none_and_the_gate_times_out(planar_3r):
    gate = gate_stage(planar_3r)
    run = drive(Pipeline([vibration(planar_3r)], gate), make_plant(planar_3r), 120)
    assert all(tick.joints is None and not tick.refused for tick in run.ticks)
    assert gate.gate.status.state is GateState.STOPPING
    assert "no joint reference" in gate.gate.status.reason


def test_gains_that_are_unstable_where_the_arm_is_first_seen_are_refused(planar_3r):
    wild = {"vibration_damping": True, "vibration_gain": 1e5}
    stage = vibration(planar_3r, sampling=Sampling(1e-3, 0.0), **wild)
    run = drive(Pipeline([line(planar_3r), stage], gate_stage(planar_3r)), make_plant(planar_3r), 3)
    assert "vibration_gain" in run.ticks[0].refused["rns_vibration_controller"]
    tame = vibration(planar_3r, sampling=Sampling(1e-3, 0.0))
    drive(Pipeline([line(planar_3r), tame], gate_stage(planar_3r)), make_plant(planar_3r), 3)
    before = tame.controller.config
    with pytest.raises(ConfigError, match="vibration_gain"):
        tame.change(VibrationControllerConfig(**wild))
    assert tame.controller.config is before


def test_two_stages_of_one_name_are_refused(planar_3r):
    with pytest.raises(ConfigError, match="names of their own"):
        Pipeline([line(planar_3r), line(planar_3r)], gate_stage(planar_3r))


class Unrehearsed(Stage):
    """A stage with a function that nobody has compiled."""

    name = "unrehearsed"

    def reset(self):
        pass

    def update(self, tick):
        njit(lambda x: x + 1)(tick.stamp)


def test_against_the_clock_a_stage_that_would_have_something_compiled_is_refused(planar_3r):
    stages = [move(planar_3r), vibration(planar_3r, task="joint_path"), Unrehearsed()]
    pipeline = Pipeline(stages, gate_stage(planar_3r))
    sample = FlexibleSample(0, START, np.zeros(3), np.zeros(3), np.zeros(1), np.zeros(1))
    assert pipeline.tick(sample).refused == {}
    pipeline.refuses_compilation = True
    tick = pipeline.tick(replace(sample, stamp=1_000_000))
    assert "CompilationError" in tick.refused["unrehearsed"] and "flexarm_sim.warm" in tick.refused["unrehearsed"]
    assert tick.command is not None  # of the other stages, which go on
    njit(lambda x: x + 2)(1)  # allowed again
