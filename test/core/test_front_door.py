"""The front door: what `flexarm_core` itself offers, when it is loaded, and that the page lists it."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pytest

import flexarm_core

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "flexarm_core" / "__init__.py"


@pytest.mark.parametrize("name", flexarm_core.__all__)
def test_a_name_of_the_front_door_is_that_of_its_module(name):
    found = getattr(flexarm_core, name)
    assert found.__name__ == name
    assert found is getattr(importlib.import_module(found.__module__), name)


def test_type_checkers_see_the_same_names_in_the_same_modules():
    seen = {
        alias.asname: node.module
        for node in ast.walk(ast.parse(SOURCE.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("flexarm_core.")
        for alias in node.names
    }
    assert seen == {name: getattr(flexarm_core, name).__module__ for name in flexarm_core.__all__}


def test_importing_the_package_alone_loads_nothing_heavy():
    code = "import sys, flexarm_core; dir(flexarm_core); print(*{name.split('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "flexarm_core" in loaded
    assert not {"numba", "pinocchio", "numpy", "scipy"} & set(loaded)


def test_an_unknown_name_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match="no attribute 'ArmModle'"):
        flexarm_core.ArmModle  # noqa: B018
    assert {"ArmModel", "__version__"} <= set(dir(flexarm_core))


def test_the_page_lists_each_name_and_no_other():
    rows = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(set(listed) | {"FlexarmError"}) == flexarm_core.__all__
    assert "`FlexarmError`" in PAGE


@pytest.mark.parametrize("page", ["docs/library.md", "README.md"])
def test_the_example_finds_joints_for_the_pose_that_it_asks_for(monkeypatch, page):
    monkeypatch.chdir(ROOT)
    (example,) = re.findall(
        r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    names: dict[str, object] = {}
    exec(example, names)
    found, chain = names["found"], names["solver"].chain
    assert found.success
    assert np.allclose(chain.pose(found.position)[0], names["position"], atol=1e-4)


def test_the_version_is_that_of_the_manifest():
    manifest = (ROOT / "package.xml").read_text(encoding="utf-8")
    assert f"<version>{flexarm_core.__version__}</version>" in manifest


def test_without_an_installation_there_is_no_version(monkeypatch):
    def nothing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", nothing)
    monkeypatch.delattr(flexarm_core, "__version__", raising=False)
    with pytest.raises(AttributeError, match="not installed: run `pip install .`"):
        flexarm_core.__version__  # noqa: B018
