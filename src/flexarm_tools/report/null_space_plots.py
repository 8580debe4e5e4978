"""Plots of runs in the reaction null space, laid out as in Nenchev et al. (1999): figures 3 and 4.

The arm in the paper is on a base with one elastic direction. In figure 3 the base is hit and vibrates until vibration
damping starts: base deflection, joint angles, joint rates and coupling momentum are stacked. In figure 4 the tool
follows a path: tool, reference, joints and base.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexarm_core.types import Array
from flexarm_tools.metrics.registry import MOMENTA
from flexarm_tools.recording.recording import Recording
from flexarm_tools.report.plots import common_unit, run_markers
from flexarm_tools.report.svg_panels import SvgPanels
from flexarm_tools.report.svg_plot import MARK, MUTED, SERIES, axis_scale, series_color, within_reason
from flexarm_tools.report.time_plots import TIME, Plot, mark
from flexarm_tools.scenario.scenario import Scenario

CONTROLLER = "rns_vibration_controller"
Row = tuple[str, Sequence[Array], Sequence[Array]]  # ordinate, curves (T, c) of each run, optional dashed curves


def null_space_panels(
    names: Sequence[str], scenarios: Sequence[Scenario], recordings: Sequence[Recording]
) -> Plot | None:
    """Plot one column per run with equal scales as in figures 3 and 4; return None if these do not apply.

    All runs must use this controller and have one elastic joint. Runs in which a tool follows a reference are laid out
    as in figure 4, others as in figure 3; the time axis ends with the shortest run.

    Args:
        names: names of the runs.
        scenarios: scenarios of the runs.
        recordings: recordings of the runs, all of one robot.
    """
    controlled = all(any(node.executable == CONTROLLER for node in scenario.nodes) for scenario in scenarios)
    if not controlled or any(len(recording.elastic_names) != 1 for recording in recordings):
        return None
    joints, unit = recordings[0].joint_names, common_unit(recordings[0].joint_units)
    base = _scaled("base", [recording.deflection for recording in recordings], recordings[0].elastic_units[0])
    moving: list[Row] = [
        (f"joints [{unit}]", [recording.position for recording in recordings], []),
        (f"rates [{unit}/s]", [recording.velocity for recording in recordings], []),
    ]
    legend = tuple((i % SERIES + 1, name, False) for i, name in enumerate(joints))
    if all(recording.has_reference.any() for recording in recordings):
        panels = SvgPanels(len(recordings), [1.9, 1.5, 1.5, 1.5, 1.6])
        begins = [recording.reference_position[np.argmax(recording.has_reference)] for recording in recordings]
        tools = [r.tool_position_in(r.reference_frame) - begin for r, begin in zip(recordings, begins, strict=True)]
        wanted = [r.reference_position - begin for r, begin in zip(recordings, begins, strict=True)]
        errors = [np.where(r.has_reference, r.tracking_error, np.nan)[:, None] for r in recordings]
        rows = [_scaled("tool", tools, "m", wanted), *moving, base, _scaled("tool error", errors, "m")]
        title = "Tool x, y, z from where it starts (dashed: reference), joints, base and tool error"
    else:
        panels = SvgPanels(len(recordings), [1.9, 1.5, 1.5, 1.6])
        momenta = [recording.coupling_momentum for recording in recordings]
        rows = [base, *moving, _scaled("L", momenta, MOMENTA[recordings[0].elastic_units[0]])]
        title = "Base, joints and coupling momentum L"
    _draw(panels, rows, scenarios, recordings)
    for column, name in enumerate(names):
        panels.name(0, column, name)
    return Plot(title, panels.svg(f"{title} of {', '.join(names)}"), legend)


def _scaled(label: str, curves: Sequence[Array], unit: str, dashed: Sequence[Array] = ()) -> Row:
    """Return a row scaled to a unit that suits its largest value."""
    curves, dashed = [within_reason(curve) for curve in curves], [within_reason(curve) for curve in dashed]
    peak = max(float(np.nanmax(np.abs(curve), initial=0.0)) for curve in curves)
    factor, shown = axis_scale(peak, unit)
    return f"{label} [{shown}]", [factor * curve for curve in curves], [factor * curve for curve in dashed]


def _draw(
    panels: SvgPanels, rows: Sequence[Row], scenarios: Sequence[Scenario], recordings: Sequence[Recording]
) -> None:
    """Draw the curves over time: one row of panels per quantity, one column per run."""
    end = min(float(recording.time[-1]) for recording in recordings)
    for row, (ordinate, curves, dashed) in enumerate(rows):
        for column, (scenario, recording) in enumerate(zip(scenarios, recordings, strict=True)):
            plot, shown = panels.panels[row][column], recording.time <= end
            plot.axes.set_ylabel(ordinate)
            for index, curve in enumerate(curves[column].T):
                plot.line(recording.time[shown], curve[shown], series_color(index), 1.6)
            for curve in dashed[column].T if dashed else ():
                plot.line(recording.time[shown], curve[shown], MUTED, 1.1, dashed=True)
            plot.axes.set_xlim(0.0, end)
            markers = [marker for marker in run_markers(scenario) if marker.end <= end]
            if row == 0:
                mark(plot, markers)
            else:
                for marker in filter(lambda each: each.number, markers):
                    plot.axes.axvline(marker.begin, color=MARK, linewidth=0.8, linestyle=(0, (2, 2)))
            if row == len(rows) - 1:
                plot.axes.set_xlabel(TIME)
            else:
                plot.axes.tick_params(labelbottom=False)
        panels.level(row)
