"""Time law with constant speed and smooth acceleration and deceleration phases."""

from __future__ import annotations


def constant_speed(time: float, duration: float, blend_time: float) -> tuple[float, float, float]:
    """Evaluate a time law with constant rate and fifth-order blends of the rate at both ends.

    With the duration ``T``, the blend time ``b`` and ``p(x) = 10 x^3 - 15 x^4 + 6 x^5``::

        ds/dt = p(t / b) / (T - b)  for t < b,    1 / (T - b)  for b <= t <= T - b,    the mirror image at the end

    so that the acceleration is continuous.

    Args:
        time: time since the start [s]; negative values give the start, values above the duration the end.
        duration: T [s].
        blend_time: b, at most half of the duration [s]; 0: the rate is discontinuous at both ends.

    Returns:
        s in [0, 1], its rate [1/s] and its acceleration [1/s^2].
    """
    if not 0.0 < time < duration:
        return float(time > 0.0), 0.0, 0.0
    if time > 0.5 * duration:
        s, rate, acceleration = constant_speed(duration - time, duration, blend_time)
        return 1.0 - s, rate, -acceleration
    full = 1.0 / (duration - blend_time)
    if time >= blend_time:
        return full * (time - 0.5 * blend_time), full, 0.0
    x = time / blend_time
    s = full * blend_time * x**4 * (2.5 + x * (-3.0 + x))
    rate = full * x**3 * (10.0 + x * (-15.0 + 6.0 * x))
    acceleration = full * 30.0 * x**2 * (1.0 - x) ** 2 / blend_time
    return s, rate, acceleration
