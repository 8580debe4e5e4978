"""Shapes of the arrays of a recording, by field."""

from __future__ import annotations


def recording_shapes(ticks: int, n: int, m: int, k: int, g: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array of a recording.

    Args:
        ticks: number of ticks (rows).
        n: number of actuated joints.
        m: number of elastic joints of the base.
        k: number of modes of the flexible links.
        g: number of strain gauges.
    """
    joints = (
        *("position", "velocity", "effort", "desired_position", "true_friction", "estimated_torque"),
        *("estimated_friction", "reference_velocity", "reference_effort", "reference_friction"),
    )
    elastic = (
        *("deflection", "deflection_rate", "estimated_deflection", "estimated_deflection_rate"),
        "coupling_momentum",
    )
    modal = ("modal_position", "modal_rate", "estimated_modal_position", "estimated_modal_rate")
    places = ("tool_position", "tool_position_in_base", "reference_position", "reference_acceleration", "path_position")
    wrenches = ("base_wrench", "residual_wrench", "contact_wrench")
    scalars = (
        *("smallest_coupling_singular_value", "smallest_restricted_singular_value", "damping", "vibration_damping"),
        *("resolution_position_error", "resolution_orientation_error", "condition_number", "rows_given_up"),
        *("obstacle_distance", "behaviors_held", "tick_latency"),
        *("estimate_valid", "contact_detected", "correction_weight"),
    )
    shapes: dict[str, tuple[int, ...]] = {"time": (ticks,), "reference_axes": (6,), "tool_rotation": (ticks, 4)}
    shapes |= dict.fromkeys(joints, (ticks, n)) | dict.fromkeys(elastic, (ticks, m)) | dict.fromkeys(modal, (ticks, k))
    shapes |= dict.fromkeys(places, (ticks, 3)) | dict.fromkeys(wrenches, (ticks, 6)) | {"strain": (ticks, g)}
    return shapes | dict.fromkeys(scalars, (ticks,))
