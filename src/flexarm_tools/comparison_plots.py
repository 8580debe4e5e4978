"""The plots of a comparison: one curve a run, the runs drawn over each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexarm_core.types import Array
from flexarm_tools.plots import TIME, Plot, common_unit, dominant_mode, tool_distance
from flexarm_tools.recording import Recording
from flexarm_tools.svg_plot import SERIES, SvgPlot, engineering, series_color, within_reason


def comparison_plots(names: Sequence[str], recordings: Sequence[Recording], colors: Sequence[int]) -> list[Plot]:
    """Several runs in one plot each: bases, tool vibrations, modes, contact, what singularities cost.

    Args:
        names: of the runs.
        recordings: of the runs.
        colors: number of each run's colour, from 0.
    """
    bases = [recording for recording in recordings if recording.elastic_names]
    bending = [recording for recording in recordings if np.isfinite(recording.modal_position).any()]
    touching = any(np.isfinite(recording.contact_wrench).any() for recording in recordings)
    resolved = any(np.isfinite(recording.resolution_position_error).any() for recording in recordings)
    plots = []
    if bases or not (bending or touching or resolved):
        signed = [r.deflection[:, 0] if r.deflection.shape[1] == 1 else r.base_motion for r in recordings]
        unit = common_unit([unit for recording in recordings for unit in recording.elastic_units])
        sizes = [recording.base_motion for recording in recordings]
        plots += _linear_and_logarithmic("Base deflection", unit, names, recordings, colors, signed, sizes)
    if bending:
        sizes = [tool_distance(recording) for recording in recordings]
        plots += _linear_and_logarithmic("Tool vibration", "m", names, recordings, colors, sizes, sizes)
        mode = dominant_mode(bending)
        curves = [
            recording.modal_position[:, recording.modes.index(mode)]
            if mode in recording.modes
            else np.full(recording.ticks, np.nan)
            for recording in recordings
        ]
        plots.append(_overlay(f"Mode {mode}", "modal position", "m*sqrt(kg)", names, recordings, colors, curves))
    if touching:
        forces = [np.linalg.norm(recording.contact_wrench[:, :3], axis=1) for recording in recordings]
        plots.append(_overlay("Contact force on the tool", "contact force", "N", names, recordings, colors, forces))
    elif resolved:
        sizes = [recording.resolution_position_error for recording in recordings]
        plots += _linear_and_logarithmic("Position error", "m", names, recordings, colors, sizes, sizes, 14.0)
        angles = [recording.resolution_orientation_error for recording in recordings]
        plots.append(_overlay("Orientation error", "orientation error", "rad", names, recordings, colors, angles))
    if touching or resolved:
        fastest = [np.max(np.abs(recording.reference_velocity), axis=1) for recording in recordings]
        unit = common_unit([f"{unit}/s" for recording in recordings for unit in recording.joint_units])
        plots.append(_overlay("Fastest joint", "joint velocity", unit, names, recordings, colors, fastest))
    return plots


def _linear_and_logarithmic(
    title: str,
    unit: str,
    names: Sequence[str],
    recordings: Sequence[Recording],
    colors: Sequence[int],
    curves: Sequence[Array],
    sizes: Sequence[Array],
    decades: float = 7.0,
) -> list[Plot]:
    logarithmic = SvgPlot(TIME, f"size of the {title.lower()} [{unit}]", 4.8, 2.5)
    for i in _largest_first(curves):
        logarithmic.line(recordings[i].time, np.where(sizes[i] > 0.0, sizes[i], np.nan), series_color(colors[i]))
    logarithmic.logarithmic(list(sizes), decades=decades)
    _limit(logarithmic, recordings)
    text = f"Size of the {title.lower()} of {', '.join(names)}, logarithmic"
    return [
        _overlay(title, title.lower(), unit, names, recordings, colors, curves),
        Plot("The same, logarithmic", logarithmic.svg(text), _legend(names, colors)),
    ]


def _overlay(
    title: str,
    label: str,
    unit: str,
    names: Sequence[str],
    recordings: Sequence[Recording],
    colors: Sequence[int],
    curves: Sequence[Array],
) -> Plot:
    curves = [within_reason(curve) for curve in curves]
    peak = max((float(np.nanmax(np.abs(curve), initial=0.0)) for curve in curves), default=0.0)
    factor, shown = engineering(peak, unit)
    plot = SvgPlot(TIME, f"{label} [{shown}]", 4.8, 2.5)
    for i in _largest_first(curves):
        plot.line(recordings[i].time, factor * curves[i], series_color(colors[i]))
    _limit(plot, recordings)
    return Plot(title, plot.svg(f"{title} of {', '.join(names)} over time"), _legend(names, colors))


def _largest_first(curves: Sequence[Array]) -> list[int]:
    """The largest first, so that it hides nothing."""
    return sorted(range(len(curves)), key=lambda i: -float(np.nanmax(np.abs(within_reason(curves[i])), initial=0.0)))


def _limit(plot: SvgPlot, recordings: Sequence[Recording]) -> None:
    begin, end = (min(float(r.time[0]) for r in recordings), max(float(r.time[-1]) for r in recordings))
    plot.axes.set_xlim(begin, end)


def _legend(names: Sequence[str], colors: Sequence[int]) -> tuple[tuple[int, str, bool], ...]:
    return tuple((color % SERIES + 1, name, False) for name, color in zip(names, colors, strict=True))
