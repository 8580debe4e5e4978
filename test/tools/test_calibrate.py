"""`flexarm calibrate`: a recorded run in which the arm rested in several poses, weighed by Pinocchio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio
import pytest
from calibration_text import calibration_of

from flexarm_core.base_wrench.sensed_bodies import build_sensed_bodies
from flexarm_core.errors import ConfigError, InputError
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_tools.cli import run_command
from flexarm_tools.motion.calibrate import calibrate_recording
from flexarm_tools.recording.recording import Recording

URDF = Path(__file__).resolve().parents[2] / "urdf"
ROBOT = URDF / "arm_7r.urdf.xacro"
BIAS = np.array([1.5, -0.8, 2.0, 0.05, -0.12, 0.2])  # [N, N*m]
NOISE = np.array([0.1, 0.1, 0.1, 0.01, 0.01, 0.01])
PER_POSE, POSES = 100, 30  # ticks of 10 ms


@pytest.fixture(scope="module")
def description():
    return parse_robot_description(load_robot_description(ROBOT))


def weighed(model, data, position):
    """What the resting arm exerts on its base, in the base's frame, which is the sensor's."""
    still = np.zeros(model.nv)
    pinocchio.rnea(model, data, position, still, still)
    return -data.liMi[1].act(data.f[1]).vector


@pytest.fixture(scope="module")
def rested(description):
    """Recording of an arm that goes from pose to pose and rests in each, with a biased and noisy sensor."""
    rng = np.random.default_rng(5)
    model = pinocchio.buildModelFromXML(description.text)
    data = model.createData()
    joints = [description.joints[name] for name in description.actuated]
    lower, upper = (np.array([getattr(joint, side) for joint in joints]) for side in ("lower", "upper"))
    goals = rng.uniform(0.9 * lower, 0.9 * upper, (POSES, len(joints)))
    position = np.repeat(goals, PER_POSE, axis=0)
    wrench = np.repeat([weighed(model, data, goal) for goal in goals], PER_POSE, axis=0)
    wrench = wrench + BIAS + rng.standard_normal(wrench.shape) * NOISE
    velocity = np.zeros_like(position)
    velocity[::PER_POSE] = 1.0  # on its way
    time = np.arange(len(position)) * 0.01
    return Recording.blank(description, time, np.nan, position=position, velocity=velocity, base_wrench=wrench)


def test_bias_and_gravity_are_found_and_the_file_is_the_nodes(rested, description, tmp_path, capsys):
    rested.save(tmp_path / "run.npz")
    output = tmp_path / "base_wrench.yaml"
    assert run_command(["calibrate", str(tmp_path / "run.npz"), "--robot", str(ROBOT), "--output", str(output)]) == 0
    said = capsys.readouterr().out
    assert f"base_ft_sensor: {POSES} poses at rest, model bias_and_gravity" in said and str(output) in said
    bodies = build_sensed_bodies(description, "base_ft_sensor")
    bias, gravity = calibration_of(output, bodies)
    assert np.abs(bias[:3] - BIAS[:3]).max() < 0.05 and np.abs(bias[3:] - BIAS[3:]).max() < 0.02
    assert gravity[:, 0].sum() == pytest.approx(bodies.gravity_parameters()[:, 0].sum(), rel=1e-3)


def test_the_bias_alone_is_found_to_the_noise_of_its_mean(rested, description, tmp_path):
    rested.save(tmp_path / "run.npz")
    calibrate_recording(tmp_path / "run.npz", ROBOT, tmp_path / "bias.yaml", "bias")
    bias, gravity = calibration_of(tmp_path / "bias.yaml", build_sensed_bodies(description, "base_ft_sensor"))
    assert np.all(np.abs(bias - BIAS) < 5.0 * NOISE / np.sqrt(POSES * PER_POSE / 2)) and gravity is None


def test_another_robot_than_was_recorded_is_refused(rested, tmp_path):
    rested.save(tmp_path / "run.npz")
    with pytest.raises(InputError, match="is of the joints shoulder_yaw, .* robot 'planar_3r' has joint1"):
        calibrate_recording(tmp_path / "run.npz", URDF / "planar_3r.urdf.xacro", tmp_path / "x.yaml")


def test_a_run_without_wrenches_or_with_too_few_rests_is_refused(rested, description, tmp_path):
    Recording.blank(description, rested.time, np.nan, position=rested.position, velocity=rested.velocity).save(
        tmp_path / "deaf.npz"
    )
    with pytest.raises(InputError, match="holds no wrench"):
        calibrate_recording(tmp_path / "deaf.npz", ROBOT, tmp_path / "x.yaml")
    still, wrench = np.tile(rested.position[0], (200, 1)), rested.base_wrench[:200]
    Recording.blank(
        description,
        rested.time[:200],
        np.nan,
        position=still,
        velocity=0.0 * still,
        base_wrench=wrench,
    ).save(tmp_path / "still.npz")
    with pytest.raises(InputError, match="1 static poses are too few"):
        calibrate_recording(tmp_path / "still.npz", ROBOT, tmp_path / "x.yaml")
    with pytest.raises(ConfigError, match="the folder .* does not exist"):
        rested.save(tmp_path / "run.npz")
        calibrate_recording(tmp_path / "run.npz", ROBOT, tmp_path / "nowhere" / "x.yaml")
    assert not (tmp_path / "x.yaml").exists()
