"""An interrupt while a node is still being imported ends it quietly; nothing moves yet."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flexarm_tools.graph.packages import AmentPackages


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("executable", ["hardware_gate", "simulated_plant"])
def test_an_interrupted_import_leaves_no_traceback(executable, number):
    share = AmentPackages().share("flexarm")
    assert share is not None
    process = subprocess.Popen(
        [share.parents[1] / "lib" / "flexarm" / executable],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    libraries, deadline = Path(f"/proc/{process.pid}/maps"), time.monotonic() + 60.0
    while "numpy" not in libraries.read_text():  # it has begun, and needs a second more
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.005)
    process.send_signal(number)
    said, _ = process.communicate(timeout=60.0)
    assert (process.returncode, said) == (0, b"")


NODE = """
import sys
from flexarm_nodes.node.arm_node import ArmNode, run

class Node(ArmNode):
    def __init__(self):
        super().__init__("node")
        self._described = sys.argv[1]
        self._begun = self.create_timer(0.1, self.begin)

    def begin(self):
        self._begun.cancel()
        if self._described:
            self.trigger_configure()
        print("begun", flush=True)

    def build(self, values, model):
        print("begun", flush=True)
        while True:  # stands for a compiler
            sum(range(1000))

sys.exit(run(Node))
"""
ROBOT = """<robot name="robot"><link name="base"/><link name="arm"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="joint" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>"""


@pytest.mark.parametrize("robot", ["", ROBOT], ids=["waiting", "configuring"])
def test_a_node_that_is_interrupted_again_and_again_ends_well(robot):
    process = subprocess.Popen(
        [sys.executable, "-c", NODE, robot],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None and process.stdout.readline() == "begun\n"
    deadline = time.monotonic() + 20.0
    while process.poll() is None and time.monotonic() < deadline:
        process.send_signal(signal.SIGINT)  # as launch and the terminal do, each by itself
        time.sleep(0.002)
    process.kill()
    assert process.wait() == 0


HANGS = """
import ctypes
from flexarm_nodes.node import arm_node

class Node(arm_node.ArmNode):
    def __init__(self):
        super().__init__("node")
        self._begun = self.create_timer(0.1, self.begin)

    def begin(self):
        self._begun.cancel()
        print("begun", flush=True)

    def destroy_node(self):
        ctypes.PyDLL(None).sleep(60)  # holds Python's lock, as rclpy does meanwhile

arm_node.ENDING = 0.5
arm_node.run(Node)
"""


def test_a_node_whose_middleware_hangs_as_it_ends_says_so_and_ends():
    process = subprocess.Popen(
        [sys.executable, "-c", HANGS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30.0)
    finally:
        process.kill()
    assert process.returncode == 1 and "Timeout" in said and "in destroy_node" in said
