"""Projector and damped inverse: Penrose's conditions, orthogonality, bounds near singularities."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from flexarm_core.reaction_null_space.coupling.null_space import damped_inverse
from flexarm_core.reaction_null_space.vibration.gain import vibration_gain

matrices = st.tuples(st.integers(1, 6), st.integers(1, 9)).flatmap(
    lambda shape: arrays(float, shape, elements=st.floats(-5.0, 5.0).map(lambda x: round(x, 3)))
)


@given(matrices)
@settings(deadline=None)
def test_projector_is_orthogonal_and_annihilated(matrix):
    P = damped_inverse(matrix, 1e-3, 1e-3).null_projector()
    assert np.allclose(P, P.T, atol=1e-12)
    assert np.allclose(P @ P, P, atol=1e-12)
    assert np.allclose(matrix @ P, 0.0, atol=1e-10)


@given(matrices)
@settings(deadline=None)
def test_away_from_singularities_it_is_the_pseudo_inverse(matrix):
    result = damped_inverse(matrix, 1e-3, 1e-3)
    values = result.singular_values
    if values[values > 1e-12].min(initial=1.0) > 1e-3:
        expected = np.linalg.pinv(matrix, rcond=1e-12)
        assert np.allclose(result.inverse, expected, atol=1e-8)


@given(st.floats(0.0, 0.1))
def test_near_a_singularity_the_inverse_stays_bounded_and_says_so(value):
    result = damped_inverse(np.diag([1.0, value]), 0.05, 0.05)
    assert np.abs(result.inverse).max() <= max(1.0, 1.0 / 0.05) + 1e-9
    assert (result.damping > 0.0) == (value < 0.05)


def test_the_inverse_is_continuous_across_its_threshold():
    below = damped_inverse(np.array([[0.05 - 1e-9]]), 0.05, 0.05).inverse
    above = damped_inverse(np.array([[0.05 + 1e-9]]), 0.05, 0.05).inverse
    assert np.allclose(below, above, rtol=1e-6)


def test_an_empty_matrix_leaves_everything_free():
    result = damped_inverse(np.zeros((0, 3)), 1.0, 1.0)
    assert np.array_equal(result.null_projector(), np.eye(3)) and result.rank == 0


def test_gain_gives_every_mode_of_a_coupled_base_the_wanted_damping_ratio():
    rng = np.random.default_rng(0)
    for m in (1, 2, 3, 6):
        root = rng.normal(size=(m, m))
        H = root @ root.T + m * np.eye(m)
        K = np.diag(rng.uniform(10.0, 1000.0, m))
        G = vibration_gain(H, K, 0.4)
        poles = np.linalg.eigvals(np.block([[np.zeros((m, m)), np.eye(m)], [-np.linalg.solve(H, K), -G]]))
        assert np.allclose(-poles.real / np.abs(poles), 0.4, atol=1e-8)
