"""What is installed is pinned and hashed, and nothing is installed past the lock."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SETUP = Path(__file__).resolve().parents[1] / "setup"
sys.path.insert(0, str(SETUP))

import lock  # noqa: E402
import missing_requirements  # noqa: E402

REQUIREMENTS = sorted(SETUP.glob("requirements*.txt"))
PINS, BESIDE = lock.read_lock(), lock.read_lock(lock.BESIDE_NUMPY_1)
BUILDERS = {"pip", "setuptools", "wheel"}


def required() -> dict[str, str]:
    lines = "\n".join(path.read_text() for path in REQUIREMENTS)
    found = re.findall(r"^([A-Za-z0-9_.-]+)(?:\[\w+\])?==(\S+)", lines, re.MULTILINE)
    return {lock.normalized(name): version for name, version in found}


def test_every_package_of_the_lock_has_hashes_and_is_there_for_a_reason():
    assert len(PINS) > 200 and len(required()) > 60
    for pin in (*PINS.values(), *BESIDE.values()):
        assert re.findall(r"--hash=sha256:[0-9a-f]{64}", pin.text), pin.name
        assert pin.text.count("--hash=") == len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", pin.text))
    reached = {pin.name for pin in lock.with_needs(PINS, {*required(), *BUILDERS})}
    assert reached == set(PINS)


def test_the_lock_is_of_the_requirements():
    assert {name: PINS[name].version for name in required()} == required()
    beside = lock.merged(PINS, BESIDE)
    assert beside["pin"].version == "2.7.0" and beside["cmeel-boost"].version != PINS["cmeel-boost"].version
    needs = {pin.name for pin in lock.with_needs(beside, ["pin"])}
    assert needs >= {"cmeel", "cmeel-console-bridge", "eigenpy", "hpp-fcl"} and not needs & {"libpinocchio", "coal"}
    older = re.findall(r"beside numpy 1: (\S+)==(\S+)", (SETUP / "requirements.txt").read_text())
    assert older and all(BESIDE[name].version == version for name, version in older)


def test_whatever_pip_installs_is_checked_by_hashes_and_comes_from_one_index():
    text = (SETUP / "setup.sh").read_text()
    installs = [line for line in text.splitlines() if re.search(r"\bpip\S* (install|download|wheel)\b", line)]
    assert len(installs) == 1 and "--require-hashes" in installs[0]
    assert "--index-url ${PIP_INDEX_URL:-https://pypi.org/simple}" in text and "--extra-index-url" not in text


def test_beside_a_ros_2_installation_only_what_does_not_import_is_added_with_what_it_needs():
    lines = "json_there==1.0  # import json\nmcap==1.0  # import no_such_module\nnumpy==2.0  # import no_such_module\n"
    found = {pin.name for pin in missing_requirements.missing(PINS, [lines], ["colcon-core"])}
    there = {name for name in PINS if missing_requirements.installed(name) == PINS[name].version}
    needs = {pin.name for pin in lock.with_needs(PINS, ["mcap", "colcon-core"])}
    assert needs >= {"mcap", "lz4", "zstandard", "colcon-core", "empy"}
    assert found == needs - there - {"numpy"}
    with pytest.raises(SystemExit, match="not in the lock: no-such-package"):
        missing_requirements.missing(PINS, [], ["no_such_package"])


def test_a_part_of_the_lock_is_printed_with_its_hashes():
    asked = [sys.executable, str(SETUP / "lock.py"), str(SETUP / "constraints.txt"), "wheel"]
    printed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^([a-z-]+)==", printed, re.MULTILINE) == ["packaging", "wheel"]
    assert printed == PINS["packaging"].text + PINS["wheel"].text
