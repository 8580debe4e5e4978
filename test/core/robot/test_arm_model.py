"""The dynamics blocks against closed forms, an independent engine and invariants."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
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
