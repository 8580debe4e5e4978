"""Claims of the sources: `sources.py [--json FILE] [--figures [--chains N]]`.

Reads the tables of docs/sources.md, checks that code, tests and scenarios exist and that no claim is missing or given
twice, and counts the claims, those without a test and those without a scenario. `--figures` also measures how well the
methods do (some minutes, and half an hour for 300 chains). Ends with 1 if something is wrong or a goal is missed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read at NumPy's import

from flexarm_tools.metrics.figures import Figure, compute_figures
from flexarm_tools.run.in_process import ProcessRun
from flexarm_tools.scenario.study import compute_study_figures, load_study

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "sources.md"
COUNTS = {  # numbers of claims or equations of each source
    "Flexible dynamics": 45,
    "IK redundancy": 34,
    "Behavior impedance": 31,
    "Base wrench": 39,
    "Reaction null space": 30,
}
NONE = "*none*"
STUDIES = ("wheel_3r/demo_wheel.yaml", "dual_arm_trep/demo_dual_arm.yaml")  # dynamic redundancy
CHAINS = 300


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: the claims or equations that it is about, and where they are."""

    section: str
    claims: tuple[str, ...]
    cells: dict[str, str]


def read_rows(text: str) -> list[Row]:
    """Return the rows of all tables whose columns are claims, equations or figures."""
    rows, section, columns = [], "", []
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:]
        if not line.startswith("|"):
            columns = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not columns:
            columns = cells
        elif columns[0] in ("claims", "equations", "figures, definitions") and not set(line) <= set("|-"):
            numbered = columns[0] != "figures, definitions"
            claims = tuple(cells[0].split(", ")) if numbered else (f"{columns[0]}: {cells[0]}",)
            rows.append(Row(section, claims, dict(zip(columns, cells, strict=True))))
    return rows


def faults_of(rows: list[Row]) -> list[str]:
    """Return what is wrong: claims that are missing or given twice, and files and tests that do not exist."""
    faults = []
    for section, count in COUNTS.items():
        found = sorted(int(claim) for row in rows if row.section == section for claim in row.claims if claim.isdigit())
        faults += [f"{section}: {n} is missing" for n in sorted(set(range(1, count + 1)) - set(found))]
        faults += [f"{section}: {n} does not exist or is given twice" for n in found if found.count(n) > 1 or n > count]
    for row in rows:
        code, test, scenario = (row.cells.get(name, NONE).strip("`") for name in ("code", "test", "scenario"))
        if code != NONE and not (ROOT / "src" / "flexarm_core" / code).exists():
            faults.append(f"no code {code}")
        if scenario != NONE and not (ROOT / "config" / scenario).is_file():
            faults.append(f"no scenario {scenario}")
        if test != NONE:
            file, _, name = test.partition("::")
            path = ROOT / "test" / file
            defined = ast.parse(path.read_text()).body if path.is_file() else []
            if name not in {item.name for item in defined if isinstance(item, ast.FunctionDef)}:
                faults.append(f"no test {test}")
    return list(dict.fromkeys(faults))


def figures_of(rows: list[Row]) -> dict[str, int]:
    """Return the numbers of claims, of those without a test and of those without a scenario."""
    return {
        "claims": sum(len(row.claims) for row in rows),
        "claims_without_test": sum(len(row.claims) for row in rows if row.cells["test"] == NONE),
        "claims_without_scenario": sum(len(row.claims) for row in rows if row.cells["scenario"] == NONE),
    }


def reaction_ratios() -> Iterator[Figure]:
    """Reaction on the base with a momentum wheel and with a second arm, over that of the same motion without."""
    for file in STUDIES:
        study = load_study(ROOT / "config" / file)
        figures = {
            name: compute_figures(run.figures, ProcessRun(run).run(lambda tick: ""))
            for name, run in study.scenarios.items()
        }
        for figure in compute_study_figures(study, figures):
            if figure.name.endswith("_ratio"):
                yield replace(figure, name=f"{Path(file).stem.removeprefix('demo_')}_{figure.name}")


def measures(chains: int) -> tuple[Callable[[], Iterable[Figure]], ...]:
    """Measures of the methods, from the benchmarks that they belong to; chains: random ones for the check of gains."""
    import accuracy
    import behavior_peer
    import chain_gains
    import ik_laps
    import speed

    return (
        reaction_ratios,
        speed.carried_over,
        speed.dense_ratios,
        accuracy.modal_discrepancy_ratio,
        accuracy.mounted_mode_error,
        accuracy.gravity_frequency_error,
        behavior_peer.tracking,
        partial(ik_laps.measures, ik_laps.LAPS),
        partial(chain_gains.measure, chains, 0),
    )


def main() -> int:
    """Print the figures and what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the counts to a file")
    parser.add_argument("--figures", action="store_true", help="measure how well the methods do")
    parser.add_argument("--chains", type=int, default=CHAINS, help="random chains for the check of gains")
    options = parser.parse_args()
    rows = read_rows(PAGE.read_text())
    figures, faults = figures_of(rows), faults_of(rows)
    for name, value in figures.items():
        print(f"{name:24} {value}")
    for column in ("test", "scenario"):
        for row in rows:
            if row.cells[column] == NONE:
                print(f"no {column}: {row.section}, {row.cells[next(iter(row.cells))]}: {row.cells['what']}")
    print("\n".join(faults), end="\n" if faults else "")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    missed = 0
    if options.figures:
        import table

        missed = table.run("sources", measures(options.chains))
    return 1 if faults or missed else 0


if __name__ == "__main__":
    sys.exit(main())
