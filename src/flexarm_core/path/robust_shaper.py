"""Input shaper of a given length for modes whose frequencies are known to lie in ranges.

Non-negative amplitudes ``a_i`` at evenly spaced times ``t_i`` within the length minimize the residual vibration::

    min sum_k |sum_i a_i exp((zeta_k w_k + j w_k sqrt(1 - zeta_k^2)) t_i)|^2,   sum_i a_i = 1,   a_i >= 0

over frequencies ``w_k`` in all ranges, by non-negative least squares. Few amplitudes remain. Positive impulses keep
velocities and accelerations within the limits of the unshaped motion. With less length than half a period of the
slowest mode much of its vibration remains.

Source: T. Singh, S. R. Vadali, Robust Time-Delay Control of Multimode Systems, Int. J. Control 62 (1995), for several
modes; the amplitudes here are found by least squares.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from flexarm_core.entrance import number
from flexarm_core.path.input_shaping import UNSHAPED, InputShaper
from flexarm_core.types import Array

STEP = 0.005  # [s] between two times at which an impulse may be, at least
MOST = 100  # such times
SAMPLES = 5  # frequencies of a range
WHOLE = 1e3  # weight of the sum of the amplitudes
LEAST = 1e-6  # amplitudes below are left out


def robust_shaper(lower: Array, upper: Array, damping_ratio: Array, length: float) -> InputShaper:
    """Return a shaper.

    Args:
        lower: (m,) lowest frequency of each mode [rad/s].
        upper: (m,) highest frequency of each mode [rad/s].
        damping_ratio: (m,) damping ratio of each mode, in [0, 1).
        length: longest time between first and last impulse [s].

    Raises:
        InputError: the length is not a number of at least 0.
    """
    length = number("length", length, 0.0)
    times = np.linspace(0.0, length, min(int(length / STEP) + 1, MOST)) if length > STEP else np.zeros(1)
    w = np.linspace(lower, upper, SAMPLES).ravel()
    zeta = np.broadcast_to(damping_ratio, (SAMPLES, len(lower))).ravel()
    response = np.exp(np.outer(w * (zeta + 1j * np.sqrt(1.0 - zeta**2)), times - length))
    rows = np.vstack((response.real, response.imag, np.full(len(times), WHOLE)))
    wanted = np.append(np.zeros(2 * len(w)), WHOLE)
    amplitudes = nnls(rows, wanted)[0]
    kept = amplitudes > LEAST
    if not kept.any():
        return UNSHAPED
    amplitudes, times = amplitudes[kept] / amplitudes[kept].sum(), times[kept] - times[kept][0]
    return InputShaper(tuple(amplitudes.tolist()), tuple(times.tolist()))
