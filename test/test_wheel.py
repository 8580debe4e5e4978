"""What `pip install .` gives: the wheel's files, and that a user's script is type-checked against it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import flexarm_core

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "mypy_cache" / "user"  # what mypy has found of other libraries
PACKAGES = ("flexarm_core", "flexarm_sim", "flexarm_nodes", "flexarm_tools")
SCRIPT = """\
from flexarm_core import ArmModel, RobotDescriptionError, __version__, load_robot_description

model = ArmModel(load_robot_description("arm.urdf"))
reveal_type(model)
reveal_type(__version__)
try:
    ArmModel(7)
except RobotDescriptionError as error:
    reveal_type(error.joint)
from flexarm_core import ArmModle
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The unpacked wheel, built from a copy, as setuptools writes beside the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "copy"
    for name in ("flexarm_core", "flexarm_sim"):
        shutil.copytree(ROOT / "src" / name, copy / "src" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "package.xml", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    build = "from setuptools.build_meta import build_wheel; build_wheel('..')"
    done = subprocess.run([sys.executable, "-c", build], cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (file,) = folder.glob("*.whl")
    with zipfile.ZipFile(file) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_holds_all_modules_of_the_core_and_the_plant_and_says_that_they_are_typed(wheel):
    wanted = {
        path.relative_to(ROOT / "src").as_posix()
        for name in ("flexarm_core", "flexarm_sim")
        for path in (ROOT / "src" / name).rglob("*")
        if path.suffix == ".py" or path.name == "py.typed"
    }
    found = {path.relative_to(wheel).as_posix() for path in wheel.rglob("*") if path.is_file()}
    assert {"flexarm_core/py.typed", "flexarm_sim/py.typed"} <= wanted
    assert {path for path in found if ".dist-info/" not in path} == wanted


def test_the_version_of_the_wheel_is_that_of_the_manifest(wheel):
    (info,) = wheel.glob("flexarm-*.dist-info")
    assert info.name == f"flexarm-{flexarm_core.__version__}.dist-info"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_as_built_for_ros_says_that_it_is_typed(package):
    specification = importlib.util.find_spec(package)
    assert specification is not None and specification.origin is not None
    assert (Path(specification.origin).parent / "py.typed").is_file()


def test_a_script_of_a_user_is_checked_against_the_front_door(wheel, tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed: setup/requirements-dev.txt")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", KEPT, script]
    environment = {**os.environ, "PYTHONPATH": str(wheel)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    lines = [line.removeprefix("script.py:") for line in done.stdout.splitlines()[:-1]]
    assert lines == [
        '4: note: Revealed type is "flexarm_core.robot.arm_model.ArmModel"',
        '5: note: Revealed type is "str"',
        '7: error: Argument 1 to "ArmModel" has incompatible type "int"; expected "RobotDescription | str"  [arg-type]',
        '9: note: Revealed type is "str"',
        '10: error: Module "flexarm_core" has no attribute "ArmModle"; maybe "ArmModel"?  [attr-defined]',
    ], done.stdout + done.stderr
