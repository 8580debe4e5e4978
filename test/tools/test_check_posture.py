"""Postures that `flexarm check` proposes: above the mounting plane and clear of the arm itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from robots import EXAMPLE_ROBOTS

from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot
from flexarm_tools.check.first_run import POSTURES, _clear_postures
from flexarm_tools.check.posture import heights, lowest, touches

URDF = Path(__file__).resolve().parents[2] / "urdf"


def ur10() -> ArmModel:
    for folder in Path(pin.__file__).resolve().parents:
        file = folder / EXAMPLE_ROBOTS / "ur_description" / "urdf" / "ur10_robot.urdf"
        if file.is_file():
            return ArmModel(load_robot(file))
    pytest.skip("the UR10 comes with the package example-robot-data: pip install example-robot-data")


def test_no_link_of_a_bought_arm_is_proposed_below_its_table():
    model = ur10()
    other = pin.buildModelFromXML(model.description.text)
    data = other.createData()
    postures = _clear_postures(model)
    assert len(postures) == POSTURES
    names = [frame for frame in range(other.nframes) if other.frames[frame].name in heights(model, postures[:1])]
    assert len(names) > 6
    for q in postures:
        pin.framesForwardKinematics(other, data, q)
        assert min(data.oMf[frame].translation[2] for frame in names) > 0.04
    everywhere = np.random.default_rng(1).uniform(-3.0, 3.0, (200, 6))
    assert (lowest(model, everywhere) < -0.3).mean() > 0.1  # those that were proposed before


def test_heights_are_those_of_the_links():
    model = ur10()
    q = np.array([0.3, -1.0, 0.8, 0.2, 0.4, 0.1])
    other = pin.buildModelFromXML(model.description.text)
    data = other.createData()
    pin.framesForwardKinematics(other, data, q)
    for link, values in heights(model, q[None]).items():
        assert values[0] == pytest.approx(data.oMf[other.getFrameId(link)].translation[2], abs=1e-9)


def test_a_folded_arm_touches_itself_and_a_straight_one_does_not():
    model = ur10()
    straight, folded = np.zeros(6), np.array([0.0, -1.0, 3.1, 0.0, 0.0, 0.0])
    spread = np.random.default_rng(2).uniform(-3.0, 3.0, (50, 6))  # so that what always touches is known
    found = touches(model, np.vstack((straight, folded, spread)))
    assert not found[0] and found[1] and 0 < found.sum() < len(found)


def test_an_arm_that_cannot_leave_its_plane_keeps_every_posture():
    model = ArmModel(load_robot(URDF / "planar_3r.urdf.xacro"))
    assert np.isinf(lowest(model, np.zeros((3, 3)) + np.arange(3)[:, None])).all()
    assert len(_clear_postures(model)) == POSTURES
