"""Plots of one run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexarm_core.types import Array
from flexarm_tools.metrics.flexible import distance_from_mean
from flexarm_tools.recording.recording import Recording
from flexarm_tools.report.forward_kinematics import link_transforms
from flexarm_tools.report.friction_plots import run_friction_plots
from flexarm_tools.report.svg_plot import SvgPlot, decimate, series_color, within_reason
from flexarm_tools.report.time_plots import Marker, Plot, known_curves, logarithmic_plot, time_plot
from flexarm_tools.scenario.scenario import Scenario


def run_markers(scenario: Scenario) -> tuple[Marker, ...]:
    """Return the pushes and events of a run in order of time, then its phases."""
    found = []
    for push in scenario.pushes:
        parts = [f"{np.linalg.norm(push.force):.3g} N" if any(push.force) else ""]
        parts += [f"{np.linalg.norm(push.torque):.3g} N·m" if any(push.torque) else ""]
        strength = " and ".join(filter(None, parts))
        found.append((push.start, push.start + push.duration, f"{strength} on {push.link} for {push.duration:g} s"))
    for event in scenario.events:
        changes = ", ".join(f"{name} = {_yaml(value)}" for name, value in event.parameters.items())
        text = "process killed" if event.kill else event.transition or changes
        found.append((event.at, event.at, f"{event.node}: {text}"))
    found.sort(key=lambda item: item[0])
    numbered = (Marker(i + 1, begin, end, text) for i, (begin, end, text) in enumerate(found))
    return (*numbered, *(Marker(0, phase.start, phase.start, phase.name) for phase in scenario.phases))


def run_plots(scenario: Scenario, recording: Recording) -> list[Plot]:
    """Return all plots for which a run has data."""
    markers = run_markers(scenario)
    time, joints = recording.time, recording.joint_names
    angle, speed, effort = _joint_units(recording)
    contact = recording.contact_wrench[:, :3].T
    force, moment = recording.base_wrench[:, :3], recording.base_wrench[:, 3:]
    momentum = dict(zip(recording.elastic_names, recording.coupling_momentum.T, strict=True))
    candidates = [
        *_base(recording, markers),
        _tool_path(recording),
        _tracking_error(recording, markers),
        _tool_vibration(scenario, recording, markers),
        _modes(recording, markers),
        time_plot("Strain", time, dict(zip(recording.strain_gauges, recording.strain.T, strict=True)), "m/m", markers),
        _joint_positions(recording, angle, markers),
        time_plot("Joint velocities", time, dict(zip(joints, recording.velocity.T, strict=True)), speed, markers),
        time_plot("Efforts", time, dict(zip(joints, recording.effort.T, strict=True)), effort, markers),
        *run_friction_plots(recording, angle, effort, markers),
        time_plot("Contact force on the tool", time, dict(zip("xyz", contact, strict=True)), "N", markers),
        time_plot("Force on the base", time, dict(zip("xyz", force.T, strict=True)), "N", markers),
        time_plot("Moment on the base", time, dict(zip("xyz", moment.T, strict=True)), "N*m", markers),
        time_plot("Coupling momentum H_bm q̇", time, momentum, _momentum_unit(recording), markers),
        _singular_values(recording, markers),
        _resolution(recording, markers),
        _condition_number(recording, markers),
        time_plot("Damping of the inverses", time, {"λ": recording.damping}, "1", markers),
        _latency(recording) if scenario.mode == "real_time" else None,
    ]
    return [plot for plot in candidates if plot is not None]


def tool_displacement(scenario: Scenario, recording: Recording) -> Array:
    """Return how far (T,) bending and the base have moved the tool, from where they hold it at the end [m].

    ::

        d(t) = p(t) - p(q(t), 0)        value = |d(t) - mean of d over the last tenth of the run|

    ``p(t)`` is the true tool position and ``p(q, 0)`` that of a rigid arm with the same joint positions on a base at
    rest: the motion of the joints is not part of it.
    """
    robot = scenario.true_robot
    joints = dict(zip(recording.joint_names, within_reason(recording.position).T, strict=True))
    rigid = link_transforms(robot.description, joints)[robot.tool_frame][..., :3, 3]
    begin, end = float(recording.time[0]), float(recording.time[-1])
    return distance_from_mean(recording.tool_position - rigid, recording.time >= end - 0.1 * (end - begin))


def dominant_mode(recordings: Sequence[Recording]) -> str:
    """Return the mode with the largest amplitude in any of these runs, which must have modes."""
    peaks: dict[str, float] = {}
    for recording in recordings:
        for name, curve in zip(recording.modes, within_reason(recording.modal_position).T, strict=True):
            peaks[name] = max(peaks.get(name, 0.0), float(np.nanmax(np.abs(curve), initial=0.0)))
    return max(peaks, key=lambda name: peaks[name])


def _joint_positions(recording: Recording, unit: str, markers: Sequence[Marker]) -> Plot | None:
    curves = dict(zip(recording.joint_names, recording.position.T, strict=True))
    desired = dict(zip(recording.joint_names, recording.desired_position.T, strict=True))
    title = "Joint positions (dashed: desired)" if recording.has_desired.any() else "Joint positions"
    return time_plot(title, recording.time, curves, unit, markers, desired)


def _base(recording: Recording, markers: Sequence[Marker]) -> list[Plot | None]:
    """Plot the deflection of the base, its rotations by themselves."""
    found = []
    for unit, title in (("m", "Base deflection"), ("rad", "Base rotation")):
        names = [
            name for name, each in zip(recording.elastic_names, recording.elastic_units, strict=True) if each == unit
        ]
        chosen = [recording.elastic_names.index(name) for name in names]
        curves, estimates = (
            dict(zip(names, values[:, chosen].T, strict=True))
            for values in (recording.deflection, recording.estimated_deflection)
        )
        words = f"{title} (dashed: estimated)" if known_curves(estimates) else title
        found.append(time_plot(words, recording.time, curves, unit, markers, estimates))
    return found


def _modes(recording: Recording, markers: Sequence[Marker]) -> Plot | None:
    curves = dict(zip(recording.modes, recording.modal_position.T, strict=True))
    estimates = dict(zip(recording.modes, recording.estimated_modal_position.T, strict=True))
    title = "Modes (dashed: estimated)" if known_curves(estimates) else "Modes"
    return time_plot(title, recording.time, curves, "m*sqrt(kg)", markers, estimates)


def _tool_vibration(scenario: Scenario, recording: Recording, markers: Sequence[Marker]) -> Plot | None:
    """Plot how far bending and the base move the tool; logarithmic, because it is small after a long slew."""
    if not recording.modes:
        return None
    curves = {"": 1e3 * within_reason(tool_displacement(scenario, recording))}
    words = "Motion of the tool by bending and the base"
    return logarithmic_plot("Tool vibration", "by bending and base [mm]", words, recording, curves, markers)


def _tool_path(recording: Recording) -> Plot | None:
    """Plot tool and reference in the plane of their largest motion, in the reference's frame."""
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
    """Return a path reduced to the visible resolution, including its corners."""
    index = np.arange(len(points), dtype=float)
    keep = np.union1d(decimate(index, points[:, first], 200)[0], decimate(index, points[:, second], 200)[0]).astype(int)
    return points[keep, first], points[keep, second]


def _tracking_error(recording: Recording, markers: Sequence[Marker]) -> Plot | None:
    curves = {"": np.where(recording.has_reference, recording.tracking_error, np.nan)}
    return logarithmic_plot("Tracking error", "[m]", "Distance of tool and reference", recording, curves, markers)


def _singular_values(recording: Recording, markers: Sequence[Marker]) -> Plot | None:
    curves = {
        "of H_bm": recording.smallest_coupling_singular_value,
        "of J P_RNS": np.where(recording.has_reference, recording.smallest_restricted_singular_value, np.nan),
    }
    return logarithmic_plot("Smallest singular value", "", "Smallest singular values", recording, curves, markers)


def _resolution(recording: Recording, markers: Sequence[Marker]) -> Plot | None:
    """Plot the error of the joint reference with respect to the requested pose."""
    curves = {
        "position [m]": recording.resolution_position_error,
        "orientation [rad]": recording.resolution_orientation_error,
    }
    words = "Pose error of the joint reference"
    return logarithmic_plot("Pose error of the joint reference", "[m], [rad]", words, recording, curves, markers)


def _condition_number(recording: Recording, markers: Sequence[Marker]) -> Plot | None:
    curves = {"of the tool's Jacobian": np.minimum(recording.condition_number, 1e9)}
    return logarithmic_plot("Condition number", "", "Condition number", recording, curves, markers)


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


def common_unit(units: Sequence[str]) -> str:
    """Return the units without repetition, ``1`` if there are none."""
    return " or ".join(dict.fromkeys(units)) or "1"


def _joint_units(recording: Recording) -> tuple[str, str, str]:
    unit = common_unit(recording.joint_units)
    effort = common_unit([{"rad": "N*m", "m": "N"}[u] for u in recording.joint_units])
    return unit, " or ".join(f"{u}/s" for u in unit.split(" or ")), effort


def _momentum_unit(recording: Recording) -> str:
    return common_unit([{"m": "kg*m/s", "rad": "kg*m^2/s"}[unit] for unit in recording.elastic_units])


def _yaml(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_yaml, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
