"""Checks of numbers from outside the package."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from flexarm_core.errors import InputError
from flexarm_core.types import Array, all_finite


def is_number(value: object) -> bool:
    """Whether a value is a finite real number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def checked_vector(name: str, value: ArrayLike | None, size: int) -> Array:
    """Return a copy of a value as a finite vector; ``None`` becomes zeros.

    Args:
        name: name of the value, for the message.
        value: (size,) numbers.
        size: required number of components.

    Raises:
        InputError: wrong shape, not numbers, or not finite.
    """
    if value is None:
        return np.zeros(size)
    try:
        vector = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not a list of {size} numbers: {error}") from error
    if vector.shape != (size,):
        raise InputError(f"{name} has shape {vector.shape}, expected ({size},)")
    if not all_finite(vector):
        raise InputError(f"{name} is not finite: {vector}; give {size} finite numbers")
    return vector
