"""Numba decorators and options shared by all compiled functions of the core."""

from __future__ import annotations

import contextlib
import hashlib
import math
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, get_type_hints

import numba
import numba.extending
import numpy as np
from numpy.typing import NDArray

from flexarm_core.compilation import progress
from flexarm_core.kernel_cache import KernelCache

# No fastmath: a function that another one calls exists in the machine code of both, and a process uses the copy that it
# loaded first. If each copy may round in its own way, results depend on what was compiled or loaded before.
OPTIONS: Any = {"error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function at its first call, and keep the machine code (:mod:`.kernel_cache`; decorator).

    Compiled functions release the GIL, so that a long computation in a thread does not delay the ticks of its node.
    """
    compiled = numba.njit(nogil=True, **OPTIONS)(function)
    with contextlib.suppress(RuntimeError):  # there is no folder to write to; what that means is said once it compiles
        compiled._cache = KernelCache(function, compiled.targetoptions)
    progress.kernels.append(compiled)
    return compiled


# For small functions, and for parts of a kernel that take named tuples: passing the arguments would cost more than the
# computation itself, and a tuple's arrays would be reference counted at each access.
inlined_kernel = numba.njit(inline="always", **OPTIONS)


@numba.extending.intrinsic
def _pointer(context: Any, address: Any) -> Any:
    """Convert an integer address to a void pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], numba.core.cgutils.voidptr_t)

    return numba.types.voidptr(address), generate


@numba.njit(inline="always")
def view(array: Any, start: int, shape: tuple[int, ...]) -> Any:
    """Return part of a flat array as a view of the given shape.

    The view is not reference counted; slicing and reshaping would cost 20 times as much.
    """
    return numba.carray(_pointer(array.ctypes.data + 8 * start), shape, array.dtype)  # type: ignore[attr-defined, call-arg]


def _numpy_view(memory: Any, start: int, shape: tuple[int, ...]) -> Any:
    """Return the same as :func:`view`, for use outside of kernels: it keeps the memory alive."""
    return memory[start : start + math.prod(shape)].reshape(shape)


INTEGERS = NDArray[np.int64]
READ = {int: "int({0}[{0}_i])", float: "{0}[{0}_i]", bool: "{0}[{0}_i] > 0.0"}


def views(record: Any, *sizes: str) -> Any:
    """Return the kernel that views a flat array as a named tuple, whose fields declare what follows what in it.

    A field is a number (int, float, or bool: whether it is positive), or an array whose type has its shape, made of
    integers, of the sizes and of numbers among the earlier fields::

        class State(NamedTuple):
            count: int
            position: Annotated[Array, "n"]
            gains: Annotated[Array, "count", "2 * n", 6]

        view_state = views(State, "n")  # view_state(memory, n) -> State

    A record may have arrays of integers too. These lie in an array of integers: the kernel takes both, in the order in
    which the record needs them. Numbers lie where the first array does.

    Outside of kernels: :func:`allocate`, :func:`named_views`, :func:`pack`, and ``view_state.size``, a function of the
    sizes and of the numbers in shapes.

    Raises:
        NameError: a shape has a name that is no size and no field.
    """
    caller, hints = sys._getframe(1), get_type_hints(record, include_extras=True)
    shapes = {name: [str(size) for size in getattr(hint, "__metadata__", ())] for name, hint in hints.items()}
    places = {name: "integers" if hints[name].__origin__ == INTEGERS else "memory" for name in shapes if shapes[name]}
    first = next(iter(places.values()), "memory")
    lines, counts, parts, used = list[str](), dict[str, list[str]](), list[str](), set[str]()
    for name, shape in shapes.items():
        used |= {one for size in shape for one in compile(size, "", "eval").co_names}
        if unknown := used - {*sizes, *hints, "min", "max"}:
            raise NameError(f"{record.__name__}.{name}: {', '.join(unknown)} is no size and no field")
        array, count = places.get(name, first), " * ".join(f"({size})" for size in shape) or "1"
        counts.setdefault(array, []).append(count)
        parts.append(f"_{name}" if shape else name)
        read = f"view({array}, {array}_i, ({', '.join(shape)},))" if shape else READ[hints[name]].format(array)
        lines += [f"{parts[-1]} = {read}", f"{array}_i += {count}"]
    begin, end = (f"{array}_i = 0" for array in counts), f"return record({', '.join(parts)})"
    source = f"def view_{record.__name__}({', '.join((*counts, *sizes))}): {'; '.join((*begin, *lines, end))}"
    numbers = (name for name in shapes if name in used and name not in places)
    source += f"\ndef size({', '.join((*sizes, *numbers))}): return {' + '.join([*counts.values()][-1])}"
    scope = {"__name__": caller.f_globals["__name__"], "record": record, "view": view}
    # numba keeps machine code beside the file of a function, under its qualified name and line, as long as the file is
    # unchanged. A constant in a shape may be that of another file: therefore a name for each declaration.
    exec(compile("\n" * (caller.f_lineno - 1) + source, caller.f_code.co_filename, "exec"), scope)
    function = scope[f"view_{record.__name__}"]
    function.__qualname__ += "_" + hashlib.sha256(source.encode()).hexdigest()[:8]
    compiled = kernel(function)
    compiled.size, compiled.named = scope["size"], FunctionType(function.__code__, {**scope, "view": _numpy_view})
    return compiled


def allocate(views: Any, *sizes: int) -> tuple[Any, Any]:
    """Return the memory of a kernel, and the named views of it for use outside of kernels.

    Args:
        views: kernel made by :func:`views`.
        sizes: further arguments of that kernel.
    """
    memory = np.zeros(views.size(*sizes))
    return memory, views.named(memory, *sizes)


def named_views(memory: Any, views: Any, *sizes: int) -> Any:
    """Return the named views of existing memory, for use outside of kernels; arguments as in :func:`allocate`.

    Views that numba makes would not keep the memory alive, and are slow in NumPy as their type is another object.
    """
    return views.named(memory, *sizes)


def pack(record: Any, dtype: Any = np.float64) -> Any:
    """Return the numbers and arrays of a named tuple as one flat array, in the layout of :func:`views`."""
    return np.concatenate([np.ravel(part) for part in record]).astype(dtype)
