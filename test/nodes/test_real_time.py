"""What a node asks the operating system for, asked by a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ASK = """
import os, sys, threading, time
from flexarm_nodes.node.real_time import TASKS, ask_for_priority
if sys.argv[2] == "forbid":
    os.setgid(65534)
    os.setuid(65534)
threading.Thread(target=time.sleep, args=(5.0,), daemon=True).start()
refused = ask_for_priority(int(sys.argv[1]))
found = {(os.sched_getscheduler(int(t.name)), os.sched_getparam(int(t.name)).sched_priority) for t in TASKS.iterdir()}
print(refused or found)
"""


WORK = """
import os
from flexarm_nodes.node.real_time import ask_for_priority, background_worker
refused, worker = ask_for_priority(7), background_worker("work")
first = worker.submit(os.sched_getscheduler, 0).result()  # begun by a thread that has the priority
ask_for_priority(7)  # again, as when the node is activated anew
print(refused or (os.sched_getscheduler(0), first, worker.submit(os.sched_getscheduler, 0).result()))
"""


def ask(priority: int, forbid: str = "") -> str:
    """What came of it, for a process of two threads."""
    command = [sys.executable, "-c", ASK, str(priority), forbid]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def test_nothing_is_asked_for_by_default():
    assert ask(0) == "{(0, 0)}"


def test_every_thread_gets_the_priority_or_the_node_says_why_not():
    said = ask(7)
    assert said == "{(1, 7)}" or said.startswith("thread_priority 7 is refused: ")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody who may not")
def test_who_may_not_have_it_is_told_so():
    assert ask(7, "forbid").startswith("thread_priority 7 is refused: Operation not permitted")


def test_long_computations_have_no_priority():
    command = [sys.executable, "-c", WORK]
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()
    assert said == "(1, 0, 0)" or said.startswith("thread_priority 7 is refused: ")
