"""Files that cannot be replayed are told apart, and each error says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mcap.writer import Writer
from rclpy.serialization import serialize_message
from std_msgs.msg import String

from flexarm_core.errors import ConfigError, InputError
from flexarm_tools.bag.file import McapFile
from flexarm_tools.bag.replay import replay
from flexarm_tools.graph.message_definition import MessageDefinition
from flexarm_tools.graph.packages import AmentPackages
from flexarm_tools.graph.topic_choice import TopicChoice

SECOND = 10**9
COUNT = 3000  # several chunks

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of texts on /said, a millisecond apart, perhaps with something changed."""

    def write_changed(profile="ros2", encoding="cdr", kind="std_msgs/msg/String", text="") -> Path:
        path = tmp_path / "said.mcap"
        with path.open("wb") as stream:
            writer = Writer(stream, chunk_size=4096)
            writer.start(profile=profile)
            text = text or MessageDefinition.find("std_msgs/msg/String", AmentPackages()).text
            channel = writer.register_channel("/said", encoding, writer.register_schema(kind, "ros2msg", text.encode()))
            for tick in range(COUNT):
                data = serialize_message(String(data=f"{tick * 7919 % 10007}"))
                writer.add_message(channel, SECOND + tick * 10**6, data, SECOND)
            writer.finish()
        return path

    return write_changed


def test_a_good_file_gives_its_topics_and_messages(write):
    with McapFile(write()) as file:
        assert file.topics["/said"].type_name == "std_msgs/msg/String" and file.topics["/said"].count == COUNT
        assert (file.began, file.ended) == (SECOND, SECOND + (COUNT - 1) * 10**6)
        arrivals = [arrived for arrived, _, _ in file.messages(["/said"])]
    assert arrivals == [SECOND + tick * 10**6 for tick in range(COUNT)]


def test_a_missing_file_a_folder_and_another_kind_of_file_are_named(tmp_path):
    with pytest.raises(InputError, match="cannot be read: No such file"):
        McapFile(tmp_path / "none.mcap")
    (tmp_path / "bag_0.mcap").write_bytes(b"PK\3\4 of another kind")
    with pytest.raises(InputError, match="is a folder: name the .mcap file in it \\(bag_0.mcap\\)"):
        McapFile(tmp_path)
    with pytest.raises(InputError, match="bag_0.mcap' is not an MCAP file"):
        McapFile(tmp_path / "bag_0.mcap")


@pytest.mark.parametrize("kept", [8, 200, 20_000, -1])
def test_a_file_without_its_end_names_the_tool_that_saves_it(write, kept):
    path = write()
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match="has no end.*mcap recover"):
        McapFile(path)


def test_a_damaged_index_is_found_at_the_start_and_damaged_messages_when_they_are_met(write):
    good = write().read_bytes()
    path = write()
    path.write_bytes(good[:-60] + bytes(32) + good[-28:])
    with pytest.raises(InputError, match="index of .* is damaged"):
        McapFile(path)
    middle = len(good) // 3
    path.write_bytes(good[:middle] + bytes(64) + good[middle + 64 :])
    with McapFile(path) as file, pytest.raises(InputError, match=r"is damaged after [01]\.\d+ s"):
        list(file.messages(["/said"]))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"profile": "ros1"}, "of the profile 'ros1': only files of 'ros2'"),
        ({"encoding": "json"}, "topic '/said' .* encoding 'json'"),
    ],
)
def test_files_of_other_messages_are_refused(write, changes, words):
    with pytest.raises(InputError, match=words):
        McapFile(write(**changes))


@pytest.mark.parametrize(
    ("changes", "choice", "error", "words"),
    [
        ({"kind": "nobody_msgs/msg/Some"}, TopicChoice(), ConfigError, "'nobody_msgs/msg/Some' is not installed"),
        ({"text": "string data\nint8 more\n"}, TopicChoice(), ConfigError, "another definition of std_msgs/String"),
        ({}, TopicChoice(("heard",)), InputError, "holds none of these topics; it holds /said"),
        ({}, TopicChoice(exclude=("/s*",)), InputError, "holds none of these topics"),
    ],
)
def test_what_cannot_be_replayed_is_said_before_anything_is_published(write, changes, choice, error, words):
    with pytest.raises(error, match=words):
        replay(write(**changes), choice)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_is_a_positive_number(write, rate):
    with pytest.raises(ConfigError, match="rate must be"):
        replay(write(), TopicChoice(), rate=rate)
