"""Machine: a case during which the machine was late says nothing, so it must be seen that it was."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flexarm_tools.faults.machine import Machine

PERIOD = 0.004


def test_a_loop_that_is_late_once_or_too_often_says_nothing():
    once, seldom, often = (Machine([], PERIOD) for _ in range(3))
    once.look(0.1, 0.03)
    for k in range(12):
        seldom.look(0.4 * k, 0.007)
        often.look(0.3 * k, 0.007)
        often.look(0.3 * k + 0.1, 0.005)
    assert (once.late, seldom.late, often.late) == (True, False, True)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="only Linux says how long a thread waits")
def test_a_process_that_waits_for_a_processor_is_seen():
    words = f"import os; os.sched_setaffinity(0, [{min(os.sched_getaffinity(0))}])\nwhile True: pass"
    busy = [subprocess.Popen([sys.executable, "-c", words]) for _ in range(2)]
    try:
        time.sleep(0.3)
        machine = Machine([one.pid for one in busy], PERIOD)
        time.sleep(0.2)
        machine.look(0.2, 0.0)
        machine.close()
    finally:
        for one in busy:
            one.kill()
            one.wait()
    assert machine.late and machine.longest > 0.03
