"""Views of flat memory, made from the one declaration of a kernel's data."""

from __future__ import annotations

import subprocess
import sys
from typing import Annotated, NamedTuple

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from flexarm_core.compilation import progress
from flexarm_core.compiled import allocate, kernel, pack, views
from flexarm_core.types import Array

COLUMNS = 3


class Constants(NamedTuple):
    m: int
    soft: bool
    gain: float
    map: Annotated[Array, "0 if soft else m", "n"]
    rows: Annotated[Array, "2 * m", COLUMNS]


class State(NamedTuple):
    position: Annotated[Array, "n"]
    box: Annotated[Array, "m + 1", "2 * n", COLUMNS]
    wrench: Annotated[Array, 6]
    work: Annotated[Array, "max(n - m, 0) + 1"]


class Tree(NamedTuple):
    count: int
    width: int
    mass: Annotated[Array, "count"]
    parent: Annotated[NDArray[np.int64], "count"]
    gain: float
    kind: Annotated[NDArray[np.int64], "width"]


class Within(NamedTuple):
    unused: int
    first: int
    count: int
    one: Annotated[Array, "count"]
    two: Annotated[Array, "count", "first"]
    constants: Constants


class Both(NamedTuple):
    tree: Tree
    gain: float
    states: Annotated[Array, "m", "n"]
    again: Tree
    state: State


view_both, view_within = views(Both, "n", "m"), views(Within, "n")
view_constants = views(Constants, "n")
view_tree = views(Tree)
view_state = views(State, "n", "m")


@kernel
def gained(memory: Array, n: int, m: int) -> float:
    """Write through a view, and read through it."""
    state = view_state(memory, n, m)
    state.wrench[:] = state.box[m, 2 * n - 1, COLUMNS - 1]
    return state.position[n - 1]  # type: ignore[no-any-return]


def inside(view, *sizes):
    """A kernel that returns the views that it makes."""
    scope = {"view": view}
    exec(f"def viewed(memory, {', '.join(sizes)}): return view(memory, {', '.join(sizes)})", scope)
    return numba.njit(scope["viewed"])


state_of, constants_of = inside(view_state, "n", "m"), inside(view_constants, "n")
tree_of, both_of = inside(view_tree, "integers"), inside(view_both, "integers", "n", "m")


@pytest.mark.parametrize(("n", "m"), [(1, 0), (2, 6), (7, 3)])
def test_views_cover_the_memory_once_and_are_the_same_inside_and_outside_of_kernels(n, m):
    memory, named = allocate(view_state, n, m)
    assert memory.size == view_state.size(n, m) == n + (m + 1) * 2 * n * 3 + 6 + max(n - m, 0) + 1
    memory[:] = np.arange(memory.size)
    assert np.array_equal(pack(named), memory)
    for part, compiled in zip(named, state_of(memory, n, m), strict=True):
        assert part.base is memory and part.shape == compiled.shape and np.array_equal(part, compiled)
    assert gained(memory, n, m) == n - 1
    assert (named.wrench == named.box[-1, -1, -1]).all()
    assert len(gained.signatures) == 1, "one machine code for all sizes"


@pytest.mark.parametrize("soft", [False, True])
def test_numbers_are_read_as_they_were_packed_and_give_the_shapes_of_what_follows(soft):
    map_, rows = np.arange(4.0).reshape(2, 2)[: 0 if soft else 2], np.arange(12.0).reshape(4, COLUMNS)
    memory = pack(Constants(2, soft, 0.5, map_, rows))
    for seen in (view_constants(memory, 2), constants_of(memory, 2)):
        assert (seen.m, seen.soft, seen.gain) == (2, soft, 0.5)
        assert np.array_equal(seen.map, map_) and np.array_equal(seen.rows, rows)


def test_integers_lie_in_an_array_of_their_own():
    memory, integers = pack((2, 1, [3.0, 4.0], 0.5)), pack(([-1, 0], [7]), np.int64)
    for seen in (view_tree(memory, integers), tree_of(memory, integers)):
        assert (seen.count, seen.width, seen.gain) == (2, 1, 0.5)
        assert [seen.mass.tolist(), seen.parent.tolist(), seen.kind.tolist()] == [[3.0, 4.0], [-1, 0], [7]]
        assert seen.parent.dtype == seen.kind.dtype == np.int64
    assert view_tree.size(2, 1) == memory.size, "not that of the integers"


def test_a_field_may_be_a_record_whose_shapes_have_its_own_numbers_and_the_sizes():
    n, m = 2, 1
    state = view_state(np.arange(float(view_state.size(n, m))), n, m)
    one, other = Tree(2, 1, [3.0, 4.0], [-1, 0], 0.5, [7]), Tree(1, 3, [8.0], [9], 1.5, [1, 2, 3])
    parts = (2, 1, 3.0, 4.0, 0.5), 7.0, (5.0, 6.0), (1, 3, 8.0, 1.5), pack(state)
    memory, integers = np.hstack(parts), np.array([-1, 0, 7, 9, 1, 2, 3])
    for seen in (view_both(memory, integers, n, m), both_of(memory, integers, n, m)):
        for tree, known in ((seen.tree, one), (seen.again, other)):
            assert (tree.count, tree.width, tree.gain) == (known.count, known.width, known.gain)
            assert [part.tolist() for part in (tree.mass, tree.parent, tree.kind)] == [known[2], known[3], known[5]]
        assert seen.gain == 7.0 and seen.states.tolist() == [[5.0, 6.0]]
        assert seen.state.box.shape == state.box.shape and np.array_equal(pack(seen.state), pack(state))
    within = Within(
        9, 3, 2, np.ones(2), np.ones((2, 3)), Constants(m, False, 0.5, np.ones((1, 2)), np.ones((2, COLUMNS)))
    )
    assert view_within.size(n, 3, 2, constants_m=m, constants_soft=False) == pack(within).size, "in the order of fields"
    assert np.array_equal(view_within(pack(within), n).constants.rows, within.constants.rows)


def test_a_shape_of_something_unknown_is_refused_where_it_is_declared():
    class Wrong(NamedTuple):
        position: Annotated[Array, "n + joints"]

    with pytest.raises(NameError, match="Wrong.position: joints is no size"):
        views(Wrong, "n")


def test_no_call_remains_in_a_kernel_and_nothing_compiles_outside_of_one():
    memory, _ = allocate(view_state, 2, 3)
    anew = numba.njit(gained.py_func)  # code that is loaded cannot be inspected
    anew(memory, 2, 3)
    called = [line for text in anew.inspect_llvm().values() for line in text.splitlines() if " call " in line]
    assert called and not any("view_State" in line for line in called)
    before = progress.compiled
    view_state(memory, 2, 3)
    assert progress.compiled == before


class Bodies(NamedTuple):
    bodies: Annotated[Array, "bodies", 3]
    one: Annotated[Array, "bodies"]


def test_an_array_may_have_the_name_of_a_size():
    memory, seen = allocate(views(Bodies, "bodies"), 4)
    assert memory.size == 16 and seen.bodies.shape == (4, 3) and seen.one.shape == (4,)


DECLARED = """
from typing import Annotated, NamedTuple
import numpy as np
from constants import WIDTH
from flexarm_core.compiled import kernel, views
from flexarm_core.types import Array

class State(NamedTuple):
    first: Annotated[Array, "1 * n", WIDTH]
    other: Annotated[Array, "n"]

view_state = views(State, "n")

@kernel
def first_other(memory: Array, n: int) -> float:
    return view_state(memory, n).other[0]

if __name__ == "__main__":
    print(first_other(np.arange(99.0), 2), *first_other.stats.cache_hits.values())
"""


def test_machine_code_is_never_that_of_another_declaration(tmp_path):
    declared, constants = tmp_path / "declared.py", tmp_path / "constants.py"

    def printed(source: str, width: int) -> list[str]:
        for path, text in ((declared, source), (constants, f"WIDTH = {width}\n")):
            path.write_text(text)
        command = [sys.executable, "-B", declared]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert printed(DECLARED, 1) == ["2.0"]
    assert printed(DECLARED, 1) == ["2.0", "1"], "loaded by the next process"
    assert printed(DECLARED.replace("1 * n", "3 * n"), 1) == ["6.0"], "another shape"
    assert printed(DECLARED, 4) == ["8.0"], "another value of a constant of another file"
