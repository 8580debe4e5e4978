"""Parameters of ik_redundancy_solver, and the objects built from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from flexarm_core.errors import ConfigError
from flexarm_core.ik_redundancy.chain import Chain
from flexarm_core.ik_redundancy.config import RedundancyConfig
from flexarm_core.ik_redundancy.limits import MotionLimits
from flexarm_core.path.path_constraints import PathLimits
from flexarm_core.types import Array
from flexarm_nodes.node.parameters import FILE_FOLDER, Parameter, record_of, rows

SOURCES = ("auto", "stream")
OUTPUTS = ("reference", "trajectory")

IK_PARAMETERS = (
    Parameter("source", "string", "auto",
        "start of operation: publish references that hold the arm until a stream of Cartesian references begins (auto),"
        " or wait for the stream (stream)", choices=SOURCES),
    Parameter("output", "string", "reference",
        "published output: a joint reference for each sample, or one joint trajectory for each planned path",
        choices=OUTPUTS),
    Parameter("lockstep", "bool", False,
        "send no reference before a path is planned, for a plant in lockstep; false: hold the arm while planning"),
    Parameter("reference_timeout", "double", 0.08,
        "largest accepted age of a Cartesian reference, relative to the joint state", "s", 1e-4),
    Parameter("state_timeout", "double", 0.08,
        "gap between joint states after which a path is aborted and the solver restarts from where the arm is",
        "s", 1e-4),
    *rows(RedundancyConfig, live=True),
    Parameter("max_acceleration", "double[]", [10.0],
        "largest acceleration of the joints; one for all joints or one per joint of the chain",
        "rad/s^2 | m/s^2", live=True),
    Parameter("velocity_scale", "double", 1.0,
        "fraction of the velocity limits of the joints that may be used", "", 1e-3, 1.0, live=True),
    *rows(PathLimits, prefix="max_", live=True),
    Parameter("position_tolerance", "double", 1e-4,
        "largest position error of the tool along a planned path, unless the action goal sets one",
        "m", 1e-9, live=True),
    Parameter("orientation_tolerance", "double", 1e-3,
        "largest orientation error of the tool along a planned path, unless the action goal sets one",
        "rad", 1e-9, live=True),
    Parameter("path_tolerance", "double", 0.1,
        "deviation of a measured joint from its reference at which a path is aborted", "rad | m", 1e-9, live=True),
    Parameter("feedback_rate", "double", 20.0,
        "rate of the feedback of the follow_cartesian_path action", "Hz", 0.1, 1e4, live=True),
    Parameter("trajectory_rate", "double", 100.0,
        "rate of the points of a published joint trajectory (output trajectory)", "Hz", 1.0, 1e4, live=True),
    Parameter("ik_restarts", "int", 200,
        "largest number of restarts of the solve_ik service",
        "", 0, 10000, live=True),
    FILE_FOLDER,
)  # fmt: skip


def redundancy_config(values: Mapping[str, Any]) -> RedundancyConfig:
    """Return the settings of the redundancy resolution.

    Raises:
        ConfigError: an invalid value.
    """
    return record_of(RedundancyConfig, values)


def motion_limits(values: Mapping[str, Any], chain: Chain) -> MotionLimits:
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
        acceleration=np.minimum(acceleration, chain.acceleration_limit),
    )
