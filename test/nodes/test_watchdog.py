"""The watchdog of real gates stops the arm while the executor waits, hangs, or is about to be ended."""

from __future__ import annotations

import mmap
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from hanging_gate import HANG
from other_package import install_package
from planar_messages import START, joint_state
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, Float64MultiArray

from flexarm.msg import JointReference
from flexarm_nodes.hardware_gate import watchdog
from flexarm_nodes.messages.conversions import doubles
from flexarm_nodes.node import topics

SUPPORT = Path(__file__).resolve().parents[1] / "support"
GATE = {"command_mode": "velocity", "rate": 100.0}
COMMANDS = topics.command_topic("velocity")
PERIOD, SPEED = 0.01, 0.3  # [s], [rad/s]
STEP_BACK = 8.0  # [s] by which the system clock is set back
HANGS = 2.0  # [s] for which the executor hangs
HALTED = 0.6  # [s] for which the gate's process is halted: longer than blind_time
STOPPED_WITHIN = 0.6  # [s] 0.08 s of state_timeout, 0.03 s of braking; the rest is for a crowded machine


class Drives:
    """Drives that do what they are told, and a source of references at SPEED; what the gate commanded, and when."""

    def __init__(self, live, *, source: bool = True) -> None:
        self.commands: list[tuple[float, list[float]]] = []  # time [s], velocities
        self._live, self._position = live, START.copy()
        live.node.create_subscription(
            Float64MultiArray, COMMANDS, lambda m: self.commands.append((time.monotonic(), list(m.data))), 100
        )
        self._states = live.publisher(topics.JOINT_STATES, JointState)
        self._references = live.publisher(topics.JOINT_REFERENCE, JointReference) if source else None
        live.settle()

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            velocity = np.array(self.commands[-1][1] if self.commands else [0.0, 0.0, 0.0])
            self._position += velocity * PERIOD
            state = joint_state(0, self._position, velocity)
            reference = JointReference(names=["joint1", "joint2", "joint3"], velocity=doubles(np.full(3, SPEED)))
            state.header.stamp = reference.header.stamp = self._live.node.get_clock().now().to_msg()
            self._states.publish(state)
            if self._references is not None:
                self._references.publish(reference)
            self._live.spin(PERIOD)

    def reach_speed(self) -> None:
        deadline = time.monotonic() + 60.0  # a busy machine has to be punctual for a while first
        while not (self.commands and self.commands[-1][1] == [SPEED] * 3):
            assert time.monotonic() < deadline, self.commands[-3:]
            self.run(0.1)

    def seconds_until_rest(self, patience: float) -> float:
        """Hear commands for so long while nothing is sent; return after which time zero was commanded."""
        begin = time.monotonic()
        self._live.spin(patience)
        return next((at - begin for at, command in self.commands if at > begin and not any(command)), np.inf)


@pytest.fixture
def stepped(tmp_path, monkeypatch) -> Callable[[], None]:
    """Sets the system clock back for waits of the processes that are started from now on."""
    if (compiler := shutil.which("gcc")) is None:
        pytest.skip("gcc is not installed")
    library, file = tmp_path / "stepclock.so", tmp_path / "step"
    source = SUPPORT / "stepclock.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"], check=True)
    file.write_bytes(b"\0")
    for name, value in {"LD_PRELOAD": str(library), "STEPFILE": str(file), "STEPBACK": str(STEP_BACK)}.items():
        monkeypatch.setenv(name, value)

    def step() -> None:
        with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 1) as memory:
            memory[0:1] = b"\1"

    return step


class Machine:
    """Its own clock, and by how much it lets every sleeper wait longer than asked; stands for the module ``time``."""

    def __init__(self) -> None:
        self.now, self.late = 0.0, 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        time.sleep(0.001)
        self.now += seconds + self.late


def test_it_says_by_how_much_it_is_late_and_looks_no_more_once_it_has_ended(monkeypatch):
    machine, said = Machine(), []
    monkeypatch.setattr(watchdog, "time", machine)
    dog = watchdog.Watchdog(said.append)
    for late in (0.04, 0.0):
        machine.late, count, begun = late, len(said), machine.now
        dog.begin()
        deadline = time.monotonic() + 60.0
        while len(said) < count + 20:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        dog.end()
        looks = len(said) - count
        assert np.allclose(said[count:], late, atol=1e-9)
        # the last wait may have been for the end
        assert looks <= round((machine.now - begun) / (watchdog.PERIOD + late)) <= looks + 1
        time.sleep(0.05)
        assert len(said) == count + looks
    assert watchdog.PERIOD == 0.01  # [s]


def test_a_step_of_the_system_clock_does_not_delay_the_stop(live, shared, stepped):
    live.start("hardware_gate", shared | GATE)
    drives = Drives(live)
    drives.reach_speed()
    stepped()
    drives.run(0.05)
    assert drives.seconds_until_rest(1.5) < STOPPED_WITHIN
    live.wait_for_diagnostic("hardware_gate", "controlled stop: no joint state for")


@pytest.fixture
def hanging(live, shared, tmp_path) -> Iterator[Drives]:
    """The drives of a gate whose executor hangs when it is told to."""
    file = tmp_path / "parameters.yaml"
    file.write_text(yaml.safe_dump({"hardware_gate": {"ros__parameters": shared | GATE}}, width=1000))
    script = str(SUPPORT / "hanging_gate.py")
    process = subprocess.Popen([sys.executable, script, "--ros-args", "--params-file", str(file)])
    try:
        live.graph.wait_for_node("hardware_gate", 60.0)
        for transition in ("configure", "activate"):
            live.graph.transition("hardware_gate", transition)
        drives = Drives(live)
        drives.process = process
        yield drives
    finally:
        process.kill()
        process.wait()


def test_an_executor_that_hangs_in_a_callback_does_not_keep_the_arm_moving(live, hanging):
    hang = live.publisher(HANG, Float64)
    hanging.reach_speed()
    hang.publish(Float64(data=HANGS))
    begin = time.monotonic()
    hanging.run(1.0)  # states and references go on: nobody takes them
    rest = next(at for at, command in hanging.commands if at > begin and not any(command))
    assert rest - begin < STOPPED_WITHIN
    assert any("controlled stop: no joint state for" in said for _, said in live.said("hardware_gate"))
    assert max(np.diff([at for at, _ in hanging.commands if at > begin])) < 0.2  # [s] it is never silent
    hanging.run(HANGS)  # it hangs no more, and takes the arm on
    hanging.reach_speed()


def test_a_gate_that_is_ended_while_its_executor_hangs_has_stopped_the_arm_and_ends(live, hanging):
    hang = live.publisher(HANG, Float64)
    hanging.reach_speed()
    hang.publish(Float64(data=HANGS))
    live.spin(0.05)
    hanging.process.send_signal(signal.SIGTERM)
    assert hanging.seconds_until_rest(1.0) < STOPPED_WITHIN
    assert hanging.process.wait(HANGS + 20.0) == 0
    assert not any(hanging.commands[-1][1])


HANGER = f"""
import time
import numpy as np
from flexarm_core.types import JointReference
from flexarm_core.pipeline.stage import Stage
from flexarm_nodes.node.built_stage import BuiltStage
from flexarm_nodes.node.stage.kind import StageKind

class Hanger(Stage):
    name, needs, began = "hanger", frozenset(), None

    def reset(self):
        pass

    def update(self, tick):
        self.began = tick.stamp if self.began is None else self.began
        if self.began != np.inf and tick.stamp - self.began > 1.5e9:
            self.began = np.inf
            time.sleep({HANGS})
        tick.give_joints(self.name, JointReference(tick.stamp, velocity=np.full(3, {SPEED})))

HANGER = StageKind("hanger", "hanger", (), lambda values, model: BuiltStage(Hanger(), None, ()))
"""


def test_a_stage_that_hangs_does_not_keep_the_arm_of_a_control_loop_moving(live, shared, tmp_path, monkeypatch):
    install_package(tmp_path, monkeypatch, HANGER, "flexarm.stages", "hanger = other:HANGER")
    own = {f"hardware_gate.{name}": value for name, value in GATE.items()}
    live.start("control_loop", shared | own | {"stages": ["hanger", "hardware_gate"]})
    drives = Drives(live, source=False)
    drives.reach_speed()
    moved = time.monotonic()
    drives.run(1.5 + 0.7 * HANGS)
    rests = [at for at, command in drives.commands if at > moved and not any(command)]
    assert rests and rests[-1] - rests[0] > 0.3 * HANGS  # in the middle of the time for which the stage hung
    assert any("controlled stop: " in said for _, said in live.said("control_loop"))
    drives.run(HANGS)
    drives.reach_speed()


def test_a_gate_that_got_no_processor_for_longer_than_the_blind_time_goes_on_by_itself(live, shared):
    """The process is halted, as by a machine that has other work; the arm rests under efforts."""
    live.start("hardware_gate", shared | {"rate": 200.0})
    live.listen(topics.command_topic("effort"), Float64MultiArray)
    states, references = (
        live.publisher(topics.JOINT_STATES, JointState),
        live.publisher(topics.JOINT_REFERENCE, JointReference),
    )
    live.settle()

    def run(seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            state, reference = (
                joint_state(0),
                JointReference(names=["joint1", "joint2", "joint3"], effort=doubles(np.zeros(3))),
            )
            state.header.stamp = reference.header.stamp = live.node.get_clock().now().to_msg()
            states.publish(state)
            references.publish(reference)
            live.spin(0.005)

    def runs() -> bool:
        run(0.1)
        return live.said("hardware_gate")[-1] == (0, "running")

    live.until(runs, "running")
    count, gate = len(live.said("hardware_gate")), live.processes["hardware_gate"].process_id
    os.kill(gate, signal.SIGSTOP)
    run(HALTED)
    os.kill(gate, signal.SIGCONT)
    run(0.5)
    live.until(runs, "running again", timeout=90.0)  # once the machine is punctual: with other work that takes a while
    said = [text for _, text in live.said("hardware_gate")[count:]]
    assert any("controlled stop" in text for text in said)
    assert not any("tripped" in text for text in said), said
