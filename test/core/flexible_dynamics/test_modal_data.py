"""Modal data files: what is written is read, what is wrong is said, and a beam's file is the beam."""

from __future__ import annotations

import re
from dataclasses import fields, replace

import numpy as np
import pinocchio
import pytest
from random_trees import random_modal_data

from flexarm_core.errors import RobotDescriptionError
from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.flexible_dynamics.modal_data import ModalData, find_problems, load_modal_data, save_modal_data
from flexarm_core.flexible_dynamics.model import FlexibleModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.uri import resolve_uri


@pytest.fixture
def data() -> ModalData:
    made = random_modal_data(np.random.default_rng(4))
    return replace(made, strain={"root": np.arange(len(made.modes), dtype=float)})


def assert_same(a: ModalData, b: ModalData) -> None:
    assert (a.modes, list(a.strain)) == (b.modes, list(b.strain))
    for item in fields(ModalData):
        if item.name not in ("modes", "strain"):
            assert np.array_equal(getattr(a, item.name), getattr(b, item.name)), item.name
    for name in a.strain:
        assert np.array_equal(a.strain[name], b.strain[name])


def test_what_is_saved_is_loaded(tmp_path, data):
    save_modal_data(tmp_path / "link.npz", data)
    assert_same(load_modal_data(tmp_path / "link.npz"), data)
    save_modal_data(tmp_path / "bare.npz", replace(data, strain={}))
    assert load_modal_data(tmp_path / "bare.npz").strain == {}


def test_damping_and_gauges_may_be_left_out(tmp_path, data):
    save_modal_data(tmp_path / "link.npz", data)
    with np.load(tmp_path / "link.npz") as archive:
        kept = {name: archive[name] for name in archive.files if name not in ("damping", "gauges", "strain")}
    np.savez(tmp_path / "less.npz", **kept)
    assert_same(load_modal_data(tmp_path / "less.npz"), replace(data, damping=np.zeros_like(data.damping), strain={}))


def test_matrices_in_single_precision_are_read_and_made_symmetric(tmp_path, data):
    """A program that turns inertias by single-precision rotations leaves them symmetric to 1e-7 only."""
    rng = np.random.default_rng(5)
    for trial in range(20):
        turn = pinocchio.Quaternion(rng.normal(size=4)).normalized().matrix().astype(np.float32)
        inertia = np.einsum("ab,nbc->nac", turn, data.inertia.astype(np.float32))
        inertia = np.einsum("nac,dc->nad", inertia, turn)
        single = replace(data, inertia=inertia, stiffness=skew(data.stiffness, 1e-7), damping=skew(data.damping, 1e-7))
        save_modal_data(tmp_path / f"{trial}.npz", single)
        read = load_modal_data(tmp_path / f"{trial}.npz")
        for name in ("inertia", "stiffness", "damping"):
            found, given = getattr(read, name), getattr(single, name)
            assert np.array_equal(found, np.swapaxes(found, -1, -2))
            assert np.abs(found - given).max() <= 1e-6 * np.abs(given).max()
    save_modal_data(tmp_path / "off.npz", replace(data, stiffness=skew(data.stiffness, 1e-5)))
    with pytest.raises(RobotDescriptionError, match="stiffness is not symmetric"):
        load_modal_data(tmp_path / "off.npz")


def break_clamp(data):
    moved = data.translation.copy()
    moved[0, 0, 0] = 1.0
    return replace(data, translation=moved)


def skew(matrix, by=1.0):
    return matrix + by * np.abs(matrix).max() * np.triu(np.ones_like(matrix), 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: replace(d, mass=d.mass[:-1]), r"position has shape \(5, 3\), expected \(4, 3\)"),
        (lambda d: replace(d, stiffness=d.stiffness[:1]), "stiffness has shape"),
        (lambda d: replace(d, strain={"root": np.zeros(9)}), "strain of gauge 'root' has shape"),
        (lambda d: replace(d, mass=d.mass * np.nan), "mass is not finite"),
        (lambda d: replace(d, strain={"root": np.full(len(d.modes), np.inf)}), "strain is not finite"),
        (lambda d: replace(d, modes=("same",) * len(d.modes)), "mode names are not unique"),
        (lambda d: replace(d, mass=d.mass * [1, 1, -1, 1, 1]), r"nodes \[2\] have negative mass"),
        (lambda d: replace(d, mass=0.0 * d.mass), "the nodes have no mass"),
        (lambda d: replace(d, stiffness=skew(d.stiffness)), "stiffness is not symmetric"),
        (lambda d: replace(d, damping=-d.damping), "damping is not positive semidefinite"),
        (lambda d: replace(d, inertia=-d.inertia), "inertia is not positive semidefinite"),
        (lambda d: replace(d, stiffness=0.0 * d.stiffness), "stiffness"),
        (lambda d: replace(d, position=d.position + 1.0), "origin"),
        (break_clamp, "clamped"),
        (lambda d: replace(d, translation=0.0 * d.translation, rotation=0.0 * d.rotation), "not independent"),
    ],
)
def test_bad_data_is_refused_with_the_problem(tmp_path, data, change, said):
    path = tmp_path / "link.npz"
    bad = change(data)
    np.savez(
        path,
        gauges=np.array(list(bad.strain)),
        strain=np.array(list(bad.strain.values())),
        **{item.name: np.array(getattr(bad, item.name)) for item in fields(ModalData) if item.name != "strain"},
    )
    with pytest.raises(RobotDescriptionError, match=re.compile(f"link.npz.*{said}", re.DOTALL)):
        load_modal_data(path)


def test_every_problem_is_said_at_once(data):
    problems = find_problems(replace(data, mass=-data.mass, stiffness=-data.stiffness))
    assert len(problems) >= 3


def test_files_that_cannot_be_read_are_refused(tmp_path, data):
    with pytest.raises(RobotDescriptionError, match="nowhere.npz' cannot be read"):
        load_modal_data(tmp_path / "nowhere.npz")
    (tmp_path / "text.npz").write_text("no archive", encoding="utf-8")
    with pytest.raises(RobotDescriptionError, match="text.npz' cannot be read"):
        load_modal_data(tmp_path / "text.npz")
    np.savez(tmp_path / "part.npz", modes=np.array(["a"]), mass=np.ones(2))
    with pytest.raises(RobotDescriptionError, match="lacks position, inertia.*it has modes, mass"):
        load_modal_data(tmp_path / "part.npz")
    save_modal_data(tmp_path / "link.npz", data)
    with np.load(tmp_path / "link.npz") as archive:
        arrays = dict(archive)
    np.savez(tmp_path / "words.npz", **(arrays | {"mass": np.array(["heavy"] * 5)}))
    with pytest.raises(RobotDescriptionError, match="words.npz.*heavy"):
        load_modal_data(tmp_path / "words.npz")
    np.savez(tmp_path / "rows.npz", **(arrays | {"gauges": np.array(["a", "b"])}))
    with pytest.raises(RobotDescriptionError, match="2 gauges and 1 rows of strain"):
        load_modal_data(tmp_path / "rows.npz")


def as_files(text: str, folder) -> str:
    """The same robot with every ``<beam>`` replaced by the file of its modes."""
    description = parse_robot_description(text)
    for name, data in load_flexible_links(description).items():
        save_modal_data(folder / f"{name}.npz", data)
        uri = (folder / f"{name}.npz").as_uri()
        text, count = re.subn(rf'(<flexible_link name="{name}">\s*)<beam[^>]*/>', rf'\1<modal_data uri="{uri}"/>', text)
        assert count == 1
    return text


def test_a_link_from_a_file_is_exactly_the_beam(tmp_path, flexible_3r_text):
    beams, files = FlexibleModel(flexible_3r_text), FlexibleModel(as_files(flexible_3r_text, tmp_path))
    assert files.mode_names == beams.mode_names
    assert np.array_equal(files.strain_map, beams.strain_map)
    rng = np.random.default_rng(5)
    x, v, effort = rng.standard_normal(beams.size), rng.standard_normal(beams.size), rng.standard_normal(5)
    assert np.array_equal(files.forward_dynamics(x, v, effort), beams.forward_dynamics(x, v, effort))


def test_a_gauge_that_the_file_does_not_have_is_named(tmp_path, flexible_3r_text):
    text = as_files(flexible_3r_text, tmp_path).replace('"forearm_root_z"', '"forearm_end"')
    with pytest.raises(RobotDescriptionError, match="has no strain of gauge 'forearm_end'.*forearm_root_y"):
        FlexibleModel(text)


def test_uris_of_packages_files_and_paths(tmp_path):
    assert resolve_uri("package://flexarm/urdf/flexible_2r.urdf.xacro").is_file()
    assert resolve_uri(f"file://{tmp_path}/a%20b.npz") == tmp_path / "a b.npz"
    assert resolve_uri(f"{tmp_path}/link.npz") == tmp_path / "link.npz"
    for uri, said in (
        ("package://no_such_package/x.npz", "package 'no_such_package' is not in the environment"),
        ("http://host/x.npz", "not a package:// or file:// URI"),
        ("link.npz", "or an absolute path"),
        ("package://flexarm/../../x.npz", "leads out of package 'flexarm'"),
        ("package://flexarm/urdf/%2e%2e/x.npz", "leads out of package 'flexarm'"),
        ("file://[", "is not a URI"),
    ):
        with pytest.raises(RobotDescriptionError, match=said):
            resolve_uri(uri)


@pytest.mark.parametrize(
    ("pattern", "replacement", "said"),
    [
        (r'<mass value="3.8"/>', '<mass value="0.5"/>', "'upper_arm': its <inertial> has 0.5 kg, its nodes have 0.8"),
        (
            r'(<mass value="3.8"/>\s*)<inertia [^>]*/>',
            r'\1<inertia ixx="0.006" ixy="0" ixz="0" iyy="0.006" iyz="0" izz="0.01"/>',
            "'upper_arm'.*less inertia about",
        ),
    ],
)
def test_an_inertial_with_less_than_the_nodes_is_refused(flexible_2r_text, pattern, replacement, said):
    text, count = re.subn(pattern, replacement, flexible_2r_text, count=1)
    assert count == 1
    with pytest.raises(RobotDescriptionError, match=said):
        FlexibleModel(text)
