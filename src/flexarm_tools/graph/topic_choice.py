"""TopicChoice: selection of topics of a graph or recording."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

# published by every node for monitoring; these topics should not be replayed
OF_NODES = ("/rosout", "/parameter_events")


@dataclass(frozen=True, slots=True)
class TopicChoice:
    """Topics selected by name or pattern (``/ground_truth/*``); a leading ``/`` may be omitted.

    Attributes:
        names: selected topics; empty: all.
        exclude: excluded topics; they take precedence over ``names``.
        hidden: whether "all" includes hidden topics, those with a part that begins with ``_`` (of actions).
    """

    names: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    hidden: bool = False

    def takes(self, topic: str) -> bool:
        """Return whether a topic, given by its full name, is selected."""
        if _matches(topic, self.exclude):
            return False
        return _matches(topic, self.names) if self.names else self.hidden or "/_" not in topic


def _matches(topic: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(topic, pattern if pattern.startswith("/") else f"/{pattern}") for pattern in patterns)
