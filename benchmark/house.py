"""The structure of the source, and whether what it does is unchanged: `house.py [--golden]`.

`--golden` compares the commands of every scenario with those recorded before the source was reordered (16 min).
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import table

from flexarm_nodes.docs.parameters import PAGE
from flexarm_tools.metrics.figures import Figure, parse_goal

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
BEFORE = 53000  # lines of the source when it was decided to make it smaller
SMALL = 60  # lines below which a module with a single user should join it
EXCEPTIONS = {  # small modules with a single user that are a concept of their own, and why
    "flexarm_core.behavior_impedance.behaviors.posture": "one kind of behavior; every kind has a module of its own",
    "flexarm_core.behavior_impedance.set_point": "where the tool is to be: one step of the law, written as an equation",
    "flexarm_core.path.joint_stop": "one law of motion, like the others in its folder; its user is a node",
    "flexarm_core.pipeline.reference_stage": "one stage; every stage has a module of its own, which knows no ROS",
    "flexarm_nodes.node.companions": "the rule of what a joint state waits for, with tests of its own",
    "flexarm_nodes.node.joint_commands": "how another package's hardware interface writes commands",
    "flexarm_nodes.node.tick_times": "a histogram, which knows nothing of the loop whose ticks it counts",
    "flexarm_tools.commands.calibrate": "one command; every command has a module of its own",
    "flexarm_tools.commands.check": "one command; every command has a module of its own",
    "flexarm_tools.commands.demo": "one command; every command has a module of its own",
    "flexarm_tools.commands.map": "one command; every command has a module of its own",
    "flexarm_tools.commands.record": "one command; every command has a module of its own",
    "flexarm_tools.commands.replay": "one command; every command has a module of its own",
    "flexarm_tools.commands.schema": "one command; every command has a module of its own",
    "flexarm_tools.commands.view": "one command; every command has a module of its own",
    "flexarm_tools.metrics.behavior": "one group of metrics; every group has a module of its own",
}
FEWEST_WORDS = 4  # a shorter description is counted as incomplete


def _modules() -> dict[str, Path]:
    return {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}


def _lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def _users(house: dict[str, Path]) -> Counter[str]:
    """How many modules of the house import each module."""
    users: Counter[str] = Counter()
    for name, path in house.items():
        used = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                within = [f"{node.module}.{alias.name}" for alias in node.names]
                used |= {one if one in house else node.module for one in within}
        users.update(used & house.keys() - {name})
    return users


def structure() -> list[Figure]:
    """Lines, modules, folders, and small modules that have a single user.

    Raises:
        ValueError: an exception is not, or no longer, a small module with a single user.
    """
    house = _modules()
    users = _users(house)
    named = {name: path for name, path in house.items() if path.name != "__init__.py"}
    lines = sum(_lines(path) for path in house.values())
    folders = Counter(name.rpartition(".")[0] for name in named)
    largest, most = folders.most_common(1)[0]
    small = {name: _lines(path) for name, path in named.items() if users[name] == 1 and _lines(path) < SMALL}
    if rotten := sorted(EXCEPTIONS.keys() - small.keys()):
        raise ValueError(f"EXCEPTIONS lists what is no small module with a single user: {', '.join(rotten)}")
    counted = {name: found for name, found in small.items() if name not in EXCEPTIONS}
    details = {name: str(found) for name, found in sorted(counted.items())}
    details |= {name: f"{small[name]}, excepted: {reason}" for name, reason in EXCEPTIONS.items()}
    return [
        Figure("source_lines", lines, "1", parse_goal(f"<= {BEFORE - 6000}"), "lines of src/"),
        Figure("modules", len(named), "1", None, "Python modules in src/"),
        Figure("largest_folder", most, "1", parse_goal("<= 25"), f"modules of {largest}"),
        Figure(
            "single_user_modules", len(counted), "1", parse_goal("== 0"),
            f"modules below {SMALL} lines that one other module imports, but for {len(EXCEPTIONS)} exceptions",
            details=details,
        ),
    ]  # fmt: skip


def parameters() -> list[Figure]:
    """Count the descriptions that can stand alone, by their words: a coarse check, which does not read them."""
    rows = {(node, row.name): row.description for node, rows in PAGE.items() for row in rows}
    weak = {f"{node}.{name}": text for (node, name), text in rows.items() if not _stands_alone(text)}
    return [
        Figure(
            "parameters_described", len(rows) - len(weak), "1", parse_goal(f">= {len(rows)}"),
            f"of {len(rows)} descriptions have {FEWEST_WORDS} words or more and do not refer to another row",
            details=dict(list(weak.items())[:200]),
        )
    ]  # fmt: skip


def _stands_alone(text: str) -> bool:
    words = text.split()
    pointers = {"likewise", "ditto", "same", "this", "these", "it", "its", "them", "those"}
    return len(words) >= FEWEST_WORDS and words[0].lower().rstrip(":,") not in pointers and "likewise" not in text


def golden() -> list[Figure]:
    """Commands of every scenario, separate and composed, beside those that were recorded."""
    command = [sys.executable, str(ROOT / "benchmark" / "golden.py"), "compare"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    values = dict(line.split() for line in done.stdout.splitlines() if len(line.split()) == 2)
    return [
        Figure("golden_scenarios", float(values["golden_scenarios"]), "1", parse_goal(">= 68"), "scenarios compared"),
        Figure(
            "golden_worst_difference", float(values["golden_worst_difference"]), "1", parse_goal("<= 1e-12"),
            "of positions, velocities, efforts and references from what was recorded",
        ),
    ]  # fmt: skip


def main() -> int:
    """Print the figures; the exit status is 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--golden", action="store_true", help="compare every scenario with what was recorded")
    options = parser.parse_args()
    measures: list[Callable[[], Iterable[Figure]]] = [structure, parameters]
    return table.run("house", [*measures, golden] if options.golden else measures)


if __name__ == "__main__":
    sys.exit(main())
