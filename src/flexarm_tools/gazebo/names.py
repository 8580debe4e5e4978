"""Names of a robot in Gazebo, where it may be one of several arms in a graph."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GazeboNames:
    """What stands in front of names.

    Attributes:
        namespace: namespace of topics and of the controller manager, as ``/left``; empty: the root.
        frame_prefix: text in front of the names of links in headers.
    """

    namespace: str = ""
    frame_prefix: str = ""

    def model(self, robot: str) -> str:
        """Return the name of the model of a robot, as ``left_boom_7r``."""
        return "_".join(part for part in (*self.namespace.split("/"), robot) if part)

    def topic(self, topic: str) -> str:
        """Return a topic of a sensor, in ROS 2 and in Gazebo, as ``left/base_wrench``."""
        return f"{self.namespace}/{topic}".lstrip("/")
