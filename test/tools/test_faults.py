"""flexarm faults: whatever comes in, no arm runs away; and a campaign that would not see it is found out."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest
from live import own_domain
from open_gate import OpenGate

from flexarm_core.errors import ConfigError
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.urdf_reader import parse_robot_description
from flexarm_core.types import ArmState
from flexarm_tools.cli import run_command
from flexarm_tools.faults import core_case
from flexarm_tools.faults.arms import BENDING, FLOATING, RANDOM, draw_arm
from flexarm_tools.faults.campaign import campaign, run_core_case
from flexarm_tools.faults.fault import LOOP, Fault
from flexarm_tools.faults.kinds import WHAT, chosen_kinds
from flexarm_tools.faults.node_campaign import drawn_for_nodes
from flexarm_tools.faults.random_arm import random_arm
from flexarm_tools.faults.source import Source
from flexarm_tools.faults.table import BEGIN, END, write_table
from flexarm_tools.faults.tally import BARS, failures
from flexarm_tools.process.exit_status import EXIT_FAILED


@pytest.mark.parametrize("count", [25, pytest.param(100, marks=pytest.mark.long)])
def test_no_fault_on_the_core_makes_an_arm_run_away(count):
    found = campaign(7, count, 0, [], 2)
    assert failures(found) == [], "\n".join(found["missed"])
    assert found["faults_tried"] == count
    assert len(found["kinds"]) > 15


@pytest.mark.parametrize("cases", [1, pytest.param(3, marks=pytest.mark.long)])
def test_no_fault_of_real_nodes_makes_an_arm_run_away(cases, tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path))
    with own_domain():
        found = campaign(3, 0, cases, ["states_lost", "references_not_numbers", "deactivated"], 1)
    late = "valid_cases_share"  # beside other tests the machine may be late
    assert [line for line in failures(found) if not line.startswith(late)] == [], "\n".join(found["missed"])
    assert found["node_cases"] == cases


def test_arms_whose_base_or_links_bend_need_states_faster_than_nodes_get_them():
    assert not {drawn_for_nodes(seed, chosen_kinds(()))[0].arm for seed in range(300)} & {*FLOATING, *BENDING}


@pytest.mark.parametrize("seed", range(20))
def test_a_move_that_begins_anew_after_each_stop_stays_within_the_limits(seed):
    rng = np.random.default_rng(seed)
    model = draw_arm(rng, RANDOM, "velocity").model
    source = Source(rng, model, 250.0)
    ends = source.start + np.arange(5)[:, None] * source.displacement(1.0)
    assert (ends > model.lower).all() and (ends < model.upper).all()


def test_joint_states_come_at_the_rate_that_is_asked_for_if_it_is_that_of_a_controller():
    assert [run_core_case(840001, ["none"], [rate]).rate for rate in (50, 100)] == [50, 100]
    with pytest.raises(ConfigError, match="rates are from 10 to 2000 Hz, got 50, 0"):
        campaign(7, 1, 0, ["none"], 1, [50, 0])


def test_a_case_is_the_same_whenever_it_is_drawn():
    first, second = (asdict(run_core_case(11, ["loss", "states_corrupted"])) for _ in range(2))
    assert first == second


class SlowStage(Fault):
    """References come 20 ms late for 0.1 s."""

    name = "slow_stage"

    def draw(self) -> None:
        self.end = self.start + 0.1

    def reference(self, reference, now):
        return ((0.02 if self.on(now) else 0.0, reference),)


def test_a_late_reference_of_a_control_loop_holds_up_its_ticks():
    """One process: the command waits for the reference, and what comes meanwhile waits for the command."""
    fault = SlowStage(np.random.default_rng(0), 0.5)
    case = core_case.Case(core_case.Setting(5, RANDOM, "velocity", LOOP, 250), [fault])
    arrived = []
    taken, case._drive.take = case._drive.take, lambda command: (arrived.append(case._now), taken(command))
    with np.errstate(all="ignore"):
        assert not case.run().bad_commands
    gaps = {at: after - at for at, after in pairwise(arrived) if after - at > 1e-9}
    before = [gap for at, gap in gaps.items() if 0.2 < at < 0.49]
    during = [gap for at, gap in gaps.items() if 0.5 <= at < 0.58]
    assert max(before) < 0.0041 and min(during) > 0.0199 and len(during) >= 3


@pytest.mark.parametrize("count", [2, pytest.param(8, marks=pytest.mark.long)])
def test_without_a_fault_nothing_stops(count):
    outcomes = [run_core_case(seed, ["none"]) for seed in range(count)]
    assert [one.reason for one in outcomes] == [""] * count
    assert max(one.speed_ratio for one in outcomes) > 0.3  # it moves


@pytest.mark.parametrize("seed", range(5))
def test_motors_of_a_random_arm_bear_it(seed):
    rng = np.random.default_rng(seed)
    text, gravity = random_arm(rng)
    model = ArmModel(parse_robot_description(text), gravity=tuple(gravity))
    assert 2 <= model.n <= 7
    none = np.zeros(0)
    for _ in range(20):
        posture = rng.uniform(0.5 * model.lower, 0.5 * model.upper)
        weight = model.gravity_effort(ArmState(0, posture, np.zeros(model.n), none, none))
        assert np.mean(np.abs(weight) <= model.effort_limit) == 1.0


def test_an_unknown_kind_is_refused_with_the_valid_ones():
    with pytest.raises(ConfigError, match="fault earthquake is unknown; valid: none, "):
        chosen_kinds(["earthquake"])


def test_figures_go_into_json_report_and_page_and_a_missed_bar_into_the_exit_status(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(core_case, "GateUnderTest", OpenGate)
    page = tmp_path / "safety.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    words = ["faults", "--core", "3", "--nodes", "0", "--jobs", "1", "--kind", "wild_source"]
    file = tmp_path / "f.json"
    assert run_command([*words, "--json", str(file), "--report", str(tmp_path), "--table", str(page)]) == EXIT_FAILED
    found, written = json.loads(file.read_text()), page.read_text()
    assert set(BARS) <= set(found) and found["faults_tried"] == 3 and found["runaways"] > 0
    assert "runaways is" in capsys.readouterr().err
    assert written.startswith("before") and written.endswith("after\n") and "old" not in written
    assert WHAT["wild_source"] in written and WHAT["wild_source"] in (tmp_path / "report.html").read_text()
    assert run_command(["faults", "--show", str(file)]) == EXIT_FAILED


def test_a_page_without_a_place_for_the_table_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="has no lines"):
        write_table(tmp_path / "page.md", {"kinds": []})
