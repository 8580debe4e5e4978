"""`flexarm check` on arms that it has never seen: random ones of ten kinds, and bought ones where they are installed.

    setup/run python benchmark/check_proposals.py [--arms 40] [--first 0] [--run 6]

For each arm it proposes a first run. None may be proposed that a dry run has not done; how many get one, and how large
the motion is, is counted. A sample of the written files is run as a user would: `flexarm run`, whose exit status is 0.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.append(str(Path(__file__).resolve().parents[1] / "test"))

import table
from support.random_arms import KINDS, random_arm

from flexarm_core.flexible_dynamics.flexible_links import load_flexible_links
from flexarm_core.robot.arm_model import ArmModel
from flexarm_tools.check.dry_run import dry_run
from flexarm_tools.check.start import Proposal, propose, what_moves
from flexarm_tools.metrics.figures import Figure, parse_goal
from flexarm_tools.scenario.file import load_scenario

FLEXARM = Path(sys.executable).parent / "flexarm"


def proposal_of(text: str) -> Proposal:
    """What `flexarm check` proposes of a URDF text."""
    model = ArmModel(text)
    return propose(model, load_flexible_links(model.description))


def measures(arms: int, first: int, runs: int) -> Iterator[Figure]:
    """Propose, dry-run what was written, run some of it."""
    proposed = weightless = by_tool = dry = ran = wrong = 0
    slowest = 0.0
    with TemporaryDirectory() as folder:
        for seed in range(first, first + arms):
            name, text = random_arm(seed)
            began = time.process_time()
            proposal = proposal_of(text)
            took = time.process_time() - began
            slowest = max(slowest, took)
            path, study = Path(folder) / f"arm_{seed}.urdf", Path(folder) / f"arm_{seed}_study.yaml"
            said = what_moves(proposal.run) if proposal.run else f"none: {proposal.refused[-1]}"
            print(f"  {seed:3} {name:16} {took:5.1f} s  {len(proposal.refused):2} refused  {said}", flush=True)
            if proposal.run is None:
                continue
            proposed += 1
            weightless += not any(proposal.run.gravity)
            by_tool += bool(proposal.run.axes)
            path.write_text(text, encoding="utf-8")
            study.write_text(proposal.scenario(path, study.parent, {}), encoding="utf-8")
            failure = dry_run(load_scenario(study)).failure
            dry += bool(failure)
            # of every kind one, then on
            if ran < runs and (seed - first) % max(1, arms // runs) == 0:
                ran += 1
                done = subprocess.run(
                    [FLEXARM, "run", study, "--report", Path(folder) / f"report_{seed}"], capture_output=True, text=True
                )
                wrong += done.returncode != 0
                print(f"      flexarm run: exit status {done.returncode}", flush=True)
                if done.returncode:
                    print(done.stdout[-1500:], done.stderr[-1500:])
    yield Figure("arms_tried", float(arms), "1", None, f"of {len(KINDS)} kinds")
    yield Figure("arms_with_a_first_run", proposed / arms, "1", parse_goal(">= 0.9"), "share that gets a proposal")
    yield Figure("tool_moves", by_tool / arms, "1", None, "share whose tool is led")
    yield Figure("without_gravity", weightless / arms, "1", None, "share that is proposed without gravity")
    yield Figure("dry_runs_failed", float(dry), "1", parse_goal("== 0"), "written files that a dry run does not do")
    yield Figure("runs_tried", float(ran), "1", None, "by `flexarm run`")
    yield Figure("runs_failed", float(wrong), "1", parse_goal("== 0"), "of them, with an exit status other than 0")
    yield Figure("slowest_proposal", slowest, "s", None, "processor time")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arms", type=int, default=40)
    parser.add_argument("--first", type=int, default=0, help="seed of the first arm")
    parser.add_argument("--run", type=int, default=6, help="how many are run by `flexarm run`")
    given = parser.parse_args()
    sys.exit(table.run("check_proposals", [lambda: measures(given.arms, given.first, given.run)]))
