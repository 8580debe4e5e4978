"""How every compiled function of the core is compiled."""

from __future__ import annotations

from typing import Any

import numba
import numba.extending

OPTIONS: Any = {"error_model": "numpy", "fastmath": {"contract", "nsz", "arcp", "reassoc"}}
# Without the interpreter's lock: a long computation in a thread does not hold up the ticks of its node.
kernel = numba.njit(cache=True, nogil=True, **OPTIONS)
# Where arguments by value would cost more than what is done with them.
inlined_kernel = numba.njit(inline="always", **OPTIONS)


@numba.extending.intrinsic
def _pointer(context: Any, address: Any) -> Any:
    """An address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], numba.core.cgutils.voidptr_t)

    return numba.types.voidptr(address), generate


@numba.njit(inline="always")
def view(array: Any, start: int, shape: tuple[int, ...]) -> Any:
    """Part of a flat array in a shape, without a count of references: slicing and reshaping cost 20 times as much."""
    return numba.carray(_pointer(array.ctypes.data + 8 * start), shape, array.dtype)  # type: ignore[attr-defined, call-arg]
