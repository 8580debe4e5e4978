"""Modal data from the matrices of CalculiX, Abaqus and Nastran, against CalculiX and Exudyn on the same files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nastran_files import BinaryFile, half_of, write_punch
from scipy import linalg, sparse

from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.finite_elements.files import read_finite_elements
from flexarm_core.flexible_dynamics.finite_elements.reduction import FiniteElements, reduced_body
from flexarm_core.flexible_dynamics.modal_data import ModalData, load_modal_data, save_modal_data

BAR = Path(__file__).with_name("calculix_bar") / "bar.inp"
ALONE = np.array([327.4623, 362.0721, 1325.073, 2177.980])  # [Hz] `*FREQUENCY` of CalculiX 2.20 with ROOT clamped
DEFLECTION = 1.022732e-5  # [m] `*STATIC`: 10 N at TIP along z


@pytest.fixture(name="bar", scope="module")
def read_bar() -> FiniteElements:
    return read_finite_elements(BAR, units="mm")


def frequencies(data: ModalData) -> np.ndarray:
    return np.sqrt(np.diag(data.stiffness)) / (2.0 * np.pi)


def test_the_modes_of_the_clamped_body_are_those_of_calculix(bar):
    data = reduced_body(bar, "ROOT", modes=4)
    assert np.allclose(frequencies(data), ALONE, rtol=1e-5)
    assert np.allclose(frequencies(reduced_body(bar, "ROOT", ["TIP"], 4, "free")), ALONE, rtol=5e-3)


def of_exudyn(bar: FiniteElements, modes: int) -> np.ndarray:
    """Frequencies of Exudyn's own reduced body, clamped at its root, with a rigid flange at its tip [Hz]."""
    fem_module = pytest.importorskip("exudyn.FEM")
    order = np.lexsort((bar.freedom[:, 1], bar.freedom[:, 0]))
    K, M = (sparse.csr_matrix(matrix[order][:, order]) for matrix in (bar.stiffness, bar.mass))
    fem = fem_module.FEMinterface()
    fem.nodes, fem.massMatrix, fem.stiffnessMatrix = {"Position": bar.position}, M, K
    fem.ComputeHurtyCraigBamptonModes(
        boundaryNodesList=[bar.members(name).tolist() for name in ("ROOT", "TIP")],
        nEigenModes=modes,
        useSparseSolver=False,
        computationMode=fem_module.HCBstaticModeSelection.RBE2,
    )
    P = fem.modeBasis["matrix"]
    return np.sqrt(linalg.eigh(P.T @ K @ P, P.T @ M @ P, eigvals_only=True)) / (2.0 * np.pi)


def test_fixed_and_free_interfaces_give_the_frequencies_of_exudyn(bar):
    assert np.allclose(frequencies(reduced_body(bar, "ROOT", ["TIP"], 4)), of_exudyn(bar, 4), rtol=1e-8)
    inside = 3 * len(set(range(len(bar.nodes))) - {*bar.members("ROOT").tolist(), *bar.members("TIP").tolist()})
    every = of_exudyn(bar, inside)  # with all modes between the flanges its body is the whole one, whose flange is free
    free = frequencies(reduced_body(bar, "ROOT", ["TIP"], 6, "free"))
    assert np.allclose(free[:6], every[:6], rtol=1e-8)
    assert free[5] < of_exudyn(bar, 4)[5] * (1.0 - 1e-4)  # which few modes with fixed flanges do not reach


def test_a_static_load_at_an_interface_deflects_it_as_in_calculix(bar):
    data = reduced_body(bar, "ROOT", ["TIP"], 4)
    assert np.allclose(data.position[1], [0.4, 0.0, 0.0])
    force = 10.0 * data.translation[1, 2]
    assert force @ np.linalg.solve(data.stiffness, force) / 10.0 == pytest.approx(DEFLECTION, rel=0.005)


def test_the_particles_have_the_inertia_of_the_mesh(bar):
    data = reduced_body(bar, "ROOT", ["TIP"], 4)
    assert len(data.mass) <= 2 + 4 + 3 * 10 and np.allclose(data.modal_mass, np.eye(10), atol=1e-9)
    nodes = len(bar.nodes)
    scalar, node = np.zeros((nodes, nodes)), bar.freedom[:, 0]
    along = bar.freedom[:, 1] == 0
    scalar[np.ix_(node[along], node[along])] = bar.mass.toarray()[np.ix_(along, along)]
    r = bar.position
    assert data.mass.sum() == pytest.approx(scalar.sum(), rel=1e-10) == pytest.approx(0.4 * 0.03 * 0.01 * 7850.0)
    assert np.allclose(data.mass @ data.position, scalar.sum(axis=0) @ r)
    assert np.allclose((data.mass * data.position.T) @ data.position, r.T @ scalar @ r)
    assert data.mass.min() >= 0.0 and np.abs(data.position).max() < 2.0


def test_origin_and_axes_of_the_link_may_be_others(bar):
    R = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    data = reduced_body(bar, "ROOT", ["TIP"], 2, origin=np.array([-0.1, 0.0, 0.0]), rotation=R, damping_ratio=0.01)
    assert np.allclose(data.position[1], [0.0, -0.5, 0.0])
    assert np.allclose(np.diag(data.damping), 0.02 * np.sqrt(np.diag(data.stiffness)))
    assert len(reduced_body(bar, "ROOT", ["TIP"], 2, highest=1000.0).modes) == 2


def test_the_file_is_read_again(bar, tmp_path):
    data = reduced_body(bar, "ROOT", ["TIP"], 4)
    save_modal_data(tmp_path / "bar.npz", data)
    assert (tmp_path / "bar.npz").stat().st_size < 50_000
    assert np.allclose(load_modal_data(tmp_path / "bar.npz").translation, data.translation)


def test_matrices_of_abaqus_are_read(bar, tmp_path):
    (tmp_path / "bar.inp").write_text(BAR.read_text())
    for what, matrix in (("STIF", bar.stiffness), ("MASS", bar.mass)):
        lines = ["** MATRIX\n"] + [
            f"{a}, {i}, {b}, {j}, {x:.17e}\n".replace("e", "D") for a, i, b, j, x in half_of(matrix, bar)
        ]
        (tmp_path / f"bar_{what}1.mtx").write_text("".join(lines))
    data = reduced_body(read_finite_elements(tmp_path / "bar.inp", units="mm"), "ROOT", modes=4)
    assert np.allclose(frequencies(data), ALONE, rtol=1e-5)


def test_a_punch_file_of_nastran_is_read(bar, tmp_path):
    write_punch(bar, tmp_path)
    model = read_finite_elements(tmp_path / "bar.bdf", units="mm")
    root = ",".join(str(n) for n in bar.sets["ROOT"])
    assert np.allclose(frequencies(reduced_body(model, root, modes=4)), ALONE, rtol=1e-5)


def test_a_binary_file_named_as_a_punch_file_is_no_empty_one(bar, tmp_path):
    """What DMIGOP2 writes, in units that a deck assigns to a .pch."""
    write_punch(bar, tmp_path)
    (tmp_path / "bar.pch").write_bytes(BinaryFile().external([(1, 0.0, 0.0, 0.0)]).data)
    with pytest.raises(
        InputError, match="bar.pch' is binary, and a punch file is text: DMIGPCH writes that; what DMIG"
    ):
        read_finite_elements(tmp_path / "bar.bdf", units="mm")


def test_what_is_wrong_is_said(bar, tmp_path):
    for how, said in (
        ({"inboard": "HINGE"}, "there is no node set 'HINGE'; there are: ALL, ROOT, TIP"),
        ({"inboard": "1,99"}, "there is no node 99"),
        ({"inboard": "1"}, "not held by its inboard interface"),
        ({"inboard": "ROOT", "outboard": ["1"]}, "belongs to two interfaces"),
        ({"inboard": "ROOT", "modes": 1000}, "1000 modes were asked for"),
        ({"inboard": "ROOT", "interface": "loose"}, "'loose' is unknown; valid: fixed, free"),
        ({"inboard": "ROOT", "highest": 10.0}, "the lowest is at 327.5 Hz"),
    ):
        with pytest.raises(InputError, match=said):
            reduced_body(bar, **how)
    coupled = bar.mass.tolil()
    coupled[0, 1] = coupled[1, 0] = 0.1
    uneven = bar.mass.tolil()
    uneven[0, 0] *= 2.0
    for mass, said in ((coupled, "couples different directions"), (uneven, "not the same in all directions")):
        changed = FiniteElements(bar.nodes, bar.position, bar.freedom, mass.tocsr(), bar.stiffness, bar.sets)
        with pytest.raises(InputError, match=said):
            reduced_body(changed, "ROOT")
    for name, text, said in (
        ("bar.stl", "", "neither .inp"),
        ("bar.inp", "*NODE\n1, 0, 0\n", "no matrices beside"),
        ("none.inp", None, "cannot be read"),
        ("bad.inp", "*NODE\n1, a, 0\n", "line 2: '1, a, 0' is no \\*NODE"),
        ("more.inp", "*INCLUDE, INPUT=x\n", "is not followed"),
        ("round.inp", "*NODE, SYSTEM=C\n1, 1, 90, 0\n", "SYSTEM=C is not followed"),
        ("turned.inp", "*NODE\n1, 1, 0, 0\n*TRANSFORM, NSET=A\n", "TRANSFORM, NSET=A is not followed"),
        ("parts.inp", "*NODE\n1, 1, 0, 0\n*NODE\n1, 2, 0, 0\n", "line 4: node 1 is also elsewhere"),
        ("moved.inp", "*NODE\n1, 1, 0\n*INSTANCE, NAME=A, PART=A\n0, 0, 9\n", "line 4: a moved .INSTANCE"),
        ("binary.inp", "*NODE\n\0\1", "binary.inp' is binary, and an input deck is text$"),
        ("binary.bdf", "GRID\0", "binary.bdf' is binary, and a file of this kind is text: .* its name ends with .op2$"),
        ("basic.bdf", "GRDSET,,7\nGRID,1,,0.,0.,0.\n", "GRDSET: write all in the basic"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=said):
            read_finite_elements(tmp_path / name)
    (tmp_path / "bare.bdf").write_text("CEND\n")
    heads = "".join(f"DMIG,{name},0,6,2\nDMIG,{name},1,1,,1,1,2.0\n" for name in ("KAAX", "MAAX"))
    (tmp_path / "bare.pch").write_text(heads)
    with pytest.raises(InputError, match="there are matrices, but no nodes"):
        read_finite_elements(tmp_path / "bare.bdf")
    for suffix, text in ((".inp", BAR.read_text()), (".sti", "1 1 1.0\n"), (".mas", "1 1\n"), (".dof", "1.1\n")):
        (tmp_path / f"short{suffix}").write_text(text)
    with pytest.raises(InputError, match="is no table of 3 numbers in each line"):
        read_finite_elements(tmp_path / "short.inp")
    for suffix in (".inp", ".sti", ".mas", ".dof"):
        (tmp_path / f"cut{suffix}").write_bytes(BAR.with_suffix(suffix).read_bytes())
    for suffix, lines, said in (
        (".mas", slice(500), "cut.mas' lacks terms of the diagonal: is the file complete"),
        (".sti", slice(900), "cut.sti' lacks terms of the diagonal"),
    ):
        text = BAR.with_suffix(suffix).read_text()
        (tmp_path / f"cut{suffix}").write_text("\n".join(text.splitlines()[lines]) + "\n")
        with pytest.raises(InputError, match=said):
            read_finite_elements(tmp_path / "cut.inp")
        (tmp_path / f"cut{suffix}").write_text(text)
    (tmp_path / "cut.sti").write_text(BAR.with_suffix(".sti").read_text() + "2 1 9e9\n")
    with pytest.raises(InputError, match="the stiffness matrix is not symmetric"):
        read_finite_elements(tmp_path / "cut.inp")
