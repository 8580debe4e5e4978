"""Calibration files: bias and gravity parameters as node parameters in a ROS 2 YAML file.

::

    base_wrench_torque_estimator:
      ros__parameters:
        wrench_bias: [f_x, f_y, f_z, n_x, n_y, n_z]       # [N, N*m]
        gravity_links: ["link1", "link2"]
        gravity_masses: [m_1, m_2]                          # [kg]
        gravity_first_moments: [m_1 c_x, m_1 c_y, ...]      # [kg*m], in the frame of each link

A file without gravity parameters omits the last three entries; the values of the robot description then apply.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path

from flexarm_core.base_wrench.calibration import CalibrationResult
from flexarm_core.base_wrench.sensed_bodies import SensedBodies
from flexarm_core.errors import ConfigError
from flexarm_core.types import Array

NODE = "base_wrench_torque_estimator"
NODE_NAME = re.compile(r"/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*")


def write_calibration(
    path: str | Path,
    result: CalibrationResult,
    bodies: SensedBodies,
    node_name: str = NODE,
    *,
    stage: str = "",
    robot: str = "",
    date: str = "",
) -> None:
    """Write a calibration file atomically: an interrupted write leaves the previous file unchanged.

    Args:
        path: path of the YAML file; its folder must exist.
        result: result of the calibration.
        bodies: bodies above the sensor, for which the calibration was made.
        node_name: name of the node that will load the file, with its namespace if it has one.
        stage: name under which the node has the parameters, if it runs several stages.
        robot: robot name for the comment in the file; empty: none.
        date: date for the comment in the file; empty: none.

    Raises:
        ConfigError: the folder does not exist, the file cannot be written, or the node name is invalid.
    """
    path = Path(path)
    text = calibration_text(result, bodies, node_name, stage=stage, robot=robot, date=date)
    if not path.parent.is_dir():
        raise ConfigError(f"the folder '{path.parent}' of the calibration file does not exist: make it first")
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                os.chmod(file.name, 0o644)  # temporary files are readable by their owner only
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise ConfigError(f"the calibration file '{path}' cannot be written: {error}") from error


def calibration_text(
    result: CalibrationResult,
    bodies: SensedBodies,
    node_name: str = NODE,
    *,
    stage: str = "",
    robot: str = "",
    date: str = "",
) -> str:
    """Return the content of a calibration file; arguments as for :func:`write_calibration`.

    Raises:
        ConfigError: the node name is invalid.
    """
    if not NODE_NAME.fullmatch(node_name):
        raise ConfigError(f"'{node_name}' is no name of a node: letters, digits, _ and / only")
    keys = (node_name, "ros__parameters", *([stage] * bool(stage)))
    force, torque = result.prediction_error
    comments = [
        f"robot: {robot}" if robot else "",
        f"sensor: {bodies.sensor} in the frame of {bodies.sensor_frame}",
        f"date: {date}" if date else "",
        f"model: {result.model}, {result.poses} static poses, {result.rank} gravity parameters,"
        f" condition number {result.condition_number:.3g}",
        f"residual: {result.residual_force:.3g} N, {result.residual_torque:.3g} N*m (root mean square)",
        f"deviation of the bias: {_list(result.bias_deviation, '.2g')} N, N*m",
        f"prediction error: {force:.3g} N, {torque:.3g} N*m (three standard deviations at the worst pose)",
    ]
    lines = [f"# {' '.join(comment.split())}" for comment in comments if comment]
    lines += [f"{'  ' * depth}{key}:" for depth, key in enumerate(keys)]
    values = [f"wrench_bias: {_list(result.bias)}"]
    if result.model == "bias_and_gravity":
        names = json.dumps([bodies.names[k] for k in bodies.weighing])
        values += [
            f"gravity_links: {names}",
            f"gravity_masses: {_list(result.gravity_parameters[:, 0])}",
            f"gravity_first_moments: {_list(result.gravity_parameters[:, 1:].ravel())}",
        ]
    lines += [f"{'  ' * len(keys)}{value}" for value in values]
    return "\n".join(lines) + "\n"


def _list(numbers: Array, form: str = "") -> str:
    return f"[{', '.join(_number(float(value), form) for value in numbers)}]"


def _number(value: float, form: str) -> str:
    """Format a number with a decimal point: YAML 1.1 reads 1e-05 as text, and ROS 2 reads 1 as an integer."""
    mantissa, *exponent = (format(value, form) if form else repr(value)).split("e")
    return "e".join([mantissa if "." in mantissa else f"{mantissa}.0", *exponent])
