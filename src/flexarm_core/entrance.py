"""Input checks for compiled code, which does not check shapes and types itself.

A public function or method that passes arrays to a compiled kernel, to Pinocchio or to LAPACK checks them here once;
the internal functions that it calls do not check them again.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flexarm_core.errors import InputError
from flexarm_core.types import Array, all_finite

FLOAT = np.dtype(np.float64)
FOR_KERNELS: Any = ("C_CONTIGUOUS", "ALIGNED", "WRITEABLE", "ENSUREARRAY")  # the one type that kernels are compiled for
ANY = -1  # in an expected shape: any length is accepted
Kind = TypeVar("Kind")


def finite(name: str, value: Any, *shape: int) -> Array:
    """Return a value as a C-contiguous, writable, finite float64 array of the given shape.

    A value that already is such an array is returned itself, not copied. An array that is read-only is copied: numba
    would compile every kernel once more for it.

    Args:
        name: name of the value, used in error messages.
        value: an array or nested lists of numbers.
        shape: expected length of each axis; ``ANY`` accepts any length.

    Raises:
        InputError: the value is not numeric, has a different shape, or is not finite.
    """
    if type(value) is np.ndarray and value.dtype is FLOAT and value.shape == shape and value.flags.carray:
        flat = value if len(shape) == 1 else value.ravel()
        if all_finite(flat):
            return value
    return _converted(name, value, shape)


def numbers(name: str, value: Any, *shape: int) -> Array:
    """Do the same as :func:`finite`, but accept NaN and infinite elements: for quantities that may be unknown.

    Raises:
        InputError: the value is not numeric or has a different shape.
    """
    if type(value) is np.ndarray and value.dtype is FLOAT and value.shape == shape and value.flags.carray:
        return value
    return _converted(name, value, shape, unknown=True)


def output(name: str, value: Any, *shape: int) -> Array:
    """Check an array that a result will be written into, and return the same array, never a copy.

    Raises:
        InputError: the value is not a writable, C-contiguous float64 array of the given shape.
    """
    fits = isinstance(value, np.ndarray) and value.dtype == FLOAT and value.shape == shape
    if not (fits and value.flags.c_contiguous and value.flags.writeable):
        raise InputError(f"{name} must be a float64 array of shape {_form(shape)} to write to, got {_short(value)}")
    written: Array = value
    return written


def flags(name: str, value: Any, *shape: int) -> NDArray[np.bool_]:
    """Return a value as a bool array of the given shape.

    Raises:
        InputError: the elements are not booleans, or the shape is different.
    """
    array = _array(name, value)
    if array.dtype.kind != "b" or not _fits(array.shape, shape):
        raise InputError(f"{name} must be booleans of shape {_form(shape)}, got {_short(value)}")
    return array


def integers(name: str, value: Any, below: int, *shape: int) -> NDArray[np.int64]:
    """Return a value as an int64 array of the given shape, with every element in [0, below).

    Raises:
        InputError: the elements are not integers or are out of range, or the shape is different.
    """
    array = _array(name, value)
    if array.dtype.kind not in "iu" and array.size:
        raise InputError(f"{name} must be whole numbers, got {_short(value)}")
    if not _fits(array.shape, shape):
        raise InputError(f"{name} has shape {array.shape}, expected {_form(shape)}")
    if array.size and not (array.min() >= 0 and array.max() < below):
        raise InputError(f"{name} must lie in [0, {below}), got {_short(value)}")
    return np.require(array, np.int64, FOR_KERNELS)


def number(name: str, value: Any, least: float = -math.inf, most: float = math.inf) -> float:
    """Return a value as a finite float in [least, most].

    Raises:
        InputError: the value is not a number, not finite, or out of range.
    """
    if type(value) is float and math.isfinite(value) and least <= value <= most:
        return value
    try:
        result = math.nan if isinstance(value, (bool, str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not (math.isfinite(result) and least <= result <= most):
        bounds = "" if least == -math.inf and most == math.inf else f" in [{least:g}, {most:g}]"
        raise InputError(f"{name} must be a finite number{bounds}, got {_short(value)}")
    return result


def expect(name: str, value: Any, kind: type[Kind]) -> Kind:
    """Return the value unchanged if it is an instance of the given type.

    Raises:
        InputError: the value is of a different type.
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
    result: Array = np.require(array, np.float64, FOR_KERNELS)
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
    """Describe a value briefly, so that an error message stays one line even for a large value."""
    if isinstance(value, np.ndarray) and value.size > 12:
        return f"an array of shape {value.shape} and type {value.dtype}"
    if isinstance(value, (list, tuple, dict, set, str, bytes)) and len(value) > 12:
        return f"{type(value).__name__} of length {len(value)}"
    if isinstance(value, (int, float, str, list, tuple, np.ndarray, np.generic)) or value is None:
        text = " ".join(repr(value).split())
        return text if len(text) < 100 else f"{text[:97]}..."
    return f"an object of type {type(value).__name__}"
