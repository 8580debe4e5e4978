"""Load at the tool, against Pinocchio: the torques of a rigid body are linear in its parameters, and give them back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from flexarm_core.hardware_gate.joint_dynamics import JointDynamics
from flexarm_core.hardware_gate.limits import JointLimits
from flexarm_core.hardware_gate.tool_load import BALL, REACH, ToolLoad, _body, _wrench
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState

NONE = np.zeros(0)
UR10 = Path(pin.__file__).parents[4] / "share/example-robot-data/robots/ur_description/urdf/ur10_robot.urdf"
GRAVITY = np.array([1.0, -2.0, -9.0])


def body(rng: np.random.Generator) -> pin.Inertia:
    return pin.Inertia(rng.uniform(0.5, 5.0), rng.uniform(-0.1, 0.1, 3), pin.Inertia.Random().inertia * 0.01)


def ten(load: pin.Inertia) -> np.ndarray:
    """Mass, first moment, and inertia about the origin, in the order of the estimate."""
    c = pin.skew(load.lever)
    about = load.inertia - load.mass * c @ c
    pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    return np.array([load.mass, *(load.mass * load.lever), *(about[pair] for pair in pairs)])


@pytest.mark.parametrize("seed", range(20))
def test_the_wrench_of_a_body_is_that_of_newton_and_euler(seed):
    rng = np.random.default_rng(seed)
    load, moved, w = body(rng), rng.standard_normal(6), rng.standard_normal(3)
    Y = np.zeros((6, 10))
    _wrench(moved, w, Y)
    spinning = pin.Motion(np.zeros(3), w)
    expected = load * pin.Motion(moved) + spinning.cross(load * spinning)
    assert np.allclose(Y @ ten(load), expected.vector, atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_inertia_of_a_possible_body_is_its_own_and_that_of_any_other_is_of_one_within_reach(seed):
    rng = np.random.default_rng(seed)
    mass, lever, radius = rng.uniform(0.5, 5.0), rng.uniform(-0.1, 0.1, 3), rng.uniform(0.0, BALL)
    load, M = pin.Inertia(mass, lever, mass * radius**2 * np.eye(3)), np.zeros((6, 6))
    _body(ten(load), M)
    assert np.allclose(M, load.matrix(), atol=1e-12)
    M = np.zeros((6, 6))
    _body(10.0 * rng.standard_normal(10), M)
    assert np.allclose(M, M.T) and np.linalg.eigvalsh(M).min() > -1e-9
    assert np.abs(np.linalg.eigvalsh(M)).max() <= M[0, 0] * (1.0 + (REACH + BALL) ** 2 + REACH) + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_a_load_is_found_from_the_torques_that_bear_it_in_motion(seed):
    rng = np.random.default_rng(seed)
    text = UR10.read_text(encoding="utf-8")
    told, real = ArmModel(text, "tool0", GRAVITY), pin.buildModelFromXML(text)
    real.gravity.linear = GRAVITY
    frame = real.frames[real.getFrameId("tool0")]
    load = body(rng)
    real.appendBodyToJoint(frame.parentJoint, load, frame.placement)
    limits = JointLimits(
        told.lower, told.upper, told.velocity_limit, np.full(6, 20.0), told.effort_limit, np.full(6, np.inf)
    )
    estimate, data = ToolLoad(JointDynamics(told), limits), real.createData()
    for _ in range(300):
        q, v, a = rng.uniform(-2.0, 2.0, 6), rng.uniform(-2.0, 2.0, 6), rng.uniform(-20.0, 20.0, 6)
        state = ArmState(0, q, v, NONE, NONE)
        beyond = pin.rnea(real, data, q, v, a) - told.effort_on_resting_base(state, np.zeros(6)) + told.D_m * v
        estimate.observe(state, beyond, np.zeros(6), a, 0.002)
    assert np.allclose(estimate.parameters[:4], ten(load)[:4], rtol=0.05, atol=0.01)


def test_torques_that_may_be_late_or_rub_tell_nothing_and_nothing_is_remembered_after_a_reset():
    text = UR10.read_text(encoding="utf-8")
    told = ArmModel(text, "tool0", GRAVITY)
    limits = JointLimits(
        told.lower, told.upper, told.velocity_limit, np.full(6, 20.0), told.effort_limit, np.full(6, np.inf)
    )
    state = ArmState(0, np.full(6, 0.4), np.zeros(6), NONE, NONE)
    lacking = np.array([0.0, 20.0, 10.0, 3.0, 1.0, 1.0])
    sure, doubted = ToolLoad(JointDynamics(told), limits), ToolLoad(JointDynamics(told), limits)
    for _ in range(50):
        sure.observe(state, lacking, np.zeros(6), np.zeros(6), 0.002)
        doubted.observe(state, lacking, np.full(6, 1e4), np.zeros(6), 0.002)
    assert np.diag(sure.inertia).max() > 100.0 * np.diag(doubted.inertia).max()
    sure.reset()
    assert not sure.inertia.any() and not sure.parameters.any()
