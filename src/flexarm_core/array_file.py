"""Reads ``.npz`` files of numbers and texts; all headers and sizes are checked before any array is unpacked."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_core.regular_file import open_regular

MOST_BYTES = 50_000_000  # default limit for the total size of all arrays in a file
MOST_ARRAYS = 200
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
HEADS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


@dataclass(frozen=True, slots=True)
class ArrayClaim:
    """Shape and element type of an array, as its header in the file declares them.

    Attributes:
        shape: length of each axis.
        dtype: element type.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class ArrayFile:
    """An ``.npz`` file: ``claims`` lists the arrays that it declares, ``load`` reads them.

    Attributes:
        claims: declared shape and type of every array, by array name.
    """

    def __init__(
        self, path: str | Path, what: str, error: type[FlexarmError] = ConfigError, most: int = MOST_BYTES
    ) -> None:
        """Read and check the headers of all arrays in the file.

        Args:
            path: the file.
            what: kind of file, used in error messages.
            error: exception type that is raised for this file.
            most: largest allowed total size of the unpacked arrays [bytes].

        Raises:
            FlexarmError: (of type ``error``) the file cannot be read, is damaged, encrypted or too large, or contains
                anything other than arrays of numbers and texts.
        """
        self._path, self._what, self._error = Path(path), what, error
        self.claims: dict[str, ArrayClaim] = {}
        with self._opened() as archive:
            members = archive.infolist()
            if len(members) > MOST_ARRAYS:
                raise self._wrong(f"holds {len(members)} arrays, at most {MOST_ARRAYS} are read")
            total = 0
            for member in members:
                self._check_member(member)
                total += member.file_size
                if total > most:
                    raise self._wrong(f"claims more than {most} bytes: at most so many are read")
                self._claim(archive, member)

    def lacking(self, names: Iterable[str]) -> list[str]:
        """Return those of the given names for which the file has no array."""
        return [name for name in names if name not in self.claims]

    def load(self) -> dict[str, NDArray[Any]]:
        """Read all arrays, by name.

        Raises:
            FlexarmError: (of the type given to the constructor) the file is damaged.
        """
        found: dict[str, NDArray[Any]] = {}
        with self._opened() as archive:
            for name in self.claims:
                with archive.open(f"{name}.npy") as stream:
                    found[name] = np.lib.format.read_array(stream, allow_pickle=False)
                    if stream.read(1):
                        raise self._wrong(f"array '{name}' is longer than it claims")
        return found

    @contextmanager
    def _opened(self) -> Iterator[zipfile.ZipFile]:
        try:
            with self._file() as file, zipfile.ZipFile(file) as archive:
                yield archive
        except FlexarmError:
            raise
        except Exception as error:  # zipfile, zlib, NumPy and struct each raise their own types
            text = " ".join(str(error).split())[:200]
            raise self._wrong(f"cannot be read: {text or type(error).__name__}") from error

    def _file(self) -> BinaryIO:
        try:
            return open_regular(self._path, self._error)
        except self._error as error:
            raise self._wrong(str(error)) from error

    def _check_member(self, member: zipfile.ZipInfo) -> None:
        name = member.filename
        if not name.endswith(".npy") or name.removesuffix(".npy") in self.claims:
            raise self._wrong("holds something that is no array, or an array twice")
        if member.flag_bits & 0x1:
            raise self._wrong("is encrypted")
        if member.compress_type not in METHODS:
            raise self._wrong(f"array '{name}' is compressed by method {member.compress_type}, which is not known")

    def _claim(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> None:
        name = member.filename.removesuffix(".npy")
        with archive.open(member) as stream:
            version = np.lib.format.read_magic(stream)
            if version not in HEADS:
                raise self._wrong(f"array '{name}' has a head of version {version}, which is not known")
            shape, _, dtype = HEADS[version](stream)
            size = math.prod(shape) * dtype.itemsize
            if dtype.hasobject or dtype.kind not in "biufU":
                raise self._wrong(f"array '{name}' holds {dtype}, not numbers or text")
            if size != member.file_size - stream.tell():
                raise self._wrong(f"array '{name}' claims shape {shape} of {dtype}, which is not what is there")
        self.claims[name] = ArrayClaim(shape, dtype)

    def _wrong(self, message: str) -> FlexarmError:
        return self._error(f"{self._what} '{self._path}' {message}")
