"""Metrics of contact: force control error, and path error perpendicular to the force."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flexarm_core.types import Array
from flexarm_tools.metrics.registry import (
    DIRECTION,
    WANTED,
    WINDOW,
    Measurement,
    MetricOptions,
    known,
    metric,
    peak,
    reduced,
    unmeasured,
    window,
)
from flexarm_tools.recording.recording import Recording


def _unit(direction: tuple[float, float, float]) -> Array:
    """Return the direction (3,) with length 1; NaN for a zero vector."""
    with np.errstate(invalid="ignore"):
        unit: Array = np.array(direction) / np.linalg.norm(direction)
    return unit


def _known(recording: Recording, options: MetricOptions) -> NDArray[np.bool_]:
    """Return the ticks (T,) of the window with a known contact wrench."""
    ticks: NDArray[np.bool_] = window(recording, options) & known(recording.contact_wrench)
    return ticks


def _force_along(recording: Recording, options: MetricOptions) -> Array:
    """Return the force of the surfaces on the tool along the direction, at each counted tick [N]."""
    force: Array = recording.contact_wrench[_known(recording, options), :3] @ _unit(options.direction)
    return force


@metric("1", *WINDOW, DIRECTION, WANTED)
def contact_force_error(recording: Recording, options: MetricOptions) -> Measurement:
    """Mean absolute error of the force along the direction, relative to the desired force, with or without contact.

    ::

        value = mean |f(t) . d - wanted| / wanted

    ``f`` is the force of the surfaces on the tool: it points out of the surfaces. NaN if there are no surfaces.
    """
    wanted = options.wanted
    if wanted is None:
        return unmeasured("option 'wanted' is not given")
    return reduced(lambda force: np.mean(np.abs(force - wanted)) / wanted, _force_along(recording, options))


@metric("N", *WINDOW, DIRECTION)
def mean_contact_force(recording: Recording, options: MetricOptions) -> Measurement:
    """Mean force of the surfaces on the tool along the direction."""
    return reduced(np.mean, _force_along(recording, options))


@metric("N", *WINDOW)
def peak_contact_force(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest force of the surfaces on the tool, `max ‖f(t)‖`, friction included."""
    return peak(np.linalg.norm(recording.contact_wrench[_known(recording, options), :3], axis=1))


@metric("1", *WINDOW)
def contact_losses(recording: Recording, options: MetricOptions) -> Measurement:
    """Number of times that the tool loses contact with all surfaces between two ticks.

    NaN if the tool never touches a surface: without contact, no contact can be maintained.
    """
    force = recording.contact_wrench[_known(recording, options), :3]
    touches: NDArray[np.bool_] = np.any(force != 0.0, axis=1)
    if not touches.any():
        return unmeasured("the tool never touches a surface")
    return Measurement(float(np.sum(touches[:-1] & ~touches[1:])))


@metric("m", *WINDOW, DIRECTION)
def path_error_free(recording: Recording, options: MetricOptions) -> Measurement:
    """Largest distance between tool and path, without the component along `direction`.

    ::

        value = max |(1 - d d^T) (p(t) - p_path(t))|

    The path is the recorded topic ``set_point``, or else the tool reference; the direction is given in the
    axes of its frame.
    """
    apart = np.isfinite(recording.path_position).any()
    path = recording.path_position if apart else recording.reference_position
    tool = recording.tool_position_in(recording.path_frame if apart else recording.reference_frame)
    counted = window(recording, options) & np.isfinite(path).all(axis=1)
    error, along = (tool - path)[counted], _unit(options.direction)
    return peak(np.linalg.norm(error - np.outer(error @ along, along), axis=1))
