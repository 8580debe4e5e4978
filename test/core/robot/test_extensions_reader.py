"""The ``<flexible_link>`` tag and IMUs: what they say, and what is said when they are wrong."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.robot.extensions_reader import sensors_without_frame
from flexarm_core.robot.urdf_reader import parse_robot_description

INNER = '<beam length="1" EIy="20" EIz="10" GJ="5" EA="1e4" rho_A="0.5" rho_Ip="1e-4" modes_y="2"/>'


def robot(beam: str = INNER, gauge: str = "", link: str = "inner", more: str = "") -> str:
    inertial = (
        '<inertial><origin xyz="0.5 0 0"/><mass value="1"/>'
        '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.2"/></inertial>'
    )
    return f"""<robot name="bend"><link name="world"/>
      <joint name="turn" type="continuous"><parent link="world"/><child link="inner"/><axis xyz="0 0 1"/></joint>
      <link name="inner">{inertial}</link>
      <joint name="tip" type="fixed"><parent link="inner"/><child link="hand"/><origin xyz="1 0 0"/></joint>
      <link name="hand"/>
      <flexibility><flexible_link name="{link}">{beam}{gauge}</flexible_link>{more}</flexibility>
      <ros2_control name="bend" type="system"><joint name="turn"><command_interface name="effort"/></joint>
        <sensor name="hand_imu"><state_interface name="angular_velocity.x"/><param name="frame_id">hand</param></sensor>
      </ros2_control></robot>"""


def test_a_beam_and_its_gauges_are_read():
    description = parse_robot_description(robot(gauge='<strain_gauge name="root" x="0.1" y="0.02"/>'))
    beam = description.flexible_links["inner"].beam
    assert beam is not None
    assert (beam.length, beam.EIy, beam.EIz, beam.GJ, beam.EA) == (1.0, 20.0, 10.0, 5.0, 1e4)
    assert (beam.rho_A, beam.rho_Ip, beam.modes_y, beam.modes_z) == (0.5, 1e-4, 2, 0)
    assert (beam.elements, beam.damping_ratio, beam.tip_mass) == (40, 0.0, None)
    gauge = description.strain_gauges["root"]
    assert (gauge.link, gauge.position.tolist()) == ("inner", [0.1, 0.02, 0.0])
    assert description.imus["hand_imu"].frame == "hand"


def test_a_modal_data_file_is_named_and_read_later():
    link = parse_robot_description(robot('<modal_data uri="package://nowhere/inner.npz"/>')).flexible_links["inner"]
    assert (link.beam, link.modal_data) == (None, "package://nowhere/inner.npz")


def changed(pattern: str, replacement: str) -> str:
    text, count = re.subn(pattern, replacement, INNER)
    assert count == 1
    return text


@pytest.mark.parametrize(
    ("pattern", "replacement", "said"),
    [
        ("EIz", "EIx", "no attribute 'EIx'; did you mean 'EIz'. it has: length, EIy"),
        ('length="1"', "", "<beam>: length is 'None', expected a number"),
        ('length="1"', 'length="0"', "length must be > 0"),
        ('length="1"', 'length="long"', "length is 'long'"),
        ('rho_A="0.5"', 'rho_A="-0.5"', "rho_A must be > 0"),
        ('rho_A="0.5"', 'rho_A="nan"', "rho_A is 'nan'"),
        ('rho_Ip="1e-4"', 'rho_Ip="-1"', "rho_Ip must be >= 0"),
        ('modes_y="2"', 'modes_y="2.5"', "modes_y is '2.5', expected a whole number"),
        ('modes_y="2"', 'modes_y="-1"', "modes_y is '-1', expected a whole number"),
        ('modes_y="2"', 'modes_y="0"', "needs a mode"),
        ('modes_y="2"', 'modes_y="21"', "at most elements / 2 modes"),
        ('modes_y="2"', 'modes_y="2" elements="3"', "elements must be >= 4"),
        ('modes_y="2"', 'modes_y="2" damping_ratio="1"', "damping_ratio must lie in"),
        ('modes_y="2"', 'modes_y="2" tip_mass="-1"', "tip_mass must be >= 0"),
        ('EIz="10"', "", "modes_y needs EIz > 0"),
        ('EIy="20"', 'modes_z="1"', "modes_z needs EIy > 0"),
        ('GJ="5"', 'modes_torsion="1"', "modes_torsion needs GJ > 0"),
        ('EA="1e4"', 'modes_axial="1"', "modes_axial needs EA > 0"),
        ("/>", '><origin xyz="0 0"/></beam>', "xyz is '0 0', expected three numbers"),
        ("/>", '><origin rpy="0 0 up"/></beam>', "rpy is '0 0 up', expected three numbers"),
    ],
)
def test_bad_beams_are_refused(pattern, replacement, said):
    with pytest.raises(RobotDescriptionError, match=said):
        parse_robot_description(robot(changed(pattern, replacement)))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"link": "elbow"}, "flexible link 'elbow' is not a link that moves; links: inner, hand"),
        ({"link": "world"}, "flexible link 'world' is not a link that moves"),
        ({"beam": ""}, "'inner' needs exactly one of <beam> and <modal_data>"),
        ({"beam": INNER + '<modal_data uri="file:///x.npz"/>'}, "'inner' needs exactly one of"),
        ({"beam": INNER + '<origin rpy="0 0 1"/>'}, "'inner'> has no part 'origin'; it has: beam, modal_data"),
        ({"beam": "<modal_data/>"}, "'inner': <modal_data> needs a uri"),
        ({"more": f'<flexible_link name="inner">{INNER}</flexible_link>'}, "'inner' is described twice"),
        ({"gauge": '<strain_gauge x="0.1"/>'}, "strain gauge '' needs a name of its own"),
        ({"gauge": 2 * '<strain_gauge name="a" x="0"/>'}, "strain gauge 'a' needs a name of its own"),
        ({"gauge": '<strain_gauge name="a" x="1.2"/>'}, "strain gauge 'a': x = 1.2 m is not on the beam"),
        ({"gauge": '<strain_gauge name="a" x="-0.1"/>'}, "strain gauge 'a': x = -0.1 m is not on the beam"),
        ({"gauge": '<strain_gauge name="a" x="here"/>'}, "x is 'here', expected a number"),
    ],
)
def test_bad_flexible_links_are_refused(options, said):
    with pytest.raises(RobotDescriptionError, match=said):
        parse_robot_description(robot(**options))


def test_an_imu_in_no_link_is_refused():
    with pytest.raises(RobotDescriptionError, match="sensor 'hand_imu'.*'head' is not a link"):
        parse_robot_description(robot().replace(">hand</param>", ">head</param>"))


def test_a_sensor_that_does_not_say_where_it_is_is_left_out():
    """Drivers have such sensors, as ur_robot_driver its tcp_fts_sensor: the robot is usable without."""
    text = robot().replace('<param name="frame_id">hand</param>', "")
    assert parse_robot_description(text).imus == {}
    assert sensors_without_frame(ElementTree.fromstring(text)) == ["hand_imu"]
    assert sensors_without_frame(ElementTree.fromstring(robot())) == []
