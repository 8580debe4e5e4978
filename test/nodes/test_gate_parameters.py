"""What the gate takes for limits where its parameters say nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml

from flexarm_core.errors import ConfigError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.types import ArmState
from flexarm_nodes.hardware_gate.gate import HardwareGateNode
from flexarm_nodes.hardware_gate.parameters import hardware_gate, usual_acceleration
from flexarm_nodes.node.parameters import ARM_PARAMETERS, described_arm, row_values


def test_a_slow_joint_accelerates_slowly_unless_told_otherwise(planar_3r_text):
    slow = ArmModel(planar_3r_text.replace('velocity="4"', 'velocity="0.5"'))
    assert np.allclose(usual_acceleration(slow.velocity_limit), 5.0)
    assert np.allclose(usual_acceleration(ArmModel(planar_3r_text).velocity_limit), 20.0)
    values = {row.name: row.default for row in HardwareGateNode.PARAMETERS}
    assert np.array_equal(hardware_gate(values, slow).limits.acceleration, usual_acceleration(slow.velocity_limit))
    told = hardware_gate(values | {"max_acceleration": [7.0]}, slow)
    assert np.array_equal(told.limits.acceleration, np.full(slow.n, 7.0))


def test_a_first_motion_may_be_slower_than_the_description_allows_and_never_faster(tmp_path, planar_3r_text):
    model = ArmModel(planar_3r_text)
    values = {row.name: row.default for row in HardwareGateNode.PARAMETERS}
    limits = hardware_gate(values | {"max_velocity": [0.3, 0.0, 9.0]}, model).limits
    np.testing.assert_allclose(limits.velocity, [0.3, 4.0, 4.0])
    np.testing.assert_allclose(limits.acceleration, [3.0, 20.0, 20.0])  # a stop takes 0.1 s, or 20 rad/s^2
    fast = ArmState(1_000_000, *np.array([[0.0] * 3, [0.5, 0.0, 0.0]]), np.zeros(1), np.zeros(1))
    file, slow = tmp_path / "limits.yaml", {"has_velocity_limits": True, "max_velocity": 0.3}
    file.write_text(yaml.safe_dump({"joint_limits": {"joint1": slow}}), encoding="utf-8")
    own = described_arm(row_values(ARM_PARAMETERS, {"joint_limits": str(file)}), model.description)
    assert own.velocity_limit[0] == 0.3
    for gate in (hardware_gate(values | {"max_velocity": [0.3]}, model), hardware_gate(values, own)):
        gate.on_state(replace(fast, stamp=0, velocity=np.zeros(3)))
        gate.on_state(fast)  # a measurement is judged by what the arm can do, not by what it is allowed to do
        assert "not believable" not in gate.status.reason
    np.testing.assert_allclose(limits.following_error, 0.15 * limits.velocity)
    unlimited = ArmModel(planar_3r_text)
    unlimited.velocity_limit = np.full(3, np.inf)  # as of continuous joints without <limit>
    with pytest.raises(ConfigError, match="no velocity limit for joint1, joint2, joint3"):
        hardware_gate(values, unlimited)
    assert np.all(hardware_gate(values | {"max_velocity": [0.3]}, unlimited).limits.velocity == 0.3)
    with pytest.raises(ConfigError, match="max_velocity must be finite and not negative"):
        hardware_gate(values | {"max_velocity": [float("nan")]}, model)


def test_limits_are_those_of_the_robot_description(planar_3r_text):
    model = ArmModel(planar_3r_text)
    limits = hardware_gate({row.name: row.default for row in HardwareGateNode.PARAMETERS}, model).limits
    for name, told in (("lower", model.lower), ("upper", model.upper), ("effort", model.effort_limit)):
        assert np.array_equal(getattr(limits, name), told), name
    assert np.array_equal(limits.velocity, model.velocity_limit)


def test_the_smallest_of_description_file_and_parameters_holds(tmp_path, planar_3r_text):
    plain, file = ArmModel(planar_3r_text), tmp_path / "joint_limits.yaml"
    own = {"has_velocity_limits": True, "max_velocity": 1.5, "has_effort_limits": True, "max_effort": 2.0}
    own |= {"has_acceleration_limits": True, "max_acceleration": 2.5, "has_jerk_limits": True, "max_jerk": 300.0}
    own |= {"has_position_limits": True, "min_position": -0.5, "max_position": 1.0}
    limits = {"joint2": own, "joint3": {"has_velocity_limits": True, "max_velocity": 99.0}}
    file.write_text(yaml.safe_dump({"joint_limits": limits}), encoding="utf-8")
    values = row_values((*ARM_PARAMETERS, *HardwareGateNode.PARAMETERS), {"joint_limits": file.as_uri()})
    model = described_arm(values, plain.description)
    second, found = [False, True, False], hardware_gate(values, model).limits
    np.testing.assert_allclose(found.velocity, [4.0, 1.5, 4.0])
    np.testing.assert_allclose(found.acceleration, [20.0, 2.5, 20.0])
    np.testing.assert_allclose(found.jerk, [np.inf, 300.0, np.inf])
    np.testing.assert_allclose(found.effort, np.where(second, 2.0, plain.effort_limit))
    np.testing.assert_allclose(found.lower, np.where(second, -0.5, plain.lower))
    np.testing.assert_allclose(found.upper, np.where(second, 1.0, plain.upper))
    given = {"max_velocity": [1.0], "max_acceleration": [3.0], "max_jerk": [200.0]}
    found = hardware_gate(values | given, model).limits
    np.testing.assert_allclose(found.velocity, 1.0)
    np.testing.assert_allclose(found.acceleration, [3.0, 2.5, 3.0])
    np.testing.assert_allclose(found.jerk, 200.0)
    joints = {name: replace(joint, effort_limit=np.inf) for name, joint in plain.description.joints.items()}
    unlimited = described_arm(values, replace(plain.description, joints=joints))
    with pytest.raises(ConfigError, match="no effort limit for joint1, joint3: .* the file of joint_limits"):
        hardware_gate(values, unlimited)
