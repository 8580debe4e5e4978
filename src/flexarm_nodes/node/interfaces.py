"""Interfaces: subscriptions, services and actions of a stage, in addition to its samples."""

from __future__ import annotations

from collections.abc import Callable

from flexarm_nodes.node.arm_node import ArmNode


class Interfaces:
    """Subscriptions, services and actions of a stage on the node that runs it; here there are none.

    Attributes:
        node: the node.
        refuse: reports why a request was rejected.
        try_again: processes the sample that waited while :attr:`delays`.
        prefix: name of the stage in a node that runs several stages; empty: the node runs this stage only.
    """

    node: ArmNode
    refuse: Callable[[str], None]
    try_again: Callable[[], None]
    prefix: str

    def attach(
        self, node: ArmNode, refuse: Callable[[str], None], try_again: Callable[[], None], prefix: str = ""
    ) -> None:
        """Open them on a node; for the arguments see the class."""
        self.node, self.refuse, self.try_again, self.prefix = node, refuse, try_again, prefix
        self.open()

    def name(self, topic: str) -> str:
        """Return the name of a topic, service or action: a private one, ``~/NAME``, is ``~/PREFIX/NAME`` here."""
        return topic.replace("~/", f"~/{self.prefix}/") if self.prefix else topic

    def parameter(self, name: str) -> str:
        """Return the name that a parameter of the stage has in the node."""
        return f"{self.prefix}.{name}" if self.prefix else name

    @property
    def waits(self) -> bool:
        """Whether requests wait for their sample, and must not be lost with a rehearsal."""
        return False

    @property
    def delays(self) -> bool:
        """Whether samples have to wait at present, until ``try_again`` is called."""
        return False

    def open(self) -> None:
        """Create subscriptions, services and actions."""

    def close(self) -> None:
        """Destroy them."""

    def begin(self) -> None:
        """Log the active configuration: the node has become active."""

    def end(self) -> None:
        """End motions of actions: the node is deactivated."""
