"""Plans: from start to goal within limits, without reaction in MuJoCo, refused with a reason where there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from ideal_joints import IdealJoints
from planned_arms import URDF, boom_motions, planar_motions
from scipy.interpolate import BSpline

from flexarm_core.errors import ConfigError, InputError
from flexarm_core.path.joint_trajectory import JointTrajectory
from flexarm_core.reaction_null_space.planning.plan import loads_along, peak_energy, plan_along
from flexarm_core.reaction_null_space.planning.plan_file import load_plan, save_plan
from flexarm_core.reaction_null_space.planning.planner import (
    NoQuietMotionError,
    ReactionPlanner,
    ReactionPlannerConfig,
)
from flexarm_core.reaction_null_space.reactionless.path import JointMotion
from flexarm_core.reaction_null_space.reactionless.resolved_line import resolved_line
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description

START, GOAL = np.array([0.69, -0.14, 0.60]), np.array([0.68, 0.36, 0.57])  # [m], 0.5 m apart
DURATION = 4.0  # [s]
QUICK = ReactionPlannerConfig(samples=100, starts=8, bends=4, rounds=1)


@pytest.fixture(scope="module")
def boom():
    motions = boom_motions()
    return motions, ReactionPlanner(motions, QUICK).plan(START, GOAL, DURATION)


def judged(plan):
    """MuJoCo's reaction along a plan (t, m), joints moving exactly as planned."""

    def at(robot, time):
        wanted = trajectory.sample(0, time)
        return robot.reaction(JointMotion(wanted.position, wanted.velocity, wanted.acceleration))

    trajectory = plan.trajectory()
    return lambda robot: np.array([at(robot, time) for time in np.linspace(0.0, plan.duration, 41)])


def test_a_plan_of_half_a_meter_goes_from_start_to_goal_from_rest_to_rest(boom):
    motions, plan = boom
    assert (
        np.linalg.norm(plan.tool_positions[0] - START) < 1e-4 and np.linalg.norm(plan.tool_positions[-1] - GOAL) < 1e-4
    )
    for rows in (plan.velocities, plan.accelerations):
        assert np.abs(rows[[0, -1]]).max() < 1e-9
    for q, tool in zip(plan.positions[::50], plan.tool_positions[::50], strict=True):
        assert np.allclose(motions.tool(q)[0], tool)


def test_a_plan_keeps_every_limit(boom):
    model, plan = boom[0].model, boom[1]
    assert (plan.positions >= model.lower).all() and (plan.positions <= model.upper).all()
    assert (np.abs(plan.velocities) <= model.velocity_limit).all()
    assert np.abs(plan.accelerations).max() <= ReactionPlannerConfig().acceleration_limit


def slow_energy(model, reactions):
    """Largest energy that reactions (t, m) would store if they were slow [J]."""
    return 0.5 * float((reactions**2 / np.diag(model.K_b)).sum(axis=1).max())


def test_mujoco_sees_next_to_no_reaction_in_any_direction(boom):
    """A hundredth of what leads the tool straight by resolved acceleration, stiff directions and soft ones together."""
    motions, plan = boom
    found = judged(plan)(IdealJoints(motions.model.description.text))
    straight = np.sqrt(plan.straight_energy)
    assert np.sqrt(slow_energy(motions.model, found)) < 0.01 * straight
    assert plan.deflection_ratio < 0.01 and plan.peak_reaction < 0.01 * np.sqrt(2.0) * straight


def test_along_the_straight_line_only_the_soft_directions_are_quiet():
    """Tool straight, three soft motions at rest: none is left for the stiff directions, where the momentum goes."""
    motions = boom_motions()
    planner = ReactionPlanner(motions, ReactionPlannerConfig(samples=60, variations=20))
    plan = planner.plan(START, START + 0.4 * (GOAL - START), 0.4 * DURATION, straight=True)
    way = plan.tool_positions - START
    along = (GOAL - START) / np.linalg.norm(GOAL - START)
    assert plan.kind == "line" and np.abs(way - np.outer(way @ along, along)).max() < 1e-4
    found = judged(plan)(IdealJoints(motions.model.description.text))
    assert np.abs(found[:, [1, 2, 3]]).max() < 0.05 * np.abs(found[:, [0, 4, 5]]).max()
    assert plan.peak_reaction < 0.01 * np.sqrt(2.0 * plan.straight_energy) and plan.deflection_ratio < 0.05


def test_what_weight_does_to_the_base_is_planned_for():
    """On earth a moved arm loads the base otherwise than before: MuJoCo's forces, less those at the start."""
    gravity = (0.0, 0.0, -9.81)
    motions = boom_motions(gravity)
    plan = ReactionPlanner(motions, QUICK).plan(START, GOAL, DURATION)
    found = judged(plan)(IdealJoints(motions.model.description.text, gravity))
    size = np.sqrt(slow_energy(motions.model, found - found[0]))
    assert plan.deflection_ratio < 0.01
    assert size == pytest.approx(np.sqrt(plan.peak_energy), rel=0.3), "the base follows so slow a load"


def test_where_the_base_is_to_be_damped_the_start_is_well_conditioned(boom):
    motions, plan = boom
    good = ReactionPlanner(motions, replace(QUICK, least_conditioning=0.02)).plan(START, GOAL, DURATION)
    assert good.coupling_conditioning[0] > 0.0195 > plan.coupling_conditioning[0]


def test_the_predicted_energy_is_that_of_mujoco():
    """Joints that shake the base, moving exactly as told, MuJoCo's equations for the base."""
    planar = planar_motions()
    path = resolved_line(planar, np.array([1.0, -1.0, -1.0]), np.array([-0.3, 0.0]))
    plan = plan_along(planar, "line", path, 2.0, 0.0)
    trajectory = plan.trajectory()

    def motion(time: float) -> JointMotion:
        wanted = trajectory.sample(0, time)
        return JointMotion(wanted.position, wanted.velocity, wanted.acceleration)

    deflections = IdealJoints(planar.model.description.text).deflection(motion, 3.0, 0.005)
    assert peak_energy(planar.model, deflections) == pytest.approx(plan.peak_energy, rel=0.1)


@pytest.mark.parametrize("duration", [0.5, 0.7])
def test_the_weight_that_has_moved_keeps_its_load_on_the_base_after_the_motion(duration):
    """A base that turns: it swings about the equilibrium at the goal, not back to that at the start."""
    gravity, start, goal = (0.0, -1.0, 0.0), np.array([0.5, 0.0, 0.3, 0.3]), np.array([0.6, 0.0, 0.3, 0.3])
    model = ArmModel(load_robot_description(URDF / "wheel_3r.urdf.xacro"), gravity=gravity)
    straight = BSpline(np.repeat([0.0, 1.0], 4), np.linspace(start, goal, 4), 3)
    moved = loads_along(model, straight, duration)
    trajectory = JointTrajectory(
        moved.positions[0], moved.times.tolist(), moved.positions, moved.velocities, moved.accelerations
    )

    def motion(time: float) -> JointMotion:
        wanted = trajectory.sample(0, time)
        return JointMotion(wanted.position, wanted.velocity, wanted.acceleration)

    robot = IdealJoints(model.description.text, gravity)
    rest = robot.equilibrium(motion(0.0), model.K_b)
    deflections = robot.deflection(motion, duration + 1.0, 0.005, rest) - rest
    assert moved.peak_energy == pytest.approx(peak_energy(model, deflections), rel=0.1)


def test_an_arm_without_a_joint_to_spare_is_planned_for():
    planar = planar_motions()
    planner = ReactionPlanner(planar, ReactionPlannerConfig(samples=40, starts=8, rounds=0))
    plan = planner.plan(np.array([1.5, 0.2, 0.0]), np.array([1.2, 0.2, 0.0]), 4.0)
    assert np.sqrt((plan.reactions**2).sum(axis=1).mean()) < 1e-4 * np.sqrt(plan.straight_energy)
    assert np.abs(judged(plan)(IdealJoints(planar.model.description.text))).max() < 1e-3


def test_samples_are_twice_continuously_differentiable(boom):
    plan = boom[1]
    trajectory, time, step = plan.trajectory(), 1.2345, 1e-4
    before, at, after = (trajectory.sample(7, time + shift) for shift in (-step, 0.0, step))
    assert at.stamp == 7
    assert np.allclose((after.position - before.position) / (2.0 * step), at.velocity, atol=1e-6)
    assert np.allclose((after.velocity - before.velocity) / (2.0 * step), at.acceleration, atol=1e-5)
    knots = [trajectory.sample(0, time).acceleration for time in (1.0 - 1e-9, 1.0 + 1e-9)]
    assert np.allclose(*knots, atol=1e-5)
    assert np.array_equal(plan.sample(0, 99.0).position, plan.positions[-1])


def test_a_plan_starts_from_a_given_posture(boom):
    motions, plan = boom
    posture = plan.positions[0]
    again = ReactionPlanner(motions, QUICK).plan(START, GOAL, DURATION, posture)
    assert np.allclose(again.positions[0], posture, atol=1e-6) and again.deflection_ratio < 0.05


def test_what_cannot_be_planned_is_refused_with_the_reason(boom):
    motions, plan = boom
    planner = ReactionPlanner(motions, ReactionPlannerConfig(samples=20, starts=2, rounds=0, variations=0))
    posture = plan.positions[0]
    for wrong, message in (
        ((START, GOAL, 0.0), "duration"),
        ((START, START, 4.0), "nothing to plan"),
        ((START, np.array([5.0, 0.0, 0.0]), 4.0), "out of reach"),
        ((START, GOAL, 0.2), r"would need a joint faster than its limit in 0.2 s"),
        ((START, GOAL, 0.2, None, True), r"straight lines .* would need a joint faster than its limit in 0.2 s"),
        ((START, GOAL, 4.0, posture[:3]), "expected 7"),
        ((START, GOAL, 4.0, posture - 0.1 * np.sign(posture)), "away from the start position"),
        ((START, GOAL, 4.0, np.where(np.arange(7) == 1, 2.0, posture)), "joint 'shoulder_pitch' of the start posture"),
    ):
        with pytest.raises(InputError, match=message):
            planner.plan(*wrong)
    with pytest.raises(NoQuietMotionError, match="leaves .* of resolved acceleration's deflection, allowed is 1e-09"):
        ReactionPlanner(motions, replace(QUICK, rounds=0, largest_ratio=1e-9)).plan(START, GOAL, 4.0)
    for wrong in ({"largest_ratio": -1.0}, {"starts": 0}, {"least_conditioning": -0.1}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            ReactionPlannerConfig(**wrong)


def test_what_is_read_is_what_was_written(boom, tmp_path):
    motions, plan = boom
    save_plan(plan, tmp_path / "plan.npz", "boom_7r")
    again = load_plan(tmp_path / "plan.npz", motions.model)
    assert np.array_equal(again.positions, plan.positions) and again.kind == plan.kind
    assert again.deflection_ratio == plan.deflection_ratio
    assert np.array_equal(again.sample(0, 1.7).acceleration, plan.sample(0, 1.7).acceleration)
    with pytest.raises(ConfigError, match="is of the robot boom_7r, not of planar_3r"):
        load_plan(tmp_path / "plan.npz", planar_motions().model)
    save_plan(replace(plan, positions=plan.positions + 9.0), tmp_path / "plan.npz", "boom_7r")
    with pytest.raises(ConfigError, match="leaves the limits of joint 'shoulder_yaw'"):
        load_plan(tmp_path / "plan.npz", motions.model)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_plan(tmp_path / "none.npz", motions.model)
    save_plan(replace(plan, times=np.array(3.0)), tmp_path / "plan.npz", "boom_7r")
    with pytest.raises(ConfigError, match="times must rise"):
        load_plan(tmp_path / "plan.npz", motions.model)
