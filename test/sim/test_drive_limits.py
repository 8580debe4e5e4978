"""Drives at their limits: whatever is commanded, the arm does not run away, and it stops when commands stay away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from drive_cases import draw_case, has_fallen, run_case

from flexarm_sim.backend import PlantDivergedError
from flexarm_sim.drives import DriveConfig
from flexarm_sim.mujoco.backend import MujocoBackend
from flexarm_sim.plant import Plant, PlantConfig
from flexarm_sim.pushes import Push

START = np.array([0.0, 0.0, 0.0, -0.3, 0.0, 0.0, 0.0])


def seven_joints(repository_robot: Any, mode: str, **options: Any) -> Plant:
    robot = repository_robot("arm_7r")
    drive = DriveConfig(mode, clip_effort=True, command_timeout=options.pop("command_timeout", 0.0))
    config = PlantConfig(**{"initial_position": tuple(START), "drive": drive, **options})
    return Plant(robot, MujocoBackend(robot, max_step=0.001), config)


def speed_ratio(plant: Plant, robot: Any) -> float:
    limits = [robot.joints[name].velocity_limit for name in plant.joint_names]
    return float((np.abs(plant.state().velocity) / limits).max())


LATE = (58, 98, 174, 186)  # long ways, weak motors, friction: still on their way 3 s after the last command
RUNG = (69, 5063)  # bases whose swing a compensation that is late, or too seldom, drives, as those of LONG
HELD_UP = (208, 236, 7454)  # friction against the velocity limits; a weak joint at its limit while the others brake
FALLS = (7344, 7389)  # sliding joints too heavy for their motors, with long ways to go
WHIP = 262  # thrown, with slow and light links at its end


LONG = [
    pytest.param(seed, marks=pytest.mark.long) for seed in (3, 4, 5, *LATE[1:], RUNG[1], *HELD_UP[1:], 45, 79, 252, 266)
]


@pytest.mark.parametrize("seed", [*range(3), LATE[0], RUNG[0], HELD_UP[0], *LONG])
def test_no_command_makes_an_arm_run_away(seed: int) -> None:
    """Random arms, springs, friction, bandwidths, rates, commands; the long form is ``benchmark/plant_drives.py``."""
    case = draw_case(seed)
    outcome = run_case(case)
    assert not outcome.diverged, case.words
    assert outcome.speed_ratio < (1.5 if case.calm else 20.0), case.words


def test_an_arm_that_is_kept_from_rest_is_seen() -> None:
    case = draw_case(5)
    assert case.mode == "velocity" and run_case(replace(case, last=0.5 * case.limits)).diverged


@pytest.mark.long
def test_an_arm_that_is_thrown_folds_like_a_whip_comes_to_rest_and_is_not_taken_to_diverge() -> None:
    """One joint reaches 158 times its own velocity limit, and never has the arm more energy than it was thrown with."""
    case = draw_case(WHIP)

    def energy() -> float:
        velocity = case.plant.state().velocity
        return float(0.5 * velocity @ case.backend.joint_dynamics()[0] @ velocity)

    thrown, fastest = energy(), 0.0
    for command in case.commands:
        case.plant.advance(command)
        assert energy() <= thrown
        fastest = max(fastest, float((np.abs(case.plant.state().velocity) / case.limits).max()))
    assert fastest > 100.0
    assert not run_case(draw_case(WHIP)).diverged


@pytest.mark.parametrize("seed", FALLS)
def test_a_sliding_joint_too_heavy_for_its_motor_falls_braked_and_is_not_taken_to_diverge(seed: int) -> None:
    case = draw_case(seed)
    assert not run_case(case).diverged, case.words
    weight, effort = case.backend.gravity_effort(), case.plant.state().effort
    falls = np.abs(weight) > case.efforts
    assert falls.any() and has_fallen(case)
    assert np.array_equal(effort[falls], (np.sign(weight) * case.efforts)[falls])


def test_a_slow_joint_is_not_pushed_off_its_target_by_the_demand_for_one_that_sticks() -> None:
    """The effort for the acceleration that joint 0 is kept from by friction pushes joint 1, which may be slow only."""
    case = draw_case(7454)
    for command in (*case.commands, *[case.last] * 250):
        case.plant.advance(command)
    assert np.allclose(case.plant.state().position, case.last, atol=0.01)


@pytest.mark.parametrize("step", [0.05, 0.1, 0.3, 3.0])
def test_a_position_step_beyond_the_efforts_is_reached_within_all_limits(repository_robot: Any, step: float) -> None:
    robot = repository_robot("arm_7r")
    plant = seven_joints(repository_robot, "position", period_ns=20_000_000)
    limits = np.array([robot.joints[name].effort_limit for name in plant.joint_names])
    target = START + step * np.array([1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0])
    way = np.abs(target - START).max()
    for _ in range(200):
        plant.advance(target)
        assert speed_ratio(plant, robot) < 1.02
        assert (np.abs(plant.state().effort) <= limits).all()
        assert np.abs(plant.state().position - START).max() < 1.02 * way  # it does not overshoot
    assert np.allclose(plant.state().position, target, atol=1e-6)


@pytest.mark.parametrize("mode", ["position", "velocity"])
def test_a_soft_drive_that_is_pushed_yields_and_comes_back_within_the_velocity_limits(
    repository_robot: Any, mode: str
) -> None:
    robot = repository_robot("arm_7r")
    push = Push("tool0", 0.05, 0.2, (60.0, 0.0, 0.0))
    drive = DriveConfig(mode, 20.0, clip_effort=True)
    plant = seven_joints(repository_robot, mode, drive=drive, pushes=(push,))
    command = START if mode == "position" else np.zeros(7)
    for _ in range(2500):
        plant.advance(command)
        assert speed_ratio(plant, robot) < (2.0 if plant.stamp <= push.end else 1.02)
    assert np.allclose(plant.state().velocity, 0.0, atol=1e-3)
    assert mode == "velocity" or np.allclose(plant.state().position, START, atol=1e-3)


def test_what_the_motors_can_do_is_followed_as_if_there_were_no_limits(repository_robot: Any) -> None:
    robot = repository_robot("arm_7r")
    plants = [
        Plant(robot, MujocoBackend(robot), PlantConfig(drive=DriveConfig("position", 50.0, clip)))
        for clip in (False, True)
    ]
    for tick in range(200):
        for plant in plants:
            plant.advance(0.3 * np.sin(2e-3 * tick) * np.ones(7))
    assert np.array_equal(plants[0].state().position, plants[1].state().position)


@pytest.mark.parametrize("mode", ["effort", "velocity", "position"])
def test_without_commands_the_brakes_hold_the_arm_from_the_first_instant(repository_robot: Any, mode: str) -> None:
    plant = seven_joints(repository_robot, mode)
    assert np.allclose(plant.state().acceleration, 0.0, atol=1e-9)
    for _ in range(300):
        plant.advance()
    assert plant.braking
    assert np.allclose(plant.state().position, START, atol=1e-6)


@pytest.mark.parametrize("mode", ["effort", "velocity", "position"])
def test_commands_that_stay_away_stop_the_arm_where_it_is(repository_robot: Any, mode: str) -> None:
    robot = repository_robot("arm_7r")
    plant = seven_joints(repository_robot, mode, command_timeout=0.05)
    effort = plant.state().effort
    commands = {
        "effort": effort + np.array([2.0, 2.0, 2.0, 2.0, 0.0, 0.0, 0.0]),
        "velocity": 0.5 * np.ones(7),
        "position": START + 0.8,
    }
    for _ in range(200):
        plant.advance(commands[mode])
    assert np.abs(plant.state().velocity).max() > 0.3
    for _ in range(49):
        plant.advance()
    assert not plant.braking  # the last command still counts
    plant.advance()
    assert plant.braking and plant.command_timeouts == 1
    begin, fastest = plant.state().position, max(1.0, speed_ratio(plant, robot))
    for _ in range(600):
        plant.advance()
        assert speed_ratio(plant, robot) < 1.1 * fastest
    stopped = plant.state().position
    assert np.allclose(plant.state().velocity, 0.0, atol=1e-3)
    assert np.abs(stopped - begin).max() < 0.3 * fastest
    for _ in range(300):
        plant.advance()
    assert np.allclose(plant.state().position, stopped, atol=1e-3)
    plant.advance(commands[mode])
    assert not plant.braking  # the next command is obeyed


def test_a_paused_or_short_gap_is_no_timeout(repository_robot: Any) -> None:
    plant = seven_joints(repository_robot, "velocity", command_timeout=0.05)
    for _ in range(10):
        plant.advance(np.zeros(7))
        for _ in range(49):
            plant.advance()
    assert plant.command_timeouts == 0


def test_speeds_that_no_arm_has_end_the_simulation_with_the_name_of_the_joint(one_joint: Any) -> None:
    """3 kg under 1e6 N: 100 times the limit of 9 m/s after 2.7 ms."""
    robot = one_joint(kind="prismatic")
    plant = Plant(robot, MujocoBackend(robot), PlantConfig())
    with pytest.raises(PlantDivergedError, match=r"diverged at 0\.00\d s: joint 'joint' moves at"):
        for _ in range(10):
            plant.advance([1e6])


def test_fast_motion_is_no_divergence(repository_robot: Any) -> None:
    """An unpowered arm that falls and swings is faster than its motors ever are."""
    robot = repository_robot("arm_7r")
    plant = seven_joints(repository_robot, "effort", initial_position=(0.3,) * 7)
    fastest = 0.0
    for _ in range(3000):
        plant.advance(np.zeros(7))
        fastest = max(fastest, speed_ratio(plant, robot))
    assert fastest > 3.0
