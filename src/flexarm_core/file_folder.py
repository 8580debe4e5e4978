"""FileFolder: the one folder of whose files a message may name one.

Anyone who reaches the network may send a goal. With a file name in a goal, a sender must not be able to make a node
read, show, replace or wait for an arbitrary file of the machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.regular_file import read_regular
from flexarm_core.uri import resolve_uri

ENDING = ".yaml"
LONGEST_NAME = 1000  # characters
NONE = "no file may be named here: set the parameter file_folder when the node starts, or give the poses themselves"


class FileFolder:
    """Reads and creates files by names that come from elsewhere, in one folder and in the folders in it.

    A name is relative to the folder, or it is the path or URI of a file in it. Each part of a path is opened relative
    to the previous one, and none may be a symbolic link, so that the opened file is in the folder even if names change
    meanwhile.
    """

    def __init__(self, folder: str = "") -> None:
        """Set the folder: a ``package://`` or ``file://`` URI or an absolute path; empty: no file may be named.

        Raises:
            ConfigError: it is neither, or there is no such folder.
        """
        if not isinstance(folder, str):
            raise ConfigError(f"file_folder must be text, got {folder!r}")
        try:
            self._path = str(resolve_uri(folder)) if folder else ""
        except FlexarmError as error:
            raise ConfigError(f"file_folder: {error}") from error
        if folder and not os.path.isdir(self._path):
            raise ConfigError(f"file_folder: there is no folder '{self._path}'")

    def read_text(self, name: str, what: str, most: int) -> str:
        """Read a UTF-8 text file.

        Args:
            name: the file.
            what: kind of file, used in error messages.
            most: largest allowed size [bytes].

        Raises:
            ConfigError: there is no such file in the folder, or it is not regular, empty, too large, or not UTF-8.
        """
        with self._folder_of(name, what) as (folder, last):
            content = read_regular(last, most, ConfigError, folder)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            raise ConfigError(f"{what} '{name}' is not UTF-8 text: save it as UTF-8") from None

    def check_new(self, name: str, what: str) -> None:
        """Raise ConfigError if :meth:`write_new` cannot create a file of this name."""
        with self._folder_of(name, what) as (folder, last):
            try:
                os.stat(last, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                return
            raise ConfigError("is there already, and is not replaced")

    def write_new(self, name: str, what: str, text: str) -> None:
        """Create a text file; it is there as a whole or not at all.

        Raises:
            ConfigError: it cannot be created, or something of this name is there already.
        """
        with self._folder_of(name, what) as (folder, last):
            draft = f".{last}.{os.getpid()}"
            opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
            try:
                with os.fdopen(opened, "w", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                os.link(draft, last, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)  # never replaces
            finally:
                os.unlink(draft, dir_fd=folder)

    @contextmanager
    def _folder_of(self, name: str, what: str) -> Iterator[tuple[int, str]]:
        """Yield the open folder of a file and the last part of its name; errors get a sentence about the file."""
        *between, last = self._parts(name, what)
        try:
            folder = os.open(self._path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                for part in between:
                    inner = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
                    os.close(folder)
                    folder = inner
                yield folder, last
            finally:
                os.close(folder)
        except FileExistsError:
            raise ConfigError(f"{what} '{name}' is there already, and is not replaced") from None
        except ConfigError as error:
            raise ConfigError(f"{what} '{name}' {error}") from error
        except OSError as error:
            raise ConfigError(f"{what} '{name}' cannot be opened in the file_folder: {error.strerror}") from error

    def _parts(self, name: str, what: str) -> tuple[str, ...]:
        """Return the parts of a name below the folder."""
        if not self._path:
            raise ConfigError(f"{what}: {NONE}")
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise ConfigError(f"{what}: the name of a file must be printable and of at most {LONGEST_NAME} characters")
        path = PurePosixPath(name)
        if "://" in name or path.is_absolute():
            try:
                path = PurePosixPath(resolve_uri(name))
                path = path.relative_to(self._path)
            except (FlexarmError, ValueError):
                raise ConfigError(f"{what} '{name}' is not in the file_folder") from None
        if ".." in path.parts or not path.parts or not all(part.isprintable() for part in path.parts):
            raise ConfigError(f"{what} '{name}' is not in the file_folder")
        if path.suffix != ENDING:
            raise ConfigError(f"{what} '{name}' does not end in {ENDING}")
        return path.parts
