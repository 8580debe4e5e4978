"""LiveGraph: access to the nodes of a running graph in a separate thread; a silent node does not block the page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from geometry_msgs.msg import Vector3
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.context import Context
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import HistoryPolicy, QoSProfile

from flexarm.srv import ApplyPush
from flexarm_core.errors import FlexarmError
from flexarm_tools.graph.graph import Graph, GraphError
from flexarm_tools.view.live_parameter import LiveParameter, read_parameter

SCAN_PERIOD = 1.0  # [s] period of the search for nodes
PATIENCE = 3.0  # [s] timeout of an answer
DESCRIPTIONS = ("plant_description", "robot_description")  # parameters; the first nonempty one is used
PLANT = "simulated_plant"
MARKERS, STATE_MARKERS = "visualization_msgs/msg/MarkerArray", "state_markers"


class LiveGraph(Graph):
    """Nodes of a namespace, their live parameters and their robot; jobs are executed one after the other.

    Attributes:
        nodes: live parameters by full node name; replaced as a whole.
        description: robot description from a parameter of the plant, or else of any node; empty if there is none.
        tool_frame: tool frame from the same node; empty if there is none.
        parameters: parameters of each node by name, as read when the node appeared; replaced as a whole.
        marker_topics: marker topics with their QoS, without those that only draw the arm again.
    """

    def __init__(self, node: Node, context: Context, say: Callable[[str], None]) -> None:
        """Start the thread.

        Args:
            node: node for the requests; spun by this object.
            context: context of the node.
            say: called with error messages.
        """
        executor = EventsExecutor(context=context)
        executor.add_node(node)
        super().__init__(node, executor, self._give_up)
        self._say = say
        self._within = node.get_namespace().rstrip("/")
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._values: dict[tuple[str, str], tuple[Any, Callable[[], None]]] = {}
        self._ending = False
        self.nodes: dict[str, tuple[LiveParameter, ...]] = {}
        self.description = self.tool_frame = ""
        self.parameters: dict[str, dict[str, Any]] = {}
        self.marker_topics: dict[str, QoSProfile] = {}
        self._thread = threading.Thread(target=self._work, name="flexarm_view_graph", daemon=True)
        self._thread.start()

    def do(self, job: Callable[[], None]) -> None:
        """Queue a job that may wait for nodes; a FlexarmError from it is shown as a message."""
        self._jobs.put(job)

    def change(self, parameter: LiveParameter, value: Any, put_back: Callable[[], None]) -> None:
        """Set a parameter to the latest of the requested values; ``put_back`` is called if the node rejects it."""
        key = (parameter.node, parameter.name)
        if key not in self._values:
            self._jobs.put(lambda: self._set(key))
        self._values[key] = (value, put_back)

    def read_again(self) -> None:
        """Read the parameters of all nodes again."""
        self.do(lambda: setattr(self, "nodes", {}))

    def has(self, name: str) -> bool:
        """Return whether a node of this name exists."""
        return self.full_name(name) in self.nodes

    def full_name(self, name: str) -> str:
        """Return the full name of a node of the namespace that is shown."""
        return f"{self._within}/{name}"

    def push(self, link: str, force: tuple[float, float, float], duration: float) -> float:
        """Push a link of the simulated arm; return the simulation time [s] at which the push begins.

        Args:
            link: link, pushed at its origin.
            force: (3,) peak of a half-sine pulse, in axes of the root link [N].
            duration: duration of the pulse [s].

        Raises:
            GraphError: there is no plant that can be pushed, or it rejected the push.
        """
        x, y, z = (float(value) for value in force)
        request = ApplyPush.Request(link=link, force=Vector3(x=x, y=y, z=z), duration=float(duration))
        answer = self._question(ApplyPush, f"{PLANT}/push", request)
        if answer is None:
            raise GraphError(f"no answer of {PLANT}/push: only a simulated arm can be pushed from here")
        if not answer.success:
            raise GraphError(f"no push: {answer.message}")
        return float(answer.start)

    def close(self) -> None:
        """End the thread."""
        self._ending = True
        self._thread.join(2.0 * PATIENCE)
        self._executor.shutdown()

    def _give_up(self) -> None:
        if self._ending:
            raise GraphError("the page is closed")

    def _work(self) -> None:
        looked = -SCAN_PERIOD
        while not self._ending:
            try:
                self._executor.spin_once(timeout_sec=0.03)
                self._jobs.get_nowait()()
            except Empty:
                pass
            except FlexarmError as error:
                self._say(str(error))
            except Exception as error:  # show a message and continue
                self._say(f"internal error: {type(error).__name__}: {error}")
            if time.monotonic() - looked > SCAN_PERIOD:
                try:
                    self._look_around()
                except Exception as error:
                    self._say(f"looking for nodes: {type(error).__name__}: {error}")
                looked = time.monotonic()

    def _look_around(self) -> None:
        """Find the nodes, and read the parameters of each new node once, since reading takes CPU time of the node."""
        names = {
            f"{space.rstrip('/')}/{name}"
            for name, space in self._node.get_node_names_and_namespaces()
            if not name.startswith(("_", "flexarm_view", "flexarm_runner"))
        }
        names = {name for name in names if name.startswith(f"{self._within}/")}
        kept = {name: parameters for name, parameters in self.nodes.items() if name in names}
        for name in sorted(names - set(kept)):
            found = self._read(name)
            if found is not None:
                kept[name] = found
        if kept != self.nodes:
            self.nodes = kept
            self.parameters = {name: values for name, values in self.parameters.items() if name in kept}
        self.marker_topics = self._find_markers()

    def _find_markers(self) -> dict[str, QoSProfile]:
        found = {}
        for topic, kinds in self._node.get_topic_names_and_types():
            ours = MARKERS in kinds and topic.startswith(f"{self._within}/")
            publishers = self._node.get_publishers_info_by_topic(topic) if ours else []
            if publishers and all(publisher.node_name != STATE_MARKERS for publisher in publishers):
                found[topic] = QoSProfile(
                    reliability=publishers[0].qos_profile.reliability,
                    durability=publishers[0].qos_profile.durability,
                    history=HistoryPolicy.KEEP_LAST,
                    depth=1,
                )
        return found

    def _read(self, name: str) -> tuple[LiveParameter, ...] | None:
        listed = self._question(ListParameters, f"{name}/list_parameters", ListParameters.Request(), 0.0)
        if listed is None:
            return None
        names = sorted(listed.result.names)
        described = self._question(
            DescribeParameters, f"{name}/describe_parameters", DescribeParameters.Request(names=names)
        )
        values = self._question(GetParameters, f"{name}/get_parameters", GetParameters.Request(names=names))
        if described is None or values is None or not len(names) == len(described.descriptors) == len(values.values):
            return None
        texts = {key: value.string_value for key, value in zip(names, values.values, strict=True)}
        pythons = map(parameter_value_to_python, values.values)
        self.parameters = {**self.parameters, name: dict(zip(names, pythons, strict=True))}
        text = next((texts[key] for key in DESCRIPTIONS if texts.get(key)), "")
        if text and (not self.description or name == self.full_name(PLANT)):
            self.description, self.tool_frame = text, texts.get("tool_frame", "")
        pairs = zip(described.descriptors, values.values, strict=True)
        found = (read_parameter(name, descriptor, value) for descriptor, value in pairs)
        return tuple(parameter for parameter in found if parameter is not None)

    def _set(self, key: tuple[str, str]) -> None:
        value, put_back = self._values.pop(key)
        try:
            self.set_parameters(key[0], {key[1]: value}, PATIENCE)
        except FlexarmError:
            put_back()
            raise

    def _question(self, service: Any, name: str, request: Any, patience: float = PATIENCE) -> Any:
        """Call a service; return None if it is not available in time, or does not answer."""
        client = self._client(service, name)
        deadline = time.monotonic() + patience
        while not client.service_is_ready():
            if time.monotonic() > deadline:
                return None
            self._executor.spin_once(timeout_sec=0.02)
        return self._ask(service, name, request, PATIENCE)
