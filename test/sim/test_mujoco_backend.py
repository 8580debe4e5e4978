"""The MuJoCo backend against closed forms, Pinocchio and the conservation laws."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
import pytest

from flexarm_core.errors import ConfigError, InputError, RobotDescriptionError
from flexarm_core.types import Array
from flexarm_sim.backend import Backend, PlantDivergedError, PlantState
from flexarm_sim.mujoco.backend import MujocoBackend

ROBOTS = ("planar_3r", "trep", "tree-1", "tree-2")
TILTED_GRAVITY = (1.0, -2.0, -9.0)


@pytest.fixture(params=ROBOTS)
def robot(request: Any, repository_robot: Any, spatial_tree: Any) -> Any:
    """Every robot that the general laws are tried on."""
    name = request.param
    return spatial_tree(int(name[5:])) if name.startswith("tree") else repository_robot(name)


def random_state(backend: Backend, draw: np.random.Generator) -> None:
    n, m = len(backend.joint_names), len(backend.elastic_joint_names)
    backend.reset(
        draw.uniform(-2, 2, n), draw.uniform(-3, 3, n), draw.uniform(-0.1, 0.1, m), draw.uniform(-1, 1, m),
        draw.uniform(-20, 20, n),
    )  # fmt: skip


def random_push(robot: Any, backend: Backend, draw: np.random.Generator) -> dict[str, Array]:
    link = draw.choice([name for name in robot.links if name != robot.root])
    wrench = draw.uniform(-10, 10, 6)
    backend.set_external_wrench(link, wrench)
    return {str(link): wrench}


def test_accelerations_are_those_of_pinocchio(robot: Any, newton_euler: Any) -> None:
    """MuJoCo applies spring, damper, motor and push as pinocchio.aba does when given them as forces."""
    backend, reference = MujocoBackend(robot, gravity=TILTED_GRAVITY), newton_euler(robot, TILTED_GRAVITY)
    draw = np.random.default_rng(1)
    for _ in range(200):
        random_state(backend, draw)
        pushes = random_push(robot, backend, draw)
        state = backend.state()
        arm, base = reference.acceleration(state, pushes)
        scale = 1.0 + np.abs(np.concatenate([arm, base])).max()
        assert np.allclose(state.acceleration, arm, rtol=0.0, atol=1e-9 * scale)
        assert np.allclose(state.deflection_acceleration, base, rtol=0.0, atol=1e-9 * scale)


def test_force_torque_sensors_read_the_wrench_of_the_child_side_on_the_parent_side(
    robot: Any, newton_euler: Any
) -> None:
    """Momentum balance of everything outboard of the sensor, gravity, motors and pushes included; 200 random states."""
    backend, reference = MujocoBackend(robot, gravity=TILTED_GRAVITY), newton_euler(robot, TILTED_GRAVITY)
    draw = np.random.default_rng(2)
    assert robot.force_torque_sensors
    for _ in range(200):
        random_state(backend, draw)
        pushes = random_push(robot, backend, draw)
        state = backend.state()
        for name, sensor in robot.force_torque_sensors.items():
            expected = reference.sensor_wrench(state, sensor.frame, pushes)
            assert np.allclose(state.wrenches[name], expected, rtol=0.0, atol=1e-9 * (1.0 + np.abs(expected).max()))


def test_sensor_on_a_moving_joint_reads_minus_the_joint_force_of_rnea(spatial_tree: Any, newton_euler: Any) -> None:
    """Pinocchio's data.f is what the parent exerts on the child, in the child's joint frame."""
    robot = spatial_tree(3)
    backend, reference = MujocoBackend(robot), newton_euler(robot)
    draw = np.random.default_rng(3)
    for _ in range(50):
        random_state(backend, draw)
        state = backend.state()
        q, v = reference.coordinates(state)
        pinocchio.rnea(reference.model, reference.data, q, v, reference.generalized_acceleration(state))
        for sensor, joint in (("elbow", "a2"), ("root", "soft_slide")):
            force = reference.data.f[reference.model.getJointId(joint)]
            expected = -np.concatenate([force.linear, force.angular])
            assert np.allclose(state.wrenches[sensor], expected, rtol=0.0, atol=1e-9 * (1.0 + np.abs(expected).max()))


def test_an_arm_at_rest_presses_on_its_sensor_with_its_weight(repository_robot: Any) -> None:
    state = MujocoBackend(repository_robot("planar_3r")).state()
    weight = 30.0 * 9.81
    # center of mass 1.5 m along x: the weight turns about +y
    assert np.allclose(state.wrenches["base_ft_sensor"], [0, 0, -weight, 0, 1.5 * weight, 0], atol=1e-9)


def test_tool_pose_and_twist_are_those_of_pinocchio(robot: Any, newton_euler: Any) -> None:
    tool = "tool0"
    backend, reference = MujocoBackend(robot), newton_euler(robot)
    model, data = reference.model, reference.data
    draw = np.random.default_rng(4)
    for _ in range(50):
        random_state(backend, draw)
        state = backend.state()
        pinocchio.forwardKinematics(model, data, *reference.coordinates(state))
        pinocchio.updateFramePlacements(model, data)
        placement = data.oMf[model.getFrameId(tool)]
        relative = data.oMf[model.getFrameId(robot.base_frame)].inverse() * placement
        twist = pinocchio.getFrameVelocity(model, data, model.getFrameId(tool), pinocchio.LOCAL_WORLD_ALIGNED).vector
        assert np.allclose(state.tool_position_in_world, placement.translation, atol=1e-12)
        assert np.allclose(state.tool_rotation_in_world, placement.rotation, atol=1e-12)
        assert np.allclose(state.tool_position_in_base, relative.translation, atol=1e-12)
        assert np.allclose(state.tool_rotation_in_base, relative.rotation, atol=1e-12)
        assert np.allclose(state.tool_twist_in_world, twist, atol=1e-11)


def test_joint_dynamics_predict_the_acceleration_of_any_effort(robot: Any) -> None:
    """effort = Lambda qdd + b on the freely reacting base."""
    backend = MujocoBackend(robot, gravity=TILTED_GRAVITY)
    draw = np.random.default_rng(5)
    for _ in range(50):
        random_state(backend, draw)
        state = backend.state()
        inertia, bias = backend.joint_dynamics()
        assert np.allclose(inertia, inertia.T, rtol=1e-9)
        assert np.allclose(inertia @ state.acceleration + bias, state.effort, rtol=1e-9, atol=1e-8)


def test_gravity_acts_along_its_direction(one_joint: Any) -> None:
    backend = MujocoBackend(one_joint(kind="prismatic"), gravity=(0.0, 3.0, -9.81))
    assert backend.state().acceleration[0] == pytest.approx(3.0, rel=1e-12)


def test_dry_friction_holds_below_and_brakes_above_its_level(one_joint: Any) -> None:
    robot = one_joint(kind="prismatic", dynamics='<dynamics friction="2.0"/>')
    backend = MujocoBackend(robot)
    for _ in range(200):
        backend.step([1.5], 0.001)
    assert abs(backend.state().position[0]) < 1e-3  # a free slide would be at 1e-2
    backend.reset()
    for _ in range(200):
        backend.step([5.0], 0.001)
    assert backend.state().velocity[0] == pytest.approx((5.0 - 2.0) / 3.0 * 0.2, rel=0.02)


@pytest.mark.parametrize("hard_stops", [False, True])
def test_joints_stop_at_their_limits_only_when_asked(one_joint: Any, hard_stops: bool) -> None:
    backend = MujocoBackend(one_joint(kind="prismatic"), hard_stops=hard_stops)
    for _ in range(3000):
        backend.step([3.0], 0.001)
    position = backend.state().position[0]
    assert position == pytest.approx(1.0, abs=0.02) if hard_stops else position > 4.0


def test_a_continuous_joint_counts_its_turns(one_joint: Any) -> None:
    backend = MujocoBackend(one_joint(kind="continuous"), gravity=(0.0, 0.0, 0.0))
    backend.reset(velocity=[20.0])
    for _ in range(1000):
        backend.step([0.0], 0.001)
    assert backend.state().position[0] == pytest.approx(20.0, rel=1e-12)


def test_one_long_step_equals_many_short_ones_on_the_same_grid(spatial_tree: Any) -> None:
    one, many = (MujocoBackend(spatial_tree(1)) for _ in range(2))
    for backend in (one, many):
        backend.reset(velocity=np.ones(6))
    one.step(np.ones(6), 0.02)
    for _ in range(20):
        many.step(np.ones(6), 0.001)
    assert np.allclose(one.state().position, many.state().position, rtol=0.0, atol=1e-13)
    assert one.state().time == pytest.approx(0.02, rel=1e-12)


def test_state_belongs_to_the_effort_held_last(one_joint: Any) -> None:
    backend = MujocoBackend(one_joint(kind="prismatic"))
    backend.step([6.0], 0.001)
    assert backend.state().acceleration[0] == pytest.approx(2.0, rel=1e-12)
    backend.step([-3.0], 0.001)
    assert backend.state().acceleration[0] == pytest.approx(-1.0, rel=1e-12)
    assert backend.state().effort[0] == -3.0


def test_a_state_is_a_snapshot(spatial_tree: Any) -> None:
    backend = MujocoBackend(spatial_tree(1))
    state = backend.state()
    names = [name for name in PlantState.__slots__ if name not in ("time", "wrenches", "imus")]
    before = {name: getattr(state, name).copy() for name in names}
    wrench = state.wrenches["base"].copy()
    backend.step(np.ones(6), 0.1)
    assert all(np.array_equal(before[name], getattr(state, name)) for name in names)
    assert np.array_equal(wrench, state.wrenches["base"])


def test_reset_leaves_no_trace_of_the_past(spatial_tree: Any) -> None:
    fresh, used = (MujocoBackend(spatial_tree(1)) for _ in range(2))
    used.set_external_wrench("a1_link", np.ones(6))
    used.step(np.ones(6), 0.0123)
    used.reset()
    for backend in (fresh, used):
        backend.step(np.ones(6), 0.01)
    assert np.array_equal(fresh.state().position, used.state().position)
    assert np.array_equal(fresh.state().wrenches["wrist"], used.state().wrenches["wrist"])


def test_reset_forgets_the_last_step_length_too(one_joint: Any) -> None:
    """Hard stops soften with the step, so a state beyond a stop would show it."""
    fresh, used = (MujocoBackend(one_joint(kind="prismatic"), max_step=0.05, hard_stops=True) for _ in range(2))
    used.step([0.0], 0.001)
    for backend in (fresh, used):
        backend.reset(position=[1.2])
    assert np.array_equal(fresh.state().acceleration, used.state().acceleration)


def test_a_robot_on_a_rigid_base_has_no_deflection(one_joint: Any) -> None:
    backend = MujocoBackend(one_joint())
    assert backend.elastic_joint_names == ()
    backend.step([0.0], 0.001)
    assert backend.state().deflection.shape == (0,)
    inertia, bias = backend.joint_dynamics()
    assert inertia[0, 0] == pytest.approx(3 * 0.25 + 0.02, rel=1e-12)
    assert bias[0] == pytest.approx(-3 * 9.81 * 0.5, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: b.reset(position=[1.0]), r"position has shape \(1,\), expected \(3,\)"),
        (lambda b: b.reset(deflection=[0.0, 0.0]), r"deflection has shape \(2,\), expected \(1,\)"),
        (lambda b: b.reset(velocity=[0.0, np.nan, 0.0]), "velocity is not finite"),
        (lambda b: b.step([0.0, 0.0], 0.001), r"effort has shape \(2,\)"),
        (lambda b: b.step([0.0, np.inf, 0.0], 0.001), "effort is not finite"),
        (lambda b: b.step("abc", 0.001), "effort is not a list of 3 numbers"),
        (lambda b: b.step(np.zeros(3), 0.0), "duration is 0.0"),
        (lambda b: b.step(np.zeros(3), np.nan), "duration is nan"),
        (lambda b: b.set_external_wrench("elbow", np.zeros(6)), "link 'elbow' does not exist; links: world, base_link"),
        (lambda b: b.set_external_wrench("link1", np.zeros(3)), r"shape \(3,\), expected \(6,\)"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(repository_robot: Any, call: Any, message: str) -> None:
    backend = MujocoBackend(repository_robot("planar_3r"))
    backend.reset([0.1, 0.2, 0.3], [1.0, 1.0, 1.0])
    before = backend.state()
    with pytest.raises(InputError, match=message):
        call(backend)
    after = backend.state()
    assert np.array_equal(before.position, after.position)
    assert np.array_equal(before.acceleration, after.acceleration)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"max_step": 0.0}, ConfigError, "max_step is 0.0"),
        ({"gravity": (0.0, 9.81)}, ConfigError, "expected three finite numbers"),
        ({"gravity": (0.0, 0.0, np.nan)}, ConfigError, "expected three finite numbers"),
        ({"tool_frame": "gripper"}, RobotDescriptionError, "tool frame 'gripper' is not a link"),
    ],
)
def test_bad_settings_are_refused(repository_robot: Any, arguments: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        MujocoBackend(repository_robot("planar_3r"), **arguments)


def test_a_diverging_plant_says_so_leaves_no_log_file_and_recovers(
    repository_robot: Any, tmp_path: Path, monkeypatch: Any, caplog: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.CRITICAL)
    backend = MujocoBackend(repository_robot("planar_3r"))
    with pytest.raises(PlantDivergedError, match=r"diverged at .* lower the effort"):
        for _ in range(100):
            backend.step([1e9, 0.0, -1e9], 0.1)
    assert list(tmp_path.iterdir()) == []
    backend.reset()
    backend.step(np.zeros(3), 0.001)
    assert np.isfinite(backend.state().position).all()
