"""Springs that are too soft or too stiff to be meant are refused, with the range that they may have."""

from __future__ import annotations

import re

import numpy as np
import pinocchio as pin
import pytest
import robots

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.spring_bounds import FASTEST, SLOWEST, carried_by
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState

ROOT = """<link name="floor"/><link name="cart"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="50"/>
  <inertia ixx="3" iyy="4" izz="5" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="floor"/><child link="cart"/><origin rpy="0.3 0.2 0.1"/>
  <axis xyz="0 0.6 0.8"/><limit lower="-1" upper="1" velocity="9" effort="0"/></joint>
  <joint name="tilt" type="revolute"><parent link="cart"/><child link="plate"/><origin xyz="0.5 0.4 0.3" rpy="1 2 3"/>
  <axis xyz="0.8 0 -0.6"/><limit lower="-1" upper="1" velocity="9" effort="0"/></joint>
  <link name="plate"><inertial><mass value="7"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link><joint name="bolts" type="fixed"><parent link="plate"/><child link="{}"/></joint></robot>"""
OTHERS = {"slide": (1e4, 0.0), "tilt": (1e4, 0.0)}


def text() -> str:
    arm = robots.find("arm_7r")[0]
    return arm.replace("</robot>", ROOT.format(parse_robot_description(arm).root))


def test_what_a_spring_carries_is_pinocchios_inertia_at_zero() -> None:
    description = parse_robot_description(text(), added_springs=OTHERS)
    whole = pin.buildModelFromXML(text())
    inertia = pin.crba(whole, whole.createData(), pin.neutral(whole))
    for name in ("slide", "tilt"):
        i = whole.joints[whole.getJointId(name)].idx_v
        assert carried_by(description, description.joints[name]) == pytest.approx(inertia[i, i], rel=1e-9)


@pytest.mark.parametrize("name", ["slide", "tilt"])
@pytest.mark.parametrize("stiffness", [1e-300, 1e-20, 1e12, 1e17])
def test_what_cannot_be_meant_is_refused_and_what_is_proposed_works(name: str, stiffness: float) -> None:
    with pytest.raises(RobotDescriptionError, match=f"elastic joint '{name}': with a stiffness of ") as error:
        parse_robot_description(text(), added_springs=OTHERS | {name: (stiffness, 0.0)})
    said = str(error.value)
    assert ("write 0 if it floats freely" in said) == (stiffness < 1.0)
    assert ("make it fixed" in said) == (stiffness > 1.0)
    least, most, soft, stiff = map(float, re.findall(r"(\d\.\de[+-]\d+)", said.split("it may be")[1])[:4])
    for k in (1.1 * least, soft, stiff, 0.9 * most):
        description = parse_robot_description(text(), added_springs=OTHERS | {name: (k, 0.0)})
        model = ArmModel(description, "tool0", (0.0, 0.0, 0.0))
        i, rest = model.elastic_joint_names.index(name), ArmState(0, *np.zeros((2, 7)), *np.zeros((2, 2)))
        alone = np.sqrt(k / model.blocks(rest).H_b[i, i]) / (2.0 * np.pi)
        assert SLOWEST <= alone <= FASTEST and np.isfinite(model.natural_frequencies(rest)).all()


def test_a_base_that_floats_freely_has_no_spring_and_kinematics_do_not_ask() -> None:
    assert parse_robot_description(text(), added_springs=OTHERS | {"slide": (0.0, 0.0)}).free == ("slide",)
    assert parse_robot_description(text(), massless=True, added_springs=OTHERS | {"tilt": (1e12, 0.0)}).elastic
