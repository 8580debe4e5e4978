"""Stale machine code is found in every room that has some."""

from __future__ import annotations

import os
from pathlib import Path

import flexarm_core
from flexarm_core.pipeline.warm import CALLING_EACH_OTHER, remove_stale


def test_what_is_older_than_the_newest_kernel_goes_with_all_that_may_call_it(tmp_path):
    rooms = [tmp_path / "one", tmp_path / "one" / "inner", tmp_path / "two"]
    for age, room in zip((30.0, 20.0, 10.0), rooms, strict=True):
        (room / "__pycache__").mkdir(parents=True)
        for file in (room / "kernel.py", room / "__pycache__" / "kernel.step-7.py311.nbi"):
            file.touch()
            os.utime(file, (1000.0 - age, 1000.0 - age))
    options = tmp_path / "options.py"
    options.touch()
    os.utime(options, (900.0, 900.0))
    assert remove_stale(tmp_path / "one", options=options) == 1  # the one in inner is as old as the newest source
    assert remove_stale(tmp_path / "one", tmp_path / "two", options=options) == 1
    assert remove_stale(tmp_path, options=options) == 0
    assert [path.parents[1].name for path in tmp_path.rglob("*.nbi")] == ["two"]
    options.touch()
    assert remove_stale(tmp_path, options=options) == 1  # other options of the compiler


def test_every_room_whose_functions_are_cached_is_looked_through():
    core = Path(flexarm_core.__file__).parent
    named = [core / name for names in CALLING_EACH_OTHER for name in names]
    assert all(room.is_dir() for room in named)
    cached = {path.parents[1] for path in core.rglob("__pycache__/*.nbi")}
    assert cached, "no compiled function is cached: run `make setup`"
    alone = {path for path in cached if not any(room == path or room in path.parents for room in named)}
    assert not alone
