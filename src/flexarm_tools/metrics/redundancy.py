"""Metrics of the redundancy resolution: tool errors and joint motions caused by singularities and limits."""

from __future__ import annotations

import numpy as np

from flexarm_tools.metrics.registry import (
    JOINT,
    LAST,
    POSITION,
    WINDOW,
    Measurement,
    MetricOptions,
    final,
    known,
    metric,
    peak,
    unmeasured,
    window,
)
from flexarm_tools.recording.recording import Recording

STANDS = 1e-4  # [rad/s | m/s] speed of the fastest joint below which the arm is at rest
MOVES = 5e-3  # [m/s] speed above which the tool reference moves


@metric("m", *WINDOW)
def resolution_position_error(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance of the desired tool position from that of the joint reference."""
    error = recording.resolution_position_error
    return peak(error[window(recording, options) & recording.has_reference & known(error)])


@metric("rad", *WINDOW)
def resolution_orientation_error(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest angle between the desired tool orientation and that of the joint reference."""
    error = recording.resolution_orientation_error
    return peak(error[window(recording, options) & recording.has_reference & known(error)])


@metric("1", *WINDOW)
def largest_condition_number(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest condition number of the tool's Jacobian, rotations scaled to lengths."""
    values = recording.condition_number
    return peak(values[window(recording, options) & known(values)])


@metric("1", *WINDOW)
def standstill(recording: Recording, options: MetricOptions) -> Measurement:
    """Ticks with all joint references at rest (below 1e-4 rad/s) and the tool reference moving (above 5 mm/s)."""
    ticks = recording.has_reference & known(recording.reference_velocity)
    if np.sum(ticks) < 2:
        return unmeasured("there is no tool reference with joint references")
    speed = np.linalg.norm(np.gradient(recording.reference_position[ticks], recording.time[ticks], axis=0), axis=1)
    stands = np.max(np.abs(recording.reference_velocity[ticks]), axis=1) < STANDS
    return Measurement(float(np.sum(window(recording, options)[ticks] & stands & (speed > MOVES))))


@metric("joint/s", *WINDOW)
def peak_reference_velocity(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest velocity of any joint reference."""
    velocity = recording.reference_velocity
    return peak(np.abs(velocity[window(recording, options) & known(velocity)]))


@metric("joint/s^2", *WINDOW)
def peak_reference_acceleration(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest acceleration of any joint reference, from its velocities.

    A velocity behind samples that nothing answered is compared with the last one before them.
    """
    ticks = known(recording.reference_velocity)
    steps = np.diff(recording.reference_velocity[ticks], axis=0) / np.diff(recording.time[ticks])[:, None]
    return peak(np.abs(steps[window(recording, options)[ticks][1:]]))


@metric("joint", LAST)
def joint_return(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance of any joint in the final window from its initial position."""
    return peak(np.abs(recording.position[final(recording, options)] - recording.position[0]))


@metric("joint", JOINT, POSITION, LAST)
def joint_distance(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance of a joint in the final window from its desired position."""
    if options.joint not in recording.joint_names:
        return unmeasured(f"there is no actuated joint '{options.joint}'")
    moved = recording.position[:, recording.joint_names.index(options.joint)]
    return peak(np.abs(moved[final(recording, options)] - options.position))
