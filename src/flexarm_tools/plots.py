"""The plots of a run and of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm_core.types import Array
from flexarm_tools.recording import Recording
from flexarm_tools.scenario import Scenario
from flexarm_tools.svg_plot import SERIES, SvgPlot, decimate, engineering, series_color, within_reason

TIME = "time [s]"


@dataclass(frozen=True, slots=True)
class Marker:
    """Something a run's plots are marked with.

    Attributes:
        number: shown in the plots.
        begin: [s].
        end: [s], equal to ``begin`` for an instant.
        text: shown once, below them.
    """

    number: int
    begin: float
    end: float
    text: str


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot ready for the page.

    Attributes:
        title: heading.
        svg: the plot.
        legend: colour number (from 1), label and whether dashed, of each curve.
    """

    title: str
    svg: str
    legend: tuple[tuple[int, str, bool], ...] = ()


def run_markers(scenario: Scenario) -> tuple[Marker, ...]:
    """Pushes and events of a run in order of time."""
    found = []
    for push in scenario.pushes:
        parts = [f"{np.linalg.norm(push.force):g} N" if any(push.force) else ""]
        parts += [f"{np.linalg.norm(push.torque):g} N·m" if any(push.torque) else ""]
        strength = " and ".join(filter(None, parts))
        found.append((push.start, push.start + push.duration, f"{strength} on {push.link} for {push.duration:g} s"))
    for event in scenario.events:
        changes = ", ".join(f"{name} = {_yaml(value)}" for name, value in event.parameters.items())
        text = "process killed" if event.kill else event.transition or changes
        found.append((event.at, event.at, f"{event.node}: {text}"))
    found.sort(key=lambda item: item[0])
    return tuple(Marker(i + 1, begin, end, text) for i, (begin, end, text) in enumerate(found))


def run_plots(scenario: Scenario, recording: Recording) -> list[Plot]:
    """Every plot for which a run has data."""
    markers = run_markers(scenario)
    time, joints = recording.time, recording.joint_names
    angle, speed, effort = _joint_units(recording)
    force, moment = recording.base_wrench[:, :3], recording.base_wrench[:, 3:]
    momentum = dict(zip(recording.elastic_names, recording.coupling_momentum.T, strict=True))
    deflection = dict(zip(recording.elastic_names, recording.deflection.T, strict=True))
    candidates = [
        _time_plot("Base deflection", time, deflection, _common(recording.elastic_units), markers),
        _tool_path(recording),
        _tracking_error(recording, markers),
        _time_plot("Joint positions", time, dict(zip(joints, recording.position.T, strict=True)), angle, markers),
        _time_plot("Joint velocities", time, dict(zip(joints, recording.velocity.T, strict=True)), speed, markers),
        _time_plot("Efforts", time, dict(zip(joints, recording.effort.T, strict=True)), effort, markers),
        _time_plot("Force on the base", time, dict(zip("xyz", force.T, strict=True)), "N", markers),
        _time_plot("Moment on the base", time, dict(zip("xyz", moment.T, strict=True)), "N*m", markers),
        _time_plot("Coupling momentum H_bm q̇", time, momentum, _momentum_unit(recording), markers),
        _singular_values(recording, markers),
        _time_plot("Damping of the inverses", time, {"λ": recording.damping}, "1", markers),
        _latency(recording) if scenario.mode == "real_time" else None,
    ]
    return [plot for plot in candidates if plot is not None]


def comparison_plots(names: Sequence[str], recordings: Sequence[Recording], colors: Sequence[int]) -> list[Plot]:
    """Base deflections of several runs in one plot, linear and logarithmic.

    Args:
        names: of the runs.
        recordings: of the runs.
        colors: number of each run's colour, from 0.
    """
    curves = [
        within_reason(recording.deflection[:, 0] if recording.deflection.shape[1] == 1 else recording.base_motion)
        for recording in recordings
    ]
    unit = _common([unit for recording in recordings for unit in recording.elastic_units])
    peak = max((float(np.nanmax(np.abs(curve), initial=0.0)) for curve in curves), default=0.0)
    factor, shown = engineering(peak, unit)
    linear = SvgPlot(TIME, f"base deflection [{shown}]", 4.8, 2.5)
    logarithmic = SvgPlot(TIME, f"size of the base deflection [{unit}]", 4.8, 2.5)
    order = sorted(range(len(curves)), key=lambda i: -float(np.nanmax(np.abs(curves[i]), initial=0.0)))
    for i in order:  # the largest first, so that it hides nothing
        time = recordings[i].time
        linear.line(time, factor * curves[i], series_color(colors[i]))
        size = np.where(recordings[i].base_motion > 0.0, recordings[i].base_motion, np.nan)
        logarithmic.line(time, size, series_color(colors[i]))
    logarithmic.logarithmic([recording.base_motion for recording in recordings], decades=7.0)
    end = max(float(recording.time[-1]) for recording in recordings)
    for plot in (linear, logarithmic):
        plot.axes.set_xlim(min(float(recording.time[0]) for recording in recordings), end)
    legend = tuple((color % SERIES + 1, name, False) for name, color in zip(names, colors, strict=True))
    together = ", ".join(names)
    return [
        Plot("Base deflection", linear.svg(f"Base deflection of {together} over time"), legend),
        Plot(
            "The same, logarithmic", logarithmic.svg(f"Size of the base deflection of {together}, logarithmic"), legend
        ),
    ]


def _time_plot(title: str, time: Array, curves: dict[str, Array], unit: str, markers: Sequence[Marker]) -> Plot | None:
    """Curves over time; None where nothing is known, or all is zero."""
    known = {name: within_reason(curve) for name, curve in curves.items() if np.isfinite(within_reason(curve)).any()}
    peak = max((float(np.nanmax(np.abs(curve))) for curve in known.values()), default=0.0)
    if peak == 0.0:
        return None
    factor, shown = engineering(peak, unit)
    plot = SvgPlot(TIME, f"[{shown}]" if shown else "")
    legend = []
    for index, name in enumerate(curves):
        if name in known:
            plot.line(time, factor * known[name], series_color(index))
            legend.append((index % SERIES + 1, name, False))
    plot.axes.set_xlim(float(time[0]), float(time[-1]))
    _mark(plot, markers)
    return Plot(title, plot.svg(f"{title} over time"), tuple(legend))


def _tool_path(recording: Recording) -> Plot | None:
    """Tool and reference in the plane in which they move most, in the reference's frame."""
    world = recording.reference_frame == recording.root_frame
    tool = recording.tool_position if world else recording.tool_position_in_base
    known = np.isfinite(within_reason(tool)).all(axis=1)
    if not known.any():
        return None
    spread = np.ptp(tool[known], axis=0)
    if spread.max() < 1e-6:
        return None
    first, second = sorted(np.argsort(spread, kind="stable")[-2:]) if np.sum(spread > 1e-9) > 1 else (0, 1)
    frame = recording.reference_frame
    plot = SvgPlot(f"{'xyz'[first]} in {frame} [m]", f"{'xyz'[second]} [m]")
    legend = [(1, "tool", False)]
    plot.curve(*_thin(tool[known], first, second), series_color(0), 1.8)
    if recording.has_reference.any():
        reference = recording.reference_position[recording.has_reference]
        plot.curve(*_thin(reference, first, second), series_color(1), 1.4, dashed=True)
        legend.append((2, "reference", True))
    plot.axes.margins(0.12)
    plot.axes.set_aspect("equal", adjustable="datalim")
    return Plot("Tool path", plot.svg("Path of the tool and its reference"), tuple(legend))


def _thin(points: Array, first: int, second: int) -> tuple[Array, Array]:
    """A path with as many samples as can be seen, its corners among them."""
    index = np.arange(len(points), dtype=float)
    keep = np.union1d(decimate(index, points[:, first], 200)[0], decimate(index, points[:, second], 200)[0]).astype(int)
    return points[keep, first], points[keep, second]


def _tracking_error(recording: Recording, markers: Sequence[Marker]) -> Plot | None:
    error = np.where(recording.has_reference, recording.tracking_error, np.nan)
    if not (np.isfinite(error) & (error > 0.0)).any():
        return None
    plot = SvgPlot(TIME, "[m]")
    plot.line(recording.time, np.where(error > 0.0, error, np.nan), series_color(0))
    plot.logarithmic([error])
    plot.axes.set_xlim(float(recording.time[0]), float(recording.time[-1]))
    _mark(plot, markers)
    return Plot("Tracking error", plot.svg("Distance of tool and reference over time, logarithmic"))


def _singular_values(recording: Recording, markers: Sequence[Marker]) -> Plot | None:
    curves = {
        "of H_bm": recording.smallest_coupling_singular_value,
        "of J P_RNS": np.where(recording.has_reference, recording.smallest_restricted_singular_value, np.nan),
    }
    curves = {name: curve for name, curve in curves.items() if (np.isfinite(curve) & (curve > 0.0)).any()}
    if not curves:
        return None
    plot = SvgPlot(TIME, "")
    for index, curve in enumerate(curves.values()):
        plot.line(recording.time, np.where(curve > 0.0, curve, np.nan), series_color(index))
    plot.logarithmic(curves.values())
    _mark(plot, markers)
    legend = tuple((index + 1, name, False) for index, name in enumerate(curves))
    return Plot("Smallest singular value", plot.svg("Smallest singular values over time, logarithmic"), legend)


def _latency(recording: Recording) -> Plot | None:
    latency = recording.tick_latency[np.isfinite(recording.tick_latency)] * 1e3
    if not latency.size:
        return None
    p50, p99 = np.percentile(latency, (50.0, 99.0))
    top = max(float(p99) * 1.8, 1e-3)
    plot = SvgPlot(f"from state to command [ms]; {np.sum(latency > top)} of {latency.size} beyond", "ticks")
    plot.axes.hist(np.clip(latency, 0.0, top), bins=60, range=(0.0, top), color=series_color(0))
    plot.instant(float(p50), "p50")
    plot.instant(float(p99), "p99")
    return Plot("Tick latency", plot.svg(f"Histogram of the tick latency, median {p50:.2f} ms, 99 % {p99:.2f} ms"))


def _mark(plot: SvgPlot, markers: Sequence[Marker]) -> None:
    for marker in markers:
        if marker.end > marker.begin:
            plot.span(marker.begin, marker.end, str(marker.number))
        else:
            plot.instant(marker.begin, str(marker.number))


def _common(units: Sequence[str]) -> str:
    return " or ".join(dict.fromkeys(units)) or "1"


def _joint_units(recording: Recording) -> tuple[str, str, str]:
    unit = _common(recording.joint_units)
    effort = _common([{"rad": "N*m", "m": "N"}[u] for u in recording.joint_units])
    return unit, " or ".join(f"{u}/s" for u in unit.split(" or ")), effort


def _momentum_unit(recording: Recording) -> str:
    return _common([{"m": "kg*m/s", "rad": "kg*m^2/s"}[unit] for unit in recording.elastic_units])


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
