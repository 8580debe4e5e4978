"""How the difference between two motions fades: from where it is to zero, within limits, whoever looks when."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.joint_trajectory.motion import SHARE, UNLIMITED, Held, Limits, Piece


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, Limits]:
    """A difference of positions and velocities, small or large, and limits; with some there are none."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-6.0, 1.0, (2, 3)) * rng.choice([-1.0, 0.0, 1.0], (2, 3), p=[0.45, 0.1, 0.45])
    fastest = np.full(3, np.inf) if seed % 4 == 0 else rng.uniform(0.5, 5.0, 3)
    return size[0], size[1], Limits(fastest, np.full(3, np.inf) if seed % 5 == 0 else rng.uniform(0.5, 20.0, 3))


def begun(position, velocity, limits, stamp=0) -> Piece:
    return Piece(stamp, Held(np.zeros(3)), (position, velocity, np.ones(3)), limits)


@pytest.mark.parametrize("seed", range(40))
def test_a_difference_goes_to_zero_without_a_jump_and_within_its_share_of_the_limits(seed):
    position, velocity, limits = drawn(seed)
    piece = begun(position, velocity, limits)
    stamps = np.linspace(0, piece.end, 4001).astype(np.int64)
    q, v, a = map(np.array, zip(*(piece.sample(int(stamp)) for stamp in stamps), strict=True))
    assert np.allclose(q[0], position, atol=1e-12) and np.allclose(v[0], velocity, atol=1e-12)
    assert np.allclose(q[-2:], 0.0, atol=1e-3 * np.abs(position).max() + 1e-3)
    assert (np.abs(v[-1]) <= 1e-9 * SHARE * np.minimum(limits.acceleration, UNLIMITED) + 1e-9).all()  # stamps are in ns
    assert (np.abs(v) <= SHARE * limits.velocity + np.abs(velocity) + 1e-9).all()
    assert (np.abs(a) <= SHARE * limits.acceleration * (1.0 + 1e-9)).all()
    dt = np.diff(stamps)[:, None] * 1e-9
    away = np.abs(np.diff(q, axis=0) - 0.5 * (v[1:] + v[:-1]) * dt)
    corner = 0.25 * SHARE * limits.acceleration * dt**2  # infinite without a limit: velocities may jump
    assert (away <= corner + 1e-2 * np.abs(v).max() * dt).all()


@pytest.mark.parametrize("seed", range(40))
def test_a_fade_that_begins_anew_all_the_time_takes_hardly_longer(seed):
    """Streams of chunks do that; one that lost its acceleration each time would last forever, and lead away."""
    position, velocity, limits = drawn(seed)
    piece, stamp = begun(position, velocity, limits), 0
    alone = piece.end
    while stamp < 1.5 * alone + 1e9:
        stamp += 20_000_000
        q, v, _ = piece.sample(stamp)
        piece = begun(q, v, limits, stamp)
    assert np.abs(q).max() < 1e-3 * np.abs(position).max() + 1e-3 * np.abs(velocity).max()
