"""One run at a time in a ROS domain of this machine. Imports nothing that takes time: commands ask before they load."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from flexarm_core.errors import ConfigError


class TakenDomainError(ConfigError):
    """Another run, or a node of the same name, is in this ROS domain."""


def other_domain() -> str:
    """Say which domain this is, and what to do if it is taken."""
    return f"ROS domain {os.environ.get('ROS_DOMAIN_ID', '0')}: end it, or set ROS_DOMAIN_ID to another number"


@contextlib.contextmanager
def alone_in_domain() -> Iterator[None]:
    """Reject a second run on this machine in the same ROS domain: two plants would answer each other's nodes.

    Raises:
        TakenDomainError: there is another run.
    """
    path = Path(tempfile.gettempdir()) / f"flexarm-{os.getuid()}-domain-{os.environ.get('ROS_DOMAIN_ID', '0')}.lock"
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise TakenDomainError(f"another flexarm run already runs in {other_domain()}") from error
        yield
