"""Mutants of every kind of file end in a clear error or are accepted; the long form is ``benchmark/fuzz.py``."""

from __future__ import annotations

import fuzzing
import pytest


def test_good_files_are_accepted(tmp_path):
    for kind in fuzzing.kinds():
        for content in kind.good:
            path = tmp_path / f"good{kind.suffix}"
            path.write_bytes(content)
            kind.read(path)


def test_mutants_are_refused_clearly_or_accepted_and_none_costs_time_memory_or_files():
    outcomes = fuzzing.run_campaign(200, seed=7)
    assert not fuzzing.faults(outcomes)
    counted = fuzzing.tabulate(outcomes)["all"]
    assert counted["cases"] == 200 == counted["clear_errors"] + counted["accepted"]
    assert counted["clear_errors"] > 42


@pytest.mark.long
def test_a_study_whose_run_would_leave_the_report_is_refused_by_the_command():
    (outcome,) = fuzzing.run_commands(1, seed=7, labels=("flexarm run STUDY",))
    assert not fuzzing.faults([outcome]) and "'../../../x' is not a name of a run" in outcome.message


def test_a_report_that_cannot_be_written_is_one_line_before_anything_runs():
    (outcome,) = fuzzing.run_places(1, seed=7)
    assert outcome.kind == "flexarm run --report" and not fuzzing.faults([outcome])
    assert len(outcome.message.splitlines()) == 1
