"""ROS packages to which scenario files refer: their share folders and executables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol

PREFIX = "package://"


class Packages(Protocol):
    """Information about installed packages that a scenario needs."""

    def share(self, package: str) -> Path | None:
        """Return the share folder of a package, None if it is not installed."""

    def executables(self, package: str) -> tuple[str, ...] | None:
        """Return the executables of a package, None if they are unknown (they are then not checked)."""

    def parameters(self, package: str, executable: str, given: Mapping[str, Any]) -> Collection[str]:
        """Return the parameters that a node has beside given ones; none if they are unknown (they are not checked)."""


class AmentPackages:
    """Packages of the sourced ROS 2 environment."""

    def share(self, package: str) -> Path | None:
        """Return the share folder of a package, None if it is not installed or no ROS 2 environment is sourced."""
        prefix = _prefix(package)
        return prefix / "share" / package if prefix else None

    def executables(self, package: str) -> tuple[str, ...] | None:
        """Return the file names in ``lib/PACKAGE``, None if the package is not installed."""
        prefix = _prefix(package)
        folder = prefix / "lib" / package if prefix else None
        if folder is None or not folder.is_dir():
            return None
        return tuple(sorted(path.name for path in folder.iterdir() if path.is_file()))

    def parameters(self, package: str, executable: str, given: Mapping[str, Any]) -> Collection[str]:
        """Return the parameters of a node of the suite; none of one of another package."""
        from flexarm_tools.graph.parameter_names import parameter_names  # loads every stage

        return parameter_names(executable, given) if package == "flexarm" else ()


def resolve(uri: str, folder: Path, packages: Packages) -> tuple[Path, str]:
    """Resolve the path of a file to which a scenario refers.

    Args:
        uri: ``package://PACKAGE/PATH``, or a path relative to ``folder``.
        folder: folder of the file that contains the reference.
        packages: locates ROS packages.

    Returns:
        The path, and an error text that is empty if the file exists.
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
    except OSError:  # the name is too long
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
