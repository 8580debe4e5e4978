"""The one check in front of compiled code: it believes shapes and types, so whoever lets values in looks at them first.

A public function or method that hands arrays to a kernel, to Pinocchio or to LAPACK passes them through here once;
what lies behind it does not look again.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flexarm_core.errors import InputError
from flexarm_core.types import Array

FLOAT = np.dtype(np.float64)
ANY = -1  # in a shape: any length
Kind = TypeVar("Kind")


def finite(name: str, value: Any, *shape: int) -> Array:
    """A value as a finite float64 array of a shape, side by side in memory; the value itself where it is one.

    Args:
        name: for messages.
        value: an array or nested lists of numbers.
        shape: lengths; ``ANY``: any.

    Raises:
        InputError: not numbers, another shape, or not finite.
    """
    if type(value) is np.ndarray and value.dtype is FLOAT and value.shape == shape and value.flags.c_contiguous:
        flat = value if len(shape) == 1 else value.ravel()
        if math.isfinite(flat.dot(flat)):
            return value
    return _converted(name, value, shape)


def numbers(name: str, value: Any, *shape: int) -> Array:
    """As :func:`finite`, but any number will do, NaN too: for what may be unknown.

    Raises:
        InputError: not numbers, or another shape.
    """
    if type(value) is np.ndarray and value.dtype is FLOAT and value.shape == shape and value.flags.c_contiguous:
        return value
    return _converted(name, value, shape, unknown=True)


def output(name: str, value: Any, *shape: int) -> Array:
    """A float64 array of a shape that a result is written into: never a copy.

    Raises:
        InputError: not such an array.
    """
    fits = isinstance(value, np.ndarray) and value.dtype == FLOAT and value.shape == shape
    if not (fits and value.flags.c_contiguous and value.flags.writeable):
        raise InputError(f"{name} must be a float64 array of shape {_form(shape)} to write to, got {_short(value)}")
    written: Array = value
    return written


def flags(name: str, value: Any, *shape: int) -> NDArray[np.bool_]:
    """A value as a bool array of a shape.

    Raises:
        InputError: not booleans, or another shape.
    """
    array = _array(name, value)
    if array.dtype.kind != "b" or not _fits(array.shape, shape):
        raise InputError(f"{name} must be booleans of shape {_form(shape)}, got {_short(value)}")
    return array


def integers(name: str, value: Any, below: int, *shape: int) -> NDArray[np.int64]:
    """A value as an int64 array of a shape, each in [0, below).

    Raises:
        InputError: not whole numbers, another shape, or out of those bounds.
    """
    array = _array(name, value)
    if array.dtype.kind not in "iu" and array.size:
        raise InputError(f"{name} must be whole numbers, got {_short(value)}")
    if not _fits(array.shape, shape):
        raise InputError(f"{name} has shape {array.shape}, expected {_form(shape)}")
    if array.size and not (array.min() >= 0 and array.max() < below):
        raise InputError(f"{name} must lie in [0, {below}), got {_short(value)}")
    return np.ascontiguousarray(array, dtype=np.int64)


def number(name: str, value: Any, least: float = -math.inf, most: float = math.inf) -> float:
    """A value as a finite float in [least, most].

    Raises:
        InputError: no number, not finite, or out of those bounds.
    """
    try:
        result = math.nan if isinstance(value, (bool, str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not (math.isfinite(result) and least <= result <= most):
        bounds = "" if least == -math.inf and most == math.inf else f" in [{least:g}, {most:g}]"
        raise InputError(f"{name} must be a finite number{bounds}, got {_short(value)}")
    return result


def expect(name: str, value: Any, kind: type[Kind]) -> Kind:
    """A value of a type.

    Raises:
        InputError: it is of another.
    """
    if not isinstance(value, kind):
        raise InputError(f"{name} must be of type {kind.__name__}, got {_short(value)}")
    return value


def _converted(name: str, value: Any, shape: tuple[int, ...], unknown: bool = False) -> Array:
    array = _array(name, value)
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name} must be numbers of shape {_form(shape)}, got {_short(value)}")
    if not _fits(array.shape, shape):
        raise InputError(f"{name} has shape {array.shape}, expected {_form(shape)}")
    result: Array = np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
    if not unknown and not np.isfinite(result).all():
        raise InputError(f"{name} is not finite: {_short(value)}")
    return result


def _array(name: str, value: Any) -> NDArray[Any]:
    if type(value) is np.ndarray:
        return value
    if not isinstance(value, (list, tuple, np.ndarray, np.generic)):
        raise InputError(f"{name} must be an array, got {_short(value)}")
    try:
        return np.array(value)
    except (ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
        raise InputError(f"{name} must be an array of numbers, got {_short(value)}") from error


def _fits(found: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    return len(found) == len(wanted) and all(b in (a, ANY) for a, b in zip(found, wanted, strict=True))


def _form(shape: tuple[int, ...]) -> str:
    words = ["any" if length == ANY else str(length) for length in shape]
    return f"({', '.join(words)}{',' if len(words) == 1 else ''})"


def _short(value: Any) -> str:
    """What was given, in a few words: a message is one line, however much that was."""
    if isinstance(value, np.ndarray) and value.size > 12:
        return f"an array of shape {value.shape} and type {value.dtype}"
    if isinstance(value, (list, tuple, dict, set, str, bytes)) and len(value) > 12:
        return f"{type(value).__name__} of length {len(value)}"
    if isinstance(value, (int, float, str, list, tuple, np.ndarray, np.generic)) or value is None:
        text = " ".join(repr(value).split())
        return text if len(text) < 100 else f"{text[:97]}..."
    return f"an object of type {type(value).__name__}"
