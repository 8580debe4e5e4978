"""Elastic drives in the simulated plants: both engines agree, and MuJoCo with motor and link as bodies of their own."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from driven_arms import LINK, WEIGHT, driven_arm, one_link

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.estimation.config import EstimatorConfig
from flexarm_core.flexible_dynamics.estimation.estimator import FlexibleEstimator
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import FlexibleSample
from flexarm_sim.backends import BACKENDS, make_backend
from flexarm_sim.friction.friction import JointFriction

COMPARED = (
    "position", "velocity", "acceleration", "modal_position", "modal_rate", "strain", "tool_position_in_world",
    "tool_twist_in_world",
)  # fmt: skip
TWO_BODIES = """
<mujoco><compiler angle="radian"/><option integrator="RK4" timestep="{step}"/><worldbody>
  <body name="motor"><joint name="motor" axis="0 -1 0"/>
    <inertial pos="0 0 0" mass="1" diaginertia="1 {rotor} 1"/></body>
  <body name="arm"><joint name="arm" axis="0 -1 0"/>
    <inertial pos="0.5 0 0" mass="2" diaginertia="0.3 0.3 0.3"/></body>
</worldbody>
<tendon><fixed stiffness="{stiffness}" damping="{damping}"><joint joint="arm" coef="1"/><joint joint="motor" coef="-1"/>
</fixed></tendon>
<actuator><motor joint="motor"/></actuator></mujoco>
"""


@pytest.mark.parametrize("seed", range(8))
def test_both_engines_agree_on_motion_readings_rest_and_joint_dynamics(seed: int) -> None:
    description = parse_robot_description(driven_arm(seed).text)
    ours, theirs = (make_backend(name, description) for name in ("flexible_dynamics", "mujoco"))
    assert (ours.modes, ours.strain_gauges) == (theirs.modes, theirs.strain_gauges)
    rng, n, k = np.random.default_rng(seed), len(ours.joint_names), len(ours.modes)
    position, velocity, effort = rng.uniform(-1.0, 1.0, (3, n)) * [[1.0], [1.0], [20.0]]
    bent, rate = 0.05 * rng.normal(size=k), rng.normal(size=k)

    def same(*names: str) -> None:
        a, b = ours.state(), theirs.state()
        for name in names:
            wanted = getattr(b, name)
            assert getattr(a, name) == pytest.approx(wanted, abs=1e-9 * (1.0 + np.abs(wanted).max())), name
        assert a.wrenches["wrist"] == pytest.approx(b.wrenches["wrist"], abs=1e-8)

    for backend in (ours, theirs):
        backend.reset(position, velocity, effort=effort, modal_position=bent, modal_rate=rate)
    same(*COMPARED)
    for mine, other in zip(ours.joint_dynamics(), theirs.joint_dynamics(), strict=True):
        assert mine == pytest.approx(other, abs=1e-9)
    assert ours.gravity_effort() == pytest.approx(theirs.gravity_effort(), abs=1e-9)
    for backend in (ours, theirs):
        backend.step(effort, 0.05)
    same(*COMPARED)
    for backend in (ours, theirs):
        backend.reset(position, at_rest=True)
    same("modal_position", "tool_position_in_world")


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("stiffness", [500.0, 1e4, 1e5])
def test_motor_and_link_swing_as_two_bodies_that_mujoco_couples_by_a_spring(name: str, stiffness: float) -> None:
    step = 1e-4
    backend = make_backend(name, parse_robot_description(one_link(stiffness, 2.0)), max_step=step)
    values = {"rotor": 0.4, "stiffness": stiffness, "damping": 2.0, "step": step}
    model = mujoco.MjModel.from_xml_string(TWO_BODIES.format(**values))
    data = mujoco.MjData(model)
    for tick in range(300):
        effort = 40.0 * np.sin(0.2 * tick)
        backend.step([effort], 0.001)
        data.ctrl[:] = effort
        mujoco.mj_step(model, data, 10)
        state = backend.state()
        assert state.position[0] == pytest.approx(data.qpos[0], abs=1e-9)
        assert state.position[0] + state.modal_position[0] == pytest.approx(data.qpos[1], abs=1e-9)


@pytest.mark.parametrize("name", BACKENDS)
def test_a_motor_held_by_friction_leaves_the_link_on_its_spring(name: str) -> None:
    backend = make_backend(
        name, parse_robot_description(one_link(damping=1e-3)), gravity=(0.0, 0.0, 0.0), friction=JointFriction((100.0,))
    )
    backend.reset(modal_position=[0.01])
    period = 2.0 * np.pi / np.sqrt(2000.0 / LINK)
    for part, wanted in ((0.5, -0.01), (0.5, 0.01)):
        backend.step([0.0], part * period)
        assert backend.state().modal_position[0] == pytest.approx(wanted, rel=1e-3)
        assert abs(backend.state().position[0]) < 1e-8


@pytest.mark.parametrize("name", BACKENDS)
def test_at_rest_the_link_hangs_by_its_weight_over_the_stiffness(name: str) -> None:
    backend = make_backend(name, parse_robot_description(one_link(2000.0)))
    backend.reset(at_rest=True)
    bent = backend.state().modal_position[0]
    assert bent == pytest.approx(-WEIGHT * np.cos(bent) / 2000.0, rel=1e-9)
    assert backend.gravity_effort()[0] == pytest.approx(-2000.0 * bent, rel=1e-9)


@pytest.mark.parametrize("name", BACKENDS)
def test_a_step_that_a_stiff_spring_does_not_allow_is_refused_with_the_one_that_it_does(name: str) -> None:
    description = parse_robot_description(one_link(1e8))
    with pytest.raises(ConfigError, match=r"max_step 0.00025 s is too long .* give at most 1.3\d?e-04|0.000129"):
        make_backend(name, description)
    make_backend(name, description, max_step=1.2e-4)


@pytest.mark.parametrize(("more", "error"), [("", 0.05), ('link_encoder="behind"', 0.01)])
def test_the_estimator_follows_the_deflection_of_another_engine(more: str, error: float) -> None:
    """By the model alone, and corrected by an encoder of the link side, with a stiffness that is 10 % wrong."""
    true, believed = (
        parse_robot_description(one_link(k, 1.0, more=more)) for k in (2000.0, 2000.0 if not more else 2200.0)
    )
    backend = make_backend("mujoco", true)
    backend.reset(at_rest=True)
    estimator = FlexibleEstimator(FlexibleModel(believed), EstimatorConfig(strain_noise=2e-5, strain_error=0.0))
    rng, errors, sizes = np.random.default_rng(0), [], []
    for tick in range(1000):
        effort = [WEIGHT * np.cos(backend.state().position[0]) + 15.0 * np.sin(0.02 * tick)]
        backend.step(effort, 0.001)
        state = backend.state()
        strain = {
            name: value + 2e-5 * rng.normal() for name, value in zip(backend.strain_gauges, state.strain, strict=True)
        }
        found: Any = estimator.update(
            FlexibleSample((tick + 1) * 1_000_000, state.position, state.velocity, np.array(effort), strain=strain)
        )
        errors.append(found.modal_position[0] - state.modal_position[0])
        sizes.append(state.modal_position[0])
    assert np.linalg.norm(errors) < error * np.linalg.norm(sizes)


@pytest.mark.parametrize(("velocity_gain", "settles"), [(22.5, True), (60.0, False)])
def test_gains_that_the_check_takes_settle_and_those_that_it_refuses_shake_the_drive(
    velocity_gain: float, settles: bool
) -> None:
    """The servo of ``test_gain_check`` in core/flexible_dynamics/test_elastic_drives.py, on MuJoCo, with its delay."""
    backend = make_backend("mujoco", parse_robot_description(one_link(600.0, 0.3, 0.05)), gravity=(0.0, 0.0, 0.0))
    backend.reset(modal_position=[1e-3])
    late, inertia, motion = 0.0, LINK + 0.05, []
    for _ in range(1500):
        state = backend.state()
        wanted = -inertia * (14.0 * state.position[0] + velocity_gain * state.velocity[0])
        backend.step([late], 0.002)
        late = float(np.clip(wanted, -100.0, 100.0))
        motion.append(abs(state.velocity[0]))
    last = max(motion[-20:])
    assert last < 1e-3 if settles else last > 1.0  # [rad/s]; then it shakes at its effort limits
