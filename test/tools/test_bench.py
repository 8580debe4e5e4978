"""`benchmark/bench.py`: costs in turns, the table of all results, and what counts as a regression."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmark"
sys.path.insert(0, str(FOLDER))

import bench  # noqa: E402
import table  # noqa: E402

from flexarm_tools.metrics.figures import Figure, parse_goal  # noqa: E402


def product(size: int):
    matrix = np.random.default_rng(0).normal(size=(size, size))
    return lambda: matrix @ matrix


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "FOLDER", tmp_path)
    return tmp_path


def measure():
    found = table.costs({"small": product(20), "large": product(160)}, rounds=11)
    yield table.versus("products", "a large product over a small one", found, "small", "large", ">= 5")
    yield table.versus("products_part", "the same as a part", found, "small", "large", "<= 0.2", part=True)
    sizes = {f"rows_{size}_us": float(size) for size in (10, 20, 40)}
    yield Figure("growth", 1.0, "1", parse_goal("<= 1.1"), "exponent", details=sizes)
    yield Figure("missed", 3.0, "us", parse_goal("<= 1"), "a goal that is <missed>")


def test_a_benchmark_becomes_rows_of_the_one_table_with_peer_ratio_goal_version_and_machine(folder):
    assert table.run("some", [measure]) == 1  # one goal is missed
    bench.page(bench.rows())
    rows = {row["name"]: row for row in json.loads((folder / "table.json").read_text())}
    assert list(rows) == ["products", "products_part", "growth", "missed"]
    assert rows["products"]["ratio"] == pytest.approx(rows["products"]["value"])
    assert rows["products_part"]["ratio"] == pytest.approx(rows["products"]["ratio"])
    assert rows["products"]["ratio"] > 5.0  # 512 times the work
    assert [row["holds"] for row in rows.values()] == [True, True, True, False]
    assert rows["growth"]["sizes_us"] == {"10": 10.0, "20": 20.0, "40": 40.0}
    assert {"machine", "commit", "numpy", "Pinocchio"} <= set(rows["products"]["origin"])
    page = (folder / "index.html").read_text()
    assert page.count("<tr>") == 5 and page.count("<svg") == 1 and "some: rows" in page
    bench.page(bench.rows())  # its own table.json is no benchmark
    assert len(json.loads((folder / "table.json").read_text())) == 4


def test_a_quarter_slower_than_kept_is_a_regression_and_so_is_what_is_no_longer_measured():
    found = bench.ratios(measure())
    assert set(found) == {"products", "products_part"}
    assert bench.regressions(found, found) == {}
    assert bench.regressions(found, {"products": found["products"] / 0.76}) == {}
    said = bench.regressions(found, {"products": found["products"] / 0.74, "gone": 1.0})
    assert "was kept" in said["products"] and "not measured" in said["gone"]


def test_the_short_form_tries_again_and_notices_a_slow_call(folder, monkeypatch, capsys):
    import peers

    tried = []

    def slowed(least: int):
        def measure_some():
            tried.append(least)
            ours = 9.0 if len(tried) < least else 2.0  # [us]; measured times would depend on what else runs
            found = {"ours": table.Cost(ours, ours), "theirs": table.Cost(6.0, 6.0)}
            yield table.versus("some", "a product", found, "ours", "theirs")

        return [measure_some]

    monkeypatch.setattr(bench, "KEPT", folder / "kept.json")
    monkeypatch.setattr(peers, "MEASURES", slowed(1))
    assert bench.short(keep=False) == 0
    assert "nothing is kept" in capsys.readouterr().out
    assert bench.short(keep=True) == 0
    for least, expected, count in ((3, 0, 3), (100, 1, bench.TRIES)):
        tried.clear()
        monkeypatch.setattr(peers, "MEASURES", slowed(least))
        assert bench.short(keep=False) == expected
        assert len(tried) == count
    assert "SLOWER some" in capsys.readouterr().out
