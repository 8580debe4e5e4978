"""The plots of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flexarm_core.types import Array
from flexarm_tools.flexible_metrics import distance_from_mean
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
    contact = recording.contact_wrench[:, :3].T
    force, moment = recording.base_wrench[:, :3], recording.base_wrench[:, 3:]
    momentum = dict(zip(recording.elastic_names, recording.coupling_momentum.T, strict=True))
    deflection = dict(zip(recording.elastic_names, recording.deflection.T, strict=True))
    candidates = [
        _time_plot("Base deflection", time, deflection, common_unit(recording.elastic_units), markers),
        _tool_path(recording),
        _tracking_error(recording, markers),
        _tool_vibration(recording, markers),
        _modes(recording, markers),
        _time_plot("Strain", time, dict(zip(recording.strain_gauges, recording.strain.T, strict=True)), "m/m", markers),
        _joint_positions(recording, angle, markers),
        _time_plot("Joint velocities", time, dict(zip(joints, recording.velocity.T, strict=True)), speed, markers),
        _time_plot("Efforts", time, dict(zip(joints, recording.effort.T, strict=True)), effort, markers),
        _time_plot("Contact force on the tool", time, dict(zip("xyz", contact, strict=True)), "N", markers),
        _time_plot("Force on the base", time, dict(zip("xyz", force.T, strict=True)), "N", markers),
        _time_plot("Moment on the base", time, dict(zip("xyz", moment.T, strict=True)), "N*m", markers),
        _time_plot("Coupling momentum H_bm q̇", time, momentum, _momentum_unit(recording), markers),
        _singular_values(recording, markers),
        _resolution(recording, markers),
        _condition_number(recording, markers),
        _time_plot("Damping of the inverses", time, {"λ": recording.damping}, "1", markers),
        _latency(recording) if scenario.mode == "real_time" else None,
    ]
    return [plot for plot in candidates if plot is not None]


def tool_distance(recording: Recording) -> Array:
    """(T,) distance of the tool from where it ends, the mean of its place over the last tenth of the run [m]."""
    begin, end = float(recording.time[0]), float(recording.time[-1])
    return distance_from_mean(recording.tool_position, recording.time >= end - 0.1 * (end - begin))


def dominant_mode(recordings: Sequence[Recording]) -> str:
    """Mode that swings farthest in any of these runs; they have modes."""
    peaks: dict[str, float] = {}
    for recording in recordings:
        for name, curve in zip(recording.modes, within_reason(recording.modal_position).T, strict=True):
            peaks[name] = max(peaks.get(name, 0.0), float(np.nanmax(np.abs(curve), initial=0.0)))
    return max(peaks, key=lambda name: peaks[name])


def _time_plot(
    title: str,
    time: Array,
    curves: dict[str, Array],
    unit: str,
    markers: Sequence[Marker],
    dashed: dict[str, Array] | None = None,
) -> Plot | None:
    """Curves over time; None where nothing is known, or all is zero.

    Args:
        title: heading.
        time: (T,) [s].
        curves: (T,) by name.
        unit: of all of them.
        markers: of the run.
        dashed: second curves under the same names, in the same colours.
    """
    second = _known(dashed or {})
    known = _known(curves)
    peak = max((float(np.nanmax(np.abs(curve))) for curve in (*known.values(), *second.values())), default=0.0)
    if peak == 0.0:
        return None
    factor, shown = engineering(peak, unit)
    plot = SvgPlot(TIME, f"[{shown}]" if shown else "")
    legend = []
    for index, name in enumerate(curves):
        if name in known:
            plot.line(time, factor * known[name], series_color(index))
            legend.append((index % SERIES + 1, name, False))
        if name in second:
            plot.line(time, factor * second[name], series_color(index), 1.2, dashed=True)
    plot.axes.set_xlim(float(time[0]), float(time[-1]))
    _mark(plot, markers)
    return Plot(title, plot.svg(f"{title} over time"), tuple(legend))


def _known(curves: dict[str, Array]) -> dict[str, Array]:
    """Those of which something can be drawn, without what cannot."""
    drawn = {name: within_reason(curve) for name, curve in curves.items()}
    return {name: curve for name, curve in drawn.items() if np.isfinite(curve).any()}


def _joint_positions(recording: Recording, unit: str, markers: Sequence[Marker]) -> Plot | None:
    curves = dict(zip(recording.joint_names, recording.position.T, strict=True))
    desired = dict(zip(recording.joint_names, recording.desired_position.T, strict=True))
    title = "Joint positions (dashed: desired)" if recording.has_desired.any() else "Joint positions"
    return _time_plot(title, recording.time, curves, unit, markers, desired)


def _modes(recording: Recording, markers: Sequence[Marker]) -> Plot | None:
    curves = dict(zip(recording.modes, recording.modal_position.T, strict=True))
    estimates = dict(zip(recording.modes, recording.estimated_modal_position.T, strict=True))
    title = "Modes (dashed: estimated)" if _known(estimates) else "Modes"
    return _time_plot(title, recording.time, curves, "m*sqrt(kg)", markers, estimates)


def _tool_vibration(recording: Recording, markers: Sequence[Marker]) -> Plot | None:
    """Distance of the tool from where it ends: logarithmic, since a slew is long and what it leaves is small."""
    distance = 1e3 * within_reason(tool_distance(recording))
    if not recording.modes or not (np.isfinite(distance) & (distance > 0.0)).any():
        return None
    plot = SvgPlot(TIME, "from its final position [mm]")
    plot.line(recording.time, np.where(distance > 0.0, distance, np.nan), series_color(0))
    plot.logarithmic([distance])
    plot.axes.set_xlim(float(recording.time[0]), float(recording.time[-1]))
    _mark(plot, markers)
    return Plot("Tool vibration", plot.svg("Distance of the tool from its final position over time, logarithmic"))


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
    return _logarithmic("Smallest singular value", "", "Smallest singular values", recording, curves, markers)


def _resolution(recording: Recording, markers: Sequence[Marker]) -> Plot | None:
    """What the joint reference leaves of the wanted pose."""
    curves = {
        "position [m]": recording.resolution_position_error,
        "orientation [rad]": recording.resolution_orientation_error,
    }
    words = "Pose error of the joint reference"
    return _logarithmic("Left of the wanted pose", "[m], [rad]", words, recording, curves, markers)


def _condition_number(recording: Recording, markers: Sequence[Marker]) -> Plot | None:
    curves = {"of the tool's Jacobian": np.minimum(recording.condition_number, 1e9)}
    return _logarithmic("Condition number", "", "Condition number", recording, curves, markers)


def _logarithmic(
    title: str, label: str, words: str, recording: Recording, curves: dict[str, Array], markers: Sequence[Marker]
) -> Plot | None:
    """Positive curves over time, logarithmic; None where nothing is known."""
    curves = {name: curve for name, curve in curves.items() if (np.isfinite(curve) & (curve > 0.0)).any()}
    if not curves:
        return None
    plot = SvgPlot(TIME, label)
    for index, curve in enumerate(curves.values()):
        plot.line(recording.time, np.where(curve > 0.0, curve, np.nan), series_color(index))
    plot.logarithmic(curves.values())
    _mark(plot, markers)
    legend = tuple((index + 1, name, False) for index, name in enumerate(curves))
    return Plot(title, plot.svg(f"{words} over time, logarithmic"), legend)


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


def common_unit(units: Sequence[str]) -> str:
    """Units without repetition, ``1`` where there is none."""
    return " or ".join(dict.fromkeys(units)) or "1"


def _joint_units(recording: Recording) -> tuple[str, str, str]:
    unit = common_unit(recording.joint_units)
    effort = common_unit([{"rad": "N*m", "m": "N"}[u] for u in recording.joint_units])
    return unit, " or ".join(f"{u}/s" for u in unit.split(" or ")), effort


def _momentum_unit(recording: Recording) -> str:
    return common_unit([{"m": "kg*m/s", "rad": "kg*m^2/s"}[unit] for unit in recording.elastic_units])


def _yaml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
