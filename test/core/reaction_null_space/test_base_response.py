"""The base's swing: closed form of one oscillator, and stiff directions that follow their load."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.reaction_null_space.planning.plan import base_response, peak_energy


class Oscillator:
    """What base_response asks of a model: one soft and one stiff direction."""

    m = 2
    K_b = np.diag([400.0, 5e7])
    D_b = np.zeros((2, 2))


def test_a_constant_load_swings_an_undamped_mode_to_twice_its_static_deflection():
    times = np.arange(0.0, 2.0, 0.01)
    loads = np.tile([4.0, 0.0], (len(times), 1))
    found = base_response(Oscillator(), np.tile(np.diag([4.0, 30.0]), (len(times), 1, 1)), loads, 0.01)
    exact = 4.0 / 400.0 * (1.0 - np.cos(10.0 * times))
    assert np.allclose(found[:, 0], exact, atol=1e-4)
    assert peak_energy(Oscillator(), found) == pytest.approx(0.5 * 400.0 * 0.02**2, rel=1e-3)


def test_a_stiff_direction_follows_a_smooth_load():
    times = np.arange(0.0, 2.0, 0.01)
    loads = np.column_stack((np.zeros_like(times), 100.0 * np.sin(np.pi * times) ** 4))
    found = base_response(Oscillator(), np.tile(np.diag([4.0, 30.0]), (len(times), 1, 1)), loads, 0.01)
    assert np.allclose(found[:, 1], loads[:, 1] / 5e7, atol=2e-8)
