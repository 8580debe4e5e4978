"""What is compiled is said, and refused inside a tick."""

from __future__ import annotations

import importlib
import pkgutil
import threading
from types import SimpleNamespace

import numba
import numpy as np
import pytest

import flexarm_core
import flexarm_sim
from flexarm_core import compilation
from flexarm_core.compilation import CompilationError, Progress, no_compilation, progress, where_kept
from flexarm_core.compiled import allocating_kernel, kernel
from flexarm_core.entrance import finite, numbers


def total(array):
    return array.sum()


def read_only(array):
    array.flags.writeable = False
    return array


OTHERS = [read_only(np.ones(3)), np.ones(6)[::2], np.ones(3, dtype=int)]


@pytest.mark.parametrize("other", OTHERS)
def test_in_a_tick_a_kernel_refuses_types_that_it_is_not_compiled_for(other):
    summed = numba.njit(total)
    summed(np.zeros(3))
    with no_compilation:
        assert summed(np.ones(3)) == 3.0
        with pytest.raises(CompilationError, match="total is not compiled for .* tick cannot wait for it: .*Array"):
            summed(other)
    assert summed(other) == 3.0


@pytest.mark.parametrize("other", [*OTHERS, [1.0, 1.0, 1.0], np.ones(3), np.ones(3).view(np.recarray)])
def test_whatever_comes_through_an_entrance_is_of_one_type_for_kernels(other):
    for entrance in (finite, numbers):
        assert numba.typeof(entrance("x", other, 3)) == numba.typeof(np.ones(3))
    assert finite("x", same := np.ones(3), 3) is same


def test_other_threads_compile_while_one_is_in_a_tick():
    summed, sums = numba.njit(total), []
    with no_compilation:
        thread = threading.Thread(target=lambda: sums.append(summed(np.ones(3))))
        thread.start()
        thread.join()
    assert sums == [3.0]


def begun(listener, module, name="own"):
    """The event of a function whose compilation has begun."""
    function = SimpleNamespace(__module__=module, __name__=name)
    event = SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function), "args": ()})
    begun.kept = [*getattr(begun, "kept", []), event]  # as numba keeps its dispatchers
    listener.on_start(event)
    return event


def test_what_takes_long_is_said_once_and_then_every_ten_seconds(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(compilation.time, "perf_counter", lambda: now[0])
    seen = Progress()

    def compile_for(seconds):
        event = begun(seen, "flexarm_core.any")
        now[0] += seconds
        seen.on_end(event)

    compile_for(0.9)
    compile_for(0.9)
    assert capsys.readouterr().err == "", "what takes less than a second is not worth a word"
    seen.total = 5
    compile_for(3.0)
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("flexarm: compiling (not kept, as no folder")
    assert said[1:] == ["flexarm: compiled 2 of 5 in 2 s: own ..."]
    compile_for(8.0)
    assert capsys.readouterr().err == ""
    compile_for(1.0)
    assert capsys.readouterr().err.splitlines() == ["flexarm: compiled 4 of 5 in 13 s: own ..."]


def test_a_function_that_takes_long_is_named_meanwhile(capsys, monkeypatch):
    monkeypatch.setattr(compilation, "SILENT", 0.01)
    seen = Progress()
    event = begun(seen, "flexarm_core.any", "long_one")
    seen._alarm.join()
    assert "compiled 0 in 0 s: long_one ..." in capsys.readouterr().err
    seen.on_end(event)


def test_functions_of_others_are_not_spoken_of(capsys, monkeypatch):
    monkeypatch.setattr(compilation, "SILENT", 0.0)
    seen = Progress()
    seen.on_end(begun(seen, "somebody.else"))
    assert capsys.readouterr().err == ""


def test_a_kernel_that_cannot_be_kept_is_compiled_all_the_same():
    scope: dict = {"__name__": "somebody.else"}
    exec("def one(x):\n    return x + 1", scope)  # has no file, so numba has no folder for it
    one = kernel(scope["one"])
    progress.kernels.remove(one)
    assert one(1) == 2
    assert where_kept([one]) == ""
    assert where_kept(progress.kernels) != ""


def test_a_kernel_that_makes_an_array_says_so():
    def doubled(array):
        twice = 2.0 * array
        return twice[0]

    with pytest.raises(numba.core.errors.NumbaError, match="NRT required"):
        kernel(doubled)(np.ones(3))
    assert allocating_kernel(doubled)(np.ones(3)) == 2.0


def test_only_kernels_that_count_references_return_arrays():
    """Whoever calls them would release what they never took."""
    for package in (flexarm_core, flexarm_sim):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith(".warm"):
                importlib.import_module(module.name)
    plain = [each for each in progress.kernels if not each.targetoptions["_nrt"]]
    assert len(plain) > 100
    assert not [each.__name__ for each in plain if "Array" in str(each.py_func.__annotations__.get("return"))]
