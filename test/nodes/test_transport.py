"""Which transport a node uses: shared memory may hold up a publisher for 333 ms when somebody joins."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from live import LiveGraph

from flexarm_core.errors import ConfigError
from flexarm_nodes.node.transport import (
    LOCALHOST_ONLY,
    PROFILES,
    RANGE,
    TRANSPORTS,
    avoid_shared_memory,
    localhost_by_udp,
    stay_among,
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


def udp_addresses(live: LiveGraph, name: str) -> set[str]:
    """The addresses at which the process of a node listens or sends, as hexadecimal numbers of the kernel's table."""
    folder = Path(f"/proc/{live.processes[name].process_id}")
    held = {os.readlink(one) for one in (folder / "fd").iterdir() if one.exists() or one.is_symlink()}
    rows = [line.split() for line in (folder / "net/udp").read_text(encoding="utf-8").splitlines()[1:]]
    return {row[1].partition(":")[0] for row in rows if f"socket:[{row[9]}]" in held}


def test_on_this_machine_alone_no_other_machine_reaches_a_socket(untold, request, shared):
    untold.setenv(TRANSPORTS, "UDPv4")  # as the pages say it for a driver
    stay_among("localhost")
    live = request.getfixturevalue("live")
    live.start("hardware_gate", shared)
    assert udp_addresses(live, "hardware_gate") == {"0100007F"}  # 127.0.0.1
    assert not uses_shared_memory(live, "hardware_gate")


def test_peers_are_looked_for_and_nobody_else_is(untold, request, shared):
    stay_among("192.0.2.7, 127.0.0.1")
    profile = Path(os.environ[PROFILES[0]]).read_text(encoding="utf-8")
    assert profile.count("<locator><udpv4>") == 3 and "<address>192.0.2.7</address>" in profile
    assert "interfaceWhiteList" not in profile and os.environ[RANGE] == "SYSTEM_DEFAULT"
    live = request.getfixturevalue("live")
    live.start("hardware_gate", shared)  # it is found: this machine is one of them
    assert not uses_shared_memory(live, "hardware_gate")


@pytest.mark.parametrize("chosen", [{RANGE: "SUBNET"}, {PROFILES[0]: "/mine.xml"}, {TRANSPORTS: "SHM"}, {}])
def test_a_network_that_the_user_chose_stays(untold, chosen):
    for name, value in chosen.items():
        untold.setenv(name, value)
    before = dict(os.environ)
    stay_among("localhost" if chosen else "open")
    assert dict(os.environ) == before


@pytest.mark.parametrize("network", ["", "example.com", "10.0.0.1;10.0.0.2", "1.2.3", "<address>"])
def test_a_network_that_is_none_is_refused(untold, network):
    with pytest.raises(ConfigError, match="is not localhost, open or IPv4 addresses"):
        stay_among(network)
