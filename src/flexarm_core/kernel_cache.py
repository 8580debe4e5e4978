"""Machine code of kernels, kept under a stamp of all that it is made from.

numba keeps machine code as long as the kernel's own file is unchanged, though the code contains that of the functions
which the kernel calls. Here the name of the files has a stamp: the bytecode and the constants of the kernel and of all
that it calls. An edit of a callee in another file is another stamp, that of a comment is not.
"""

from __future__ import annotations
import __future__

import contextlib
import dis
import enum
import functools
import glob
import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba.core.caching import FunctionCache, IndexDataCacheFile

INSTALLED = {"builtins", "cmath", "llvmlite", "math", "numba", "numpy"}  # numba keeps no code of another version
LITERALS = (bool, int, float, complex, str, bytes, slice, range, type(None), type(Ellipsis), np.generic, np.dtype)
# flags that numba takes from a kernel which is called under a profiler
CLEARED = inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS | __future__.annotations.compiler_flag


class KernelCache(FunctionCache):  # type: ignore[misc]
    """numba's cache of one kernel, with the stamp in the names of its files."""

    def __init__(self, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
        """Find the folder of the cache.

        Raises:
            RuntimeError: no folder can be written.
        """
        super().__init__(function)
        self._options, self._stamped = options, False

    def is_kept(self) -> bool:
        """Return whether there is machine code of the present kernel, for any types of arguments."""
        self._find()
        return bool(self._cache_file._load_index())

    def _find(self) -> None:
        """Name the files; not before the first call, as a function may call one that is defined after it."""
        if not self._stamped:
            made_from = stamp(self._py_func, self._options)
            named = self._impl.filename_base.replace(f"-{self._impl.locator.get_disambiguator()}.", "-{}.")
            self._names = glob.escape(named).format("*")
            self._cache_file = IndexDataCacheFile(self._cache_path, named.format(made_from[:16]), made_from)
            self._stamped = True

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        self._find()
        return super()._load_overload(sig, target_context)

    def _save_overload(self, sig: Any, data: Any) -> None:
        self._find()
        super()._save_overload(sig, data)
        for path in Path(self._cache_path).glob(f"{self._names}.*"):
            if not path.name.startswith(Path(self._cache_file._index_path).stem):
                with contextlib.suppress(OSError):  # another process was faster
                    path.unlink()

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        """Add the names of fields to the types of arguments: named tuples are equal to numba if their types are."""
        return (*super()._index_key(sig, codegen), tuple(map(_fields, sig)))


def stamp(function: Callable[..., Any], options: Mapping[str, Any]) -> str:
    """Return the hash of a function, of the options of its compilation, and of all functions that it calls.

    Raises:
        TypeError: it uses an object of a kind that is not known here.
    """
    found: list[Any] = [function]
    place = {function: 0}

    def described(value: Any, user: FunctionType) -> Any:
        """Return what is hashed of a value: of a function, its place among those found."""
        if (compiled := getattr(value, "py_func", None) or getattr(value, "_defn", None)) is not None:
            return described(compiled, user), sorted(getattr(value, "targetoptions", {}).items())
        module = str(value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", ""))
        if isinstance(value, np.ndarray):
            return value.dtype.str, value.shape, value.strides, value.tobytes()
        if isinstance(value, LITERALS):
            return type(value).__name__, repr(value)
        if isinstance(value, tuple):
            return type(value).__name__, getattr(value, "_fields", ()), [described(each, user) for each in value]
        if isinstance(value, enum.EnumMeta):
            return module, value.__qualname__, repr(list(value.__members__.items()))
        if module.partition(".")[0] in INSTALLED or isinstance(value, type):
            name = getattr(value, "__qualname__", "") or getattr(value, "__name__", repr(value))
            return module, name, getattr(value, "_fields", ())
        if isinstance(value, FunctionType):
            if value not in place:
                place[value] = len(found)
                found.append(value)
            return "function", place[value]
        if isinstance(value, ModuleType):
            used = sorted({name for code in _codes(user.__code__) for name in code.co_names} & vars(value).keys())
            return module, [(name, described(getattr(value, name), user)) for name in used]
        raise TypeError(f"{user.__module__}.{user.__qualname__} uses {value!r}, which a stamp cannot cover")

    text = hashlib.sha256(repr(sorted(options.items())).encode())
    for each in found:  # grows
        does, names = _bytecode(each.__code__, each.__doc__)
        values = {name: each.__globals__[name] for name in names if name in each.__globals__}
        values |= zip(each.__code__.co_freevars, (cell.cell_contents for cell in each.__closure__ or ()), strict=True)
        uses = [(name, described(value, each)) for name, value in values.items()]
        text.update(repr((does, each.__defaults__, each.__kwdefaults__, uses)).encode())
    return text.hexdigest()


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of those in it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


@functools.cache
def _bytecode(code: CodeType, doc: str | None) -> tuple[str, tuple[str, ...]]:
    """Return what a function does, without its documentation, name and place, and the names of what is global to it."""
    first = [None if each is not None and each == doc else each for each in code.co_consts[:1]]
    constants = [
        _bytecode(each, None)[0] if isinstance(each, CodeType)
        else sorted(map(repr, each)) if isinstance(each, frozenset) else repr(each)
        for each in (*first, *code.co_consts[1:])
    ]  # fmt: skip
    flags = code.co_flags | CLEARED
    does = code.co_code, constants, code.co_names, code.co_varnames, code.co_argcount, flags
    loaded = (each for inner in _codes(code) for each in dis.get_instructions(inner) if each.opname == "LOAD_GLOBAL")
    return repr(does), tuple(dict.fromkeys(each.argval for each in loaded))  # in order


def _fields(kind: Any) -> Any:
    """Return the names of the fields of the named tuples in the type of an argument."""
    return getattr(kind, "fields", ()), tuple(_fields(each) for each in getattr(kind, "types", ()))
