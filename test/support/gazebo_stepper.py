"""Gazebo's parts, sdformat and gz-physics with DART, driven from Python through the program in test/gazebo."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "test" / "gazebo" / "stepper.cpp"
BUILT = ROOT / "build" / "gazebo" / "stepper"
PACKAGES = ("sdformat12", "ignition-physics5", "ignition-physics5-sdf", "ignition-plugin1-loader")
PLUGINS = "ign-physics-5/engine-plugins/libignition-physics5-dartsim-plugin.so"
DEBIAN = "libsdformat-dev libignition-physics-sdf-dev libignition-physics5-dartsim-plugin5 libeigen3-dev"


def missing() -> str:
    """Why Gazebo's parts cannot be used here; empty if they can."""
    if not shutil.which("g++") or not shutil.which("pkg-config"):
        return "no g++ or no pkg-config"
    found = subprocess.run(["pkg-config", "--exists", *PACKAGES], check=False)
    if found.returncode or plugin() is None:
        return f"sdformat 12 and gz-physics 5 with DART are not installed (Debian 12: apt-get install {DEBIAN})"
    return ""


@functools.cache
def plugin() -> Path | None:
    """The DART plugin of gz-physics."""
    return next((path for path in Path("/usr/lib").glob(f"*/{PLUGINS}*") if path.is_file()), None)


@functools.cache
def stepper() -> Path:
    """The compiled program."""
    if not BUILT.exists() or BUILT.stat().st_mtime < SOURCE.stat().st_mtime:
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", *PACKAGES], check=True, capture_output=True, text=True
        ).stdout.split()
        BUILT.parent.mkdir(parents=True, exist_ok=True)
        own = BUILT.with_suffix(f".{os.getpid()}")  # another process may do the same
        subprocess.run(["g++", "-std=c++17", "-O1", "-w", str(SOURCE), "-o", str(own), *flags], check=True)
        own.replace(BUILT)
    return BUILT


class GazeboRun:
    """A world that is stepped; use it in a ``with`` statement."""

    def __init__(self, models: Iterable[str], step: float = 0.0005, gravity: Sequence[float] = (0.0, 0.0, -9.81)):
        """Load SDF models into an empty world.

        Raises:
            RuntimeError: sdformat or gz-physics refuses something; the message is theirs.
        """
        sdf = ElementTree.Element("sdf", {"version": "1.9"})
        world = ElementTree.SubElement(sdf, "world", {"name": "flexarm"})
        physics = ElementTree.SubElement(world, "physics", {"name": "steps", "type": "ignored"})
        ElementTree.SubElement(physics, "max_step_size").text = repr(step)
        ElementTree.SubElement(world, "gravity").text = " ".join(map(repr, gravity))
        for model in models:
            world.append(ElementTree.fromstring(model).find("model"))
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name) / "world.sdf"
        path.write_text(ElementTree.tostring(sdf, encoding="unicode"), encoding="utf-8")
        self._errors = (Path(self._folder.name) / "errors").open("w+")
        self._process = subprocess.Popen(
            [stepper(), path, plugin()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        self.step = step
        self._watched: tuple[str, ...] = ()
        self.joints = tuple(self._ask("joints")[0].split())

    def __enter__(self) -> GazeboRun:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait(10.0)
        self._process.stdout.close()
        self._errors.close()
        self._folder.cleanup()

    @property
    def said(self) -> str:
        """What sdformat and gz-physics complained about."""
        self._errors.seek(0)
        return self._errors.read()

    def set(self, positions: dict[str, float], velocities: dict[str, float] | None = None) -> None:
        """Put joints somewhere."""
        for name, value in positions.items():
            self._ask(f"set {name} {value!r} {(velocities or {}).get(name, 0.0)!r}")

    def hold(self, names: Iterable[str]) -> None:
        """Let joints stand, as gz_ros2_control does while nobody commands them."""
        for name in names:
            self._ask(f"hold {name}")

    def effort(self, efforts: dict[str, float]) -> None:
        """Motor efforts from now on."""
        for name, value in efforts.items():
            self._ask(f"effort {name} {float(value)!r}")

    def watch(self, *joints: str) -> None:
        """Joints whose wrench is read."""
        self._watched = joints
        self._ask(" ".join(("watch", *joints)))

    def where(self, link: str) -> np.ndarray:
        """Position (3,) of a link's origin in the world."""
        return np.fromstring(self._ask(f"where {link}")[0], sep=" ")

    def run(self, duration: float, every: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Step on; return positions and velocities (t, joints) and wrenches (t, watched, 6).

        A wrench is what the child side exerts on the parent side, as the sensors are told to measure.
        """
        lines = self._ask(f"run {round(duration / self.step)} {every}")
        values, n = np.array([np.fromstring(line, sep=" ") for line in lines]), len(self.joints)
        return values[:, :n], values[:, n : 2 * n], -values[:, 2 * n :].reshape(len(values), len(self._watched), 6)

    def _ask(self, command: str) -> list[str]:
        try:
            self._process.stdin.write(command + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise RuntimeError(self.said) from error
        lines = []
        for line in self._process.stdout:
            if line.startswith(("ok", "error")):
                if line.startswith("error"):
                    raise RuntimeError(line)
                return lines
            lines.append(line)
        raise RuntimeError(self.said or "the program died")
