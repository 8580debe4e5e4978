"""Paths of files from URIs."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlparse
from xml.sax.saxutils import unescape

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


def find_mesh(uri: str, file: Path | None) -> Path:
    """Return the file of a mesh: of the environment, in a folder above the description's file, or beside it.

    The folder of a package may have another name. ``..`` does not lead out of a package.

    Args:
        uri: URI, absolute path, or path beside the description.
        file: file of the description; None: only the environment is searched.

    Raises:
        RobotDescriptionError: it is not found.
    """
    try:
        return resolve_uri(uri)
    except (RobotDescriptionError, ImportError):  # no ROS, or not in its environment
        package, _, path = uri.removeprefix("package://").partition("/")
        if file is not None and not uri.startswith("package://") and "://" not in uri:
            beside = file.resolve().parent / uri
            if beside.is_file():
                return beside.resolve()
        elif file is not None and uri.startswith("package://") and ".." not in Path(uri).parts:
            for folder in sorted(file.resolve().parents, key=lambda folder: folder.name != package):
                if (folder / path).is_file():
                    return folder / path
        raise


def with_own_meshes(text: str, file: Path) -> str:
    """Return a description for another folder: meshes that are found only from its own are named by their paths."""

    def named(match: re.Match[str]) -> str:
        uri = unescape(match[2])
        try:
            resolve_uri(uri)
        except (RobotDescriptionError, ImportError):
            try:
                return f'filename="{find_mesh(uri, file).resolve().as_uri()}"'
            except (RobotDescriptionError, ImportError, OSError):
                pass
        return match[0]

    return re.sub(r"""\bfilename\s*=\s*(["'])(.+?)\1""", named, text)
