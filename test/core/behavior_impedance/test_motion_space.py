"""The motion space: frames and Jacobian against Pinocchio, the redundant joints' space against linear algebra."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from behaviors import GANTRY, READY, arm_of, random_position, sample_at
from hypothesis import given, settings
from hypothesis import strategies as st
from robots import PinocchioChain, find

from flexarm_core.behavior_impedance.motion_space import damped_inverse, redundant_space, solve

ROBOTS = ("panda", "iiwa", "ur5", "arm_6r", "planar_4r", "gantry")
SCALE = 0.3
ALL, PLANAR, POSITION = np.ones(6), np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
SINGULAR = {
    "panda": np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    "iiwa": np.zeros(7),
    "arm_6r": np.zeros(6),
    "planar_4r": np.zeros(4),
}


def judge(name):
    arm = arm_of(name)
    return PinocchioChain(GANTRY if name == "gantry" else find(name)[0], arm.chain)


def basis(J, axes):
    n = J.shape[1]
    N = np.full((n, n - int(axes.sum())), np.nan)
    redundant_space(J, axes, SCALE, N)
    return N


@pytest.mark.parametrize("name", ROBOTS)
def test_tool_pose_and_jacobian_are_those_of_pinocchio(name):
    arm, rng, by = arm_of(name), np.random.default_rng(2), judge(name)
    for _ in range(20):
        q = random_position(arm, rng)
        sample, (position, rotation) = sample_at(arm, q), by.pose(q)
        assert sample.tool_position == pytest.approx(position, abs=1e-12)
        assert sample.tool_rotation == pytest.approx(rotation, abs=1e-12)
        assert pytest.approx(by.jacobian(q), abs=1e-12) == sample.J


@pytest.mark.parametrize("name", ROBOTS)
def test_the_z_axis_of_a_frame_is_the_axis_of_its_joint_and_its_origin_lies_on_it(name):
    arm, rng, by = arm_of(name), np.random.default_rng(3), judge(name)
    q = random_position(arm, rng)
    sample = sample_at(arm, q)
    configuration = by.configuration(q)
    pinocchio.computeJointJacobians(by.model, by.data, configuration)
    pinocchio.updateFramePlacements(by.model, by.data)
    base = by.data.oMf[by.base]
    for i, joint in enumerate(by.joints):
        J = pinocchio.getJointJacobian(by.model, by.data, joint.id, pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        column = J[:, joint.idx_v]
        axis = base.rotation.T @ (column[3:] if column[3:].any() else column[:3])
        R, origin = sample.frames[i, :9].reshape(3, 3), sample.frames[i, 9:]
        assert pytest.approx(np.eye(3), abs=1e-12) == R @ R.T and np.linalg.det(R) > 0.0
        assert R[:, 2] == pytest.approx(axis, abs=1e-12)
        there = base.actInv(by.data.oMi[joint.id]).translation
        assert np.cross(origin - there, axis) == pytest.approx(np.zeros(3), abs=1e-12)


@pytest.mark.parametrize("name", ("panda", "gantry"))
def test_a_frame_moves_with_its_joint_and_not_with_those_behind_it(name):
    arm, h = arm_of(name), 1e-6
    q = np.array(READY[name])
    for k in range(arm.chain.n):
        ahead, behind = (sample_at(arm, q + s * h * np.eye(arm.chain.n)[k]).frames for s in (1.0, -1.0))
        moved = np.abs(ahead - behind).max(axis=1) / (2.0 * h)
        assert not moved[:k].any()
        assert (moved[k:] > 0.01).all()


@pytest.mark.parametrize(
    ("name", "axes"),
    [(name, axes) for name in ROBOTS for axes in (ALL, PLANAR, POSITION) if axes.sum() <= len(READY[name])],
)
def test_motions_in_the_redundant_space_leave_the_held_axes_alone(name, axes):
    arm, rng = arm_of(name), np.random.default_rng(4)
    for _ in range(20):
        J = sample_at(arm, random_position(arm, rng)).J
        N = basis(J, axes)
        assert N.shape == (arm.chain.n, arm.chain.n - axes.sum())
        assert pytest.approx(np.eye(N.shape[1]), abs=1e-12) == N.T @ N
        assert axes[:, None] * J @ N == pytest.approx(np.zeros((6, N.shape[1])), abs=1e-9)


@pytest.mark.parametrize("name", SINGULAR)
def test_at_a_singular_pose_the_redundant_space_still_is_orthonormal_and_leaves_the_tool_alone(name):
    arm = arm_of(name)
    axes = PLANAR if name == "planar_4r" else ALL
    J = sample_at(arm, SINGULAR[name]).J
    N = basis(J, axes)
    assert pytest.approx(np.eye(N.shape[1]), abs=1e-9) == N.T @ N
    assert axes[:, None] * J @ N == pytest.approx(np.zeros((6, N.shape[1])), abs=1e-8)


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("away", (1e-3, 1e-5, 1e-7, 1e-9, 1e-11))
def test_next_to_a_singular_pose_too(name, away):
    arm = arm_of(name)
    axes = PLANAR if name == "planar_4r" else ALL
    direction = np.random.default_rng(5).standard_normal(arm.chain.n)
    J = sample_at(arm, SINGULAR[name] + away * direction).J
    N = basis(J, axes)
    assert np.isfinite(N).all()
    assert pytest.approx(np.eye(N.shape[1]), abs=1e-6) == N.T @ N
    assert axes[:, None] * J @ N == pytest.approx(np.zeros((6, N.shape[1])), abs=1e-7)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**31), k=st.integers(1, 8), m=st.integers(1, 4), complexes=st.booleans())
def test_elimination_solves_what_numpy_solves(seed, k, m, complexes):
    rng = np.random.default_rng(seed)
    A, X = rng.standard_normal((k, k)), rng.standard_normal((k, m))
    if complexes:
        A, X = A + 1j * rng.standard_normal((k, k)), X + 1j * rng.standard_normal((k, m))
    wanted = np.linalg.solve(A, X)
    solve(A.copy(), out := X.copy())
    assert out == pytest.approx(wanted, rel=1e-7, abs=1e-9 * np.linalg.cond(A))


def test_elimination_changes_rows_where_a_pivot_is_zero():
    A, X = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 4.0]]), np.eye(3)
    solve(A.copy(), X)
    assert pytest.approx(np.eye(3), abs=1e-15) == A @ X


@pytest.mark.parametrize("damping", (1e-6, 0.01, 0.1))
@pytest.mark.parametrize("axes", (ALL, POSITION), ids=("all", "position"))
def test_the_damped_inverse_is_that_of_linear_algebra_and_takes_no_notice_of_free_axes(damping, axes):
    arm, rng = arm_of("panda"), np.random.default_rng(6)
    for _ in range(10):
        J, out = sample_at(arm, random_position(arm, rng)).J, np.full((7, 6), np.nan)
        damped_inverse(J, axes, SCALE, damping, out)
        S = np.diag(axes * np.repeat((1.0, SCALE), 3))
        A = S @ J
        wanted = A.T @ np.linalg.inv(A @ A.T + damping**2 * np.eye(6)) @ S
        assert out == pytest.approx(wanted, rel=1e-6, abs=1e-7 * np.abs(wanted).max())
        assert not out[:, axes == 0.0].any()
