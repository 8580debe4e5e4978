"""Plants defects in a copy of the source, one at a time, and looks whether campaign or tests notice: `mutations.py`.

What notices a defect must hold without it, which is tried first. Each defect is an exact replacement (`planted.py`):
one whose text is no longer there is an error. The exit status is 0 only if every defect is caught.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from planted import PLANTED, Planted

ROOT = Path(__file__).resolve().parents[1]
FLOORS = ("flexarm_core", "flexarm_sim", "flexarm_nodes", "flexarm_tools")
SEED, CASES, NODE_CASES = 5, 8, 2  # of a short campaign
LONGEST = 240.0  # [s] that a command may take
COLUMNS = ("name", "file", "catch", "verdict", "seconds", "words")
HOLDS, CATCHES, ERRS = "holds", "catches", "errs"


class Copy:
    """A copy of the source with its compiled kernels, that stands before the real one on Python's path."""

    def __init__(self, folder: Path) -> None:
        """Copy the source into a folder."""
        self._folder = folder
        for floor in FLOORS:
            shutil.copytree(_installed(floor), folder / floor)  # with time stamps: the machine code stays valid
        (folder / "local_setup.bash").write_text(f"export PYTHONPATH={folder}:$PYTHONPATH\n", encoding="utf-8")

    def plant(self, one: Planted) -> None:
        """Plant a defect; machine code that contains the old text is removed.

        Raises:
            ValueError: the text does not stand there exactly once.
        """
        file = self._folder / one.file
        text = file.read_text(encoding="utf-8")
        if text.count(one.old) != 1:
            raise ValueError(f"stands {text.count(one.old)} times in {one.file}, expected once: {one.old}")
        file.write_text(text.replace(one.old, one.new), encoding="utf-8")
        if _is_compiled(text, text[: text.index(one.old)].count("\n") + 1):
            for user in self._users(file):
                for code in (user.parent / "__pycache__").glob(f"{user.stem}.*.nb?"):
                    code.unlink()

    def _users(self, file: Path) -> set[Path]:
        """Return a file and all that import it, directly or not: their machine code may contain its functions."""
        imports = {path: _imports(path) for floor in FLOORS for path in (self._folder / floor).rglob("*.py")}
        found, new = {file}, {file}
        while new:
            names = {".".join(path.relative_to(self._folder).with_suffix("").parts) for path in new}
            new = {path for path, used in imports.items() if used & names} - found
            found |= new
        return found

    def run(self, catch: str) -> tuple[str, str]:
        """Run what is to notice a defect; return whether it HOLDS, CATCHES or ERRS, and its last words."""
        command = _command(catch)
        environment = os.environ | {"FLEXARM_OVERLAY": str(self._folder), "OPENBLAS_NUM_THREADS": "1"}
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
            )
        except subprocess.TimeoutExpired:
            return ERRS, f"does not end within {LONGEST:.0f} s"
        words = (done.stdout + done.stderr).strip().splitlines() or [""]
        if "::" in catch or catch.startswith("test/"):
            # pytest: 0 passed, 1 some failed; anything else is no verdict
            verdict = {0: HOLDS, 1: CATCHES}.get(done.returncode, ERRS)
            return verdict, next((line for line in words if line.startswith(("FAILED", "ERROR"))), words[-1])
        try:
            found = json.loads(done.stdout)
        except ValueError:
            return CATCHES if "Traceback" in done.stderr else ERRS, words[-1]
        missed = next(iter(found["missed"]), "")
        return (CATCHES if done.returncode else HOLDS), missed.partition("MISSED: ")[2] or words[-1]


def _is_compiled(text: str, line: int) -> bool:
    """Return whether machine code may contain a line: of a compiled function, or a constant beside one."""
    functions = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
    kernels = [node for node in functions if any("kernel" in ast.unparse(one) for one in node.decorator_list)]
    around = [node for node in functions if node.lineno <= line <= (node.end_lineno or 0)]
    return bool(kernels) and (not around or any(node in kernels for node in around))


def _installed(floor: str) -> Path:
    """Return the folder of a package as it is installed: with links to the source, and the machine code beside them."""
    return next(path for path in map(Path, sys.path) if (path / floor / "__init__.py").is_file()) / floor


def _imports(path: Path) -> set[str]:
    used: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            used |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return used


def _command(catch: str) -> list[str]:
    if "::" in catch or catch.startswith("test/"):
        words = ["-q", "-x", "-p", "no:cacheprovider", "--no-header", *catch.split()]
        return [str(ROOT / "setup/run"), "python", "-m", "pytest", *words]
    kinds = catch.removeprefix("nodes ").split()
    core, nodes = (0, NODE_CASES) if catch.startswith("nodes ") else (CASES, 0)
    words = ["--seed", str(SEED), "--core", str(core), "--nodes", str(nodes), "--jobs", "1", "--json", "-"]
    return [str(ROOT / "setup/run"), "python", "-m", "flexarm_tools.cli", "faults", *words, "--kind", *kinds]


def _each(work: Callable[[Path, int], tuple[str, ...]], count: int, jobs: int) -> Iterable[tuple[str, ...]]:
    """Call a function with an empty folder and a number below ``count``, in several threads."""

    def one(number: int) -> tuple[str, ...]:
        with tempfile.TemporaryDirectory(prefix="flexarm-mutation-") as folder:
            return work(Path(folder) / "tree", number)

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(one, range(count))


def main() -> int:
    """Plant the defects; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="only defects with one of these words")
    parser.add_argument("--jobs", type=int, default=2, help="defects that are tried at a time (%(default)s)")
    parser.add_argument("--trusted", action="store_true", help="do not try first whether all holds without a defect")
    parser.add_argument("--json", default="", metavar="FILE", help="figures as JSON")
    options = parser.parse_args()
    chosen = [one for one in PLANTED if not options.only or any(word in f"{one}" for word in options.only)]
    catches = [] if options.trusted else list(dict.fromkeys(one.catch for one in chosen))
    lock, began = threading.Lock(), time.monotonic()

    def without(folder: Path, number: int) -> tuple[str, ...]:
        return Copy(folder).run(catches[number])

    def with_defect(folder: Path, number: int) -> tuple[str, ...]:
        one, start = chosen[number], time.monotonic()
        try:
            copy = Copy(folder)
            copy.plant(one)
            verdict, words = copy.run(one.catch)
        except ValueError as error:
            verdict, words = ERRS, str(error)
        row = (one.name, one.file, one.catch, verdict, f"{time.monotonic() - start:.0f}", words)
        with lock:
            mark = {CATCHES: "caught", HOLDS: "ESCAPED", ERRS: "ERROR"}[verdict]
            print(f"{mark:8} {one.name} | {one.file} | {one.catch} | {row[4]} s | {words[:150]}", flush=True)
        return row

    sound = dict(zip(catches, _each(without, len(catches), options.jobs), strict=True))
    broken = {catch: words for catch, (verdict, words) in sound.items() if verdict != HOLDS}
    for catch, words in broken.items():
        print(f"does not hold without a defect: {catch}: {words}", file=sys.stderr)
    rows = list(_each(with_defect, len(chosen), options.jobs))
    found = {
        "mutations": len(rows),
        "escaped": sum(row[3] == HOLDS for row in rows),
        "errors": sum(row[3] == ERRS for row in rows) + len(broken),
        "seconds": round(time.monotonic() - began, 1),
        "planted": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
    }
    print(", ".join(f"{name} {value}" for name, value in found.items() if name != "planted"))
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 1 if found["escaped"] or found["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
