"""Reads a text file of bounded size."""

from __future__ import annotations

from pathlib import Path

from flexarm_core.errors import ConfigError, FlexarmError


def read_text(path: str | Path, what: str, most: int, error: type[FlexarmError] = ConfigError) -> str:
    """Read a UTF-8 text file.

    Args:
        path: the file.
        what: kind of file, used in error messages.
        most: largest allowed file size [bytes].
        error: exception type that is raised.

    Raises:
        FlexarmError: (of type ``error``) the file does not exist, is not a regular file, is too large, or is not UTF-8.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            raise error(f"{what} '{path}' is a folder or a device, not a file")
        size = path.stat().st_size
        if size > most:
            raise error(f"{what} '{path}' has {size} bytes, at most {most} are read")
        return path.read_text(encoding="utf-8") if size else ""  # files of /proc claim no bytes; some would block
    except (OSError, UnicodeDecodeError, ValueError) as problem:  # ValueError: a NUL in the path
        if isinstance(problem, error):
            raise
        reason = "is not UTF-8 text" if isinstance(problem, UnicodeDecodeError) else "cannot be read"
        raise error(f"{what} '{path}' {reason}: {problem}") from problem
