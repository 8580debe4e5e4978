"""A package of someone else, as pip leaves it: one module with one entry point."""

from __future__ import annotations

import os
from pathlib import Path


def install_package(folder: Path, monkeypatch, code: str, group: str, entry: str) -> None:
    """Lay a module 'other' where processes that are started from now on find it, with an entry point.

    Args:
        folder: an empty folder.
        monkeypatch: pytest's, which takes the package away again.
        code: what the module holds.
        group: group of the entry point, as ``flexarm.behaviors``.
        entry: the entry point, as ``wind = other:Wind``.
    """
    package = folder / "site"
    info = package / "other-1.0.dist-info"
    info.mkdir(parents=True)
    (package / "other.py").write_text(code, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", f"{package}:{os.environ.get('PYTHONPATH', '')}")
