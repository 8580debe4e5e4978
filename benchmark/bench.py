"""All benchmarks as one table: `bench.py [NAME ...]`, and its short form for each change: `bench.py --short [--keep]`.

The long form installs the peers, runs the programs below (an hour; or those that are named) and writes
build/benchmark/index.html and table.json from the results of all programs that ever ran here, each with its commit.

The short form (1 min) runs peers.py alone and fails where a ratio to a peer is 25 % worse than that in kept.json
for this processor, three times in a row. Ratios are those of CPU time, of the quickest of many batches, taken in turns:
on a machine with four times as many busy processes as cores they stayed within 15 %. Counts of instructions would be
steadier still, but virtual machines have no counters. `--keep` keeps the present ratios.
"""

from __future__ import annotations

import argparse
import importlib
import json
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from html import escape
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import table

from flexarm_tools.metrics.figures import Figure
from flexarm_tools.report.report import write_page
from flexarm_tools.report.svg_plot import SvgPlot, series_color

HERE = Path(__file__).resolve().parent
KEPT = HERE / "kept.json"
PROGRAMS = (
    *("peers", "flexible_dynamics", "ik_redundancy", "reaction_null_space", "base_wrench", "behavior_impedance"),
    *("stage_times", "tick_times", "run_engines", "sweep", "environments", "control_loop"),
)
WORSE = 0.75  # of the kept ratio
TRIES = 3
SIZED = re.compile(r"(.+)_([0-9]+)_us")
FORMAT = "{:.4g}".format
Row = dict[str, Any]


def install_peers() -> None:
    """Install what nothing else here needs where it changes nothing else."""
    lines = (HERE / "peers.txt").read_text(encoding="utf-8").splitlines()
    wanted = dict(line.split("==") for line in lines if not line.startswith("#"))
    present = {
        name: one.version for name in wanted for one in Distribution.discover(name=name, path=[str(table.PEERS)])
    }
    if present == wanted:
        return
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--upgrade", "--target", str(table.PEERS)]
    subprocess.run([*command, "-r", str(HERE / "peers.txt")], check=True)
    importlib.invalidate_caches()  # the folder was not there when the path was first searched


def rows() -> list[Row]:
    """A row for each figure of each program that has run here."""
    found = []
    for path in sorted(table.FOLDER.glob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        for name, entry in content["figures"].items() if "figures" in content else ():
            row = {"program": path.stem, "name": name} | {key: entry[key] for key in ("value", "unit", "goal", "holds")}
            if entry.get("peer_us"):
                row |= {key: entry[key] for key in ("ours_us", "peer", "peer_us")}
                row["ratio"] = entry["peer_us"] / entry["ours_us"]
            sizes = {match[2]: entry[key] for key in entry if (match := SIZED.fullmatch(key))}
            if len(sizes) > 2:
                row |= {"sizes_us": sizes, "size": next(match[1] for key in entry if (match := SIZED.fullmatch(key)))}
            found.append(row | {"origin": content.get("provenance", {})})
    return found


def plots(found: Iterable[Row]) -> list[str]:
    """Cost against problem size, a plot for each program and kind of size."""
    curves: dict[tuple[str, str], list[Row]] = {}
    for row in found:
        if "sizes_us" in row:
            curves.setdefault((row["program"], row["size"]), []).append(row)
    parts = []
    for (program, size), drawn in curves.items():
        plot = SvgPlot(size, "CPU time [µs]", 5.0, 3.2)
        plot.axes.set_xscale("log")
        plot.axes.set_yscale("log")
        words = []
        for index, row in enumerate(drawn):
            sizes = {int(key): value for key, value in row["sizes_us"].items()}
            plot.axes.plot(list(sizes), list(sizes.values()), color=series_color(index), marker="o", markersize=3)
            words.append(f'<span style="color:var(--series-{index % 8 + 1})">{escape(row["name"])}</span>')
        parts += [
            f"<h3>{escape(program)}: {escape(size)}</h3>",
            plot.svg(f"CPU time over {size}"),
            f"<p>{', '.join(words)}</p>",
        ]
    return parts


def page(found: Iterable[Row]) -> None:
    """Write table.json and index.html."""
    found = list(found)
    (table.FOLDER / "table.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    lines, origins = [], {}
    for row in found:
        told = {key: text for key, text in row["origin"].items() if key != "seed"}
        origins.setdefault(row["program"], ", ".join(f"{key} {text}" for key, text in told.items()))
        value = "" if row["value"] is None else f"{FORMAT(row['value'])} {row['unit'].removeprefix('1')}"
        beside = ["", "", ""]
        if "ratio" in row:
            beside = [FORMAT(row["ours_us"]), f"{row['peer']} {FORMAT(row['peer_us'])}", FORMAT(row["ratio"])]
        cells = [row["name"], value, *beside, row["goal"] or ""]
        mark = "" if row["goal"] is None else "holds" if row["holds"] else "fails"
        cells += [mark, row["program"], row["origin"].get("commit", "")]
        lines.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>")
    heads = ("name", "value", "ours [µs]", "peer [µs]", "peer / ours", "goal", "", "program", "commit")
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = ["<h1>Benchmarks</h1>", f"<table><tr>{head}</tr>{''.join(lines)}</table>"]
    body += ["<h2>Cost against problem size</h2>", *plots(found), "<h2>Versions and machines</h2>"]
    body += [f"<p><b>{escape(program)}</b>: {escape(text)}</p>" for program, text in origins.items()]
    write_page(table.FOLDER / "index.html", "Benchmarks", body)
    print(f"{len(found)} figures: {table.FOLDER / 'index.html'}, {table.FOLDER / 'table.json'}")


def processor_name() -> str:
    """Name, family and model: virtual machines name only the first."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0].splitlines()
    told = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return " ".join(told[key] for key in ("model name", "cpu family", "model") if key in told) or platform.machine()


def ratios(figures: Iterable[Figure]) -> dict[str, float]:
    """The peer's time over ours, by name."""
    given = {figure.name: figure.details for figure in figures}
    return {name: float(each["peer_us"]) / float(each["ours_us"]) for name, each in given.items() if "peer_us" in each}


def regressions(found: Mapping[str, float], kept: Mapping[str, float]) -> dict[str, str]:
    """What is worse than what was kept, in words; what is no longer measured is, too."""
    texts = {}
    for name, least in kept.items():
        if name not in found:
            texts[name] = "is not measured any more: bench.py --short --keep"
        elif found[name] < WORSE * least:
            texts[name] = f"{FORMAT(found[name])} times as fast as its peer, {FORMAT(least)} was kept"
    return texts


def short(keep: bool) -> int:
    """Exit status: 0 unless something is slower than it was."""
    import peers

    processor = processor_name()
    everything = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    kept, found, worse = everything.get(processor, {}), {}, {}
    measures = list(peers.MEASURES)
    for _ in range(1 if keep else TRIES):
        again = []
        for measure in measures:
            given = ratios(table.measured(measure))
            found |= {name: max(value, found.get(name, 0.0)) for name, value in given.items()}
            if regressions(found, {name: kept[name] for name in given if name in kept}):
                again.append(measure)
        if not (measures := again):
            break
    if keep:
        everything[processor] = {name: round(value, 4) for name, value in sorted(found.items())}
        KEPT.write_text(json.dumps(everything, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    if not kept:
        print(f"nothing is kept for {processor}, so nothing is compared: bench.py --short --keep")
    worse = regressions(found, kept)
    for name, text in worse.items():
        print(f"SLOWER {name}: {text}")
    print(f"{len(found)} ratios, {len(worse)} of them more than {100.0 * (1.0 - WORSE):.0f} % worse than kept")
    return 1 if worse else 0


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="NAME", help=f"of {', '.join(PROGRAMS)}")
    parser.add_argument("--short", action="store_true", help="ratios to peers beside those that were kept")
    parser.add_argument("--keep", action="store_true", help="with --short: keep the present ratios")
    given = parser.parse_args()
    install_peers()
    if given.short:
        return short(given.keep)
    failed = []
    for name in given.programs or PROGRAMS:
        print(f"--- {name}", flush=True)
        if subprocess.run([sys.executable, str(HERE / f"{name}.py")]).returncode:
            failed.append(name)
    page(rows())
    for name in failed:
        print(f"{name}: a goal does not hold, or it could not be measured")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
