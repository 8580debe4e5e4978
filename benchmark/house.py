"""The structure of the source, and whether what it does is unchanged: `house.py [--golden]`.

`--golden` compares the commands of every scenario with those recorded before the source was reordered (16 min).
"""

from __future__ import annotations

import argparse
import ast
import configparser
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import table

from flexarm_nodes.docs.parameters import PAGE
from flexarm_tools.metrics.figures import Figure, parse_goal

ROOT = Path(__file__).resolve().parents[1]
SOURCE, TESTS = ROOT / "src", ROOT / "test"
FEWEST_WORDS = 4  # a shorter description is counted as incomplete
LISTED = 0.7  # share of the executables that a file must name to be a list of them


def _trees(folder: Path) -> dict[str, ast.Module]:
    """The parsed modules of a folder by their dotted names."""
    return {
        ".".join(path.relative_to(folder).with_suffix("").parts): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
    }


def _code_lines(folder: Path) -> int:
    """Lines that hold code: no comment, docstring or empty line."""
    lines = 0
    for path in folder.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        silent = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                first = node.body[0] if node.body else None
                said = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
                if said and isinstance(first.value.value, str):
                    silent.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
        rows = enumerate(text.splitlines(), 1)
        lines += sum(k not in silent and bool(row.strip()) and not row.lstrip().startswith("#") for k, row in rows)
    return lines


def _kernels(trees: dict[str, ast.Module]) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Every compiled function of the source with its dotted name."""
    for module, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                marks = {mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)}
                if marks & {"kernel", "allocating_kernel", "inlined_kernel"}:
                    yield f"{module}.{node.name}", node


def size() -> list[Figure]:
    """Lines, modules and folders."""
    trees = _trees(SOURCE)
    named = [name for name in trees if not name.endswith("__init__")]
    folders = Counter(name.rpartition(".")[0] for name in named)
    largest, most = folders.most_common(1)[0]
    tests = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in TESTS.rglob("*.py"))
    return [
        Figure("source_lines", _code_lines(SOURCE), "1", parse_goal("<= 39000"), "lines of code in src/"),
        Figure("test_lines", tests, "1", parse_goal("<= 42000"), "lines of test/"),
        Figure("modules", len(named), "1", None, "Python modules in src/"),
        Figure("largest_folder", most, "1", parse_goal("<= 25"), f"modules of {largest}"),
    ]


def stages() -> list[Figure]:
    """What says "a stage", and where stages are listed."""
    trees = _trees(SOURCE)
    classes = [
        (module, node) for module, tree in trees.items() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    ]
    derived = {node.name for _, node in classes if any(getattr(base, "id", "") == "Stage" for base in node.bases)}
    records = {node.name: module for module, node in classes if "Stage" in node.name and node.name not in derived}
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    names = {line.split("=")[0].strip() for line in setup["options.entry_points"]["console_scripts"].splitlines()} - {
        ""
    }
    lists = {}
    for module, tree in trees.items():
        said = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        if len(said & names) >= LISTED * len(names):
            lists[module] = len(said & names)
    found = [
        f"{module}:{node.lineno}"
        for module, tree in trees.items()
        if module.startswith(("flexarm_core.pipeline", "flexarm_nodes.node.", "flexarm_nodes.control_loop"))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr" and "stage" in ast.unparse(node)
    ]
    return [
        Figure("stage_records", len(records), "1", parse_goal("<= 4"), "classes about any stage", details=records),
        Figure("stage_lists", len(lists), "1", parse_goal("== 1"), "modules that list the nodes", details=lists),
        Figure(
            "getattr_stages", len(found), "1", parse_goal("== 0"), "optional members of stages", details={"at": found}
        ),
    ]


def kernels() -> list[Figure]:
    """How compiled functions get their data."""
    found = dict(_kernels(_trees(SOURCE)))
    counts = {name: len(node.args.args) for name, node in found.items()}
    most = max(counts, key=lambda name: counts[name])
    many = {name: count for name, count in sorted(counts.items(), key=lambda one: -one[1]) if count > 6}
    views = [name for name in found if name.rpartition(".")[2].lstrip("_").startswith("view")]
    return [
        Figure(
            "kernel_positional_arguments", counts[most], "1", parse_goal("<= 6"),
            f"of {most}; {len(many)} of {len(found)} kernels have more than 6",
        ),
        Figure(
            "hand_written_views", len(views), "1", parse_goal("== 0"), "of memory", details={"all": ", ".join(views)}
        ),
    ]  # fmt: skip


def circles() -> list[Figure]:
    """Rooms that import each other, and whether one rule for inputs holds in both kinds of process, by their tests."""
    figures = []
    for name, test, meaning in (
        ("circles", "test_imports.py::test_rooms_import_one_way", "tests of the imports between rooms that fail"),
        (
            "rule_differences",
            "nodes/test_input_rules.py",
            "tests of the rules for inputs, on a node and composed, that fail",
        ),
    ):
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS / test)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        failed = sum(line.startswith(("FAILED", "ERROR")) for line in done.stdout.splitlines())
        failed += done.returncode not in (0, 1)
        figures.append(Figure(name, failed, "1", parse_goal("== 0"), meaning))
    return figures


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
    measures: list[Callable[[], Iterable[Figure]]] = [size, stages, kernels, circles, parameters]
    return table.run("house", [*measures, golden] if options.golden else measures)


if __name__ == "__main__":
    sys.exit(main())
