"""Plots of runs along reactionless paths, laid out as in Nenchev et al. (1999): figures 8 and 10 to 12."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from matplotlib.axes import Axes

from flexarm_core.errors import FlexarmError
from flexarm_core.reaction_null_space.reactionless.map import PathPicture, draw, map_reactionless_paths
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array
from flexarm_tools.recording.recording import Recording
from flexarm_tools.report.plots import common_unit, run_markers
from flexarm_tools.report.svg_panels import SvgPanels
from flexarm_tools.report.svg_plot import MUTED, SERIES, axis_scale, series_color, within_reason
from flexarm_tools.report.time_plots import TIME, Plot, mark
from flexarm_tools.scenario.scenario import Scenario

CONTROLLER = "reactionless_path_controller"
FAMILY = 16  # number of paths in a family
SPACING = 0.04  # [rad] distance between drawn points of a path
CLASSES = ((0.0, 0.35), (0.4, 0.65), (0.7, 1.0))  # (conditioning relative to the best, opacity of the line)


def reactionless(scenario: Scenario) -> bool:
    """Return whether a run uses the controller of reactionless paths."""
    return any(node.executable == CONTROLLER for node in scenario.nodes)


def family_plot(scenario: Scenario) -> Plot | None:
    """Plot the family of reactionless paths of a two-joint arm as in figure 8; return None for other arms.

    The paths pass through postures spread over the range of the first joint; the other joint is as at the start of the
    run.
    """
    pictures = _family(scenario)
    if not pictures:
        return None
    best = max(float(picture.conditioning.max()) for picture in pictures)
    names = scenario.robot.description.actuated
    panels = SvgPanels(2, [4.4])
    joints, workspace = panels.panels[0]
    for number, picture in enumerate(pictures):
        color = series_color(0 if number else 1)
        for points, plot in ((_wrapped(picture.position), joints), (picture.tool_position, workspace)):
            for least, opacity in CLASSES:
                shown = np.where((picture.conditioning >= least * best)[:, None], points, np.nan)
                if least and not np.isfinite(shown).any():
                    continue
                plot.axes.plot(shown[:, 0], shown[:, 1], color=color, alpha=opacity, linewidth=1.1 if number else 2.4)
    panels.name(0, 0, "Joints")
    panels.name(0, 1, "Workspace")
    joints.axes.set_xlabel(f"{names[0]} [rad]")
    joints.axes.set_ylabel(f"{names[1]} [rad]")
    _plane(workspace.axes, scenario.robot.description.base_frame)
    legend = ((2, "through the runs' first posture", False), (1, "others: the paler, the worse conditioned", False))
    return Plot("Reactionless paths", panels.svg("The family of reactionless paths, in joint and workspace"), legend)


def reactionless_panels(
    names: Sequence[str], scenarios: Sequence[Scenario], recordings: Sequence[Recording]
) -> Plot | None:
    """Plot runs side by side with equal scales as in figures 10 to 12; return None without a run of reactionless paths.

    If the arms hold a posture, the base deflections are stacked. Otherwise there is one column per run: tool path in
    the workspace with the family of paths, joint positions, joint velocities, and base deflection.

    Args:
        names: names of the runs.
        scenarios: scenarios of the runs.
        recordings: recordings of the runs, all of one robot.
    """
    if not any(reactionless(scenario) for scenario in scenarios):
        return None
    bent = [within_reason(recording.deflection) for recording in recordings]
    peak = max(float(np.nanmax(np.abs(each), initial=0.0)) for each in bent)
    factor, unit = axis_scale(peak, common_unit(recordings[0].elastic_units))
    label = f"base [{unit}]"
    if not any(_moves(scenario) for scenario in scenarios):
        return _stacked(names, scenarios, recordings, [factor * each for each in bent], label)
    angle = common_unit(recordings[0].joint_units)
    rows: tuple[tuple[str, Sequence[Array], Sequence[Array]], ...] = (
        (f"joints [{angle}]", [r.position for r in recordings], [r.desired_position for r in recordings]),
        (f"rates [{angle}/s]", [r.velocity for r in recordings], []),
        (label, [factor * each for each in bent], []),
    )
    panels = SvgPanels(len(recordings), [3.0, 1.7, 1.7, 1.9])
    for column, (name, scenario, recording) in enumerate(zip(names, scenarios, recordings, strict=True)):
        panels.name(0, column, name)
        _way(panels, column, scenario, recording)
        for row, (ordinate, curves, dashed) in enumerate(rows, start=1):
            plot = panels.panels[row][column]
            plot.axes.set_ylabel(ordinate)
            for index, curve in enumerate(curves[column].T):
                plot.line(recording.time, curve, series_color(index))
            for index, curve in enumerate(dashed[column].T if dashed else ()):
                plot.line(recording.time, curve, series_color(index), 1.1, dashed=True)
            plot.axes.set_xlim(float(recording.time[0]), float(recording.time[-1]))
            if row == len(rows):
                mark(plot, run_markers(scenario))
                plot.axes.set_xlabel(TIME)
            else:
                plot.axes.tick_params(labelbottom=False)
    for row in range(1, len(rows) + 1):
        panels.level(row)
    legend = tuple((i % SERIES + 1, name, False) for i, name in enumerate(recordings[0].joint_names))
    title = "Tool, joints (dashed: reference) and base"
    return Plot(title, panels.svg(f"Way of the tool, joints and base of {', '.join(names)}"), legend)


def _stacked(
    names: Sequence[str],
    scenarios: Sequence[Scenario],
    recordings: Sequence[Recording],
    bent: Sequence[Array],
    label: str,
) -> Plot:
    """Plot base deflections stacked with equal scales."""
    panels = SvgPanels(1, [1.6] * len(recordings))
    largest = max(float(np.nanmax(np.abs(each), initial=0.0)) for each in bent) or 1.0
    end = max(float(recording.time[-1]) for recording in recordings)
    for row, (name, scenario, recording) in enumerate(zip(names, scenarios, recordings, strict=True)):
        plot = panels.panels[row][0]
        panels.name(row, 0, name)
        plot.axes.set_ylabel(label)
        for index, curve in enumerate(bent[row].T):
            plot.line(recording.time, curve, series_color(index))
        plot.axes.set_ylim(-1.06 * largest, 1.06 * largest)
        plot.axes.set_xlim(0.0, end)
        mark(plot, run_markers(scenario))
    panels.panels[-1][0].axes.set_xlabel(TIME)
    return Plot("Base deflection", panels.svg(f"Base deflections of {', '.join(names)}, one above the other"))


def _way(panels: SvgPanels, column: int, scenario: Scenario, recording: Recording) -> None:
    """Plot the tool path in the base link's frame, with the family of paths."""
    plot = panels.panels[0][column]
    for picture in _family(scenario):
        plot.axes.plot(*picture.tool_position[:, :2].T, color=MUTED, alpha=0.4, linewidth=0.8)
    tool = within_reason(recording.tool_position_in_base)
    plot.curve(tool[:, 0], tool[:, 1], series_color(2), 2.0)
    for tick, face in ((0, "none"), (-1, MUTED)):
        plot.axes.plot(*tool[tick, :2], marker="o", markersize=5, markeredgecolor=MUTED, markerfacecolor=face)
    _plane(plot.axes, recording.base_frame)
    if column:
        plot.axes.set_ylabel("")


def _plane(axes: Axes, frame: str) -> None:
    axes.set_xlabel(f"x in {frame} [m]")
    axes.set_ylabel("y [m]")
    axes.margins(0.06)
    axes.set_aspect("equal", adjustable="datalim")


def _moves(scenario: Scenario) -> bool:
    return any(node.executable == CONTROLLER and node.parameters.get("task") == "path" for node in scenario.nodes)


def _family(scenario: Scenario) -> tuple[PathPicture, ...]:
    robot = scenario.robot
    start = tuple(float(value) for value in scenario.plant.get("initial_position", ()))  # type: ignore[union-attr]
    if len(start) != 2 or len(robot.description.actuated) != 2:
        return ()
    return _pictures(robot.description.text, robot.tool_frame, scenario.gravity, start)


@cache
def _pictures(
    text: str, tool_frame: str, gravity: tuple[float, float, float], start: tuple[float, ...]
) -> tuple[PathPicture, ...]:
    """Return the path through a posture, then others; empty if the arm has none."""
    try:
        model = ArmModel(text, tool_frame, gravity)
        low, high = max(float(model.lower[0]), -np.pi), min(float(model.upper[0]), np.pi)
        firsts = low + (high - low) * (np.arange(FAMILY) + 0.5) / FAMILY
        seeds = [np.array(start), *(np.array((first, *start[1:])) for first in firsts)]
        found = map_reactionless_paths(model, np.array(seeds))
        return tuple(draw(path, SPACING) for path in found.paths)
    except FlexarmError:  # the report is written without this plot
        return ()


def _wrapped(position: Array) -> Array:
    """Wrap angles to [-pi, pi), with NaN where a curve would jump across the picture."""
    wrapped = (position + np.pi) % (2.0 * np.pi) - np.pi
    jumps = np.flatnonzero((np.abs(np.diff(wrapped, axis=0)) > np.pi).any(axis=1))
    wrapped[jumps] = np.nan
    return wrapped
