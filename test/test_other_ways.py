"""Ways to install flexarm that cannot be tried here: what is known of them is read from their files."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("file", ["Dockerfile", ".github/workflows/ros.yaml", "docs/start.md", "README.md"])
def test_pip_is_there_before_rosdep_wants_it(file):
    """Images of ROS 2 have no pip, and rosdep ends ("pip is not installed") at the first key that PyPI alone has."""
    assert "-pip</" in (ROOT / "package.xml").read_text(encoding="utf-8")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert 0 < text.find("python3-pip") < text.index("rosdep install")


@pytest.mark.skipif(shutil.which("dash") is None, reason="no dash here: see the images of ROS 2")
def test_the_editors_container_builds_in_a_shell_that_has_source(tmp_path):
    """A command that is one string is given to ``/bin/sh -c``, which is dash in the images of ROS 2."""
    given = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))["postCreateCommand"]
    command = [word.replace("/workspace", str(tmp_path)) for word in ([given] if isinstance(given, str) else given)]
    for name, text in (
        ("opt/ros/jazzy/setup.bash", "export BUILT=yes"),
        ("colcon", '#!/bin/sh\necho "$BUILT $*" > done'),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    command = [word.replace("/opt/ros", str(tmp_path / "opt/ros")) for word in command]
    environment = {"ROS_DISTRO": "jazzy", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(["dash", "-c", *command] if isinstance(given, str) else command, env=environment, check=True)
    assert (tmp_path / "done").read_text() == "yes build --symlink-install\n"
