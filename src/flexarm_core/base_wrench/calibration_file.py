"""Calibration files: bias and gravity parameters as parameters of the node, in ROS 2's YAML.

::

    base_wrench_torque_estimator:
      ros__parameters:
        wrench_bias: [f_x, f_y, f_z, n_x, n_y, n_z]       # [N, N*m]
        gravity_links: ["link1", "link2"]
        gravity_masses: [m_1, m_2]                          # [kg]
        gravity_first_moments: [m_1 c_x, m_1 c_y, ...]      # [kg*m], in the frame of each link

Without gravity parameters the last three are left out, and the description's hold.
"""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from flexarm_core.base_wrench.calibration import CalibrationResult
from flexarm_core.base_wrench.sensed_bodies import SensedBodies
from flexarm_core.errors import ConfigError
from flexarm_core.text_file import read_text
from flexarm_core.types import Array
from flexarm_core.yaml_bounds import MOST_BYTES, excess

NODE = "base_wrench_torque_estimator"
NODE_NAME = re.compile(r"/?[A-Za-z_]\w*(/[A-Za-z_]\w*)*")


def write_calibration(
    path: str | Path,
    result: CalibrationResult,
    bodies: SensedBodies,
    node_name: str = NODE,
    *,
    robot: str = "",
    date: str = "",
) -> None:
    """Write a calibration so that the file is either the old one or the whole new one.

    Args:
        path: of the YAML file; its folder must exist.
        result: what was found.
        bodies: of which.
        node_name: node that will load it, with its namespace if it has one.
        robot: name, for the comment.
        date: for the comment.

    Raises:
        ConfigError: there is no such folder, it cannot be written, or the node's name is none.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise ConfigError(f"the folder '{path.parent}' of the calibration file does not exist: make it first")
    if not NODE_NAME.fullmatch(node_name):
        raise ConfigError(f"'{node_name}' is no name of a node: letters, digits, _ and / only")
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False
        ) as file:
            try:
                file.write(_text(result, bodies, node_name, robot, date))
                file.flush()
                os.fsync(file.fileno())
                os.chmod(file.name, 0o644)  # temporary files are private
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise ConfigError(f"the calibration file '{path}' cannot be written: {error}") from error


def read_calibration(path: str | Path, bodies: SensedBodies, node_name: str = NODE) -> tuple[Array, Array | None]:
    """Bias (6,) [N, N*m] and gravity parameters (w, 4) [kg, kg*m], None where the file has none.

    Raises:
        ConfigError: the file cannot be read, is not of this node, or its links are not those above the sensor.
    """
    text = read_text(path, "the calibration file", MOST_BYTES)
    if too_much := excess(text):
        raise ConfigError(f"the calibration file '{path}' {too_much}")
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise ConfigError(f"the calibration file '{path}' cannot be read: {' '.join(str(error).split())}") from error
    section = document.get(node_name) if isinstance(document, dict) else None
    parameters = section.get("ros__parameters") if isinstance(section, dict) else None
    if not isinstance(parameters, dict):
        raise ConfigError(f"the calibration file '{path}' holds no parameters of the node '{node_name}'")
    bias = _numbers(path, parameters, "wrench_bias", 6)
    if "gravity_links" not in parameters:
        return bias, None
    names = [bodies.names[k] for k in bodies.weighing]
    if parameters["gravity_links"] != names:
        raise ConfigError(
            f"the calibration file '{path}' is of the links {parameters['gravity_links']}, the sensor carries {names}:"
            " calibrate this robot anew"
        )
    masses = _numbers(path, parameters, "gravity_masses", len(names))
    moments = _numbers(path, parameters, "gravity_first_moments", 3 * len(names))
    return bias, np.column_stack((masses, moments.reshape(-1, 3)))


def _numbers(path: str | Path, parameters: dict[str, Any], key: str, count: int) -> Array:
    value = parameters.get(key)
    if (
        not isinstance(value, list)
        or len(value) != count
        or not all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in value)
        or not all(math.isfinite(item) for item in value)
    ):
        raise ConfigError(f"the calibration file '{path}': {key} must be {count} finite numbers, got {value}")
    return np.array(value, dtype=float)


def _text(result: CalibrationResult, bodies: SensedBodies, node_name: str, robot: str, date: str) -> str:
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
    lines += [f"{node_name}:", "  ros__parameters:", f"    wrench_bias: {_list(result.bias)}"]
    if result.model == "bias_and_gravity":
        names = json.dumps([bodies.names[k] for k in bodies.weighing])
        lines += [
            f"    gravity_links: {names}",
            f"    gravity_masses: {_list(result.gravity_parameters[:, 0])}",
            f"    gravity_first_moments: {_list(result.gravity_parameters[:, 1:].ravel())}",
        ]
    return "\n".join(lines) + "\n"


def _list(numbers: Array, form: str = "") -> str:
    return f"[{', '.join(_number(float(value), form) for value in numbers)}]"


def _number(value: float, form: str) -> str:
    """With a decimal point: without one YAML 1.1 takes 1e-05 for text, and ROS 2 takes 1 for an integer."""
    mantissa, *exponent = (format(value, form) if form else repr(value)).split("e")
    return "e".join([mantissa if "." in mantissa else f"{mantissa}.0", *exponent])
