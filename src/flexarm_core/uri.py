"""Paths of files from URIs."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlparse

from flexarm_core.errors import RobotDescriptionError, quoted


def resolve_uri(uri: str) -> Path:
    """Convert a ``package://`` or ``file://`` URI, or an absolute path, to the path of the file.

    Raises:
        RobotDescriptionError: another scheme, a package that is not in the environment, a path that leads out of the
            package, or a relative path.
    """
    try:
        parts = urlparse(uri)
    except ValueError as error:  # brackets that are no address
        raise RobotDescriptionError(f"{quoted(uri)} is not a URI: {quoted(str(error))}") from error
    path = Path(unquote(parts.path))
    if parts.scheme == "package":
        from ament_index_python.packages import PackageNotFoundError, get_package_share_directory  # only where needed

        if ".." in path.parts:
            raise RobotDescriptionError(f"{quoted(uri)} leads out of package {quoted(parts.netloc)}")
        try:
            return Path(get_package_share_directory(parts.netloc)) / str(path).lstrip("/")
        except (PackageNotFoundError, ValueError) as error:
            package = quoted(parts.netloc)
            raise RobotDescriptionError(f"{quoted(uri)}: package {package} is not in the environment") from error
    if parts.scheme not in ("file", "") or not path.is_absolute():
        raise RobotDescriptionError(f"{quoted(uri)} is not a package:// or file:// URI or an absolute path")
    return path
