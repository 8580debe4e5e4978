"""Reads a text file of bounded size."""

from __future__ import annotations

from pathlib import Path

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.regular_file import read_regular


def read_text(path: str | Path, what: str, most: int, error: type[FlexarmError] = ConfigError) -> str:
    """Read a UTF-8 text file.

    Args:
        path: the file.
        what: kind of file, used in error messages.
        most: largest allowed file size [bytes].
        error: exception type that is raised.

    Raises:
        FlexarmError: (of type ``error``) the file does not exist, is not a regular file, is too large, or is
            not UTF-8.
    """
    try:
        return read_regular(path, most, error).decode("utf-8")
    except error as problem:
        raise error(f"{what} '{path}' {problem}") from problem
    except (OSError, UnicodeDecodeError, ValueError) as problem:  # ValueError: a NUL in the path
        wrong = isinstance(problem, UnicodeDecodeError)
        reason = "is not UTF-8 text: save it as UTF-8" if wrong else f"cannot be read: {problem}"
        raise error(f"{what} '{path}' {reason}") from problem
