"""What `flexarm check` says of flexible robots and of modal data files."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from flexarm_core.flexible_dynamics.beam import TipLoad, beam_modes
from flexarm_core.flexible_dynamics.modal_data import ModalData, save_modal_data
from flexarm_core.robot.description import Beam
from flexarm_tools.check import check_modal_data, check_robot, natural_frequencies

URDF = Path(__file__).resolve().parents[2] / "urdf"
BEAM = Beam(
    length=2.0, EIy=0.0, EIz=100.0, GJ=0.0, EA=0.0, rho_A=0.5, rho_Ip=0.0, modes_y=2, modes_z=0, modes_torsion=0,
    modes_axial=0, damping_ratio=0.01, elements=40, tip_mass=None, transform_beam_to_link=np.eye(4),
)  # fmt: skip
# clamped and free: (beta L)^2 sqrt(EI / rho A L^4), beta L = 1.8751 and 4.6941 (Blevins)
FREE = np.array([1.87510407, 4.69409113]) ** 2 * np.sqrt(100.0 / (0.5 * 2.0**4)) / (2.0 * np.pi)


@pytest.fixture
def free() -> ModalData:
    """A beam with nothing at its tip."""
    return beam_modes(BEAM, TipLoad())


def saved(path: Path, data: ModalData) -> Path:
    save_modal_data(path / "modes.npz", data)
    return path / "modes.npz"


def test_a_modal_data_file_is_described_with_its_frequencies(tmp_path, free):
    text, usable = check_modal_data(saved(tmp_path, free))
    assert usable
    assert "nodes        41, the farthest 2 m" in text and "total mass   1 kg" in text
    found = [float(number) for number in re.findall(r"bending_y_\d +([\d.]+) Hz", text)]
    assert np.allclose(found, FREE, rtol=2e-3)


def test_modes_that_are_not_normalised_have_the_same_frequencies(tmp_path, free):
    turn = np.array([[3.0, 1.0], [-0.5, 2.0]])  # any other basis of the same shapes
    other = replace(
        free,
        translation=free.translation @ turn,
        rotation=free.rotation @ turn,
        stiffness=turn.T @ free.stiffness @ turn,
        damping=turn.T @ free.damping @ turn,
    )
    found, paired = natural_frequencies(other)
    assert not paired and np.allclose(found, natural_frequencies(free)[0], rtol=1e-9)
    text, usable = check_modal_data(saved(tmp_path, other))
    assert usable and "not mass-normalised" in text and f"{found[0]:.4g}, {found[1]:.4g} Hz" in text


def test_a_file_of_a_beam_with_a_load_gives_the_frequencies_of_the_beam_alone():
    loaded = beam_modes(BEAM, TipLoad(5.0))
    assert np.sqrt(loaded.stiffness[0, 0]) / (2.0 * np.pi) < 0.5 * FREE[0]
    found, paired = natural_frequencies(loaded)
    assert not paired and found[0] == pytest.approx(FREE[0], rel=0.02)  # its shapes are nearly those without a load


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"stiffness": np.zeros((2, 2))}, "leave out rigid-body modes"),
        ({"mass": np.zeros(41)}, "the nodes have no mass"),
        ({"damping": np.zeros((3, 3))}, "damping has shape"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, free, change, said):
    text, usable = check_modal_data(saved(tmp_path, replace(free, **change)))
    assert not usable and "cannot be used" in text and said in text


def test_a_file_that_is_none_is_refused_and_one_without_damping_is_warned_of(tmp_path, free):
    (tmp_path / "no.npz").write_bytes(b"nothing")
    for name in ("no.npz", "missing.npz"):
        text, usable = check_modal_data(tmp_path / name)
        assert not usable and "cannot be read" in text
    assert "have no damping" in check_modal_data(saved(tmp_path, replace(free, damping=np.zeros((2, 2)))))[0]


def test_a_flexible_robot_is_described_with_its_modes_gauges_and_imus():
    text, usable = check_robot(URDF / "flexible_2r.urdf.xacro")
    assert usable
    for expected in ("upper_arm", "bending_y_2", "forearm_root on forearm", "tool_imu at tool0"):
        assert expected in text
    # how MuJoCo's chain of segments must be set is said, and does not make the robot wrong
    assert "simulated_plant (mujoco): can run" in text and "cannot run" not in text
    # softer by four: half the frequencies
    softer, _ = check_robot(URDF / "flexible_2r.urdf.xacro", "", {"stiffness_scale": "0.25"})
    numbers = [np.array(re.findall(r"bending_y_\d ([\d.]+) Hz", page), dtype=float) for page in (text, softer)]
    assert len(numbers[0]) == 6 and np.allclose(numbers[1], numbers[0] / 2.0, rtol=2e-3)


def test_a_rigid_robot_says_nothing_of_modes():
    text, usable = check_robot(URDF / "planar_3r.urdf.xacro")
    assert usable and "flexible" not in text and "strain" not in text


def test_a_modal_data_file_that_a_robot_names_and_that_is_not_there_is_an_error(tmp_path):
    text = (URDF / "flexible_2r.urdf.xacro").read_text()
    begin = text.index("<beam length", text.index('<flexible_link name="forearm">'))
    text = text[:begin] + '<modal_data uri="/nowhere/forearm.npz"/>' + text[text.index("/>", begin) + 2 :]
    for name in ("flexible_beam.xacro", "ros2_control.xacro"):
        (tmp_path / name).write_text((URDF / name).read_text())
    (tmp_path / "arm.urdf.xacro").write_text(text)
    said, usable = check_robot(tmp_path / "arm.urdf.xacro")
    assert not usable and "forearm.npz" in said


def test_rotor_inertia_is_said_of_the_joints_that_have_one():
    heavy, usable = check_robot(URDF / "arm_7r.urdf.xacro", "", {"armature": "true"})
    assert usable and heavy.count("armature") == 7
    (elbow,) = (line for line in heavy.splitlines() if line.strip().startswith("elbow "))
    assert elbow.endswith("armature 1 kg*m^2")
    assert "armature" not in check_robot(URDF / "arm_7r.urdf.xacro")[0]
