r"""Modes of a linear system from its free response: growth rates and frequencies, without a model.

The outputs of a linear sampled system that is left to itself are ``y_k = sum_j a_j z_j^k``. Two matrices of the
outputs, the second one sample later than the first, ``H_0 = O C`` and ``H_1 = O A C``, have the transition matrix A
between them up to a change of coordinates: ``A ~ S^-1/2 U^T H_1 V S^-1/2`` with ``H_0 = U S V^T`` (eigensystem
realization, Juang and Pappa 1985). The rows of both are the outputs at times that lie closer together first and
farther apart later, so that fast and slow modes are both told apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flexarm_core.errors import InputError
from flexarm_core.types import Array

BLOCKS = 40  # number of times in a column
OUTPUTS = 12  # number of principal outputs used
FLOOR = 1e-8  # relative size of singular values below which there are only rounding errors
LEAST = 1e-4  # amplitude of a mode at the end, relative to the largest response, below which it is noise
ORDER = 80  # largest number of modes
SHARE = 1e-3  # amplitude of a mode at the end of the response, relative to the response there, below which it is noise
GONE = 1e-4  # size relative to its largest below which a response has died away
FEWEST = 12  # samples
SEEN = 0.3  # share of what a growing mode must have become that must be there after the part that is examined


@dataclass(frozen=True, slots=True)
class ResponseMode:
    """A mode of a response.

    Attributes:
        growth: growth rate [1/s]; negative: decay rate.
        frequency: damped frequency [Hz]; 0 if it does not oscillate.
        share: amplitude at the end of the response, relative to the whole response there.
        way: absolute value of the pole times the duration of the response [rad]: how much of the mode's motion was
            observed.
    """

    growth: float
    frequency: float
    share: float
    way: float


def response_modes(response: Array, period: float) -> tuple[ResponseMode, ...]:
    """Return the modes of a free response, the fastest growing one first.

    Args:
        response: (N, p) outputs of a linear system at equal intervals.
        period: interval [s].

    Raises:
        InputError: the response is too short or not finite.
    """
    y = np.asarray(response, dtype=np.float64)
    if y.ndim != 2 or len(y) < FEWEST or not np.isfinite(y).all():
        raise InputError(f"a response needs at least {FEWEST} rows of finite numbers, got shape {y.shape}")
    size = np.sqrt(np.mean(y**2, axis=0))
    y = y[:, size > 0.0] / size[size > 0.0]
    if y.shape[1] == 0:
        return ()
    sizes, whole_length = np.linalg.norm(y, axis=1), len(y)
    end = float(np.sqrt(np.mean(sizes[-FEWEST:] ** 2)))  # what is there at the end, noise included
    y = y[: max(int(np.flatnonzero(sizes > GONE * sizes.max())[-1]) + 1, FEWEST)]  # the rest is rounding errors
    left, values, _ = np.linalg.svd(y, full_matrices=False)
    kept = min(OUTPUTS, int(np.count_nonzero(values > FLOOR * values[0])))
    y = left[:, :kept] * values[:kept]
    half = len(y) // 2
    delays = np.unique(np.round(half * np.linspace(0.0, 1.0, min(BLOCKS, half)) ** 2).astype(int))
    columns = len(y) - 1 - delays[-1]
    first = np.vstack([y[delay : delay + columns].T for delay in delays])
    later = np.vstack([y[delay + 1 : delay + 1 + columns].T for delay in delays])
    U, S, Vt = np.linalg.svd(first, full_matrices=False)
    order = min(ORDER, columns // 2, int(np.count_nonzero(FLOOR * S[0] < S)))
    root = np.sqrt(S[:order])
    A = (U[:, :order] / root).T @ later @ (Vt[:order].T / root)
    z = np.linalg.eigvals(A)
    z = z[np.abs(z) > 0.0]
    # amplitudes, of powers that end at 1 where a mode grows, so that none overflows
    steps = np.arange(len(y))[:, None]
    powers = z[None, :] ** np.where(np.abs(z) > 1.0, steps - steps[-1], steps)
    amplitudes = np.linalg.lstsq(powers, y.astype(complex), rcond=None)[0]
    tail = slice(len(y) - max(len(y) // 4, 4), None)
    whole = float(np.linalg.norm(y[tail])) or 1.0
    largest = float(np.linalg.norm(y, axis=1).max()) * np.sqrt(len(y[tail]))
    shares = np.linalg.norm(powers[tail], axis=0) * np.linalg.norm(amplitudes, axis=1) / whole
    s = np.log(z.astype(complex)) / period
    left_out = period * (whole_length - len(y))
    size = shares * whole / np.sqrt(len(y[tail]))
    with np.errstate(over="ignore"):
        seen = (s.real <= 0.0) | (SEEN * size * np.exp(s.real * left_out) <= end)  # what grows must be there later
    modes = [
        ResponseMode(
            float(pole.real), abs(float(pole.imag)) / (2.0 * np.pi), float(share), abs(complex(pole)) * period * len(y)
        )
        for pole, share, shown in zip(s, shares, seen, strict=True)
        if shown and pole.imag >= -1e-9 and share > SHARE and share * whole > LEAST * largest
    ]
    return tuple(sorted(modes, key=lambda mode: -mode.growth))
