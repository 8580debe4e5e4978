"""Plots of slow motion with joint friction, for one run and for several superimposed runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexarm_tools.metrics.friction import reference_moves, reference_speed, stick_slips
from flexarm_tools.recording.recording import Recording
from flexarm_tools.report.overlay_plots import Compared, linear_and_logarithmic, overlay
from flexarm_tools.report.time_plots import Marker, Plot, known_curves, time_plot


def has_friction(recording: Recording) -> bool:
    """Return whether a run has joint friction and desired joint positions."""
    return bool(np.isfinite(recording.true_friction).any() and recording.has_desired.any())


def run_friction_plots(
    recording: Recording, unit: str, effort: str, markers: Sequence[Marker]
) -> tuple[Plot | None, ...]:
    """Plot joint errors, friction and the torque loop of one run; None for a plot without data.

    Args:
        recording: recording of the run.
        unit: unit of the joint positions.
        effort: unit of the joint efforts.
        markers: markers of the run.
    """
    joints, time = recording.joint_names, recording.time
    true, estimate = (
        dict(zip(joints, values.T, strict=True)) for values in (recording.true_friction, recording.estimated_friction)
    )
    title = "Joint friction (dashed: estimated)" if known_curves(estimate) else "Joint friction"
    loop = {"of the correction that acts": recording.correction_weight, "wrench usable": recording.estimate_valid}
    forces = dict(zip("xyz", recording.residual_wrench[:, :3].T, strict=True))
    error = dict(zip(joints, (recording.desired_position - recording.position).T, strict=True))
    return (
        time_plot("Joint errors", time, error, unit, markers) if has_friction(recording) else None,
        time_plot(title, time, true, effort, markers, estimate),
        time_plot("Torque loop, share", time, loop, "1", markers),
        time_plot("Force on the base that the model does not explain", time, forces, "N", markers),
    )


def friction_comparison(runs: Compared) -> list[Plot]:
    """Plot the errors of all joints together, then details of one joint: position, velocity, motor effort and friction.

    Args:
        runs: runs of one robot, with friction and desired positions.
    """
    recordings = runs.recordings
    joint = _slow_joint(recordings)
    name, unit = recordings[0].joint_names[joint], recordings[0].joint_units[joint]
    force = {"rad": "N*m", "m": "N"}[unit]
    errors = [np.max(np.abs(r.desired_position - r.position), axis=1) for r in recordings]
    ways = [r.position[:, joint] - r.position[0, joint] for r in recordings]
    wanted = [r.desired_position[:, joint] - r.position[0, joint] for r in recordings]
    rates = [r.velocity[:, joint] for r in recordings]
    wanted_rates = [reference_speed(r)[:, joint] for r in recordings]
    shown = _motion(recordings, joint)
    common = " or ".join(dict.fromkeys(recordings[0].joint_units))
    plots = linear_and_logarithmic("Joint error", common, runs, errors, errors)
    for title, label, of, curves, dashed in (
        (f"Slow motion of {name} (dashed: desired)", "way", unit, ways, wanted),
        (f"Velocity of {name} (dashed: desired)", "velocity", f"{unit}/s", rates, wanted_rates),
        (f"Motor effort of {name}", "effort", force, [r.effort[:, joint] for r in recordings], []),
        (
            f"Friction of {name} (dashed: estimated)",
            "friction",
            force,
            [r.true_friction[:, joint] for r in recordings],
            [r.estimated_friction[:, joint] for r in recordings],
        ),
    ):
        plots.append(overlay(title, label, of, runs, curves, dashed, shown))
    return plots


def _motion(recordings: Sequence[Recording], joint: int) -> tuple[float, float]:
    """Return the time from the first to the last motion of a joint's references; later times are not shown [s]."""
    times: list[float] = []
    for recording in recordings:
        moves = np.flatnonzero(reference_moves(recording)[:, joint])
        times += recording.time[moves[[0, -1]]].tolist() if moves.size else []
    return (min(times), max(times)) if times else (float(recordings[0].time[0]), float(recordings[0].time[-1]))


def _slow_joint(recordings: Sequence[Recording]) -> int:
    """Return the joint to show in detail: the one with the most stick-slip events over all runs, the first if equal."""
    counts = [stick_slips(recording, np.ones(recording.ticks, dtype=bool)) for recording in recordings]
    return int(np.argmax(np.sum(counts, axis=0)))
