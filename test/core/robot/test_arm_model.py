"""The dynamics blocks against closed forms, an independent engine and invariants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from robots import URDF

from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import ArmState

angles = st.floats(-3.0, 3.0)


def state_of(model: ArmModel, rng: np.random.Generator) -> ArmState:
    """A random state."""
    return ArmState(
        0,
        rng.uniform(-2.0, 2.0, model.n),
        rng.uniform(-2.0, 2.0, model.n),
        rng.uniform(-0.1, 0.1, model.m),
        rng.uniform(-0.5, 0.5, model.m),
    )


@given(q1=angles, q2=angles)
@settings(deadline=None, max_examples=50)
def test_inertia_coupling_of_trep_is_the_papers_closed_form(q1, q2, trep_text):
    trep = ArmModel(trep_text)
    zero = np.zeros(2)
    blocks = trep.blocks(ArmState(0, np.array([q1, q2]), zero, np.zeros(1), np.zeros(1)))
    h2 = -0.120 * 0.090 * np.sin(q1 + q2)
    h1 = -(0.310 * 0.096 + 0.120 * 0.1) * np.sin(q1) + h2
    assert np.allclose(blocks.H_bm, [[h1, h2]], atol=1e-14)
    assert np.allclose(blocks.H_b, [[0.795 + 0.310 + 0.120]])


def test_bias_of_the_coupling_is_its_time_derivative(planar_3r):
    rng = np.random.default_rng(1)
    for _ in range(50):
        state = state_of(planar_3r, rng)
        h = 1e-6

        def coupling(shift, state=state):
            moved = ArmState(0, state.position + shift * state.velocity, state.velocity, state.deflection, np.zeros(1))
            return planar_3r.blocks(moved).H_bm @ state.velocity

        numeric = (coupling(h) - coupling(-h)) / (2 * h)
        assert np.allclose(planar_3r.blocks(state).dH_bm_qd, numeric, rtol=1e-6, atol=1e-6)


def test_forward_dynamics_undoes_inverse_dynamics(planar_3r):
    rng = np.random.default_rng(2)
    for _ in range(50):
        state = state_of(planar_3r, rng)
        wanted = rng.uniform(-5.0, 5.0, 3)
        blocks = planar_3r.blocks(state)
        effort = planar_3r.inverse_dynamics(blocks, state, wanted)
        assert np.allclose(planar_3r.forward_dynamics(state, effort), wanted, atol=1e-10)


def test_momentum_along_the_rail_changes_by_the_springs_force_alone(planar_3r):
    """Newton's law for the whole system: total momentum H_b xd_b + H_bm qd changes by -K x_b - D xd_b."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        state = state_of(planar_3r, rng)
        blocks = planar_3r.blocks(state)
        acceleration = planar_3r.forward_dynamics(state, rng.uniform(-50.0, 50.0, 3))
        base = planar_3r.base_acceleration(blocks, state, acceleration)
        change = blocks.H_b @ base + blocks.H_bm @ acceleration + blocks.dH_bm_qd
        assert np.allclose(change, -100.0 * state.deflection - 0.1 * state.deflection_rate, atol=1e-9)


@pytest.mark.parametrize("frame", ["world", "base_ft"])
def test_tool_kinematics_are_consistent_with_finite_differences(planar_3r, frame):
    rng = np.random.default_rng(4)
    h = 1e-5
    for _ in range(20):
        state = state_of(planar_3r, rng)
        here = planar_3r.tool_kinematics(state, frame)

        def at(time, state=state):
            return planar_3r.tool_kinematics(
                ArmState(
                    0,
                    state.position + time * state.velocity,
                    state.velocity,
                    state.deflection + time * state.deflection_rate,
                    state.deflection_rate,
                ),
                frame,
            )

        velocity = (at(h).position - at(-h).position) / (2 * h)
        acceleration = (at(h).velocity - at(-h).velocity) / (2 * h)
        assert np.allclose(here.velocity[:3], velocity, atol=1e-7)
        assert np.allclose(here.dJ_v, acceleration, atol=1e-6)
        assert np.allclose(here.velocity, here.J_m @ state.velocity + here.J_b @ state.deflection_rate)


def test_wrench_on_base_balances_the_base(planar_3r):
    """Newton for the 1 kg base: force of the arm + spring + damper = m_b xdd_b."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        state = state_of(planar_3r, rng)
        blocks = planar_3r.blocks(state)
        acceleration = rng.uniform(-5.0, 5.0, 3)
        base = planar_3r.base_acceleration(blocks, state, acceleration)
        wrench = planar_3r.wrench_on_base(state, acceleration, base)
        assert np.isclose(wrench[0] - 100.0 * state.deflection[0] - 0.1 * state.deflection_rate[0], base[0])


def test_gravity_effort_is_what_holds_a_standing_arm(planar_3r_text):
    model = ArmModel(planar_3r_text, gravity=(0.0, -9.81, 0.0))
    state = ArmState(0, np.array([0.0, 0.0, 0.0]), np.zeros(3), np.zeros(1), np.zeros(1))
    # stretched along x: moments of three masses of 10 kg about each joint
    assert np.allclose(model.gravity_effort(state), 98.1 * np.array([0.5 + 1.5 + 2.5, 0.5 + 1.5, 0.5]))


def test_natural_frequency_with_locked_joints(planar_3r):
    state = ArmState(0, np.zeros(3), np.zeros(3), np.zeros(1), np.zeros(1))
    assert np.allclose(planar_3r.natural_frequencies(state), np.sqrt(100.0 / 31.0))


MAST = """<robot name="mast"><link name="world"/>
  <joint name="tilt" type="revolute"><parent link="world"/><child link="box"/><axis xyz="0 1 0"/>
    <limit lower="-0.5" upper="0.5" effort="0" velocity="2"/></joint>
  <link name="box"><inertial><origin xyz="0 0 HEIGHT"/><mass value="40"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="joint1" type="revolute"><parent link="box"/><child link="arm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <link name="arm"><inertial><mass value="1e-6"/>
    <inertia ixx="1e-9" iyy="1e-9" izz="1e-9" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <flexibility><elastic_joint name="tilt" stiffness="5000" damping="5"/></flexibility></robot>"""


@pytest.mark.parametrize(("height", "deflection"), [(3.0, 0.0), (-3.0, 0.0), (3.0, 0.4), (4.2, 0.0), (5.0, 0.0)])
def test_weight_makes_a_mast_softer_and_a_pendulum_stiffer(height, deflection):
    model = ArmModel(MAST.replace("HEIGHT", str(height)))
    state = ArmState(0, np.zeros(1), np.zeros(1), np.array([deflection]), np.zeros(1))
    square = (5000.0 - 40.0 * 9.81 * height * np.cos(deflection)) / (40.0 * height**2 + 1.0)
    assert model.natural_frequencies(state) == pytest.approx([np.sqrt(max(square, 0.0))], rel=1e-6)
    period = 2.0 * np.pi / np.sqrt(square) if square > 0.0 else np.inf  # at 5 m it falls over
    assert model.longest_period(state) == pytest.approx(period, rel=1e-6)


def test_natural_frequencies_are_those_of_small_motions_under_gravity():
    boom_7r = ArmModel(load_robot_description(URDF / "boom_7r.urdf.xacro"))
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, x = rng.uniform(-1.5, 1.5, boom_7r.n), 0.05 * rng.normal(size=boom_7r.m)

        def pushed(deflection, q=q):  # at rest with locked joints
            state = ArmState(0, q, 0.0 * q, deflection, 0.0 * deflection)
            return boom_7r.base_acceleration(boom_7r.blocks(state), state, 0.0 * q)

        # where the base does not rest, the inertia changes too: that part is taken off
        slopes = np.array([(pushed(x + d) - pushed(x - d)) / 2e-5 for d in 1e-5 * np.eye(boom_7r.m)]).T
        H, force = (lambda d, q=q: boom_7r.blocks(ArmState(0, q, 0.0 * q, d, 0.0 * d)).H_b), pushed(x)
        turned = np.array([(H(x + d) - H(x - d)) @ force / 2e-5 for d in 1e-5 * np.eye(boom_7r.m)]).T
        squares = np.sort(-np.linalg.eigvals(slopes + np.linalg.solve(H(x), turned)).real)
        state = ArmState(0, q, 0.0 * q, x, 0.0 * x)
        assert boom_7r.natural_frequencies(state) == pytest.approx(np.sqrt(np.maximum(squares, 0.0)), rel=1e-4)


def test_a_state_that_is_not_finite_or_has_another_size_is_refused(planar_3r):
    good = ArmState(0, np.zeros(3), np.zeros(3), np.zeros(1), np.zeros(1))
    planar_3r.check_state(good)
    with pytest.raises(InputError, match=r"velocity has shape \(2,\), expected \(3,\)"):
        planar_3r.check_state(ArmState(0, np.zeros(3), np.zeros(2), np.zeros(1), np.zeros(1)))
    with pytest.raises(InputError, match="deflection is not finite"):
        planar_3r.check_state(ArmState(0, np.zeros(3), np.zeros(3), np.array([np.nan]), np.zeros(1)))


def test_another_frame_than_world_or_base_is_refused(planar_3r):
    state = ArmState(0, np.zeros(3), np.zeros(3), np.zeros(1), np.zeros(1))
    with pytest.raises(InputError, match="frame 'link1' is not usable; valid: 'world', 'base_ft'"):
        planar_3r.tool_kinematics(state, "link1")
