"""Machine code of a kernel is that of the kernel and of all that it calls, as they are now."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

from flexarm_core.compiled import kernel
from flexarm_core.kernel_cache import _bytecode, stamp

CALLEE = """
from typing import NamedTuple
from flexarm_core.compiled import inlined_kernel, kernel

class Pair(NamedTuple):
    a: float
    b: float

@kernel
def one(x: float) -> float:
    '''Return it.'''
    return x + 1.0

@kernel
def other(x: float) -> float:
    return x * 10.0

@inlined_kernel
def inner(x: float) -> float:
    return x - 3.0
"""
CALLER = """
import callee
from callee import Pair, inner, one, other
from flexarm_core.compiled import kernel
from flexarm_core.compilation import progress

OFFSET, GRID = 5.0, (1.0, 2.0)

@kernel
def middle(x: float) -> float:
    return one(x) + 100.0 * other(x) + inner(x) + OFFSET + GRID[1]

@kernel
def outer(x: float) -> float:
    return middle(x)

@kernel
def taken(pair: Pair) -> float:
    return pair.a

def show() -> None:
    value = outer(1.0), taken(Pair(1.0, 2.0))
    print(*value, *(name for name in ("middle", "outer", "taken") if not globals()[name].stats.cache_hits))
"""
EDITS = {  # of the callee or caller, the results, and what compiles; a kernel in another's machine code is not loaded
    "a constant of a callee": ("callee", "x + 1.0", "x + 2.0", "1008.0 1.0 middle outer"),
    "an inlined callee": ("callee", "x - 3.0", "x - 4.0", "1006.0 1.0 middle outer"),
    "an operation of a callee": ("callee", "x * 10.0", "x + 10.0", "1107.0 1.0 middle outer"),
    "two callees swapped": (
        "caller",
        "inner, one, other",
        "inner, other as one, one as other",
        "215.0 1.0 middle outer",
    ),
    "a global constant": ("caller", "OFFSET, GRID = 5.0", "OFFSET, GRID = 6.0", "1008.0 1.0 middle outer"),
    "a global tuple": ("caller", "(1.0, 2.0)", "(1.0, 3.0)", "1008.0 1.0 middle outer"),
    "fields of an argument": ("callee", "a: float\n    b: float", "b: float\n    a: float", "1007.0 2.0 middle taken"),
    "a comment, and a line": ("callee", "'''Return it.'''", "'''Return one more.'''\n    # more", "1007.0 1.0 middle"),
    "a comment above": ("caller", "import callee", "# more\nimport callee", "1007.0 1.0 middle"),
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What each edit's own pair of modules prints, in four processes: new, kept, edited and as before."""
    folder, pairs = tmp_path_factory.mktemp("kernels"), {edit: str(k) for k, edit in enumerate(EDITS)}

    def run(edited: bool) -> dict[str, str]:
        for edit, k in pairs.items():
            name, old, new, _ = EDITS[edit]
            sources = {"callee": CALLEE, "caller": CALLER}
            assert old in sources[name]
            if edited:
                sources[name] = sources[name].replace(old, new)
            for name, text in sources.items():
                path = folder / f"{name}{k}.py"
                path.write_text(
                    text.replace("import callee", f"import callee{k}").replace("from callee", f"from callee{k}")
                )
                os.utime(path, (1e9, 1e9))  # neither time nor, mostly, size say that it is another file
        code = f"for k in range({len(pairs)}): __import__(f'caller{{k}}').show()"
        command = [sys.executable, "-B", "-c", code]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        return dict(zip(pairs, done.stdout.splitlines(), strict=True))

    return [run(edited) for edited in (False, False, True, False)]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_compiles_what_it_affects_and_nothing_else(printed, edit):
    _, kept, edited, restored = (lines[edit] for lines in printed)
    expected = EDITS[edit][3]
    assert kept == "1007.0 1.0 middle", "all is loaded; the middle one is in the outer's machine code"
    assert edited == expected
    assert restored == "1007.0 1.0 middle" + " outer" * ("outer" in expected)


def made(text: str, **names: object):
    scope: dict = {"__name__": "somebody.else", "np": np, **names}
    exec(text, scope)
    return scope["f"]


def test_a_kernel_may_call_itself_and_one_that_is_defined_later():
    text = "def f(x): return {} if x < 1 else g(x - 1)"
    scopes = [{"__name__": "somebody.else"} for _ in range(3)]
    for scope, value in zip(scopes, (0, 0, 1), strict=True):
        exec(text.format(value), scope)
        exec("def g(x): return f(x - 1)", scope)
    stamps = [stamp(scope["f"], {}) for scope in scopes]
    assert stamps[0] == stamps[1] != stamps[2]
    assert stamp(scopes[0]["g"], {}) != stamps[0]


class Point(NamedTuple):
    x: float


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0), (0.0, -0.0), (True, 1), ((1.0, 2.0), (2.0, 1.0)), (np.zeros(2), np.zeros(3)),
        (np.zeros(2), np.ones(2)), (Point(1.0), (1.0,)), (slice(1, 2), slice(1, 3)), (np.sin, np.cos),
        (np.float64(1.0), np.float32(1.0)),
    ],
)  # fmt: skip
def test_each_constant_has_a_stamp_of_its_own(one, other):
    text = "def f(): return VALUE"
    stamps = [stamp(made(text, VALUE=value), {}) for value in (one, one, other)]
    assert stamps[0] == stamps[1] != stamps[2]


def test_options_of_the_compiler_count():
    assert stamp(made("def f(): return 1"), {"nogil": True}) != stamp(made("def f(): return 1"), {"nogil": False})


def test_a_profiler_changes_no_stamp(tmp_path):
    """numba changes the flags of a kernel that is called under one."""
    path = tmp_path / "profiled.py"
    path.write_text(text := "def f(x): return x + 1.0")
    scope: dict = {"__name__": "profiled"}
    exec(compile(text, path, "exec"), scope)
    function, before = scope["f"], scope["f"].__code__.co_flags
    stamped, called = stamp(function, {}), kernel(function)
    assert called(1.0) == 2.0
    sys.setprofile(lambda *_: None)
    try:
        called(1.0)
    finally:
        sys.setprofile(None)
    assert function.__code__.co_flags != before
    _bytecode.cache_clear()
    assert stamp(function, {}) == stamped


def test_what_no_stamp_covers_is_refused():
    with pytest.raises(TypeError, match="somebody.else.f uses <object .*, which a stamp cannot cover"):
        stamp(made("def f(): return VALUE", VALUE=object()), {})


def test_code_of_older_sources_is_removed(tmp_path):
    def compiled(value: float) -> None:
        path = tmp_path / "old.py"
        path.write_text(text := f"def f(x): return x + {value}")
        scope: dict = {"__name__": "old"}
        exec(compile(text, path, "exec"), scope)
        kernel(scope["f"])(1.0)

    kept = []
    for value in (1.0, 2.0, 1.0):
        compiled(value)
        kept.append(sorted(path.name for path in tmp_path.rglob("*.nb[ic]")))
    assert [len(names) for names in kept] == [2, 2, 2]
    assert kept[0] == kept[2] and not set(kept[0]) & set(kept[1])
