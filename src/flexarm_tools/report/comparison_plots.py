"""Plots of a comparison: one curve per run, superimposed."""

from __future__ import annotations

import numpy as np

from flexarm_tools.report.friction_plots import friction_comparison, has_friction
from flexarm_tools.report.overlay_plots import Compared, linear_and_logarithmic, overlay
from flexarm_tools.report.plots import common_unit, dominant_mode, tool_displacement
from flexarm_tools.report.time_plots import Plot


def comparison_plots(runs: Compared) -> list[Plot]:
    """Return plots of several runs: base deflection, tool vibration, modes, friction, contact and resolution errors."""
    recordings = runs.recordings
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
            plots += linear_and_logarithmic("Base energy root", "sqrt(J)", runs, roots, roots)
        else:
            signed = [r.deflection[:, 0] if r.deflection.shape[1] == 1 else r.base_motion for r in recordings]
            sizes = [recording.base_motion for recording in recordings]
            plots += linear_and_logarithmic("Base deflection", unit, runs, signed, sizes)
    if bending:
        pairs = zip(runs.scenarios, recordings, strict=True)
        sizes = [tool_displacement(scenario, recording) for scenario, recording in pairs]
        plots += linear_and_logarithmic("Tool vibration", "m", runs, sizes, sizes)
        mode = dominant_mode(bending)
        curves = [
            recording.modal_position[:, recording.modes.index(mode)]
            if mode in recording.modes
            else np.full(recording.ticks, np.nan)
            for recording in recordings
        ]
        plots.append(overlay(f"Mode {mode}", "modal position", "m*sqrt(kg)", runs, curves))
    if friction:
        plots += friction_comparison(runs)
    if touching:
        forces = [np.linalg.norm(recording.contact_wrench[:, :3], axis=1) for recording in recordings]
        plots.append(overlay("Contact force on the tool", "contact force", "N", runs, forces))
    elif resolved:
        sizes = [recording.resolution_position_error for recording in recordings]
        plots += linear_and_logarithmic("Position error", "m", runs, sizes, sizes, 14.0)
        angles = [recording.resolution_orientation_error for recording in recordings]
        plots.append(overlay("Orientation error", "orientation error", "rad", runs, angles))
    if touching or resolved:
        fastest = [np.max(np.abs(recording.reference_velocity), axis=1) for recording in recordings]
        unit = common_unit([f"{unit}/s" for recording in recordings for unit in recording.joint_units])
        plots.append(overlay("Fastest joint", "joint velocity", unit, runs, fastest))
    return plots
