"""Parameters of ik_redundancy_solver, and the objects built from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.config import GIVEN_UP, METHODS, OBJECTIVES, RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.types import Array
from flexarm_nodes.node.parameters import Parameter

SOURCES = ("auto", "stream")
OUTPUTS = ("reference", "trajectory")
RESOLUTION = (
    "length_scale",
    "threshold",
    "band",
    "given_up",
    "corrections",
    "objective_time_constant",
    "objective",
    "objective_weight",
    "method",
    "damping",
)
USUAL = RedundancyConfig()

IK_PARAMETERS = (
    Parameter(
        "source",
        "string",
        "auto",
        "what is answered: joint states until a stream of Cartesian references begins, or such references alone",
        choices=SOURCES,
    ),
    Parameter("output", "string", "reference", "joint references, or a trajectory for each path", choices=OUTPUTS),
    Parameter("lockstep", "bool", False, "joint states wait while a path is planned, as a lockstep plant can"),
    Parameter("reference_timeout", "double", 0.08, "age at which a Cartesian reference is refused", "s", 1e-4),
    Parameter("state_timeout", "double", 0.08, "gap of joint states that ends a path", "s", 1e-4),
    Parameter("weights", "double[]", list(USUAL.weights), "k_i, one for all or one a joint of the chain", live=True),
    Parameter(
        "origin", "double[]", list(USUAL.origin), "of the objective; empty: the first joints", "rad | m", live=True
    ),
    Parameter("priority", "string[]", list(USUAL.priority), "levels of rows, the last to be given up first", live=True),
    Parameter("length_scale", "double", USUAL.length_scale, "what a radian counts", "m/rad", 1e-6, live=True),
    Parameter("threshold", "double", USUAL.threshold, "remaining norm at which a row is dropped", "m", 0.0, live=True),
    Parameter("band", "double", USUAL.band, "above the threshold, in which a row is damped", "m", 0.0, live=True),
    Parameter("given_up", "string", USUAL.given_up, "joints in a direction given up", choices=GIVEN_UP, live=True),
    Parameter("corrections", "int", USUAL.corrections, "of the curvature at every sample", "", 0, 10, live=True),
    Parameter("method", "string", USUAL.method, "how the step is solved", choices=METHODS, live=True),
    Parameter("damping", "double", USUAL.damping, "of damped least squares", "m", 0.0, live=True),
    Parameter("objective", "string", USUAL.objective, "what the free motion serves", choices=OBJECTIVES, live=True),
    Parameter("objective_weight", "double", USUAL.objective_weight, "against the weights", "", 0.0, live=True),
    Parameter(
        "objective_time_constant",
        "double",
        USUAL.objective_time_constant,
        "of the way to the objective's minimum",
        "s",
        0.0,
        live=True,
    ),
    Parameter(
        "max_acceleration",
        "double[]",
        [10.0],
        "of joints, one for all or one a joint of the chain",
        "rad/s^2 | m/s^2",
        live=True,
    ),
    Parameter("velocity_scale", "double", 1.0, "part of the joints' velocity limits in use", "", 1e-3, 1.0, live=True),
    Parameter("max_linear_velocity", "double", 0.25, "of the tool along a path", "m/s", 1e-6, live=True),
    Parameter("max_linear_acceleration", "double", 1.0, "of the tool along a path", "m/s^2", 1e-6, live=True),
    Parameter("max_angular_velocity", "double", 1.0, "of the tool along a path", "rad/s", 1e-6, live=True),
    Parameter("max_angular_acceleration", "double", 4.0, "of the tool along a path", "rad/s^2", 1e-6, live=True),
    Parameter("position_tolerance", "double", 1e-4, "of a path", "m", 1e-9, live=True),
    Parameter("orientation_tolerance", "double", 1e-3, "of a path", "rad", 1e-9, live=True),
    Parameter(
        "path_tolerance", "double", 0.1, "deviation of a joint at which a path is left", "rad | m", 1e-9, live=True
    ),
    Parameter("feedback_rate", "double", 20.0, "of the action", "Hz", 0.1, 1e4, live=True),
    Parameter("trajectory_rate", "double", 100.0, "of the points of a trajectory", "Hz", 1.0, 1e4, live=True),
    Parameter(
        "ik_restarts", "int", 200, "of solve_ik; the arm gets no answer until it has ended", "", 0, 10000, live=True
    ),
)


def redundancy_config(values: dict[str, Any]) -> RedundancyConfig:
    """Return the settings of the redundancy resolution.

    Raises:
        ConfigError: an invalid value.
    """
    settings: dict[str, Any] = {name: values[name] for name in RESOLUTION}
    settings |= {name: tuple(values[name]) for name in ("weights", "origin", "priority")}
    return RedundancyConfig(**settings)


def motion_limits(values: dict[str, Any], chain: Chain) -> MotionLimits:
    """Return the limits of the chain's joints, from the robot description and the parameters.

    Raises:
        ConfigError: the accelerations are not 1 or n positive numbers.
    """
    acceleration: Array = np.array(values["max_acceleration"], dtype=float)
    if acceleration.size not in (1, chain.n):
        names = ", ".join(chain.joint_names)
        raise ConfigError(f"max_acceleration needs 1 or {chain.n} numbers, for {names}; got {acceleration.tolist()}")
    return MotionLimits(
        lower=chain.lower,
        upper=chain.upper,
        velocity=values["velocity_scale"] * chain.velocity_limit,
        acceleration=np.broadcast_to(acceleration, (chain.n,)).copy(),
    )
