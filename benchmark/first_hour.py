"""The first hour of a user: from a clone to his own arm on his screen.

    setup/run python benchmark/first_hour.py [--fresh] [MEASURE ...]

Measures: readers, docs, imports, pages, tutorials, drawn (all but the first take minutes). `--fresh` times `make first`
and `make demo` in a fresh clone of this commit, which downloads 1.2 GB; only a quiet machine gives times that count.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process per core
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "support"))

import docs_figures  # noqa: E402
import numpy as np  # noqa: E402
import table  # noqa: E402
from browser import Browser  # noqa: E402
from live import own_domain  # noqa: E402
from strangers import SITE, Silent  # noqa: E402

from flexarm_tools.check.check import check_robot  # noqa: E402
from flexarm_tools.metrics.figures import Figure, parse_goal  # noqa: E402
from flexarm_tools.report.report import Run, write_run_report  # noqa: E402
from flexarm_tools.run.in_process import run_in_process  # noqa: E402
from flexarm_tools.run.runner import Runner  # noqa: E402
from flexarm_tools.scenario.file import load_scenario  # noqa: E402

WIDTHS = (1366, 390)  # of a window [pixel]
VISIBLE = 0.01  # smallest share of a view that an arm fills
DATA, RTB = SITE / "cmeel.prefix/share/example-robot-data/robots", SITE / "rtbdata/xacro"
ARMS = (
    "ur_description/urdf/ur3_robot.urdf",
    "ur_description/urdf/ur5_robot.urdf",
    "ur_description/urdf/ur10_robot.urdf",
    "ur_description/urdf/ur5_gripper.urdf",
    "panda_description/urdf/panda.urdf",
    "xarm_description/urdf/xarm7.urdf",
    "kinova_description/robots/kinova.urdf",
    "so_arm_description/urdf/so100.urdf",
    "so_arm_description/urdf/so101.urdf",
    "z1_description/urdf/z1.urdf",
    "tiago_description/robots/tiago.urdf",
    "talos_data/robots/talos_left_arm.urdf",
    "talos_data/robots/talos_reduced.urdf",
    "baxter_description/urdf/baxter.urdf",
    "pr2_description/urdf/pr2.urdf",
    "abb_irb140_description/urdf/irb140.urdf",
    "kuka_kr210/urdf/kr210l150.urdf",
    "kuka_lbr_iiwa/urdf/lbr_iiwa_14_r820.urdf",
    "kuka_kr16/urdf/kr16_2.urdf",
    "talos_data/robots/talos_full_v2.urdf",
)
# Tests that follow a tutorial, by its page.
FOLLOWS = {
    "own_robot": ["test/tools/test_own_robot_docs.py"],
    "report": ["test/tools/test_tutorials.py", "-k", "report"],
    "tuning": ["test/tools/test_tutorials.py", "-k", "gain"],
    "studies": ["test/tools/test_sweep_file.py", "-k", "example_in_the_page"],
    "learning": ["test/tools/test_learning.py", "-k", "of_the_page"],
    "foxglove": ["test/tools/test_tutorials.py", "-k", "layouts"],
    "new_behavior": ["test/tools/test_tutorials.py", "-k", "behavior"],
    "new_stage": ["test/tools/test_added_stage.py"],
    "joint_trajectories": ["test/tools/test_tutorials.py", "-k", "moveit"],
    "torque": ["test/tools/test_tutorials.py", "-k", "torque"],
    "launch": ["test/launch/test_namespaces.py"],
}


def measure_fresh() -> Iterator[Figure]:
    """Times of a fresh clone: to the report of the first arm that moves, and to that of the demo."""
    goals = {"first": parse_goal("<= 240"), "demo": None}
    names = {"first": "seconds_to_moving_arm", "demo": "seconds_to_demo_report"}
    with TemporaryDirectory() as folder:
        began, clone = time.perf_counter(), Path(folder) / "flexarm"
        subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
        plain = {key: os.environ[key] for key in ("HOME", "LANG", "PATH") if key in os.environ}
        plain["PATH"] = ":".join(part for part in plain["PATH"].split(":") if not part.startswith(str(ROOT)))
        for target, name in names.items():
            done = subprocess.run(["make", target], cwd=clone, env=plain, capture_output=True, text=True, check=False)
            took = time.perf_counter() - began
            if done.returncode or not (clone / "build" / target / "report.html").is_file():
                raise RuntimeError(f"make {target}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
            steps = dict(re.findall(r"setup: (.*?)(?: \(.*?\))?: done in (\d+) s", done.stdout))
            load = os.getloadavg()[2]
            details: dict[str, bool | float | str] = {**steps, "load of the machine, 15 min": load}
            yield Figure(
                name, took, "s", goals[target], f"from git clone to the report of make {target}", details=details
            )


def measure_drawn() -> Iterator[Figure]:
    """Arms of strangers in the report of their first run: seen on its pixels, and the page not wider than a phone."""
    files = [path for name in ARMS for path in _found(name)]
    missing = {name: "not installed" for name in ARMS if not any(str(file).endswith(name) for file in files)}
    with TemporaryDirectory() as folder, get_context("spawn").Pool(2, maxtasksperchild=5) as pool:
        found = dict(pool.imap(partial(first_report, folder=Path(folder)), files))
        shares: dict[str, float] = {}
        wide = 0
        with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
            browser = Browser(Path(profile), "about:blank")
            try:
                for name, (report, said) in found.items():
                    if report is None:
                        missing[name] = said
                        continue
                    shares[name] = share_of_view(browser, report)
                    wide += too_wide(browser, report)
                    if said or shares[name] < VISIBLE:
                        missing[name] = said or f"fills {shares[name]:.2%} of its view"
            finally:
                browser.close()
    drawn = sum(name not in missing for name in shares)
    meaning = "arms of others in the report, by its pixels, all meshes found"
    details: dict[str, bool | float | str] = {**shares, **missing}
    yield Figure("descriptions_drawn", drawn, "", parse_goal(f">= {len(ARMS)}"), meaning, details=details)
    yield Figure("reports_wider_than_window", wide, "", parse_goal("== 0"), f"of these reports, at {WIDTHS}")


def _found(name: str) -> list[Path]:
    """Return the file whose path ends so; none if it is not installed."""
    return [path for folder in (DATA, RTB) for path in folder.rglob(Path(name).name) if str(path).endswith(name)][:1]


def first_report(file: Path, folder: Path) -> tuple[str, tuple[Path | None, str]]:
    """Check a description, run what is proposed, and write its report; and what is not drawn as described."""
    study, name = folder / f"{file.stem}.yaml", f"{file.parent.parent.name}/{file.name}"
    said, usable = check_robot(file, write=study)
    if not usable:
        return name, (None, " ".join(re.findall(r"(?:error|missing): .*", said))[:200])
    scenario = load_scenario(study)
    report = folder / f"{file.stem}.html"
    write_run_report(report, Run(file.stem, scenario, run_in_process(scenario, Silent(name)), ()))
    hint = re.search(r'class="hint missing">(.*?)</p>', report.read_text(encoding="utf-8"))
    return name, (report, hint[1] if hint else "")


def share_of_view(browser: Browser, report: Path) -> float:
    """Return the share of the view that differs from that of the same report without the robot's shapes."""
    text = report.read_text(encoding="utf-8")
    before, data, after = re.split(r'(?<=id="animation-data">)(.*?)(?=</script>)', text, maxsplit=1, flags=re.DOTALL)

    def bare(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: [] if key == "shapes" else bare(each) for key, each in value.items()}
        return [bare(each) for each in value] if isinstance(value, list) else value

    other = report.with_suffix(".bare.html")
    other.write_text(f"{before}{json.dumps(bare(json.loads(data)))}{after}", encoding="utf-8")
    browser.resize(*(1366, 900))
    pictures = []
    for page in (report, other):
        browser.go(f"{page.as_uri()}#t=0&x=1")
        ready = f"location.pathname.endsWith('/{page.name}') && !!document.querySelector('.clock')?.textContent"
        browser.wait(lambda ready=ready: bool(browser.value(ready)), page.name)
        place = browser.value("JSON.stringify(document.querySelector('canvas.stage').getBoundingClientRect())")
        box = {key: round(value) for key, value in json.loads(place).items()}
        pictures.append(browser.picture()[box["top"] : box["bottom"], box["left"] : box["right"]])
    return float(np.mean(np.abs(pictures[0] - pictures[1]).max(axis=2) > 0.05))


def too_wide(browser: Browser, page: Path) -> int:
    """Return whether a page is wider than a window of some width."""
    browser.go(page.as_uri())
    ready = f"location.pathname.endsWith('/{page.name}') && document.readyState == 'complete'"
    browser.wait(lambda: bool(browser.value(ready)), page.name)
    found = 0
    for width in WIDTHS:
        browser.resize(width, 900)
        found = max(found, int(browser.value("document.documentElement.scrollWidth") > width))
    return found


def measure_pages() -> Iterator[Figure]:
    """Build the site, and look at every page of it."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        site = Path(folder) / "site"
        command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "-W", "-d", Path(folder) / "doctrees"]
        subprocess.run([*command, ROOT / "docs", site], check=True)
        browser = Browser(Path(folder) / "profile", "about:blank")
        try:
            wide = {page.name: True for page in sorted(site.rglob("*.html")) if too_wide(browser, page)}
        finally:
            browser.close()
        count = len([*site.rglob("*.html")])
    meaning = f"of {count} pages of the site, at {WIDTHS} pixels"
    yield Figure("pages_wider_than_window", len(wide), "", parse_goal("== 0"), meaning, details=wide)


def measure_readers() -> Iterator[Figure]:
    """Record a run of nodes, and read every message of it with two readers of others."""
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory
    from rosbags.highlevel import AnyReader

    with TemporaryDirectory() as folder, own_domain():
        study, file = Path(folder) / "study.yaml", Path(folder) / "run.mcap"
        base = ROOT / "config/boom_7r/scenarios/inspect_and_wipe.yaml"
        study.write_text(f"base: {base}\nduration: 1.0\nphases:\npushes:\nevents:\nfigures:\n", encoding="utf-8")
        Runner(load_scenario(study), Path(folder) / "logs", Silent(""), file).run()
        with file.open("rb") as stream:
            said = Counter(channel.topic for _, channel, _ in make_reader(stream).iter_messages())
            stream.seek(0)
            reader = make_reader(stream, decoder_factories=[DecoderFactory()])
            by_mcap = Counter(channel.topic for _, channel, _, _ in reader.iter_decoded_messages())
        by_rosbags: Counter[str] = Counter()
        with AnyReader([file]) as bag:
            for connection, _, raw in bag.messages():
                bag.deserialize(raw, connection.msgtype)
                by_rosbags[connection.topic] += 1
    read = sum((by_mcap & by_rosbags & said).values()) / said.total()
    meaning = f"share of {said.total()} messages on {len(said)} topics that rosbags and mcap_ros2 read"
    yield Figure("messages_readable", read, "", parse_goal("== 1"), meaning)


def measure_docs() -> Iterator[Figure]:
    """Run what pages take their figures from, and compare."""
    with TemporaryDirectory() as folder:
        stale = docs_figures.stale(docs_figures.DEMO, docs_figures.demo_values())
        stale |= docs_figures.stale(docs_figures.BOX, docs_figures.box_values(Path(folder)))
    meaning = f"of {len(docs_figures.CLAIMS)} figures in README, own_robot and inspect_and_wipe"
    yield Figure("docs_figures_stale", len(stale), "", parse_goal("== 0"), meaning, details=stale)


def measure_imports() -> Iterator[Figure]:
    """Count the imports of flexarm in the programs of docs/examples."""
    counts: dict[str, bool | float | str] = {}
    for path in sorted((ROOT / "docs/examples").glob("*.py")):
        counts[path.stem] = float(len(re.findall(r"^\s*(?:from|import) flexarm", path.read_text(), re.MULTILINE)))
    most = max(float(count) for count in counts.values())
    yield Figure("imports_per_ability", most, "", parse_goal("<= 1"), f"of {len(counts)} programs", details=counts)


def measure_tutorials() -> Iterator[Figure]:
    """Run the tests that follow the tutorials; one that is skipped follows nothing."""
    page = (ROOT / "docs/tutorials.md").read_text(encoding="utf-8")
    pages = re.findall(r"^\| [^|]+ \| \[.*?\]\((\w+)\.md", page, re.MULTILINE)
    said: dict[str, bool | float | str] = {}
    for name in pages:
        said[name] = "by nobody but a reader"
        if name in FOLLOWS:
            command = [sys.executable, "-m", "pytest", "-q", *FOLLOWS[name]]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            said[name] = done.stdout.strip().splitlines()[-1]
            if done.returncode == 0 and "passed" in str(said[name]):
                said[name] = True
    followed = sum(text is True for text in said.values())
    meaning = f"of {len(pages)} tutorials, by tests that run here"
    yield Figure("tutorials_followed", followed, "", parse_goal(">= 8"), meaning, details=said)


MEASURES: Mapping[str, Callable[[], Iterable[Figure]]] = {
    "imports": measure_imports,
    "readers": measure_readers,
    "pages": measure_pages,
    "docs": measure_docs,
    "tutorials": measure_tutorials,
    "drawn": measure_drawn,
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=f"some of {', '.join(MEASURES)}")
    parser.add_argument("--fresh", action="store_true", help="also time a fresh clone")
    given = parser.parse_args()
    chosen = [MEASURES[name] for name in given.measures or MEASURES]
    sys.exit(table.run("first_hour", [*chosen, *([measure_fresh] if given.fresh else [])]))
