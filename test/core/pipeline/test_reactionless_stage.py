"""The velocity law in a pipeline: at a posture, along a path, and where it cannot set out."""

from __future__ import annotations

import numpy as np
import pytest
import robots
from pipeline_run import drive, gate_stage

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.pipeline.pipeline import Pipeline
from flexarm_core.pipeline.reactionless_stage import ReactionlessStage, ReactionlessTask
from flexarm_core.reaction_null_space.reactionless.path_motion import PathMotionConfig
from flexarm_core.reaction_null_space.reactionless.trace import trace
from flexarm_core.reaction_null_space.reactionless.velocity_law import VelocityLawConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_sim.backends import make_backend
from flexarm_sim.drives import DriveConfig
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.pushes import Push

START = np.radians([90.0, 0.0])
LAW = VelocityLawConfig(vibration_gain=24.0, momentum_gain=20.0, path_gain=20.0)
HALF = 3.196990395084  # [rad] of the path through START


@pytest.fixture(scope="module")
def trep() -> ArmModel:
    return ArmModel(
        parse_robot_description(load_robot_description(robots.URDF / "trep.urdf.xacro")), gravity=(0.0, 0.0, 0.0)
    )


def run_of(model, stage, count, *pushes):
    backend = make_backend("mujoco", model.description, gravity=(0.0, 0.0, 0.0))
    config = PlantConfig(initial_position=tuple(START), drive=DriveConfig("velocity"), pushes=pushes)
    plant = Plant(model.description, backend, config)
    return drive(Pipeline([stage], gate_stage(model, 500.0, command_mode="velocity")), plant, count)


def test_at_a_posture_a_hit_on_the_base_is_damped_and_the_arm_comes_back(trep):
    hit = Push("base_link", 0.05, 0.05, (5.0, 0.0, 0.0), shape="half_sine")
    damped = run_of(trep, ReactionlessStage(trep, LAW, ReactionlessTask(posture=START)), 2500, hit)
    bare = VelocityLawConfig(vibration_gain=0.0, momentum_gain=0.0, path_gain=20.0)
    swinging = run_of(trep, ReactionlessStage(trep, bare, ReactionlessTask(posture=START)), 2500, hit)
    assert not any(tick.refused for tick in damped.ticks)
    late = slice(1700, None)
    assert np.abs(damped.deflection[late]).max() < 0.5 * np.abs(swinging.deflection[late]).max()
    assert np.abs(damped.position[-1] - START).max() < 0.05
    assert damped.ticks[-1].reaction.vibration_damping
    assert not swinging.ticks[-1].reaction.vibration_damping


def test_along_its_path_the_arm_moves_far_and_the_base_stays_quiet(trep):
    motion = PathMotionConfig(span=(0.0, 0.5 * HALF), duration=1.0)
    stage = ReactionlessStage(trep, LAW, ReactionlessTask(motion=motion))  # traced at the first sample
    run = run_of(trep, stage, 1300)
    assert not any(tick.refused for tick in run.ticks)
    assert stage.finished
    assert np.abs(run.position[-1] - START).max() > 0.5
    assert np.abs(run.position[-1] - stage.wanted.position).max() < 0.02
    assert np.abs(run.deflection).max() < 2e-3
    stage.reset()
    assert stage.path is None and stage.wanted is None


def test_gains_that_are_unstable_are_refused_where_the_path_is_known_and_at_the_first_sample_else(trep):
    wild = VelocityLawConfig(vibration_gain=5000.0)
    path = trace(trep, START)
    with pytest.raises(ConfigError, match="unstable"):
        ReactionlessStage(trep, wild, ReactionlessTask(motion=PathMotionConfig(), path=path))
    run = run_of(trep, ReactionlessStage(trep, wild, ReactionlessTask()), 2)
    assert "unstable" in run.ticks[0].refused["reactionless_path_controller"]
    assert run.ticks[0].joints is None
    stage = ReactionlessStage(trep, LAW, ReactionlessTask(posture=START))
    with pytest.raises(ConfigError, match="unstable"):
        stage.change(wild)
    assert stage.law.config == LAW


def test_an_arm_away_from_where_the_path_begins_is_told_so(trep):
    path = trace(trep, START)
    stage = ReactionlessStage(trep, LAW, ReactionlessTask(motion=PathMotionConfig(span=(1.0, 2.0)), path=path))
    run = run_of(trep, stage, 2)
    assert "from where the path begins" in run.ticks[0].refused["reactionless_path_controller"]


def test_a_motion_that_its_path_does_not_allow_is_refused_at_once(trep):
    path = trace(trep, START)
    hasty = PathMotionConfig("constant_rate", span=(0.0, 0.1), speed=1.0, blend_time=5.0)
    with pytest.raises(FlexarmError, match="blend"):
        ReactionlessStage(trep, LAW, ReactionlessTask(motion=hasty, path=path))
