"""Static equilibrium of an elastic base: it rests there, nothing stabler is skipped, and what buckles is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from robots import URDF

from flexarm_core.errors import InputError, RobotDescriptionError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.load import load_robot_description
from flexarm_core.robot.static_equilibrium import static_equilibrium
from flexarm_core.types import ArmState, Array

LIMIT = '<limit lower="-9" upper="9" effort="9" velocity="9"/>'
INERTIA = '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>'


def boom(stiffness_scale: float = 1.0) -> ArmModel:
    return ArmModel(
        load_robot_description(URDF / "boom_7r.urdf.xacro", {"stiffness_scale": str(stiffness_scale)}), "tool0"
    )


def mast(stiffness: float, lean: float) -> ArmModel:
    """2 kg at 1.5 m on a torsional spring about y, inclined by ``lean`` from the vertical; the arm is a turntable."""
    return ArmModel(
        f"""
<robot name="mast">
  <link name="ground"/>
  <joint name="foot" type="revolute">
    <parent link="ground"/><child link="mast"/><origin rpy="0 {lean} 0"/><axis xyz="0 1 0"/>{LIMIT}
  </joint>
  <link name="mast"><inertial><mass value="1"/>{INERTIA}</inertial></link>
  <joint name="turn" type="revolute">
    <parent link="mast"/><child link="tool0"/><origin xyz="0 0 1.5"/><axis xyz="0 0 1"/>{LIMIT}
  </joint>
  <link name="tool0"><inertial><mass value="2"/>{INERTIA}</inertial></link>
  <flexibility><elastic_joint name="foot" stiffness="{stiffness}" damping="0.1"/></flexibility>
</robot>"""
    )


def energy_gradient(model: ArmModel, position: Array, x: Array) -> Array:
    """What is left of springs and weight at a deflection."""
    none = np.zeros(model.n)
    return model.K_b @ x + model.weight(ArmState(0, position, none, x, np.zeros(model.m)))


@pytest.mark.parametrize("seed", range(5))
def test_springs_and_weight_balance_in_any_posture(seed: int) -> None:
    draw = np.random.default_rng(seed)
    model = boom(float(draw.uniform(0.1, 3.0)))
    position = draw.uniform(-2.0, 2.0, model.n)
    x = static_equilibrium(model, position)
    load = model.K_b @ x
    assert np.abs(load).max() > 100.0  # it does carry the arm
    assert np.allclose(energy_gradient(model, position, x), 0.0, atol=1e-7 * np.abs(load).max())


def test_without_weight_nothing_gives_way() -> None:
    model = ArmModel(load_robot_description(URDF / "boom_7r.urdf.xacro"), "tool0", (0.0, 0.0, 0.0))
    assert not static_equilibrium(model, np.ones(7)).any()


def test_an_arm_on_a_rigid_base_has_no_deflection() -> None:
    model = ArmModel(load_robot_description(URDF / "arm_7r.urdf.xacro"), "tool0")
    assert static_equilibrium(model, np.zeros(7)).shape == (0,)


def test_a_leaning_mast_rests_where_the_closed_form_says() -> None:
    """``K x = m g l sin(lean + x)``."""
    x = static_equilibrium(mast(60.0, 0.2), np.zeros(1))[0]
    assert 60.0 * x == pytest.approx(2.0 * 9.81 * 1.5 * math.sin(0.2 + x), rel=1e-9)


@pytest.mark.parametrize("lean", [0.0, 1e-9])
def test_a_mast_that_buckles_is_refused_with_the_share_of_the_weight_that_it_bears(lean: float) -> None:
    """It gives way where ``m g l s = K``: upright it stands balanced for ever, and still falls at the least touch."""
    share = 100.0 * 20.0 / (2.0 * 9.81 * 1.5)
    with pytest.raises(RobotDescriptionError, match="no static equilibrium: the springs give way") as refused:
        static_equilibrium(mast(20.0, lean), np.zeros(1))
    assert float(str(refused.value).split("under ")[1].split(" %")[0]) == pytest.approx(share, abs=0.1)
    assert "'foot'" in str(refused.value)


def test_a_position_that_is_none_is_refused() -> None:
    for position in (np.zeros(3), np.full(7, np.nan)):
        with pytest.raises(InputError, match="expected 7 finite numbers"):
            static_equilibrium(boom(), position)
