"""Singularity: the least singular value against LAPACK, its gradient against differences, the effort along it."""

from __future__ import annotations

import numpy as np
import pytest
from behaviors import PLANAR, Driven, arm_of, asked, made, random_position, sample_at
from coupled_arms import FreeJoints, coupled_arm

from flexarm_core.behavior_impedance.avoidance.arm_shape import build_arm_shape
from flexarm_core.behavior_impedance.behavior import Arm, BehaviorSpec
from flexarm_core.behavior_impedance.behaviors.singularity import least_singular_value
from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import build_chain
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.robot.urdf_reader import parse_robot_description

ALL = (True,) * 6
POSITION = (True, True, True, False, False, False)
CASES = (
    ("panda", ALL), ("iiwa", ALL), ("ur5", ALL), ("arm_6r", ALL), ("panda", POSITION), ("iiwa", (False, True) * 3),
    ("planar_4r", PLANAR), ("planar_4r", (True, True, False, False, False, False)), ("gantry", POSITION),
    ("gantry", (True, True, True, False, True, False)),
)  # fmt: skip


def least(arm, q, axes):
    """Value and gradient of the compiled function."""
    sample, gradient = sample_at(arm, q), np.full(arm.chain.n, np.nan)
    scales = np.array(axes, dtype=float) * np.repeat((1.0, arm.length_scale), 3)
    return least_singular_value(sample.J, sample.J, sample.frames, arm.chain.links, scales, gradient), gradient


def singular_values(arm, q, axes):
    J = sample_at(arm, q).J.copy()
    J[3:] *= arm.length_scale
    return np.linalg.svd(J[np.array(axes)], compute_uv=False)


@pytest.mark.parametrize(("name", "axes"), CASES)
def test_the_value_is_that_of_lapack(name, axes):
    arm, rng = arm_of(name), np.random.default_rng(1)
    for _ in range(50):
        q = random_position(arm, rng)
        assert least(arm, q, axes)[0] == pytest.approx(singular_values(arm, q, axes)[-1], abs=1e-7)


@pytest.mark.parametrize(("name", "axes"), CASES)
def test_the_gradient_is_that_of_differences(name, axes):
    arm, rng, h, checked = arm_of(name), np.random.default_rng(2), 1e-5, 0
    while checked < 20:
        q = random_position(arm, rng)
        values = singular_values(arm, q, axes)
        if values[-1] < 5e-3 or (len(values) > 1 and values[-2] - values[-1] < 0.02):
            continue  # no derivative at zero, nor where two are the same
        steps = h * np.eye(arm.chain.n)
        wanted = [
            (singular_values(arm, q + s, axes)[-1] - singular_values(arm, q - s, axes)[-1]) / (2.0 * h) for s in steps
        ]
        assert least(arm, q, axes)[1] == pytest.approx(wanted, abs=2e-5)
        checked += 1


@pytest.mark.parametrize(
    ("name", "axes", "q"),
    (
        ("panda", ALL, np.zeros(7)), ("iiwa", ALL, np.zeros(7)), ("arm_6r", ALL, np.zeros(6)),
        ("ur5", ALL, np.zeros(6)),
        ("planar_4r", PLANAR, np.zeros(4)), ("arm_6r", ALL, np.array([0.0, 0.3, 1.2, 0.0, 0.0, 0.0])),
    ),
)  # fmt: skip
@pytest.mark.parametrize("away", (0.0, 1e-12, 1e-9, 1e-8, 1e-7, 1e-6, 1e-4))
def test_at_a_singular_pose_and_next_to_it_the_value_vanishes_and_the_gradient_stays_bounded(name, axes, q, away):
    arm = arm_of(name)
    n, bound = arm.chain.n, 4.0  # of |dJ/dq|, lengths of the arm [m]
    value, gradient = least(arm, q + away * np.random.default_rng(3).standard_normal(n), axes)
    assert 0.0 <= value <= 10.0 * away + 2e-8
    assert np.isfinite(gradient).all() and np.abs(gradient).max() < bound


@pytest.mark.parametrize("name", ("arm_6r", "iiwa"))
def test_the_gradient_stays_bounded_wherever_a_wrist_is_exactly_straight(name):
    arm, rng, straight = arm_of(name), np.random.default_rng(4), {"arm_6r": (4,), "iiwa": (5, 3)}[name]
    for _ in range(200):
        q = random_position(arm, rng)
        q[list(straight)] = 0.0
        value, gradient = least(arm, q, ALL)
        assert value < (1e-7 if name == "arm_6r" else 1e-3)
        assert np.isfinite(gradient).all() and np.linalg.norm(gradient) < 4.0


@pytest.mark.parametrize("seed", range(12))
def test_where_joints_follow_others_value_and_gradient_are_those_of_pinocchio(seed):
    described = coupled_arm(seed, joints=9, followers=3, base=False)
    free = FreeJoints(described, np.zeros(3))
    description = parse_robot_description(described.text)
    chain = build_chain(description, "tool0")
    limits = MotionLimits(chain.lower, chain.upper, chain.velocity_limit, np.full(chain.n, 20.0))
    arm, rng, h, checked = Arm(chain, build_arm_shape(description, chain), limits), np.random.default_rng(seed), 1e-5, 0
    assert chain.moving != chain.joint_names
    columns, axes = (
        [described.driven.index(name) for name in chain.joint_names],
        list(ALL if chain.n >= 6 else POSITION),
    )

    def values(q):
        every = np.zeros(len(described.driven))
        every[columns] = q
        J = free.jacobian(every, "tool0")[:, columns]
        J[3:] *= arm.length_scale
        return np.linalg.svd(J[np.array(axes)], compute_uv=False)

    while checked < 5:
        q = random_position(arm, rng)
        found = values(q)
        if found[-1] < 5e-3 or found[-2] - found[-1] < 0.02:
            continue
        gradient = np.array([(values(q + s)[-1] - values(q - s)[-1]) / (2.0 * h) for s in h * np.eye(chain.n)])
        acting = made(arm, "singularity", range=1.5 * found[-1], margin=0.0, axes=axes)
        out = asked(arm, acting, sample_at(arm, q))
        assert out.measure[0] == pytest.approx(found[-1], abs=1e-7)
        ratio = out.effort @ gradient / (gradient @ gradient)
        assert ratio > 0.0 and out.effort == pytest.approx(ratio * gradient, abs=1e-4 * ratio)
        checked += 1


def efforts(q, **settings):
    arm = arm_of("panda")
    return asked(arm, made(arm, "singularity", **settings), sample_at(arm, q))


def towards_stretched(share):
    """Panda: elbow and wrist from bent to nearly straight."""
    return np.array([0.1, 0.3, 0.2, -0.07 - 1.9 * share, 0.1, 0.9 + 1.2 * share, 0.5])


def test_nothing_acts_outside_the_range_and_inside_the_effort_is_minus_the_gradient_of_a_potential():
    far, near = towards_stretched(1.0), towards_stretched(0.2)
    value = efforts(near).measure[0]
    out = efforts(far, range=0.5 * efforts(far).measure[0], margin=0.0)
    assert not out.effort.any() and not out.effort_stiffness.any()
    assert out.measure[0] == pytest.approx(singular_values(arm_of("panda"), far, ALL)[-1], abs=1e-9)
    edge = efforts(near, range=value * (1.0 + 1e-6), margin=0.0)
    assert 0.0 < np.abs(edge.effort).max() < 1e-6
    settings = {"range": 2.0 * value, "margin": 0.2 * value}
    out, gradient = efforts(near, **settings), least(arm_of("panda"), near, ALL)[1]
    assert out.effort @ gradient > 0.0  # towards where it is larger
    assert np.linalg.matrix_rank(np.vstack((out.effort, gradient)), tol=1e-9) == 1
    # symmetric derivative: there is a potential; Gauss-Newton: along the gradient it is that of the force
    h, direction = 1e-6, gradient / np.linalg.norm(gradient)
    profile = [least(arm_of("panda"), near + s * h * direction, ALL)[0] for s in (1.0, -1.0)]
    change = np.linalg.norm(efforts(near - h * direction, **settings).effort) / np.linalg.norm(
        least(arm_of("panda"), near - h * direction, ALL)[1]
    ) - np.linalg.norm(efforts(near + h * direction, **settings).effort) / np.linalg.norm(
        least(arm_of("panda"), near + h * direction, ALL)[1]
    )
    slope = change / (profile[0] - profile[1])
    assert out.effort_stiffness == pytest.approx(slope * np.outer(gradient, gradient), rel=1e-4, abs=1e-6)
    assert not out.yielding.any()


def test_the_tool_yields_from_a_range_of_its_own():
    near = towards_stretched(0.2)
    value = efforts(near).measure[0]
    assert not efforts(near, range=2.0 * value, margin=0.0, tool_range=0.99 * value).yielding.any()
    out = efforts(near, range=1e-3, margin=0.0, tool_range=1.5 * value)
    assert not out.effort.any() and out.yielding.any()
    assert np.linalg.eigvalsh(out.yielding_stiffness)[0] > -1e-9


def test_settings_that_no_arm_can_have_are_refused():
    with pytest.raises(ConfigError, match="margin .* must lie below"):
        made(arm_of("panda"), "singularity", range=0.1, margin=0.1)
    with pytest.raises(ConfigError, match="margin .* must lie below"):
        made(arm_of("panda"), "singularity", tool_range=0.01, margin=0.05)
    for axes in ([False] * 6, [True] * 6):
        with pytest.raises(ConfigError, match="no more than the 4 joints"):
            made(arm_of("planar_4r"), "singularity", axes=axes)


def test_a_redundant_arm_leaves_the_neighborhood_while_its_tool_stays():
    driven = Driven("planar_4r", np.array([0.3, 1.05, -0.63, -0.7]))
    start = driven.controller.output.position
    held = [True, True, False, False, False, True]
    spec = {"range": 0.6, "margin": 0.01, "force": 30.0, "axes": held}
    driven.ask(BehaviorSpec("s", "singularity", spec))
    driven.run(1)
    before = driven.controller.behaviors[0].out.measure[0]
    run = driven.run(3000)
    assert driven.controller.behaviors[0].out.measure[0] > before + 0.01
    assert np.abs(run.of("position") - start).max() < 1e-9


def test_from_an_exactly_singular_pose_the_law_goes_on_with_finite_joints():
    for name in ("panda", "arm_6r"):
        driven = Driven(name, np.clip(np.zeros(7 if name == "panda" else 6), arm_of(name).limits.lower + 0.1,
                                      arm_of(name).limits.upper - 0.1))  # fmt: skip
        driven.ask(BehaviorSpec("s", "singularity", {"range": 0.2, "tool_range": 0.1}))
        run = driven.run(300)
        assert np.isfinite(run.joints).all() and not driven.failure("s")
