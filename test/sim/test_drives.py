"""Drives: effort passes, velocity and position are followed with the stated bandwidth on any arm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from flexarm_core.errors import ConfigError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_sim.backends import make_backend
from flexarm_sim.drives import DriveConfig
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig

BANDWIDTH = 50.0  # [rad/s]


def plant(robot: Any, mode: str, **options: Any) -> Plant:
    drive = DriveConfig(mode, BANDWIDTH, options.pop("clip_effort", False), options.pop("period", 0.001))
    return Plant(robot, MujocoBackend(robot), PlantConfig(drive=drive, **options))


@pytest.fixture(params=["planar_3r", "trep", "tree"])
def robot(request: Any, repository_robot: Any, spatial_tree: Any) -> Any:
    """Arms on soft bases, light and heavy, with every kind of joint."""
    return spatial_tree(1) if request.param == "tree" else repository_robot(request.param)


def test_an_effort_command_reaches_the_joints_unchanged(robot: Any) -> None:
    arm = plant(robot, "effort")
    command = np.arange(1.0, len(arm.joint_names) + 1)
    arm.advance(command)
    assert np.array_equal(arm.state().effort, command)


def test_every_joint_follows_a_velocity_step_as_a_first_order_lag(robot: Any) -> None:
    arm = plant(robot, "velocity")
    command = 0.2 * np.linspace(-1, 1, len(arm.joint_names))
    for tick in range(1, 201):
        arm.advance(command)
        lag = command * (1 - np.exp(-BANDWIDTH * tick * 0.001))
        assert np.allclose(arm.state().velocity, lag, rtol=0.0, atol=0.03 * 0.2)
    assert np.allclose(arm.state().velocity, command, rtol=0.0, atol=2e-3 * 0.2)


def test_every_joint_follows_a_position_step_critically_damped(robot: Any) -> None:
    arm = plant(robot, "position")
    command = 0.1 * np.linspace(-1, 1, len(arm.joint_names))
    for tick in range(1, 301):
        arm.advance(command)
        phase = BANDWIDTH * tick * 0.001
        step = command * (1 - (1 + phase) * np.exp(-phase))
        assert np.allclose(arm.state().position, step, rtol=0.0, atol=0.04 * 0.1)
    assert np.allclose(arm.state().position, command, rtol=0.0, atol=2e-3 * 0.1)


def test_a_position_ramp_is_followed_two_over_the_bandwidth_late(repository_robot: Any) -> None:
    arm = plant(repository_robot("trep"), "position")
    rate = np.array([0.3, -0.2])
    for tick in range(400):
        arm.advance(rate * tick * 0.001)
    lag = (rate * arm.stamp * 1e-9 - arm.state().position) / rate
    assert lag == pytest.approx(2.0 / BANDWIDTH, abs=0.0016)  # and one and a half ticks of hold


def test_the_arm_hangs_still_in_gravity_from_the_first_instant(spatial_tree: Any) -> None:
    for mode in ("position", "velocity"):
        arm = plant(spatial_tree(2), mode)
        assert np.allclose(arm.state().acceleration, 0.0, atol=1e-9)
        for _ in range(100):
            arm.advance()
        assert np.allclose(arm.state().position, 0.0, atol=1e-3)  # the soft base sags under it and swings


def test_a_velocity_drive_overcomes_dry_friction_without_lasting_error(one_joint: Any) -> None:
    arm = plant(one_joint(kind="prismatic", dynamics='<dynamics friction="20"/>'), "velocity")
    for _ in range(500):
        arm.advance([0.1])
    assert arm.state().velocity[0] == pytest.approx(0.1, rel=1e-3)


@pytest.mark.parametrize("mode", ["effort", "velocity", "position"])
def test_efforts_are_cut_at_the_limits_only_when_asked(one_joint: Any, mode: str) -> None:
    command = {"effort": 100.0, "velocity": 50.0, "position": 10.0}[mode]
    for clip in (False, True):
        arm = plant(one_joint(kind="prismatic"), mode, clip_effort=clip)
        arm.advance([command])
        effort = arm.state().effort[0]
        assert effort == 5.0 if clip else effort > 50.0


def test_a_saturated_velocity_drive_does_not_wind_up(one_joint: Any) -> None:
    """5 N on 3 kg reach 1 m/s in 0.6 s; once there the drive must not overshoot to make up for lost way."""
    arm = plant(one_joint(kind="prismatic"), "velocity", clip_effort=True)
    fastest = 0.0
    for _ in range(1000):
        arm.advance([1.0])
        fastest = max(fastest, arm.state().velocity[0])
    assert fastest < 1.01
    assert arm.state().velocity[0] == pytest.approx(1.0, rel=1e-3)


def test_the_servo_keeps_its_rate_when_the_tick_is_long(repository_robot: Any) -> None:
    """At 250 Hz the servo still updates every millisecond: the same motion as with ticks of 1 ms."""
    robot = repository_robot("planar_3r")
    slow, fast = plant(robot, "position", period_ns=4_000_000), plant(robot, "position")
    command = [0.1, -0.2, 0.1]
    for _ in range(50):
        slow.advance(command)
        for _ in range(4):
            fast.advance(command)
    assert slow.stamp == fast.stamp
    assert np.array_equal(slow.state().position, fast.state().position)


@pytest.mark.parametrize("engine", ["mujoco", "flexible_dynamics"])
def test_the_swing_of_the_base_while_the_joints_give_way(repository_robot: Any, engine: str) -> None:
    """The inverse mass matrix has the inertia of the base with its joints free."""
    robot = repository_robot("planar_3r")
    position = np.array([0.3, -0.7, 0.5])
    backend = make_backend(engine, robot, tool_frame="", max_step=0.00025, friction=None)
    backend.reset(position)
    model = ArmModel(robot, "tool0")
    blocks = model.blocks(ArmState(0, position, np.zeros(3), np.zeros(model.m), np.zeros(model.m)))
    free = blocks.H_b - blocks.H_bm @ np.linalg.solve(blocks.H_m, blocks.H_bm.T)
    squares = np.linalg.eigvals(np.linalg.solve(free, model.K_b)).real
    assert backend.base_frequency() == pytest.approx(np.sqrt(squares.max()), rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "torque"}, "mode 'torque' is unknown; modes: effort, velocity, position"),
        ({"bandwidth": 0.0}, "bandwidth is 0.0"),
        ({"period": float("nan")}, "period is nan"),
        ({"mode": "position", "bandwidth": 800.0}, "at most 500 rad/s"),
    ],
)
def test_impossible_drives_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DriveConfig(**arguments)
