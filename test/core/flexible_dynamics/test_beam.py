"""Beams against the closed forms of Euler-Bernoulli, Saint-Venant and a stretched rod."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.flexible_dynamics.beam import Load, beam_modes
from flexarm_core.flexible_dynamics.flexible_links import carried_loads
from flexarm_core.flexible_dynamics.modal_data import find_problems
from flexarm_core.robot.description import Beam, StrainGauge
from flexarm_core.robot.transforms import roll_pitch_yaw_to_rotation
from flexarm_core.robot.urdf_reader import parse_robot_description

BEAM = Beam(
    length=1.3,
    EIy=80.0,
    EIz=50.0,
    GJ=30.0,
    EA=2e5,
    rho_A=0.7,
    rho_Ip=2e-4,
    modes_y=3,
    modes_z=3,
    modes_torsion=3,
    modes_axial=2,
    damping_ratio=0.02,
    elements=40,
    tip_mass=None,
    transform_beam_to_link=np.eye(4),
)
CLAMPED_FREE = np.array([1.87510, 4.69409, 7.85476])


def frequencies(data, kind):
    return np.sqrt([data.stiffness[i, i] for i, name in enumerate(data.modes) if name.startswith(kind)])


@pytest.mark.parametrize(("kind", "stiffness"), [("bending_y", BEAM.EIz), ("bending_z", BEAM.EIy)])
def test_clamped_free_bending_frequencies(kind, stiffness):
    expected = CLAMPED_FREE**2 * np.sqrt(stiffness / (BEAM.rho_A * BEAM.length**4))
    assert frequencies(beam_modes(BEAM), kind) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(
    ("kind", "wave_speed", "count"),
    [("torsion", np.sqrt(BEAM.GJ / BEAM.rho_Ip), 3), ("axial", np.sqrt(BEAM.EA / BEAM.rho_A), 2)],
)
def test_torsion_and_axial_frequencies(kind, wave_speed, count):
    expected = (np.arange(count) + 0.5) * np.pi * wave_speed / BEAM.length
    assert frequencies(beam_modes(BEAM), kind) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("part", [0.1, 1.0, 10.0])
def test_a_tip_mass_lowers_bending_as_the_transcendental_equation_says(part):
    def characteristic(b):
        return 1 + np.cos(b) * np.cosh(b) + part * b * (np.cos(b) * np.sinh(b) - np.sin(b) * np.cosh(b))

    roots = [brentq(characteristic, low, high) for low, high in ((0.3, 1.9), (3.5, 4.7), (6.8, 7.86))]
    expected = np.square(roots) * np.sqrt(BEAM.EIz / (BEAM.rho_A * BEAM.length**4))
    mass = part * BEAM.rho_A * BEAM.length
    loaded = beam_modes(BEAM, [Load(mass)])
    assert frequencies(loaded, "bending_y") == pytest.approx(expected, rel=2e-3)
    given = beam_modes(replace(BEAM, tip_mass=mass), [Load(99.0, 1.0, (9.0, 9.0, 9.0))])
    assert np.array_equal(given.stiffness, loaded.stiffness)


def test_loads_along_a_massless_beam_move_as_influence_coefficients_say():
    """Two masses at ``a < b``: the flexibility of a cantilever is ``a^2 (3 b - a) / 6 EI``."""
    light = replace(BEAM, rho_A=1e-4, rho_Ip=1e-9, modes_z=0, modes_torsion=1, modes_axial=1, modes_y=2)
    for near, far, mass, inertia in ((10, 40, (5.0, 0.2), (0.3, 0.1)), (20, 30, (1.0, 2.0), (0.0, 0.4))):
        a, b = near * BEAM.length / 40, far * BEAM.length / 40
        F = np.array([[2.0 * a**3, a**2 * (3.0 * b - a)], [a**2 * (3.0 * b - a), 2.0 * b**3]]) / (6.0 * BEAM.EIz)
        loads = [Load(m, 0.0, (i, 0.0, 0.0), place) for m, i, place in zip(mass, inertia, (a, b), strict=True)]
        data = beam_modes(light, [*loads, Load(99.0, place=0.0)])  # what hangs at the hinge does not move
        expected = 1.0 / np.sqrt(np.linalg.eigvals(F @ np.diag(mass)).real)
        assert frequencies(data, "bending") == pytest.approx(np.sort(expected), rel=1e-3)
        for kind, stiffness, carried in (("torsion", BEAM.GJ, inertia), ("axial", BEAM.EA, mass)):
            rod = np.array([[a, a], [a, b]]) / stiffness
            slowest = 1.0 / np.sqrt(np.linalg.eigvals(rod @ np.diag(carried)).real.max())
            assert frequencies(data, kind) == pytest.approx([slowest], rel=1e-3)


def test_what_is_bolted_to_a_beam_is_carried_where_it_is():
    """A motor near the hinge and one at the tip, each with an arm of its own along the beam."""
    inertia = '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.03"/>'
    text = f"""<robot name="b"><link name="w"/><link name="bar"><inertial><origin xyz="0 0 0.65" rpy="0 -1.5708 0"/>
      <mass value="1"/><inertia ixx="1e-3" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
      <joint name="k" type="revolute"><parent link="w"/><child link="bar"/><axis xyz="0 1 0"/>
        <limit lower="-3" upper="3" velocity="2" effort="100"/></joint>
      <link name="motor"><inertial><origin xyz="0 0 0.1"/><mass value="5"/>{inertia}</inertial></link>
      <joint name="m" type="fixed"><parent link="bar"/><child link="motor"/><origin xyz="0 0 0.13"/></joint>
      <link name="tool0"><inertial><mass value="0.2"/>{inertia}</inertial></link>
      <joint name="t" type="fixed"><parent link="bar"/><child link="tool0"/><origin xyz="0 0 1.3"/></joint>
      <flexibility><flexible_link name="bar"><beam length="1.3" EIz="50" rho_A="0.7" modes_y="2">
        <origin rpy="0 {-0.5 * np.pi} 0"/></beam></flexible_link></flexibility></robot>"""
    description = parse_robot_description(text)
    beam = description.flexible_links["bar"].beam
    motor, tool = sorted(carried_loads(description, "bar", beam), key=lambda load: load.place)
    assert (motor.mass, tool.mass) == (5.0, 0.2)
    assert (motor.place, motor.offset) == (pytest.approx(0.13), pytest.approx(0.1))
    assert motor.inertia == pytest.approx((0.03, 0.02 + 0.05, 0.01 + 0.05))  # the beam's x is the link's z
    assert (tool.place, tool.offset, tool.inertia) == (pytest.approx(1.3), 0.0, pytest.approx((0.03, 0.02, 0.01)))


def test_a_heavy_tip_inertia_bends_by_its_rotation():
    """A massless beam with a disc at its end: ``omega^2`` are the eigenvalues of ``M^-1 K`` of two coordinates."""
    L, EI, mass, J = BEAM.length, BEAM.EIz, 50.0, 20.0
    K = EI / L**3 * np.array([[12.0, -6.0 * L], [-6.0 * L, 4.0 * L**2]])
    expected = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(np.diag([mass, J]), K)).real))
    light = replace(BEAM, rho_A=1e-4, modes_z=0, modes_torsion=0, modes_axial=0, modes_y=2)
    assert frequencies(beam_modes(light, [Load(mass, 0.0, (0.0, 0.0, J))]), "bending") == pytest.approx(
        expected, rel=1e-4
    )


def test_modes_are_mass_normalized_and_damped_as_said():
    data = beam_modes(BEAM)
    assert data.modal_mass == pytest.approx(np.eye(11), abs=1e-9)
    assert find_problems(data) == []
    assert np.diag(data.damping) == pytest.approx(2.0 * 0.02 * np.sqrt(np.diag(data.stiffness)))
    loaded, mass = beam_modes(BEAM, [Load(2.0)]), 2.0
    tip = loaded.translation[-1, :, :6]
    assert loaded.modal_mass[:6, :6] + mass * tip.T @ tip == pytest.approx(np.eye(6), abs=1e-9)


def test_a_tip_force_bends_strains_and_turns_as_a_cantilever():
    places = {"top": (0.4, 0.02, 0.0), "side": (0.4, 0.0, 0.02)}
    gauges = [StrainGauge(name, "link", np.array(place)) for name, place in places.items()]
    data = beam_modes(replace(BEAM, modes_y=12, modes_z=12, modes_axial=0, modes_torsion=0), (), gauges)
    L, force = BEAM.length, np.array([0.0, 3.0, 5.0])
    eta = np.linalg.solve(data.stiffness, data.translation[-1].T @ force)
    expected = force[1:] * L**3 / (3.0 * np.array([BEAM.EIz, BEAM.EIy]))
    assert (data.translation[-1] @ eta)[1:] == pytest.approx(expected, rel=1e-3)
    turn = force[1:] * L**2 / (2.0 * np.array([BEAM.EIz, BEAM.EIy]))
    assert data.rotation[-1] @ eta == pytest.approx([0.0, -turn[1], turn[0]], rel=1e-2)
    curvature = force[1:] * (L - 0.4) / np.array([BEAM.EIz, BEAM.EIy])
    assert data.strain["top"] @ eta == pytest.approx(-0.02 * curvature[0], rel=0.02)
    assert data.strain["side"] @ eta == pytest.approx(-0.02 * curvature[1], rel=0.02)


def test_a_turned_beam_has_its_modes_turned():
    turn = np.eye(4)
    turn[:3, :3] = roll_pitch_yaw_to_rotation(0.3, -0.8, 1.2)
    straight = beam_modes(BEAM, [Load(1.0)])
    turned = beam_modes(replace(BEAM, transform_beam_to_link=turn), [Load(1.0)])
    assert np.array_equal(turned.stiffness, straight.stiffness)
    assert turned.position == pytest.approx(straight.position @ turn[:3, :3].T)
    assert turned.translation == pytest.approx(turn[:3, :3] @ straight.translation)
    assert turned.rotation == pytest.approx(turn[:3, :3] @ straight.rotation)
    assert turned.inertia == pytest.approx(turn[:3, :3] @ straight.inertia @ turn[:3, :3].T)


def test_a_beam_that_begins_elsewhere_than_at_the_hinge_is_refused():
    moved = np.eye(4)
    moved[0, 3] = 0.1
    with pytest.raises(RobotDescriptionError, match="begins at its link's origin"):
        beam_modes(replace(BEAM, transform_beam_to_link=moved))
