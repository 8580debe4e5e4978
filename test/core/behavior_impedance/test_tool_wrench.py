"""ToolWrench against Pinocchio, whose inverse dynamics give what passes through the sensor."""

from __future__ import annotations

import re

import numpy as np
import pinocchio
import pytest
import robots

from flexarm_core.behavior_impedance.wrench.tool_wrench import ToolWrench, tool_sensors
from flexarm_core.errors import ConfigError, InputError, RobotDescriptionError
from flexarm_core.robot.urdf_reader import parse_robot_description

TEXT, TOOL = robots.find("arm_7r")
CHAIN = robots.chain("arm_7r")
DESCRIPTION = parse_robot_description(TEXT)
SENSOR = "tool_ft_sensor"


class Measured:
    """The arm in Pinocchio, its sensor a joint that stands still and carries what the sensor measures."""

    def __init__(self) -> None:
        joint = r'(<joint name="tool_sensor_joint" type=)"fixed"(>.*?)(</joint>)'
        loose, count = re.subn(joint, r'\1"continuous"\2<axis xyz="1 0 0"/>\3', TEXT, flags=re.DOTALL)
        assert count == 1
        self.model = pinocchio.buildModelFromXML(loose)
        self.data = self.model.createData()

    def reading(self, position, external, gravity) -> np.ndarray:
        """Outboard side on inboard side, sensor frame, for an external wrench at the tool, axes of the base link."""
        model, data = self.model, self.data
        q = pinocchio.neutral(model)
        for name, value in zip(CHAIN.joint_names, position, strict=True):
            q[model.joints[model.getJointId(name)].idx_q] = value
        pinocchio.framesForwardKinematics(model, data, q)
        base, tool = (data.oMf[model.getFrameId(name)] for name in (CHAIN.base_frame, CHAIN.tool_frame))
        model.gravity.linear = base.rotation @ gravity
        joint = model.getJointId("tool_sensor_joint")
        force = pinocchio.Force(np.kron(np.eye(2), base.rotation) @ external)  # at the tool, axes of the root
        forces = [pinocchio.Force.Zero() for _ in model.joints]
        forces[joint] = data.oMi[joint].actInv(pinocchio.SE3(np.eye(3), tool.translation).act(force))
        pinocchio.rnea(model, data, q, np.zeros(model.nv), np.zeros(model.nv), forces)
        return -data.f[joint].vector


@pytest.fixture(scope="module")
def measured() -> Measured:
    return Measured()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_the_external_wrench_comes_back_in_any_posture_and_under_any_tilt(measured, rng):
    tool = ToolWrench(DESCRIPTION, CHAIN, SENSOR)
    assert tool.frame == "tool_sensor_link" and tool.mass == pytest.approx(0.4)
    assert np.allclose(tool.center_of_mass, [0.0, 0.0, 0.06])
    for _ in range(50):
        position, external = rng.uniform(-1.5, 1.5, CHAIN.n), rng.normal(0.0, 20.0, 6)
        gravity = 9.81 * (lambda v: v / np.linalg.norm(v))(rng.normal(size=3))
        reading = measured.reading(position, external, gravity)
        assert np.allclose(tool.external(position, reading, gravity), external, rtol=0.0, atol=1e-9)


def test_a_tool_at_rest_and_free_has_no_external_wrench_and_the_sensor_carries_its_weight(measured, rng):
    tool, gravity = ToolWrench(DESCRIPTION, CHAIN, SENSOR), np.array([0.0, 0.0, -9.81])
    position = rng.uniform(-1.5, 1.5, CHAIN.n)
    reading = measured.reading(position, np.zeros(6), gravity)
    assert np.linalg.norm(reading[:3]) == pytest.approx(0.4 * 9.81)
    assert np.allclose(tool.external(position, reading, gravity), 0.0, atol=1e-9)
    assert np.allclose(tool.external(position, reading, np.zeros(3))[:3], 0.4 * gravity)


def test_the_other_convention_has_the_other_sign(measured, rng):
    tool = ToolWrench(DESCRIPTION, CHAIN, SENSOR, "inboard_on_outboard")
    position, external, gravity = rng.uniform(-1.5, 1.5, CHAIN.n), rng.normal(size=6), np.array([1.0, 2.0, -9.0])
    assert np.allclose(tool.external(position, -measured.reading(position, external, gravity), gravity), external)


@pytest.mark.parametrize("convention", ["outboard_on_inboard", "inboard_on_outboard"])
def test_a_bias_taken_in_one_posture_holds_in_every_other(measured, rng, convention):
    tool, gravity, bias = (
        ToolWrench(DESCRIPTION, CHAIN, SENSOR, convention),
        np.array([0.0, 0.0, -9.81]),
        rng.normal(size=6),
    )
    sign = 1.0 if convention == "outboard_on_inboard" else -1.0
    first, second = rng.uniform(-1.5, 1.5, (2, CHAIN.n))
    tool.bias = tool.bias_at_rest(first, sign * measured.reading(first, np.zeros(6), gravity) + bias, gravity)
    assert np.allclose(tool.bias, bias, atol=1e-9)
    external = rng.normal(size=6)
    reading = sign * measured.reading(second, external, gravity) + bias
    assert np.allclose(tool.external(second, reading, gravity), external, atol=1e-9)


def test_a_heavier_tool_than_the_descriptions_can_be_given(measured, rng):
    tool = ToolWrench(DESCRIPTION, CHAIN, SENSOR, mass=1.4, center_of_mass=np.array([0.0, 0.0, 0.1]))
    position, gravity = rng.uniform(-1.5, 1.5, CHAIN.n), np.array([0.0, 0.0, -9.81])
    external = tool.external(position, measured.reading(position, np.zeros(6), gravity), gravity)
    assert np.allclose(external[:3], -1.0 * gravity)  # what is not there holds the arm up
    _, R = CHAIN.pose(position)
    lever = R @ ((1.4 * 0.1 - 0.4 * 0.06) * np.array([0.0, 0.0, 1.0]) - 1.0 * np.array([0.0, 0.0, 0.15]))
    assert np.allclose(external[3:], -np.cross(lever, gravity))


def test_sensors_that_do_not_measure_the_tool_are_refused_by_name():
    assert tool_sensors(DESCRIPTION, CHAIN) == (SENSOR,)
    with pytest.raises(RobotDescriptionError, match="no force/torque sensor 'wrist'; it has: .*tool_ft_sensor"):
        ToolWrench(DESCRIPTION, CHAIN, "wrist")
    moved = parse_robot_description(
        TEXT.replace('<param name="frame_id">tool_sensor_link', '<param name="frame_id">hand')
    )
    assert tool_sensors(moved, CHAIN) == ()
    with pytest.raises(RobotDescriptionError, match="in link 'hand' is not rigidly fixed to the tool 'tool0'"):
        ToolWrench(moved, CHAIN, SENSOR)


def test_settings_and_readings_without_meaning_are_refused():
    for how, reason in (
        ({"convention": "base"}, "wrench convention 'base' is unknown; valid: outboard"),
        ({"mass": -1.0}, "must be >= 0 kg"),
        ({"mass": np.nan}, "mass must be a finite number"),
        ({"center_of_mass": np.array([1.0])}, "three finite numbers"),
    ):
        with pytest.raises((ConfigError, InputError), match=reason):
            ToolWrench(DESCRIPTION, CHAIN, SENSOR, **how)
    for bad in ("0 0 0.1", ["a", "b", "c"], [0.0, None, 0.1], [[0.0], [0.1, 0.2]], 0.1, {"x": 0.1}, [0.0, 1j, 0.1]):
        with pytest.raises(ConfigError, match="center_of_mass of the tool must be three finite numbers"):
            ToolWrench(DESCRIPTION, CHAIN, SENSOR, center_of_mass=bad)
    tool = ToolWrench(DESCRIPTION, CHAIN, SENSOR)
    for bad in (np.full(6, np.nan), np.zeros(5), np.array([0, 0, np.inf, 0, 0, 0])):
        with pytest.raises(InputError, match="finite|shape"):
            tool.external(np.zeros(CHAIN.n), bad, np.zeros(3))
