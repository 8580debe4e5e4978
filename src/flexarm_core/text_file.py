"""Reads a text file of bounded size."""

from __future__ import annotations

from pathlib import Path

from flexarm_core.errors import ConfigError, FlexarmError


def read_text(path: str | Path, what: str, most: int, error: type[FlexarmError] = ConfigError) -> str:
    """Text of a UTF-8 file.

    Args:
        path: the file.
        what: it is, for messages.
        most: bytes that are read.
        error: type of what is raised.

    Raises:
        FlexarmError: of that type: no such file, not a plain file, too large, or not UTF-8.
    """
    path = Path(path)
    try:
        if path.exists() and not path.is_file():
            raise error(f"{what} '{path}' is a folder or a device, not a file")
        size = path.stat().st_size
        if size > most:
            raise error(f"{what} '{path}' has {size} bytes, at most {most} are read")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as problem:  # ValueError: a NUL in the path
        if isinstance(problem, error):
            raise
        reason = "is not UTF-8 text" if isinstance(problem, UnicodeDecodeError) else "cannot be read"
        raise error(f"{what} '{path}' {reason}: {problem}") from problem
