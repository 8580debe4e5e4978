"""How soon flexible dynamics are of use after a start: in a plain Python, and in a node."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from flexarm_tools.metrics.figures import Figure, parse_goal

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test" / "support"))

NODE = "flexible_dynamics_estimator"
ROBOT = "flexible_2r"
FIRST_CALL = """
import sys
import time

import numpy as np

from flexarm_core.flexible_dynamics.model import FlexibleModel

imported = time.process_time()
model = FlexibleModel(sys.stdin.read())
built = time.process_time()
still = np.zeros(model.size)
model.forward_dynamics(still, still, np.zeros(len(model.hinge_names)))
print(imported, built, time.process_time())
"""


def cold_start() -> list[Figure]:
    """CPU time of a Python from its start to its first forward dynamics, kernels in the cache."""
    from accuracy import robot_text

    command, text = [sys.executable, "-c", FIRST_CALL], robot_text(ROBOT)
    # as a user starts it: the benchmark has limited itself to one core
    plain = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    rows = []
    for _ in range(6):  # the first fills the caches, of the machine and of numba
        ran = subprocess.run(command, input=text, capture_output=True, text=True, check=True, env=plain)
        rows.append([float(word) for word in ran.stdout.split()])
    *_, ends = zip(*rows[1:], strict=True)
    took = sorted(rows[1:], key=lambda row: row[-1])[2]
    details: dict[str, bool | float | str] = {"imports": took[0], "model": took[1] - took[0], "call": took[2] - took[1]}
    details |= {"quickest": min(ends), "slowest": max(ends)}
    meaning = "CPU time from the start of a Python to the first forward dynamics, cache warm, median of 5"
    return [Figure("cold_start", took[-1], "s", parse_goal("<= 1.0"), meaning, details=details)]


def node_start() -> list[Figure]:
    """From the start of the estimator's process to its first FlexibleState, joint states running all the while."""
    import live
    from accuracy import robot_text
    from sensor_msgs.msg import JointState

    from flexarm.msg import FlexibleState
    from flexarm_nodes.node import topics

    values = {"robot_description": robot_text(ROBOT), "gravity": [0.0, 0.0, 0.0], "use_strain": False}
    times = []
    with live.own_domain():
        for _ in range(5):
            with tempfile.TemporaryDirectory() as folder:
                graph = live.LiveGraph(Path(folder))
                try:
                    graph.listen(topics.FLEXIBLE_STATE, FlexibleState)
                    states = graph.node.create_publisher(JointState, topics.JOINT_STATES, topics.CONTROL)
                    graph.spin(1.0)  # our own side is up and announced: it is not what is measured
                    began = time.perf_counter()
                    graph.start(NODE, values)
                    stamp = 0
                    while not graph.received[topics.FLEXIBLE_STATE]:
                        if time.perf_counter() - began > 30.0:
                            raise RuntimeError(f"no {topics.FLEXIBLE_STATE} within 30 s")
                        stamp += 1_000_000
                        message = JointState(name=["shoulder", "elbow"], position=[0.1, 0.2], velocity=[0.0, 0.0])
                        message.effort = [0.0, 0.0]
                        message.header.stamp.nanosec = stamp
                        states.publish(message)
                        graph.spin(0.001)
                    times.append(time.perf_counter() - began)
                finally:
                    graph.close()
    meaning = "start of the estimator's process to its first FlexibleState, cache warm, median of 5"
    # On a busy machine single starts took 3 s more, before the node answered at all: hence median and extremes.
    details: dict[str, bool | float | str] = {"quickest": min(times), "slowest": max(times)}
    return [Figure("node_start", sorted(times)[2], "s", parse_goal("<= 3"), meaning, details=details)]
