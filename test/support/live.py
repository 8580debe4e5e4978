"""A live ROS graph for tests: nodes under test as processes of their own, on a ROS domain that nobody else uses."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rclpy
import yaml
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import GetState
from rclpy.context import Context
from rclpy.experimental import EventsExecutor
from rviz_rules import broken_rules
from visualization_msgs.msg import MarkerArray

from flexarm_nodes.node import topics
from flexarm_nodes.node.parameters import ARM_PARAMETERS
from flexarm_nodes.node.transport import stay_on_this_machine
from flexarm_nodes.registry import parameters_of
from flexarm_tools.graph.graph import Graph, GraphError
from flexarm_tools.process.processes import NodeDiedError, NodeProcess, end_all

SETTLE_TIME = 0.6  # [s] wall time for discovery, on a crowded machine


@contextlib.contextmanager
def own_domain() -> Iterator[int]:
    """Take a ROS_DOMAIN_ID that no other test on this machine holds."""
    for domain in range(1, 100):
        path = Path(tempfile.gettempdir()) / f"flexarm-test-domain-{domain}.lock"
        with path.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            before = os.environ.get("ROS_DOMAIN_ID")
            os.environ["ROS_DOMAIN_ID"] = str(domain)
            stay_on_this_machine()
            try:
                yield domain
            finally:
                if before is None:
                    del os.environ["ROS_DOMAIN_ID"]
                else:
                    os.environ["ROS_DOMAIN_ID"] = before
            return
    raise RuntimeError("no free ROS domain")


class LiveGraph:
    """Nodes under test and the test's own publishers and subscriptions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=rclpy.SignalHandlerOptions.NO)
        self.node = rclpy.create_node("test", context=self._context)
        self._executor = EventsExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.processes: dict[str, NodeProcess] = {}
        self._given: dict[str, dict[str, Any]] = {}
        self.graph = Graph(self.node, self._executor, self._check)
        self.received: dict[str, list[Any]] = defaultdict(list)
        self.listen(topics.DIAGNOSTICS, DiagnosticArray)

    def close(self) -> None:
        """End every node."""
        end_all(self.processes.values())
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)
        markers = (each for messages in self.received.values() for each in messages if isinstance(each, MarkerArray))
        assert not [fault for message in markers for fault in broken_rules(message)]

    def start(
        self, executable: str, parameters: dict[str, Any], transitions=("configure", "activate"), namespace: str = ""
    ) -> None:
        """Start a node, in a namespace as ``/left``, and lead it through transitions."""
        self._given[executable] = parameters
        name = f"{namespace}/{executable}"
        key = name.lstrip("/")
        file, log = (self._folder / f"{key.replace('/', '_')}.{kind}" for kind in ("yaml", "log"))
        file.write_text(yaml.safe_dump({f"/**/{executable}": {"ros__parameters": parameters}}, width=1000))
        arguments = ["--ros-args", "--params-file", str(file), "-r", f"__ns:={namespace or '/'}"]
        self.processes[key] = NodeProcess(key, "flexarm", executable, arguments, log)
        self.graph.wait_for_node(name, 60.0)
        try:
            for transition in transitions:
                self.graph.transition(name, transition)
        except GraphError as error:
            if "within" in str(error):  # it hangs: a forked node says where
                os.kill(self.processes[key].process_id, signal.SIGUSR2)
                time.sleep(1.0)
                error.add_note(self.processes[key].last_words(60))
            raise

    def listen(self, topic: str, message_type: Any) -> None:
        """Keep every message of a topic."""
        self.node.create_subscription(message_type, topic, self.received[topic].append, topics.EVERY_SAMPLE)

    def publisher(self, topic: str, message_type: Any) -> Any:
        """A publisher that a node under test already listens to."""
        publisher = self.node.create_publisher(message_type, topic, topics.CONTROL)
        self.until(lambda: publisher.get_subscription_count() > 0, f"a subscription to {topic}")
        return publisher

    def refuses(self, node: str, parameters: dict[str, Any], said: str) -> None:
        """A node that is not configured refuses other parameters with these words, at once or when it is to be.

        They are put back.
        """
        usual = {row.name: row.default for row in (*ARM_PARAMETERS, *parameters_of(node))} | self._given[node]
        try:
            self.graph.set_parameters(node, parameters)
        except GraphError as error:
            assert said in str(error)
            return
        count = len(self.said(node))
        with pytest.raises(GraphError, match="refused to configure"):
            self.graph.transition(node, "configure")
        self.until(lambda: any(said in text for _, text in self.said(node)[count:]), f"'{said}' from {node}")
        self.graph.set_parameters(node, {name: usual[name] for name in parameters})

    def until(self, condition: Callable[[], bool], what: str, timeout: float = 20.0) -> None:
        """Handle callbacks until a condition holds; fail after the time-out."""
        self.graph.spin_until(condition, timeout, what)

    def spin(self, seconds: float) -> None:
        """Handle callbacks for a while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.01)

    def settle(self) -> None:
        """Give peers time to discover each other both ways: of the way back to here nothing here can know."""
        self.spin(SETTLE_TIME)

    def handled(self, node: str) -> None:
        """Wait until a node has handled all that was sent to it from here before, and what it answered is here.

        Topics and services of a process come through one socket and are handled by one thread, in their order. A wait
        of some time would be too short on a busy machine and too long on an idle one.
        """
        self.graph.call(GetState, f"{node}/get_state", GetState.Request())

    def said(self, node: str) -> list[tuple[int, str]]:
        """(level, message) of every diagnostic of a node so far."""
        statuses = (status for array in self.received[topics.DIAGNOSTICS] for status in array.status)
        return [(int.from_bytes(s.level, "little"), s.message) for s in statuses if s.name == node]

    def wait_for_diagnostic(self, node: str, words: str) -> None:
        """Wait until a node says something that holds these words."""
        self.until(lambda: any(words in message for _, message in self.said(node)), f"'{words}' from {node}")

    def _check(self) -> None:
        for process in self.processes.values():
            if process.died:
                raise NodeDiedError(f"node '{process.name}' died\n{process.last_words()}")
