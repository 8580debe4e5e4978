"""Sweeps on Ray: two nodes of this machine, of which one dies half way."""

from __future__ import annotations

import time

import pytest
from sweeps import write_sweep

from flexarm_core.errors import ConfigError
from flexarm_tools.sweep import ray_engine
from flexarm_tools.sweep.ray_engine import run_ray
from flexarm_tools.sweep.row import plan_run, run_row
from flexarm_tools.sweep.sweep_file import load_sweep

ray = pytest.importorskip("ray", reason="ray is not installed: setup/requirements-dev.txt")
cluster_utils = pytest.importorskip("ray.cluster_utils")
RUNS = 24


@pytest.fixture(scope="module")
def cluster():
    found = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    found.second = found.add_node(num_cpus=1)
    ray.init(address=found.address, log_to_driver=False)
    yield found
    ray.shutdown()
    found.shutdown()


def alive() -> int:
    return sum(one["Alive"] for one in ray.nodes())


@pytest.mark.long
def test_no_run_is_lost_or_counted_twice_where_a_node_dies_and_the_rows_are_those_of_one_process(
    cluster, tmp_path, packages, monkeypatch
):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    sweep = load_sweep(write_sweep(tmp_path, ("samples: 6", f"samples: {RUNS}")), packages)
    rows = []
    assert alive() == 2
    for row in run_ray(sweep, range(RUNS), 2, lambda: False):
        rows.append(row)
        if len(rows) == 6:
            cluster.remove_node(cluster.second, allow_graceful=False)
    until = time.monotonic() + 60.0
    while alive() > 1:  # Ray waits for heartbeats that it has missed
        assert time.monotonic() < until
        time.sleep(0.2)
    assert sorted(row.run for row in rows) == list(range(RUNS))
    by_number = {row.run: row for row in rows}
    assert by_number[5] == run_row(sweep, 5) and by_number[20] == run_row(sweep, 20)
    assert {row.outcome for row in rows} == {"holds", "fails"}


@pytest.mark.long
def test_a_cluster_of_another_version_is_refused(cluster, tmp_path, packages, monkeypatch):
    sweep = load_sweep(write_sweep(tmp_path), packages)
    monkeypatch.setattr("flexarm_core.__version__", "9.9.9", raising=False)
    with pytest.raises(ConfigError, match="a machine of the cluster has flexarm .*, this one 9.9.9"):
        list(run_ray(sweep, range(2), 1, lambda: False))


def test_files_of_the_sweep_are_needed_here_alone(tmp_path, packages):
    """What is sent holds robot and scenario."""
    sweep = load_sweep(write_sweep(tmp_path), packages)
    planned = plan_run(sweep, 1)
    for file in tmp_path.glob("*.yaml"):
        file.unlink()
    assert ray_engine._run_there(planned, planned.row.version).outcome in ("holds", "fails")
