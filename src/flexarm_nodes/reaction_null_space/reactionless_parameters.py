"""Parameters of reactionless_path_controller, and the records built from them."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.flexible_dynamics.flexible_links import resolve_uri
from flexarm_core.pipeline.reactionless_stage import ReactionlessStage, ReactionlessTask
from flexarm_core.reaction_null_space.reactionless.path import ReactionlessPath
from flexarm_core.reaction_null_space.reactionless.path_file import load_path
from flexarm_core.reaction_null_space.reactionless.path_motion import SPEED_LAWS, PathMotionConfig
from flexarm_core.reaction_null_space.reactionless.trace import trace
from flexarm_core.reaction_null_space.reactionless.velocity_law import VelocityLawConfig
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import Array
from flexarm_nodes.node.arm_state_reader import BASE_STATE_SOURCES
from flexarm_nodes.node.parameters import Parameter

TASKS = ("hold", "path")

REACTIONLESS_PARAMETERS = (
    Parameter("task", "string", "hold", "hold a posture, or move along a reactionless path", choices=TASKS),
    Parameter(
        "posture",
        "double[]",
        [],
        "hold: that is held; path: through which it is traced; empty: the first one that is measured",
        "rad | m",
    ),
    Parameter("path_file", "string", "", "path: stored one, package:// or file:// URI or absolute path; empty: traced"),
    Parameter(
        "selection", "string[]", ["all"], "elastic joints that count, the others as rigid; a path file has its own"
    ),
    Parameter("longest_path", "double", 50.0, "path: at which tracing ends, each of the two ways", "rad | m", 1e-3),
    Parameter("speed_law", "string", "fifth_order", "path: how fast along it", choices=SPEED_LAWS),
    Parameter(
        "span", "double[]", [], "path: from and to where on it; empty: from where the arm is to its end", "rad | m"
    ),
    Parameter("start", "double", 0.0, "path: time after the first sample at which the motion begins", "s", 0.0),
    Parameter("duration", "double", 4.0, "path: of one way, fifth_order", "s", 1e-3),
    Parameter(
        "speed", "double", 1.0, "path: constant_rate: along it; constant_ubar: ubar, qd = n ubar", "rad/s | 1/(kg*m*s)"
    ),
    Parameter("blend_time", "double", 1.0, "path: in which a constant speed comes and goes", "s", 1e-3),
    Parameter("returns", "bool", False, "path: go back and forth without end"),
    Parameter("cyclic", "bool", False, "path: go round and round without end, where it is closed"),
    Parameter("start_tolerance", "double", 0.05, "path: largest distance from where it begins", "rad | m", 1e-9),
    Parameter("vibration_gain", "double", 24.0, "g_b; 0: the base is not damped", "1/s", 0.0, live=True),
    Parameter("momentum_gain", "double", 5.0, "g_m: gives back what was taken from the base", "1/s", 0.0, live=True),
    Parameter("path_gain", "double", 50.0, "g_p: back along the null space", "1/s", 0.0, live=True),
    Parameter(
        "feed_forward", "bool", True, "the reference's velocity is fed forward; not so in the paper's (30)", live=True
    ),
    Parameter(
        "drive_lag", "double", 0.0, "that is made up for: 1 / bandwidth and half a period", "s", 0.0, 1.0, live=True
    ),
    Parameter(
        "coupling_threshold",
        "double",
        0.01,
        "sigma(H_bm) / sqrt(tr H_b tr H_m) below which it is damped",
        "",
        1e-6,
        0.999,
        live=True,
    ),
    Parameter("rate", "double", 1000.0, "of samples, for which the gains are checked", "Hz", 1.0, 1e5),
    Parameter("delay", "double", 0.0, "from measurement to command, likewise", "s", 0.0, 0.1),
    Parameter("drive_bandwidth", "double", 200.0, "of the drives' first-order lag, likewise", "rad/s", 1e-3),
    Parameter("shown_postures", "double[]", [], "postures one after the other: their paths are shown too", "rad | m"),
    Parameter("base_state_source", "string", "joint_states", "where x_b comes from", choices=BASE_STATE_SOURCES),
)


def law_config(values: dict[str, Any]) -> VelocityLawConfig:
    """Return the settings of the velocity law."""
    given = {field.name: values[field.name] for field in fields(VelocityLawConfig)}
    return VelocityLawConfig(**(given | {"selection": tuple(values["selection"])}))


def motion_config(values: dict[str, Any]) -> PathMotionConfig:
    """Return the settings of the motion along a path.

    Raises:
        ConfigError: invalid values.
    """
    given = {field.name: values[field.name] for field in fields(PathMotionConfig)}
    span = values["span"]
    if span and len(span) != 2:
        raise ConfigError(f"span needs two path coordinates, from and to, or none; got {span}")
    return PathMotionConfig(**(given | {"span": (span[0], span[1]) if span else None}))


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
    task = ReactionlessTask(
        motion=motion_config(values) if follows else None,
        path=known_path(values, model) if follows else None,
        posture=None if follows else known_posture(values, model),
        longest_path=values["longest_path"],
        start_tolerance=values["start_tolerance"],
        rate=values["rate"],
        delay=values["delay"],
        drive_bandwidth=values["drive_bandwidth"],
    )
    return ReactionlessStage(model, law_config(values), task, values["base_state_source"])


def shown_paths(values: dict[str, Any], model: ArmModel) -> list[ReactionlessPath]:
    """Return the paths through ``shown_postures``.

    Raises:
        FlexarmError: the number of values is no multiple of n, or a posture has no path.
    """
    numbers = values["shown_postures"]
    if len(numbers) % model.n:
        raise ConfigError(f"shown_postures needs {model.n} numbers a posture, got {len(numbers)} in all")
    return [traced_path(values, model, each) for each in np.reshape(numbers, (-1, model.n))]
