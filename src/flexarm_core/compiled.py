"""Numba decorators and options shared by all compiled functions of the core."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numba.extending
import numpy as np

from flexarm_core.compilation import progress

# No fastmath: a function that another one calls exists in the machine code of both, and a process uses the copy that it
# loaded first. If each copy may round in its own way, results depend on what was compiled or loaded before.
OPTIONS: Any = {"error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function at its first call, and keep the machine code in numba's cache (decorator).

    Compiled functions release the GIL, so that a long computation in a thread does not delay the ticks of its node.
    """
    try:
        compiled = numba.njit(cache=True, nogil=True, **OPTIONS)(function)
    except RuntimeError:  # numba found no folder that it may write to; what that means is said once it compiles
        compiled = numba.njit(nogil=True, **OPTIONS)(function)
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


def allocate(views: Callable[..., Any], *sizes: int) -> tuple[Any, Any]:
    """Return the memory of a kernel, and the named views of it for use outside of kernels.

    Args:
        views: kernel that views a flat array as a named tuple of arrays, of which the last ends with the memory.
        sizes: further arguments of that kernel.
    """
    _, places = _places(views, *sizes)
    start, shape = places[-1]
    memory = np.zeros(start + math.prod(shape))
    return memory, named_views(memory, views, *sizes)


def named_views(memory: Any, views: Callable[..., Any], *sizes: int) -> Any:
    """Return the named views of existing memory, for use outside of kernels; arguments as in :func:`allocate`.

    Views that numba makes would not keep the memory alive, and are slow in NumPy as their type is another object.
    """
    kind, places = _places(views, *sizes)
    return kind(*(memory[start : start + math.prod(shape)].reshape(shape) for start, shape in places))


@cache
def _places(views: Callable[..., Any], *sizes: int) -> tuple[Any, list[tuple[int, tuple[int, ...]]]]:
    """Return the type of the named views, and for each of them its start and shape."""
    probe = np.zeros(1)
    parts = views(probe, *sizes)  # addresses and shapes only: nothing is read, as the probe is too short
    return type(parts), [((part.ctypes.data - probe.ctypes.data) // 8, part.shape) for part in parts]
