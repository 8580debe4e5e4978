"""Parameters of reactionless_path_controller, and the records built from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from visualization_msgs.msg import MarkerArray

from flexarm.msg import JointReference
from flexarm_core.errors import ConfigError
from flexarm_core.pipeline.reactionless_stage import ReactionlessStage, ReactionlessTask
from flexarm_core.pipeline.tick import Tick
from flexarm_core.reaction_null_space.reactionless.path import ReactionlessPath
from flexarm_core.reaction_null_space.reactionless.path_file import load_path
from flexarm_core.reaction_null_space.reactionless.path_motion import PathMotionConfig
from flexarm_core.reaction_null_space.reactionless.trace import trace
from flexarm_core.reaction_null_space.reactionless.velocity_law import VelocityLawConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array
from flexarm_core.uri import resolve_uri
from flexarm_nodes.node import topics
from flexarm_nodes.node.built_stage import (
    BuiltStage,
    Output,
    Status,
    Values,
    joint_message,
    joint_output,
    reaction_output,
    reaction_status,
    required_base,
)
from flexarm_nodes.node.diagnostics import OK
from flexarm_nodes.node.input.arm_state_reader import BASE_STATE_SOURCES
from flexarm_nodes.node.parameters import Parameter, record_of, rows
from flexarm_nodes.reaction_null_space.reactionless_markers import path_markers

TASKS = ("hold", "path")


REACTIONLESS_PARAMETERS = (
    Parameter("task", "string", "hold",
        "task of the arm: hold a posture, or move along a reactionless path", choices=TASKS),
    Parameter("posture", "double[]", [],
        "posture that is held (task hold), or through which the path is traced (task path); empty: first one measured",
        "rad | m"),
    Parameter("path_file", "string", "",
        "stored reactionless path (task path): package:// or file:// URI or absolute path; empty: path is traced",
        at_start=True),
    *rows(VelocityLawConfig, live=True, but=("selection",)),
    *rows(ReactionlessTask),
    *rows(PathMotionConfig),
    Parameter("span", "double[]", [],
        "start and end coordinate of the motion on the path; empty: from where the arm is to the end of the path",
        "rad | m"),
    Parameter("shown_postures", "double[]", [],
        "postures, one after the other, whose reactionless paths are also shown in RViz; empty: none", "rad | m"),
    Parameter("base_state_source", "string", "joint_states",
        "source of the base deflection: joint states, or flexible state of the estimator", choices=BASE_STATE_SOURCES),
)  # fmt: skip


def motion_config(values: dict[str, Any]) -> PathMotionConfig:
    """Return the settings of the motion along a path.

    Raises:
        ConfigError: invalid values.
    """
    span = values["span"]
    if span and len(span) != 2:
        raise ConfigError(f"span needs two path coordinates, from and to, or none; got {span}")
    return record_of(PathMotionConfig, values, span=(span[0], span[1]) if span else None)


def known_posture(values: dict[str, Any], model: ArmModel) -> Array | None:
    """Return parameter ``posture`` (n,), or None if it is empty.

    Raises:
        ConfigError: the number of values is not n, or a value is not finite.
    """
    if not values["posture"]:
        return None
    posture = np.array(values["posture"])
    if posture.shape != (model.n,) or not np.isfinite(posture).all():
        raise ConfigError(f"posture needs {model.n} finite numbers, for {', '.join(model.joint_names)}; got {posture}")
    return posture


def known_path(values: dict[str, Any], model: ArmModel) -> ReactionlessPath | None:
    """Return the path from a file or the path through parameter ``posture``; None if it is traced later.

    Raises:
        FlexarmError: the file does not fit this arm, or there is no path.
    """
    posture = known_posture(values, model)
    if values["path_file"]:
        if posture is not None:
            raise ConfigError("a path is read from path_file or traced through posture: give one of them")
        return load_path(Path(resolve_uri(values["path_file"])), model)
    return None if posture is None else traced_path(values, model, posture)


def traced_path(values: dict[str, Any], model: ArmModel, posture: Array) -> ReactionlessPath:
    """Return the reactionless path through a posture (n,).

    Raises:
        FlexarmError: there is no such path.
    """
    return trace(model, posture, values["selection"], length=values["longest_path"])


def reactionless_stage(values: dict[str, Any], model: ArmModel) -> ReactionlessStage:
    """Return the velocity law with its task, and with the path or posture if already known.

    Raises:
        FlexarmError: values that do not fit the arm, an unusable path, or unstable gains.
    """
    follows = values["task"] == "path"
    task = record_of(
        ReactionlessTask,
        values,
        motion=motion_config(values) if follows else None,
        path=known_path(values, model) if follows else None,
        posture=None if follows else known_posture(values, model),
    )
    return ReactionlessStage(model, record_of(VelocityLawConfig, values), task, values["base_state_source"])


def built_reactionless(values: Values, model: ArmModel) -> BuiltStage:
    """Return the stage of the velocity law with its outputs.

    Raises:
        FlexarmError: as for :func:`reactionless_stage`.
    """
    stage, others = reactionless_stage(dict(values), model), shown_paths(dict(values), model)
    drawn = stage.path

    def draw(tick: Tick) -> MarkerArray | None:
        nonlocal drawn
        if stage.path is drawn:
            return None
        drawn = stage.path  # traced through the first posture
        return path_markers(drawn, others, model.base_frame)

    def status(tick: Tick) -> Status:
        level, message, _ = reaction_status(stage.name, tick)
        shown: dict[str, str] = {}
        if tick.reaction is not None:
            shown["sigma_min"] = f"{tick.reaction.coupling_singular_values[-1]:.3g}"
        if stage.along is not None:
            shown["s"] = f"{stage.along.s:.4f}"
        return level, "at the end of the path" if level == OK and stage.finished else message, shown

    return BuiltStage(
        stage,
        lambda changed: stage.change(record_of(VelocityLawConfig, changed)),
        (
            reaction_output(model),
            Output(topics.DESIRED_JOINT_REFERENCE, JointReference, lambda tick: joint_message(stage.wanted, model)),
            joint_output(stage.name, model),
            Output(
                topics.MARKERS,
                MarkerArray,
                draw,
                topics.LATCHED,
                first=path_markers(drawn, others, model.base_frame),
            ),
        ),
        required=required_base(stage.source),
        status=status,
    )


def shown_paths(values: dict[str, Any], model: ArmModel) -> list[ReactionlessPath]:
    """Return the paths through ``shown_postures``.

    Raises:
        FlexarmError: the number of values is no multiple of n, or a posture has no path.
    """
    numbers = values["shown_postures"]
    if len(numbers) % model.n:
        raise ConfigError(f"shown_postures needs {model.n} numbers a posture, got {len(numbers)} in all")
    return [traced_path(values, model, each) for each in np.reshape(numbers, (-1, model.n))]
