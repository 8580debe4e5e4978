"""The compiled rotations against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from flexarm_core.kernels.rotations import rate_map, rotation_of

ANGLES = (0.0, 1e-12, 1e-7, 0.9e-4, 1.1e-4, 0.9e-3, 1.1e-3, 0.1, 1.0, 3.1, np.pi, 3.2, 5.0, 6.0)


def cross(v):
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def vectors(angle, count=8):
    axes = np.random.default_rng(1).standard_normal((count, 3))
    return angle * axes / np.linalg.norm(axes, axis=1)[:, None]


def computed(function, vector):
    out = np.full((3, 3), np.nan)
    function(vector, out)
    return out


@pytest.mark.parametrize("angle", ANGLES)
def test_the_exponential_is_that_of_scipy(angle):
    for vector in vectors(angle):
        R = computed(rotation_of, vector)
        assert pytest.approx(Rotation.from_rotvec(vector).as_matrix(), abs=1e-14) == R
        assert pytest.approx(np.eye(3), abs=1e-14) == R @ R.T


@pytest.mark.parametrize("angle", ANGLES)
def test_the_rate_map_is_the_inverse_of_the_left_jacobian(angle):
    for vector in vectors(angle):
        # J_l = integral of exp(s v^) over s in [0, 1], read from the exponential of a block matrix
        block = np.zeros((6, 6))
        block[:3, :3], block[:3, 3:] = cross(vector), np.eye(3)
        left_jacobian = expm(block)[:3, 3:]
        assert computed(rate_map, vector) @ left_jacobian == pytest.approx(np.eye(3), abs=2e-12 if angle < 4 else 1e-10)


@pytest.mark.parametrize("angle", (0.0, 2e-3, 0.5, 2.0, 3.0))
def test_the_rate_map_turns_an_angular_velocity_into_the_rate_of_the_rotation_vector(angle):
    w, h = np.array([0.3, -0.7, 0.5]), 1e-5
    for vector in vectors(angle):
        R = Rotation.from_rotvec(vector)
        ahead, behind = (Rotation.from_rotvec(s * h * w) * R for s in (1.0, -1.0))
        rate = (ahead.as_rotvec() - behind.as_rotvec()) / (2.0 * h)
        assert computed(rate_map, vector) @ w == pytest.approx(rate, abs=1e-8)
