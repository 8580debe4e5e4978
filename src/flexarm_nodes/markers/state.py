"""Node state_markers: the arm with exaggerated deflection, the wrench on its base and the tool path, for RViz.

This node is no control stage: it reads the topics of other nodes and publishes markers, at its own rate and only while
the markers have a subscriber.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import TransitionCallbackReturn
from std_msgs.msg import Header
from visualization_msgs.msg import Marker, MarkerArray

from flexarm_core.flexible_dynamics.deflected_arm import DeflectedArm
from flexarm_core.robot.arm_model import ArmModel
from flexarm_core.robot.description import RobotDescription
from flexarm_nodes.markers.arm_samples import GLANCE, SEEN, arm_sample
from flexarm_nodes.markers.motion import MotionMarkers
from flexarm_nodes.markers.robot import RobotMarkers
from flexarm_nodes.messages.conversions import stamp_to_nanoseconds
from flexarm_nodes.node import topics
from flexarm_nodes.node.arm_node import ArmNode
from flexarm_nodes.node.built_stage import Values
from flexarm_nodes.node.diagnostics import OK, WARN
from flexarm_nodes.node.frames import in_tf
from flexarm_nodes.node.input.wrench_frames import named_frames
from flexarm_nodes.node.parameters import Parameter
from flexarm_nodes.node.ports import MARKERS, STATES, TOOL, Input, Ports, Use

SILENT_AFTER = 2_000_000_000  # [ns] age relative to the joint state above which a message is stale
START_PERIOD = 0.2  # [s] period at which autostart is tried


class StateMarkers(ArmNode):
    """Reads joint states, flexible state, reference and base wrench; publishes markers in the root link's frame."""

    MASSLESS = True
    PARAMETERS = (
        Parameter("exaggeration", "double", 10.0,
            "factor by which base deflection and link bending are exaggerated in RViz", "", 0.0, live=True),
        Parameter("opacity", "double", 0.5,
            "opacity of the arm drawn in RViz with exaggerated deflection; 0: invisible", "", 0.0, 1.0, live=True),
        Parameter("trail_duration", "double", 10.0,
            "period of past motion shown by the trails of the tool in RViz", "s", 0.0, live=True),
        Parameter("marker_rate", "double", 20.0, "publishing rate of the RViz markers", "Hz", 0.1, 100.0, live=True),
        Parameter("marker_force_scale", "double", 0.005,
            "length of the RViz arrow of the force on the base per unit of force", "m/N", 1e-9, live=True),
        Parameter("marker_torque_scale", "double", 0.02,
            "length of the RViz arrow of the torque on the base per unit of torque", "m/(N*m)", 1e-9, live=True),
        Parameter("autostart", "bool", False,
            "configure and activate the node automatically when a robot description is available"),
    )  # fmt: skip

    @staticmethod
    def ports(values: Values, description: RobotDescription, tool: str) -> Ports:
        """Return the topics that the node uses with these parameters."""
        sensor = DeflectedArm(description, tool).base_sensor
        wrench = [Input(topics.wrench_topic(sensor), "WrenchStamped", Use.HEARD)] if sensor else []
        return Ports(
            (
                STATES,
                Input(topics.FLEXIBLE_STATE, "FlexibleState", Use.HEARD),
                Input(topics.TRUE_FLEXIBLE_STATE, "FlexibleState", Use.HEARD),
                Input(topics.CARTESIAN_REFERENCE, TOOL, Use.IGNORED, "it is only drawn"),
                Input(topics.BASE_REACTION, "BaseReaction", Use.HEARD),
                *wrench,
            ),
            (MARKERS,),
        )

    def __init__(self) -> None:
        """Create the node's topics; the topic of the sensor under the arm depends on the robot."""
        super().__init__("state_markers")
        self._publisher = self.create_publisher(MarkerArray, topics.MARKERS, topics.CONTROL)
        for topic, message_type in SEEN.items():
            self._look_at(topic, message_type)
        self._newest: dict[str, Any] = {}
        self._sensor: Any = None
        self._sensor_topic = ""
        draw, steady = self.guarded(self._draw), Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = self.create_timer(1.0, lambda: draw(None), clock=steady)
        self._tried = ""
        self._starter = self.create_timer(START_PERIOD, self._start_up, clock=steady)

    def build(self, values: dict[str, Any], model: ArmModel) -> None:
        """Build the geometry from the robot description."""
        self._arm = DeflectedArm(model.description, values["tool_frame"])
        self._named = named_frames(model.description.links, values["wrench_frames"])
        self._robot, self._motion = RobotMarkers(self._arm), MotionMarkers(self._arm)
        topic = topics.wrench_topic(self._arm.base_sensor) if self._arm.base_sensor else ""
        if topic != self._sensor_topic:
            if self._sensor is not None:
                self.destroy_subscription(self._sensor)
            self._sensor = self._look_at(topic, WrenchStamped) if topic else None
            self._sensor_topic = topic
        self.change(values)

    def start(self) -> None:
        """Discard earlier messages."""
        self._newest.clear()
        self._motion.reset()

    def change(self, values: dict[str, Any]) -> None:
        """Apply live parameters at the next drawing."""
        self._factor, self._robot.opacity = values["exaggeration"], values["opacity"]
        self._motion.force_scale = values["marker_force_scale"]
        self._motion.torque_scale = values["marker_torque_scale"]
        self._motion.trail_duration = values["trail_duration"]
        self._timer.timer_period_ns = round(1e9 / values["marker_rate"])

    def _start_up(self) -> None:
        """With ``autostart``: try each robot description once, until one of them can be drawn."""
        text = self.get_parameter("robot_description").value or self._described
        if self.get_parameter("autostart").value is not True or not text or text == self._tried:
            return
        self._tried = text
        self._starter.cancel()
        if self.trigger_configure() is TransitionCallbackReturn.SUCCESS:
            self.trigger_activate()
        else:
            self._starter.reset()

    def _look_at(self, topic: str, message_type: Any) -> Any:
        return self.hear(message_type, topic, self._keep(topic), GLANCE)

    def _keep(self, topic: str) -> Any:
        def keep(message: Any) -> None:
            self._newest[topic] = message

        return keep

    def _recent(self, topic: str) -> Any:
        """Return the newest message of a topic, or None if it is stale relative to the joint state."""
        message, state = self._newest.get(topic), self._newest.get(topics.JOINT_STATES)
        if message is None or state is None:
            return None
        age = stamp_to_nanoseconds(state.header.stamp) - stamp_to_nanoseconds(message.header.stamp)
        return message if abs(age) <= SILENT_AFTER else None

    def _draw(self, _: None) -> None:
        """Draw the newest messages once."""
        if not self._publisher.get_subscription_count():
            return
        sample = arm_sample(self._recent, self._arm, self._named)
        if sample is None:
            self.diagnostics.report(WARN, f"waits for {topics.JOINT_STATES}", 0)
            return
        stamp = self._newest[topics.JOINT_STATES].header.stamp
        header = Header(stamp=stamp, frame_id=self._arm.description.root)
        placed = self._arm.place(sample, self._factor)
        rigid = self._arm.place(replace(sample, modes={}), 1.0)  # TF has no bent links
        markers = [
            Marker(header=header, action=Marker.DELETEALL),
            *self._robot.markers(header, sample, placed, self._factor, rigid),
            *self._motion.markers(header, sample, placed, self._factor),
        ]
        self._publisher.publish(in_tf(MarkerArray(markers=markers), self.frame_prefix))
        self.diagnostics.report(OK, "drawing", stamp_to_nanoseconds(stamp))
