"""TopicChoice: which topics of a graph or recording are meant."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

# of every node, for the people and tools that watch nodes: nothing that another run should say again
OF_NODES = ("/rosout", "/parameter_events")


@dataclass(frozen=True, slots=True)
class TopicChoice:
    """Topics by name or pattern (``/ground_truth/*``); a leading ``/`` may be left out.

    Attributes:
        names: that are meant; empty: all.
        exclude: that are not, whatever else says so.
        hidden: whether "all" takes in hidden topics, those with a part that begins with ``_`` (of actions).
    """

    names: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hidden: bool = False

    def takes(self, topic: str) -> bool:
        """Whether a topic, given by its full name, is meant."""
        if _matches(topic, self.exclude):
            return False
        return _matches(topic, self.names) if self.names else self.hidden or "/_" not in topic


def _matches(topic: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(topic, pattern if pattern.startswith("/") else f"/{pattern}") for pattern in patterns)
