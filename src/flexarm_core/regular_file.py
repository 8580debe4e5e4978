"""Opens and reads regular files only: to open or read a device, a pipe or a file of the kernel may block or act."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from flexarm_core.errors import FlexarmError

FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # with these, opening does not wait


def open_regular(path: str | Path, error: type[FlexarmError], folder: int | None = None) -> BinaryIO:
    """Open a file.

    Args:
        path: the file.
        error: exception type that is raised.
        folder: descriptor of the folder in which ``path`` is the name of a file, and not of a link; None: any path.

    Raises:
        FlexarmError: (of type ``error``) it is no regular file; the message follows the name of the file in a sentence.
        OSError: it cannot be opened.
        ValueError: there is a NUL in the path.
    """
    links = folder is None

    def check(status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise error(f"is a folder{'' if links else ', a link'} or a device, not a file")

    check(os.stat(path, dir_fd=folder, follow_symlinks=links))  # a device is not even opened
    opened = os.open(path, FLAGS | (0 if links else os.O_NOFOLLOW), dir_fd=folder)
    try:
        check(os.fstat(opened))  # it may be another one by now
        return os.fdopen(opened, "rb")
    except BaseException:
        os.close(opened)
        raise


def read_regular(path: str | Path, most: int, error: type[FlexarmError], folder: int | None = None) -> bytes:
    """Read a file as :func:`open_regular` opens it, up to a number of bytes.

    Files of ``/proc`` count as empty, as they have no size; some of them never end.
    """
    with open_regular(path, error, folder) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise error(f"has {size} bytes, at most {most} are read")
        return file.read(size)
