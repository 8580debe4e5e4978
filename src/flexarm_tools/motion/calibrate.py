"""`flexarm calibrate`: bias and gravity parameters of the sensor under the base, from static poses of a run."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np

from flexarm_core.base_wrench.calibration import CalibrationResult, calibrate
from flexarm_core.base_wrench.calibration_config import CalibrationConfig
from flexarm_core.base_wrench.calibration_file import write_calibration
from flexarm_core.base_wrench.recorded_poses import RestConfig, find_static_poses
from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.errors import InputError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.types import Array
from flexarm_tools.recording.recording import load_recording


def calibrate_recording(
    recording: Path,
    robot: Path,
    output: Path,
    model: str = "bias_and_gravity",
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
    arguments: dict[str, str] | None = None,
) -> str:
    """Calibrate from a run in which the arm was at rest in several poses, and write the node's parameter file.

    Args:
        recording: ``.npz`` file of a run.
        robot: ``.urdf`` or ``.xacro`` file; its first force/torque sensor must be the recorded one.
        output: YAML file to write.
        model: ``bias`` or ``bias_and_gravity``.
        gravity: (3,) in axes of the root link [m/s^2].
        arguments: xacro arguments.

    Returns:
        Summary as text.

    Raises:
        FlexarmError: a file cannot be used, the recording is of another robot, or the poses are not sufficient.
    """
    record, arm = load_recording(recording), ArmModel(load_robot_description(robot, arguments), gravity=gravity)
    description = arm.description
    for what, there, wanted in (
        ("joints", record.joint_names, arm.joint_names),
        ("elastic joints", record.elastic_names, arm.elastic_joint_names),
    ):
        if there != wanted:
            raise InputError(
                f"'{recording}' is of the {what} {', '.join(there) or 'none'}, robot '{description.name}' has"
                f" {', '.join(wanted) or 'none'}"
            )
    sensors = tuple(description.force_torque_sensors)
    if not sensors or not np.isfinite(record.base_wrench).any():
        raise InputError(f"'{recording}' holds no wrench of a force/torque sensor under robot '{description.name}'")
    known = np.isfinite(record.position).all(axis=1) & np.isfinite(record.velocity).all(axis=1)
    bodies = build_sensed_bodies(description, sensors[0])
    poses = find_static_poses(
        np.round(record.time[known] * 1e9).astype(np.int64),
        arm.turns.continuous(record.position[known]),
        record.velocity[known],
        record.base_wrench[known],
        RestConfig(),
        record.deflection[known] if arm.m else None,
    )
    config = CalibrationConfig(model=model)
    result = calibrate(bodies, poses, config, gravity=gravity, lower=arm.lower, upper=arm.upper)
    now = datetime.now().astimezone().isoformat(timespec="seconds")
    write_calibration(output, result, bodies, robot=description.name, date=now)
    return _text(result, sensors[0], output)


def _text(result: CalibrationResult, sensor: str, output: Path) -> str:
    force, torque = result.prediction_error
    lines = [
        f"{sensor}: {result.poses} poses at rest, model {result.model}",
        f"  bias              {_numbers(result.bias[:3])} N, {_numbers(result.bias[3:])} N*m",
        f"  deviation         {_numbers(result.bias_deviation[:3])} N, {_numbers(result.bias_deviation[3:])} N*m",
    ]
    if result.model == "bias_and_gravity":
        lines.append(f"  gravity           {result.rank} parameters, condition number {result.condition_number:.3g}")
    lines += [
        f"  residual          {result.residual_force:.3g} N, {result.residual_torque:.3g} N*m",
        f"  prediction error  {force:.3g} N, {torque:.3g} N*m",
        f"  {output}",
    ]
    return "\n".join(lines)


def _numbers(values: Array) -> str:
    return " ".join(f"{value:.4g}" for value in values)
