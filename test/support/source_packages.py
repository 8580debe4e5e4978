"""Packages used from their source folders, without an installation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any


class SourcePackages:
    """Packages in folders that are given by name."""

    def __init__(self, folders: dict[str, Path]) -> None:
        self._folders = folders

    def share(self, package: str) -> Path | None:
        return self._folders.get(package)

    def executables(self, package: str) -> tuple[str, ...] | None:
        return None  # not known from the sources

    def parameters(self, package: str, executable: str, given: Mapping[str, Any]) -> Collection[str]:
        return ()  # any: tests of what a file says name their own
