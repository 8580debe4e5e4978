"""Names of a robot in Gazebo, where it may be one of several arms in a graph."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

from flexarm_tools.run.parameter_file import PARAMETERS

CONTROLLER_MANAGER = "controller_manager"  # of gz_ros2_control


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

    def manager_parameters(self, rate: float) -> str:
        """Return a parameter file for the controller manager: its clock, and its rate [Hz] over earlier files.

        A controller manager of ros2_control 4.46 that learns of simulated time only after it was made, as
        gz_ros2_control 1.2.7 does it, compares times of two clocks, which ends Gazebo.
        """
        parameters = {"update_rate": round(rate), "use_sim_time": True}
        return yaml.safe_dump({f"{self.namespace}/{CONTROLLER_MANAGER}": {PARAMETERS: parameters}})
