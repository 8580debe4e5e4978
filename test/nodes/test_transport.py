"""Which transport a node uses: shared memory may hold up a publisher for 333 ms when somebody joins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from live import LiveGraph

from flexarm_nodes.node.transport import (
    LOCALHOST_ONLY,
    PROFILES,
    RANGE,
    TRANSPORTS,
    avoid_shared_memory,
    localhost_by_udp,
    stay_on_this_machine,
)

NAMES = (RANGE, LOCALHOST_ONLY, TRANSPORTS, *PROFILES, "ROS_STATIC_PEERS")


@pytest.fixture
def untold(monkeypatch) -> pytest.MonkeyPatch:
    """An environment in which nobody chose anything; what a test changes is put back."""
    for name in NAMES:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return monkeypatch


def uses_shared_memory(live: LiveGraph, name: str) -> bool:
    """Whether the process of a node has files of Fast DDS in shared memory."""
    maps = Path(f"/proc/{live.processes[name].process_id}/maps").read_text(encoding="utf-8")
    return "/dev/shm/fastrtps" in maps


@pytest.mark.parametrize("chosen", [{RANGE: "LOCALHOST"}, {LOCALHOST_ONLY: "1"}, {RANGE: "SUBNET"}])
def test_a_node_does_without_shared_memory(untold, chosen, request, shared):
    for name, value in chosen.items():
        untold.setenv(name, value)
    avoid_shared_memory()
    localhost_by_udp()
    live = request.getfixturevalue("live")  # it configures this process likewise: both find each other
    live.start("hardware_gate", shared)
    assert not uses_shared_memory(live, "hardware_gate")


def test_a_node_by_itself_does_without_it_beyond_this_machine(untold, request, shared):
    untold.setenv(RANGE, "SUBNET")
    live = request.getfixturevalue("live")
    live.start("hardware_gate", shared)
    assert not uses_shared_memory(live, "hardware_gate")


def test_what_the_user_chose_stays(untold, request, shared):
    untold.setenv(RANGE, "SUBNET")
    untold.setenv(TRANSPORTS, "DEFAULT")
    live = request.getfixturevalue("live")
    live.start("hardware_gate", shared)
    assert uses_shared_memory(live, "hardware_gate")


def test_a_profile_of_the_user_stays(untold, tmp_path, request, shared):
    profile = tmp_path / "profile.xml"
    profile.write_text('<?xml version="1.0"?><dds xmlns="http://www.eprosima.com"><profiles/></dds>\n')
    untold.setenv(PROFILES[0], str(profile))
    live = request.getfixturevalue("live")
    live.start("hardware_gate", shared)
    assert uses_shared_memory(live, "hardware_gate")
    assert os.environ[PROFILES[0]] == str(profile)


@pytest.mark.parametrize("chosen", [{RANGE: "OFF"}, {RANGE: "SUBNET"}, {LOCALHOST_ONLY: "0"}])
def test_a_range_that_the_user_chose_stays(untold, chosen):
    for name, value in chosen.items():
        untold.setenv(name, value)
    stay_on_this_machine()
    localhost_by_udp()
    avoid_shared_memory()
    assert {name: os.environ[name] for name in chosen} == chosen
    assert os.environ[TRANSPORTS] == "UDPv4"


def test_other_peers_of_the_user_stay(untold):
    untold.setenv(RANGE, "LOCALHOST")
    untold.setenv("ROS_STATIC_PEERS", "192.168.0.7")
    localhost_by_udp()
    assert os.environ[RANGE] == "LOCALHOST"
    assert PROFILES[0] not in os.environ


def test_other_middleware_is_left_alone(untold):
    untold.setattr("flexarm_nodes.node.transport.get_rmw_implementation_identifier", lambda: "rmw_cyclonedds_cpp")
    untold.setenv(RANGE, "LOCALHOST")
    localhost_by_udp()
    avoid_shared_memory()
    assert os.environ[RANGE] == "LOCALHOST"
    assert not {TRANSPORTS, PROFILES[0]} & os.environ.keys()
