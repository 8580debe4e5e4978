"""TopicChoice: selection of topics of a graph or recording."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

# published by every node for monitoring; these topics should not be replayed
OF_NODES = ("/rosout", "/parameter_events")


@dataclass(frozen=True, slots=True)
class TopicChoice:
    """Topics selected by name or pattern (``/ground_truth/*``); a leading ``/`` may be omitted."""

    names: tuple[str, ...] = ()  # selected topics; empty: all
    exclude: tuple[str, ...] = ()  # excluded topics; they take precedence over `names`
    hidden: bool = False  # whether "all" includes hidden topics, those with a part that begins with `_` (of actions)

    def takes(self, topic: str) -> bool:
        """Return whether a topic, given by its full name, is selected."""
        if _matches(topic, self.exclude):
            return False
        return _matches(topic, self.names) if self.names else self.hidden or "/_" not in topic


def _matches(topic: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(topic, pattern if pattern.startswith("/") else f"/{pattern}") for pattern in patterns)
