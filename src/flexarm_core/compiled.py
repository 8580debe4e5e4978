"""Numba decorators and options shared by all compiled functions of the core."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable
from typing import Any, ClassVar, get_type_hints

import numba
import numba.extending
import numpy as np
from numba.core import cgutils
from numba.np.arrayobj import make_array, populate_array
from numpy.typing import NDArray

from flexarm_core.compilation import progress
from flexarm_core.kernel_cache import KernelCache

# No fastmath: a function that another one calls exists in the machine code of both, and a process uses the copy that it
# loaded first. If each copy may round in its own way, results depend on what was compiled or loaded before.
OPTIONS: Any = {"error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function at its first call, and keep the machine code (:mod:`.kernel_cache`; decorator).

    Compiled functions release the GIL, so that a long computation in a thread does not delay the ticks of its node.

    The function must neither make arrays nor return them: see :func:`allocating_kernel`. Then numba need not count
    references. It counts the references of all arrays in a named tuple wherever the tuple is passed to an
    ``inlined_kernel``; in a loop over bodies that takes twice as long as the arithmetic.
    """
    return _compiled(function, allocates=False)


def allocating_kernel(function: Callable[..., Any]) -> Any:
    """Do the same as :func:`kernel` for a function that makes arrays or returns them (decorator)."""
    return _compiled(function, allocates=True)


def _compiled(function: Callable[..., Any], allocates: bool) -> Any:
    options: Any = {**OPTIONS, "nogil": True, "_nrt": allocates}
    compiled: Any = numba.njit(**options)(function)
    with contextlib.suppress(RuntimeError):  # there is no folder to write to; what that means is said once it compiles
        compiled._cache = KernelCache(function, compiled.targetoptions)
    progress.kernels.append(compiled)
    return compiled


# For small functions, and for parts of a kernel that take named tuples: passing the arguments would cost more than the
# computation itself, and a tuple's arrays would be reference counted at each access.
inlined_kernel = numba.njit(inline="always", **OPTIONS)


@numba.extending.intrinsic
def _view(context: Any, array: Any, start: Any, shape: Any) -> Any:
    """Return part of a flat array as a view of the given shape, which keeps nothing alive: it is not counted."""
    kind = numba.types.Array(array.dtype, len(shape), "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        flat, sizes = make_array(array)(context, builder, arguments[0]), cgutils.unpack_tuple(builder, arguments[2])
        sizes = [context.cast(builder, *each, numba.types.intp) for each in zip(sizes, shape, strict=True)]
        strides, step = [], flat.itemsize
        for size in reversed(sizes):
            strides.append(step)
            step = builder.mul(step, size)
        seen = make_array(kind)(context, builder)
        data = builder.gep(flat.data, [context.cast(builder, arguments[1], start, numba.types.intp)])
        populate_array(seen, data, sizes, strides[::-1], flat.itemsize, None)
        return seen._getvalue()

    return kind(array, start, shape), generate


class Inlined:
    """Function that is inlined at its call in a kernel, and is plain Python elsewhere: it is not compiled by itself.

    Attributes:
        py_func, targetoptions, is_compiling: what numba asks of a function.
        size: of views, the number of elements of the memory.
    """

    targetoptions: ClassVar[Any] = {"inline": "always"}
    is_compiling = False
    size: Callable[..., int]

    def __init__(self, function: Callable[..., Any], outside: Callable[..., Any] | None = None) -> None:
        """Take what kernels get, and what runs outside of them where that is something else."""
        self.py_func, self._outside = function, outside or function

    def __call__(self, *arguments: Any) -> Any:
        """Run outside of a kernel."""
        return self._outside(*arguments)


@numba.extending.typeof_impl.register(Inlined)
def _type(value: Inlined, _: Any) -> Any:
    """Return a type for the name, which is left in a kernel when the call is not."""
    return numba.types.Dispatcher(value)


def _kernel_view(array: Any, start: int, shape: tuple[int, ...]) -> Any:
    return _view(array, start, shape)  # type: ignore[call-arg, arg-type]


def _numpy_view(array: Any, start: int, shape: tuple[int, ...]) -> Any:
    """Return part of a flat array as a view of the given shape.

    In a kernel it is not reference counted; slicing and reshaping would cost 20 times as much.
    """
    return array[start : start + math.prod(shape)].reshape(shape)


view = Inlined(_kernel_view, _numpy_view)


INTEGERS = NDArray[np.int64]
READ = {int: "int({0}[{0}_i])", float: "{0}[{0}_i]", bool: "{0}[{0}_i] > 0.0"}


def views(record: Any, *sizes: str) -> Any:
    """Return the function that views a flat array as a named tuple, whose fields declare what follows what in it.

    A field is a number (int, float, or bool: whether it is positive), or an array whose type has its shape, made of
    integers, of the sizes and of numbers among the earlier fields::

        class State(NamedTuple):
            count: int
            position: Annotated[Array, "n"]
            gains: Annotated[Array, "count", "2 * n", 6]

        view_state = views(State, "n")  # view_state(memory, n) -> State

    A record may have arrays of integers too. These lie in an array of integers: the function takes both, in the order
    in which the record needs them. Numbers lie where the first array does. A field may also be a record, whose fields
    lie in its place; their shapes may have the numbers of that record and the sizes.

    In a kernel no call remains. Outside of kernels NumPy makes the views; see there :func:`allocate`, :func:`pack`, and
    ``view_state.size``, the size of the memory (or of the integers, where there are only these), a function of the
    sizes and of the numbers in shapes.

    Raises:
        NameError: a shape has a name that is no size and no field.
    """
    lines, counts, scope = list[str](), dict[str, list[str]](), dict[str, Any](view=view)
    numbers = dict[str, bool]()  # whether a shape has it

    def add(record: Any, prefix: str) -> str:
        """Add the lines that view a record, whose names in the source begin with a prefix; return the source of it."""
        hints = get_type_hints(record, include_extras=True)
        shapes = {name: [str(size) for size in getattr(hint, "__metadata__", ())] for name, hint in hints.items()}
        places = {
            name: "integers" if hints[name].__origin__ == INTEGERS else "memory" for name in shapes if shapes[name]
        }
        first, parts = next(iter(places.values()), "memory"), list[str]()
        for name, shape in shapes.items():
            if hasattr(hints[name], "_fields"):
                parts.append(add(hints[name], f"{prefix}{name}_"))
                continue
            used = {one for size in shape for one in compile(size, "", "eval").co_names}
            if unknown := used - {*sizes, *hints, "min", "max"}:
                raise NameError(f"{record.__name__}.{name}: {', '.join(unknown)} is no size and no field")
            for own in (each for each in hints if each in used and not shapes[each]):  # an array may be named as a size
                shape = [re.sub(rf"\b{own}\b", prefix + own, size) for size in shape]
                numbers[prefix + own] = True
            if not shape:
                numbers[prefix + name] = False
            array, count = places.get(name, first), " * ".join(f"({size})" for size in shape) or "1"
            counts.setdefault(array, []).append(count)
            parts.append(f"_{prefix}{name}" if shape else prefix + name)
            read = f"view({array}, {array}_i, ({', '.join(shape)},))" if shape else READ[hints[name]].format(array)
            lines.extend((f"{parts[-1]} = {read}", f"{array}_i += {count}"))
        scope[f"{prefix}record"] = record
        return f"{prefix}record({', '.join(parts)})"

    end = f"return {add(record, '')}"
    source = f"def view_{record.__name__}({', '.join((*counts, *sizes))}): "
    source += "; ".join((*(f"{array}_i = 0" for array in counts), *lines, end))
    needed, count = filter(numbers.get, numbers), counts.get("memory") or counts["integers"]
    source += f"\ndef size({', '.join((*sizes, *needed))}): return {' + '.join(count)}"
    scope["__name__"] = record.__module__
    exec(source, scope)
    compiled = Inlined(scope[f"view_{record.__name__}"])
    compiled.size = scope["size"]
    return compiled


def allocate(views: Any, *sizes: int) -> tuple[Any, Any]:
    """Return the memory of a kernel, and the named views of it for use outside of kernels.

    Args:
        views: function made by :func:`views`.
        sizes: further arguments of that function.
    """
    memory = np.zeros(views.size(*sizes))
    return memory, views(memory, *sizes)


def pack(record: Any, dtype: Any = np.float64) -> Any:
    """Return the numbers, arrays and records of a named tuple as one flat array, in the layout of :func:`views`."""
    parts = [pack(part, dtype) if hasattr(part, "_fields") else np.ravel(part) for part in record]
    return np.concatenate(parts).astype(dtype)
