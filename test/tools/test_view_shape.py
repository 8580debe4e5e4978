"""What the browser view makes of links and signals: triangles, and curves short enough to be sent."""

from __future__ import annotations

import numpy as np
import pytest

from flexarm_core.robot.urdf_reader import parse_robot_description

pytest.importorskip("viser", reason="viser is not installed")

from flexarm_tools.report.solids import link_solids
from flexarm_tools.view.plots import BUCKETS, envelope


def test_a_link_shows_its_visuals_else_its_collision_shapes_else_rods_and_lost_meshes_are_named():
    said: list[str] = []
    solids = link_solids(parse_robot_description(TWO_LINKS), said.append)
    np.testing.assert_allclose(np.ptp(solids["upper"][0].vertices, axis=0), [0.4, 0.1, 0.1], atol=1e-12)  # turned box
    rod = solids["base"][0].vertices
    assert rod[:, 2].max() == pytest.approx(0.3)
    assert np.abs(rod[:, :2]).max() < 0.05
    assert solids["upper"][0].color == (0.6, 0.6, 0.65)
    assert len(said) == 1 and "link 'hand'" in said[0] and "no_such_package" in said[0]


def test_long_signals_keep_every_peak():
    time = np.arange(20000) / 1000.0
    values = np.zeros((20000, 2))
    values[12345, 0], values[777, 1] = 5.0, -3.0
    short, kept = envelope(time, values)
    assert len(short) == 2 * BUCKETS and np.all(np.diff(short) > 0.0)
    assert (kept.max(), kept.min()) == (5.0, -3.0)
    assert abs(short[np.argmax(kept[:, 0])] - 12.345) < 20.0 / BUCKETS


TWO_LINKS = """
<robot name="two">
  <link name="base"/>
  <joint name="joint" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 0.3"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="10" velocity="1"/>
  </joint>
  <link name="upper">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <collision><origin rpy="0 0 1.5707963267948966"/><geometry><box size="0.1 0.4 0.1"/></geometry></collision>
  </link>
  <joint name="wrist" type="revolute">
    <parent link="upper"/><child link="hand"/><origin xyz="0.4 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" effort="10" velocity="1"/>
  </joint>
  <link name="hand">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual><geometry><mesh filename="package://no_such_package/hand.stl"/></geometry></visual>
  </link>
</robot>
"""
