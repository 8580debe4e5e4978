"""Chooses how messages travel between processes, through the environment of this process and its children."""

from __future__ import annotations

import os
from pathlib import Path

from rclpy.utilities import get_rmw_implementation_identifier

RANGE, LOCALHOST_ONLY = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOCALHOST_ONLY"
# Variables of Fast DDS by which a user chooses transports
TRANSPORTS, PROFILES = "FASTDDS_BUILTIN_TRANSPORTS", ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
LOCALHOST = Path(__file__).with_name("localhost.xml")


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
    if _is_open() and _is_local() and not os.environ.get("ROS_STATIC_PEERS"):
        os.environ.pop(LOCALHOST_ONLY, None)
        os.environ[RANGE] = "SYSTEM_DEFAULT"
        os.environ[PROFILES[0]] = str(LOCALHOST)


def _is_open() -> bool:
    """Return whether Fast DDS is in use and the user has not chosen transports."""
    chosen = any(os.environ.get(name) for name in (TRANSPORTS, *PROFILES))
    return not chosen and get_rmw_implementation_identifier().startswith("rmw_fastrtps")


def _is_local() -> bool:
    return os.environ.get(RANGE) == "LOCALHOST" or os.environ.get(LOCALHOST_ONLY) == "1"
