"""ROS packages as scenario files name them: where their files lie and which executables they have."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

PREFIX = "package://"


class Packages(Protocol):
    """What a scenario needs to know of installed packages."""

    def share(self, package: str) -> Path | None:
        """Share folder of a package, None where it is not installed."""

    def executables(self, package: str) -> tuple[str, ...] | None:
        """Executables of a package, None where they are not known (they are then not checked)."""


class AmentPackages:
    """Packages of the sourced ROS 2 environment."""

    def share(self, package: str) -> Path | None:
        """Share folder of a package, None where it is not installed or no ROS 2 environment is sourced."""
        prefix = _prefix(package)
        return prefix / "share" / package if prefix else None

    def executables(self, package: str) -> tuple[str, ...] | None:
        """Names in ``lib/PACKAGE``, None where the package is not installed."""
        prefix = _prefix(package)
        folder = prefix / "lib" / package if prefix else None
        if folder is None or not folder.is_dir():
            return None
        return tuple(sorted(path.name for path in folder.iterdir() if path.is_file()))


class SourcePackages:
    """Packages that are used from their source folders, as in tests and benchmarks without an installation."""

    def __init__(self, folders: dict[str, Path]) -> None:
        """Take the folder of each package by name."""
        self._folders = folders

    def share(self, package: str) -> Path | None:
        """Source folder of a package."""
        return self._folders.get(package)

    def executables(self, package: str) -> tuple[str, ...] | None:
        """Not known from sources."""
        return None


def resolve(uri: str, folder: Path, packages: Packages) -> tuple[Path, str]:
    """File that a scenario names.

    Args:
        uri: ``package://PACKAGE/PATH``, or a path relative to ``folder``.
        folder: folder of the file that names it.
        packages: where packages lie.

    Returns:
        The path, and what is wrong with it; the latter is empty where the file is there.
    """
    path = folder / uri
    if uri.startswith(PREFIX):
        package, _, rest = uri[len(PREFIX) :].partition("/")
        if not package or not rest:
            return path, f"'{uri}' is not of the form package://PACKAGE/PATH"
        share = packages.share(package)
        if share is None:
            return path, f"package '{package}' is not installed, or its ROS 2 environment is not sourced"
        path = share / rest
    elif "://" in uri:
        return path, f"'{uri}': only package:// and plain paths are known"
    try:
        found = path.is_file()
    except OSError:  # a name that is too long
        found = False
    return path, "" if found else f"file '{str(path)[:200]}' does not exist"


def _prefix(package: str) -> Path | None:
    try:
        from ament_index_python.packages import PackageNotFoundError, get_package_prefix
    except ImportError:
        return None
    try:
        return Path(get_package_prefix(package))
    except (PackageNotFoundError, OSError, ValueError):  # unknown, no AMENT_PREFIX_PATH, not a package name
        return None
