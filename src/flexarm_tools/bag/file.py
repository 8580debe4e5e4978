"""McapFile: read access to an MCAP file of ROS 2 messages, from any recorder."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from mcap.reader import make_reader
from mcap.records import Channel, Schema
from mcap.well_known import MessageEncoding, Profile, SchemaEncoding
from mcap.writer import MCAP0_MAGIC
from rclpy.qos import QoSProfile

from flexarm_core.errors import InputError, quoted
from flexarm_tools.graph.message_definition import MessageDefinition
from flexarm_tools.graph.offered_qos import read_offered_qos


@dataclass(frozen=True, slots=True)
class RecordedTopic:
    """A topic of a file."""

    type_name: str  # message type, `PACKAGE/msg/NAME`
    definition: MessageDefinition | None  # message definition; None if the file does not contain it in `ros2msg` format
    offered: tuple[QoSProfile, ...]  # QoS profiles offered by its publishers; empty if not stored in the file
    count: int  # number of messages


class McapFile:
    """Topics and messages of a file."""

    def __init__(self, path: Path) -> None:
        """Open a file and read its index.

        Raises:
            InputError: the file does not exist, or is not a complete MCAP file of ROS 2 messages.
        """
        self.path = path
        if path.is_dir():
            inside = ", ".join(sorted(each.name for each in path.glob("*.mcap")))
            raise InputError(f"'{path}' is a folder: name the .mcap file in it ({inside or 'there is none'})")
        try:
            if path.exists() and not (path.is_file() and path.stat().st_size):  # files of /proc claim no bytes
                raise InputError(f"'{path}' is a device or empty, not an MCAP file")
            self._stream = path.open("rb")
        except OSError as error:
            raise InputError(f"'{path}' cannot be read: {error.strerror}") from error
        try:
            self._read_index()
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> McapFile:
        """Return this file for a ``with`` statement."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self._stream.close()

    def messages(self, topics: Collection[str]) -> Iterator[tuple[int, str, bytes]]:
        """Yield the messages of these topics in order of arrival: (arrival [ns], topic, serialized message).

        Raises:
            InputError: the file is damaged; the message gives the time of the last intact message.
        """
        messages, last = self._reader.iter_messages(topics=set(topics)), self.began
        while True:
            try:
                _, channel, message = next(messages)
            except StopIteration:
                return
            except Exception as error:  # compression, checksum and record errors have different types
                where = f"after {(last - self.began) * 1e-9:.3f} s"
                raise InputError(
                    f"'{self.path}' is damaged {where}: {type(error).__name__}: {quoted(str(error))}"
                ) from error
            last = message.log_time
            yield message.log_time, channel.topic, message.data

    def _read_index(self) -> None:
        begin = self._stream.read(len(MCAP0_MAGIC))
        if begin != MCAP0_MAGIC:
            raise InputError(f"'{self.path}' is not an MCAP file")
        self._stream.seek(-len(MCAP0_MAGIC), 2)
        if self._stream.tell() < len(MCAP0_MAGIC) or self._stream.read() != MCAP0_MAGIC:
            raise InputError(
                f"'{self.path}' has no end: its recorder was killed, or it was copied in part; `mcap recover` of the"
                " mcap command line tool saves what is there"
            )
        self._stream.seek(0)
        try:
            self._reader = make_reader(self._stream, validate_crcs=True)
            profile, summary = self._reader.get_header().profile, self._reader.get_summary()
        except Exception as error:  # a damaged record can cause any exception in the library
            raise InputError(
                f"index of '{self.path}' is damaged: {type(error).__name__}: {quoted(str(error))}"
            ) from error
        if profile != Profile.ROS2:
            raise InputError(f"'{self.path}' is of the profile {quoted(profile)}: only files of 'ros2' can be used")
        if summary is None or summary.statistics is None:
            raise InputError(f"'{self.path}' has no index: `mcap recover` of the mcap command line tool makes one")
        statistics = summary.statistics
        self.began, self.ended = statistics.message_start_time, statistics.message_end_time
        self.topics: dict[str, RecordedTopic] = {}
        for channel in summary.channels.values():
            count = statistics.channel_message_counts.get(channel.id, 0)
            self._add(channel, summary.schemas.get(channel.schema_id), count)

    def _add(self, channel: Channel, schema: Schema | None, count: int) -> None:
        name, encoding = channel.topic, channel.message_encoding
        if schema is None or encoding != MessageEncoding.CDR:
            raise InputError(
                f"topic {quoted(name)} of '{self.path}' has messages of encoding {quoted(encoding)}, not CDR of a type"
            )
        offered = read_offered_qos(channel.metadata.get("offered_qos_profiles", ""))
        known = self.topics.get(name)  # a topic has several channels in a merged or split recording
        if known is not None:
            if known.type_name != schema.name:
                raise InputError(
                    f"topic {quoted(name)} of '{self.path}' has two types: {quoted(known.type_name)},"
                    f" {quoted(schema.name)}"
                )
            offered, count = known.offered + offered, known.count + count
        given = schema.encoding == SchemaEncoding.ROS2
        try:
            definition = MessageDefinition(schema.name, schema.data.decode()) if given else None
        except UnicodeDecodeError as error:
            raise InputError(
                f"topic {quoted(name)} of '{self.path}' has a definition that is not UTF-8 text"
            ) from error
        self.topics[name] = RecordedTopic(schema.name, definition, offered, count)
