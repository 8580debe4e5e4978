"""Plots of a comparison: one curve per run, superimposed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flexarm_tools.recording.recording import Recording
from flexarm_tools.report.friction_plots import friction_comparison, has_friction
from flexarm_tools.report.overlay_plots import linear_and_logarithmic, overlay
from flexarm_tools.report.plots import common_unit, dominant_mode, tool_distance
from flexarm_tools.report.time_plots import Plot


def comparison_plots(names: Sequence[str], recordings: Sequence[Recording], colors: Sequence[int]) -> list[Plot]:
    """Return plots of several runs: base deflection, tool vibration, modes, friction, contact and resolution errors.

    Args:
        names: names of the runs.
        recordings: recordings of the runs.
        colors: color number of each run, from 0.
    """
    bases = [recording for recording in recordings if recording.elastic_names]
    bending = [recording for recording in recordings if np.isfinite(recording.modal_position).any()]
    touching = any(np.isfinite(recording.contact_wrench).any() for recording in recordings)
    resolved = all(np.isfinite(recording.resolution_position_error).any() for recording in recordings)
    friction = all(has_friction(recording) for recording in recordings)
    plots = []
    if bases or not (bending or touching or resolved or friction):
        unit = common_unit([unit for recording in recordings for unit in recording.elastic_units])
        if " or " in unit:  # meters and radians cannot be added, but their energies can
            roots = [recording.base_energy_root for recording in recordings]
            plots += linear_and_logarithmic("Base energy root", "sqrt(J)", names, recordings, colors, roots, roots)
        else:
            signed = [r.deflection[:, 0] if r.deflection.shape[1] == 1 else r.base_motion for r in recordings]
            sizes = [recording.base_motion for recording in recordings]
            plots += linear_and_logarithmic("Base deflection", unit, names, recordings, colors, signed, sizes)
    if bending:
        sizes = [tool_distance(recording) for recording in recordings]
        plots += linear_and_logarithmic("Tool vibration", "m", names, recordings, colors, sizes, sizes)
        mode = dominant_mode(bending)
        curves = [
            recording.modal_position[:, recording.modes.index(mode)]
            if mode in recording.modes
            else np.full(recording.ticks, np.nan)
            for recording in recordings
        ]
        plots.append(overlay(f"Mode {mode}", "modal position", "m*sqrt(kg)", names, recordings, colors, curves))
    if friction:
        plots += friction_comparison(names, recordings, colors)
    if touching:
        forces = [np.linalg.norm(recording.contact_wrench[:, :3], axis=1) for recording in recordings]
        plots.append(overlay("Contact force on the tool", "contact force", "N", names, recordings, colors, forces))
    elif resolved:
        sizes = [recording.resolution_position_error for recording in recordings]
        plots += linear_and_logarithmic("Position error", "m", names, recordings, colors, sizes, sizes, 14.0)
        angles = [recording.resolution_orientation_error for recording in recordings]
        plots.append(overlay("Orientation error", "orientation error", "rad", names, recordings, colors, angles))
    if touching or resolved:
        fastest = [np.max(np.abs(recording.reference_velocity), axis=1) for recording in recordings]
        unit = common_unit([f"{unit}/s" for recording in recordings for unit in recording.joint_units])
        plots.append(overlay("Fastest joint", "joint velocity", unit, names, recordings, colors, fastest))
    return plots
