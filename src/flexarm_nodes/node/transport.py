"""Chooses how messages travel between processes, through the environment of this process and its children."""

from __future__ import annotations

import os
import tempfile
from ipaddress import IPv4Address
from pathlib import Path

from rclpy.utilities import get_rmw_implementation_identifier

from flexarm_core.errors import ConfigError

RANGE, LOCALHOST_ONLY = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOCALHOST_ONLY"
# Variables of Fast DDS by which a user chooses transports
TRANSPORTS, PROFILES = "FASTDDS_BUILTIN_TRANSPORTS", ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
LOCALHOST = Path(__file__).with_name("localhost.xml")
PEERS = "ROS_STATIC_PEERS"
OPEN, LOCAL = "open", "localhost"  # values of stay_among beside addresses
LOOPBACK = "<interfaceWhiteList><address>127.0.0.1</address></interfaceWhiteList>"
PEER = "<locator><udpv4><address>{}</address></udpv4></locator>"


def stay_on_this_machine() -> None:
    """Restrict discovery to this machine, unless the user chose its range."""
    if not any(name in os.environ for name in (LOCALHOST_ONLY, RANGE)):
        os.environ[RANGE] = "LOCALHOST"


def avoid_shared_memory() -> None:
    """Let Fast DDS send messages by UDP, unless the user chose transports. Call this before the first node is created.

    When a participant joins, the shared memory transport checks the health of its port, and may sleep for 333 ms with
    the lock of a publisher (https://github.com/eProsima/Fast-DDS/issues/6535): no command is sent during that time.
    Within the discovery range LOCALHOST, rmw_fastrtps_cpp ignores this choice, see :func:`localhost_by_udp`.
    """
    if _is_open() and not _is_local():
        os.environ[TRANSPORTS] = "UDPv4"


def localhost_by_udp() -> None:
    """Do the same within the discovery range LOCALHOST, by a profile of Fast DDS that replaces that range."""
    if _is_open() and _is_local() and not os.environ.get(PEERS):
        os.environ.pop(LOCALHOST_ONLY, None)
        os.environ[RANGE] = "SYSTEM_DEFAULT"
        os.environ[PROFILES[0]] = str(LOCALHOST)


def stay_among(network: str) -> None:
    """Restrict who this process and its children speak with, unless the user chose that by the environment.

    Args:
        network: ``localhost``: processes of this machine, at sockets that no other machine reaches; ``open``: all
            machines on the network, as in ROS 2 by default; or IPv4 addresses of machines, separated by commas: these
            and this machine. Discovery does not contact other machines, but they may reach this one.

    Raises:
        ConfigError: it is none of these.
    """
    udp = os.environ.get(TRANSPORTS) in (None, "", "UDPv4")  # as the profiles have it
    if network == OPEN or not udp or any(os.environ.get(name) for name in (LOCALHOST_ONLY, RANGE, PEERS, *PROFILES)):
        return
    os.environ.pop(TRANSPORTS, None)
    if network == LOCAL:
        os.environ[RANGE] = "LOCALHOST"
        localhost_by_udp()
        return
    try:
        peers = [str(IPv4Address(one.strip())) for one in network.split(",")]
    except ValueError as error:
        raise ConfigError(f"network '{network}' is not {LOCAL}, {OPEN} or IPv4 addresses: {error}") from error
    if not get_rmw_implementation_identifier().startswith("rmw_fastrtps"):
        os.environ |= {RANGE: "LOCALHOST", PEERS: ";".join(peers)}
        return
    text, own = LOCALHOST.read_text(encoding="utf-8"), PEER.format("127.0.0.1")
    profile = text.replace(LOOPBACK, "").replace(own, own + "".join(PEER.format(peer) for peer in peers))
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", prefix="flexarm-peers-", suffix=".xml", delete=False
    ) as file:
        file.write(profile)
    os.environ |= {RANGE: "SYSTEM_DEFAULT", PROFILES[0]: file.name}


def _is_open() -> bool:
    """Return whether Fast DDS is in use and the user has not chosen transports."""
    chosen = any(os.environ.get(name) for name in (TRANSPORTS, *PROFILES))
    return not chosen and get_rmw_implementation_identifier().startswith("rmw_fastrtps")


def _is_local() -> bool:
    return os.environ.get(RANGE) == "LOCALHOST" or os.environ.get(LOCALHOST_ONLY) == "1"
