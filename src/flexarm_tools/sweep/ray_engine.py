"""Engine ``ray``: runs of a sweep on a Ray cluster, or on a Ray of this machine.

Scenario and robot are sent with each run, so that the cluster needs flexarm, of the same version, but not the files of
the sweep. Ray gives runs of a lost machine to another one.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import flexarm_core
from flexarm_core.errors import ConfigError
from flexarm_tools.sweep.row import Planned, Row, crashed_row, plan_run, run_planned
from flexarm_tools.sweep.sweep import Sweep

ADDRESS = "RAY_ADDRESS"  # of a cluster, as Ray's own commands read it; without, Ray is started on this machine
TRIES = 3  # of a run whose process or machine is lost
AHEAD = 2  # runs in flight for each processor
LOOK = 0.5  # [s] between two looks whether to end


def run_ray(sweep: Sweep, numbers: Iterable[int], workers: int, ends: Callable[[], bool]) -> Iterator[Row]:
    """Run runs on Ray, and yield their rows as they come.

    Args:
        sweep: sweep to run.
        numbers: numbers of the runs.
        workers: number of processors of a Ray that is started here; those of a cluster are all used.
        ends: whether to end now; runs in flight are given up.

    Raises:
        ConfigError: Ray is not installed, or a machine of the cluster has another version of flexarm.
    """
    ray = _ray()
    started = not ray.is_initialized()
    if started:
        here = {} if os.environ.get(ADDRESS) else {"num_cpus": workers, "include_dashboard": False}
        ray.init(log_to_driver=False, configure_logging=False, **here)
    try:
        yield from _run(ray, sweep, deque(numbers), ends)
    finally:
        if started:
            ray.shutdown()


def _run(ray: ModuleType, sweep: Sweep, pending: deque[int], ends: Callable[[], bool]) -> Iterator[Row]:
    one_thread = {"env_vars": {"OPENBLAS_NUM_THREADS": "1"}}  # as everywhere: more add in another order
    task = ray.remote(num_cpus=1, max_retries=TRIES - 1, runtime_env=one_thread)(_run_there)
    flying: dict[Any, Planned] = {}
    while pending or flying:
        room = AHEAD * max(int(ray.cluster_resources().get("CPU", 1)), 1)
        while pending and len(flying) < room:
            planned = plan_run(sweep, pending.popleft())
            flying[task.remote(planned, flexarm_core.__version__)] = planned
        done, _ = ray.wait(list(flying), timeout=LOOK)
        for one in done:
            planned = flying.pop(one)
            try:
                row: Row = ray.get(one)
            except ray.exceptions.RayTaskError as error:
                raise ConfigError(str(error.cause)) from error
            except ray.exceptions.RayError as error:
                row = crashed_row(planned.row, f"its process or machine was lost {TRIES} times: {type(error).__name__}")
            yield row
        if ends():
            for one in flying:
                ray.cancel(one, force=True)
            return


def _run_there(planned: Planned, version: str) -> Row:
    """Run a run on a machine of the cluster.

    Raises:
        ConfigError: flexarm has another version there.
    """
    if flexarm_core.__version__ != version:
        raise ConfigError(f"a machine of the cluster has flexarm {flexarm_core.__version__}, this one {version}")
    return run_planned(planned)


def _ray() -> ModuleType:
    try:
        import ray
    except ImportError as error:
        raise ConfigError("--engine ray needs Ray: python3 -m pip install ray") from error
    return ray
