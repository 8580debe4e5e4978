"""A free-flying base (stiffness 0) in both plants: its momentum is kept; the tool moves by the generalized Jacobian."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio
import pytest
from elastic_robots import WEIGHTLESS, on_elastic_base
from robots import find

from flexarm_core.errors import ConfigError, InputError, RobotDescriptionError
from flexarm_core.flexible_dynamics.control.controller import FlexibleController, FlexibleControllerConfig
from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.reaction_null_space.reaction_null_space import ReactionNullSpace
from flexarm_core.reaction_null_space.reactionless.velocity_law import VelocityLaw, VelocityLawConfig
from flexarm_core.reaction_null_space.stability.linear_plant import linear_plant
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.static_equilibrium import settle, static_equilibrium
from flexarm_core.types import ArmState, CartesianReference
from flexarm_sim.backends import BACKENDS, make_backend

POSTURE = np.array([0.3, -0.5, 0.2, -1.2, 0.4, 1.0, 0.6])


@pytest.fixture(scope="module")
def floating() -> ArmModel:
    """The arm of seven joints on a platform of 15 kg that floats in six directions."""
    text = on_elastic_base(find("arm_7r")[0], (0.0,) * 6, (0.0,) * 6)
    return ArmModel(text, gravity=WEIGHTLESS)


def momentum(model: ArmModel, state: Any) -> Any:
    """Pinocchio's spatial momentum about the center of mass, and that center (3,)."""
    rigid = pinocchio.buildModelFromXML(model.description.text)
    data = rigid.createData()
    q = model.configuration(state.position, state.deflection)
    v = model.velocity(state.velocity, state.deflection_rate)
    found = pinocchio.computeCentroidalMomentum(rigid, data, q, v)
    return np.concatenate((found.linear, found.angular)), pinocchio.centerOfMass(rigid, data, q).copy()


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_momentum_is_that_of_the_start_however_the_motors_push(floating: ArmModel, name: str, rate: float) -> None:
    backend = make_backend(name, floating.description, gravity=WEIGHTLESS)
    rng = np.random.default_rng(0)
    backend.reset(POSTURE, deflection_rate=rate * rng.normal(size=6))
    begin, center = momentum(floating, backend.state())
    for tick in range(50):
        backend.step(5.0 * np.sin(0.3 * tick + np.arange(7.0)), 0.01)
        now, where = momentum(floating, backend.state())
        # the links between the elastic joints, of 1 g and 1e-6 kg*m^2, bear the torques of their guides
        assert now == pytest.approx(begin, abs=5e-5 * (1.0 + np.abs(begin).max()))
    moved = begin[:3] / pinocchio.computeTotalMass(pinocchio.buildModelFromXML(floating.description.text))
    assert where == pytest.approx(center + 0.5 * moved, abs=1e-6)
    assert np.abs(backend.state().velocity).max() > 0.1
    assert np.abs(backend.state().deflection).max() > 0.005


@pytest.mark.parametrize("name", BACKENDS)
def test_from_rest_the_tool_moves_by_the_generalized_jacobian(floating: ArmModel, name: str) -> None:
    backend, space = make_backend(name, floating.description, gravity=WEIGHTLESS), ReactionNullSpace(floating)
    backend.reset(POSTURE)
    for _ in range(20):
        backend.step(np.array([4.0, -3.0, 1.0, 2.0, 0.5, -0.5, 0.2]), 1e-4)
    state = backend.state()
    fixed = floating.tool_kinematics(space._state(POSTURE), floating.world_frame).J_m @ state.velocity
    twist = space.generalized_jacobian(POSTURE) @ state.velocity
    size = np.abs(state.tool_twist_in_world).max()
    assert twist == pytest.approx(state.tool_twist_in_world, abs=1e-3 * size)
    assert np.abs(fixed - state.tool_twist_in_world).max() > 0.01 * size  # as on a fixed base it does not


def test_where_a_position_of_rest_is_needed_it_is_refused_in_one_line(floating: ArmModel) -> None:
    model, description = FlexibleModel(floating.description, gravity=WEIGHTLESS), floating.description
    for build in (
        lambda: FlexibleEstimator(model),
        lambda: FlexibleController(model, FlexibleControllerConfig()),
        lambda: VelocityLaw(floating, VelocityLawConfig()),
        lambda: VibrationController(floating, VibrationControllerConfig(law="torque")),
    ):
        with pytest.raises(ConfigError, match="needs springs under the base, but the stiffness of 'elastic_x' is 0"):
            build()
    resisted = ArmModel(on_elastic_base(find("arm_7r")[0], (0.0,) * 6, (1.0,) * 6)).description
    assert resisted.free == description.free == floating.elastic_joint_names  # a damper is no spring
    heavy = ArmModel(description)
    with pytest.raises(RobotDescriptionError, match="stiffness of 'elastic_x' is 0, and there is gravity"):
        static_equilibrium(heavy, POSTURE)
    with pytest.raises(RobotDescriptionError, match="stiffness of 'pendulum' is 0, and there is gravity"):
        settle(np.zeros((1, 1)), np.sin, ["pendulum"])  # in balance, but only there
    with pytest.raises(InputError, match="does not carry the arm at .* a direction has no spring"):
        linear_plant(heavy, POSTURE, Sampling(1e-3))
    assert static_equilibrium(floating, POSTURE) == pytest.approx(np.zeros(6))
    for name in BACKENDS:
        backend = make_backend(name, description)
        with pytest.raises(RobotDescriptionError, match="is 0, and there is gravity"):
            backend.reset(POSTURE, at_rest=True)


@pytest.mark.parametrize("law", ["reactionless", "resolved_acceleration"])
def test_the_tool_accelerates_as_asked_while_the_base_keeps_its_attitude_or_is_left(
    floating: ArmModel, law: str
) -> None:
    """Efforts of the law on Pinocchio's model of arm and base, which have any momentum."""
    config = VibrationControllerConfig(
        law=law, position_gain=0.0, velocity_gain=0.0, joint_damping=0.7, vibration_damping=False, base_bandwidth=0.0
    )
    attitude = floating.elastic_joint_names[3:]
    controller = VibrationController(floating, config, BaseSelection(floating, attitude))
    rigid = pinocchio.buildModelFromXML(floating.description.text)
    rigid.gravity.linear = np.zeros(3)
    data, rng = rigid.createData(), np.random.default_rng(1)
    tool = rigid.getFrameId(floating.tool_frame)
    turned = 0.0
    for stamp in range(5):
        still = np.concatenate((rng.uniform(-0.1, 0.1, 3), np.zeros(3)))  # of a base that drifts and does not turn
        state = ArmState(
            stamp, POSTURE + 0.2 * rng.normal(size=7), 0.5 * rng.normal(size=7), 0.2 * rng.normal(size=6), still
        )
        pose, asked = floating.tool_kinematics(state, floating.world_frame), rng.normal(size=6)
        goal = CartesianReference(
            stamp, floating.world_frame, pose.position, pose.rotation, np.zeros(6), asked, (True,) * 3 + (False,) * 3
        )
        controller.reset()
        found, _ = controller.update(state, goal)
        assert found.effort is not None
        q, v = (
            floating.configuration(state.position, state.deflection),
            floating.velocity(state.velocity, state.deflection_rate),
        )
        efforts = floating.velocity(found.effort, np.zeros(6))
        whole = pinocchio.aba(rigid, data, q, v, efforts)
        pinocchio.forwardKinematics(rigid, data, q, v, whole)
        way = pinocchio.getFrameClassicalAcceleration(rigid, data, tool, pinocchio.LOCAL_WORLD_ALIGNED).linear
        assert way == pytest.approx(asked[:3], abs=2e-3)
        names = [rigid.names[i] for i in range(1, rigid.njoints)]
        turns = np.array([whole[names.index(name)] for name in attitude])
        turned = max(turned, float(np.abs(turns).max()))
        if law == "reactionless":
            assert turns == pytest.approx(np.zeros(3), abs=1e-6)
    assert (turned > 0.1) == (law == "resolved_acceleration")
