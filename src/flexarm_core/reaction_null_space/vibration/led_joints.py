"""Joint reference for servos, integrated from the accelerations of a law over an undeflected base (compiled)."""

from __future__ import annotations

from flexarm_core.compiled import inlined_kernel
from flexarm_core.reaction_null_space.vibration.law_memory import Inputs, Settings, State
from flexarm_core.types import Array

LEASH = 0.5  # [rad | m] largest distance between joints and reference; beyond it the reference is rejected
LONGEST_GAP = 0.1  # [s] longest time between two samples over which the joint reference is integrated


@inlined_kernel
def lead(s: Settings, x: Inputs, kept: State) -> bool:
    """Write the reference at a sample: ``position`` and ``velocity`` of the inputs.

    A new reference starts at the joints, at rest or, if the arm is brought to rest, at their velocity.

    Returns:
        Whether the reference is usable; false: the joints are too far from it, and it starts again at the joints.
    """
    dt, far = x.since_led[0], False
    known = kept.led[0] > 0.0 and 0.0 <= dt <= LONGEST_GAP
    if known:
        for i in range(x.position.shape[0]):
            speed, going = kept.led_velocity[i], kept.led_acceleration[i]
            x.position[i] = kept.led_position[i] + (speed + 0.5 * going * dt) * dt
            x.velocity[i] = speed + going * dt
            far = far or not abs(x.position[i] - x.measured_position[i]) <= LEASH
    if known and not far and s.yields:
        for i in range(x.position.shape[0]):
            for j in range(x.deflection.shape[0]):
                x.velocity[i] += kept.gives[i, j] * (x.deflection_rate[j] - kept.led_rate[j])
    if far:
        kept.led[0] = 0.0
    if far or not known:
        for i in range(x.position.shape[0]):
            x.position[i], x.velocity[i] = x.measured_position[i], x.measured_velocity[i] if s.rests else 0.0
    return s.rests or not far


@inlined_kernel
def take(x: Inputs, acceleration: Array, kept: State) -> None:
    """Store the reference of a sample and its acceleration (n,) for integration to the next sample."""
    kept.led[0] = 1.0
    for i in range(acceleration.shape[0]):
        kept.led_position[i], kept.led_velocity[i] = x.position[i], x.velocity[i]
        kept.led_acceleration[i] = acceleration[i]
    for j in range(x.deflection.shape[0]):
        kept.led_rate[j] = x.deflection_rate[j]
