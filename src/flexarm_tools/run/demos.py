"""The studies of the suite, which `flexarm demo` runs."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from flexarm_core.errors import ConfigError
from flexarm_tools.graph.packages import AmentPackages, resolve
from flexarm_tools.yaml_file.document import nearest

DEMO_FILES = "config/*/demo_*.yaml"
TICK_TIME = 8e-3  # [s] that a tick takes of nodes on two cores, reports included


def demo_file(name: str) -> Path:
    """Return the study file of a demo.

    Raises:
        ConfigError: there is no such demo; the message lists the available demos.
    """
    known = demo_files()
    if name not in known:
        raise ConfigError(f"there is no demo '{name}'; {nearest(name, known)}demos: {', '.join(known)}")
    return known[name]


def demo_files() -> dict[str, Path]:
    """Return the study files of all demos by name."""
    found = _share().glob(DEMO_FILES)
    return {path.stem.removeprefix("demo_"): path for path in sorted(found, key=lambda path: path.stem)}


def list_demos() -> str:
    """List all demos: name, title, number of runs and minutes, and the first sentence of their description."""
    known, lines = demo_files(), []
    width = max(map(len, known))
    for name, path in known.items():
        study = yaml.safe_load(path.read_text(encoding="utf-8"))
        files = [resolve(uri, path.parent, AmentPackages())[0] for uri in study["runs"].values()]
        minutes = max(1, round(sum(map(_ticks, files)) * TICK_TIME / 60.0))
        lines += [
            f"{name:<{width}}  {study['title']} ({len(files)} runs, about {minutes} min)",
            f"{'':<{width}}  {study['description'].partition('. ')[0]}.",
        ]
    return "\n".join(lines)


def _ticks(path: Path) -> float:
    """Return how many ticks a scenario of a demo has, without reading all of it."""
    given: dict[str, str] = {"rate": "1000.0"}
    files = [path.read_text(encoding="utf-8")]
    while base := re.search(r"^base: (\S+)", files[-1], re.MULTILINE):
        files.append((path.parent / base[1]).read_text(encoding="utf-8"))
    for text in reversed(files):
        given |= dict(re.findall(r"^(rate|duration): ([\d.]+)", text, re.MULTILINE))
    return float(given["rate"]) * float(given["duration"])


def _share() -> Path:
    share = AmentPackages().share("flexarm")
    if share is None:
        raise ConfigError("package flexarm is not in the sourced environment: source its install/setup.bash")
    return share
