"""McapRecorder: writes the messages of a running graph to an MCAP file that Foxglove and `ros2 bag` can read.

Messages remain serialized on the way to the file. The middleware stores the arrival time of each message, so that
subscriptions can be polled instead of waking this process for every message: on a busy machine this leaves more CPU
time to the controllers.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path

from mcap.well_known import MessageEncoding, Profile, SchemaEncoding
from mcap.writer import CompressionType, Writer
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from flexarm_core.errors import ConfigError, FlexarmError
from flexarm_nodes.messages.cdr import message_reader
from flexarm_nodes.node.topics import JOINT_STATES, ROBOT_DESCRIPTION, TF, TF_STATIC
from flexarm_tools.bag.frames import TF_HASH, TF_QUALITY, TF_TYPE, RobotFrames, tf_definition
from flexarm_tools.graph.heard_topic import HeardTopic
from flexarm_tools.graph.message_definition import MessageDefinition
from flexarm_tools.graph.offered_qos import write_offered_qos
from flexarm_tools.graph.packages import AmentPackages
from flexarm_tools.graph.tapped_topic import TAKE_PERIOD, HeardMessage
from flexarm_tools.graph.topic_choice import OF_NODES, TopicChoice

CHUNK_SIZE = 256 * 1024  # [bytes] data lost if this process is killed, and unit of decompression for a reader
DISCOVERY_PERIOD = 0.1  # [s] wall time between two looks for new publishers

_DESCRIBED = f"/{ROBOT_DESCRIPTION}"
_FRAMES_FROM = (_DESCRIBED, f"/{JOINT_STATES}")
_read_text, _read_state = message_reader(String), message_reader(JointState)


class McapRecorder:
    """Call :meth:`poll` repeatedly, and always :meth:`finish`, which writes the index."""

    def __init__(self, node: Node, path: Path, choice: TopicChoice) -> None:
        """Create the file.

        Args:
            node: node of the subscriptions; it need not be spun.
            path: output file.
            choice: topics to record.

        Raises:
            ConfigError: the file already exists, or cannot be written.
        """
        try:
            self._stream = path.open("xb")
        except FileExistsError as error:
            raise ConfigError(f"'{path}' is there already: nothing is overwritten, name another file") from error
        except FileNotFoundError as error:
            raise ConfigError(f"folder '{path.parent}' does not exist: make it, or name another file") from error
        except OSError as error:
            raise ConfigError(f"'{path}' cannot be written: {error.strerror}") from error
        self._path, self._node, self._choice, self._packages = path, node, choice, AmentPackages()
        self._taken, self._discovered = 0.0, 0.0  # [s] monotonic time
        self._writer = Writer(self._stream, chunk_size=CHUNK_SIZE, compression=CompressionType.ZSTD)
        self._writer.start(profile=Profile.ROS2)
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}
        self.topics: dict[str, HeardTopic] = {}
        self.refused: dict[str, str] = {}  # topic -> reason
        self.derived: dict[str, int] = {}  # /tf and /tf_static that nobody publishes -> number of messages
        self._frames: RobotFrames | None = None
        self.began, self.ended = 0, 0  # [ns since 1970] arrivals of the first and the last message

    @property
    def count(self) -> int:
        """Number of messages so far."""
        return sum(topic.count for topic in self.topics.values())

    @property
    def lost(self) -> dict[str, int]:
        """Number of lost messages by topic: sent before or between the received ones, but not received."""
        heard = ((name, topic) for name, topic in self.topics.items() if name not in OF_NODES)
        return {name: topic.missed + topic.lost for name, topic in heard if topic.missed + topic.lost}

    @property
    def hears_all(self) -> bool:
        """Whether every publisher of a chosen topic is known and matched."""
        self.discover()
        return all(topic.hears_all for topic in self.topics.values())

    def poll(self) -> None:
        """Discover and take, each when its period has passed.

        Raises:
            ConfigError: the file cannot be written any further.
        """
        now = time.monotonic()
        if now - self._discovered >= DISCOVERY_PERIOD:
            self._discovered = now
            self.discover()
        if now - self._taken >= TAKE_PERIOD:
            self._taken = now
            self.take()

    def discover(self) -> None:
        """Subscribe to topics with new publishers; ``refused`` gives the reason why a topic cannot be recorded.

        Raises:
            ConfigError: the file cannot be written any further.
        """
        for name, types in self._node.get_topic_names_and_types():
            publishers = self._node.count_publishers(name)
            if not publishers or name in self.refused or not self._choice.takes(name):
                continue
            topic = self.topics.get(name)
            if topic is None:
                try:
                    self.topics[name] = self._listen(name, types)
                except ConfigError as error:
                    self.refused[name] = str(error)
            elif publishers != len(topic.publishers):
                with self._writing():
                    self._write((name, message) for message in topic.follow())

    def take(self) -> None:
        """Write the messages that have arrived since the last call.

        Raises:
            ConfigError: the file cannot be written any further.
        """
        now = time.time_ns()
        with self._writing():
            self._write((name, message) for name, topic in self.topics.items() for message in topic.take(now))

    def finish(self) -> None:
        """Write the remaining messages and the index, and close the file.

        Raises:
            ConfigError: the file cannot be written any further.
        """
        try:
            self.take()
            with self._writing():
                self._writer.finish()
        finally:
            for topic in self.topics.values():
                topic.close()
            with self._writing():
                self._stream.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ConfigError(f"'{self._path}' cannot be written any further: {error.strerror}") from error

    def _listen(self, name: str, types: list[str]) -> HeardTopic:
        if len(types) != 1:
            raise ConfigError(f"its publishers and subscriptions are of several types: {', '.join(types)}")
        kind = types[0]
        if kind not in self._schemas:
            definition = MessageDefinition.find(kind, self._packages)
            self._schemas[kind] = self._writer.register_schema(kind, SchemaEncoding.ROS2, definition.text.encode())
        return HeardTopic(self._node, name, kind)

    def _write(self, messages: Iterable[tuple[str, HeardMessage]]) -> None:
        """Write messages in order of arrival, so that reading the file sequentially yields this order."""
        for arrived, name, message in sorted(
            ((message.arrived, name, message) for name, message in messages), key=itemgetter(0)
        ):
            if name not in self._channels:
                self._channels[name] = self._register(self.topics[name])
            self.began = min(self.began or arrived, arrived)
            self.ended = max(self.ended, arrived)
            self._writer.add_message(
                self._channels[name], arrived, message.data, message.sent, message.sequence % 2**32
            )
            if name in _FRAMES_FROM:
                self._derive(name, message)

    def _derive(self, name: str, message: HeardMessage) -> None:
        """Add the frames of the robot where no robot_state_publisher runs."""
        if TF in self.topics or not (self._choice.takes(TF) and self._choice.takes(TF_STATIC)):
            return
        try:
            if name == _DESCRIBED:
                self._frames = RobotFrames(_read_text(message.data).data)
                self._add(TF_STATIC, self._frames.static(), message)
            elif self._frames and (data := self._frames.moving(_read_state(message.data))):
                self._add(TF, data, message)
        except FlexarmError as error:  # of another kind of robot, or damaged
            self.refused[TF] = str(error)

    def _add(self, name: str, data: bytes, source: HeardMessage) -> None:
        if name not in self._channels:
            if TF_TYPE not in self._schemas:
                text = tf_definition(self._packages).text.encode()
                self._schemas[TF_TYPE] = self._writer.register_schema(TF_TYPE, SchemaEncoding.ROS2, text)
            metadata = {"offered_qos_profiles": write_offered_qos([TF_QUALITY[name]]), "topic_type_hash": TF_HASH}
            schema = self._schemas[TF_TYPE]
            self._channels[name] = self._writer.register_channel(name, MessageEncoding.CDR, schema, metadata)
        self.derived[name] = self.derived.get(name, 0) + 1
        self._writer.add_message(self._channels[name], source.arrived, data, source.sent, self.derived[name])

    def _register(self, topic: HeardTopic) -> int:
        hashes = {str(publisher.topic_type_hash) for publisher in topic.publishers}
        metadata = {
            "offered_qos_profiles": write_offered_qos(publisher.qos_profile for publisher in topic.publishers),
            "topic_type_hash": hashes.pop() if len(hashes) == 1 else "",
        }
        schema = self._schemas[topic.type_name]
        return self._writer.register_channel(topic.name, MessageEncoding.CDR, schema, metadata)
