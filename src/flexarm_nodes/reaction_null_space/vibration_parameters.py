"""Builds the stage of the vibration controller from its parameters, for its own node and for control_loop."""

from __future__ import annotations

import numpy as np
from visualization_msgs.msg import MarkerArray

from flexarm_core.errors import ConfigError
from flexarm_core.pipeline.tick import Tick
from flexarm_core.pipeline.vibration_stage import VibrationStage
from flexarm_core.reaction_null_space.reactionless.conditioning_map import ConditioningMapConfig, map_conditioning
from flexarm_core.reaction_null_space.stability.linear_law import ToolTask
from flexarm_core.reaction_null_space.vibration.base_selection import BaseSelection
from flexarm_core.reaction_null_space.vibration.config import VibrationControllerConfig
from flexarm_core.reaction_null_space.vibration.controller import VibrationController
from flexarm_core.reaction_null_space.vibration.motion_guard import joint_limits
from flexarm_core.reaction_null_space.vibration.sampling import Sampling
from flexarm_core.robot.arm_model import ArmModel
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import (
    BuiltStage,
    Output,
    Status,
    Values,
    joint_output,
    reaction_output,
    reaction_status,
    required_base,
)
from flexarm_nodes.node.diagnostics import ERROR
from flexarm_nodes.node.parameters import record_of
from flexarm_nodes.reaction_null_space.reactionless_markers import map_markers

MAP_ROOM = 1.5  # conditioning required of the map's postures, as a multiple of the threshold at which damping begins


def vibration_stage(values: Values, model: ArmModel) -> VibrationStage:
    """Return the vibration controller stage of an arm, within its joint limits, with the gain check if enabled.

    Raises:
        ConfigError: values that do not fit the arm, or unstable gains at the start position.
    """
    selection = BaseSelection(model, tuple(values["selection"])) if model.m else None
    sampling = record_of(Sampling, values, period=1.0 / values["rate"])
    limits = joint_limits(model.lower, model.upper, model.velocity_limit, model.effort_limit)
    axes, start = tuple(values["axes"]), np.array(values["start_position"], dtype=float)
    if axes and len(axes) != 6:
        raise ConfigError(f"axes must be six booleans (x y z rx ry rz), got {len(axes)}")
    if start.size and not (start.shape == (model.n,) and np.isfinite(start).all()):
        raise ConfigError(f"start_position must be {model.n} finite numbers, got {values['start_position']}")
    return VibrationStage(
        VibrationController(model, record_of(VibrationControllerConfig, values), selection, limits),
        sampling if values["check_gains"] else None,
        values["base_state_source"],
        values["posture"],
        ToolTask(values["frame"], axes) if axes else None,
        start if start.size else None,
    )


def built_vibration(values: Values, model: ArmModel) -> BuiltStage:
    """Return the stage of the vibration controller with its outputs.

    Raises:
        ConfigError: as for :func:`vibration_stage`.
    """
    stage = vibration_stage(values, model)

    def status(tick: Tick) -> Status:
        level, message, shown = reaction_status(stage.name, tick)
        return ERROR if stage.gave_up or stage.off_path else level, message, shown

    return BuiltStage(
        stage,
        lambda changed: stage.change(record_of(VibrationControllerConfig, changed)),
        (
            reaction_output(model),
            joint_output(stage.name, model),
            Output(topics.MARKERS, MarkerArray, lambda tick: None, topics.LATCHED, first=_map(values, stage, model)),
        ),
        prepare=stage.prepare,
        required=required_base(stage.source),
        modes=stage.modes,
        status=status,
    )


def _map(values: Values, stage: VibrationStage, model: ArmModel) -> MarkerArray:
    """Return a map of where the tool can move without reaction on the base; empty without ``map_postures``."""
    found = None
    if values["map_postures"]:
        least = MAP_ROOM * values["coupling_threshold"]
        config = ConditioningMapConfig(values["map_postures"], least_conditioning=least)
        found = map_conditioning(model, stage.controller.selection, config)
    return map_markers(found, model.base_frame)
