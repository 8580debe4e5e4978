"""Counted numbers: the Python source of a compiled function, run with numbers that count what is done with them."""

from __future__ import annotations

import ast
import inspect
import math
import sys
import textwrap
from collections import Counter
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from flexarm_core.compiled import Inlined

ARITHMETIC = ("+", "-", "*", "/", "sqrt", "negate", "abs")


class Counted:
    """A number that counts operations. What it costs to move or to compare it is not arithmetic: see ``compare``."""

    __slots__ = ("value",)
    counts: ClassVar[Counter[str]] = Counter()

    def __init__(self, value: Any) -> None:
        self.value = float(value)

    def __float__(self) -> float:
        return self.value

    def __int__(self) -> int:
        return int(self.value)


def _binary(symbol: str, function: Any) -> tuple[Any, Any]:
    def forward(a: Any, b: Any) -> Counted:
        Counted.counts[symbol] += 1
        with np.errstate(all="ignore"):
            return Counted(function(np.float64(float(a)), np.float64(float(b))))

    return forward, lambda a, b: forward(b, a)


for _symbol, _name, _function in (
    ("+", "add", lambda a, b: a + b),
    ("-", "sub", lambda a, b: a - b),
    ("*", "mul", lambda a, b: a * b),
    ("/", "truediv", lambda a, b: a / b),
):
    _forward, _backward = _binary(_symbol, _function)
    setattr(Counted, f"__{_name}__", _forward)
    setattr(Counted, f"__r{_name}__", _backward)


def _comparison(function: Any) -> Any:
    def compare(a: Any, b: Any) -> bool:
        Counted.counts["compare"] += 1
        return bool(function(float(a), float(b)))

    return compare


for _name, _function in (
    ("lt", lambda a, b: a < b),
    ("le", lambda a, b: a <= b),
    ("gt", lambda a, b: a > b),
    ("ge", lambda a, b: a >= b),
    ("eq", lambda a, b: a == b),
    ("ne", lambda a, b: a != b),
):
    setattr(Counted, f"__{_name}__", _comparison(_function))


def _unary(symbol: str, function: Any) -> Any:
    def apply(a: Any) -> Counted:
        Counted.counts[symbol] += 1
        return Counted(function(float(a)))

    return apply


setattr(Counted, "__neg__", _unary("negate", lambda a: -a))  # noqa: B010
setattr(Counted, "__abs__", _unary("abs", abs))  # noqa: B010
_square_root = _unary("sqrt", lambda a: math.sqrt(a))


class _CountConstants(ast.NodeTransformer):
    """Real constants count too: what is done with them must not depend on where a number came from."""

    def visit_Constant(self, node: ast.Constant) -> Any:
        if not isinstance(node.value, float):
            return node
        return ast.Call(func=ast.Name(id="Counted", ctx=ast.Load()), args=[node], keywords=[])


def _python_source(module: ModuleType) -> dict[str, Any]:
    """The compiled functions of a module, and those it uses, as plain functions of counted numbers, by name."""
    names: dict[str, Any] = dict(vars(module))
    names.update(Counted=Counted, math=SimpleNamespace(sqrt=_square_root))
    names["np"] = SimpleNamespace(inf=Counted(math.inf))
    for name, value in vars(module).items():
        if isinstance(value, float):
            names[name] = Counted(value)
        function = getattr(value, "py_func", None)
        if function is None or isinstance(value, Inlined):  # views are plain Python outside of kernels
            continue
        if function.__module__ != module.__name__:
            names[name] = _python_source(sys.modules[function.__module__])[name]
        else:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
            definition = tree.body[0]
            assert isinstance(definition, ast.FunctionDef)
            definition.decorator_list = []
            tree = ast.fix_missing_locations(_CountConstants().visit(tree))
            tree.body.insert(0, ast.parse("from __future__ import annotations").body[0])
            exec(compile(tree, str(module.__file__), "exec"), names)
    return names


def count_operations(module: ModuleType, function: str, *arrays: Any) -> dict[str, int]:
    """Run a compiled function of a module in plain Python; results are written to the arrays.

    Counted are ``+ - * /``, square roots, changes of sign and absolute values of real numbers; not counted are integers
    (indices, loops), comparisons with what follows from them (``min``, ``max``, choices, exchanges of rows) and moves.

    Returns:
        How often each operation was done.
    """
    names = _python_source(module)
    counted = [_counted_array(array) for array in arrays]
    Counted.counts = Counter()
    names[function](*counted)
    for array, result in zip(arrays, counted, strict=True):
        array[...] = np.vectorize(float, otypes=[float])(result)
    return {name: Counted.counts[name] for name in ARITHMETIC}


def _counted_array(array: Any) -> Any:
    out = np.empty(np.shape(array), dtype=object)
    for place, value in np.ndenumerate(array):
        out[place] = Counted(value)
    return out
