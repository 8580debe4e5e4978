"""Calibration files: parameters that ROS 2 reads, whole or not at all."""

from __future__ import annotations

import numpy as np
import pytest
import weighed_robots
import yaml
from calibration_text import calibration_of

from flexarm_core.base_wrench.calibration import CalibrationResult
from flexarm_core.base_wrench.calibration_file import write_calibration
from flexarm_core.errors import ConfigError

NODE = "base_wrench_torque_estimator"
BIAS = np.array([1.0, -2e-5, 3e20, 0.1, 1.0 / 3.0, -0.0])


def result(model="bias_and_gravity"):
    parameters = weighed_robots.bodies("vertical_3r").gravity_parameters() + 1.0 / 7.0
    return CalibrationResult(
        model, BIAS, np.full(6, 1e-3), parameters, 6, 12.3456, 0.01, 0.002, np.array([0.02, 0.003]), 24
    )


def write(path, model="bias_and_gravity", **more):
    write_calibration(path, result(model), weighed_robots.bodies("vertical_3r"), **more)
    return path


def test_what_is_written_is_read_to_the_last_digit(tmp_path):
    path = write(tmp_path / "calibration.yaml", robot="planar", date="2024-05-06")
    bias, parameters = calibration_of(path, weighed_robots.bodies("vertical_3r"))
    assert np.array_equal(bias, BIAS)
    assert np.array_equal(parameters, result().gravity_parameters)


def test_parameters_are_as_ros_2_wants_them(tmp_path):
    text = write(tmp_path / "calibration.yaml", robot="planar\n- arm", date="2024-05-06").read_text()
    parameters = yaml.safe_load(text)[NODE]["ros__parameters"]
    assert list(parameters) == ["wrench_bias", "gravity_links", "gravity_masses", "gravity_first_moments"]
    assert parameters["gravity_links"] == ["floor", "link1", "link2", "link3"]
    numbers = [*parameters["wrench_bias"], *parameters["gravity_masses"], *parameters["gravity_first_moments"]]
    assert len(numbers) == 6 + 4 + 12
    assert all(type(number) is float for number in numbers)  # ROS 2 refuses lists that mix integers and floats
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert comments[0] == "# robot: planar - arm"
    for part in ("base_ft_sensor", "2024-05-06", "24 static poses", "condition number 12.3", "0.01 N, 0.002 N*m"):
        assert any(part in comment for comment in comments)


def test_a_bias_alone_leaves_the_described_masses(tmp_path):
    path = write(tmp_path / "calibration.yaml", "bias")
    assert list(yaml.safe_load(path.read_text())[NODE]["ros__parameters"]) == ["wrench_bias"]
    bias, parameters = calibration_of(path, weighed_robots.bodies("vertical_3r"))
    assert np.array_equal(bias, BIAS) and parameters is None


def test_a_file_is_replaced_whole_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "calibration.yaml"
    path.write_text("old\n" * 1000)
    write(path)
    assert "old" not in path.read_text()
    assert [found.name for found in tmp_path.iterdir()] == ["calibration.yaml"]
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="cannot be written"):
        write(tmp_path / "folder")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["calibration.yaml", "folder"]


def test_a_folder_that_does_not_exist_and_a_name_that_is_none_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="folder '.*nowhere' of the calibration file does not exist"):
        write(tmp_path / "nowhere" / "calibration.yaml")
    with pytest.raises(ConfigError, match="'a: b' is no name of a node"):
        write(tmp_path / "calibration.yaml", node_name="a: b")
    write(tmp_path / "calibration.yaml", node_name="/left/estimator")
    assert calibration_of(tmp_path / "calibration.yaml", weighed_robots.bodies("vertical_3r"), "/left/estimator")
