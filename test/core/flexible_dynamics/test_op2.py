"""Binary files of Nastran (.op2), against the punch file of the same matrices.

They are written as those of the real programs are that pyNastran and pyyeti publish: EXTSEOUT(DMIGOP2) of NX Nastran
2019 (models/other/extse04c_cnv2_0.op2), and tables of DMIG (pyyeti/tests/nastran_dmig_data/matrix.op2).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mutations import mutate_bytes
from nastran_files import END, BinaryFile, write_punch

from flexarm_core.errors import InputError
from flexarm_core.flexible_dynamics.finite_elements.files import read_finite_elements
from flexarm_core.flexible_dynamics.finite_elements.op2 import read_op2
from flexarm_core.flexible_dynamics.finite_elements.reduction import FiniteElements, reduced_body

BAR = Path(__file__).with_name("calculix_bar") / "bar.inp"
STIFF = [(1, 1, 1, 1, 4.0), (2, 1, 1, 1, -4.0), (2, 1, 2, 1, 4.0)]
HEAVY = [(1, 1, 1, 1, 2.0), (2, 1, 2, 1, 2.0)]
TWO = [(1, 0.0, 0.0, 0.0), (2, 0.5, 0.0, 0.0)]


def arrays(model: FiniteElements) -> list[np.ndarray]:
    return [model.nodes, model.position, model.freedom, model.mass.toarray(), model.stiffness.toarray()]


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_bodies_of_a_punch_file_and_of_a_binary_file_are_equal(order, tmp_path):
    bar = read_finite_elements(BAR, units="mm")
    stiff, heavy = write_punch(bar, tmp_path)
    punch = read_finite_elements(tmp_path / "bar.bdf", units="mm")
    away = [(int(bar.nodes[0]), 1e6, 0.0, 0.0)]  # the grid points of the bulk data file count
    written = BinaryFile(order).external(away, MATK=stiff, MATM=heavy, MATV=[(1, 1, 1, 1, 1.0)])
    (tmp_path / "bar.op2").write_bytes(written.data)
    given = read_finite_elements(tmp_path / "bar.bdf", [tmp_path / "bar.op2"], units="mm")
    assert len(given.freedom) == len(bar.freedom) and same(arrays(given), arrays(punch))
    (tmp_path / "bar.pch").unlink()
    assert same(arrays(read_finite_elements(tmp_path / "bar.bdf", units="mm")), arrays(punch))
    grids = [(int(n), *where) for n, where in zip(bar.nodes, (1e3 * bar.position).tolist(), strict=True)]
    (tmp_path / "alone.op2").write_bytes(BinaryFile(order).external(grids, MATK=stiff, MATM=heavy).data)
    alone = read_finite_elements(tmp_path / "alone.op2", units="mm")
    assert same(arrays(alone), arrays(punch))
    root = ",".join(str(n) for n in bar.sets["ROOT"])
    bodies = [reduced_body(model, root, modes=4) for model in (punch, given, alone)]
    assert all(np.array_equal(body.stiffness, bodies[0].stiffness) for body in bodies)
    assert all(np.array_equal(body.translation, bodies[0].translation) for body in bodies)


@pytest.mark.parametrize("kind", [1, 2])
def test_dmig_with_names_of_their_own_are_read_in_one_record_or_more(kind, tmp_path):
    (tmp_path / "two.bdf").write_text("GRID,1,,0.,0.,0.\nGRID,2,,.5,0.,0.\n")
    file = BinaryFile(title=True).columns("PHG", 3)
    code = file.words(114, 1, 120)
    record = code + file.dmig("KAAX", STIFF, kind=kind) + file.dmig("MAAX", HEAVY, kind=kind)
    file.table("MATPOOL", [b"MATPOOL ", record, code + file.dmig("BAAX", HEAVY), file.words(*END)], 5).markers(0)
    (tmp_path / "two.op2").write_bytes(file.data)
    model = read_finite_elements(tmp_path / "two.bdf")
    assert np.array_equal(model.stiffness.toarray(), [[4.0, -4.0], [-4.0, 4.0]])
    assert np.array_equal(model.mass.toarray(), [[2.0, 0.0], [0.0, 2.0]])


def is_accepted(data: bytes) -> bool:
    try:
        read_op2(data)
    except InputError:
        return False
    return True


def test_a_file_that_is_cut_off_is_refused_wherever_that_is(tmp_path):
    good = BinaryFile().external(TWO, MATK=STIFF, MATM=HEAVY).data
    last = len(BinaryFile().columns("EXTDB", 3).markers(0).data)
    ends = [length for length in range(len(good) + 1) if is_accepted(good[:length])]
    assert ends[-3:] == [len(good) - last, len(good) - 12, len(good)]  # all but a table that is not needed
    for length in ends[:-3]:  # between tables
        (tmp_path / "cut.op2").write_bytes(good[:length])
        with pytest.raises(InputError, match="expected one DMIG whose name begins with K and one with M"):
            read_finite_elements(tmp_path / "cut.op2")
    assert len(ends) == 3 + 4


def test_damaged_files_are_refused_by_one_line(tmp_path):
    good = BinaryFile().external(TWO, MATK=STIFF, MATM=HEAVY).data
    rng = np.random.default_rng(38)
    said = []
    for _ in range(400):
        (tmp_path / "two.op2").write_bytes(mutate_bytes(rng, good))
        try:
            read_finite_elements(tmp_path / "two.op2")
        except InputError as error:
            said.append(str(error).replace(str(tmp_path), ""))
            assert "\n" not in said[-1] and len(said[-1]) < 200
    assert 300 < len(said) < 400 and len({text[:25] for text in said}) > 5


def test_what_is_wrong_with_a_binary_file_is_said(tmp_path):
    file = BinaryFile()
    code = file.words(114, 1, 120)

    def pool(*matrices: bytes) -> bytes:
        return BinaryFile().table("MATPOOL", [b"MATPOOL ", code + b"".join(matrices), file.words(*END)]).markers(0).data

    good, mass = file.dmig("K", STIFF), file.dmig("M", HEAVY)
    huge = b"\x04\0\0\0" + file.words(2, 4, 2**31 - 1) + b"GEOM1   "
    far = [(2_000_000_000, 1, 1, 1, 1.0)]
    for data, said in (
        (b"", "is no .op2 of Nastran"),
        (b"$ a text\n" * 20, "is no .op2 of Nastran"),
        (b"\x08\0\0\0" * 20, "has words of 64 bits"),
        (huge, "is cut off"),
        (BinaryFile().markers(2, 7).data, "is cut off"),
        (BinaryFile().markers(5, 7).data, "marker 5 in place of a table"),
        (BinaryFile(title=True).columns("PHG", 4).markers(0).data, "begins with K and one with M in .*, found: none"),
        (BinaryFile().external(TWO, MATK=STIFF).data, "found: K$"),
        (pool(good, mass), "there are matrices, but no nodes"),
        (pool(good, mass[:-12]), "DMIG in table MATPOOL that ends within a column"),
        (pool(file.dmig("K", STIFF, form=2), mass), "DMIG K, which must be square and real, its form is 2"),
        (pool(file.dmig("K", STIFF, kind=4), mass), "DMIG K, which must be square and real, its form is 6, its type 4"),
        (pool(file.dmig("K", far), mass), "numbers of grid points that are none"),
        (BinaryFile().external(TWO, 7, MATK=STIFF, MATM=HEAVY).data, "grid point 1 is not in the basic coordinate"),
        (BinaryFile().external(TWO, MATK=[(1, 0, 1, 0, 1.0)], MATM=HEAVY).data, "scalar or modal coordinates"),
    ):
        (tmp_path / "bad.op2").write_bytes(data)
        with pytest.raises(InputError, match=said):
            read_finite_elements(tmp_path / "bad.op2")
    with pytest.raises(InputError, match="none.op2' cannot be read"):
        read_finite_elements(tmp_path / "none.op2")
    with open(tmp_path / "large.op2", "wb") as file_of_nothing:
        file_of_nothing.truncate(151 * 1024 * 1024)
    with pytest.raises(InputError, match="large.op2' has 158334976 bytes, at most"):
        read_finite_elements(tmp_path / "large.op2")
